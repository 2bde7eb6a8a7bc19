"""The terminals of a turn: what the user is asked before anything runs, what the agent is told, and
that nothing goes on after the turn."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import unittest
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest import mock

from GeminiCompanion.companion.agent import asked
from GeminiCompanion.companion.agent.acp import messages, terminal_messages
from GeminiCompanion.companion.agent.acp.members import Unreadable
from GeminiCompanion.companion.agent.acp.terminal_messages import (
    KILL,
    OUTPUT,
    RELEASE,
    WAIT,
    CreateTerminal,
    UseTerminal,
)
from GeminiCompanion.companion.agent.events.tool_call import read_call
from GeminiCompanion.companion.agent.failure import TOOL_INVALID_OUTCOME, AgentError
from GeminiCompanion.companion.agent.open_files import OpenFiles
from GeminiCompanion.companion.agent.turn import terminal_process, terminals
from GeminiCompanion.companion.agent.turn.call_tracker import CallTracker
from GeminiCompanion.companion.agent.turn.outcomes import CallDecision
from GeminiCompanion.companion.agent.turn_events import (
    CANCEL,
    FAILED,
    ONCE,
    Diff,
    ToolCall,
    ToolConfirmation,
    ToolResult,
)
from GeminiCompanion.companion.base import jsonrpc

from ..support import until
from .stage import Stage

PYTHON = sys.executable
KILLED = "It was ended by SIGKILL."
# The agent's own call.
OWN = "run_shell_command__1"


@unittest.skipIf(os.name == "nt", "commands for the shell of POSIX")
class Terminals(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = os.path.realpath(temporary.name)
        self.stage = Stage(self.folder)
        session: Any = self.stage.session
        session.folder = self.folder
        session.process = SimpleNamespace(environment={**os.environ, "OF_AGENT": "yes"})
        self.tracker = CallTracker(self.stage.log, self.stage.agent, 600.0, lambda *_: None)
        self.released: list[terminal_process.TerminalProcess] = []
        self.addAsyncCleanup(self.end_commands)
        self.number = 100

    async def end_commands(self) -> None:
        """Until no process is left to the loop, which ends with the test."""
        processes = [*self.tracker._terminals._processes.values(), *self.released]
        self.tracker.close()
        for process in processes:
            await asyncio.wait_for(process.exit, 60.0)
            await asyncio.wait_for(process._reading, 60.0)

    def request(self, request: Any) -> asyncio.Future[None]:
        return asyncio.ensure_future(self.tracker.take_terminal_request(request))

    def create(self, command: str, *args: str, **more: Any) -> int:
        """The id of a request for a terminal."""
        self.number += 1
        self.request(CreateTerminal("session", self.number, command, args, **more))
        return self.number

    async def question(self) -> ToolConfirmation:
        await until(lambda: self.tracker.confirmations)
        (event,) = self.tracker.confirmations
        body: Any = event.body
        return body

    async def answer(self, id: int) -> Any:
        """What the agent is told of a request."""
        await until(lambda: any(each[0] == id for each in self.stage.session.told))
        return next(each[1] for each in self.stage.session.told if each[0] == id)

    async def allowed(self, command: str, *args: str, **more: Any) -> str:
        """The id of a terminal whose command the user has allowed."""
        id = self.create(command, *args, **more)
        body = await self.question()
        self.tracker.confirm_call(body.call_id, CallDecision(ONCE))
        return str((await self.answer(id))["terminalId"])

    async def use(self, method: str, terminal: str) -> Any:
        self.number += 1
        process = self.tracker._terminals._processes.get(terminal)
        if process is not None and method == RELEASE:
            self.released.append(process)
        self.request(UseTerminal("session", self.number, method, terminal))
        return await self.answer(self.number)

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    async def test_the_question_shows_all_that_would_run(self) -> None:
        inner = self.path("inner")
        os.mkdir(inner)
        env = (("LD_PRELOAD", "x.so"),)
        self.create("git", "log", "a b", folder=inner, env=env)
        text = asked.question_text(await self.question())
        for words in ("git log 'a b'", inner, "LD_PRELOAD", "x.so"):
            self.assertIn(words, text)

    async def test_a_file_that_is_open_and_that_a_command_changes_is_told(self) -> None:
        path = self.path("open.txt")
        with open(path, "w", encoding="ascii") as file:
            file.write("one\n")
        files = self.stage.agent.cli.open_files = OpenFiles()
        files.are_there = True
        files.open_paths = mock.AsyncMock(return_value=(path,))  # type: ignore[method-assign]
        await self.allowed(f"echo two > '{path}'")
        await until(lambda: self.stage.of(ToolResult))
        (result,) = self.stage.of(ToolResult)
        self.assertEqual(result.unasked, (Diff(path, "one\n", "two\n"),))

    async def test_nothing_runs_before_it_was_allowed_nor_if_it_was_denied(self) -> None:
        path = self.path("ran")
        id = self.create(f"touch '{path}'")
        body = await self.question()
        self.assertEqual(body.command, f"touch '{path}'")
        self.tracker.confirm_call(body.call_id, CallDecision(CANCEL))
        self.assertIn("Rejected by the user.", str(await self.answer(id)))
        self.assertFalse(os.path.exists(path))
        (result,) = self.stage.of(ToolResult)
        self.assertTrue(result.rejected)

    async def allow_own_question(self, line: str, text: str = "", **more: Any) -> None:
        """The user allows a call of which the agent has asked, with a text."""
        await self.allow_given({"command": line, **more}, line, text)

    async def allow_given(
        self, given: dict[str, Any], title: str, text: str = "", by_client: bool = False
    ) -> None:
        texts = (text,) if text else ()
        call = messages.ToolCallUpdate(OWN, title, "execute", texts=texts, raw_input=given)
        cli: Any = self.stage.agent.cli
        cli.read_call = lambda told: read_call(told, "bash", given)
        await self.tracker.take_permission_request(self.stage.asked(call))
        body = await self.question()
        self.tracker.confirm_call(body.call_id, CallDecision(ONCE, by_client=by_client))

    async def test_what_was_allowed_as_exactly_this_line_is_asked_once(self) -> None:
        await self.allow_own_question("echo plum", timeout=5)
        terminal = str((await self.answer(self.create("echo plum")))["terminalId"])
        self.assertEqual((await self.use(WAIT, terminal))["exitCode"], 0)
        # Once for each time that it was allowed.
        self.create("echo plum")
        await self.question()

    async def test_a_command_that_the_agent_asked_about_is_one_call_with_its_output(self) -> None:
        await self.allow_own_question("echo plum")
        terminal = str((await self.answer(self.create("echo plum")))["terminalId"])
        await self.use(WAIT, terminal)
        await until(lambda: self.stage.of(ToolResult))
        # What the agent says of it then does not count.
        for more in ({"terminals": (terminal,)}, {"status": "failed", "texts": ("No.",)}):
            await self.tracker.take_update(messages.ToolCallUpdate(OWN, **more))
        (call,) = self.stage.of(ToolCall)
        (result,) = self.stage.of(ToolResult)
        self.assertEqual((call.call_id, result.call_id), (OWN, OWN))
        self.assertEqual((result.success, result.result), (True, "plum\n"))

    async def begin_own(self, args: dict[str, Any]) -> None:
        """The agent tells of a call, and asks about nothing."""
        cli: Any = self.stage.agent.cli
        cli.read_call = lambda told: read_call(told, "bash", told.raw_input or {})
        begun = messages.ToolCallStart(OWN, "Echo", "execute", "in_progress", raw_input=args)
        await self.tracker.take_update(begun)

    async def test_a_command_that_the_agent_has_told_is_asked_about_as_that_call(self) -> None:
        args = {"command": "echo plum", "description": "It is harmless."}
        await self.begin_own(args)
        id = self.create("echo plum")
        body = await self.question()
        self.assertEqual((body.call_id, body.args), (OWN, {"command": "echo plum"}))
        with self.assertRaises(AgentError):
            self.tracker.confirm_call(OWN, CallDecision(ONCE, by_client=True))
        # It cannot end its question, nor change what is asked.
        for more in ({"raw_input": {"command": "ls"}}, {"status": "completed"}):
            await self.tracker.take_update(messages.ToolCallUpdate(OWN, **more))
        self.assertEqual((await self.question()).args, {"command": "echo plum"})
        self.tracker.confirm_call(OWN, CallDecision(ONCE))
        await self.use(WAIT, str((await self.answer(id))["terminalId"]))
        await until(lambda: self.stage.of(ToolResult))
        (result,) = self.stage.of(ToolResult)
        self.assertEqual((result.call_id, result.result), (OWN, "plum\n"))
        self.assertEqual(len(self.stage.of(ToolCall)), 1)
        # The next one is another.
        self.create("echo plum")
        self.assertNotEqual((await self.question()).call_id, OWN)

    async def test_a_question_of_the_agent_does_not_end_that_of_its_terminal(self) -> None:
        await self.begin_own({"command": "echo plum"})
        id = self.create("echo plum")
        await self.question()
        asked = messages.ToolCallUpdate(OWN, raw_input={"command": "ls"})
        await self.tracker.take_permission_request(
            messages.PermissionRequest("session", 7, asked, ())
        )
        self.assertEqual(await self.answer(7), None)
        self.assertEqual((await self.question()).args, {"command": "echo plum"})
        self.tracker.confirm_call(OWN, CallDecision(ONCE))
        self.assertIn("terminalId", await self.answer(id))

    async def test_another_command_than_the_one_that_was_told_stands_alone(self) -> None:
        for args in ({"command": "ls"}, {"command": "echo plum", "cwd": "/"}, {}):
            with self.subTest(args=args):
                self.setUp()
                await self.begin_own(args)
                self.create("echo plum")
                self.assertNotEqual((await self.question()).call_id, OWN)

    async def test_a_call_that_is_told_only_with_its_terminal_is_not_told_twice(self) -> None:
        terminal = await self.allowed("echo plum")
        begun = messages.ToolCallStart(OWN, "Echo", "execute", terminals=(terminal,))
        await self.tracker.take_update(begun)
        await self.tracker.take_update(messages.ToolCallUpdate(OWN, status="completed"))
        await until(lambda: self.stage.of(ToolResult))
        self.assertNotIn(OWN, [call.call_id for call in self.stage.of(ToolCall)])
        # One that names none of ours is the agent's own.
        other = messages.ToolCallStart("o", "x", "execute", "in_progress", terminals=("none",))
        await self.tracker.take_update(other)
        self.assertIn("o", [call.call_id for call in self.stage.of(ToolCall)])

    async def test_what_differs_from_what_was_allowed_is_asked_about(self) -> None:
        inner = self.path("inner")
        os.mkdir(inner)
        for command, args, more in (
            ("echo plum; ls", (), {}),
            ("echo", ("plum;",), {}),
            ("echo plum", (), {"folder": inner}),
            ("echo plum", (), {"env": (("PATH", "/evil"),)}),
        ):
            with self.subTest(command=command, **more):
                self.setUp()
                await self.allow_own_question("echo plum")
                self.create(command, *args, **more)
                await self.question()
        self.setUp()
        # The agent told more of it than its line.
        await self.allow_own_question("echo plum", cwd=inner)
        self.create("echo plum")
        await self.question()

    async def test_a_title_or_a_line_with_a_remark_is_not_exactly_this_command(self) -> None:
        for given in ({}, {"command": ["echo", "plum"]}, {"command": ""}):
            with self.subTest(given=given):
                self.setUp()
                await self.allow_given(given, "echo plum")
                self.create("echo plum")
                await self.question()

    async def test_what_was_allowed_counts_only_while_its_call_runs(self) -> None:
        await self.allow_own_question("echo plum")
        await self.tracker.take_update(messages.ToolCallUpdate(OWN, status="completed"))
        self.create("echo plum")
        await self.question()

    async def test_a_client_of_the_api_allows_no_command(self) -> None:
        path = self.path("ran")
        id = self.create(f"touch '{path}'")
        body = await self.question()
        with self.assertRaises(AgentError) as caught:
            self.tracker.confirm_call(body.call_id, CallDecision(ONCE, by_client=True))
        self.assertEqual(caught.exception.code, TOOL_INVALID_OUTCOME)
        # It goes on to wait, and a no counts.
        self.assertEqual((await self.question()).call_id, body.call_id)
        self.tracker.confirm_call(body.call_id, CallDecision(CANCEL, by_client=True))
        self.assertIn("Rejected by the user.", str(await self.answer(id)))
        self.assertFalse(os.path.exists(path))

    async def test_what_a_client_has_allowed_the_agent_is_asked_about_for_a_terminal(self) -> None:
        await self.allow_given({"command": "echo plum"}, "echo plum", by_client=True)
        self.create("echo plum")
        await self.question()

    async def test_where_words_do_not_run_as_they_were_shown_no_terminal_is_there(self) -> None:
        with mock.patch.object(terminal_process.sys, "platform", "win32"):
            told = await self.answer(self.create("echo plum"))
        self.assertIn("There are no terminals on this system.", str(told))
        self.assertFalse(self.tracker.confirmations)

    async def test_the_group_of_a_command_that_left_nothing_is_never_signalled_again(self) -> None:
        terminal = await self.allowed("true")
        await self.use(WAIT, terminal)
        with mock.patch.object(os, "killpg") as signalled:
            await self.use(KILL, terminal)
            await self.use(RELEASE, terminal)
            self.tracker.close()
        self.assertEqual(signalled.call_args_list, [])

    async def test_what_an_ended_command_has_left_ends_with_its_terminal(self) -> None:
        path = self.path("left")
        terminal = await self.allowed(f"sleep 600 > /dev/null 2>&1 & echo $! > '{path}'")
        await self.use(WAIT, terminal)
        with open(path, encoding="utf-8") as file:
            pid = int(file.read())
        self.assertFalse(has_ended(pid))
        await self.use(RELEASE, terminal)
        await until(partial(has_ended, pid))

    async def test_the_agent_tells_nothing_of_our_call(self) -> None:
        id = self.create("sleep 600")
        body = await self.question()
        self.tracker.confirm_call(body.call_id, CallDecision(ONCE))
        terminal = str((await self.answer(id))["terminalId"])
        self.assertNotEqual(terminal, body.call_id)
        for known in (terminal, body.call_id):
            news = messages.ToolCallUpdate(known, "ls", status="completed", texts=("all is well",))
            await self.tracker.take_update(news)
        self.assertNotIn(body.call_id, [result.call_id for result in self.stage.of(ToolResult)])
        await self.use(KILL, terminal)
        await until(lambda: self.stage.statuses(body.call_id)[-1] == FAILED)
        result = next(each for each in self.stage.of(ToolResult) if each.call_id == body.call_id)
        self.assertEqual((result.args, str(result.error)), ({"command": "sleep 600"}, KILLED))

    async def test_commands_that_wait_for_the_user_count_among_the_terminals(self) -> None:
        with mock.patch.object(terminals, "MOST", 1):
            first = self.create("echo plum")
            body = await self.question()
            refused = await self.answer(self.create("echo plum"))
            self.assertIn("too many terminals", str(refused))
            self.tracker.confirm_call(body.call_id, CallDecision(ONCE))
            terminal = str((await self.answer(first))["terminalId"])
            self.assertIn("too many terminals", str(await self.answer(self.create("ls"))))
            await self.use(RELEASE, terminal)
            self.assertIn("terminalId", await self.answer_to_allowed("ls"))

    async def answer_to_allowed(self, command: str) -> Any:
        id = self.create(command)
        self.tracker.confirm_call((await self.question()).call_id, CallDecision(ONCE))
        return await self.answer(id)

    async def test_an_allowed_command_runs_and_its_end_and_output_are_told(self) -> None:
        terminal = await self.allowed("echo plum; echo $OF_AGENT; pwd; exit 3")
        self.assertEqual(await self.use(WAIT, terminal), {"exitCode": 3, "signal": None})
        told = await self.use(OUTPUT, terminal)
        self.assertEqual(told["output"], f"plum\nyes\n{self.folder}\n")
        self.assertEqual((told["truncated"], told["exitStatus"]["exitCode"]), (False, 3))
        await until(lambda: self.stage.of(ToolResult))
        (result,) = self.stage.of(ToolResult)
        self.assertIn("plum", result.result)
        self.assertEqual(str(result.error), "It ended with code 3.")
        self.assertEqual(self.stage.statuses(result.call_id)[-1], FAILED)

    async def test_a_program_gets_its_words_and_variables_as_they_were_shown(self) -> None:
        code = "import os, sys; print(sys.argv[1:], os.environ['FRUIT'])"
        env = (("FRUIT", "plum"),)
        terminal = await self.allowed(PYTHON, "-c", code, "$HOME; ls", env=env)
        await self.use(WAIT, terminal)
        told = await self.use(OUTPUT, terminal)
        self.assertEqual(told["output"], "['$HOME; ls'] plum\n")

    async def test_of_a_long_output_the_end_is_kept_in_whole_characters(self) -> None:
        terminal = await self.allowed("printf 'aäöü'", limit=5)
        await self.use(WAIT, terminal)
        told = await self.use(OUTPUT, terminal)
        self.assertEqual((told["output"], told["truncated"]), ("öü", True))

    async def test_a_command_is_ended_with_all_that_it_has_started(self) -> None:
        for end in (KILL, RELEASE):
            path = self.path(end.replace("/", "-"))
            terminal = await self.allowed(f"sleep 600 & echo $! > '{path}'; wait")
            await until(partial(is_written, path))
            with open(path, encoding="utf-8") as file:
                pid = int(file.read())
            await self.use(end, terminal)
            await until(partial(has_ended, pid))
            if end == KILL:
                self.assertEqual(
                    await self.use(WAIT, terminal), {"exitCode": None, "signal": "SIGKILL"}
                )
                await self.use(RELEASE, terminal)
            self.assertIn("There is no terminal", str(await self.use(OUTPUT, terminal)))

    async def test_with_the_turn_all_end_and_nothing_more_runs(self) -> None:
        first = await self.allowed("sleep 600")
        self.number += 1
        waiting = self.number
        self.request(UseTerminal("session", waiting, WAIT, first))
        asking = self.create("touch later")
        await self.question()
        self.tracker.cancel_calls()
        self.assertEqual((await self.answer(waiting))["signal"], "SIGKILL")
        self.assertIn("The turn ended", str(await self.answer(asking)))
        self.assertIn("The turn is over", str(await self.answer(self.create("touch later"))))
        self.assertFalse(os.path.exists(self.path("later")))

    async def test_a_folder_or_a_program_that_is_not_there_is_told(self) -> None:
        refused = await self.answer(self.create("ls", folder=self.path("gone")))
        self.assertIn("Expected the absolute path of a folder", str(refused))
        id = self.create(self.path("gone"), "-x")
        body = await self.question()
        self.tracker.confirm_call(body.call_id, CallDecision(ONCE))
        self.assertIn("cannot be started", str(await self.answer(id)))

    def test_a_request_whose_words_are_not_understood_is_not_read(self) -> None:
        for more in (
            {"args": ["-l", 5]},
            {"env": {"PATH": "/a"}},
            {"env": ["PATH"]},
            {"env": [{"name": "PATH"}]},
            {"env": [{"name": "", "value": "/a"}]},
            {"env": [{"name": "PATH", "value": 5}]},
            {"cwd": ["/a"]},
        ):
            with self.subTest(more), self.assertRaises(Unreadable):
                params = {"sessionId": "s", "command": "ls", **more}
                terminal_messages.read_terminal_request(
                    jsonrpc.Request(1, terminal_messages.CREATE, params)
                )


def is_written(path: str) -> bool:
    return os.path.exists(path) and os.path.getsize(path) > 1


def has_ended(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True
