"""Accepted edits in a folder: what comes back of them, and what is never written there."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import threading
import time
import unittest
from dataclasses import replace
from typing import Any
from unittest import mock

from GeminiCompanion.companion.base import undo_store
from GeminiCompanion.companion.base.file_content import Original, of_bytes
from GeminiCompanion.companion.base.undo_store import UndoStore
from GeminiCompanion.companion.edits import edit_store
from GeminiCompanion.companion.edits.edit import MAX_AGE, NOT_KEPT, Edit, EditState
from GeminiCompanion.companion.ide.sharing import Sharing

RULES = Sharing()


def of(turn: str) -> dict[str, Any]:
    """Of an edit of a turn, or of one that was accepted."""
    return {"turn": turn, "state": EditState.WRITTEN if turn else EditState.KEPT}


def edit(
    name: str = "a.py", old: bytes | None = b"old\r\n", new: str = "new\n", **more: Any
) -> Edit:
    before = of_bytes(old) if old is not None else Original("", exists=False)
    at = more.pop("at", time.time())
    return Edit(7, f"/shop/{name}", before, new, "Gemini CLI", at, ("/shop",), RULES, **more)


class Saved(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.join(folder.name, "cache", "edits")

    def save(self, *edits: Edit) -> None:
        self.assertEqual(edit_store.save_edits(self.folder, edits), "")

    def known(self) -> list[Edit]:
        """What comes back, with the rules of the window as it is now."""
        return [replace(each, rules=RULES) for each in edit_store.load_edits(self.folder)]

    def names(self) -> list[str]:
        """Of the files whose edits come back and can be undone, in the order of these."""
        found = edit_store.load_edits(self.folder)
        return [os.path.basename(each.path) for each in found if not each.problem]

    def problems(self) -> dict[str, str]:
        """Why the other edits that come back cannot be undone, by the names of their files."""
        found = edit_store.load_edits(self.folder)
        return {os.path.basename(each.path): each.problem for each in found if each.problem}

    def texts(self) -> set[bytes]:
        """All that is in the folders, but for the lists."""
        found = set()
        for folder, _folders, names in os.walk(self.folder):
            for name in set(names) - {undo_store.LIST, undo_store.DAMAGED}:
                with open(os.path.join(folder, name), "rb") as file:
                    found.add(file.read())
        return found

    def test_comes_back_exact_but_for_the_window_that_is_gone(self) -> None:
        for old, new in (
            (b"\xef\xbb\xbfone\r\ntwo", "\ufeffone\n2"),
            ("\u00e9".encode("utf-16"), "x"),
            (None, "\U0001f600 \ud800\n"),
            (b"", ""),
        ):
            with self.subTest(old=old):
                saved = edit("a.py", old, new)
                self.save(saved)
                expected = replace(saved, window_id=0, rules=None)
                self.assertEqual(edit_store.load_edits(self.folder), [expected])

    def test_a_file_that_was_removed_comes_back_as_one(self) -> None:
        removed = edit(new="", is_removal=True)
        emptied = edit("b.py", new="")
        self.save(removed, emptied)
        found = {os.path.basename(each.path): each.is_removal for each in self.known()}
        self.assertEqual(found, {"a.py": True, "b.py": False})
        self.assertEqual(self.problems(), {})

    def test_what_is_not_among_the_edits_any_more_is_taken_away(self) -> None:
        one, two = edit("1"), edit("2")
        self.save(one, two)
        self.save(two)
        self.assertEqual(self.names(), ["2"])
        self.save()
        self.assertEqual(self.texts(), set())

    def test_the_oldest_make_way_where_all_are_too_large(self) -> None:
        text = "x" * (edit_store.MAX_SAVED * 3 // 4)
        count, now = edit_store.MAX_ALL_SAVED // len(text), time.time() - 100
        edits = [edit(str(at), b"", f"{at}{text}", at=now + at) for at in range(count + 2)]
        self.save(*edits[:-1])
        self.save(*edits)
        self.assertEqual(self.names(), [str(at) for at in range(2, count + 2)])
        self.assertEqual(set(self.problems().items()), {(name, NOT_KEPT) for name in "01"})
        self.assertLessEqual(sum(map(len, self.texts())), edit_store.MAX_ALL_SAVED)

    def test_one_that_made_way_is_saved_again_once_there_is_room(self) -> None:
        text = "x" * (edit_store.MAX_SAVED * 3 // 4)
        count, now = edit_store.MAX_ALL_SAVED // len(text), time.time() - 100
        edits = [edit(str(at), b"", f"{at}{text}", at=now + at) for at in range(count + 3)]
        names = [str(at) for at in range(count + 3)]
        self.save(*edits)
        self.assertEqual(self.names(), names[3:])
        # Without the newest two.
        self.save(*edits[:-2])
        self.assertEqual(self.names(), names[1:-2])
        self.assertLessEqual(sum(map(len, self.texts())), edit_store.MAX_ALL_SAVED)
        self.save(edits[0])
        self.assertEqual(self.names(), names[:1])

    def test_edits_that_nobody_was_asked_about_push_out_no_accepted_ones_nor_the_reverse(
        self,
    ) -> None:
        text = "x" * edit_store.MAX_SAVED
        count = edit_store.MAX_ALL_SAVED // len(text)
        for few, many in (("", "turn"), ("turn", "")):
            with self.subTest(many=many):
                one, now = (
                    edit("one", **of(few), at=time.time() - 100),
                    time.time() - 50,
                )
                others = [
                    edit(f"{number}", b"", f"{number}{text[1:]}", **of(many), at=now + number)
                    for number in range(count + 1)
                ]
                self.save(one, *others)
                self.assertIn("one", self.names())
                self.assertEqual(self.problems(), {"0": NOT_KEPT})

    def test_one_whose_texts_were_dropped_stays_listed_over_restarts(self) -> None:
        for turn in ("", "turn"):
            with self.subTest(turn=turn):
                saved = edit(**of(turn))
                self.save(saved)
                self.save(saved.without_texts(NOT_KEPT))
                for _ in range(2):
                    self.assertEqual(self.texts(), {b""})
                    self.assertEqual(self.problems(), {"a.py": NOT_KEPT})
                    self.save(*self.known())
                self.save()

    def test_of_one_without_asking_that_an_older_release_saved_nothing_is_lost(self) -> None:
        old = edit(prompt="do", **of("turn"))
        details = {"target": old.path, "folders": ["/shop"], "client": old.client, "at": old.at}
        details.update(turn="turn", prompt="do", is_seen=False)
        UndoStore(self.folder, 100, 1000).add_edit(old.id, old.path, b"old\r\n", b"new\n", details)
        self.save(*self.known())
        self.assertEqual([each.prompt for each in edit_store.load_edits(self.folder)], ["do"])
        self.assertEqual(UndoStore(self.folder, 100, 1000).edits(), [])

    def test_what_cannot_be_undone_or_is_too_large_is_listed_only_and_the_latter_is_told(
        self,
    ) -> None:
        unknown, most = Original("", exists=True, note="?"), "x" * edit_store.MAX_SAVED
        for name, given, problem in (
            ("unknown", replace(edit("unknown"), before=unknown), ""),
            ("in part", replace(edit("in part"), after=None), ""),
            ("old", edit("old", most.encode() + b"x"), edit_store.TOO_LARGE_TO_SAVE),
            ("new", edit("new", b"", most[1:] + "\u00e9"), edit_store.TOO_LARGE_TO_SAVE),
        ):
            with self.subTest(name):
                told = edit_store.save_edits(
                    self.folder, (edit("fits", most.encode(), most), given)
                )
                self.assertEqual(told, problem.format(name))
                self.assertEqual(self.names(), ["fits"])
                self.assertEqual(set(self.problems()), {name})
                self.assertLessEqual(max(map(len, self.texts())), edit_store.MAX_SAVED)

    @unittest.skipIf(sys.platform == "win32", "links need rights there")
    def test_what_is_excluded_later_goes_with_the_next_save_behind_a_link_too(self) -> None:
        target = os.path.join(os.path.dirname(os.path.dirname(self.folder)), "b.txt")
        os.symlink(target, target + ".link")
        self.save(edit(), replace(edit(), path=target + ".link"))
        found = edit_store.load_edits(self.folder)
        self.assertEqual(len(found), 2)
        rules = Sharing(exclude=("a.py", "b.txt"))
        self.save(*(replace(each, rules=rules) for each in found))
        self.assertEqual(self.texts(), set())

    def test_of_a_disk_that_does_not_answer_nothing_new_is_saved_and_that_is_told(self) -> None:
        before, now, answer = edit("before"), edit("now"), threading.Event()
        self.save(before)
        self.addCleanup(answer.set)
        with mock.patch.object(edit_store, "PATIENCE", 0.01), mock.patch.object(
            os.path, "realpath", lambda path: answer.wait() and path
        ):
            told = edit_store.save_edits(self.folder, (before, now))
        self.assertEqual(told, edit_store.NO_ANSWER.format("now"))
        self.assertEqual(self.names(), ["before"])

    def test_nothing_of_an_excluded_file_is_saved_while_sharing_is_paused_neither(self) -> None:
        paused = Sharing(paused=True, only_project_files=True)
        self.save(edit(".env"), replace(edit("b.py"), rules=paused, folders=()))
        self.assertEqual(self.names(), ["b.py"])

    @unittest.skipIf(sys.platform == "win32", "links need rights there")
    def test_nothing_of_an_excluded_file_behind_a_link_is_saved(self) -> None:
        for link, target in (("harmless.txt", "/shop/key.pem"), (".env", "/shop/harmless.txt")):
            link = os.path.join(os.path.dirname(os.path.dirname(self.folder)), link)
            os.symlink(target, link)
            self.save(replace(edit(), path=link))
            self.assertEqual(self.texts(), set())

    def test_what_is_damaged_costs_no_other_and_goes_with_the_next_save(self) -> None:
        good, bad = edit("good"), edit("bad")
        whole = {"target": "", "folders": [], "client": "", "at": 1.0}
        wrong = ("folders", None), ("folders", [1]), ("at", "x"), ("at", 10**400), ("client", None)
        for details in ({}, *({**whole, name: value} for name, value in wrong)):
            with self.subTest(details=str(details)[:80]):
                self.save(good)
                UndoStore(self.folder, 100, 1000).add_edit(bad.id, bad.path, b"bad", b"x", details)
                with self.assertLogs("GeminiCompanion", "WARNING") as logs:
                    self.assertEqual(self.names(), ["good"])
                self.assertNotIn("bad", "".join(logs.output))
                self.save(good)
                self.assertEqual(self.texts(), {b"old\r\n", b"new\n"})
                with open(os.path.join(self.folder, undo_store.DAMAGED), "rb") as file:
                    self.assertIn(bad.id.encode(), file.read())

    def test_what_cannot_be_read_now_is_listed_and_there_again_later(self) -> None:
        one, other = edit("one", b"1"), edit("other", b"2")
        self.save(one, other)
        read = UndoStore.text

        def refuse(store: UndoStore, digest: str) -> bytes | None:
            if digest == undo_store.digest_of(b"1"):
                raise PermissionError(errno.EACCES, "another program has it open")
            return read(store, digest)

        with mock.patch.object(UndoStore, "text", refuse):
            with self.assertLogs("GeminiCompanion", "WARNING"):
                found = self.known()
            self.assertEqual([each.problem for each in found], [edit_store.UNREAD, ""])
            self.save(*(replace(each, state=EditState.KEPT) for each in found))
        self.assertEqual(self.names(), ["one", "other"])

    def test_where_the_list_cannot_be_read_now_that_is_no_empty_list(self) -> None:
        self.save(edit())
        refused = PermissionError("another program has it open")
        with mock.patch.object(UndoStore, "edits", side_effect=refused):
            with self.assertRaises(PermissionError):
                edit_store.load_edits(self.folder)
        self.assertEqual(self.names(), ["a.py"])

    def test_one_that_is_a_week_old_or_of_a_moment_that_cannot_be_is_not_saved(self) -> None:
        week, now = MAX_AGE * 24 * 60 * 60, time.time()
        never = map(float, ("1e18", "-1e18", "inf", "-inf", "nan"))
        self.save(
            *(edit(at=moment) for moment in (now - week - 60, *never)),
            edit("b", at=now - week + 60),
        )
        self.assertEqual(self.names(), ["b"])

    def test_of_which_a_text_is_lost_it_is_only_listed(self) -> None:
        for lost in (b"old\r\n", b"new\n"):
            self.save(edit())
            os.unlink(os.path.join(self.folder, undo_store.digest_of(lost)))
            self.assertEqual(self.names(), [])
            self.assertEqual(self.problems(), {"a.py": NOT_KEPT})
            self.save()

    def test_after_a_week_nothing_of_it_is_in_the_folder_once_it_is_saved_again(self) -> None:
        self.save(edit())
        then = time.time() + 8 * 24 * 60 * 60
        with mock.patch.object(time, "time", lambda: then):
            found = edit_store.load_edits(self.folder)
            self.save(*found)
        self.assertEqual((found, self.texts()), ([], set()))

    def test_a_clock_that_is_set_back_takes_none_away(self) -> None:
        self.save(edit())
        with mock.patch.object(time, "time", return_value=time.time() - 1e9):
            found = self.known()
            self.save(*found)
        self.assertEqual(self.names(), ["a.py"])

    def test_one_that_grew_old_while_the_editor_ran_goes_with_the_next_that_is_saved(self) -> None:
        old = edit("old")
        self.save(old)
        self.save(replace(old, at=old.at - 8 * 24 * 60 * 60), edit("young"))
        self.assertEqual(self.names(), ["young"])

    def test_a_folder_that_cannot_be_written_is_a_sentence(self) -> None:
        os.makedirs(os.path.dirname(self.folder))
        with open(self.folder, "wb"):
            told = edit_store.save_edits(self.folder, [edit()])
        self.assertIn("cannot be undone after a restart", told)
        self.assertEqual(self.names(), [])

    def test_one_of_an_earlier_run_is_of_the_windows_that_may_be_its_own(self) -> None:
        self.save(edit())
        (found,) = edit_store.load_edits(self.folder)
        folders = [("/shop",), ("/",), ("/other", "/shop"), ("/other",), ()]
        self.assertEqual(
            [found.is_of(1, folder) for folder in folders], [True, True, True, False, False]
        )
        self.assertEqual([edit().is_of(window_id, ()) for window_id in (7, 1)], [True, False])

    def test_one_of_a_window_that_was_closed_is_of_the_windows_that_may_be_its_own(self) -> None:
        folders = [("/shop",), ("/other",)]
        self.assertEqual([edit().is_of(8, folder, {0, 7}) for folder in folders], [True, False])
        self.assertEqual([edit().is_of(8, folder, {0}) for folder in folders], [False, False])
