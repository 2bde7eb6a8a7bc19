"""Several PNG pictures as one animated one (APNG), which browsers and GitHub show.

The format (PNG, third edition): the first picture stands as in any PNG, the others as `fdAT`
chunks; `acTL` tells how many there are and `fcTL` how long each stays. Nothing but zlib is needed.
"""

from __future__ import annotations

import struct
import zlib
from typing import List, NamedTuple, Tuple

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_SIZE = struct.Struct(">II")
_FRAME = struct.Struct(">IIIIIHHBB")


class Frame(NamedTuple):
    """A PNG file's bytes, and how many seconds it is shown."""

    png: bytes
    seconds: float


def join_frames(frames: List[Frame]) -> bytes:
    """The bytes of an animated PNG that plays for ever.

    Raises ValueError where there is no frame, or one differs in size or kind from the first.
    """
    if not frames:
        raise ValueError("expected at least one frame, got none")
    header = _read_header(frames[0].png)
    parts = [
        SIGNATURE,
        _make_chunk(b"IHDR", header),
        _make_chunk(b"acTL", _SIZE.pack(len(frames), 0)),
    ]
    number = 0
    for index, frame in enumerate(frames):
        if _read_header(frame.png) != header:
            raise ValueError("expected frames of one size and kind, number %d differs" % index)
        parts.append(_make_chunk(b"fcTL", _make_control(number, header, frame.seconds)))
        number += 1
        data = zlib.compress(zlib.decompress(_read_data(frame.png)), 9)
        if index == 0:
            parts.append(_make_chunk(b"IDAT", data))
            continue
        parts.append(_make_chunk(b"fdAT", struct.pack(">I", number) + data))
        number += 1
    return b"".join(parts) + _make_chunk(b"IEND", b"")


def _make_control(number: int, header: bytes, seconds: float) -> bytes:
    width, height = _SIZE.unpack(header[:8])
    # In milliseconds; each frame covers the whole picture.
    return _FRAME.pack(number, width, height, 0, 0, int(seconds * 1000), 1000, 0, 0)


def _read_header(png: bytes) -> bytes:
    return read_chunks(png)[0][1]


def _read_data(png: bytes) -> bytes:
    return b"".join(data for kind, data in read_chunks(png) if kind == b"IDAT")


def read_chunks(png: bytes) -> List[Tuple[bytes, bytes]]:
    """Kind and content of all chunks; raises ValueError for what is no PNG."""
    if not png.startswith(SIGNATURE):
        raise ValueError("expected a PNG, got %r" % png[:8])
    found, at = [], len(SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack_from(">I", png, at)
        kind, data = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        found.append((kind, data))
        at += 12 + length
    return found


def _make_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
