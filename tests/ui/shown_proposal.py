"""A proposal under review as a test on its own thread sees it, and what is to be true of it."""

from __future__ import annotations

from typing import Any, Collection, Sequence

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.base import digest as digest_module
from GeminiCompanion.companion.base.comparison import Comparison
from GeminiCompanion.companion.ui.review import large, marks, open_diffs
from GeminiCompanion.companion.ui.review.record import waiting_record

from . import reference
from .adapter import text_of
from .own_thread import until
from .reference import Quadruple, rows


def check(condition: Any, *what: object) -> None:
    if not condition:
        raise AssertionError(" ".join(map(str, what)))


def quadruples(comparison: Comparison) -> list[Quadruple]:
    return [
        (change.old_start, change.old_end, change.new_start, change.new_end)
        for change in comparison.changes
    ]


class ShownProposal:
    """One that waits for the user. Where it `is_whole`, `text` is what the user made of it, and
    `past` and `undone` are what undo and redo give, newest last, each with whether the edit was
    typed. Else the view has parts, and `dropped` are the numbers of the changes the user does not
    want."""

    def __init__(self, view: sublime.View, path: str, file: bytes | None, proposed: str) -> None:
        record = waiting_record(view)
        check(record is not None, "no proposal is shown")
        self.view, self.id, self.path = view, record.id, path
        # What the file holds, and what it held when it was last compared with; None for no file.
        self.file = self.seen_file = file
        self.proposed = self.text = proposed
        self.past: list[tuple[str, bool]] = []
        self.undone: list[tuple[str, bool]] = []
        self.dropped: set[int] = set()
        # What was left when all changes had been dropped.
        self.all_dropped = ""
        self.comments: list[str] = []
        self.has_left_side = open_diffs.partner_view(view).is_valid()
        self._proposed_rows = rows(proposed)
        self._read()
        is_small = max(len(self.old), len(proposed)) <= large.LARGE
        is_all_there = self.is_whole and self.is_compared
        check(is_all_there == is_small, "all of a large text is shown, or not all of a small one")

    def _read(self) -> None:
        """How it is shown, beside the file as it was seen."""
        record: Any = waiting_record(self.view)
        self.is_whole, self.is_compared = record.is_whole, record.is_compared
        self.old = reference.shown(self.seen_file)
        self._old_rows = rows(self.old)
        # The changes of the whole texts, where the view has parts of them.
        self._all: list[Quadruple] = []
        if self.is_compared and not self.is_whole:
            self._all = quadruples(
                plugin._host.running.diffs.reviews.review_of(self.view).digest.whole
            )
            check(*no_flaw(self._old_rows, self._proposed_rows, self._all))
        # While drops are shown, the view of parts can be edited for a moment.
        until(
            lambda: self.view.is_read_only() != self.is_whole,
            "a part cannot be edited, and the whole can",
        )

    def saw_file(self) -> None:
        """It is compared with the file as it is now; what is dropped is so still, as far as the
        file has other rows there."""
        places = [self._place(self._all[number]) for number in sorted(self.dropped)]
        self.seen_file = self.file
        self._read()
        self.dropped = {at for at, each in enumerate(self._all) if self._place(each) in places}

    def _place(self, change: Quadruple) -> object:
        """A change of parts, whatever stands above it in the file."""
        return self.old_rows(change), *change[2:]

    @property
    def is_edited(self) -> bool:
        return self.is_whole and self.text != self.proposed

    @property
    def leaves_tab(self) -> bool:
        """Whether a rejection leaves the user's text: it is not that of the file beside it, or they
        have typed that."""
        is_as_before = self.text in ("", self.all_dropped) and self.text == self.old
        return self.is_edited and not (self.has_left_side and is_as_before)

    @property
    def is_all_dropped(self) -> bool:
        """Of parts."""
        return bool(self.dropped) and len(self.dropped) == len(self._all)

    def accepted(self) -> str:
        """What the CLI is to be told; empty for what it proposed itself."""
        if self.is_whole:
            return self.text
        return self.without(self._all, self.dropped) if self.dropped else ""

    def changes(self) -> list[Quadruple]:
        """Those of the whole text; none where it is not compared."""
        if self.is_whole and self.is_compared:
            return quadruples(self.comparison())
        return self._all

    def without(self, changes: Sequence[Quadruple], numbers: Collection[int]) -> str:
        """The text with the file's rows in place of some of these changes."""
        new = rows(self.text) if self.is_whole else self._proposed_rows
        return reference.without(self._old_rows, new, changes, numbers)

    def old_rows(self, change: Quadruple) -> list[str]:
        """Those that it takes away of the file."""
        return self._old_rows[change[0] : change[1]]

    def edited(self, text: str, is_typed: bool) -> None:
        """The text was changed to this."""
        if text != self.text:
            self.past.append((self.text, is_typed))
            self.undone.clear()
            self.text = text
            if not is_typed and text == self.old:
                self.all_dropped = text

    def comparison(self) -> Comparison:
        """That of the text as it is."""
        found: list[Comparison] = []
        reviews = plugin._host.running.diffs.reviews

        async def find() -> None:
            comparison = await reviews.wait_for_comparison(self.view)
            if comparison is not None:
                found.append(comparison)

        sublime.set_timeout(lambda: plugin._host.running.stories.begin(find()))
        until(lambda: found, "a comparison")
        return found[0]

    def look(self) -> None:
        """Check all that can be seen of it."""
        if self.is_whole:
            check(text_of(self.view) == self.text, repr(text_of(self.view)), "!=", repr(self.text))
        if not self.is_compared:
            return
        comparison, left = self.comparison(), open_diffs.partner_view(self.view)
        new, changes = rows(text_of(self.view)), quadruples(comparison)
        if self.is_whole:
            old = self._old_rows
            check(*no_flaw(old, new, changes))
        else:
            old = list(comparison.old.rows)
            self._look_at_parts(comparison, old, new)
        check(not left.is_valid() or text_of(left) == "".join(old), "the left side is another")
        wanted = [each for at, each in enumerate(changes) if at not in self.dropped]
        look_at_marks(self.view, new, [each[2:] for each in wanted])
        if left.is_valid():
            look_at_marks(left, old, [each[:2] for each in wanted])

    def _look_at_parts(self, comparison: Comparison, old: list[str], new: list[str]) -> None:
        """Each change of the whole texts is there, with the rows that it has."""
        shown = quadruples(comparison)
        check(len(shown) == len(self._all), "other changes are shown than there are")
        check({comparison.keys[at] for at in self.dropped} == comparison.dropped, "other drops")
        for number, ((a, b, c, d), (e, f, g, h)) in enumerate(zip(shown, self._all)):
            theirs, ours = self._old_rows[e:f], self._proposed_rows[g:h]
            longest = max(map(len, [*theirs, *ours]))
            most = max(len(theirs), len(ours))
            if longest <= digest_module.MAX_ROW and most <= digest_module.MAX_CHANGE:
                check(old[a:b] == theirs, "the old rows of change", number)
                wanted = theirs if number in self.dropped else ours
                check(new[c:d] == wanted, "the new rows of change", number, new[c:d], wanted)


def no_flaw(
    old: Sequence[str], new: Sequence[str], changes: Sequence[Quadruple]
) -> tuple[bool, str, Sequence[Quadruple]]:
    """For `check`: these are the changes between the rows."""
    flaw = reference.flaw(old, new, changes)
    return not flaw, flaw, changes


def look_at_marks(
    view: sublime.View, its_rows: Sequence[str], ranges: Sequence[tuple[int, int]]
) -> None:
    """The rows of these ranges are marked, and no others."""
    starts = [0]
    for row in its_rows:
        starts.append(starts[-1] + len(row))
    wanted = [(starts[start], starts[end]) for start, end in ranges if start < end]

    def found() -> list[tuple[int, int]]:
        return [(region.begin(), region.end()) for region in view.get_regions(marks.LINES)]

    until(lambda: found() == wanted, f"these are marked: {wanted}; there are", found)
