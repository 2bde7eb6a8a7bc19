"""The present content of a file, read from disk to be shown beside a proposal; writes nothing."""

from __future__ import annotations

import codecs
import hashlib
import os
import stat
from dataclasses import dataclass, replace

from .editor import EditorError

# Byte order marks in the order in which one could be mistaken for another.
_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True)
class Original:
    """What stands on disk. `text` has `\\n` line ends whatever the file has (contract B2.16).

    `exists` is False for a new file. `note` is a sentence where the text cannot be shown as it is,
    else empty. `digest` is that of the bytes, empty where there are none: equal ones say that the
    file is as it was.
    """

    text: str
    exists: bool
    note: str = ""
    digest: str = ""


def read(path: str) -> Original:
    """Read the file at an absolute path.

    Raises EditorError for what can never become a text file (a folder, a device); whatever else
    is wrong becomes a note, for an error would fail the CLI's edit (contract B1.6).
    """
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode):
            kind = "a folder" if stat.S_ISDIR(mode) else "a device"
            raise EditorError(f"Expected filePath to name a file; {path} is {kind}.")
        with open(path, "rb") as file:
            data = file.read()
        return replace(_decode(data), digest=hashlib.sha256(data).hexdigest())
    except FileNotFoundError:
        return Original("", exists=False)
    except OSError as error:
        return Original("", exists=True, note=f"The file cannot be read: {error.strerror}.")


def read_or_note(path: str) -> Original:
    """The same, with a note for what can never become a text file either."""
    try:
        return read(path)
    except EditorError as error:
        return Original("", exists=True, note=str(error))


def _decode(data: bytes) -> Original:
    mark, encoding = next((it for it in _MARKS if data.startswith(it[0])), (b"", "utf-8"))
    try:
        # The CLI keeps UTF-8's mark as the first character (contract B2.17), and so does this.
        text = data[0 if encoding == "utf-8" else len(mark) :].decode(encoding)
    except UnicodeDecodeError:
        if b"\0" in data:
            return Original("", exists=True, note=f"The file is binary; {len(data)} bytes.")
        text = data.decode("latin-1")
        return Original(_unix(text), exists=True, note="The file is not in UTF-8.")
    return Original(_unix(text), exists=True)


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
