"""The companion's methods and tools of the Model Context Protocol. Knows no HTTP and no editor.

Source: MCP revisions 2025-03-26, 2025-06-18, 2025-11-25 and 2026-07-28; what Gemini CLI expects of
the two tools is in docs/protocol.md 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, NamedTuple

from .. import __version__
from ..base.jsonrpc import (
    INVALID_PARAMS,
    Id,
    Message,
    Request,
    RpcError,
    encode_json,
    kind_of_value,
    quote_json,
)
from ..base.large_json import PIECE, TruncatedString, encode_in_pieces
from . import stateless
from .clis import GEMINI_CLI, Cli
from .mcp_tables import (
    EMPTY,
    Method,
    Tool,
    ToolTable,
    absolute_path,
    answer_message,
    answer_ping,
    object_of,
    text_content,
)
from .session import Session

# Those that begin with `initialize`.
VERSIONS = ("2025-03-26", "2025-06-18", "2025-11-25")
# All, the newest first.
SUPPORTED = (stateless.VERSION, *reversed(VERSIONS))
# The version of today's clients (docs/protocol.md 3.28); they accept any version that they know.
DEFAULT_VERSION = "2025-06-18"
# A client without the header speaks the version that had none (MCP, "Protocol Version Header").
HEADERLESS_VERSION = "2025-03-26"
# The only version with batches; 2025-06-18 removed them.
BATCH_VERSION = "2025-03-26"
# From this version on, bad arguments are an error of the tool, not of the protocol.
ARGUMENT_ERRORS_ARE_RESULTS_SINCE = "2025-11-25"

# Milliseconds for which a client of MCP 2026-07-28 may keep the list of tools.
LISTING_TTL = 60_000
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


class ToolCaller(NamedTuple):
    """Who calls a tool, and who does its work."""

    desk: Desk
    session: Session


class StatelessCall(NamedTuple):
    """Who calls a tool in MCP 2026-07-28, and who does its work. `session` is None for a request
    that needs none."""

    desk: Desk
    session: Session | None


_SHOWN = encode_json({"content": []})
# An object without the member `content`: there is no text to write (docs/protocol.md 1.10).
_NOTHING_CLOSED = encode_json({"content": text_content("{}")})


async def _open_diff(call: ToolCaller, arguments: Mapping[str, Any]) -> bytes:
    path = _editor_path(call.desk, arguments)
    await call.desk.open_diff(call.session, path, arguments["newContent"], arguments["filePath"])
    return _SHOWN


async def _close_diff(call: ToolCaller, arguments: Mapping[str, Any]) -> bytes:
    # The CLI sends it after a decision in the terminal, and leaves it out when it quits
    # (docs/protocol.md 1.9).
    decided = arguments.get("suppressNotification") is True
    path = _editor_path(call.desk, arguments)
    content = await call.desk.close_diff(call.session, path, decided)
    if content is None:
        return _NOTHING_CLOSED
    # The CLI parses this text as JSON and reads its member `content` (docs/protocol.md 1.1).
    if len(content) > PIECE:
        large = encode_in_pieces({"content": content}).decode("ascii")
        return encode_in_pieces({"content": text_content(large)})
    small = quote_json(f'{{"content":{quote_json(content)}}}')
    return b'{"content":[{"type":"text","text":%b}]}' % small.encode("ascii")


def _editor_path(desk: Desk, arguments: Mapping[str, Any]) -> str:
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


_TABLE: ToolTable[ToolCaller] = ToolTable(
    TOOLS, lambda call: call.session.protocol_version >= ARGUMENT_ERRORS_ARE_RESULTS_SINCE
)
_NO_TOOLS = encode_json({"tools": []})


def version_for(params: Mapping[str, Any], id: Id | None = None) -> str:
    """The protocol version that answers an `initialize` with these params. Raises RpcError."""
    wanted = params.get("protocolVersion")
    if not isinstance(wanted, str):
        raise RpcError(
            INVALID_PARAMS,
            f'Expected "protocolVersion" to be a string; got {kind_of_value(wanted)}.',
            id,
        )
    return wanted if wanted in VERSIONS else DEFAULT_VERSION


def negotiate_version(request: Request) -> tuple[str, dict[str, Any]]:
    """The protocol version for a new session, and the result of `initialize`. Raises RpcError."""
    version = version_for(request.params, request.id)
    capabilities: dict[str, Any] = {"tools": {"listChanged": True}, "logging": {}}
    result = {
        "protocolVersion": version,
        "capabilities": capabilities,
        "serverInfo": SERVER_INFO,
    }
    return version, result


def client_of(info: Any) -> str:
    """The name and version of a client from its `clientInfo`; empty if it gives none."""
    members = (info.get("name"), info.get("version")) if isinstance(info, dict) else ()
    words = [
        word for word in members if isinstance(word, str) and not isinstance(word, TruncatedString)
    ]
    return " ".join(" ".join(words).split())[:MAX_CLIENT_NAME]


async def handle_message(message: Message, desk: Desk, session: Session) -> bytes | None:
    """The bytes that answer the message, or None if it needs no answer."""
    return await answer_message(message, _METHODS, ToolCaller(desk, session))


async def handle_stateless(request: Request, desk: Desk, session: Session | None) -> bytes | None:
    """The bytes that answer a request of MCP 2026-07-28. `session` is that of the client; the
    request may need none."""
    return await answer_message(request, STATELESS_METHODS, StatelessCall(desk, session))


def needs_session(request: Request) -> bool:
    """Whether the request is for a tool whose outcome the client is told later."""
    return request.method == "tools/call" and request.params.get("name") in _TABLE


async def _list_tools(params: Mapping[str, Any], call: ToolCaller) -> bytes:
    return _TABLE.listing if call.desk.offers_diffs else _NO_TOOLS


async def _set_level(params: Mapping[str, Any], call: ToolCaller) -> bytes:
    if params.get("level") not in LOG_LEVELS:
        raise RpcError(
            INVALID_PARAMS,
            'Expected "level" to be one of {}; got {!r}.'.format(
                ", ".join(LOG_LEVELS), params.get("level")
            ),
        )
    return EMPTY


_METHODS: dict[str, Method[ToolCaller]] = {
    "ping": answer_ping,
    "tools/list": _list_tools,
    "tools/call": _TABLE.call_tool,
    "logging/setLevel": _set_level,
}


async def _answer_discover(params: Mapping[str, Any], call: StatelessCall) -> bytes:
    return _DISCOVERED


async def _list_cacheable(params: Mapping[str, Any], call: StatelessCall) -> bytes:
    return _CACHEABLE if call.desk.offers_diffs else _NO_TOOLS_CACHEABLE


async def _call_tool(params: Mapping[str, Any], call: StatelessCall) -> bytes:
    if call.session is None:
        raise _TABLE.unknown_tool(params.get("name"))
    return RESULTS.complete_result(
        await _TABLE.call_tool(params, ToolCaller(call.desk, call.session))
    )


RESULTS = stateless.Results(SERVER_INFO)
_DISCOVERED = RESULTS.discovery_result(
    {
        "supportedVersions": SUPPORTED,
        "capabilities": {
            "tools": {"listChanged": True},
            "extensions": {stateless.EXTENSION: {}},
        },
    }
)
# The user's settings decide on the list; who listens is told at once.
_CACHEABLE = RESULTS.cacheable_result(_TABLE.listing, LISTING_TTL, is_public=False)
_NO_TOOLS_CACHEABLE = RESULTS.cacheable_result(_NO_TOOLS, LISTING_TTL, is_public=False)
# Those of MCP 2026-07-28; `subscriptions/listen` is the transport's.
STATELESS_METHODS: dict[str, Method[StatelessCall]] = {
    "server/discover": _answer_discover,
    "tools/list": _list_cacheable,
    "tools/call": _call_tool,
}
