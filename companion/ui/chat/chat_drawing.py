"""Draws what is told of conversations into their tabs. UI thread only, but for `draw_soon`."""

from __future__ import annotations

from collections import deque
from typing import Callable, Iterable, Sequence

from ...base.log import logger
from ...chat.chat_update import ChatUpdate
from .. import queues
from ..stories import Story, sleep
from .chat_view import ChatView
from .drawn import Misplaced


class ChatDrawing:
    """`chats` gives all that have a tab, `begin` begins a story; `on_update` is called when an
    update was drawn, `again` are the steps for a chat whose transcript has to come anew."""

    def __init__(
        self,
        chats: Callable[[], Iterable[ChatView]],
        begin: Callable[[Story], None],
        on_update: Callable[[ChatView], None],
        again: Sequence[Callable[[ChatView], None]],
    ) -> None:
        self._chats = chats
        self._begin = begin
        self._on_update = on_update
        self._again = again
        self._updates: deque[ChatUpdate] = deque()
        # Those of which a story draws the rest.
        self._unfinished: set[ChatView] = set()

    def draw_soon(self, update: ChatUpdate) -> None:
        """Draw an update soon; may be called from any thread."""
        self._updates.append(update)
        queues.on_ui_thread(self._draw_updates)

    def _draw_updates(self) -> None:
        """Whatever has come meanwhile is drawn at once."""
        while self._updates:
            update = self._updates.popleft()
            for chat in self._chats():
                # One that nobody has looked at yet cannot know where a part belongs.
                is_known = chat.told is not None or update.is_anew
                if chat.conversation == update.conversation_id and is_known:
                    self._show_update(chat, update)

    def _show_update(self, chat: ChatView, update: ChatUpdate) -> None:
        try:
            chat.show_update(update)
            self._on_update(chat)
        except Misplaced as error:
            self._load_again(chat, error)
        self.finish_transcript(chat)

    def finish_transcript(self, chat: ChatView) -> None:
        """Draw what is left of its transcript, in parts."""
        if not chat.is_whole and chat not in self._unfinished:
            self._begin(self._draw_rest(chat))

    async def _draw_rest(self, chat: ChatView) -> None:
        self._unfinished.add(chat)
        try:
            is_more = True
            while is_more:
                # Keys come first.
                await sleep()
                is_more = bool(chat.views) and chat.go_on()
        except Misplaced as error:
            self._load_again(chat, error)
        finally:
            self._unfinished.discard(chat)

    def _load_again(self, chat: ChatView, error: Misplaced) -> None:
        """A fault of ours; its transcript comes anew."""
        logger.error("a patch of %s does not fit: %s", chat.conversation, error)
        for step in self._again:
            step(chat)
