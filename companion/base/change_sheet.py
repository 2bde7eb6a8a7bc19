"""Many files' changes below each other, as one text, with the place of each row in its file. Knows
no view.

Each file is a section: a heading, and the changed rows with some rows around them. Rows are
numbered from 0, ranges end before their second number, and points count code points. Sections are
frozen and know nothing of the others, so one file can change without the rest being made again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, groupby, islice
from operator import is_
from typing import Any, Iterable, Iterator, NamedTuple, Sequence, Tuple, overload

from .changes import Change, changes_between
from .comparison import Comparison, Region
from .unified import CONTEXT, NO_LINE_END, group_changes

# The kinds of rows. Only added rows can be typed in.
HEADING, NOTE, PLACE, EQUAL, REMOVED, ADDED, NO_END, BLANK = (
    "heading", "note", "place", "equal", "removed", "added", "no end", "blank",
)  # fmt: skip
# What a heading and a row that names a line look like; the syntax of the sheet knows them. They are
# ASCII, for other letters would make the texts of all files take twice the memory.
HEAD_ROW, PLACE_ROW = "## {}  {}\n", "@@ line {} @@\n"
NOT_COMPARED = "not compared"
# The most code points of the text of one update, so that drawing it takes a moment only.
SLICE = 256 * 1024


class Variant(NamedTuple):
    """What `makers` made of the file with the title `of`; others may have made something else of
    it. Each has an id, and words for people."""

    of: str
    makers: tuple[tuple[str, str], ...]

    @property
    def ids(self) -> list[str]:
        return [id for id, _words in self.makers]

    @property
    def words(self) -> str:
        return " and ".join([words for _id, words in self.makers])


@dataclass(frozen=True)
class FileChanges:
    """What is to be shown of a file. `id` is unique in the sheet, `title` is one line, `state` is
    shown behind the counts. Without a comparison there is only the heading and the note. `made_of`
    names what the comparison was made of: as long as it is equal, nothing has changed."""

    id: str
    title: str
    comparison: Comparison | None
    note: str = ""
    state: str = ""
    can_type: bool = True
    # Whether the file has the new text already, and whether the user has dropped all changes of a
    # proposal.
    is_made: bool = False
    is_dropped: bool = False
    # Whose changes they are, if others may have made something else of the file.
    variant: Variant | None = None
    made_of: object = None
    # What of that must still be so when the user decides on what they see here.
    seen: object = None

    def is_other(self, file: FileChanges) -> bool:
        """Whether that is another variant of this one's file."""
        mine, its = self.variant, file.variant
        return mine is not None and its is not None and mine.of == its.of and self.id != file.id

    @property
    def counts(self) -> tuple[int, int]:
        """The numbers of added and of removed rows."""
        return self.comparison.counts if self.comparison is not None else (0, 0)


class Run(NamedTuple):
    """The rows `start` to `end` of a section, all of one kind. `row` is the number of the first one
    in the old text for removed rows, else in the new one. `change` is the number of the change they
    belong to. `point` is where added rows begin in the new text; they are open if the last one has
    no line end there."""

    kind: str
    start: int
    end: int
    row: int = 0
    change: int | None = None
    point: int = 0
    is_open: bool = False


