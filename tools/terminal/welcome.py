"""What somebody sees first: where the editor runs, and at the very first start the page with the
steps to the first edit."""

from __future__ import annotations

import contextlib
import os
from typing import Any, List, Optional

from . import hints, proposals
from .commands import Commands
from .messages import Messages

# The page with the steps to the first edit.
WELCOME = "gemini_companion_welcome"
# In the data folder: a file that says that the page was shown.
WELCOMED = os.path.join("Local", "Welcomed")


class Welcome:
    def __init__(self, editor: Any, messages: Messages, commands: Commands) -> None:
        self._editor = editor
        self._messages = messages
        self._commands = commands
        self._folders: Optional[List[str]] = None
        self._is_done = False

    def show(self) -> None:
        """Where the editor runs, and the page."""
        self._say_place()
        self._show_page()

    def _say_place(self) -> None:
        """Once, and again where the folders are others."""
        folders = [folder for window in self._editor.windows for folder in window.folders]
        if folders == self._folders:
            return
        is_first = self._folders is not None or not os.path.exists(self._mark())
        self._folders = folders
        self._messages.say(hints.place_line(folders, is_first))

    def _show_page(self) -> None:
        """Once for a data folder, as soon as the package has the command; not beside a proposal of
        before."""
        window, commands = self._editor.active_window, self._editor.commands
        if self._is_done or window is None:
            return
        if self._editor.ui(commands.is_enabled, window, WELCOME, None):
            self._is_done = True
            waiting = self._editor.ui(proposals.waiting_views, self._editor)
            if not waiting and self._is_first_start():
                self._commands.run(WELCOME)

    def _is_first_start(self) -> bool:
        """Whether no editor of this data folder asked before."""
        mark = self._mark()
        if os.path.exists(mark):
            return False
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(mark), exist_ok=True)
            with open(mark, "w", encoding="ascii"):
                pass
        return True

    def _mark(self) -> str:
        return os.path.join(self._editor.data, WELCOMED)
