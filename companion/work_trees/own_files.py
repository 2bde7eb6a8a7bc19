"""Writes into the user's own files what they have accepted of a work tree, and nowhere else. All
functions block."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Sequence, Tuple

from .inside import (
    ABSENT,
    FILE,
    FILES,
    LINK,
    NOTHING,
    TreeContent,
    look_at,
    path_in,
    read_content,
    write_content,
)
from .merging import encode_text
from .taken import content_digest

CHANGED = "{} has changed meanwhile: nothing was written. Accept it again."
NO_FILE = "{} is {} here: nothing was written. Change that by hand."
IN_THE_WAY = "There is a file or a folder at {} already: nothing was written."
NOT_WRITTEN = "{} could not be written: {}."
NO_CHARACTER = "{} could not be written: its encoding lacks a character of the new text."

# A path in the user's tree, what is there, and what comes there.
WholeStep = Tuple[str, TreeContent, TreeContent]


class OwnFileKept(Exception):
    """Nothing was written; the text is a sentence for the user."""


@dataclass(frozen=True)
class WantedFile:
    """What is to become of the user's file `path`, whose content has the digest `before`, empty if
    there is none: this text at the path `target`, with that mode, empty for the one that it has; or
    no file if it `is_removal`. `exact` are the bytes of the text, None for those in the form of the
    present file, or of `like` if there is none."""

    path: str
    target: str
    before: str
    text: str
    mode: str = ""
    exact: bytes | None = None
    like: TreeContent = NOTHING
    is_removal: bool = False


def write_wanted(root: str, wanted: WantedFile) -> str:
    """Do that, in one step for each file; gives the mode that the file had before, "" if there was
    none. Raises OwnFileKept."""
    try:
        own = read_content(root, wanted.path)
        if own.mode != ABSENT and own.mode not in FILES:
            what = "a link" if own.mode == LINK else "no file"
            raise OwnFileKept(NO_FILE.format(wanted.path, what))
        if wanted.before != (content_digest(own.data) if own.is_file else ""):
            raise OwnFileKept(CHANGED.format(wanted.path))
        if wanted.is_removal:
            write_content(root, wanted.path, NOTHING)
        else:
            _write_file(root, wanted, own)
    except OSError as error:
        raise OwnFileKept(NOT_WRITTEN.format(wanted.path, error.strerror)) from error
    except UnicodeEncodeError as error:
        raise OwnFileKept(NO_CHARACTER.format(wanted.path)) from error
    return own.mode


def replace_whole(root: str, steps: Sequence[WholeStep]) -> None:
    """Put what is no text in the place of what is known to be there. Raises OwnFileKept."""
    with ExitStack() as failing:
        for path, known, content in steps:
            try:
                if read_content(root, path) != known:
                    raise OwnFileKept(CHANGED.format(path))
                write_content(root, path, content)
            except OSError as error:
                raise OwnFileKept(NOT_WRITTEN.format(path, error.strerror)) from error
            failing.callback(_put_back, root, path, known)
        failing.pop_all()


def _put_back(root: str, path: str, content: TreeContent) -> None:
    """Of a file with two paths another one could not be written."""
    with suppress(OSError):
        write_content(root, path, content)


def _write_file(root: str, wanted: WantedFile, own: TreeContent) -> None:
    """Raises OSError, UnicodeEncodeError, OwnFileKept."""
    data, like = wanted.exact, own if own.is_file else wanted.like
    if data is None:
        data = encode_text(wanted.text, like)
    content = TreeContent(wanted.mode or own.mode or FILE, data)
    if wanted.target == wanted.path:
        if content != own:
            write_content(root, wanted.path, content)
        return
    there, here = look_at(root, wanted.target), look_at(root, wanted.path)
    if there.mode != ABSENT and there != here:
        raise OwnFileKept(IN_THE_WAY.format(wanted.target))
    if there.mode != ABSENT:
        # The file system ignores case, and only that of the name changes.
        write_content(root, wanted.path, content)
        os.rename(path_in(root, wanted.path), path_in(root, wanted.target))
        return
    with ExitStack() as failing:
        write_content(root, wanted.target, content)
        failing.callback(_put_back, root, wanted.target, NOTHING)
        write_content(root, wanted.path, NOTHING)
        failing.pop_all()
