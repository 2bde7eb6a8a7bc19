"""One view of a buffer: selection, settings, decorations and scroll position; draws nothing."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Set, Tuple

from . import syntaxes
from .buffers import Buffer, Change, Regions, moved
from .layout import Layout, Screen, screen
from .settings import Settings
from .switches import Switches


class Marks(NamedTuple):
    """What add_regions was given; `regions` are (a, b) code points and follow the edits."""

    regions: Regions
    scope: str
    icon: str
    flags: int
    annotations: List[str]
    annotation_color: str
    on_navigate: Optional[Callable[[str], None]]
    on_close: Optional[Callable[[], None]]


class PhantomState(NamedTuple):
    """A phantom in a view; `layout` 0 inline, 1 below, 2 block."""

    id: int
    key: str
    region: Tuple[int, int]
    content: str
    layout: int
    on_navigate: Optional[Callable[[str], None]]
    # Its view is closed: it stands in another one, reacts to nothing and cannot be erased.
    is_stale: bool = False


class Popup(NamedTuple):
    """What show_popup was given."""

    content: str
    location: int
    flags: int
    on_navigate: Optional[Callable[[str], None]]
    on_hide: Optional[Callable[[], None]]


class View:
    """The state behind sublime.View. `sheet` is None for panels; `element` names a widget."""

    def __init__(self, id: int, buffer: Buffer, settings: Settings, switches: Switches) -> None:
        self.id = id
        self.switches = switches
        self.buffer = buffer
        self.settings = settings
        self.sheet: Any = None
        self.panel_window: Any = None
        self.element: Optional[str] = None
        self.closed = False
        self.closing = False
        self.selection: Regions = [(0, 0)]
        self.marks: Dict[str, Marks] = {}
        self._phantoms: Dict[int, PhantomState] = {}
        # The ids of those whose height is not known yet.
        self._unmeasured: Set[int] = set()
        # What is drawn of the selection, where that is an older one.
        self._drawn_selection: Optional[Regions] = None
        self.phantom_count = 0
        self._layout: Optional[Layout] = None
        self._layout_of: Any = None
        self.folds: Regions = []
        self.status: Dict[str, str] = {}
        self.popup: Optional[Popup] = None
        self.viewport = (0.0, 0.0)
        # How often something has scrolled it; and from where to where a person sees it who has
        # another window than the editor's, such as a terminal.
        self.scrolled = 0
        self.seen: Optional[Tuple[int, int]] = None
        self.syntax = syntaxes.PLAIN
        self.completing: Any = None
        self.overwrite = False
        self.inline_diff = False
        self.edit_tokens: List[int] = []
        self.selection_told = True
        # By selected region, the left edge that carets come back to as they go up and down.
        self.columns: Dict[Tuple[int, int], float] = {}

    @property
    def window(self) -> Any:
        if self.closed:
            return None
        return self.panel_window if self.sheet is None else self.sheet.window

    @property
    def is_hidden_panel(self) -> bool:
        """Whether it is that of an output panel which is not shown."""
        window = self.window if self.element == "output:output" else None
        if window is None or window.active_panel is None:
            return window is not None
        panel = window.panel_named(window.active_panel)
        return panel is None or panel.view is not self

    @property
    def text(self) -> Any:
        return self.buffer.text

    @property
    def file_name(self) -> Optional[str]:
        return self.buffer.file_name

    def title(self) -> str:
        """What the tab shows."""
        if self.buffer.file_name:
            return self.buffer.file_name.replace("\\", "/").rsplit("/", 1)[-1]
        return self.buffer.name or "untitled"

    def is_primary(self) -> bool:
        return bool(self.buffer.views) and self.buffer.views[0] is self

    # Following the text

    def shift(self, change: Change) -> None:
        self.columns = {}
        self.selection = merged([_shifted(region, change, False) for region in self.selection])
        # Copied: regions are added from any thread.
        for key, marks in list(self.marks.items()):
            regions = [_shifted(region, change, True) for region in marks.regions]
            self.marks[key] = marks._replace(regions=regions)
        self._phantoms = {
            phantom.id: phantom._replace(region=_shifted(phantom.region, change, True))
            for phantom in self._phantoms.values()
        }
        self.folds = [_shifted(region, change, True) for region in self.folds]
        if self.seen is not None:
            begin, end = self.seen
            if begin <= change.begin < end and change.inserted:
                # Nobody has seen what is new, nor what stands below it now.
                self.seen = (begin, change.begin)
            else:
                self.seen = _shifted(self.seen, change, True)

    def select(self, regions: Regions) -> bool:
        """Set the selection; True where that changed it."""
        if self.switches.selections_drawn_late and not self.buffer.edits:
            self._drawn_selection = self.drawn_selection
        size = len(self.text)
        fresh = merged([(max(0, min(a, size)), max(0, min(b, size))) for a, b in regions])
        changed = fresh != self.selection
        self.columns = {}
        self.selection = fresh
        return changed

    @property
    def drawn_selection(self) -> Regions:
        return list(self.selection if self._drawn_selection is None else self._drawn_selection)

    def redraw(self) -> None:
        """The view is drawn again, with all that was set since."""
        self._drawn_selection = None

    # Phantoms, in the order in which they came

    @property
    def phantoms(self) -> List[PhantomState]:
        """Those that are shown here."""
        if not self.switches.phantoms_of_buffer:
            return self.own_phantoms
        return [phantom for view in self.buffer.views for phantom in view.own_phantoms]

    @property
    def own_phantoms(self) -> List[PhantomState]:
        """Those that were added to this view, also by a view that is closed."""
        return list(self._phantoms.values())

    @property
    def measured_phantoms(self) -> List[PhantomState]:
        """Those shown here whose heights are known."""
        views = self.buffer.views if self.switches.phantoms_of_buffer else [self]
        return [
            phantom
            for view in views
            for phantom in view.own_phantoms
            if phantom.id not in view._unmeasured
        ]

    def phantom(self, id: int) -> Optional[PhantomState]:
        return self._phantoms.get(id)

    def add_phantom(self, phantom: PhantomState) -> None:
        self._phantoms[phantom.id] = phantom
        if self.switches.phantom_heights_late:
            self._unmeasured.add(phantom.id)
        self._forget_layouts()

    def measure_phantoms(self) -> None:
        self._unmeasured.clear()
        self._forget_layouts()

    def erase_phantoms(self, ids: Iterable[int]) -> None:
        """Ids that are not there are ignored."""
        for id in ids:
            self._phantoms.pop(id, None)
        self._forget_layouts()

    def leave_phantoms(self, view: "View") -> None:
        """This view was the first of its buffer, and is closed: what it has stays in another."""
        for id, phantom in self._phantoms.items():
            left = phantom._replace(id=-1 - id, key="", on_navigate=None, is_stale=True)
            view._phantoms[left.id] = left
        view._forget_layouts()

    def _forget_layouts(self) -> None:
        for view in (self, *self.buffer.views):
            view._layout = None

    # Layout

    def screen(self) -> Screen:
        return screen(self)

    def layout(self) -> Layout:
        """Where everything stands now."""
        room = self.screen()
        columns = self._columns(room)
        state = (self.buffer.change_count, len(self.text), columns, room.font, list(self.folds))
        if self._layout is None or self._layout_of != state:
            self._layout = Layout(self, columns, room.font)
            self._layout_of = state
        return self._layout

    def _columns(self, room: Screen) -> int:
        """After how many cells rows wrap; 0 where they do not."""
        wrap = self.settings.get("word_wrap", "auto")
        if wrap == "auto":
            wrap = not self.scope().startswith("source.")
        if not wrap:
            return 0
        asked = self.settings.get("wrap_width", 0)
        if isinstance(asked, int) and asked > 0:
            return asked
        return max(1, int(room.width // room.font.em_width) - 1)

    def scope(self) -> str:
        """The scope of the whole text."""
        return self.syntax.scope

    def layout_extent(self) -> Tuple[float, float]:
        now, room = self.layout(), self.screen()
        return max(room.width, now.width()), max(room.height, now.height())

    def scroll(self, x: float, y: float) -> None:
        """Put a place at the upper left corner, as far as the text goes."""
        room = self.screen()
        height = self.layout().height()
        goes_on = self.seen is not None or self._scrolls_past_end()
        lowest = height - (room.font.line if goes_on else room.height)
        right = self.layout_extent()[0] - room.width if x > 0 else 0.0
        viewport = (min(max(0.0, x), right), min(max(0.0, y), max(0.0, lowest)))
        self.scrolled += 1
        if viewport != self.viewport:
            self.viewport = viewport
            self.redraw()

    def _scrolls_past_end(self) -> bool:
        return bool(self.settings.get("scroll_past_end", True))

    def scroll_to(self, point: int, center: bool = False) -> None:
        """Bring a point into view, at rest where it is visible already."""
        room = self.screen()
        x, y = self.layout().place(point)
        left, top = self.viewport
        if left and x + room.font.em_width <= room.width:
            left = 0.0
        elif not left <= x <= left + room.width - room.font.em_width:
            left = x - room.width / 2
        if center or not top <= y <= top + room.height - room.font.line:
            top = y + room.font.line / 2 - room.height / 2
        self.scroll(left, top)

    def visible(self) -> Tuple[int, int]:
        """From the first line in sight to the end of the last one, cut ones too."""
        if self.seen is not None:
            return self.seen
        now, room = self.layout(), self.screen()
        top = self.viewport[1]
        begin = now.point(0.0, top)
        return begin, now.point(float("inf"), top + room.height - 1)


def _shifted(region: Tuple[int, int], change: Change, sticky_end: bool) -> Tuple[int, int]:
    """A decoration does not grow when text is added at its end; a selection moves along."""
    a, b = region
    if a < change.begin and b < change.begin:
        return region
    end = change.begin + len(change.removed)
    if a > end and b > end:
        more = len(change.inserted) - len(change.removed)
        return a + more, b + more
    if a == b:
        point = moved(a, change)
        return point, point
    if a < b:
        return moved(a, change), moved(b, change, sticky_end)
    return moved(a, change, sticky_end), moved(b, change)


def merged(regions: Regions) -> Regions:
    """Sorted, with overlapping regions joined; the direction of the first one stays."""
    result: Regions = []
    for region in sorted(regions, key=lambda pair: (min(pair), max(pair))):
        if result and _touch(result[-1], region):
            low = min(result[-1])
            high = max(max(result[-1]), max(region))
            result[-1] = (low, high) if result[-1][0] <= result[-1][1] else (high, low)
        else:
            result.append(region)
    return result


def _touch(first: Tuple[int, int], second: Tuple[int, int]) -> bool:
    """Neighbours that only touch stay apart, unless one of them is a caret at the border."""
    if min(second) < max(first):
        return True
    return min(second) == max(first) and (second[0] == second[1] or first[0] == first[1])
