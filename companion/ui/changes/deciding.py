"""The user's decisions in a sheet: on a file, on all. UI thread only.

Each is made as in the file's own review. All are decided on only as they were drawn and counted
when the user was asked; what came or changed meanwhile waits, and the user is told.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Callable, Dict, List, Mapping, Sequence

import sublime

from ...base.change_sheet import Section
from .. import panels
from ..ordered_work import UnderWay
from ..review.reviews import Reviews
from .keeping import DECIDED, NOTHING
from .sheet import HEAD, ChangeSheet
from .sheet_files import extent_words, line_counts
from .sources import Source, UndoStep
from .undoing import SheetDecision, Undoing

# How to undo what was decided, by whether it was accepted.
Takes = Dict[bool, List[UndoStep]]
# The possible answers, and what each does.
ALL = {
    True: ("Accept all", "What is proposed is written; edits that are made already stay."),
    False: ("Reject all", "The CLIs are told; edits that are made already are undone."),
}
# Files that are named in a sentence.
NAMED = 3
UNDER_WAY = "All of them are being decided on already."
NOT_DECIDED = "Not decided: {}. Decide on one alone to see why."
STAY = ["Go back", "Nothing is decided."]
# About files for which several proposals wait.
DROPPED = "{} more will be rejected, because you have dropped all their changes."
HIDDEN = "{} cannot be shown here, and will wait."
OTHERS = "{} more must wait: they are for the same files, and would replace these."


@dataclass(frozen=True)
class Counted:
    """A file as the user was told of it; `change_count` is that of its own review, if that is
    open."""

    section: Section
    source: Source
    change_count: int | None

    @property
    def id(self) -> str:
        return self.section.file.id

    @property
    def is_dropped(self) -> bool:
        """Whether the user has dropped all that is proposed for the file."""
        return self.section.file.is_dropped


def no_takes() -> Takes:
    return {False: [], True: []}


@dataclass(eq=False)
class Press:
    """What the user has pressed, and what of it is done."""

    sheet: ChangeSheet
    window: sublime.Window
    accept: bool
    takes: Takes = field(default_factory=no_takes)


class Deciding:
    """The decisions in the sheets of one companion."""

    def __init__(
        self,
        reviews: Reviews,
        undoing: Undoing,
        tell: Callable[[str], None],
    ) -> None:
        self._reviews = reviews
        self.undoing = undoing
        self._tell = tell
        # The decisions on all, by the buffers of the sheets.
        self._under_way = UnderWay()

    async def decide_file(self, sheet: ChangeSheet, id: str, accept: bool) -> None:
        """Accept or reject the changes of one file."""
        sheet.take_typed()
        async with self._reviews.presses.take_place(sheet.line):
            await self._decide_file(sheet, id, accept)

    async def _decide_file(self, sheet: ChangeSheet, id: str, accept: bool) -> None:
        if sheet.find_source(id) is None:
            # A sheet that was restored a moment ago may not know yet what it shows.
            await sheet.refresh()
        source, window = sheet.find_source(id), sheet.window
        waits = source is not None and window is not None and _is_waiting(source, window, id)
        if source is None or window is None or not waits:
            self._tell(DECIDED)
        else:
            take = await (
                source.accept_changes(window, id) if accept else source.reject_changes(window, id)
            )
            if take is None and not accept and not _is_waiting(source, window, id):
                # Somebody else has decided while this waited.
                self._tell(DECIDED)
            self.undoing.note_decision(sheet, SheetDecision(accept, [] if take is None else [take]))
        sheet.refresh()

    async def decide_all(self, sheet: ChangeSheet, accept: bool) -> None:
        """Say what there is to accept or reject; do so if the user wants that."""
        window = sheet.window
        if window is None:
            return
        if sheet.buffer_id in self._under_way:
            self._tell(UNDER_WAY)
            return
        with self._under_way.hold(sheet.buffer_id):
            async with self._reviews.presses.take_place(sheet.line):
                await self._decide_all(sheet, window, accept)

    async def _decide_all(self, sheet: ChangeSheet, window: sublime.Window, accept: bool) -> None:
        await sheet.wait_until_settled(self._reviews)
        counted, others = self._count_files(sheet), 0
        if accept:
            counted, others = _one_for_each_file(counted)
            accept = not all(counted_file.is_dropped for counted_file in counted)
        if not counted:
            self._tell(NOTHING)
            return
        with self._reviews.presses.announce_question("all files"):
            more = [*_hidden_note(sheet), *_others_note(others)]
            is_wanted = await _is_wanted(window, counted, accept, more)
        if is_wanted:
            await self._decide_counted(sheet, window, counted, accept)

    def _count_files(self, sheet: ChangeSheet) -> list[Counted]:
        """What cannot be compared is not among them: nobody has seen it here."""
        found = []
        for section in sheet.model.sections:
            id = section.file.id
            source = sheet.find_source(id)
            if source is not None and section.file.comparison is not None:
                view = source.review_view(id)
                count = view.change_count() if view is not None else None
                counted = Counted(section, source, count)
                found += [counted] if self._is_as_counted(counted) else []
        return found

    def _is_as_counted(self, counted: Counted) -> bool:
        view = counted.source.review_view(counted.section.file.id)
        if view is None or counted.change_count is None:
            return view is None and counted.change_count is None
        review = self._reviews.review_of(view)
        is_drawn = review is not None and review.comparison is counted.section.file.comparison
        return is_drawn and view.change_count() == counted.change_count

    async def _decide_counted(
        self, sheet: ChangeSheet, window: sublime.Window, counted: Sequence[Counted], accept: bool
    ) -> None:
        known = set(sheet.model.numbers)
        # Edits that are made already are undone from the last one on.
        left = list(counted if accept else counted[::-1])
        press = Press(sheet, window, accept)
        # The user is asked about doubts last, so that these keep nothing else waiting.
        for asks in (False, True):
            left = await self._decide_each(press, left, asks)
        await sheet.refresh()
        left = [counted_file for counted_file in left if counted_file.id in sheet.model.numbers]
        same = [counted_file for counted_file in left if self._is_as_counted(counted_file)]
        changed = len(left) - len(same)
        files = [section.file for section in sheet.model.sections if section.file.id != HEAD]
        came = sum(1 for file in files if file.id not in known)
        hidden = sum(1 for file in files if file.id in known and file.comparison is None)
        said = _decision_sentences(accept, counted, press.takes) + _left_sentences(
            changed, came, hidden
        )
        self._tell(" ".join([*said, *_undecided_sentences(same)]))

    async def _decide_each(
        self, press: Press, order: Sequence[Counted], asks: bool
    ) -> list[Counted]:
        """Gives those that are not decided. Wherever it is cut, what is decided can be undone."""
        left, takes = [], no_takes()
        try:
            for each in order:
                take = await self._decide_one(press.window, each, press.accept, asks)
                if take is None:
                    left.append(each)
                else:
                    takes[press.accept and not each.is_dropped].append(take)
        finally:
            for is_accepted, done in takes.items():
                press.takes[is_accepted] += done
                self.undoing.note_decision(press.sheet, SheetDecision(is_accepted, done, press))
        return left

    async def _decide_one(
        self, window: sublime.Window, each: Counted, accept: bool, asks: bool
    ) -> UndoStep | None:
        if not self._is_as_counted(each):
            return None
        if accept and not each.is_dropped:
            return await each.source.accept_changes(window, each.id, asks)
        # What cannot be undone now cannot be undone a moment later.
        return await each.source.reject_changes(window, each.id) if not asks else None


def _is_waiting(source: Source, window: sublime.Window, id: str) -> bool:
    """Whether the user can decide on it still."""
    return any(entry.id == id for entry in source.entries(window))


def _one_for_each_file(counted: Sequence[Counted]) -> tuple[list[Counted], int]:
    """The files that can be accepted together, and how many others there are. Of several proposals
    for one file it is the oldest one: the next one does not know its text, and would replace it."""
    found: list[Counted] = []
    titles: set[str] = set()
    for each in counted:
        file = each.section.file
        if file.is_made or file.title not in titles:
            found.append(each)
        if not file.is_made:
            titles.add(file.title)
    return found, len(counted) - len(found)


def _hidden_note(sheet: ChangeSheet) -> list[str]:
    """About those that are not counted."""
    files = [section.file for section in sheet.model.sections if section.file.id != HEAD]
    count = sum(1 for file in files if file.comparison is None)
    return [HIDDEN.format(count)] if count else []


def _others_note(count: int) -> list[str]:
    return [OTHERS.format(count)] if count else []


async def _is_wanted(
    window: sublime.Window, counted: Sequence[Counted], accept: bool, more: Sequence[str]
) -> bool:
    meant = [counted_file for counted_file in counted if not (accept and counted_file.is_dropped)]
    files = [counted_file.section.file for counted_file in meant]
    titles = [(counted_file.section.file.title, counted_file.source) for counted_file in meant]
    what = f"{extent_words(titles)}, {line_counts(files)}"
    name, detail = ALL[accept]
    dropped = len(counted) - len(meant)
    detail = " ".join([*more, *([DROPPED.format(dropped)] if dropped else []), detail])
    asked = f"{name.split()[0]} {what}?"
    return await panels.ask_choice(window, [[f"{name}: {what}", detail], STAY], asked) == 0


def _undecided_sentences(files: Sequence[Counted]) -> list[str]:
    """Which ones are as they were: there is a doubt about them, or they could not be undone."""
    names = [os.path.basename(counted_file.section.file.title) for counted_file in files]
    more = f" and {len(names) - NAMED} more" if names[NAMED:] else ""
    return [NOT_DECIDED.format(", ".join(names[:NAMED]) + more)] if names else []


def _decision_sentences(
    accept: bool, counted: Sequence[Counted], takes: Mapping[bool, Sequence[UndoStep]]
) -> list[str]:
    """What was decided. Of what is accepted, that which was dropped is rejected."""
    dropped = sum(1 for counted_file in counted if accept and counted_file.is_dropped)
    what = "accepted" if accept else "rejected"
    said = [f"{len(takes[accept])} of {len(counted) - dropped} {what}."]
    return said + ([f"{len(takes[False])} rejected, because all was dropped."] if dropped else [])


def _left_sentences(changed: int, came: int, left: int) -> list[str]:
    """What was not decided."""
    said = [f"{changed} changed meanwhile and can be decided on now."] if changed else []
    said += [f"{came} came meanwhile and can be decided on now."] if came else []
    said += [f"{left} cannot be shown here: look at each one in its own tab."] if left else []
    return said
