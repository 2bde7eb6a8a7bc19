"""Where each of many growing texts begins."""

from __future__ import annotations

import unittest

from GeminiCompanion.companion.chat.lengths import Lengths
from hypothesis import given
from hypothesis import strategies as st

steps = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 1000)), max_size=60)


class Sums(unittest.TestCase):
    @given(steps)
    def test_each_begins_where_those_before_it_end(self, steps: list[tuple[int, int]]) -> None:
        lengths = Lengths()
        known: list[int] = []
        for number, length in steps:
            if number < len(known):
                known[number] = length
                lengths.set(number, length)
            else:
                known.append(length)
                lengths.append(length)
        self.assertEqual([lengths[index] for index in range(len(lengths))], known)
        begins = [lengths.before(place) for place in range(len(known))]
        self.assertEqual(begins, [sum(known[:index]) for index in range(len(known))])
        self.assertEqual(lengths.total, sum(known))
