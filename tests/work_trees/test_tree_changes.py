"""What was changed in a work tree: what is listed, and what of it is a claim."""

from __future__ import annotations

import os
import shutil
import sys
import time
import unittest
from dataclasses import replace
from typing import Mapping
from unittest import mock

from GeminiCompanion.companion.work_trees import filtered
from GeminiCompanion.companion.work_trees.git import GitFailure
from GeminiCompanion.companion.work_trees.inside import TreeContent
from GeminiCompanion.companion.work_trees.merging import MergedChange, merge_change
from GeminiCompanion.companion.work_trees.taken import TreeDecision, store_text
from GeminiCompanion.companion.work_trees.tree_changes import (
    SidesFailure,
    TreeReader,
    read_side,
)

from .in_tree import InTree
from .repositories import NEEDS_GIT

ON_POSIX = unittest.skipIf(sys.platform == "win32", "needs links, modes and pipes")


def make_deep_folder(path: str) -> None:
    """A folder with a file that no path is long enough for."""
    os.mkdir(path)
    above = os.open(path, os.O_RDONLY)
    for _ in range(25):
        os.mkdir("d" * 200, dir_fd=above)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=above)
        os.close(above)
        above = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=above))
    os.close(above)


@NEEDS_GIT
class Listed(InTree):
    def test_nothing_is_listed_of_a_tree_as_it_began(self) -> None:
        self.begin_tree({"c.txt": b"x\n"})
        self.assertEqual(self.changes(), {})

    def test_a_change_is_listed_whether_it_is_committed_or_not(self) -> None:
        self.begin_tree({"c.txt": b"x\n", "d.txt": b"y\n", "e.txt": b"z\n"})
        self.write_there("c.txt", b"committed\n")
        self.write_there("new/one.txt", b"committed too\n")
        self.commit(self.tree.path)
        self.write_there("d.txt", b"staged\n")
        self.git("add", "-A", folder=self.tree.path)
        self.write_there("e.txt", b"only written\n")
        self.write_there("two.txt", b"new\n")
        os.remove(self.in_tree("a.txt"))
        self.assertEqual(
            self.kinds(),
            {
                "a.txt": "deleted",
                "c.txt": "changed",
                "d.txt": "changed",
                "e.txt": "changed",
                "new/one.txt": "new",
                "two.txt": "new",
            },
        )

    def test_both_sides_can_be_read(self) -> None:
        self.begin_tree({"c.txt": b"x\n"})
        self.write_there("c.txt", b"y\n")
        reader = TreeReader(self.tree, self.data)
        self.addCleanup(reader.close)
        (change,) = reader.list_changes(self.taken)
        self.assertEqual(reader.read_left(change, self.taken).data, b"x\n")
        self.assertEqual(reader.read_right(change).data, b"y\n")

    def test_ignored_files_are_not_listed_but_those_that_were_added_all_the_same(self) -> None:
        self.begin_tree({".gitignore": b"*.log\n"})
        self.write_there("a.log", b"1\n")
        self.write_there("b.log", b"1\n")
        self.git("add", "-f", "b.log", folder=self.tree.path)
        self.assertEqual(self.kinds(), {"b.log": "new"})

    def test_what_the_user_has_already_is_not_listed(self) -> None:
        self.begin_tree({"c.txt": b"x\n", "gone.txt": b"g\n"})
        self.write_there("c.txt", b"y\n")
        self.write("c.txt", b"y\n")
        for name in (self.in_tree("gone.txt"), self.at("gone.txt")):
            os.remove(name)
        self.assertEqual(self.changes(), {})

    def test_a_file_that_was_only_touched_is_not_listed(self) -> None:
        self.begin_tree({"c.txt": b"x\n"})
        self.write_there("c.txt", b"x\n")
        os.utime(self.in_tree("c.txt"))
        self.assertEqual(self.changes(), {})

    def test_a_file_of_the_same_size_and_time_is_listed(self) -> None:
        self.begin_tree({"c.txt": b"x\n"})
        reader = TreeReader(self.tree, self.data)
        self.addCleanup(reader.close)
        self.assertEqual(reader.list_changes(self.taken), ())
        before = os.stat(self.in_tree("c.txt"))
        self.write_there("c.txt", b"y\n")
        os.utime(self.in_tree("c.txt"), ns=(before.st_atime_ns, before.st_mtime_ns))
        for setting in ("core.trustctime=false", "core.checkStat=minimal"):
            self.git("config", *setting.split("="))
        self.assertEqual([change.path for change in reader.list_changes(self.taken)], ["c.txt"])

    def test_flags_in_the_index_of_the_agent_hide_nothing(self) -> None:
        self.begin_tree({"c.txt": b"x\n", "d.txt": b"x\n"})
        self.git("update-index", "--assume-unchanged", "c.txt", folder=self.tree.path)
        self.git("update-index", "--skip-worktree", "d.txt", folder=self.tree.path)
        for name in ("c.txt", "d.txt"):
            self.write_there(name, b"y\n")
        self.assertEqual(self.kinds(), {"c.txt": "changed", "d.txt": "changed"})

    def test_a_list_writes_nothing_into_the_repository(self) -> None:
        self.begin_tree({"c.txt": b"x\n"})
        self.write_there("c.txt", b"y\n")
        self.write_there("n.txt", b"y\n")

        def files() -> dict[str, float]:
            return {
                os.path.join(place, name): os.lstat(os.path.join(place, name)).st_mtime_ns
                for top in (self.folder, self.tree.path)
                for place, _folders, names in os.walk(top)
                for name in names
            }

        before = files()
        self.changes()
        self.assertEqual(files(), before)

    def test_a_list_after_a_damaged_index_is_the_same(self) -> None:
        self.begin_tree({"c.txt": b"x\n"})
        self.write_there("c.txt", b"y\n")
        self.changes()
        index = os.path.join(self.data, f"index-{self.tree.beginning}")
        with open(index, "wb") as file:
            file.write(b"no index")
        self.assertEqual(self.kinds(), {"c.txt": "changed"})

    def test_a_lock_that_a_killed_editor_left_is_removed(self) -> None:
        self.begin_tree({"c.txt": b"x\n"})
        lock = os.path.join(self.data, f"index-{self.tree.beginning}.lock")
        for at in (1, time.time() + 1e6):
            with open(lock, "wb"):
                pass
            os.utime(lock, (at, at))
            self.write_there("c.txt", b"y\n")
            self.assertEqual(self.kinds(), {"c.txt": "changed"})
            self.assertFalse(os.path.exists(lock))

    def test_of_a_tree_that_is_gone_it_is_said(self) -> None:
        self.begin_tree({"c.txt": b"x\n"})
        shutil.rmtree(self.tree.path)
        with self.assertRaisesRegex(GitFailure, "is not there any more"):
            self.changes()

    def test_a_beginning_that_is_not_known_any_more_is_said(self) -> None:
        self.begin_tree({"c.txt": b"x\n"})
        self.tree = replace(self.tree, beginning="0" * 40)
        with self.assertRaises(GitFailure):
            self.changes()

    def test_line_ends_that_git_converts_are_no_change(self) -> None:
        self.git("config", "core.autocrlf", "true")
        self.begin_tree({"c.txt": b"x\n"})
        self.assertEqual(self.changes(), {})
        with open(self.in_tree("c.txt"), "rb") as file:
            self.assertEqual(file.read(), b"x\r\n")
        self.write_there("c.txt", b"x\r\ny\r\n")
        self.assertEqual(self.kinds(), {"c.txt": "changed"})


