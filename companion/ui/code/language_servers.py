"""What language servers say, where the package LSP runs one for a file. UI thread only.

LSP is not imported: what it has loaded is looked up (docs/sublime.md 9.1). Its sessions belong to
Sublime's worker, so they are asked there. If LSP has changed, it counts as silent, and the log says
so.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any, Awaitable, Callable, Iterator, Mapping, Sequence, Tuple

import sublime

from ...base.answer import Answer
from ...base.log import logger
from ...ide.code_queries import Findings, FoundCode
from .. import queues
from ..prompt.diagnostics import LSP, LSP_URLS

PROTOCOL = "LSP.plugin.core.protocol"
# Milliseconds for a server: then the index is asked.
PATIENCE = 6000
# Goes on behind the name of another source.
LATE = "; the language server did not answer in time, ask again later"
# By the numbers of the Language Server Protocol, from 1.
KINDS = (
    "file module namespace package class method property field constructor enum interface function"
    " variable constant string number boolean array object key null enum-member struct event"
    " operator type-parameter"
).split()
# Row and column, from 0, in UTF-16 code units.
Place = Sequence[int]
# The reply, and the name of the server that gave it.
Reply = Tuple[Any, str]


def find_definitions(
    window: sublime.Window, view: sublime.View, place: Place
) -> Awaitable[Findings]:
    return _request_locations(
        window, view, "definition", "definitionProvider", _position_params(place)
    )


def find_references(
    window: sublime.Window, view: sublime.View, place: Place
) -> Awaitable[Findings]:
    more = {**_position_params(place), "context": {"includeDeclaration": False}}
    return _request_locations(window, view, "references", "referencesProvider", more)


async def _request_locations(
    window: sublime.Window,
    view: sublime.View,
    what: str,
    capability: str,
    params: Mapping[str, Any],
) -> Findings:
    replies = await _send_request(window, view, f"textDocument/{what}", capability, params)
    return _read_findings(replies, _read_locations)


async def symbols_in(window: sublime.Window, view: sublime.View) -> Findings:
    """The symbols that the view's server knows, in the order of the text."""
    what, capability = "textDocument/documentSymbol", "documentSymbolProvider"
    replies = await _send_request(window, view, what, capability, {})
    return _read_findings(replies, partial(_read_symbols, view.file_name() or ""))


async def symbols_named(window: sublime.Window, query: str) -> Findings:
    what, capability = "workspace/symbol", "workspaceSymbolProvider"
    replies = await _send_request(window, None, what, capability, {"query": query})
    return _read_findings(replies, partial(_read_symbols, ""))


def _position_params(place: Place) -> dict[str, Any]:
    return {"position": {"line": place[0], "character": place[1]}}


def _send_request(
    window: sublime.Window,
    view: sublime.View | None,
    method: str,
    capability: str,
    params: Mapping[str, Any],
) -> Answer[Sequence[Reply] | None]:
    """The replies of the servers that can do it: of the one for the view, or of all of the
    window; None if they are late."""
    answer: Answer[Sequence[Reply] | None] = Answer()
    if not all(name in sys.modules for name in (LSP, LSP_URLS, PROTOCOL)):
        answer.give(())
        return answer
    work = partial(_send_on_worker, window, view, method, capability, params, answer)
    queues.on_worker(work)
    queues.on_worker(partial(answer.give, None), PATIENCE)
    return answer


def _send_on_worker(
    window: sublime.Window,
    view: sublime.View | None,
    method: str,
    capability: str,
    params: Mapping[str, Any],
    answer: Answer[Sequence[Reply] | None],
) -> None:
    """On the worker."""
    try:
        servers = _able_servers(window, view, capability)
        replies: list[Reply] = []

        def collect_reply(name: str, reply: Any) -> None:
            replies.append((reply, name))
            if len(replies) == len(servers):
                answer.give(replies)

        if not servers:
            answer.give(())
        for server in servers:
            request = sys.modules[PROTOCOL].Request(method, _document_params(view, params), view)
            name = str(server.config.name)
            failed = partial(_report_failure, collect_reply, name)
            server.send_request_async(request, partial(collect_reply, name), failed)
    except (AttributeError, KeyError, TypeError, ValueError):
        logger.warning("LSP could not be asked", exc_info=True)
        answer.give(())


def _report_failure(heard: Callable[[str, Any], None], name: str, error: Any) -> None:
    logger.info("the language server %s refuses: %s", name, error)
    heard(name, None)


def _able_servers(window: sublime.Window, view: sublime.View | None, capability: str) -> list[Any]:
    """LSP's sessions."""
    manager = sys.modules[LSP].windows.lookup(window)
    found = [session for session in (manager.get_sessions() if manager is not None else ())]
    able = [session for session in found if session.has_capability(capability)]
    if view is None:
        return able
    watching = [each for each in able if each.session_view_for_view_async(view) is not None]
    return watching[:1]


def _document_params(view: sublime.View | None, params: Mapping[str, Any]) -> dict[str, Any]:
    if view is None:
        return dict(params)
    uri = sys.modules[LSP_URLS].filename_to_uri(view.file_name())
    return {"textDocument": {"uri": uri}, **params}


def _read_findings(
    replies: Sequence[Reply] | None, read: Callable[[Any], Iterator[FoundCode]]
) -> Findings:
    """Reads the forms of the Language Server Protocol."""
    if replies is None:
        return Findings(source=LATE)
    rows: list[FoundCode] = []
    names: list[str] = []
    for reply, name in replies:
        try:
            found = list(read(reply))
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
            logger.warning("the reply of %s could not be read", name, exc_info=True)
            continue
        rows += found
        names += [name] if found else []
    rows.sort(key=lambda place: (place.path, place.line, place.column))
    source = f"the language server {', '.join(names)}" if rows else ""
    return Findings(tuple(dict.fromkeys(rows)), source)


def _read_locations(reply: Any) -> Iterator[FoundCode]:
    """The places in a server's reply: one location, several, or links to some."""
    for each in [reply] if isinstance(reply, dict) else reply or ():
        if "targetUri" in each:
            yield from _read_location(each["targetUri"], each["targetSelectionRange"])
        else:
            yield from _read_location(each["uri"], each["range"])


def _read_location(
    uri: str, range: Mapping[str, Any], name: str = "", kind: str = ""
) -> Iterator[FoundCode]:
    """Nothing for what is no file."""
    scheme, path = sys.modules[LSP_URLS].parse_uri(uri)
    if scheme == "file":
        yield _found_code(path, range, name, kind)


def _found_code(path: str, range: Any, name: str, kind: str) -> FoundCode:
    start = range["start"]
    line, column = int(start["line"]) + 1, int(start["character"]) + 1
    return FoundCode(path, line, column, name, kind, is_utf16=True)


def _read_symbols(path: str, reply: Any) -> Iterator[FoundCode]:
    """The symbols in a server's reply: symbols that have children, or symbols that say their
    place."""
    for each in reply or ():
        kind = KINDS[each["kind"] - 1] if 0 < each["kind"] <= len(KINDS) else ""
        name = str(each["name"])
        if "location" in each:
            start = {"start": {"line": 0, "character": 0}}
            place = each["location"]
            yield from _read_location(place["uri"], place.get("range", start), name, kind)
        else:
            yield _found_code(path, each["selectionRange"], name, kind)
            yield from _read_symbols(path, each.get("children"))
