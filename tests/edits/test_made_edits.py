"""The edits whose texts are kept: which are known, where they stand, and what makes way."""

from __future__ import annotations

import time
import unittest
from dataclasses import replace
from typing import Any
from unittest import mock

from GeminiCompanion.companion.base.file_content import Original
from GeminiCompanion.companion.edits import made_edits
from GeminiCompanion.companion.edits.edit import NOT_KEPT, TOO_LARGE, Edit, EditState
from GeminiCompanion.companion.edits.made_edits import MadeEdits

from ..support import patched


def edit(window_id: int, name: str, size: int = 0, **more: Any) -> Edit:
    before = Original("", exists=True, data=b"x" * size)
    return Edit(window_id, name, before, "", "", more.pop("at", time.time()), **more)


def written(made: Edit, turn: str = "turn") -> Edit:
    """The same, made without asking."""
    return replace(made, turn=turn, state=EditState.WRITTEN)


class Kept(unittest.TestCase):
    def setUp(self) -> None:
        self.windows: dict[int, tuple[str, ...]] = {1: ("/shop",), 2: ()}
        self.made = MadeEdits(lambda: self.windows)

    def limit(self, **limits: int) -> None:
        for name, limit in limits.items():
            patched(self, mock.patch.object(made_edits, name, limit))

    def add(self, *edits: Edit) -> None:
        for made in edits:
            self.made.add(made)

    def paths(self) -> list[str]:
        return [each.path for each in self.made.all]

    def lost(self) -> dict[str, str]:
        """Why edits cannot be undone, by their paths."""
        return {each.path: each.problem for each in self.made.all if each.problem}

    def test_each_window_has_its_last_thousand(self) -> None:
        self.limit(MAX_KNOWN=10)
        self.add(edit(2, "other"), *(edit(1, str(number)) for number in range(15)))
        self.assertEqual(self.paths(), ["other", *map(str, range(5, 15))])

    def test_a_window_that_is_opened_again_has_the_edits_of_the_one_that_was_closed(self) -> None:
        self.add(edit(9, "closed", folders=("/shop",)), edit(9, "/shop/in"), edit(9, "/other"))
        self.add(edit(1, "open"), edit(2, "another"))
        self.assertEqual(
            [each.path for each in self.made.of_window(1)], ["closed", "/shop/in", "open"]
        )
        self.windows[9] = ("/shop",)
        self.assertEqual([each.path for each in self.made.of_window(1)], ["open"])

    def test_an_edit_that_is_made_again_is_where_it_was(self) -> None:
        edits = [edit(1, name, at=float(at)) for at, name in enumerate("abc")]
        self.add(*edits)
        self.made.replace(edits[1], None)
        self.made.bring_back(edits[1])
        self.assertEqual(self.paths(), ["a", "b", "c"])

    def test_saved_edits_are_older_than_those_that_came_before_they_were_read(self) -> None:
        self.add(edit(1, "new"))
        self.made.restore([edit(1, "a"), edit(1, "b")])
        self.assertEqual(self.paths(), ["a", "b", "new"])

    def test_each_change_is_told(self) -> None:
        told: list[int] = []
        self.made.changes.subscribe(lambda: told.append(len(self.made.all)))
        one = edit(1, "a")
        self.add(one)
        self.made.replace(one, replace(one, state=EditState.WRITTEN))
        # It is not there any more.
        self.made.replace(one, None)
        self.made.restore([edit(1, "b")])
        self.assertEqual(told, [1, 1, 2])

    def test_the_oldest_make_way_for_large_ones(self) -> None:
        self.limit(MAX_BYTES=100)
        self.add(*(edit(1, name, 40) for name in "abc"))
        self.assertEqual((self.lost(), len(self.made.all)), ({"a": NOT_KEPT}, 3))

    def test_the_oldest_make_way_for_one_that_has_grown(self) -> None:
        self.limit(MAX_BYTES=100)
        self.add(*(edit(1, name, 30) for name in "abc"))
        self.made.replace(self.made.all[2], edit(1, "grown", 60))
        self.assertEqual(self.lost(), {"a": NOT_KEPT})
        self.made.replace(self.made.all[2], edit(1, "large", 101))
        self.assertEqual(self.lost(), {"a": NOT_KEPT, "large": TOO_LARGE})

    def test_one_that_is_too_large_to_be_remembered_says_so(self) -> None:
        self.limit(MAX_BYTES=100)
        self.add(edit(1, "small", 40), edit(1, "large", 101))
        self.assertEqual(self.lost(), {"large": TOO_LARGE})
        self.assertLess(self.made.all[1].size, 40)

    def test_edits_that_nobody_was_asked_about_push_out_no_accepted_ones_nor_the_reverse(
        self,
    ) -> None:
        self.limit(MAX_BYTES=100, MAX_UNASKED_BYTES=100)
        one, a, b = (edit(1, name, 90) for name in ("one", "a", "b"))
        for edits in ([one, written(a), written(b)], [written(one), a, b]):
            self.made = MadeEdits(lambda: self.windows)
            self.add(*edits)
            with self.subTest(edits[0].state):
                self.assertEqual(self.lost(), {"a": NOT_KEPT})

    def test_of_very_many_unasked_edits_the_oldest_are_known_by_name_and_the_log_has_that(
        self,
    ) -> None:
        self.limit(MAX_UNASKED=2, MAX_KNOWN=4)
        with self.assertLogs("GeminiCompanion", "INFO") as logs:
            self.add(*(written(edit(1, name)) for name in "abcde"))
        self.assertEqual(self.paths(), list("bcde"))
        self.assertEqual(self.lost(), dict.fromkeys("bc", NOT_KEPT))
        self.assertEqual(len(logs.output), 4)

    def test_there_is_nothing_to_look_at_in_one_whose_texts_are_not_kept(self) -> None:
        self.limit(MAX_UNASKED=1)
        self.add(written(edit(1, "a")), written(edit(1, "b")))
        self.assertEqual(
            [each.state for each in self.made.all], [EditState.KEPT, EditState.WRITTEN]
        )
