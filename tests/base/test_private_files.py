"""Files that only this user can read, and what their writers leave behind."""

from __future__ import annotations

import os
import stat
import sys
import types
import unittest
from unittest import mock

from GeminiCompanion.companion.base import private_files

from ..support import temp_folder

# Above what any system gives out, so that no process has it.
DEAD = 2**30
DENIED, NO_SUCH_PROCESS = PermissionError(13, "Access is denied"), OSError(22, "No such process")


class Windows(types.ModuleType):
    """Its calls for processes, in the place of `_winapi`. `states` tells which ones can be opened,
    and whether they have ended: one that has stays as long as somebody else has it open."""

    SYNCHRONIZE, WAIT_OBJECT_0, WAIT_TIMEOUT = 0x100000, 0, 258

    def __init__(self, states: dict[int, bool], refusal: OSError = NO_SUCH_PROCESS) -> None:
        super().__init__("_winapi")
        self.states = states
        self.refusal = refusal
        self.opened: list[int] = []

    def OpenProcess(self, access: int, is_inherited: bool, pid: int) -> int:
        if pid not in self.states or access != self.SYNCHRONIZE or is_inherited:
            raise self.refusal
        self.opened.append(pid + 1)
        return pid + 1

    def WaitForSingleObject(self, handle: int, milliseconds: int) -> int:
        if milliseconds or handle not in self.opened:
            raise NO_SUCH_PROCESS
        return self.WAIT_OBJECT_0 if self.states[handle - 1] else self.WAIT_TIMEOUT

    def CloseHandle(self, handle: int) -> None:
        self.opened.remove(handle)


class Running(unittest.TestCase):
    def on_windows(self, system: Windows) -> bool:
        """What is said of process 8 there, to which nobody may send a signal: it would end."""
        signal = mock.patch.object(os, "kill", side_effect=AssertionError)
        with mock.patch.dict(sys.modules, _winapi=system), signal:
            with mock.patch.object(sys, "platform", "win32"):
                found = private_files.is_running(8)
        self.assertEqual(system.opened, [])
        return found

    def test_this_process_runs_and_one_that_there_is_not_does_not(self) -> None:
        found = [private_files.is_running(pid) for pid in (os.getpid(), os.getppid(), DEAD)]
        self.assertEqual(found, [True, True, False])

    def test_windows_is_asked_whether_the_process_has_ended(self) -> None:
        self.assertTrue(self.on_windows(Windows({8: False})))
        self.assertFalse(self.on_windows(Windows({8: True})))

    def test_one_that_windows_does_not_know_is_gone_and_one_of_another_user_is_not(self) -> None:
        self.assertFalse(self.on_windows(Windows({})))
        self.assertTrue(self.on_windows(Windows({}, DENIED)))


@unittest.skipIf(sys.platform == "win32", "its folders are not opened, nor have they modes")
class Lasting(unittest.TestCase):
    def order_of(self, lasting: bool) -> list[str]:
        """What is synced and replaced, in its order, as a file is written."""
        path = os.path.join(temp_folder(self), "file")
        found: list[str] = []
        real = os.replace

        def sync(descriptor: int) -> None:
            status = os.fstat(descriptor)
            is_folder = stat.S_ISDIR(status.st_mode)
            found.append("folder" if is_folder else f"{status.st_size} bytes")

        def replace(unfinished: str, target: str) -> None:
            found.append("replaced")
            real(unfinished, target)

        with mock.patch.object(os, "fsync", sync), mock.patch.object(os, "replace", replace):
            private_files.write_file(path, b"four", lasting)
        return found

    def test_what_is_to_last_is_on_disk_before_it_takes_its_place_and_so_is_that(self) -> None:
        self.assertEqual(self.order_of(lasting=True), ["4 bytes", "replaced", "folder"])
        self.assertEqual(self.order_of(lasting=False), ["replaced"])

    def test_folders_above_it_are_made_for_this_user_alone_whatever_the_umask(self) -> None:
        self.addCleanup(os.umask, os.umask(0))
        top = temp_folder(self)
        path = os.path.join(top, "one", "two", "three")
        os.chmod(top, 0o755)
        for _ in range(2):
            private_files.make_parents(path)
        made = [os.path.join(top, "one"), os.path.join(top, "one", "two")]
        modes = [stat.S_IMODE(os.stat(made_path).st_mode) for made_path in (*made, top)]
        self.assertEqual(modes, [0o700, 0o700, 0o755])
        self.assertFalse(os.path.exists(path))


class Unfinished(unittest.TestCase):
    def test_on_windows_the_half_written_file_of_another_editor_stays_until_that_ends(self) -> None:
        folder = temp_folder(self)
        path = os.path.join(folder, private_files.UNFINISHED + "8-0123abcd")
        with open(path, "wb"):
            pass
        with mock.patch.object(sys, "platform", "win32"):
            for has_ended, removed in ((False, []), (True, [path])):
                with mock.patch.dict(sys.modules, _winapi=Windows({8: has_ended})):
                    self.assertEqual(private_files.sweep_folder(folder), removed)
