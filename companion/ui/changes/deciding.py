"""The user's decisions in a sheet: on one change, on a file, on all. UI thread only.

Each is made as in the file's own review. All are decided on only as they were drawn and counted
when the user was asked; what came or changed meanwhile waits, and the user is told.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Sequence

import sublime

from ...base.change_sheet import ChangeStart, Section
from .. import panels, settings
from ..review import sight
from ..review.record import is_diff
from ..review.reviews import Reviews
from ..review.single_changes import ABOVE, SingleChanges
from .sheet import HEAD, ChangeSheet, extent, lines
from .sources import Source, TakeBack
from .undoing import Undoing

DECIDED = "Those changes are decided already."
AGAIN = "That file has changed meanwhile: decide on what is shown now."
ALL_DECIDED = "All changes here are decided on: accept all now, or reject them."
NOTHING = "There are no changes to decide on here."
# The possible answers, and what each does.
ALL = {
    True: ("Accept all", "CLIs write what is proposed; edits that are made already stay."),
    False: ("Reject all", "CLIs are told so; edits that are made already are undone."),
}
STAY = ["Go back", "Nothing is decided."]
# About files for which several proposals wait.
OTHERS = "{} more for the same files would replace these, and must wait."


@dataclass(frozen=True)
class Counted:
    """A file as the user was told of it; `change_count` is that of its own review, if that is
    open."""

    section: Section
    source: Source
    change_count: int | None


class Deciding:
    """The decisions in the sheets of one companion."""

    def __init__(
        self,
        reviews: Reviews,
        changes: SingleChanges,
        undoing: Undoing,
        tell: Callable[[str], None],
    ) -> None:
        self._reviews = reviews
        self._changes = changes
        self.undoing = undoing
        self._tell = tell
        # The buffers of the sheets in which all is being decided.
        self._busy: set[int] = set()

    async def change(self, sheet: ChangeSheet, id: str, key: str, is_kept: bool) -> None:
        """Keep or drop one change, and go on to the next one."""
        sheet.take_typed()
        at, count = sheet.change_of(id, key), sheet.edits.typed_count
        source, window = sheet.source(id), sheet.window
        view = await source.open(window, id) if source is not None and window is not None else None
        if view is None or at is None:
            self._tell(DECIDED)
        elif not self._is_shown(sheet, at, view):
            self._tell(AGAIN)
        elif is_kept:
            await self._changes.keep(view, key, goes_on=False)
            await self._go_on(sheet, view, at, count)
        else:
            if await self._changes.drop(view, key, goes_on=False):
                sheet.edits.changed(view)
            await self._go_on(sheet, view, at, count)
        sheet.refresh()

    def _is_shown(self, sheet: ChangeSheet, at: ChangeStart, view: sublime.View) -> bool:
        """Whether the sheet shows the changes that the review has by now: keys count equal changes,
        and the same key may be that of another one."""
        file, review = sheet.model.sections[at.section].file, self._reviews.of(view)
        known = review.comparison if review is not None else None
        is_new = sheet.edits.counts.get(file.id) is None
        return known is None or is_new or known is file.comparison

    async def _go_on(
        self, sheet: ChangeSheet, right: sublime.View, at: ChangeStart, count: int
    ) -> None:
        """Go to the next change of the sheet that is neither kept nor dropped, if the user wants
        that and has not typed since that many edits."""
        window = sheet.window
        if window is None or not settings.of(window).keep_goes_on:
            return
        if is_diff(right):
            await self._reviews.comparison(right)
        await sheet.refresh()
        view = window.active_view()
        if view not in sheet.views or view is None or sheet.edits.typed_count != count:
            return
        undecided = sheet.undecided()
        if not undecided:
            self._tell(ALL_DECIDED)
            return
        below = [it for it in undecided if it[:2] >= at[:2]]
        if not below:
            self._tell(ABOVE)
        sight.put_caret(view, sheet.model.point_at((below or undecided)[0].row))

    async def file(self, sheet: ChangeSheet, id: str, accept: bool) -> None:
        """Accept or reject the changes of one file."""
        sheet.take_typed()
        source, window = sheet.source(id), sheet.window
        waits = source is not None and window is not None and _waits(source, window, id)
        if source is None or window is None or not waits:
            self._tell(DECIDED)
        else:
            take = await (source.accept(window, id) if accept else source.reject(window, id))
            self.undoing.decided(sheet, accept, [] if take is None else [take])
        sheet.refresh()

    async def all(self, sheet: ChangeSheet, accept: bool) -> None:
        """Say what there is to accept or reject; do so if the user wants that."""
        window = sheet.window
        if window is None or sheet.buffer_id in self._busy:
            return
        self._busy.add(sheet.buffer_id)
        try:
            await self._settle(sheet)
            counted, others = self._counted(sheet), 0
            if accept:
                counted, others = _one_for_each_file(counted)
            if not counted:
                self._tell(NOTHING)
            elif await _is_wanted(window, counted, accept, others):
                await self._decide(sheet, window, counted, accept)
        finally:
            self._busy.discard(sheet.buffer_id)

    async def _settle(self, sheet: ChangeSheet) -> None:
        """Wait until all is drawn as it is now."""
        sheet.take_typed()
        for section in sheet.model.sections:
            source = sheet.source(section.file.id)
            view = source.view(section.file.id) if source is not None else None
            if view is not None and self._reviews.is_compared(view):
                await self._reviews.comparison(view)
        await sheet.refresh()

    def _counted(self, sheet: ChangeSheet) -> list[Counted]:
        """What cannot be compared is not among them: nobody has seen it here."""
        found = []
        for section in sheet.model.sections:
            id = section.file.id
            source = sheet.source(id)
            if source is not None and section.file.comparison is not None:
                view = source.view(id)
                count = view.change_count() if view is not None else None
                counted = Counted(section, source, count)
                found += [counted] if self._is_as_counted(counted) else []
        return found

    def _is_as_counted(self, counted: Counted) -> bool:
        view = counted.source.view(counted.section.file.id)
        if view is None or counted.change_count is None:
            return view is None and counted.change_count is None
        review = self._reviews.of(view)
        is_drawn = review is not None and review.comparison is counted.section.file.comparison
        return is_drawn and view.change_count() == counted.change_count

    async def _decide(
        self, sheet: ChangeSheet, window: sublime.Window, counted: Sequence[Counted], accept: bool
    ) -> None:
        known = set(sheet.model.numbers)
        # Edits that are made already are undone from the last one on.
        order = counted if accept else counted[::-1]
        takes: list[TakeBack] = []
        changed = 0
        for each in order:
            id = each.section.file.id
            if not self._is_as_counted(each):
                changed += each.source.view(id) is not None
                continue
            decide = each.source.accept if accept else each.source.reject
            take = await decide(window, id)
            takes += [] if take is None else [take]
        self.undoing.decided(sheet, accept, takes)
        await sheet.refresh()
        files = [it.file for it in sheet.model.sections if it.file.id != HEAD]
        came = sum(1 for it in files if it.id not in known)
        left = sum(1 for it in files if it.id in known and it.comparison is None)
        self._tell(_outcome(accept, len(takes), len(counted), changed, came, left))


def _waits(source: Source, window: sublime.Window, id: str) -> bool:
    """Whether the user can decide on it still."""
    return any(it.id == id for it in source.entries(window))


def _one_for_each_file(counted: Sequence[Counted]) -> tuple[list[Counted], int]:
    """Those that can be accepted together, and how many others there are. Of several proposals for
    one file it is the oldest one: the next one does not know its text, and would replace it."""
    found: list[Counted] = []
    titles: set[str] = set()
    for each in counted:
        file = each.section.file
        if file.is_written or file.title not in titles:
            found.append(each)
        if not file.is_written:
            titles.add(file.title)
    return found, len(counted) - len(found)


async def _is_wanted(
    window: sublime.Window, counted: Sequence[Counted], accept: bool, others: int
) -> bool:
    files = [it.section.file for it in counted]
    what = f"{extent([(it.section.file.title, it.source) for it in counted])}, {lines(files)}"
    name, detail = ALL[accept]
    if others:
        detail = f"{OTHERS.format(others)} {detail}"
    asked = f"{name.split()[0]} {what}?"
    return await panels.choice(window, [[f"{name}: {what}", detail], STAY], asked) == 0


def _outcome(accept: bool, done: int, counted: int, changed: int, came: int, left: int) -> str:
    """What was decided, and what was not."""
    said = [f"{done} of {counted} {'accepted' if accept else 'rejected'}."]
    said += [f"{changed} changed meanwhile and can be decided on now."] if changed else []
    said += [f"{came} came meanwhile and can be decided on now."] if came else []
    said += [f"{left} cannot be shown here: decide on each one in its own tab."] if left else []
    return " ".join(said)
