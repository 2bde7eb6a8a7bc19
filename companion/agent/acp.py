"""The client's side of the Agent Client Protocol, over a process that speaks it; knows which
messages there are, not what they mean for a conversation.

Source: the Agent Client Protocol, version 1, as Gemini CLI speaks it (docs/gemini-cli-acp.md 2).
"""

from __future__ import annotations

import asyncio
import json
import re
from abc import ABC, abstractmethod
from typing import Any, Mapping, Sequence

from ..base import jsonrpc
from ..base.log import logger
from .cli import Cli
from .events import Usage
from .failure import CLIENT_NOT_INITIALIZED, STREAM_ERROR, AgentError, from_rpc
from .process import Process, TooLong
from .sentence import sentence
from .surrogates import clean

PROTOCOL_VERSION = 1
# How each of the agent's messages begins; what stands before it on the line is for a terminal
# (docs/gemini-cli-acp.md 2.11).
OPENING = b'{"jsonrpc"'
# The update that tells the commands of a session.
COMMANDS = "available_commands_update"
# Lines before the first message of which a CLI may write so many; how many of them are shown, and
# how many bytes of each.
MAX_STRAYS, SHOWN_STRAYS, SHOWN_BYTES = 50, 10, 300
OTHER_PROTOCOL = sentence(
    "{cli} does not speak the Agent Client Protocol: it wrote {count} lines of something else. See"
    " whether its command is the right one."
)
# How a line of the CLI's own log begins, which it writes to its standard error.
LOG_LINE = re.compile(r"\[[0-9TZ:.-]+\] \[[A-Z]+\] ")


class OtherProtocol(Exception):
    """The process does not speak the Agent Client Protocol."""


class Strays:
    """The lines before the first message, of which a program that speaks something else has no
    end. `shown` are the first ones."""

    def __init__(self) -> None:
        self.count = 0
        self.shown: list[str] = []
        # Set with the first message.
        self.are_over = False

    def add(self, line: bytes) -> None:
        """Raises OtherProtocol where there are too many."""
        text = line[:SHOWN_BYTES].decode("utf-8", "replace").strip()
        if self.are_over or not text:
            return
        self.count += 1
        if self.count <= SHOWN_STRAYS:
            self.shown.append(text)
        if self.are_too_many:
            raise OtherProtocol(f"{self.count} lines, and none of the protocol")

    @property
    def are_too_many(self) -> bool:
        return self.count > MAX_STRAYS


class Listener(ABC):
    """What the agent tells of its own accord, in its order."""

    @abstractmethod
    def update(self, session: str, update: Mapping[str, Any]) -> None:
        """Something happened in the session (by the agent's id)."""

    @abstractmethod
    def permission(self, session: str, request: jsonrpc.Id, params: Mapping[str, Any]) -> None:
        """The session asks; `Client.answer` with the request's id wants to be called once."""

    @abstractmethod
    def write_file(self, session: str, request: jsonrpc.Id, path: str, content: str) -> None:
        """The session wants a file written; `Client.answer` or `Client.refuse` with the request's
        id wants to be called once, whatever happens: the agent waits without an end."""

    @abstractmethod
    def noise(self, text: str) -> None:
        """A line that is none of the protocol's."""

    @abstractmethod
    def logged(self, text: str) -> None:
        """A line of the CLI's own log."""

    @abstractmethod
    def ended(self) -> None:
        """The process is gone; comes once and last."""


class OfferedCommands:
    """Those of all sessions of a process, which may be told before a session's id is known."""

    def __init__(self) -> None:
        self._told: dict[str, asyncio.Future[Any]] = {}

    def of(self, session: str) -> asyncio.Future[Any]:
        """The list of those that the session offers, once the agent has told them."""
        if session not in self._told:
            self._told[session] = asyncio.get_running_loop().create_future()
        return self._told[session]

    def tell(self, session: str, update: Mapping[str, Any]) -> None:
        if self.of(session).done():
            del self._told[session]
        offered = update.get("availableCommands")
        self.of(session).set_result(clean(offered) if isinstance(offered, list) else [])

    def forget(self, session: str) -> None:
        """Nobody asks for those of the session any more."""
        self._told.pop(session, None)


