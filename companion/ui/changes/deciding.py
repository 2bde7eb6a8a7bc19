"""The user's decisions in a sheet: on a file, on all. UI thread only.

Each is made as in the file's own review. All are decided on only as they were drawn and counted
when the user was asked; what came or changed meanwhile waits, and the user is told.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import partial
from typing import Callable, Collection, Sequence

import sublime

from ...base.change_sheet import FileChanges, Section
from ...base.merge import has_marks
from ...base.text_digest import text_digest
from .. import panels, texts
from ..ordered_work import UnderWay
from ..review.record import waiting_record
from ..review.reviews import Reviews
from .keeping import AGAIN, DECIDED, NOTHING
from .sheet import HEAD, ChangeSheet
from .sources import Source, UndoStep
from .together import REJECT_ALL, Counted, WayToDecide, ways_to_accept
from .undoing import SheetDecision, Take, Undoing

# Files that are named in a sentence.
NAMED = 3
UNDER_WAY = "All of them are being decided on already."
NOT_DECIDED = "Not decided: {}. Decide on one alone to see why."
STAY = ["Go back", "Nothing is decided."]
HIDDEN = "{} cannot be shown here, and will wait."
WHICH = "Accept which variants?"
CONFLICTS = "{} conflict with what you accepted of the same files: the conflicts are marked."
CONFLICT = "1 conflicts with what you accepted of the same file: the conflicts are marked."
# What of a sheet is rejected together, beside all.
OTHERS_OF, ALL_OF = "Reject the other variants of {}", "Reject all of {}"


@dataclass(eq=False)
class Press:
    """What the user has pressed, and what of it is done. The sheet has shown the `known` files;
    `id` is another object for each press. Of the files, some are `left`, and those are `later` that
    were to be merged with others."""

    sheet: ChangeSheet
    window: sublime.Window
    way: WayToDecide
    known: Collection[str]
    id: object = field(default_factory=object)
    takes: list[Take] = field(default_factory=list)
    left: Sequence[Counted] = ()
    later: Sequence[Counted] = ()


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
        seen = sheet.find_section(id)
        async with self._reviews.presses.take_place(sheet.line):
            await sheet.pass_typed_on()
            await self._decide_file(sheet, id, accept, seen)

    async def _decide_file(
        self, sheet: ChangeSheet, id: str, accept: bool, seen: Section | None
    ) -> None:
        if sheet.find_source(id) is None:
            # A sheet that was restored a moment ago may not know yet what it shows.
            await sheet.refresh()
        source, window, section = sheet.find_source(id), sheet.window, sheet.find_section(id)
        waits = source is not None and window is not None and _is_waiting(source, window, id)
        if source is None or window is None or section is None or not waits:
            self._tell(DECIDED)
        elif not source.is_as_seen((seen or section).file) and source.review_view(id) is None:
            self._tell(AGAIN)
        else:
            take = await (
                source.accept_changes(window, id) if accept else source.reject_changes(window, id)
            )
            if take is None and not accept and not _is_waiting(source, window, id):
                # Somebody else has decided while this waited.
                self._tell(DECIDED)
            takes = [] if take is None else [Take(accept, take)]
            self.undoing.note_decision(sheet, SheetDecision(takes))
        sheet.refresh()

    async def decide_all(self, sheet: ChangeSheet, accept: bool) -> None:
        """Say what there is to accept or reject; do so if the user wants that."""
        reject = partial(_reject_way, REJECT_ALL)
        await self._decide_some(sheet, ways_to_accept if accept else reject)

    async def reject_others(self, sheet: ChangeSheet, id: str) -> None:
        """Do so with the other variants of the file."""
        section = sheet.find_section(id)
        variant = section.file.variant if section is not None else None
        if section is None or variant is None:
            self._tell(DECIDED)
            return
        name = OTHERS_OF.format(variant.of)
        await self._decide_some(sheet, partial(_reject_way, name, is_meant=section.file.is_other))

    async def reject_maker(self, sheet: ChangeSheet, id: str, maker: str) -> None:
        """Do so with all that this maker of the file alone has made."""
        section = sheet.find_section(id)
        variant = section.file.variant if section is not None else None
        words = dict(variant.makers).get(maker) if variant is not None else None
        if words is None:
            self._tell(DECIDED)
            return
        name = ALL_OF.format(words)
        is_meant = partial(_is_made_by, maker)
        await self._decide_some(sheet, partial(_reject_way, name, is_meant=is_meant))

    async def _decide_some(
        self, sheet: ChangeSheet, find_ways: Callable[[Sequence[Counted]], Sequence[WayToDecide]]
    ) -> None:
        window = sheet.window
        if window is None:
            return
        if sheet.buffer_id in self._under_way:
            self._tell(UNDER_WAY)
            return
        with self._under_way.hold(sheet.buffer_id):
            async with self._reviews.presses.take_place(sheet.line):
                await sheet.wait_until_settled(self._reviews)
                ways = find_ways(self._count_files(sheet))
                if not ways:
                    self._tell(NOTHING)
                    return
                with self._reviews.presses.announce_question("all files"):
                    way = await _wanted_way(window, ways, _hidden_note(sheet))
                if way is None:
                    return
                press = Press(sheet, window, way, frozenset(sheet.model.numbers))
                await self._decide_counted(press)
        await self._tell_decided(press)

    def _count_files(self, sheet: ChangeSheet) -> list[Counted]:
        """What cannot be compared is not among them: nobody has seen it here."""
        found = []
        for section in sheet.model.sections:
            id = section.file.id
            source = sheet.find_source(id)
            if source is not None and section.file.comparison is not None:
                view = source.review_view(id)
                count = view.change_count() if view is not None else None
                counted = Counted(section, source, count, _is_chosen(section, source, view))
                found += [counted] if self._is_as_counted(counted) else []
        return found

    def _is_as_counted(self, counted: Counted) -> bool:
        view = counted.source.review_view(counted.id)
        if view is None:
            # One in which the user has done nothing may be closed by now.
            is_lost = counted.change_count is not None and counted.is_chosen
            return not is_lost and counted.source.is_as_seen(counted.file)
        if counted.change_count is None:
            return False
        review = self._reviews.review_of(view)
        if review is None:
            return False
        is_drawn = review.comparison is counted.section.file.comparison
        if is_drawn and view.change_count() == counted.change_count:
            return True
        # What is merged with it is what the user has accepted in the same press.
        return review.took_over_since(counted.change_count, view)

    async def _decide_counted(self, press: Press) -> None:
        way = press.way
        # Edits that are made already are undone from the last one on.
        left = list(way.files if way.accept else way.files[::-1])
        left = await self._decide_each(press, left, False)
        # The user is asked about doubts last, so that these keep nothing else waiting.
        later = [each for each in left if each.id in way.later]
        left = await self._decide_each(press, [each for each in left if each not in later], True)
        press.left, press.later = left, later

    async def _tell_decided(self, press: Press) -> None:
        sheet, known = press.sheet, press.known
        await sheet.refresh()
        left, conflicts = [*press.left, *press.later], _conflicting(sheet, press.later)
        left = [each for each in left if each.id in sheet.model.numbers and each not in conflicts]
        same = [each for each in left if self._is_as_counted(each)]
        files = [section.file for section in sheet.model.sections if section.file.id != HEAD]
        came = sum(1 for file in files if file.id not in known)
        hidden = sum(1 for file in files if file.id in known and file.comparison is None)
        said = _decision_sentences(press) + _conflict_sentences(len(conflicts))
        said += _left_sentences(len(left) - len(same), came, hidden)
        self._tell(" ".join([*said, *_undecided_sentences(same)]))

    async def _decide_each(
        self, press: Press, order: Sequence[Counted], asks: bool
    ) -> list[Counted]:
        """Gives those that are not decided. Wherever it is cut, what is decided can be undone."""
        left: list[Counted] = []
        takes: list[Take] = []
        try:
            for each in order:
                step = await self._decide_one(press, each, asks)
                if step is None:
                    left.append(each)
                else:
                    takes.append(Take(press.way.accept and not each.is_dropped, step))
        finally:
            press.takes += takes
            self.undoing.note_decision(press.sheet, SheetDecision(takes, press.id))
        return left

    async def _decide_one(self, press: Press, each: Counted, asks: bool) -> UndoStep | None:
        if not self._is_as_counted(each):
            return None
        if press.way.accept and not each.is_dropped:
            return await each.source.accept_changes(press.window, each.id, asks)
        # What cannot be undone now cannot be undone a moment later.
        return await each.source.reject_changes(press.window, each.id) if not asks else None


def _is_waiting(source: Source, window: sublime.Window, id: str) -> bool:
    """Whether the user can decide on it still."""
    return any(entry.id == id for entry in source.entries(window))


def _is_chosen(section: Section, source: Source, view: sublime.View | None) -> bool:
    """Whether the user has kept, dropped or typed something in a variant."""
    file = section.file
    if file.variant is None or file.comparison is None:
        return False
    record = waiting_record(view) if view is not None else None
    if view is not None and record is not None:
        if text_digest(texts.text_of(view)) != record.proposed_digest:
            return True
    return not source.kept_changes(file.id).isdisjoint(file.comparison.keys)


def _is_made_by(maker: str, file: FileChanges) -> bool:
    """Whether it is this maker's alone: what another one has made alike is that one's as well."""
    return file.variant is not None and file.variant.ids == [maker]


def _reject_way(
    name: str,
    counted: Sequence[Counted],
    is_meant: Callable[[FileChanges], bool] = lambda _file: True,
) -> list[WayToDecide]:
    found = [each for each in counted if is_meant(each.file)]
    return [WayToDecide(name, False, found)] if found else []


def _conflicting(sheet: ChangeSheet, files: Sequence[Counted]) -> list[Counted]:
    """Those that wait with conflicts that are marked."""
    found = [(each, sheet.find_section(each.id)) for each in files]
    shown = [(each, section.file.comparison) for each, section in found if section is not None]
    return [
        each
        for each, comparison in shown
        if comparison is not None and has_marks(comparison.new.text)
    ]


def _hidden_note(sheet: ChangeSheet) -> list[str]:
    """About those that are not counted."""
    files = [section.file for section in sheet.model.sections if section.file.id != HEAD]
    count = sum(1 for file in files if file.comparison is None)
    return [HIDDEN.format(count)] if count else []


async def _wanted_way(
    window: sublime.Window, ways: Sequence[WayToDecide], more: Sequence[str]
) -> WayToDecide | None:
    """None if the user goes back."""
    rows = [[f"{way.name}: {way.extent}", " ".join([*more, way.details])] for way in ways]
    verb = "Accept" if ways[0].accept else "Reject"
    asked = f"{verb} {ways[0].extent}?" if len(ways) == 1 else WHICH
    number = await panels.ask_choice(window, [*rows, STAY], asked)
    return ways[number] if 0 <= number < len(ways) else None


def _undecided_sentences(files: Sequence[Counted]) -> list[str]:
    """Which ones are as they were: there is a doubt about them, or they could not be undone."""
    names = [os.path.basename(counted_file.section.file.title) for counted_file in files]
    more = f" and {len(names) - NAMED} more" if names[NAMED:] else ""
    return [NOT_DECIDED.format(", ".join(names[:NAMED]) + more)] if names else []


def _decision_sentences(press: Press) -> list[str]:
    """What was decided. Of what is accepted, that which was dropped is rejected."""
    way = press.way
    meant = sum(1 for take in press.takes if take.is_accepted is way.accept)
    said = [f"{meant} of {len(way.meant)} {'accepted' if way.accept else 'rejected'}."]
    dropped = len(press.takes) - meant
    return said + ([f"{dropped} rejected, because all was dropped."] if dropped else [])


def _conflict_sentences(count: int) -> list[str]:
    if not count:
        return []
    return [CONFLICT if count == 1 else CONFLICTS.format(count)]


def _left_sentences(changed: int, came: int, left: int) -> list[str]:
    """What was not decided."""
    said = [f"{changed} changed meanwhile and can be decided on now."] if changed else []
    said += [f"{came} came meanwhile and can be decided on now."] if came else []
    said += [f"{left} cannot be shown here: decide on each one alone."] if left else []
    return said
