"""The tools of the server `editor`, by which a model asks the editor about code, and their work.

They change nothing, but that `show` opens a file. What the user does not share with CLIs is neither
listed nor quoted. Knows no HTTP: each message stands for itself.
"""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any, Awaitable, Callable, Mapping, TypeVar

from .. import __version__
from ..base.background import in_thread
from ..base.jsonrpc import Message, Request, encode_json
from ..base.large_json import TruncatedString
from . import code_pages, mcp, stateless
from .code_queries import (
    DefinitionsOf,
    FoundCode,
    ProblemsIn,
    Query,
    ReferencesTo,
    Spot,
    SymbolsIn,
    SymbolsNamed,
)
from .context import ContextStore
from .editor import CodeKnowledge, EditorError
from .mcp_tables import (
    Method,
    Tool,
    ToolTable,
    absolute_path,
    answer_message,
    answer_ping,
    object_of,
    text_content,
)
from .sharing import MISSING, PAUSED, Gate

T = TypeVar("T")

SERVER_INFO = {"name": "editor", "title": "Sublime Text", "version": __version__}
INSTRUCTIONS = (
    "These tools ask the user's editor, which knows the project's symbols, its problems and what"
    " the user looks at. For questions about code, ask definition, references, symbols and"
    " diagnostics before you search with grep or read whole files."
)
# Seconds for the editor and for the disk.
PATIENCE = 8.0
# The most characters of a name.
MAX_NAME = 500

LATE = "The editor did not answer in time. Try again, or do without it."
IS_PAUSED = "The user has paused what the editor tells. Do without it, or ask them to resume."
NOT_SHARED = "The user does not share {} with CLIs."
NOT_THERE = "There is no file {}."
WHAT_SYMBOL = "Expected the name of a symbol, or path, line and column of a place where it stands."
WHAT_SYMBOLS = "Expected a query, or the path of a file."
NO_FILE = "The user looks at no file that they share."


