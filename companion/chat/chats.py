"""The open chats of an editor. Belongs to the engine's loop."""

from __future__ import annotations

import asyncio
from typing import Callable

from ..agent.agent import Agent
from ..agent.wording import failure
from .chat_update import ChatUpdate
from .open_chat import OpenChat, Wanted


class Chats:
    """`told` gets the updates of all."""

    def __init__(self, agent: Agent, told: Callable[[ChatUpdate], None]) -> None:
        self.agent = agent
        self._told = told
        self._open: dict[str, OpenChat] = {}

    @property
    def are_used(self) -> bool:
        """Whether one is open, or goes on without anybody who looks."""
        return bool(self._open) or self.agent.turns.are_busy

    def open(self, wanted: Wanted) -> None:
        """Once for each conversation."""
        if wanted.id not in self._open:
            chat = self._open[wanted.id] = OpenChat(self.agent, wanted, self._told)
            chat.open()

    def of(self, id: str) -> OpenChat:
        """Raises AgentError if it is not open."""
        found = self._open.get(id)
        if found is None:
            raise failure.no_session(id)
        return found

    def touch(self, id: str) -> None:
        """Something has changed in it, if it is open."""
        if id in self._open:
            self._open[id].touch()

    def retry(self) -> None:
        """What kept chats from being opened may be gone."""
        for chat in self._open.values():
            chat.retry()

    async def close(self, id: str) -> None:
        chat = self._open.pop(id, None)
        if chat is not None:
            await chat.close()

    async def close_all(self) -> None:
        await asyncio.gather(*(self.close(id) for id in list(self._open)))
