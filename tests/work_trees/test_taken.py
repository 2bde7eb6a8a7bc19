"""What the user has decided on of a work tree's changes, in its folder."""

from __future__ import annotations

import os
import shutil
import threading
import unittest
from contextlib import ExitStack
from dataclasses import replace
from unittest import mock

from GeminiCompanion.companion.base.file_lock import FileLock
from GeminiCompanion.companion.work_trees.taken import (
    LOCK,
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
        os.mkdir(self.folder)

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
        os.remove(os.path.join(self.folder, NAME))
        file.save(taken.with_decisions([TreeDecision("b")]))
        self.assertEqual(self.stored_paths(), ["a", "b"])

    def test_a_folder_that_was_removed_is_not_made_again(self) -> None:
        file, taken = TakenFile(), Taken(self.folder).with_decisions([TreeDecision("a")])
        file.save(taken)
        shutil.rmtree(self.folder)
        with self.assertRaises(FileNotFoundError):
            file.save(taken.with_decisions([TreeDecision("b")]))
        with self.assertRaises(FileNotFoundError):
            store_text(self.folder, b"text\n")
        self.assertFalse(os.path.exists(self.folder))

    def stored_paths(self) -> list[str]:
        return [decision.path for decision in load_taken(self.folder).decisions]

    def test_a_decision_that_was_not_written_whole_takes_no_other_one_with_it(self) -> None:
        taken = Taken(self.folder).with_decisions([TreeDecision("a"), TreeDecision("b")])
        save_taken(taken)
        path = os.path.join(self.folder, NAME)
        os.truncate(path, os.stat(path).st_size - 10)
        with self.assertLogs("GeminiCompanion"):
            self.assertEqual(self.stored_paths(), ["a"])
        file = TakenFile()
        with self.assertLogs("GeminiCompanion"):
            found = file.load(self.folder)
        for path in ("c", "d"):
            found = found.with_decisions([TreeDecision(path)])
            with ExitStack() as stack:
                if path == "c":
                    stack.enter_context(self.assertLogs("GeminiCompanion"))
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


class Editor:
    """What one editor knows of the decisions on a tree, and saves at once."""

    def __init__(self, folder: str) -> None:
        self.file = TakenFile()
        self.taken = self.file.load(folder)

    def decide(self, *decisions: TreeDecision) -> None:
        self.save(self.taken.with_decisions(decisions))

    def save(self, taken: Taken) -> None:
        self.taken = taken
        self.file.save(taken)


class TwoEditors(unittest.TestCase):
    """Two editors that have the same tree."""

    def setUp(self) -> None:
        self.folder = os.path.join(temp_folder(self), "data")
        os.mkdir(self.folder)
        self.known = TreeDecision("a", edit="1"), TreeDecision("b", is_whole=False)
        save_taken(Taken(self.folder, self.known))
        self.one, self.other = Editor(self.folder), Editor(self.folder)

    def stored(self) -> tuple[TreeDecision, ...]:
        return load_taken(self.folder).decisions

    def test_each_adds_its_decisions_to_those_of_the_other(self) -> None:
        c, d, e = (TreeDecision(path) for path in "cde")
        self.one.decide(c)
        self.other.decide(d)
        self.one.decide(e)
        self.assertEqual(self.stored(), (*self.known, c, d, e))

    def test_what_one_takes_back_is_gone_and_the_other_ones_decisions_stay(self) -> None:
        c, d = TreeDecision("c"), TreeDecision("d")
        self.other.decide(c)
        self.one.save(self.one.taken.without(self.known[:1]))
        self.other.decide(d)
        self.assertEqual(self.stored(), (self.known[1], c, d))
        self.one.save(self.one.taken.without(self.known[1:]))
        self.other.save(self.other.taken.without(self.known))
        self.assertEqual(self.stored(), (c, d))

    def test_what_one_has_taken_back_does_not_come_back_with_the_next_of_the_other(self) -> None:
        self.one.save(self.one.taken.without(self.known))
        c = TreeDecision("c")
        self.other.decide(c)
        self.assertEqual(self.stored(), (c,))

    def test_what_was_left_is_shown_again_beside_new_decisions_of_the_other(self) -> None:
        c = TreeDecision("c", is_whole=False)
        self.other.decide(c)
        self.one.save(self.one.taken.with_left_shown())
        shown = replace(self.known[1], is_shown_again=True)
        self.assertEqual(self.stored(), (self.known[0], shown, c))
        # The other one does not know that, and takes the decision back.
        self.other.save(self.other.taken.without(self.known[1:]))
        self.assertEqual(self.stored(), (self.known[0], c))

    def test_one_that_is_decided_again_after_it_was_shown_again_is_the_last(self) -> None:
        c = TreeDecision("c")
        self.other.decide(c)
        for _ in range(2):
            self.one.save(self.one.taken.with_left_shown())
            self.one.decide(self.known[1])
            self.assertEqual(load_taken(self.folder).decided["b"], self.known[1])
        self.assertIn(c, self.stored())

    def test_a_line_that_the_other_one_did_not_write_whole_takes_nothing_with_it(self) -> None:
        path = os.path.join(self.folder, NAME)
        with open(path, "ab") as file:
            file.write(b'{"path": "c", "mo')
        with self.assertLogs("GeminiCompanion"):
            self.one.decide(TreeDecision("d"))
        self.other.decide(TreeDecision("e"))
        self.assertEqual([each.path for each in self.stored()], ["a", "b", "d", "e"])

    def test_one_waits_while_the_other_writes(self) -> None:
        with FileLock(os.path.join(self.folder, LOCK)).hold_lock():
            thread = threading.Thread(target=self.one.decide, args=(TreeDecision("c"),))
            thread.start()
            # What it would write over otherwise.
            save_taken(Taken(self.folder, (*self.known, TreeDecision("d"))))
        thread.join(60)
        self.assertEqual([each.path for each in self.stored()], ["a", "b", "d", "c"])

    def test_of_many_that_both_save_at_once_none_is_lost(self) -> None:
        def decide_many(editor: Editor, name: str) -> None:
            for number in range(40):
                editor.decide(TreeDecision(f"{name}{number}"))
                if number % 4 == 3:
                    editor.save(editor.taken.without(editor.taken.decisions[-1:]))

        editors = (self.one, "one"), (self.other, "other")
        threads = [threading.Thread(target=decide_many, args=each) for each in editors]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        wanted = [f"{name}{n}" for _each, name in editors for n in range(40) if n % 4 != 3]
        paths = [each.path for each in self.stored()]
        self.assertEqual(sorted(paths), sorted(["a", "b", *wanted]))

    def test_one_that_could_not_be_saved_is_saved_with_the_next(self) -> None:
        c, d = TreeDecision("c"), TreeDecision("d")
        failing = mock.patch.object(FileLock, "acquire", side_effect=OSError("full"))
        with failing, self.assertRaises(OSError):
            self.one.decide(c)
        self.other.decide(TreeDecision("e"))
        self.one.decide(d)
        self.assertEqual([each.path for each in self.stored()], ["a", "b", "e", "c", "d"])
