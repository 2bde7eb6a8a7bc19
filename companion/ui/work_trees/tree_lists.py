"""What has changed in the work trees of the open windows, as it was listed last, and what the user
has decided on. UI thread only; git and the disk have threads of their own."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Callable, Iterable

import sublime

from ...base.answer import Answer
from ...base.background import start_work
from ...base.signal import Signal
from ...base.write_behind import WriteBehind
from ...work_trees.git import GitFailure
from ...work_trees.taken import Taken, TreeDecision, load_taken, save_taken
from ...work_trees.tree_changes import TreeChange, TreeReader
from ...work_trees.tree_store import TreeStore
from ...work_trees.work_tree import WorkTree
from .. import queues
from ..known_trees import KnownTrees
from ..stories import Stories

# Seconds between two lists while somebody looks, and how many times as long as a list takes.
PAUSE, REST = 1.0, 5.0
NOT_LISTED = "What has changed in the work tree {} cannot be listed: {}"
NOT_SAVED = "What you have decided on in work trees cannot be kept over a restart: {}."


@dataclass(frozen=True)
class TreeList:
    """What has changed in one tree, without what is decided. `problem` is a sentence if it cannot
    be listed."""

    tree: WorkTree
    taken: Taken
    changes: tuple[TreeChange, ...] = ()
    problem: str = ""


@dataclass
class _Known:
    reader: TreeReader
    found: TreeList | None = None
    is_listing: bool = False


@dataclass
class TreeLists:
    """The lists of one companion."""

    trees: KnownTrees
    stories: Stories
    warn: Callable[[str], None]
    # There are others, or other decisions.
    changes: Signal = field(default_factory=Signal)
    _known: dict[str, _Known] = field(default_factory=dict)
    _writer: WriteBehind = field(default_factory=lambda: WriteBehind("work trees"))
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
        return all(self.with_id(tree.id) is not None for tree in self._wanted_trees())

    def look_at_new(self) -> None:
        """List the trees that were never listed."""
        if self._looking is None and not self.is_complete:
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
        for id in self._known.keys() - {tree.id for tree in wanted}:
            # Its files are removed in a thread.
            start_work(self._known.pop(id).reader.close)
        for tree in wanted:
            if tree.id not in self._known or self._known[tree.id].reader.tree != tree:
                folder = self.trees.store.data_folder(tree.id)
                self._known[tree.id] = _Known(TreeReader(tree, folder))
        work = {tree.id: self._start_list(tree) for tree in wanted}
        before = {id: known.found for id, known in self._known.items()}
        for id, answer in work.items():
            found, known = await answer, self._known.get(id)
            if known is None or found is None:
                continue
            if known.found is not None and known.found.taken is not found.taken:
                # The user has decided on something meanwhile.
                self._is_old = True
            else:
                known.found = found
        if before != {id: known.found for id, known in self._known.items()}:
            self.changes.emit()

    def _start_list(self, tree: WorkTree) -> Answer[TreeList]:
        known = self._known[tree.id]
        taken = known.found.taken if known.found is not None else None
        return start_work(partial(_list_tree, self.trees.store, known.reader, taken))

    def _wanted_trees(self) -> list[WorkTree]:
        found = (tree for window in sublime.windows() for tree in self.trees.in_window(window))
        return list({tree.id: tree for tree in found}.values())

    # Decisions.

    def decide(self, id: str, decisions: Iterable[TreeDecision]) -> None:
        """The user has decided on these files of the tree as they were then."""
        made = tuple(decisions)
        paths = {decision.path for decision in made}
        self._change_taken(id, lambda taken: taken.with_decisions(made), paths)

    def take_back(self, id: str, decisions: Iterable[TreeDecision]) -> None:
        """They have taken that back."""
        gone = tuple(decisions)
        self._change_taken(id, lambda taken: taken.without(gone))
        self.look_again()

    def _change_taken(
        self, id: str, change: Callable[[Taken], Taken], paths: Iterable[str] = ()
    ) -> None:
        found = self.with_id(id)
        if found is None:
            return
        left = tuple(each for each in found.changes if each.path not in paths)
        self._known[id].found = now = replace(found, taken=change(found.taken), changes=left)
        self._writer.do_soon(partial(self._save, now.taken))
        self.changes.emit()

    def _save(self, taken: Taken) -> None:
        """Runs on the writer's thread, in the order of the decisions."""
        try:
            save_taken(taken)
        except OSError as error:
            sentence = NOT_SAVED.format(error.strerror)
            queues.on_ui_thread(partial(self.warn, sentence))

    def stop(self) -> None:
        for known in self._known.values():
            start_work(known.reader.close)
        self._known.clear()


def _list_tree(store: TreeStore, reader: TreeReader, taken: Taken | None) -> TreeList:
    """Runs in a thread."""
    tree = reader.tree
    try:
        folder = store.make_data_folder(tree.id)
        taken = load_taken(folder) if taken is None else taken
        changes = reader.list_changes(taken)
        reader.prepare_sides(changes)
    except (GitFailure, OSError) as error:
        said = str(error) if isinstance(error, GitFailure) else f"{error.strerror}."
        return TreeList(tree, taken or Taken(reader.folder), (), NOT_LISTED.format(tree.name, said))
    return TreeList(tree, taken, changes)
