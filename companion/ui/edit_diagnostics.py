"""What LSP and SublimeLinter find in a file that a CLI has just written. UI thread only.

Sublime Text loads the file again by itself, and the two packages report some time after that. The
loop asks now and then whether they have (`ide/hooks/diagnostics_after_edits`).
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import partial
from typing import Any, Awaitable, Callable

import sublime

from ..ide.editor import EditWatch, NewDiagnostics
from .prompt import diagnostics
from .prompt.diagnostics import MAX_KNOWN, Diagnostic, Reports

# Files that CLIs are about to write.
MAX_WATCHED = 32
# The preference of whoever wants changed files to be loaded again.
RELOADS = "reload_file_on_change"
NOTHING = NewDiagnostics(is_final=True)


@dataclass
class _Watched:
    """A file as it is before the CLI's text is loaded."""

    view: sublime.View
    before: list[Diagnostic]
    reports: Reports
    is_loaded: bool = False


class EditDiagnostics(EditWatch):
    """Watches the edits in the windows of one companion. `ask` runs work on the UI thread, for the
    loop."""

    def __init__(self, ask: Callable[[Callable[[], Any]], Awaitable[Any]]) -> None:
        self._ask = ask
        # By the window's id and the path, oldest first.
        self._watched: OrderedDict[tuple[int, str], _Watched] = OrderedDict()

    async def watch_edit(self, window_id: int, path: str) -> bool:
        is_watched: bool = await self._ask(partial(self._watch_file, window_id, path))
        return is_watched

    async def new_diagnostics(self, window_id: int, path: str, is_last: bool) -> NewDiagnostics:
        found: NewDiagnostics = await self._ask(
            partial(self._look_at_file, window_id, path, is_last)
        )
        return found

    def _watch_file(self, window_id: int, path: str) -> bool:
        """False if nothing will be found in the file: it is not open in the window, Sublime Text
        will not load it again, or neither package watches it."""
        self._watched.pop((window_id, path), None)
        window = sublime.Window(window_id)
        view = window.find_open_file(path)
        if view is None or view.is_dirty() or not view.settings().get(RELOADS, True):
            return False
        reports = diagnostics.source_reports(window, view)
        before = diagnostics.diagnostics_of(window, path) if reports else []
        if not reports or len(before) > MAX_KNOWN:
            return False
        self._watched[window_id, path] = _Watched(view, before, reports)
        while len(self._watched) > MAX_WATCHED:
            self._watched.popitem(last=False)
        return True

    def note_loaded_view(self, view: sublime.View) -> None:
        """The view has the text that its file has now. What is reported from here on is about
        that."""
        for (window_id, path), watched in self._watched.items():
            if watched.view.buffer_id() == view.buffer_id():
                window = sublime.Window(window_id)
                watched.before = diagnostics.diagnostics_of(window, path)
                watched.reports = diagnostics.source_reports(window, watched.view)
                watched.is_loaded = True

    def _look_at_file(self, window_id: int, path: str, is_last: bool) -> NewDiagnostics:
        watched, window = self._watched.get((window_id, path)), sublime.Window(window_id)
        if watched is None or not watched.view.is_valid() or watched.view.is_dirty():
            self._watched.pop((window_id, path), None)
            return NOTHING
        now = diagnostics.source_reports(window, watched.view)
        is_final = watched.is_loaded and diagnostics.are_new(watched.reports, now)
        if not is_final and not is_last:
            return NewDiagnostics(is_final=False)
        del self._watched[window_id, path]
        if not watched.is_loaded:
            return NOTHING
        found = diagnostics.new_diagnostics(
            watched.before, diagnostics.diagnostics_of(window, path)[: 2 * MAX_KNOWN]
        )
        return NewDiagnostics(True, tuple(each.text() for each in found))
