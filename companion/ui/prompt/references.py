"""Files and lines in the form of a CLI's prompt: `@src/a.py#L10-20`. Pure.

A prompt reads a path up to the first blank and up to some punctuation marks. A backslash, or on
Windows a pair of quotes, includes them (docs/protocol.md 8.53).
"""

from __future__ import annotations

import ntpath
import os
import posixpath
import re
from typing import Sequence

from ...base.path_maps import PathMaps

SPECIAL = re.compile(r"""[ \t,;!?()\[\]{}|*$`'"#&<>~\\]""")
SPECIAL_ON_WINDOWS = re.compile(r"[\s,;!?()\[\]{}&^='+`~%$@#]")
CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class NoReference(Exception):
    """A prompt cannot name the file; the text is a sentence for the user."""


def file_reference(
    path: str,
    folders: Sequence[str],
    rows: tuple[int, int] | None = None,
    windows: bool = os.name == "nt",
) -> str:
    """The file, relative to the first of the folders that contains it, else with its whole path.
    `rows` are its first and last row, from 0. Raises NoReference.

    >>> file_reference("/home/ann/my file.py", ["/home/ann"], (9, 11))
    '@my\\\\ file.py#L10-12'
    """
    if CONTROL.search(path):
        raise NoReference(
            f"A prompt cannot name {path!r}: there is a line break or the like in it."
        )
    name = relative_path(path, folders, windows)
    return (
        "@"
        + (_quote_name(name) if windows else _escape_name(name))
        + (f"#{line_range(*rows)}" if rows else "")
    )


def remote_reference(
    path: str, folders: Sequence[str], maps: PathMaps, rows: tuple[int, int] | None = None
) -> str:
    """The reference to a file for CLIs that know the editor's files by these maps. Raises
    NoReference."""
    remote = [maps.to_remote(folder) for folder in folders]
    return file_reference(maps.to_remote(path), remote, rows, maps.is_remote_windows)


def line_range(first: int, last: int) -> str:
    """`first` and `last` are rows, from 0.

    >>> line_range(9, 11)
    'L10-12'
    """
    return f"L{first + 1}" if first == last else f"L{first + 1}-{last + 1}"


def relative_path(path: str, folders: Sequence[str], windows: bool = os.name == "nt") -> str:
    paths = ntpath if windows else posixpath
    for folder in folders:
        top = paths.join(folder, "")
        if paths.normcase(path).startswith(paths.normcase(top)):
            return path[len(top) :]
    return path


def _escape_name(name: str) -> str:
    escaped = SPECIAL.sub(r"\\\g<0>", name)
    # A dot at the end would count as the end of the sentence.
    return escaped[:-1] + "\\." if escaped.endswith(".") else escaped


def _quote_name(name: str) -> str:
    name = name.replace("\\", "/")
    return f'"{name}"' if SPECIAL_ON_WINDOWS.search(name) else name
