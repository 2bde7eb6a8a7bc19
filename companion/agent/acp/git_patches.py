"""The edits of files in version 2 of the protocol: a list of what is done to which file, and a
patch in the form of git. Each piece of the patch becomes the texts before and after it.

Source: the Agent Client Protocol's schema, version 2: `Diff`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Iterator, Mapping

from .members import object_of, objects_of, text_of
from .messages import FileDiff

GIT_PATCH = "git_patch"
SECTION = "diff --git "
HUNK = re.compile(r"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
# How git writes letters of a name between quotes.
ESCAPED = re.compile(r'\\(?:([0-7]{1,3})|(["\\abfnrtv]))')
LETTERS = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
# The most files and pieces of one diff that are read.
MAX_FILES, MAX_PIECES = 1000, 10_000


@dataclass(frozen=True)
class Edits:
    """`diffs` are the pieces of files whose texts are told, `paths` all files that are named.
    `words` say what else is done, one line each."""

    diffs: tuple[FileDiff, ...] = ()
    paths: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


@dataclass
class _Section:
    """The part of a patch about one file: its paths before and after, with what git puts before
    them, and the texts of each piece."""

    paths: list[str] = field(default_factory=list)
    pieces: list[tuple[str, str]] = field(default_factory=list)


def read_edits(told: Mapping[str, Any]) -> Edits:
    """The edits of the content of a call."""
    changes = objects_of(told, "changes")[:MAX_FILES]
    patch = object_of(told, "patch")
    is_known = text_of(patch, "format") == GIT_PATCH
    found = _sections(text_of(patch, "text")) if is_known else iter(())
    sections = list(islice(found, MAX_FILES))
    diffs: list[FileDiff] = []
    words: list[str] = []
    for number, change in enumerate(changes):
        path = text_of(change, "path")
        at = number if len(sections) == len(changes) else None
        section = _section_of(sections, path, at)
        pieces = section.pieces if section is not None else []
        diffs += [FileDiff(path, old, new) for old, new in pieces]
        operation, before = text_of(change, "operation"), text_of(change, "oldPath")
        if not pieces or operation not in ("add", "modify"):
            words.append(f"{operation}: {before} → {path}" if before else f"{operation}: {path}")
    paths = [text_of(change, name) for change in changes for name in ("oldPath", "path")]
    return Edits(tuple(diffs), tuple(dict.fromkeys(filter(None, paths))), tuple(words))


def _section_of(sections: list[_Section], path: str, at: int | None) -> _Section | None:
    """The one of a file; `at` is its place where there is one for each file."""
    named = [section for section in sections if path in section.paths]
    if named:
        return named[0]
    return sections[at] if at is not None and not sections[at].paths else None


def _sections(text: str) -> Iterator[_Section]:
    lines = text.split("\n")
    at, section, count = 0, None, 0
    while at < len(lines):
        line = lines[at]
        found = HUNK.match(line)
        if line.startswith(SECTION):
            if section is not None:
                yield section
            section = _Section()
        elif section is not None and found is not None and count < MAX_PIECES:
            sizes = [1 if size is None else int(size) for size in found.groups()]
            piece, at = _read_piece(lines, at + 1, *sizes)
            section.pieces.append(piece)
            count += 1
            continue
        elif section is not None and line[:4] in ("--- ", "+++ ") and not section.pieces:
            section.paths += _paths_in(line[4:])
        at += 1
    if section is not None:
        yield section


def _read_piece(lines: list[str], at: int, old: int, new: int) -> tuple[tuple[str, str], int]:
    """The texts of a piece with so many lines before and after, and the line behind it."""
    texts: tuple[list[str], list[str]] = ([], [])
    last: tuple[list[str], ...] = ()
    while at < len(lines) and (len(texts[0]) < old or len(texts[1]) < new):
        mark, rest = lines[at][:1], lines[at][1:]
        if mark == "\\":
            _take_line_end(last)
        elif mark in ("-", "+", " ", ""):
            # Some leave out the blank of an empty line.
            last = {"-": texts[:1], "+": texts[1:]}.get(mark, texts)
            for each in last:
                each.append(rest + "\n")
        else:
            break
        at += 1
    if at < len(lines) and lines[at].startswith("\\"):
        _take_line_end(last)
        at += 1
    return ("".join(texts[0]), "".join(texts[1])), at


def _take_line_end(texts: tuple[list[str], ...]) -> None:
    """The last line of these has no end."""
    for each in texts:
        each[-1] = each[-1][:-1]


def _paths_in(told: str) -> list[str]:
    """What a path in a patch may mean: as it is, or without what git puts before it."""
    name = told.split("\t")[0].rstrip("\r")
    if len(name) > 1 and name.startswith('"') and name.endswith('"'):
        name = _without_quotes(name[1:-1])
    if name == "/dev/null":
        return []
    inner = name[2:] if name[:2] in ("a/", "b/") else ""
    return [name, *([inner, "/" + inner] if inner else [])]


def _without_quotes(name: str) -> str:
    def byte_of(found: re.Match[str]) -> str:
        octal, letter = found.groups()
        return chr(int(octal, 8) & 255 if octal else LETTERS[letter])

    # Escapes stand for the bytes of the name; other letters are as they are.
    parts = re.split(r"((?:\\(?:[0-7]{1,3}|[\"\\abfnrtv]))+)", name)
    return "".join(
        ESCAPED.sub(byte_of, part).encode("latin-1").decode("utf-8", "replace")
        if number % 2
        else part
        for number, part in enumerate(parts)
    )
