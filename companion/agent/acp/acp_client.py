"""The client's side of the Agent Client Protocol, over a process that speaks it. Knows the
direction of each message, but neither its content nor its meaning for a conversation."""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, AsyncContextManager, Awaitable, Callable, Mapping, Sequence, TypeVar

from ...base import jsonrpc
from ...base.log import logger
from ..auth_method import AuthMethod
from ..credentials import OURS
from ..elicitation import ElicitationRequest
from ..failure import (
    AUTH_REQUIRED,
    CLIENT_NOT_INITIALIZED,
    GEMINI_ERROR,
    STREAM_ERROR,
    AgentError,
    from_rpc,
)
from ..sentence import Words, sentence
from ..session_state import ConfigOption, ConfigOptions, StateUpdate
from ..wording.surrogates import clean_surrogates
from . import messages, protocol_version
from .held_ends import HeldEnds
from .members import SHOWN, Unreadable
from .message_lines import MessageLines, OtherProtocol
from .messages import AvailableCommand, AvailableCommands
from .process import AgentProcess, TooLong
from .protocol import Protocol, Sender
from .protocol_version import NEWEST, USUAL, Offers, Spoken
from .subagents import Subagents, WorkState
from .terminal_messages import CreateTerminal, TerminalRequest, UseTerminal
from .version_1 import Version1

OTHER_PROTOCOL = sentence(
    "{cli} does not speak the Agent Client Protocol: it wrote {count} lines of something else."
    " Check whether its command is the right one."
)
# The beginning of a line of the CLI's own log, which it writes to its standard error.
LOG_LINE = re.compile(r"\[[0-9TZ:.-]+\] \[[A-Z]+\] ")
# Each kind of unreadable message is logged once, and at most so many kinds.
MAX_UNREADABLE = 20
# The most unknown sessions of which something is kept.
MAX_EARLY = 100

T = TypeVar("T")


class Listener(ABC):
    """What the agent sends of its own accord, in order."""

    @abstractmethod
    def take_update(self, session: str, update: messages.SessionUpdate) -> None:
        """Something happened in the session (the agent's id)."""

    @abstractmethod
    def take_permission_request(self, request: messages.PermissionRequest) -> None:
        """A session asks. `AcpClient.answer_request` must be called once with the request's id."""

    @abstractmethod
    def take_elicitation_request(self, request: ElicitationRequest) -> None:
        """The agent asks the user something. `AcpClient.answer_request` must be called once with
        the request's id."""

    @abstractmethod
    def take_withdrawal(self, withdrawal: messages.Withdrawal) -> None:
        """The agent does not wait any more for the answer to one of its questions, which is still
        to be given."""

    @abstractmethod
    def read_file(self, request: messages.ReadTextFile) -> None:
        """A session asks to read a file. `AcpClient.answer_request` or `AcpClient.refuse_request`
        must be called once with the request's id, whatever happens: the agent waits for ever."""

    @abstractmethod
    def write_file(self, request: messages.WriteTextFile) -> None:
        """A session asks to write a file. `AcpClient.answer_request` or `AcpClient.refuse_request`
        must be called once with the request's id, whatever happens: the agent waits for ever."""

    @abstractmethod
    def take_terminal_request(self, request: TerminalRequest) -> None:
        """A session asks for a terminal, if that was offered. `AcpClient.answer_request` or
        `AcpClient.refuse_request` must be called once with the request's id."""

    def take_other_request(self, request: jsonrpc.Request) -> bool:
        """The agent asks what the protocol does not have. Whether `AcpClient.answer_request` will
        be called; otherwise it is refused."""
        return False

    @abstractmethod
    def take_noise(self, text: str) -> None:
        """A line that is not part of the protocol."""

    @abstractmethod
    def take_log_text(self, text: str) -> None:
        """A line of the CLI's own log."""

    @abstractmethod
    def take_process_end(self) -> None:
        """The process has ended. Called once, as the last call."""


