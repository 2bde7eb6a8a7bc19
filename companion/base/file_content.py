"""Reads the present content of a file, to show it beside a proposal, and restores it when the user
undoes an accepted edit. Nothing else here writes."""

from __future__ import annotations

import asyncio
import codecs
import hashlib
import io
import os
import secrets
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import BinaryIO, Iterable, Optional, Tuple

from . import file_replace
from .background import in_thread
from .log import logger
from .regular_file import NotRegular, open_regular

# From this size in bytes only the beginning of a file is read, and this many bytes of it.
LARGE = 64 * 1024 * 1024
BEGINNING = 64 * 1024
# Bytes read at a time.
CHUNK = 1024 * 1024
CUT = "only the beginning"
# Seconds after which reading is given up: a drive in a network that is down never answers.
PATIENCE = 10.0
LATE = "The file cannot be read in time."
# Seconds for files to give the time of their last change.
SOON = 1.0


# When a file was written, in nanoseconds since the epoch, and its size; None if there is no file.
Stamp = Optional[Tuple[int, int]]

# Byte order marks; a longer one comes before a shorter one with which it begins.
_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True)
class Original:
    """The content of a file on disk. `text` always has `\\n` line ends (docs/protocol.md 2.16).

    `exists` is False for a new file. `note` is a sentence if the text is missing or only its
    beginning is there. `is_file` is False for what can never become a text file (a folder, a
    device); `note` says so. `warning` is a sentence if the CLI would damage the file. `traits` are
    properties that an edit has to keep and that a view does not show, such as "CRLF". `digest` is
    the digest of the bytes, empty if there are none; equal digests mean that the file has not
    changed. `data` are the bytes, None if not all of them are known.
    """

    text: str
    exists: bool
    note: str = ""
    warning: str = ""
    traits: tuple[str, ...] = ()
    digest: str = ""
    data: bytes | None = None
    is_file: bool = True

    @property
    def known_digest(self) -> str | None:
        """`digest`; None if the content is not known."""
        return None if self.note and not self.digest else self.digest

    @property
    def is_cut(self) -> bool:
        """Whether `text` is only the beginning."""
        return CUT in self.traits

    @property
    def is_late(self) -> bool:
        """Whether the file did not answer in time; it may be unchanged."""
        return self.note == LATE


def read_original(path: str) -> Original:
    """Read the file at an absolute path. Each problem becomes a note, because an error would end
    the CLI's edit (docs/protocol.md 1.6). The boundary of reading: a bug here costs the comparison,
    not the diff."""
    try:
        return _read_file(path)
    except FileNotFoundError:
        return Original("", exists=False)
    except OSError as error:
        note = f"The file cannot be read: {error.strerror}."
    except UnicodeEncodeError:
        note = "The file cannot be read: this system's encoding lacks a character of its name."
    except Exception:
        logger.exception("a file could not be read")
        note = "The file cannot be read; the log of Gemini Companion has more."
    return Original("", exists=True, note=note)


def file_stamp(path: str) -> Stamp:
    """The stamp of a file; it stays the same while nobody writes the file."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size


class Stamps:
    """The stamps of files, each read in a thread of its own: a file on a drive that hangs costs one
    thread and delays no other file. The companion's loop owns it."""

    def __init__(self) -> None:
        self._looks: dict[str, asyncio.Future[Stamp]] = {}

    async def read_stamps(self, paths: Iterable[str]) -> dict[str, Stamp]:
        """The stamps by path, without files that do not answer within SOON seconds."""
        paths = set(paths)
        for path in paths - set(self._looks):
            self._looks[path] = look = asyncio.ensure_future(in_thread(partial(file_stamp, path)))
            look.add_done_callback(partial(self._forget_look, path))
        looks = {path: self._looks[path] for path in paths}
        if looks:
            await asyncio.wait(list(looks.values()), timeout=SOON)
        return {path: look.result() for path, look in looks.items() if look.done()}

    def _forget_look(self, path: str, look: asyncio.Future[Stamp]) -> None:
        del self._looks[path]


def put_back(path: str, before: Original, after: str | None) -> tuple[str, Original | None]:
    """Restore the file to `before`, if its text is still `after` (`\\n` line ends, None for no
    file).

    Gives a sentence about what went wrong; and the present file if it has become something else,
    which then stays. The file keeps its mode, and a symbolic link stays a link.
    """
    present = read_original(path)
    mark = "\ufeff"
    found = present.text.lstrip(mark) if present.exists else None
    if found != (after.lstrip(mark) if after is not None else None) or present.note:
        return "", present
    try:
        if not before.exists:
            if present.exists:
                os.remove(path)
        elif before.data is not None:
            if not present.exists:
                # Its folder may be gone with it.
                os.makedirs(os.path.dirname(os.path.realpath(path)), exist_ok=True)
            _write_in_one_step(os.path.realpath(path), before.data)
        else:
            return "Only part of the old text is known; nothing was undone.", None
    except OSError as error:
        return f"The edit could not be undone: {path} ({error.strerror}).", None
    return "", None


