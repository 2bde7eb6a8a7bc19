"""The tool calls of one turn: what is told of them, and what the agent is answered."""

from __future__ import annotations

import asyncio
import os
import tempfile
import unittest
from dataclasses import replace
from typing import Any
from unittest import mock

from GeminiCompanion.companion.agent import failure
from GeminiCompanion.companion.agent.acp import messages
from GeminiCompanion.companion.agent.agents import cli as cli_module
from GeminiCompanion.companion.agent.agents.opencode import OpenCode
from GeminiCompanion.companion.agent.events.tool_call import Call
from GeminiCompanion.companion.agent.failure import AgentError
from GeminiCompanion.companion.agent.open_files import NotSaved, OpenFiles
from GeminiCompanion.companion.agent.supported import CLIS
from GeminiCompanion.companion.agent.turn.call_tracker import CallTracker
from GeminiCompanion.companion.agent.turn.outcomes import CallDecision
from GeminiCompanion.companion.agent.turn_events import (
    COMPLETED,
    EXECUTING,
    FAILED,
    MODIFY,
    PENDING,
    ToolCall,
    ToolConfirmation,
    ToolExecution,
    ToolOutput,
    ToolResult,
)
from GeminiCompanion.companion.base.agent_rules import AgentRules

from ..support import until
from .stage import Stage, edit, shell

SHELL, WRITE = "run_shell_command__1", "write_file__1"
ALWAYS = CallDecision("proceed_always")


