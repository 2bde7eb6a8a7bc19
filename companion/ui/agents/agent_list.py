"""*Agents*: all that asks, is done, works or rests in one panel, and what the user does with it. UI
thread only."""

from __future__ import annotations

from typing import Callable, Sequence

import sublime

from .. import panels
from ..chat.conversation_list import ACTIONS, ConversationList
from ..chat.taking_over import TakingOver
from ..ordered_work import UnderWay
from ..panels import Item
from ..stories import Stories
from .agent_row import AgentRow, AgentRows, count_states, row_item
from .gathering import Gathering

NONE = (
    'No agent works, and the folders of this window have no conversations. "Gemini Companion: Chat"'
    ' begins one, "Gemini Companion: Run CLI" starts a CLI.'
)
# The first rows. Enter is for the agent below them.
FIND, MORE = "Search in conversations …", "More conversations …"
ABOUT_MORE = "open an older one, rename, fork, export or delete one, sessions of the terminal"
OF_TERMINAL = "Continue a session of the terminal …"
NOT_YET, LOOK_AGAIN = "Still looking for {} …", "Enter shows the list again"
FAILED = "No {} here"
# Milliseconds that the providers get, once there are rows; and where the user wants to see all.
SOON, LATER = 500, 5000


class AgentList:
    """The list of one companion. `providers` have its rows, `conversations` does what is done with
    one of them, `taking_over` lets the user choose a session of a terminal."""

    def __init__(
        self,
        providers: Sequence[AgentRows],
        conversations: ConversationList,
        taking_over: TakingOver,
        stories: Stories,
        tell: Callable[[str], None],
    ) -> None:
        self._providers = providers
        self._conversations = conversations
        self._taking_over = taking_over
        self._stories = stories
        self._tell = tell
        # The windows in which it is about to open.
        self._coming = UnderWay()

    async def show_list(self, window: sublime.Window) -> None:
        """Let the user choose an agent, and go there or answer what it asks. Raises Unanswered."""
        patience, is_shown = SOON, True
        while is_shown:
            if window.id() in self._coming:
                # Another one would open above what the user chooses in the first.
                return
            found = self._gathering(window)
            with self._coming.hold(window.id()):
                await found.wait_until_known(patience)
            rows = found.rows
            if not (rows or found.missing or found.problems):
                self._tell(NONE)
                return
            first: list[Item] = [FIND, panels.panel_item(MORE, ABOUT_MORE)]
            items = [*first, *map(row_item, rows), *_other_items(found)]
            number = await panels.ask_choice(
                window, items, _heading(rows), selected_index=len(first)
            )
            patience = SOON
            if number < 0:
                return
            if number == 0:
                is_shown = not await self._conversations.find_conversation(window)
            elif number < len(first):
                is_shown = await self._choose_action(window)
            elif number < len(first) + len(rows):
                is_shown = await rows[number - len(first)].act(window)
            else:
                patience = LATER

    def _gathering(self, window: sublime.Window) -> Gathering:
        found = Gathering(window, self._providers, lambda story: self._stories.begin(story, window))
        found.ask_providers()
        return found

    async def _choose_action(self, window: sublime.Window) -> bool:
        """Whether the list is shown again."""
        items = [*ACTIONS.values(), OF_TERMINAL]
        number = await panels.ask_choice(window, items, MORE)
        if number < 0:
            return True
        if number == len(ACTIONS):
            await self._taking_over.show_sessions(window)
        else:
            await self._conversations.show_list(window, list(ACTIONS)[number])
        return False


def _other_items(found: Gathering) -> list[Item]:
    """What is said of providers that have not answered, and of those that cannot."""
    late = [panels.panel_item(NOT_YET.format(name), LOOK_AGAIN) for name in found.missing]
    failed = [panels.panel_item(FAILED.format(name), why) for name, why in found.problems.items()]
    return [*late, *failed]


def _heading(rows: Sequence[AgentRow]) -> str:
    """How many are in each state."""
    told = count_states(row.state for row in rows).words
    return f"Agents ({told})" if told else "Agents"
