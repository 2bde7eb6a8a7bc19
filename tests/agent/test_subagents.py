"""Subagents with sessions of their own: what they tell and ask is shown in the conversation, each
can be stopped alone, and a turn lasts as long as they work."""

from __future__ import annotations

import asyncio
import unittest
from types import SimpleNamespace
from typing import Any
from unittest import mock

from GeminiCompanion.companion.agent.acp import held_ends, messages, subagents
from GeminiCompanion.companion.agent.acp.acp_client import AcpSession
from GeminiCompanion.companion.agent.acp.held_ends import HeldEnds
from GeminiCompanion.companion.agent.acp.messages import (
    AgentMessageChunk,
    Notice,
    PermissionRequest,
    ToolCallStart,
    ToolCallUpdate,
    TurnEnd,
)
from GeminiCompanion.companion.agent.acp.subagents import SubagentNews, Subagents, WorkState
from GeminiCompanion.companion.agent.acp.version_1 import Version1
from GeminiCompanion.companion.agent.acp.version_2 import Version2
from GeminiCompanion.companion.agent.elicitation import ElicitationRequest
from GeminiCompanion.companion.agent.failure import STREAM_ERROR, AgentError

from ..support import until

CALL = "subagent-c"
CHUNK = {"sessionUpdate": "agent_message_chunk", "messageId": "m"}


