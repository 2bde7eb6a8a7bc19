"""The door for clients of OpenAI's API, where the agent is a stand-in."""

from __future__ import annotations

import asyncio
import json
import unittest
from datetime import datetime, timezone
from typing import Any, AsyncIterator
from unittest import mock

from aiohttp import web
from GeminiCompanion.companion.agent.events import turn_events as events
from GeminiCompanion.companion.agent.events.turn_events import TurnEvent
from GeminiCompanion.companion.agent.wording import failure
from GeminiCompanion.companion.api.contract.refusal import Refusal
from GeminiCompanion.companion.api.handlers import openai_handlers
from GeminiCompanion.companion.api.handlers.handler_types import Inputs

PATIENCE = 30.0
NOW = datetime.now(timezone.utc)


class Pieces(unittest.IsolatedAsyncioTestCase):
    async def test_a_call_on_which_somebody_else_decided_does_not_break_the_answer(self) -> None:
        asked = events.ToolConfirmation("call", "ls", "ls", "", "ls", {}, ())
        bodies: list[events.Body] = [asked, events.Complete(events.END_TURN, events.Usage())]

        async def told() -> AsyncIterator[TurnEvent]:
            for number, body in enumerate(bodies, 1):
                yield TurnEvent(number, NOW, "one", "turn", body)

        services, turn = mock.MagicMock(), mock.MagicMock()
        services.agent.turns.confirm.side_effect = failure.no_call("call")
        turn.events = told

        async def read() -> list[events.Body]:
            return [body async for body in openai_handlers._pieces(services, turn)]

        self.assertEqual(await asyncio.wait_for(read(), PATIENCE), bodies)
        services.agent.turns.confirm.assert_called_once()


class Completions(unittest.IsolatedAsyncioTestCase):
    """The agent's turn is made of `bodies`."""

    def setUp(self) -> None:
        self.agent = mock.MagicMock()
        self.agent.backends.infos.return_value = [mock.Mock(id="gemini-cli")]
        info = mock.Mock(id="one", workspace="/workspace")
        self.agent.new_session = mock.AsyncMock(return_value=info)
        self.agent.change = mock.AsyncMock()
        self.agent.chat = mock.AsyncMock(return_value=mock.MagicMock(id="turn"))
        self.agent.remove_when_over = mock.AsyncMock()

    async def answer(self, *bodies: events.Body) -> dict[str, Any]:
        async def told() -> AsyncIterator[TurnEvent]:
            for number, body in enumerate(bodies, 1):
                yield TurnEvent(number, NOW, "one", "turn", body)

        self.agent.chat.return_value.events = told
        said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}]
        fields = {"model": "a-model", "messages": said}
        inputs = Inputs(fields, "en", {}, mock.MagicMock(), mock.MagicMock())
        services = mock.MagicMock(agent=self.agent, allows_tools=False)
        answering = openai_handlers.chat_completions(services, inputs)
        response = await asyncio.wait_for(answering, PATIENCE)
        assert isinstance(response, web.Response) and isinstance(response.body, bytes)
        return json.loads(response.body)

    async def test_a_turn_becomes_one_answer_and_its_conversation_is_deleted(self) -> None:
        usage = events.Usage(3, 4)
        body = await self.answer(
            events.Content("Hello"), events.Content(" you."), events.Complete("end_turn", usage)
        )
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": "Hello you."},
            "finish_reason": "stop",
        }
        self.assertEqual(body["choices"], [choice])
        self.assertEqual(body["usage"]["total_tokens"], 7)
        self.assertEqual((body["id"], body["model"]), ("chatcmpl-turn", "a-model"))
        self.agent.new_session.assert_awaited_once_with(mock.ANY, None, is_temporary=True)
        self.agent.change.assert_awaited_once_with("one", None, "a-model", None)
        said = "Instructions: Be brief.\n\nUser: hello"
        self.agent.chat.assert_awaited_once_with("/workspace", said, session_id="one", asks=False)
        self.agent.remove_when_over.assert_awaited_once_with("one")

    async def test_a_turn_that_fails_is_refused_and_its_conversation_is_deleted(self) -> None:
        with self.assertRaises(Refusal) as caught:
            await self.answer(events.Content("Hel"), events.Error("STREAM_ERROR", "It broke."))
        self.assertEqual(caught.exception.code, "STREAM_ERROR")
        self.agent.remove_when_over.assert_awaited_once_with("one")


if __name__ == "__main__":
    unittest.main()
