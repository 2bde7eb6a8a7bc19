"""Edits of agents that write by themselves, and of one that writes over what we wrote: what is
reported of them is what is on disk."""

from __future__ import annotations

import asyncio
import os
import stat
import tempfile
import unittest
from dataclasses import replace
from typing import Any
from unittest import mock

from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.agent.acp import messages
from GeminiCompanion.companion.agent.acp.messages import FileDiff, ToolCallStart, ToolCallUpdate
from GeminiCompanion.companion.agent.agents import cli as cli_module
from GeminiCompanion.companion.agent.agents.codex import Codex
from GeminiCompanion.companion.agent.agents.gemini_cli import GeminiCli
from GeminiCompanion.companion.agent.edited_file import edited_text, unreported_difference
from GeminiCompanion.companion.agent.events.tool_call import Call
from GeminiCompanion.companion.agent.turn import file_writes
from GeminiCompanion.companion.agent.turn.call_tracker import CallTracker
from GeminiCompanion.companion.agent.turn.outcomes import CallDecision
from GeminiCompanion.companion.agent.turn.turn import Limits, Turn
from GeminiCompanion.companion.agent.turn_events import (
    COMPLETED,
    EXECUTING,
    FAILED,
    MODIFY,
    PENDING,
    Diff,
    ToolCall,
    ToolConfirmation,
    ToolResult,
)

from ..support import until
from .stage import Stage, edit

WRITE = "write_file__1"


class Story(unittest.IsolatedAsyncioTestCase):
    """`agent` writes by itself, as its row says nothing else."""

    agent: Any = Codex

    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = os.path.realpath(temporary.name)
        self.path = os.path.join(self.folder, "a")
        self.stage = Stage(self.folder, self.agent)
        self.stage.session.folder = self.folder
        self.noted: list[Any] = []
        patch = mock.patch.object(cli_module, "PATIENCE", 0.0)
        patch.start()
        self.addCleanup(patch.stop)
        note = lambda *change: self.noted.append(change[:3])  # noqa: E731
        self.tracker = CallTracker(self.stage.log, self.stage.agent, 600.0, note)

    def write(self, text: str) -> None:
        with open(self.path, "w", encoding="utf-8", newline="") as file:
            file.write(text)

    def read(self) -> str:
        with open(self.path, encoding="utf-8", newline="") as file:
            return file.read()

    def told(self, status: str, old: str = "", new: str = "new\n") -> ToolCallUpdate:
        diffs = (FileDiff(self.path, old, new),)
        return ToolCallUpdate(WRITE, "w", "edit", status, diffs=diffs)

    async def asked(self, old: str = "", new: str = "new\n") -> None:
        await self.tracker.take_permission_request(self.stage.asked(self.told("pending", old, new)))

    async def end(self, told: ToolCallUpdate) -> ToolResult:
        await self.tracker.take_update(told)
        result: ToolResult = self.stage.of(ToolResult)[-1]
        return result

    async def changed(self, text: str) -> ToolResult:
        """The user wants this text instead."""
        self.tracker.confirm_call(WRITE, CallDecision(MODIFY, text))
        await self.tracker.finish_writes()
        result: ToolResult = self.stage.of(ToolResult)[-1]
        return result


