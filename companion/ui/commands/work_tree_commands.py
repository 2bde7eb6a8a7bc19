"""The commands on work trees of agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .running_command import GeminiCompanionRunningCommand

if TYPE_CHECKING:
    from ..running import Running


class GeminiCompanionNewChatInWorkTreeCommand(GeminiCompanionRunningCommand):
    """Open a new chat whose agent works in a new work tree of the project; `agent` is its id."""

    def run_with_companion(self, running: Running, agent: str = "") -> None:
        running.stories.begin(running.work_trees.work.begin_chat(self.window, agent), self.window)


class GeminiCompanionAskSeveralAgentsCommand(GeminiCompanionRunningCommand):
    """Send one message to several agents, each in a new work tree of the project."""

    def run_with_companion(self, running: Running) -> None:
        running.stories.begin(running.work_trees.several.ask_agents(self.window), self.window)


class GeminiCompanionRemoveWorkTreeCommand(GeminiCompanionRunningCommand):
    """Remove a work tree of the window's folders that the user chooses, or the one with the id."""

    def has_subject(self, running: Running) -> bool:
        return bool(running.base.trees.in_window(self.window))

    def run_with_companion(self, running: Running, tree: str = "") -> None:
        removal, known = running.work_trees.removal, running.base.trees.tree_with(tree)
        if known is not None:
            running.stories.begin(removal.remove_tree(self.window, known), self.window)
        else:
            running.stories.begin(removal.choose_tree(self.window), self.window)


class GeminiCompanionRunCliInWorkTreeCommand(GeminiCompanionRunningCommand):
    """Start the CLI of *Run CLI* in a new work tree of the project."""

    def run_with_companion(self, running: Running) -> None:
        running.stories.begin(running.work_trees.work.run_cli(self.window), self.window)
