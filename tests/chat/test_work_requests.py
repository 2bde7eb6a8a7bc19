"""What is asked of all conversations at once: who asks, who works, and on what."""

from __future__ import annotations

import unittest
from types import SimpleNamespace
from typing import Any, Callable

from GeminiCompanion.companion.agent.events.event_log import EventLog
from GeminiCompanion.companion.agent.session_state import ContextUsage, Cost
from GeminiCompanion.companion.agent.turn_events import (
    CANCEL,
    Content,
    Elicitation,
    Option,
    ToolCall,
    ToolConfirmation,
    ToolResult,
    TurnEvent,
)
from GeminiCompanion.companion.base.signal import Signal
from GeminiCompanion.companion.chat.chats import Chats
from GeminiCompanion.companion.chat.question import MAX_TITLE
from GeminiCompanion.companion.chat.work_requests import (
    MAX_SUBJECT,
    LookAtWork,
    StopWork,
    WorkFacts,
    busy_conversations,
)

from .events import BEGIN


def call(id: str, title: str = "", **args: Any) -> ToolCall:
    return ToolCall(id, "shell", "Shell", title, args, False)


def result(id: str, *changed: str) -> ToolResult:
    return ToolResult(id, "shell", {}, "", "", True, changed=changed)


class Work(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.conversations: list[Any] = []

    def add(self, id: str, *bodies: Any, is_busy: bool = True, **members: Any) -> EventLog:
        """A conversation with a turn in which these have happened."""
        log = EventLog(id, lambda event: None)
        for body in bodies:
            log.add_event(body)
        asked = [TurnEvent(1, BEGIN, id, "t", body) for body in members.pop("asked", ())]
        turn = SimpleNamespace(
            confirmations=[each for each in asked if isinstance(each.body, ToolConfirmation)],
            elicitations=SimpleNamespace(
                waiting_events=[each for each in asked if isinstance(each.body, Elicitation)]
            ),
        )
        made: dict[str, Any] = {
            "id": id,
            "is_busy": is_busy,
            "turn": turn,
            "log": log,
            "cli": SimpleNamespace(name="Gemini CLI"),
            "session": SimpleNamespace(state=SimpleNamespace(usage=None)),
            "session_info": SimpleNamespace(id=id),
            **members,
        }
        self.conversations.append(SimpleNamespace(**made))
        return log

    async def look(self, *named: str) -> list[WorkFacts]:
        chats: Any = SimpleNamespace(agent=SimpleNamespace(conversations=self.conversations))
        return list(await LookAtWork(named).carry_out(chats))

    async def test_those_that_work_and_those_that_are_named_are_told(self) -> None:
        self.add("works")
        self.add("rests", is_busy=False)
        self.add("named", is_busy=False, turn=None, log=None)
        found = await self.look("named", "unknown")
        self.assertEqual([each.info.id for each in found], ["works", "named"])
        self.assertEqual((found[1].began, found[1].doing, found[1].changed), (None, "", 0))

    async def test_one_that_is_not_open_is_stopped_and_no_other(self) -> None:
        stopped: list[str] = []

        def cancel_turns(meant: Callable[[str], bool]) -> None:
            stopped.extend(filter(meant, ("a", "b")))

        agent: Any = SimpleNamespace(
            turns=SimpleNamespace(cancel_turns=cancel_turns),
            conversations=SimpleNamespace(removals=Signal()),
        )
        await StopWork("b").carry_out(Chats(agent, lambda update: None))
        self.assertEqual(stopped, ["b"])

    async def test_whether_busy_ones_ask_is_told_of_all(self) -> None:
        options = (Option(CANCEL, "No"),)
        self.add("asks", asked=(ToolConfirmation("1", "shell", "", "", "make", {}, options),))
        self.add("fills a form", asked=(Elicitation("e", "form", "Which?"),))
        self.add("works")
        self.add("starts", turn=None, log=None)
        self.add("rests", is_busy=False)
        agent: Any = SimpleNamespace(conversations=self.conversations)
        self.assertEqual(
            busy_conversations(agent),
            {"asks": True, "fills a form": True, "works": False, "starts": False},
        )

    async def test_a_turn_tells_the_call_that_began_last_of_those_that_run(self) -> None:
        log = self.add("c", call("1", "npm test"), call("2", "", path="/a.py"), call("3", "ls"))
        for id, words in (("3", "Shell: /a.py"), ("2", "Shell: npm test"), ("1", "")):
            log.add_event(result(id))
            (found,) = await self.look()
            self.assertEqual(found.doing, words)

    async def test_a_file_that_is_changed_twice_counts_once(self) -> None:
        log = self.add("c", Content("a", False), call("1"), result("1", "/a", "/b"))
        log.add_event(call("2"))
        log.add_event(result("2", "/b", "/c"))
        (found,) = await self.look()
        self.assertEqual(found.changed, 3)
        assert found.began is not None and found.latest is not None
        self.assertLessEqual(found.began, found.latest)

    async def test_what_an_agent_asks_is_named_in_few_words(self) -> None:
        options = (Option(CANCEL, "No"),)
        asked = (
            ToolConfirmation("1", "shell", "Shell", "", "make", {}, options),
            Elicitation("e", "form", "Which\none? " + "x" * 1000),
        )
        self.add("c", asked=asked)
        (found,) = await self.look()
        self.assertEqual(found.asked[0], "Shell")
        self.assertTrue(found.asked[1].startswith("Which one? x"))
        self.assertEqual(len(found.asked[1]), MAX_TITLE)
        self.assertEqual(found.asked_at, BEGIN)

    async def test_a_call_of_any_length_is_one_short_line(self) -> None:
        self.add("c", call("1", "a\nb " + "x" * 100_000))
        (found,) = await self.look()
        self.assertTrue(found.doing.startswith("Shell: a b x"))
        self.assertEqual(len(found.doing), MAX_SUBJECT)

    async def test_the_cost_is_that_of_the_session(self) -> None:
        usage = ContextUsage(10, 100, Cost(0.5, "USD"))
        self.add("c", session=SimpleNamespace(state=SimpleNamespace(usage=usage)))
        (found,) = await self.look()
        self.assertEqual(found.cost, Cost(0.5, "USD"))
