"""One Claude Code that is connected: its messages, and its sessions in the editor's windows. Knows
no socket.

In each window that it concerns it has a session like any other CLI, so that its diffs, what the
user decides on them and what the window shows of it go the same ways.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from functools import partial
from typing import Any, Awaitable, Callable, Iterable, Mapping, NamedTuple, Sequence

from ...base.jsonrpc import (
    INTERNAL_ERROR,
    Id,
    Message,
    Notification,
    Request,
    Response,
    RpcError,
    encode_json,
    encode_result,
    message_in,
)
from ...base.log import logger
from .. import mcp
from ..clis import CLAUDE_CODE
from ..context import ContextUpdate
from ..decisions import Decision
from ..editor import CodeKnowledge
from ..mcp_tables import Method, answer_message, answer_ping
from ..session import Notifiable, Session, Stream, StreamEnded
from ..workspace import Workspace
from . import claude_tools, selection
from .claude_tools import LATER, ClaudeCall
from .file_urls import path_of_url
from .waiting_diffs import WaitingDiffs
from .window_choice import latest_window, window_of_file, windows_within

# Seconds between two looks whether a stream has anything; it is woken when it has.
SILENCE = 3600.0
# The most calls of one CLI that are under way at a time; it asks about a few files at once.
MAX_CALLS = 256
TOO_MANY = "Expected fewer calls at a time."
FAILED = "The companion failed; its log says why."
BLANK = re.compile(r"\s")
# The id of our one request.
ROOTS = "roots"


class Seat(NamedTuple):
    """The CLI's session in a window, and the task that passes on what the session is told."""

    workspace: Workspace
    session: Session
    task: asyncio.Task[None]