def take_log_line(listener: Listener, line: str) -> bool:
    """Whether a line of standard error is of the CLI's own log; if so, the listener gets it."""
    found = LOG_LINE.match(line)
    if found:
        listener.take_log_text(line[found.end() :])
    return found is not None


class OfferedCommands:
    """The commands of all sessions of a process; they may arrive before a session's id is known."""

    def __init__(self) -> None:
        self._told: dict[str, asyncio.Future[Sequence[AvailableCommand]]] = {}

    def commands_of(self, session: str) -> asyncio.Future[Sequence[AvailableCommand]]:
        """The commands that the session offers, once the agent has sent them."""
        if session not in self._told:
            self._told[session] = asyncio.get_running_loop().create_future()
        return self._told[session]

    def set_commands(self, session: str, commands: Sequence[AvailableCommand]) -> None:
        if self.commands_of(session).done():
            del self._told[session]
        self.commands_of(session).set_result(commands)

    def forget_session(self, session: str) -> None:
        """Nobody asks for the commands of the session any more."""
        self._told.pop(session, None)


class EarlyUpdates:
    """What the agent told of sessions that nobody knew yet: the last of each kind. An agent may
    tell it in one breath with the answer that has the session's id."""

    def __init__(self) -> None:
        self._told: dict[str, dict[type, StateUpdate]] = {}

    def keep_update(self, session: str, update: StateUpdate) -> None:
        if len(self._told) < MAX_EARLY or session in self._told:
            self._told.setdefault(session, {})[type(update)] = update

    def take_updates(self, session: str) -> tuple[StateUpdate, ...]:
        return tuple(self._told.pop(session, {}).values())


