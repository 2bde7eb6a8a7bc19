"""The commands on the questions of agents in chats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .running_command import GeminiCompanionRunningCommand

if TYPE_CHECKING:
    from ..running import Running


class GeminiCompanionQuestionCommand(GeminiCompanionRunningCommand):
    """Base of the commands on the question of an agent that waits in the window."""

    def has_subject(self, running: Running) -> bool:
        return bool(running.chat.actions.questions.chats_in(self.window))


class GeminiCompanionShowQuestionCommand(GeminiCompanionQuestionCommand):
    """Go to the question of an agent that waits in a chat of the window."""

    def run_with_companion(self, running: Running) -> None:
        running.chat.actions.answering.show_question(self.window)


class GeminiCompanionAllowCommand(GeminiCompanionQuestionCommand):
    """Allow once what the agent asks for, or answer its other question."""

    def run_with_companion(self, running: Running) -> None:
        from ..chat.answering import ALLOW

        running.chat.actions.answering.decide_question(self.window, ALLOW)


class GeminiCompanionAllowAlwaysCommand(GeminiCompanionQuestionCommand):
    """Allow it from now on."""

    def run_with_companion(self, running: Running) -> None:
        from ..chat.answering import ALLOW_ALWAYS

        running.chat.actions.answering.decide_question(self.window, ALLOW_ALWAYS)


class GeminiCompanionDenyCommand(GeminiCompanionQuestionCommand):
    """Deny what the agent asks for, or decline its other question."""

    def run_with_companion(self, running: Running) -> None:
        from ..chat.answering import DENY

        running.chat.actions.answering.decide_question(self.window, DENY)


class GeminiCompanionDenyWithNoteCommand(GeminiCompanionQuestionCommand):
    """Deny it, and tell the agent something."""

    def run_with_companion(self, running: Running) -> None:
        from ..chat.answering import DENY_WITH_NOTE

        running.chat.actions.answering.decide_question(self.window, DENY_WITH_NOTE)


class GeminiCompanionAllowAllShownCommand(GeminiCompanionQuestionCommand):
    """Allow once all that the agent of a chat asks for and that was in sight."""

    def run_with_companion(self, running: Running) -> None:
        running.chat.actions.answering.allow_all_shown(self.window)


class GeminiCompanionDenyAllCommand(GeminiCompanionQuestionCommand):
    """Deny all that the agent of a chat asks for."""

    def run_with_companion(self, running: Running) -> None:
        running.chat.actions.answering.deny_all(self.window)
