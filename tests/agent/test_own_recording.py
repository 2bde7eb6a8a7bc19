"""How much Gemini CLI repeats of a recording of its own, in the user's home."""

from __future__ import annotations

import json
import os
import tempfile
import unittest
from datetime import datetime, timezone
from typing import Any

from GeminiCompanion.companion.agent.agents.gemini_resumption import count_own_updates

SESSION = "01234567-89ab"
HEAD = {"sessionId": SESSION, "projectHash": "x", "startTime": "t"}
ASKED = {"id": "1", "type": "user", "content": [{"text": "plum"}]}
ANSWERED = {
    "id": "2",
    "type": "gemini",
    "content": "I see.",
    "thoughts": [{"subject": "s", "description": "d"}],
    "toolCalls": [{"id": "c"}, {"id": "d"}],
}


class OwnRecording(unittest.TestCase):
    def count(self, *lines: Any, minute: str = "2026-01-02T03-04") -> int | None:
        with tempfile.TemporaryDirectory() as home:
            chats = os.path.join(home, "tmp", "work", "chats")
            os.makedirs(chats)
            path = os.path.join(chats, f"session-{minute}-{SESSION[:8]}.jsonl")
            with open(path, "w", encoding="utf-8") as file:
                for line in lines:
                    file.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
            return count_own_updates(home, SESSION)

    def test_texts_thoughts_and_calls_are_repeated_and_a_message_counts_as_written_last(
        self,
    ) -> None:
        for lines, count in (
            ((HEAD, ASKED), 1),
            ((HEAD, ASKED, {**ANSWERED, "toolCalls": []}, ANSWERED), 5),
            ((HEAD, ASKED, {"id": "3", "type": "info", "content": "not told"}), 1),
            ((HEAD, {**ASKED, "content": " "}, {"id": "2", "type": "gemini", "content": ""}), 0),
            ((HEAD, ASKED, {"$set": {"lastUpdated": "t"}}), 1),
            ((HEAD, ASKED, {"$set": {"messages": [ANSWERED]}}), 4),
            ((HEAD, ASKED, ANSWERED, {"$rewindTo": "2"}), 1),
            ((HEAD, ASKED, ANSWERED, {"$rewindTo": "gone"}, ASKED), 1),
            ((HEAD, ASKED, '{"id": "2", "type": "gemi'), 1),
        ):
            with self.subTest(lines):
                self.assertEqual(self.count(*lines), count)

    def test_what_says_nothing_or_would_be_destroyed_is_not_loaded(self) -> None:
        now = datetime.now(timezone.utc)
        self.assertIsNone(self.count(HEAD))
        self.assertIsNone(self.count("no JSON", "[]", "1"))
        # The minute may end meanwhile.
        counts = {self.count(HEAD, ASKED, minute=f"{now:%Y-%m-%dT%H-%M}"), None}
        same = datetime.now(timezone.utc).minute == now.minute
        self.assertEqual(counts, {None} if same else counts)
        with tempfile.TemporaryDirectory() as home:
            self.assertIsNone(count_own_updates(home, SESSION))
