"""One view of a buffer: selection, settings, decorations and scroll position; draws nothing."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from .buffers import Buffer, Change, Regions, moved
from .settings import Settings

# A fixed-pitch font in a window of 80 columns by 40 rows, in device-independent pixels.
LINE_HEIGHT, EM_WIDTH = 16.0, 8.0
EXTENT = (80 * EM_WIDTH, 40 * LINE_HEIGHT)


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


class Popup(NamedTuple):
    """What show_popup was given."""

    content: str
    location: int
    flags: int
    on_navigate: Optional[Callable[[str], None]]
    on_hide: Optional[Callable[[], None]]


class View:
    """The state behind sublime.View. `sheet` is None for panels; `element` names a widget."""

    def __init__(self, id: int, buffer: Buffer, settings: Settings) -> None:
        self.id = id
        self.buffer = buffer
        self.settings = settings
        self.sheet: Any = None
        self.panel_window: Any = None
        self.element: Optional[str] = None
        self.closed = False
        self.closing = False
        self.selection: Regions = [(0, 0)]
        self.marks: Dict[str, Marks] = {}
        self.phantoms: List[PhantomState] = []
        self.phantom_count = 0
        self.folds: Regions = []
        self.status: Dict[str, str] = {}
        self.popup: Optional[Popup] = None
        self.viewport = (0.0, 0.0)
        self.syntax_path = ""
        self.overwrite = False
        self.inline_diff = False
        self.edit_tokens: List[int] = []
        self.selection_told = True

    @property
    def window(self) -> Any:
        if self.closed:
            return None
        return self.panel_window if self.sheet is None else self.sheet.window

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
        self.selection = merged([_shifted(region, change, False) for region in self.selection])
        for key, marks in self.marks.items():
            regions = [_shifted(region, change, True) for region in marks.regions]
            self.marks[key] = marks._replace(regions=regions)
        self.phantoms = [
            phantom._replace(region=_shifted(phantom.region, change, True))
            for phantom in self.phantoms
        ]
        self.folds = [_shifted(region, change, True) for region in self.folds]

    def select(self, regions: Regions) -> bool:
        """Set the selection; True where that changed it."""
        size = len(self.text)
        fresh = merged([(max(0, min(a, size)), max(0, min(b, size))) for a, b in regions])
        changed = fresh != self.selection
        self.selection = fresh
        return changed

    # Layout: monospaced, unwrapped

    def to_layout(self, point: int) -> Tuple[float, float]:
        row, column = self.text.rowcol(point)
        return column * EM_WIDTH, row * LINE_HEIGHT

    def from_layout(self, position: Tuple[float, float]) -> int:
        row, column = int(position[1] // LINE_HEIGHT), int(position[0] / EM_WIDTH + 0.5)
        return int(self.text.point(max(0, row), max(0, column), clamp_column=True))

    def layout_extent(self) -> Tuple[float, float]:
        return EXTENT[0], max(EXTENT[1], self.text.row_count() * LINE_HEIGHT)

    def scroll_to(self, point: int, center: bool = False) -> None:
        """Bring a point into view, at rest where it is visible already."""
        top = self.text.rowcol(point)[0] * LINE_HEIGHT
        if not center and self.viewport[1] <= top <= self.viewport[1] + EXTENT[1] - LINE_HEIGHT:
            return
        self.viewport = (self.viewport[0], max(0.0, top - EXTENT[1] / 2))

    def visible(self) -> Tuple[int, int]:
        first = int(self.viewport[1] // LINE_HEIGHT)
        last = int((self.viewport[1] + EXTENT[1]) // LINE_HEIGHT)
        return self.text.point(first, 0), self.text.point(last, 0)


def _shifted(region: Tuple[int, int], change: Change, sticky_end: bool) -> Tuple[int, int]:
    """A decoration does not grow when text is added at its end; a selection moves along."""
    a, b = region
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
