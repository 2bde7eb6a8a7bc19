"""The agent's session of a conversation: opened when it is needed, and opened again after its
process has ended, with the model and the mode that were chosen."""

from __future__ import annotations

import asyncio
import uuid
from collections import deque
from dataclasses import replace
from functools import partial
from typing import AsyncContextManager, Iterable, Mapping, Sequence

from ...base.answer import Answer
from ...base.background import in_thread
from ...base.log import logger
from .. import failure
from ..acp import messages, slash_commands
from ..acp.acp_client import AcpClient, AcpSession
from ..acp.agent_state import AgentState
from ..acp.messages import AvailableCommands
from ..agents.cli import AgentCli
from ..failure import AgentError
from ..sentence import Words, sentence
from ..session_state import Commands
from ..tool_servers import ToolServer
from ..turn.agent_session import AgentSession
from .choices import Choices
from .conversation_record import ConversationRecord
from .past_turns import PastTurns
from .session_opener import SessionOpener
from .transcripts import on_disk

# The most notices that are kept for the next turn.
MAX_NOTICES = 20
NO_IMAGES = sentence("{cli} takes no images.")
NO_RETURN = sentence(
    "{cli} cannot open its sessions again: after a restart, its model is given the text of this"
    " conversation to read."
)
ALONE = sentence(
    "{cli} speaks version 2 of its protocol: it reads and writes files and runs commands by itself,"
    " so it does not see what is not saved, and a tab with unsaved changes keeps its text."
)
REMINDED = sentence(
    "{cli} goes on in a new session: it was given the text of the conversation to read."
)


