"""A turn from its prompt to its last event, with a session that is told what to say."""

from __future__ import annotations

import asyncio
import base64
import tempfile
import unittest
from dataclasses import replace
from functools import partial
from typing import Any
from unittest import mock

from GeminiCompanion.companion.agent import failure
from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.agent.acp import messages
from GeminiCompanion.companion.agent.acp.content_blocks import ContentBlock
from GeminiCompanion.companion.agent.agents.cli import Retry
from GeminiCompanion.companion.agent.agents.qwen_code import QwenCode
from GeminiCompanion.companion.agent.elicitation import (
    ACCEPT,
    FORM,
    STRING,
    URL,
    ElicitationRequest,
    Field,
)
from GeminiCompanion.companion.agent.failure import AgentError
from GeminiCompanion.companion.agent.session_state import (
    MODE,
    MODEL,
    SELECT,
    ConfigOption,
    ConfigOptions,
    OptionChoice,
)
from GeminiCompanion.companion.agent.turn import turn as turn_module
from GeminiCompanion.companion.agent.turn.elicitations import Elicitations
from GeminiCompanion.companion.agent.turn.outcomes import CallDecision
from GeminiCompanion.companion.agent.turn.turn import NO_LIMITS, Limits, Turn
from GeminiCompanion.companion.base.log import logger

from ..support import PATIENCE, Clock, until
from .stage import Stage, shell

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x03\0\0\0\x02\x08\x02\0\0\0"
SHELL = "run_shell_command__1"


