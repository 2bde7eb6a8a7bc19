"""What the user has to know: it stays in the status bar until they have seen it in a list.
UI thread only.

What `status_message` shows is gone a moment later, perhaps unseen.
"""

from __future__ import annotations

import time
from typing import Callable

import sublime

from ..base.shown_text import shown_line
from . import panels

# After the key of the state: the status bar shows texts by their keys.
KEY = "gemini_companion_messages"
# Characters of a message in the status bar, and messages that are kept.
SHOWN, MOST = 80, 50
NONE = "There is no message that you have not seen."
TITLE = "Messages; close this list, and they are gone"


class UnseenMessages:
    """The messages of one companion that the user has not seen, oldest first, with their times. A
    message is kept once. Only visible views have the text, as in `status_bar`."""

    def __init__(self) -> None:
        self._unseen: dict[str, float] = {}

    def add(self, message: str) -> None:
        self._unseen.pop(message, None)
        self._unseen[message] = time.time()
        while len(self._unseen) > MOST:
            del self._unseen[next(iter(self._unseen))]
        self.look()

    def look(self) -> None:
        """Show the newest message where it is not shown; to be called from time to time as well."""
        text = self._text()
        for window in sublime.windows():
            for group in range(window.num_groups()):
                _show(window.active_view_in_group(group), text)
            _show(window.active_view(), text)

    def activated(self, view: sublime.View) -> None:
        """The view has got the keyboard."""
        _show(view, self._text())

    async def show(self, window: sublime.Window, tell: Callable[[str], None]) -> None:
        """List them, the newest first. Whoever closes the list has seen them."""
        listed = dict(self._unseen)
        if not listed:
            tell(NONE)
            return
        items = [
            panels.item(message, annotation=time.strftime("%H:%M", time.localtime(at)))
            for message, at in reversed(list(listed.items()))
        ]
        await panels.choice(window, items, TITLE)
        # Those that came meanwhile are not in the list.
        self._unseen = {it: at for it, at in self._unseen.items() if listed.get(it) != at}
        self.look()

    def stop(self) -> None:
        """Remove the text everywhere."""
        for window in sublime.windows():
            for view in window.views():
                _show(view, "")

    def _text(self) -> str:
        if not self._unseen:
            return ""
        message = shown_line(list(self._unseen)[-1])
        message = message if len(message) <= SHOWN else message[:SHOWN].rstrip() + "..."
        return f"Show Messages ({len(self._unseen)}): {message}"


def _show(view: sublime.View | None, text: str) -> None:
    if view is None or view.get_status(KEY) == text:
        return
    if text:
        view.set_status(KEY, text)
    else:
        view.erase_status(KEY)
