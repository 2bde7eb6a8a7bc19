"""The list and the sheets of all changes, with what fills them and what is done in them."""

from __future__ import annotations

import sublime

from ..changes.change_list import ChangeList
from ..changes.change_sheets import ChangeSheets
from ..changes.deciding import Deciding
from ..changes.keeping import Keeping
from ..changes.proposal_source import ProposalSource
from ..changes.sheet_commands import SheetCommands
from ..changes.turn_edit_source import TurnEditSource
from ..changes.unasked_edit_source import UnaskedEditSource
from ..changes.undoing import Undoing
from ..review.edit_rows import ListedEdits
from ..unwritten_edits import UnwrittenEdits
from .diff_parts import DiffParts
from .foundation import Foundation
from .review_parts import ReviewParts


class ChangeParts:
    def __init__(self, base: Foundation, diffs: DiffParts, review: ReviewParts) -> None:
        reviews, history, tell = diffs.reviews, review.history, base.messages.tell_user
        undoing = Undoing(history, reviews.presses, tell)
        deciding = Deciding(reviews, undoing, tell)
        keeping = Keeping(reviews, review.single_changes, tell)
        sources = (
            ProposalSource(reviews, review.accepting, review.actions, review.returned, history),
            UnaskedEditSource(reviews, review.written, review.ledger.kept),
            TurnEditSource(reviews, review.written, review.ledger.turns),
        )
        self.sheets = ChangeSheets(sources, undoing, base.stories, tell)
        reviews.updates.subscribe(self.sheets.refresh_all)
        review.ledger.kept.changes.subscribe(self.sheets.refresh_all)
        self.commands = SheetCommands(self.sheets, deciding, keeping, reviews, base.stories, tell)
        listed: dict[str, ListedEdits] = {
            "waiting": review.queue,
            "unasked": review.unasked,
            "unwritten": UnwrittenEdits(base.companion, review.ledger, tell),
            "accepted": history,
        }
        self.list = ChangeList(listed, self.sheets, reviews, tell)
        self.looks = (self.sheets.look,)

    def start(self) -> None:
        self.sheets.resume()

    def stop(self) -> None:
        self.sheets.stop()

    def handle_close(self, view: sublime.View) -> None:
        """The user closes a view."""
        self.sheets.closing(view)
