"""The document of a conversation."""

from __future__ import annotations

import unittest
from datetime import datetime, timezone

from GeminiCompanion.companion.agent.events.turn_events import Content, Message, TurnEvent
from GeminiCompanion.companion.chat.transcript import Transcript

TIME = datetime(2026, 5, 4, 12, 30, tzinfo=timezone.utc)


class Document(unittest.TestCase):
    def test_the_patches_give_the_text(self) -> None:
        transcript = Transcript()
        transcript.add(TurnEvent(0, TIME, "s", "t", Message("Hello")))
        transcript.add(TurnEvent(1, TIME, "s", "t", Content("Hi", is_partial=False)))
        text = ""
        for patch in transcript.take():
            text = text[: patch.start] + patch.rendered.text + text[patch.end :]
        self.assertEqual((text, transcript.take()), (transcript.text, ()))
        self.assertIn("Hello", text)


if __name__ == "__main__":
    unittest.main()
