"""The terminals of one turn: commands that an agent has us run. Each runs only after the user was
shown exactly what would run, and has allowed it; and none outlives the turn.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shlex
from dataclasses import replace
from functools import partial
from typing import Any, Callable, Mapping

from ...base.background import in_thread
from ...base.log import logger
from ..acp import terminal_messages
from ..acp.messages import ToolCallUpdate
from ..acp.terminal_messages import (
    KILL,
    OUTPUT,
    RELEASE,
    WAIT,
    CreateTerminal,
    Exit,
    TerminalRequest,
    UseTerminal,
)
from ..events.tool_call import EXECUTE, Call
from ..failure import TOOL_INVALID_OUTCOME, VALIDATION_ERROR, AgentError
from ..sentence import Words, sentence
from ..turn_events import COMPLETED, EXECUTING, FAILED, ToolResult
from .agent_session import AgentSession
from .call_events import CallEvents
from .call_rules import DENY
from .command_files import CommandFiles
from .consent import Consent
from .lasting_answers import SAYING
from .outcomes import HELD, PendingPermission
from .terminal_process import TerminalProcess, end_processes, runs_as_shown, shell_command

# The most terminals of one turn that have not been released, with those that are asked about.
MOST = 64
TERMINAL = "terminal"
COMMAND = "command"
# The arguments of a call that is a command and nothing else.
PLAIN = {COMMAND, "timeout", *SAYING}
TOO_MANY = sentence("There are too many terminals; release some.")
NO_TERMINAL = sentence("There is no terminal {got}.")
NO_FOLDER = sentence("Expected the absolute path of a folder as cwd; got {got}.")
FORBIDDEN = sentence("The command was not run: a rule of the user denies it.")
NOT_STARTED = sentence("The command cannot be started: {reason}.")
BROKEN_OFF = sentence("Nothing was run; something went wrong.")
NOT_HERE = sentence("There are no terminals on this system.")
OF_EDITOR = sentence("Only the user of the editor can allow a command in a terminal.")
OVER = sentence("The turn is over, so nothing is run.")
ENDED_WITH = sentence("It ended with code {code}.")
ENDED_BY = sentence("It was ended by {signal}.")


class Terminals:
    """`ask` asks the user."""

    def __init__(
        self,
        agent: AgentSession,
        calls: CallEvents,
        consent: Consent,
        commands: CommandFiles,
        ask: Callable[[PendingPermission], None],
    ) -> None:
        self._agent = agent
        self._calls = calls
        self._consent = consent
        self._commands = commands
        self._ask = ask
        self._processes: dict[str, TerminalProcess] = {}
        # The ends of calls that are being told.
        self._ending: set[asyncio.Task[None]] = set()
        self._is_closed = False
        # Commands that wait for the user, or start.
        self._starting = 0
        # The lines of commands that were allowed and have no terminal yet, by the agent's calls.
        self._allowed: dict[str, str] = {}

    async def take_request(self, request: TerminalRequest) -> None:
        """The boundary of a request: whatever happens, the agent gets its answer."""
        client = self._agent.session.client
        try:
            result = await (
                self._create_terminal(request)
                if isinstance(request, CreateTerminal)
                else self._use_terminal(request)
            )
        except AgentError as refused:
            client.refuse_request(request.id, self._agent.cli.refusal_error(str(refused)))
        except Exception:
            logger.exception("a terminal's request failed")
            client.refuse_request(request.id, self._agent.cli.refusal_error(str(BROKEN_OFF)))
        else:
            client.answer_request(request.id, result)

    def note_allowed(self, call: Call) -> None:
        """The user has allowed a call of which the agent has asked, once: if that was a command and
        nothing else, its terminal needs no other question while the call runs."""
        line = call.args.get(COMMAND)
        if isinstance(line, str) and line and set(call.args) <= PLAIN and not call.agent_note:
            self._allowed[call.id] = line

    def forget_allowed(self, call_id: str) -> None:
        """The call has ended, or the agent asks about it anew."""
        self._allowed.pop(call_id, None)

    def take_names(self, told: ToolCallUpdate) -> None:
        """A call that names a terminal is what that shows."""
        if any(name in self._processes for name in told.terminals):
            self._calls.leave_out(told.id)

    def refuse_client(self, call: Call) -> None:
        """A client of the API would allow the call. Raises AgentError if it is one of a terminal,
        which then continues to wait."""
        if call.is_command and self._calls.is_ours(call.id):
            raise AgentError(TOOL_INVALID_OUTCOME, OF_EDITOR)

    async def finish(self) -> None:
        """Wait until the ends of commands that have ended are told."""
        if self._ending:
            await asyncio.wait(set(self._ending))

    def close(self) -> None:
        """End all commands, and run none any more."""
        self._is_closed = True
        # Not in a thread, which the end of the editor would not wait for.
        end_processes(self._processes.values())

    async def _create_terminal(self, request: CreateTerminal) -> Mapping[str, Any]:
        """Raises AgentError."""
        if not runs_as_shown():
            raise AgentError(VALIDATION_ERROR, NOT_HERE)
        self._check_open()
        if len(self._processes) + self._starting >= MOST:
            raise AgentError(VALIDATION_ERROR, TOO_MANY)
        self._starting += 1
        try:
            terminal = await self._start_allowed(await self._call_of(request), request)
        finally:
            self._starting -= 1
        return terminal_messages.created_result(terminal)

    async def _start_allowed(self, call: Call, request: CreateTerminal) -> str:
        """The id of the terminal, once the user has allowed the call. Raises AgentError."""
        verdict, _coverage = await self._consent.on_call(call, HELD)
        allowed = "" if verdict.decision == DENY else self._take_allowed(call)
        call = self._as_told(call, allowed)
        if verdict.decision == DENY:
            self._calls.introduce_call(call)
            self._calls.fail_call(call, FORBIDDEN, rejected=True)
            raise AgentError(VALIDATION_ERROR, FORBIDDEN)
        if allowed:
            self._calls.introduce_call(call)
            self._calls.report_state(call, EXECUTING)
        else:
            await self._ask_user(call)
        return await self._start_process(call, request)

    def _take_allowed(self, call: Call) -> str:
        """The id of the agent's call in which the user has allowed exactly this, once for each
        time; empty if there is none."""
        if set(call.args) != {COMMAND}:
            return ""
        lines = self._allowed.items()
        asked = next((id for id, line in lines if line == call.args[COMMAND]), "")
        self._allowed.pop(asked, None)
        return asked

    def _as_told(self, call: Call, allowed: str) -> Call:
        """The call in the place of the one of the agent's that it is, if that runs: the `allowed`
        one, or one that has the same line and nothing else."""
        told = self._calls.known_call(allowed) if allowed else self._find_told(call)
        if told is None:
            return call
        call = replace(call, id=told.id, name=told.name, parent=told.parent)
        self._calls.take_over(call)
        return call

    def _find_told(self, call: Call) -> Call | None:
        if set(call.args) != {COMMAND}:
            return None
        return next(
            (
                each
                for each in self._calls.running_calls
                if each.args.get(COMMAND) == call.args[COMMAND]
                and set(each.args) <= PLAIN
                and not self._calls.is_ours(each.id)
            ),
            None,
        )

    async def _ask_user(self, call: Call) -> None:
        """Raises AgentError if they do not allow it."""
        held: asyncio.Future[Words] = asyncio.get_running_loop().create_future()
        self._ask(PendingPermission(None, call, HELD, held=held))
        reason = await held
        if reason:
            raise AgentError(VALIDATION_ERROR, reason)

    async def _start_process(self, call: Call, request: CreateTerminal) -> str:
        """The id of its terminal, which is not that of the call: of that the agent could tell.
        Raises AgentError."""
        await self._commands.read_before(call)
        self._check_open()
        session = self._agent.session
        command = (request.command, *request.args)
        environment = {**session.client.process.environment, **dict(request.env)}
        try:
            process = await TerminalProcess.start(
                command if request.args else shell_command(request.command),
                environment,
                request.folder or session.folder,
                request.limit,
                lambda piece: self._tell_output(call, piece),
            )
        except (OSError, ValueError) as error:
            told = NOT_STARTED.with_values(reason=getattr(error, "strerror", None) or error)
            self._calls.fail_call(call, told)
            raise AgentError(VALIDATION_ERROR, told) from error
        terminal = secrets.token_hex(16)
        self._processes[terminal] = process
        if self._is_closed:
            # The turn ended meanwhile.
            end_processes((process,))
        process.exit.add_done_callback(
            lambda done: None if done.cancelled() else self._end_soon(call, done.result())
        )
        return terminal

    async def _use_terminal(self, request: UseTerminal) -> Mapping[str, Any]:
        """Raises AgentError."""
        process = self._processes.get(request.terminal)
        if process is None:
            told = NO_TERMINAL.with_values(got=repr(request.terminal))
            raise AgentError(VALIDATION_ERROR, told)
        if request.method == OUTPUT:
            return terminal_messages.output_result(
                process.output, process.is_truncated, process.ended
            )
        if request.method == WAIT:
            return (await asyncio.shield(process.exit)).result
        if request.method in (KILL, RELEASE):
            await process.kill()
        if request.method == RELEASE:
            self._processes.pop(request.terminal, None)
        return {}

    def _check_open(self) -> None:
        """Raises AgentError."""
        if self._is_closed:
            raise AgentError(VALIDATION_ERROR, OVER)

    async def _call_of(self, request: CreateTerminal) -> Call:
        """The call that the user is asked about: all that would run. Raises AgentError."""
        folder = request.folder
        if folder and not (
            os.path.isabs(folder) and await in_thread(partial(os.path.isdir, folder))
        ):
            raise AgentError(VALIDATION_ERROR, NO_FOLDER.with_values(got=repr(folder)))
        words = (request.command, *request.args)
        line = shlex.join(words) if request.args else request.command
        args: dict[str, Any] = {COMMAND: line}
        if folder and folder != self._agent.session.folder:
            args["cwd"] = folder
        if request.env:
            args["env"] = dict(request.env)
        return Call(self._calls.make_id(TERMINAL), EXECUTE, line, EXECUTE, args=args)

    def _tell_output(self, call: Call, piece: str) -> None:
        if self._calls.known_call(call.id) is not None:
            self._calls.output_of(call, ToolCallUpdate(call.id, output=piece))

    def _end_soon(self, call: Call, ended: Exit) -> None:
        task = asyncio.ensure_future(self._end_call(call, ended))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _end_call(self, call: Call, ended: Exit) -> None:
        made = await self._commands.take_changes(call)
        if self._calls.known_call(call.id) is None:
            return
        is_good = ended.code == 0
        told = ENDED_WITH.with_values(code=ended.code)
        if ended.signal is not None:
            told = ENDED_BY.with_values(signal=ended.signal)
        error = None if is_good else told
        # Its output is known to the events of the call.
        changed = tuple(diff.path for diff in made)
        result = ToolResult(
            call.id, call.name, call.args, "", "", is_good, error, unasked=made, changed=changed
        )
        self._calls.end_call(call, COMPLETED if is_good else FAILED, result)
