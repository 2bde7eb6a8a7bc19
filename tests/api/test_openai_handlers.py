"""The door for clients of OpenAI's API, where the agent is a stand-in."""

from __future__ import annotations

import asyncio
import unittest
from datetime import datetime, timezone
from typing import AsyncIterator
from unittest import mock

from GeminiCompanion.companion.agent import events, failure
from GeminiCompanion.companion.agent.events import Event
from GeminiCompanion.companion.api import openai_handlers

PATIENCE = 30.0
NOW = datetime.now(timezone.utc)


class Pieces(unittest.IsolatedAsyncioTestCase):
    async def test_a_call_on_which_somebody_else_decided_does_not_break_the_answer(self) -> None:
        asked = events.ToolConfirmation("call", "ls", "ls", "", "ls", {}, ())
        bodies: list[events.Body] = [asked, events.Complete(events.END_TURN, events.Usage())]

        async def told() -> AsyncIterator[Event]:
            for number, body in enumerate(bodies, 1):
                yield Event(number, NOW, "one", "turn", body)

        services, turn = mock.MagicMock(), mock.MagicMock()
        services.agent.confirm.side_effect = failure.no_call("call")
        turn.events = told

        async def read() -> list[events.Body]:
            return [body async for body in openai_handlers._pieces(services, turn)]

        self.assertEqual(await asyncio.wait_for(read(), PATIENCE), bodies)
        services.agent.confirm.assert_called_once()


if __name__ == "__main__":
    unittest.main()
