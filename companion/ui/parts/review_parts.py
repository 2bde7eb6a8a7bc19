"""The parts with which the user decides on edits, and what becomes of what they decided."""

from __future__ import annotations

import os

import sublime

from ...edits.ledger import EditLedger
from ..review.accepting import Accepting, about_diff
from ..review.actions import Actions
from ..review.conflicts import Conflicts
from ..review.diff_decisions import DiffDecisions
from ..review.diff_kinds import CHAT, GIVEN_BACK, SESSION, TREE, kind_of
from ..review.history import EditHistory, open_windows
from ..review.notes import Notes
from ..review.open_diffs import asked_edits
from ..review.owners import CliSessions, Owner, WordsToClis
from ..review.pace import Pace
from ..review.queue import ReviewQueue
from ..review.record import DiffRecord
from ..review.returned import Returned
from ..review.single_changes import SingleChanges
from ..review.typed_text_saver import TypedTextSaver
from ..review.unasked import Unasked
from ..review.written_reviews import WrittenReviews
from ..work_trees.tree_owner import TreeOwner
from .diff_parts import DiffParts
from .foundation import Foundation
from .tree_change_parts import TreeChangeParts


class ReviewParts:
    """`chat_edits` own the diffs of edits that chats ask about, and `trees` know what agents have
    changed in work trees. `cache` is the folder in which accepted edits are kept."""

    def __init__(
        self,
        base: Foundation,
        diffs: DiffParts,
        trees: TreeChangeParts,
        chat_edits: Owner,
        cache: str,
    ) -> None:
        self._stories = base.stories
        companion, messages, stories = base.companion, base.messages, base.stories
        reviews, told = diffs.reviews, (messages.tell_user, messages.warn_user)
        tell, warn = told
        ledger = self.ledger = EditLedger(open_windows, asked_edits)
        self.history = EditHistory(companion, ledger, *told, os.path.join(cache, "edits"))
        self.conflicts = Conflicts(companion, stories, reviews, tell)
        self.words = WordsToClis(companion, stories, *told)
        self.written = WrittenReviews(
            companion,
            stories,
            messages,
            base.keyboard,
            reviews,
            diffs.scrolling,
            self.words,
            ledger,
        )
        self.returned = Returned(
            stories, messages, base.keyboard, reviews, diffs.unopened, self.words
        )
        sessions = CliSessions(companion, self.words)
        in_trees = trees.lists, trees.reviews, trees.variants
        self.tree_owner = TreeOwner(*in_trees, stories, messages, self.words, ledger.made)
        self.history.undone.subscribe(self.tree_owner.hear_undone)
        self._owners = {
            SESSION: sessions,
            CHAT: chat_edits,
            GIVEN_BACK: self.returned,
            TREE: self.tree_owner,
        }
        self.actions = Actions(
            companion, messages, base.keyboard, reviews, self._owners, diffs.tabs
        )
        self.accepting = Accepting(reviews, self.actions, self.conflicts, ledger, diffs.tabs, *told)
        self.decisions = DiffDecisions(
            reviews, messages, self.accepting, self.actions, self.written
        )
        self.single_changes = SingleChanges(reviews, tell, self.decisions.reject_diff)
        self.queue = ReviewQueue(ledger, reviews, diffs.tabs.show, tell)
        self.unasked = Unasked(ledger, self.written, self.queue, base.trees, tell)
        self.notes = Notes(reviews, warn, self.decisions.reject_by_press)
        self.typed_texts = TypedTextSaver(self.save_typed)
        self._unopened = diffs.unopened
        self._unopened.wait_for_edits(lambda: self.history.is_saved)
        for follow in (self.typed_texts, diffs.resting, diffs.unopened):
            diffs.unopened.unnoticed.subscribe(follow.note_modified)
        self.pace = Pace()
        reviews.arrivals.subscribe(self.pace.note_arrival)
        reviews.ends.subscribe(self.pace.note_end)
        reviews.ends.subscribe(lambda id: messages.withdraw_warning(about_diff(id)))
        self.polls = (self.conflicts.look_for_changes,)

    def start(self) -> None:
        self._stories.begin(self._load_history())

    def stop(self) -> None:
        """Keep what was typed."""
        self.history.stop()
        for window in sublime.windows():
            self.save_window(window)

    def save_window(self, window: sublime.Window) -> None:
        """Keep what was typed in the last moment."""
        self.typed_texts.save_all(window)
        self._unopened.save_window(window)

    def handle_close(self, view: sublime.View) -> None:
        """The user closes a view."""
        self.decisions.handle_close(view)

    def save_typed(self, record: DiffRecord, text: str) -> None:
        """Keep what the user has typed into a diff; of an edit that is made already, its view does
        so."""
        owner = self._owners.get(kind_of(record))
        if owner is not None:
            owner.hear_typing(record, text)

    async def _load_history(self) -> None:
        await self.history.load_edits()
        self.written.resume_reviews()