class EditorTools:
    """Does the work of the tools for one window. `code` is the editor's knowledge of code;
    `context` has the window's files, and says which of them may be told."""

    def __init__(self, window_id: int, code: CodeKnowledge, context: ContextStore) -> None:
        self._window_id = window_id
        self._code = code
        self._context = context

    async def diagnostics(self, arguments: Mapping[str, Any]) -> bytes:
        gate = self._open_gate()
        if "path" in arguments:
            paths = [await self._shared_path(arguments, gate)]
        else:
            paths = [file.path for file in self._context.files()]
        return await self._result_page(
            ProblemsIn(tuple(paths)), gate, arguments, ("severity", "message")
        )

    async def definition(self, arguments: Mapping[str, Any]) -> bytes:
        gate = self._open_gate()
        query = DefinitionsOf(*await self._wanted_symbol(arguments, gate))
        return await self._result_page(query, gate, arguments, ("kind", "name"))

    async def references(self, arguments: Mapping[str, Any]) -> bytes:
        gate = self._open_gate()
        query = ReferencesTo(*await self._wanted_symbol(arguments, gate))
        return await self._result_page(query, gate, arguments, ())

    async def symbols(self, arguments: Mapping[str, Any]) -> bytes:
        gate = self._open_gate()
        if "path" in arguments:
            query: Query = SymbolsIn(await self._shared_path(arguments, gate))
        elif "query" in arguments:
            query = SymbolsNamed(_checked_name(arguments["query"]))
        else:
            raise EditorError(WHAT_SYMBOLS)
        return await self._result_page(query, gate, arguments, ("kind", "name"))

    async def open_files(self, arguments: Mapping[str, Any]) -> bytes:
        gate, active = self._open_gate(), self._context.active
        files = [FoundCode(file.path, 1, 1) for file in self._context.files()]
        unsaved = await _in_time(self._code.unsaved_files(self._window_id))
        page = await self._read_page(files, gate, arguments, quotes=False)
        rows = [
            {
                "path": self._remote_path(row.path),
                **({"active": True} if active is not None and active.path == row.path else {}),
                **({"unsaved": True} if row.path in unsaved else {}),
            }
            for row in page.rows
        ]
        return _tool_result({"files": rows, "offset": page.offset, "more": page.more})

    async def selection(self, arguments: Mapping[str, Any]) -> bytes:
        gate, active = self._open_gate(), self._context.active
        if active is None or await self._reason_to_hide(gate, active.path):
            return _tool_result({"path": None, "note": NO_FILE})
        found = await _in_time(self._code.selection(self._window_id, active.view_id))
        ranges = [
            {
                "start": {"line": selection.line, "column": selection.column},
                "end": {"line": selection.end_line, "column": selection.end_column},
                "text": selection.text,
            }
            for selection in found.selections
        ]
        return _tool_result({"path": self._remote_path(active.path), "selections": ranges})

    async def show(self, arguments: Mapping[str, Any]) -> bytes:
        path = await self._shared_path(arguments, self._open_gate())
        line = int(arguments.get("line", 1))
        is_seen = await _in_time(self._code.show_line(self._window_id, path, line))
        where = "The user sees it" if is_seen else "It is a tab behind the one the user types in"
        return _tool_result({"path": arguments["path"], "line": line, "note": f"{where}."})

    def _open_gate(self) -> Gate:
        """Raises EditorError while the user has paused."""
        gate = self._context.gate()
        if gate.sharing.paused:
            raise EditorError(IS_PAUSED)
        return gate

    def _remote_path(self, path: str) -> str:
        return self._context.path_maps.to_remote(path)

    async def _reason_to_hide(self, gate: Gate, path: str) -> str:
        return await _in_thread(partial(gate.reason_to_hide, path))

    async def _shared_path(self, arguments: Mapping[str, Any], gate: Gate) -> str:
        """The editor's path of a file that may be told. Raises EditorError."""
        sent: str = arguments["path"]
        is_whole = not isinstance(sent, TruncatedString)
        known = self._context.path_maps.to_local(sent) if is_whole else sent
        path = absolute_path("path", sent, known)
        reason = await self._reason_to_hide(gate, path)
        if reason:
            sentence = {PAUSED: IS_PAUSED, MISSING: NOT_THERE}.get(reason, NOT_SHARED)
            raise EditorError(sentence.format(sent))
        return path

    async def _wanted_symbol(
        self, arguments: Mapping[str, Any], gate: Gate
    ) -> tuple[str, Spot | None]:
        """The name, or the spot. Raises EditorError."""
        if "path" in arguments and "line" in arguments and "column" in arguments:
            path = await self._shared_path(arguments, gate)
            return "", Spot(path, int(arguments["line"]), int(arguments["column"]))
        if "name" in arguments:
            return _checked_name(arguments["name"]), None
        raise EditorError(WHAT_SYMBOL)

    async def _result_page(
        self, query: Query, gate: Gate, arguments: Mapping[str, Any], names: tuple[str, ...]
    ) -> bytes:
        """The result with a page of what was found; `names` are those of each row's `kind` and
        `name`. Raises EditorError."""
        found = await _in_time(self._code.look_up(self._window_id, query))
        page = await self._read_page(found.rows, gate, arguments, quotes=True)
        rows = [self._result_row(each, names) for each in page.rows]
        told = {"results": rows, "offset": page.offset, "more": page.more, "source": found.source}
        return _tool_result(told)

    async def _read_page(
        self, found: Any, gate: Gate, arguments: Mapping[str, Any], quotes: bool
    ) -> code_pages.CodePage:
        offset = int(arguments.get("offset", 0))
        return await _in_thread(partial(code_pages.code_page, found, gate, offset, quotes))

    def _result_row(self, found: FoundCode, names: tuple[str, ...]) -> dict[str, Any]:
        told = zip(names, (found.kind, found.name))
        return {
            "path": self._remote_path(found.path),
            "line": found.line,
            "column": found.column,
            **{name: value for name, value in told if value},
            "text": found.text,
        }


def _tool_result(value: Mapping[str, Any]) -> bytes:
    """What is no ASCII stays as it is, in few of the model's tokens."""
    return encode_json({"content": text_content(json.dumps(value, ensure_ascii=False))})


def _checked_name(sent: str) -> str:
    """Raises EditorError."""
    if not sent.strip() or len(sent) > MAX_NAME or isinstance(sent, TruncatedString):
        raise EditorError(f"Expected a name of at most {MAX_NAME} characters.")
    return sent.strip()


async def _in_time(asked: Awaitable[T]) -> T:
    """Raises EditorError."""
    try:
        return await asyncio.wait_for(asked, PATIENCE)
    except asyncio.TimeoutError:
        raise EditorError(LATE) from None


async def _in_thread(work: Callable[[], T]) -> T:
    """Raises EditorError."""
    return await _in_time(in_thread(work))


def _text_schema(description: str) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "description": description}


def _number_schema(description: str, least: int = 1) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "description": description}


