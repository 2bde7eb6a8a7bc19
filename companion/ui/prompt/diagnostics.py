"""Reads what the packages LSP and SublimeLinter have found in a file, if they are installed.

Neither is imported: what they have loaded is looked up, and neither promises to keep it
(docs/sublime.md 9.1, 9.2). If one has changed, it counts as silent, and the log says so.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Iterator, Mapping, Optional, Tuple, TypeVar

import sublime

from ...base.log import logger

LSP, LSP_URLS = "LSP.plugin.core.registry", "LSP.plugin.core.url"
LINTER = "SublimeLinter.lint.persist"
# By LSP's numbers; a server need not give one.
SEVERITIES = {1: "error", 2: "warning", 3: "info", 4: "hint"}

# Problems of a file beyond which those that are new are not looked for.
MAX_KNOWN = 1000

T = TypeVar("T")
# The name of a server or linter, and its report.
Report = Tuple[str, Optional[Tuple[Any, ...]]]
Reports = Mapping[str, Optional[Tuple[Any, ...]]]


@dataclass(frozen=True, order=True)
class Diagnostic:
    """`row` and `column` count from 0; if the column `is_utf16`, it counts UTF-16 code units, else
    characters. `source` is the tool, with the code of its rule."""

    row: int
    column: int
    severity: str
    message: str
    source: str = ""
    is_utf16: bool = False

    @property
    def message_line(self) -> str:
        """The message and the source, in one line."""
        source = f" ({self.source})" if self.source else ""
        return " ".join(self.message.split()) + source

    def text(self) -> str:
        return (
            f"line {self.row + 1}, column {self.column + 1}: {self.severity}: {self.message_line}"
        )


def loaded_sources() -> list[str]:
    """The names of the two packages, of those that are loaded."""
    loaded = {"LSP": LSP, "SublimeLinter": LINTER}
    return [name for name, module in loaded.items() if module in sys.modules]


def diagnostics_of(window: sublime.Window, path: str) -> list[Diagnostic]:
    """The known problems of the file, in the order of its lines, each once."""
    found = [
        *_ask_package("LSP", _of_servers, window, path),
        *_ask_package("SublimeLinter", _of_linters, path),
    ]
    return sorted(set(found))


def source_reports(window: sublime.Window, view: sublime.View) -> Reports:
    """What each server or linter that watches the view's file has reported so far, None while it
    works. Another report has other values, even if it found the same (`are_new`)."""
    servers = _ask_package("LSP", _reports_of_servers, window, view)
    return dict([*servers, *_ask_package("SublimeLinter", _reports_of_linters, view)])


def are_new(before: Reports, now: Reports) -> bool:
    """Whether each that watched the file then has reported since, or watches it no more."""
    return all(name not in now or _is_new(earlier, now[name]) for name, earlier in before.items())


def _is_new(before: tuple[Any, ...] | None, now: tuple[Any, ...] | None) -> bool:
    if before is None or now is None:
        return now is not None
    pairs = zip(before, now)
    same = all(one == other if isinstance(one, int) else one is other for one, other in pairs)
    return len(before) != len(now) or not same


def new_diagnostics(before: Iterable[Diagnostic], now: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics of `now` that `before` has not; lines may have moved."""
    known: defaultdict[object, list[int]] = defaultdict(list)
    for each in before:
        known[_diagnostic_kind(each)].append(each.row)
    groups: defaultdict[object, list[Diagnostic]] = defaultdict(list)
    for each in now:
        groups[_diagnostic_kind(each)].append(each)
    return sorted(
        diagnostic
        for kind, group in groups.items()
        for diagnostic in _without_known(group, known[kind])
    )


def _without_known(group: list[Diagnostic], rows: list[int]) -> Iterator[Diagnostic]:
    """The diagnostics of a group without as many as were known, which are at first those that are
    where one was."""
    there = sorted(group, key=lambda diagnostic: (diagnostic.row not in rows, diagnostic.row))
    yield from there[len(rows) :]


def _diagnostic_kind(diagnostic: Diagnostic) -> tuple[str, str, str]:
    return diagnostic.severity, diagnostic.message, diagnostic.source


def _ask_package(name: str, ask: Callable[..., list[T]], *arguments: Any) -> list[T]:
    try:
        return ask(*arguments)
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError):
        # RuntimeError: a set that another thread changes.
        logger.warning("the diagnostics of %s could not be read", name, exc_info=True)
        return []


def _of_servers(window: sublime.Window, path: str) -> list[Diagnostic]:
    registry, urls = sys.modules.get(LSP), sys.modules.get(LSP_URLS)
    if registry is None or urls is None:
        return []
    uri = urls.filename_to_uri(path)
    return [
        _of_server(each)
        for session in _window_sessions(registry, window)
        for each in _stored_diagnostics(session.diagnostics, uri)
    ]


def _window_sessions(registry: Any, window: sublime.Window) -> Iterable[Any]:
    manager = registry.windows.lookup(window)
    return manager.get_sessions() if manager is not None else ()


def _stored_diagnostics(storage: Any, uri: str) -> list[Any]:
    # The name in releases up to 2.8; later ones have the other.
    read = getattr(storage, "diagnostics_by_document_uri", None)
    found: list[Any] = (read or storage.get_diagnostics_for_uri)(uri)
    return found


def _reports_of_servers(window: sublime.Window, view: sublime.View) -> list[Report]:
    registry, urls, path = sys.modules.get(LSP), sys.modules.get(LSP_URLS), view.file_name()
    if registry is None or urls is None or path is None:
        return []
    uri = urls.filename_to_uri(path)
    found: list[Report] = []
    for session in _window_sessions(registry, window):
        buffer = session.get_session_buffer_for_uri_async(uri)
        if buffer is not None:
            # An empty report replaces the list from release 2.8 on, before that it has a version.
            normal = getattr(urls, "normalize_uri", str)(uri)
            lists = getattr(session.diagnostics, "_diagnostics", {}).get(normal, {}).values()
            version = getattr(buffer, "_diagnostics_version", 0)
            value = (version, *lists, *_stored_diagnostics(session.diagnostics, uri))
            found.append((f"LSP {session.config.name}", value))
    return found


def _of_server(found: Mapping[str, Any]) -> Diagnostic:
    """Reads the form of the Language Server Protocol."""
    start, source = found["range"]["start"], str(found.get("source") or "")
    code = found.get("code")
    return Diagnostic(
        start["line"],
        start["character"],
        SEVERITIES.get(found.get("severity") or 1, "error"),
        str(found["message"]),
        f"{source} {code}".strip() if code is not None else source,
        is_utf16=True,
    )


def _of_linters(path: str) -> list[Diagnostic]:
    persist = sys.modules.get(LINTER)
    if persist is None:
        return []
    return [
        Diagnostic(
            found["line"],
            found["start"],
            str(found["error_type"]),
            str(found["msg"]),
            f"{found['linter']} {found.get('code') or ''}".strip(),
        )
        for found in persist.file_errors.get(path, [])
    ]


def _reports_of_linters(view: sublime.View) -> list[Report]:
    persist: Any = sys.modules.get(LINTER)
    if persist is None or not persist.assigned_linters.get(view.buffer_id()):
        return []
    # Each linter replaces the list. While one runs, that is not the whole report.
    runs = bool(persist.active_procs.get(view.buffer_id()))
    return [("SublimeLinter", None if runs else (persist.file_errors.get(view.file_name()),))]
