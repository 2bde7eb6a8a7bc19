"""Places named in a text, such as a compiler's output, by the expressions of build systems."""

from __future__ import annotations

import os
import re
from typing import Any, Iterator, Tuple

Found = Tuple[str, int, int, str]


def found(text: str, file_regex: str, line_regex: str, base: str) -> Iterator[Found]:
    """File, line, column (from 1) and message of every place.

    Groups of `file_regex`: file, line, column, message. Where it names no line, those of
    `line_regex` count for that file: line, column, message. Files are relative to `base`. A column
    that nobody names is 0, and so is a line where there is no `line_regex`.
    """
    if not file_regex:
        return
    file = ""
    for line in text.split("\n"):
        match = re.search(file_regex, line)
        if match is not None:
            file = os.path.join(base, _group(match, 1))
            if _group(match, 2).isdigit() or not line_regex:
                yield _place(file, match, 2)
            continue
        match = re.search(line_regex, line) if line_regex and file else None
        if match is not None:
            yield _place(file, match, 1)


def _place(file: str, match: Any, first: int) -> Found:
    line, column = (_group(match, first + more) for more in (0, 1))
    return (
        file,
        int(line) if line.isdigit() else 0,
        int(column) if column.isdigit() else 0,
        _group(match, first + 2),
    )


def _group(match: Any, number: int) -> str:
    return (match.group(number) or "") if number <= match.re.groups else ""