@NEEDS_GIT
class Renamed(InTree):
    TEXT = b"".join(b"line %d\n" % number for number in range(20))

    def test_a_file_that_is_like_one_that_is_gone_was_renamed(self) -> None:
        self.begin_tree({"old.txt": self.TEXT})
        os.remove(self.in_tree("old.txt"))
        self.write_there("dir/new.txt", self.TEXT.replace(b"line 3\n", b"line three\n"))
        (change,) = self.changes().values()
        self.assertEqual((change.kind.value, change.old_path), ("renamed", "old.txt"))
        self.assertEqual(change.own.mode, "100644")

    def test_it_is_a_new_one_if_the_user_has_that_path(self) -> None:
        self.begin_tree({"old.txt": self.TEXT})
        os.remove(self.in_tree("old.txt"))
        self.write_there("new.txt", self.TEXT)
        self.write("new.txt", b"mine\n")
        self.assertEqual(self.kinds(), {"new.txt": "new", "old.txt": "deleted"})

    def test_it_is_a_new_one_if_the_user_has_removed_the_old_one(self) -> None:
        self.begin_tree({"old.txt": self.TEXT})
        os.remove(self.in_tree("old.txt"))
        self.write_there("new.txt", self.TEXT)
        os.remove(self.at("old.txt"))
        self.assertEqual(self.kinds(), {"new.txt": "new"})

    def test_of_two_that_are_alike_the_one_with_the_name_was_moved(self) -> None:
        self.begin_tree({"a/x.txt": self.TEXT, "a/y.txt": self.TEXT})
        shutil.move(self.in_tree("a"), self.in_tree("b"))
        found = {path: change.old_path for path, change in self.changes().items()}
        self.assertEqual(found, {"b/x.txt": "a/x.txt", "b/y.txt": "a/y.txt"})

    def test_many_that_were_moved_are_found(self) -> None:
        texts = {f"a/{number}.txt": b"%d\n" % number + self.TEXT for number in range(80)}
        self.begin_tree(texts)
        shutil.move(self.in_tree("a"), self.in_tree("b"))
        found = {path: change.old_path for path, change in self.changes().items()}
        self.assertEqual(found, {path.replace("a/", "b/"): path for path in texts})


