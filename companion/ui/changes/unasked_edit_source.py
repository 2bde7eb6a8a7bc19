"""The edits that CLIs of the window made without asking, as a sheet shows them: those that the user
has not looked at, and those whose review is open. UI thread only."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Coroutine, Iterator, Optional

import sublime

from ...base.change_sheet import FileChanges
from ...base.comparison import compare_rows
from ...base.digest import LARGE
from ...base.file_content import Original
from ...edits.edit import Edit, EditState
from ...edits.ledger import EditBook
from ...ide.clis import name_of
from .. import file_reading
from ..ordered_work import UnderWay
from ..review import head, large, open_diffs
from ..review.record import seen_changes, waiting_record
from ..review.reviews import Reviews
from ..review.written_reviews import WrittenReviews
from .sources import SheetEntry, UndoStep, entry_of, file_title, maker_words

# In front of the id of an edit: it is not that of a diff.
PREFIX = "edit "
TOO_LARGE = "Too large to be shown here: look at it in its own review."

Decision = Coroutine[Any, Any, Optional[UndoStep]]


class UnaskedEditSource:
    """The unasked edits to one companion, as `book` has them."""

    names = ("edit made without asking", "edits made without asking")
    meanings = (
        "Edits that are made already stay.",
        "Edits that are made already are undone.",
    )

    def __init__(self, reviews: Reviews, written: WrittenReviews, book: EditBook) -> None:
        self._reviews = reviews
        self._written = written
        self._book = book
        # The right views, by the ids of their edits, when the entries were fetched last: to search
        # all windows for each of many edits would take long.
        self._open: dict[str, sublime.View] = {}
        # By the ids of the files.
        self._kept: dict[str, frozenset[str]] = {}
        # The decisions, by the ids of the files.
        self._under_way = UnderWay()

    @property
    def is_complete(self) -> bool:
        return self._book.is_complete

    def entries(self, window: sublime.Window) -> Iterator[SheetEntry]:
        """The edits of the window, oldest first."""
        known = self._book.of_window(window.id())
        edits = [edit for edit in known if not (edit.is_accepted or edit.problem)]
        open_views = self._open = open_diffs.made_edit_views() if edits else {}
        for edit in edits:
            view = open_views.get(edit.id)
            entry = (
                None
                if edit.state is EditState.KEPT and view is None
                else self._sheet_entry(window, edit, view)
            )
            if entry is not None:
                yield entry

    def _sheet_entry(
        self, window: sublime.Window, edit: Edit, view: sublime.View | None
    ) -> SheetEntry | None:
        id = PREFIX + edit.id
        if view is None:
            # That of an earlier run has other ids of windows.
            return SheetEntry(
                id, id, partial(_file_changes, id, file_title(edit.path, window), edit)
            )
        record, review = waiting_record(view), self._reviews.review_of(view)
        if record is None or review is None:
            return None
        return entry_of(id, view, record, review)

    def review_view(self, id: str) -> sublime.View | None:
        """The right view of its review, if that is open."""
        view = self._open.get(id[len(PREFIX) :])
        record = waiting_record(view) if view is not None else None
        return view if record is not None and PREFIX + record.edit_id == id else None

    async def open_review(self, window: sublime.Window, id: str) -> sublime.View | None:
        """Opens its review; None if the edit is not known any more."""
        edit = self._find_edit(id)
        if edit is not None and edit.id not in open_diffs.made_edit_views():
            await self._written.open_review(window, edit, take_focus=False)
        return self._find_view(id)

    def kept_changes(self, id: str) -> frozenset[str]:
        """The keys of the changes that the user has kept in the edit's review, and of those that
        were kept while that was not open."""
        view, own = self.review_view(id), self._kept.get(id, frozenset())
        return own | seen_changes(view) if view is not None else own

    def set_kept(self, id: str, keys: frozenset[str]) -> bool:
        view = self.review_view(id)
        self._kept[id] = keys
        if view is not None:
            self._reviews.set_seen(view, keys)
        return view is not None or self._find_edit(id) is not None

    def is_as_seen(self, file: FileChanges) -> bool:
        """Its review has what is decided on."""
        return True

    async def accept_changes(
        self, window: sublime.Window, id: str, asks: bool = True
    ) -> UndoStep | None:
        """Keep it; without a review there is nothing to write."""
        return await self._decide_once(id, self._accept_edit(window, id))

    async def reject_changes(self, window: sublime.Window, id: str) -> UndoStep | None:
        """Undo it."""
        return await self._decide_once(id, self._reject_edit(window, id))

    async def _decide_once(self, id: str, decision: Decision) -> UndoStep | None:
        """None if it is being decided on."""
        if id in self._under_way:
            decision.close()
            return None
        with self._under_way.hold(id):
            return await decision

    async def _accept_edit(self, window: sublime.Window, id: str) -> UndoStep | None:
        edit, view = self._find_edit(id), self._find_view(id)
        if edit is None:
            return None
        present = await file_reading.read_content(edit.path)
        if view is None:
            self._written.mark_edit_seen(window, edit)
        elif not await self._written.keep_edit(window, view):
            return None
        return UndoStep(partial(self._show_again, edit, present))

    async def _reject_edit(self, window: sublime.Window, id: str) -> UndoStep | None:
        edit, view = self._find_edit(id), self._find_view(id)
        if edit is None:
            return None
        present = await file_reading.read_content(edit.path)
        record = waiting_record(view) if view is not None else None
        if view is not None and record is not None:
            async with self._reviews.presses.take_place(record.id):
                is_done = await self._written.undo_shown(window, view)
        else:
            is_done = await self._written.undo_and_tell(window, edit)
        return UndoStep(partial(self._make_again, edit, present)) if is_done else None

    async def _show_again(self, edit: Edit, present: Original, window: sublime.Window) -> str:
        """The user has looked at it, and wants to do so again. What they made of the file stays; if
        that was nothing of the edit, it is made again."""
        there = [
            other
            for other in self._book.of_window(window.id())
            if (other.turn, other.path) == (edit.turn, edit.path)
            and other.state is EditState.KEPT
            and not other.problem
        ]
        if not there:
            return await self._make_again(edit, present, window)
        self._book.replace(there[-1], replace(there[-1], state=EditState.WRITTEN))
        return ""

    async def _make_again(self, edit: Edit, present: Original, window: sublime.Window) -> str:
        return await self._written.redo_edit(window, self._book, edit, present)

    def _find_view(self, id: str) -> sublime.View | None:
        """The view of the edit's review, also if it was opened a moment ago."""
        self._open = open_diffs.made_edit_views()
        return self.review_view(id)

    def _find_edit(self, id: str) -> Edit | None:
        return self._book.find(id[len(PREFIX) :])


def _file_changes(id: str, name: str, edit: Edit) -> FileChanges:
    """Runs in a thread."""
    before, after = edit.before.text, edit.after or ""
    made = FileChanges(
        id,
        name,
        None,
        state=maker_words(f"written by {name_of(edit.client)}", not edit.before.exists),
        can_type=False,
        is_made=True,
        made_of=id,
    )
    if max(len(before), len(after)) <= LARGE:
        return replace(made, comparison=compare_rows(before, after), can_type=True)
    digest = large.differing_parts(before, after)
    if digest is None:
        return replace(made, note=TOO_LARGE)
    return replace(made, comparison=digest.shown, note=head.DIGEST)
