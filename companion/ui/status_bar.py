"""The state of the CLIs in the status bar of each window. UI thread only."""

from __future__ import annotations

import time
from collections import Counter
from typing import Callable, Mapping

import sublime

from ..edits.ledger import EditCounts
from ..ide import live_words
from ..ide.editor import Status
from . import settings
from .status_texts import set_status, show_status

KEY = "gemini_companion"
OFF, NO_CLI, CONNECTED, PAUSED = "Gemini: off", "Gemini: no CLI", "Gemini", "Gemini: paused"
UNWRITTEN, UNSAVED = "{} edit{} not written", "not saved"
UNSEEN = "{} edit{} to look at"
LOST = "type /ide enable in {}"


class StatusBar:
    """The text of all windows, and a message when a CLI comes or leaves. Only visible views have
    the text: a view that is activated gets it then, so that ten thousand tabs cost nothing.

    `mention` shows a sentence of less importance. `is_running` says whether the companion runs.
    `is_paused` says whether sharing is paused in a window. `lost` names the CLIs that wait for
    `/ide enable`. `counts` says how many edits of a window, by its id, wait for the user in some
    way. `asked` says what waits for an answer in the chats of a window, or is empty.
    """

    def __init__(
        self,
        mention: Callable[[str], None],
        is_running: Callable[[], bool],
        is_paused: Callable[[sublime.Window], bool],
        lost: Callable[[sublime.Window], tuple[str, ...]],
        counts: Callable[[int], EditCounts],
        asked: Callable[[sublime.Window], str],
    ) -> None:
        self._mention = mention
        self._is_running = is_running
        self._is_paused = is_paused
        self._lost = lost
        self._counts = counts
        self._asked = asked
        # By window id; None before the first report.
        self._statuses: Mapping[int, Status] | None = None
        # The text of each window, by its id.
        self._shown: dict[int, str] = {}

    def show(self, statuses: tuple[Status, ...]) -> None:
        """This is the state of all windows now."""
        before, self._statuses = self._statuses or {}, {each.window_id: each for each in statuses}
        for id, status in self._statuses.items():
            window, known = sublime.Window(id), before.get(id)
            if window.is_valid() and settings.of(window).messages:
                self._mention_clis(known.clients if known is not None else (), status.clients)
        self.look()

    def _mention_clis(self, before: tuple[str, ...], now: tuple[str, ...]) -> None:
        for name in Counter(now) - Counter(before):
            self._mention(f"{name} is connected.")
        for name in Counter(before) - Counter(now):
            self._mention(f"{name} has left.")

    def look(self) -> None:
        """Show the text of each window again if it has changed."""
        for window in sublime.windows():
            text = self._text(window)
            if self._shown.get(window.id(), "") != text:
                self._shown[window.id()] = text
                show_status(window, KEY, text)

    def activated(self, view: sublime.View) -> None:
        """The view has got the keyboard."""
        window = view.window()
        if window is not None:
            set_status(view, KEY, self._shown.get(window.id(), ""))

    def stop(self) -> None:
        """Remove the text everywhere."""
        for window in sublime.windows():
            for view in window.views() if window.id() in self._shown else []:
                view.erase_status(KEY)
        self._shown.clear()

    def _text(self, window: sublime.Window) -> str:
        if not settings.of(window).status_bar:
            return ""
        counts, status = self._counts(window.id()), (self._statuses or {}).get(window.id())
        state = self._state(window, counts.asked)
        lost = ", ".join(dict.fromkeys(self._lost(window)))
        more = [LOST.format(lost)] if lost else []
        for words, count in ((UNSEEN, counts.written), (UNWRITTEN, counts.unwritten)):
            if count:
                more.append(words.format(count, "" if count == 1 else "s"))
        if status is not None and status.unsaved:
            more.append(UNSAVED)
        asked = self._asked(window)
        first, _, rest = (CONNECTED if (asked or lost) and state == NO_CLI else state).partition(
            ": "
        )
        said = ", ".join(filter(None, (asked, rest, *more)))
        return ": ".join(filter(None, (first or (CONNECTED if asked else ""), said)))

    def _state(self, window: sublime.Window, waiting: int) -> str:
        known = (self._statuses or {}).get(window.id())
        activity = live_words.state_text(known.live if known is not None else (), time.time())
        if activity == live_words.ASKS:
            return activity
        if waiting:
            return f"Gemini: {waiting} waiting"
        if self._statuses is None and self._is_running():
            return ""
        status = (self._statuses or {}).get(window.id())
        if status is None or not status.port or not self._is_running():
            return OFF
        if self._is_paused(window):
            return PAUSED
        if activity:
            return activity
        if not status.connected:
            return NO_CLI
        return CONNECTED if status.connected == 1 else f"{CONNECTED} {status.connected}"
