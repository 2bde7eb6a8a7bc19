"""What the user has decided on of a work tree's changes, in its folder."""

from __future__ import annotations

import os
import shutil
import unittest

from GeminiCompanion.companion.work_trees.taken import (
    MOST,
    NAME,
    Taken,
    TakenFile,
    TreeDecision,
    load_taken,
    save_taken,
    store_text,
)

from ..support import temp_folder


class Stored(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = os.path.join(temp_folder(self), "data")

    def test_without_a_file_nothing_is_decided(self) -> None:
        self.assertEqual(load_taken(self.folder), Taken(self.folder))

    def test_what_is_saved_comes_back(self) -> None:
        digest = store_text(self.folder, b"text\n")
        decision = TreeDecision("a/\udcff.txt", "100644", digest, "edit1", False, "100755", digest)
        taken = Taken(self.folder).with_decisions([decision, TreeDecision("gone.txt")])
        save_taken(taken)
        found = load_taken(self.folder)
        self.assertEqual(found, taken)
        self.assertEqual(found.read_text(digest), b"text\n")

    def test_the_last_decision_on_a_file_counts_and_can_be_taken_back(self) -> None:
        one, two = TreeDecision("a", "100644", edit="1"), TreeDecision("a", "100755", edit="2")
        taken = Taken(self.folder).with_decisions([one]).with_decisions([two])
        self.assertEqual(taken.decided["a"], two)
        self.assertEqual(taken.without(taken.of_edit("2")).decided["a"], one)
        self.assertEqual(taken.of_edit(""), ())

    def test_what_was_left_can_be_shown_again_and_its_edit_undone(self) -> None:
        part = TreeDecision("a", "100644", edit="1", is_whole=False, unsaved="0" * 64)
        more = TreeDecision("a", "100644", edit="2")
        whole = TreeDecision("b", "100644", edit="3")
        taken = Taken(self.folder).with_decisions([part, more, whole])
        shown = taken.with_left_shown()
        self.assertEqual((taken.left, shown.left), ({"a"}, frozenset()))
        self.assertEqual(shown.decided, {"b": whole})
        save_taken(shown)
        self.assertEqual(load_taken(self.folder), shown)
        self.assertEqual([each.unsaved for each in shown.of_edit("1")], ["0" * 64])
        for undone in (shown.of_edit("1"), [part]):
            self.assertEqual(shown.without(undone).of_edit("1"), ())
        again = shown.with_decisions([more])
        self.assertEqual((again.decided["a"], again.left), (more, frozenset()))

    def test_of_one_file_only_the_last_decisions_are_known(self) -> None:
        taken = Taken(self.folder)
        for number in range(MOST + 5):
            taken = taken.with_decisions([TreeDecision("a", edit=str(number))])
        self.assertEqual(len(taken.decisions), MOST)
        self.assertEqual(taken.decided["a"].edit, str(MOST + 4))

    def test_a_damaged_list_is_put_aside(self) -> None:
        os.makedirs(self.folder)
        for data in (b"{", b'["a"]', b'[{"path": 1}]', b"[" * 100_000, b"7", b"7\n", b"{}\n{}\n"):
            with open(os.path.join(self.folder, NAME), "wb") as file:
                file.write(data)
            with self.assertLogs("GeminiCompanion"):
                self.assertEqual(load_taken(self.folder).decisions, ())
            self.assertIn(NAME + ".damaged", os.listdir(self.folder))

    def test_decisions_that_come_one_after_the_other_are_appended(self) -> None:
        file, taken, path = TakenFile(), Taken(self.folder), os.path.join(self.folder, NAME)
        found = set()
        for number in range(5):
            taken = taken.with_decisions([TreeDecision(str(number))])
            file.save(taken)
            found.add(os.stat(path).st_ino)
            self.assertEqual(load_taken(self.folder), taken)
        self.assertEqual(len(found), 1)
        for other in (taken.without(taken.decisions[:1]), Taken(self.folder), taken):
            file.save(other)
            self.assertEqual(load_taken(self.folder), other)

    def test_a_list_that_was_removed_is_written_whole_again(self) -> None:
        file, taken = TakenFile(), Taken(self.folder).with_decisions([TreeDecision("a")])
        file.save(taken)
        shutil.rmtree(self.folder)
        file.save(taken.with_decisions([TreeDecision("b")]))
        found = load_taken(self.folder).decisions
        self.assertEqual([decision.path for decision in found], ["a", "b"])

    def test_a_decision_that_was_not_written_whole_takes_no_other_one_with_it(self) -> None:
        taken = Taken(self.folder).with_decisions([TreeDecision("a"), TreeDecision("b")])
        save_taken(taken)
        path = os.path.join(self.folder, NAME)
        os.truncate(path, os.stat(path).st_size - 10)
        with self.assertLogs("GeminiCompanion"):
            found = load_taken(self.folder)
        self.assertEqual([decision.path for decision in found.decisions], ["a"])
        file = TakenFile()
        for path in ("c", "d"):
            found = found.with_decisions([TreeDecision(path)])
            file.save(found)
        self.assertEqual(load_taken(self.folder), found)

    def test_what_could_not_be_read_is_not_written_over(self) -> None:
        taken = Taken(self.folder).with_decisions([TreeDecision("a")])
        save_taken(taken)
        unknown = Taken(self.folder, is_known=False).with_decisions([TreeDecision("b")])
        with self.assertRaisesRegex(OSError, "cannot be read"):
            save_taken(unknown)
        self.assertEqual(load_taken(self.folder), taken)

    def test_a_digest_that_is_none_cannot_name_a_file_elsewhere(self) -> None:
        save_taken(Taken(self.folder, (TreeDecision("a", "100644", "../" * 20 + "b" * 4),)))
        with self.assertLogs("GeminiCompanion"):
            self.assertEqual(load_taken(self.folder).decisions, ())

    def test_texts_that_nobody_needs_are_removed(self) -> None:
        kept, gone = store_text(self.folder, b"1"), store_text(self.folder, b"2")
        save_taken(Taken(self.folder, (TreeDecision("a", "100644", kept),)))
        for digest in (kept, gone):
            os.utime(os.path.join(self.folder, "taken", digest), (1, 1))
        taken = load_taken(self.folder)
        self.assertEqual(taken.read_text(kept), b"1")
        self.assertIsNone(taken.read_text(gone))

    def test_a_damaged_text_is_none(self) -> None:
        digest = store_text(self.folder, b"1")
        with open(os.path.join(self.folder, "taken", digest), "wb") as file:
            file.write(b"2")
        with self.assertLogs("GeminiCompanion"):
            self.assertIsNone(Taken(self.folder).read_text(digest))
