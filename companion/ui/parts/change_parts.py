"""The list and the sheets of all changes, with what fills them and what is done in them. Each kind
of edit that is shown there stands here once."""

from __future__ import annotations

from dataclasses import dataclass

import sublime

from ...base.signal import Signal
from ..changes.change_list import ACCEPTED, UNASKED, UNWRITTEN, WAITING, ChangeList, ListedKind
from ..changes.change_sheets import ChangeSheets
from ..changes.deciding import Deciding
from ..changes.keeping import Keeping
from ..changes.proposal_source import ProposalSource
from ..changes.sheet_commands import SheetCommands
from ..changes.sources import Source
from ..changes.turn_edit_source import TurnEditSource
from ..changes.unasked_edit_source import UnaskedEditSource
from ..changes.undoing import Undoing
from ..unwritten_edits import UnwrittenEdits
from ..work_trees.tree_source import TreeSource
from .diff_parts import DiffParts
from .foundation import Foundation
from .review_parts import ReviewParts
from .tree_change_parts import TreeChangeParts


@dataclass(frozen=True)
class EditKind:
    """A kind of edit: its rows in the list, which the command calls `name`; its changes in the
    sheets, which are drawn anew when `updates` tells of others."""

    name: str
    listed: ListedKind | None = None
    source: Source | None = None
    updates: Signal | None = None


class ChangeParts:
    def __init__(
        self, base: Foundation, diffs: DiffParts, trees: TreeChangeParts, review: ReviewParts
    ) -> None:
        reviews, history, tell = diffs.reviews, review.history, base.messages.tell_user
        undoing = Undoing(history, reviews.presses, tell)
        deciding = Deciding(reviews, undoing, tell)
        keeping = Keeping(reviews, review.single_changes, tell)
        kinds = _edit_kinds(base, diffs, trees, review)
        sources = [kind.source for kind in kinds if kind.source is not None]
        self.sheets = ChangeSheets(sources, undoing, base.stories, tell)
        self.sheets.removals.subscribe(lambda gone: review.pace.note_gone(*gone))
        for kind in kinds:
            if kind.updates is not None:
                kind.updates.subscribe(self.sheets.refresh_all)
        # What happens in a work tree, nobody tells.
        self.sheets.looks.subscribe(lambda _view: trees.lists.look_if_due())
        self.commands = SheetCommands(
            self.sheets,
            deciding,
            keeping,
            review.pace,
            reviews,
            diffs.tabs,
            base.stories,
            tell,
        )
        listed = {kind.name: kind.listed for kind in kinds if kind.listed is not None}
        self.list = ChangeList(listed, self.sheets, reviews, tell)
        self.polls = (self.sheets.forget_closed,)

    def start(self) -> None:
        self.sheets.resume_sheets()

    def stop(self) -> None:
        self.sheets.stop()

    def handle_close(self, view: sublime.View) -> None:
        """The user closes a view."""
        self.sheets.handle_close(view)


def _edit_kinds(
    base: Foundation, diffs: DiffParts, trees: TreeChangeParts, review: ReviewParts
) -> tuple[EditKind, ...]:
    """All kinds, in the order of the list and of a sheet. The ledger counts them by their states,
    for the status bar."""
    reviews, history, ledger = diffs.reviews, review.history, review.ledger
    unwritten = UnwrittenEdits(base.companion, ledger, base.messages.tell_user)
    proposals = ProposalSource(reviews, review.accepting, review.actions, review.returned, history)
    unasked = UnaskedEditSource(reviews, review.written, ledger.made)
    of_turns = TurnEditSource(reviews, review.written, ledger.turns)
    in_trees = TreeSource(
        trees.lists,
        trees.reviews,
        review.tree_owner,
        trees.variants,
        reviews,
        review.accepting,
        review.actions,
        history,
        base.messages.tell_user,
    )
    return (
        EditKind("waiting", ListedKind(WAITING, review.queue), proposals, reviews.updates),
        EditKind("unasked", ListedKind(UNASKED, review.unasked), unasked, ledger.made.changes),
        EditKind("unwritten", ListedKind(UNWRITTEN, unwritten)),
        EditKind("accepted", ListedKind(ACCEPTED, history)),
        EditKind("of_turns", source=of_turns, updates=ledger.turns.changes),
        EditKind("in_trees", source=in_trees, updates=trees.lists.changes),
    )
