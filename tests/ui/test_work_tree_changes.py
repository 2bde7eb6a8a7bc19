"""What agents have changed in work trees, in the sheet of all changes, and in the user's files."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import unittest
from dataclasses import replace
from typing import Any, Generator

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.ui.changes.sheet_files import NOTHING
from GeminiCompanion.companion.ui.texts import replace_view_text
from GeminiCompanion.companion.ui.work_trees import (
    closed_files,
    taken_saving,
    tree_owner,
    tree_reviews,
    tree_source,
    whole_files,
)
from GeminiCompanion.companion.ui.work_trees.tree_lists import TreeLists
from GeminiCompanion.companion.work_trees import inside, merging, tree_changes
from GeminiCompanion.companion.work_trees.taken import (
    NAME,
    Taken,
    TakenFile,
    TreeDecision,
    load_taken,
    save_taken,
    store_text,
)
from GeminiCompanion.companion.work_trees.tree_changes import TreeChange, TreeReader
from GeminiCompanion.companion.work_trees.untaken import Untaken, find_untaken
from GeminiCompanion.companion.work_trees.work_tree import WorkTree

from .adapter import text_of
from .in_work_trees import InWorkTrees
from .reviewing import Steps

OLD = "".join(f"line {number}\n" for number in range(1, 31))
NEW = OLD.replace("line 3\n", "LINE 3\n").replace("line 20\n", "LINE 20\n")


class Shown(InWorkTrees):
    def test_what_changed_there_is_in_the_sheet(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD, "b/c.txt": OLD})
        self.put("a.txt", NEW, tree)
        self.put("b/new.txt", "new\n", tree)
        view = yield from self.shown(tree)
        rows = text_of(view).splitlines()
        self.assertEqual(
            rows[0], "2 files changed in work trees in 2 files: 3 lines added, 2 removed"
        )
        self.assertIn(f"## a.txt  +2 -2, changed in work tree gemini-{self.name}", rows)
        self.assertIn(
            f"## b/new.txt  +1 -0, new file, changed in work tree gemini-{self.name}", rows
        )

    def test_accepting_a_file_writes_it_and_shows_it_no_more(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD})
        self.put("a.txt", NEW, tree)
        view = yield from self.shown(tree)
        self.decide(view, "accept_file", self.id_of(tree, "a.txt"))
        yield from self.until_file("a.txt", NEW)
        yield from self.until_not_shown(view, "a.txt")
        found = yield from self.until_listed(tree)
        self.assertEqual(found.changes, ())

    def test_a_change_that_the_user_has_is_not_shown(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD})
        self.put("a.txt", NEW, tree)
        self.put("a.txt", NEW)
        view = yield from self.shown(tree)
        self.assertNotIn("a.txt", text_of(view))

    def test_it_is_shown_with_the_changes_that_the_user_has_made_meanwhile(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD})
        self.put("a.txt", NEW, tree)
        self.put("a.txt", "mine\n" + OLD)
        view = yield from self.shown(tree)
        self.assertIn("## a.txt  +2 -2", text_of(view))
        self.assertNotIn("-mine", text_of(view))

    def test_what_the_agent_does_later_comes_while_the_sheet_is_in_front(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD})
        view = yield from self.shown(tree)
        self.put("a.txt", NEW, tree)
        yield from self.until_shown(view, "LINE 20")

    def test_a_tree_that_is_gone_says_so(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD})
        shutil.rmtree(tree.path)
        view = yield from self.shown(tree)
        yield from self.until_shown(view, "is not there any more")

    def test_of_several_trees_each_file_says_whose_it_is(self) -> Steps:
        one = yield from self.grow_tree({"a.txt": OLD})
        two = yield from self.grow_tree({})
        self.put("a.txt", NEW, one)
        self.put("a.txt", OLD.replace("line 9\n", "nine\n"), two)
        view = yield from self.shown(one, two)
        for tree in (one, two):
            self.assertIn(f"changed in work tree {tree.name}", text_of(view))

    def test_names_with_escapes_are_one_line(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD})
        self.put("two\n\x1b[31mlines.txt", "new\n", tree)
        view = yield from self.shown(tree)
        self.assertIn("## two<U+000A><U+001B>[31mlines.txt  +1 -0", text_of(view))


class Decided(InWorkTrees):
    def test_a_dropped_change_stays_in_the_tree_and_no_tab_opens(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD})
        self.put("a.txt", NEW, tree)
        view = yield from self.shown(tree)
        tabs = self.window.views()
        file = self.sheet(view).find_section(self.id_of(tree, "a.txt")).file
        self.decide(view, "drop_change", file.id, file.comparison.keys[0])
        yield from self.until_not_shown(view, "LINE 3\n")
        self.assertEqual(self.window.views(), tabs)
        self.decide(view, "accept_file", file.id)
        yield from self.until_file("a.txt", OLD.replace("line 20\n", "LINE 20\n"))
        found = yield from self.until_listed(tree)
        self.assertEqual(found.changes, ())
        (decision,) = found.taken.decisions
        self.assertFalse(decision.is_whole)
        with open(os.path.join(tree.path, "a.txt"), encoding="utf-8") as kept:
            self.assertEqual(kept.read(), NEW)

    def test_what_is_typed_in_the_sheet_is_written(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD})
        self.put("a.txt", NEW, tree)
        view = yield from self.shown(tree)
        self.type(view, "LINE 20", " typed")
        yield lambda: any(self.running().tree_changes.reviews.all_views())
        yield from self.until_drawn(view)
        self.decide(view, "accept_file", self.id_of(tree, "a.txt"))
        yield from self.until_file("a.txt", NEW.replace("LINE 20", "LINE 20 typed"))

    def test_what_is_kept_stays_kept_when_another_change_is_dropped(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD})
        self.put("a.txt", NEW, tree)
        view = yield from self.shown(tree)
        file = self.sheet(view).find_section(self.id_of(tree, "a.txt")).file
        self.decide(view, "keep_change", file.id, file.comparison.keys[1])
        yield from self.until_shown(view, "1 of 2 changes kept")
        self.decide(view, "drop_change", file.id, file.comparison.keys[0])
        yield from self.until_shown(view, "1 of 1 changes kept")

    def test_all_are_accepted_and_undone_at_once(self) -> Steps:
        files = {f"{number}.txt": OLD for number in range(5)}
        tree = yield from self.grow_tree(files)
        for name in files:
            self.put(name, NEW, tree)
        self.put("new.txt", "new\n", tree)
        self.put("4.txt", None, tree)
        self.put("0.txt", "mine\n" + OLD)
        view = yield from self.shown(tree)
        yield from self.accept_all(view)
        wanted = {name: NEW for name in files}
        wanted.update({"0.txt": "mine\n" + NEW, "new.txt": "new\n", "4.txt": None})
        for name, text in wanted.items():
            yield from self.until_file(name, text)
        yield from self.until_equal(lambda: self.sheet(view).marking.undoable, "Undo 6 accepted")
        self.decide(view, "undo_last")
        yield from self.answer_first()
        before = {**files, "0.txt": "mine\n" + OLD, "new.txt": None}
        for name, text in before.items():
            yield from self.until_file(name, text)
        # What was taken back is shown again.
        yield from self.until_shown(view, "6 files changed in work trees")

    def test_a_rejected_file_is_shown_no_more_until_that_is_undone(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD})
        self.put("a.txt", NEW, tree)
        view = yield from self.shown(tree)
        self.decide(view, "reject_file", self.id_of(tree, "a.txt"))
        yield from self.until_not_shown(view, "a.txt")
        found = yield from self.until_listed(tree)
        self.assertEqual(found.changes, ())
        self.assertEqual(self.read("a.txt"), OLD.encode())
        self.decide(view, "undo_last")
        yield from self.answer_first()
        yield from self.until_shown(view, "a.txt")

    @unittest.skipIf(sys.platform == "win32", "needs pipes and any names")
    def test_what_cannot_be_read_can_be_rejected_and_is_named_when_the_tree_goes(self) -> Steps:
        tree = yield from self.grow_tree({"pipe": OLD, "huge.bin": OLD})
        self.put("pipe", None, tree)
        os.mkfifo(os.path.join(tree.path, "pipe"))
        for name in ("huge.bin", os.fsdecode(b"bad\xff")):
            with open(os.path.join(tree.path, name), "wb") as file:
                file.truncate(inside.LIMIT + 1)
        self.git("init", "-q", "own", folder=tree.path)
        view = yield from self.shown(tree)
        names = ("pipe", "huge.bin", os.fsdecode(b"bad\xff"), "own")
        for name in names:
            self.decide(view, "reject_file", self.id_of(tree, name))
            yield lambda name=name: name not in self.lists.with_id(tree.id).by_path
        found = yield from self.until_listed(tree)
        self.assertEqual(found.changes, ())
        taken_saving.writer.finish()
        untaken = find_untaken(tree, self.trees.store.data_folder(tree.id))
        self.assertEqual(untaken, Untaken((), tuple(sorted(names))))
        self.decide(view, "undo_last")
        yield from self.answer_first()
        yield from self.until_shown(view, "## own")
        self.put("huge.bin", OLD + "more\n", tree)
        yield from self.until_shown(view, "## huge.bin")

    def test_what_the_agent_changes_after_a_decision_is_shown_alone(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD})
        self.put("a.txt", NEW, tree)
        view = yield from self.shown(tree)
        self.decide(view, "accept_file", self.id_of(tree, "a.txt"))
        yield from self.until_not_shown(view, "a.txt")
        self.put("a.txt", NEW.replace("line 29\n", "LINE 29\n"), tree)
        yield from self.until_shown(view, "## a.txt  +1 -1")

    def test_what_the_agent_changes_before_one_waits(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD})
        self.put("a.txt", NEW, tree)
        view = yield from self.shown(tree)
        file = self.sheet(view).find_section(self.id_of(tree, "a.txt")).file
        self.decide(view, "drop_change", file.id, file.comparison.keys[0])
        yield from self.until_not_shown(view, "LINE 3\n")
        self.put("a.txt", NEW.replace("line 29\n", "LINE 29\n"), tree)
        yield from self.until_shown(view, tree_reviews.SINCE)
        self.decide(view, "accept_file", file.id)
        yield from self.until_file("a.txt", OLD.replace("line 20\n", "LINE 20\n"))
        yield from self.until_shown(view, "LINE 29")
        yield from self.until_shown(view, "## a.txt  +1 -1")

    def test_what_the_agent_has_written_since_it_was_shown_is_not_decided_on(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD, "b.bin": b"\0\xff"})
        self.put("a.txt", NEW, tree)
        self.put("b.bin", b"\0\xff1", tree)
        view = yield from self.shown(tree)
        yield from self.until_shown(view, "## b.bin")
        self.replace(TreeLists, "look_if_due", lambda lists: None)
        for decision in ("accept_file", "reject_file"):
            self.put("a.txt", f"{NEW}worse {decision}\n", tree)
            self.decide(view, decision, self.id_of(tree, "a.txt"))
            yield from self.until_told(closed_files.NOT_SEEN)
            yield from self.until_shown(view, f"worse {decision}")
            self.sentences.clear()
        for count, decision in ((2, "accept_file"), (3, "reject_file")):
            self.put("b.bin", b"\0\xff" * count, tree)
            self.decide(view, decision, self.id_of(tree, "b.bin"))
            yield from self.until_told(closed_files.NOT_SEEN)
            yield from self.until_shown(view, f"Binary: {2 * count} bytes")
            self.sentences.clear()
        self.assertEqual((self.read("a.txt"), self.read("b.bin")), (OLD.encode(), b"\0\xff"))


class Merged(InWorkTrees):
    def test_a_conflict_is_marked_and_waits_until_it_is_resolved(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD, "b.txt": OLD})
        self.put("a.txt", NEW, tree)
        self.put("b.txt", NEW, tree)
        self.put("a.txt", OLD.replace("line 3\n", "mine\n"))
        view = yield from self.shown(tree)
        self.assertIn(tree_source.CONFLICT, text_of(view))
        yield from self.accept_all(view)
        yield from self.until_file("b.txt", NEW)
        # What is in doubt is asked about last.
        yield lambda: self.asked
        self.assertIn("1 conflict with your changes", self.asked[0]["placeholder"])
        yield from self.answer_first(-1)
        yield from self.until_told("1 of 2 accepted.")
        self.assertEqual(self.read("a.txt"), OLD.replace("line 3\n", "mine\n").encode())
        right = self.running().tree_changes.reviews.find_view(tree.id, "a.txt")
        marked = text_of(right)
        resolved = marked.replace(
            "<<<<<<< proposal\nLINE 3\n=======\nmine\n>>>>>>> your changes\n", "ours\n"
        )
        self.assertNotEqual(resolved, marked)
        replace_view_text(right, resolved)
        self.decide(view, "accept_file", self.id_of(tree, "a.txt"))
        yield from self.until_file("a.txt", resolved)

    def test_the_unsaved_text_of_a_tab_is_taken_along_and_comes_back(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD})
        self.put("a.txt", NEW, tree)
        tab = self.window.open_file(self.at("a.txt"))
        yield lambda: not tab.is_loading()
        tab.run_command("append", {"characters": "unsaved\n"})
        view = yield from self.shown(tree)
        self.decide(view, "accept_file", self.id_of(tree, "a.txt"))
        yield from self.until_file("a.txt", NEW + "unsaved\n")
        yield from self.until_equal(
            lambda: (text_of(tab), tab.is_dirty()), (NEW + "unsaved\n", False)
        )
        yield from self.until_not_shown(view, "## a.txt")
        self.decide(view, "undo_last")
        yield from self.answer_first()
        yield from self.until_file("a.txt", OLD)
        yield from self.until_equal(
            lambda: (text_of(tab), tab.is_dirty()), (OLD + "unsaved\n", True)
        )
        tab.set_scratch(True)

    def test_what_is_typed_in_the_tab_meanwhile_stays(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD})
        self.put("a.txt", NEW, tree)
        tab = self.window.open_file(self.at("a.txt"))
        yield lambda: not tab.is_loading()
        view = yield from self.shown(tree)
        real = tree_owner._write_in_thread

        def type_meanwhile(*arguments: Any) -> str:
            problem = real(*arguments)
            sublime.set_timeout(lambda: tab.run_command("append", {"characters": "typed\n"}))
            return problem

        self.replace(tree_owner, "_write_in_thread", type_meanwhile)
        self.decide(view, "accept_file", self.id_of(tree, "a.txt"))
        yield from self.until_file("a.txt", NEW)
        yield from self.until_in("typed\n", lambda: text_of(tab))
        tab.set_scratch(True)

    def test_a_file_that_changes_while_it_is_accepted_is_not_written(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD})
        self.put("a.txt", NEW, tree)
        view = yield from self.shown(tree)
        real = tree_owner._write_in_thread

        def change_before(*arguments: Any) -> str:
            self.put("a.txt", "mine\n" + OLD)
            return real(*arguments)

        self.replace(tree_owner, "_write_in_thread", change_before)
        self.decide(view, "accept_file", self.id_of(tree, "a.txt"))
        yield from self.until_told("a.txt has changed meanwhile")
        self.assertEqual(self.read("a.txt"), ("mine\n" + OLD).encode())
        edits = self.running().review.ledger.accepted_edits(self.window.id())
        self.assertNotIn(self.at("a.txt"), [edit.path for edit in edits])
        yield from self.until_shown(view, "## a.txt  +2 -2")

    def test_the_changes_of_two_trees_in_one_file_come_together(self) -> Steps:
        one = yield from self.grow_tree({"a.txt": OLD})
        two = yield from self.grow_tree({})
        self.put("a.txt", OLD.replace("line 3\n", "LINE 3\n"), one)
        self.put("a.txt", OLD.replace("line 20\n", "LINE 20\n"), two)
        view = yield from self.shown(one, two)
        for tree in (one, two):
            self.decide(view, "accept_file", self.id_of(tree, "a.txt"))
        yield from self.until_file("a.txt", NEW)


@unittest.skipIf(sys.platform == "win32", "needs links and modes")
class Kinds(InWorkTrees):
    def accepted(self, tree: WorkTree, name: str) -> Generator[Any, Any, sublime.View]:
        view = yield from self.shown(tree)
        self.decide(view, "accept_file", self.id_of(tree, name))
        yield lambda: name in self.lists.with_id(tree.id).taken.decided
        yield from self.until_not_shown(view, f"## {name}")
        return view

    def undone(self, view: sublime.View, text: str) -> Steps:
        self.decide(view, "undo_last")
        yield from self.answer_first()
        yield from self.until_shown(view, text)

    def test_a_renamed_file_takes_the_users_changes_along(self) -> Steps:
        tree = yield from self.grow_tree({"old.txt": OLD})
        self.put("old.txt", None, tree)
        self.put("dir/new.txt", NEW, tree)
        self.put("old.txt", "mine\n" + OLD)
        view = yield from self.shown(tree)
        self.assertIn("## dir/new.txt (was old.txt)  +2 -2", text_of(view))
        self.decide(view, "accept_file", self.id_of(tree, "dir/new.txt"))
        yield from self.until_file("dir/new.txt", "mine\n" + NEW)
        yield from self.until_file("old.txt", None)
        yield from self.until_not_shown(view, "old.txt")
        yield from self.undone(view, "(was old.txt)")
        self.assertEqual(self.read("old.txt"), ("mine\n" + OLD).encode())
        self.assertIsNone(self.read("dir/new.txt"))

    def test_of_a_file_that_is_only_renamed_the_sheet_says_so(self) -> Steps:
        tree = yield from self.grow_tree({"old.txt": OLD})
        self.put("old.txt", None, tree)
        self.put("new.txt", OLD, tree)
        view = yield from self.shown(tree)
        self.assertIn("## new.txt (was old.txt)  +0 -0", text_of(view))
        self.assertIn(tree_source.NAME_ALONE, text_of(view))
        self.assertNotIn(tree_source.HAS_ALL, text_of(view))

    def test_a_repository_in_the_tree_is_called_one(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD})
        self.git("init", "-q", os.path.join(tree.path, "inner"))
        view = yield from self.shown(tree)
        self.assertIn("## inner  not compared", text_of(view))
        self.assertIn(merging.IS_REPOSITORY, text_of(view))
        self.decide(view, "reject_file", self.id_of(tree, "inner"))
        yield from self.until_not_shown(view, "## inner")

    def test_a_file_that_is_gone_goes_with_its_folder_and_comes_back(self) -> Steps:
        tree = yield from self.grow_tree({"dir/a.txt": OLD, "b.txt": OLD})
        shutil.rmtree(os.path.join(tree.path, "dir"))
        view = yield from self.accepted(tree, "dir/a.txt")
        self.assertFalse(os.path.exists(self.at("dir")))
        yield from self.undone(view, "## dir/a.txt")
        self.assertEqual(self.read("dir/a.txt"), OLD.encode())

    def test_an_empty_file_is_made_and_removed(self) -> Steps:
        tree = yield from self.grow_tree({"gone.txt": ""})
        self.put("gone.txt", None, tree)
        self.put("dir/__init__.py", "", tree)
        view = yield from self.shown(tree)
        yield from self.accept_all(view)
        yield from self.until_file("dir/__init__.py", "")
        yield from self.until_file("gone.txt", None)
        yield from self.until_not_shown(view, "##")

    def test_a_binary_file_takes_the_place_of_the_users(self) -> Steps:
        tree = yield from self.grow_tree({"a.bin": b"\0\xff1"})
        self.put("a.bin", b"\0\xff22", tree)
        view = yield from self.accepted(tree, "a.bin")
        self.assertEqual(self.read("a.bin"), b"\0\xff22")
        yield from self.undone(view, "## a.bin")
        self.assertEqual(self.read("a.bin"), b"\0\xff1")

    def both_changed(self, own: bytes | None = b"\0\xff3") -> Generator[Any, Any, sublime.View]:
        """A binary file, whose acceptance asks; gives the sheet."""
        tree = yield from self.grow_tree({"a.bin": b"\0\xff1"})
        self.put("a.bin", b"\0\xff22", tree)
        self.put("a.bin", own)
        view = yield from self.shown(tree)
        yield from self.until_shown(view, merging.BOTH)
        self.decide(view, "accept_file", self.id_of(tree, "a.bin"))
        yield lambda: self.asked
        return view

    def test_of_a_binary_file_that_both_changed_the_user_can_take_the_trees(self) -> Steps:
        self.put("a.yours.bin", "in use")
        view = yield from self.both_changed()
        yield from self.answer_first(1)
        yield from self.until_file("a.bin", b"\0\xff22")
        self.assertEqual(self.read("a.yours2.bin"), b"\0\xff3")
        yield from self.until_not_shown(view, "## a.bin")
        yield from self.undone(view, "## a.bin")
        self.assertEqual(self.read("a.bin"), b"\0\xff3")
        self.assertIsNone(self.read("a.yours2.bin"))
        self.assertEqual(self.read("a.yours.bin"), b"in use")

    def test_of_one_that_both_changed_they_can_keep_their_own(self) -> Steps:
        view = yield from self.both_changed()
        yield from self.answer_first(0)
        yield from self.until_not_shown(view, "## a.bin")
        self.assertEqual(self.read("a.bin"), b"\0\xff3")
        self.assertIsNone(self.read("a.yours.bin"))
        yield from self.undone(view, "## a.bin")

    def test_of_one_that_they_have_removed_they_are_asked_too(self) -> Steps:
        view = yield from self.both_changed(None)
        yield from self.answer_first(-1)
        yield lambda: not self.asked
        self.assertIn("## a.bin", text_of(view))
        self.decide(view, "accept_file", self.id_of(self.trees.trees[0], "a.bin"))
        yield lambda: self.asked
        self.assertIn(whole_files.GONE, str(self.asked[0]["items"][1].details))
        yield from self.answer_first(1)
        yield from self.until_file("a.bin", b"\0\xff22")
        self.assertIsNone(self.read("a.yours.bin"))

    def test_a_file_that_can_be_run_now(self) -> Steps:
        tree = yield from self.grow_tree({"a.sh": OLD})
        os.chmod(os.path.join(tree.path, "a.sh"), 0o755)
        view = yield from self.shown(tree)
        self.assertIn(merging.RUNS, text_of(view))
        yield from self.accepted(tree, "a.sh")
        self.assertTrue(os.access(self.at("a.sh"), os.X_OK))
        yield from self.undone(view, "## a.sh")
        yield lambda: not os.access(self.at("a.sh"), os.X_OK)

    def test_a_link_is_made_and_not_followed(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD})
        os.symlink("/etc/passwd", os.path.join(tree.path, "link"))
        view = yield from self.accepted(tree, "link")
        self.assertEqual(os.readlink(self.at("link")), "/etc/passwd")
        yield from self.undone(view, "## link")
        self.assertFalse(os.path.lexists(self.at("link")))

    def test_nothing_is_written_through_a_link_of_the_user(self) -> Steps:
        tree = yield from self.grow_tree({"dir/a.txt": OLD, "b.txt": OLD})
        outside = os.path.join(self.folder, "outside")
        shutil.move(self.at("dir"), outside)
        os.symlink(outside, self.at("dir"))
        self.put("dir/a.txt", NEW, tree)
        self.put("dir/new.txt", "new\n", tree)
        view = yield from self.shown(tree)
        for name in ("dir/a.txt", "dir/new.txt"):
            self.decide(view, "accept_file", self.id_of(tree, name))
            yield from self.until_told("is a link")
            self.sentences.clear()
        with open(os.path.join(outside, "a.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read(), OLD)
        self.assertEqual(os.listdir(outside), ["a.txt"])

    def test_line_ends_of_the_user_stay_and_those_of_the_tree_are_taken(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD.replace("\n", "\r\n"), "b.txt": OLD})
        self.put("a.txt", NEW.replace("\n", "\r\n"), tree)
        self.put("b.txt", OLD.replace("\n", "\r\n"), tree)
        self.put("a.txt", "mine\r\n" + OLD.replace("\n", "\r\n"))
        view = yield from self.shown(tree)
        self.assertIn(merging.LINE_ENDS, text_of(view))
        yield from self.accept_all(view)
        yield from self.until_file("a.txt", "mine\r\n" + NEW.replace("\n", "\r\n"))
        yield from self.until_file("b.txt", OLD.replace("\n", "\r\n"))
        yield from self.until_not_shown(view, "##")

    def test_a_folder_in_the_place_of_a_file(self) -> Steps:
        tree = yield from self.grow_tree({"a": OLD, "b/c": OLD})
        self.put("a", None, tree)
        self.put("a/x.txt", "x\n", tree)
        shutil.rmtree(os.path.join(tree.path, "b"))
        self.put("b", "file\n", tree)
        view = yield from self.shown(tree)
        self.decide(view, "accept_file", self.id_of(tree, "b"))
        yield from self.until_told("there is a folder, or")
        self.assertEqual(self.read("b/c"), OLD.encode())
        self.decide(view, "accept_file", self.id_of(tree, "b/c"))
        yield from self.until_file("b/c", None)
        self.decide(view, "accept_file", self.id_of(tree, "b"))
        yield from self.until_file("b", "file\n")


class Unread(InWorkTrees):
    def test_decisions_that_cannot_be_read_for_a_moment_are_not_forgotten(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD})
        self.put("a.txt", NEW, tree)
        folder = self.trees.store.make_data_folder(tree.id)
        digest = store_text(folder, NEW.encode())
        taken = Taken(folder, (TreeDecision("a.txt", "100644", digest),))
        path = os.path.join(folder, NAME)
        os.mkdir(path)
        found = yield from self.until_listed(tree)
        self.assertIn("cannot be listed: it is a folder", found.problem)
        os.rmdir(path)
        save_taken(taken)
        found = yield from self.until_listed(tree)
        self.assertEqual((found.changes, found.taken), ((), taken))


class Saved(InWorkTrees):
    def test_of_decisions_that_wait_for_a_slow_disk_the_last_state_is_saved(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD})
        yield from self.until_listed(tree)
        saved, save, may_go = [], TakenFile.save, threading.Event()

        def note(file: TakenFile, taken: Taken) -> None:
            saved.append(taken)
            save(file, taken)

        self.replace(TakenFile, "save", note)
        self.addCleanup(may_go.set)

        def wait() -> None:
            may_go.wait(60)

        taken_saving.writer.do_soon(wait)
        for number in range(5):
            self.lists.decide(tree.id, [TreeDecision(f"{number}.txt")])
        may_go.set()
        taken_saving.writer.finish()
        taken = self.lists.with_id(tree.id).taken
        self.assertEqual((len(saved), len(taken.decisions)), (1, 5))
        self.assertEqual(load_taken(taken.folder), taken)


class Unlisted(InWorkTrees):
    def test_one_that_cannot_be_listed_for_any_reason_leaves_the_others_listed(self) -> Steps:
        broken = yield from self.grow_tree({"a.txt": OLD})
        other = yield from self.grow_tree({})
        self.put("a.txt", NEW, other)
        list_changes = TreeReader.list_changes

        def fail(reader: TreeReader, taken: Taken) -> tuple[TreeChange, ...]:
            if reader.tree.id == broken.id:
                raise ValueError("hostile")
            return list_changes(reader, taken)

        self.replace(TreeReader, "list_changes", fail)
        found = yield from self.until_listed(other)
        self.assertEqual([change.path for change in found.changes], ["a.txt"])
        found = yield from self.until_listed(broken)
        self.assertIn("Show Log", found.problem)

    def test_what_is_too_much_for_one_list_is_said_and_follows(self) -> Steps:
        self.replace(tree_changes, "MOST", 2)
        tree = yield from self.grow_tree({"a.txt": OLD, "b.txt": OLD, "c.txt": OLD})
        for name in ("a.txt", "b.txt", "c.txt"):
            self.put(name, NEW, tree)
        view = yield from self.shown(tree)
        yield from self.until_shown(view, "only 2 files are listed")
        yield from self.until_shown(view, "## b.txt")
        self.assertNotIn("## c.txt", text_of(view))
        count = self.running().work_trees.count_changes(tree.id)
        self.assertEqual(count, "more than 2 files")
        self.decide(view, "accept_file", self.id_of(tree, "a.txt"))
        yield from self.until_shown(view, "## c.txt")
        yield from self.until_not_shown(view, "files are listed")
        self.assertEqual(self.running().work_trees.count_changes(tree.id), "2 files")


class ShownAgain(InWorkTrees):
    def test_what_was_rejected_or_dropped_can_be_taken_later(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD, "b.txt": OLD})
        self.put("a.txt", NEW, tree)
        self.put("b.txt", NEW, tree)
        self.put("c.txt", "whole\n", tree)
        view = yield from self.shown(tree)
        self.decide(view, "reject_file", self.id_of(tree, "b.txt"))
        yield from self.until_not_shown(view, "## b.txt")
        file = self.sheet(view).find_section(self.id_of(tree, "a.txt")).file
        self.decide(view, "drop_change", file.id, file.comparison.keys[0])
        yield from self.until_not_shown(view, "LINE 3\n")
        yield from self.accept_all(view)
        half = OLD.replace("line 20\n", "LINE 20\n")
        yield from self.until_file("a.txt", half)
        yield from self.until_file("c.txt", "whole\n")
        yield from self.until_not_shown(view, "##")
        self.put("a.txt", "mine\n" + half)
        self.put("c.txt", "whole\nmine\n")
        work_trees = self.running().work_trees
        self.running().stories.begin(work_trees.show_left(self.window, tree))
        yield from self.until_shown(view, "## a.txt  +1 -1")
        yield from self.until_shown(view, "## b.txt  +2 -2")
        self.assertNotIn("c.txt", text_of(view))
        yield from self.accept_all(view)
        yield from self.until_file("a.txt", "mine\n" + NEW)
        yield from self.until_file("b.txt", NEW)
        yield from self.until_not_shown(view, "##")
        self.running().stories.begin(work_trees.show_left(self.window, tree))
        yield from self.until_told("Nothing waits for you")

    def test_an_acceptance_of_before_can_be_undone_all_the_same(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD})
        self.put("a.txt", NEW, tree)
        view = yield from self.shown(tree)
        file = self.sheet(view).find_section(self.id_of(tree, "a.txt")).file
        self.decide(view, "drop_change", file.id, file.comparison.keys[0])
        yield from self.until_not_shown(view, "LINE 3\n")
        self.decide(view, "accept_file", file.id)
        yield from self.until_not_shown(view, "## a.txt")
        # It is not shown while it is written, either.
        yield from self.until_equal(lambda: self.sheet(view).marking.undoable, "Undo 1 accepted")
        self.running().stories.begin(self.running().work_trees.show_left(self.window, tree))
        yield from self.until_shown(view, "## a.txt  +1 -1")
        self.decide(view, "undo_last")
        yield from self.answer_first()
        yield from self.until_file("a.txt", OLD)
        # As it was accepted.
        yield from self.until_shown(view, "LINE 20\n")
        self.assertIn("## a.txt  +1 -1", text_of(view))
        yield lambda: not self.lists.with_id(tree.id).taken.decisions


class Removed(InWorkTrees):
    def test_what_was_rejected_a_moment_ago_is_told_before_its_tree_goes(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD})
        self.put("a.txt", NEW, tree)
        view = yield from self.shown(tree)
        writer, is_waited_for = taken_saving.writer, threading.Event()
        self.addCleanup(is_waited_for.set)
        finish = writer.finish

        def write_late() -> None:
            is_waited_for.wait()

        def note_and_finish() -> None:
            is_waited_for.set()
            finish()

        writer.do_soon(write_late)
        self.replace(writer, "finish", note_and_finish)
        self.decide(view, "reject_file", self.id_of(tree, "a.txt"))
        yield lambda: self.lists.with_id(tree.id).taken.decisions
        self.run_command("remove_work_tree", tree=tree.id)
        yield lambda: self.asked
        details = self.asked[0]["items"][1].details
        yield from self.answer_first()
        self.assertEqual(details, ["1 file was decided on, and not all of it taken over: a.txt."])

    def test_a_save_that_waits_while_its_tree_goes_leaves_nothing(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD})
        yield from self.until_listed(tree)
        store, may_go = self.trees.store, threading.Event()
        self.addCleanup(may_go.set)

        def wait() -> None:
            may_go.wait(60)

        taken_saving.writer.do_soon(wait)
        self.lists.decide(tree.id, [TreeDecision("a.txt")])
        store.forget_tree(tree.id)
        may_go.set()
        taken_saving.writer.finish()
        self.assertFalse(os.path.exists(store.data_folder(tree.id)))


class Recorded(InWorkTrees):
    def test_of_one_that_is_recorded_anew_the_list_before_is_closed(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD})
        yield from self.until_listed(tree)
        closed: list[WorkTree] = []
        close = TreeReader.close

        def note_and_close(reader: TreeReader) -> None:
            closed.append(reader.tree)
            close(reader)

        self.replace(TreeReader, "close", note_and_close)
        new = replace(tree, name="another")
        self.trees.store.keep_tree(new)
        self.running().stories.begin(self.trees.look_again())
        yield lambda: self.trees.trees == (new,)
        yield from self.until_listed(new)
        yield from self.until_equal(lambda: closed, [tree])


class Restarted(InWorkTrees):
    def restarted(self) -> Steps:
        plugin._host.stop()
        plugin._host.start()
        yield lambda: plugin._host.environment_of(self.window)

    def dropped(self) -> Generator[Any, Any, tuple[WorkTree, sublime.View, str]]:
        """A file of which one change is dropped, in the sheet."""
        tree = yield from self.grow_tree({"a.txt": OLD})
        self.put("a.txt", NEW, tree)
        view = yield from self.shown(tree)
        file = self.sheet(view).find_section(self.id_of(tree, "a.txt")).file
        self.decide(view, "drop_change", file.id, file.comparison.keys[0])
        yield from self.until_not_shown(view, "LINE 3\n")
        return tree, view, file.id

    def test_a_review_waits_as_the_user_left_it(self) -> Steps:
        tree, view, id = yield from self.dropped()
        yield from self.restarted()
        yield from self.until_listed(tree)
        yield lambda: text_of(view) == self.sheet(view).model.text
        yield from self.until_shown(view, "LINE 20")
        self.assertNotIn("LINE 3\n", text_of(view))
        self.decide(view, "accept_file", id)
        yield from self.until_file("a.txt", OLD.replace("line 20\n", "LINE 20\n"))
        yield from self.until_not_shown(view, "## a.txt")
        found = yield from self.until_listed(tree)
        self.assertEqual(found.changes, ())

    def test_a_text_can_be_undone_also_if_a_binary_file_was_accepted_after_it(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD, "b.bin": b"\0\xff1"})
        self.put("a.txt", NEW, tree)
        self.put("b.bin", b"\0\xff22", tree)
        view = yield from self.shown(tree)
        for name in ("a.txt", "b.bin"):
            self.decide(view, "accept_file", self.id_of(tree, name))
            yield from self.until_not_shown(view, f"## {name}")
            yield from self.until_equal(
                lambda: self.sheet(view).marking.undoable, "Undo 1 accepted"
            )
        yield lambda: self.running().review.history.edits.made.is_complete
        yield from self.restarted()
        yield from self.until_listed(tree)
        yield lambda: self.running().review.history.edits.made.is_complete
        yield from self.until_equal(lambda: self.sheet(view).marking.undoable, "Undo 1 accepted")
        self.decide(view, "undo_last")
        yield from self.answer_first()
        yield from self.until_file("a.txt", OLD)
        self.assertEqual(self.read("b.bin"), b"\0\xff22")

    def test_who_wants_to_decide_on_nothing_is_told(self) -> Steps:
        yield from self.show()
        self.run_command("decide_on_changes")
        yield lambda: any(NOTHING in sentence for sentence in self.sentences)
        self.assertEqual(self.asked, [])

    def test_a_renamed_file_is_one_that_can_be_undone(self) -> Steps:
        tree = yield from self.grow_tree({"a.txt": OLD})
        self.put("a.txt", None, tree)
        self.put("b.txt", NEW, tree)
        view = yield from self.shown(tree)
        self.decide(view, "accept_file", self.id_of(tree, "b.txt"))
        yield from self.until_file("b.txt", NEW)
        yield lambda: self.running().review.history.edits.made.is_complete
        yield from self.until_equal(lambda: self.sheet(view).marking.undoable, "Undo 1 accepted")
        yield from self.restarted()
        yield lambda: self.running().review.history.edits.made.is_complete
        yield from self.until_equal(lambda: self.sheet(view).marking.undoable, "Undo 1 accepted")
        self.decide(view, "undo_last")
        yield from self.answer_first()
        yield from self.until_file("a.txt", OLD)
        yield from self.until_equal(lambda: self.read("b.txt"), None)

    def test_what_was_decided_is_not_shown_again_and_can_be_undone(self) -> Steps:
        tree, view, id = yield from self.dropped()
        self.decide(view, "accept_file", id)
        yield from self.until_not_shown(view, "## a.txt")
        yield lambda: self.running().review.history.edits.made.is_complete
        yield from self.until_equal(lambda: self.sheet(view).marking.undoable, "Undo 1 accepted")
        yield from self.restarted()
        found = yield from self.until_listed(tree)
        self.assertEqual(found.changes, ())
        yield lambda: self.running().review.history.edits.made.is_complete
        yield from self.until_equal(lambda: self.sheet(view).marking.undoable, "Undo 1 accepted")
        self.decide(view, "undo_last")
        yield from self.answer_first()
        yield from self.until_file("a.txt", OLD)
        # As it was accepted.
        yield from self.until_shown(view, "LINE 20\n")
        self.assertIn("## a.txt  +1 -1", text_of(view))
