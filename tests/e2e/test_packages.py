"""The built packages alone in an otherwise empty data folder, with the real Gemini CLI.

The package that carries its libraries is tried on this Python and on those of the plugin hosts that
this machine has: `HOST_PYTHONS`, paths that are separated as in PATH, or what is found on the PATH
and below ~/.pyenv.
"""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import session
from editor import Editor
from served import STOP, Served, set_up, until
from session import ACCEPT

from tests.fake_cli import FakeCli
from tests.support import PATIENCE, wait_for
from tools import package

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

BUILT: list[str] = []
# What says no to whoever would ask an index or any other machine.
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}


def built() -> str:
    """The folder with both packages, made once."""
    if not BUILT:
        folder = tempfile.mkdtemp()
        unittest.addModuleCleanup(shutil.rmtree, folder)
        command = [sys.executable, "-m", "tools.package", folder]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE)
        if done.returncode:
            raise AssertionError(done.stdout.decode())
        BUILT.append(folder)
    return BUILT[0]


def python_of(version: str) -> str:
    """The path of a Python of that version; "" where this machine has none."""
    given = os.environ.get("HOST_PYTHONS", "").split(os.pathsep)
    pyenv = os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python")
    found = shutil.which("python" + version) or ""
    for path in filter(None, [*given, *sorted(glob.glob(pyenv)), found]):
        code = "import sys; print('%d.%d' % sys.version_info[:2])"
        done = subprocess.run([path, "-I", "-c", code], capture_output=True)
        if done.stdout.decode().strip() == version:
            return path
    return ""


@unittest.skipUnless(os.path.exists(os.path.join(ROOT, ".git")), "only a checkout is packed")
class Built(session.Session):
    """`name` is one of the packages of `make package`. Where it `has_cli`, the real one meets it,
    else one of a few lines: no CLI knows of what is in a package, or of its Python."""

    installed: str
    client: FakeCli
    name = package.WHOLE

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.prepare(folder)
        built()
        offline = unittest.mock.patch.dict(os.environ, OFFLINE)
        offline.start()
        cls.addClassCleanup(offline.stop)
        super().setUpClass()

    @classmethod
    def prepare(cls, folder: str) -> None:
        pass

    @classmethod
    def new_editor(cls, temp: str = "") -> Editor:
        data = os.path.join(cls.root, "data")
        cls.installed = os.path.join(data, "Installed Packages", package.WHOLE)
        os.mkdir(os.path.dirname(cls.installed))
        shutil.copy(os.path.join(built(), cls.name), cls.installed)
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

    def ask(self, path: str, proposal: str, tool: str, **arguments: str) -> None:
        if self.has_cli:
            super().ask(path, proposal, tool, **arguments)
            return
        self.client = FakeCli(self.editor.do("environment"))
        self.addCleanup(self.client.close)
        wait_for(self.client.connected)
        self.client.call("openDiff", filePath=path, newContent=proposal).result(PATIENCE)
        self.editor.do("wait_for", "proposal", proposal, path)

    def finish(self, path: str) -> None:
        """Ends when the file holds what was accepted, which that CLI has written here, and the
        editor has no diff left."""
        if self.has_cli:
            super().finish(path)
            return
        wait_for(lambda: self.client.received("ide/diffAccepted"))
        (told,) = self.client.received("ide/diffAccepted")
        with open(path, "w", encoding="utf-8") as file:
            file.write(told["content"])
        self.until_closed(path)


class Plain(Built):
    """With the libraries that this Python has, in the place of Package Control's."""

    name, has_cli = package.PLAIN, False

    def test_it_serves_the_cli_through_an_accepted_diff(self) -> None:
        self.accept_an_edit()

    def test_it_serves_the_api(self) -> None:
        self.serve_the_api()


class OnBarePython(Built):
    """On a Python that has no libraries at all; `version` is which, "" for this one."""

    version = ""

    @classmethod
    def prepare(cls, folder: str) -> None:
        base = python_of(cls.version) if cls.version else os.path.realpath(sys.executable)
        if not base:
            raise unittest.SkipTest("this machine has no Python " + cls.version)
        bare = os.path.join(folder, "bare")
        subprocess.check_call([base, "-m", "venv", "--without-pip", bare])
        cls.python = os.path.join(bare, "bin", "python")

    def test_it_serves_the_cli_and_leaks_no_library_to_other_packages(self) -> None:
        self.accept_an_edit()
        self.assertEqual(self.editor.do("importable", ["aiohttp", "jsonschema", "attr"]), [])


class Whole(OnBarePython):
    def test_it_serves_the_api_with_the_libraries_that_it_carries(self) -> None:
        self.serve_the_api()
        self.assertEqual(self.editor.do("importable", ["aiohttp", "jsonschema", "attr"]), [])


class On38(OnBarePython):
    version, has_cli = "3.8", False


class On313(OnBarePython):
    version, has_cli = "3.13", False


class On314(OnBarePython):
    version, has_cli = "3.14", False


del Built, OnBarePython
