"""The rows of work trees of agents. UI thread only."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Callable, Coroutine, Sequence

import sublime

from ...work_trees.work_tree import WorkTree
from .. import panels
from ..known_trees import PLACE, KnownTrees
from .agent_row import AgentRow, RowState

ACTIONS = (
    "Show what was changed in it",
    "Show again what you rejected or dropped",
    "Open a new window on it",
    "Remove it …",
)
TITLE, OF_PROJECT = "Work tree {}", "of {}"

Act = Callable[[sublime.Window, WorkTree], Coroutine[Any, Any, object]]


class TreeRows:
    """`show_changes` shows what was changed in a tree, `show_left` also what was decided to stay
    there, `remove_tree` removes it. `list_changes` lists the changes if that was not done a moment
    ago and takes no time, and `count_changes` says how many files wait in the tree with the id; ""
    for none, or if that is not known yet."""

    name = "work trees"

    def __init__(
        self,
        trees: KnownTrees,
        show_changes: Act,
        show_left: Act,
        remove_tree: Act,
        list_changes: Callable[[], Coroutine[Any, Any, None]],
        count_changes: Callable[[str], str],
    ) -> None:
        self._trees = trees
        self._list_changes = list_changes
        self._count_changes = count_changes
        self._show_changes = show_changes
        self._show_left = show_left
        self._remove_tree = remove_tree

    async def agent_rows(self, window: sublime.Window) -> Sequence[AgentRow]:
        await self._trees.look_again()
        await self._list_changes()
        return [self._tree_row(tree) for tree in self._trees.in_window(window)]

    def _tree_row(self, tree: WorkTree) -> AgentRow:
        project = OF_PROJECT.format(os.path.basename(tree.root))
        act = partial(self._choose_action, tree)
        title = TITLE.format(tree.name)
        count, agent = self._count_changes(tree.id), self._trees.agent_of(tree.id)
        changed = f"{count} changed" if count else ""
        facts = tuple(filter(None, (project, agent, changed)))
        times = RowState.IDLE, title, act, "", tree.created
        return AgentRow(*times, facts, (tree.path,), is_place=True)

    async def _choose_action(self, tree: WorkTree, window: sublime.Window) -> bool:
        number = await panels.ask_choice(window, ACTIONS, PLACE.format(tree.name))
        if number == 0:
            await self._show_changes(window, tree)
        elif number == 1:
            await self._show_left(window, tree)
        elif number == 2:
            _open_window(tree.own_folder)
        elif number == 3:
            await self._remove_tree(window, tree)
        return number < 0


def _open_window(folder: str) -> None:
    sublime.run_command("new_window")
    sublime.active_window().set_project_data({"folders": [{"path": folder}]})
