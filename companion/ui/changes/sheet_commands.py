"""What keys and commands do in a sheet of changes. UI thread only."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Callable, Collection, Mapping, NamedTuple

import sublime

from ...base.change_sheet import ADDED, EQUAL, PLACE, REMOVED, FileChanges, RowPlace
from ...base.comparison import Comparison
from .. import queues, settings
from ..review import pair, sight
from ..review.pace import TOO_SOON, Pace
from ..review.reviews import Reviews
from ..review.unopened_tabs import UnopenedTabs
from ..stories import Stories
from .change_sheets import ChangeSheets
from .deciding import Deciding
from .keeping import DECIDED, Keeping
from .sheet import ChangeSheet
from .sheet_files import NOTHING
from .sources import Source

# The actions on one change.
KEEP, DROP = "keep_change", "drop_change"
NO_CHANGE = "There is no change at the caret: go to one first."
NO_FILE = "There is no file at the caret: put it on the file that you mean."
NOT_OPEN = "That edit has no tabs of its own yet: press Enter on its heading, then run this there."
LOST = "Not {} in {}: that has become another one since. Undo in its own tab, or type in it."
NOWHERE = "This tab shows no change to go to."
# The editor's commands that undo, and whether they do; the others redo. A sheet's own steps are not
# the user's.
UNDOING = {"undo": True, "redo": False, "redo_or_repeat": False}


class AtCaret(NamedTuple):
    """What is at the caret of a sheet."""

    sheet: ChangeSheet
    source: Source
    file: FileChanges
    place: RowPlace

    @property
    def view(self) -> sublime.View | None:
        """The right view of the file's own review; None if that is not open."""
        return self.source.review_view(self.file.id)

    @property
    def key(self) -> str:
        """The key of the change, empty for none."""
        comparison, run = self.file.comparison, self.place.run
        if comparison is None or run.change is None or run.kind == PLACE:
            return ""
        return comparison.keys[run.change]


