"""What the user has made of the variants of a file, by dropping changes and by typing, when their
decisions make another file of their own. A review takes over by itself what they accepted of
another variant, or undid; and one that waits again after an undo has what they had made of it. What
else has changed the file is not taken over: they are asked about it. UI thread only.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import sublime

from ...base.comparison import Comparison, compare_texts
from ...base.file_content import Original
from ...base.merge import Merged, merge_texts
from ...base.text_digest import text_digest
from ...work_trees.inside import path_in
from ...work_trees.merging import merge_change
from ...work_trees.taken import Taken, content_digest
from ...work_trees.tree_changes import SidesFailure, TreeChange, TreeReader, read_side
from .. import application, texts
from ..ordered_work import OrderedWork
from ..review import ending, open_diffs, pair
from ..review.conflicts import MARKS
from ..review.record import note_taken_over, update_record, waiting_record
from ..review.review import Review
from ..review.reviews import Reviews
from ..stories import Stories, run_in_thread
from .sides import Sides, read_sides
from .tree_lists import TreeLists
from .tree_reviews import TreeReviews


class MadeText(NamedTuple):
    """What the user has made of a variant: the `text`, and the text `base` of their own file that
    it was made of. The file in the tree had that digest, empty for none."""

    base: str
    text: str
    tree_digest: str


class _TakenOver(NamedTuple):
    """What was merged when something was taken over last, and what came of it."""

    base: str
    text: str
    result: str


class _Anew(NamedTuple):
    merged: Merged
    comparison: Comparison
    sides: Sides | None


class VariantTexts:
    """Those of one companion."""

    def __init__(
        self, lists: TreeLists, tree_reviews: TreeReviews, reviews: Reviews, stories: Stories
    ) -> None:
        self._lists = lists
        self._tree_reviews = tree_reviews
        self._reviews = reviews
        self._stories = stories
        # By the ids of the diffs.
        self._taken_over: dict[str, _TakenOver] = {}
        # The lines in which undone decisions wait, by the paths of the user's files.
        self.undone = OrderedWork()

    def has_others(self, path: str) -> bool:
        """Whether reviews of variants of the user's file wait."""
        return any(record.path == path for _view, record in self._tree_reviews.all_views())

    def made_of(self, view: sublime.View) -> MadeText | None:
        """What the user has made in the review; None for nothing."""
        record, review = waiting_record(view), self._reviews.review_of(view)
        if record is None or review is None or self._tree_reviews.is_untouched(view):
            return None
        return MadeText(review.original, texts.text_of(view), record.tree_digest)

    def take_over(self, path: str, before: str, own: Original, unsaved: str | None = None) -> None:
        """By a decision of the user their file is `own` now, with that `unsaved` text of its tab,
        None for none; its text was `before`. What is pressed in its reviews from now on comes after
        that."""
        shown = own if unsaved is None else replace(own, text=unsaved)
        found = [record.id for _view, record in self._tree_reviews.all_views()]
        self._taken_over = {id: each for id, each in self._taken_over.items() if id in found}
        for _view, record in list(self._tree_reviews.all_views()):
            if record.path == path:
                self._stories.begin(self._take_over(record.id, before, shown, unsaved))

    async def _take_over(self, id: str, before: str, own: Original, unsaved: str | None) -> None:
        async with self._reviews.presses.take_place(id):
            # Again, if the user types meanwhile.
            while not await self._merge(id, before, own, unsaved):
                pass

    async def _merge(self, id: str, before: str, own: Original, unsaved: str | None) -> bool:
        """False if the text has changed meanwhile."""
        view = open_diffs.with_id(id)
        review = self._reviews.review_of(view) if view is not None else None
        if view is None or review is None or review.original != before:
            return True
        text, count = texts.text_of(view), view.change_count()
        earlier = self._taken_over.get(id)
        if earlier is not None and earlier.result == text:
            base, mine = earlier.base, earlier.text
        elif ending.conflict_marks(view):
            # There would be marks within marks.
            return True
        else:
            base, mine = before, text
        sides = self._tree_reviews.opened.get(id)
        found = await run_in_thread(
            partial(_merge_anew, base, mine, own.text, text, sides, unsaved)
        )
        if found is None or waiting_record(view) is None or self._reviews.with_id(id) is not review:
            return found is None or open_diffs.with_id(id) is None
        if view.change_count() != count:
            return False
        self._taken_over[id] = _TakenOver(base, mine, found.merged.text)
        if found.sides is not None:
            self._tree_reviews.opened[id] = found.sides
        self._show_merged(view, review, found, own, unsaved)
        return True

    def _show_merged(
        self,
        view: sublime.View,
        review: Review,
        found: _Anew,
        own: Original,
        unsaved: str | None,
    ) -> None:
        record, count = waiting_record(view), view.change_count()
        if record is None:
            return
        known = text_digest(texts.text_of(view))
        note_taken_over(view, known)
        texts.replace_rows(view, found.comparison)
        text = found.merged.text
        update_record(
            view,
            record,
            unsaved_digest="" if unsaved is None else text_digest(unsaved),
            has_conflicts=bool(found.merged.conflicts),
            proposed_digest=text_digest(text)
            if known == record.proposed_digest
            else record.proposed_digest,
            # One of which all was dropped stays so.
            dropped_digest=text_digest(text) if text == own.text else record.dropped_digest,
        )
        review.taken_over.setdefault(view.change_count(), count)
        pair.show_original(view, own)
        self._reviews.begin_review(view, own.text)
        self._reviews.set_note(view, MARKS, ending.conflicts_said(view))

    async def bring_back(
        self, wanted: sublime.Window, tree: str, path: str, made: MadeText
    ) -> None:
        """A decision on the tree's file at the path was undone: its review waits with what the user
        had made of it, in the wanted window if that has the tree."""
        await self._lists.look_again()
        # Again, if it is listed as another one meanwhile.
        while not await self._bring_back(wanted, tree, path, made):
            pass

    async def _bring_back(
        self, wanted: sublime.Window, tree: str, path: str, made: MadeText
    ) -> bool:
        """False if the change has become another one meanwhile."""
        window = self._window_of(tree, wanted)
        found, reader = self._lists.with_id(tree), self._lists.reader_of(tree)
        change = found.by_path.get(path) if found is not None else None
        if window is None or found is None or reader is None or change is None:
            return True
        own = path_in(found.tree.root, change.old_path)
        own = self._lists.trees.path_in_window(window, own)
        tab = texts.unsaved_view(own)
        unsaved = texts.text_of(tab) if tab is not None else None
        work = partial(_read_with, reader, found.taken, change, unsaved, made)
        anew = await run_in_thread(work)
        now = self._lists.with_id(tree)
        if now is None or now.by_path.get(path) != change:
            return False
        is_elsewhere = self._lists.is_shown_elsewhere(tree, path)
        if anew is None or is_elsewhere or self._tree_reviews.find_view(tree, path) is not None:
            return True
        sides, merged = anew
        if merged.text != sides.merged.text:
            self._tree_reviews.open_review(window, sides, own, merged.text)
            self._lists.changes.emit()
        return True

    def _window_of(self, tree: str, wanted: sublime.Window) -> sublime.Window | None:
        """Windows of an earlier run had other ids."""
        for window in sorted(application.all_windows(), key=lambda each: each != wanted):
            if any(each.id == tree for each in self._lists.trees.in_window(window)):
                return window
        return None


def _merge_anew(
    base: str, mine: str, own: str, shown: str, sides: Sides | None, unsaved: str | None
) -> _Anew:
    """Runs in a thread."""
    merged = merge_texts(base, mine, own)
    if sides is not None:
        try:
            content = read_side(sides.tree.root, sides.change.old_path)
        except SidesFailure:
            content = sides.own
        change = merge_change(sides.left, sides.right, content, unsaved)
        sides = replace(sides, own=content, merged=change, unsaved=unsaved)
    return _Anew(merged, compare_texts(shown, merged.text), sides)


def _read_with(
    reader: TreeReader,
    taken: Taken,
    change: TreeChange,
    unsaved: str | None,
    made: MadeText,
) -> tuple[Sides, Merged] | None:
    """The sides, and what the user's text becomes; None if the file is another one by now. Runs in
    a thread."""
    sides = read_sides(reader, taken, change, unsaved)
    digest = content_digest(sides.right.data) if sides.right.mode else ""
    if digest != made.tree_digest or not sides.is_shown:
        return None
    return sides, merge_texts(made.base, made.text, sides.merged.own.text)
