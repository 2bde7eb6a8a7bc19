"""Takes back decisions on files of work trees whose edits the user has undone: the files are shown
again, with what the user had made of them, and what an undone edit does not have is restored. UI
thread only; the disk has threads of its own."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import NamedTuple, Sequence

from ...base.log import logger
from ...edits.edit import Edit
from ...work_trees.inside import set_mode
from ...work_trees.taken import Taken, TreeDecision
from ...work_trees.work_tree import WorkTree
from .. import application, texts
from ..ordered_work import UnderWay
from ..stories import run_in_thread, sleep
from .tree_lists import TreeLists
from .variant_texts import MadeText, VariantTexts

# Milliseconds between checks whether a tab shows its file again, and how many of them.
LOADING, CHECKS = 20, 250
# The name of a tab.
UNSAVED = "your unsaved changes"


class _Undone(NamedTuple):
    """A decision on a file of the tree that was taken back; `taken` has its texts."""

    tree: WorkTree
    taken: Taken
    decision: TreeDecision


class UndoneDecisions:
    """Those of one companion; files that are `under_way` are not shown."""

    def __init__(self, lists: TreeLists, variants: VariantTexts, under_way: UnderWay) -> None:
        self._lists = lists
        self._variants = variants
        self._under_way = under_way

    async def take_back(self, edit: Edit) -> None:
        """The decisions that this edit of the user's file came from."""
        if not self._lists.is_complete:
            # It was accepted before a restart, of which not all is known again.
            await self._lists.trees.look_again()
            await self._lists.look_again()
        undone: list[_Undone] = []
        for found in self._lists.all_lists():
            decisions = found.taken.of_edit(edit.id)
            if decisions:
                self._lists.take_back(found.tree.id, decisions)
                undone += [_Undone(found.tree, found.taken, decision) for decision in decisions]
        if undone:
            with ExitStack() as held:
                # They are shown with what the user had made of them.
                for tree, _taken, decision in undone:
                    held.enter_context(self._under_way.hold((tree.id, decision.path)))
                await self._restore_all(edit, undone)
            self._lists.changes.emit()

    async def _restore_all(self, edit: Edit, undone: Sequence[_Undone]) -> None:
        """Restore what an undone edit does not have: the mode of the file, what its tab had
        unsaved, and what the user had made of the variants."""
        async with self._variants.undone.take_place(edit.path):
            unsaved = None
            for tree, taken, decision in undone:
                restored = await self._restore_rest(tree, taken, decision, edit)
                unsaved = restored if restored is not None else unsaved
            view = texts.unsaved_view(edit.path)
            if view is None or texts.text_of(view) == unsaved:
                own = None if view is None else unsaved
                # One may have come back meanwhile, without what the tab has again now.
                for before in (edit.after or "", edit.before.text):
                    self._variants.take_over(edit.path, before, edit.before, own)
            window = application.window_of(edit.window_id)
            for tree, _taken, decision in undone:
                if not (decision.is_whole or edit.is_removal):
                    made = MadeText(edit.before.text, edit.after or "", decision.digest)
                    await self._variants.bring_back(window, tree.id, decision.path, made)

    async def _restore_rest(
        self, tree: WorkTree, taken: Taken, decision: TreeDecision, edit: Edit
    ) -> str | None:
        """The mode of the file, and what its tab had unsaved; gives that if it is there again."""
        work = partial(_restore_in_thread, tree.root, taken, decision)
        unsaved = await run_in_thread(work)
        if unsaved is None:
            return None
        for _ in range(CHECKS):
            view = texts.open_view(edit.path)
            if view is None or view.is_dirty():
                break
            if not view.is_loading() and texts.text_of(view) == edit.before.text:
                if texts.replace_theirs(view, unsaved):
                    return unsaved
                break
            await sleep(LOADING)
        window = application.window_of(edit.window_id)
        texts.return_text(window, edit.path, unsaved, UNSAVED)
        return None


def _restore_in_thread(root: str, taken: Taken, decision: TreeDecision) -> str | None:
    """The unsaved text; None if there was none."""
    if decision.own_mode:
        try:
            set_mode(root, decision.path, decision.own_mode)
        except OSError as error:
            logger.warning("the mode of a file could not be restored: %s", error.strerror)
    data = taken.read_text(decision.unsaved) if decision.unsaved else None
    return data.decode("utf-8", "surrogatepass") if data is not None else None
