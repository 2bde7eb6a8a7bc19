"""Repositories whose settings, hooks and attributes name programs, or places outside of them."""

from __future__ import annotations

import os
import subprocess
import unittest

from GeminiCompanion.companion.work_trees.file_git import open_file_git
from GeminiCompanion.companion.work_trees.git import GitFailure, Watch, run_git
from GeminiCompanion.companion.work_trees.repository import inspect_repository

from .repositories import NEEDS_GIT, InRepository

# Settings that name a program: "!" stands for one that leaves a mark.
PROGRAMS = """
[core]
\tfsmonitor = !
\tsshCommand = !
\teditor = !
\tpager = !
\taskPass = !
\tgitProxy = !
\talternateRefsCommand = !
[alias]
\tstatus = "!!"
\tworktree = "!!"
\trev-parse = "!!"
[pager]
\tworktree = !
\tls-files = !
\tdiff-files = !
[diff]
\texternal = !
[diff "evil"]
\ttextconv = !
\tcommand = !
[filter "evil"]
\tclean = !
\tsmudge = !
\tprocess = !
\trequired = true
[merge "evil"]
\tdriver = !
[gpg]
\tprogram = !
[gpg "ssh"]
\tprogram = !
[commit]
\tgpgSign = true
[log]
\tshowSignature = true
[credential]
\thelper = "!!"
[uploadpack]
\tpackObjectsHook = !
[remote "origin"]
\turl = ext::!
\tuploadpack = !
[protocol "ext"]
\tallow = always
[trailer "evil"]
\tcommand = !
[submodule]
\trecurse = true
[submodule "inner"]
\tupdate = "!!"
[hook "evil"]
\tevent = post-checkout
\tevent = reference-transaction
\tevent = post-index-change
\tcommand = !
"""
HOOKS = (
    "post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc",
    "fsmonitor-watchman", "pre-commit", "post-commit", "post-rewrite",
)  # fmt: skip
ATTRIBUTES = b"*.txt filter=evil diff=evil merge=evil\n"


