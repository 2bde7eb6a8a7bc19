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

import cli
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
    """`self.temp` is a temp folder of all, `self.home` the victim's."""

    kind: type[GeminiCli] = VictimsGemini
    row: Cli = GEMINI_CLI

    def setUp(self) -> None:
        if not IS_ROOT or not shutil.which("setpriv"):
            self.skipTest("only root can be two users, with setpriv")
        if not may_run(VICTIM, sys.executable, "-c", "import asyncio"):
            self.skipTest("other users may not run this Python")
        if not may_run(VICTIM, "node", "--version") or not may_run(
            VICTIM, "test", "-x", cli.BINARY
        ):
            self.skipTest("the CLIs are not installed (make setup), or not for other users")
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="e2e-"))
        self.addCleanup(shutil.rmtree, self.root, True)
        os.chmod(self.root, 0o755)
        self.temp, self.home = self.folder("tmp", 0o1777), self.folder("home")
        self.work = self.folder("work")
        with open(os.path.join(ROOT, "extension", "companion.cjs"), "rb") as file:
            program = file.read()
        for each in (GEMINI_CLI, QWEN_CODE):
            extension.install(each, extension.folder(each, {}, self.home), program)
        self.give(self.home, VICTIM)
        self.give(self.work, VICTIM)

    def folder(self, name: str, mode: int = 0o755) -> str:
        path = os.path.join(self.root, name)
        os.mkdir(path)
        os.chmod(path, mode)
        return path

    def give(self, path: str, uid: int) -> None:
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
        path, before = os.path.join(self.root, "heard"), len(self.received())
        with open(path, "ab") as out:
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
        if not os.path.exists(os.path.join(self.root, "heard")):
            return []
        with open(os.path.join(self.root, "heard"), encoding="utf-8") as file:
            return [json.loads(line) for line in file.read().splitlines()]

    def turn(self) -> None:
        """The CLI is asked for a command; the question comes to the user, who refuses."""
        running = self.started()
        running.wait_ready()
        running.say(SECRET)
        running.wait_for(QUESTION, "touch meant")
        running.press(ESCAPE)
        running.wait_ready()
        self.assertEqual(os.listdir(self.work), [])

    def started(self) -> GeminiCli:
        model = ModelServer()
        model.__enter__()
        self.addCleanup(model.__exit__, None, None, None)
        model.will_call("run_shell_command", {"command": "touch meant"}, "The end of it.")
        return self.run_cli(model.url, {"TMPDIR": self.temp})

    def run_cli(self, url: str, variables: dict[str, str]) -> GeminiCli:
        running = self.kind(self.home, self.work, url, {**self.compiled(), **variables})
        self.addCleanup(running.close)
        return running

    def compiled(self) -> dict[str, str]:
        """Where the victim's Node finds what it would compile: it keeps that by user, and ours has
        it."""
        cache = os.environ.get("NODE_COMPILE_CACHE", "")
        own = self.folder("compiled")
        for path in glob.glob(os.path.join(glob.escape(cache), f"*-{os.getuid()}")):
            name = os.path.basename(path).rpartition("-")[0]
            shutil.copytree(path, os.path.join(own, f"{name}-{VICTIM}"))
        self.give(own, VICTIM)
        return {"NODE_COMPILE_CACHE": own} if cache else {}

    def assert_told_nothing(self) -> None:
        """Of what the hooks had to say. The CLI's own connection is another matter."""
        told = [it for it in self.received()[1:] if it[1] != "/mcp"]
        self.assertNotIn(SECRET, json.dumps(self.received()))
        self.assertNotIn("touch meant", json.dumps(self.received()))
        self.assertEqual([it for it in told if it[0] != "GET"], [])
        self.assertEqual([it for it in told if "authorization" in it[2].lower()], [])

    def test_who_takes_the_port_of_a_killed_editor_hears_no_hook_and_allows_nothing(self) -> None:
        port = self.killed_editor()
        self.assertNotEqual(os.listdir(self.place), [])
        self.stranger(port)
        self.turn()
        self.assert_told_nothing()
        # The hooks were there, and asked who listens.
        self.assertIn(["GET", "/extension"], [it[:2] for it in self.received()[1:]])
        process, other = self.editor()
        self.assertEqual(glob.glob(os.path.join(self.place, f"*{port}.*")), [])
        self.assertNotEqual(glob.glob(os.path.join(self.place, f"*{other}.*")), [])

    def test_in_a_folder_of_the_stranger_no_file_is_read_and_no_link_is_followed(self) -> None:
        """The link leads to a file of the victim."""
        port, key = self.killed_editor(), "7" * 64
        with socket.create_server(("127.0.0.1", 0)) as free:
            other = free.getsockname()[1]
        kept = os.path.join(self.home, "kept")
        os.rename(self.place, kept)
        shutil.rmtree(os.path.join(self.temp, "gemini"), ignore_errors=True)
        os.makedirs(self.place)
        for name in os.listdir(kept):
            os.symlink(os.path.join(kept, name), os.path.join(self.place, name))
        path = os.path.join(self.place, f"gemini-companion-1-{other}.key")
        with open(path, "w") as file:
            json.dump({"port": other, "workspacePath": self.work, "key": key}, file)
        self.give_place()
        self.stranger(port)
        self.stranger(other, key)
        self.turn()
        told = [it for it in self.received() if it != READY]
        self.assertEqual([it for it in told if it[1] != "/mcp"], [])

    def give_place(self) -> None:
        """The stranger has made it, and in a temp folder also what is above it."""
        shared = os.path.join(self.temp, "gemini")
        self.give(self.place if self.place.startswith(self.home) else shared, STRANGER)


class TwoUsersOfQwen(TwoUsers):
    kind = VictimsQwen
    row = QWEN_CODE

    def setUp(self) -> None:
        super().setUp()
        if not may_run(VICTIM, "test", "-x", QwenCode.program):
            self.skipTest("Qwen Code or its Node is not installed for other users: make setup")

    def started(self) -> GeminiCli:
        model = AnyModelServer()
        model.__enter__()
        self.addCleanup(model.__exit__)
        command = call("run_shell_command", command="touch meant", is_background=False)
        model.will_play(SECRET, [command], ["The end of it."])
        url = model.url.replace("127.0.0.1", "localhost") + "/v1"
        return self.run_cli(url, {"TMPDIR": self.temp, "NO_PROXY": "localhost"})
