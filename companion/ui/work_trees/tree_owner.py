"""The owner of what agents have changed in work trees: what the user accepts is written into their
own files, and what they refuse stays in the tree. UI thread only; the disk has threads of its own.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import Callable, Counter, Sequence
from uuid import uuid4

from ...base.answer import Answer
from ...base.file_content import Original
from ...base.text_digest import text_digest
from ...edits.edit import Edit
from ...edits.made_edits import MadeEdits
from ...work_trees.inside import ABSENT, path_in
from ...work_trees.own_files import OwnFileKept, WantedFile, write_wanted
from ...work_trees.taken import TreeDecision
from ...work_trees.tree_changes import TreeChange, TreeReader
from ...work_trees.work_tree import WorkTree
from .. import file_reading, texts
from ..ordered_work import UnderWay
from ..review.ending import ClaimedDiff
from ..review.owners import Owner, WordsToClis
from ..review.record import DiffRecord
from ..stories import Stories, run_in_thread, sleep
from ..user_messages import UserMessages
from .sides import Sides, decide_on, decide_to_leave, read_again
from .tree_lists import TreeLists
from .tree_reviews import TreeReviews
from .undone_decisions import CHECKS, LOADING, UndoneDecisions
from .variant_texts import VariantTexts

WRITTEN = "{} has the accepted text."
REMOVED = "{} is removed."
NOT_DONE = "{} could not be written."
NOT_KNOWN = "{} was being written when this stopped: look whether it has the accepted text."
NO_TREE = "The work tree of {} is not known any more: nothing was written."
NOT_REJECTED = "{} has changed meanwhile: nothing is decided. Look at it again."
NOT_KEPT = "That {} is decided cannot be kept: it is shown again."
IN_TAB = " The accepted text is in a tab."
# The name of a tab.
ACCEPTED = "accepted, not written"


class TreeOwner(Owner):
    """The owner of the diffs of one companion; `words` gets what the user writes about them."""

    def __init__(
        self,
        lists: TreeLists,
        reviews: TreeReviews,
        variants: VariantTexts,
        stories: Stories,
        messages: UserMessages,
        words: WordsToClis,
        edits: MadeEdits,
    ) -> None:
        self._edits_made = edits
        self._lists = lists
        self._reviews = reviews
        self._variants = variants
        self._stories = stories
        self._messages = messages
        self._words = words
        # By the ids of the diffs: the edits that an acceptance makes, and whether a decision is
        # done.
        self._edits: dict[str, Sequence[Edit]] = {}
        self._done: dict[str, Answer[bool]] = {}
        # The files, by their trees, whose decisions are being noted: they are not shown meanwhile.
        self.under_way = UnderWay()
        self._undone = UndoneDecisions(lists, variants, self.under_way)
        # How many times files of the user were written here, by their paths.
        self.writings: Counter[str] = Counter()

    async def wait_until_done(self, id: str) -> bool:
        """Whether what was accepted of the diff is in the user's file, or it is noted that it was
        rejected, once that is known."""
        answer = self._done.get(id)
        return answer is None or await answer

    def edit_ids(self, id: str) -> tuple[str, ...]:
        """Those of the edits that the acceptance of the diff makes, until they are written."""
        return tuple(edit.id for edit in self._edits.get(id, ()))

    # What the user decides.

    def hear_acceptance(self, claimed: ClaimedDiff, words: str, before: str | None) -> None:
        record, text = claimed.record, claimed.accepted
        self._words.give_words(record, words, is_accepted=None)
        tree = self._lists.trees.tree_with(record.tree)
        self._done[record.id] = Answer[bool]()
        work = self._write_or_give_back(claimed, tree, text or "", before or "")
        self._stories.begin(work)

    def hear_rejection(self, claimed: ClaimedDiff, words: str) -> None:
        self._words.give_words(claimed.record, words, is_accepted=None)
        self._done[claimed.record.id] = Answer[bool]()
        self._stories.begin(self._leave_in_tree(claimed.record))

    def hear_typing(self, record: DiffRecord, text: str) -> None:
        """The view has it, also after a restart."""

    def edits_of(self, record: DiffRecord, edit: Edit) -> Sequence[Edit]:
        """A file that was renamed is gone at its old path, and new at the other one."""
        tree = self._lists.trees.tree_with(record.tree)
        gone = replace(edit, after="", is_removal=True)
        edits: Sequence[Edit] = (edit,)
        if is_removal(record, edit.after or ""):
            edits = (gone,)
        elif tree is not None and is_renamed(tree, record):
            target, there = renamed_path(tree, record), Original("", exists=False)
            edits = (gone, replace(edit, path=target, before=there, id=uuid4().hex))
        self._edits[record.id] = edits
        return edits

    def hear_undone(self, edit: Edit) -> None:
        """The user's file is as it was before this edit of theirs: what was taken over is shown
        again."""
        self.writings[edit.path] += 1
        self._stories.begin(self._take_back(edit))

    async def _take_back(self, edit: Edit) -> None:
        # One that was written a moment ago may not be noted yet.
        for id, made in list(self._edits.items()):
            if any(each.id == edit.id for each in made):
                await self.wait_until_done(id)
        await self._undone.take_back(edit)

    async def note_decision(
        self, sides: Sides, is_whole: bool = False, edits: tuple[str, ...] = ()
    ) -> Sequence[TreeDecision]:
        """The user has decided on it as it was read: it is not shown again. Gives nothing if that
        cannot be kept."""
        decide = partial(decide_on, sides, is_whole=is_whole, edits=edits)
        return await self._note(sides.tree, sides.change, decide) or ()

    async def note_left(
        self, reader: TreeReader, change: TreeChange
    ) -> Sequence[TreeDecision] | None:
        """They leave it in the tree as it was listed: it is not shown again. Gives nothing if it is
        another by now, and None if that cannot be kept."""
        return await self._note(reader.tree, change, partial(decide_to_leave, reader, change))

    async def _note(
        self, tree: WorkTree, change: TreeChange, decide: Callable[[str], Sequence[TreeDecision]]
    ) -> Sequence[TreeDecision] | None:
        found = self._lists.with_id(tree.id)
        if found is None:
            return None
        made = await run_in_thread(partial(decide, found.taken.folder))
        if made is None:
            self._messages.warn_user(NOT_KEPT.format(os.path.basename(change.path)))
        elif made:
            self._lists.decide(tree.id, made)
        return made

    async def _leave_in_tree(self, record: DiffRecord) -> None:
        is_noted = False
        try:
            with self.under_way.hold((record.tree, record.tree_path)):
                sides = await self._sides_of(record)
                if sides is not None:
                    is_noted = bool(await self.note_decision(sides))
                else:
                    name = os.path.basename(record.path)
                    self._messages.tell_user(NOT_REJECTED.format(name))
        finally:
            self._end_decision(record.id, is_noted)

    def _end_decision(self, id: str, is_done: bool) -> None:
        answer = self._done.pop(id, None)
        if answer is not None:
            answer.give(is_done)
        self._lists.changes.emit()

    async def _sides_of(self, record: DiffRecord) -> Sides | None:
        """What the review was made of; None if it is another by now, and was not read in this
        run."""
        sides = self._reviews.opened.pop(record.id, None)
        found, reader = self._lists.with_id(record.tree), self._lists.reader_of(record.tree)
        if sides is not None or found is None or reader is None:
            return sides
        change = found.by_path.get(record.tree_path)
        if change is None:
            return None
        read = partial(read_again, reader, found.taken, change, record.tree_digest)
        return await run_in_thread(read)

    # Writing.

    async def _write_or_give_back(
        self, claimed: ClaimedDiff, tree: WorkTree | None, text: str, before: str
    ) -> None:
        """Wherever it ends, the text is in the file, or in a tab if the user has changed it, and
        they are told which."""
        record, unsaved = claimed.record, _unsaved_text(claimed.record)
        name = os.path.basename(record.path)
        problem, is_known = (NO_TREE if tree is None else NOT_DONE).format(name), True
        try:
            with self.under_way.hold((record.tree, record.tree_path)):
                # The edits that it makes are known after this step.
                await sleep()
                if tree is not None and claimed.accepted is not None:
                    sides = await self._sides_of(record)
                    wanted = wanted_file(tree, record, sides, text, before)
                    problem, is_known = NOT_KNOWN.format(name), False
                    problem = await self._write(tree, record, wanted)
                    is_known = True
                    if not problem:
                        await self._end_writing(record, sides, wanted, unsaved)
        finally:
            edits = self._edits.pop(record.id, ())
            if problem:
                # The undoing of one that was made all the same looks at the file.
                self._give_back(claimed, edits if is_known else (), problem)
            self._end_decision(record.id, not problem)

    async def _write(self, tree: WorkTree, record: DiffRecord, wanted: WantedFile) -> str:
        """Gives a sentence if it was not done."""
        work = partial(_write_in_thread, tree.root, record.path, wanted)
        problem = await run_in_thread(work)
        return NOT_DONE.format(os.path.basename(record.path)) if problem is None else problem

    async def _end_writing(
        self, record: DiffRecord, sides: Sides | None, wanted: WantedFile, unsaved: str | None
    ) -> None:
        """The user's file has it."""
        self.writings[record.path] += 1
        await _show_in_tabs(record, wanted, unsaved)
        done = REMOVED if wanted.is_removal else WRITTEN
        self._messages.tell_user(done.format(os.path.basename(wanted.target)))
        if sides is not None:
            ids = tuple(edit.id for edit in self._edits.get(record.id, ()))
            is_whole = text_digest(wanted.text) == record.proposed_digest
            await self.note_decision(replace(sides, unsaved=unsaved), is_whole, ids)
        await self._tell_variants(record, wanted, unsaved)

    async def _tell_variants(
        self, record: DiffRecord, wanted: WantedFile, unsaved: str | None
    ) -> None:
        """Let the reviews of other variants take over what was accepted, if nobody has changed the
        file since."""
        edits = self._edits.get(record.id)
        if not edits or not self._variants.has_others(record.path):
            return
        before = edits[0].before.text if unsaved is None else unsaved
        is_there = not wanted.is_removal and wanted.path == wanted.target
        own = await file_reading.read_content(record.path)
        is_same = own.text == (wanted.text if is_there else "") and own.exists == is_there
        if is_same and texts.unsaved_view(record.path) is None:
            self._variants.take_over(record.path, before, own)

    def _give_back(self, claimed: ClaimedDiff, edits: Sequence[Edit], problem: str) -> None:
        for edit in edits:
            self._edits_made.replace(edit, None)
        is_own = claimed.is_edited and claimed.accepted is not None
        self._messages.warn_user(problem + IN_TAB if is_own else problem)
        if is_own:
            path = claimed.record.path
            texts.return_text(claimed.window, path, claimed.accepted or "", ACCEPTED)
        self._lists.look_again()


