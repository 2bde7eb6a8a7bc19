"""The commands on chats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sublime
import sublime_plugin

from ..host import host
from .running_command import GeminiCompanionRunningCommand

if TYPE_CHECKING:
    from ..running import Running


def has_chat(running: Running, window: sublime.Window) -> bool:
    """Whether the window has a chat that commands can be about."""
    return running.chat.actions.tabs.in_window(window) is not None


class GeminiCompanionChatCommand(GeminiCompanionRunningCommand):
    """Go to the chat of the window, or open one."""

    def run_with_companion(self, running: Running) -> None:
        running.chat.actions.show_chat(self.window)


class GeminiCompanionNewChatCommand(GeminiCompanionRunningCommand):
    """Open a new chat with the agent of this id. Without it, the user is asked if the settings name
    several, or with `ask` in any case."""

    def run_with_companion(self, running: Running, agent: str = "", ask: bool = False) -> None:
        from ..chat import agent_choice

        if agent or not (ask or agent_choice.are_several()):
            running.chat.actions.open_new_chat(self.window, agent)
        else:
            running.stories.begin(self._choose_agent(running), self.window)

    async def _choose_agent(self, running: Running) -> None:
        from ..chat import agent_choice

        agent = await agent_choice.choose_agent(self.window, running.chat.actions)
        if agent is not None:
            running.chat.actions.open_new_chat(self.window, agent)


class GeminiCompanionSendCommand(GeminiCompanionRunningCommand):
    """Send what is in the composer of the chat in front, or `text`."""

    def is_visible(self, text: str | None = None, **_arguments: Any) -> bool:
        # A text goes into a new chat where there is none.
        return bool(text) or super().is_visible()

    def has_subject(self, running: Running) -> bool:
        return has_chat(running, self.window)

    def run_with_companion(self, running: Running, text: str | None = None) -> None:
        running.chat.actions.send_message(self.window, text)


class GeminiCompanionTypeCommand(sublime_plugin.WindowCommand):
    """Writes the character that was pressed into the composer of the chat with the keyboard, for a
    key binding of all characters."""

    def run(self, character: str) -> None:
        view = self.window.active_view()
        if host.running is not None and view is not None:
            host.running.chat.actions.composing.type_characters(view, character)


class GeminiCompanionInChatCommand(GeminiCompanionRunningCommand):
    """Base of commands for the chat in front, else the one of the window that was opened last."""

    def is_enabled(self, **_arguments: Any) -> bool:
        running = host.running
        return running is not None and has_chat(running, self.window)


class GeminiCompanionWaitingMessagesCommand(GeminiCompanionInChatCommand):
    """List the messages that wait in the chat in front, and what goes with the next one."""

    def has_subject(self, running: Running) -> bool:
        return running.chat.actions.composing.has_waiting(self.window)

    def run_with_companion(self, running: Running) -> None:
        running.chat.actions.composing.list_waiting(self.window)


class GeminiCompanionAttachCommand(GeminiCompanionRunningCommand):
    """Attach something to the next message of the chat in front: `what` is one of WHAT in
    `chat/attaching`, `path` that of a file, folder or image."""

    def run_with_companion(
        self, running: Running, what: str | None = None, path: str | None = None
    ) -> None:
        chats = running.chat.actions
        if chats.tabs.in_window(self.window) is None:
            chats.show_chat(self.window)
        chats.composing.attach_item(self.window, what, path)


class GeminiCompanionCopyCodeCommand(GeminiCompanionInChatCommand):
    """Copy the block of code at the caret of the chat in front, else the last one."""

    def run_with_companion(self, running: Running) -> None:
        running.chat.actions.composing.copy_code(self.window)


class GeminiCompanionInsertCodeCommand(GeminiCompanionInChatCommand):
    """Put it at the caret of the text that was worked on last."""

    def run_with_companion(self, running: Running) -> None:
        running.chat.actions.composing.insert_code(self.window)


class GeminiCompanionPreviousMessageCommand(GeminiCompanionInChatCommand):
    """Bring the message said before into the composer of the chat in front."""

    def run_with_companion(self, running: Running) -> None:
        running.chat.actions.composing.bring_message(self.window, back=True)


class GeminiCompanionNextMessageCommand(GeminiCompanionInChatCommand):
    """Bring the message said after the one that is there."""

    def run_with_companion(self, running: Running) -> None:
        running.chat.actions.composing.bring_message(self.window, back=False)


class GeminiCompanionStopCommand(GeminiCompanionRunningCommand):
    """Stop the agent of the chat in front, or the making of a work tree for one."""

    def has_subject(self, running: Running) -> bool:
        is_made = running.work_trees.maker.is_at_work(self.window)
        return is_made or has_chat(running, self.window)

    def run_with_companion(self, running: Running) -> None:
        if not running.work_trees.maker.stop_in(self.window):
            running.chat.actions.stop_turn(self.window)


class GeminiCompanionUndoTurnCommand(GeminiCompanionInChatCommand):
    """Put the files back that a turn of the chat in front has changed."""

    def run_with_companion(self, running: Running) -> None:
        running.stories.begin(running.chat.turns.undo_turn(self.window), self.window)


class GeminiCompanionRedoTurnCommand(GeminiCompanionInChatCommand):
    """Make the files again what an undone turn of the chat in front made of them."""

    def run_with_companion(self, running: Running) -> None:
        running.stories.begin(running.chat.turns.undo_turn(self.window, again=True), self.window)


class GeminiCompanionRewindCommand(GeminiCompanionInChatCommand):
    """Go back to before a message of the chat in front: files and conversation."""

    def run_with_companion(self, running: Running) -> None:
        running.stories.begin(running.chat.turns.rewind_chat(self.window), self.window)


class GeminiCompanionTurnChangesCommand(GeminiCompanionInChatCommand):
    """Show what a turn of the chat in front has changed: the one with the id, else the last."""

    def run_with_companion(self, running: Running, turn: str = "", path: str = "") -> None:
        running.stories.begin(running.chat.turns.show_turn(self.window, turn, path), self.window)
