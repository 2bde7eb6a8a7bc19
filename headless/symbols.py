"""An imitation of Sublime's index of symbols: by words that define something in many languages.

Sublime's own goes by the scopes of its syntaxes, which are not here. So no figure over this index
says anything of Sublime's.
"""

from __future__ import annotations

import os
import re
from typing import Any, Iterator, List, NamedTuple, Tuple

FUNCTION, TYPE = (3, "f", "Function"), (2, "t", "Type")
MAX_FILE = 1 << 20
MAX_FILES = 20000

_DEFINITION = re.compile(
    r"^[ \t]*(?:export[ \t]+|pub[ \t]+|async[ \t]+|static[ \t]+)*"
    r"(?P<word>def|class|function|func|fn|interface|struct|enum|trait)[ \t]+(?P<name>\w+)",
    re.MULTILINE,
)
_FUNCTIONS = {"def", "function", "func", "fn"}
_HIDDEN = {"node_modules", "__pycache__"}


class Symbol(NamedTuple):
    """`start` counts characters from the beginning of the text."""

    name: str
    start: int
    kind: Tuple[int, str, str]


def definitions(text: str) -> List[Symbol]:
    """In the order of the text."""
    return [
        Symbol(
            match["name"], match.start("name"), FUNCTION if match["word"] in _FUNCTIONS else TYPE
        )
        for match in _DEFINITION.finditer(text)
    ]


def uses(text: str, name: str) -> List[Symbol]:
    """The calls of the name, and its imports."""
    defined = {definition.start for definition in definitions(text)}
    pattern = r"\b%s\b(?=[ \t]*\()|(?<=\bimport )%s\b" % (re.escape(name), re.escape(name))
    return [
        Symbol(name, match.start(), FUNCTION)
        for match in re.finditer(pattern, text)
        if match.start() not in defined
    ]


def texts(window: Any) -> Iterator[Tuple[str, str]]:
    """The path and the text of each open file, and of each other one of the window's folders."""
    seen = set()
    for view in window.views(False):
        if view.file_name:
            seen.add(view.file_name)
            yield view.file_name, view.text.characters
    for path in _paths(window.folders):
        if path not in seen:
            try:
                with open(path, "rb") as file:
                    data = file.read(MAX_FILE)
            except OSError:
                continue
            if b"\0" not in data:
                yield path, data.decode("utf-8", "replace")


def _paths(folders: List[str]) -> Iterator[str]:
    count = 0
    for top in folders:
        for folder, inner, names in os.walk(top):
            inner[:] = sorted(
                name for name in inner if name not in _HIDDEN and not name.startswith(".")
            )
            for name in sorted(names):
                count += 1
                if count > MAX_FILES:
                    return
                yield os.path.join(folder, name)
