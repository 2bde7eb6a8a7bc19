"""The lengths of a growing row of texts, and where each of them begins, in few steps however many
there are. Source: Peter Fenwick, "A New Data Structure for Cumulative Frequency Tables", 1994."""

from __future__ import annotations


class Lengths:
    def __init__(self) -> None:
        self._lengths: list[int] = []
        # The entry at n has the sum of the last lengths up to the n-th one, as many as the lowest
        # bit of n says.
        self._sums = [0]

    def __len__(self) -> int:
        return len(self._lengths)

    def __getitem__(self, number: int) -> int:
        return self._lengths[number]

    @property
    def total(self) -> int:
        return self.before(len(self._lengths))

    def append(self, length: int) -> None:
        self._lengths.append(length)
        entry = len(self._lengths)
        first, at, sum_ = entry - (entry & -entry), entry - 1, length
        while at > first:
            sum_ += self._sums[at]
            at -= at & -at
        self._sums.append(sum_)

    def set(self, number: int, length: int) -> None:
        grown = length - self._lengths[number]
        self._lengths[number] = length
        entry = number + 1
        while entry < len(self._sums):
            self._sums[entry] += grown
            entry += entry & -entry

    def before(self, number: int) -> int:
        """The sum of all lengths before this one."""
        found = 0
        while number:
            found += self._sums[number]
            number -= number & -number
        return found