class WritesByItself(Story):
    async def test_a_changed_edit_is_refused_first_and_then_written_by_us(self) -> None:
        await self.asked()
        self.tracker.confirm_call(WRITE, CallDecision(MODIFY, "mine\n"))
        self.assertEqual(self.stage.session.told, [(1, "cancel")])
        self.assertFalse(os.path.exists(self.path))
        await self.tracker.finish_writes()
        self.assertEqual(self.read(), "mine\n")
        (result,) = self.stage.of(ToolResult)
        self.assertEqual((result.success, result.rejected, result.unasked), (True, False, ()))
        self.assertEqual(result.written, (Diff(self.path, "", "mine\n"),))
        self.assertEqual(self.stage.statuses(WRITE), [PENDING, EXECUTING, COMPLETED])
        self.assertEqual(self.noted, [(self.path, None, b"mine\n")])
        (note,) = self.stage.agent.notes
        self.assertIn("changed your edit", note)
        self.assertIn("mine\n", note)

    @unittest.skipUnless(hasattr(os, "mkfifo"), "this system has no pipes among its files")
    async def test_an_edit_of_a_device_is_neither_read_nor_written(self) -> None:
        os.mkfifo(self.path)
        await self.asked()
        result = await self.changed("mine\n")
        self.assertFalse(result.success)
        self.assertIn("is a device and no file", str(result.error))
        self.assertTrue(stat.S_ISFIFO(os.stat(self.path).st_mode))
        self.assertEqual(self.noted, [])

    async def test_a_file_that_is_told_as_new_is_shown_with_what_it_holds(self) -> None:
        self.write("old\r\n")
        await self.asked()
        (asked,) = self.stage.of(ToolConfirmation)
        self.assertEqual(asked.diff, Diff(self.path, "old\n", "new\n"))
        result = await self.changed("mine\n")
        self.assertEqual((result.success, self.read()), (True, "mine\r\n"))
        self.assertEqual(self.noted, [(self.path, b"old\r\n", b"mine\r\n")])

    async def test_a_file_that_was_written_over_unasked_is_shown_with_what_it_held(self) -> None:
        self.write("old\n")
        await self.tracker.take_update(self.told("in_progress"))
        self.write("new\n")
        result = await self.end(self.told("completed"))
        self.assertEqual(result.unasked, (Diff(self.path, "old\n", "new\n"),))
        self.assertEqual(self.noted, [(self.path, b"old\n", b"new\n")])

    async def test_an_allowed_edit_that_is_on_disk_is_done_though_nobody_tells_its_end(
        self,
    ) -> None:
        patch = mock.patch.object(file_writes, "BETWEEN", 0.0)
        patch.start()
        self.addCleanup(patch.stop)
        for text, success in (("new\n", True), ("other\n", False), ("", False)):
            with self.subTest(text):
                self.setUp()
                await self.asked()
                self.tracker.confirm_call(WRITE, CallDecision("proceed_once"))
                if text:
                    self.write(text)
                await self.tracker.finish_writes()
                self.tracker.close()
                (result,) = self.stage.of(ToolResult)
                self.assertEqual(result.success, success)
                self.assertEqual(result.changed, (self.path,) if success else ())

    async def test_such_edits_are_looked_at_together(self) -> None:
        all_are_looked_at = asyncio.Event()
        looked: list[str] = []

        async def is_done(call: Call) -> bool:
            looked.append(call.id)
            if len(looked) == 2:
                all_are_looked_at.set()
            await all_are_looked_at.wait()
            return False

        for id in ("1", "2"):
            await self.tracker.take_permission_request(self.stage.asked(edit(self.path, id)))
            self.tracker.confirm_call(f"write_file__{id}", CallDecision("proceed_once"))
        with mock.patch.object(self.tracker.writes, "is_done", is_done):
            await asyncio.wait_for(self.tracker.finish_writes(), 5.0)
        self.assertEqual(looked, ["write_file__1", "write_file__2"])

    async def test_what_the_agent_says_of_its_refused_edit_is_not_reported(self) -> None:
        await self.asked()
        await self.changed("mine\n")
        await self.end(self.told("failed"))
        self.assertEqual(len(self.stage.of(ToolResult)), 1)

    async def test_its_refusal_is_not_reported_while_the_users_text_is_written(self) -> None:
        await self.asked()
        self.tracker.confirm_call(WRITE, CallDecision(MODIFY, "mine\n"))
        await self.tracker.take_update(self.told("failed"))
        await self.tracker.finish_writes()
        self.assertEqual([result.success for result in self.stage.of(ToolResult)], [True])

    async def test_what_the_agent_wrote_meanwhile_is_not_overwritten(self) -> None:
        await self.asked()
        self.write("the agent's\n")
        result = await self.changed("mine\n")
        self.assertEqual(self.read(), "the agent's\n")
        self.assertFalse(result.success)
        self.assertIn("has changed since", str(result.error))
        self.assertIn("has changed since", self.stage.agent.notes[0])

    async def test_a_later_edit_of_a_file_that_the_user_changed_is_one_like_others(self) -> None:
        await self.asked()
        await self.changed("mine\n")
        told = replace(self.told("pending", "mine\n", "mine\ntoo\n"), id="write_file__2")
        await self.tracker.take_permission_request(self.stage.asked(told))
        self.tracker.confirm_call(told.id, CallDecision("proceed_once"))
        self.write("mine\ntoo\n")
        result = await self.end(replace(told, status="completed"))
        self.assertEqual((result.success, result.error, result.unasked), (True, None, ()))
        self.assertEqual(self.noted[-1], (self.path, b"mine\n", b"mine\ntoo\n"))

    async def test_of_an_edit_that_shows_a_piece_the_piece_is_written(self) -> None:
        self.write("one\r\ntwo\r\nthree\r\n")
        await self.asked("two", "2")
        await self.changed("zwei")
        self.assertEqual(self.read(), "one\r\nzwei\r\nthree\r\n")

    async def test_the_pieces_of_one_file_are_one_edit_that_can_be_changed(self) -> None:
        self.write("one\nsame\ntwo\nsame\nthree\n")
        pieces = (
            FileDiff(self.path, "one\nsame\n", "ONE\nsame\n"),
            FileDiff(self.path, "same\nthree\n", "same\n"),
        )
        call = ToolCallUpdate(WRITE, "w", "edit", "pending", diffs=pieces)
        await self.tracker.take_permission_request(self.stage.asked(call))
        (asked,) = self.stage.of(ToolConfirmation)
        whole = Diff(self.path, "one\nsame\ntwo\nsame\nthree\n", "ONE\nsame\ntwo\nsame\n")
        self.assertEqual(asked.diffs, (whole,))
        self.assertIn(MODIFY, [option.outcome for option in asked.options])

    async def test_pieces_that_do_not_fit_into_the_file_are_shown_as_they_are(self) -> None:
        self.write("same\nsame\n")
        pieces = (FileDiff(self.path, "same\n", "a\n"), FileDiff(self.path, "none\n", "b\n"))
        call = ToolCallUpdate(WRITE, "w", "edit", "pending", diffs=pieces)
        await self.tracker.take_permission_request(self.stage.asked(call))
        (asked,) = self.stage.of(ToolConfirmation)
        told = [(each.old_text, each.new_text) for each in asked.diffs]
        self.assertEqual(told, [("same\n", "a\n"), ("none\n", "b\n")])

    async def test_a_new_file_gets_its_folder(self) -> None:
        self.path = os.path.join(self.folder, "new", "folder", "a")
        await self.asked()
        await self.changed("mine\n")
        self.assertEqual(self.read(), "mine\n")

    async def test_an_allowed_edit_that_is_on_disk_is_reported_as_done(self) -> None:
        await self.asked()
        self.tracker.confirm_call(WRITE, CallDecision("proceed_once"))
        self.write("new\n")
        result = await self.end(self.told("completed"))
        self.assertEqual((result.success, result.unasked), (True, ()))
        self.assertEqual(self.noted, [(self.path, None, b"new\n")])

    async def test_an_allowed_edit_that_is_not_on_disk_is_not_reported_as_done(self) -> None:
        await self.asked()
        self.tracker.confirm_call(WRITE, CallDecision("proceed_once"))
        result = await self.end(self.told("completed"))
        self.assertFalse(result.success)
        self.assertIn("does not hold what the agent reports", str(result.error))
        self.assertEqual(result.unasked, (Diff(self.path, "new\n", ""),))
        self.assertEqual(self.stage.statuses(WRITE)[-1], FAILED)

    async def test_what_an_allowed_edit_wrote_before_it_was_cancelled_can_be_undone(self) -> None:
        for reports in (True, False):
            with self.subTest(reports=reports):
                self.setUp()
                self.write("old\n")
                await self.asked("old\n")
                self.tracker.confirm_call(WRITE, CallDecision("proceed_once"))
                self.write("new\n")
                self.tracker.cancel_calls()
                if reports:
                    self.assertFalse((await self.end(self.told("completed", "old\n"))).success)
                await self.tracker.finish_writes()
                self.tracker.close()
                self.assertEqual(self.noted, [(self.path, b"old\n", b"new\n")])

    async def test_of_an_edit_that_was_not_allowed_nothing_is_noted(self) -> None:
        self.write("old\n")
        await self.asked("old\n")
        self.write("the user's\n")
        self.tracker.cancel_calls()
        await self.tracker.finish_writes()
        self.assertEqual(self.noted, [])

    async def test_another_text_than_the_allowed_one_is_shown_as_an_unasked_edit(self) -> None:
        self.write("old\n")
        await self.asked("old\n")
        self.tracker.confirm_call(WRITE, CallDecision("proceed_once"))
        self.write("other\n")
        # The report has only a piece.
        result = await self.end(self.told("completed", "d", "other"))
        self.assertFalse(result.success)
        self.assertEqual(result.unasked, (Diff(self.path, "new\n", "other\n"),))

    async def test_an_edit_without_a_question_is_shown_as_one(self) -> None:
        await self.tracker.take_update(ToolCallStart(WRITE, "w", "edit", "in_progress"))
        self.write("new\n")
        result = await self.end(self.told("completed"))
        self.assertEqual(result.unasked, (Diff(self.path, "", "new\n"),))
        self.assertTrue(result.success)

    async def test_one_whose_texts_are_not_told_is_shown_with_those_on_disk(self) -> None:
        self.write("old\n")
        begun = ToolCallStart(WRITE, "w", "edit", "in_progress", paths=(self.path,))
        await self.tracker.take_update(begun)
        self.write("new\n")
        result = await self.end(ToolCallUpdate(WRITE, status="completed"))
        self.assertEqual(result.unasked, (Diff(self.path, "old\n", "new\n"),))
        self.assertEqual(self.noted, [(self.path, b"old\n", b"new\n")])

    async def test_one_that_was_approved_for_good_is_not_unasked(self) -> None:
        await self.asked()
        self.tracker.confirm_call(WRITE, CallDecision("proceed_always"))
        self.write("new\n")
        await self.end(self.told("completed"))
        await self.tracker.take_permission_request(self.stage.asked(edit(self.path, "2")))
        self.write("new\n")
        result = await self.end(edit(self.path, "2", "completed"))
        self.assertEqual((result.call_id, result.unasked), ("write_file__2", ()))
        self.assertEqual(result.changed, (self.path,))

    async def test_the_edit_of_several_files_is_asked_whole_and_cannot_be_changed(self) -> None:
        diffs = tuple(FileDiff(path, "", "x\n") for path in ("/a", "/b"))
        call = ToolCallUpdate("1", "patch", "edit", "pending", diffs=diffs)
        await self.tracker.take_permission_request(self.stage.asked(call))
        (question,) = self.stage.of(ToolConfirmation)
        self.assertEqual(
            (question.diff, question.more), (Diff("/a", "", "x\n"), (Diff("/b", "", "x\n"),))
        )
        self.assertIn("/b", question.command)
        self.assertNotIn(MODIFY, [option.outcome for option in question.options])


