"""Locks that are files of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from GeminiCompanion.companion.base import file_lock
from GeminiCompanion.companion.base.file_lock import FileLock

HOLDER = """
import sys
sys.path.insert(0, sys.argv[1])
from companion.base.file_lock import FileLock
assert FileLock(sys.argv[2]).acquire()
print("held", flush=True)
sys.stdin.read()
"""
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class FileLocks(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        self.path = os.path.join(folder, "it")

    def lock(self) -> FileLock:
        made = FileLock(self.path)
        self.addCleanup(made.release)
        return made

    def test_it_has_one_holder_at_a_time(self) -> None:
        first, second = self.lock(), self.lock()
        self.assertTrue(first.acquire())
        self.assertTrue(first.acquire())
        self.assertFalse(second.acquire())
        self.assertEqual((first.is_held, second.is_held), (True, False))
        first.release()
        self.assertTrue(second.acquire())

    def test_its_file_stays_until_it_is_removed(self) -> None:
        lock = self.lock()
        lock.acquire()
        lock.release()
        self.assertTrue(os.path.exists(self.path))
        lock.acquire()
        lock.remove_file()
        lock.release()
        self.assertFalse(os.path.exists(self.path))

    @unittest.skipUnless(hasattr(os, "fork"), "no process begins with the files of another there")
    def test_a_program_that_is_just_being_started_keeps_no_lock_that_is_released(self) -> None:
        first, second = self.lock(), self.lock()
        self.assertTrue(first.acquire())
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(writing)
            os.read(reading, 1)
            os._exit(0)
        self.addCleanup(os.waitpid, child, 0)
        self.addCleanup(os.close, writing)
        os.close(reading)
        first.release()
        self.assertTrue(second.acquire())

    def test_a_killed_process_holds_nothing(self) -> None:
        command = [sys.executable, "-c", HOLDER, ROOT, self.path]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            self.assertEqual(process.stdout.readline().strip(), b"held")
            self.assertFalse(self.lock().acquire())
            process.kill()
            process.wait()
        self.assertTrue(os.path.exists(self.path))
        self.assertTrue(self.lock().acquire())

    def test_whoever_opens_it_before_its_holder_removes_it_holds_nothing(self) -> None:
        first, second, third = self.lock(), self.lock(), self.lock()
        first.acquire()
        real = file_lock.lock_file

        def lock_late(descriptor: int) -> bool:
            if first.is_held:
                first.remove_file()
                with mock.patch.object(file_lock, "lock_file", real):
                    self.assertTrue(third.acquire())
            return real(descriptor)

        with mock.patch.object(file_lock, "lock_file", lock_late):
            self.assertFalse(second.acquire())
        self.assertFalse(second.is_held)