def _write_in_one_step(path: str, data: bytes) -> None:
    """Write the file in one step: after a full disk, a kill or a power cut, either the old file or
    the new one is there. Raises OSError."""
    unfinished = f"{path}.{secrets.token_hex(8)}.unfinished"
    try:
        with open(unfinished, "xb") as file:
            file.write(data)
            file.flush()
            file_replace.sync_file(file.fileno())
        with suppress(FileNotFoundError):
            shutil.copymode(path, unfinished)
        file_replace.replace_file(unfinished, path)
        file_replace.sync_folder(os.path.dirname(path))
    except OSError:
        with suppress(OSError):
            os.remove(unfinished)
        raise


async def in_time(path: str) -> Original:
    """The result of `read_original`, or a note after PATIENCE seconds."""
    try:
        return await in_thread(partial(read_original, path), PATIENCE)
    except (asyncio.TimeoutError, RuntimeError):
        # The system may also give no thread.
        return Original("", exists=True, note=LATE)


def _read_file(path: str) -> Original:
    """Raises OSError, UnicodeEncodeError."""
    try:
        with open_regular(path) as file:
            original = _in_pieces(file)
    except NotRegular as error:
        note = f"Expected filePath to name a file; {path} is {error.kind}."
        return Original("", exists=True, note=note, is_file=False)
    if os.access(path, os.W_OK):
        return original
    return replace(original, traits=original.traits + ("read-only",))


def _in_pieces(file: BinaryIO) -> Original:
    """One long read would block every other thread. Reads no further than the size at the
    beginning: some files grow all the time, and those of /proc have no size and may have no end."""
    size, end = os.fstat(file.fileno()).st_size, time.monotonic() + PATIENCE
    digest, data = hashlib.sha256(), bytearray()
    for chunk in iter(lambda: file.read(min(CHUNK, size - file.tell())), b""):
        digest.update(chunk)
        if size <= LARGE or not data:
            data += chunk
        if time.monotonic() > end:
            return Original("", exists=True, note=LATE)
    if not size and file.read(1):
        return Original("", exists=True, note="The size of the file is unknown.")
    if size <= LARGE:
        whole = bytes(data)
        return replace(_decode_content(whole, True), digest=digest.hexdigest(), data=whole)
    original = _decode_content(bytes(data[:BEGINNING]), False)
    if not original.note:
        note = f"The file has {size} bytes; only its beginning is shown."
        original = replace(original, note=note, traits=original.traits + (CUT,))
    return replace(original, digest=digest.hexdigest())


def of_bytes(data: bytes) -> Original:
    """The result of `read_original` for a file with these bytes."""
    return replace(_decode_content(data, True), digest=hashlib.sha256(data).hexdigest(), data=data)


def _decode_content(data: bytes, whole: bool) -> Original:
    mark, encoding = next((row for row in _MARKS if data.startswith(row[0])), (b"", "utf-8"))
    try:
        # UTF-8's mark stays the first character, as it does for the CLI (docs/protocol.md 2.17).
        start = 0 if encoding == "utf-8" else len(mark)
        text, ends = _decode_text(data, start, encoding, whole)
    except UnicodeDecodeError:
        if b"\0" in data:
            note = f"The file is binary; {len(data)} bytes." if whole else "The file is binary."
            return Original("", exists=True, note=note, warning=note)
        mark, encoding = b"", ""
        text, ends = _decode_text(data, 0, "latin-1", whole)
    warning, traits = "", ends
    if encoding != "utf-8":
        name = encoding[:6].upper() or "an encoding other than UTF-8"
        warning, traits = f"The file is in {name}.", (name,) + traits
    elif mark:
        traits = ("BOM",) + traits
    return Original(text, exists=True, warning=warning, traits=traits)


def _decode_text(
    data: bytes, start: int, encoding: str, whole: bool
) -> tuple[str, tuple[str, ...]]:
    """The text with `\\n` line ends, and a description of its own line ends. Decodes in pieces,
    because one long call would block every other thread. Raises UnicodeDecodeError."""
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder(encoding)(), translate=True)
    bounds = range(start, len(data), CHUNK)
    parts = [decoder.decode(data[at : at + CHUNK]) for at in bounds]
    text = "".join([*parts, decoder.decode(b"", final=whole)])
    newlines = decoder.newlines or ()
    ends = (newlines,) if isinstance(newlines, str) else newlines
    found = []
    if "\r\n" in ends:
        found.append("mixed line ends" if "\n" in ends else "CRLF")
    if "\r" in ends:
        found.append("CR")
    if whole and text and not text.endswith("\n"):
        found.append("no final line end")
    return text, tuple(found)


def unix_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
