"""Another user of the machine against the hooks of real CLIs. The editor, the CLI and its files are
the victim's; the stranger has a port, or a folder in which the victim's CLI looks."""

from __future__ import annotations

import functools
import glob
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Sequence

from any_model_server import AnyModelServer
from cli import ESCAPE, GeminiCli, QwenCode
from GeminiCompanion.companion.ide.clis import GEMINI_CLI, QWEN_CODE, Cli
from GeminiCompanion.companion.ide.hooks import extension
from model_server import ModelServer, call

from tests.support import wait_for

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
VICTIM, STRANGER = 64101, 64102
SECRET = "a prompt that is nobody's business"
QUESTION = "Allow execution"
# What a stranger says first.
READY = ["ready"]
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def as_user(uid: int, *command: str) -> list[str]:
    ids = ("--reuid", str(uid), "--regid", str(uid), "--clear-groups")
    return [shutil.which("setpriv") or "setpriv", *ids, *command]


@functools.lru_cache(maxsize=None)
def may_run(uid: int, *command: str) -> bool:
    return subprocess.run(as_user(uid, *command), capture_output=True, cwd="/").returncode == 0


class VictimsGemini(GeminiCli):
    program = shutil.which("setpriv") or "setpriv"
    arguments: Sequence[str] = as_user(VICTIM, GeminiCli.program)[1:]


class VictimsQwen(QwenCode):
    program = shutil.which("setpriv") or "setpriv"
    arguments: Sequence[str] = as_user(VICTIM, QwenCode.program)[1:]


