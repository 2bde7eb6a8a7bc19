"""The proposals that wait, of any CLI of the window, as a sheet shows them. UI thread only."""

from __future__ import annotations

from functools import partial
from typing import Iterator

import sublime

from ...base.change_sheet import FileChanges
from ..review.accepting import Accepting
from ..review.actions import Actions
from ..review.diff_kinds import kind_of
from ..review.history import EditHistory
from ..review.open_diffs import undecided_diffs, with_id
from ..review.record import seen_changes, waiting_record
from ..review.returned import Returned, proposal_to_reject
from ..review.reviews import Reviews
from .sources import SheetEntry, UndoStep, entry_of, undo_of_accepted


class ProposalSource:
    """The proposals to one companion."""

    names = ("proposal", "proposals")
    meanings = ("What is proposed is written.", "The CLIs are told.")
    # Their views come back with the window.
    is_complete = True

    def __init__(
        self,
        reviews: Reviews,
        accepting: Accepting,
        actions: Actions,
        returned: Returned,
        history: EditHistory,
    ) -> None:
        self._reviews = reviews
        self._accepting = accepting
        self._actions = actions
        self._returned = returned
        self._history = history
        # The right views, by the ids of their diffs.
        self._views: dict[str, sublime.View] = {}

    def entries(self, window: sublime.Window) -> Iterator[SheetEntry]:
        """The proposals of the window, oldest first."""
        for view, record in undecided_diffs(window):
            review = self._reviews.with_id(record.id)
            if review is None or not kind_of(record).is_proposal:
                continue
            self._views[record.id] = view
            yield entry_of(record.id, view, record, review)

    def review_view(self, id: str) -> sublime.View | None:
        """The right view; None if it is decided."""
        view = self._views.get(id)
        record = waiting_record(view) if view is not None else None
        if record is not None and record.id == id:
            return view
        # It may have got tabs since.
        found = with_id(id) if id in self._views else None
        if found is None:
            self._views.pop(id, None)
        else:
            self._views[id] = found
        return found

    async def open_review(self, window: sublime.Window, id: str) -> sublime.View | None:
        """It is open as long as it waits."""
        return self.review_view(id)

    def kept_changes(self, id: str) -> frozenset[str]:
        """The keys of the changes that the user has kept in the proposal's review."""
        view = self.review_view(id)
        return seen_changes(view) if view is not None else frozenset()

    def set_kept(self, id: str, keys: frozenset[str]) -> bool:
        view = self.review_view(id)
        if view is not None:
            self._reviews.set_seen(view, keys)
        return view is not None

    def is_as_seen(self, file: FileChanges) -> bool:
        """Its review has what is decided on."""
        return True

    async def accept_changes(
        self, window: sublime.Window, id: str, asks: bool = True
    ) -> UndoStep | None:
        """Accept the proposal, as *Accept* in its review does."""
        view = self.review_view(id)
        edit = (
            await self._accepting.accept_proposal(window, view, asks) if view is not None else None
        )
        return undo_of_accepted(self._history, edit.id) if edit is not None else None

    async def reject_changes(self, window: sublime.Window, id: str) -> UndoStep | None:
        """Reject the proposal, as *Reject* in its review does."""
        view = self.review_view(id)
        record = waiting_record(view) if view is not None else None
        if view is None or record is None:
            return None
        async with self._reviews.presses.take_place(record.id):
            found = proposal_to_reject(view, self._reviews)
            if found is None or not self._actions.reject_proposal(view):
                return None
        return UndoStep(partial(self._returned.bring_back, found))
