"""What the user decides on a diff of whatever kind: a proposal is decided by whoever waits for it,
an edit that is made already by what is done to its file. UI thread only."""

from __future__ import annotations

from abc import ABC, abstractmethod

import sublime

from ..user_messages import UserMessages
from .accepting import Accepting
from .actions import Actions
from .diff_kinds import is_made
from .open_diffs import name_of
from .record import is_diff, waiting_record
from .reviews import OVER, Reviews
from .written_reviews import WrittenReviews


class Decider(ABC):
    """Does what the user decides on diffs."""

    @abstractmethod
    async def accept_diff(self, window: sublime.Window, view: sublime.View) -> bool:
        """Accept the diff; if there are doubts, ask in the window first. Gives whether it was
        accepted."""

    @abstractmethod
    def reject_diff(self, view: sublime.View, note: str = "") -> bool:
        """Reject the diff and close it, or begin to. False if the decision could not be
        reported."""

    async def finish_rejection(self, view: sublime.View, note: str = "") -> bool:
        """Reject the diff, and wait until that is done; gives whether it was."""
        return self.reject_diff(view, note)

    @abstractmethod
    def release_diff(self, view: sublime.View) -> None:
        """Close the diff without a decision; what the user typed stays as a tab."""

    @abstractmethod
    def handle_close(self, view: sublime.View) -> None:
        """The user closes the view."""


class ProposalDecider(Decider):
    """Decides proposals: whoever waits for one is told, and closing it is a rejection."""

    def __init__(self, accepting: Accepting, actions: Actions) -> None:
        self._accepting = accepting
        self._actions = actions

    async def accept_diff(self, window: sublime.Window, view: sublime.View) -> bool:
        return await self._accepting.accept_proposal(window, view) is not None

    def reject_diff(self, view: sublime.View, note: str = "") -> bool:
        return self._actions.reject_proposal(view, note)

    def release_diff(self, view: sublime.View) -> None:
        self._actions.release_proposal(view)

    def handle_close(self, view: sublime.View) -> None:
        self._accepting.handle_close(view)
        if is_diff(view):
            self._actions.handle_close(view)


class MadeEditDecider(Decider):
    """Decides edits that are made already: what is decided is done to the file, and closing the
    review decides nothing."""

    def __init__(self, written: WrittenReviews) -> None:
        self._written = written

    async def accept_diff(self, window: sublime.Window, view: sublime.View) -> bool:
        return await self._written.keep_edit(window, view)

    def reject_diff(self, view: sublime.View, note: str = "") -> bool:
        return self._written.begin_undo(view, note)

    async def finish_rejection(self, view: sublime.View, note: str = "") -> bool:
        window = view.window() or sublime.active_window()
        return await self._written.undo_shown(window, view, note)

    def release_diff(self, view: sublime.View) -> None:
        self._written.leave_review(view)

    def handle_close(self, view: sublime.View) -> None:
        self._written.leave_review(view)


class DiffDecisions:
    """The decisions on all diffs of one companion."""

    def __init__(
        self, reviews: Reviews, messages: UserMessages, proposals: Decider, made: Decider
    ) -> None:
        self._reviews = reviews
        self._messages = messages
        self._proposals = proposals
        self._made = made

    async def accept_diff(self, window: sublime.Window, view: sublime.View) -> bool:
        """Accept a diff; if there are doubts, ask in the window first. Gives whether it was
        accepted."""
        return await self._decider_of(view).accept_diff(window, view)

    def reject_diff(self, view: sublime.View, note: str = "") -> bool:
        """Reject a diff, unless somebody else has decided, and close it. False if the decision
        could not be reported. An edit that is made already begins to be undone."""
        return self._decider_of(view).reject_diff(view, note)

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
            return await self._decider_of(view).finish_rejection(view, note)

    async def release_by_press(self, view: sublime.View) -> None:
        """Give up a diff after what the user has pressed before; its text stays as a tab."""
        record = waiting_record(view)
        if record is None:
            self._tell_over(view)
            return
        async with self._reviews.presses.take_place(record.id):
            if waiting_record(view) is None:
                self._tell_over(view)
            else:
                self._decider_of(view).release_diff(view)

    def handle_close(self, view: sublime.View) -> None:
        """The user closes the view: for a proposal, that is a rejection."""
        self._decider_of(view).handle_close(view)

    def _tell_over(self, view: sublime.View) -> None:
        self._messages.warn_user(OVER.format(name_of(view)))

    def _decider_of(self, view: sublime.View) -> Decider:
        """What is decided already is told as a proposal is."""
        return self._made if is_made(view) else self._proposals
