"""Reads what the packages LSP and SublimeLinter have found in a file, if they are installed.

Neither is imported: what they have loaded is looked up, and neither promises to keep it
(docs/sublime.md 9.1, 9.2). If one has changed, it counts as silent, and the log says so.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Callable, Mapping

import sublime

from ...base.log import logger

LSP, LSP_URLS = "LSP.plugin.core.registry", "LSP.plugin.core.url"
LINTER = "SublimeLinter.lint.persist"
# By LSP's numbers; a server need not give one.
SEVERITIES = {1: "error", 2: "warning", 3: "info", 4: "hint"}


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
    def told(self) -> str:
        """The message and the source, in one line."""
        source = f" ({self.source})" if self.source else ""
        return " ".join(self.message.split()) + source

    def text(self) -> str:
        return f"line {self.row + 1}, column {self.column + 1}: {self.severity}: {self.told}"


def sources() -> list[str]:
    """Those of the two packages that are loaded."""
    loaded = {"LSP": LSP, "SublimeLinter": LINTER}
    return [name for name, module in loaded.items() if module in sys.modules]


def of(window: sublime.Window, path: str) -> list[Diagnostic]:
    """The known problems of the file, in the order of its lines, each once."""
    found = [*_asked("LSP", _of_servers, window, path), *_asked("SublimeLinter", _of_linters, path)]
    return sorted(set(found))


def _asked(name: str, ask: Callable[..., list[Diagnostic]], *arguments: Any) -> list[Diagnostic]:
    try:
        return ask(*arguments)
    except (AttributeError, KeyError, TypeError, ValueError):
        logger.warning("the diagnostics of %s could not be read", name, exc_info=True)
        return []


def _of_servers(window: sublime.Window, path: str) -> list[Diagnostic]:
    registry, urls = sys.modules.get(LSP), sys.modules.get(LSP_URLS)
    if registry is None or urls is None:
        return []
    manager = registry.windows.lookup(window)
    found: list[Diagnostic] = []
    for session in manager.get_sessions() if manager is not None else ():
        storage: Any = session.diagnostics
        # The name in releases up to 2.8; later ones have the other.
        read = getattr(storage, "diagnostics_by_document_uri", None)
        read = read or storage.get_diagnostics_for_uri
        found += [_of_server(each) for each in read(urls.filename_to_uri(path))]
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