class HeldSession:
    """`agent` is the session as turns use it, None if there is none yet. `reminder` is a text that
    the agent needs with the next message, because its session does not know what was said. `state`
    is what the agent has told of the session, `choices` what the user chose in it. `left` is the
    last session here that does not know what was said at other servers since. Once it `is_closed`,
    nothing is opened any more."""

    def __init__(self, cli: AgentCli, record: ConversationRecord, past: PastTurns) -> None:
        self.agent: AgentSession | None = None
        self.left: AgentSession | None = None
        self.reminder = ""
        self.is_closed = False
        self._cli = cli
        self._record = record
        self._past = past
        self.state = AgentState()
        self.choices = Choices(record, self.state)
        self._opener = SessionOpener(cli, record.workspace)
        self._opener.servers = record.state.servers
        # What the user should know of folders that the session does not have.
        self._left_out: Sequence[Words] = ()
        # What the agent has told the user between two turns.
        self._notices: deque[str] = deque(maxlen=MAX_NOTICES)
        # The agent's id of the newest session.
        self._opened: str | None = None
        # Held while a session is opened.
        self._opening = asyncio.Lock()

    @property
    def id(self) -> str | None:
        """The agent's id of the session that is open or being loaded."""
        return self._opener.loading or self._opened

    @property
    def other_folders(self) -> tuple[str, ...]:
        """The folders (real paths) that the agent has beside the workspace; empty if no session is
        open yet."""
        return self.agent.session.roots[1:] if self.agent is not None else ()

    @property
    def is_opening(self) -> bool:
        return self._opening.locked()

    def use_servers(self, servers: Sequence[ToolServer]) -> None:
        """Use these tool servers in all sessions of the conversation. Must come before the
        first."""
        if servers:
            self._opener.servers = tuple(servers)
            self._record.change_state(replace(self._record.state, servers=tuple(servers)))

    def lend_servers(self, lender: Answer[Sequence[ToolServer]] | None) -> None:
        """Use what it gives, too, from the next session on, as long as this server runs; not
        saved."""
        self._opener.lender = lender

    def lend_folders(self, folders: Sequence[str]) -> None:
        """Open the next sessions with these folders (absolute paths) beside the workspace, if their
        agent takes them, as long as this server runs; not saved."""
        self._opener.lent_folders = tuple(folders)

    def continue_after(self, before: HeldSession) -> None:
        """Another server has gone on with the conversation, of which `before` knows nothing."""
        self.left = before.agent or before.left
        self.lend_servers(before._opener.lender)
        self.lend_folders(before._opener.lent_folders)

    async def ensure_session(self, client: AcpClient) -> None:
        """Make sure that there is a session in this process; a turn needs it. Raises AgentError."""
        async with self._opening:
            if self.is_closed:
                raise failure.no_session(self._record.id)
            if self.agent is None or self.agent.session.client is not client:
                await self._open_session(client)

    def take_repeated_update(self, update: messages.SessionUpdate) -> None:
        """The agent repeats a piece of the session that it loads."""
        self._opener.take_repeated_update(update)

    async def fork_session(self) -> str:
        """The agent's id of a new session that knows what was said in this one; empty if the agent
        does not fork it, has it not open, or has something of it still to learn."""
        agent = self.agent
        if agent is None or self.reminder or agent.notes or self.is_opening:
            return ""
        client = agent.session.client
        if not client.is_running or not client.capabilities.forks:
            return ""
        try:
            async with client.opening:
                return await self._opener.fork_session(client, agent.session.id)
        except AgentError as error:
            logger.warning("a session could not be forked: %r", error)
            return ""

    async def choose_options(self, wanted: Mapping[str, str]) -> None:
        """Use a "model", a "mode" or both from now on; after `ensure_session`. Raises
        AgentError."""
        await self.choices.choose_options(self._current_session(), wanted)

    async def choose_option(self, id: str, value: str | bool) -> None:
        """Use another value of one of the options from now on; after `ensure_session`. Raises
        AgentError."""
        await self.choices.choose_option(self._current_session(), id, value)

    async def offered_commands(self) -> Commands:
        """The commands that the agent offers; after `ensure_session`. Raises AgentError."""
        return await slash_commands.offered_commands(self._current_session(), self._cli.text_for)

    def as_commands(self, told: AvailableCommands) -> Commands:
        """The commands that the agent told, as they are offered here."""
        return slash_commands.as_offered(told.commands, self._cli.text_for)

    def take_warnings(self) -> tuple[Words, ...]:
        """What the user should know before the next turn; each warning once."""
        reminded = (REMINDED.with_values(cli=self._cli.name),) if self.reminder else ()
        left_out, self._left_out = self._left_out, ()
        notices = tuple(self._notices)
        self._notices.clear()
        return (
            *self._version_warnings(),
            *self._missing_abilities(),
            *notices,
            *reminded,
            *left_out,
            *self.choices.take_refusals(),
        )

    def keep_notice(self, text: str) -> None:
        """The agent tells the user something between two turns; it comes with the next one."""
        self._notices.append(text)

    def forget_session(self) -> None:
        """The conversation was deleted."""
        if self.agent is not None:
            session = self.agent.session
            session.client.commands.forget_session(session.id)

    def _missing_abilities(self) -> tuple[Words, ...]:
        """What the agent cannot do, with the first message of a conversation."""
        if self._record.turns > 1:
            return ()
        client = self._current_session().client
        admitted = client.capabilities
        can_return = admitted.load or admitted.resume
        told = [
            *([ALONE] if client.lost_offers else []),
            *([] if admitted.image else [NO_IMAGES]),
            *([] if can_return else [NO_RETURN]),
        ]
        return tuple(each.with_values(cli=self._cli.name) for each in told)

    def _version_warnings(self) -> tuple[Words, ...]:
        """That the agent is newer than those that were tested; once in a conversation."""
        record, cli = self._record, self._cli
        version = self._current_session().client.version
        warning = cli.tested.version_warning(cli.program.script, version)
        if not warning or record.state.is_warned:
            return ()
        record.change_state(replace(record.state, is_warned=True))
        return (warning,)

    def _current_session(self) -> AcpSession:
        """Raises AgentError."""
        if self.agent is None:
            raise failure.session_busy()
        return self.agent.session

    async def _open_session(self, client: AcpClient) -> None:
        record = self._record
        turns = (await self._past.read_history()).turns if record.turns else None
        before = record.state.session
        # In another home it is not there.
        last = before if record.state.home in ("", client.home) else ""
        loading = "" if turns is None else await self._announce_recording()
        self.state.reset_state()
        # A tool server that does not start would delay all others. Ours runs already.
        alone: AsyncContextManager[None] = asyncio.Lock()
        await self._opener.await_loan()
        async with alone if self._opener.servers else client.opening:
            known = "" if self._is_left(client, last) else last
            opened = await self._opener.open_session(client, loading, known, turns)
        session, self.reminder = opened.session, opened.reminder
        self._left_out = self._opener.others.warnings
        self._opened = session.id
        self.state.take_opened_session(opened.options, client.early.take_updates(session.id))
        record.begin_file()
        state = replace(record.state, session=session.id, home=client.home, agent=self._cli.id)
        record.change_state(state)
        # The CLI's files of other sessions are useless now.
        await self._remove_recordings({before, loading} - {"", session.id})
        if loading:
            record.change_state(replace(record.state, loading=""))
        await self.choices.choose_again(session, self._cli.asking_mode)
        # Set only now: while the mode is not the announced one, nothing may be said.
        self.agent = AgentSession(session, self._cli, self.state)

    def _is_left(self, client: AcpClient, session: str) -> bool:
        """Whether the process still has it open: some resume it as they remember it, and do not
        read what another process has added."""
        left = self.left.session if self.left is not None else None
        return left is not None and left.client is client and left.id == session

    async def _announce_recording(self) -> str:
        """The id for a recording that the CLI is to load. It is on disk before the recording is, so
        that whoever deletes the conversation finds the recording, even after a crash. Raises
        AgentError."""
        id = str(uuid.uuid4())
        await self._remove_recordings({self._record.state.loading} - {""})
        self._record.change_state(replace(self._record.state, loading=id))
        await on_disk(self._record.transcript.write_now)
        return id

    async def _remove_recordings(self, sessions: Iterable[str]) -> None:
        for each in sessions:
            await in_thread(partial(self._cli.session_files.remove_session, each))