class WritesOverOurs(Story):
    """One whose row says that it writes through us."""

    agent = GeminiCli

    async def written(self, outcome: str, text: str | None = None) -> None:
        await self.asked()
        self.tracker.confirm_call(WRITE, CallDecision(outcome, text))
        request = messages.WriteTextFile("session", 9, self.path, "new\n")
        await self.tracker.write_file(request)

    async def test_its_own_text_over_ours_is_an_unasked_edit_and_the_change_has_failed(
        self,
    ) -> None:
        await self.written(MODIFY, "mine\n")
        self.write("new\n")
        result = await self.end(self.told("completed"))
        self.assertFalse(result.success)
        self.assertEqual(result.unasked, (Diff(self.path, "mine\n", "new\n"),))
        self.assertEqual(self.read(), "new\n")

    async def test_a_write_without_a_question_or_texts_is_an_unasked_edit_as_it_was_written(
        self,
    ) -> None:
        self.write("old\n")
        begun = ToolCallStart(WRITE, "w", "edit", "in_progress", paths=(self.path,))
        await self.tracker.take_update(begun)
        await self.tracker.write_file(messages.WriteTextFile("session", 9, self.path, "new\n"))
        result = await self.end(ToolCallUpdate(WRITE, status="completed"))
        self.assertEqual(result.unasked, (Diff(self.path, "old\n", "new\n"),))
        self.assertEqual((result.success, result.changed), (True, (self.path,)))

    async def test_from_then_on_its_edits_are_refused_before_they_are_changed(self) -> None:
        await self.written(MODIFY, "mine\n")
        self.write("new\n")
        await self.end(self.told("completed"))
        await self.tracker.take_permission_request(
            self.stage.asked(self.told("pending", "new\n", "newer\n"))
        )
        result = await self.changed("mine again\n")
        self.assertIn((2, "cancel"), self.stage.session.told)
        self.assertEqual((result.success, self.read()), (True, "mine again\n"))

    async def test_the_users_text_is_told_as_what_was_written(self) -> None:
        self.write("old\n")
        await self.asked("old\n")
        self.tracker.confirm_call(WRITE, CallDecision(MODIFY, "mine\n"))
        await self.tracker.write_file(messages.WriteTextFile("session", 9, self.path, "new\n"))
        result = await self.end(self.told("failed", "old\n"))
        self.assertEqual(result.written, (Diff(self.path, "old\n", "mine\n"),))

    async def test_where_it_leaves_the_file_alone_it_goes_on_being_trusted(self) -> None:
        await self.written(MODIFY, "mine\n")
        result = await self.end(self.told("failed"))
        self.assertTrue(result.success)
        self.assertTrue(self.stage.agent.writes_through_us(self.path))