class Turns(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        self.stage = Stage(self.folder)
        self.session = self.stage.session
        self.ended: list[Any] = []

    def turn(self, limits: Limits = Limits(), asks: bool = True) -> Turn:  # noqa: B008
        def ended(body: Any) -> None:
            # Before anybody reads it.
            self.assertNotIn(body, self.stage.story)
            self.ended.append(body)

        return Turn(
            self.stage.log,
            self.stage.agent,
            limits,
            asks,
            ended,
            lambda *_: None,
            self.stage.images,
        )

    def started(self, **options: Any) -> Turn:
        turn = self.turn(**options)
        turn.start([])
        return turn

    async def over(self, turn: Turn) -> Any:
        """The last body, which `ended` heard as the only one."""
        await until(lambda: turn.is_over)
        self.assertEqual(self.ended, [self.stage.story[-1]])
        return self.stage.story[-1]

    def end(self, reason: str = "end_turn", **meta: Any) -> None:
        assert self.session.end is not None
        self.session.end.set_result(messages.TurnEnd(reason, meta))

    async def test_a_piece_of_the_answer_says_what_is_held_back_behind_it(self) -> None:
        self.stage.log.add_answer_piece("Shall I?")
        self.stage.log.add_event(events.Thought("", "Hm."))
        pieces = [events.Content("Shall I", ahead="?"), events.Content("?", is_partial=False)]
        self.assertEqual(self.stage.of(events.Content), pieces)

    async def test_an_answer_is_told_in_its_order_and_ends_with_its_tokens(self) -> None:
        turn = self.started()
        turn.take_update(messages.AgentThoughtChunk("**Look** around"))
        quota = {"token_count": {"input_tokens": 3, "output_tokens": 2}}
        for text in ("Hel", "lo"):
            turn.take_update(messages.AgentMessageChunk(text, {"quota": quota}))
        self.end(quota=quota)
        last = await self.over(turn)
        # Of all of it: Qwen Code tells them with its answers.
        self.assertEqual((last.reason, last.usage.input_tokens, last.usage.output_tokens),
                         (events.END_TURN, 9, 6))  # fmt: skip
        self.assertEqual(self.stage.story[0], events.Thought("Look", "around"))
        pieces = self.stage.of(events.Content)
        self.assertEqual("".join(piece.text for piece in pieces), "Hello")
        self.assertEqual([piece.is_partial for piece in pieces][-1], False)

    async def test_what_is_shown_beside_the_answer_is_told_in_its_place_and_images_kept(
        self,
    ) -> None:
        turn = self.started()
        data = base64.b64encode(PNG).decode()
        image = ContentBlock("image", media_type="image/bmp", data=data)
        for block in (image, ContentBlock("resource_link", "file:///p/a.py#L3", "a.py")):
            turn.take_update(messages.AgentMessageChunk("Look"))
            turn.take_update(messages.AgentMessageChunk("", {}, (block,)))
        self.end()
        await self.over(turn)
        shown, link = self.stage.of(events.Resource)
        self.assertEqual(
            (shown.kind, shown.media_type, shown.size, shown.width, shown.height),
            ("image", "image/png", len(PNG), 3, 2),
        )
        self.assertEqual(self.stage.images.read_data(shown.image), PNG)
        self.assertEqual((link.kind, link.uri, link.name), ("link", "file:///p/a.py#L3", "a.py"))
        told = "".join(
            getattr(body, "text", "") if isinstance(body, events.Content) else "|"
            for body in self.stage.story[:-1]
        )
        self.assertEqual(told, "Look|Look|")

    async def test_what_a_call_shows_is_told_once_and_before_its_result(self) -> None:
        turn = self.started()
        block = ContentBlock("resource", "x:log", text="a\n" * 200_000)
        for status in ("pending", "in_progress", "completed"):
            turn.take_update(replace(shell(status=status), blocks=(block, block)))
        self.end()
        await self.over(turn)
        kinds = [type(body) for body in self.stage.story]
        (shown,) = self.stage.of(events.Resource)
        self.assertEqual(kinds[:2], [events.ToolCall, events.Resource])
        self.assertEqual(len(self.stage.of(events.ToolCall)), 1)
        self.assertIn(events.ToolResult, kinds[2:])
        self.assertEqual((shown.call_id, len(shown.text), shown.is_long), (SHELL, 256 * 1024, True))
        self.assertEqual(shown.size, 400_000)

    async def test_what_the_agent_tells_the_user_is_a_warning(self) -> None:
        turn = self.started()
        turn.take_update(messages.Notice("info", "Model rerouted", "To another one."))
        self.end()
        await self.over(turn)
        told = events.Thought(events.WARNING, "Model rerouted\nTo another one.")
        self.assertEqual(self.stage.story[0], told)

    async def test_calls_and_words_of_a_subagent_belong_to_the_call_that_runs_it(self) -> None:
        self.stage = Stage(self.folder, QwenCode)
        self.session = self.stage.session
        turn = self.started()
        meta = {"parentToolCallId": "task"}
        turn.take_update(messages.ToolCallStart("task", "Look", "other", "in_progress"))
        turn.take_update(
            messages.ToolCallStart(
                "1", "a.py", "read", "in_progress", meta={**meta, "toolName": "r"}
            )
        )
        turn.take_update(messages.AgentMessageChunk("It is empty.", meta))
        turn.take_update(messages.ToolCallUpdate("1", status="completed"))
        turn.take_update(messages.ToolCallUpdate("task", status="completed"))
        turn.take_update(messages.AgentMessageChunk("Done."))
        # Of one that is not known, nothing is lost.
        turn.take_update(messages.AgentMessageChunk("Late.", meta))
        self.end()
        await self.over(turn)
        parents = [(call.call_id, call.parent) for call in self.stage.of(events.ToolCall)]
        self.assertEqual(parents, [("task", ""), ("1", "task")])
        said = "".join(content.text for content in self.stage.of(events.Content))
        self.assertEqual(said, "Done.Late.")
        self.assertEqual(self.stage.of(events.ToolResult)[-1].result, "It is empty.")

    async def test_of_what_is_no_image_or_too_large_nothing_is_kept(self) -> None:
        for data in ("<svg/>", "%%%", base64.b64encode(PNG + b" " * (10 << 20)).decode()):
            with self.subTest(data[:9]):
                self.setUp()
                turn = self.started()
                block = ContentBlock("image", name="a", media_type="image/png", data=data)
                turn.take_update(messages.AgentMessageChunk("", {}, (block,)))
                self.end()
                await self.over(turn)
                (shown,) = self.stage.of(events.Resource)
                self.assertEqual((shown.kind, shown.image, shown.width), ("image", "", 0))

    async def test_pieces_of_a_thought_are_told_with_the_blanks_between_them(self) -> None:
        turn = self.started()
        for text in (" ", "I lo", "ok", "\n\n", " around", "**Then**\nI go ", " "):
            turn.take_update(messages.AgentThoughtChunk(text))
        self.end()
        await self.over(turn)
        told = [(thought.subject, thought.description) for thought in self.stage.of(events.Thought)]
        pieces = [("", piece) for piece in ("I lo", "ok", "\n\n", " around")]
        self.assertEqual(told, [*pieces, ("Then", "I go")])

    async def test_tokens_are_those_of_the_protocol_where_the_cli_has_no_way_of_its_own(
        self,
    ) -> None:
        for meta, expected in (({}, 5), ({"quota": {"token_count": {"input_tokens": 3}}}, 3)):
            with self.subTest(meta):
                self.setUp()
                turn = self.started()
                turn.take_update(messages.AgentMessageChunk("Hello"))
                told = {"stopReason": "end_turn", "usage": {"inputTokens": 5}, "_meta": meta}
                assert self.session.end is not None
                self.session.end.set_result(messages.prompt_request("s", ()).read(told))
                self.assertEqual((await self.over(turn)).usage.input_tokens, expected)

    async def test_its_end_has_the_names_of_the_mode_and_the_model_it_had_then(self) -> None:
        turn = self.started()
        turn.take_update(messages.AgentMessageChunk("Hello"))
        names = {MODE: "Plan mode", MODEL: "Flash"}
        told = [
            ConfigOption(id, id, "", id, SELECT, "v", (OptionChoice("v", name),))
            for id, name in names.items()
        ]
        self.stage.agent.state.take_update(ConfigOptions(tuple(told)))
        self.end()
        last = await self.over(turn)
        self.assertEqual((last.mode, last.model), ("Plan mode", "Flash"))

    async def test_what_was_said_before_the_end_is_told_though_the_end_is_there(self) -> None:
        turn = self.started()
        turn.take_update(messages.AgentMessageChunk("Hello"))
        self.end()
        await self.over(turn)
        self.assertEqual(
            "".join(content.text for content in self.stage.of(events.Content)), "Hello"
        )

    async def test_an_end_without_an_answer_says_so(self) -> None:
        turn = self.started()
        turn.take_update(messages.AgentMessageChunk("[MODE_UPDATE] plan\n"))
        self.end()
        self.assertEqual((await self.over(turn)).reason, events.EMPTY)

    async def test_reasons_are_told_and_one_that_nobody_knows_is_an_end(self) -> None:
        for reason, expected in (("max_tokens", "max_tokens"), ("telepathy", "end_turn")):
            with self.subTest(reason):
                self.setUp()
                turn = self.started()
                turn.take_update(messages.AgentMessageChunk("Hello"))
                self.end(reason)
                self.assertEqual((await self.over(turn)).reason, expected)

    async def test_the_agents_error_is_the_turns_last_event(self) -> None:
        turn = self.started()
        assert self.session.end is not None
        self.session.end.set_exception(AgentError(failure.QUOTA_EXCEEDED, "No more.", "details"))
        expected = events.Error(failure.QUOTA_EXCEEDED, "No more.", "details")
        self.assertEqual(await self.over(turn), expected)

    async def test_a_bug_ends_the_turn_and_leaves_nobody_waiting(self) -> None:
        turn = self.started()
        with mock.patch.object(self.stage.agent.cli, "read_usage", side_effect=ZeroDivisionError):
            with self.assertLogs(logger, "ERROR"):
                turn.take_update(messages.AgentMessageChunk("Hello", {"quota": {}}))
                last = await self.over(turn)
        self.assertEqual(last.code, failure.INTERNAL_ERROR)
        self.assertIn(("cancel",), self.session.told)

    async def test_questions_that_the_agent_takes_back_wait_no_more(self) -> None:
        turn = self.started()
        turn.take_question(ElicitationRequest("session", 8, URL, "Look", (), "https://a.example"))
        turn.take_question(self.stage.asked(shell()))
        await until(lambda: turn.confirmations and turn.elicitations.waiting_events)
        for number in (8, 1):
            turn.take_question(messages.Withdrawal(number))
        await until(lambda: not turn.confirmations)
        self.assertEqual(turn.elicitations.waiting_events, ())
        self.assertIn((8, {"action": "cancel"}), self.session.told)
        self.assertIn((1, None), self.session.told)
        self.end()
        await self.over(turn)

    async def test_of_several_questions_the_one_that_is_taken_back_waits_no_more(self) -> None:
        turn = self.started()
        for number in (8, 9):
            turn.take_question(
                ElicitationRequest("session", number, URL, "Look", (), "https://a.example")
            )
        await until(lambda: len(turn.elicitations.waiting_events) == 2)
        turn.take_question(messages.Withdrawal(8))
        await until(lambda: (8, {"action": "cancel"}) in self.session.told)
        self.assertEqual(len(turn.elicitations.waiting_events), 1)
        self.end()
        await self.over(turn)

    async def test_a_question_that_comes_after_the_end_is_answered_at_once(self) -> None:
        turn = self.started()
        turn.elicitations.end_all()
        turn.take_question(ElicitationRequest("session", 8, URL, "Look", (), "https://a.example"))
        await until(lambda: (8, {"action": "cancel"}) in self.session.told)
        self.assertEqual(turn.elicitations.waiting_events, ())
        self.end()
        await self.over(turn)

    async def test_a_form_is_not_taken_without_a_field_that_it_needs(self) -> None:
        turn = self.started()
        fields = Field("name", STRING, is_required=True), Field("more", STRING)
        turn.take_question(ElicitationRequest("session", 8, FORM, "Who?", fields))
        await until(lambda: turn.elicitations.waiting_events)
        (asked,) = turn.elicitations.waiting_events
        form: Any = asked.body
        for content in ({}, {"more": "x"}):
            with self.assertRaises(AgentError):
                turn.elicitations.take_answer(form.id, ACCEPT, content)
        turn.elicitations.take_answer(form.id, ACCEPT, {"name": "x"})
        told = {"action": "accept", "content": {"name": "x"}}
        self.assertEqual(self.session.told[-1], (8, told))
        self.end()
        await self.over(turn)

    async def test_the_time_for_an_answer_is_over_with_the_answer(self) -> None:
        clock = Clock()
        failures: list[Any] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: failures.append(context))
        elicitations = Elicitations(self.stage.log, self.session, 60.0)  # type: ignore[arg-type]
        elicitations.ask_user(
            ElicitationRequest("session", 8, URL, "Look", (), "https://a.example")
        )
        (asked,) = elicitations.waiting_events
        form: Any = asked.body
        elicitations.take_answer(form.id, ACCEPT)
        await clock.advance(61.0)
        self.assertEqual(failures, [])
        self.assertEqual(self.session.told, [(8, {"action": "accept"})])

    async def test_a_question_that_is_left_alone_is_declined_and_the_turn_goes_on(self) -> None:
        turn = self.started(limits=Limits(confirmation=0.01))
        turn.take_question(ElicitationRequest("session", 8, URL, "Look", (), "https://a.example"))
        await until(lambda: (8, {"action": "decline"}) in self.session.told)
        self.assertFalse(turn.is_over)
        self.end()
        await self.over(turn)

    async def test_one_that_nobody_can_answer_is_cancelled(self) -> None:
        turn = self.started(asks=False)
        turn.take_question(ElicitationRequest("session", 8, URL, "Look", (), "https://a.example"))
        await until(lambda: (8, {"action": "cancel"}) in self.session.told)
        self.end()
        await self.over(turn)

    async def test_a_cancelled_turn_is_ended_by_the_agent(self) -> None:
        turn = self.started()
        turn.take_question(self.stage.asked(shell()))
        await until(lambda: turn.confirmations)
        turn.cancel()
        turn.cancel()
        # First the answers, for one that came later would still run the tool.
        self.assertEqual(self.session.told, [("prompt",), (1, None), ("cancel",)])
        self.end("end_turn")
        self.assertEqual((await self.over(turn)).reason, events.CANCELLED)

    async def test_one_that_is_cancelled_before_its_start_is_not_said(self) -> None:
        turn = self.turn()
        turn.cancel()
        turn.start([], ["Something to know."])
        self.assertEqual(self.session.told, [])
        self.assertEqual((await self.over(turn)).reason, events.CANCELLED)
        self.assertEqual(self.stage.story[0].description, "Something to know.")

    async def test_an_agent_that_does_not_end_a_cancelled_turn_is_ended_itself(self) -> None:
        turn = self.started()
        with mock.patch.object(turn_module, "CANCELLING", 0.0):
            turn.cancel()
        self.assertEqual((await self.over(turn)).reason, events.CANCELLED)
        self.assertEqual(self.session.told[-1], ("give up",))

    async def test_a_turn_that_takes_too_long_is_cancelled_and_says_why(self) -> None:
        turn = self.started(limits=Limits(turn=0.0))
        await until(lambda: ("cancel",) in self.session.told)
        self.end("cancelled")
        last = await self.over(turn)
        self.assertEqual(last.code, failure.TIMED_OUT)
        self.assertIn("(--turn-time)", str(last.message))

    async def test_without_limits_a_turn_and_its_questions_wait_for_the_user(self) -> None:
        clock = Clock()
        turn = self.started(limits=NO_LIMITS)
        turn.take_question(self.stage.asked(shell()))
        await until(lambda: turn.confirmations)
        turn.take_question(ElicitationRequest("session", 8, URL, "Look", (), "https://a.example"))
        await until(lambda: turn.elicitations.waiting_events)
        # A hundred days.
        await clock.advance(100 * 86400.0)
        self.assertEqual(self.session.told, [("prompt",)])
        (waiting,) = turn.elicitations.waiting_events
        form: Any = waiting.body
        turn.elicitations.take_answer(form.id, ACCEPT)
        turn.confirm_call(SHELL, CallDecision("cancel"))
        self.assertEqual(self.session.told[1:], [(8, {"action": "accept"}), (1, "cancel")])
        self.end()
        await self.over(turn)

    async def test_a_turn_that_a_user_has_before_them_has_no_limits_any_more(self) -> None:
        clock = Clock()
        turn = self.started()
        turn.take_question(self.stage.asked(shell()))
        turn.take_question(ElicitationRequest("session", 8, URL, "Look", (), "https://a.example"))
        await until(lambda: turn.confirmations and turn.elicitations.waiting_events)
        turn.leave_to_user()
        await clock.advance(100 * 86400.0)
        self.assertTrue(turn.confirmations and turn.elicitations.waiting_events)
        self.assertEqual(self.session.told, [("prompt",)])
        turn.cancel()
        self.end("cancelled")
        await self.over(turn)

    async def test_unless_somebody_attends_what_waits_and_what_comes_is_refused(self) -> None:
        turn = self.started(limits=NO_LIMITS)
        form = partial(ElicitationRequest, "session", mode=URL, message="Look", url="https://a.b")
        turn.take_question(self.stage.asked(shell()))
        turn.take_question(form(id=8))
        await until(lambda: turn.confirmations and turn.elicitations.waiting_events)
        turn.set_attended(False)
        refused = [(1, "cancel"), (8, {"action": "decline"})]
        self.assertEqual(self.session.told[1:], refused)
        turn.take_question(self.stage.asked(shell()))
        turn.take_question(form(id=9))
        await until(lambda: len(self.session.told) == 5)
        self.assertEqual(self.session.told[3:], [(2, "cancel"), (9, {"action": "decline"})])
        turn.set_attended(True)
        turn.take_question(self.stage.asked(shell()))
        await until(lambda: turn.confirmations)
        self.end()
        await self.over(turn)

    async def test_one_that_takes_too_long_says_so_though_its_agent_never_ends_it(self) -> None:
        with mock.patch.object(turn_module, "CANCELLING", 0.0):
            turn = self.started(limits=Limits(turn=0.0))
            last = await self.over(turn)
        self.assertEqual((last.code, self.session.told[-1]), (failure.TIMED_OUT, ("give up",)))

    async def test_a_call_that_runs_as_the_turn_ends_has_an_end_before_it(self) -> None:
        turn = self.started()
        turn.take_update(messages.ToolCallStart(SHELL, "ls", "execute", "in_progress"))
        self.end()
        await self.over(turn)
        kinds = [type(body) for body in self.stage.story]
        self.assertEqual(kinds[-2:], [events.ToolResult, events.Complete])

    async def test_where_nobody_is_there_to_decide_a_call_is_rejected(self) -> None:
        turn = self.started(asks=False)
        turn.take_question(self.stage.asked(shell()))
        await until(lambda: (1, "cancel") in self.session.told)
        self.assertEqual(turn.confirmations, ())
        self.end()
        await self.over(turn)

    async def test_a_model_that_is_asked_again_is_told_only_where_a_turn_waits_for_it(self) -> None:
        turn = self.turn()
        turn.report_retry(Retry(1, "503"))
        turn.start([])
        turn.report_retry(Retry(2, "503"))
        turn.take_update(messages.ToolCallStart(SHELL, "ls", "execute", "in_progress"))
        await until(lambda: self.stage.of(events.ToolCall))
        turn.report_retry(Retry(3, "503"))
        self.end()
        await self.over(turn)
        turn.report_retry(Retry(4, "503"))
        told = [str(thought.description) for thought in self.stage.of(events.Thought)]
        self.assertEqual(len(told), 1)
        self.assertIn("attempt 2", told[0])

    async def test_it_is_unanswered_until_the_agent_speaks_and_while_the_model_is_asked_again(
        self,
    ) -> None:
        turn = self.turn()
        turn.start([])
        turn.take_update(messages.Notice("", "It is busy."))
        self.assertTrue(turn.is_unanswered)
        turn.take_update(messages.AgentMessageChunk("Hello"))
        self.assertFalse(turn.is_unanswered)
        turn.report_retry(Retry(1, "", is_unreached=True))
        self.assertTrue(turn.is_unanswered)
        self.end()
        await self.over(turn)
        told = {each.subject: str(each.description) for each in self.stage.of(events.Thought)}
        self.assertIn("cannot be reached: attempt 1 failed", told[events.RETRYING])

    async def test_events_can_be_read_by_many_and_from_any_number_on(self) -> None:
        turn = self.started()

        async def read(after: int) -> list[int]:
            return [event.number async for event in turn.read_events(after)]

        readers = [asyncio.ensure_future(read(after)) for after in (0, 0, 1)]
        turn.take_update(messages.AgentMessageChunk("Hello"))
        self.end()
        found = await asyncio.wait_for(asyncio.gather(*readers), PATIENCE)
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[2], found[0][1:])
        self.assertEqual(turn.last_number, found[0][-1])