class Runs(Sequence[Run]):
    """The runs of a section, each made when it is asked for. The garbage collector would walk
    through all of them, in any thread; plain tuples of numbers it leaves out."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._fields: tuple[tuple[Any, ...], ...] = tuple(map(tuple, runs))

    def __len__(self) -> int:
        return len(self._fields)

    def __iter__(self) -> Iterator[Run]:
        return map(Run._make, self._fields)

    @overload
    def __getitem__(self, at: int) -> Run: ...
    @overload
    def __getitem__(self, at: slice) -> list[Run]: ...
    def __getitem__(self, at: int | slice) -> Run | list[Run]:
        if isinstance(at, slice):
            return [Run._make(fields) for fields in self._fields[at]]
        return Run._make(self._fields[at])


@dataclass(frozen=True)
class Section:
    """The rows of one file, each with its line end. In a section in which something was typed the
    characters that differ within rows are not known."""

    file: FileChanges
    rows: tuple[str, ...]
    runs: Runs
    is_typed: bool = False

    @cached_property
    def text(self) -> str:
        return "".join(self.rows)

    @cached_property
    def starts(self) -> Sequence[int]:
        """The point of each row and of the end."""
        return list(accumulate(map(len, self.rows), initial=0))

    @cached_property
    def characters(self) -> dict[str, list[Region]]:
        """The regions that differ within altered rows: of the removed rows, and of the added
        ones."""
        found: dict[str, list[Region]] = {REMOVED: [], ADDED: []}
        comparison = self.file.comparison if not self.is_typed else None
        for run in self.runs if comparison is not None else ():
            if run.kind in found and comparison is not None:
                side = comparison.old if run.kind == REMOVED else comparison.new
                shift = self.starts[run.start] - side.starts[run.row]
                end = side.starts[run.row + run.end - run.start]
                at = bisect_left(side.characters, (side.starts[run.row], -1))
                for start, stop in islice(side.characters, at, None):
                    if start >= end:
                        break
                    found[run.kind].append((start + shift, stop + shift))
        return found

    def run_at(self, row: int) -> Run:
        """The run that has the row."""
        return self.runs[self._run_index(row)]

    def open_run(self, start: int, end: int) -> int | None:
        """The number of the added run in which these rows are, or at an end of which no rows are;
        None if there is none."""
        if not self.file.can_type:
            return None
        at = self._run_index(start)
        for number in (at, at - 1, at - 2):
            run = self.runs[number] if number >= 0 else None
            if run is not None and run.kind == ADDED and run.start <= start and end <= run.end:
                return number
        return None

    def text_of(self, run: Run) -> str:
        """The part of the new text that the added rows are."""
        return _text_of(self.rows[run.start : run.end], run)

    def with_rows(self, number: int, rows: Sequence[str]) -> Section:
        """The section with other rows in this added run: what is below moves, in the new text,
        too."""
        run = self.runs[number]
        more = len(rows) - (run.end - run.start)
        all_rows = (*self.rows[: run.start], *rows, *self.rows[run.end :])
        now = run._replace(end=run.end + more)
        runs = [*self.runs[:number], now]
        shift = len(_text_of(rows, run)) - len(self.text_of(run))
        for each in self.runs[number + 1 :]:
            row = each.row if each.kind == REMOVED else each.row + more
            start, end, point = each.start + more, each.end + more, each.point + shift
            runs.append(each._replace(start=start, end=end, row=row, point=point))
        return replace(self, rows=all_rows, runs=Runs(runs), is_typed=True)

    def _run_index(self, row: int) -> int:
        """The number of the run that has the row; where some have no rows, the run below them."""
        return max(bisect_right(self._run_starts, row) - 1, 0)

    @cached_property
    def _run_starts(self) -> Sequence[int]:
        return [run.start for run in self.runs]


class RowPlace(NamedTuple):
    """Where a row of the sheet is: the number of its section, its run, and its own number in the
    text that the run says."""

    section: int
    run: Run
    row: int


class ChangeStart(NamedTuple):
    """The first row of a change: the number of its section, and its own number there. The `caret`
    goes to its first added row, where something can be typed, or else to the first one."""

    section: int
    change: int
    row: int
    caret: int


# A region of a text, by its ends, and what comes in its place.
Part = Tuple[int, int, str]


class Update(NamedTuple):
    """A step from one sheet to another: the regions of the old text, in order, with their new
    texts; and the sheet afterwards."""

    parts: tuple[Part, ...]
    sheet: Sheet


@dataclass(frozen=True)
class Sheet:
    """All sections below each other; the first one is the head of the sheet."""

    sections: tuple[Section, ...]

    @cached_property
    def text(self) -> str:
        return "".join([section.text for section in self.sections])

    @cached_property
    def rows(self) -> Sequence[int]:
        """The row at which each section begins, and the number of all."""
        return list(accumulate((len(section.rows) for section in self.sections), initial=0))

    @cached_property
    def points(self) -> Sequence[int]:
        """The code point at which each section begins, and the number of all."""
        return list(accumulate((section.starts[-1] for section in self.sections), initial=0))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each section, by the id of its file."""
        return {section.file.id: number for number, section in enumerate(self.sections)}

    @cached_property
    def variant_counts(self) -> Counter[str]:
        """How many variants there are of the files with these titles."""
        found = (section.file.variant for section in self.sections)
        return Counter(variant.of for variant in found if variant is not None)

    def has_others(self, file: FileChanges) -> bool:
        """Whether there are other variants of the file."""
        return file.variant is not None and self.variant_counts[file.variant.of] > 1

    @cached_property
    def change_starts(self) -> Sequence[ChangeStart]:
        """Where each change begins, in order."""
        found: list[ChangeStart] = []
        for number, section in enumerate(self.sections):
            last, first = None, self.rows[number]
            for run in section.runs:
                change = run.change if run.kind != PLACE and run.start < run.end else None
                row = first + run.start
                if change is not None and change != last:
                    found.append(ChangeStart(number, change, row, row))
                    last = change
                elif change is not None and run.kind == ADDED:
                    found[-1] = found[-1]._replace(caret=row)
        return found

    def change_of(self, id: str, key: str) -> ChangeStart | None:
        """Where the change of the file begins; None if the sheet does not show it."""
        for start in self.change_starts:
            file = self.sections[start.section].file
            if file.id == id and file.comparison and file.comparison.keys[start.change] == key:
                return start
        return None

    def place_of(self, row: int) -> RowPlace:
        """The place of the row; behind the last row, that of the last one."""
        number = bisect_right(self.rows, min(max(row, 0), self.rows[-1] - 1)) - 1
        section, within = self.sections[number], row - self.rows[number]
        run = section.run_at(min(max(within, 0), len(section.rows) - 1))
        return RowPlace(number, run, run.row + max(within, 0) - run.start)

    def section_at(self, row: int) -> int:
        """The number of the section that has the row."""
        return bisect_right(self.rows, min(row, self.rows[-1] - 1)) - 1

    def row_at(self, point: int) -> int:
        """The row that has the point; of the end of the text, the row behind the last one."""
        if point >= self.points[-1]:
            return self.rows[-1]
        number = bisect_right(self.points, point) - 1
        starts = self.sections[number].starts
        return self.rows[number] + bisect_right(starts, point - self.points[number]) - 1

    def point_at(self, row: int) -> int:
        """Where the row begins."""
        if row >= self.rows[-1]:
            return self.points[-1]
        number = self.section_at(row)
        return self.points[number] + self.sections[number].starts[row - self.rows[number]]

    def rows_between(self, start: int, end: int) -> list[str]:
        """The texts of these rows."""
        found: list[str] = []
        while start < end:
            number = self.section_at(start)
            first = self.rows[number]
            found += self.sections[number].rows[start - first : end - first]
            start = self.rows[number + 1]
        return found

    def row_text(self, row: int) -> str:
        number = self.section_at(row)
        return self.sections[number].rows[row - self.rows[number]]

    def regions(self, kind: str, start: int = 0, end: int | None = None) -> Iterator[Region]:
        """The regions of all runs of the kind, those that have rows; or of these sections only."""
        for at, section in zip(self.points[start:end], self.sections[start:end]):
            for run in section.runs:
                if run.kind == kind and run.start < run.end:
                    yield at + section.starts[run.start], at + section.starts[run.end]

    def characters(self, kind: str, start: int = 0, end: int | None = None) -> Iterator[Region]:
        """The regions of these sections that differ within altered rows."""
        for at, section in zip(self.points[start:end], self.sections[start:end]):
            for first, last in section.characters[kind]:
                yield at + first, at + last

    def with_section(self, number: int, section: Section) -> Sheet:
        """The sheet with another section in this place."""
        return Sheet((*self.sections[:number], section, *self.sections[number + 1 :]))

    def update_toward(self, wanted: Sequence[Section], limit: int = SLICE) -> Update | None:
        """The first step from this sheet to one with the wanted sections, which draws at most
        `limit` code points or one section; None if nothing is left to do."""
        parts: list[Part] = []
        done: list[Section] = []
        drawn = at = 0
        for section in wanted:
            found = self.numbers.get(section.file.id, -1)
            if found < at:
                found = at
            else:
                parts += self._removed_parts(at, found)
            at = found
            is_there = at < len(self.sections) and self.sections[at].file.id == section.file.id
            if not is_there or self.sections[at] is not section:
                if drawn and drawn + section.starts[-1] > limit:
                    return Update(_join_parts(parts), Sheet((*done, *self.sections[at:])))
                drawn += section.starts[-1]
                parts += self._changed_parts(at, is_there, section)
            done.append(section)
            at += is_there
        parts += self._removed_parts(at, len(self.sections))
        is_same = len(done) == len(self.sections) and all(map(is_, done, self.sections))
        return None if is_same else Update(_join_parts(parts), Sheet(tuple(done)))

    def _removed_parts(self, start: int, end: int) -> list[Part]:
        return [(self.points[start], self.points[end], "")] if start < end else []

    def _changed_parts(self, at: int, is_there: bool, section: Section) -> list[Part]:
        """What changes in the text if the section comes before the one at that number; or in its
        place, if that is of the same file."""
        start = self.points[at]
        if not is_there:
            return [(start, start, section.text)]
        old = self.sections[at]
        return [
            (
                start + old.starts[change.old_start],
                start + old.starts[change.old_end],
                "".join(section.rows[change.new_start : change.new_end]),
            )
            for change in changes_between(old.rows, section.rows)
        ]


