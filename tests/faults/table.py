"""The faults: what the code would do wrongly, and the change that makes it do so.

They stand in faults.txt: below the name of each file, with a blank line before each,

    what would be wrong
    - what stands once in the file, in one line or several
    + what comes into its place; without such lines, the lines above go
    = why a fault that no test notices is none
    @ the files of tests/ui that have to notice it, for faults of the editor's side
"""

from __future__ import annotations

import os
from typing import Iterator, NamedTuple

TEXT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "faults.txt")
FILE, COMMENT = "== ", "#"


class Fault(NamedTuple):
    """In the file, `right` stands once and becomes `wrong`. `equal` and `tests` are empty where
    faults.txt has no such line."""

    name: str
    file: str
    right: str
    wrong: str
    equal: str = ""
    tests: tuple[str, ...] = ()


def _read(text: str) -> Iterator[Fault]:
    file = ""
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith(COMMENT)]
        if lines and lines[0].startswith(FILE):
            file = lines[0][len(FILE) :]
        elif lines:
            yield _fault(lines[0], file, lines[1:])


def _fault(name: str, file: str, lines: list[str]) -> Fault:
    of = {mark: [line[2:] for line in lines if line[0] == mark] for mark in "-+=@"}
    right, wrong = "\n".join(of["-"]), "\n".join(of["+"])
    if not of["+"]:
        right += "\n"
    return Fault(name, file, right, wrong, " ".join(of["="]), tuple(" ".join(of["@"]).split()))


with open(TEXT, encoding="utf-8") as opened:
    FAULTS = tuple(_read(opened.read()))
