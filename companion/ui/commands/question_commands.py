"""The commands on the questions of agents in chats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .running_command import GeminiCompanionRunningCommand

if TYPE_CHECKING:
    from ..running import Running


class GeminiCompanionShowQuestionCommand(GeminiCompanionRunningCommand):
    """Go to the question of an agent that waits in a chat of the window."""

    def act(self, running: Running) -> None:
        running.chat.actions.answering.show(self.window)


class GeminiCompanionAllowCommand(GeminiCompanionRunningCommand):
    """Allow once what the agent asks for, or answer its other question."""

    def act(self, running: Running) -> None:
        from ..chat.answering import ALLOW

        running.chat.actions.answering.decide(self.window, ALLOW)


class GeminiCompanionAllowAlwaysCommand(GeminiCompanionRunningCommand):
    """Allow it from now on."""

    def act(self, running: Running) -> None:
        from ..chat.answering import ALLOW_ALWAYS

        running.chat.actions.answering.decide(self.window, ALLOW_ALWAYS)


class GeminiCompanionDenyCommand(GeminiCompanionRunningCommand):
    """Deny what the agent asks for, or decline its other question."""

    def act(self, running: Running) -> None:
        from ..chat.answering import DENY

        running.chat.actions.answering.decide(self.window, DENY)


class GeminiCompanionDenyWithNoteCommand(GeminiCompanionRunningCommand):
    """Deny it, and tell the agent something."""

    def act(self, running: Running) -> None:
        from ..chat.answering import DENY_WITH_NOTE

        running.chat.actions.answering.decide(self.window, DENY_WITH_NOTE)
