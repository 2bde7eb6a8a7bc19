"""A proposal as lines for a terminal: its head, and both texts around the change at the caret."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, List, Optional

from .proposals import Proposal
from .sides import NARROW, Picture, Sides, cut_text, draw_sides, draw_titles, head_columns


class Reviewing:
    """What is shown of the diff before the user. `scrolled` counts rows from the change at the
    caret."""

    def __init__(self) -> None:
        self.sides = Sides(None, "")
        self.scrolled = 0
        self._compared: Any = None
        self._view: Optional[int] = None

    def scroll(self, rows: int) -> None:
        self.scrolled += rows

    def return_to_caret(self) -> None:
        self.scrolled = 0

    def lines(
        self, proposal: Proposal, others: int, width: int, room: int, colour: bool
    ) -> List[str]:
        """The proposal in at most `room` lines; `others` are the diffs that wait beside it."""
        if proposal.view != self._view:
            self._view = proposal.view
            self.return_to_caret()
        if self._compared != (proposal.old, proposal.new):
            self._compared = (proposal.old, proposal.new)
            self.sides = Sides(proposal.old, proposal.new)
        more = ["(%d more waiting: w)" % others] if others else []
        said = ["Proposed: %s" % proposal.path, *more, *proposal.said]
        above = draw_titles(proposal.titles, width) if proposal.titles[0] else ""
        lines = [cut_text(line, width) for line in said] + [above]
        height = max(1, room - len(lines))
        columns = head_columns(proposal.numbers)
        how = Picture(
            self._top_row(proposal, height, width),
            height,
            width,
            self._left_shift(proposal, (width if width < NARROW else width // 2) - columns),
            colour,
            proposal.old_marks,
            proposal.new_marks,
            proposal.beside,
            proposal.numbers,
            columns,
        )
        return lines + draw_sides(self.sides, how)

    def _top_row(self, proposal: Proposal, height: int, width: int) -> int:
        """The first row: the change at the caret is in the middle, or begins near the top where it
        is too large."""
        first, last = self.sides.place(proposal.caret)
        # In one column both texts of a change take lines.
        lines = (last - first) * (2 if width < NARROW else 1)
        top = first - max(1, (height - lines) // 2)
        lowest = max(0, len(self.sides.rows) - height)
        wanted = max(0, min(top, lowest))
        # What goes beyond the ends must not have to be scrolled back.
        self.scrolled = max(-wanted, min(self.scrolled, lowest - wanted))
        return wanted + self.scrolled

    def _left_shift(self, proposal: Proposal, width: int) -> int:
        """How many columns are left out on the left, so that what changed within a long line is
        seen."""
        at = self.sides.hunk_at(proposal.caret)
        if at < 0:
            return 0
        hunk, starts = self.sides.hunks[at], self.sides.new_starts
        begin, end = starts[hunk.first], starts[hunk.last]
        marks = [mark[0] for mark in proposal.new_marks if begin <= mark[0] < end]
        columns = [mark - starts[bisect_right(starts, mark) - 1] for mark in marks]
        column = min(columns, default=0)
        return column - width // 3 if column >= width - 8 else 0
