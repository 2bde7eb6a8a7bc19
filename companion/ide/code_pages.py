"""One page of what was found in the code, as a CLI may be told it; in a thread, for it asks the
disk."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Callable, Sequence

from ..base.regular_file import read_beginning
from .code_queries import FoundCode
from .sharing import Gate

# Rows of one page.
ROWS = 50
# Characters of a line that are quoted.
MAX_LINE = 200
# Bytes of a file that are read for the lines to be quoted.
MAX_FILE = 8 << 20

_BREAK = re.compile("\r\n|\r|\n")


@dataclass(frozen=True)
class CodePage:
    """`rows` from the number `offset` on; whether there are `more`."""

    rows: tuple[FoundCode, ...]
    offset: int
    more: bool


def code_page(found: Sequence[FoundCode], gate: Gate, offset: int, quotes: bool) -> CodePage:
    """Only of files that may be told. Where it `quotes`, each row has the text of its line."""
    reason = lru_cache(maxsize=None)(gate.reason_to_hide)
    told = [row for row in found if not reason(row.path)]
    rows = told[offset : offset + ROWS]
    if quotes:
        lines = lru_cache(maxsize=None)(_read_lines)
        rows = [_quote_line(row, lines) for row in rows]
    return CodePage(tuple(rows), offset, len(told) > offset + ROWS)


def _quote_line(row: FoundCode, lines: Callable[[str], Sequence[str]]) -> FoundCode:
    column, line = row.column, row.text
    if line is None:
        known = lines(row.path)
        line = known[row.line - 1] if row.line <= len(known) else ""
    if row.is_utf16:
        column = count_characters(line, row.column - 1) + 1
    return FoundCode(row.path, row.line, column, row.name, row.kind, line.strip()[:MAX_LINE])


def count_characters(line: str, units: int) -> int:
    """The characters in the first so many UTF-16 code units of the line.

    >>> count_characters("a\\U0001f600b", 3)
    2
    """
    if line.isascii():
        return units
    start = line.encode("utf-16-le", "surrogatepass")[: 2 * units]
    return len(start.decode("utf-16-le", "ignore"))


def _read_lines(path: str) -> Sequence[str]:
    """The file's lines; none if it cannot be read."""
    try:
        return _BREAK.split(read_beginning(path, MAX_FILE).decode("utf-8", "replace"))
    except OSError:
        return ()
