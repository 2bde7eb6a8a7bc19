"""Which folder an editor has, and what becomes of those of editors that were killed."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
import unittest
from unittest import mock

from headless import data_folders, session
from headless.front import Front
from headless.options import Options

DAY = 86400
FRONT = Front()


@unittest.skipIf(sys.platform == "win32", "no person sits before it there")
class DataFolders(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.tmp = os.path.join(self.folder, "tmp")
        os.mkdir(self.tmp)
        for patch in (
            mock.patch.dict(os.environ, XDG_CACHE_HOME=os.path.join(self.folder, "cache")),
            mock.patch.object(tempfile, "tempdir", self.tmp),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        self.root = data_folders.root(FRONT, os.environ)

    def left(self, path: str, seconds: float) -> str:
        """A folder that an editor has left, last used so long ago."""
        os.makedirs(path)
        lock = os.path.join(path, data_folders.LOCK)
        with open(lock, "w", encoding="ascii"):
            os.utime(lock, (time.time() - seconds,) * 2)
        return path

    def test_a_person_has_the_same_one_again_for_the_same_folders_only(self) -> None:
        paths = []
        for folders in (("/a",), ("/a",), ("/a", "/b"), ()):
            with data_folders.taken(Options(folders), FRONT) as data:
                self.assertEqual((data.stays, data.problem), (True, ""))
                paths.append(data.path)
                # Nobody else can have it meanwhile.
                self.assertIsNone(data_folders._lock(data.path))
        self.assertEqual(len(set(paths)), 3)

    def test_a_script_has_one_that_is_removed_by_its_name(self) -> None:
        with data_folders.taken(Options(("/a",), script="/x.py"), FRONT, "one") as data:
            self.assertTrue(os.path.isdir(data.path))
        with data_folders.taken(Options(("/a",), script="/x.py"), FRONT, "two") as another:
            data_folders.remove_named("one")
        self.assertEqual((data.stays, os.path.exists(data.path)), (False, False))
        self.assertTrue(os.path.isdir(another.path))
        self.assertFalse(os.path.exists(self.root))

    def test_a_folder_in_use_or_that_cannot_be_made_is_replaced_and_that_is_said(self) -> None:
        with data_folders.taken(Options(), FRONT), data_folders.taken(Options(), FRONT) as data:
            self.assertEqual((data.stays, data.problem), (False, data_folders.IN_USE))
        shutil.rmtree(self.root)
        with open(self.root, "w", encoding="ascii"):
            pass
        with data_folders.taken(Options(), FRONT) as data:
            self.assertFalse(data.stays)
            self.assertIn("not kept when it ends: ", data.problem)

    def test_only_this_user_enters_what_is_kept_and_what_it_lies_in(self) -> None:
        for _again in range(2):
            with data_folders.taken(Options(), FRONT) as data:
                for path in (os.path.dirname(self.root), self.root, data.path):
                    self.assertEqual(os.stat(path).st_mode & 0o777, 0o700)
            # Those that others may enter are closed to them.
            for path in (self.root, data.path):
                os.chmod(path, 0o755)

    def test_a_folder_of_another_user_is_replaced_and_that_is_said(self) -> None:
        os.makedirs(self.root, 0o700)
        another = mock.Mock(return_value=os.getuid() + 1)
        with mock.patch.object(os, "getuid", another), data_folders.taken(Options(), FRONT) as data:
            self.assertFalse(data.stays)
            self.assertIn("is no folder of your own", data.problem)
        self.assertEqual(os.listdir(self.root), [])

    def test_what_killed_editors_left_is_removed_and_what_is_used_stays(self) -> None:
        killed = self.left(os.path.join(self.tmp, "headless-a"), 2 * 60)
        starting = self.left(os.path.join(self.tmp, "headless-b"), 0)
        another = os.path.join(self.tmp, "headless-c")
        os.mkdir(another)
        other = self.left(os.path.join(self.tmp, "another-d"), DAY)
        forgotten = self.left(os.path.join(self.root, "e"), 91 * DAY)
        kept = self.left(os.path.join(self.root, "f"), 89 * DAY)
        with data_folders.taken(Options(script="/x.py"), FRONT) as data:
            os.utime(os.path.join(data.path, data_folders.LOCK), (0, 0))
            data_folders.sweep(FRONT)
            self.assertTrue(os.path.isdir(data.path))
        self.assertEqual([path for path in (killed, forgotten) if os.path.exists(path)], [])
        for path in (starting, another, other, kept):
            self.assertTrue(os.path.isdir(path), path)

    def test_the_days_are_counted_from_the_end_of_the_last_editor(self) -> None:
        with data_folders.taken(Options(), FRONT) as data:
            began = time.time() - 91 * DAY
            os.utime(os.path.join(data.path, data_folders.LOCK), (began, began))
        data_folders.sweep(FRONT)
        self.assertTrue(os.path.isdir(data.path))

    def old(self, name: str) -> str:
        return self.left(os.path.join(self.root, name), 91 * DAY)

    def with_session(self, name: str, content: str) -> str:
        folder = self.old(name)
        path = os.path.join(folder, session.FILE)
        os.mkdir(os.path.dirname(path))
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
        return folder

    def test_a_folder_stays_whose_session_has_text_that_is_in_no_file(self) -> None:
        buffers = {
            "unsaved": {"contents": "mine", "scratch": False},
            "scratch": {"contents": "a page", "scratch": True},
            "empty": {"contents": "", "scratch": False},
            "saved": {"scratch": False},
        }
        for name, buffer in buffers.items():
            self.with_session(name, json.dumps({"buffers": [buffer], "windows": []}))
        self.with_session("damaged", '{"buffers": [')
        data_folders.sweep(FRONT)
        self.assertEqual(sorted(os.listdir(self.root)), ["damaged", "unsaved"])

    def test_a_link_is_not_followed_to_what_it_leads_to(self) -> None:
        target = self.left(os.path.join(self.folder, "mine"), DAY)
        os.symlink(target, os.path.join(self.tmp, "headless-link"))
        data_folders.sweep(FRONT)
        self.assertTrue(os.path.isdir(target))
