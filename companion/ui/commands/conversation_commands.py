"""The commands on conversations: what their agents let choose, and exports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..host import host
from .chat_commands import has_chat
from .running_command import GeminiCompanionRunningCommand

if TYPE_CHECKING:
    from ..running import Running

MODE, MODEL = "mode", "model"


class GeminiCompanionTakeOverSessionCommand(GeminiCompanionRunningCommand):
    """Go on in a chat with a session that an agent has held in a terminal."""

    def run_with_companion(self, running: Running) -> None:
        from ..chat.taking_over import TakingOver

        found = TakingOver(running.chat.actions, host.tell_user)
        running.stories.begin(found.show_sessions(self.window), self.window)


class GeminiCompanionExportChatCommand(GeminiCompanionRunningCommand):
    """Put the conversation of the chat in front into a new tab, as Markdown."""

    def has_subject(self, running: Running) -> bool:
        return has_chat(running, self.window)

    def run_with_companion(self, running: Running) -> None:
        from ..chat import chat_places

        chats = running.chat.actions
        chat = chat_places.in_front(chats.tabs, self.window, host.tell_user)
        if chat is not None:
            story = running.agents.conversations.export_conversation(self.window, chat.conversation)
            running.stories.begin(story, self.window)


class GeminiCompanionOptionCommand(GeminiCompanionRunningCommand):
    """Choose an option of the agent of the chat in front; `value` is what to choose, instead of
    asking."""

    category = ""

    def has_subject(self, running: Running) -> bool:
        return has_chat(running, self.window)

    def run_with_companion(self, running: Running, value: str | bool | None = None) -> None:
        from ..chat.option_panels import OptionPanels

        may_choose = running.work_trees.free_modes.may_choose
        found = OptionPanels(running.chat.actions, host.tell_user, may_choose)
        running.stories.begin(found.choose_option(self.window, self.category, value), self.window)


class GeminiCompanionModeCommand(GeminiCompanionOptionCommand):
    """Choose the mode of the agent."""

    category = MODE


class GeminiCompanionModelCommand(GeminiCompanionOptionCommand):
    """Choose the model of the agent, and all else that it offers."""

    category = MODEL


class GeminiCompanionLogInCommand(GeminiCompanionRunningCommand):
    """Log in to the agent of the chat in front, or to one that the user chooses."""

    def run_with_companion(self, running: Running) -> None:
        from ..chat.recovery import Recovery

        chats = running.chat.actions
        view = chats.tabs.in_window(self.window)
        chat = chats.tabs.chat_of(view) if view is not None else None
        story = Recovery(chats, host.tell_user).log_in(self.window, chat)
        running.stories.begin(story, self.window)


class GeminiCompanionChatRemedyCommand(GeminiCompanionRunningCommand):
    """Not for users: does what a link of a chat that failed offers."""

    def run_with_companion(
        self,
        running: Running,
        action: str,
        conversation: str,
        turn: str = "",
        way: str = "",
    ) -> None:
        from ..chat.recovery import Recovery

        found = Recovery(running.chat.actions, host.tell_user)
        story = found.apply_action(self.window, action, conversation, turn, way)
        running.stories.begin(story, self.window)