class TwoUsers(unittest.TestCase):
    """One CLI for all tests of a class; `temp` is a temp folder of all, `home` the victim's. Its
    hooks look anew for an editor each time."""

    kind: type[GeminiCli] = VictimsGemini
    row: Cli = GEMINI_CLI
    victims = GeminiCli.program
    root: str
    temp: str
    home: str
    work: str
    model: Any
    running: GeminiCli

    @classmethod
    def setUpClass(cls) -> None:
        if not IS_ROOT or not shutil.which("setpriv"):
            raise unittest.SkipTest("only root can be two users, with setpriv")
        if not may_run(VICTIM, sys.executable, "-c", "import asyncio"):
            raise unittest.SkipTest("other users may not run this Python")
        if not may_run(VICTIM, "node", "--version") or not may_run(
            VICTIM, "test", "-x", cls.victims
        ):
            raise unittest.SkipTest("the CLI is not installed (make setup), or not for others")
        cls.root = os.path.realpath(tempfile.mkdtemp(prefix="e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.root, True)
        os.chmod(cls.root, 0o755)
        cls.temp, cls.home = cls.folder("tmp", 0o1777), cls.folder("home")
        cls.work = cls.folder("work")
        with open(os.path.join(ROOT, "extension", "companion.cjs"), "rb") as file:
            program = file.read()
        for each in (GEMINI_CLI, QWEN_CODE):
            extension.install_extension(
                each, extension.extension_folder(each, {}, cls.home), program
            )
        cls.give(cls.home, VICTIM)
        cls.give(cls.work, VICTIM)
        cls.running = cls.started()
        cls.addClassCleanup(cls.running.close)

    def setUp(self) -> None:
        self.heard = os.path.join(tempfile.mkdtemp(dir=self.root), "heard")
        self.kept = os.path.join(self.home, "kept")
        for path in (self.place, self.kept, os.path.join(self.temp, "gemini")):
            self.addCleanup(shutil.rmtree, path, True)

    @classmethod
    def folder(cls, name: str, mode: int = 0o755) -> str:
        path = os.path.join(cls.root, name)
        os.mkdir(path)
        os.chmod(path, mode)
        return path

    @classmethod
    def give(cls, path: str, uid: int) -> None:
        subprocess.run(["chown", "-R", "-h", f"{uid}:{uid}", path], check=True)

    @property
    def place(self) -> str:
        """Where the CLI looks for editors."""
        form = self.row.discovery
        assert form is not None
        root = os.path.join(self.home, ".qwen") if form.in_home else self.temp
        return os.path.join(root, *form.folder)

    def editor(self) -> tuple[subprocess.Popen[bytes], int]:
        """A companion of the victim that serves the folder, and its port."""
        variables = {"TMPDIR": self.temp, "HOME": self.home, "PYTHONPATH": ROOT}
        process = subprocess.Popen(
            as_user(VICTIM, sys.executable, "-m", "bench.serve_companion"),
            cwd=self.work,
            env={"PATH": os.environ["PATH"], **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        assert process.stdout is not None
        return process, int(process.stdout.readline().split()[0])

    def killed_editor(self) -> int:
        process, port = self.editor()
        process.kill()
        process.wait()
        return port

    def stranger(self, port: int, key: str = "6" * 64) -> None:
        """Listens as the other user; what all of them hear is in the file."""
        before = len(self.received())
        with open(self.heard, "ab") as out:
            process = subprocess.Popen(
                as_user(
                    STRANGER, sys.executable, os.path.join(HERE, "stranger.py"), str(port), key
                ),
                stdout=out,
            )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_for(lambda: len(self.received()) > before)

    def received(self) -> list[Any]:
        if not os.path.exists(self.heard):
            return []
        with open(self.heard, encoding="utf-8") as file:
            return [json.loads(line) for line in file.read().splitlines()]

    def turn(self) -> None:
        """The CLI is asked for a command; the question comes to the user, who refuses."""
        self.plan()
        self.running.say(SECRET)
        self.running.wait_for(QUESTION, "touch meant")
        self.running.press(ESCAPE)
        self.running.wait_until(lambda screen: QUESTION not in screen, "no question any more")
        self.running.wait_ready()
        self.assertEqual(os.listdir(self.work), [])

    def plan(self) -> None:
        """The model wants the command."""
        self.model.will_call("run_shell_command", {"command": "touch meant"}, "The end of it.")

    @classmethod
    def started(cls) -> GeminiCli:
        cls.model = ModelServer()
        cls.model.__enter__()
        cls.addClassCleanup(cls.model.__exit__, None, None, None)
        return cls.run_cli(cls.model.url, {})

    @classmethod
    def run_cli(cls, url: str, variables: dict[str, str]) -> GeminiCli:
        variables = {"TMPDIR": cls.temp, **cls.compiled(), **variables}
        return cls.kind(cls.home, cls.work, url, variables)

    @classmethod
    def compiled(cls) -> dict[str, str]:
        """Where the victim's Node finds what it would compile: it keeps that by user, and ours has
        it."""
        cache = os.environ.get("NODE_COMPILE_CACHE", "")
        own = cls.folder("compiled")
        for path in glob.glob(os.path.join(glob.escape(cache), f"*-{os.getuid()}")):
            name = os.path.basename(path).rpartition("-")[0]
            shutil.copytree(path, os.path.join(own, f"{name}-{VICTIM}"))
        cls.give(own, VICTIM)
        return {"NODE_COMPILE_CACHE": own} if cache else {}

    def assert_told_nothing(self) -> None:
        """Of what the hooks had to say. The CLI's own connection is another matter."""
        told = [request for request in self.received()[1:] if request[1] != "/mcp"]
        self.assertNotIn(SECRET, json.dumps(self.received()))
        self.assertNotIn("touch meant", json.dumps(self.received()))
        self.assertEqual([request for request in told if request[0] != "GET"], [])
        self.assertEqual([request for request in told if "authorization" in request[2].lower()], [])

    def test_who_takes_the_port_of_a_killed_editor_hears_no_hook_and_allows_nothing(self) -> None:
        port = self.killed_editor()
        self.assertNotEqual(os.listdir(self.place), [])
        self.stranger(port)
        self.turn()
        self.assert_told_nothing()
        # The hooks were there, and asked who listens.
        self.assertIn(["GET", "/extension"], [request[:2] for request in self.received()[1:]])
        process, other = self.editor()
        self.assertEqual(glob.glob(os.path.join(self.place, f"*{port}.*")), [])
        self.assertNotEqual(glob.glob(os.path.join(self.place, f"*{other}.*")), [])

    def test_in_a_folder_of_the_stranger_no_file_is_read_and_no_link_is_followed(self) -> None:
        """The link leads to a file of the victim."""
        port, key = self.killed_editor(), "7" * 64
        with socket.create_server(("127.0.0.1", 0)) as free:
            other = free.getsockname()[1]
        os.rename(self.place, self.kept)
        shutil.rmtree(os.path.join(self.temp, "gemini"), ignore_errors=True)
        os.makedirs(self.place)
        for name in os.listdir(self.kept):
            os.symlink(os.path.join(self.kept, name), os.path.join(self.place, name))
        path = os.path.join(self.place, f"gemini-companion-1-{other}.key")
        with open(path, "w") as file:
            json.dump({"port": other, "workspacePath": self.work, "key": key}, file)
        self.give_place()
        self.stranger(port)
        self.stranger(other, key)
        self.turn()
        told = [request for request in self.received() if request != READY]
        self.assertEqual([request for request in told if request[1] != "/mcp"], [])

    def give_place(self) -> None:
        """The stranger has made it, and in a temp folder also what is above it."""
        shared = os.path.join(self.temp, "gemini")
        self.give(self.place if self.place.startswith(self.home) else shared, STRANGER)


class TwoUsersOfQwen(TwoUsers):
    kind = VictimsQwen
    row = QWEN_CODE
    victims = QwenCode.program

    def plan(self) -> None:
        command = call("run_shell_command", command="touch meant", is_background=False)
        self.model.will_play(SECRET, [command], ["The end of it."])

    @classmethod
    def started(cls) -> GeminiCli:
        cls.model = AnyModelServer()
        cls.model.__enter__()
        cls.addClassCleanup(cls.model.__exit__)
        url = cls.model.url.replace("127.0.0.1", "localhost") + "/v1"
        return cls.run_cli(url, {"NO_PROXY": "localhost"})
