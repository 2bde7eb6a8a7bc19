"""Files at paths that others chose, and what may stand in their place."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import tempfile
import unittest
from typing import Any
from unittest import mock

from GeminiCompanion.companion.base import regular_file
from GeminiCompanion.companion.base.regular_file import (
    FileTooLarge,
    NotRegular,
    open_regular,
    read_beginning,
    read_regular,
)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HAS_DEVICES = os.path.exists("/dev/zero") and hasattr(os, "mkfifo")
NO_DEVICES = "this system has no devices and pipes among its files"
# Prints the bytes by which the most memory of a process grew while it read what is at the path.
GROWTH = """
import resource, sys
from companion.agent.edited_file import read_file
from companion.base import file_content
from companion.base.file_content import read_original
# The seconds after which a large file is given up.
file_content.PATIENCE = 0.5
def most():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = most()
for look in (read_file, read_original):
    try:
        look(sys.argv[1])
    except OSError as error:
        print(error.strerror)
print(most() - before)
"""


class FileCase(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        self.path = os.path.join(self.folder, "file")

    def write(self, data: bytes) -> None:
        with open(self.path, "wb") as file:
            file.write(data)


class Whole(FileCase):
    def test_up_to_the_limit_all_of_it_is_read(self) -> None:
        for data in (b"", b"1", b"12345"):
            with self.subTest(data), mock.patch.object(regular_file, "CHUNK", 2):
                self.write(data)
                self.assertEqual(read_regular(self.path, 5), data)

    def test_one_byte_more_is_refused_with_the_limit(self) -> None:
        self.write(b"123456")
        with self.assertRaises(FileTooLarge) as refused:
            read_regular(self.path, 5)
        self.assertEqual(refused.exception.strerror, "it has more than 5 bytes")
        self.assertEqual(read_beginning(self.path, 5), b"12345")

    def test_one_that_tells_no_size_is_read_up_to_the_limit(self) -> None:
        self.write(b"123456")
        real = os.fstat

        def sizeless(descriptor: int) -> Any:
            return mock.Mock(st_mode=real(descriptor).st_mode, st_size=0)

        with mock.patch.object(os, "fstat", sizeless):
            self.assertEqual(read_regular(self.path, 6), b"123456")
            with self.assertRaises(FileTooLarge):
                read_regular(self.path, 5)

    def test_a_file_that_is_not_there_is_told_as_that(self) -> None:
        with self.assertRaises(FileNotFoundError):
            open_regular(self.path)

    def test_a_folder_and_a_name_with_a_nul_are_refused_by_name(self) -> None:
        for path, reason in ((self.folder, "it is a folder and no file"), ("\0", "a NUL")):
            with self.subTest(path), self.assertRaises(OSError) as refused:
                read_regular(path, 5)
            self.assertIn(reason, str(refused.exception.strerror))


@unittest.skipUnless(HAS_DEVICES, NO_DEVICES)
class InItsPlace(FileCase):
    def refused(self) -> None:
        with self.assertRaises(NotRegular) as refused:
            read_regular(self.path, 5)
        self.assertEqual(refused.exception.kind, "a device")

    def test_a_link_to_an_endless_device_is_refused(self) -> None:
        os.symlink("/dev/zero", self.path)
        self.refused()

    def test_a_pipe_without_a_writer_is_refused_at_once(self) -> None:
        os.mkfifo(self.path)
        self.refused()

    def test_a_socket_is_refused(self) -> None:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(self.path)
            self.refused()

    def test_a_pipe_that_takes_the_place_of_a_file_meanwhile_is_refused_at_once(self) -> None:
        self.write(b"1")
        before = os.stat(self.path)
        os.unlink(self.path)
        os.mkfifo(self.path)
        self.assertTrue(stat.S_ISREG(before.st_mode))
        with mock.patch.object(os, "stat", lambda path: before):
            self.refused()


@unittest.skipUnless(HAS_DEVICES, NO_DEVICES)
class Memory(FileCase):
    """The way of an agent's edit and that of a CLI's, with what a repository may have."""

    def growth(self) -> int:
        command = [sys.executable, "-c", GROWTH, self.path]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, timeout=60, check=True)
        return int(done.stdout.split()[-1])

    def test_no_bait_costs_fifty_mebibytes(self) -> None:
        def sparse() -> None:
            with open(self.path, "wb") as file:
                file.truncate(10 << 30)

        for lay in (
            lambda: os.symlink("/dev/zero", self.path),
            lambda: os.mkfifo(self.path),
            sparse,
        ):
            with self.subTest(lay):
                lay()
                self.assertLess(self.growth(), 50 << 20)
                os.unlink(self.path)
