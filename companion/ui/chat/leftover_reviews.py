"""Reviews of chats' edits that no agent waits for, as they are from before a restart, and what was
typed into reviews that did not come back. UI thread only."""

from __future__ import annotations

import os

import sublime

from .. import texts
from ..review.accepting import about_diff
from ..review.record import DiffRecord
from ..review.restoring import show_newer
from ..review.reviews import Reviews
from ..user_messages import UserMessages
from .asked_edits import keep_review, key_of, open_reviews
from .drafts import Drafts
from .edit_reviews import OVER, EditReviews

KEPT = (
    "{} no longer waits for {}, because the editor has ended since. The review is still open:"
    " accept it there to write the edit."
)
LOST = "The edit of {} was too large to be kept when the editor ended: ask the agent for it again."


class LeftoverReviews:
    """What is left for one companion, whose `edits` are those that agents wait for. `typed_texts`
    has what the user typed, by the ids of the diffs."""

    def __init__(
        self,
        edits: EditReviews,
        messages: UserMessages,
        shown_reviews: Reviews,
        typed_texts: Drafts,
        has_old_turns: bool,
    ) -> None:
        self._edits = edits
        self._messages = messages
        self._reviews = shown_reviews
        self._typed = typed_texts
        # Whether turns from before the last start may still run, and be heard of again.
        self.has_old_turns = has_old_turns

    def settle_all(self) -> None:
        """Keep or give back what is left. To be called from time to time."""
        views = list(open_reviews())
        for view, record in views:
            if not self._edits.is_asked(key_of(record)):
                self._settle_review(view, record)
        known = self._edits.typed_ids | {record.id for _, record in views}
        for id, path, text in self._typed.other_drafts(known):
            self._typed.forget(id)
            texts.return_text(sublime.active_window(), path, text, OVER)

    def _settle_review(self, view: sublime.View, record: DiffRecord) -> None:
        saved = self._typed.text_of(record.id)
        self._typed.forget(record.id)
        if record.is_whole:
            show_newer(view, record, saved)
        if self.has_old_turns or not record.is_restored:
            self._edits.put_away(view)
            return
        name = os.path.basename(record.path)
        if record.is_whole:
            keep_review(view, record)
            sentence = KEPT.format(record.proposer, name)
            self._messages.warn_user(sentence, about_diff(record.id))
        else:
            self._edits.put_away(view)
            self._messages.warn_user(LOST.format(name))
        self._reviews.drawing.draw_head(view)
