"""The reviews of files that agents have changed in work trees. UI thread only.

A review is a hidden view, made when the user changes or accepts something of a file: a tree may
have hundreds. Its left side is the user's file with what its tab has unsaved, and its right side is
what becomes of it, the three-way merge with the tree's. So it is a diff like those of proposals.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Iterator

import sublime

from ...base.merge import has_marks
from ...base.text_digest import text_digest
from ...ide.editor import Proposal
from ...work_trees.taken import content_digest
from ...work_trees.work_tree import WorkTree
from .. import application, queues, texts
from ..known_trees import PLACE
from ..review import ending, opening
from ..review.open_diffs import undecided_diffs
from ..review.record import (
    DiffRecord,
    Origin,
    seen_changes,
    stored_comments,
    update_record,
    waiting_record,
)
from ..review.reviews import Reviews
from ..review.unopened_texts import UnopenedTexts
from .sides import Sides
from .tree_lists import TreeLists

SINCE = "The file has changed again since this was opened. What is new waits until you decide."
# The subjects of notes at the head.
NOTE, CHANGED = "tree", "tree changed"


class TreeReviews:
    """The reviews of one companion. `opened` has the sides of those that were opened in this run,
    by the ids of their diffs."""

    def __init__(self, lists: TreeLists, reviews: Reviews, unopened: UnopenedTexts) -> None:
        self._lists = lists
        self._reviews = reviews
        self._unopened = unopened
        self.opened: dict[str, Sides] = {}
        lists.changes.subscribe(queues.Once(self.look_at_all))

    def all_views(self) -> Iterator[tuple[sublime.View, DiffRecord]]:
        """Those that wait, in any window."""
        for window in application.all_windows():
            for view, record in undecided_diffs(window):
                if record.tree:
                    yield view, record

    def find_view(self, tree: str, path: str) -> sublime.View | None:
        """The right view of the review of a file."""
        for view, record in self.all_views():
            if (record.tree, record.tree_path) == (tree, path):
                return view
        return None

    def open_review(
        self, window: sublime.Window, sides: Sides, path: str, made: str | None = None
    ) -> sublime.View:
        """Open the review of a file that can be shown; `path` is the user's file. If they `made`
        another text of it before, it has that."""
        tree, merged = sides.tree, sides.merged
        digest = content_digest(sides.right.data) if sides.right.mode else ""
        unsaved = "" if sides.unsaved is None else text_digest(sides.unsaved)
        origin = Origin(
            tree=tree.id,
            tree_path=sides.change.path,
            tree_digest=digest,
            unsaved_digest=unsaved,
        )
        proposal = Proposal(
            f"tree {tree.id}",
            path,
            merged.text or "",
            client=label_of(tree),
            opened_at=time.time(),
        )
        view = opening.open_unopened(window, proposal, merged.own, origin)
        record = waiting_record(view)
        if record is not None:
            record = update_record(view, record, has_conflicts=bool(merged.conflicts))
            self.opened[record.id] = sides
        if record is not None and made is not None:
            texts.replace_view_text(view, made)
            dropped = text_digest(made) if made == merged.own.text else ""
            update_record(view, record, has_conflicts=has_marks(made), dropped_digest=dropped)
        self._unopened.keep_view(view)
        self._unopened.look_soon()
        self._reviews.begin_review(view, merged.own.text)
        review = self._reviews.review_of(view)
        if review is not None and merged.note:
            review.notes[NOTE] = merged.note
        return view

    def close_review(self, view: sublime.View) -> None:
        """Close it without a decision; what the user did in it is not kept."""
        claimed = ending.claim_diff(view)
        if claimed is not None:
            self.opened.pop(claimed.record.id, None)
            queues.on_ui_thread(partial(ending.close_diff, claimed, None))
            self._reviews.forget_soon()

    def is_untouched(self, view: sublime.View) -> bool:
        """Whether the user has done nothing in it."""
        record = waiting_record(view)
        is_proposed = (
            record is not None and text_digest(texts.text_of(view)) == record.proposed_digest
        )
        return is_proposed and not (seen_changes(view) or stored_comments(view))

    def look_at_all(self) -> None:
        """Reviews of what is another by now are closed if the user has done nothing in them: the
        file is shown as it is now. Else the user is told."""
        known = self._lists
        for view, record in list(self.all_views()):
            found, sides = known.with_id(record.tree), self.opened.get(record.id)
            if found is None or self._reviews.presses.is_busy(record.id):
                continue
            change = found.by_path.get(record.tree_path)
            if sides is not None and change == sides.change:
                continue
            if record.is_unopened and self.is_untouched(view):
                self.close_review(view)
            elif sides is not None and change is not None and change.right != sides.change.right:
                self._reviews.set_note(view, CHANGED, SINCE)
        waiting = {record.id for _view, record in self.all_views()}
        self.opened = {id: sides for id, sides in self.opened.items() if id in waiting}


def label_of(tree: WorkTree) -> str:
    """What it is called in a sentence."""
    return PLACE.format(tree.name)
