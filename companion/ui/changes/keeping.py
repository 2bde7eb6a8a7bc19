"""Keep and Drop in a sheet: of one change, of a file, of all. They decide nothing yet, and undo
takes them back. UI thread only."""

from __future__ import annotations

from typing import Callable, Sequence

import sublime

from ...base.change_sheet import ChangeStart, FileChanges
from ...chat.amounts import count_text
from .. import panels, settings
from ..review import sight
from ..review.record import is_diff
from ..review.reviews import Reviews
from ..review.single_changes import ABOVE, SingleChanges
from .sheet import ChangeSheet
from .sources import Source
from .steps import DropStep, KeepStep, Step, Steps, edit_step

DECIDED = "Those changes are decided already."
AGAIN = "That file has changed meanwhile: decide on what is shown now."
ALL_DECIDED = "All changes here are kept or dropped: now accept all, or reject all."
NOTHING = "There are no changes to decide on here."
# What is told after several were kept, or dropped.
KEPT = "{} kept; nothing is decided yet."
DROPPED = "{} dropped; nothing is decided yet, and undo brings them back."
DROP_ALL = (
    "The files' own lines are put in their place. Nothing is decided yet, and undo goes back."
)
OPENS = " {} made already will open in tabs."
STAY = ["Go back", "Nothing is dropped."]