class SheetCommands:
    """The keys and commands in the sheets of one companion."""

    def __init__(
        self,
        sheets: ChangeSheets,
        deciding: Deciding,
        keeping: Keeping,
        pace: Pace,
        reviews: Reviews,
        tabs: UnopenedTabs,
        stories: Stories,
        tell: Callable[[str], None],
    ) -> None:
        self.sheets = sheets
        self._deciding = deciding
        self._keeping = keeping
        self._pace = pace
        self._reviews = reviews
        self._tabs = tabs
        self._stories = stories
        self._tell = tell

    def tell_nothing_waits(self) -> None:
        """There is nothing in a sheet that can be decided, or undone."""
        self._tell(NOTHING)

    def instead_of(
        self, name: str, arguments: Mapping[str, Any] | None, view: sublime.View
    ) -> tuple[str, dict[str, Any]] | None:
        """The command to run instead of this one: Enter goes to the file's own review where nothing
        can be typed, saving means accepting all, and what was changed last is undone in the review
        that has the text."""
        sheet, window = self.sheets.sheet_of(view), view.window()
        if sheet is None or window is None:
            return None
        if name == "save" and settings.current_settings(window).accept_on_save:
            arguments = {"sheet": str(sheet.buffer_id), "action": "accept_all"}
            return _run_soon(window, "decide_changes", arguments)
        sheet.take_typed()
        if name in UNDOING:
            queues.on_ui_thread(partial(self._go_back, sheet, UNDOING[name]))
            return ("noop", {})
        is_enter = name == "insert" and dict(arguments or {}).get("characters") == "\n"
        if is_enter and not self._can_type(sheet, view):
            return _run_soon(window, "go_to_change", {})
        return None

    def _go_back(self, sheet: ChangeSheet, is_undo: bool) -> None:
        views, lost = sheet.edits.go_back(is_undo)
        if lost:
            self._tell(LOST.format("undone" if is_undo else "redone", ", ".join(lost)))
        for right in views:
            # What is typed next must find the text as the sheet shows it.
            self._reviews.refresh_review(right)
        sheet.refresh()

    def _can_type(self, sheet: ChangeSheet, view: sublime.View) -> bool:
        place = self._caret_place(sheet, view)
        return place.run.kind == ADDED and sheet.model.sections[place.section].file.can_type

    def _caret_place(self, sheet: ChangeSheet, view: sublime.View) -> RowPlace:
        sheet.take_typed()
        return sheet.model.place_of(sight.caret_row(view))

    def at_caret(self, window: sublime.Window) -> AtCaret | None:
        """If a sheet has the keyboard: what is at its caret; None if that is no file."""
        view = window.active_view()
        sheet = self.sheets.sheet_of(view) if view is not None else None
        if sheet is None or view is None:
            return None
        place = self._caret_place(sheet, view)
        file = sheet.model.sections[place.section].file
        source = sheet.find_source(file.id)
        return AtCaret(sheet, source, file, place) if source is not None else None

    def has_keyboard(self, window: sublime.Window) -> bool:
        """Whether a sheet does."""
        view = window.active_view()
        return view is not None and self.sheets.sheet_of(view) is not None

    def decide_at_caret(self, window: sublime.Window, action: str) -> None:
        """Do what the link of that action would, on the file or the change at the caret; if there
        is none, say so."""
        found = self.at_caret(window)
        if found is None:
            self._tell(NO_FILE)
        elif action in (KEEP, DROP) and not found.key:
            self._tell(NO_CHANGE)
        else:
            story = self.decide_by_link(found.sheet, action, found.file.id, found.key)
            self._stories.begin(story, window)

    def review_at_caret(self, window: sublime.Window, decides: bool) -> sublime.View | None:
        """The right view of the review of the file at the caret; if that is not open, says so. For
        a press that `decides` on it: None if that came too soon."""
        found = self.at_caret(window)
        view = found.view if found is not None else None
        if found is None:
            self._tell(NO_FILE)
        elif view is None:
            self._tell(NOT_OPEN if found.file.is_made else DECIDED)
        elif decides and found is not None and self._has_moved(found.sheet, found.file.id):
            return None
        return view

    def go_to_change(self, window: sublime.Window, step: int) -> bool:
        """If a sheet has the keyboard, go to the next change in it, or with -1 to the previous one,
        and from the last one to the first."""
        view = window.active_view()
        sheet = self.sheets.sheet_of(view) if view is not None else None
        if sheet is None or view is None:
            return False
        sheet.take_typed()
        starts, row = sheet.model.change_starts, sight.caret_row(view)
        if step > 0:
            beyond = [start for start in starts if start.row > row] or starts
        else:
            beyond = ([start for start in starts if start.caret < row] or starts)[::-1]
        if beyond:
            sight.put_caret(view, sheet.model.point_at(beyond[0].caret))
        else:
            self._tell(NOWHERE)
        return True

    async def go_to_file(self, window: sublime.Window, ids: Collection[str]) -> None:
        """Bring the window's sheet to the front, with the caret at the first of these files."""
        view = self.sheets.show_sheet(window)
        sheet = self.sheets.sheet_of(view)
        if sheet is None:
            return
        await sheet.refresh()
        if not view.is_valid():
            return
        sheet.take_typed()
        numbers = (sheet.model.numbers.get(id) for id in ids)
        first = min((number for number in numbers if number is not None), default=None)
        if first is not None:
            sight.put_caret(view, sheet.model.points[first])

    async def go_to_review(self, view: sublime.View) -> None:
        """Show the line at the caret in the file's own review."""
        sheet, window = self.sheets.sheet_of(view), view.window()
        if sheet is None or window is None:
            return
        place = self._caret_place(sheet, view)
        id = sheet.model.sections[place.section].file.id
        source = sheet.find_source(id)
        if source is None:
            return
        review = await source.open_review(window, id)
        right = await self._tabs.open_tabs(review) if review is not None else None
        if right is None:
            self._tell(DECIDED)
            return
        pair.show_pair(right.window() or window, right)
        if self._reviews.is_compared(right):
            comparison = await self._reviews.wait_for_comparison(right)
            if comparison is not None:
                _show_change(right, comparison, place)

    async def decide_by_link(self, sheet: ChangeSheet, action: str, file: str, change: str) -> None:
        """What a link of the sheet says, unless that may be meant for a file that has gone just now
        from where it stands."""
        if self._has_moved(sheet, file):
            return
        what, _, of = action.partition("_")
        if of == "change":
            await self._keeping.keep_or_drop_change(sheet, file, change, what == "keep")
        elif what == "undo":
            async with self._reviews.presses.take_place(sheet.line):
                await self._deciding.undoing.undo_last(sheet)
        elif what in ("keep", "drop"):
            if of == "file":
                await self._keeping.keep_or_drop_file(sheet, file, what == "keep")
            else:
                await self._keeping.keep_or_drop_all(sheet, what == "keep")
        elif of == "file":
            await self._deciding.decide_file(sheet, file, what == "accept")
        elif of == "others":
            await self._deciding.reject_others(sheet, file)
        elif of == "maker":
            await self._deciding.reject_maker(sheet, file, change)
        else:
            await self._deciding.decide_all(sheet, what == "accept")

    def _has_moved(self, sheet: ChangeSheet, id: str) -> bool:
        """Whether the press on the file comes too soon; then the user is told. What is about all
        files stands where it stood."""
        section = sheet.find_section(id) if id else None
        if section is None or not self._pace.has_moved(sheet.line, id, sheet.model.numbers):
            return False
        self._tell(TOO_SOON.format(os.path.basename(section.file.title)))
        return True


def _run_soon(
    window: sublime.Window, name: str, arguments: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Runs the command of ours soon, because it is one of the window; nothing is done at once."""
    queues.on_ui_thread(partial(window.run_command, f"gemini_companion_{name}", arguments))
    return ("noop", {})


def _show_change(right: sublime.View, comparison: Comparison, place: RowPlace) -> None:
    """Put the caret on the line, or on the change that has removed it."""
    number = place.run.change
    if not comparison.changes:
        return
    if place.run.kind == REMOVED and number is not None and number < len(comparison.changes):
        sight.show_change(right, comparison, number)
    elif place.run.kind in (ADDED, EQUAL):
        row = min(place.row, len(comparison.new.rows))
        sight.show_row(right, comparison, row)
    else:
        sight.show_change(right, comparison, min(number or 0, len(comparison.changes) - 1))
