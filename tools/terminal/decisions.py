"""What the person did with the diffs that waited, and what became of them."""

from __future__ import annotations

from typing import Any, Dict, Mapping

from . import proposals
from .messages import Messages

# By the keys that decide.
DECISIONS = {"a": "Accepted", "A": "Accepted", "r": "Rejected", "R": "Rejected", "l": "Released"}
ELSEWHERE = "Decided in its chat or terminal, or taken back by its agent"


class Decisions:
    """What the user did last with a diff is said once the diff is gone."""

    def __init__(self, editor: Any, messages: Messages) -> None:
        self._editor = editor
        self._messages = messages
        self._paths: Dict[int, str] = {}
        self._decided: Dict[int, str] = {}

    def note(self, diff: int, key: str) -> None:
        """The key was pressed for the diff, by the id of its view."""
        if key in DECISIONS:
            self._decided[diff] = DECISIONS[key]

    def note_answer(self, diff: int, label: str) -> None:
        """What was asked about a decision was answered with this: it may be another one now."""
        if label.startswith("Accept"):
            return
        self._decided.pop(diff, None)
        if label.startswith("Reject"):
            self._decided[diff] = "Rejected"

    def follow(self, waiting: Mapping[int, str]) -> None:
        """The diffs that wait now, with their paths; says what became of those that do not any
        more. The tab of one that was decided a moment ago is still to be closed, or to become the
        user's own."""
        for id, path in waiting.items():
            self._paths.setdefault(id, path)
        for id in [id for id in self._paths if id not in waiting]:
            view = self._editor.views.get(id)
            is_there = view is not None and not view.closed
            if is_there and view.settings.get(proposals.RECORD):
                continue
            path = self._paths.pop(id)
            self._messages.say("%s: %s" % (self._decided.pop(id, ELSEWHERE), path))
            if is_there:
                self._messages.say("Its text stays as the tab %s: g shows it." % view.title())
