"""What a page of a conversation shows."""

from __future__ import annotations

import unittest
from datetime import datetime, timezone

from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.agent.turn_events import Content, TurnEvent
from GeminiCompanion.companion.api.handlers.session_handlers import _without_pieces

NOW = datetime.now(timezone.utc)


def shown(*bodies: events.Body) -> list[events.Body]:
    story = [TurnEvent(number, NOW, "one", "turn", body) for number, body in enumerate(bodies, 1)]
    return [event.body for event in _without_pieces(story)]


class Pieces(unittest.TestCase):
    def test_each_run_of_pieces_is_one(self) -> None:
        thought = events.Thought("Then", "")
        found = shown(Content("a"), Content("b", False), thought, Content("c", False))
        self.assertEqual(found, [Content("ab", False), thought, Content("c", False)])

    def test_an_answer_that_a_crash_cut_off_is_shown(self) -> None:
        error = events.Error("STREAM_ERROR", "The server ended before this turn did.")
        self.assertEqual(
            shown(Content("half an "), Content("answer"), error),
            [Content("half an answer", False), error],
        )
        self.assertEqual(shown(Content("half")), [Content("half", False)])
