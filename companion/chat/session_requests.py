"""What a front end asks about the sessions that an agent has held in a terminal."""

from __future__ import annotations

from dataclasses import dataclass

from ..agent import own_sessions
from ..agent.own_sessions import ListedSession
from . import finding
from .chats import Chats
from .requests import ChatRequest


@dataclass(frozen=True)
class OwnSessions(ChatRequest["tuple[ListedSession, ...]"]):
    """Those of an agent (its id) in a folder (an absolute path) that are no conversations here, the
    last used ones first. Starts the agent."""

    agent: str
    workspace: str

    async def done(self, chats: Chats) -> tuple[ListedSession, ...]:
        backend = chats.agent.backends[self.agent]
        folder = await finding.folder_for(chats.agent, self.workspace)
        return await own_sessions.listed(backend, chats.agent.conversations, folder)


@dataclass(frozen=True)
class TakeOver(ChatRequest[str]):
    """The id of a new conversation that goes on with one of these sessions; it still has to be
    opened."""

    agent: str
    workspace: str
    session: ListedSession

    async def done(self, chats: Chats) -> str:
        backend = chats.agent.backends[self.agent]
        folder = await finding.folder_for(chats.agent, self.workspace)
        known = chats.agent.conversations
        return (await own_sessions.take_over(backend, known, folder, self.session)).id
