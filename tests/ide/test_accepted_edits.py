"""Accepted edits in a folder: what comes back of them, and what is never written there."""

from __future__ import annotations

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
from GeminiCompanion.companion.base.undo_store import UndoStore
from GeminiCompanion.companion.ide import accepted_edits
from GeminiCompanion.companion.ide.accepted_edits import Edit
from GeminiCompanion.companion.ide.file_content import Original, of_bytes
from GeminiCompanion.companion.ide.sharing import Sharing

RULES = Sharing()


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
        self.assertEqual(accepted_edits.save(self.folder, edits), "")

    def names(self) -> list[str]:
        """Of the files that come back, in the order of their edits."""
        return [os.path.basename(it.path) for it in accepted_edits.load(self.folder)]

    def texts(self) -> set[bytes]:
        """All that is in the folder, but for the list."""
        found = set()
        for entry in os.scandir(self.folder) if os.path.isdir(self.folder) else ():
            with open(entry.path, "rb") as file:
                data = file.read()
            if entry.name != undo_store.LIST:
                found.add(data)
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
                self.assertEqual(accepted_edits.load(self.folder), [expected])

    def test_what_is_not_among_the_edits_any_more_is_taken_away(self) -> None:
        one, two = edit("1"), edit("2")
        self.save(one, two)
        self.save(two)
        self.assertEqual(self.names(), ["2"])
        self.save()
        self.assertEqual(self.texts(), set())

    def test_the_oldest_make_way_where_all_are_too_large(self) -> None:
        text = "x" * (accepted_edits.MAX_SAVED * 3 // 4)
        count, now = accepted_edits.MAX_ALL_SAVED // len(text), time.time() - 100
        edits = [edit(str(at), b"", f"{at}{text}", at=now + at) for at in range(count + 2)]
        self.save(*edits[:-1])
        self.save(*edits)
        self.assertEqual(self.names(), [str(at) for at in range(2, count + 2)])
        self.assertLessEqual(sum(map(len, self.texts())), accepted_edits.MAX_ALL_SAVED)

    def test_one_that_made_way_is_saved_again_once_there_is_room(self) -> None:
        text = "x" * (accepted_edits.MAX_SAVED * 3 // 4)
        count, now = accepted_edits.MAX_ALL_SAVED // len(text), time.time() - 100
        edits = [edit(str(at), b"", f"{at}{text}", at=now + at) for at in range(count + 3)]
        names = [str(at) for at in range(count + 3)]
        self.save(*edits)
        self.assertEqual(self.names(), names[3:])
        # Without the newest two.
        self.save(*edits[:-2])
        self.assertEqual(self.names(), names[1:-2])
        self.assertLessEqual(sum(map(len, self.texts())), accepted_edits.MAX_ALL_SAVED)
        self.save(edits[0])
        self.assertEqual(self.names(), names[:1])

    def test_what_cannot_be_undone_or_is_too_large_is_not_saved_and_the_latter_is_told(
        self,
    ) -> None:
        unknown, most = Original("", exists=True, note="?"), "x" * accepted_edits.MAX_SAVED
        for name, it, problem in (
            ("unknown", replace(edit("unknown"), before=unknown), ""),
            ("in part", replace(edit("in part"), after=None), ""),
            ("old", edit("old", most.encode() + b"x"), accepted_edits.TOO_LARGE_TO_SAVE),
            ("new", edit("new", b"", most[1:] + "\u00e9"), accepted_edits.TOO_LARGE_TO_SAVE),
        ):
            with self.subTest(name):
                told = accepted_edits.save(self.folder, (edit("fits", most.encode(), most), it))
                self.assertEqual(told, problem.format(name))
                self.assertEqual(self.names(), ["fits"])

    @unittest.skipIf(sys.platform == "win32", "links need rights there")
    def test_what_is_excluded_later_goes_with_the_next_save_behind_a_link_too(self) -> None:
        target = os.path.join(os.path.dirname(os.path.dirname(self.folder)), "b.txt")
        os.symlink(target, target + ".link")
        self.save(edit(), replace(edit(), path=target + ".link"))
        found = accepted_edits.load(self.folder)
        self.assertEqual(len(found), 2)
        rules = Sharing(exclude=("a.py", "b.txt"))
        self.save(*(replace(it, rules=rules) for it in found))
        self.assertEqual(self.texts(), set())

    def test_of_a_disk_that_does_not_answer_nothing_new_is_saved_and_that_is_told(self) -> None:
        before, now, answer = edit("before"), edit("now"), threading.Event()
        self.save(before)
        self.addCleanup(answer.set)
        with mock.patch.object(accepted_edits, "PATIENCE", 0.01), mock.patch.object(
            os.path, "realpath", lambda path: answer.wait() and path
        ):
            told = accepted_edits.save(self.folder, (before, now))
        self.assertEqual(told, accepted_edits.NO_ANSWER.format("now"))
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
                UndoStore(self.folder, 100, 1000).add(bad.id, bad.path, b"bad", b"x", details)
                with self.assertLogs("GeminiCompanion", "WARNING") as logs:
                    self.assertEqual(self.names(), ["good"])
                self.assertNotIn("bad", "".join(logs.output))
                self.save(good)
                self.assertEqual(self.texts(), {b"old\r\n", b"new\n"})

    def test_where_the_list_cannot_be_read_now_that_is_no_empty_list(self) -> None:
        self.save(edit())
        refused = PermissionError("another program has it open")
        with mock.patch.object(UndoStore, "edits", side_effect=refused):
            with self.assertRaises(PermissionError):
                accepted_edits.load(self.folder)
        self.assertEqual(self.names(), ["a.py"])

    def test_one_that_is_a_week_old_or_of_a_moment_that_cannot_be_is_not_saved(self) -> None:
        week, now = accepted_edits.MAX_AGE * 24 * 60 * 60, time.time()
        never = map(float, ("1e18", "-1e18", "inf", "-inf", "nan"))
        self.save(*(edit(at=it) for it in (now - week - 60, *never)), edit("b", at=now - week + 60))
        self.assertEqual(self.names(), ["b"])

    def test_of_which_a_text_is_lost_it_does_not_come_back(self) -> None:
        for lost in (b"old\r\n", b"new\n"):
            self.save(edit())
            os.unlink(os.path.join(self.folder, undo_store.digest_of(lost)))
            self.assertEqual(self.names(), [])
            self.save()

    def test_after_a_week_nothing_of_it_is_in_the_folder_once_it_is_saved_again(self) -> None:
        self.save(edit())
        then = time.time() + 8 * 24 * 60 * 60
        with mock.patch.object(time, "time", lambda: then):
            found = accepted_edits.load(self.folder)
            self.save(*found)
        self.assertEqual((found, self.texts()), ([], set()))

    def test_a_clock_that_is_set_back_takes_none_away(self) -> None:
        self.save(edit())
        with mock.patch.object(time, "time", return_value=time.time() - 1e9):
            found = accepted_edits.load(self.folder)
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
            told = accepted_edits.save(self.folder, [edit()])
        self.assertIn("cannot be undone after a restart", told)
        self.assertEqual(self.names(), [])

    def test_one_of_an_earlier_run_is_of_the_windows_that_may_be_its_own(self) -> None:
        self.save(edit())
        (found,) = accepted_edits.load(self.folder)
        folders = [("/shop",), ("/",), ("/other", "/shop"), ("/other",), ()]
        self.assertEqual([found.is_of(1, it) for it in folders], [True, True, True, False, False])
        self.assertEqual([edit().is_of(it, ()) for it in (7, 1)], [True, False])

    def test_one_of_a_window_that_was_closed_is_of_the_windows_that_may_be_its_own(self) -> None:
        folders = [("/shop",), ("/other",)]
        self.assertEqual([edit().is_of(8, it, {0, 7}) for it in folders], [True, False])
        self.assertEqual([edit().is_of(8, it, {0}) for it in folders], [False, False])
