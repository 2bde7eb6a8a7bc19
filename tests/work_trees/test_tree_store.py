"""The file of each work tree, and what a damaged one leaves."""

from __future__ import annotations

import errno
import json
import os
import tempfile
import unittest
from dataclasses import replace
from typing import Any
from unittest import mock

from GeminiCompanion.companion.base import private_files
from GeminiCompanion.companion.work_trees import tree_store
from GeminiCompanion.companion.work_trees.tree_store import TreeInUse, TreeStore
from GeminiCompanion.companion.work_trees.work_tree import TreeState, WorkTree, new_id

TREE = WorkTree(
    id="abc123",
    path="/trees/one",
    root="/project",
    folder="/project/part",
    name="Rename it",
    agent="claude-code",
    created=1700000000.5,
    beginning="f" * 40,
    git_folder="/project/.git",
    admin="one",
    carried=(".env",),
    state=TreeState.READY,
)


class Stores(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.join(folder.name, "cache", "work_trees")
        self.store = TreeStore(self.folder)

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def change_file(self, **fields: object) -> None:
        with open(self.path("abc123.json"), encoding="ascii") as file:
            stored = json.load(file)
        stored.update(fields)
        with open(self.path("abc123.json"), "w", encoding="ascii") as file:
            json.dump(stored, file)

    def test_what_is_kept_another_editor_finds(self) -> None:
        younger = replace(TREE, id=new_id(), created=TREE.created + 1)
        self.store.keep_tree(younger)
        self.store.keep_tree(TREE)
        self.assertEqual(TreeStore(self.folder).list_trees(), (TREE, younger))

    def test_that_agents_may_work_freely_is_kept_and_older_files_do_not_say_it(self) -> None:
        self.store.keep_tree(TREE)
        self.store.let_work_freely(TREE.id)
        found = TreeStore(self.folder).find_tree(TREE.id)
        self.assertEqual((found, found and found.is_free), (TREE, True))
        with open(self.path("abc123.json"), encoding="ascii") as file:
            stored = json.load(file)
        del stored["is_free"]
        with open(self.path("abc123.json"), "w", encoding="ascii") as file:
            json.dump(stored, file)
        found = self.store.find_tree(TREE.id)
        self.assertEqual((found, found and found.is_free), (TREE, False))
        self.change_file(is_free="yes")
        found = self.store.find_tree(TREE.id)
        self.assertEqual((found, found and found.is_free), (TREE, False))
        with self.store.hold_tree(TREE.id), self.assertRaises(TreeInUse):
            self.store.let_work_freely(TREE.id)
        self.store.forget_tree(TREE.id)
        self.store.let_work_freely(TREE.id)
        self.assertEqual(self.store.list_trees(), ())

    def test_without_a_folder_there_is_no_tree(self) -> None:
        self.assertEqual(self.store.list_trees(), ())
        self.assertIsNone(self.store.find_tree("abc123"))

    def test_a_path_of_any_bytes_is_kept(self) -> None:
        odd = replace(TREE, path="/trees/\udcff\n\u202e")
        self.store.keep_tree(odd)
        self.assertEqual(self.store.list_trees(), (odd,))

    def test_a_damaged_field_takes_no_other_with_it(self) -> None:
        self.store.keep_tree(TREE)
        lost: dict[str, Any] = {
            "name": 7, "agent": None, "created": "soon", "beginning": [], "carried": [1],
            "state": "dreaming", "git_folder": "relative", "admin": "../..",
        }  # fmt: skip
        for field, value in lost.items():
            with self.subTest(field):
                self.store.keep_tree(TREE)
                self.change_file(**{field: value})
                (found,) = self.store.list_trees()
                empty: Any = {"created": 0.0, "carried": (), "state": TreeState.READY}
                emptied = empty.get(field, "")
                self.assertEqual(found, replace(TREE, **{field: emptied}))

    def test_a_number_that_no_clock_shows_is_damaged(self) -> None:
        for value in (float("nan"), float("inf"), -1, 10**400, True):
            with self.subTest(value):
                self.store.keep_tree(TREE)
                self.change_file(created=value)
                (found,) = self.store.list_trees()
                self.assertEqual(found, replace(TREE, created=0.0))

    def test_of_a_tree_without_a_path_what_git_keeps_is_known(self) -> None:
        self.store.keep_tree(TREE)
        self.change_file(path="\0")
        (found,) = self.store.list_trees()
        self.assertEqual(found, replace(TREE, path=""))

    def test_a_damaged_file_is_kept_beside_the_next_one(self) -> None:
        self.store.keep_tree(TREE)
        self.change_file(name=7)
        self.store.keep_tree(TREE)
        with open(self.path("abc123.damaged"), encoding="ascii") as file:
            self.assertEqual(json.load(file)["name"], 7)

    def test_a_file_that_is_none_hides_no_other(self) -> None:
        self.store.keep_tree(TREE)
        for id, data in (("bbbbbb", b"{"), ("cccccc", b"[]"), ("dddddd", b"[" * 100000)):
            with open(self.path(id + ".json"), "wb") as file:
                file.write(data)
        os.mkdir(self.path("eeeeee.json"))
        with open(self.path("of another program.json"), "wb"):
            pass
        with self.assertLogs("GeminiCompanion", "ERROR"):
            self.assertEqual(self.store.list_trees(), (TREE,))
        self.assertTrue(os.path.exists(self.path("bbbbbb.damaged")))

    def test_fields_of_a_later_release_stay(self) -> None:
        self.store.keep_tree(TREE)
        self.change_file(colour="green")
        self.store.keep_tree(replace(TREE, name="Other"))
        with open(self.path("abc123.json"), encoding="ascii") as file:
            stored = json.load(file)
        self.assertEqual((stored["colour"], stored["name"]), ("green", "Other"))

    def test_on_a_full_disk_the_tree_stays_as_it_was(self) -> None:
        self.store.keep_tree(TREE)
        for step in ("write_file", "replace_file", "sync_file"):
            full = OSError(errno.ENOSPC, "full")
            with self.subTest(step), mock.patch.object(private_files, step, side_effect=full):
                with self.assertRaises(OSError):
                    self.store.keep_tree(replace(TREE, name="Other"))
                self.assertEqual(self.store.list_trees(), (TREE,))

    def test_what_is_forgotten_leaves_nothing(self) -> None:
        self.store.keep_tree(TREE)
        with self.store.hold_tree(TREE.id):
            with open(os.path.join(self.store.make_data_folder(TREE.id), "taken"), "wb"):
                pass
            self.store.forget_tree(TREE.id)
        self.assertEqual(os.listdir(self.folder), [])
        self.store.forget_tree(TREE.id)

    def test_whoever_is_late_makes_no_folder_of_what_is_forgotten(self) -> None:
        remove, late = tree_store._remove_folder, OSError()

        def make_late(path: str) -> None:
            nonlocal late
            remove(path)
            try:
                self.store.make_data_folder(TREE.id)
            except OSError as error:
                late = error

        for _ in range(2):
            self.store.keep_tree(TREE)
            with mock.patch.object(tree_store, "_remove_folder", make_late):
                self.store.forget_tree(TREE.id)
            self.assertEqual(os.listdir(self.folder), [])
            self.assertIsInstance(late, FileNotFoundError)

    def test_one_editor_at_a_time_is_at_work_on_a_tree(self) -> None:
        other = TreeStore(self.folder)
        with self.store.hold_tree(TREE.id):
            with self.assertRaises(TreeInUse), other.hold_tree(TREE.id):
                pass
            with other.hold_tree("bbbbbb"):
                pass
        with other.hold_tree(TREE.id):
            pass

    def test_no_id_leads_out_of_the_folder(self) -> None:
        for id in ("../abc123", "", "abc123/..", "ABC123", "abc123\n"):
            with self.subTest(id), self.assertRaises(ValueError):
                self.store.data_folder(id)


class Values(unittest.TestCase):
    def test_the_agents_folder_is_where_the_users_is(self) -> None:
        self.assertEqual(TREE.own_folder, os.path.join("/trees/one", "part"))
        self.assertEqual(replace(TREE, folder="/project").own_folder, "/trees/one")

    def test_a_tree_that_is_not_made_has_nothing_of_git(self) -> None:
        self.assertEqual(replace(TREE, admin="").admin_folder, "")
