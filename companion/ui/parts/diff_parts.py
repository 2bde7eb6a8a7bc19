"""The parts that open and draw diffs, and move within them."""

from __future__ import annotations

import sublime

from ..review.next_edit import NextEdit
from ..review.proposal_opener import ProposalOpener
from ..review.record import waiting_record
from ..review.resting import Resting
from ..review.reviews import Reviews
from ..review.scrolling import Scrolling
from ..review.unopened_store import UnopenedStore
from ..review.unopened_tabs import UnopenedTabs
from ..review.unopened_texts import UnopenedTexts
from .foundation import Foundation


class DiffParts:
    """`store` keeps the proposals without tabs."""

    def __init__(self, base: Foundation, store: UnopenedStore) -> None:
        self.reviews = Reviews(base.stories, base.messages.tell_user)
        self.scrolling = Scrolling(self.reviews)
        self.resting = Resting(self.reviews)
        self.unopened = UnopenedTexts(store, base.stories, self.reviews)
        self.tabs = UnopenedTabs(
            base.stories,
            self.reviews,
            self.scrolling,
            base.keyboard,
            self.unopened.look_soon,
        )
        self.next_edit = NextEdit(self._show_next, base.messages.tell_user)
        self.opener = ProposalOpener(
            self.reviews,
            self.unopened,
            self.scrolling,
            self.next_edit,
            base.notices,
            base.keyboard,
            base.messages,
        )
        # First what mends the list of diffs that the others look at.
        self.polls = (
            self.unopened.look_at_all,
            self.reviews.forget_ended,
            self.scrolling.look_for_pairs,
        )

    def _show_next(self, right: sublime.View) -> None:
        """Go to the diff after another one, which was accepted, maybe in another window."""
        record = waiting_record(right)
        if record is not None:
            self.reviews.arrivals.emit(record.id)
        self.tabs.show(right)

    def stop(self) -> None:
        """Leave the diffs as they are for the next start."""
        self.unopened.stop()
        self.scrolling.stop()
        self.next_edit.stop()
        self.reviews.stop()
