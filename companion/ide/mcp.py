"""The Model Context Protocol as tables of methods and tools. Knows no HTTP and no editor.

Source: MCP revisions 2025-03-26, 2025-06-18 and 2025-11-25; what Gemini CLI expects of the two
tools is in docs/protocol.md 1.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Mapping

from .. import __version__
from ..base.jsonrpc import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Message,
    Notification,
    Request,
    RpcError,
    encode,
    encode_result,
    kind,
    quote,
)
from ..base.large_json import PIECE, TruncatedString, encode_in_pieces
from ..base.log import logger
from .clis import GEMINI_CLI, Cli
from .editor import EditorError
from .session import Session

if TYPE_CHECKING:
    from .schema_check import ValidationError
elif find_spec("jsonschema") is None and find_spec(f"{__name__.rsplit('.', 3)[0]}.carried") is None:
    # jsonschema is imported when it is first needed. The start reports both that it is missing and
    # that the package does not carry it.
    raise ModuleNotFoundError("No module named 'jsonschema'", name="jsonschema")

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

# Gives the result of a request as JSON, made from its params; raises RpcError.
Method = Callable[[Mapping[str, Any], "Desk", Session], Awaitable[bytes]]

EMPTY = encode({})
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


@dataclass(frozen=True)
class Tool:
    """One row of `tools/list`, with the function that runs it: `run(desk, session, arguments)`
    gives the result as JSON, or raises EditorError."""

    name: str
    description: str
    schema: Mapping[str, Any]
    run: Callable[[Desk, Session, Mapping[str, Any]], Awaitable[bytes]]

    def listing(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.schema,
        }


def _text(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


_SHOWN = encode({"content": []})
# An object without the member `content` means that there was nothing to close.
_NOTHING_CLOSED = encode({"content": _text("{}")})


async def _open_diff(desk: Desk, session: Session, arguments: Mapping[str, Any]) -> bytes:
    path = _path(desk, arguments)
    await desk.open_diff(session, path, arguments["newContent"], arguments["filePath"])
    return _SHOWN


async def _close_diff(desk: Desk, session: Session, arguments: Mapping[str, Any]) -> bytes:
    # The CLI sends it after a decision in the terminal, and leaves it out when it quits
    # (docs/protocol.md 1.9).
    decided = arguments.get("suppressNotification") is True
    content = await desk.close_diff(session, _path(desk, arguments), decided)
    if content is None:
        return _NOTHING_CLOSED
    # The CLI parses this text as JSON and reads its member `content` (docs/protocol.md 1.1).
    if len(content) > PIECE:
        large = encode_in_pieces({"content": content}).decode("ascii")
        return encode_in_pieces({"content": _text(large)})
    text = quote(f'{{"content":{quote(content)}}}')
    return b'{"content":[{"type":"text","text":%b}]}' % text.encode("ascii")


def _path(desk: Desk, arguments: Mapping[str, Any]) -> str:
    """The editor's path."""
    sent: str = arguments["filePath"]
    if isinstance(sent, TruncatedString):
        raise EditorError(f"Expected filePath to be a path; got {len(sent)} characters and more.")
    path = desk.local_path(sent)
    if "\0" in sent or not os.path.isabs(path):
        raise EditorError(f"Expected filePath to be the absolute path of a file; got {sent!r}.")
    return path


