"""Opens the agent's sessions for one conversation: a new one, or one that remembers what was said.

Source: docs/gemini-cli-acp.md 9.
"""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass
from functools import partial
from typing import Any, Mapping

from ..base.background import in_thread
from ..base.log import logger
from .acp import Client, Session
from .failure import AgentError
from .resumption import as_text, remove_recordings, write_recording
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
    """`home` is the CLI's folder `.gemini`. `loading` is the id of the session that is being
    loaded, whose updates are for `repeat`."""

    def __init__(self, home: str, workspace: str) -> None:
        self.loading = ""
        self._home = home
        self._workspace = workspace
        self._left = 0
        self._has_repeated = asyncio.Event()

    async def open(self, client: Client, history: History | None) -> Opened:
        """`history` is what the session should remember. Raises AgentError."""
        if history is not None:
            loaded = await self._load(client, history)
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

    async def _load(self, client: Client, history: History) -> Opened | None:
        """None where the agent takes no session that remembers."""
        id = str(uuid.uuid4())
        write = partial(write_recording, self._home, self._workspace, id, history)
        try:
            loadable = await in_thread(write, WRITING)
            if loadable is None:
                return None
            self.loading, self._left = id, loadable.updates
            self._has_repeated.clear()
            result = await client.request(
                "session/load", {"sessionId": id, **self._params}, OPENING
            )
            # What came later would count as the answer to the next message.
            await asyncio.wait_for(self._has_repeated.wait(), REPEATING)
            return Opened(Session(client, id, self._workspace), result)
        except (AgentError, OSError, asyncio.TimeoutError) as error:
            logger.warning("a conversation could not be loaded: %r", error)
            remove_recordings(self._home, id)
            return None
        finally:
            self.loading = ""
