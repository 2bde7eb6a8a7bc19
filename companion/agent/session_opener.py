"""Opens the agent's sessions for one conversation: new ones, and those that remember."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Any, Mapping

from ..base.background import in_thread
from ..base.log import logger
from .acp import Client, Session
from .cli import Cli
from .failure import AgentError
from .resumption import as_text
from .transcripts import History

# Seconds for a session, which starts the user's tool servers.
OPENING = 60.0
# Seconds for a recording to be written.
WRITING = 60.0
# Seconds for the agent to repeat what it loaded, which takes some tenths of one.
REPEATING = 10.0
REPEATED = ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call")


@dataclass(frozen=True)
class Opened:
    """`result` is the agent's answer. `reminder` is what was said, where the session knows nothing
    of it; or empty."""

    session: Session
    result: Mapping[str, Any]
    reminder: str = ""


class SessionOpener:
    """`loading` is the id of the session that is being loaded, whose updates are for `repeat`."""

    def __init__(self, cli: Cli, workspace: str) -> None:
        self.loading = ""
        self._cli = cli
        self._workspace = workspace
        self._left = 0
        self._has_repeated = asyncio.Event()

    async def open(self, client: Client, last: str, history: History | None) -> Opened:
        """`history` is what the session should remember, `last` the id of the one before. Raises
        AgentError."""
        if history is not None:
            loaded = await self._resume(client, last, history)
            if loaded is not None:
                return loaded
        result = await client.request("session/new", self._params, OPENING)
        session = Session(client, str(result.get("sessionId")), self._workspace)
        return Opened(session, result, "" if history is None else as_text(history))

    def repeat(self, update: Mapping[str, Any]) -> None:
        """The agent repeats a piece of what it loads; nothing says which one is the last."""
        if update.get("sessionUpdate") in REPEATED:
            self._left -= 1
        if self._left <= 0:
            self._has_repeated.set()

    @property
    def _params(self) -> dict[str, Any]:
        return {"cwd": self._workspace, "mcpServers": []}

    async def _resume(self, client: Client, last: str, history: History) -> Opened | None:
        """None where the agent takes no session that remembers."""
        id = ""
        find = partial(self._cli.resumption, self._workspace, last, history)
        try:
            found = await in_thread(find, WRITING)
            if found is None:
                return None
            id = self.loading = found.session
            self._left = found.updates
            self._has_repeated.clear()
            result = await client.request(found.method, {"sessionId": id, **self._params}, OPENING)
            if found.updates:
                # What came later would count as the answer to the next message.
                await asyncio.wait_for(self._has_repeated.wait(), REPEATING)
            return Opened(Session(client, id, self._workspace), result)
        except (AgentError, OSError, asyncio.TimeoutError) as error:
            logger.warning("a conversation could not be loaded: %r", error)
            if id and id != last:
                self._cli.remove_recordings(id)
            return None
        finally:
            self.loading = ""