def _object_of(properties: Mapping[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


_FILE_PATH = {"type": "string", "minLength": 1, "description": "Absolute path of the file."}

# With other tools than these two the CLI takes the editor for one without diffs (docs/protocol.md
# 3.31).
TOOLS = (
    Tool(
        "openDiff",
        "Show a proposed text of a file beside the present one. The user can edit, accept or reject"
        " it. Answers at once; the decision follows as ide/diffAccepted or ide/diffRejected.",
        _object_of(
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
        _object_of(
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


# The types of JSON Schema as the JSON parser returns them; jsonschema checks all others.
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str, TruncatedString),
    "boolean": (bool,),
}
# The keywords of a property that `_Arguments` checks, or that need no check.
_KEYWORDS = {"type", "minLength", "description"}


class _Arguments:
    """Checks the arguments of one tool against its schema. jsonschema is by far the slowest part of
    a call and needs a tenth of the package's memory, so it gets only what fails a plain check."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._required = frozenset(schema["required"])
        self._properties = {
            name: (_TYPES[rules["type"]], rules.get("minLength", 0))
            for name, rules in schema["properties"].items()
            if _KEYWORDS.issuperset(rules) and rules["type"] in _TYPES
        }

    def problem(self, arguments: Any) -> ValidationError | None:
        if self._are_plainly_good(arguments):
            return None
        from . import schema_check

        return schema_check.problem(self._schema, arguments)

    def _are_plainly_good(self, arguments: Any) -> bool:
        if type(arguments) is not dict or not self._required.issubset(arguments):
            return False
        for name, value in arguments.items():
            types, shortest = self._properties.get(name, ((), 0))
            if type(value) not in types or (shortest and len(value) < shortest):
                return False
        return True


_TOOLS = {tool.name: (tool, _Arguments(tool.schema)) for tool in TOOLS}
_TOOL_LIST = encode({"tools": [tool.listing() for tool in TOOLS]})
_NO_TOOLS = encode({"tools": []})


def unsupported_version(version: str) -> RpcError:
    """The answer to a request in another version. A client that speaks later versions as well reads
    ours from it and continues with `initialize`."""
    return RpcError(
        UNSUPPORTED_PROTOCOL_VERSION,
        "Expected MCP-Protocol-Version to be one of {}.".format(", ".join(VERSIONS)),
        data={"supported": VERSIONS, "requested": version},
    )


def negotiate(request: Request) -> tuple[str, dict[str, Any]]:
    """The protocol version for a new session, and the result of `initialize`. Raises RpcError."""
    wanted = request.params.get("protocolVersion")
    if not isinstance(wanted, str):
        raise RpcError(
            INVALID_PARAMS,
            f'Expected "protocolVersion" to be a string; got {kind(wanted)}.',
            request.id,
        )
    version = wanted if wanted in VERSIONS else DEFAULT_VERSION
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
    if isinstance(message, Request):
        try:
            result = await _method(message.method)(message.params, desk, session)
            return encode_result(message.id, result)
        except RpcError as error:
            return RpcError(error.code, error.message, message.id).encode()
    if isinstance(message, Notification):
        logger.debug("%s", message.method)
    return None


def _method(name: str) -> Method:
    """Raises RpcError."""
    method = _METHODS.get(name)
    if method is None:
        raise RpcError(
            METHOD_NOT_FOUND,
            "Expected one of the methods {}; got {!r}.".format(", ".join(_METHODS), name),
        )
    return method


async def _ping(params: Mapping[str, Any], desk: Desk, session: Session) -> bytes:
    return EMPTY


async def _list_tools(params: Mapping[str, Any], desk: Desk, session: Session) -> bytes:
    return _TOOL_LIST if desk.offers_diffs else _NO_TOOLS


async def _set_level(params: Mapping[str, Any], desk: Desk, session: Session) -> bytes:
    if params.get("level") not in LOG_LEVELS:
        raise RpcError(
            INVALID_PARAMS,
            'Expected "level" to be one of {}; got {!r}.'.format(
                ", ".join(LOG_LEVELS), params.get("level")
            ),
        )
    return EMPTY


async def _call_tool(params: Mapping[str, Any], desk: Desk, session: Session) -> bytes:
    name, arguments = params.get("name"), params.get("arguments", {})
    if not isinstance(name, str) or name not in _TOOLS:
        raise RpcError(
            INVALID_PARAMS,
            "Expected one of the tools {}; got {!r}.".format(", ".join(_TOOLS), name),
        )
    tool, expected = _TOOLS[name]
    problem = expected.problem(arguments)
    if problem is not None:
        return _bad_arguments(tool, problem, session)
    try:
        return await tool.run(desk, session, arguments)
    except EditorError as error:
        return _tool_error(str(error))


def _tool_error(sentence: str) -> bytes:
    return encode({"content": _text(sentence), "isError": True})


def _bad_arguments(tool: Tool, problem: ValidationError, session: Session) -> bytes:
    sentence = f"{tool.name}: {_describe(problem)}."
    if session.protocol_version >= ARGUMENT_ERRORS_ARE_RESULTS_SINCE:
        return _tool_error(sentence)
    raise RpcError(INVALID_PARAMS, sentence)


def _describe(problem: ValidationError) -> str:
    where = ".".join(["arguments"] + [str(part) for part in problem.absolute_path])
    if str(problem.validator) == "type":
        # The library's sentence would contain the value, which may be the text of a file.
        expected = problem.validator_value
        return f"expected {where} to be of type {expected}; got {kind(problem.instance)}"
    return f"{where}: {problem.message}"


_METHODS: dict[str, Method] = {
    "ping": _ping,
    "tools/list": _list_tools,
    "tools/call": _call_tool,
    "logging/setLevel": _set_level,
}
