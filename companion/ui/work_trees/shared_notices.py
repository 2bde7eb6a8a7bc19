"""Tells the user what changed in the git folder that work trees of agents share with their own: an
agent can change branches, settings and hooks from there. UI thread only; threads read the folder.
"""

from __future__ import annotations

import os
import time
from functools import partial
from typing import Callable, Iterable, Mapping, Sequence

from ...chat.chat_update import STOPPING, WORKING, ChatUpdate
from ...work_trees.shared_watch import HistoryLook, SharedChanges, SharedWatch
from ...work_trees.work_tree import WorkTree
from ..known_trees import KnownTrees
from ..stories import Stories, run_in_thread

# Checks (one a second) between looks, while no turn ends.
POLLS = 10
TOLD = "{}, since {}: {}"
DAY = 24 * 3600.0


class SharedNotices:
    """`list_told` gives the last update of each open chat. `warn` shows a sentence until the user
    has seen it, `tell` for a moment."""

    def __init__(
        self,
        trees: KnownTrees,
        stories: Stories,
        list_told: Callable[[], Iterable[ChatUpdate]],
        warn: Callable[[str], None],
        tell: Callable[[str], None],
    ) -> None:
        self._trees = trees
        self._stories = stories
        self._list_told = list_told
        self._warn, self._tell = warn, tell
        self._watch = SharedWatch(trees.store)
        self._polls = 0
        self._is_looking = False
        # The updates of chats at the last check, by the chats.
        self._told: Mapping[str, ChatUpdate] = {}
        # The ids of trees with a turn now, and of those whose turn is over since the last look.
        self._busy: set[str] = set()
        self._ended: set[str] = set()

    def check_changes(self) -> None:
        """Look again if a turn has ended, or after a while. To be called about once a second."""
        self._polls += 1
        if not self._trees.trees:
            return
        before, self._busy = self._busy, self._find_busy()
        self._ended |= before - self._busy
        if (self._ended or self._polls % POLLS == 0) and not self._is_looking:
            self._stories.begin(self._look())

    def _find_busy(self) -> set[str]:
        """The ids of trees in which a turn runs, or may have run since the last check."""
        before, self._told = self._told, {told.conversation_id: told for told in self._list_told()}
        folders = {
            told.workspace
            for id, told in self._told.items()
            if told.state in (WORKING, STOPPING) or told is not before.get(id, told)
        }
        return {tree.id for tree in self._trees.trees if tree.own_folder in folders}

    async def _look(self) -> None:
        ended, self._ended = self._ended, set()
        self._is_looking = True
        try:
            for folder in {tree.git_folder: tree for tree in self._trees.trees}:
                trees = [tree for tree in self._trees.trees if tree.git_folder == folder]
                has_ended = any(tree.id in ended for tree in trees)
                history = HistoryLook.TOLD if has_ended else self._history_of(trees)
                look = partial(self._watch.tell_changes, folder, history)
                changes = await run_in_thread(look)
                if changes is not None and trees:
                    self._show(trees[0], changes, has_ended)
        finally:
            self._is_looking = False

    def _history_of(self, trees: Sequence[WorkTree]) -> HistoryLook:
        """What to do with the history of their repository while no turn has just ended."""
        if any(tree.id in self._busy for tree in trees):
            return HistoryLook.LATER
        in_chats = {told.workspace for told in self._told.values()}
        # What a CLI in a terminal does at the moment is not known.
        is_in_terminal = any(tree.own_folder not in in_chats for tree in trees)
        return HistoryLook.TOLD if is_in_terminal else HistoryLook.PASSED

    def _show(self, tree: WorkTree, changes: SharedChanges, was_in_chat: bool) -> None:
        """What the user commits must not gather as messages while a CLI has a work tree."""
        project, since = os.path.basename(tree.root), _time_words(changes.since)
        for sentence in changes.rules:
            self._warn(TOLD.format(project, since, sentence))
        for sentence in changes.history:
            (self._warn if was_in_chat else self._tell)(TOLD.format(project, since, sentence))


def _time_words(at: float) -> str:
    form = "%H:%M" if time.time() - at < DAY else "%Y-%m-%d %H:%M"
    return time.strftime(form, time.localtime(at))