def is_removal(record: DiffRecord, text: str) -> bool:
    """Whether the file is gone in the tree, and the user wants that."""
    return not record.tree_digest and not text


def renamed_path(tree: WorkTree, record: DiffRecord) -> str:
    """The user's path of the file as it is named in the tree."""
    top = record.path
    for _part in os.path.relpath(record.path, tree.root).split(os.sep):
        top = os.path.dirname(top)
    return path_in(top, record.tree_path)


def is_renamed(tree: WorkTree, record: DiffRecord) -> bool:
    return renamed_path(tree, record) != record.path


def wanted_file(
    tree: WorkTree, record: DiffRecord, sides: Sides | None, text: str, before: str
) -> WantedFile:
    """What the accepted text makes of the user's file."""
    is_gone = is_removal(record, text)
    if sides is None:
        path = record.tree_path if not is_renamed(tree, record) else ""
        return WantedFile(path, record.tree_path, before, text, is_removal=is_gone)
    merged, change = sides.merged, sides.change
    # What the user has removed, and wants to be so.
    is_gone = is_gone or not (text or merged.own.exists or sides.left.mode == ABSENT)
    return WantedFile(
        change.old_path,
        change.path,
        before,
        text,
        merged.mode,
        merged.exact if text == merged.text else None,
        sides.right,
        is_gone,
    )


def _write_in_thread(root: str, own_path: str, wanted: WantedFile) -> str:
    """Gives a sentence if it was not done."""
    try:
        write_wanted(root, wanted)
    except OwnFileKept as error:
        return str(error)
    return ""


def _unsaved_text(record: DiffRecord) -> str | None:
    """What the file's tab has unsaved, if the user has seen it with the proposal."""
    view = texts.unsaved_view(record.path)
    text = texts.text_of(view) if view is not None else None
    return text if text is not None and text_digest(text) == record.unsaved_digest else None


async def _show_in_tabs(record: DiffRecord, wanted: WantedFile, unsaved: str | None) -> None:
    """Let the file's tab show what was written; its undo brings back what was unsaved. If the user
    has typed meanwhile, it stays as it is."""
    view = texts.open_view(record.path)
    if view is None or wanted.is_removal or wanted.path != wanted.target:
        return
    if view.is_dirty() and texts.text_of(view) != unsaved:
        return
    view.run_command("revert")
    for _ in range(CHECKS):
        # Whoever reads the tab next would take what it had for what the user wants.
        is_old = view.is_valid() and view.is_dirty() and texts.text_of(view) == unsaved
        if not is_old:
            return
        await sleep(LOADING)
