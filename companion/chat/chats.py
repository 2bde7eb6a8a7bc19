"""The open chats of an editor. Belongs to the engine's loop."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Callable

from ..agent import failure
from ..agent.agent import Agent, Conversation
from .chat_update import ChatUpdate
from .finding import WantedChat
from .open_chat import OpenChat


class Chats:
    """`on_update` gets the updates of all."""

    def __init__(self, agent: Agent, on_update: Callable[[ChatUpdate], None]) -> None:
        self.agent = agent
        self._on_update = on_update
        self._open: dict[str, OpenChat] = {}
        # Those that are being closed.
        self._closing: dict[str, asyncio.Future[None]] = {}
        self._unsubscribe = agent.conversations.removals.subscribe(self._conversation_deleted)

    @property
    def are_used(self) -> bool:
        """Whether one is open, or goes on without anybody who looks."""
        return bool(self._open) or self.agent.turns.are_busy

    def open_chat(self, wanted: WantedChat) -> None:
        """Once for each conversation."""
        if wanted.id not in self._open:
            after = self._closing.get(wanted.id)
            chat = self._open[wanted.id] = OpenChat(self.agent, wanted, self._on_update, after)
            chat.open()

    def find_chat(self, id: str) -> OpenChat:
        """Raises AgentError if it is not open."""
        found = self._open.get(id)
        if found is None:
            raise failure.no_session(id)
        return found

    def stop_turn(self, id: str) -> None:
        """End the turn that runs in the conversation, also if it is not open."""
        if id in self._open:
            self._open[id].stop()
        else:
            self.agent.turns.cancel_turns(meant=lambda other: other == id)

    async def known_conversation(self, id: str) -> Conversation:
        """The conversation, also if it is not open. Raises AgentError."""
        if id in self._open:
            return await self._open[id].ready_conversation()
        await self.agent.refresh_conversation(id)
        return self.agent.conversations.known_conversation(id)

    def touch_chat(self, id: str) -> None:
        """Something has changed in it, if it is open."""
        if id in self._open:
            self._open[id].tell_soon()

    def retry_all(self) -> None:
        """What kept chats from being opened may be gone, and what they tell of the login."""
        for chat in self._open.values():
            chat.retry()
            chat.tell_soon()

    async def close_chat(self, id: str) -> None:
        """A message that is on its way is sent before that."""
        closing = self._begin_close(id)
        if closing is not None:
            await asyncio.shield(closing)

    async def close_all(self) -> None:
        self._unsubscribe()
        for id in list(self._open):
            self._begin_close(id)
        await asyncio.gather(*self._closing.values())

    def _begin_close(self, id: str) -> asyncio.Future[None] | None:
        """The end of the closing; None if it is not open."""
        chat = self._open.pop(id, None)
        if chat is None:
            return None
        closing = self._closing[id] = asyncio.ensure_future(chat.close())
        closing.add_done_callback(partial(self._chat_closed, id))
        return closing

    def _chat_closed(self, id: str, closing: asyncio.Future[None]) -> None:
        if self._closing.get(id) is closing:
            del self._closing[id]

    def _conversation_deleted(self, id: str) -> None:
        """Somebody has deleted the conversation."""
        if id in self._open:
            self._open[id].lose_conversation()
