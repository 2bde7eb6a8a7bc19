"""What commands change in files that are open in the user's editor."""

from __future__ import annotations

import os
import tempfile
import unittest
from typing import Any, Sequence
from unittest import mock

from GeminiCompanion.companion.agent.acp import messages
from GeminiCompanion.companion.agent.open_files import NotSaved, OpenFiles
from GeminiCompanion.companion.agent.turn import command_files
from GeminiCompanion.companion.agent.turn.call_tracker import CallTracker
from GeminiCompanion.companion.agent.turn.outcomes import CallDecision
from GeminiCompanion.companion.agent.turn_events import CANCEL, ONCE, Diff, ToolResult

from ..support import until
from .stage import Stage, edit, shell


class Tabs(OpenFiles):
    """`paths` are open."""

    are_there = True

    def __init__(self, *paths: str) -> None:
        self.paths = paths
        self.is_deaf = False

    async def open_paths(self, folders: Sequence[str]) -> tuple[str, ...]:
        if self.is_deaf:
            raise NotSaved
        return tuple(path for path in self.paths if os.path.dirname(path) in folders)


class Commands(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = os.path.realpath(temporary.name)
        self.path, self.other = self.write("a", "one\n"), self.write("b", "one\n")
        self.stage = Stage(self.folder)
        self.stage.session.folder = self.folder
        self.tabs = self.stage.agent.cli.open_files = Tabs(self.path)
        self.noted: list[Any] = []
        note = lambda *change: self.noted.append(change)  # noqa: E731
        self.tracker = CallTracker(self.stage.log, self.stage.agent, 600.0, note)

    def write(self, name: str, text: str) -> str:
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    async def asked(self, call: messages.ToolCallUpdate) -> None:
        await self.tracker.take_permission_request(self.stage.asked(call))

    async def allowed(self, id: str = "1") -> None:
        """The agent asks about the command, and the user allows it."""
        await self.asked(shell(id))
        await self.allow(id)

    async def allow(self, id: str = "1") -> None:
        before = len(self.stage.session.told)
        self.tracker.confirm_call(f"run_shell_command__{id}", CallDecision(ONCE))
        await until(lambda: len(self.stage.session.told) > before)

    async def ended(self, id: str = "1", status: str = "completed") -> ToolResult:
        await self.tracker.take_update(shell(id, status))
        result: ToolResult = self.stage.of(ToolResult)[-1]
        return result

    async def test_a_file_that_a_command_has_changed_is_told_and_can_be_undone(self) -> None:
        await self.allowed()
        self.write("a", "two\n")
        self.write("b", "two\n")
        result = await self.ended()
        self.assertEqual(result.unasked, (Diff(self.path, "one\n", "two\n"),))
        self.assertEqual((result.success, result.changed), (True, (self.path,)))
        self.assertEqual(self.noted, [(self.path, b"one\n", b"two\n", False)])

    async def test_so_is_one_of_a_command_that_failed_or_that_nobody_was_asked_about(self) -> None:
        await self.tracker.take_update(shell("1", "in_progress"))
        self.write("a", "two\n")
        result = await self.ended(status="failed")
        self.assertEqual(result.unasked, (Diff(self.path, "one\n", "two\n"),))
        self.assertFalse(result.success)

    async def test_what_the_user_saves_while_they_are_asked_is_their_own(self) -> None:
        await self.tracker.take_update(shell("1", "in_progress"))
        await self.asked(shell())
        self.write("a", "saved\n")
        await self.allow()
        self.assertEqual((await self.ended()).unasked, ())

    async def test_what_another_call_changes_meanwhile_is_not_the_commands(self) -> None:
        self.tabs.paths = (self.path, self.other)
        await self.allowed()
        await self.allowed("2")
        await self.asked(edit(self.other))
        self.tracker.confirm_call("write_file__1", CallDecision(ONCE))
        await self.tracker.write_file(messages.WriteTextFile("session", 9, self.other, "new\n"))
        await self.tracker.take_update(edit(self.other, status="completed"))
        self.write("a", "two\n")
        told = [(await self.ended(id)).unasked for id in "12"]
        self.assertEqual(told, [(Diff(self.path, "one\n", "two\n"),), ()])

    async def test_what_a_command_makes_again_is_told_again(self) -> None:
        told = []
        for _ in range(2):
            self.write("a", "one\n")
            await self.allowed()
            self.write("a", "two\n")
            told.append((await self.ended()).unasked)
        self.assertEqual(told, [(Diff(self.path, "one\n", "two\n"),)] * 2)

    async def test_two_commands_at_a_time_tell_each_change_once(self) -> None:
        await self.allowed()
        await self.allowed("2")
        self.write("a", "two\n")
        told = [(await self.ended()).unasked]
        self.write("a", "three\n")
        told.append((await self.ended("2")).unasked)
        changes = ("one\n", "two\n"), ("two\n", "three\n")
        self.assertEqual(told, [(Diff(self.path, *change),) for change in changes])

    async def test_files_are_read_once_for_each_of_many_commands_that_tell_of_themselves(
        self,
    ) -> None:
        ids = "123456"
        read = mock.Mock(side_effect=command_files._read_files)
        with mock.patch.object(command_files, "_read_files", read):
            for id in ids * 3:
                await self.tracker.take_update(shell(id, "in_progress"))
        self.assertEqual(read.call_count, len(ids))

    async def test_of_many_commands_at_a_time_the_newest_tell_what_they_change(self) -> None:
        for id in "12345":
            await self.allowed(id)
        self.write("a", "two\n")
        told = [(await self.ended(id)).unasked for id in "123"]
        self.assertEqual(told, [(), (Diff(self.path, "one\n", "two\n"),), ()])

    async def test_without_threads_a_command_that_is_allowed_runs(self) -> None:
        no_thread = mock.AsyncMock(side_effect=RuntimeError("can't start new thread"))
        with mock.patch.object(command_files, "in_thread", no_thread):
            await self.allowed()
            await self.ended()
        self.assertEqual(len(self.stage.session.told), 1)

    async def test_a_command_that_is_denied_tells_nothing(self) -> None:
        await self.asked(shell())
        self.tracker.confirm_call("run_shell_command__1", CallDecision(CANCEL))
        self.write("a", "two\n")
        (result,) = self.stage.of(ToolResult)
        self.assertEqual((result.rejected, result.unasked), (True, ()))

    async def test_without_an_answer_of_the_editor_commands_run_as_ever(self) -> None:
        self.tabs.is_deaf = True
        await self.allowed()
        self.write("a", "two\n")
        self.assertEqual((await self.ended()).unasked, ())

    async def test_a_command_whose_turn_is_stopped_before_it_is_allowed_does_not_run(self) -> None:
        await self.asked(shell())
        self.tracker.confirm_call("run_shell_command__1", CallDecision(ONCE))
        self.tracker.cancel_calls()
        await until(lambda: self.stage.session.told)
        self.assertEqual(self.stage.session.told, [(1, None)])

    async def test_what_is_too_large_or_no_text_is_left_out(self) -> None:
        self.tabs.paths = (self.path, self.other)
        with open(self.path, "wb") as file:
            file.write(b"\xff")
        with mock.patch.object(command_files, "MAX_SIZE", 8):
            self.write("b", "too long for it\n")
            await self.allowed()
            self.write("b", "short\n")
            self.write("a", "text\n")
            self.assertEqual((await self.ended()).unasked, ())
