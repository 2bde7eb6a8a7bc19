"""The messages said before in a conversation, brought back into its composer. UI thread only."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

import sublime

from ..stories import Stories
from .chat_view import ChatView
from .queued import ServiceOf

# The context that key bindings ask for, with one of these: whether there is something to bring.
SAID_BEFORE = "gemini_companion_said_before"
PREVIOUS, NEXT = "previous", "next"


@dataclass(frozen=True)
class Walk:
    """`messages` from the oldest to the newest, the last one being what stood in the composer;
    `at` is the one that is shown."""

    messages: tuple[str, ...]
    at: int

    @property
    def shown_message(self) -> str:
        return self.messages[self.at]

    def move_by(self, by: int) -> Walk:
        return Walk(self.messages, max(0, min(self.at + by, len(self.messages) - 1)))


class InputHistory:
    """A composer shows one of them as long as nobody changes its text."""

    def __init__(self, service_of: ServiceOf, stories: Stories) -> None:
        self._service_of = service_of
        self._stories = stories
        self._walks: dict[str, Walk] = {}
        # Texts that were never said, because they were taken back.
        self._kept: dict[str, list[str]] = {}

    def keep_text(self, conversation: str, text: str) -> None:
        self._kept.setdefault(conversation, []).append(text)

    def key_context(
        self, view: sublime.View, chat: ChatView | None, operator: int, operand: object
    ) -> bool | None:
        if chat is None or operand not in (PREVIOUS, NEXT):
            return None
        if operator not in (sublime.OP_EQUAL, sublime.OP_NOT_EQUAL):
            return None
        return self._can_step(view, chat, operand == PREVIOUS) == (operator == sublime.OP_EQUAL)

    def _can_step(self, view: sublime.View, chat: ChatView, back: bool) -> bool:
        if not chat.composer.has_caret(view):
            return False
        is_shown = self._current_walk(chat) is not None
        return is_shown or (back and not chat.composer.text.strip())

    def _current_walk(self, chat: ChatView) -> Walk | None:
        """The walk through messages of which the composer shows one, unchanged."""
        walk = self._walks.get(chat.conversation)
        return walk if walk is not None and walk.shown_message == chat.composer.text else None

    def step(self, view: sublime.View, chat: ChatView, back: bool) -> None:
        """Show the one before, or the one after."""
        walk = self._current_walk(chat)
        is_at_end = walk is None or walk.at == len(walk.messages) - 1
        if walk is not None and not (back and is_at_end):
            self._show_message(view, chat, walk.move_by(-1 if back else 1))
        elif back and not chat.composer.text.strip():
            self._stories.begin(self._begin_walk(view, chat), view)

    async def _begin_walk(self, view: sublime.View, chat: ChatView) -> None:
        """Raises Unanswered."""
        from ...chat.requests import SaidBefore

        before = chat.composer.text
        service = await self._service_of(chat)
        if service is None:
            return
        said = await service.ask(SaidBefore(chat.conversation))
        messages = [*said, *self._kept.get(chat.conversation, [])]
        # The user may have typed meanwhile.
        if messages and chat.composer.text == before and chat.composer.has_caret(view):
            each = tuple(text for text, _ in groupby(messages))
            self._show_message(view, chat, Walk((*each, before), len(each) - 1))

    def _show_message(self, view: sublime.View, chat: ChatView, walk: Walk) -> None:
        self._walks[chat.conversation] = walk
        chat.composer.write(view, walk.shown_message)
