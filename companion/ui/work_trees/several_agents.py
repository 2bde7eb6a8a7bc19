"""One message to several agents, each in a work tree of its own, so that the best of what they do
can be taken. UI thread only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Callable, Sequence

import sublime

from ...chat.attached import Attached
from .. import panels
from ..chat import agent_choice
from ..chat.chat_actions import ChatActions
from ..chat.chat_view import ChatView
from .tree_maker import TreeMaker

if TYPE_CHECKING:
    from ...chat.requests import OfferedAgent

# How many can be asked at a time.
FEWEST, MOST = 2, 4
WHICH = "Which agents? Choose two to four."
ASK, NOT_YET = "Ask {}", "Choose another one"
CHOSEN = "chosen"
MESSAGE = "Message to all of them:"
ASKED = 'Each has a work tree of its own. "Show Changes" shows what they do, file by file.'
ONLY = "Only {} has the message: no other work tree was made."
ONLY_THESE = "Only {} have the message: no other work tree was made."
TOO_FEW = "Only {} can be asked here. Log in to other agents, or install them."
NOBODY = "no agent"


@dataclass(frozen=True)
class SharedMessage:
    """What all agents are told; `source` is the chat in whose composer it was written."""

    words: str
    attached: tuple[Attached, ...] = ()
    source: ChatView | None = None


class SeveralAgents:
    """`maker` makes the work trees, `chats` has the chats; `tell` shows a sentence."""

    def __init__(self, maker: TreeMaker, chats: ChatActions, tell: Callable[[str], None]) -> None:
        self._maker = maker
        self._chats = chats
        self._tell = tell

    async def ask_agents(self, window: sublime.Window) -> None:
        """Let the user choose agents; send what is in the composer of the chat in front, or what
        they write, to each. Raises Unanswered."""
        found = [row for row in await agent_choice.agent_rows(self._chats) if row.is_there]
        if len(found) < FEWEST:
            self._tell(TOO_FEW.format(", ".join(row.name for row in found) or NOBODY))
            return
        agents = await _choose_agents(window, found)
        message = await self._find_message(window) if agents else None
        prepared = await self._maker.prepare_trees(window) if message is not None else None
        if message is None or prepared is None:
            return
        asked = 0
        for agent in agents:
            tree = await self._maker.make_tree(window, prepared, agent.id)
            if tree is None:
                # The user was told why; what was begun goes on.
                break
            # What the user saves meanwhile is in none of them.
            prepared = replace(prepared, snapshot=tree.beginning)
            self._chats.open_new_chat(
                window, agent.id, message.words, message.attached, tree.own_folder
            )
            self._chats.send_message(window, None)
            asked += 1
        if asked and message.source is not None and message.source.views:
            message.source.composer.remove_sent(message.words)
            message.source.above.detach(message.attached)
        if asked == len(agents):
            self._tell(ASKED)
        elif asked:
            names = ", ".join(agent.name for agent in agents[:asked])
            self._tell((ONLY if asked == 1 else ONLY_THESE).format(names))

    async def _find_message(self, window: sublime.Window) -> SharedMessage | None:
        view = self._chats.tabs.in_window(window)
        chat = self._chats.tabs.chat_of(view) if view is not None else None
        if chat is not None and chat.composer.text.strip():
            return SharedMessage(chat.composer.text, tuple(chat.above.attached), chat)
        words = await panels.ask_line(window, MESSAGE)
        return SharedMessage(words) if words and words.strip() else None


async def _choose_agents(
    window: sublime.Window, found: Sequence[OfferedAgent]
) -> Sequence[OfferedAgent]:
    """Two to four of these that the user chooses; none if they choose none."""
    chosen: list[OfferedAgent] = [row for row in found if row.is_usual][:1]
    at = 0
    while True:
        names = ", ".join(row.name for row in chosen)
        is_enough = FEWEST <= len(chosen) <= MOST
        items = [panels.panel_item(ASK.format(names) if is_enough else NOT_YET)]
        items += [panels.panel_item(row.name, "", CHOSEN * (row in chosen)) for row in found]
        at = await panels.ask_choice(window, items, WHICH, selected_index=at)
        if at < 0 or (at == 0 and is_enough):
            return chosen if at == 0 else ()
        if at > 0:
            row = found[at - 1]
            if row in chosen:
                chosen.remove(row)
            elif len(chosen) < MOST:
                chosen.append(row)
            # Enter is for the next one, and for all of them once there are enough.
            at = 0 if len(chosen) >= FEWEST else at
