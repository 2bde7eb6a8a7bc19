"""The tools that Claude Code calls, as a table over the diffs and the editor's knowledge of code.
Knows no socket.

Source: docs/protocol.md 11. It calls them whether they are listed or not.
"""

from __future__ import annotations

import asyncio
from typing import Any, Iterable, Mapping, NamedTuple

from ...base.background import in_thread
from ...base.jsonrpc import Id, encode_json
from ...base.log import logger
from ..code_queries import FoundCode, ProblemsIn
from ..editor import CodeKnowledge, EditorError
from ..mcp_tables import Tool, ToolTable, absolute_path, text_content
from ..workspace import Workspace
from .file_urls import path_of_raw_url
from .waiting_diffs import DiffCall, WaitingDiffs
from .window_seats import WindowSeats

# Stands for a result that is sent later.
LATER = b""
# Seconds for the editor: without an answer the CLI waits half a second for each edit.
PATIENCE = 0.4
# The most problems that are told of one file.
MAX_PROBLEMS = 200
SEVERITIES = {"error": "Error", "warning": "Warning", "info": "Info", "hint": "Hint"}
NO_WINDOW = "No window of the editor has this file."
# The most characters of the name of a tab; the CLI's own have the name of the file.
MAX_TAB = 32768


class ClaudeCall(NamedTuple):
    """Who calls a tool, by which request."""

    id: Id
    seats: WindowSeats
    diffs: WaitingDiffs
    code: CodeKnowledge


async def _open_diff(call: ClaudeCall, arguments: Mapping[str, Any]) -> bytes:
    sent: str = arguments["new_file_path"]
    content, tab = arguments["new_file_contents"], arguments["tab_name"]
    if len(tab) > MAX_TAB:
        raise EditorError(f"Expected a tab_name of at most {MAX_TAB} characters; got {len(tab)}.")
    call.diffs.check_room(tab, content)
    found = call.seats.seat_for(sent)
    if found is None:
        raise EditorError(NO_WINDOW)
    workspace, session = found
    path = absolute_path("new_file_path", sent, workspace.diffs.local_path(sent))
    diff = DiffCall(call.id, tab, workspace, session, path, content, sent)
    await call.diffs.open_diff(diff)
    return LATER


async def _close_tab(call: ClaudeCall, arguments: Mapping[str, Any]) -> bytes:
    await call.diffs.close_diff(arguments["tab_name"])
    return encode_json({"content": text_content("TAB_CLOSED")})


async def _close_all_diff_tabs(call: ClaudeCall, arguments: Mapping[str, Any]) -> bytes:
    """It comes with each prompt, also while a subagent waits in the terminal for a decision on its
    diff: so what waits is left alone, and there is nothing else."""
    return encode_json({"content": text_content("CLOSED_0_DIFF_TABS")})


async def _get_diagnostics(call: ClaudeCall, arguments: Mapping[str, Any]) -> bytes:
    uri: str = arguments.get("uri", "")
    sent = path_of_raw_url(uri)
    if sent:
        window = call.seats.window_for(sent)
        asked = [(window, [window.diffs.local_path(sent)])] if window is not None else []
    else:
        asked = [
            (each, [file.path for file in each.context.files()]) for each in call.seats.windows()
        ]
    files: dict[str, list[dict[str, Any]]] = {}
    for workspace, paths in asked:
        try:
            files.update(await asyncio.wait_for(_problems(call.code, workspace, paths), PATIENCE))
        except (EditorError, asyncio.TimeoutError):
            logger.debug("the editor did not say which problems there are")
    # The CLI compares it with its own.
    told = [{"uri": uri or f"file://{path}", "diagnostics": found} for path, found in files.items()]
    return encode_json({"content": text_content(encode_json(told).decode("ascii"))})


async def _problems(
    code: CodeKnowledge, workspace: Workspace, paths: list[str]
) -> dict[str, list[dict[str, Any]]]:
    """The problems in the files that may be told, by the CLI's paths."""
    gate, maps = workspace.context.gate(), workspace.context.path_maps
    reasons = await in_thread(lambda: list(map(gate.reason_to_hide, paths)))
    told = [path for path, reason in zip(paths, reasons) if not reason]
    files: dict[str, list[dict[str, Any]]] = {maps.to_remote(path): [] for path in told}
    if told:
        for row in (await code.look_up(workspace.window_id, ProblemsIn(tuple(told)))).rows:
            problems = files.get(maps.to_remote(row.path))
            if problems is not None and len(problems) < MAX_PROBLEMS:
                problems.append(_diagnostic(row))
    return files


def _diagnostic(row: FoundCode) -> dict[str, Any]:
    place = {"line": row.line - 1, "character": row.column - 1}
    return {
        "message": row.name,
        "severity": SEVERITIES.get(row.kind, "Error"),
        "range": {"start": place, "end": place},
    }


def _schema(required: Iterable[str], optional: Iterable[str] = ()) -> dict[str, Any]:
    """The schema of arguments that are all texts. Later versions of the CLI may send more."""
    required = list(required)
    names = [*required, *optional]
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": required,
    }


TOOLS: tuple[Tool[ClaudeCall], ...] = (
    Tool(
        "openDiff",
        "Show a proposed text of a file beside the present one. Answers once the user has decided:"
        " FILE_SAVED and the text to write, or DIFF_REJECTED.",
        _schema(("new_file_path", "new_file_contents", "tab_name"), ("old_file_path",)),
        _open_diff,
    ),
    Tool(
        "close_tab",
        "Close the diff with that name; what the user typed there stays in a tab of its own.",
        _schema(("tab_name",)),
        _close_tab,
    ),
    Tool(
        "closeAllDiffTabs",
        "Close the diffs that nobody waits for any more.",
        _schema(()),
        _close_all_diff_tabs,
    ),
    Tool(
        "getDiagnostics",
        "The errors and warnings that language servers and linters report in a file, or in all open"
        " files.",
        _schema((), ("uri",)),
        _get_diagnostics,
        read_only=True,
    ),
)
TABLE: ToolTable[ClaudeCall] = ToolTable(TOOLS)
