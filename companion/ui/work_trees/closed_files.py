"""Decides on files of work trees without a review: one that is no text is taken whole, any other is
left in the tree; and takes that back. UI thread only."""

from __future__ import annotations

import os
from functools import partial
from typing import Callable, Iterable, Sequence

import sublime

from ...work_trees.inside import TreeContent
from ...work_trees.own_files import WholeStep
from ...work_trees.taken import TreeDecision
from ...work_trees.work_tree import WorkTree
from ..changes.sources import UndoStep
from ..stories import run_in_thread
from .sides import Sides
from .tree_file import TreeFile
from .tree_lists import SEE_LOG, TreeLists
from .tree_owner import TreeOwner
from .variant_texts import MadeText, VariantTexts
from .whole_files import is_theirs_wanted, replace_all, take_whole

NOT_TAKEN = "{}: nothing was written. {}"
NOT_DECIDED = "{}: nothing is decided. {}"
NOT_SEEN = "It has changed meanwhile. Look at it again."
NO_LONGER = "It was decided on again meanwhile."
TAKEN = "{} is taken over."


class ClosedFiles:
    """Those of one companion."""

    def __init__(
        self,
        lists: TreeLists,
        owner: TreeOwner,
        variants: VariantTexts,
        tell: Callable[[str], None],
    ) -> None:
        self._lists = lists
        self._owner = owner
        self._variants = variants
        self._tell = tell

    async def accept_whole(
        self, window: sublime.Window, file: TreeFile, sides: Sides, asks: bool
    ) -> UndoStep | None:
        """What is no text takes the place of the user's file, if that is as at the beginning, or if
        they say so."""
        whole = sides.whole
        if whole is None and sides.rival is not None:
            is_wanted = await is_theirs_wanted(window, sides) if asks else None
            if not is_wanted:
                return await self.leave_file(file) if is_wanted is False else None
            whole = sides.rival
        if whole is None:
            self._tell(NOT_TAKEN.format(os.path.basename(file.path), sides.merged.note))
            return None
        return await self._take_whole(file, sides, whole)

    async def _take_whole(
        self, file: TreeFile, sides: Sides, whole: TreeContent
    ) -> UndoStep | None:
        name = os.path.basename(file.path)
        steps = await run_in_thread(partial(take_whole, sides, whole))
        if steps is None or isinstance(steps, str):
            self._tell(steps or NOT_TAKEN.format(name, SEE_LOG))
            return None
        self._tell(TAKEN.format(name))
        made = await self._owner.note_decision(sides, is_whole=True)
        return UndoStep(partial(self._take_back_whole, sides.tree, steps, made))

    async def _take_back_whole(
        self,
        tree: WorkTree,
        steps: Sequence[WholeStep],
        made: Sequence[TreeDecision],
        window: sublime.Window,
    ) -> str:
        back = [(path, after, before) for path, before, after in reversed(steps)]
        problem = await run_in_thread(partial(replace_all, tree.root, back))
        if problem is None or problem:
            return problem or SEE_LOG
        self._lists.take_back(tree.id, made)
        return ""

    async def leave_file(self, file: TreeFile) -> UndoStep | None:
        """Decide that it stays in the tree as it is, also if nobody can read it."""
        reader, tree = self._lists.reader_of(file.found.tree.id), file.found.tree.id
        made = await self._owner.note_left(reader, file.change) if reader is not None else None
        if made is not None and not made:
            self._lists.look_again()
            self._tell(NOT_DECIDED.format(os.path.basename(file.path), NOT_SEEN))
        if not made:
            return None
        return self.undo_of_left(tree, file.change.path, file)

    def undo_of_left(
        self, tree: str, path: str, file: TreeFile | None, made: MadeText | None = None
    ) -> UndoStep:
        """Takes back that it stays in the tree; `made` is what the user had made in its review."""
        paths = {path} if file is None else {path, file.change.path, file.change.old_path}
        return UndoStep(partial(self._show_again, tree, path, paths, made))

    async def _show_again(
        self,
        tree: str,
        path: str,
        paths: Iterable[str],
        made: MadeText | None,
        window: sublime.Window,
    ) -> str:
        """The last decision on the file was that it stays in the tree; take that back."""
        found = self._lists.with_id(tree)
        known = found.taken.decided if found is not None else {}
        decisions = [known[path] for path in paths if path in known and not known[path].edit]
        self._lists.take_back(tree, decisions)
        if decisions and made is not None:
            await self._variants.bring_back(window, tree, path, made)
        return "" if decisions else NO_LONGER
