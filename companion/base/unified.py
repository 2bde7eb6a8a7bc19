"""A comparison as text, in the form of `diff -u`. Knows no view."""

from __future__ import annotations

from typing import Iterator, Sequence

from .changes import Change
from .comparison import Comparison, Side

# Equal rows around a change.
CONTEXT = 3
NO_LINE_END = "\\ No newline at end of file\n"


def unified_text(comparison: Comparison, old_name: str, new_name: str) -> str:
    """Empty if nothing changes. Dropped changes are left out."""
    return "".join(unified_rows(comparison, old_name, new_name))


def unified_rows(comparison: Comparison, old_name: str, new_name: str) -> Iterator[str]:
    """The rows of the text that `unified_text` gives."""
    if comparison.in_force:
        yield f"--- {old_name}\n"
        yield f"+++ {new_name}\n"
    for group in group_changes(comparison.in_force):
        yield from _hunk_rows(comparison, group)


def group_changes(changes: Sequence[Change]) -> Iterator[list[Change]]:
    """Changes whose contexts meet are in one group."""
    group: list[Change] = []
    for change in changes:
        if group and change.old_start - group[-1].old_end > 2 * CONTEXT:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _hunk_rows(comparison: Comparison, changes: Sequence[Change]) -> Iterator[str]:
    old, new = comparison.old.rows, comparison.new.rows
    first, last = changes[0], changes[-1]
    before = min(CONTEXT, first.old_start, first.new_start)
    after = min(CONTEXT, len(old) - last.old_end, len(new) - last.new_end)
    removed = _range_text(comparison.old, first.old_start - before, last.old_end + after)
    added = _range_text(comparison.new, first.new_start - before, last.new_end + after)
    yield f"@@ -{removed} +{added} @@\n"
    at = first.old_start - before
    for change in changes:
        yield from _marked_rows(" ", old[at : change.old_start])
        yield from _marked_rows("-", old[change.old_start : change.old_end])
        yield from _marked_rows("+", new[change.new_start : change.new_end])
        at = change.old_end
    yield from _marked_rows(" ", old[at : at + after])


def _range_text(side: Side, start: int, end: int) -> str:
    """The form of a range: the first row, from 1, and the number of rows; without rows, the row
    above."""
    number, count = side.number(start), end - start
    return f"{number + 1 if count else number},{count}"


def _marked_rows(mark: str, rows: Sequence[str]) -> Iterator[str]:
    for row in rows:
        yield mark + row if row.endswith("\n") else f"{mark}{row}\n{NO_LINE_END}"
