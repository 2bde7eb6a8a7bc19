"""The sheets that are open, in all windows. UI thread only, but for what says otherwise."""

from __future__ import annotations

from functools import partial
from typing import Callable, Sequence, Tuple

import sublime

from ...base.signal import ValueSignal
from .. import queues, settings
from ..review import open_diffs
from ..stories import Stories
from .sheet import NAME, ChangeSheet
from .sources import Source
from .undoing import Undoing

# In the settings of the view, public, for key bindings.
CHANGES = "gemini_companion_changes"
SYNTAX = "Packages/GeminiCompanion/GeminiCompanionChanges.sublime-syntax"


class ChangeSheets:
    """The open sheets of one companion."""

    def __init__(
        self,
        sources: Sequence[Source],
        undoing: Undoing,
        stories: Stories,
        tell: Callable[[str], None],
    ) -> None:
        self._sources = sources
        self._undoing = undoing
        self._stories = stories
        self._tell = tell
        self._sheets: dict[int, ChangeSheet] = {}
        # The view of a sheet that is new here.
        self.adoptions = ValueSignal[sublime.View]()
        # The line of a sheet, and the id of a file that it does not show any more.
        self.removals = ValueSignal[Tuple[str, str]]()
        # The view of a sheet that is in front: some times a second.
        self.looks = ValueSignal[sublime.View]()

    def show_sheet(self, window: sublime.Window) -> sublime.View:
        """Bring the window's sheet to the front, or open one; gives its view."""
        for view in window.views():
            if _is_sheet(view):
                window.focus_view(view)
                self.activate_view(view)
                return view
        window.focus_group(open_diffs.group_without_diff(window))
        view = window.new_file()
        view.set_scratch(True)
        view.set_name(NAME)
        view.assign_syntax(SYNTAX)
        values = {
            "line_numbers": False,
            "word_wrap": settings.current_settings(window).diff_word_wrap,
        }
        for name, value in {**values, CHANGES: True}.items():
            view.settings().set(name, value)
        self._adopt_view(view)
        return view

    def sheet_of(self, view: sublime.View) -> ChangeSheet | None:
        """The sheet in the view, or in the one of which it is a clone."""
        return self._sheets.get(view.buffer_id())

    def with_id(self, buffer_id: str) -> ChangeSheet | None:
        """The sheet that a link names."""
        sheet = self._sheets.get(int(buffer_id)) if buffer_id.isdigit() else None
        return sheet if sheet is not None and sheet.views else None

    def all_views(self) -> list[sublime.View]:
        """The views of all sheets, and their clones."""
        return [view for sheet in self._sheets.values() for view in sheet.views]

    def resume_sheets(self) -> None:
        """Fill the sheets that came back with their windows."""
        for window in sublime.windows():
            for view in window.views():
                self.activate_view(view)

    def stop(self) -> None:
        """Leave the views as they are for the next start."""
        for sheet in self._sheets.values():
            sheet.marking.stop()
        self._sheets.clear()

    def forget_closed(self) -> None:
        """Forget sheets that are closed; to be called from time to time."""
        for id, sheet in list(self._sheets.items()):
            if sheet.views:
                sheet.marking.follow_scrolling()
                self._undoing.show_undo(sheet)
            else:
                del self._sheets[id]
                self._undoing.forget_sheet(id)

    def refresh_all(self) -> None:
        """Reviews or edits have changed."""
        for sheet in self._sheets.values():
            sheet.refresh()

    def activate_view(self, view: sublime.View) -> None:
        """The view has got the keyboard."""
        if not _is_sheet(view):
            return
        sheet = self.sheet_of(view)
        if sheet is None:
            self._adopt_view(view)
        else:
            sheet.refresh()

    def handle_close(self, view: sublime.View) -> None:
        """The user closes a view: the last keystroke counts as well."""
        sheet = self.sheet_of(view)
        if sheet is not None and len(sheet.views) > 1:
            sheet.take_typed()
            sheet.marking.leave_view(view)
        elif sheet is not None:
            sheet.close(view)

    def take_typed_soon(self, view: sublime.View) -> None:
        """The text of a view has changed; called on the worker."""
        if _is_sheet(view):
            queues.on_ui_thread(partial(self._take_typed, view))

    def _take_typed(self, view: sublime.View) -> None:
        sheet = self.sheet_of(view) if view.is_valid() else None
        if sheet is not None:
            sheet.take_typed()

    def _adopt_view(self, view: sublime.View) -> None:
        """Draw the sheet anew: it was opened just now, or before a restart."""
        signals = self.looks.emit, self.removals.emit
        sheet = ChangeSheet(view, self._sources, self._stories, self._tell, *signals)
        self._sheets[view.buffer_id()] = sheet
        sheet.refresh()
        self.adoptions.emit(view)


def _is_sheet(view: sublime.View) -> bool:
    return view.is_valid() and view.settings().get(CHANGES) is True