@NEEDS_GIT
@ON_POSIX
class Claims(InTree):
    def test_a_link_is_listed_and_never_followed(self) -> None:
        self.begin_tree({"c.txt": b"x\n"})
        os.remove(self.in_tree("c.txt"))
        os.symlink("/etc/passwd", self.in_tree("c.txt"))
        (change,) = self.changes().values()
        self.assertEqual(change.kind.value, "link")
        reader = TreeReader(self.tree, self.data)
        self.assertEqual(reader.read_right(change).data, b"/etc/passwd")

    def test_a_folder_that_became_a_link_is_not_followed(self) -> None:
        outside = os.path.join(self.temp, "outside")
        os.mkdir(outside)
        self.begin_tree({"dir/c.txt": b"x\n"})
        shutil.rmtree(self.in_tree("dir"))
        with open(os.path.join(outside, "c.txt"), "wb") as file:
            file.write(b"secret\n")
        os.symlink(outside, self.in_tree("dir"))
        changes = self.changes()
        self.assertEqual(changes["dir"].kind.value, "link")
        reader = TreeReader(self.tree, self.data)
        with self.assertRaises(SidesFailure):
            reader.read_right(changes["dir/c.txt"])

    def test_a_pipe_and_what_is_no_file_are_listed_and_read_as_nothing(self) -> None:
        self.begin_tree({"c.txt": b"x\n"})
        os.remove(self.in_tree("c.txt"))
        os.mkfifo(self.in_tree("c.txt"))
        os.mkfifo(self.in_tree("pipe"))
        changes = self.changes()
        self.assertEqual(
            {path: change.kind.value for path, change in changes.items()}, {"c.txt": "other"}
        )
        reader = TreeReader(self.tree, self.data)
        self.assertEqual(reader.read_right(changes["c.txt"]).data, b"")

    def test_what_lies_too_deep_to_be_looked_at_is_a_change(self) -> None:
        self.begin_tree({"c.txt": b"x\n"})
        make_deep_folder(self.in_tree("deep"))
        for _ in range(2):
            ((path, kind),) = self.kinds().items()
            self.assertTrue(path.startswith("deep/"))
            self.assertEqual(kind, "other")

    @unittest.skipIf(os.name != "posix" or os.getuid() == 0, "root reads all")
    def test_what_may_not_be_looked_at_is_a_change(self) -> None:
        self.begin_tree({"c/d.txt": b"x\n"})
        for folder in ("c", "new"):
            self.write_there(f"{folder}/d.txt", b"changed\n")
            os.chmod(self.in_tree(folder), 0)
            self.addCleanup(os.chmod, self.in_tree(folder), 0o700)
        for _ in range(2):
            self.assertEqual(self.kinds(), {"c": "other", "c/d.txt": "other", "new": "other"})

    def test_what_git_says_besides_is_no_change(self) -> None:
        self.begin_tree({"c.txt": b"x\n"})
        self.write_there(".gitattributes", b"[attr]broken:name text\nc.txt -\n")
        os.symlink("a.txt", self.in_tree("sub/.gitignore"))
        self.assertEqual(self.kinds(), {".gitattributes": "new", "sub/.gitignore": "link"})

    def test_a_folder_in_the_place_of_a_file_is_both(self) -> None:
        self.begin_tree({"c": b"x\n"})
        os.remove(self.in_tree("c"))
        self.write_there("c/d.txt", b"y\n")
        self.assertEqual(self.kinds(), {"c": "other", "c/d.txt": "new"})

    def test_a_file_in_the_place_of_a_folder_is_both(self) -> None:
        self.begin_tree({"c/d.txt": b"x\n"})
        shutil.rmtree(self.in_tree("c"))
        self.write_there("c", b"y\n")
        self.assertEqual(self.kinds(), {"c": "new", "c/d.txt": "deleted"})

    def test_that_a_file_can_be_run_now_is_a_change(self) -> None:
        self.begin_tree({"c.sh": b"x\n"})
        os.chmod(self.in_tree("c.sh"), 0o755)
        (change,) = self.changes().values()
        self.assertEqual((change.left.mode, change.right.mode), ("100644", "100755"))

    def test_names_with_line_ends_and_escapes_are_kept(self) -> None:
        self.begin_tree({"c.txt": b"x\n"})
        names = ["two\nlines.txt", "\x1b[31mred.txt", 'a"b.txt', "  blanks ", "ü.txt"]
        for name in names:
            self.write_there(name, b"y\n")
        self.assertEqual(set(self.changes()), set(names))

    def test_a_name_that_is_no_text_is_listed_and_can_never_be_taken(self) -> None:
        self.begin_tree({"c.txt": b"x\n"})
        try:
            self.write_there(os.fsdecode(b"\xff.txt"), b"y\n")
        except OSError:
            self.skipTest("the file system has no such names")
        (change,) = self.changes().values()
        self.assertEqual(change.kind.value, "other")

    def test_a_git_file_that_leads_elsewhere_changes_nothing(self) -> None:
        self.begin_tree({"c.txt": b"x\n"})
        other = os.path.join(self.temp, "other")
        self.git("init", "-q", other)
        marker = os.path.join(self.temp, "ran")
        for key in ("core.fsmonitor", "filter.x.clean", "diff.external"):
            self.git("config", key, f"touch {marker}", folder=other)
        self.write_there(".gitattributes", b"* filter=x\n")
        os.remove(self.in_tree(".git"))
        with open(self.in_tree(".git"), "w") as file:
            file.write(f"gitdir: {other}/.git\n")
        self.write_there("c.txt", b"y\n")
        self.assertEqual(self.kinds(), {".gitattributes": "new", "c.txt": "changed"})
        self.assertFalse(os.path.exists(marker))

    def test_attributes_of_the_agent_do_not_hide_a_change(self) -> None:
        self.begin_tree({"c.txt": b"x\n", "d.txt": b"1\n2\n"})
        self.write_there(".gitattributes", b"*.txt text eol=lf -diff ident\n")
        self.write_there("c.txt", b"y\n")
        self.assertEqual(self.kinds(), {".gitattributes": "new", "c.txt": "changed"})

    def test_a_repository_in_the_tree_is_one_change(self) -> None:
        self.begin_tree({"c.txt": b"x\n"})
        self.git("init", "-q", self.in_tree("inner"))
        self.write_there("inner/f.txt", b"y\n")
        self.commit(self.in_tree("inner"))
        self.assertEqual(self.kinds(), {"inner": "repository"})

    def test_a_huge_file_is_listed_and_not_read(self) -> None:
        self.begin_tree({"c.txt": b"x\n"})
        with open(self.in_tree("huge"), "wb") as file:
            file.truncate(1 << 33)
        (change,) = self.changes().values()
        with self.assertRaisesRegex(SidesFailure, "bytes"):
            TreeReader(self.tree, self.data).read_right(change)

    def test_a_tree_that_became_a_link_is_not_listed(self) -> None:
        self.begin_tree({"c.txt": b"x\n"})
        shutil.move(self.tree.path, self.tree.path + "2")
        os.symlink("/", self.tree.path)
        with self.assertRaises(GitFailure):
            self.changes()


