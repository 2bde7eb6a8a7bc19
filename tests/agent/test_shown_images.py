"""The images that an agent has shown, on disk."""

from __future__ import annotations

import os
import tempfile
import unittest
from unittest import mock

from GeminiCompanion.companion.agent.turn import shown_images
from GeminiCompanion.companion.agent.turn.shown_images import ShownImages

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x03\0\0\0\x02"


class Kept(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        self.images = ShownImages(self.folder)

    def test_the_same_bytes_are_kept_once_with_a_name_that_tells_what_they_are(self) -> None:
        first, second = self.images.add(PNG), self.images.add(PNG)
        assert first is not None
        self.assertEqual(first, second)
        self.assertEqual(os.listdir(self.images.folder), [first.id + ".png"])
        self.assertEqual((first.width, first.height, first.size), (3, 2, len(PNG)))
        self.assertEqual(self.images.size_of(first.id), len(PNG))
        self.assertEqual(self.images.read_data(first.id), PNG)

    def test_what_is_not_there_is_none(self) -> None:
        for id in ("0" * 32, "", "..", "../images"):
            self.assertIsNone(self.images.read_data(id))
            self.assertIsNone(self.images.size_of(id))

    def test_neither_too_many_nor_too_large_ones_are_kept(self) -> None:
        with mock.patch.object(shown_images, "MAX_COUNT", 2):
            kept = [self.images.add(PNG + bytes([number])) for number in range(3)]
        self.assertEqual([each is not None for each in kept], [True, True, False])
        with mock.patch.object(shown_images, "MAX_ALL", 3 * len(PNG)):
            self.assertIsNone(self.images.add(PNG + b"\3"))
        with mock.patch.object(shown_images, "MAX_BYTES", len(PNG)):
            self.assertIsNone(self.images.add(PNG + b"\4"))
        self.assertIsNone(self.images.add(b"<svg/>"))

    def test_those_that_are_there_are_copied(self) -> None:
        kept = self.images.add(PNG)
        assert kept is not None
        other = ShownImages(os.path.join(self.folder, "other"))
        self.images.copy_to([kept.id, "0" * 32], other)
        self.assertEqual(other.read_data(kept.id), PNG)