class Keeping:
    """Keeps and drops changes in the sheets of one companion."""

    def __init__(
        self, reviews: Reviews, changes: SingleChanges, tell: Callable[[str], None]
    ) -> None:
        self._reviews = reviews
        self._changes = changes
        self._tell = tell

    async def keep_or_drop_change(
        self, sheet: ChangeSheet, id: str, key: str, is_kept: bool
    ) -> None:
        """Keep or drop one change, and go on to the next one."""
        sheet.take_typed()
        shown, count = sheet.find_section(id), sheet.edits.typed_count
        async with self._reviews.presses.take_place(sheet.line):
            now, at, source = (
                sheet.find_section(id),
                sheet.model.change_of(id, key),
                sheet.find_source(id),
            )
            if shown is None or now is None or source is None:
                self._tell(DECIDED)
            elif shown.file.comparison is not now.file.comparison:
                # The key is that of what was shown when the user pressed.
                self._tell(AGAIN)
            elif at is None:
                self._tell(DECIDED)
            else:
                await self._keep_or_drop_change(sheet, source, at, key, is_kept, count)
            sheet.refresh()

    async def _keep_or_drop_change(
        self,
        sheet: ChangeSheet,
        source: Source,
        at: ChangeStart,
        key: str,
        is_kept: bool,
        count: int,
    ) -> None:
        file = sheet.model.sections[at.section].file
        if is_kept:
            step = await self._keep_one(sheet, source, file, key)
        else:
            step = await self._drop_changes(sheet, source, file, key)
        if step is not None:
            sheet.edits.note_step(step)
        await self._go_on(sheet, source.review_view(file.id), at, count)

    async def keep_or_drop_file(self, sheet: ChangeSheet, id: str, is_kept: bool) -> None:
        """Keep or drop all changes of the file, and go on to those of the next one."""
        async with self._reviews.presses.take_place(sheet.line):
            await self._keep_or_drop_file(sheet, id, is_kept)

    async def _keep_or_drop_file(self, sheet: ChangeSheet, id: str, is_kept: bool) -> None:
        await sheet.wait_until_settled(self._reviews)
        count, number = sheet.edits.typed_count, sheet.model.numbers.get(id)
        starts = [start for start in sheet.model.change_starts if start.section == number]
        if not starts:
            self._tell(NOTHING if number is not None else DECIDED)
        elif await self._keep_or_drop_files(sheet, [id], is_kept):
            source = sheet.find_source(id)
            view = source.review_view(id) if source is not None else None
            await self._go_on(sheet, view, starts[-1], count)
        sheet.refresh()

    async def keep_or_drop_all(self, sheet: ChangeSheet, is_kept: bool) -> None:
        """Keep all changes; or drop them, after the user is told what that counts."""
        async with self._reviews.presses.take_place(sheet.line):
            await self._keep_or_drop_all(sheet, is_kept)

    async def _keep_or_drop_all(self, sheet: ChangeSheet, is_kept: bool) -> None:
        await sheet.wait_until_settled(self._reviews)
        starts = sheet.model.change_starts
        sections = list(dict.fromkeys(start.section for start in starts))
        ids = [sheet.model.sections[number].file.id for number in sections]
        if not ids:
            self._tell(NOTHING)
        elif is_kept or await self._may_drop(sheet, ids, len(starts)):
            changes = await self._keep_or_drop_files(sheet, ids, is_kept)
            self._tell((KEPT if is_kept else DROPPED).format(count_text(changes, "change")))
        sheet.refresh()

    async def _may_drop(self, sheet: ChangeSheet, ids: Sequence[str], changes: int) -> bool:
        sources = [(id, sheet.find_source(id)) for id in ids]
        closed = [
            id for id, source in sources if source is not None and source.review_view(id) is None
        ]
        what = f"{count_text(changes, 'change')} in {count_text(len(ids), 'file')}"
        opens = OPENS.format(count_text(len(closed), "edit")) if closed else ""
        items = [[f"Drop all: {what}", DROP_ALL + opens], STAY]
        window = sheet.window
        if window is None:
            return False
        with self._reviews.presses.announce_question(f"dropping {what}"):
            return await panels.ask_choice(window, items, f"Drop {what}?") == 0

    async def _keep_or_drop_files(
        self, sheet: ChangeSheet, ids: Sequence[str], is_kept: bool
    ) -> int:
        """Gives how many changes are kept or dropped that were not before."""
        steps: list[Step] = []
        changes = 0
        try:
            for id in ids:
                step, count = await self._all_of(sheet, id, is_kept)
                if step is not None:
                    steps.append(step)
                    changes += count
        finally:
            if steps:
                sheet.edits.note_step(Steps(steps))
        return changes

    async def _all_of(self, sheet: ChangeSheet, id: str, is_kept: bool) -> tuple[Step | None, int]:
        """The step of one file, and how many changes are meant."""
        source, section = sheet.find_source(id), sheet.find_section(id)
        comparison = section.file.comparison if section is not None else None
        if source is None or section is None or comparison is None:
            return None, 0
        keys = frozenset(comparison.keys) - comparison.dropped
        if not is_kept:
            return await self._drop_changes(sheet, source, section.file), len(keys)
        keys -= source.kept_changes(id)
        step = self._keep_changes(sheet, source, section.file, keys) if keys else None
        return step, len(keys)

    async def _keep_one(
        self, sheet: ChangeSheet, source: Source, file: FileChanges, key: str
    ) -> Step | None:
        view, before = source.review_view(file.id), source.kept_changes(file.id)
        if view is None:
            return self._keep_changes(sheet, source, file, frozenset([key]))
        if not self._is_shown(sheet, file, view):
            self._tell(AGAIN)
            return None
        # As in the review, which finds the change again in what was typed a moment ago.
        await self._changes.keep_change(view, key, goes_on=False)
        return KeepStep(source, file.id, before, source.kept_changes(file.id))

    def _keep_changes(
        self, sheet: ChangeSheet, source: Source, file: FileChanges, keys: frozenset[str]
    ) -> Step | None:
        """The step of it; None if the user has to decide again."""
        view, before = source.review_view(file.id), source.kept_changes(file.id)
        if view is not None and not self._is_shown(sheet, file, view):
            self._tell(AGAIN)
            return None
        if not source.set_kept(file.id, before | keys):
            self._tell(DECIDED)
            return None
        return KeepStep(source, file.id, before, before | keys)

    async def _drop_changes(
        self, sheet: ChangeSheet, source: Source, file: FileChanges, key: str | None = None
    ) -> Step | None:
        """Drop one change of a file, or without a key all of them. Gives the step; None if the user
        has to decide again."""
        window = sheet.window
        view = await source.open_review(window, file.id) if window is not None else None
        if view is None:
            self._tell(DECIDED)
            return None
        if not self._is_shown(sheet, file, view):
            self._tell(AGAIN)
            return None
        review = self._reviews.review_of(view)
        before = review.dropped if review is not None else frozenset()
        if key is not None:
            is_edit = await self._changes.drop_change(view, key, goes_on=False)
        else:
            is_edit = await self._changes.drop_all(view)
        after = review.dropped if review is not None else frozenset()
        if is_edit:
            return edit_step(view)
        return DropStep(self._reviews, view, before, after) if before != after else None

    def _is_shown(self, sheet: ChangeSheet, file: FileChanges, view: sublime.View) -> bool:
        """Whether the sheet shows the changes that the review has by now: keys count equal changes,
        and the same key may be that of another one."""
        review = self._reviews.review_of(view)
        known = review.comparison if review is not None else None
        is_new = sheet.edits.counts.get(file.id) is None
        return known is None or is_new or known is file.comparison

    async def _go_on(
        self, sheet: ChangeSheet, right: sublime.View | None, at: ChangeStart, count: int
    ) -> None:
        """Go to the next change of the sheet that is neither kept nor dropped, if the user wants
        that and has not typed since that many edits."""
        window = sheet.window
        if window is None or not settings.current_settings(window).keep_goes_on:
            return
        if right is not None and is_diff(right):
            await self._reviews.wait_for_comparison(right)
        await sheet.refresh()
        view = window.active_view()
        if view not in sheet.views or view is None or sheet.edits.typed_count != count:
            return
        undecided = sheet.undecided_changes()
        if not undecided:
            self._tell(ALL_DECIDED)
            return
        below = [start for start in undecided if start[:2] >= at[:2]]
        if not below:
            self._tell(ABOVE)
        sight.put_caret(view, sheet.model.point_at((below or undecided)[0].caret))
