"""Texts before and after edits: what is kept of them over restarts, and what makes way."""

from __future__ import annotations

import errno
import os
import stat
import sys
import tempfile
import unittest
from unittest import mock

from GeminiCompanion.companion.base import private_files, undo_store
from GeminiCompanion.companion.base.undo_store import NetChange, UndoStore, digest_of

ONE, TWO, THREE, FOUR = b"one\r\n\xff", b"", b"three" * 20, b"four"


class Kept(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.join(folder.name, "state", "edits")

    def store(self, largest: int = 1000, limit: int = 1000) -> UndoStore:
        """As a program has it that starts."""
        return UndoStore(self.folder, largest, limit)

    def names(self) -> set[str]:
        return set(os.listdir(self.folder)) - {undo_store.LIST}

    def texts(self, group: str) -> list[tuple[bytes | None, bytes | None]]:
        store = self.store()
        edits = [edit for edit in store.edits() if edit.group == group]
        return [(store.text(edit.before), store.text(edit.after)) for edit in edits]

    def test_both_texts_and_what_was_said_of_an_edit_outlive_the_program(self) -> None:
        store = self.store()
        store.add_edit("turn", "/ä\udcff", ONE, TWO, {"client": "Qwen", "folders": ["/"]})
        store.add_edit("turn", "/new", None, ONE)
        self.assertEqual(self.texts("turn"), [(ONE, TWO), (None, ONE)])
        first, second = self.store().edits()
        self.assertEqual((first.path, first.details["client"]), ("/ä\udcff", "Qwen"))
        self.assertEqual((second.before, second.details), (undo_store.MISSING, {}))
        # Each text once.
        self.assertEqual(len(self.names()), 2)

    def test_the_texts_and_the_line_of_an_edit_outlive_a_power_cut(self) -> None:
        synced: dict[int, int] = {}

        def sync(descriptor: int) -> None:
            status = os.fstat(descriptor)
            synced[status.st_ino] = status.st_size

        with mock.patch.object(os, "fsync", sync):
            self.store().add_edit("turn", "/a", ONE, THREE)
        paths = [os.path.join(self.folder, name) for name in (undo_store.LIST, *self.names())]
        for status in map(os.stat, paths):
            self.assertEqual(synced.get(status.st_ino), status.st_size)
        self.assertEqual(len(paths), 3)

    @unittest.skipIf(sys.platform == "win32", "Windows cannot open a folder")
    def test_a_list_that_is_new_outlives_a_power_cut(self) -> None:
        synced: list[str] = []

        def sync(descriptor: int) -> None:
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                synced[:] = os.listdir(descriptor)

        with mock.patch.object(os, "fsync", sync):
            self.store().add_edit("turn", "/a", ONE, THREE)
        self.assertIn(undo_store.LIST, synced)

    def test_the_edits_of_a_group_are_one_change_of_each_file(self) -> None:
        store = self.store()
        for path, before, after in (
            ("/a", ONE, TWO), ("/b", ONE, TWO), ("/same", ONE, TWO),
            ("/a", TWO, THREE), ("/b", FOUR, THREE), ("/same", TWO, ONE),
        ):  # fmt: skip
            store.add_edit("turn", path, before, after)
        store.add_edit("later", "/a", THREE, FOUR)
        one, three = digest_of(ONE), digest_of(THREE)
        expected = [NetChange("/a", one, three), NetChange("/b", one, three, False)]
        self.assertEqual(store.changes("turn"), expected)

    def test_half_a_line_and_a_damaged_one_cost_themselves_only(self) -> None:
        self.store().add_edit("first", "/a", ONE, TWO)
        damaged = b'[]\n{"group": "first", "path": "/b"}\n{"gro'
        with open(os.path.join(self.folder, undo_store.LIST), "ab") as file:
            file.write(damaged)
        self.store().add_edit("second", "/a", TWO, ONE)
        with self.assertLogs("GeminiCompanion", "WARNING") as logs:
            found = [edit.group for edit in self.store().edits()]
        self.assertEqual((found, len(logs.output)), (["first", "second"], 1))
        self.store().keep_edits(lambda edit: True)
        with open(os.path.join(self.folder, undo_store.LIST), "rb") as file:
            self.assertEqual(len(file.readlines()), 2)
        with open(os.path.join(self.folder, undo_store.DAMAGED), "rb") as file:
            self.assertEqual(file.read(), damaged + b"\n")
        # Nothing takes it away, and it does not grow without end.
        with open(os.path.join(self.folder, undo_store.LIST), "ab") as file:
            file.write(b"x" * undo_store.MAX_DAMAGED + b"\n")
        self.store().keep_edits(lambda edit: False)
        size = os.path.getsize(os.path.join(self.folder, undo_store.DAMAGED))
        self.assertEqual(size, len(damaged) + 1)

    def test_a_text_that_the_disk_has_spoiled_is_none(self) -> None:
        self.store().add_edit("turn", "/a", ONE, TWO)
        with open(os.path.join(self.folder, digest_of(ONE)), "wb") as file:
            file.write(b"something else")
        self.assertEqual(self.texts("turn"), [(None, TWO)])

    def test_the_texts_of_the_oldest_edits_make_way(self) -> None:
        store = self.store(limit=150)
        many = FOUR * 20
        for name, before, after in (("1", ONE, THREE), ("2", many, FOUR), ("3", FOUR, many)):
            store.add_edit(name, "/a", before, after)
        # A text of several edits counts once.
        store.keep_edits(lambda edit: True)
        found = [self.texts(name)[0] for name in ("1", "2", "3")]
        self.assertEqual(found, [(ONE, None), (many, FOUR), (FOUR, many)])

    def test_of_a_text_that_is_too_large_the_digest_is_known(self) -> None:
        store = self.store(largest=99)
        store.add_edit("turn", "/a", THREE, ONE)
        self.assertEqual(self.texts("turn"), [(None, ONE)])
        self.assertEqual(store.edits()[0].before, digest_of(THREE))

    def test_of_edits_that_are_not_to_be_kept_nothing_is_left(self) -> None:
        store = self.store()
        store.add_edit("goes", "/secret", FOUR, ONE)
        store.add_edit("stays", "/a", ONE, TWO)
        for name in (".unfinished-1-aa", "of another release.json"):
            with open(os.path.join(self.folder, name), "wb"):
                pass
        store.keep_edits(lambda edit: edit.path != "/secret")
        self.assertEqual([edit.group for edit in self.store().edits()], ["stays"])
        self.assertEqual(self.names(), {digest_of(ONE), digest_of(TWO)})
        store.add_edit("more", "/a", TWO, ONE)
        self.assertEqual([edit.group for edit in self.store().edits()], ["stays", "more"])

    def test_on_a_full_disk_the_texts_that_are_not_to_be_kept_go_as_well(self) -> None:
        store = self.store()
        store.add_edit("goes", "/secret", FOUR, ONE)
        store.add_edit("stays", "/a", ONE, TWO)
        full = OSError(errno.ENOSPC, "full")
        with mock.patch.object(private_files, "write_file", side_effect=full):
            with self.assertRaises(OSError):
                store.keep_edits(lambda edit: edit.path != "/secret")
        self.assertEqual(self.names(), {digest_of(ONE), digest_of(TWO)})
        self.assertEqual(self.texts("stays"), [(ONE, TWO)])

    def test_what_cannot_be_removed_keeps_nothing_else_from_it(self) -> None:
        store = self.store()
        store.add_edit("goes", "/a", FOUR, THREE)
        os.mkdir(os.path.join(self.folder, ".of another program"))
        unlink, is_open = os.unlink, os.path.join(self.folder, digest_of(FOUR))

        def refuse(path: str) -> None:
            if path == is_open:
                raise PermissionError(errno.EACCES, "in use")
            unlink(path)

        with mock.patch.object(os, "unlink", refuse):
            store.keep_edits(lambda edit: False)
        self.assertEqual(self.names(), {".of another program", digest_of(FOUR)})
        store.keep_edits(lambda edit: False)
        self.assertEqual(self.names(), {".of another program"})

    @unittest.skipIf(sys.platform == "win32", "Windows has no modes")
    def test_only_the_user_can_read_it(self) -> None:
        store = self.store()
        store.add_edit("turn", "/a", ONE, TWO)
        store.add_edit("gone", "/a", TWO, ONE)
        store.keep_edits(lambda edit: edit.group == "turn")
        for folder, _folders, names in os.walk(os.path.dirname(self.folder)):
            for path in (folder, *(os.path.join(folder, name) for name in names)):
                self.assertEqual(stat.S_IMODE(os.stat(path).st_mode) & 0o077, 0, path)