class Told(unittest.TestCase):
    """In both versions of the protocol."""

    def setUp(self) -> None:
        self.known = Subagents()
        self.known.note_root("s")
        self.protocol: Any = Version1()

    def told(self, session: str, kind: str, /, **members: Any) -> list[tuple[str, Any]]:
        """What the conversations hear, with their sessions."""
        update = {"sessionUpdate": kind, **members}
        id, updates = self.protocol.read_update({"sessionId": session, "update": update})
        found = [self.known.take_update(id, each) for each in updates]
        return [(root, each) for root, news in found for each in news]

    def announce(self, session: str = "c", parent: str = "s", **members: Any) -> list[Any]:
        return self.told(parent, "subagent_update", sessionId=session, **members)

    def state(self, state: str, session: str = "c", parent: str = "s", **more: Any) -> list[Any]:
        return self.announce(session, parent, state={"state": state, **more})

    def test_one_is_a_call_with_its_task_from_its_begin_to_its_end(self) -> None:
        can: dict[str, Any] = {"capabilities": {"cancel": {}}}
        self.assertEqual(self.announce(title="Look", description="Around", **can), [])
        said = {"messageId": "1", "recipientSessionId": "c", "senderSessionId": "s"}
        task = [{"type": "text", "text": "Look around."}]
        self.assertEqual(self.told("c", "session_message", content=task, **said), [])
        ((root, start),) = self.state("running")
        self.assertIsInstance(start, ToolCallStart)
        self.assertEqual(
            (root, start.id, start.title, start.status), ("s", CALL, "Look", "in_progress")
        )
        self.assertEqual(start.raw_input, {"description": "Around", "prompt": "Look around."})
        self.assertTrue(start.can_stop)
        self.assertEqual(self.state("requires_action"), [])
        ((_root, end),) = self.state("idle", stopReason="end_turn")
        self.assertEqual((end.id, end.status), (CALL, "completed"))
        self.assertEqual(self.state("idle"), [])

    def test_one_that_works_again_is_another_call(self) -> None:
        self.state("running")
        self.state("idle")
        ((_root, again),) = self.state("running")
        self.assertIsInstance(again, ToolCallStart)

    def test_one_that_was_stopped_or_failed_says_so(self) -> None:
        for reason, text in (("cancelled", "Cancelled."), ("error", "It failed.")):
            self.state("running")
            ((_root, end),) = self.state("idle", stopReason=reason)
            self.assertEqual((end.status, end.texts), ("failed", (text,)))

    def test_what_one_says_and_does_belongs_to_its_call(self) -> None:
        self.state("running")
        ((root, said),) = self.told(
            "c", "agent_message_chunk", content={"type": "text", "text": "a"}
        )
        self.assertEqual((root, said), ("s", AgentMessageChunk("a", parent=CALL)))
        ((root, call),) = self.told("c", "tool_call", toolCallId="1", title="ls")
        self.assertEqual((root, call.id, call.parent), ("s", "c/1", CALL))
        ((root, notice),) = self.told("c", "notice", severity="info", title="So")
        self.assertEqual((root, notice), ("s", Notice("info", "So")))

    def test_what_one_plans_and_lets_choose_is_not_that_of_the_conversation(self) -> None:
        self.state("running")
        for kind, more in (
            ("plan", {"entries": []}),
            ("usage_update", {"used": 1, "size": 2}),
            ("current_mode_update", {"currentModeId": "x"}),
            ("session_info_update", {"title": "Its title"}),
            ("agent_thought_chunk", {"content": {"type": "text", "text": "a"}}),
        ):
            self.assertEqual(self.told("c", kind, **more), [])

    def test_one_of_which_only_its_work_is_told_is_shown_with_that(self) -> None:
        self.announce()
        told = self.told("c", "tool_call", toolCallId="1", title="ls")
        self.assertEqual([(root, each.id) for root, each in told], [("s", CALL), ("s", "c/1")])

    def test_nobody_waits_for_one_whose_end_is_not_told(self) -> None:
        self.announce()
        self.told("c", "tool_call", toolCallId="1", title="ls")
        self.assertFalse(self.known.are_working("s"))
        self.state("running")
        self.assertTrue(self.known.are_working("s"))
        self.announce(title="Look")
        self.assertTrue(self.known.are_working("s"))
        self.announce(state=None)
        self.assertFalse(self.known.are_working("s"))

    def test_one_of_another_one_stands_within_its_call(self) -> None:
        self.state("running")
        ((root, inner),) = self.state("running", "d", "c")
        self.assertEqual((root, inner.id, inner.parent), ("s", "subagent-d", CALL))
        ((root, call),) = self.told("d", "tool_call", toolCallId="1")
        self.assertEqual((root, call.parent), ("s", "subagent-d"))

    def test_a_call_that_names_one_stands_for_it(self) -> None:
        self.announce(capabilities={"cancel": {}})
        link = [{"type": "session", "sessionId": "c"}]
        ((root, task),) = self.told("s", "tool_call", toolCallId="t", title="Task", content=link)
        self.assertEqual((root, task.id), ("s", "t"))
        self.assertEqual(self.state("running"), [])
        ((_root, call),) = self.told("c", "tool_call", toolCallId="1")
        self.assertEqual(call.parent, "t")
        self.assertEqual(self.known.session_of_call("s", "t"), "c")
        self.assertEqual(self.state("idle"), [])

    def test_only_one_that_works_and_offers_it_can_be_stopped(self) -> None:
        self.state("running")
        self.assertEqual(self.known.session_of_call("s", CALL), "")
        self.announce(capabilities={"cancel": {}})
        self.assertEqual(self.known.session_of_call("s", CALL), "c")
        self.assertEqual(self.known.session_of_call("other", CALL), "")
        self.assertEqual(self.known.sessions_to_stop("s"), ("c",))
        self.announce(capabilities=None)
        self.assertEqual(self.known.sessions_to_stop("s"), ())
        self.announce(capabilities={"cancel": {}})
        self.state("idle")
        self.assertEqual(self.known.session_of_call("s", CALL), "")

    def test_what_one_asks_is_asked_in_the_conversation(self) -> None:
        self.state("running")
        asked = PermissionRequest("c", 7, ToolCallUpdate("1"), ())
        found = self.known.take_request(asked)
        assert isinstance(found, PermissionRequest)
        self.assertEqual((found.session, found.id, found.call.parent), ("s", 7, CALL))
        form = ElicitationRequest("c", 8, "form", "Which?")
        self.assertEqual(self.known.take_request(form).session, "s")
        other = PermissionRequest("x", 9, ToolCallUpdate("1"), ())
        self.assertIs(self.known.take_request(other), other)

    def test_calls_of_two_sessions_with_the_same_id_stay_apart(self) -> None:
        self.state("running")
        self.state("running", "d", "c")
        link = [{"type": "session", "sessionId": "e"}]
        self.announce("e", "c")
        told = [
            *self.told("s", "tool_call", toolCallId="1"),
            *self.told("c", "tool_call", toolCallId="1", content=link),
            *self.told("d", "tool_call", toolCallId="1"),
        ]
        self.assertEqual([call.id for _root, call in told], ["1", "c/1", "d/1"])
        ((_root, inner),) = self.told("e", "tool_call", toolCallId="2")
        self.assertEqual(inner.parent, "c/1")
        asked: Any = self.known.take_request(PermissionRequest("d", 7, ToolCallUpdate("1"), ()))
        self.assertEqual(asked.call.id, "d/1")
        form = ElicitationRequest("d", 8, "form", "Which?", call="1")
        self.assertEqual(getattr(self.known.take_request(form), "call", ""), "d/1")

    def test_no_session_of_a_conversation_becomes_that_of_a_subagent(self) -> None:
        self.known.note_root("other")
        for session in ("other", "s"):
            self.assertEqual(self.state("running", session), [])
            ((root, _call),) = self.told(session, "tool_call", toolCallId="1")
            self.assertEqual(root, session)
        self.state("running")
        # Nor that of another's.
        self.state("running", "c", "other")
        ((root, _call),) = self.told("c", "tool_call", toolCallId="1")
        self.assertEqual(root, "s")

    def test_one_whose_session_was_opened_for_a_conversation_is_that_from_then_on(self) -> None:
        self.state("running")
        self.known.note_root("c")
        ((root, call),) = self.told("c", "tool_call", toolCallId="1")
        self.assertEqual((root, call.id, call.parent), ("c", "1", ""))
        self.assertFalse(self.known.are_working("s"))

    def test_so_many_are_known_at_most(self) -> None:
        with mock.patch.object(subagents, "MAX_SUBAGENTS", 3):
            for number in range(10):
                self.state("running", str(number))
                self.state("idle", str(number))
            self.assertEqual(len(self.known._known), 3)
            for session in "abcde":
                self.state("running", session)
            self.assertEqual(len(self.known._known), 3)

    def test_a_message_to_nobody_that_is_known_is_dropped(self) -> None:
        said = {"messageId": "1", "recipientSessionId": "gone", "content": []}
        self.assertEqual(self.told("s", "session_message", **said), [])


