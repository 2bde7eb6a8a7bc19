"""Repositories of git for tests, with a git that reads no settings of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import unittest
from typing import Mapping
from unittest import mock

from GeminiCompanion.companion.work_trees.creation import create_work_tree
from GeminiCompanion.companion.work_trees.repository import Repository, inspect_repository

from ..support import temp_folder
from ..waiting import wait_for

NEEDS_GIT = unittest.skipUnless(shutil.which("git"), "needs git")
# A second in the past, so that git is sure of its files.
THEN = 1_600_000_000


class InRepository(unittest.TestCase):
    """`self.folder` is a repository with one commit, `self.scratch` a folder of ours."""

    def setUp(self) -> None:
        self.temp = temp_folder(self)
        settings = os.path.join(self.temp, ".gitconfig")
        with open(settings, "w") as file:
            file.write("[user]\n\tname = a\n\temail = a@b\n[init]\n\tdefaultBranch = main\n")
        variables = {
            "GIT_CONFIG_GLOBAL": settings,
            "GIT_CONFIG_NOSYSTEM": "1",
            # Nobody asks a login shell where more programs are.
            "SHELL": "/bin/false",
        }
        patch = mock.patch.dict(os.environ, variables)
        patch.start()
        self.addCleanup(patch.stop)
        self.scratch = os.path.join(self.temp, "scratch")
        self.folder = os.path.join(self.temp, "project")
        os.mkdir(self.scratch)
        os.mkdir(self.folder)
        self.git("init", "-q")
        # Older ones do not know the setting.
        self.git("symbolic-ref", "HEAD", "refs/heads/main")
        self.write("a.txt", b"one\n")
        self.write("sub/b.txt", b"two\n")
        self.commit()

    def git(self, *words: str, folder: str = "", told: bytes = b"", **more: str) -> str:
        """What git tells, without the last line end."""
        done = subprocess.run(
            ("git", "-c", "protocol.file.allow=always", *words),
            cwd=folder or self.folder,
            input=told,
            stdout=subprocess.PIPE,
            check=True,
            timeout=120,
            env={**os.environ, **more},
        )
        return os.fsdecode(done.stdout).rstrip("\n")

    def commit(self, folder: str = "") -> str:
        self.git("add", "-A", folder=folder)
        self.git("commit", "-qm", "x", "--allow-empty", folder=folder)
        return self.git("rev-parse", "HEAD", folder=folder)

    def wait_for_clock(self, since: float) -> None:
        """Until what is written is written after that: files have a clock that may be late."""
        path = os.path.join(self.temp, "clock")

        def is_after() -> bool:
            with open(path, "wb") as file:
                file.write(b"x")
            return os.stat(path).st_mtime > since

        wait_for(is_after)

    def at(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def write(self, name: str, text: bytes, at: int = THEN) -> None:
        path = self.at(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text)
        os.utime(path, (at, at))

    def inspect(self, folder: str = "") -> Repository:
        return inspect_repository(folder or self.folder, self.scratch)

    def make(
        self, id: str = "aaaaa1", take_changes: bool = True, take_untracked: bool = True
    ) -> str:
        """The path of a new work tree."""
        path = os.path.join(self.temp, "trees", id)
        create_work_tree(
            self.inspect(), path, id, take_changes, take_untracked, lambda *progress: None
        )
        return path

    def files_in(self, folder: str) -> Mapping[str, bytes]:
        """The content of each file below the folder, by its name; of a link where it leads."""
        found = {}
        for place, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if name != ".git"]
            links = [name for name in folders if os.path.islink(os.path.join(place, name))]
            for name in (name for name in [*names, *links] if name != ".git"):
                path = os.path.join(place, name)
                key = os.path.relpath(path, folder).replace(os.sep, "/")
                if os.path.islink(path):
                    found[key] = b"-> " + os.fsencode(os.readlink(path))
                else:
                    with open(path, "rb") as file:
                        found[key] = file.read()
        return found
