"""The companion's methods and tools of the Model Context Protocol. Knows no HTTP and no editor.

Source: MCP revisions 2025-03-26, 2025-06-18 and 2025-11-25; what Gemini CLI expects of the two
tools is in docs/protocol.md 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, NamedTuple

from .. import __version__
from ..base.jsonrpc import INVALID_PARAMS, Id, Message, Request, RpcError, encode, kind, quote
from ..base.large_json import PIECE, TruncatedString, encode_in_pieces
from .clis import GEMINI_CLI, Cli
from .mcp_tables import (
    EMPTY,
    Method,
    Tool,
    ToolTable,
    absolute_path,
    answer,
    object_of,
    ping,
    text,
)
from .session import Session

VERSIONS = ("2025-03-26", "2025-06-18", "2025-11-25")
# MCP 2026-07-28, "Protocol Version Header".
UNSUPPORTED_PROTOCOL_VERSION = -32022
# The version of today's clients (docs/protocol.md 3.28); they accept any version that they know.
DEFAULT_VERSION = "2025-06-18"
# A client without the header speaks the version that had none (MCP, "Protocol Version Header").
HEADERLESS_VERSION = "2025-03-26"
# The only version with batches; 2025-06-18 removed them.
BATCH_VERSION = "2025-03-26"
# From this version on, bad arguments are an error of the tool, not of the protocol.
ARGUMENT_ERRORS_ARE_RESULTS_SINCE = "2025-11-25"

# The most characters of a client's name that are kept.
MAX_CLIENT_NAME = 200

LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

SERVER_INFO = {"name": "gemini-companion", "title": "Gemini Companion", "version": __version__}


@dataclass(frozen=True)
class ToolsChanged:
    """Tells clients with a stream that the answer to `tools/list` has changed."""

    def notification(self, cli: Cli = GEMINI_CLI) -> tuple[str, dict[str, Any]]:
        return "notifications/tools/list_changed", {}


class Desk:
    """Does the work of the tools; the diffs of a window are one. If it `offers_diffs`, clients are
    told of the tools. A client that knew them before may still call them."""

    offers_diffs = True

    def local_path(self, path: str) -> str:
        """The editor's path for a path from a client."""
        return path

    async def open_diff(
        self, session: Session, path: str, content: str, sent_path: str = ""
    ) -> None:
        """Show the diff. `content` is a TruncatedString if it is too long to be edited here. `path`
        is the editor's; `sent_path` is what the client sent, empty if that is the same. Raises
        EditorError."""
        raise NotImplementedError

    async def close_diff(self, session: Session, path: str, decided: bool = True) -> str | None:
        """Close the diff for the editor's path and give its text, None if there is no diff. Unless
        the user has `decided` in the client, nobody will use the text. Raises EditorError."""
        raise NotImplementedError


class Call(NamedTuple):
    """Who calls a tool, and who does its work."""

    desk: Desk
    session: Session


_SHOWN = encode({"content": []})
# An object without the member `content` means that there was nothing to close.
_NOTHING_CLOSED = encode({"content": text("{}")})


async def _open_diff(call: Call, arguments: Mapping[str, Any]) -> bytes:
    path = _path(call.desk, arguments)
    await call.desk.open_diff(call.session, path, arguments["newContent"], arguments["filePath"])
    return _SHOWN


async def _close_diff(call: Call, arguments: Mapping[str, Any]) -> bytes:
    # The CLI sends it after a decision in the terminal, and leaves it out when it quits
    # (docs/protocol.md 1.9).
    decided = arguments.get("suppressNotification") is True
    path = _path(call.desk, arguments)
    content = await call.desk.close_diff(call.session, path, decided)
    if content is None:
        return _NOTHING_CLOSED
    # The CLI parses this text as JSON and reads its member `content` (docs/protocol.md 1.1).
    if len(content) > PIECE:
        large = encode_in_pieces({"content": content}).decode("ascii")
        return encode_in_pieces({"content": text(large)})
    small = quote(f'{{"content":{quote(content)}}}')
    return b'{"content":[{"type":"text","text":%b}]}' % small.encode("ascii")


