"""The parts that know what has changed in the work trees of agents."""

from __future__ import annotations

from ..work_trees.tree_lists import TreeLists
from ..work_trees.tree_reviews import TreeReviews
from ..work_trees.variant_texts import VariantTexts
from .diff_parts import DiffParts
from .foundation import Foundation


class TreeChangeParts:
    def __init__(self, base: Foundation, diffs: DiffParts) -> None:
        self.lists = TreeLists(base.trees, base.stories, base.messages.warn_user)
        self.reviews = TreeReviews(self.lists, diffs.reviews, diffs.unopened)
        self.variants = VariantTexts(self.lists, self.reviews, diffs.reviews, base.stories)

    def stop(self) -> None:
        self.lists.stop()
