"""Files on disk: bytes to text and back in the encodings and line endings the editor names."""

from __future__ import annotations

import codecs
import os
from typing import Dict, NamedTuple, Optional, Tuple

# Sublime's name -> Python codec and the mark that opens the file.
ENCODINGS: Dict[str, Tuple[str, bytes]] = {
    "UTF-8": ("utf-8", b""),
    "UTF-8 with BOM": ("utf-8", codecs.BOM_UTF8),
    "UTF-16 LE": ("utf-16-le", b""),
    "UTF-16 LE with BOM": ("utf-16-le", codecs.BOM_UTF16_LE),
    "UTF-16 BE": ("utf-16-be", b""),
    "UTF-16 BE with BOM": ("utf-16-be", codecs.BOM_UTF16_BE),
    "Western (Windows 1252)": ("cp1252", b""),
    "Western (ISO 8859-1)": ("iso-8859-1", b""),
    "Western (ISO 8859-15)": ("iso-8859-15", b""),
    "Western (Mac Roman)": ("mac-roman", b""),
    "DOS (CP 437)": ("cp437", b""),
    "Central European (Windows 1250)": ("cp1250", b""),
    "Central European (ISO 8859-2)": ("iso-8859-2", b""),
    "Cyrillic (Windows 1251)": ("cp1251", b""),
    "Cyrillic (KOI8-R)": ("koi8-r", b""),
    "Cyrillic (ISO 8859-5)": ("iso-8859-5", b""),
    "Greek (Windows 1253)": ("cp1253", b""),
    "Turkish (Windows 1254)": ("cp1254", b""),
    "Hebrew (Windows 1255)": ("cp1255", b""),
    "Arabic (Windows 1256)": ("cp1256", b""),
    "Baltic (Windows 1257)": ("cp1257", b""),
    "Vietnamese (Windows 1258)": ("cp1258", b""),
}
HEXADECIMAL = "Hexadecimal"
FALLBACK = "Western (Windows 1252)"
_HEX_LINE = 16  # bytes shown on one row of a hexadecimal buffer
BREAKS = {"Unix": "\n", "Windows": "\r\n", "CR": "\r"}


class Content(NamedTuple):
    """What a file holds, as a buffer keeps it: line feeds only, and how to write it back."""

    text: str
    encoding: str
    line_endings: str


class Stamp(NamedTuple):
    """Enough of a file's state to see that it changed."""

    modified: int
    size: int


def stamp(path: str) -> Optional[Stamp]:
    """The state of a file on disk, None where there is none to read."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return Stamp(status.st_mtime_ns, status.st_size)


def read(path: str) -> Content:
    """Read a file as the editor would; raises OSError."""
    with open(path, "rb") as file:
        return decode(file.read())


def write(path: str, content: Content) -> None:
    """Write in place, so that owner, mode and links stay; raises OSError, ValueError."""
    data = encode(content)
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def decode(data: bytes) -> Content:
    for name, (codec, mark) in ENCODINGS.items():
        if mark and data.startswith(mark):
            try:
                return _content(data[len(mark) :].decode(codec), name)
            except UnicodeDecodeError:
                break
    if b"\0" in data:
        return Content(_to_hex(data), HEXADECIMAL, "Unix")
    try:
        return _content(data.decode("utf-8"), "UTF-8")
    except UnicodeDecodeError:
        return _content(_western(data), FALLBACK)


def _western(data: bytes) -> str:
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        # Five bytes mean nothing in Windows 1252; they pass through as control characters.
        return "".join(_western_byte(byte) for byte in data)


def _western_byte(byte: int) -> str:
    try:
        return bytes((byte,)).decode("cp1252")
    except UnicodeDecodeError:
        return chr(byte)


def _content(text: str, encoding: str) -> Content:
    endings = _line_endings(text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return Content(text, encoding, endings)


def _line_endings(text: str) -> str:
    """The first line break decides; a file without any is a Unix one."""
    feed, carriage = text.find("\n"), text.find("\r")
    if carriage == -1 or -1 < feed < carriage:
        return "Unix"
    return "Windows" if feed == carriage + 1 else "CR"


def encode(content: Content) -> bytes:
    """The bytes of a buffer; raises UnicodeEncodeError or, for bad hexadecimal, ValueError."""
    if content.encoding == HEXADECIMAL:
        return bytes.fromhex(content.text)
    codec, mark = ENCODINGS[content.encoding]
    text = content.text
    if content.line_endings != "Unix":
        text = text.replace("\n", BREAKS[content.line_endings])
    try:
        return mark + text.encode(codec)
    except UnicodeEncodeError:
        if codec != "cp1252":
            raise
        return b"".join(_western_character(character) for character in text)


def _western_character(character: str) -> bytes:
    try:
        return character.encode("cp1252")
    except UnicodeEncodeError:
        if "\x80" <= character <= "\x9f":
            return bytes((ord(character),))
        raise


def _to_hex(data: bytes) -> str:
    rows = (data[at : at + _HEX_LINE] for at in range(0, len(data), _HEX_LINE))
    return "\n".join(_hex_row(row) for row in rows)


def _hex_row(row: bytes) -> str:
    return " ".join(row[at : at + 2].hex() for at in range(0, len(row), 2))


def encoding_name(name: str) -> str:
    """Sublime's own spelling of an encoding; raises ValueError that lists what is known."""
    for known in list(ENCODINGS) + [HEXADECIMAL]:
        if known.lower() == name.lower():
            return known
    raise ValueError("unknown encoding %r; known are %s" % (name, ", ".join(ENCODINGS)))


def line_ending_name(name: str) -> str:
    """Raises ValueError for anything but unix, windows and cr."""
    for known in BREAKS:
        if known.lower() == name.lower():
            return known
    raise ValueError("expected Unix, Windows or CR as line ending, got %r" % name)