class Calls(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = os.path.realpath(temporary.name)
        self.stage = Stage(self.folder)
        self.stage.session.folder = self.folder
        self.session = self.stage.session
        self.noted: list[Any] = []
        patch = mock.patch.object(cli_module, "PATIENCE", 0.0)
        patch.start()
        self.addCleanup(patch.stop)

    def tracker(self, patience: float | None = 600.0) -> CallTracker:
        note = lambda *change: self.noted.append(change[:3])  # noqa: E731
        return CallTracker(self.stage.log, self.stage.agent, patience, note)

    async def end(self, tracker: CallTracker, told: messages.ToolCallUpdate) -> None:
        with mock.patch.object(self.stage.agent.recording, "find_record", return_value=None):
            await tracker.take_update(told)

    def results(self) -> list[ToolResult]:
        return self.stage.of(ToolResult)

    async def test_a_call_that_asks_nobody_is_told_once_and_ends_once(self) -> None:
        tracker = self.tracker()
        for status in ("in_progress", "in_progress"):
            await tracker.take_update(shell(status=status))
        self.assertFalse(tracker.is_idle)
        await self.end(tracker, shell(status="completed", text="out"))
        self.assertTrue(tracker.is_idle)
        (call,) = self.stage.of(ToolCall)
        self.assertFalse(call.requires_confirmation)
        self.assertEqual(self.stage.statuses(SHELL), [EXECUTING, COMPLETED])
        (result,) = self.results()
        self.assertEqual((result.result, result.success, result.rejected), ("out", True, False))
        self.assertEqual(result.args, {"command": "ls"})

    async def test_one_of_which_only_the_failure_is_told_has_a_beginning_all_the_same(self) -> None:
        await self.end(self.tracker(), shell(status="failed", text="bad arguments"))
        self.assertEqual(len(self.stage.of(ToolCall)), 1)
        self.assertEqual(self.stage.statuses(SHELL), [FAILED])
        (result,) = self.results()
        self.assertEqual((result.success, result.error), (False, "bad arguments"))

    async def test_what_a_command_puts_out_is_told_while_it_runs_and_is_its_result(self) -> None:
        tracker = self.tracker()
        kept = self.stage.log.last_number
        for output in ("", "one\n", "two\n"):
            await tracker.take_update(replace(shell(status="in_progress"), output=output))
        kept = self.stage.log.last_number - kept
        self.assertEqual(self.stage.of(ToolOutput), [ToolOutput(SHELL, "one\n", 0, 1)])
        self.assertEqual(kept, 2)
        await self.end(tracker, shell(status="completed"))
        (result,) = self.results()
        self.assertEqual((result.result, result.success), ("one\ntwo\n", True))

    async def test_the_growing_content_of_a_command_that_runs_is_its_output(self) -> None:
        tracker = self.tracker()
        await tracker.take_update(
            messages.ToolCallStart(SHELL, "ls", "execute", "in_progress", ("ls",))
        )
        await tracker.take_update(shell(text="what it is for"))
        self.assertEqual(self.stage.of(ToolOutput), [])
        await tracker.take_update(shell(status="in_progress", text="one\n"))
        self.assertEqual(self.stage.of(ToolOutput), [ToolOutput(SHELL, "one\n", 0, 1)])
        await tracker.take_update(shell(status="in_progress", text="one\ntwo\n"))
        await self.end(tracker, shell(status="completed", text="one\ntwo\nthree\n"))
        (result,) = self.results()
        self.assertEqual(result.result, "one\ntwo\nthree\n")

    async def test_what_a_command_puts_out_may_come_with_its_end(self) -> None:
        tracker = self.tracker()
        await tracker.take_update(replace(shell(status="in_progress"), output="one\n"))
        await self.end(tracker, replace(shell(status="completed"), output="two\n"))
        (result,) = self.results()
        self.assertEqual(result.result, "one\ntwo\n")

    async def test_a_command_that_is_stopped_has_what_it_put_out(self) -> None:
        tracker = self.tracker()
        await tracker.take_update(replace(shell(status="in_progress"), output="one\n"))
        tracker.close()
        (result,) = self.results()
        self.assertEqual((result.result, result.success), ("one\n", False))

    async def test_an_allowed_call_is_answered_and_runs(self) -> None:
        tracker = self.tracker()
        await tracker.take_permission_request(self.stage.asked(shell()))
        self.assertEqual(
            [confirmation.call_id for confirmation in self.stage.of(ToolConfirmation)], [SHELL]
        )
        self.assertEqual(len(tracker.confirmations), 1)
        self.assertEqual(self.session.told, [])
        tracker.confirm_call(SHELL, CallDecision("proceed_once"))
        self.assertEqual(self.session.told, [(1, "proceed_once")])
        self.assertEqual(self.stage.statuses(SHELL), [PENDING, EXECUTING])
        self.assertEqual(tracker.confirmations, ())

    async def test_the_first_decision_counts(self) -> None:
        tracker = self.tracker()
        await tracker.take_permission_request(self.stage.asked(shell()))
        tracker.confirm_call(SHELL, CallDecision("cancel"))
        with self.assertRaises(AgentError) as caught:
            tracker.confirm_call(SHELL, CallDecision("proceed_once"))
        self.assertEqual(caught.exception.code, failure.TOOL_CALL_NOT_FOUND)
        self.assertEqual(self.session.told, [(1, "cancel")])

    async def test_a_decision_that_cannot_be_leaves_the_call_waiting(self) -> None:
        tracker = self.tracker()
        await tracker.take_permission_request(self.stage.asked(shell()))
        for outcome, text in (
            ("proceed_always_server", None),
            (MODIFY, "text"),
            (MODIFY, None),
            ("proceed_once", "text"),
            ("cancel", "text"),
        ):
            with self.subTest(outcome), self.assertRaises(AgentError):
                tracker.confirm_call(SHELL, CallDecision(outcome, text))
        self.assertEqual((self.session.told, len(tracker.confirmations)), ([], 1))

    async def test_a_rejected_call_is_told_as_rejected_and_its_end_only_once(self) -> None:
        tracker = self.tracker()
        await tracker.take_permission_request(self.stage.asked(shell()))
        tracker.confirm_call(SHELL, CallDecision("cancel"))
        await self.end(tracker, shell(status="failed", text="canceled"))
        (result,) = self.results()
        self.assertEqual((result.success, result.rejected), (False, True))
        self.assertEqual(self.stage.statuses(SHELL), [PENDING, FAILED])
        self.assertTrue(tracker.is_idle)

    async def test_a_call_that_its_agent_ends_while_it_asks_waits_no_more(self) -> None:
        for status, success in (("failed", False), ("completed", True)):
            with self.subTest(status):
                self.setUp()
                tracker = self.tracker()
                await tracker.take_permission_request(self.stage.asked(shell()))
                await tracker.take_update(shell(status="in_progress"))
                self.assertEqual(len(tracker.confirmations), 1)
                await self.end(tracker, shell(status=status, text="out"))
                self.assertEqual((tracker.confirmations, self.session.told), ((), [(1, None)]))
                (result,) = self.results()
                self.assertEqual((result.success, result.rejected), (success, False))
                with self.assertRaises(AgentError):
                    tracker.confirm_call(SHELL, CallDecision("proceed_once"))

    def waiting(self, tracker: CallTracker) -> tuple[str, str]:
        """What the only question is about, and its revision."""
        (event,) = tracker.confirmations
        assert isinstance(event.body, ToolConfirmation)
        return event.body.command, event.id

    def refused(self, tracker: CallTracker, revision: str = "") -> None:
        with self.assertRaises(AgentError) as caught:
            tracker.confirm_call(SHELL, CallDecision("proceed_once", revision=revision))
        self.assertEqual(caught.exception.code, failure.TOOL_CALL_CHANGED)

    async def test_a_second_question_about_a_call_is_another_one_and_the_first_has_its_answer(
        self,
    ) -> None:
        tracker = self.tracker()
        await tracker.take_permission_request(self.stage.asked(shell()))
        _seen, former = self.waiting(tracker)
        await tracker.take_permission_request(self.stage.asked(replace(shell(), title="dd of=x")))
        self.assertEqual(self.session.told, [(1, None)])
        command, revision = self.waiting(tracker)
        self.assertEqual(command, "dd of=x")
        self.refused(tracker, former)
        self.refused(tracker)
        self.assertEqual(self.session.told, [(1, None)])
        tracker.confirm_call(SHELL, CallDecision("proceed_once", revision=revision))
        self.assertEqual(self.session.told, [(1, None), (2, "proceed_once")])

    async def test_two_questions_with_one_id_of_a_request_are_told_apart_by_no_answer(self) -> None:
        tracker = self.tracker()
        await tracker.take_permission_request(self.stage.asked(shell()))
        other = replace(self.stage.asked(shell("2")), id=1)
        await tracker.take_permission_request(other)
        self.assertEqual(self.session.told, [(1, None)])
        (event,) = tracker.confirmations
        assert isinstance(event.body, ToolConfirmation)
        self.assertEqual(event.body.call_id, "run_shell_command__2")
        self.assertEqual([result.call_id for result in self.results()], [SHELL])

    async def test_a_call_that_changes_while_it_waits_is_asked_about_anew(self) -> None:
        tracker = self.tracker()
        await tracker.take_permission_request(self.stage.asked(shell()))
        _seen, former = self.waiting(tracker)
        await tracker.take_update(replace(shell(status="in_progress"), title="dd of=x"))
        command, revision = self.waiting(tracker)
        self.assertEqual((command, self.session.told), ("dd of=x", []))
        self.refused(tracker, former)
        self.refused(tracker)
        tracker.confirm_call(SHELL, CallDecision("proceed_once", revision=revision))
        self.assertEqual(self.session.told, [(1, "proceed_once")])

    async def test_what_changes_nothing_of_a_question_leaves_it_as_it_is(self) -> None:
        tracker = self.tracker()
        await tracker.take_permission_request(self.stage.asked(shell()))
        _seen, revision = self.waiting(tracker)
        for status in ("pending", "in_progress"):
            await tracker.take_update(shell(status=status))
        self.assertEqual(len(self.stage.of(ToolConfirmation)), 1)
        tracker.confirm_call(SHELL, CallDecision("proceed_once", revision=revision))
        self.assertEqual(self.session.told, [(1, "proceed_once")])

    async def test_after_a_question_that_was_taken_back_an_answer_without_revision_is_not_meant(
        self,
    ) -> None:
        tracker = self.tracker()
        await tracker.take_permission_request(self.stage.asked(shell()))
        tracker.withdraw_question(messages.Withdrawal(1))
        await tracker.take_permission_request(self.stage.asked(replace(shell(), title="dd of=x")))
        self.refused(tracker)
        self.assertEqual(self.session.told, [(1, None)])
        _command, revision = self.waiting(tracker)
        tracker.confirm_call(SHELL, CallDecision("proceed_once", revision=revision))
        self.assertEqual(self.session.told, [(1, None), (2, "proceed_once")])

    async def test_a_rejection_counts_for_whatever_waits(self) -> None:
        tracker = self.tracker()
        await tracker.take_permission_request(self.stage.asked(shell()))
        _seen, former = self.waiting(tracker)
        await tracker.take_update(replace(shell(), title="dd of=x"))
        tracker.confirm_call(SHELL, CallDecision("cancel", revision=former))
        self.assertEqual((self.session.told, tracker.confirmations), ([(1, "cancel")], ()))

    async def test_another_question_after_a_decision_needs_no_revision_and_takes_no_former(
        self,
    ) -> None:
        tracker = self.tracker()
        await tracker.take_permission_request(self.stage.asked(shell()))
        _seen, former = self.waiting(tracker)
        tracker.confirm_call(SHELL, CallDecision("proceed_once"))
        await tracker.take_permission_request(self.stage.asked(shell()))
        self.refused(tracker, former)
        tracker.confirm_call(SHELL, CallDecision("proceed_once"))
        self.assertEqual(self.session.told, [(1, "proceed_once"), (2, "proceed_once")])

    async def test_an_edit_that_changes_while_it_waits_is_written_as_it_was_shown_last(
        self,
    ) -> None:
        tracker, path = self.tracker(), os.path.join(self.folder, "a.txt")
        await tracker.take_permission_request(self.stage.asked(edit(path)))
        other = messages.FileDiff(path, "", "other\n")
        await tracker.take_update(replace(edit(path), diffs=(other,)))
        (event,) = tracker.confirmations
        assert isinstance(event.body, ToolConfirmation) and event.body.diff is not None
        self.assertEqual(event.body.diff.new_text, "other\n")
        tracker.confirm_call(WRITE, CallDecision("proceed_once", revision=event.id))
        for text in ("new\n", "other\n"):
            await tracker.write_file(messages.WriteTextFile("session", 9, path, text))
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "other\n")

    async def test_a_question_has_the_arguments_that_were_told_before_it(self) -> None:
        self.stage = Stage(self.folder, OpenCode)
        tracker = self.tracker()
        told = messages.ToolCallStart("1", "ls", "execute", "in_progress")
        args = {"command": "ls", "workdir": "/etc"}
        await tracker.take_update(replace(told, raw_input=args))
        await tracker.take_permission_request(
            self.stage.asked(replace(told, raw_input={"command": "ls"}))
        )
        (asked,) = self.stage.of(ToolConfirmation)
        self.assertEqual(asked.args, args)

    async def test_a_question_that_is_taken_back_waits_no_more_and_runs_nothing(self) -> None:
        tracker = self.tracker()
        await tracker.take_permission_request(self.stage.asked(shell()))
        for number in (7, 1, 1):
            tracker.withdraw_question(messages.Withdrawal(number))
        self.assertEqual((self.session.told, tracker.confirmations), ([(1, None)], ()))
        (result,) = self.results()
        self.assertEqual((result.success, result.rejected), (False, True))
        self.assertEqual(str(result.error), "The agent took its question back.")
        self.assertTrue(tracker.is_idle)

    async def test_what_the_agent_does_after_it_took_its_question_back_is_told_as_its_own(
        self,
    ) -> None:
        tracker = self.tracker()
        path = os.path.join(self.folder, "a.txt")
        await tracker.take_permission_request(self.stage.asked(edit(path)))
        tracker.withdraw_question(messages.Withdrawal(1))
        with open(path, "w") as file:
            file.write("new\n")
        told = messages.ToolCallUpdate(WRITE, status="completed")
        await self.end(tracker, told)
        withdrawn, done = self.results()
        self.assertEqual((withdrawn.success, done.success), (False, True))
        self.assertEqual([unasked.path for unasked in done.unasked], [path])

    async def test_where_nobody_can_be_asked_it_is_rejected_at_once(self) -> None:
        tracker = self.tracker(None)
        await tracker.take_permission_request(self.stage.asked(shell()))
        self.assertEqual(self.session.told, [(1, "cancel")])
        self.assertEqual(self.stage.of(ToolConfirmation), [])
        self.assertTrue(self.results()[0].rejected)

    async def test_one_on_which_nobody_decides_in_time_is_rejected(self) -> None:
        tracker = self.tracker(0.0)
        await tracker.take_permission_request(self.stage.asked(shell()))
        await until(self.results)
        self.assertEqual(self.session.told, [(1, "cancel")])
        self.assertIn("seconds (--decision-time)", str(self.results()[0].error))
        self.assertEqual(tracker.confirmations, ())

    async def test_one_that_was_decided_is_not_rejected_later(self) -> None:
        tracker = self.tracker(0.01)
        await tracker.take_permission_request(self.stage.asked(shell("1")))
        tracker.confirm_call(SHELL, CallDecision("proceed_once"))
        await tracker.take_permission_request(self.stage.asked(shell("2")))
        await until(self.results)
        self.assertEqual([result.call_id for result in self.results()], ["run_shell_command__2"])

    async def test_what_was_approved_for_good_is_not_asked_again(self) -> None:
        tracker = self.tracker()
        path = os.path.join(self.folder, "a")
        await tracker.take_permission_request(self.stage.asked(edit(path)))
        tracker.confirm_call(WRITE, CallDecision("proceed_always"))
        await tracker.take_permission_request(self.stage.asked(edit(path, "2")))
        # For good is what we remember; the agent is told each time that it may run once.
        self.assertEqual(self.session.told, [(1, "proceed_once"), (2, "proceed_once")])
        self.assertEqual(len(self.stage.of(ToolConfirmation)), 1)

    async def test_the_agent_never_hears_of_an_approval_for_good(self) -> None:
        for cli in CLIS.values():
            for ask, id in (
                (lambda id: edit(os.path.join(self.folder, "a"), id), "write_file__1"),
                (shell, SHELL),
            ):
                with self.subTest(agent=cli.id, call=id):
                    self.stage = Stage(self.folder, cli)
                    self.stage.session.folder = self.folder
                    tracker = self.tracker()
                    await tracker.take_permission_request(self.stage.asked(ask("1")))
                    tracker.confirm_call(self.stage.of(ToolConfirmation)[0].call_id, ALWAYS)
                    await tracker.take_permission_request(self.stage.asked(ask("2")))
                    once = next(
                        id for id, outcome in cli.options.items() if outcome == "proceed_once"
                    )
                    self.assertEqual(self.stage.session.told, [(1, once), (2, once)])

    async def test_after_an_approval_of_all_edits_guarded_files_are_asked_about(self) -> None:
        tracker = self.tracker()
        await tracker.take_permission_request(
            self.stage.asked(edit(os.path.join(self.folder, "a")))
        )
        tracker.confirm_call(WRITE, CallDecision("proceed_always_tool"))
        names = ("b", ".git/hooks/post-checkout", "../.bashrc", "sub/c", ".envrc")
        for number, name in enumerate(names, 2):
            path = os.path.join(self.folder, *name.split("/"))
            await tracker.take_permission_request(self.stage.asked(edit(path, str(number))))
        asked = [confirmation.call_id for confirmation in self.stage.of(ToolConfirmation)]
        self.assertEqual(asked, [f"write_file__{number}" for number in (1, 3, 4, 6)])
        once = ["proceed_once", "cancel", MODIFY]
        outcomes = [option.outcome for option in self.stage.of(ToolConfirmation)[1].options]
        self.assertEqual(outcomes, once)
        with self.assertRaises(AgentError):
            tracker.confirm_call("write_file__4", ALWAYS)

    async def test_what_the_user_excludes_is_asked_about_each_time(self) -> None:
        excluded: set[str] = set()

        class Rules(OpenFiles):
            async def excludes_file(self, path: str) -> bool:
                return path in excluded

        self.stage.agent.cli.open_files = Rules()
        tracker = self.tracker()
        paths = [os.path.join(self.folder, name) for name in ("a", "b", "c")]
        excluded.add(paths[1])
        await tracker.take_permission_request(self.stage.asked(edit(paths[0])))
        tracker.confirm_call(WRITE, CallDecision("proceed_always_tool"))
        for number, path in enumerate(paths[1:], 2):
            await tracker.take_permission_request(self.stage.asked(edit(path, str(number))))
        asked = [confirmation.call_id for confirmation in self.stage.of(ToolConfirmation)]
        self.assertEqual(asked, [WRITE, "write_file__2"])

    async def test_where_nobody_knows_what_is_excluded_nothing_is_approved_for_good(self) -> None:
        silent = mock.AsyncMock(side_effect=NotSaved)
        with mock.patch.object(OpenFiles, "excludes_file", silent):
            await self.tracker().take_permission_request(
                self.stage.asked(edit(os.path.join(self.folder, "a")))
            )
        (asked,) = self.stage.of(ToolConfirmation)
        self.assertEqual(
            [option.outcome for option in asked.options], ["proceed_once", "cancel", MODIFY]
        )

    async def test_one_approved_for_good_does_not_run_in_a_turn_that_was_just_cancelled(
        self,
    ) -> None:
        tracker, path = self.tracker(), os.path.join(self.folder, "a")
        await tracker.take_permission_request(self.stage.asked(edit(path)))
        tracker.confirm_call(WRITE, CallDecision("proceed_always"))
        look = tracker.writes.read_before

        async def cancelled(call: Call, again: bool = False) -> Call:
            tracker.cancel_calls()
            return await look(call, again)

        with mock.patch.object(tracker.writes, "read_before", cancelled):
            await tracker.take_permission_request(self.stage.asked(edit(path, "2")))
        self.assertEqual(self.session.told[1:], [(2, None)])

    async def test_an_edit_can_be_changed_whoever_writes_the_file(self) -> None:
        tracker = self.tracker()
        inside, outside = os.path.join(self.folder, "a"), "/elsewhere/a"
        for id, path in (("1", inside), ("2", outside)):
            await tracker.take_permission_request(self.stage.asked(edit(path, id)))
        offered = [
            MODIFY in [option.outcome for option in asked.options]
            for asked in self.stage.of(ToolConfirmation)
        ]
        self.assertEqual(offered, [True, True])

    async def test_an_edit_is_written_as_the_user_changed_it_and_the_model_is_told(self) -> None:
        tracker, path = self.tracker(), os.path.join(self.folder, "a")
        await tracker.take_permission_request(self.stage.asked(edit(path)))
        tracker.confirm_call(WRITE, CallDecision(MODIFY, "mine\n"))
        await tracker.write_file(messages.WriteTextFile("session", 9, path, "new\n"))
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine\n")
        request, refusal = self.session.told[-1]
        self.assertEqual(request, 9)
        self.assertIn("mine\n", refusal)
        self.assertEqual(self.noted, [(path, None, b"mine\n")])
        # The CLI takes that for a failure, which it is not.
        await self.end(tracker, edit(path, status="failed"))
        self.assertTrue(self.results()[0].success)
        self.assertEqual(self.stage.statuses(WRITE)[-1], COMPLETED)

    async def test_a_write_that_goes_as_the_agent_wants_is_answered_plainly(self) -> None:
        tracker, path = self.tracker(), os.path.join(self.folder, "a")
        await tracker.take_permission_request(self.stage.asked(edit(path)))
        tracker.confirm_call(WRITE, CallDecision("proceed_once"))
        await tracker.write_file(messages.WriteTextFile("session", 9, path, "new\n"))
        self.assertEqual(self.session.told[-1], (9, {}))

    async def test_what_waits_as_the_turn_is_cancelled_is_answered_so_and_does_not_run(
        self,
    ) -> None:
        tracker, path = self.tracker(), os.path.join(self.folder, "a")
        await tracker.take_permission_request(self.stage.asked(shell()))
        tracker.cancel_calls()
        await tracker.take_permission_request(self.stage.asked(shell("2")))
        self.assertEqual(self.session.told, [(1, None), (2, None)])
        self.assertEqual([result.call_id for result in self.results()], [SHELL])
        await tracker.write_file(messages.WriteTextFile("session", 9, path, "new\n"))
        self.assertFalse(os.path.exists(path))
        self.assertIn("cancelled", str(self.session.told[-1][1]))

    async def test_a_command_that_is_ended_with_its_turn_did_not_succeed(self) -> None:
        tracker = self.tracker()
        await tracker.take_update(shell(status="in_progress"))
        tracker.cancel_calls()
        await self.end(tracker, shell(status="completed", text="Command cancelled by user."))
        self.assertFalse(self.results()[0].success)

    async def test_at_the_end_of_the_turn_every_call_has_an_end(self) -> None:
        tracker = self.tracker()
        await tracker.take_update(shell(status="in_progress"))
        await tracker.take_permission_request(self.stage.asked(shell("2")))
        tracker.close()
        ended = {result.call_id: result.rejected for result in self.results()}
        self.assertEqual(ended, {SHELL: False, "run_shell_command__2": True})
        self.assertTrue(tracker.is_idle)
        self.assertEqual(tracker.confirmations, ())

    async def test_a_permission_to_read_an_attached_file_ends_with_its_answer(self) -> None:
        tracker = self.tracker()
        call = messages.ToolCallUpdate("resolve-prompt-/a-1", "read", "read")
        await tracker.take_permission_request(self.stage.asked(call))
        tracker.confirm_call("resolve-prompt-/a-1", CallDecision("proceed_once"))
        self.assertEqual(self.stage.statuses(call.id), [PENDING, EXECUTING, COMPLETED])
        self.assertTrue(self.results()[0].success)
        self.assertTrue(tracker.is_idle)


