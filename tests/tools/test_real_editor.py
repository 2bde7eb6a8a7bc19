"""What prepares a real Sublime Text and types into it, as far as it can run without one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from tools import real_editor, type_in_sublime

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INSIDE = os.path.join("tests", "tools", "typing_inside.py")


class Builds(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def test_a_build_has_an_archive_for_each_system(self) -> None:
        for platform, ending in (
            ("linux", "4107_x64.tar.xz"),
            ("darwin", "4107_mac.zip"),
            ("win32", "4107_x64.zip"),
        ):
            with self.subTest(platform):
                self.assertTrue(real_editor.address_of("4107", platform).endswith(ending))

    def test_what_is_no_build_is_refused_with_what_was_expected(self) -> None:
        for build in ("", "42", "4200/..", "newest"):
            with self.subTest(build), self.assertRaisesRegex(real_editor.Refused, "four digits"):
                real_editor.address_of(build)

    def test_the_program_is_found_where_archives_and_installers_put_it(self) -> None:
        self.assertEqual(real_editor.find_program(self.folder), "")
        for name in ("sublime_text/sublime_text", "Sublime Text.app/Contents/MacOS/sublime_text"):
            folder = os.path.join(self.folder, str(len(name)))
            path = os.path.join(folder, *name.split("/"))
            os.makedirs(os.path.dirname(path))
            with open(path, "w"):
                pass
            self.assertEqual(real_editor.find_program(folder), path)

    def test_the_data_folder_of_a_user_of_macos_is_left_alone(self) -> None:
        with mock.patch.object(sys, "platform", "darwin"), mock.patch.dict(
            os.environ, {"HOME": self.folder}
        ):
            os.environ.pop("CI", None)
            with self.assertRaisesRegex(real_editor.Refused, "the user's"):
                real_editor.editor_in("/sublime_text", self.folder)
            os.environ["CI"] = "1"
            data = real_editor.editor_in("/sublime_text", self.folder).data
            os.makedirs(data)
            with self.assertRaisesRegex(real_editor.Refused, "the user's"):
                real_editor.editor_in("/sublime_text", self.folder)


@unittest.skipIf(sys.platform == "win32", "the editor for a person at a terminal has no keys there")
class Walk(unittest.TestCase):
    def test_what_a_person_types_while_an_answer_streams_stands_in_the_composer(self) -> None:
        folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        data, seen = os.path.join(folder, "data"), os.path.join(folder, "seen.json")
        type_in_sublime.lay_chat(data, seen)
        os.mkdir(os.path.join(folder, "project"))
        command = [sys.executable, "-O", "-m", "headless", os.path.join(folder, "project")]
        # Where a package is given, that of this checkout stays out of it.
        teller = os.path.join(data, "Packages", "GeminiCompanionTyping")
        command += ["--data", data, "--package", teller, "--exec", INSIDE, "--", seen]
        # Its discovery files go with it.
        own = {**os.environ, "TMPDIR": folder}
        done = subprocess.run(
            command, cwd=ROOT, env=own, capture_output=True, text=True, timeout=300
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("seen: keys in the chat beside another group", done.stdout)
