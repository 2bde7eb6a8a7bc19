"""The ledger of edits: what waits, what was written unasked, what is not in its file, what was
accepted."""

from __future__ import annotations

import unittest
from dataclasses import replace
from typing import Any

from GeminiCompanion.companion.base.file_content import Original
from GeminiCompanion.companion.edits.edit import Edit, EditState
from GeminiCompanion.companion.edits.ledger import EditCounts, EditLedger
from GeminiCompanion.companion.edits.turn_edits import ShownTurn


def edit(path: str, after: str = "new\n", **more: Any) -> Edit:
    before = Original("old\n", exists=True)
    return Edit(more.pop("window_id", 1), path, before, after, "Gemini CLI", 1.0, **more)


def written(path: str, turn: str, **more: Any) -> Edit:
    return edit(path, turn=turn, state=EditState.WRITTEN, **more)


class Ledger(unittest.TestCase):
    def setUp(self) -> None:
        self.waiting: list[Edit] = []
        self.windows: dict[int, tuple[str, ...]] = {1: (), 2: ()}
        self.ledger = EditLedger(
            lambda: self.windows,
            lambda id: [each for each in self.waiting if each.window_id == id],
        )

    def add(self, *edits: Edit) -> None:
        for made in edits:
            self.ledger.made.add(made)

    def test_each_edit_stands_in_one_list(self) -> None:
        self.waiting = [edit("asked", state=EditState.ASKED)]
        self.add(edit("away", "mine\n"), written("unasked", "t"), edit("accepted"))
        self.ledger.set_unwritten({1: [("away", "mine\n", True)]})
        found = [
            [each.path for each in edits]
            for edits in (
                self.ledger.asked_edits(),
                self.ledger.unasked_edits(1),
                self.ledger.unwritten_edits(1),
                self.ledger.accepted_edits(1),
            )
        ]
        self.assertEqual(found, [["asked"], ["unasked"], ["away"], ["accepted"]])
        self.assertEqual(self.ledger.counts(1), EditCounts(1, 1, 1))
        self.assertEqual(self.ledger.counts(2), EditCounts())

    def test_what_waits_is_that_of_all_windows_in_their_order(self) -> None:
        self.waiting = [edit("b", window_id=2), edit("a"), edit("c", window_id=2)]
        self.assertEqual([each.path for each in self.ledger.asked_edits()], ["a", "b", "c"])

    def test_of_unasked_edits_the_newest_turn_comes_first(self) -> None:
        self.add(written("a", "one"), written("b", "two"), written("c", "one"))
        self.add(edit("accepted"), written("other", "three", window_id=2))
        self.assertEqual([each.path for each in self.ledger.unasked_edits(1)], ["b", "a", "c"])

    def test_an_unasked_edit_that_was_looked_at_stays_listed_and_is_not_counted(self) -> None:
        made = written("a", "t")
        self.add(made)
        self.ledger.replace(made, replace(made, state=EditState.KEPT))
        self.assertEqual([each.state for each in self.ledger.unasked_edits(1)], [EditState.KEPT])
        self.assertEqual((self.ledger.counts(1).written, self.ledger.accepted_edits(1)), (0, []))

    def test_accepted_edits_are_listed_with_the_newest_first(self) -> None:
        self.add(edit("a"), edit("b"))
        self.assertEqual([each.path for each in self.ledger.accepted_edits(1)], ["b", "a"])

    def test_of_two_accepted_edits_that_are_alike_the_newer_one_is_not_in_its_file(self) -> None:
        self.add(edit("a", id="old"), edit("a", id="new"), edit("a", "another\n", id="other"))
        self.ledger.set_unwritten({1: [("a", "new\n", True)]})
        self.assertEqual(
            [(each.id, each.state) for each in self.ledger.unwritten_edits(1)],
            [("new", EditState.UNWRITTEN)],
        )
        self.assertEqual([each.id for each in self.ledger.accepted_edits(1)], ["other", "old"])

    def test_a_text_that_is_not_in_its_file_is_listed_though_its_edit_is_forgotten(self) -> None:
        self.ledger.set_unwritten({1: [("a", "mine\n", True)]})
        (found,) = self.ledger.unwritten_edits(1)
        self.assertEqual((found.path, found.after), ("a", "mine\n"))
        self.assertTrue(found.problem)

    def test_an_unasked_edit_with_such_a_text_is_another_one(self) -> None:
        self.add(written("a", "t"))
        self.ledger.set_unwritten({1: [("a", "new\n", True)]})
        self.assertNotEqual(
            self.ledger.unwritten_edits(1)[0].id, self.ledger.unasked_edits(1)[0].id
        )

    def test_what_was_written_and_changed_since_stays_among_what_was_accepted(self) -> None:
        self.add(edit("a", id="old"))
        for is_missing, expected in ((False, ["old"]), (True, [])):
            with self.subTest(is_missing):
                self.ledger.set_unwritten({1: [("a", "new\n", is_missing)]})
                self.assertEqual([each.id for each in self.ledger.accepted_edits(1)], expected)
                self.assertEqual([each.id for each in self.ledger.unwritten_edits(1)], ["old"])

    def test_a_text_whose_file_has_changed_since_is_listed_and_not_counted(self) -> None:
        self.ledger.set_unwritten({1: [("a", "mine\n", False)]})
        self.assertEqual(len(self.ledger.unwritten_edits(1)), 1)
        self.assertEqual(self.ledger.counts(1).unwritten, 0)

    def test_what_is_told_of_one_window_leaves_the_others_as_they_were(self) -> None:
        self.ledger.set_unwritten({1: [("a", "", True)], 2: [("b", "", True)]})
        self.ledger.set_unwritten({1: []})
        found = [[each.path for each in self.ledger.unwritten_edits(id)] for id in (1, 2)]
        self.assertEqual(found, [[], ["b"]])

    def test_an_edit_of_a_turn_is_found_and_replaced_as_one_that_is_kept_is(self) -> None:
        shown, kept = written("a", "chat/1/t"), written("b", "t")
        self.ledger.turns.show([shown])
        self.add(kept)
        self.assertEqual([each.path for each in self.ledger.of_window(1)], ["b", "a"])
        for made in (shown, kept):
            self.assertIs(self.ledger.find(made.id), made)
            self.ledger.replace(made, None)
            self.assertIsNone(self.ledger.find(made.id))
        self.assertEqual(self.ledger.counts(1), EditCounts())

    def test_the_texts_of_a_window_that_is_closed_are_not_held(self) -> None:
        self.ledger.set_unwritten({2: [("b", "new\n", True)]})
        self.assertEqual([each.path for each in self.ledger.unwritten_edits(2)], ["b"])
        del self.windows[2]
        self.ledger.set_unwritten({})
        self.windows[2] = ()
        self.assertEqual(self.ledger.unwritten_edits(2), [])

    def test_it_is_complete_once_what_was_there_before_a_restart_has_come_or_cannot(self) -> None:
        turns, shown = self.ledger.turns, ShownTurn("chat/a/1", "Gemini CLI", ("a",))
        self.assertFalse(self.ledger.is_complete)
        self.ledger.made.restore(())
        self.assertTrue(self.ledger.is_complete)
        turns.await_turns(1, [shown])
        self.assertEqual((self.ledger.is_complete, turns.shown_turns(1)), (False, [shown]))
        turns.show_awaited(1, shown, ())
        self.assertEqual((self.ledger.is_complete, turns.shown_turns(1)), (True, []))
