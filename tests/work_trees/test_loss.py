"""What a user is asked before a work tree is removed."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
import unittest
from dataclasses import replace

from GeminiCompanion.companion.work_trees.git import GitFailure
from GeminiCompanion.companion.work_trees.loss import Loss
from GeminiCompanion.companion.work_trees.named import Named
from GeminiCompanion.companion.work_trees.untaken import Untaken

from .recorded_trees import WithStore
from .repositories import NEEDS_GIT


@NEEDS_GIT
class Losses(WithStore):
    def assert_said(self, loss: Loss, *parts: str) -> None:
        """Each sentence has one of the parts, in this order."""
        self.assertEqual(len(loss.sentences), len(parts), loss.sentences)
        for sentence, part in zip(loss.sentences, parts):
            self.assertIn(part, sentence)

    def test_with_a_new_tree_nothing_is_lost(self) -> None:
        self.write("a.txt", b"not committed\n")
        for id, takes in (("aaaaa1", False), ("aaaaa2", True)):
            loss = self.loss(self.tree(id, take_changes=takes))
            self.assertTrue(loss.is_nothing, loss)
            self.assertEqual(loss.sentences, ())

    def test_changes_that_were_not_taken_over(self) -> None:
        tree = self.tree()
        self.assert_said(
            self.loss(tree, lambda tree: Untaken(("a.txt",))),
            "1 changed file was not taken over: a.txt.",
        )
        names = [f"{number}.txt" for number in range(300)]
        many = self.loss(tree, lambda tree: Untaken(tuple(names)))
        self.assert_said(many, "300 changed files were not taken over: 0.txt, 1.txt")
        self.assertLess(len(many.sentences[0]), 1000)

    def test_what_was_decided_and_not_taken_over(self) -> None:
        loss = self.loss(self.tree(), lambda tree: Untaken((), ("a.txt", "b.txt")))
        self.assert_said(loss, "2 files were decided on, and not all of them taken over: a.txt, b")

    def test_commits_that_no_branch_has(self) -> None:
        tree = self.tree()
        self.write_in(tree, "a.txt")
        self.git("commit", "-qam", "Try it", folder=tree.path)
        loss = self.loss(tree)
        self.assert_said(loss, "1 commit is in no branch or tag: ")
        self.assertIn("Try it", loss.sentences[0])

    def test_commits_that_were_taken_back(self) -> None:
        tree = self.tree()
        for name in ("one", "two"):
            self.write_in(tree, "a.txt", name.encode())
            self.git("commit", "-qam", name, folder=tree.path)
        self.git("reset", "-q", "--hard", tree.beginning, folder=tree.path)
        self.assert_said(self.loss(tree), "2 commits are in no branch or tag: ")

    def test_commits_that_are_kept_elsewhere_are_not_lost(self) -> None:
        for name, words in (
            ("aaaaa1", ("branch", "theirs")),
            ("aaaaa2", ("tag", "v1")),
            ("aaaaa3", ("update-ref", "refs/remotes/origin/main", "HEAD")),
        ):
            with self.subTest(words):
                tree = self.tree(name)
                self.write_in(tree, name)
                self.commit(tree.path)
                self.assertFalse(self.loss(tree).is_nothing)
                self.git(*words, folder=tree.path)
                self.assertTrue(self.loss(tree).is_nothing)

    def test_a_commit_on_a_branch_of_the_agents_own_is_not_lost(self) -> None:
        tree = self.tree()
        self.git("checkout", "-qb", "theirs", folder=tree.path)
        self.write_in(tree, "new")
        self.commit(tree.path)
        self.assertTrue(self.loss(tree).is_nothing)

    def test_what_the_user_committed_meanwhile_is_not_lost(self) -> None:
        tree = self.tree()
        self.git("checkout", "-q", "--detach")
        self.write("a.txt", b"mine\n")
        mine = self.commit()
        self.git("checkout", "-q", mine, folder=tree.path)
        self.assertTrue(self.loss(tree).is_nothing)

    def test_stash_entries_are_named(self) -> None:
        tree = self.tree()
        self.write_in(tree, "a.txt")
        self.git("stash", folder=tree.path)
        self.assert_said(self.loss(tree), "1 stash entry was made from it, and stays in the stash")

    def test_stash_entries_of_before_are_the_users(self) -> None:
        self.write("a.txt", b"mine\n")
        self.git("stash")
        self.assertTrue(self.loss(replace(self.tree(), created=3e10)).is_nothing)

    def test_what_is_in_progress(self) -> None:
        tree = self.tree()
        self.git("checkout", "-q", "-b", "theirs", folder=tree.path)
        self.write_in(tree, "a.txt", b"theirs\n")
        self.commit(tree.path)
        self.git("checkout", "-q", "-b", "other", tree.beginning, folder=tree.path)
        self.write_in(tree, "a.txt", b"other\n")
        self.commit(tree.path)
        with self.assertRaises(subprocess.CalledProcessError):
            self.git("merge", "-q", "theirs", folder=tree.path)
        self.assert_said(self.loss(tree), "A merge is in progress in it.")

    def test_files_that_git_ignores_may_be_results(self) -> None:
        self.write(".gitignore", b"*.log\n/out/\n.env\nnode_modules\n")
        self.commit()
        tree = replace(self.tree(), carried=(".env", "node_modules"), created=3e10)
        for name in ("x.log", "out/a/b", "out/c", ".env", "node_modules/m/index.js"):
            self.write_in(tree, name)
        self.assert_said(self.loss(tree), "2 things that git ignores are new: out/, x.log.")

    def test_what_was_taken_into_it_and_changed_there_may_be_a_result(self) -> None:
        self.write(".gitignore", b".env\n.vscode\nbuild\n")
        self.commit()
        carried = (".env", ".vscode/settings.json", "build", "gone")
        tree = replace(self.tree(), carried=carried)
        for name in (".env", ".vscode/settings.json", "build/a", "build/b"):
            os.utime(self.write_in(tree, name), (1.0, 1.0))
        tree = replace(tree, created=time.time())
        self.wait_for_clock(tree.created)
        self.assertTrue(self.loss(tree).is_nothing)
        os.symlink(self.at("a.txt"), os.path.join(tree.path, "build", "link"))
        self.assertTrue(self.loss(tree).is_nothing)
        self.write_in(tree, ".env")
        self.write_in(tree, "build/c")
        self.assert_said(self.loss(tree), "2 things that git ignores are new: .env, build/c.")
        self.write_in(tree, ".vscode/settings.json.2")
        self.assert_said(self.loss(tree), "3 things that git ignores are new: .vscode/, .env")

    def test_a_lock_of_somebody_else(self) -> None:
        tree = self.tree()
        self.git("worktree", "lock", "--reason", "on a stick", tree.path)
        self.assert_said(self.loss(tree), "Somebody has locked it: on a stick.")

    def test_a_tree_that_was_moved_is_named_with_its_new_place(self) -> None:
        tree, new = self.tree(), os.path.join(self.temp, "elsewhere")
        self.git("worktree", "move", tree.path, new)
        self.write_in(replace(tree, path=new), "a.txt")
        self.git("commit", "-qam", "x", folder=new)
        self.assert_said(self.loss(tree), "1 commit", f"It was moved to {new}")

    def test_of_a_tree_that_was_removed_nothing_is_lost_any_more(self) -> None:
        tree = self.tree()
        self.git("worktree", "remove", tree.path)
        self.assertTrue(self.loss(tree).is_nothing)

    def test_of_a_folder_that_is_gone_the_commits_are_there(self) -> None:
        tree = self.tree()
        self.write_in(tree, "a.txt")
        self.commit(tree.path)
        shutil.rmtree(tree.path)
        self.assert_said(self.loss(tree), "1 commit", "is not there: it was deleted or moved")

    def test_of_a_repository_that_is_gone_all_is_lost(self) -> None:
        tree = self.tree()
        os.rename(self.folder, self.folder + " 2")
        self.assert_said(self.loss(tree), "All that is in")
        shutil.rmtree(tree.path)
        self.assertTrue(self.loss(tree).is_nothing)

    def test_a_tree_that_git_does_not_know_any_more(self) -> None:
        tree = self.tree()
        self.write_in(tree, ".git", b"gitdir: /nowhere\n")
        self.assert_said(self.loss(tree), "All that is in it would be lost")
        os.remove(os.path.join(tree.path, ".git"))
        self.assert_said(self.loss(tree), "All that is in it would be lost")

    def test_another_repository_in_its_place_is_not_lost(self) -> None:
        tree = self.tree()
        self.write_in(tree, "a.txt")
        self.git("commit", "-qam", "x", folder=tree.path)
        os.remove(os.path.join(tree.path, ".git"))
        self.git("init", "-q", folder=tree.path)
        self.assert_said(
            self.loss(tree),
            "1 commit",
            "another repository",
        )

    def test_what_cannot_be_found_out_is_said(self) -> None:
        def fail(tree: object) -> Untaken:
            raise GitFailure("git diff failed: broken.")

        self.assert_said(self.loss(self.tree(), fail), "It is not known what would be lost: git")

    def test_what_is_in_a_folder_of_gits_name_that_is_no_repository_is_named(self) -> None:
        self.write(".gitignore", b"/out\n")
        self.commit()
        tree = self.tree()
        for name in ("a/.git/notes", "b/c/.git", "out/.git/x", "own/.git/x"):
            self.write_in(tree, name)
        self.write_in(tree, "module/.git", b"gitdir: ../.git/modules/module\n")
        loss = self.loss(tree, lambda tree: Untaken(("own",)))
        self.assertEqual(set(loss.ignored.first), {"out/", "a/.git", "b/c/.git"})

    def test_a_damaged_history_is_said(self) -> None:
        tree = self.tree()
        with open(os.path.join(tree.admin_folder, "HEAD"), "wb") as file:
            file.write(b"\x00" * 100)
        self.assertFalse(self.loss(tree).is_nothing)

    def test_names_of_strangers_are_shown_and_bounded(self) -> None:
        names = "a\nb", "\u202egpj", "x" * 9000, "\udcff"
        loss = self.loss(self.tree(), lambda tree: Untaken(names))
        (sentence,) = loss.sentences
        self.assertIn("a<U+000A>b, <U+202E>gpj, xxx", sentence)
        self.assertLess(len(sentence), 300)
        sentence.encode("utf-8")


class Names(unittest.TestCase):
    def test_some_of_many(self) -> None:
        self.assertEqual(str(Named.of(map(str, range(12)))), "0, 1, 2, 3, 4, 5, 6, 7 and 4 more")
        self.assertFalse(Named.of(()))
