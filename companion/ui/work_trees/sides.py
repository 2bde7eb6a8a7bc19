"""A change of a work tree with its sides, as they were read, and what it makes of the user's file.
No view is touched here."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from ...base.digest import LARGE
from ...work_trees.inside import (
    ABSENT,
    FILES,
    LINK,
    OTHER,
    REPOSITORY,
    Found,
    TreeContent,
    look_at,
)
from ...work_trees.merging import MergedChange, merge_change
from ...work_trees.taken import Taken, TreeDecision, content_digest, store_text
from ...work_trees.tree_changes import (
    SidesFailure,
    TreeChange,
    TreeReader,
    mark_digest,
    read_side,
)
from ...work_trees.work_tree import WorkTree


@dataclass(frozen=True)
class Sides:
    """`left` is what was at the beginning, `right` what is in the tree and `own` what the user has;
    `unsaved` is the text of their tab, None if that has nothing unsaved."""

    tree: WorkTree
    change: TreeChange
    left: TreeContent
    right: TreeContent
    own: TreeContent
    merged: MergedChange
    unsaved: str | None = None

    @property
    def is_shown(self) -> bool:
        """Whether it is a text that can be shown whole."""
        text = self.merged.text
        return text is not None and max(len(text), len(self.merged.own.text)) <= LARGE

    @property
    def whole(self) -> TreeContent | None:
        """What takes the place of the user's file if it is not shown; None if nothing may."""
        merged = self.merged
        if merged.text is None:
            return merged.whole
        if merged.is_removal or merged.exact is None or self.unsaved is not None:
            return None
        return TreeContent(merged.mode, merged.exact)

    @property
    def rival(self) -> TreeContent | None:
        """What the user may choose in the place of their own, which they have changed too; None if
        there is no such choice."""
        are_files = self.right.is_file and self.own.mode in (ABSENT, *FILES)
        is_choice = are_files and not self.is_shown and self.whole is None
        return self.right if is_choice and self.unsaved is None else None


def read_sides(
    reader: TreeReader, taken: Taken, change: TreeChange, unsaved: str | None = None
) -> Sides:
    """May take some time. Raises SidesFailure, GitFailure."""
    left = reader.read_left(change, taken)
    is_repository = change.right.mode == REPOSITORY
    # Nothing of one is read.
    right = TreeContent(REPOSITORY) if is_repository else reader.read_right(change)
    own = read_side(reader.tree.root, change.old_path)
    merged = merge_change(left, right, own, unsaved)
    return Sides(reader.tree, change, left, right, own, merged, unsaved)


def is_as_listed(tree: WorkTree, change: TreeChange) -> bool:
    """Whether nobody has written since what the tree has of it. Blocks."""
    if change.right.mode == REPOSITORY:
        # Nothing of it is read.
        return True
    found = Found(OTHER, None)
    with suppress(OSError):
        found = look_at(tree.path, change.path)
    return found == change.right


def read_again(reader: TreeReader, taken: Taken, change: TreeChange, digest: str) -> Sides | None:
    """The sides, if the tree's file is still the one of that digest, empty for none. Raises
    SidesFailure, GitFailure."""
    sides = read_sides(reader, taken, change)
    now = content_digest(sides.right.data) if sides.right.mode else ""
    return sides if now == digest else None


def decide_on(
    sides: Sides, folder: str, is_whole: bool = False, edits: tuple[str, ...] = ()
) -> tuple[TreeDecision, ...]:
    """The decision on what was read, whose text is kept in the folder; of a renamed file on both
    paths, the first edit being that of the old one. Blocks. Raises OSError."""
    right, change, own = sides.right, sides.change, sides.own
    digest = store_text(folder, right.data) if right.mode else ""
    unsaved = ""
    if edits and sides.unsaved is not None:
        unsaved = store_text(folder, sides.unsaved.encode("utf-8", "surrogatepass"))
    own_mode = own.mode if own.mode in FILES else ""
    new, old = (edits[-1], edits[0]) if edits else ("", "")
    decision = TreeDecision(change.path, right.mode, digest, new, is_whole)
    if change.is_renamed:
        gone = TreeDecision(change.old_path, "", "", old, is_whole, own_mode, unsaved)
        return gone, decision
    return (TreeDecision(change.path, right.mode, digest, new, is_whole, own_mode, unsaved),)


def decide_to_leave(
    reader: TreeReader, change: TreeChange, folder: str
) -> tuple[TreeDecision, ...]:
    """The decision that all stays in the tree as it was listed, also what cannot be read; of a
    renamed file on both paths. Nothing if it is another by now. Blocks. Raises OSError."""
    content, digest = TreeContent(OTHER), mark_digest(change.right)
    with suppress(SidesFailure):
        content = reader.read_right(change)
    # What is written after this look was not read.
    if not is_as_listed(reader.tree, change):
        return ()
    if content.mode in (*FILES, LINK):
        digest = store_text(folder, content.data)
    elif change.right.mode == ABSENT:
        digest = ""
    made = TreeDecision(change.path, change.right.mode, digest, is_whole=False)
    gone = TreeDecision(change.old_path, is_whole=False)
    return (gone, made) if change.is_renamed else (made,)
