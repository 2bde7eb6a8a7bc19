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


class GeminiCompanionRunCliInWorkTreeCommand(GeminiCompanionRunningCommand):
    """Start the CLI of *Run CLI* in a new work tree of the project."""

    def run_with_companion(self, running: Running) -> None:
        running.stories.begin(running.work_trees.work.run_cli(self.window), self.window)
