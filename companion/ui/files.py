"""Reports to the companion which files are open and which one the user looks at."""

from __future__ import annotations

from functools import partial

import sublime

from ..ide.companion import Companion
from ..ide.events import FileAdded, FileClosed, FileFocused, SelectionChanged
from . import queues, views
from .keyboard import Keyboard

# Tabs that are read at a time, so that a window with thousands does not block the UI thread.
CHUNK = 20


class Files:
    """Reports to one companion. On the UI thread, unless a method says otherwise."""

    def __init__(self, companion: Companion, keyboard: Keyboard) -> None:
        self._companion = companion
        self._keyboard = keyboard

    def report_focus(self, view: sublime.View) -> None:
        """The view has got the keyboard."""
        before = self._keyboard.view
        # When a preview replaces another, the close of the older one is not always reported
        # (docs/sublime.md 4.8).
        if before is not None and not before.is_valid():
            self._companion.post(FileClosed(before.id()))
        element = view.element()
        # The palette has the keyboard only for a moment; a terminal's panel keeps it.
        if element is None or element.endswith(":output"):
            self._keyboard.move_to(view)
        window, file = view.window(), views.describe_view(view)
        if window is not None and file is not None:
            self._companion.post(FileFocused(window.id(), file))

    def report_file(self, view: sublime.View) -> None:
        """The view has got a file, or is in another window."""
        window, file = view.window(), views.describe_view(view)
        if window is None or file is None:
            return
        kind = FileFocused if window.active_view() == view else FileAdded
        self._companion.post(kind(window.id(), file))

    def report_selection(self, view: sublime.View) -> None:
        """Cursor, selection or file of the view have changed; from any thread."""
        window, file = view.window(), views.describe_view(view)
        if window is not None and file is not None:
            self._companion.post(SelectionChanged(window.id(), file))

    def report_move(self, view: sublime.View) -> None:
        window = view.window()
        if window is not None:
            self._companion.post(FileClosed(view.id(), still_in=window.id()))
        self.report_file(view)

    def report_close(self, view: sublime.View) -> None:
        self._companion.post(FileClosed(view.id()))

    def add_all(self, views: list[sublime.View]) -> None:
        """Report tabs that were there before the package, and the active one as focused."""
        for view in views[:CHUNK]:
            if view.is_valid():
                self.report_file(view)
        if views[CHUNK:]:
            queues.on_ui_thread(partial(self.add_all, views[CHUNK:]))
