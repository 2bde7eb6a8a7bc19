"""What is told of changes in the git folder that all work trees share."""

from __future__ import annotations

import errno
import os
import sys
import unittest
from dataclasses import replace
from unittest import mock

from GeminiCompanion.companion.base import private_files
from GeminiCompanion.companion.work_trees import shared_files
from GeminiCompanion.companion.work_trees.removal import remove_work_tree
from GeminiCompanion.companion.work_trees.shared_changes import changed_history, changed_rules
from GeminiCompanion.companion.work_trees.shared_state import SharedReader, SharedState
from GeminiCompanion.companion.work_trees.shared_watch import HistoryLook, SharedWatch

from .recorded_trees import WithStore
from .repositories import NEEDS_GIT


@NEEDS_GIT
class Watches(WithStore):
    def setUp(self) -> None:
        super().setUp()
        self.git_folder = self.at(".git")
        self.watch = SharedWatch(self.store)
        self.watch.begin(self.git_folder)
        self.work_tree = self.tree()
        self.path = self.work_tree.path

    def told(self) -> tuple[str, ...]:
        found = self.watch.tell_changes(self.git_folder)
        return (*found.rules, *found.history)

    def assert_told(self, *parts: str) -> None:
        """Each sentence has one of the parts, in this order."""
        sentences = self.told()
        self.assertEqual(len(sentences), len(parts), sentences)
        for sentence, part in zip(sentences, parts):
            self.assertIn(part, sentence)
        self.assertEqual(self.told(), ())

    def put(self, name: str, text: bytes = b"x\n") -> None:
        path = os.path.join(self.git_folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text)

    def test_work_in_a_tree_of_its_own_is_not_spoken_of(self) -> None:
        for name in ("one", "two"):
            self.write_in(self.work_tree, name)
            self.commit(self.path)
        self.git("update-ref", "refs/worktree/x", "HEAD", folder=self.path)
        self.tree("bbbbbb", take_changes=False)
        self.git("gc", "-q")
        self.assertEqual(self.told(), ())

    def test_branches(self) -> None:
        self.git("branch", "old")
        self.assert_told("1 branch is new: old (")
        self.write_in(self.work_tree, "new")
        commit = self.commit(self.path)
        first = self.work_tree.beginning
        self.git("branch", "-D", "old", folder=self.path)
        self.git("branch", "new", folder=self.path)
        self.git("branch", "-f", "old-2", folder=self.path)
        self.assert_told("2 branches are new: new (", f"1 branch is gone: old ({first[:7]}).")
        self.git("update-ref", "refs/heads/main", "HEAD", folder=self.path)
        self.assert_told(f"changed: main ({first[:7]} to {commit[:7]}).")

    def test_a_branch_that_was_only_packed_is_the_same(self) -> None:
        self.git("branch", "old")
        self.told()
        self.git("pack-refs", "--all")
        self.assertEqual(self.told(), ())
        self.git("branch", "-D", "old")
        self.assert_told("1 branch is gone: old")

    def test_tags_and_other_refs(self) -> None:
        for name in ("refs/tags/v1", "refs/remotes/origin/main", "refs/replace/x", "refs/mine"):
            self.git("update-ref", name, "HEAD", folder=self.path)
        self.assert_told(
            "1 tag is new: v1",
            "1 branch of a remote is new: origin/main",
            "1 replacement of an object is new: x",
            "1 other ref is new: mine",
        )

    def test_the_head_of_the_users_own(self) -> None:
        self.git("symbolic-ref", "HEAD", "refs/heads/other")
        self.assert_told("HEAD was main and is other.")
        self.git("checkout", "-qf", "--detach", "main")
        self.assert_told(f"HEAD was other and is {self.work_tree.beginning[:7]}.")

    def test_other_work_trees_of_the_user(self) -> None:
        mine = os.path.join(self.temp, "mine")
        self.git("worktree", "add", "-q", "--detach", mine)
        self.assert_told(f"1 work tree is new: {mine}.")
        self.git("checkout", "-qb", "theirs", folder=mine)
        self.assert_told(f"HEAD of {mine} was", "1 branch is new: theirs")
        self.git("worktree", "remove", mine)
        self.assert_told("1 work tree is gone")

    def test_a_tree_that_is_made_or_removed_meanwhile_is_not_spoken_of(self) -> None:
        listed = self.store.list_trees

        def make_then_list() -> object:
            with mock.patch.object(self.store, "list_trees", listed):
                found = listed()
                if len(found) == 1:
                    self.tree("bbbbbb")
            return found

        with mock.patch.object(self.store, "list_trees", make_then_list):
            self.assertEqual(self.told(), ())
        self.assertEqual(self.told(), ())

    def test_the_stash(self) -> None:
        for text in (b"1", b"2"):
            self.write_in(self.work_tree, "a.txt", text)
            self.git("stash", "push", "-q", "-m", "half " + text.decode(), folder=self.path)
        sentences = self.told()
        self.assertEqual(len(sentences), 1)
        self.assertTrue(sentences[0].startswith("2 stash entries are new: "))
        self.assertIn("half 1", sentences[0])
        self.git("stash", "drop", "-q", "stash@{1}", folder=self.path)
        self.assert_told("1 stash entry is gone: On (no branch): half 1.")
        self.git("stash", "clear", folder=self.path)
        self.assert_told("1 stash entry is gone: On (no branch): half 2.")

    def test_settings(self) -> None:
        for key, value in (
            ("core.fsmonitor", "/tmp/evil"),
            ("alias.st", "!evil"),
            ("filter.x.clean", "evil"),
            ("user.name", "Somebody"),
        ):
            self.git("config", key, value, folder=self.path)
        self.assert_told(
            "3 settings that decide what git runs or reaches are new: alias.st, core.fsmonitor",
            "1 setting is new: user.name.",
        )
        self.git("config", "user.name", "Other", folder=self.path)
        self.assert_told("1 setting changed: user.name.")
        self.git("config", "--unset", "user.name", folder=self.path)
        self.assert_told("1 setting is gone: user.name.")

    def test_settings_in_a_file_that_others_include(self) -> None:
        self.put("more", b"[user]\n\tname = a\n")
        self.git("config", "include.path", "more", folder=self.path)
        self.assert_told("include.path", "1 setting is new: user.name.")
        # The file that includes it is an old one.
        with mock.patch.object(shared_files, "SURE", -(10**18)):
            self.told()
            self.put("more", b"[user]\n\tname = b\n")
            self.assert_told("1 setting changed: user.name.")

    def test_settings_of_one_work_tree(self) -> None:
        self.git("config", "extensions.worktreeConfig", "true")
        self.git("config", "--worktree", "core.sshCommand", "evil")
        self.assert_told("2 settings that decide what git runs or reaches are new: core.sshcommand")

    def test_settings_that_git_cannot_read(self) -> None:
        self.put("config", b"[broken\n")
        self.assertIn("1 setting is new: config.", self.told())

    def test_values_of_settings_are_not_kept(self) -> None:
        self.git("config", "http.extraHeader", "Bearer secret-of-the-user")
        self.told()
        for name in os.listdir(self.store.folder):
            with open(os.path.join(self.store.folder, name), "rb") as file:
                self.assertNotIn(b"secret", file.read())

    def test_hooks(self) -> None:
        self.put("hooks/pre-commit")
        self.put("hooks/other.sample")
        one = "1 hook, which is a program that git runs,"
        self.assert_told(f"{one} is new: pre-commit.")
        self.put("hooks/pre-commit", b"y\n")
        self.assert_told(f"{one} changed: pre-commit.")
        os.chmod(os.path.join(self.git_folder, "hooks/pre-commit"), 0o755)
        self.assert_told(f"{one} changed: pre-commit.")
        os.remove(os.path.join(self.git_folder, "hooks/pre-commit"))
        self.assert_told(f"{one} is gone: pre-commit.")

    @unittest.skipIf(sys.platform == "win32", "links need a privilege")
    def test_a_hook_that_is_a_link(self) -> None:
        self.put("elsewhere", b"one")
        os.symlink("../elsewhere", os.path.join(self.git_folder, "hooks", "pre-push"))
        self.assert_told("new: pre-push.")
        self.put("elsewhere", b"two")
        self.assert_told("changed: pre-push.")

    @unittest.skipIf(sys.platform == "win32", "links need a privilege")
    def test_an_old_link_may_lead_to_what_is_new(self) -> None:
        self.put("elsewhere", b"one")
        os.symlink("../elsewhere", os.path.join(self.git_folder, "hooks", "pre-push"))
        with mock.patch.object(shared_files, "SURE", -(10**18)):
            self.told()
            self.put("elsewhere", b"two")
            self.assert_told("changed: pre-push.")

    def test_files_that_change_what_git_does(self) -> None:
        for name in ("info/attributes", "info/grafts", "objects/info/alternates"):
            self.put(name)
            self.assert_told(f"1 file of the git folder is new: {name}.")
        self.put("info/exclude", b"*\n")
        self.assert_told("1 file of the git folder changed: info/exclude.")

    def test_submodules(self) -> None:
        for name in ("a", "deep/b"):
            self.put(f"modules/{name}/HEAD")
            self.put(f"modules/{name}/config")
            self.put(f"modules/{name}/objects/aa/bb")
        self.told()
        self.put("modules/deep/b/config", b"[core]\n")
        self.put("modules/a/hooks/post-checkout")
        self.assert_told(
            "1 file of a submodule's settings or hooks is new: a/hooks/post-checkout.",
            "1 file of a submodule's settings or hooks changed: deep/b/config.",
        )

    def test_what_was_told_is_not_told_again_after_a_restart(self) -> None:
        self.git("branch", "new")
        self.told()
        self.watch = SharedWatch(self.store)
        self.assertEqual(self.told(), ())
        self.git("branch", "newer")
        self.watch = SharedWatch(self.store)
        self.assert_told("1 branch is new: newer")

    def test_since_when_is_told(self) -> None:
        for last in (1000.0, 2000.0):
            with mock.patch("time.time", return_value=last):
                self.told()
            self.git("branch", f"new-{last}")
            self.assertEqual(self.watch.tell_changes(self.git_folder).since, last)

    def test_since_the_state_before_a_restart_was_kept(self) -> None:
        with mock.patch("time.time", return_value=1000.0):
            self.git("branch", "new")
            self.told()
        watch = SharedWatch(self.store)
        self.assertEqual(watch.tell_changes(self.git_folder).since, 1000.0)

    def test_what_the_user_commits_while_no_agent_works_is_not_spoken_of(self) -> None:
        self.git("commit", "--allow-empty", "-qm", "mine")
        self.put("hooks/pre-commit")
        found = self.watch.tell_changes(self.git_folder, HistoryLook.PASSED)
        self.assertEqual((len(found.rules), found.history), (1, ()))
        self.assertEqual(self.told(), ())

    def test_what_an_agent_commits_is_told_once_at_the_end_of_its_work(self) -> None:
        for _ in range(3):
            self.git("commit", "--allow-empty", "-qm", "theirs")
            self.put("hooks/pre-commit", os.urandom(8))
            found = self.watch.tell_changes(self.git_folder, HistoryLook.LATER)
            self.assertEqual((len(found.rules), found.history), (1, ()))
        self.assertEqual(len(self.told()), 1)

    def test_the_state_before_the_first_agent_counts(self) -> None:
        self.git("branch", "new")
        self.watch.begin(self.git_folder)
        self.tree("bbbbbb")
        self.assert_told("1 branch is new: new")

    def test_after_the_last_tree_the_user_is_alone_with_it(self) -> None:
        with self.store.hold_tree(self.work_tree.id):
            remove_work_tree(self.store, self.work_tree)
        self.git("branch", "new")
        self.watch.begin(self.git_folder)
        self.tree("bbbbbb")
        self.assertEqual(self.told(), ())

    def test_of_a_repository_without_trees_nothing_is_kept(self) -> None:
        with self.store.hold_tree(self.work_tree.id):
            remove_work_tree(self.store, self.work_tree)
        self.assertEqual(len(os.listdir(self.store.folder)), 1)
        SharedWatch(self.store).begin(os.path.join(self.temp, "nowhere"))
        self.assertEqual(os.listdir(self.store.folder), [])

    def test_a_repository_that_is_gone(self) -> None:
        os.rename(self.folder, self.folder + " 2")
        self.assertIn("cannot be read", self.told()[0])
        self.assertEqual(self.told(), ())
        os.rename(self.folder + " 2", self.folder)
        self.assertEqual(self.told(), ())

    def test_a_damaged_state_begins_anew(self) -> None:
        (name,) = (name for name in os.listdir(self.store.folder) if name.startswith("shared-"))
        for data in (b"", b"{}", b"[1]", b'{"taken": 1, "refs": {"a": 1}}', b"[" * 100000):
            with open(os.path.join(self.store.folder, name), "wb") as file:
                file.write(data)
            self.watch = SharedWatch(self.store)
            self.assertEqual(self.told(), ())
            self.git("branch", "-f", "new")
        self.assertEqual(self.told(), ())

    def test_on_a_full_disk_each_change_is_told_once(self) -> None:
        full = OSError(errno.ENOSPC, "full")
        with mock.patch.object(private_files, "write_file", side_effect=full):
            self.git("branch", "new")
            self.assert_told("1 branch is new: new")

    def test_names_of_strangers_are_shown_and_bounded(self) -> None:
        for number in range(40):
            self.git("branch", f"{'x' * 150}\u202e{number}")
        (sentence,) = self.told()
        self.assertLess(len(sentence), 1200)
        self.assertIn("and 32 more", sentence)
        self.assertNotIn("\u202e", sentence)

    def test_what_is_no_ref_is_not_shown(self) -> None:
        self.put("refs/heads/x", b"\x00secret\n" * 10)
        self.assert_told("1 branch is new: x (something unknown).")

    @unittest.skipIf(sys.platform == "win32", "it has neither")
    def test_what_is_no_file_is_not_waited_for(self) -> None:
        os.mkfifo(os.path.join(self.git_folder, "refs", "heads", "pipe"))
        os.symlink("/dev/zero", os.path.join(self.git_folder, "refs", "heads", "zero"))
        os.mkfifo(os.path.join(self.git_folder, "hooks", "pre-commit"))
        self.assertEqual(len(self.told()), 2)

    def test_a_change_within_the_same_moment_is_noticed(self) -> None:
        """A file whose times are young may be another one by now, whatever they say."""
        self.put("hooks/pre-commit", b"one")
        path = os.path.join(self.git_folder, "hooks/pre-commit")
        times = os.stat(path)
        self.told()
        self.put("hooks/pre-commit", b"two")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        self.assertEqual(len(self.told()), 1)

    def test_more_than_is_looked_at_is_said(self) -> None:
        for number in range(20):
            self.git("branch", f"b{number}")
        with mock.patch.object(shared_files, "MAX_FILES", 10):
            self.assertIn("There is more in the git folder", self.told()[0])
            self.assertNotIn("There is more", " ".join(self.told()))
        self.told()
        with mock.patch.object(shared_files, "MAX_BYTES", 100):
            self.assertIn("There is more in the git folder", " ".join(self.told()))

    def test_of_files_that_were_not_written_since_none_is_read(self) -> None:
        for number in range(50):
            self.git("branch", f"b{number}")
        self.git("pack-refs", "--all")
        for number in range(50):
            self.git("branch", f"c{number}")
        reader = SharedReader(self.git_folder)
        with mock.patch.object(shared_files, "SURE", -(10**18)):
            first = reader.read_state(list)
            with mock.patch.object(shared_files, "read_regular") as read:
                second = reader.read_state(list)
        self.assertEqual(read.call_args_list, [])
        self.assertEqual(replace(first, taken=0.0), replace(second, taken=0.0))


class Sentences(unittest.TestCase):
    def test_an_equal_state_has_none(self) -> None:
        for told in (changed_rules, changed_history):
            self.assertEqual(told(SharedState(1.0), SharedState(2.0)), ())

    def test_names_of_settings_are_data(self) -> None:
        now = SharedState(2.0, settings={"a.{0.__class__}.b": "1", "c.{}.d": "2"})
        (sentence,) = changed_rules(SharedState(1.0), now)
        self.assertEqual(sentence, "2 settings are new: a.{0.__class__}.b, c.{}.d.")


if __name__ == "__main__":
    unittest.main()
