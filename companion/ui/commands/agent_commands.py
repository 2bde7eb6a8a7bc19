"""The commands of *Agents*: the list of all that asks, works or rests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .running_command import GeminiCompanionRunningCommand

if TYPE_CHECKING:
    from ..running import Running


class GeminiCompanionListAgentsCommand(GeminiCompanionRunningCommand):
    """Base of the commands that list the agents of all windows. With an `action`, they list the
    conversations of the window's folders, and do that with the chosen one."""

    def run_with_companion(self, running: Running, action: str = "") -> None:
        from ..chat.conversation_list import ACTIONS

        agents = running.agents
        if action in ACTIONS:
            story = agents.conversations.show_list(self.window, action)
        else:
            story = agents.list.show_list(self.window)
        running.stories.begin(story, self.window)


class GeminiCompanionAgentsCommand(GeminiCompanionListAgentsCommand):
    """List who asks, who is done, who works and who rests."""


class GeminiCompanionChatsCommand(GeminiCompanionListAgentsCommand):
    """The same, for keys that had the list of conversations."""


class GeminiCompanionShowClisCommand(GeminiCompanionListAgentsCommand):
    """The same, for keys that had the list of CLIs."""
