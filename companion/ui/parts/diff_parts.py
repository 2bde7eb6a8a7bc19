"""The parts that open and draw diffs, and move within them."""

from __future__ import annotations

from ..review.next_edit import NextEdit
from ..review.proposal_opener import ProposalOpener
from ..review.resting import Resting
from ..review.reviews import Reviews
from ..review.scrolling import Scrolling
from .foundation import Foundation


class DiffParts:
    def __init__(self, base: Foundation) -> None:
        self.reviews = Reviews(base.stories, base.messages.tell_user)
        self.scrolling = Scrolling(self.reviews)
        self.resting = Resting(self.reviews)
        self.next_edit = NextEdit(base.messages.tell_user)
        self.opener = ProposalOpener(
            self.reviews,
            self.scrolling,
            self.next_edit,
            base.notices,
            base.keyboard,
            base.messages,
        )
        self.polls = (self.reviews.forget_ended, self.scrolling.look_for_pairs)

    def stop(self) -> None:
        """Leave the diffs as they are for the next start."""
        self.scrolling.stop()
        self.next_edit.stop()
        self.reviews.stop()