class InPieces(Story):
    """The agent tells of a call in several messages."""

    async def test_what_is_asked_is_all_that_was_told(self) -> None:
        await self.tracker.take_update(ToolCallStart("1", "write", "edit", "pending"))
        self.assertEqual(self.stage.story, [])
        diffs = (FileDiff(self.path, "", "new\n"),)
        await self.tracker.take_update(ToolCallUpdate("1", diffs=diffs, raw_input={"path": "a"}))
        await self.tracker.take_permission_request(
            self.stage.asked(ToolCallUpdate("1", "Edit files"))
        )
        (call,) = self.stage.of(ToolCall)
        (question,) = self.stage.of(ToolConfirmation)
        self.assertEqual((call.name, call.args), ("edit", {"path": "a"}))
        self.assertEqual((question.description, question.args), ("Edit files", {"path": "a"}))
        self.assertEqual(question.diff, Diff(self.path, "", "new\n"))
        self.assertEqual(self.stage.statuses("1"), [PENDING])

    async def test_an_end_is_told_once_whatever_comes_after_it(self) -> None:
        await self.tracker.take_update(ToolCallStart("1", "ls", "execute", "in_progress"))
        for status in ("completed", "in_progress", "completed"):
            await self.tracker.take_update(ToolCallUpdate("1", status=status))
        self.assertEqual(self.stage.statuses("1"), [EXECUTING, COMPLETED])
        self.assertTrue(self.tracker.is_idle)

    async def test_a_new_call_may_have_the_id_of_one_that_is_over(self) -> None:
        for title in ("ls", "pwd"):
            await self.tracker.take_update(ToolCallStart("1", title, "execute", "in_progress"))
            await self.tracker.take_update(ToolCallUpdate("1", status="completed"))
        self.assertEqual([call.description for call in self.stage.of(ToolCall)], ["ls", "pwd"])

    async def test_a_result_that_is_the_tools_own_is_told(self) -> None:
        await self.tracker.take_update(ToolCallStart("1", "ls", "execute", "in_progress"))
        told = ToolCallUpdate("1", status="failed", raw_output="No such command")
        self.assertEqual((await self.end(told)).error, "No such command")


