"""The built packages alone in an otherwise empty data folder, with the real Gemini CLI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import session  # noqa: E402
from editor import Editor  # noqa: E402
from served import STOP, Served, set_up, until  # noqa: E402
from session import ACCEPT  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DIST = os.path.join(ROOT, "dist")
NAME = "GeminiCompanion.sublime-package"


@unittest.skipUnless(os.path.exists(os.path.join(ROOT, ".git")), "only a checkout is packed")
class Built(session.Session):
    """`built` is one of the packages of `make package`."""

    installed: str
    built = NAME
    kind = "plain"

    @classmethod
    def setUpClass(cls) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "tools.package", cls.kind], cwd=ROOT, stdout=subprocess.PIPE
        )
        if done.returncode:
            raise AssertionError(done.stdout.decode())
        folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.prepare(folder)
        super().setUpClass()

    @classmethod
    def prepare(cls, folder: str) -> None:
        pass

    @classmethod
    def new_editor(cls, temp: str = "") -> Editor:
        data = os.path.join(cls.root, "data")
        cls.installed = os.path.join(data, "Installed Packages", NAME)
        os.mkdir(os.path.dirname(cls.installed))
        shutil.copy(os.path.join(DIST, cls.built), cls.installed)
        with set_up(cls.root, data, cls.model.url):
            return super().new_editor(temp)

    def serve_the_api(self) -> None:
        served = Served(self.editor)
        # Inside of a zip the page is no file.
        self.assertIn(b"<!doctype html>", served.read("GET", "/").lower())
        self.model.will_play("hello", ["Hi."])
        self.assertEqual(served.chat("hello"), "Hi.")
        self.assertTrue(self.editor.do("choose_in_palette", STOP))
        until(lambda: not self.editor.do("api_runs"))

    def accept_an_edit(self) -> None:
        origin = self.editor.do("origin", "GeminiCompanion.plugin")
        self.assertEqual(origin, os.path.join(self.installed, "plugin.py"))
        path = self.write("a.py", b"old\n")
        self.ask(path, "new\n", "write_file", content="new\n")
        self.editor.do("append", path, "mine\n")
        self.editor.do("command", ACCEPT)
        self.finish(path)
        self.assertEqual(self.read(path), b"new\nmine\n")


class Plain(Built):
    def test_it_serves_the_cli_through_an_accepted_diff(self) -> None:
        self.accept_an_edit()

    def test_it_serves_the_api(self) -> None:
        self.serve_the_api()


class Standalone(Built):
    """On a Python that has no libraries at all."""

    built = "GeminiCompanion-standalone.sublime-package"
    kind = "both"

    @classmethod
    def prepare(cls, folder: str) -> None:
        bare = os.path.join(folder, "bare")
        base = os.path.realpath(sys.executable)
        subprocess.check_call([base, "-m", "venv", "--without-pip", bare])
        cls.python = os.path.join(bare, "bin", "python")

    def test_it_serves_the_cli_and_leaks_no_library_to_other_packages(self) -> None:
        self.accept_an_edit()
        self.assertEqual(self.editor.do("importable", ["aiohttp", "jsonschema", "attr"]), [])

    def test_it_serves_the_api_with_the_libraries_that_it_carries(self) -> None:
        self.serve_the_api()
        self.assertEqual(self.editor.do("importable", ["aiohttp", "jsonschema", "attr"]), [])


del Built