def _path(desk: Desk, arguments: Mapping[str, Any]) -> str:
    """The editor's path."""
    sent: str = arguments["filePath"]
    known = sent if isinstance(sent, TruncatedString) else desk.local_path(sent)
    return absolute_path("filePath", sent, known)


_FILE_PATH = {"type": "string", "minLength": 1, "description": "Absolute path of the file."}

# With other tools than these two the CLI takes the editor for one without diffs (docs/protocol.md
# 3.31).
TOOLS = (
    Tool(
        "openDiff",
        "Show a proposed text of a file beside the present one. The user can edit, accept or reject"
        " it. Answers at once; the decision follows as ide/diffAccepted or ide/diffRejected.",
        object_of(
            {
                "filePath": _FILE_PATH,
                "newContent": {"type": "string", "description": "The whole proposed text."},
            },
            ["filePath", "newContent"],
        ),
        _open_diff,
    ),
    Tool(
        "closeDiff",
        "Close the diff of a file without a decision. Answers with the proposal's text as the user"
        ' left it, as JSON: {"content": "..."}.',
        object_of(
            {
                "filePath": _FILE_PATH,
                "suppressNotification": {
                    "type": "boolean",
                    "description": "Whether the user has decided in the client. If not, what they"
                    " changed stays open in the editor. No notification follows either way.",
                },
            },
            ["filePath"],
        ),
        _close_diff,
    ),
)


_TABLE: ToolTable[Call] = ToolTable(
    TOOLS, lambda call: call.session.protocol_version >= ARGUMENT_ERRORS_ARE_RESULTS_SINCE
)
_NO_TOOLS = encode({"tools": []})


def unsupported_version(version: str) -> RpcError:
    """The answer to a request in another version. A client that speaks later versions as well reads
    ours from it and continues with `initialize`."""
    return RpcError(
        UNSUPPORTED_PROTOCOL_VERSION,
        "Expected MCP-Protocol-Version to be one of {}.".format(", ".join(VERSIONS)),
        data={"supported": VERSIONS, "requested": version},
    )


def version_for(params: Mapping[str, Any], id: Id | None = None) -> str:
    """The protocol version that answers an `initialize` with these params. Raises RpcError."""
    wanted = params.get("protocolVersion")
    if not isinstance(wanted, str):
        raise RpcError(
            INVALID_PARAMS, f'Expected "protocolVersion" to be a string; got {kind(wanted)}.', id
        )
    return wanted if wanted in VERSIONS else DEFAULT_VERSION


def negotiate(request: Request) -> tuple[str, dict[str, Any]]:
    """The protocol version for a new session, and the result of `initialize`. Raises RpcError."""
    version = version_for(request.params, request.id)
    capabilities: dict[str, Any] = {"tools": {"listChanged": True}, "logging": {}}
    result = {
        "protocolVersion": version,
        "capabilities": capabilities,
        "serverInfo": SERVER_INFO,
    }
    return version, result


def client_of(request: Request) -> str:
    """The name and version of the client in its `initialize`; empty if it gives none."""
    info = request.params.get("clientInfo")
    members = (info.get("name"), info.get("version")) if isinstance(info, dict) else ()
    words = [
        word for word in members if isinstance(word, str) and not isinstance(word, TruncatedString)
    ]
    return " ".join(" ".join(words).split())[:MAX_CLIENT_NAME]


async def handle(message: Message, desk: Desk, session: Session) -> bytes | None:
    """The bytes that answer the message, or None if it needs no answer."""
    return await answer(message, _METHODS, Call(desk, session))


async def _list_tools(params: Mapping[str, Any], call: Call) -> bytes:
    return _TABLE.listing if call.desk.offers_diffs else _NO_TOOLS


async def _set_level(params: Mapping[str, Any], call: Call) -> bytes:
    if params.get("level") not in LOG_LEVELS:
        raise RpcError(
            INVALID_PARAMS,
            'Expected "level" to be one of {}; got {!r}.'.format(
                ", ".join(LOG_LEVELS), params.get("level")
            ),
        )
    return EMPTY


_METHODS: dict[str, Method[Call]] = {
    "ping": ping,
    "tools/list": _list_tools,
    "tools/call": _TABLE.call,
    "logging/setLevel": _set_level,
}
