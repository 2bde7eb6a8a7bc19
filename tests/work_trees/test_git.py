from __future__ import annotations

import os
import unittest
from unittest import mock

from GeminiCompanion.companion.work_trees import git
from GeminiCompanion.companion.work_trees.file_git import NAME, open_file_git
from GeminiCompanion.companion.work_trees.git import GitFailure, Watch, run_git

from .repositories import NEEDS_GIT, InRepository


@NEEDS_GIT
class Git(InRepository):
    def test_variables_of_the_editor_lead_it_to_no_other_repository(self) -> None:
        other = os.path.join(self.temp, "other")
        self.git("init", "-q", other)
        with mock.patch.dict(os.environ, GIT_DIR=os.path.join(other, ".git"), GIT_WORK_TREE=other):
            self.assertEqual(self.inspect().root, self.folder)

    def test_settings_in_variables_of_the_users_own_count(self) -> None:
        given = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "c"}
        with mock.patch.dict(os.environ, given):
            self.assertEqual(run_git(self.folder, "config", "a.b"), b"c\n")

    def test_what_git_says_of_a_failure_is_in_the_sentence(self) -> None:
        with self.assertRaisesRegex(
            GitFailure, r"^git rev-parse failed: Needed a single revision\.$"
        ):
            run_git(self.folder, "rev-parse", "--verify", "nowhere")

    @unittest.skipUnless(hasattr(os, "getuid") and not os.getuid(), "only root gives files away")
    def test_a_repository_of_another_user_is_refused_with_what_to_do(self) -> None:
        os.chown(self.folder, 65534, 65534)
        os.chown(self.at(".git"), 65534, 65534)
        with self.assertRaisesRegex(GitFailure, "dubious ownership.*safe.directory"):
            self.inspect()

    def test_characters_that_nobody_sees_are_spelled_out(self) -> None:
        with self.assertRaises(GitFailure) as caught:
            run_git(self.folder, "rev-parse", "--verify", "--end-of-options", "a\x1b[2Jb\u202e")
        self.assertNotIn("\x1b", str(caught.exception))

    def test_more_than_the_bound_is_refused(self) -> None:
        self.write("large.txt", b"x" * 100_000)
        self.commit()
        with mock.patch.object(git, "MAX_OUTPUT", 50_000):
            with self.assertRaisesRegex(GitFailure, "told more than"):
                run_git(self.folder, "cat-file", "blob", "HEAD:large.txt")

    @unittest.skipIf(os.name == "nt", "there are no named pipes among files")
    def test_one_that_waits_for_nothing_is_stopped(self) -> None:
        os.mkfifo(self.at(".git/pipe"))
        with self.assertRaisesRegex(GitFailure, "did not end in time"):
            run_git(self.folder, "config", "--file", self.at(".git/pipe"), "--list", seconds=0.5)

    @unittest.skipIf(os.name == "nt", "there are no named pipes among files")
    def test_what_the_watch_raises_ends_it(self) -> None:
        class Ended(Exception):
            pass

        def end(line: str) -> None:
            raise Ended

        os.mkfifo(self.at(".git/pipe"))
        words = ("config", "--file", self.at(".git/pipe"), "--list")
        with self.assertRaises(Ended):
            run_git(self.folder, *words, watch=Watch(end))

    def test_what_is_told_may_be_larger_than_a_pipe(self) -> None:
        head = self.git("rev-parse", "HEAD")
        told = f"{head}\n".encode() * 20_000
        found = run_git(self.folder, "cat-file", "--batch-check", told=told)
        self.assertEqual(found.count(b" commit "), 20_000)


@NEEDS_GIT
class GitForFiles(InRepository):
    def test_its_objects_are_gone_afterwards_unless_they_are_kept(self) -> None:
        self.write("new.txt", b"new\n")
        places = self.inspect().places
        for keeps, kind in ((False, ""), (True, "blob")):
            with open_file_git(places, self.scratch, keeps_objects=keeps) as made:
                id = made.run("hash-object", "-w", "new.txt").decode().strip()
                self.assertEqual(made.run("cat-file", "-t", id), b"blob\n")
            found = git.git_or_nothing(self.folder, "cat-file", "-t", id)
            self.assertEqual(found.decode().strip(), kind)

    def test_what_a_dead_process_has_left_is_removed(self) -> None:
        left = os.path.join(self.scratch, f"{NAME}999999999-x")
        mine = os.path.join(self.scratch, f"{NAME}{os.getpid()}-x")
        os.mkdir(left)
        os.mkdir(mine)
        self.inspect()
        self.assertEqual(os.listdir(self.scratch), [os.path.basename(mine)])

    def test_a_setting_with_any_value_is_taken_as_it_is(self) -> None:
        path = os.path.join(self.temp, 'a "b" \\ c\t#;')
        with open(path, "w") as file:
            file.write("*.tmp\n")
        self.git("config", "core.excludesFile", path)
        self.write("x.tmp", b"x\n")
        found = self.inspect()
        self.assertEqual((found.ignored, found.untracked.count), (("x.tmp",), 0))

    @unittest.skipIf(os.name == "nt", "the filter is for another shell")
    def test_the_filter_for_large_files_keeps_them_in_the_repository(self) -> None:
        told = os.path.join(self.temp, "told")
        self.git("config", "--global", "filter.lfs.clean", f"git config lfs.storage > {told}; cat")
        self.write(".gitattributes", b"*.bin filter=lfs\n")
        self.write("a.bin", b"large\n")
        self.make()
        with open(told) as file:
            self.assertEqual(file.read().strip(), self.at(".git/lfs"))
