"""The processes of one CLI by the home that they have: ours, or its user's. Conversations of both
go on side by side."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from typing import AsyncIterator

from ..acp.acp_client import AcpClient, Listener
from ..agents.cli import AgentCli
from ..auth_method import AuthMethod
from ..conversations.conversation import Conversation
from ..credentials import OURS, USERS, Credentials, home_of
from .pool import Pool, ProcessInfo, ProcessPlace
from .runner import Launch

# The lock beside each home that is held while a session is opened there.
LOCKS = {OURS: "opening.lock", USERS: "opening-own.lock"}


class Pools:
    """The processes of a CLI, as many in each home as `launch` says. `folder` is that of the CLI in
    the engine's; the locks are there. All methods are called on one loop."""

    def __init__(self, launch: Launch, cli: AgentCli, folder: str) -> None:
        self._pools = {
            home: Pool(launch, cli, os.path.join(folder, name)) for home, name in LOCKS.items()
        }

    @property
    def starts(self) -> int:
        return sum(pool.starts for pool in self._pools.values())

    @property
    def running_processes(self) -> tuple[ProcessInfo, ...]:
        return tuple(each for pool in self._pools.values() for each in pool.running_processes)

    @property
    def auth_methods(self) -> tuple[AuthMethod, ...]:
        """The ways to log in that the agent tells; none while no process runs."""
        told = (pool.auth_methods for pool in self._pools.values())
        return next(filter(None, told), ())

    def place_of(self, conversation: Conversation, home: str = "") -> ProcessPlace:
        """The place of the conversation, in this home if one is given; else where it is."""
        there = [each for each, pool in self._pools.items() if conversation in pool]
        wanted = home or next(iter(there), "") or conversation.record.state.home or OURS
        for each in there:
            if each != wanted:
                self._pools[each].leave_conversation(conversation)
        return self._pools[wanted].place_of(conversation)

    def leave_conversation(self, conversation: Conversation) -> None:
        """The conversation is not used any more."""
        for pool in self._pools.values():
            pool.leave_conversation(conversation)

    def renew_launch(self, launch: Launch) -> None:
        """The next processes are started in this way. Their number stays."""
        for pool in self._pools.values():
            pool.renew_launch(launch)

    @asynccontextmanager
    async def first_client(self, credentials: Credentials) -> AsyncIterator[AcpClient]:
        """The first process with these credentials, started if it does not run, for what belongs to
        no session. Raises AgentError."""
        async with self._pools[home_of(credentials)].first_client(credentials) as client:
            yield client

    async def connect_apart(self, credentials: Credentials, listener: Listener) -> AcpClient:
        """A process apart from those of the places. Raises AgentError."""
        return await self._pools[home_of(credentials)].connect_apart(credentials, listener)

    async def stop(self, home: str = "") -> None:
        """End all processes, or those in that home."""
        ended = (pool for each, pool in self._pools.items() if home in ("", each))
        await asyncio.gather(*(pool.stop() for pool in ended))

    def stop_watching(self) -> None:
        for pool in self._pools.values():
            pool.stop_watching()
