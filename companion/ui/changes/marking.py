"""Colours a sheet, and draws its links: those in sight, because thousands would be slow. UI thread
only; computes nothing that is long."""

from __future__ import annotations

from functools import partial
from operator import is_
from typing import Callable, Iterator, Sequence

import sublime

from ...base.change_sheet import (
    ADDED,
    HEADING,
    PLACE,
    REMOVED,
    FileChanges,
    Run,
    Section,
    Sheet,
)
from .. import queues
from ..review import diff_kinds, marks
from ..review.head import diff_link
from ..review.open_diffs import is_on_top
from ..review.sight import rows_in_sight

KEY = "gemini_companion_changes"
KINDS = {ADDED: marks.ADDED, REMOVED: marks.REMOVED}
# Rows above and below those in sight that have links as well.
BEYOND = 40
# Milliseconds between two looks whether the user has scrolled.
INTERVAL = 100
# Sections that are coloured in one step.
BLOCK = 25


class Marking:
    """The colours and links of one sheet, in all views of the buffer. `kept` gives the keys of the
    changes of a file that the user has kept. `look_at` is called with each view that is in front,
    as long as it is."""

    def __init__(
        self,
        buffer_id: int,
        kept: Callable[[str], frozenset[str]],
        look_at: Callable[[sublime.View], None],
    ) -> None:
        self._buffer_id = buffer_id
        self._kept = kept
        self._look_at = look_at
        self.model = Sheet(())
        # By the view's id and the number of the first one: the sections whose colours are drawn.
        self._coloured: dict[tuple[int, int], tuple[Section, ...]] = {}
        self._links: dict[int, sublime.PhantomSet] = {}
        self._seen: dict[int, range] = {}
        self._is_following = False
        # What undoes the last decision in the sheet, empty for none.
        self.undoable = ""

    def draw_sections(self, model: Sheet) -> None:
        """Draw what has changed, in all views; each step blocks the thread only for a moment."""
        self.model = model
        for view in self._sheet_views():
            for start in range(0, max(len(model.sections), *self._coloured_to(view)), BLOCK):
                sections = model.sections[start : start + BLOCK]
                place = view.id(), start
                before = self._coloured.get(place, ())
                is_same = len(before) == len(sections) and all(map(is_, before, sections))
                if not is_same:
                    self._coloured[place] = sections
                    queues.on_ui_thread(partial(self._colour_sections, view, start, sections))
        self.draw_links()
        self.follow_scrolling()

    def _coloured_to(self, view: sublime.View) -> list[int]:
        return [0, *(start + 1 for id, start in self._coloured if id == view.id())]

    def _colour_sections(
        self, view: sublime.View, start: int, sections: tuple[Section, ...]
    ) -> None:
        model = self.model
        now = model.sections[start : start + BLOCK]
        if view.size() != model.points[-1] or not all(map(is_, now, sections)):
            # Something was typed, and all is drawn again soon.
            self._coloured.pop((view.id(), start), None)
            return
        for kind, style in KINDS.items():
            key, sections_end = f"{KEY}_{kind}_{start // BLOCK}", start + BLOCK
            for name, part, found in (
                (key, "", model.regions(kind, start, sections_end)),
                (f"{key}_characters", ".char", model.characters(kind, start, sections_end)),
            ):
                regions = [sublime.Region(*ends) for ends in found]
                scope, flags = marks.mark_style(view, style, part)
                view.add_regions(name, regions, scope, flags=flags)

    def draw_links(self) -> None:
        """Draw the links again: what they say may have changed."""
        views = self._sheet_views()
        first = next((view for view in views if view.is_primary()), None)
        if first is not None:
            self._draw_links_in(first, views)

    def leave_view(self, view: sublime.View) -> None:
        """The user closes the view, and others stay: they would keep its phantoms, which react to
        nothing then."""
        if self._links.pop(view.id(), None) is not None:
            view.erase_phantoms(KEY)
            queues.on_ui_thread(self.draw_links)

    def follow_scrolling(self) -> None:
        """Follow the user's scrolling as long as the sheet is in front."""
        if not self._is_following:
            self._look_at_views()

    def stop(self) -> None:
        """Erase what does not survive a restart."""
        self._links.clear()
        self._coloured.clear()

    def _look_at_views(self) -> None:
        views = [view for view in self._sheet_views() if _is_in_front(view)]
        self._is_following = bool(views)
        if views:
            # The next look comes also if this one fails.
            queues.on_ui_thread(self._look_at_views, INTERVAL)
        for view in views:
            self._look_at(view)
        if any(rows_in_sight(view) != self._seen.get(view.id()) for view in views):
            self.draw_links()

    def _sheet_views(self) -> list[sublime.View]:
        return [view for view in sublime.Buffer(self._buffer_id).views() if view.is_valid()]

    def _draw_links_in(self, view: sublime.View, views: Sequence[sublime.View]) -> None:
        """Draw the links in sight of all the views in the first one: phantoms belong to the buffer
        (docs/sublime.md 7.11)."""
        model = self.model
        if view.size() != model.points[-1]:
            # Something was typed that is not taken yet, and the links are drawn again after that.
            return
        self._seen = {each.id(): rows_in_sight(each) for each in views}
        texts: dict[int, str] = {}
        for rows in self._seen.values():
            texts.update(self._link_rows(rows[0] - BEYOND, rows[-1] + BEYOND))
        found = []
        for row, text in sorted(texts.items()):
            point = model.point_at(row + 1) - 1
            body = f'<body id="gemini-companion">&nbsp; {text}</body>'
            found.append(sublime.Phantom(sublime.Region(point), body, sublime.LAYOUT_INLINE))
        if view.id() not in self._links:
            view.erase_phantoms(KEY)
            self._links[view.id()] = sublime.PhantomSet(view, KEY)
        self._links[view.id()].update(found)

    def _link_rows(self, start: int, end: int) -> Iterator[tuple[int, str]]:
        """The rows from `start` to `end` that have links, and the links as HTML."""
        model = self.model
        if not model.rows[-1]:
            return
        first, last = (model.section_at(max(point, 0)) for point in (start, end))
        for number in range(first, last + 1):
            section, above = model.sections[number], model.rows[number]
            texts = self._head_links() if number == 0 else self._file_links(section)
            yield from ((above + row, text) for row, text in texts if start <= above + row <= end)

    def _head_links(self) -> Iterator[tuple[int, str]]:
        names = [f"{verb} all" for verb in ("Keep", "Drop", "Accept", "Reject")]
        links = [self._link_to(name, name.lower().replace(" ", "_")) for name in names]
        found = links if self.model.sections[1:] else []
        if self.undoable:
            found.append(self._link_to(self.undoable, "undo_all"))
        yield 0, "&nbsp; ".join(found)

    def _file_links(self, section: Section) -> Iterator[tuple[int, str]]:
        file, kept = section.file, self._kept(section.file.id)
        linked: set[int] = set()
        for run in section.runs:
            if run.kind == HEADING:
                second = diff_kinds.UNDO if file.is_made else diff_kinds.REJECT
                names = {diff_kinds.ACCEPT: "accept_file", second: "reject_file"}
                if self.model.has_others(file):
                    names["Reject others"] = "reject_others"
                links = [self._link_to(*pair, file=file.id) for pair in names.items()]
                yield run.start, "&nbsp; ".join([*self._all_changes_links(file, kept), *links])
            elif _is_changed(run) and run.change is not None and run.change not in linked:
                linked.add(run.change)
                yield run.start, self._change_links(section, run.change, kept)

    def _all_changes_links(self, file: FileChanges, kept: frozenset[str]) -> list[str]:
        """The links of all changes of the file."""
        comparison = file.comparison
        left = set(comparison.keys) - comparison.dropped if comparison is not None else set()
        if not left:
            return []
        keep = "kept" if left <= kept else self._link_to("Keep", "keep_file", file=file.id)
        return [keep, self._link_to("Drop", "drop_file", file=file.id)]

    def _change_links(self, section: Section, change: int, kept: frozenset[str]) -> str:
        comparison = section.file.comparison
        key = comparison.keys[change] if comparison is not None else ""
        to = partial(self._link_to, file=section.file.id, change=key)
        if comparison is not None and key in comparison.dropped:
            return f"dropped&nbsp; {to('Take back', 'drop_change')}"
        first = "kept" if key in kept else to("Keep", "keep_change")
        return f"{first}&nbsp; {to('Drop', 'drop_change')}"

    def _link_to(self, text: str, action: str, **arguments: str) -> str:
        return diff_link(
            text, "decide_changes", sheet=str(self._buffer_id), action=action, **arguments
        )


def _is_changed(run: Run) -> bool:
    """Whether these are the rows of a change; those of a dropped one are equal on both sides."""
    return run.change is not None and run.kind != PLACE


def _is_in_front(view: sublime.View) -> bool:
    window = view.window()
    return window is not None and is_on_top(window, view)
