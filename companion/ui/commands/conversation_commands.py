"""The commands on conversations: the list of them, what their agents let choose, and exports."""

from __future__ import annotations

import sublime_plugin

from ..host import host
from .chat_commands import has_chat

MODE, MODEL = "mode", "model"


class GeminiCompanionChatsCommand(sublime_plugin.WindowCommand):
    """List the conversations of the window's folders; `action` is what to do with the chosen one,
    instead of asking."""

    def is_enabled(self, action: str = "") -> bool:
        return host.running is not None

    def run(self, action: str = "") -> None:
        from ..chat.conversation_list import ConversationList

        if host.running is not None:
            found = ConversationList(host.running.chat.actions, host.tell)
            host.running.stories.begin(found.show(self.window, action), self.window)


class GeminiCompanionTakeOverSessionCommand(sublime_plugin.WindowCommand):
    """Go on in a chat with a session that an agent has held in a terminal."""

    def is_enabled(self) -> bool:
        return host.running is not None

    def run(self) -> None:
        from ..chat.taking_over import TakingOver

        if host.running is not None:
            found = TakingOver(host.running.chat.actions, host.tell)
            host.running.stories.begin(found.show(self.window), self.window)


class GeminiCompanionExportChatCommand(sublime_plugin.WindowCommand):
    """Put the conversation of the chat in front into a new tab, as Markdown."""

    def is_enabled(self) -> bool:
        return host.running is not None

    def is_visible(self) -> bool:
        return has_chat(self.window)

    def run(self) -> None:
        from ..chat import chat_places
        from ..chat.conversation_list import ConversationList

        if host.running is None:
            return
        chats = host.running.chat.actions
        chat = chat_places.in_front(chats.tabs, self.window, host.tell)
        if chat is not None:
            story = ConversationList(chats, host.tell).export(self.window, chat.conversation)
            host.running.stories.begin(story, self.window)


class GeminiCompanionOptionCommand(sublime_plugin.WindowCommand):
    """Choose an option of the agent of the chat in front; `value` is what to choose, instead of
    asking."""

    category = ""

    def is_enabled(self, value: str | bool | None = None) -> bool:
        return host.running is not None

    def is_visible(self, value: str | bool | None = None) -> bool:
        return has_chat(self.window)

    def run(self, value: str | bool | None = None) -> None:
        from ..chat.option_panels import OptionPanels

        if host.running is not None:
            found = OptionPanels(host.running.chat.actions, host.tell)
            story = found.choose(self.window, self.category, value)
            host.running.stories.begin(story, self.window)


class GeminiCompanionModeCommand(GeminiCompanionOptionCommand):
    """Choose the mode of the agent."""

    category = MODE


class GeminiCompanionModelCommand(GeminiCompanionOptionCommand):
    """Choose the model of the agent, and all else that it offers."""

    category = MODEL


class GeminiCompanionLogInCommand(sublime_plugin.WindowCommand):
    """Log in to the agent of the chat in front, or to one that the user chooses."""

    def is_enabled(self) -> bool:
        return host.running is not None

    def run(self) -> None:
        from ..chat.recovery import Recovery

        if host.running is None:
            return
        chats = host.running.chat.actions
        view = chats.tabs.in_window(self.window)
        chat = chats.tabs.of(view) if view is not None else None
        story = Recovery(chats, host.tell).log_in(self.window, chat)
        host.running.stories.begin(story, self.window)


class GeminiCompanionChatRemedyCommand(sublime_plugin.WindowCommand):
    """Not for users: does what a link of a chat that failed offers."""

    def run(self, action: str, conversation: str, turn: str = "") -> None:
        from ..chat.recovery import Recovery

        if host.running is not None:
            found = Recovery(host.running.chat.actions, host.tell)
            story = found.apply(self.window, action, conversation, turn)
            host.running.stories.begin(story, self.window)
