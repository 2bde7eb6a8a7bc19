"""What was typed into a sheet of changes: the edits of the files' new texts, and the sheet that
there is to be. Knows no view.

Only added rows can be typed in. Whatever else was changed is put back by whoever draws the sheet.
"""

from __future__ import annotations

from typing import NamedTuple, Sequence, Tuple

from .change_sheet import Section, Sheet
from .changes import Change, changes_between, common_end, common_start, rows_of


class TypedEdit(NamedTuple):
    """One edit of the new text of the file with the id: the code points from `start` on, which are
    `old`, become `new`."""

    file: str
    start: int
    old: str
    new: str


class Typed(NamedTuple):
    """`edits` are to be made one after the other. If `sheet` has another text than the one that was
    typed, the rest of that was not in added rows."""

    edits: tuple[TypedEdit, ...]
    sheet: Sheet


# A run of a sheet: the number of its section, and its own number there.
Owner = Tuple[int, int]


class RowEdit(NamedTuple):
    """The rows from `start` to before `end` of the sheet became these."""

    start: int
    end: int
    rows: Sequence[str]


def typed_edits(sheet: Sheet, text: str, caret: int | None = None) -> Typed:
    """The text of the sheet has become this one. `caret` is where the user is in it, if they are at
    one place only: among equal rows it says which ones they have changed."""
    if sheet.text == text:
        return Typed((), sheet)
    rows = _rows_by_run(sheet, _row_edits(sheet, text, caret))
    edits: list[TypedEdit] = []
    # From below, so that the places above stay the same.
    for (section_number, number), new_rows in sorted(rows.items(), reverse=True):
        section = sheet.sections[section_number]
        now = section.with_rows(number, new_rows)
        edits += _text_edits(section, now, number)
        sheet = sheet.with_section(section_number, now)
    return Typed(tuple(edits), sheet)


# ----- rows


def _row_edits(sheet: Sheet, text: str, caret: int | None) -> list[RowEdit]:
    start, after = equal_ends(sheet.text, text, caret)
    end = len(sheet.text) - after
    first = sheet.row_at(start)
    last = max(sheet.row_at(end), first)
    last += sheet.point_at(last) < end
    found = ""
    while True:
        found = text[sheet.point_at(first) : len(text) - len(sheet.text) + sheet.point_at(last)]
        # Only whole rows can be compared.
        if last == sheet.rows[-1] or (sheet.point_at(last) >= end and found[-1:] in ("", "\n")):
            break
        last += 1
    new = rows_of(found)
    return [
        RowEdit(first + part.old_start, first + part.old_end, new[part.new_start : part.new_end])
        for change in changes_between(sheet.rows_between(first, last), new)
        for part in _row_by_row(change)
    ]


def _row_by_row(change: Change) -> list[Change]:
    """Rows that became as many others did so each for itself: the user may be at several places."""
    old, new = change.old_start, change.new_start
    if change.added != change.removed:
        return [change]
    return [
        Change(old + row, old + row + 1, new + row, new + row + 1) for row in range(change.added)
    ]


def equal_ends(old: str, new: str, caret: int | None = None) -> tuple[int, int]:
    """How many code points are equal at the beginning, and how many of the others at the end; with
    a caret, all behind it if they are equal."""
    start, shorter = common_start(old, new), min(len(old), len(new))
    after = len(new) - caret if caret is not None else -1
    if 0 <= after <= shorter and old.endswith(new[len(new) - after :]):
        return min(start, shorter - after), after
    return start, common_end(old, new, shorter - start)


# ----- runs


def _rows_by_run(sheet: Sheet, found: Sequence[RowEdit]) -> dict[Owner, list[str]]:
    """The rows of each run in which there were edits. Edits elsewhere are left out."""
    rows: dict[Owner, list[str]] = {}
    for number in reversed(range(len(found))):
        above = found[number - 1].end if number else 0
        below = found[number + 1].start if number + 1 < len(found) else sheet.rows[-1]
        owner, edit = _run_of_edit(sheet, found[number], above, below)
        if owner is None:
            continue
        section = sheet.sections[owner[0]]
        run = section.runs[owner[1]]
        start = sheet.rows[owner[0]] + run.start
        now = rows.setdefault(owner, list(section.rows[run.start : run.end]))
        now[edit.start - start : edit.end - start] = edit.rows
    return rows


def _run_of_edit(
    sheet: Sheet, edit: RowEdit, above: int, below: int
) -> tuple[Owner | None, RowEdit]:
    """The run of the edit. Rows that came or went beside equal ones may have done so a little
    higher or lower, between the rows `above` and `below`."""
    owner = _run_of(sheet, edit)
    if owner is not None or (edit.rows and edit.start < edit.end):
        return owner, edit
    for step, limit in ((-1, above), (1, below)):
        moved: RowEdit | None = edit
        while moved is not None and owner is None:
            moved = _move_edit(sheet, moved, step, limit)
            owner = _run_of(sheet, moved) if moved is not None else None
        if owner is not None and moved is not None:
            return owner, moved
    return None, edit


def _move_edit(sheet: Sheet, edit: RowEdit, step: int, limit: int) -> RowEdit | None:
    """The edit one row higher or lower, if that makes the same text; else None."""
    start, end, rows = edit
    if (start if step < 0 else end) == limit:
        return None
    over = sheet.row_text(start - 1 if step < 0 else end)
    moved = list(rows) or [sheet.row_text(end - 1 if step < 0 else start)]
    if moved[-1 if step < 0 else 0] != over:
        return None
    if rows:
        rows = [over, *rows[:-1]] if step < 0 else [*rows[1:], over]
    return RowEdit(start + step, end + step, rows)


def _run_of(sheet: Sheet, edit: RowEdit) -> Owner | None:
    number = sheet.section_at(edit.start)
    section, first = sheet.sections[number], sheet.rows[number]
    if edit.end - first > len(section.rows):
        return None
    run = section.open_run(edit.start - first, edit.end - first)
    return (number, run) if run is not None else None


def _text_edits(section: Section, now: Section, number: int) -> list[TypedEdit]:
    """What has become of the new text, as little as possible."""
    run = section.runs[number]
    old, new = section.text_of(run), now.text_of(now.runs[number])
    start, after = equal_ends(old, new)
    if old == new:
        return []
    old, new = old[start : len(old) - after], new[start : len(new) - after]
    return [TypedEdit(section.file.id, run.point + start, old, new)]