def _join_parts(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts, with texts that come to one place joined to one."""
    return tuple(
        (start, end, "".join([text for _, _, text in some]))
        for (start, end), found in groupby(parts, lambda part: part[:2])
        for some in [list(found)]
    )


def plain_section(id: str, rows: Sequence[str]) -> Section:
    """A section of rows that are no file's, without their line ends: the head of a sheet."""
    return Section(
        FileChanges(id, "", None),
        tuple(f"{row}\n" for row in rows),
        Runs([Run(NOTE, 0, len(rows))]),
    )


def section_of(file: FileChanges) -> Section:
    """The section of a file."""
    found = _Rows()
    added, removed = file.counts
    counts = f"+{added} -{removed}" if file.comparison is not None else NOT_COMPARED
    heading = ", ".join([counts, file.state] if file.state else [counts])
    found.add_rows(HEADING, [HEAD_ROW.format(file.title, heading)], 0)
    if file.note:
        found.add_rows(NOTE, [f"{file.note}\n"], 0)
    if file.comparison is not None:
        _add_changes(found, file.comparison)
    found.add_rows(BLANK, ["\n"], 0)
    return Section(file, tuple(found.rows), Runs(found.runs))


class _Rows:
    """The rows of a section, as they come."""

    def __init__(self) -> None:
        self.rows: list[str] = []
        self.runs: list[Run] = []

    def add_rows(
        self, kind: str, rows: Sequence[str], row: int, change: int | None = None, point: int = 0
    ) -> None:
        """Add these rows of a text, which begin at the row and at the point."""
        if not rows:
            return
        start = len(self.rows)
        is_open = not rows[-1].endswith("\n")
        self.rows += [*rows[:-1], rows[-1] + "\n"] if is_open else rows
        self.runs.append(Run(kind, start, len(self.rows), row, change, point, is_open))
        if is_open and kind != EQUAL:
            self.add_rows(NO_END, [NO_LINE_END], row + len(rows) - 1, change)


def _add_changes(found: _Rows, comparison: Comparison) -> None:
    old, new = comparison.old, comparison.new
    number = 0
    for group in group_changes(comparison.changes):
        at = max(group[0].new_start - CONTEXT, 0)
        found.add_rows(
            PLACE, [PLACE_ROW.format(_line_number(comparison, group[0], at))], at, number
        )
        for change in group:
            found.add_rows(EQUAL, new.rows[at : change.new_start], at)
            added = new.rows[change.new_start : change.new_end]
            if comparison.keys[number] in comparison.dropped:
                found.add_rows(EQUAL, added, change.new_start, number)
            else:
                removed = old.rows[change.old_start : change.old_end]
                found.add_rows(REMOVED, removed, change.old_start, number)
                point = new.starts[change.new_start]
                found.add_rows(ADDED, added, change.new_start, number, point)
            at, number = change.new_end, number + 1
        found.add_rows(EQUAL, new.rows[at : at + CONTEXT], at)


def _line_number(comparison: Comparison, change: Change, at: int) -> int:
    """The number of the line in the file, from 1; behind the last row, that of the old text."""
    if at < len(comparison.new.rows):
        return comparison.new.number(at) + 1
    return comparison.old.number(max(change.old_start - CONTEXT, 0)) + 1


def _text_of(rows: Sequence[str], run: Run) -> str:
    text = "".join(rows)
    return text[:-1] if run.is_open and text else text
