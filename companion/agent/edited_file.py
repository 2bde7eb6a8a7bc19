"""A file and an edit of it: what the edit makes of the file, and whether the file holds it. An edit
has the whole texts of a file or those of a piece. Line ends and a byte order mark do not count."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Sequence

from ..base.regular_file import read_regular
from .turn_events import Diff

BOM = "\ufeff"
# The most bytes of a file that is compared with an edit, or told to an agent in one message.
MOST = 32 << 20


def plain_text(text: str) -> str:
    return text[text.startswith(BOM) :].replace("\r\n", "\n")


def formatted_like(content: str, text: str) -> str:
    """The text with the byte order mark and the line ends of the content."""
    text = plain_text(text)
    if "\r\n" in content:
        text = text.replace("\n", "\r\n")
    return BOM + text if content.startswith(BOM) else text


def edited_text(current: str, diff: Diff, text: str) -> str | None:
    """The file's text with `text` in the place of the old text; None if that is not there, or there
    more than once."""
    now, old = plain_text(current), plain_text(diff.old_text)
    if now == old:
        return formatted_like(current, text)
    if old and now.count(old) == 1:
        return formatted_like(current, now.replace(old, plain_text(text)))
    return None


def joined_edit(current: str, pieces: Sequence[Diff]) -> Diff | None:
    """The whole texts of a file that several pieces change; None if one of them is not there, or
    there more than once."""
    text: str | None = plain_text(current)
    for piece in pieces:
        if text is not None:
            text = edited_text(text, piece, piece.new_text)
    return None if text is None else Diff(pieces[0].path, plain_text(current), text)


def before_edit(diff: Diff, after: bytes) -> bytes:
    """The bytes of a file before the agent wrote it, according to its diff. They are empty also if
    there was no file: the diff does not tell the difference, and an undo that removes the file
    could cost a file of the user. Raises ValueError if the file does not contain what the diff
    says."""
    text = after.decode("utf-8")
    reverse = Diff(diff.path, diff.new_text, diff.old_text)
    before = edited_text(text, reverse, diff.old_text)
    if before is None:
        raise ValueError("Expected the file to hold what the diff says.")
    return before.encode("utf-8") if plain_text(before) else b""


def unreported_difference(diff: Diff, before: str | None, after: bytes | None) -> Diff | None:
    """What an edit that was reported as done made of the file beyond what it said; None if the file
    holds what it said, or if that cannot be known. `before` is the file's text before, None if it
    is not known."""
    try:
        now = plain_text((after or b"").decode("utf-8"))
    except UnicodeDecodeError:
        return None
    wanted = plain_text(diff.new_text)
    expected = wanted if before is None else edited_text(before, diff, diff.new_text)
    if now == (wanted if expected is None else plain_text(expected)):
        return None
    is_piece = before is None or plain_text(before) != plain_text(diff.old_text)
    if is_piece and wanted and wanted in now:
        return None
    if is_piece and not wanted and (before is None or plain_text(diff.old_text) not in now):
        # A piece that was taken out.
        return None
    return Diff(diff.path, plain_text(expected or wanted), now)


def read_file(path: str) -> bytes | None:
    """None if there is no file. Raises OSError, also for what is no regular file or too large."""
    try:
        return read_regular(path, MOST)
    except FileNotFoundError:
        return None


def write_file(path: str, data: bytes) -> None:
    """Write in place, as the CLI does: through links, and keeping the file's mode. If the disk does
    not take all of it, the old content is restored. Raises OSError, and then nothing of what is no
    regular file was written."""
    before = read_file(path)
    try:
        _overwrite_file(path, data)
    except OSError:
        with suppress(OSError):
            if before is None:
                os.unlink(path)
            else:
                # The file still has the space for it, even on a full disk.
                _overwrite_file(path, before)
        raise


def _overwrite_file(path: str, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    with open(descriptor, "wb", buffering=0) as file:
        view = memoryview(data)
        while view:
            view = view[file.write(view) :]
        file.truncate()