class GoesOn(Story):
    """A turn in which an edit was refused because the user changed it."""

    async def test_the_model_is_told_in_the_same_turn_after_the_agent_ended_its_own(self) -> None:
        ended: list[Any] = []
        note: Any = lambda *change: None  # noqa: E731
        turn = Turn(
            self.stage.log, self.stage.agent, Limits(), True, ended.append, note, self.stage.images
        )
        turn.start([])
        turn.take_question(self.stage.asked(self.told("pending")))
        await until(lambda: turn.confirmations)
        turn.confirm_call(WRITE, CallDecision(MODIFY, "mine\n"))
        assert self.stage.session.end is not None
        self.stage.session.end.set_result(messages.TurnEnd("cancelled", tokens=(1, 2)))
        await until(lambda: self.stage.session.told.count(("prompt",)) == 2)
        self.assertIn("changed your edit", str(self.stage.session.prompts[-1]))
        turn.take_update(messages.AgentMessageChunk("I see."))
        self.stage.session.end.set_result(messages.TurnEnd("end_turn", tokens=(3, 4)))
        await until(lambda: turn.is_over)
        (last,) = ended
        self.assertEqual((last.reason, last.usage.input_tokens), (events.END_TURN, 4))
        self.assertEqual(self.stage.agent.notes, [])


class Pieces(unittest.TestCase):
    def test_a_text_is_put_where_the_old_one_stands_once(self) -> None:
        for current, old, expected in (
            ("a\n", "a\n", "x"),
            ("\ufeffa\r\nb\r\n", "b", "\ufeffa\r\nx\r\n"),
            ("a\na\n", "a", None),
            ("b\n", "a", None),
            ("b\n", "", None),
            ("", "", "x"),
        ):
            with self.subTest(current=current, old=old):
                self.assertEqual(edited_text(current, Diff("/a", old, "n"), "x"), expected)

    def test_a_file_holds_an_edit_whole_or_in_a_piece(self) -> None:
        for old, new, before, after, holds in (
            ("", "new\n", None, "new\r\n", True),
            ("", "new\n", "", "new\n and more", False),
            ("b", "x", "a b c", "a x c", True),
            ("b", "x", "a b c", "a b c", False),
            ("b", "x", "b b", "x x", True),
            ("b", "x", None, "a x c", True),
            ("b", "x", None, "a c", False),
            ("b", "", "a b c", "a  c", True),
            ("old\n", "", "old\n", "", True),
            ("old\n", "", "old\n", "old\n", False),
        ):
            with self.subTest(old=old, new=new, before=before, after=after):
                found = unreported_difference(Diff("/a", old, new), before, after.encode("utf-8"))
                self.assertEqual(found is None, holds, found)
