"""What has changed in the work trees of the open windows, as it was listed last, and what the user
has decided on. UI thread only; git and the disk have threads of their own."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Callable, Iterable, Mapping, Sequence, Tuple

import sublime

from ...base.answer import Answer
from ...base.background import start_work
from ...base.log import logger
from ...base.signal import Signal
from ...work_trees.git import GitFailure
from ...work_trees.taken import Taken, TreeDecision
from ...work_trees.tree_changes import TreeChange, TreeReader
from ...work_trees.variants import Variant, Variants
from ...work_trees.work_tree import WorkTree
from ..known_trees import KnownTrees
from ..stories import Stories, run_in_thread
from .taken_saving import TakenSaving

# Seconds between two lists while somebody looks, and how many times as long as a list takes.
PAUSE, REST = 1.0, 5.0
NOT_LISTED = "What has changed in the work tree {} cannot be listed: {}"
NOT_ALL = (
    "So much has changed in the work tree {} that only {:,} files are listed. The others follow"
    " when you have decided on these."
)
SEE_LOG = 'See "Gemini Companion: Show Log".'

# A decision on a file of the tree with the id.
_Decision = Tuple[str, TreeDecision]


@dataclass(frozen=True)
class TreeList:
    """What has changed in one tree, without what is decided. `problem` is a sentence if it cannot
    be listed, or if it `has_more` than these changes."""

    tree: WorkTree
    taken: Taken
    changes: tuple[TreeChange, ...] = ()
    problem: str = ""
    has_more: bool = False

    @cached_property
    def by_path(self) -> Mapping[str, TreeChange]:
        return {change.path: change for change in self.changes}


@dataclass
class _Known:
    reader: TreeReader
    saving: TakenSaving
    found: TreeList | None = None

    @property
    def decisions(self) -> Taken | None:
        """What is decided; None if that was not read yet, or could not be."""
        taken = self.found.taken if self.found is not None else None
        return taken if taken is not None and taken.is_known else None


@dataclass
class TreeLists:
    """The lists of one companion."""

    trees: KnownTrees
    stories: Stories
    warn: Callable[[str], None]
    # There are others, or other decisions.
    changes: Signal = field(default_factory=Signal)
    _known: dict[str, _Known] = field(default_factory=dict)
    # For each change that is like one of an earlier tree, the first of those.
    equal: Mapping[Variant, Variant] = field(default_factory=dict)
    # All that are like the first one.
    _groups: Mapping[Variant, Sequence[Variant]] = field(default_factory=dict)
    _variants: Variants = field(default_factory=Variants)
    # The decisions that count for several trees, by each of them.
    _shared: dict[_Decision, list[_Decision]] = field(default_factory=dict)
    _looking: Answer[None] | None = None
    _is_old: bool = False
    _next_look: float = 0.0

    def of_window(self, window: sublime.Window) -> list[TreeList]:
        """Those of the window's trees that are known, the oldest tree first."""
        found = (self.with_id(tree.id) for tree in self.trees.in_window(window))
        return [each for each in found if each is not None]

    def with_id(self, id: str) -> TreeList | None:
        known = self._known.get(id)
        return known.found if known is not None else None

    def all_lists(self) -> list[TreeList]:
        """Those of all open windows."""
        return [known.found for known in self._known.values() if known.found is not None]

    def reader_of(self, id: str) -> TreeReader | None:
        """What reads the sides of a change; in a thread."""
        known = self._known.get(id)
        return known.reader if known is not None else None

    @property
    def is_complete(self) -> bool:
        """Whether all trees of the open windows were listed."""
        return self.trees.is_complete and self._has_listed_all()

    def _has_listed_all(self) -> bool:
        return all(self.with_id(tree.id) is not None for tree in self._wanted_trees())

    @property
    def is_looking(self) -> bool:
        """Whether they are being listed."""
        return self._looking is not None

    def look_at_new(self) -> None:
        """List the trees that were never listed."""
        if self._looking is None and not self._has_listed_all():
            self.look_again()

    def look_if_due(self) -> None:
        """List them again, unless that was done a moment ago; to be called from time to time by
        whoever shows them."""
        if time.monotonic() >= self._next_look:
            self.look_again()

    def look_again(self) -> Answer[None]:
        """List them again; answered when that is done."""
        self._is_old = True
        if self._looking is None:
            answer = self._looking = Answer[None]()
            self.stories.begin(self._look_again(answer))
            return answer
        return self._looking

    async def _look_again(self, answer: Answer[None]) -> None:
        began = time.monotonic()
        try:
            while self._is_old:
                self._is_old = False
                await self._list_all()
        finally:
            now = time.monotonic()
            self._next_look = now + max(PAUSE, REST * (now - began))
            self._looking = None
            answer.give(None)

    async def _list_all(self) -> None:
        wanted = self._wanted_trees()
        readers = [known.reader for known in self._known.values()]
        for reader in readers:
            if reader.tree not in wanted:
                del self._known[reader.tree.id]
                # Its files are removed in a thread.
                start_work(reader.close)
        for tree in wanted:
            if tree.id not in self._known:
                store = self.trees.store
                saving = TakenSaving(partial(store.make_data_folder, tree.id), self.warn)
                reader = TreeReader(tree, store.data_folder(tree.id))
                self._known[tree.id] = _Known(reader, saving)
        work = {tree.id: self._start_list(tree) for tree in wanted}
        before = {id: known.found for id, known in self._known.items()}
        for id, answer in work.items():
            found, known = await answer, self._known.get(id)
            if known is None or found is None:
                continue
            if known.decisions is not None and known.decisions is not found.taken:
                # The user has decided on something meanwhile.
                self._is_old = True
            else:
                known.found = found
        is_same = before == {id: known.found for id, known in self._known.items()}
        if not await self._compare_variants() or not is_same:
            self.changes.emit()

    async def _compare_variants(self) -> bool:
        """Find what is alike in several trees; whether it is as before."""
        lists = [(each.tree, each.changes) for each in self.all_lists() if each.changes]
        lists.sort(key=lambda each: each[0].created)
        found: Mapping[Variant, Variant] = {}
        if len(lists) > 1:
            found = await run_in_thread(partial(self._variants.find_equal, lists)) or {}
        groups: dict[Variant, list[Variant]] = {}
        for each, first in found.items():
            groups.setdefault(first, [first]).append(each)
        known, self.equal, self._groups = self.equal, found, groups
        return known == found

    def trees_alike(self, id: str, path: str) -> list[WorkTree]:
        """The trees whose change of the path is like this one, without that of this id."""
        first = self.equal.get((id, path), (id, path))
        found = (self.with_id(tree) for tree, _path in self._groups.get(first, ()) if tree != id)
        # In the order of the trees, the oldest first.
        return [each.tree for each in found if each is not None]

    def is_shown_elsewhere(self, id: str, path: str) -> bool:
        """Whether the change is like one of an earlier tree that waits, too."""
        tree, other = self.equal.get((id, path), ("", ""))
        found = self.with_id(tree)
        return found is not None and other in found.by_path

    def _start_list(self, tree: WorkTree) -> Answer[TreeList]:
        known = self._known[tree.id]
        return start_work(partial(_list_tree, known.reader, known.saving, known.decisions))

    def _wanted_trees(self) -> list[WorkTree]:
        found = (tree for window in sublime.windows() for tree in self.trees.in_window(window))
        return list({tree.id: tree for tree in found}.values())

    # Decisions.

    def decide(self, id: str, decisions: Iterable[TreeDecision]) -> None:
        """The user has decided on these files of the tree as they were then. It counts for the
        trees in which they are alike."""
        made = tuple(decisions)
        alike = {tree.id for each in made for tree in self.trees_alike(id, each.path)}
        own = self.with_id(id)
        self._decide(id, made)
        for other in sorted(alike):
            found = self.with_id(other)
            if own is None or found is None:
                continue
            same = tuple(replace(each, own_mode="", unsaved="") for each in made)
            self._known[other].saving.copy_texts(own.taken, found.taken.folder, same)
            self._decide(other, same)
            for each, copy in zip(made, same):
                self._shared.setdefault((id, each), []).append((other, copy))

    def _decide(self, id: str, made: tuple[TreeDecision, ...]) -> None:
        paths = {decision.path for decision in made}
        self._change_taken(id, lambda taken: taken.with_decisions(made), paths)

    def take_back(self, id: str, decisions: Iterable[TreeDecision]) -> None:
        """They have taken that back."""
        gone = tuple(decisions)
        for tree, decision in (each for one in gone for each in self._shared.pop((id, one), ())):
            self._change_taken(tree, partial(Taken.without, undone=[decision]))
        self._change_taken(id, partial(Taken.without, undone=gone))
        self.look_again()

    def show_left(self, id: str) -> Answer[None]:
        """Show what was rejected or dropped of the tree again; answered when that is listed."""
        self._change_taken(id, Taken.with_left_shown)
        return self.look_again()

    def _change_taken(
        self, id: str, change: Callable[[Taken], Taken], paths: Iterable[str] = ()
    ) -> None:
        found = self.with_id(id)
        if found is None:
            return
        left = tuple(each for each in found.changes if each.path not in paths)
        known = self._known[id]
        known.found = now = replace(found, taken=change(found.taken), changes=left)
        known.saving.save_soon(now.taken)
        self.changes.emit()

    def stop(self) -> None:
        for known in self._known.values():
            start_work(known.reader.close)
        self._known.clear()


def _list_tree(reader: TreeReader, saving: TakenSaving, taken: Taken | None) -> TreeList:
    """Runs in a thread. The boundary of lists."""
    tree = reader.tree
    try:
        saving.make_folder()
        if taken is None:
            taken = saving.load()
        changes = reader.list_changes(taken)
        reader.prepare_sides(changes)
    except (GitFailure, OSError) as error:
        said = str(error) if isinstance(error, GitFailure) else f"{error.strerror}."
    except Exception:
        # What an agent has left there may have any form: the other trees are listed all the same.
        logger.exception("a work tree cannot be listed")
        said = SEE_LOG
    else:
        said = NOT_ALL.format(tree.name, len(changes)) if reader.has_more else ""
        return TreeList(tree, taken, changes, said, reader.has_more)
    taken = taken or Taken(reader.folder, is_known=False)
    return TreeList(tree, taken, (), NOT_LISTED.format(tree.name, said))
