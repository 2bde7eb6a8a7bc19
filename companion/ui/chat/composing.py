"""What the user does at the end of a chat beside writing. UI thread only."""

from __future__ import annotations

import os
from functools import partial
from typing import Callable

import sublime

from ...base import background
from .. import sharing_settings
from ..known_trees import KnownTrees
from ..panels import Panel
from ..prompt.sending import EXCLUDED, NO, YES, Destination
from ..stories import Stories
from ..terminals.cli_terminals import is_cli_in_sight
from .attaching import Attaching
from .chat_tabs import ChatTabs
from .chat_view import ChatView, workspace_of
from .code_taking import CodeTaking
from .completing import Completing
from .drafts import Drafts, folder_of
from .last_texts import LastTexts
from .project_lists import ProjectLists
from .queued import Queued, ServiceOf, Untold
from .said_before import SAID_BEFORE, InputHistory

# The contexts that key bindings ask for: the keyboard is in a chat, and there above the composer.
IN_CHAT, IN_TRANSCRIPT = "gemini_companion_in_chat", "gemini_companion_in_transcript"
CONTEXTS = (IN_CHAT, IN_TRANSCRIPT, SAID_BEFORE)


class Composing:
    """The commands on the composers of all chats."""

    def __init__(
        self,
        tabs: ChatTabs,
        service_of: ServiceOf,
        untold: Untold,
        drafts: Drafts,
        trees: KnownTrees,
        stories: Stories,
        tell: Callable[[str], None],
    ) -> None:
        self._tabs = tabs
        self._stories = stories
        self.texts = LastTexts()
        self._lists = ProjectLists(trees)
        self._attaching = Attaching(self.texts, self._lists, tell)
        self.completing = Completing(tabs, self._lists, trees, stories)
        tabs.typings.subscribe(self.completing.open_while_typing)
        self._code = CodeTaking(self.texts, tell)
        self.history = InputHistory(service_of, stories)
        self.queued = Queued(
            service_of, self.history.keep_text, untold, drafts.wait_until_saved, stories, tell
        )
        tabs.presses.subscribe(lambda press: self.queued.follow_link(*press))
        # The questions about messages, by the conversation.
        self._panels: dict[str, Panel] = {}

    async def may_send(self, chat: ChatView, text: str) -> bool:
        """Asks if the text names a file that the rules exclude: the agent would read it."""
        window = chat.views[0].window() if chat.views and "@" in text else None
        if window is None:
            return True
        from ...chat.enclosed import named_files

        is_excluded = sharing_settings.exclusion_rule(window)
        folder = await workspace_of(chat, window)
        named = await background.start_work(
            lambda: [file for file in named_files(text, folder) if is_excluded(file)]
        )
        if not named:
            return True
        question = EXCLUDED.format(", ".join(os.path.basename(path) for path in named))
        panel = self._panels[chat.conversation] = Panel(window)
        try:
            return bool(chat.views) and await panel.ask_choice([NO, YES], question) == 1
        finally:
            del self._panels[chat.conversation]

    def withdraw_panel(self, chat: ChatView) -> None:
        """The user closes its last view: nothing is asked about its message any more."""
        panel = self._panels.get(chat.conversation)
        if panel is not None:
            panel.withdraw()

    def list_waiting(self, window: sublime.Window) -> None:
        """List what waits in the chat of the window, and what is attached."""
        shown = self.shown_chat(window)
        if shown is not None:
            self._stories.begin(self.queued.choose_waiting(window, shown[1]), window)

    def has_waiting(self, window: sublime.Window) -> bool:
        """Whether a message waits in the chat of the window, or something is attached."""
        shown = self.shown_chat(window)
        above = shown[1].above if shown is not None else None
        return above is not None and bool(above.queue.messages or above.attached)

    def bring_message(self, window: sublime.Window, back: bool) -> None:
        """Bring a message that was said before into the composer."""
        shown = self.shown_chat(window)
        if shown is not None:
            self.history.step(*shown, back)

    def attach_item(self, window: sublime.Window, what: str | None, path: str | None) -> None:
        """Attach something to the next message of the chat of the window."""
        shown = self.shown_chat(window)
        if shown is not None:
            self._stories.begin(self._attaching.attach_item(window, shown[1], what, path), window)

    def copy_code(self, window: sublime.Window) -> None:
        """Copy the code at the caret of the chat of the window, else the last one."""
        shown = self.shown_chat(window)
        if shown is not None:
            self._code.copy_code(*shown)

    def insert_code(self, window: sublime.Window) -> None:
        """Put it into the text that was worked on last."""
        shown = self.shown_chat(window)
        if shown is not None:
            self._code.insert_code(window, *shown)

    def destination_in(self, window: sublime.Window) -> Destination | None:
        """Where the commands that send put their words: a chat in sight, else another one of the
        window; None without a chat, or if a CLI is in sight instead."""
        seen = self._tabs.in_sight(window)
        if seen is None and is_cli_in_sight(window):
            return None
        shown = self._with_chat(seen or self._tabs.in_window(window))
        return (
            Destination(folder_of(window), partial(self._insert_words, *shown))
            if shown is not None
            else None
        )

    def _insert_words(self, view: sublime.View, chat: ChatView, words: str) -> None:
        window = view.window()
        if window is not None:
            window.focus_view(view)
        chat.composer.insert(view, words)

    def type_characters(self, view: sublime.View, characters: str) -> None:
        """The user types this into a chat."""
        chat = self._tabs.chat_of(view)
        if chat is not None:
            chat.composer.type(view, characters)

    def key_context(
        self, view: sublime.View, key: str, operator: int, operand: object
    ) -> bool | None:
        """The answer to a key binding that asks for one of CONTEXTS."""
        chat = self._tabs.chat_of(view)
        if key == SAID_BEFORE:
            return self.history.key_context(view, chat, operator, operand)
        if operator not in (sublime.OP_EQUAL, sublime.OP_NOT_EQUAL):
            return None
        holds = chat is not None and (key == IN_CHAT or chat.composer.is_left(view))
        return holds == (bool(operand) == (operator == sublime.OP_EQUAL))

    def shown_chat(self, window: sublime.Window) -> tuple[sublime.View, ChatView] | None:
        """The chat of the window, and what is drawn in it."""
        return self._with_chat(self._tabs.in_window(window))

    def _with_chat(self, view: sublime.View | None) -> tuple[sublime.View, ChatView] | None:
        chat = self._tabs.chat_of(view) if view is not None else None
        return (view, chat) if view is not None and chat is not None else None
