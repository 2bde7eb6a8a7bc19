"""What the user decides on a diff of whatever kind: a proposal is decided by whoever waits for it,
an edit that is made already by what is done to its file. UI thread only."""

from __future__ import annotations

import sublime

from ..user_messages import UserMessages
from .accepting import Accepting
from .actions import Actions
from .open_diffs import name_of
from .record import is_diff, is_written, waiting_record
from .reviews import OVER, Reviews
from .written_reviews import WrittenReviews


class DiffDecisions:
    """The decisions on diffs of one companion."""

    def __init__(
        self,
        reviews: Reviews,
        messages: UserMessages,
        accepting: Accepting,
        actions: Actions,
        written: WrittenReviews,
    ) -> None:
        self._reviews = reviews
        self._messages = messages
        self._accepting = accepting
        self._actions = actions
        self._written = written

    async def accept_diff(self, window: sublime.Window, view: sublime.View) -> bool:
        """Accept a diff; if there are doubts, ask in the window first. Gives whether it was
        accepted."""
        if is_written(view):
            return await self._written.keep_edit(window, view)
        return await self._accepting.accept_proposal(window, view) is not None

    def reject_diff(self, view: sublime.View, note: str = "") -> bool:
        """Reject a diff, unless somebody else has decided, and close it. False if the decision
        could not be reported. An edit that is made already begins to be undone."""
        if is_written(view):
            return self._written.begin_undo(view, note)
        return self._actions.reject_proposal(view, note)

    async def reject_by_press(self, view: sublime.View, note: str = "") -> bool:
        """Reject a diff after what the user has pressed before; an edit that is made already is
        undone by then. Gives whether it was done."""
        record = waiting_record(view)
        if record is None:
            self._messages.warn_user(OVER.format(name_of(view)))
            return False
        async with self._reviews.presses.take_place(record.id):
            if waiting_record(view) is None:
                self._messages.warn_user(OVER.format(name_of(view)))
                return False
            if is_written(view):
                window = view.window() or sublime.active_window()
                return await self._written.undo_shown(window, view, note)
            return self._actions.reject_proposal(view, note)

    async def release_by_press(self, view: sublime.View) -> None:
        """Give up a diff after what the user has pressed before; its text stays as a tab."""
        record = waiting_record(view)
        if record is None:
            self._messages.warn_user(OVER.format(name_of(view)))
            return
        async with self._reviews.presses.take_place(record.id):
            if waiting_record(view) is None:
                self._messages.warn_user(OVER.format(name_of(view)))
            elif is_written(view):
                self._written.leave_review(view)
            else:
                self._actions.release_proposal(view)

    def handle_close(self, view: sublime.View) -> None:
        """The user closes the view: for a proposal, that is a rejection."""
        self._accepting.handle_close(view)
        if is_written(view):
            self._written.leave_review(view)
        elif is_diff(view):
            self._actions.handle_close(view)
