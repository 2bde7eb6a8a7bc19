"""Compresses an answer for a client that accepts gzip. Knows no route.

The length of a compressed answer says something of its content. So the length is blurred, and
whoever sends an answer says whether it may be compressed: never one with a secret of the server.
"""

from __future__ import annotations

import itertools
import secrets
import struct
import zlib
from typing import Iterator, Mapping

# Shorter answers are not compressed.
LEAST = 1024
# Fast: these answers are made for one client, and texts become small all the same.
LEVEL = 1
# The beginning of a file in gzip that has a name; the name is what blurs the length.
HEAD = b"\x1f\x8b\x08\x08\0\0\0\0\0\xff"
# The most characters of the name.
LONGEST = 100


def compress_answer(
    accepted: str, headers: Mapping[str, str], body: Iterator[bytes]
) -> tuple[Mapping[str, str], Iterator[bytes]]:
    """Headers and pieces of the answer; `accepted` is the request's Accept-Encoding."""
    vary = ", ".join(filter(None, (headers.get("Vary", ""), "Accept-Encoding")))
    first = next(body, b"")
    whole = itertools.chain((first,), body)
    if len(first) < LEAST or not accepts_gzip(accepted):
        return {**headers, "Vary": vary}, whole
    return {**headers, "Vary": vary, "Content-Encoding": "gzip"}, _compress_pieces(whole)


def accepts_gzip(accepted: str) -> bool:
    """Whether the header Accept-Encoding names gzip, or everything, and does not exclude it."""
    weights: dict[str, str] = {}
    for each in accepted.lower().split(","):
        name, _, parameter = each.partition(";")
        weights[name.strip()] = parameter.replace(" ", "")
    weight = weights.get("gzip", weights.get("*", "q=0"))
    return not weight.startswith("q=") or weight[2:].strip("0.") != ""


def _compress_pieces(pieces: Iterator[bytes]) -> Iterator[bytes]:
    work = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    checksum, size = 0, 0
    ready = [HEAD, b"x" * secrets.randbelow(LONGEST), b"\0"]
    for piece in pieces:
        checksum, size = zlib.crc32(piece, checksum), size + len(piece)
        ready.append(work.compress(piece))
        # Some pieces only fill what is compressed together with the next one.
        if ready[-1]:
            yield b"".join(ready)
            ready.clear()
    yield b"".join([*ready, work.flush(), struct.pack("<II", checksum, size & 0xFFFFFFFF)])