_PATH = _text_schema("Absolute path of a file.")
_LINE = _number_schema("Line, from 1.")
_COLUMN = _number_schema("Column in characters (code points), from 1.")
_OFFSET = _number_schema("The number of results to skip, for the next page.", 0)
_SYMBOL = {
    "name": _text_schema("Name of the symbol, alone: `parse`, not `Parser.parse`."),
    "path": _text_schema(
        "Absolute path of a file in which the symbol stands, with line and column."
    ),
    "line": _LINE,
    "column": _COLUMN,
    "offset": _OFFSET,
}
_PAGES = " At most 50 results; if there are more, ask again with offset."

TOOLS: tuple[Tool[EditorTools], ...] = (
    Tool(
        "diagnostics",
        "The errors and warnings that language servers and linters report in a file, or in all open"
        " files." + _PAGES,
        object_of({"path": _PATH, "offset": _OFFSET}, ()),
        EditorTools.diagnostics,
        read_only=True,
    ),
    Tool(
        "definition",
        "Where a symbol is defined: by its name, or by path, line and column of any place where it"
        " stands, which is more exact." + _PAGES,
        object_of(_SYMBOL, ()),
        EditorTools.definition,
        read_only=True,
    ),
    Tool(
        "references",
        "Where a symbol is used: by its name, or by path, line and column of any place where it"
        " stands, which is more exact." + _PAGES,
        object_of(_SYMBOL, ()),
        EditorTools.references,
        read_only=True,
    ),
    Tool(
        "symbols",
        "The functions, classes and other symbols of one file, or those of the project that have a"
        " name." + _PAGES,
        object_of({"query": _text_schema("A name."), "path": _PATH, "offset": _OFFSET}, ()),
        EditorTools.symbols,
        read_only=True,
    ),
    Tool(
        "open_files",
        "The files that the user has open in the editor, the one they looked at last first, and"
        " which of them have unsaved changes." + _PAGES,
        object_of({"offset": _OFFSET}, ()),
        EditorTools.open_files,
        read_only=True,
    ),
    Tool(
        "selection",
        "The file that the user looks at, and what they have selected there. Empty text is a"
        " cursor.",
        object_of({}, ()),
        EditorTools.selection,
        read_only=True,
    ),
    Tool(
        "show",
        "Open a file at a line in the user's editor, for them to look at.",
        object_of({"path": _PATH, "line": _LINE}, ("path",)),
        EditorTools.show,
    ),
)

_TABLE: ToolTable[EditorTools] = ToolTable(TOOLS)


async def handle_message(message: Message, tools: EditorTools) -> bytes | None:
    """The bytes that answer the message, or None if it needs no answer."""
    return await answer_message(message, _METHODS, tools)


async def _answer_initialize(params: Mapping[str, Any], tools: EditorTools) -> bytes:
    return encode_json(
        {
            "protocolVersion": mcp.version_for(params),
            "capabilities": {"tools": {}},
            "serverInfo": SERVER_INFO,
            "instructions": INSTRUCTIONS,
        }
    )


async def _list_tools(params: Mapping[str, Any], tools: EditorTools) -> bytes:
    return _TABLE.listing


_METHODS: dict[str, Method[EditorTools]] = {
    "initialize": _answer_initialize,
    "ping": answer_ping,
    "tools/list": _list_tools,
    "tools/call": _TABLE.call_tool,
}


async def handle_stateless(request: Request, tools: EditorTools) -> bytes | None:
    """The bytes that answer a request of MCP 2026-07-28."""
    return await answer_message(request, STATELESS_METHODS, tools)


async def _answer_discover(params: Mapping[str, Any], tools: EditorTools) -> bytes:
    return _DISCOVERED


async def _list_cacheable(params: Mapping[str, Any], tools: EditorTools) -> bytes:
    return _CACHEABLE


async def _call_tool(params: Mapping[str, Any], tools: EditorTools) -> bytes:
    return RESULTS.complete_result(await _TABLE.call_tool(params, tools))


RESULTS = stateless.Results(SERVER_INFO)
_DISCOVERED = RESULTS.discovery_result(
    {
        "supportedVersions": mcp.SUPPORTED,
        "capabilities": {"tools": {}},
        "instructions": INSTRUCTIONS,
    }
)
# They are the same for everybody and never change.
_CACHEABLE = RESULTS.cacheable_result(_TABLE.listing, stateless.DISCOVERY_TTL, is_public=True)
# Those of MCP 2026-07-28; `subscriptions/listen` is the transport's.
STATELESS_METHODS: dict[str, Method[EditorTools]] = {
    "server/discover": _answer_discover,
    "tools/list": _list_cacheable,
    "tools/call": _call_tool,
}