@NEEDS_GIT
class Decided(InTree):
    def decide(self, path: str, data: bytes | None) -> None:
        mode = "" if data is None else "100644"
        digest = "" if data is None else store_text(self.data, data)
        self.taken = self.taken.with_decisions([TreeDecision(path, mode, digest)])

    def test_what_was_decided_is_not_listed_again(self) -> None:
        self.begin_tree({"c.txt": b"x\n", "d.txt": b"x\n"})
        self.write_there("c.txt", b"y\n")
        self.write_there("n.txt", b"y\n")
        os.remove(self.in_tree("d.txt"))
        self.decide("c.txt", b"y\n")
        self.decide("n.txt", b"y\n")
        self.decide("d.txt", None)
        self.assertEqual(self.changes(), {})

    def test_what_the_agent_does_later_is_listed_since_then(self) -> None:
        self.begin_tree({"c.txt": b"x\n"})
        self.write_there("c.txt", b"y\n")
        self.decide("c.txt", b"y\n")
        self.write_there("c.txt", b"y\nmore\n")
        reader = TreeReader(self.tree, self.data)
        self.addCleanup(reader.close)
        (change,) = reader.list_changes(self.taken)
        self.assertEqual(reader.read_left(change, self.taken).data, b"y\n")

    def test_what_the_agent_takes_back_later_is_a_change(self) -> None:
        self.begin_tree({"c.txt": b"x\n"})
        self.write_there("c.txt", b"y\n")
        self.decide("c.txt", b"y\n")
        self.write("c.txt", b"y\n")
        self.write_there("c.txt", b"x\n")
        self.assertEqual(self.kinds(), {"c.txt": "changed"})

    def test_a_text_that_was_lost_is_said(self) -> None:
        self.begin_tree({"c.txt": b"x\n"})
        self.write_there("c.txt", b"y\n")
        self.decide("c.txt", b"y\n")
        self.write_there("c.txt", b"z\n")
        shutil.rmtree(os.path.join(self.data, "taken"))
        reader = TreeReader(self.tree, self.data)
        self.addCleanup(reader.close)
        (change,) = reader.list_changes(self.taken)
        with self.assertRaisesRegex(SidesFailure, "not known any more"):
            reader.read_left(change, self.taken)