class UnreadableMessages:
    """The unreadable messages of one connection: a repeated kind would fill the log."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._kinds: set[str] = set()

    def log_message(self, message: Unreadable) -> None:
        if self._is_new(message.kind):
            logger.warning("%s sent a message that is not read: %s", self._name, message)

    def log_unknown(self, method: str) -> None:
        """A notification beside the protocol, which nobody has to know."""
        if self._is_new(method):
            logger.info("%s sent a notification that is not known here: %s", self._name, method)

    def _is_new(self, kind: str) -> bool:
        is_new = kind not in self._kinds and len(self._kinds) < MAX_UNREADABLE
        if is_new:
            self._kinds.add(kind)
        return is_new


@dataclass(frozen=True)
class _Waiting:
    """A request without an answer yet: the future for the answer, and how to read it."""

    answer: asyncio.Future[Any]
    read: Callable[[Mapping[str, Any]], Any]

    def set_result(self, result: Any) -> None:
        try:
            self.answer.set_result(
                self.read(clean_surrogates(result) if isinstance(result, dict) else {})
            )
        except Unreadable as unreadable:
            told = sentence("The agent gave an answer that cannot be read.")
            self.answer.set_exception(AgentError(GEMINI_ERROR, told, str(unreadable)))


# Authenticates with the agent of a connection. Raises AgentError.
LogIn = Callable[["AcpClient"], Awaitable[None]]
# What is told where the agent of a connection asks for a login, by its error, if the user has to
# log in by themselves.
Advise = Callable[["AcpClient", AgentError], Words]


class AcpClient(Sender):
    """One connection, from `start` to `stop`. All calls are made on one loop. `name` is the agent's
    name for people. `log_in` authenticates with an agent that asks for it only when a session is
    opened; it raises AgentError. `home` is that of the process, as `credentials` names them.

    Whoever opens a session holds `opening`: Gemini CLI writes each new workspace to a file behind a
    lock, and if several sessions open at once, each waits twice as long for it as the one before
    (docs/gemini-cli-acp.md 1.9).
    """

    def __init__(
        self,
        process: AgentProcess,
        listener: Listener,
        name: str,
        opening: AsyncContextManager[None],
        log_in: LogIn | None = None,
        home: str = OURS,
        advise: Advise | None = None,
    ) -> None:
        self.process = process
        self.home = home
        self.name = name
        self.opening = opening
        self.version = ""
        self._listener = listener
        self._waiting: dict[jsonrpc.Id, _Waiting] = {}
        self._next_id = 1
        self._is_given_up = False
        self.lines = MessageLines(listener.take_noise)
        self._unreadable = UnreadableMessages(name)
        self.capabilities = messages.AgentCapabilities()
        self.auth_methods: tuple[AuthMethod, ...] = ()
        self.log_in = None if log_in is None else partial(log_in, self)
        self._advise = advise
        self._offers = Offers()
        self.protocol: Protocol = Version1()
        self.subagents = Subagents()
        self.held_ends = HeldEnds(self.subagents.are_working)
        self.commands = OfferedCommands()
        self.early = EarlyUpdates()
        self._reading = asyncio.ensure_future(self._read_messages())

    @property
    def is_running(self) -> bool:
        """Whether the connection can be used."""
        return not (self._is_given_up or self._reading.done()) and self.process.is_running

    def send_request(self, request: messages.OutgoingRequest[T]) -> asyncio.Future[T]:
        """Send the request, before anything that is sent later. The future gets the result as it
        was read, or AgentError if the agent answers with an error or ends. Once it is cancelled,
        the agent is told that nobody waits for the answer."""
        request = self.protocol.form_of(request)
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        if not self.is_running:
            answer.set_exception(self._process_end_error())
            return answer
        id, self._next_id = self._next_id, self._next_id + 1

        def remove_waiting(answer: asyncio.Future[T]) -> None:
            del self._waiting[id]
            if answer.cancelled() and self.is_running:
                self.send_notification(messages.cancel_request(id))

        self._waiting[id] = _Waiting(answer, request.read)
        answer.add_done_callback(remove_waiting)
        self._send_message(
            {"jsonrpc": "2.0", "id": id, "method": request.method, "params": request.params}
        )
        return answer

    async def request(
        self, request: messages.OutgoingRequest[T], timeout: float | None = None
    ) -> T:
        """The result as it was read. Raises AgentError if the agent answers with an error, ends, or
        takes longer than `timeout` seconds; in that case the process is ended."""
        try:
            return await asyncio.wait_for(self.send_request(request), timeout)
        except asyncio.TimeoutError:
            await self.give_up()
            raise AgentError(
                CLIENT_NOT_INITIALIZED,
                sentence(
                    "{cli} did not answer within {seconds} seconds ({method}).",
                    cli=self.name,
                    seconds=f"{timeout:g}",
                    method=request.method,
                ),
            ) from None

    def send_notification(self, message: messages.OutgoingNotification) -> None:
        self._send_message({"jsonrpc": "2.0", "method": message.method, "params": message.params})

    def answer_request(self, request: jsonrpc.Id, result: Mapping[str, Any]) -> None:
        self._send_message({"jsonrpc": "2.0", "id": request, "result": result})

    def refuse_request(self, request: jsonrpc.Id, error: Any) -> None:
        """Answer with an error, in the form that the agent expects."""
        self._send_message({"jsonrpc": "2.0", "id": request, "error": error})

    def type_line(self, text: str) -> None:
        """Write a line as a person would type it, for a question of the CLI outside the
        protocol."""
        self.process.write(text.encode("utf-8") + b"\n")

    @property
    def lost_offers(self) -> bool:
        """Whether the agent cannot use what it was offered, as its version does not have it."""
        return self._offers.are_of_editor and not self.protocol.has_editor

    async def initialize(self, timeout: float, offers: Offers, version: int = USUAL) -> None:
        """Must be called first. The agent may speak another version than this one. Raises
        AgentError."""
        self._offers = offers
        spoken = await self._agree(timeout, offers, version)
        if not isinstance(spoken, Spoken):
            raise AgentError(
                CLIENT_NOT_INITIALIZED,
                sentence(
                    "Expected version {expected} of the Agent Client Protocol; {cli} has {got}.",
                    expected=" / ".join(map(str, protocol_version.VERSIONS)),
                    cli=self.name,
                    got=repr(spoken),
                ),
            )
        self.protocol, told = spoken.protocol, spoken.told
        self.capabilities, self.version = told.capabilities, told.version
        self.auth_methods = told.auth_methods

    async def _agree(self, timeout: float, offers: Offers, version: int) -> Spoken | object:
        """What an agent answers that was asked for a version, and for the newest one where it wants
        that: it has not read yet what it is offered in that. Raises AgentError."""
        asked = protocol_version.initialize_request(offers, version)
        newest = protocol_version.initialize_request(offers, NEWEST)
        try:
            spoken = await self.request(asked, timeout)
        except AgentError:
            if version == NEWEST or not self.is_running:
                raise
            with suppress(AgentError):
                return await self.request(newest, timeout)
            raise
        if isinstance(spoken, Spoken) and spoken.protocol.number > version:
            spoken = await self.request(newest, timeout)
        return spoken

    async def stop(self) -> None:
        await self.process.stop()
        await self._reading

    async def kill(self) -> None:
        await self.process.kill()
        await self._reading

    def give_up(self) -> asyncio.Future[None]:
        """End a process that no longer answers; from now on it is not `is_running`."""
        if self.is_running:
            name, pid = self.name, self.process.pid
            logger.error("%s (process %d) does not answer and is ended", name, pid)
        self._is_given_up = True
        return asyncio.ensure_future(self.kill())

    def _send_message(self, message: Mapping[str, Any]) -> None:
        self.process.write(jsonrpc.encode_json(message) + b"\n")

    async def _read_messages(self) -> None:
        """The boundary of a connection: a bug here ends it and leaves nobody waiting."""
        try:
            async for line in self.process.read_lines():
                message = self.lines.read_message(line)
                if message is not None:
                    self._dispatch(message)
        except (TooLong, OtherProtocol) as error:
            logger.error("the agent is ended: %s", error)
        except Exception:
            logger.exception("the agent is ended, because it cannot be understood")
        # A process that cannot be read from is useless, even if it is still alive.
        await self.process.kill_unread()
        for waiting in list(self._waiting.values()):
            if not waiting.answer.done():
                waiting.answer.set_exception(self._process_end_error())
        self.protocol.end_prompts(self._process_end_error())
        self.held_ends.end_all(self._process_end_error())
        self._listener.take_process_end()

    def _dispatch(self, message: jsonrpc.Message) -> None:
        try:
            if isinstance(message, jsonrpc.Response):
                self._take_answer(message)
            elif isinstance(message, jsonrpc.Request):
                self._take_request(message)
            elif message.method == messages.UPDATE:
                self._take_update(message)
            elif message.method == messages.CANCEL_REQUEST:
                self._listener.take_withdrawal(messages.read_withdrawal(message.params))
            else:
                self._unreadable.log_unknown(message.method[:SHOWN])
        except Unreadable as unreadable:
            self._unreadable.log_message(unreadable)

    def _take_answer(self, message: jsonrpc.Response) -> None:
        waiting = self._waiting.get(message.id) if message.id is not None else None
        if waiting is None or waiting.answer.done():
            return
        if message.error is not None:
            error = from_rpc(message.error)
            if error.code == AUTH_REQUIRED and self._advise is not None:
                error = AgentError(AUTH_REQUIRED, self._advise(self, error), str(error))
            waiting.answer.set_exception(error)
        else:
            waiting.set_result(message.result)

    def _take_update(self, message: jsonrpc.Notification) -> None:
        session, updates = self.protocol.read_update(message.params)
        for each in updates:
            root, news = self.subagents.take_update(session, each)
            for update in news:
                if isinstance(update, AvailableCommands):
                    self.commands.set_commands(root, update.commands)
                self._listener.take_update(root, update)
            if isinstance(each, WorkState):
                self.held_ends.note_work(session, each.is_busy)
            self.held_ends.look_again(root)

    def _take_request(self, message: jsonrpc.Request) -> None:
        try:
            request = self.protocol.read_request(message)
        except Unreadable as unreadable:
            self.refuse_request(message.id, _error_object(jsonrpc.INVALID_PARAMS, str(unreadable)))
            raise
        if request is not None:
            request = self.subagents.take_request(request)
        if isinstance(request, messages.PermissionRequest):
            self._listener.take_permission_request(request)
        elif isinstance(request, ElicitationRequest):
            self._listener.take_elicitation_request(request)
        elif isinstance(request, messages.WriteTextFile) and self._offers.writes:
            self._listener.write_file(request)
        elif isinstance(request, messages.ReadTextFile) and self._offers.reads:
            self._listener.read_file(request)
        elif isinstance(request, (CreateTerminal, UseTerminal)) and self._offers.runs:
            self._listener.take_terminal_request(request)
        elif request is not None or not self._listener.take_other_request(message):
            told = f"There is no method {message.method}."
            self.refuse_request(message.id, _error_object(jsonrpc.METHOD_NOT_FOUND, told))

    def _process_end_error(self) -> AgentError:
        if self.lines.strays.are_too_many:
            told = OTHER_PROTOCOL.with_values(cli=self.name, count=self.lines.strays.count)
            return AgentError(CLIENT_NOT_INITIALIZED, told)
        told = sentence("{cli} ended unexpectedly.", cli=self.name)
        return AgentError(STREAM_ERROR, told, self.process.last_errors)


def _error_object(code: int, text: str) -> Mapping[str, Any]:
    return {"code": code, "message": text}


class AcpSession:
    """One session of the agent, by the agent's id for it, in a folder (a real path). Its `roots`
    are that and the `others` that it was opened with."""

    def __init__(self, client: AcpClient, id: str, folder: str, others: Sequence[str] = ()) -> None:
        self.client = client
        self.id = id
        self.folder = folder
        self.roots = (folder, *others)
        client.subagents.note_root(id)

    def prompt(self, blocks: Sequence[messages.Block]) -> asyncio.Future[messages.TurnEnd]:
        """A turn. The future is done when the turn is over, or gets its AgentError."""
        end = self.client.protocol.begin_prompt(self.client, self.id, blocks)
        return self.client.held_ends.hold_end(self.id, end)

    def steer(self, blocks: Sequence[messages.Block]) -> asyncio.Future[bool]:
        """Whether the agent takes the message into the turn that runs; or AgentError."""
        return self.client.send_request(messages.steer_request(self.id, blocks))

    def cancel(self) -> None:
        self.client.protocol.note_cancel(self.id)
        self.client.send_notification(messages.cancel_notification(self.id))
        # Those in the background would go on.
        for each in self.client.subagents.sessions_to_stop(self.id):
            self.client.send_notification(messages.cancel_notification(each))
        # One that cannot be stopped would go on unseen.
        if self.client.subagents.can_stop_all(self.id):
            self.client.held_ends.end_now(self.id)

    def stop_subagent(self, call: str) -> bool:
        """End the work of the subagent that a call runs, and of nobody else; whether it can be."""
        found = self.client.subagents.session_of_call(self.id, call)
        if found:
            self.client.send_notification(messages.cancel_notification(found))
        return bool(found)

    def answer_permission(self, request: messages.PermissionRequest, option: str | None) -> None:
        """Answer with the option's id; None if the turn is cancelled."""
        self.client.answer_request(request.id, messages.permission_result(option))

    async def set_option(
        self, option: ConfigOption, wanted: str | bool, timeout: float
    ) -> ConfigOptions:
        """All options, none if the agent does not tell them. Raises AgentError."""
        return await self.client.request(
            messages.set_option_request(self.id, option, wanted), timeout
        )
