"""What kind of image some bytes are, and its size."""

from __future__ import annotations

import struct
import unittest

from GeminiCompanion.companion.base.image_size import image_kind

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480)
JPEG = (
    b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0"  # APP0
    b"\xff\xff\xdb\0\3\0"  # a fill byte, and tables
    b"\xff\xc2\0\x0b\x08" + struct.pack(">HH", 480, 640) + b"\1\1\x11\0"
)


class Kinds(unittest.TestCase):
    def test_an_image_is_known_by_its_bytes_with_its_size(self) -> None:
        for data, expected in (
            (PNG, ("image/png", 640, 480)),
            (b"GIF89a" + struct.pack("<HH", 640, 480), ("image/gif", 640, 480)),
            (b"GIF87a" + struct.pack("<HH", 1, 2), ("image/gif", 1, 2)),
            (JPEG, ("image/jpeg", 640, 480)),
            (b"RIFF\0\0\0\0WEBPVP8 ", ("image/webp", 0, 0)),
        ):
            with self.subTest(expected):
                self.assertEqual(image_kind(data), expected)

    def test_one_that_is_cut_has_no_size(self) -> None:
        for data in (PNG[:20], JPEG[:-8], b"GIF89a\0", b"\xff\xd8\xff", JPEG[:20] + b"\xff\xc4"):
            with self.subTest(data):
                found = image_kind(data)
                assert found is not None
                self.assertEqual(found[1:], (0, 0))

    def test_all_else_is_no_image(self) -> None:
        for data in (b"", b"<svg/>", b"BM\0\0", b"RIFF\0\0\0\0WAVE", b"%PDF-1.7"):
            self.assertIsNone(image_kind(data))
