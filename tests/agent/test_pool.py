"""Which conversation is in which process, with processes that are none."""

from __future__ import annotations

import asyncio
import unittest
from typing import Any
from unittest import mock

from GeminiCompanion.companion.agent.acp.messages import AgentMessageChunk
from GeminiCompanion.companion.agent.agents.cli import Retry
from GeminiCompanion.companion.agent.processes import idle, pool
from GeminiCompanion.companion.agent.processes.pool import Pool, ProcessPlace
from GeminiCompanion.companion.agent.processes.runner import Launch
from GeminiCompanion.companion.base.jsonrpc import Request

PATIENCE = 180.0


class Runner:
    """One that would run, with so much memory."""

    name = "Some CLI"

    def __init__(self, *_: Any) -> None:
        self.memory, self.starts, self.ended = 101, 1, asyncio.Event()

    async def stop(self) -> None:
        self.ended.set()


class Talk:
    """A conversation, as far as a pool knows it."""

    def __init__(self, session: str = "") -> None:
        self.session, self.is_busy = mock.Mock(id=session), False
        self.turn = mock.Mock(is_over=False)
        self.updates: list[Any] = []

    def take_update(self, update: Any) -> None:
        self.updates.append(update)


class PoolTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        patch = mock.patch.object(pool, "Runner", Runner)
        patch.start()
        self.addCleanup(patch.stop)
        self.cli: Any = mock.Mock()
        self.cli.read_retry.side_effect = lambda line: Retry(1, "503")
        self.pool = Pool(Launch((), processes=2), self.cli, "unused")

    async def asyncTearDown(self) -> None:
        self.pool.stop_watching()

    def place(self, talk: Talk) -> ProcessPlace:
        return self.pool.place_of(talk)  # type: ignore[arg-type]

    async def test_a_new_conversation_goes_where_the_fewest_are_and_stays_there(self) -> None:
        talks = [Talk() for _ in range(5)]
        first = [self.place(talk) for talk in talks]
        self.assertEqual(sorted(len(place) for place in set(first)), [2, 3])
        self.pool.leave_conversation(talks[1])  # type: ignore[arg-type]
        self.pool.leave_conversation(talks[3])  # type: ignore[arg-type]
        again = [self.place(talks[number]) for number in (0, 2, 4)]
        self.assertEqual(again, [first[0]] * 3)
        self.assertIs(self.place(Talk()), first[1])

    async def test_what_a_process_says_is_heard_by_its_own_conversations_alone(self) -> None:
        mine, other = Talk("the same id"), Talk("the same id")
        self.assertIsNot(self.place(mine), self.place(other))
        said = AgentMessageChunk("Hello")
        self.place(mine).take_update("the same id", said)
        self.assertEqual((mine.updates, other.updates), ([said], []))
        self.place(mine).take_log_text("Attempt 1 failed")
        mine.turn.report_retry.assert_called_once_with(Retry(1, "503"))
        other.turn.report_retry.assert_not_called()

    async def test_who_asks_what_was_said_in_no_session_is_told_that_nothing_was(self) -> None:
        # A conversation has no id of a session before that is open.
        place: Any = self.place(Talk(""))
        self.cli.asks_for_messages = "said"
        self.cli.said_meanwhile.side_effect = lambda texts: {"texts": texts}
        for number, session in enumerate(["", None, "unknown"]):
            place.runner.running_client = mock.Mock()
            answered = asyncio.Event()
            place.runner.running_client.answer_request.side_effect = lambda *_, told=answered: (
                told.set()
            )
            self.assertTrue(
                place.take_other_request(Request(number, "said", {"sessionId": session}))
            )
            await asyncio.wait_for(answered.wait(), PATIENCE)
            place.runner.running_client.answer_request.assert_called_once_with(
                number, {"texts": []}
            )
        self.assertFalse(place.take_other_request(Request(9, "something else", {})))

    async def test_a_large_process_is_ended_while_another_is_at_work(self) -> None:
        resting, busy = Talk(), Talk()
        busy.is_busy = True
        with mock.patch.multiple(idle, LARGE=100, IDLE=0.01):
            for talk in (busy, resting):
                with self.place(talk).idle.in_use():
                    pass
            runners: list[Any] = [self.place(talk).runner for talk in (resting, busy)]
            await asyncio.wait_for(runners[0].ended.wait(), PATIENCE)
        self.assertFalse(runners[1].ended.is_set())
        # It comes back to the same place.
        self.assertIs(self.place(resting).runner, runners[0])
