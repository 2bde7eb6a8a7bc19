"""Says what an agent in a work tree shares with the user, before it works without asking. UI thread
only."""

from __future__ import annotations

import sublime

from ...agent.session_state import MODE, ConfigOption
from .. import panels
from ..chat.chat_view import ChatView
from ..known_trees import KnownTrees

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
    """The chats that may work without asking, as the user has said in this run of the editor."""

    def __init__(self, trees: KnownTrees) -> None:
        self._trees = trees
        self._allowed: set[str] = set()

    async def may_choose(
        self, window: sublime.Window, chat: ChatView, option: ConfigOption, value: str | bool
    ) -> bool:
        """Whether the agent of the chat may have this value. For the first mode in a work tree in
        which it may not ask, the user is asked."""
        place = self._trees.place_of(chat.told.workspace if chat.told is not None else "")
        is_free = option.category == MODE and value not in ASKING
        if not (place and is_free) or chat.conversation in self._allowed:
            return True
        names = {choice.value: choice.name for choice in option.choices}
        items = [panels.panel_item(KEEP), sublime.QuickPanelItem(FREE, [SHARED, REACHES])]
        question = QUESTION.format(names.get(str(value), str(value)), place)
        if await panels.ask_choice(window, items, question) != 1:
            return False
        self._allowed.add(chat.conversation)
        return True
