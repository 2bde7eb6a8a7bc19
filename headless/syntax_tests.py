"""Runs the tests of a syntax: files in its language, whose comments say what scopes are above."""

from __future__ import annotations

import re
from typing import Any, Iterator, List, NamedTuple, Optional, Tuple

from . import grammars, parsing, patterns, selectors

_HEAD = re.compile(r'^(?P<token>\S+)\s+SYNTAX TEST\s+(?:[\w-]+\s+)*"(?P<syntax>[^"]+)"(?P<end>.*)')
_FAR = re.compile(r"^\s*(?P<marks>\^+)(?P<selector>.*)$")
_NEAR = re.compile(r"^\s*<(?P<marks>-+)(?P<selector>.*)$")
# What the faster of Sublime's two engines cannot do.
_BACKTRACKING = re.compile(r"\(\?<[=!]|\(\?>|[*+?}]\+|\\[1-9]|\\[kg]<|\(\?\(")


class Assertion(NamedTuple):
    """Columns from 0, of the line that was tested; `row` is the line of the assertion itself."""

    row: int
    tested: int
    columns: List[int]
    selector: str


def run(editor: Any, path: str) -> Tuple[int, List[str]]:
    """How many characters were asserted on, and a line for each that is not as it should be.

    Raises FileNotFoundError and ValueError.
    """
    text = editor.packages.load(path).decode("utf-8").replace("\r\n", "\n")
    head = _HEAD.match(text)
    if head is None:
        raise ValueError('expected a first line with SYNTAX TEST "...", got %r' % text[:60])
    grammar = editor.syntaxes.grammar(head.group("syntax"))
    if grammar is None:
        raise ValueError("there is no syntax %s" % head.group("syntax"))
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    parsed = parsing.parse(grammar, text)
    count, failures = 0, []
    for assertion in assertions(lines, head.group("token"), head.group("end").strip()):
        for column in assertion.columns:
            count += 1
            scope = " ".join(parsed.at(starts[assertion.tested] + column))
            if not selectors.score(scope, assertion.selector):
                place = "%s:%d:%d" % (path, assertion.row + 1, column + 1)
                failures.append("%s: [%s] does not match [%s]" % (place, assertion.selector, scope))
    return count, failures


def assertions(lines: List[str], token: str, end: str = "") -> Iterator[Assertion]:
    """Those of a file; each tests the last line that has none itself.

    Comments begin with `token` and end with `end`.
    """
    tested = 0
    for row, line in enumerate(lines):
        if end and line.rstrip().endswith(end):
            line = line.rstrip()[: -len(end)]
        found = _assertion(row, tested, line, token)
        if found is None:
            tested = row
        elif found.columns:
            yield found


def _assertion(row: int, tested: int, line: str, token: str) -> Optional[Assertion]:
    begin = line.find(token)
    if begin < 0 or line[:begin].strip() or row == 0:
        return None
    rest = line[begin + len(token) :]
    far, near = _FAR.match(rest), _NEAR.match(rest)
    if far is not None:
        first = begin + len(token) + far.start("marks")
        columns = list(range(first, first + len(far.group("marks"))))
        return Assertion(row, tested, columns, far.group("selector").strip())
    if near is not None:
        columns = list(range(begin, begin + len(near.group("marks"))))
        return Assertion(row, tested, columns, near.group("selector").strip())
    # A symbol that is asserted on, which nobody here knows.
    return Assertion(row, tested, [], "") if rest.strip().startswith("@") else None


def incompatible(editor: Any, path: str) -> List[Tuple[Tuple[int, int], int, str]]:
    """Row and column, length, and a sentence for each pattern that needs the slower engine."""
    data = editor.packages.load(path)
    if grammars.definition(data) is None or not patterns.is_available():
        raise ValueError("%s cannot be read" % path)
    found = []
    for row, line in enumerate(data.decode("utf-8").split("\n")):
        match = re.match(r"\s*-?\s*(?:match|escape|first_line_match):\s*(.*)$", line)
        hit = _BACKTRACKING.search(match.group(1)) if match else None
        if match and hit:
            column = match.start(1) + hit.start()
            found.append(((row, column), len(hit.group()), "%s needs backtracking" % hit.group()))
    return found
