"""Whole lines at the end of a file: all of them or none."""

from __future__ import annotations

import os
import stat
import sys
import unittest
from typing import Any
from unittest import mock

from GeminiCompanion.companion.base import line_file
from GeminiCompanion.companion.base.line_file import LineFile

from ..support import temp_folder

FULL = OSError(28, "No space left on device")


class Appending(unittest.TestCase):
    def setUp(self) -> None:
        self.path = os.path.join(temp_folder(self), "lines")
        self.file = LineFile(self.path)
        self.file.append_lines(b"one\n", is_new=True, is_lasting=False)

    def text(self) -> bytes:
        with open(self.path, "rb") as file:
            return file.read()

    def test_lines_are_appended_and_their_size_is_known(self) -> None:
        self.file.append_lines(b"two\nthree\n", is_new=False, is_lasting=False)
        self.assertEqual(self.text(), b"one\ntwo\nthree\n")
        self.assertEqual(self.file.size, len(self.text()))

    def test_a_line_that_somebody_began_only_does_not_cost_the_next_one(self) -> None:
        with open(self.path, "ab") as file:
            file.write(b"half a li")
        LineFile(self.path).append_lines(b"two\n", is_new=False, is_lasting=False)
        self.assertEqual(self.text(), b"one\nhalf a li\ntwo\n")

    def test_what_the_disk_takes_in_part_is_there_in_no_part(self) -> None:
        real = line_file._write_whole

        def write(file: Any, data: bytes) -> None:
            real(file, data[: len(data) // 2])
            raise FULL

        with mock.patch.object(line_file, "_write_whole", write), self.assertRaises(OSError):
            self.file.append_lines(b"two\nthree\n", is_new=False, is_lasting=False)
        self.assertEqual(self.text(), b"one\n")
        self.file.append_lines(b"two\nthree\n", is_new=False, is_lasting=False)
        self.assertEqual(self.text(), b"one\ntwo\nthree\n")

    def test_a_part_that_cannot_be_taken_back_costs_no_later_line(self) -> None:
        def write(file: Any, data: bytes) -> None:
            os.write(file.fileno(), data[: len(data) // 2])
            # Now nothing of it can be taken back.
            reading = os.open(self.path, os.O_RDONLY)
            os.dup2(reading, file.fileno())
            os.close(reading)
            raise FULL

        with mock.patch.object(line_file, "_write_whole", write), self.assertRaises(OSError):
            self.file.append_lines(b"two\n", is_new=False, is_lasting=False)
        self.file.append_lines(b"three\n", is_new=False, is_lasting=False)
        self.assertEqual(self.text(), b"one\ntw\nthree\n")

    def test_only_a_new_file_is_made(self) -> None:
        os.unlink(self.path)
        with self.assertRaises(FileNotFoundError):
            self.file.append_lines(b"two\n", is_new=False, is_lasting=False)
        self.assertFalse(os.path.exists(self.path))

    def test_what_is_to_last_is_synced_and_nothing_else(self) -> None:
        synced: list[object] = []

        def sync(descriptor: int) -> None:
            is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
            synced.append(os.listdir(descriptor) if is_folder else self.text())

        with mock.patch.object(os, "fsync", sync):
            self.file.append_lines(b"two\n", is_new=False, is_lasting=False)
            self.assertEqual(synced, [])
            self.file.append_lines(b"three\n", is_new=False, is_lasting=True)
            # Windows cannot open a folder.
            folder = [] if sys.platform == "win32" else [["lines"]]
            self.assertEqual(synced, [b"one\ntwo\nthree\n", *folder])
            self.file.append_lines(b"four\n", is_new=False, is_lasting=True)
            self.assertEqual(synced[1 + len(folder) :], [self.text()])
