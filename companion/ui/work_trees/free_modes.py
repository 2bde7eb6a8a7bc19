"""Says what an agent in a work tree shares with the user, before it works without asking. UI thread
only."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import sublime

from ...agent.session_state import MODE, ConfigOption
from ...work_trees.tree_store import TreeInUse, TreeStore
from .. import panels
from ..chat.chat_view import ChatView
from ..known_trees import PLACE, KnownTrees
from ..stories import run_in_thread

# The modes of the known agents in which each edit and command is asked about, or nothing is done.
ASKING = frozenset({"default", "plan", "ask", "read-only", "build"})
SHARED = (
    "Its files are its own, but it shares branches, settings, hooks and the stash with your"
    " repository."
)
REACHES = "What changes there is told after its turn. Commands reach all that you can reach."
FREE, KEEP = "Let it work without asking", "Keep the mode"
QUESTION = "“{}” in the {}?"


class FreeModes:
    """The work trees in which agents may work without asking, as the user has said."""

    def __init__(self, trees: KnownTrees) -> None:
        self._trees = trees

    async def may_choose(
        self, window: sublime.Window, chat: ChatView, option: ConfigOption, value: str | bool
    ) -> bool:
        """Whether the agent of the chat may have this value. For the first mode in a work tree in
        which it may not ask, the user is asked."""
        tree = self._trees.tree_of(chat.told.workspace) if chat.told is not None else None
        is_free = option.category == MODE and value not in ASKING
        if tree is None or not is_free or tree.is_free:
            return True
        names = {choice.value: choice.name for choice in option.choices}
        items = [panels.panel_item(KEEP), sublime.QuickPanelItem(FREE, [SHARED, REACHES])]
        question = QUESTION.format(names.get(str(value), str(value)), PLACE.format(tree.name))
        if await panels.ask_choice(window, items, question) != 1:
            return False
        await run_in_thread(partial(_remember, self._trees.store, tree.id))
        await self._trees.look_again()
        return True


def _remember(store: TreeStore, id: str) -> None:
    """Runs in a thread. Where that fails, the user is asked again."""
    with suppress(TreeInUse, OSError):
        store.let_work_freely(id)
