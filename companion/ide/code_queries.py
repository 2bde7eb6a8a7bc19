"""What a CLI asks of the editor about code, and what it finds, as frozen values. Pure.

Lines and columns count from 1, columns in characters (code points), unless something else is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union


@dataclass(frozen=True)
class Spot:
    """A place in a file of the editor."""

    path: str
    line: int
    column: int


@dataclass(frozen=True)
class FoundCode:
    """One thing in a file: a symbol with its kind, a use of one, or a problem with its severity as
    `kind` and its message as `name`.

    `text` is the line as the editor has it, None if it has to be read from the disk. If the column
    `is_utf16`, it counts UTF-16 code units from 1.
    """

    path: str
    line: int
    column: int
    name: str = ""
    kind: str = ""
    text: str | None = None
    is_utf16: bool = False


@dataclass(frozen=True)
class Findings:
    """What was found, and by whom, in words for a model."""

    rows: tuple[FoundCode, ...] = ()
    source: str = ""


@dataclass(frozen=True)
class DefinitionsOf:
    """Where a symbol is defined: that of the name, or that at the spot."""

    name: str = ""
    spot: Spot | None = None


@dataclass(frozen=True)
class ReferencesTo:
    """Where a symbol is used: that of the name, or that at the spot."""

    name: str = ""
    spot: Spot | None = None


@dataclass(frozen=True)
class SymbolsIn:
    """All symbols of a file."""

    path: str


@dataclass(frozen=True)
class SymbolsNamed:
    """The symbols of the project whose name is the query, or contains it as far as the editor can
    tell."""

    query: str


@dataclass(frozen=True)
class ProblemsIn:
    """What is wrong in the files."""

    paths: tuple[str, ...]


Query = Union[DefinitionsOf, ReferencesTo, SymbolsIn, SymbolsNamed, ProblemsIn]


@dataclass(frozen=True)
class Selected:
    """One selection, from its beginning to its end. `text` may be cut."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


@dataclass(frozen=True)
class Selection:
    """What is selected in a file; an empty selection is a caret."""

    path: str
    selections: tuple[Selected, ...]
