"""Animated pictures, checked against what the format says."""

from __future__ import annotations

import struct
import unittest
import zlib

from tools.animation import SIGNATURE, Frame, join_frames, read_chunks


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(grey: int, width: int = 3, parts: int = 1) -> bytes:
    """A picture of two rows in one grey, its data cut into parts."""
    header = struct.pack(">IIBBBBB", width, 2, 8, 0, 0, 0, 0)
    data = zlib.compress((b"\0" + bytes([grey]) * width) * 2, 1)
    size = -(-len(data) // parts)
    cut = [data[at : at + size] for at in range(0, len(data), size)]
    return b"".join(
        [SIGNATURE, chunk(b"IHDR", header), chunk(b"tEXt", b"a\0b")]
        + [chunk(b"IDAT", each) for each in cut]
        + [chunk(b"IEND", b"")]
    )


class Animations(unittest.TestCase):
    def test_every_frame_is_there_with_its_time_and_its_pixels(self) -> None:
        made = join_frames([Frame(png(1), 1.5), Frame(png(2, parts=3), 0.25), Frame(png(3), 2)])
        found = read_chunks(made)
        self.assertEqual(
            [kind for kind, _data in found],
            [b"IHDR", b"acTL", b"fcTL", b"IDAT", b"fcTL", b"fdAT", b"fcTL", b"fdAT", b"IEND"],
        )
        self.assertEqual(struct.unpack(">II", found[1][1]), (3, 0))
        controls = [struct.unpack(">IIIIIHHBB", data) for kind, data in found if kind == b"fcTL"]
        self.assertEqual([control[1:5] for control in controls], [(3, 2, 0, 0)] * 3)
        self.assertEqual([control[5] / control[6] for control in controls], [1.5, 0.25, 2])
        pixels = [found[3][1], found[5][1][4:], found[7][1][4:]]
        self.assertEqual([zlib.decompress(data)[1] for data in pixels], [1, 2, 3])

    def test_frames_are_numbered_without_a_gap(self) -> None:
        found = read_chunks(join_frames([Frame(png(grey), 1) for grey in range(4)]))
        numbers = [data[:4] for kind, data in found if kind in (b"fcTL", b"fdAT")]
        self.assertEqual(numbers, [struct.pack(">I", number) for number in range(7)])

    def test_checksums_are_right(self) -> None:
        made = join_frames([Frame(png(1), 1), Frame(png(2), 1)])
        again = SIGNATURE + b"".join(chunk(kind, data) for kind, data in read_chunks(made))
        self.assertEqual(made, again)

    def test_frames_that_differ_in_size_are_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "number 1 differs"):
            join_frames([Frame(png(1), 1), Frame(png(1, width=4), 1)])

    def test_no_frames_and_no_pictures_are_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "at least one"):
            join_frames([])
        with self.assertRaisesRegex(ValueError, "expected a PNG"):
            join_frames([Frame(b"GIF89a", 1)])
