"""Opens the agent's sessions for one conversation: new ones, and ones that remember."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Sequence, TypeVar

from ...base.answer import Answer, Unanswered
from ...base.background import await_answer, in_thread
from ...base.log import logger
from .. import tool_servers
from ..acp import messages
from ..acp.acp_client import AcpClient, AcpSession
from ..agents.cli import AgentCli
from ..failure import AUTH_REQUIRED, TIMED_OUT, AgentError
from ..sentence import sentence
from ..session_state import ConfigOptions
from ..tool_servers import ToolServer
from ..turn_events import PastTurn
from .other_folders import OtherFolders, find_other_folders
from .reminder import reminder_text

# Seconds to open a session, which starts the user's tool servers.
OPENING = 60.0
# Seconds for the editor to tell its tool servers.
LENDING = 10.0
# Seconds to write a recording.
WRITING = 60.0
# Seconds for the agent to repeat what it loaded; it takes some tenths of a second.
REPEATING = 10.0
REPEATED = (
    messages.UserMessageChunk,
    messages.AgentMessageChunk,
    messages.AgentThoughtChunk,
    messages.ToolCallStart,
)

T = TypeVar("T")


@dataclass(frozen=True)
class Opened:
    """`options` are what the session lets choose. `reminder` is the conversation as a text if the
    session does not remember it, else empty."""

    session: AcpSession
    options: ConfigOptions = ConfigOptions()
    reminder: str = ""


class SessionOpener:
    """`servers` are the tool servers of the sessions beside the CLI's own; `lent` are ours, once
    `await_loan` has got them of `lender`, and an agent that cannot use them, or would show their
    secrets, does without. `lent_folders` are the folders that a session gets beside the workspace,
    as far as its agent takes them; `others` are those of the newest one. `loading` is the id of the
    session that is being loaded; its updates go to `take_repeated_update`."""

    def __init__(self, cli: AgentCli, workspace: str) -> None:
        self.loading = ""
        self._cli = cli
        self.servers: tuple[ToolServer, ...] = ()
        self.lender: Answer[Sequence[ToolServer]] | None = None
        self.lent: tuple[ToolServer, ...] = ()
        self.lent_folders: tuple[str, ...] = ()
        self.others = OtherFolders()
        self._workspace = workspace
        self._used: tuple[ToolServer, ...] = ()
        self._place = messages.SessionPlace(workspace)
        self._left = 0
        self._has_repeated = asyncio.Event()

    async def await_loan(self) -> None:
        """Before a session is opened. An editor that does not tell its servers lends none."""
        self.lent = ()
        if self.lender is not None:
            try:
                given = await await_answer(self.lender, LENDING)
            except (Unanswered, asyncio.TimeoutError) as error:
                logger.warning("a session has no tools of the editor: %r", error)
            else:
                self.lent = tuple(given)

    async def open_session(
        self, client: AcpClient, id: str, last: str, turns: Sequence[PastTurn] | None
    ) -> Opened:
        """`turns` are what the session should remember. `id` is for a recording of them, which may
        exist even if this fails. `last` is the id of the session before. Raises AgentError."""
        tool_servers.check_servers(self.servers, client.capabilities)
        hides = not self._cli.shows_headers
        lent = [server for server in self.lent if hides or not server.has_headers]
        self._used = tool_servers.joined_servers(self.servers, lent, client.capabilities)
        meta = await in_thread(partial(self._cli.session_meta, self._workspace))
        find = partial(find_other_folders, self._cli, self._workspace, self.lent_folders)
        self.others = await in_thread(partial(find, client.capabilities))
        servers = [server.params for server in self._used]
        self._place = messages.SessionPlace(self._workspace, servers, meta, self.others.given)
        if turns is not None:
            loaded = await self._resume_session(client, id, last, turns)
            if loaded is not None:
                return loaded
        told = await self._send_request(client, messages.new_session(self._place))
        return self._opened_session(client, told, "" if turns is None else reminder_text(turns))

    async def fork_session(self, client: AcpClient, session: str) -> str:
        """The id of a new session that knows what was said in this one, which was opened here last.
        Raises AgentError."""
        asked = messages.fork_session(session, self._place)
        return (await self._send_request(client, asked)).id

    def take_repeated_update(self, update: messages.SessionUpdate) -> None:
        """The agent repeats a piece of what it loads; nothing marks the last piece."""
        if isinstance(update, REPEATED):
            self._left -= 1
        if self._left <= 0:
            self._has_repeated.set()

    def _opened_session(
        self, client: AcpClient, told: messages.OpenedSession, reminder: str = ""
    ) -> Opened:
        session = AcpSession(client, told.id, self._workspace, self.others.given)
        if told.commands is not None:
            client.commands.set_commands(told.id, told.commands.commands)
        return Opened(session, told.options, reminder)

    async def _send_request(self, client: AcpClient, request: messages.OutgoingRequest[T]) -> T:
        try:
            return await self._ask_once(client, request)
        except AgentError as error:
            if error.code != AUTH_REQUIRED or client.log_in is None:
                raise
        await client.log_in()
        return await self._ask_once(client, request)

    async def _ask_once(self, client: AcpClient, request: messages.OutgoingRequest[T]) -> T:
        if not self._used:
            return await client.request(request, OPENING)
        try:
            return await asyncio.wait_for(client.send_request(request), OPENING)
        except asyncio.TimeoutError:
            # This is not a fault of the process, which others use.
            told = sentence(
                "The tool servers of the conversation did not start within {seconds} seconds.",
                seconds=f"{OPENING:g}",
            )
            raise AgentError(TIMED_OUT, told) from None

    async def _resume_session(
        self, client: AcpClient, id: str, last: str, turns: Sequence[PastTurn]
    ) -> Opened | None:
        """None if the agent has no session that remembers."""
        find = partial(
            self._cli.files_in(client.home).prepare_resumption,
            self._workspace,
            id,
            last,
            turns,
            client.capabilities,
        )
        try:
            found = await in_thread(find, WRITING)
            if found is None:
                return None
            id = self.loading = found.session
            self._left = found.updates
            self._has_repeated.clear()
            told = await self._send_request(
                client, messages.reopen_session(found.method, id, self._place)
            )
            if found.updates:
                # Later updates would count as the answer to the next message.
                await asyncio.wait_for(self._has_repeated.wait(), REPEATING)
            return self._opened_session(client, told)
        except (AgentError, OSError, asyncio.TimeoutError) as error:
            if isinstance(error, AgentError) and error.code in (TIMED_OUT, AUTH_REQUIRED):
                # A new session would start the same tool servers, or need the same login.
                raise
            reason = str(error) or type(error).__name__
            logger.warning("a conversation could not be loaded: %s", reason)
            return None
        finally:
            self.loading = ""