@NEEDS_GIT
@unittest.skipIf(os.name == "nt", "the programs are for another shell")
class HostileRepositories(InRepository):
    def setUp(self) -> None:
        super().setUp()
        self.marks = os.path.join(self.temp, "marks")
        os.mkdir(self.marks)

    def program(self, name: str, status: int = 1) -> str:
        """A command that leaves a mark, and ends with the status."""
        path = os.path.join(self.temp, f"evil-{name}")
        with open(path, "w") as file:
            file.write(f"#!/bin/sh\n: > '{self.marks}/{name}'\nexit {status}\n")
        os.chmod(path, 0o755)
        return path

    def settings(self, name: str) -> bytes:
        """Each setting with a program of its own, for which it is named."""
        lines = []
        for number, line in enumerate(PROGRAMS.splitlines()):
            word = line.partition(" = ")[0].strip()
            path = self.program(f"{name}-{number}-{word}") if "!" in line else ""
            lines.append(
                line.replace("!!", "!" + path) if "!!" in line else line.replace("!", path)
            )
        return "\n".join(lines).encode()

    def set_baits(self, place: str, git_folder: str = "") -> None:
        """Have all programs named: in the settings, or a file that these include, or those of this
        work tree alone."""
        git_folder = git_folder or self.at(".git")
        own = os.path.join(git_folder, "config")
        if place == "include":
            self.git("config", "--file", own, "include.path", "more")
            own = os.path.join(git_folder, "more")
        elif place == "work tree":
            self.git("config", "--file", own, "core.repositoryFormatVersion", "1")
            self.git("config", "--file", own, "extensions.worktreeConfig", "true")
            own += ".worktree"
        with open(own, "ab") as file:
            file.write(self.settings(place.replace(" ", "-")))
        for name in HOOKS:
            hook = os.path.join(git_folder, "hooks", name)
            os.makedirs(os.path.dirname(hook), exist_ok=True)
            os.rename(self.program(f"hook-{name}", 0), hook)
        with open(os.path.join(git_folder, "info", "attributes"), "wb") as file:
            file.write(ATTRIBUTES)

    def fired(self) -> list[str]:
        return sorted(os.listdir(self.marks))

    def change_files(self) -> None:
        self.write(".gitattributes", ATTRIBUTES)
        self.commit()
        self.write("a.txt", b"changed\n", 1_700_000_000)
        self.write("new.txt", b"new\n")

    def test_no_program_that_a_repository_names_is_run(self) -> None:
        self.change_files()
        for place in ("settings", "include", "work tree"):
            with self.subTest(place):
                with open(self.at(".git/config"), "rb") as file:
                    before = file.read()
                self.set_baits(place)
                path = self.make("aaaaaa" + place[:1])
                self.assertEqual(self.fired(), [])
                with open(os.path.join(path, "a.txt"), "rb") as file:
                    self.assertEqual(file.read(), b"changed\n")
                with open(self.at(".git/config"), "wb") as file:
                    file.write(before)
        # They are no dull ones.
        self.set_baits("settings")
        tree = os.path.join(self.temp, "other")
        for words in (("add", "a.txt"), ("worktree", "add", "--detach", tree)):
            subprocess.run(("git", *words), cwd=self.folder, capture_output=True, timeout=60)
        fired = {name.rpartition("-")[2] for name in self.fired()}
        self.assertLessEqual({"fsmonitor", "process"}, fired)

    def test_nor_one_that_an_agent_names_while_git_works(self) -> None:
        self.change_files()
        places = self.inspect().places
        with open_file_git(places, self.scratch) as git:
            self.set_baits("settings")
            git.run("update-index", "--add", "a.txt", "new.txt")
            git.run("checkout-index", "-f", "a.txt")
        self.assertEqual(self.fired(), [])

    def test_nor_one_of_a_repository_within_it(self) -> None:
        other = os.path.join(self.temp, "other")
        os.mkdir(other)
        self.git("init", "-q", folder=other)
        self.git("commit", "-qm", "x", "--allow-empty", folder=other)
        self.git("submodule", "--quiet", "add", other, "inner")
        self.commit()
        self.write("inner/x.txt", b"changed\n")
        self.set_baits("settings", self.at(".git/modules/inner"))
        repository = self.inspect()
        self.assertEqual(repository.submodules.names, ("inner",))
        self.assertEqual(repository.changed.names, ())
        path = self.make()
        self.assertEqual(self.fired(), [])
        self.assertEqual(os.listdir(os.path.join(path, "inner")), [])

    def test_a_filter_of_the_users_own_runs_also_if_the_repository_names_another(self) -> None:
        self.git("config", "--global", "filter.evil.clean", "tr a-z A-Z")
        self.git("config", "--global", "filter.evil.smudge", "tr A-Z a-z")
        self.change_files()
        self.set_baits("settings")
        repository, path = self.inspect(), self.make()
        self.assertEqual(self.fired(), [])
        self.assertEqual(repository.filters, ())
        with open(os.path.join(path, "a.txt"), "rb") as file:
            self.assertEqual(file.read(), b"changed\n")
        kept = run_git(path, "cat-file", "blob", "HEAD:a.txt")
        self.assertEqual(kept, b"CHANGED\n")

    def test_a_filter_that_the_user_has_for_some_folders_only_runs_there(self) -> None:
        with open(os.path.join(self.temp, "more"), "w") as file:
            file.write('[filter "evil"]\n\tclean = "tr a-z A-Z"\n')
        where = f"includeIf.gitdir:{self.folder}/.path"
        self.git("config", "--global", where, os.path.join(self.temp, "more"))
        self.change_files()
        self.set_baits("settings")
        path = self.make()
        self.assertEqual(self.fired(), [])
        self.assertEqual(run_git(path, "cat-file", "blob", "HEAD:a.txt"), b"CHANGED\n")

    def test_a_filter_that_is_not_run_is_told_where_files_have_it(self) -> None:
        self.change_files()
        self.git("config", "filter.evil.clean", "tr a-z A-Z")
        self.git("config", "filter.unused.clean", "tr a-z A-Z")
        self.assertEqual(self.inspect().filters, ("evil",))

    def test_its_settings_cannot_name_any_folder_as_its_files(self) -> None:
        self.git("config", "core.worktree", self.temp)
        with self.assertRaisesRegex(GitFailure, "core.worktree"):
            self.inspect()

    def test_files_that_never_end_are_refused(self) -> None:
        for name in ("index", "info/exclude"):
            with self.subTest(name):
                with open(self.at(f".git/{name}"), "rb") as file:
                    kept = file.read()
                os.remove(self.at(f".git/{name}"))
                os.mkfifo(self.at(f".git/{name}"))
                with self.assertRaisesRegex(GitFailure, "no file"):
                    self.inspect()
                os.remove(self.at(f".git/{name}"))
                with open(self.at(f".git/{name}"), "wb") as file:
                    file.write(kept)

    def test_one_in_which_git_waits_for_a_pipe_can_be_stopped(self) -> None:
        class Stopped(Exception):
            pass

        calls: list[str] = []

        def stop(line: str) -> None:
            calls.append(line)
            if len(calls) > 3:
                raise Stopped

        self.git("config", "filter.evil.clean", "cat")
        for name in (".gitignore", "sub/.gitattributes"):
            os.mkfifo(self.at(name))
            with self.assertRaises(Stopped):
                inspect_repository(self.folder, self.scratch, Watch(stop))
            os.remove(self.at(name))
        self.assertEqual(os.listdir(self.scratch), [])

    def test_what_may_start_programs_is_refused_where_their_settings_count(self) -> None:
        for words in (("status",), ("log", "-p"), ("cat-file", "--filters", "HEAD:a.txt")):
            with self.subTest(words), self.assertRaises(ValueError):
                run_git(self.folder, *words)