class Client:
    """One connection, from `start` to `stop`. Everything is called on one loop.

    `opening` is held by who opens a session: Gemini CLI notes each new workspace in a file behind a
    lock, and of several at once each next one waits twice as long for it
    (docs/gemini-cli-acp.md 1.9).
    """

    def __init__(
        self, process: Process, listener: Listener, cli: Cli, opening: asyncio.Lock
    ) -> None:
        self.process = process
        self.cli = cli
        self.opening = opening
        self.version = ""
        self._listener = listener
        self._waiting: dict[jsonrpc.Id, asyncio.Future[Mapping[str, Any]]] = {}
        self._next_id = 1
        self._is_given_up = False
        self.strays = Strays()
        # What the agent said of itself in `initialize`.
        self.capabilities: Mapping[str, Any] = {}
        self.commands = OfferedCommands()
        process.takes_error = self._take_error
        self._reading = asyncio.ensure_future(self._read())

    @property
    def is_running(self) -> bool:
        """Whether it is of use."""
        return not (self._is_given_up or self._reading.done()) and self.process.is_running

    def begin(self, method: str, params: Mapping[str, Any]) -> asyncio.Future[Mapping[str, Any]]:
        """Ask, before anything else that is sent from now on; the result comes with the future,
        or AgentError for the agent's error and its end."""
        answer = asyncio.get_running_loop().create_future()
        if not self.is_running:
            answer.set_exception(self._gone())
            return answer
        id, self._next_id = self._next_id, self._next_id + 1
        self._waiting[id] = answer
        answer.add_done_callback(lambda _: self._waiting.pop(id, None))
        self._send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        return answer

    async def request(
        self, method: str, params: Mapping[str, Any], timeout: float | None = None
    ) -> Mapping[str, Any]:
        """The result. Raises AgentError for the agent's error, its end, and `timeout` seconds,
        with which the process is ended."""
        try:
            return await asyncio.wait_for(self.begin(method, params), timeout)
        except asyncio.TimeoutError:
            await self.give_up()
            raise AgentError(
                CLIENT_NOT_INITIALIZED,
                sentence(
                    "{cli} did not answer within {seconds} seconds ({method}).",
                    cli=self.cli.name,
                    seconds=f"{timeout:g}",
                    method=method,
                ),
            ) from None

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def answer(self, request: jsonrpc.Id, result: Mapping[str, Any]) -> None:
        self._send({"jsonrpc": "2.0", "id": request, "result": result})

    def refuse(self, request: jsonrpc.Id, text: str) -> None:
        """Answer with an error of which the model reads the text."""
        self._send({"jsonrpc": "2.0", "id": request, "error": self.cli.refusal(text)})

    def type_line(self, text: str) -> None:
        """A line as a person would type it, for what the CLI asks past the protocol."""
        self.process.write(text.encode("utf-8") + b"\n")

    async def initialize(self, timeout: float) -> None:
        """The first thing to be done. Raises AgentError."""
        result = await self.request(
            "initialize",
            {
                "protocolVersion": PROTOCOL_VERSION,
                # The CLI reads files by itself and writes them through us
                # (docs/gemini-cli-acp.md 8.46).
                "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": True}},
            },
            timeout,
        )
        if result.get("protocolVersion") != PROTOCOL_VERSION:
            raise AgentError(
                CLIENT_NOT_INITIALIZED,
                sentence(
                    "Expected version {expected} of the Agent Client Protocol; {cli} has {got}.",
                    expected=PROTOCOL_VERSION,
                    cli=self.cli.name,
                    got=repr(result.get("protocolVersion")),
                ),
            )
        capabilities = result.get("agentCapabilities")
        self.capabilities = capabilities if isinstance(capabilities, dict) else {}
        info = result.get("agentInfo")
        self.version = str(info.get("version", "")) if isinstance(info, dict) else ""

    async def stop(self) -> None:
        await self.process.stop()
        await self._reading

    async def kill(self) -> None:
        await self.process.kill()
        await self._reading

    def give_up(self) -> asyncio.Future[None]:
        """End a process that answers nothing any more; from now on it is not `is_running`."""
        if self.is_running:
            name, pid = self.cli.name, self.process.pid
            logger.error("%s (process %d) does not answer and is ended", name, pid)
        self._is_given_up = True
        return asyncio.ensure_future(self.kill())

    def _send(self, message: Mapping[str, Any]) -> None:
        self.process.write(jsonrpc.encode(message) + b"\n")

    async def _read(self) -> None:
        """The boundary of a connection: a bug of ours ends it and leaves nobody waiting."""
        try:
            async for line in self.process.lines():
                self._take(line)
        except (TooLong, OtherProtocol) as error:
            logger.error("the agent is ended: %s", error)
        except Exception:
            logger.exception("the agent is ended, for it cannot be understood")
        # One that cannot be read from any more is of no use, even where it lives on.
        await self.process.kill()
        for answer in list(self._waiting.values()):
            if not answer.done():
                answer.set_exception(self._gone())
        self._listener.ended()

    def _take(self, line: bytes) -> None:
        start = line.find(OPENING)
        if start < 0:
            self._noise(line)
            self.strays.add(line)
            return
        if start:
            self._noise(line[:start])
        try:
            message = jsonrpc.message(json.loads(line[start:].decode("utf-8", "replace")))
        except (ValueError, RecursionError, jsonrpc.RpcError):
            self._noise(line)
            self.strays.add(line)
            return
        self.strays.are_over = True
        self._dispatch(message)

    def _take_error(self, line: str) -> bool:
        found = LOG_LINE.match(line)
        if found:
            self._listener.logged(line[found.end() :])
        return found is not None

    def _noise(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").strip()
        if text:
            self._listener.noise(text)

    def _dispatch(self, message: jsonrpc.Message) -> None:
        if isinstance(message, jsonrpc.Response):
            answer = self._waiting.get(message.id) if message.id is not None else None
            if answer is None or answer.done():
                return
            if message.error is not None:
                answer.set_exception(from_rpc(message.error))
            else:
                answer.set_result(clean(message.result) if isinstance(message.result, dict) else {})
        elif isinstance(message, jsonrpc.Request):
            self._dispatch_request(message)
        elif message.method == "session/update":
            update = message.params.get("update")
            if isinstance(update, dict) and update.get("sessionUpdate") == COMMANDS:
                self.commands.tell(str(message.params.get("sessionId")), update)
            elif isinstance(update, dict):
                self._listener.update(str(message.params.get("sessionId")), update)

    def _dispatch_request(self, message: jsonrpc.Request) -> None:
        session = str(message.params.get("sessionId"))
        if message.method == "session/request_permission":
            self._listener.permission(session, message.id, message.params)
            return
        path = message.params.get("path")
        if message.method == "fs/write_text_file" and isinstance(path, str):
            try:
                text = self.cli.text_to_write(message.params)
            except AgentError as refused:
                self.refuse(message.id, str(refused.message))
                return
            self._listener.write_file(session, message.id, clean(path), text)
            return
        error = jsonrpc.RpcError(
            jsonrpc.METHOD_NOT_FOUND, f"There is no method {message.method}.", message.id
        )
        self.process.write(error.encode() + b"\n")

    def _gone(self) -> AgentError:
        if self.strays.are_too_many:
            told = OTHER_PROTOCOL.filled(cli=self.cli.name, count=self.strays.count)
            return AgentError(CLIENT_NOT_INITIALIZED, told)
        told = sentence("{cli} ended unexpectedly.", cli=self.cli.name)
        return AgentError(STREAM_ERROR, told, self.process.last_errors)


class Session:
    """One session of the agent, by the id that the agent gave it, in a folder (a real path)."""

    def __init__(self, client: Client, id: str, folder: str) -> None:
        self.client = client
        self.id = id
        self.folder = folder

    def writes_through_us(self, path: str) -> bool:
        """Whether the CLI asks us to write the file; others it writes by itself."""
        return self.client.cli.writes_through_us(path, self.folder)

    def usage(self, told: Mapping[str, Any]) -> Usage:
        """What a piece of an answer or the result of a prompt tells of tokens."""
        return self.client.cli.usage(told)

    def prompt(self, parts: Sequence[Mapping[str, Any]]) -> asyncio.Future[Mapping[str, Any]]:
        """A turn: the future is done with it, or has its AgentError."""
        return self.client.begin("session/prompt", {**self._params, "prompt": parts})

    def cancel(self) -> None:
        self.client.notify("session/cancel", self._params)

    def decide(self, request: jsonrpc.Id, option: str | None) -> None:
        """Answer a request for permission; None where the turn is cancelled."""
        outcome = {"outcome": "cancelled"}
        if option is not None:
            outcome = {"outcome": "selected", "optionId": option}
        self.client.answer(request, {"outcome": outcome})

    async def choose(self, what: str, wanted: str, timeout: float) -> None:
        """A "model", of which the agent takes any name, or a "mode". Raises AgentError."""
        params = {**self._params, what + "Id": wanted}
        await self.client.request("session/set_" + what, params, timeout)

    @property
    def _params(self) -> dict[str, Any]:
        return {"sessionId": self.id}
