"""The commands on chats."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sublime
import sublime_plugin

from ..host import host
from .running_command import GeminiCompanionRunningCommand

if TYPE_CHECKING:
    from ..running import Running


def has_chat(window: sublime.Window) -> bool:
    """Whether the window has a chat that commands can be about."""
    running = host.running
    return running is not None and running.chat.actions.tabs.in_window(window) is not None


class GeminiCompanionChatCommand(GeminiCompanionRunningCommand):
    """Go to the chat of the window, or open one."""

    def act(self, running: Running) -> None:
        running.chat.actions.show(self.window)


class GeminiCompanionNewChatCommand(sublime_plugin.WindowCommand):
    """Open a new chat with the agent of this id. Without it, the user is asked if the settings name
    several, or with `ask` in any case."""

    def is_enabled(self, agent: str = "", ask: bool = False) -> bool:
        return host.running is not None

    def run(self, agent: str = "", ask: bool = False) -> None:
        from ..chat import agent_choice

        if host.running is None:
            return
        if agent or not (ask or agent_choice.are_several()):
            host.running.chat.actions.new(self.window, agent)
        else:
            host.running.stories.begin(self._choose(host.running), self.window)

    async def _choose(self, running: Running) -> None:
        from ..chat import agent_choice

        agent = await agent_choice.chosen(self.window, running.chat.actions)
        if agent is not None:
            running.chat.actions.new(self.window, agent)


class GeminiCompanionSendCommand(sublime_plugin.WindowCommand):
    """Send what is in the composer of the chat in front, or `text`."""

    def is_enabled(self, text: str | None = None) -> bool:
        return host.running is not None

    def is_visible(self, text: str | None = None) -> bool:
        return has_chat(self.window)

    def run(self, text: str | None = None) -> None:
        if host.running is not None:
            host.running.chat.actions.send(self.window, text)


class GeminiCompanionTypeCommand(sublime_plugin.WindowCommand):
    """Writes the character that was pressed into the composer of the chat with the keyboard, for a
    key binding of all characters."""

    def run(self, character: str) -> None:
        view = self.window.active_view()
        if host.running is not None and view is not None:
            host.running.chat.actions.composing.type(view, character)


class GeminiCompanionInChatCommand(GeminiCompanionRunningCommand):
    """Base of commands for the chat in front, else the one of the window that was opened last."""

    def is_enabled(self) -> bool:
        return has_chat(self.window)


class GeminiCompanionWaitingMessagesCommand(GeminiCompanionInChatCommand):
    """List the messages that wait in the chat in front, and what goes with the next one."""

    def has_subject(self, running: Running) -> bool:
        return running.chat.actions.composing.has_waiting(self.window)

    def act(self, running: Running) -> None:
        running.chat.actions.composing.list_waiting(self.window)


class GeminiCompanionAttachCommand(sublime_plugin.WindowCommand):
    """Attach something to the next message of the chat in front: `what` is one of WHAT in
    `chat/attaching`, `path` that of a file, folder or image."""

    def is_enabled(self, what: str | None = None, path: str | None = None) -> bool:
        return host.running is not None

    def run(self, what: str | None = None, path: str | None = None) -> None:
        if host.running is not None:
            chats = host.running.chat.actions
            if chats.tabs.in_window(self.window) is None:
                chats.show(self.window)
            chats.composing.attach(self.window, what, path)


class GeminiCompanionCopyCodeCommand(GeminiCompanionInChatCommand):
    """Copy the block of code at the caret of the chat in front, else the last one."""

    def act(self, running: Running) -> None:
        running.chat.actions.composing.copy_code(self.window)


class GeminiCompanionInsertCodeCommand(GeminiCompanionInChatCommand):
    """Put it at the caret of the text that was worked on last."""

    def act(self, running: Running) -> None:
        running.chat.actions.composing.insert_code(self.window)


class GeminiCompanionPreviousMessageCommand(GeminiCompanionInChatCommand):
    """Bring the message said before into the composer of the chat in front."""

    def act(self, running: Running) -> None:
        running.chat.actions.composing.bring(self.window, back=True)


class GeminiCompanionNextMessageCommand(GeminiCompanionInChatCommand):
    """Bring the message said after the one that is there."""

    def act(self, running: Running) -> None:
        running.chat.actions.composing.bring(self.window, back=False)


class GeminiCompanionStopCommand(GeminiCompanionRunningCommand):
    """Stop the agent of the chat in front."""

    def has_subject(self, running: Running) -> bool:
        return has_chat(self.window)

    def act(self, running: Running) -> None:
        running.chat.actions.stop_turn(self.window)


class GeminiCompanionUndoTurnCommand(GeminiCompanionInChatCommand):
    """Put the files back that a turn of the chat in front has changed."""

    def act(self, running: Running) -> None:
        running.stories.begin(running.chat.turns.undo(self.window), self.window)


class GeminiCompanionRedoTurnCommand(GeminiCompanionInChatCommand):
    """Make the files again what an undone turn of the chat in front made of them."""

    def act(self, running: Running) -> None:
        running.stories.begin(running.chat.turns.undo(self.window, again=True), self.window)


class GeminiCompanionRewindCommand(GeminiCompanionInChatCommand):
    """Go back to before a message of the chat in front: files and conversation."""

    def act(self, running: Running) -> None:
        running.stories.begin(running.chat.turns.rewind(self.window), self.window)


class GeminiCompanionTurnChangesCommand(sublime_plugin.WindowCommand):
    """Show what a turn of the chat in front has changed: the one with the id, else the last."""

    def is_enabled(self, turn: str = "", path: str = "") -> bool:
        return has_chat(self.window)

    def run(self, turn: str = "", path: str = "") -> None:
        running = host.running
        if running is not None:
            running.stories.begin(running.chat.turns.show(self.window, turn, path), self.window)
