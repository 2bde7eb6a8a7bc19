"""One conversation about one workspace: a session of the agent for as long as that lives, and then
another one under the same id, which knows what was said. The transcript is what it is; the agent's
own memory can always be made of it."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from typing import Callable, Mapping, Sequence

from ...base.background import in_thread
from ..acp import messages, slash_commands
from ..acp.acp_client import Client, Session
from ..acp.messages import Models, Modes
from ..acp.slash_commands import SlashCommand
from ..acp.tool_servers import ToolServer
from ..agents.cli import Cli
from ..events import turn_events as events
from ..events.event_log import EventLog
from ..events.turn_events import sum_of
from ..turn.agent_session import AgentSession
from ..turn.turn import Limits, Turn
from ..wording.failure import (
    GEMINI_ERROR,
    SESSION_BUSY,
    VALIDATION_ERROR,
    AgentError,
    no_session,
    not_among,
)
from ..wording.sentence import Words, sentence
from .attachments import Attachments
from .conversation_state import ConversationState
from .past_turns import PastTurns, on_disk
from .prompt import Message
from .reminder import as_resources
from .session_opener import SessionOpener
from .transcripts import Summary, Transcript, title_of
from .turn_undo import UNDONE, FileChange, TurnUndo

# Seconds for the choice of a model, which takes none.
CHOOSING = 10.0
REMINDED = sentence(
    "The agent was started anew and could not take up this conversation; it was given its text to"
    " read instead."
)
NOT_AGAIN = {
    "model": sentence(
        "The model {name} is not in use any more, for the agent refused it: {reason}"
    ),
    "mode": sentence("The mode {name} is not in use any more, for the agent refused it: {reason}"),
}
# For the model, which takes the files for what it wrote.
UNDID = (
    "The user has undone changes of yours: these files are as they were before. Read them again"
    " before you edit them.\n{}\n"
)
UNSAVED = sentence(
    "The disk does not take what is said here: unless it does later, it will be missing after a"
    " restart."
)


@dataclass(frozen=True)
class SessionInfo:
    """`agent` is the CLI's id, `turns` counts those that were begun, `usage` adds up those that
    ended; times are in UTC. `modes` are those that the agent offers, none without a session.
    `tool_servers` are names and kinds of those that the conversation brought along. It `is_saved`
    where the disk took all that was said; `workspace` is empty where it is not known any more."""

    id: str
    agent: str
    workspace: str
    title: str
    model: str
    mode: str
    is_busy: bool
    turns: int
    created: datetime
    last_used: datetime
    usage: events.Usage
    modes: tuple[str, ...]
    tool_servers: tuple[tuple[str, str], ...]
    is_saved: bool


class Conversation:
    """`cli` is the one that it is held with, for good. `has_begun` says that it had a session some
    time, from which on it is on disk. `past` are its turns as they are on disk. `told` hears every
    event.

    It has more than twenty methods: whatever is asked of a conversation is asked here."""

    def __init__(
        self,
        transcript: Transcript,
        summary: Summary,
        cli: Cli,
        told: Callable[[events.TurnEvent], None],
    ) -> None:
        self.id = summary.id
        self.workspace = summary.workspace
        self.turn: Turn | None = None
        self.has_begun = bool(summary.state.session) or summary.turns > 0
        self.created, self.last_used = summary.created, summary.last_used
        self.past = PastTurns(transcript, summary)
        self.attachments = Attachments(transcript.folder)
        self.edits = TurnUndo(transcript.folder)
        self._transcript = transcript
        self.cli = cli
        self._told = told
        self._agent: AgentSession | None = None
        self._models = Models()
        self._modes = Modes()
        self._title = summary.title
        # What is so, and what of that is in the file.
        self._state = self._written = summary.state
        self._usage = summary.usage
        self._turns = summary.turns
        self._opener = SessionOpener(cli, self.workspace)
        self._opener.servers = summary.state.servers
        # What the agent has to be reminded of with the next message.
        self._reminder = ""
        # What was chosen and is given up, in sentences.
        self._refused: tuple[Words, ...] = ()
        self._is_reserved = self._is_cancelled = self._is_removed = False
        # The events of the turn, and the turn in which was told that the disk refuses.
        self._log: EventLog | None = None
        self._warned_in = ""
        # Held by who opens a session for it.
        self._opening = asyncio.Lock()

    @property
    def _session(self) -> Session | None:
        return None if self._agent is None else self._agent.session

    @property
    def session(self) -> str | None:
        """The agent's id of the session that is open, or that is being loaded."""
        return self._opener.loading or (None if self._session is None else self._session.id)

    @property
    def is_busy(self) -> bool:
        return self._is_reserved or (self.turn is not None and not self.turn.is_over)

    @property
    def info(self) -> SessionInfo:
        usage = [self._usage] if self.turn is None else [self._usage, self.turn.usage]
        return SessionInfo(
            self.id,
            self.cli.id,
            self.workspace,
            self._title,
            self.models.current,
            self.modes.current,
            self.is_busy,
            self._turns,
            self.created,
            self.last_used,
            sum_of(usage),
            self.modes.available,
            tuple((server.name, server.kind) for server in self._opener.servers),
            self._transcript.is_saved,
        )

    @property
    def models(self) -> Models:
        return Models(self._models.available, self._state.model or self._models.current)

    @property
    def modes(self) -> Modes:
        return Modes(self._modes.available, self._state.mode or self._modes.current)

    def reserve(self) -> None:
        """Nobody else can begin a turn until `release`. Raises AgentError.

        Two at once would be worse than refused: the agent ends the first one silently
        (docs/gemini-cli-acp.md 2.13).
        """
        if self.is_busy:
            raise _busy()
        self._is_reserved = True

    def release(self) -> None:
        self._is_reserved = self._is_cancelled = False

    def cancel(self) -> None:
        """End the turn, or keep the one from being said for which the conversation is reserved."""
        self._is_cancelled = self._is_reserved
        if self.turn is not None:
            self.turn.cancel()

    async def connect(self, client: Client) -> None:
        """Make sure of a session, which the next turn has to begin with. Raises AgentError."""
        async with self._opening:
            if self._is_removed:
                raise no_session(self.id)
            if self._session is not None and self._session.client is client:
                return
            turns = (await self.past.history()).turns if self._turns else None
            last = self._state.session
            loading = "" if turns is None else await self._announce_recording()
            # A tool server that does not start would hold up all others.
            async with asyncio.Lock() if self._opener.servers else client.opening:
                opened = await self._opener.open(client, loading, last, turns)
            session = opened.session
            self._reminder = opened.reminder
            self._models, self._modes = opened.models, opened.modes
            if not self.has_begun:
                self._transcript.begin(self.workspace, self.created)
                self.has_begun = True
            self._change(replace(self._state, session=session.id, agent=self.cli.id))
            # What the CLI has of others is of no use any more.
            for each in {last, loading} - {"", session.id}:
                await in_thread(partial(self.cli.remove_recordings, each))
            if loading:
                self._change(replace(self._state, loading=""))
            await self._choose_again(session)
            # Not before: with another mode than is told nothing may be said in it.
            self._agent = AgentSession(session, self.cli)

    async def _announce_recording(self) -> str:
        """The id for a recording that the CLI is to load. It is on disk before the recording is, so
        that whoever deletes the conversation finds that, whatever happens to us. Raises
        AgentError."""
        before, id = self._state.loading, str(uuid.uuid4())
        if before:
            await in_thread(partial(self.cli.remove_recordings, before))
        self._change(replace(self._state, loading=id))
        await on_disk(self._transcript.write)
        return id

    def update(self, update: messages.SessionUpdate) -> None:
        """The agent tells something: what comes of the turn, or what it was loaded with."""
        if self.turn is not None and not self.turn.is_over:
            self.turn.update(update)
        else:
            self._opener.repeat(update)

    def begin(
        self,
        said: Message,
        limits: Limits,
        asks: bool,
        ended: Callable[[events.Body], None],
    ) -> Turn:
        """A turn that runs, or one that is over where it was cancelled before; `connect` came
        before, the arguments are the turn's. Raises AgentError."""
        if self._agent is None:
            raise AgentError(VALIDATION_ERROR, sentence("The conversation has no session."))
        if self._transcript.is_full:
            told = sentence("The conversation is full; begin a new one.")
            raise AgentError(VALIDATION_ERROR, told)
        if self.turn is not None:
            self._usage = sum_of([self._usage, self.turn.usage])
        log = self._log = EventLog(self.id, self._hear)
        note = partial(self.edits.note, log.turn_id)
        self._agent.recording.skip()
        turn = self.turn = Turn(log, self._agent, limits, asks, ended, note)
        self._turns += 1
        self._title = self._title or title_of(said.text)
        self.last_used = datetime.now(timezone.utc)
        message = events.Message(said.text, said.files, said.attachments)
        self._transcript.message(turn.id, message)
        self._told(log.note(message))
        if self._is_cancelled:
            turn.cancel()
        reminders = [it for it in (self._reminder, _undone(self._state.undone)) if it]
        parts = [*as_resources(reminders), *said.parts]
        turn.start(parts, self._warnings())
        self.tell_unsaved()
        self._transcript.write_soon()
        if not turn.is_over and reminders:
            # One that was cancelled before has reminded nobody.
            self._reminder = ""
            self._change(replace(self._state, undone=()))
        return turn

    async def choose(self, wanted: Mapping[str, str]) -> None:
        """A "model", a "mode" or both from now on. Raises AgentError; VALIDATION_ERROR where the
        agent does not offer one of them, SESSION_BUSY while a turn runs."""
        if self._session is None or (self.turn is not None and not self.turn.is_over):
            raise _busy()
        models = [each.id for each in self._models.available]
        known = {"model": models, "mode": self._modes.available}
        for what, name in wanted.items():
            if name not in known[what]:
                raise not_among(known[what], name)
        for what, name in wanted.items():
            try:
                await self._session.choose(what, name, CHOOSING)
            except AgentError as error:
                if error.code != GEMINI_ERROR:
                    raise
                # It offers modes that it refuses in a folder that is not trusted.
                raise AgentError(VALIDATION_ERROR, error.message, error.details) from error
        self._change(self._state.choosing(wanted))

    def bring(self, servers: Sequence[ToolServer]) -> None:
        """Have these tool servers in all of its sessions; before the first one."""
        if servers:
            self._opener.servers = tuple(servers)
            self._change(replace(self._state, servers=tuple(servers)))

    async def commands(self) -> tuple[SlashCommand, ...]:
        """Those that the agent offers; `connect` came before. Raises AgentError."""
        if self._session is None:
            raise _busy()
        return await slash_commands.offered(self._session, self.cli.text_for)

    async def attaching(self, said: Message, ids: Sequence[str]) -> Message:
        """What is said, with these attachments; `connect` came before. Raises AgentError."""
        if not ids or self._session is None:
            return said
        admitted = self._session.client.capabilities
        return said.attaching(await on_disk(partial(self.attachments.parts, ids, admitted)))

    async def undo(self, turn: str) -> list[FileChange]:
        """Put back the files that are still as the turn left them; the agent is told with the next
        message. Raises AgentError, also while a turn runs."""
        self.reserve()
        try:
            # Without a limit: nobody else may work on the files before the thread is done.
            files = await on_disk(partial(self.edits.undo, turn), None)
        finally:
            self.release()
        undone = [it.path for it in files if it.state == UNDONE]
        known = dict.fromkeys([*self._state.undone, *undone])
        self._change(replace(self._state, undone=tuple(known)))
        return files

    @property
    def is_owned(self) -> bool:
        """Whether somebody uses it by its id; who uses none does not get into it."""
        return self._state.is_owned

    def own(self, is_temporary: bool = False) -> None:
        """Somebody uses it by its id, from now on; a temporary one does not outlive the server."""
        if not self.is_owned:
            self._change(replace(self._state, is_owned=True, is_temporary=is_temporary))

    def set_title(self, title: str) -> None:
        self._title = title
        self._change(replace(self._state, title=title))

    async def remove(self) -> None:
        """Forget all of it; it is not to be used any more. Raises AgentError, OSError."""
        if self._is_removed:
            raise no_session(self.id)
        if self.is_busy or self._opening.locked():
            raise _busy()
        self._is_removed = True
        try:
            await in_thread(partial(forget, self._transcript, self.cli, self._state))
        except OSError:
            self._is_removed = False
            raise
        if self._session is not None:
            self._session.client.commands.forget(self._session.id)

    def tell_unsaved(self) -> None:
        """Tell in the turn that runs, once, that the disk does not take what is said."""
        log = self._log
        if log is None or log.is_over or not self._transcript.is_refused:
            return
        if self._warned_in != log.turn_id:
            self._warned_in = log.turn_id
            log.add(events.Thought(events.WARNING, UNSAVED))

    @property
    def is_refused(self) -> bool:
        """Whether the disk has refused what was said, and may take it later."""
        return self._transcript.is_waiting

    def write_soon(self) -> None:
        """What was told so far, and what the disk has refused."""
        self._transcript.write_soon()

    def write_at_last(self) -> None:
        """The same, now; nobody will try again. Blocks."""
        self._transcript.write(is_last=True)

    def _change(self, state: ConversationState) -> None:
        self._state = state
        changes = state.changes_since(self._written)
        if self.has_begun and changes:
            self._written = state
            self._transcript.change(**changes)

    async def _choose_again(self, session: Session) -> None:
        """What was chosen, in a new session; what the agent does not take any more, as a mode in a
        folder that is not trusted now, is given up. Raises AgentError where the agent is gone."""
        chosen = {messages.MODEL: self._state.model, messages.MODE: self._state.mode}
        for what, name in chosen.items():
            try:
                if name:
                    await session.choose(what, name, CHOOSING)
            except AgentError as error:
                if not session.client.is_running:
                    raise
                self._change(self._state.choosing({what: ""}))
                self._refused += (NOT_AGAIN[what].filled(name=name, reason=error.message),)

    def _hear(self, event: events.TurnEvent) -> None:
        self._transcript.event(event)
        self._told(event)
        if not event.is_last:
            self.tell_unsaved()

    def _warnings(self) -> tuple[Words, ...]:
        reminded = (REMINDED,) if self._reminder else ()
        refused, self._refused = self._refused, ()
        return (*reminded, *refused)


def forget(transcript: Transcript, cli: Cli, state: ConversationState) -> None:
    """Delete what is on disk of a conversation with this state, and what the CLI has of its
    sessions. Blocks. Raises OSError."""
    transcript.remove()
    for session in filter(None, (state.session, state.loading)):
        cli.remove_recordings(session)


def _undone(paths: Sequence[str]) -> str:
    """What the agent is told of turns that were undone."""
    return UNDID.format("\n".join(paths)) if paths else ""


def _busy() -> AgentError:
    return AgentError(SESSION_BUSY, sentence("The conversation is at work on another message."))