class ByRules(Calls):
    """Each test of above with rules of the user that fit nothing, and these."""

    rules = AgentRules(deny=("command:rm *",), ask=("edit:*.lock",))

    def setUp(self) -> None:
        super().setUp()
        patch = mock.patch.object(OpenFiles, "agent_rules", lambda _: self.given())
        patch.start()
        self.addCleanup(patch.stop)

    async def given(self) -> AgentRules:
        return self.rules

    async def test_what_a_rule_denies_is_rejected_and_the_rule_is_named(self) -> None:
        self.rules = AgentRules(deny=("command:ls",), allow=("command:ls",))
        await self.tracker().take_permission_request(self.stage.asked(shell()))
        self.assertEqual(self.session.told, [(1, "cancel")])
        (result,) = self.results()
        self.assertEqual(
            (result.rejected, str(result.error)), (True, "Your rule command:ls denies it.")
        )

    async def test_a_call_that_changes_into_what_a_rule_denies_is_rejected(self) -> None:
        await (tracker := self.tracker()).take_permission_request(self.stage.asked(shell()))
        await tracker.take_update(replace(shell(), title="rm a"))
        self.assertEqual((self.session.told, tracker.confirmations), ([(1, "cancel")], ()))

    async def test_an_approval_of_what_the_agent_is_changing_does_not_count(self) -> None:
        await (tracker := self.tracker()).take_permission_request(self.stage.asked(shell()))
        (asked,) = tracker.confirmations
        gate: asyncio.Future[AgentRules] = asyncio.get_running_loop().create_future()
        with mock.patch.object(OpenFiles, "agent_rules", lambda _: gate):
            change = asyncio.ensure_future(tracker.take_update(replace(shell(), title="curl a")))
            await asyncio.sleep(0)
            for revision in (asked.id, ""):
                with self.assertRaises(AgentError) as caught:
                    tracker.confirm_call(SHELL, CallDecision("proceed_once", revision=revision))
                self.assertEqual(caught.exception.code, failure.TOOL_CALL_CHANGED)
            gate.set_result(self.rules)
            await change
        self.assertEqual(self.session.told, [])
        (asked,) = tracker.confirmations
        tracker.confirm_call(SHELL, CallDecision("proceed_once", revision=asked.id))
        self.assertEqual(self.session.told, [(1, "proceed_once")])

    async def test_what_a_rule_allows_runs_and_the_rule_is_told(self) -> None:
        self.rules = AgentRules(allow=("command:ls",))
        await self.tracker().take_permission_request(self.stage.asked(shell()))
        self.assertEqual(self.session.told, [(1, "proceed_once")])
        self.assertEqual(self.stage.of(ToolConfirmation), [])
        self.assertEqual(
            [execution.rule for execution in self.stage.of(ToolExecution)], ["command:ls"]
        )

    async def test_what_a_rule_asks_about_is_asked_each_time_whatever_was_allowed(self) -> None:
        tracker = self.tracker()
        await tracker.take_permission_request(
            self.stage.asked(edit(os.path.join(self.folder, "a")))
        )
        tracker.confirm_call(WRITE, CallDecision("proceed_always_tool"))
        await tracker.take_permission_request(
            self.stage.asked(edit(os.path.join(self.folder, "a.lock"), "2"))
        )
        asked = self.stage.of(ToolConfirmation)[-1]
        self.assertEqual(asked.call_id, "write_file__2")
        self.assertEqual(
            [option.outcome for option in asked.options], ["proceed_once", "cancel", MODIFY]
        )

    async def test_a_write_without_a_question_is_refused_where_a_rule_denies_it(self) -> None:
        self.rules = AgentRules(deny=("edit:*.lock",))
        path = os.path.join(self.folder, "a.lock")
        request = messages.WriteTextFile("session", 7, path, "new\n")
        await self.tracker().write_file(request)
        self.assertIn("a rule of the user denies it", str(self.session.told))
        self.assertFalse(os.path.exists(path))

    async def test_a_write_without_a_question_is_refused_where_its_tool_is_denied(self) -> None:
        self.rules = AgentRules(deny=("tool:write_file",))
        path, tracker = os.path.join(self.folder, "a"), self.tracker()
        await tracker.take_update(edit(path, status="in_progress"))
        await tracker.write_file(messages.WriteTextFile("session", 7, path, "new\n"))
        self.assertIn("a rule of the user denies it", str(self.session.told))
        self.assertEqual((os.path.exists(path), tracker.confirmations), (False, ()))

    async def test_a_write_is_asked_about_where_a_tool_is_denied_and_the_agent_names_none(
        self,
    ) -> None:
        self.rules = AgentRules(deny=("tool:write_file",))
        path, tracker = os.path.join(self.folder, "a"), self.tracker()
        writing = asyncio.ensure_future(
            tracker.write_file(messages.WriteTextFile("session", 7, path, "new\n"))
        )
        await until(lambda: tracker.confirmations)
        self.assertFalse(os.path.exists(path))
        (asked,) = self.stage.of(ToolConfirmation)
        tracker.confirm_call(asked.call_id, CallDecision("proceed_once"))
        await writing
        self.assertTrue(os.path.exists(path))

    async def test_where_the_rules_are_not_known_each_call_is_asked_about(self) -> None:
        with mock.patch.object(OpenFiles, "agent_rules", mock.AsyncMock(side_effect=NotSaved)):
            await self.tracker().take_permission_request(self.stage.asked(shell()))
        (asked,) = self.stage.of(ToolConfirmation)
        self.assertEqual([option.outcome for option in asked.options], ["proceed_once", "cancel"])