class ClaudeConnection:
    """`send` sends a message; it raises ConnectionError if the CLI is gone. `workspaces` are the
    windows at this moment, also those that do not admit Claude Code. `code` is the editor's
    knowledge of code.

    The CLI's window is that of the folder in which it runs, for what it is told of the user's
    files; a file of another window is shown there.
    """

    def __init__(
        self,
        send: Callable[[bytes], Awaitable[None]],
        workspaces: Callable[[], Iterable[Workspace]],
        code: CodeKnowledge,
    ) -> None:
        self._send_bytes = send
        self._workspaces = workspaces
        self.code = code
        self.diffs = WaitingDiffs(self._answer, self._spawn)
        self._client = ""
        self._has_roots = False
        # None until it has said where it runs; then the folder, empty if it is not known.
        self._folder: str | None = None
        self._home: Workspace | None = None
        self._is_told_there = False
        self._seats: dict[Workspace, Seat] = {}
        self._told: Mapping[str, Any] = selection.NOTHING
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_lost = False
        self._methods: dict[str, Method[ClaudeCall]] = {
            "initialize": self._initialize,
            "ping": answer_ping,
            "tools/list": self._list_tools,
        }

    async def receive(self, value: Any) -> None:
        """One message, as the value of its JSON."""
        for seat in self._seats.values():
            seat.session.note_activity()
        try:
            message = message_in(value)
        except RpcError as error:
            await self._send_safely(error.encode())
            return
        if isinstance(message, Request) and message.method == "tools/call":
            if len(self._tasks) >= MAX_CALLS:
                await self._send_safely(RpcError(INTERNAL_ERROR, TOO_MANY, message.id).encode())
            else:
                self._spawn(partial(self._answer_request, message))
        elif isinstance(message, Request):
            await self._answer_request(message)
        else:
            self._take_notice(message)

    def lose(self) -> None:
        """The connection is over. What the editor is doing for it goes on to its end, and the diffs
        stay."""
        self._is_lost = True
        for seat in list(self._seats.values()):
            self._leave(seat)

    def check_windows(self) -> None:
        """Windows, or their folders, have changed, or the CLI's folder is known now."""
        if self._folder is None or self._is_lost:
            return
        self._home, self._is_told_there = self._choose_home(self._folder)
        # First its seat, so that it is never without one.
        if self._home is not None:
            self._sit_down(self._home)
        for seat in list(self._seats.values()):
            is_needed = seat.workspace is self._home or self.diffs.has_any_of(seat.session)
            if not is_needed or seat.workspace not in self._admitted():
                self._leave(seat)
        if not self._is_told_there and self._told != selection.NOTHING:
            self._spawn(partial(self._tell_selection, selection.NOTHING))

    def window_for(self, path: str) -> Workspace | None:
        """The window for a file of the CLI. A window that does not admit it keeps its files."""
        every = list(self._workspaces())
        owner = window_of_file(every, path)
        if owner is not None:
            return owner if owner.admits_claude else None
        return self._home if self._home in every else None

    def seat_for(self, path: str) -> tuple[Workspace, Session] | None:
        """The window for a file of the CLI, and the CLI's session there."""
        workspace = self.window_for(path)
        # A call may be read after the connection has ended.
        if workspace is None or self._is_lost:
            return None
        return workspace, self._sit_down(workspace).session

    def windows(self) -> Iterable[Workspace]:
        return [each for each in self._seats if each is not self._home or self._is_told_there]

    def mention_lines(self, path: str, rows: Sequence[tuple[int, int]]) -> bool:
        """Type references to the CLI's file, or to its lines, into the prompt; the rows are from 0.
        False if the CLI would attach nothing: it reads a path up to the first blank."""
        if BLANK.search(path):
            return False
        places = [{"lineStart": first, "lineEnd": last} for first, last in rows] or [{}]
        for place in places:
            self._notify("at_mentioned", {"filePath": path, **place})
        return True

    def is_at_home_in(self, workspace: Workspace) -> bool:
        return self._home is workspace

    def _admitted(self) -> list[Workspace]:
        return [each for each in self._workspaces() if each.admits_claude]

    def _choose_home(self, folder: str) -> tuple[Workspace | None, bool]:
        """Its window, and whether it may be told of the user's files there. It is not where it only
        has a seat because no window has anything of its folder."""
        every, admitted = list(self._workspaces()), self._admitted()
        owner = window_of_file(every, folder) if folder else None
        if owner is not None:
            return (owner, True) if owner.admits_claude else (None, False)
        within = windows_within(admitted, folder) if folder else []
        if within:
            return (self._home if self._home in within else latest_window(within)), True
        home = self._home if self._home in admitted else latest_window(admitted)
        # A CLI that does not say where it runs may run in a window that keeps it out.
        return home, not folder and admitted == every

    def _leave(self, seat: Seat) -> None:
        # The task ends later, and nobody may get the seat meanwhile.
        self._seats.pop(seat.workspace, None)
        seat.task.cancel()

    def _sit_down(self, workspace: Workspace) -> Seat:
        """Its seat in the window, a new one if it has none."""
        seat = self._seats.get(workspace)
        if seat is None:
            session, stream = workspace.connect_cli(CLAUDE_CODE, self._client)
            passing = partial(self._pass_on, workspace, session, stream)
            task = asyncio.ensure_future(self._run_safely(passing))
            seat = self._seats[workspace] = Seat(workspace, session, task)
            task.add_done_callback(lambda done: self._stand_up(workspace, session, stream))
        return seat

    def _stand_up(self, workspace: Workspace, session: Session, stream: Stream) -> None:
        seat = self._seats.get(workspace)
        if seat is not None and seat.session is session:
            del self._seats[workspace]
        workspace.disconnect_cli(session, stream)
        self._spawn(partial(self.diffs.give_up, session))

    async def _pass_on(self, workspace: Workspace, session: Session, stream: Stream) -> None:
        """Pass on what the session is told, until that ends."""
        with suppress(StreamEnded):
            while True:
                event = await stream.next(SILENCE)
                if event is not None:
                    await self._tell(workspace, session, event.value)

    async def _tell(self, workspace: Workspace, session: Session, value: Notifiable) -> None:
        if isinstance(value, Decision):
            await self.diffs.pass_decision(session.id, value.path, value.text)
        elif isinstance(value, ContextUpdate) and workspace is self._home and self._is_told_there:
            await self._tell_selection(selection.selection_params(value, workspace.context.active))

    async def _tell_selection(self, params: Mapping[str, Any]) -> None:
        if params != self._told:
            self._told = params
            await self._send(_notification(selection.METHOD, params))

    def _take_notice(self, message: Message) -> None:
        if isinstance(message, Response):
            if message.id == ROOTS:
                self._folder = _first_root(message.result)
                self.check_windows()
        elif isinstance(message, Notification):
            if message.method == "notifications/cancelled":
                self._spawn(partial(self.diffs.cancel_call, message.params.get("requestId")))
            elif message.method in (
                "notifications/initialized",
                "notifications/roots/list_changed",
            ):
                self._ask_for_folder()

    def _ask_for_folder(self) -> None:
        if self._has_roots:
            request = {"jsonrpc": "2.0", "id": ROOTS, "method": "roots/list"}
            self._spawn(partial(self._send_safely, encode_json(request)))
        else:
            self._folder = ""
            self.check_windows()

    async def _initialize(self, params: Mapping[str, Any], call: ClaudeCall) -> bytes:
        version = mcp.version_for(params)
        self._client = mcp.client_of(params.get("clientInfo"))
        capabilities = params.get("capabilities")
        self._has_roots = isinstance(capabilities, dict) and "roots" in capabilities
        logger.info("%s connected (%s)", CLAUDE_CODE.name, self._client or "?")
        return encode_json(
            {
                "protocolVersion": version,
                "capabilities": {"tools": {}},
                "serverInfo": mcp.SERVER_INFO,
            }
        )

    async def _list_tools(self, params: Mapping[str, Any], call: ClaudeCall) -> bytes:
        return claude_tools.TABLE.listing

    async def _answer_request(self, request: Request) -> None:
        """The boundary of every request: a bug here costs one answer and not the connection."""
        try:
            answer = await self._answer_to(request)
        except ConnectionError:
            return
        except Exception:
            logger.exception("a request of Claude Code failed")
            answer = RpcError(INTERNAL_ERROR, FAILED, request.id).encode()
        if answer is not None:
            await self._send_safely(answer)

    async def _answer_to(self, request: Request) -> bytes | None:
        """None if the answer is sent later. Raises ConnectionError."""
        call = ClaudeCall(request.id, self)
        if request.method != "tools/call":
            return await answer_message(request, self._methods, call)
        try:
            result = await claude_tools.TABLE.call_tool(request.params, call)
        except RpcError as error:
            return RpcError(error.code, error.message, request.id).encode()
        return None if result == LATER else encode_result(request.id, result)

    async def _answer(self, id: Id, result: bytes) -> None:
        """Answer a request with this result. Raises ConnectionError."""
        await self._send(encode_result(id, result))

    def _notify(self, method: str, params: Mapping[str, Any]) -> None:
        self._spawn(partial(self._send_safely, _notification(method, params)))

    async def _send(self, message: bytes) -> None:
        if self._is_lost:
            raise ConnectionError
        await self._send_bytes(message)

    async def _send_safely(self, message: bytes) -> None:
        with suppress(ConnectionError):
            await self._send(message)

    def _spawn(self, work: Callable[[], Awaitable[None]]) -> None:
        task = asyncio.ensure_future(self._run_safely(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run_safely(self, work: Callable[[], Awaitable[None]]) -> None:
        """The boundary of all that is done for the CLI beside its requests."""
        try:
            await work()
        except ConnectionError:
            logger.debug("%s has left", CLAUDE_CODE.name)
        except Exception:
            logger.exception("work for Claude Code failed")


def _notification(method: str, params: Mapping[str, Any]) -> bytes:
    return encode_json({"jsonrpc": "2.0", "method": method, "params": params})


def _first_root(result: Any) -> str:
    """The folder in which the CLI runs; empty if it does not say."""
    roots = result.get("roots") if isinstance(result, dict) else None
    first = roots[0] if isinstance(roots, list) and roots else None
    uri = first.get("uri") if isinstance(first, dict) else None
    return path_of_url(uri) if isinstance(uri, str) else ""
