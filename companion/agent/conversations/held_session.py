"""The agent's session of a conversation: opened when it is needed, and opened again after its
process has ended, with the model and the mode that were chosen."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import replace
from functools import partial
from typing import Iterable, Mapping, Sequence

from ...base.background import in_thread
from ..acp import messages, slash_commands
from ..acp.acp_client import Client, Session
from ..acp.messages import Models, Modes
from ..acp.slash_commands import SlashCommand
from ..acp.tool_servers import ToolServer
from ..agents.cli import Cli
from ..turn.agent_session import AgentSession
from ..wording import failure
from ..wording.failure import GEMINI_ERROR, VALIDATION_ERROR, AgentError
from ..wording.sentence import Words, sentence
from .conversation_record import ConversationRecord
from .past_turns import PastTurns, on_disk
from .session_opener import SessionOpener

# Seconds for the choice of a model, which is immediate.
CHOOSING = 10.0
REMINDED = sentence(
    "The agent was restarted and could not resume this conversation; it was given its text to"
    " read instead."
)
NOT_AGAIN = {
    messages.MODEL: sentence(
        "The model {name} is no longer used, because the agent refused it: {reason}"
    ),
    messages.MODE: sentence(
        "The mode {name} is no longer used, because the agent refused it: {reason}"
    ),
}


class HeldSession:
    """`agent` is the session as turns use it, None if there is none yet. `reminder` is a text that
    the agent needs with the next message, because its session does not know what was said. Once it
    `is_closed`, nothing is opened any more."""

    def __init__(self, cli: Cli, record: ConversationRecord, past: PastTurns) -> None:
        self.agent: AgentSession | None = None
        self.reminder = ""
        self.is_closed = False
        self._cli = cli
        self._record = record
        self._past = past
        self._models = Models()
        self._modes = Modes()
        self._opener = SessionOpener(cli, record.workspace)
        self._opener.servers = record.state.servers
        # Choices that the agent refused in a new session, as sentences.
        self._refused: tuple[Words, ...] = ()
        # Held while a session is opened.
        self._opening = asyncio.Lock()

    @property
    def id(self) -> str | None:
        """The agent's id of the session that is open or being loaded."""
        return self._opener.loading or (None if self.agent is None else self.agent.session.id)

    @property
    def is_opening(self) -> bool:
        return self._opening.locked()

    @property
    def models(self) -> Models:
        chosen = self._record.state.model
        return Models(self._models.available, chosen or self._models.current)

    @property
    def modes(self) -> Modes:
        chosen = self._record.state.mode
        return Modes(self._modes.available, chosen or self._modes.current)

    def bring(self, servers: Sequence[ToolServer]) -> None:
        """Use these tool servers in all sessions of the conversation. Must come before the
        first."""
        if servers:
            self._opener.servers = tuple(servers)
            self._record.change(replace(self._record.state, servers=tuple(servers)))

    async def connect(self, client: Client) -> None:
        """Make sure that there is a session in this process; a turn needs it. Raises AgentError."""
        async with self._opening:
            if self.is_closed:
                raise failure.no_session(self._record.id)
            if self.agent is None or self.agent.session.client is not client:
                await self._open(client)

    def repeat(self, update: messages.SessionUpdate) -> None:
        """The agent repeats a piece of the session that it loads."""
        self._opener.repeat(update)

    async def choose(self, wanted: Mapping[str, str]) -> None:
        """Use a "model", a "mode" or both from now on. Raises AgentError; VALIDATION_ERROR if the
        agent does not offer one of them."""
        session = self._session()
        models = [each.id for each in self._models.available]
        known = {messages.MODEL: models, messages.MODE: self._modes.available}
        for what, name in wanted.items():
            if name not in known[what]:
                raise failure.not_among(known[what], name)
        for what, name in wanted.items():
            try:
                await session.choose(what, name, CHOOSING)
            except AgentError as error:
                if error.code != GEMINI_ERROR:
                    raise
                # It offers modes that it refuses in a folder that is not trusted.
                raise AgentError(VALIDATION_ERROR, error.message, error.details) from error
        self._record.change(self._record.state.choosing(wanted))

    async def commands(self) -> tuple[SlashCommand, ...]:
        """The commands that the agent offers; after `connect`. Raises AgentError."""
        return await slash_commands.offered(self._session(), self._cli.text_for)

    def take_warnings(self) -> tuple[Words, ...]:
        """What the user should know before the next turn; each warning once."""
        reminded = (REMINDED,) if self.reminder else ()
        refused, self._refused = self._refused, ()
        return (*reminded, *refused)

    def forget(self) -> None:
        """The conversation was deleted."""
        if self.agent is not None:
            session = self.agent.session
            session.client.commands.forget(session.id)

    def _session(self) -> Session:
        """Raises AgentError."""
        if self.agent is None:
            raise failure.busy()
        return self.agent.session

    async def _open(self, client: Client) -> None:
        record = self._record
        turns = (await self._past.history()).turns if record.turns else None
        last = record.state.session
        loading = "" if turns is None else await self._announce_recording()
        # A tool server that does not start would delay all others.
        async with asyncio.Lock() if self._opener.servers else client.opening:
            opened = await self._opener.open(client, loading, last, turns)
        session, self.reminder = opened.session, opened.reminder
        self._models, self._modes = opened.models, opened.modes
        record.begin()
        record.change(replace(record.state, session=session.id, agent=self._cli.id))
        # The CLI's files of other sessions are useless now.
        await self._remove_recordings({last, loading} - {"", session.id})
        if loading:
            record.change(replace(record.state, loading=""))
        await self._choose_again(session)
        # Set only now: while the mode is not the announced one, nothing may be said.
        self.agent = AgentSession(session, self._cli)

    async def _announce_recording(self) -> str:
        """The id for a recording that the CLI is to load. It is on disk before the recording is, so
        that whoever deletes the conversation finds the recording, even after a crash. Raises
        AgentError."""
        id = str(uuid.uuid4())
        await self._remove_recordings({self._record.state.loading} - {""})
        self._record.change(replace(self._record.state, loading=id))
        await on_disk(self._record.transcript.write)
        return id

    async def _remove_recordings(self, sessions: Iterable[str]) -> None:
        for each in sessions:
            await in_thread(partial(self._cli.session_files.remove, each))

    async def _choose_again(self, session: Session) -> None:
        """Apply the user's choices to a new session. A choice that the agent now refuses, such as a
        mode in a folder that is no longer trusted, is dropped. Raises AgentError if the agent has
        ended."""
        state = self._record.state
        for what, name in {messages.MODEL: state.model, messages.MODE: state.mode}.items():
            try:
                if name:
                    await session.choose(what, name, CHOOSING)
            except AgentError as error:
                if not session.client.is_running:
                    raise
                self._record.change(self._record.state.choosing({what: ""}))
                self._refused += (NOT_AGAIN[what].filled(name=name, reason=error.message),)
