"""A file in the place of another, also where that is open in another program for a moment."""

from __future__ import annotations

import errno
import os
import tempfile
import unittest
from unittest import mock

from GeminiCompanion.companion.base import file_replace

from ..support import patched


class Replace(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.old = self.write("old")
        self.new = self.write("new")
        self.pauses: list[float] = []
        patched(self, mock.patch.object(file_replace.time, "sleep", self.pauses.append))

    def write(self, text: str) -> str:
        path = os.path.join(self.folder.name, text)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        return path

    def replace(self, platform: str, refusals: int) -> None:
        """While the system refuses the first tries."""
        answers = [PermissionError(13, "Access is denied")] * refusals
        replace = os.replace

        def refused(*paths: str) -> None:
            if answers:
                raise answers.pop()
            replace(*paths)

        with mock.patch.object(file_replace.os, "replace", refused):
            file_replace.replace_file(self.new, self.old, platform)

    def content(self) -> str:
        with open(self.old, encoding="ascii") as file:
            return file.read()

    def test_one_try_is_enough_where_nobody_has_it_open(self) -> None:
        self.replace("win32", 0)
        self.assertEqual((self.content(), self.pauses), ("new", []))
        self.assertFalse(os.path.exists(self.new))

    def test_windows_is_asked_again_until_a_virus_scanner_has_closed_it(self) -> None:
        self.replace("win32", file_replace.TRIES - 1)
        self.assertEqual(self.content(), "new")
        self.assertEqual(len(self.pauses), file_replace.TRIES - 1)
        self.assertLess(sum(self.pauses), 0.2)

    def test_one_that_stays_open_is_told_of(self) -> None:
        with self.assertRaises(PermissionError):
            self.replace("win32", file_replace.TRIES)
        self.assertEqual(self.content(), "old")

    def test_elsewhere_what_is_forbidden_stays_so(self) -> None:
        for platform in ("linux", "darwin"):
            with self.subTest(platform), self.assertRaises(PermissionError):
                self.replace(platform, 1)
        self.assertEqual((self.content(), self.pauses), ("old", []))

    def test_another_error_is_no_reason_to_wait(self) -> None:
        os.remove(self.new)
        with self.assertRaises(FileNotFoundError):
            self.replace("win32", 0)
        self.assertEqual(self.pauses, [])


class Sync(unittest.TestCase):
    def test_a_file_system_without_it_takes_what_is_written_and_a_full_disk_is_told(self) -> None:
        for number in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
            with mock.patch.object(os, "fsync", side_effect=OSError(number, "no")) as fsync:
                file_replace.sync_file(7)
            fsync.assert_called_once_with(7)
        with mock.patch.object(os, "fsync", side_effect=OSError(errno.ENOSPC, "full")):
            self.assertRaises(OSError, file_replace.sync_file, 7)
