"""What the user is told: in the status bar, for a moment or until they have seen it."""

from __future__ import annotations

import time
from functools import partial

import sublime

from ..base.shown_text import shown_line
from . import queues
from .unseen_messages import UnseenMessages

PREFIX = "Gemini Companion: "
# Seconds that a user needs to read a sentence.
READING = 5.0


class UserMessages:
    """The messages of one companion. `unseen` are those that the user has to know and has not seen.
    From any thread, unless a method says otherwise."""

    def __init__(self, unseen: UnseenMessages) -> None:
        self.unseen = unseen
        # When the last sentence was shown.
        self._told_at = float("-inf")

    def warn_user(self, sentence: str, about: str = "") -> None:
        """Say what the user has to know. It stays until they have seen it; with `about`, until that
        is withdrawn as well."""
        self.tell_user(sentence)
        queues.on_ui_thread(partial(self.unseen.add_message, sentence, about))

    def withdraw_warning(self, about: str) -> None:
        """What was told about this is not true any more."""
        queues.on_ui_thread(partial(self.unseen.withdraw_messages, about))

    def tell_user(self, sentence: str) -> None:
        """Show for a moment what comes of something that the user has just done, or what stands
        elsewhere as well."""

        def show_sentence() -> None:
            self._told_at = time.monotonic()
            sublime.status_message(PREFIX + shown_line(sentence))

        queues.on_ui_thread(show_sentence)

    def mention_state(self, sentence: str) -> None:
        """Show a sentence that repeats the status bar's text, but never in place of one that was
        shown a moment ago. UI thread only."""
        if time.monotonic() - self._told_at > READING:
            sublime.status_message(PREFIX + shown_line(sentence))
