"""What is deleted with a folder that a stranger has filled, and what is not."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
import unittest
from contextlib import suppress
from unittest import mock

from GeminiCompanion.companion.work_trees import folder_deletion
from GeminiCompanion.companion.work_trees.folder_deletion import delete_folder, move_up

WAYS = ("linux", "win32") if sys.platform != "win32" else ("win32",)


class Deletions(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.base = os.path.realpath(folder.name)
        self.top = os.path.join(self.base, "top")

    def write(self, *names: str) -> str:
        path = os.path.join(self.base, *names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(b"x")
        return path

    def test_all_in_it_goes_and_nothing_beside_it(self) -> None:
        for way in WAYS:
            with self.subTest(way):
                self.write("top", "a")
                self.write("top", "b", "c", ".d")
                self.write("top 2", "a")
                delete_folder(self.top, platform=way)
                self.assertEqual(os.listdir(self.base), ["top 2"])

    def test_what_is_not_there_is_no_error(self) -> None:
        for way in WAYS:
            delete_folder(self.top, platform=way)

    @unittest.skipIf(sys.platform == "win32", "links need a privilege")
    def test_no_link_is_followed(self) -> None:
        for way in WAYS:
            with self.subTest(way):
                kept = self.write("kept", "file")
                self.write("top", "file")
                os.symlink(os.path.dirname(kept), os.path.join(self.top, "folder"))
                os.symlink(kept, os.path.join(self.top, "link"))
                os.link(kept, os.path.join(self.top, "same"))
                delete_folder(self.top, platform=way)
                self.assertEqual(os.listdir(self.base), ["kept"])
                self.assertEqual(os.stat(kept).st_nlink, 1)

    @unittest.skipIf(sys.platform == "win32", "links need a privilege")
    def test_of_a_link_in_its_place_only_the_link_goes(self) -> None:
        for way in WAYS:
            with self.subTest(way):
                kept = self.write("kept", "file")
                os.symlink(os.path.dirname(kept), self.top)
                delete_folder(self.top, platform=way)
                self.assertEqual(os.listdir(self.base), ["kept"])
                self.assertTrue(os.path.exists(kept))

    @unittest.skipIf(sys.platform == "win32", "links need a privilege")
    def test_a_link_that_takes_the_place_of_a_folder_meanwhile_is_not_followed(self) -> None:
        kept = self.write("kept", "file")
        self.write("top", "below", "file")
        below = os.path.join(self.top, "below")
        real = os.open

        def swap_and_open(path: str, *more: object, **named: object) -> int:
            if path == "below":
                os.rename(below, below + " 2")
                os.symlink(os.path.dirname(kept), below)
            return real(path, *more, **named)  # type: ignore[arg-type]

        with mock.patch.object(os, "open", swap_and_open), self.assertRaises(OSError):
            delete_folder(self.top)
        self.assertTrue(os.path.exists(kept))

    @unittest.skipIf(sys.platform == "win32", "links need a privilege")
    def test_no_link_on_the_way_from_the_top_is_followed(self) -> None:
        kept = self.write("kept", "below", "file")
        os.mkdir(self.top)
        os.symlink(os.path.join(self.base, "kept"), os.path.join(self.top, "link"))
        for way in WAYS:
            path = os.path.join(self.top, "link", "below")
            with self.subTest(way), suppress(OSError):
                delete_folder(path, self.top, way)
            self.assertTrue(os.path.exists(kept))
            self.write("top", "real", "deep", "below", "file")
            delete_folder(os.path.join(self.top, "real", "deep", "below"), self.top, way)
            self.assertEqual(os.listdir(os.path.join(self.top, "real", "deep")), [])

    @unittest.skipIf(sys.platform == "win32", "paths are bounded there")
    def test_of_any_depth(self) -> None:
        os.mkdir(self.top)
        folder = os.open(self.top, os.O_RDONLY)
        for _ in range(3000):
            os.mkdir("deep", dir_fd=folder)
            below = os.open("deep", os.O_RDONLY, dir_fd=folder)
            os.close(folder)
            folder = below
        os.close(folder)
        delete_folder(self.top)
        self.assertEqual(os.listdir(self.base), [])

    @unittest.skipIf(sys.platform == "win32", "Windows has no modes")
    def test_folders_without_permissions_go_as_well(self) -> None:
        for mode in (0, 0o500, 0o400):
            with self.subTest(oct(mode)):
                folder = os.path.dirname(self.write("top", "shut", "file"))
                os.chmod(folder, mode)
                os.chmod(self.base, 0o777)
                self.delete_as_nobody()
                self.assertEqual(os.listdir(self.base), [])

    def delete_as_nobody(self) -> None:
        """The super user may do everything, whatever the mode."""
        if os.getuid():
            delete_folder(self.top)
            return
        for folder, _folders, names in os.walk(self.top):
            for path in (folder, *(os.path.join(folder, name) for name in names)):
                os.chown(path, 65534, 65534)
        pid = os.fork()
        if not pid:
            status = 1
            try:
                os.setuid(65534)
                delete_folder(self.top)
                status = 0
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)

    def test_what_cannot_be_deleted_is_named_and_keeps_nothing_else_from_it(self) -> None:
        unlink = os.unlink
        for way in WAYS:
            with self.subTest(way):
                held = self.write("top", "b", "held")
                self.write("top", "a")
                self.write("top", "c", "d")

                def refuse(path: str, **named: int) -> None:
                    if os.path.basename(path) == "held":
                        raise PermissionError(errno.EACCES, "in use", path)
                    unlink(path, **named)

                with mock.patch.object(os, "unlink", refuse), self.assertRaises(OSError) as caught:
                    delete_folder(self.top, platform=way)
                self.assertEqual(
                    (caught.exception.filename, caught.exception.strerror), (held, "in use")
                )
                found = [
                    os.path.join(folder, name)
                    for folder, _, names in os.walk(self.top)
                    for name in names
                ]
                self.assertEqual(found, [held])
                delete_folder(self.top, platform=way)
                self.assertEqual(os.listdir(self.base), [])

    def test_another_disk_that_is_mounted_in_it_is_not_entered(self) -> None:
        below = os.path.join(self.top, "below")
        kept = self.write("top", "below", "file")
        if sys.platform != "linux" or not self.is_mounted(below):
            self.skipTest("nothing can be mounted here")
        with open(kept, "wb"):
            pass
        with self.assertRaises(OSError) as caught:
            delete_folder(self.top)
        self.assertEqual(caught.exception.filename, below)
        self.assertTrue(os.path.exists(kept))

    def is_mounted(self, folder: str) -> bool:
        command = ["mount", "-t", "tmpfs", "none", folder]
        try:
            done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except OSError:
            return False
        if done.returncode:
            return False
        self.addCleanup(subprocess.run, ["umount", folder], check=False)
        return True

    def test_a_folder_is_moved_up_in_one_step(self) -> None:
        for way in WAYS:
            with self.subTest(way):
                self.write("top", "a", "b", "file")
                move_up(os.path.join(self.top, "a", "b"), self.top, "c", way)
                self.assertEqual(sorted(os.listdir(self.top)), ["a", "c"])
                self.assertEqual(os.listdir(os.path.join(self.top, "c")), ["file"])
                delete_folder(self.top)

    @unittest.skipIf(sys.platform == "win32", "links need a privilege")
    def test_what_is_moved_up_was_behind_no_link(self) -> None:
        kept = self.write("kept", "below", "file")
        os.mkdir(self.top)
        os.symlink(os.path.join(self.base, "kept"), os.path.join(self.top, "link"))
        for way in WAYS:
            with self.subTest(way), self.assertRaises(OSError):
                move_up(os.path.join(self.top, "link", "below"), self.top, "new", way)
            self.assertTrue(os.path.exists(kept))

    def test_few_folders_are_open_at_a_time(self) -> None:
        if sys.platform == "win32":
            self.skipTest("none is open there")
        os.makedirs(os.path.join(self.top, *"abcdefghij"))
        with mock.patch.object(folder_deletion, "DEPTH", 2):
            delete_folder(self.top)
        self.assertEqual(os.listdir(self.base), [])
