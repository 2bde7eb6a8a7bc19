"""What kind of image some bytes are, and how many pixels it has: read from its beginning, without
decoding it. Pure."""

from __future__ import annotations

import struct
from typing import Iterator, NamedTuple

PNG, JPEG, GIF, WEBP = "image/png", "image/jpeg", "image/gif", "image/webp"

_PNG_SIGN = b"\x89PNG\r\n\x1a\n"
# Markers of JPEG without a length, and those of the frames, which have the size.
_BARE = frozenset((0x01, *range(0xD0, 0xDA)))
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


class ImageKind(NamedTuple):
    """`width` and `height` are in pixels, 0 where they are not known."""

    media_type: str
    width: int = 0
    height: int = 0


def image_kind(data: bytes) -> ImageKind | None:
    """None for all that is no PNG, JPEG, GIF or WebP, whatever it is called.

    Source: RFC 2083 (PNG) 4.1.1, GIF89a 18, ITU T.81 (JPEG) B.1.1 and B.2.2, RFC 9649 (WebP).
    """
    if data.startswith(_PNG_SIGN):
        has_size = len(data) >= 24 and data[12:16] == b"IHDR"
        return ImageKind(PNG, *(struct.unpack(">II", data[16:24]) if has_size else ()))
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return ImageKind(GIF, *(struct.unpack("<HH", data[6:10]) if len(data) >= 10 else ()))
    if data.startswith(b"\xff\xd8\xff"):
        return ImageKind(JPEG, *next(_frame_sizes(data), ()))
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return ImageKind(WEBP)
    return None


def _frame_sizes(data: bytes) -> Iterator[tuple[int, int]]:
    """The width and height of each frame."""
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF or marker in _BARE:
            at += 1 if marker == 0xFF else 2
            continue
        if marker in _FRAMES and at + 9 <= len(data):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            yield width, height
        at += 2 + max(int.from_bytes(data[at + 2 : at + 4], "big"), 2)
