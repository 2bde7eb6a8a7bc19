"""What a front end asks about the sessions that an agent has held in a terminal."""

from __future__ import annotations

from dataclasses import dataclass

from ..agent.agent import ListedSession
from . import finding
from .chats import Chats
from .requests import ChatRequest


@dataclass(frozen=True)
class OwnSessions(ChatRequest["tuple[ListedSession, ...]"]):
    """Asks for the sessions of an agent (its id) in a folder (an absolute path) that are no
    conversations here, the last used ones first. Starts the agent."""

    agent: str
    workspace: str

    async def carry_out(self, chats: Chats) -> tuple[ListedSession, ...]:
        backend = chats.agent.backends[self.agent]
        folder = await finding.folder_for(chats.agent, self.workspace)
        return await chats.agent.list_own_sessions(backend, folder)


@dataclass(frozen=True)
class TakeOver(ChatRequest[str]):
    """The id of a new conversation that goes on with one of these sessions; it still has to be
    opened."""

    agent: str
    workspace: str
    session: ListedSession

    async def carry_out(self, chats: Chats) -> str:
        backend = chats.agent.backends[self.agent]
        folder = await finding.folder_for(chats.agent, self.workspace)
        return (await chats.agent.take_over_session(backend, folder, self.session)).id
