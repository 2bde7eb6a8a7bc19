"""What the user decides on a diff of whatever kind. The owner of a proposal is told, and closing it
is a rejection. What is decided on an edit that is made already is done to its file, and closing its
review decides nothing. UI thread only."""

from __future__ import annotations

import sublime

from ..user_messages import UserMessages
from .accepting import Accepting
from .actions import Actions
from .diff_kinds import is_made
from .open_diffs import name_of
from .record import is_diff, waiting_record
from .reviews import OVER, Reviews
from .written_reviews import WrittenReviews


class DiffDecisions:
    """The decisions on all diffs of one companion."""

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
        if is_made(view):
            return await self._written.keep_edit(window, view)
        return await self._accepting.accept_proposal(window, view) is not None

    def reject_diff(self, view: sublime.View, note: str = "") -> bool:
        """Reject a diff, unless somebody else has decided, and close it. False if the decision
        could not be reported. An edit that is made already begins to be undone."""
        decide = self._written.begin_undo if is_made(view) else self._actions.reject_proposal
        return decide(view, note)

    async def reject_by_press(self, view: sublime.View, note: str = "") -> bool:
        """Reject a diff after what the user has pressed before; an edit that is made already is
        undone by then. Gives whether it was done."""
        record = waiting_record(view)
        if record is None:
            self._tell_over(view)
            return False
        async with self._reviews.presses.take_place(record.id):
            if waiting_record(view) is None:
                self._tell_over(view)
                return False
            if is_made(view):
                window = view.window() or sublime.active_window()
                return await self._written.undo_shown(window, view, note)
            return self._actions.reject_proposal(view, note)

    async def release_by_press(self, view: sublime.View) -> None:
        """Give up a diff after what the user has pressed before; its text stays as a tab."""
        record = waiting_record(view)
        if record is None:
            self._tell_over(view)
            return
        async with self._reviews.presses.take_place(record.id):
            if waiting_record(view) is None:
                self._tell_over(view)
            elif is_made(view):
                self._written.leave_review(view)
            else:
                self._actions.release_proposal(view)

    def handle_close(self, view: sublime.View) -> None:
        """The user closes the view: for a proposal, that is a rejection."""
        if is_made(view):
            self._written.leave_review(view)
            return
        self._accepting.handle_close(view)
        if is_diff(view):
            self._actions.handle_close(view)

    def _tell_over(self, view: sublime.View) -> None:
        self._messages.warn_user(OVER.format(name_of(view)))
