"""The PATH of the login shell: asked once, with files of a user that write, hang and stay."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import sys
import tempfile
import unittest
from contextlib import suppress
from typing import Any
from unittest import mock

from GeminiCompanion.companion.base import login_path
from GeminiCompanion.companion.base.login_path import LoginPath

from ..support import PATIENCE, is_alive, patched, wait_for

SHELLS = [each for each in map(shutil.which, ("bash", "zsh", "fish", "tcsh")) if each]


@unittest.skipIf(sys.platform == "win32", "there is no login shell there")
class Asking(unittest.TestCase):
    """`self.shell` is the user's, a script that counts its starts in `self.starts`."""

    def setUp(self) -> None:
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.shell, self.starts = os.path.join(self.folder, "shell"), os.path.join(self.folder, "n")
        self.set(SHELL=self.shell, PATH="/usr/bin:/bin")
        # A shell takes long on a busy machine.
        patched(self, mock.patch.object(login_path, "PATIENCE", PATIENCE))

    def set(self, **variables: str) -> None:
        patch = mock.patch.dict(os.environ, variables)
        patch.start()
        self.addCleanup(patch.stop)

    def answer(self, lines: str) -> LoginPath:
        with open(self.shell, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\necho >> '{self.starts}'\n{lines}\n")
        os.chmod(self.shell, stat.S_IRWXU)
        return LoginPath()

    def test_what_the_shell_adds_comes_first_and_it_is_asked_once(self) -> None:
        path = self.answer('PATH="/opt/x/bin:/usr/bin:relative:$PATH"; eval "$2"')
        for _ in range(2):
            self.assertEqual(path.ask(), "/opt/x/bin:/usr/bin:/bin")
        with open(self.starts, encoding="utf-8") as file:
            self.assertEqual(file.read(), "\n")

    def test_what_the_users_files_write_is_not_taken_for_it(self) -> None:
        path = self.answer('echo "PATH=/evil"; PATH="/opt/x/bin:$PATH"; eval "$2"; echo Bye')
        self.assertEqual(path.ask(), "/opt/x/bin:/usr/bin:/bin")

    def test_the_shell_starts_in_the_users_home_wherever_the_editor_does(self) -> None:
        home = os.path.join(self.folder, "home")
        os.mkdir(home)
        self.set(HOME=home)
        path = self.answer('PATH="$(pwd)/bin:$PATH"; eval "$2"')
        self.assertEqual(path.ask(), f"{home}/bin:/usr/bin:/bin")

    def test_a_shell_that_adds_nothing_or_tells_nothing_gives_nothing(self) -> None:
        for lines in ('eval "$2"', "exit 1", "echo hello", 'echo "$2"', 'PATH=""; eval "$2"'):
            with self.subTest(lines):
                self.assertEqual(self.answer(lines).ask(), "")

    def test_a_shell_that_is_none_is_not_asked(self) -> None:
        for shell in ("/usr/sbin/nologin", "/bin/false", "/no/such/shell", "relative", self.folder):
            with self.subTest(shell), mock.patch.dict(os.environ, SHELL=shell):
                self.assertEqual(LoginPath().ask(), "")

    def test_one_that_hangs_is_ended_and_not_asked_again(self) -> None:
        pid = os.path.join(self.folder, "pid")
        behind = ""
        # A busy machine needs more until the shell has begun.
        for seconds in (0.3, 3.0, 30.0):
            path = self.answer(f"sleep 600 & echo $! > '{pid}'; sleep 600")
            with mock.patch.object(login_path, "PATIENCE", seconds):
                self.assertEqual(path.ask(), "")
            behind = self.read(pid)
            if behind:
                break
        wait_for(lambda: not is_alive(int(behind)))
        starts = self.read(self.starts)
        self.assertEqual(path.ask(), "")
        self.assertEqual(self.read(self.starts), starts)

    def read(self, path: str) -> str:
        """Empty where it is not written yet."""
        with suppress(FileNotFoundError), open(path, encoding="utf-8") as file:
            return file.read()
        return ""

    def test_what_the_users_files_leave_running_is_not_waited_for(self) -> None:
        pid = os.path.join(self.folder, "pid")
        path = self.answer(f'sleep 600 & echo $! > \'{pid}\'; PATH="/opt/x/bin:$PATH"; eval "$2"')
        self.assertEqual(path.ask(), "/opt/x/bin:/usr/bin:/bin")
        behind = int(self.read(pid))
        self.assertTrue(is_alive(behind))
        os.kill(behind, signal.SIGKILL)

    def test_one_that_did_not_tell_is_asked_again_after_a_while(self) -> None:
        self.answer("exit 1")
        now = 0.0
        path = LoginPath(lambda: now)
        self.assertEqual(path.ask(), "")
        self.answer('PATH="/opt/x/bin:$PATH"; eval "$2"')
        for now in (login_path.AGAIN - 1, login_path.AGAIN):
            told = path.ask()
            self.assertEqual(told, "" if now < login_path.AGAIN else "/opt/x/bin:/usr/bin:/bin")

    def test_the_shell_does_not_get_the_token_of_our_server(self) -> None:
        self.set(GEMINI_API_SERVER_TOKEN="secret", OF_USER="theirs")
        path = self.answer('PATH="/$GEMINI_API_SERVER_TOKEN/$OF_USER:$PATH"; eval "$2"')
        self.assertEqual(path.ask(), "//theirs:/usr/bin:/bin")

    def test_the_path_is_another_one_for_a_program_that_only_the_shell_knows(self) -> None:
        own = os.path.join(self.folder, "own")
        os.mkdir(own)
        os.symlink("/bin/sh", os.path.join(own, "gemini"))
        # With the slash at its end, as some files write it.
        path = self.answer(f'PATH="{own}/:$PATH"; eval "$2"')
        whole = {"PATH": f"{own}/:/usr/bin:/bin"}
        self.assertEqual(path.changes_for("sh"), {})
        self.assertFalse(os.path.exists(self.starts))
        for programs, changes in (
            (("gemini",), whole), (("sh", "gemini"), whole), (("not-there",), {})
        ):  # fmt: skip
            self.assertEqual(path.changes_for(*programs), changes)
        self.assertEqual(path.changes_for("gemini", path=own), {})

    def test_real_shells_tell_what_their_files_set(self) -> None:
        self.assertTrue(SHELLS)
        files = {
            ".bash_profile": "export PATH=/opt/x/bin:$PATH\n",
            ".zshrc": "export PATH=/opt/x/bin:$PATH\n",
            ".config/fish/config.fish": "set -x PATH /opt/x/bin $PATH\n",
            ".tcshrc": "setenv PATH /opt/x/bin:$PATH\n",
        }
        for name, lines in files.items():
            place = os.path.join(self.folder, name)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "w", encoding="utf-8") as file:
                file.write("echo Welcome\n" + lines)
        for shell in SHELLS:
            told: Any
            with self.subTest(shell), mock.patch.dict(os.environ, SHELL=shell, HOME=self.folder):
                told = LoginPath().ask()
                self.assertIn("/opt/x/bin", told.split(":"))
