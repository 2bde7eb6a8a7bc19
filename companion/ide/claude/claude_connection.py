"""One Claude Code that is connected: its messages, and what it is told. Knows no socket."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import partial
from typing import Any, Awaitable, Callable, Iterable, Mapping, Sequence

from ...base.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
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
from ..session import Notifiable, Session
from ..workspace import Workspace
from . import claude_tools, selection
from .claude_tools import LATER, ClaudeCall
from .file_urls import path_of_url
from .safe_tasks import SafeTasks
from .waiting_diffs import WaitingDiffs
from .window_seats import WindowSeats

# The most calls of one CLI that are under way at a time; it asks about a few files at once.
MAX_CALLS = 256
TOO_MANY = "Expected fewer calls at a time."
# The most characters of the id of a request, which is kept for the answer.
MAX_ID = 1024
LONG_ID = f"Expected an id of at most {MAX_ID} characters."
FAILED = "The companion failed; its log says why."
BLANK = re.compile(r"\s")
# The id of our one request.
ROOTS = "roots"


class ClaudeConnection:
    """`send` sends a message; it raises ConnectionError if the CLI is gone. `workspaces` are the
    windows at this moment, also those that do not admit Claude Code. `code` is the editor's
    knowledge of code."""

    def __init__(
        self,
        send: Callable[[bytes], Awaitable[None]],
        workspaces: Callable[[], Iterable[Workspace]],
        code: CodeKnowledge,
    ) -> None:
        self._send_bytes = send
        self._code = code
        self._tasks = SafeTasks()
        self._diffs = WaitingDiffs(self._answer, self._tasks.begin)
        self._seats = WindowSeats(
            workspaces,
            lambda: self._client,
            self._diffs.has_any_of,
            self._tell,
            lambda session: self._tasks.begin(partial(self._diffs.give_up, session)),
        )
        self._client = ""
        # The CLI's process, as it says; 0 if it has not.
        self.pid = 0
        self._has_roots = False
        # Whether it was asked where it runs and has not answered, and whether that may be different
        # by now.
        self._is_asked, self._must_ask = False, False
        self._told: Mapping[str, Any] = selection.NOTHING
        self._is_lost = False
        self._methods: dict[str, Method[ClaudeCall]] = {
            "initialize": self._initialize,
            "ping": answer_ping,
            "tools/list": self._list_tools,
        }

    async def receive(self, value: Any) -> None:
        """One message, as the value of its JSON."""
        self._seats.note_activity()
        try:
            message = message_in(value)
        except RpcError as error:
            await self._send_safely(error.encode())
            return
        if isinstance(message, Request) and len(str(message.id)) > MAX_ID:
            await self._send_safely(RpcError(INVALID_REQUEST, LONG_ID).encode())
        elif isinstance(message, Request) and message.method == "tools/call":
            if len(self._tasks) >= MAX_CALLS:
                await self._send_safely(RpcError(INTERNAL_ERROR, TOO_MANY, message.id).encode())
            else:
                self._tasks.begin(partial(self._answer_request, message))
        elif isinstance(message, Request):
            await self._answer_request(message)
        else:
            self._take_notice(message)

    def lose(self) -> None:
        """The connection is over. What the editor is doing for it goes on to its end, and the diffs
        stay."""
        self._is_lost = True
        self._seats.lose()

    def check_windows(self) -> None:
        """Windows, or their folders, have changed."""
        self._seats.check_windows()
        self._take_back_selection()

    def mention_lines(self, path: str, rows: Sequence[tuple[int, int]]) -> bool:
        """Type references to the CLI's file, or to its lines, into the prompt; the rows are from 0.
        False if the CLI would attach nothing: it reads a path up to the first blank."""
        if BLANK.search(path):
            return False
        places = [{"lineStart": first, "lineEnd": last} for first, last in rows] or [{}]
        for place in places:
            self._notify("at_mentioned", {"filePath": path, **place})
        return True

    def home_session(self) -> tuple[Workspace, Session] | None:
        """Its window, and its session there; None if it has none."""
        return self._seats.home_session()

    def is_at_home_in(self, workspace: Workspace) -> bool:
        return self._seats.is_at_home_in(workspace)

    async def _tell(self, workspace: Workspace, session: Session, value: Notifiable) -> None:
        if isinstance(value, Decision):
            await self._diffs.pass_decision(session.id, value.path, value.text)
        elif isinstance(value, ContextUpdate) and self._seats.is_at_home_in(workspace):
            if self._seats.is_told_at_home:
                params = selection.selection_params(value, workspace.context.active)
                await self._tell_selection(params)

    def _take_back_selection(self) -> None:
        """What it was told counts no more where it may not be told of files."""
        is_told = self._seats.is_told_at_home or self._told == selection.NOTHING
        if not is_told and not self._is_lost:
            self._tasks.begin(partial(self._tell_selection, selection.NOTHING))

    async def _tell_selection(self, params: Mapping[str, Any]) -> None:
        if params != self._told:
            self._told = params
            await self._send(_notification(selection.METHOD, params))

    def _take_notice(self, message: Message) -> None:
        """Notices are not answered, so none of them may begin work without end."""
        if isinstance(message, Response):
            if message.id == ROOTS and self._is_asked:
                self._note_folder(_first_root(message.result))
        elif isinstance(message, Notification):
            if message.method == "ide_connected":
                pid = message.params.get("pid")
                self.pid = pid if type(pid) is int else 0
            elif message.method == "notifications/cancelled":
                self._diffs.cancel_call(message.params.get("requestId"))
            elif message.method in (
                "notifications/initialized",
                "notifications/roots/list_changed",
            ):
                self._ask_for_folder()

    def _ask_for_folder(self) -> None:
        if not self._has_roots:
            self._note_folder("")
        elif self._is_asked:
            self._must_ask = True
        else:
            self._is_asked = True
            request = {"jsonrpc": "2.0", "id": ROOTS, "method": "roots/list"}
            self._tasks.begin(partial(self._send_safely, encode_json(request)))

    def _note_folder(self, folder: str) -> None:
        self._seats.settle_in(folder)
        self._take_back_selection()
        self._is_asked = False
        if self._must_ask:
            self._must_ask = False
            self._ask_for_folder()

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
        call = ClaudeCall(request.id, self._seats, self._diffs, self._code)
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
        self._tasks.begin(partial(self._send_safely, _notification(method, params)))

    async def _send(self, message: bytes) -> None:
        if self._is_lost:
            raise ConnectionError
        await self._send_bytes(message)

    async def _send_safely(self, message: bytes) -> None:
        with suppress(ConnectionError):
            await self._send(message)


def _notification(method: str, params: Mapping[str, Any]) -> bytes:
    return encode_json({"jsonrpc": "2.0", "method": method, "params": params})


def _first_root(result: Any) -> str:
    """The folder in which the CLI runs; empty if it does not say."""
    roots = result.get("roots") if isinstance(result, dict) else None
    first = roots[0] if isinstance(roots, list) and roots else None
    uri = first.get("uri") if isinstance(first, dict) else None
    return path_of_url(uri) if isinstance(uri, str) else ""
