"""What the user has to know: it stays in the status bar until they have seen it in a list, or it is
not true any more. UI thread only.

What `status_message` shows is gone a moment later, perhaps unseen.
"""

from __future__ import annotations

import time
from typing import Callable

import sublime

from ..base.shown_text import shown_line
from . import panels
from .status_texts import set_status, show_status

# After the key of the state: the status bar shows texts by their keys.
KEY = "gemini_companion_messages"
# Characters of a message in the status bar, and messages that are kept.
SHOWN, MOST = 80, 50
NONE = "There is no message that you have not seen."
TITLE = "Messages; close this list, and they are gone"


class UnseenMessages:
    """The messages that the user has not seen, oldest first, with their times; also those of
    earlier companions. A message is kept once. Only visible views have the text, as in
    `status_texts`, and only while a companion runs."""

    def __init__(self) -> None:
        self._is_shown = False
        self._unseen: dict[str, float] = {}
        # What each of them is about: it is true as long as one of these is not withdrawn.
        self._subjects: dict[str, set[str]] = {}

    def add_message(self, message: str, about: str = "") -> None:
        """Add a message. It is shown until it is seen, or until what it is `about` is withdrawn."""
        self._unseen.pop(message, None)
        self._unseen[message] = time.time()
        self._subjects.setdefault(message, set()).add(about)
        while len(self._unseen) > MOST:
            del self._unseen[next(iter(self._unseen))]
        self._forget_subjects()
        self.refresh_text()

    def withdraw_messages(self, about: str) -> None:
        """The messages about this are not true any more, but for those about something else as
        well."""
        for message, subjects in self._subjects.items():
            if about in subjects:
                subjects.remove(about)
                if not subjects:
                    self._unseen.pop(message, None)
        self._forget_subjects()
        self.refresh_text()

    def _forget_subjects(self) -> None:
        known = self._subjects.items()
        self._subjects = {
            message: subjects for message, subjects in known if message in self._unseen
        }

    def refresh_text(self) -> None:
        """Show the newest message where it is not shown; to be called from time to time as well."""
        text = self._newest_text()
        for window in sublime.windows():
            show_status(window, KEY, text)

    def refresh_view(self, view: sublime.View) -> None:
        """The view has got the keyboard."""
        set_status(view, KEY, self._newest_text())

    async def show_list(self, window: sublime.Window, tell: Callable[[str], None]) -> None:
        """List them, the newest first. Whoever closes the list has seen them."""
        listed = dict(self._unseen)
        if not listed:
            tell(NONE)
            return
        items = [
            panels.panel_item(message, annotation=time.strftime("%H:%M", time.localtime(at)))
            for message, at in reversed(list(listed.items()))
        ]
        await panels.ask_choice(window, items, TITLE)
        # Those that came meanwhile are not in the list.
        self._unseen = {
            message: at for message, at in self._unseen.items() if listed.get(message) != at
        }
        self._forget_subjects()
        self.refresh_text()

    @property
    def has_some(self) -> bool:
        return bool(self._unseen)

    def start(self) -> None:
        """A companion has begun."""
        self._is_shown = True
        self.refresh_text()

    def stop(self, outlives: Callable[[str], bool]) -> None:
        """The companion ends: remove the text everywhere. What is about something of its own goes;
        the next one says it again where it is true. `outlives` tells what else there is."""
        self._is_shown = False
        for about in {subject for subjects in self._subjects.values() for subject in subjects}:
            if about and not outlives(about):
                self.withdraw_messages(about)
        for window in sublime.windows():
            for view in window.views():
                set_status(view, KEY, "")

    def _newest_text(self) -> str:
        if not self._unseen or not self._is_shown:
            return ""
        message = shown_line(list(self._unseen)[-1])
        message = message if len(message) <= SHOWN else message[:SHOWN].rstrip() + "..."
        return f"Show Messages ({len(self._unseen)}): {message}"