class ToldInVersion2(Told):
    def setUp(self) -> None:
        super().setUp()
        self.protocol = Version2()

    def told(self, session: str, kind: str, /, **members: Any) -> list[tuple[str, Any]]:
        kind = "tool_call_update" if kind == "tool_call" else kind
        if kind in ("plan", "current_mode_update"):
            kind, members = "plan_update", {"plan": {"type": "items", "entries": []}}
        if kind.endswith("_chunk"):
            members.setdefault("messageId", "m")
        return super().told(session, kind, **members)

    def test_its_own_state_counts_as_that_which_is_told_of_it(self) -> None:
        self.announce()
        ((_root, start),) = self.told("c", "state_update", state="running")
        self.assertIsInstance(start, ToolCallStart)
        self.assertEqual(self.state("running"), [])
        ((_root, end),) = self.told("c", "state_update", state="idle", stopReason="cancelled")
        self.assertEqual(end.status, "failed")
        self.assertEqual(self.told("s", "state_update", state="running"), [])


class Held(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.works = True
        self.ends = HeldEnds(lambda session: self.works)

    def begin(self) -> tuple[asyncio.Future[TurnEnd], asyncio.Future[TurnEnd]]:
        told: asyncio.Future[TurnEnd] = asyncio.get_running_loop().create_future()
        return told, self.ends.hold_end("s", told)

    async def ended(self) -> tuple[asyncio.Future[TurnEnd], asyncio.Future[TurnEnd]]:
        told, held = self.begin()
        told.set_result(TurnEnd("end_turn"))
        await until(lambda: held.done() or "s" in self.ends._held)
        return told, held

    async def test_a_turn_without_subagents_that_work_ends_at_once(self) -> None:
        self.works = False
        _told, held = await self.ended()
        self.assertEqual(held.result(), TurnEnd("end_turn"))

    async def test_a_turn_lasts_until_its_subagents_are_done(self) -> None:
        _told, held = await self.ended()
        self.ends.look_again("s")
        self.assertFalse(held.done() or self.ends._timers)
        self.works = False
        with mock.patch.object(held_ends, "FOLLOWING", 0.0):
            self.ends.look_again("s")
        self.assertEqual(await held, TurnEnd("end_turn"))
        self.assertEqual((self.ends._held, self.ends._timers), ({}, {}))

    async def test_an_agent_that_goes_on_by_itself_then_is_waited_for(self) -> None:
        _told, held = await self.ended()
        self.works = False
        self.ends.look_again("s")
        self.ends.note_work("s", True)
        self.ends.look_again("s")
        self.assertFalse(held.done() or self.ends._timers)
        self.ends.note_work("s", False)
        with mock.patch.object(held_ends, "FOLLOWING", 0.0):
            self.ends.look_again("s")
        self.assertEqual(await held, TurnEnd("end_turn"))

    async def test_a_stop_ends_it_at_once(self) -> None:
        _told, held = await self.ended()
        self.ends.end_now("s")
        self.assertEqual(held.result(), TurnEnd("end_turn"))

    async def test_it_has_failed_where_the_process_ends_before_its_subagents(self) -> None:
        _told, held = await self.ended()
        self.ends.end_all(AgentError(STREAM_ERROR, "It ended."))
        with self.assertRaisesRegex(AgentError, "It ended."):
            held.result()
        await until(lambda: not self.ends._held)
        _told, held = await self.ended()
        self.works = False
        self.ends.look_again("s")
        self.ends.end_all(AgentError(STREAM_ERROR, "It ended."))
        self.assertEqual(held.result(), TurnEnd("end_turn"))

    async def test_a_stopped_turn_lasts_while_one_works_that_cannot_be_stopped(self) -> None:
        for can_stop in (False, True):
            known = Subagents()
            told: list[Any] = []
            self.ends = HeldEnds(known.are_working)
            client: Any = SimpleNamespace(
                protocol=Version1(),
                subagents=known,
                held_ends=self.ends,
                send_notification=lambda message, told=told: told.append(message.params),
            )
            session = AcpSession(client, "s", "/work")
            news = SubagentNews("c", can_stop=can_stop, state=WorkState("running"))
            known.take_update("s", news)
            _end, held = await self.ended()
            session.cancel()
            self.assertEqual([each["sessionId"] for each in told], ["s", "c"][: 1 + can_stop])
            self.assertEqual(held.done(), can_stop)

    async def test_a_turn_that_failed_and_one_that_nobody_waits_for_are_not_held(self) -> None:
        told, held = self.begin()
        told.set_exception(ValueError("no"))
        with self.assertRaises(ValueError):
            await held
        told, held = self.begin()
        held.cancel()
        await until(told.cancelled)
        self.assertEqual(self.ends._held, {})


class Names(unittest.TestCase):
    def test_a_call_that_is_told_in_pieces_stays_the_one_of_its_subagent(self) -> None:
        start = ToolCallStart("1", "ls", parent=CALL, can_stop=True)
        told = messages.joined_call(start, ToolCallUpdate("1", status="completed"))
        self.assertEqual((told.parent, told.can_stop), (CALL, True))