@ON_POSIX
@NEEDS_GIT
class Filtered(InTree):
    """Files of which git keeps another form, by a filter of the user's own settings."""

    def begin_filtered(self, clean: str, smudge: str, files: Mapping[str, bytes]) -> None:
        self.git("config", "--global", "filter.f.clean", clean)
        self.git("config", "--global", "filter.f.smudge", smudge)
        self.git("config", "--global", "filter.f.required", "true")
        self.begin_tree({".gitattributes": b"*.f filter=f\n", **files})
        for name, text in files.items():
            with open(self.in_tree(name), "rb") as file:
                self.assertEqual(file.read(), text)

    def begin_upper(self, files: Mapping[str, bytes]) -> None:
        """git keeps capital letters."""
        self.begin_filtered("tr a-z A-Z", "tr A-Z a-z", files)

    def merged(self, path: str) -> MergedChange:
        """What becomes of the user's file."""
        reader = TreeReader(self.tree, self.data)
        self.addCleanup(reader.close)
        changes = reader.list_changes(self.taken)
        reader.prepare_sides(changes)
        (change,) = (change for change in changes if change.path == path)
        own = read_side(self.folder, change.old_path)
        return merge_change(reader.read_left(change, self.taken), reader.read_right(change), own)

    def test_what_nobody_has_touched_is_not_listed(self) -> None:
        self.begin_upper({"c.f": b"one\ntwo\n", "d.f": b"\0\xffabc"})
        for name in ("c.f", "d.f"):
            # git has to look into it.
            os.utime(self.in_tree(name), (1_700_000_000, 1_700_000_000))
        self.write("d.f", b"\0\xffmine")
        self.assertEqual(self.changes(), {})

    def test_a_file_that_the_agent_alone_has_changed_counts_as_that(self) -> None:
        self.begin_upper({"c.f": b"one\ntwo\n", "d.f": b"\0\xffabc"})
        self.write_there("c.f", b"one\n2\n")
        self.write_there("d.f", b"\0\xffxyz")
        text, binary = self.merged("c.f"), self.merged("d.f")
        self.assertEqual((text.text, text.conflicts, text.exact), ("one\n2\n", 0, b"one\n2\n"))
        self.assertEqual(binary.whole, TreeContent("100644", b"\0\xffxyz"))

    def test_what_both_have_changed_is_merged(self) -> None:
        self.begin_upper({"c.f": b"one\ntwo\nthree\nfour\n"})
        self.write_there("c.f", b"one\ntwo\nthree\n4\n")
        self.write("c.f", b"1\ntwo\nthree\nfour\n")
        merged = self.merged("c.f")
        self.assertEqual((merged.text, merged.conflicts), ("1\ntwo\nthree\n4\n", 0))

    def test_contents_that_the_repository_does_not_have_come_from_the_filter(self) -> None:
        store = os.path.join(self.temp, "store")
        os.mkdir(store)
        script = os.path.join(self.temp, "clean")
        with open(script, "w") as file:
            file.write(f"cat > {store}/new\nid=$(git hash-object {store}/new)\n")
            file.write(f"mv {store}/new {store}/$id\necho $id\n")
        self.begin_filtered(f"sh {script}", f'read id; cat {store}/"$id"', {"c.f": b"\0\xffone"})
        self.write_there("c.f", b"\0\xfftwo")
        self.assertEqual(self.merged("c.f").whole, TreeContent("100644", b"\0\xfftwo"))
        self.write("c.f", b"\0\xffmine")
        self.assertIsNone(self.merged("c.f").whole)

    def test_one_whose_filter_fails_is_told(self) -> None:
        self.begin_upper({"c.f": b"one\n"})
        self.write_there("c.f", b"two\n")
        self.git("config", "--global", "filter.f.smudge", "false")
        with self.assertRaisesRegex(SidesFailure, "smudge filter f failed"):
            self.merged("c.f")

    def test_one_that_is_too_large_as_a_file_is_told(self) -> None:
        smudge = "case $(cat) in ONE) head -c 2000000 /dev/zero;; *) echo two;; esac"
        self.begin_upper({"c.f": b"one\n"})
        self.git("config", "--global", "filter.f.smudge", smudge)
        self.write_there("c.f", b"two\n")
        with mock.patch.object(filtered, "LIMIT", 1 << 20):
            with self.assertRaisesRegex(SidesFailure, "more than 1 MiB"):
                self.merged("c.f")

    def test_attributes_of_the_agent_start_no_filter_on_other_files(self) -> None:
        self.begin_upper({"c.txt": b"ONE\n"})
        self.write_there(".gitattributes", b"* filter=f\n")
        self.write_there("c.txt", b"TWO\n")
        self.assertEqual(self.merged("c.txt").exact, b"TWO\n")
