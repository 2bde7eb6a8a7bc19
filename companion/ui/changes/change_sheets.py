"""The sheets that are open, in all windows. UI thread only, but for what says otherwise."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Mapping, Sequence

import sublime

from ...base.change_sheet import ADDED, EQUAL, PLACE, REMOVED, Place
from ...base.comparison import Comparison
from .. import queues, settings, texts
from ..review import open_diffs, pair, sight
from ..review.record import waiting
from ..review.reviews import Reviews
from ..stories import Stories
from .deciding import DECIDED, Deciding
from .sheet import ChangeSheet
from .sources import Source

# In the settings of the view, public, for key bindings.
CHANGES = "gemini_companion_changes"
NAME = "Changes"
SYNTAX = "Packages/GeminiCompanion/GeminiCompanionChanges.sublime-syntax"


class ChangeSheets:
    """Those of one companion."""

    def __init__(
        self,
        sources: Sequence[Source],
        deciding: Deciding,
        reviews: Reviews,
        stories: Stories,
        tell: Callable[[str], None],
    ) -> None:
        self._sources = sources
        self._deciding = deciding
        self._reviews = reviews
        self._stories = stories
        self._tell = tell
        self._sheets: dict[int, ChangeSheet] = {}

    def show(self, window: sublime.Window) -> None:
        """Bring the window's sheet to the front, or open one."""
        for view in window.views():
            if _is_sheet(view):
                window.focus_view(view)
                self.activated(view)
                return
        window.focus_group(open_diffs.group_without_diff(window))
        view = window.new_file()
        view.set_scratch(True)
        view.set_name(NAME)
        view.assign_syntax(SYNTAX)
        values = {"line_numbers": False, "word_wrap": settings.of(window).diff_word_wrap}
        for name, value in {**values, CHANGES: True}.items():
            view.settings().set(name, value)
        self._adopt(view)

    def of(self, view: sublime.View) -> ChangeSheet | None:
        """The sheet in the view, or in the one of which it is a clone."""
        return self._sheets.get(view.buffer_id()) if _is_sheet(view) else None

    def with_id(self, buffer_id: str) -> ChangeSheet | None:
        """The sheet that a link names."""
        sheet = self._sheets.get(int(buffer_id)) if buffer_id.isdigit() else None
        return sheet if sheet is not None and sheet.views else None

    def resume(self) -> None:
        """Fill the sheets that came back with their windows."""
        for window in sublime.windows():
            for view in window.views():
                self.activated(view)

    def stop(self) -> None:
        """Leave the views as they are for the next start."""
        for sheet in self._sheets.values():
            sheet.marking.stop()
        self._sheets.clear()

    def look(self) -> None:
        """Forget sheets that are closed; to be called from time to time."""
        for id, sheet in list(self._sheets.items()):
            if sheet.views:
                sheet.marking.follow()
                self._deciding.look(sheet)
            else:
                del self._sheets[id]

    def changed(self) -> None:
        """Reviews or edits have changed."""
        for sheet in self._sheets.values():
            sheet.refresh()

    def activated(self, view: sublime.View) -> None:
        """The view has got the keyboard."""
        if not _is_sheet(view):
            return
        sheet = self.of(view)
        if sheet is None:
            self._adopt(view)
        else:
            sheet.refresh()

    def closing(self, view: sublime.View) -> None:
        """The user closes a view: the last keystroke counts as well."""
        sheet = self.of(view)
        if sheet is not None:
            sheet.take_typed()

    def modified(self, view: sublime.View) -> None:
        """The text of a view has changed; called on the worker."""
        if _is_sheet(view):
            queues.on_ui_thread(partial(self._take_typed, view))

    def _take_typed(self, view: sublime.View) -> None:
        sheet = self.of(view) if view.is_valid() else None
        if sheet is not None:
            sheet.take_typed()

    def _adopt(self, view: sublime.View) -> None:
        """Draw the sheet anew: it was opened just now, or before a restart."""
        texts.fill(view, "", NAME)
        view.assign_syntax(SYNTAX)
        sheet = ChangeSheet(view, self._sources, self._stories, self._tell)
        self._sheets[view.buffer_id()] = sheet
        sheet.refresh()

    # ----- commands

    def instead_of(
        self, name: str, arguments: Mapping[str, Any] | None, view: sublime.View
    ) -> tuple[str, dict[str, Any]] | None:
        """The command to run instead of this one: Enter goes to the file's own review where nothing
        can be typed, saving means accepting all, and what was changed last is undone in the review
        that has the text."""
        sheet, window = self.of(view), view.window()
        if sheet is None or window is None:
            return None
        if name == "save" and settings.of(window).accept_on_save:
            arguments = {"sheet": str(sheet.buffer_id), "action": "accept_all"}
            return _later(window, "decide_changes", arguments)
        sheet.take_typed()
        if name in ("undo", "redo") and waiting(sheet.edits.last) is not None:
            queues.on_ui_thread(partial(sheet.edits.last.run_command, name))
            return ("noop", {})
        is_enter = name == "insert" and dict(arguments or {}).get("characters") == "\n"
        if is_enter and self._place(sheet, view).run.kind != ADDED:
            return _later(window, "go_to_change", {})
        return None

    def _place(self, sheet: ChangeSheet, view: sublime.View) -> Place:
        sheet.take_typed()
        return sheet.model.place(sight.caret_row(view))

    def meant(self, window: sublime.Window) -> tuple[sublime.View, str] | None:
        """If a sheet has the keyboard: the right view of the file at its caret, and the key of the
        change there, empty for none. None also if that file's own review is not open."""
        view = window.active_view()
        sheet = self.of(view) if view is not None else None
        if sheet is None or view is None:
            return None
        place = self._place(sheet, view)
        file = sheet.model.sections[place.section].file
        source = sheet.source(file.id)
        right = source.view(file.id) if source is not None else None
        number = place.run.change if place.run.kind != PLACE else None
        key = file.comparison.keys[number] if file.comparison and number is not None else ""
        return (right, key) if right is not None else None

    def step(self, window: sublime.Window, step: int) -> bool:
        """If a sheet has the keyboard, go to the next change in it, or with -1 to the previous one,
        and from the last one to the first."""
        view = window.active_view()
        sheet = self.of(view) if view is not None else None
        if sheet is None or view is None:
            return False
        sheet.take_typed()
        rows, row = sheet.model.change_rows, sight.caret_row(view)
        beyond = [it for it in rows if (it - row) * step > 0][::step] or rows[::step]
        if beyond:
            sight.put_caret(view, sheet.model.point_at(beyond[0]))
        return True

    async def go(self, view: sublime.View) -> None:
        """Show the line at the caret in the file's own review."""
        sheet, window = self.of(view), view.window()
        if sheet is None or window is None:
            return
        place = self._place(sheet, view)
        id = sheet.model.sections[place.section].file.id
        source = sheet.source(id)
        if source is None:
            return
        right = await source.open(window, id)
        if right is None:
            self._tell(DECIDED)
            return
        pair.show(right.window() or window, right)
        if self._reviews.is_compared(right):
            comparison = await self._reviews.comparison(right)
            if comparison is not None:
                _show(right, comparison, place)

    async def decide(self, sheet: ChangeSheet, action: str, file: str, change: str) -> None:
        """What a link of the sheet says."""
        what, _, of = action.partition("_")
        if of == "change":
            await self._deciding.change(sheet, file, change, what == "keep")
        elif of == "file":
            await self._deciding.file(sheet, file, what == "accept")
        elif what == "undo":
            await self._deciding.undo_all(sheet)
        else:
            await self._deciding.all(sheet, what == "accept")


def _is_sheet(view: sublime.View) -> bool:
    return view.is_valid() and view.settings().get(CHANGES) is True


def _later(
    window: sublime.Window, name: str, arguments: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Runs the command of ours soon, because it is one of the window; nothing is done at once."""
    queues.on_ui_thread(partial(window.run_command, f"gemini_companion_{name}", arguments))
    return ("noop", {})


def _show(right: sublime.View, comparison: Comparison, place: Place) -> None:
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
