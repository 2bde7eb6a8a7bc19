"""When a turn of version 2 of the protocol is over, whatever the agent tells in whatever order."""

from __future__ import annotations

import asyncio
import unittest
from typing import Any

from GeminiCompanion.companion.agent.acp import messages
from GeminiCompanion.companion.agent.acp.messages import OutgoingRequest, TurnEnd
from GeminiCompanion.companion.agent.acp.protocol import Sender
from GeminiCompanion.companion.agent.acp.version_2 import Version2
from GeminiCompanion.companion.agent.failure import GEMINI_ERROR, STREAM_ERROR, AgentError


class Peer(Sender):
    """An agent that is told of one prompt; it says what a test lets it say."""

    def __init__(self) -> None:
        self.protocol = Version2()
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.asked: OutgoingRequest[Any] | None = None

    def send_request(self, request: OutgoingRequest[messages.T]) -> asyncio.Future[messages.T]:
        self.asked = request
        return self.answer

    def prompt(self) -> asyncio.Future[TurnEnd]:
        self.answer = asyncio.get_running_loop().create_future()
        return self.protocol.begin_prompt(self, "s", [messages.text_block("Hello")])

    def say(self, word: str) -> None:
        """`ack` and `ack:id` answer, `idle:reason`, `running` and `waiting` are states, `user:id`
        is a message of the user, `text` one of the agent; `no` refuses."""
        kind, _, more = word.partition(":")
        if kind == "ack":
            assert self.asked is not None
            result: Any = {"messageId": more} if more else {}
            self.answer.set_result(self.asked.read(result))
        elif kind == "answer":
            assert self.asked is not None
            self.answer.set_result(self.asked.read({"stopReason": more}))
        elif kind == "no":
            self.answer.set_exception(AgentError(GEMINI_ERROR, "No."))
        elif kind == "cancel":
            self.protocol.note_cancel("s")
        elif kind == "user":
            self.update("user_message", messageId=more, content=[])
        elif kind == "text":
            self.update("agent_message_chunk", messageId="a", content={"type": "text", "text": "x"})
        else:
            state = {"waiting": "requires_action"}.get(kind, kind)
            told = {"stopReason": more} if more else {}
            error = {"error": {"code": 1, "message": "Too much."}} if more == "error" else {}
            self.update("state_update", state=state, **told, **error)

    def update(self, kind: str, **members: Any) -> None:
        update = {"sessionUpdate": kind, **members}
        self.protocol.read_update({"sessionId": "s", "update": update})


# What the agent says, in words; the turn is over with the last one, and not before.
STORIES = (
    ("it works, and is idle again", "ack running text idle:end_turn"),
    ("it tells its message as well", "user:1 ack:1 running text idle:end_turn"),
    ("it tells its message with the answer", "ack:1 user:1 running idle:max_tokens"),
    ("it was idle before", "idle user:1 ack:1 running idle:end_turn"),
    ("it was idle by an end of before", "idle:end_turn ack running idle:refusal"),
    ("it is idle after its answer, and begins then", "ack:1 idle user:1 idle:end_turn"),
    ("it is idle before it answers", "running text idle:end_turn ack"),
    ("it tells all before it answers", "user:1 running idle:end_turn ack:1"),
    ("it waits for the user", "ack running waiting running idle:end_turn"),
    ("it never says that it runs", "ack text idle:end_turn"),
    ("it has nothing to do", "ack idle:end_turn"),
    ("something else ends before", "running idle:end_turn running ack idle:end_turn"),
    ("it answers when the turn is over", "text answer:end_turn"),
    ("it answers too early that it is over", "running answer:end_turn idle:end_turn"),
    ("it is cancelled before it runs", "ack:1 cancel idle:cancelled"),
    ("it is cancelled and then refuses", "cancel no"),
    ("it fails", "ack running idle:error"),
    ("it fails before it answers", "idle:error ack"),
    ("it refuses", "no"),
    ("it refuses what it has begun", "running idle:end_turn no"),
)


class Ends(unittest.IsolatedAsyncioTestCase):
    async def test_a_turn_ends_once_it_is_over_and_not_before(self) -> None:
        for sentence, said in STORIES:
            with self.subTest(sentence):
                peer = Peer()
                end = peer.prompt()
                words = said.split()
                for word in words:
                    self.assertFalse(end.done(), word)
                    peer.say(word)
                    # A refusal is heard with the next round of the loop.
                    await asyncio.sleep(0)
                self.assertTrue(end.done())
                end.exception()

    async def test_the_end_of_what_ran_before_a_prompt_is_not_its_end(self) -> None:
        peer = Peer()
        peer.say("running")
        end = peer.prompt()
        for word in ("text", "ack:2", "idle:end_turn"):
            peer.say(word)
        self.assertFalse(end.done())
        for word in ("user:2", "running", "idle:max_tokens"):
            peer.say(word)
        self.assertEqual(end.result(), TurnEnd("max_tokens"))

    async def test_an_agent_that_tells_messages_has_not_begun_before_it_tells_the_next(
        self,
    ) -> None:
        peer = Peer()
        end = peer.prompt()
        for word in ("user:1", "ack:1", "running", "idle:end_turn"):
            peer.say(word)
        self.assertEqual(end.result().stop_reason, "end_turn")
        end = peer.prompt()
        # It works on something of its own.
        for word in ("running", "ack:2", "text", "idle:end_turn"):
            peer.say(word)
        self.assertFalse(end.done())
        for word in ("user:2", "running", "idle:refusal"):
            peer.say(word)
        self.assertEqual(end.result().stop_reason, "refusal")

    async def test_the_end_tells_what_was_used_and_why_it_failed(self) -> None:
        peer = Peer()
        end = peer.prompt()
        peer.say("ack")
        usage = {"inputTokens": 5, "outputTokens": 7, "totalTokens": 12}
        peer.update("state_update", state="idle", stopReason="end_turn", usage=usage)
        self.assertEqual(end.result().tokens, (5, 7))
        end = peer.prompt()
        for word in ("ack", "idle:error"):
            peer.say(word)
        with self.assertRaisesRegex(AgentError, "Too much."):
            end.result()

    async def test_a_process_that_ends_takes_the_turn_with_it_also_after_its_answer(self) -> None:
        for said in ("", "ack", "running ack text"):
            peer = Peer()
            end = peer.prompt()
            for word in said.split():
                peer.say(word)
            peer.protocol.end_prompts(AgentError(STREAM_ERROR, "It ended."))
            with self.assertRaisesRegex(AgentError, "It ended."):
                end.result()

    async def test_a_turn_that_nobody_waits_for_is_forgotten(self) -> None:
        peer = Peer()
        peer.prompt().cancel()
        await asyncio.sleep(0)
        self.assertTrue(peer.answer.cancelled())
        end = peer.prompt()
        for word in ("ack", "running", "idle:end_turn"):
            peer.say(word)
        self.assertEqual(end.result().stop_reason, "end_turn")

    async def test_the_ids_of_messages_are_kept_within_bounds(self) -> None:
        peer = Peer()
        end = peer.prompt()
        for number in range(10_000):
            peer.say(f"user:{number}")
        peer.say("ack:9999")
        peer.say("idle:end_turn")
        self.assertTrue(end.done())
