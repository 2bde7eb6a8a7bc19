"""One conversation about one workspace. It has a session of the agent for as long as that lives,
and then another one under the same id, which knows what was said. The transcript is the truth; the
agent's own memory can always be made from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from typing import Callable, Mapping, Sequence, Tuple

from ...base.background import in_thread
from ...base.signal import ValueSignal
from .. import failure, session_state
from .. import turn_events as events
from ..acp import messages
from ..agents.cli import AgentCli
from ..attachments import Attachments
from ..events.event_log import EventLog
from ..failure import VALIDATION_ERROR, AgentError
from ..sentence import sentence
from ..session_state import ContextUsage, Plan, SessionTitle, StateUpdate
from ..turn.agent_session import AgentSession
from ..turn.shown_images import ShownImages
from ..turn.turn import Limits, Turn
from ..turn_events import sum_of
from ..turn_undo import AS_LEFT, UNDONE, FileChange, TurnUndo
from .conversation_record import ConversationRecord
from .conversation_state import ConversationState
from .held_session import HeldSession
from .hold import Hold
from .message_queue import MessageQueue
from .past_turns import PastTurns
from .prompt import PromptMessage, as_resources
from .reservation import Reservation
from .transcript_reader import FIRST, ConversationSummary
from .transcripts import Stat, TranscriptFile, on_disk

# For the model, which believes that the files are as it wrote them.
UNDID = (
    "The user has undone changes of yours, or made them again: these files are not as you know"
    " them. Read them again before you edit them.\n{}\n"
)
NO_SESSION = sentence("The conversation has no session.")
FULL = sentence("The conversation is full; begin a new one.")
UNSAVED = sentence(
    "The disk refuses to store what is said here. Unless it does so later, it will be missing"
    " after a restart."
)


@dataclass(frozen=True)
class SessionInfo:
    """`agent` is the CLI's id. `turns` counts the turns that began; `usage` is the sum of those
    that ended. Times are in UTC. `modes` are those that the agent offers, empty without a session.
    `tool_servers` are names and kinds of the tool servers that the conversation brought along. It
    `is_saved` if the disk accepted everything that was said. `workspace` is empty if it is not
    known. One that is `in_chat` was begun in the chat of an editor, others by clients of the
    API."""

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
    in_chat: bool = True


class Conversation:
    """`cli` is the CLI of the conversation, for good. `record` is what is known of it. `session` is
    the agent's session. `past` are its turns as they are on disk; `turn` is the running or last
    one, `log` has its events. `on_event` gets every event; `on_change` is called when the record
    has changed. `seen` is what the transcript was like when the summary was read, None if that is
    not known. `last_use` tells when any conversation was used last."""

    def __init__(
        self,
        transcript: TranscriptFile,
        summary: ConversationSummary,
        cli: AgentCli,
        on_event: Callable[[events.TurnEvent], None],
        on_change: Callable[[], None] = lambda: None,
        seen: Stat | None = None,
        last_use: Callable[[], datetime] = lambda: FIRST,
    ) -> None:
        self.id, self.workspace = summary.id, summary.workspace
        self.cli = cli
        self.turn: Turn | None = None
        self._known = partial(_restored_parts, cli, on_change)
        self.record, self.past, self.session = self._known(transcript, summary)
        self.queue = MessageQueue(self.record, self._publish_body)
        self.hold = Hold(transcript, seen, partial(self._know_again, transcript))
        self.attachments = Attachments(transcript.folder)
        self.images = ShownImages(transcript.folder)
        self.edits = TurnUndo(transcript.folder)
        self._on_event, self._on_change, self._last_use = on_event, on_change, last_use
        # A turn was undone or redone, whoever asked for that: its id, and its files.
        self.undos = ValueSignal[Tuple[str, Sequence[FileChange]]]()
        self.reservation = Reservation()
        self.log: EventLog | None = None
        self._is_attended = True
        # The turn that reported that the disk refuses.
        self._warned_in = ""

    @property
    def is_busy(self) -> bool:
        return self.reservation.is_held or self._has_running_turn

    @property
    def session_info(self) -> SessionInfo:
        used = [self.record.usage] if self.turn is None else [self.record.usage, self.turn.usage]
        return replace(
            info_of(self.record.summary, self.cli.id),
            usage=sum_of(used),
            model=self.session.choices.models.current,
            mode=self.session.choices.mode,
            is_busy=self.is_busy,
            modes=self.session.state.modes,
            is_saved=self.record.transcript.is_saved,
        )

    def reserve(self) -> None:
        """Keep others from beginning a turn until its reservation is released. Raises AgentError.

        A second turn has to be refused: the agent would silently end the first one
        (docs/gemini-cli-acp.md 2.13).
        """
        if self.is_busy:
            raise failure.session_busy()
        self.reservation.take()

    async def mark_owned(self) -> None:
        """Make it belong to somebody from now on, who uses it by its id. Raises AgentError."""
        if not self.record.state.is_owned:
            async with self.hold.exclusive_use():
                self.record.mark_owned()

    def cancel_turn(self) -> None:
        """End the turn; or, if the conversation is reserved, keep its message from being sent."""
        self.reservation.cancel()
        if self.turn is not None:
            self.turn.cancel()

    def set_attended(self, is_attended: bool) -> None:
        """Whether somebody may answer the questions of its turns, from now on. Unless they do, the
        answers are no."""
        self._is_attended = is_attended
        if self.turn is not None:
            self.turn.set_attended(is_attended)

    def take_update(self, update: messages.SessionUpdate) -> None:
        """The agent reports something: of the session, part of a turn, or of the session that it
        loads."""
        if isinstance(update, messages.AvailableCommands):
            self._publish_body(self.session.as_commands(update))
        elif isinstance(update, session_state.KINDS):
            self.hold.run_while_held(partial(self._take_state, update))
        elif self.turn is not None and self._has_running_turn:
            self.turn.take_update(update)
        elif isinstance(update, messages.Notice):
            self.session.keep_notice(update.text)
        else:
            self.session.take_repeated_update(update)

    async def choose_options(self, wanted: Mapping[str, str]) -> None:
        """Use another "model", another "mode", or both from now on. Raises AgentError;
        VALIDATION_ERROR if the agent does not offer one of them, SESSION_BUSY while a turn runs."""
        if self._has_running_turn:
            raise failure.session_busy()
        await self.session.choose_options(wanted)
        self._publish_body(self.session.state.options)

    async def choose_option(self, id: str, value: str | bool) -> None:
        """Use another value of an option of the agent from now on. Raises AgentError;
        VALIDATION_ERROR if the agent does not offer it, SESSION_BUSY for an option that the agent
        cannot change while a turn runs."""
        option = self.session.state.options.by_id(id)
        if self._has_running_turn and option is not None and option.is_made:
            raise failure.session_busy()
        await self.session.choose_option(id, value)
        self._publish_body(self.session.state.options)

    async def begin_turn(
        self,
        said: PromptMessage,
        limits: Limits,
        asks: bool,
        on_end: Callable[[events.Body], None],
        queued: str = "",
    ) -> Turn:
        """Begin a turn; it is over at once if it was cancelled before. Needs a session. `queued` is
        the id of a message in the queue, the other arguments are the turn's. Raises AgentError."""
        agent = _agent_for_turn(self.session, self.record)
        if self.turn is not None:
            self.record.usage = sum_of([self.record.usage, self.turn.usage])
        log = self.log = EventLog(self.id, self._take_event)
        agent.recording.skip_earlier_turns()
        note = partial(self.edits.note_change, log.turn_id)
        # Given back with the end of the turn.
        self.hold.keep_held()
        turn = self.turn = Turn(log, agent, limits, asks, on_end, note, self.images)
        turn.set_attended(self._is_attended)
        message = events.Message(said.text, said.files, said.attachments, said.additions)
        self.record.begin_turn(turn.id, message, queued, self._last_use())
        self._on_event(log.unnumbered_event(message))
        if queued:
            turn.is_detached = True
            self.queue.remove_sent(queued)
            # If the server is killed, the message is either in the queue or was said, never both.
            await self.record.write_to_disk()
        if self.reservation.is_cancelled:
            turn.cancel()
        self._send_prompt(turn, agent, said)
        return turn

    async def changed_files(self, turn: str) -> list[FileChange] | None:
        """The files that a turn changed, and their states; None if there is no such turn. Raises
        AgentError."""
        files = await on_disk(partial(self.edits.changed_files, turn))
        return files if files or await self.past.read_since(turn) else None

    async def undo_turn(self, turn: str, again: bool = False) -> list[FileChange] | None:
        """Restore the files that are still as the turn left them; `again` does what was undone
        once more. Gives all of its files with their states afterwards; None if there is no such
        turn. The agent is told with the next message. Raises AgentError, code SESSION_BUSY while a
        turn runs."""
        self.reserve()
        try:
            async with self.hold.exclusive_use():
                # Without a time limit: nobody may change the files before the thread is done.
                work = self.edits.redo_turn if again else self.edits.undo_turn
                files = await on_disk(partial(work, turn), None)
                wanted = AS_LEFT if again else UNDONE
                self.record.tell_changed([file.path for file in files if file.state == wanted])
        finally:
            self.reservation.release()
        self.undos.emit((turn, files))
        return files if files or await self.past.read_since(turn) else None

    async def remove(self) -> None:
        """Delete everything of it; it must not be used afterwards. Raises AgentError, OSError."""
        async with self.hold.exclusive_use():
            session, record = self.session, self.record
            if session.is_closed:
                raise failure.no_session(self.id)
            if self.is_busy or session.is_opening:
                raise failure.session_busy()
            session.is_closed = True
            try:
                await in_thread(
                    partial(delete_conversation_files, record.transcript, self.cli, record.state)
                )
            except OSError:
                session.is_closed = False
                raise
            session.forget_session()
        # Also where it is kept to its end.
        await in_thread(self.hold.release_lock)

    def tell_unsaved(self) -> None:
        """Report once, in the running turn, that the disk refuses what is said."""
        log = self.log
        if log is None or log.is_over or not self.record.transcript.is_refused:
            return
        if self._warned_in != log.turn_id:
            self._warned_in = log.turn_id
            log.add_event(events.Thought(events.WARNING, UNSAVED))

    def _know_again(self, transcript: TranscriptFile, summary: ConversationSummary) -> None:
        """Another server has gone on with it; the agent's session here does not know that."""
        before = self.session
        before.forget_session()
        self.turn = None
        self.record, self.past, self.session = self._known(transcript, summary)
        self.session.continue_after(before)
        self.queue = MessageQueue(self.record, self._publish_body)
        self._on_change()

    @property
    def _has_running_turn(self) -> bool:
        """Whether a turn is under way."""
        return self.turn is not None and not self.turn.is_over

    def _take_state(self, update: StateUpdate) -> None:
        if isinstance(update, SessionTitle):
            self.record.tell_title(update.title)
            self._publish_body(SessionTitle(self.record.title))
        elif not self.session.choices.take_update(update, self._has_running_turn):
            return
        elif not isinstance(update, (Plan, ContextUsage)):
            self._publish_body(self.session.state.options)
        elif self.turn is not None and self._has_running_turn:
            self.turn.take_update(update)
        else:
            self._publish_body(update)

    def _publish_body(self, body: events.Body) -> None:
        """An event of the conversation that belongs to no turn."""
        self._on_event(events.TurnEvent(0, datetime.now(timezone.utc), self.id, "", body))

    def _send_prompt(self, turn: Turn, agent: AgentSession, said: PromptMessage) -> None:
        """Send the message, after what the agent has to be told first."""
        record, session = self.record, self.session
        undone = "\n".join(record.state.undone)
        undid = UNDID.format(undone) if undone else ""
        reminders = [reminder for reminder in (session.reminder, undid, *agent.notes) if reminder]
        capabilities = agent.session.client.capabilities
        first = as_resources(reminders, capabilities) if reminders else []
        turn.start([*first, *said.parts], session.take_warnings())
        self.tell_unsaved()
        record.transcript.write_soon()
        if not turn.is_over and reminders:
            # The reminder of a cancelled turn was not sent.
            session.reminder = ""
            agent.notes.clear()
            record.change_state(replace(record.state, undone=()))

    def _take_event(self, event: events.TurnEvent) -> None:
        if not isinstance(event.body, events.PASSING):
            self.record.transcript.add_event(event)
        self._on_event(event)
        if not event.is_last:
            self.tell_unsaved()


async def message_with_attachments(
    conversation: Conversation, said: PromptMessage, ids: Sequence[str]
) -> PromptMessage:
    """The message with these attachments of the conversation, which needs a session. Raises
    AgentError."""
    agent = conversation.session.agent
    if agent is None:
        return said
    capabilities, forms = agent.session.client.capabilities, conversation.cli.attachment_forms
    parts = partial(conversation.attachments.message_parts, ids, capabilities, forms)
    return said.with_attachments(await on_disk(parts))


def info_of(summary: ConversationSummary, agent: str) -> SessionInfo:
    """The conversation as long as nobody uses it; `agent` is its CLI's id."""
    state = summary.state
    return SessionInfo(
        summary.id,
        agent,
        summary.workspace,
        summary.title,
        state.model,
        state.mode,
        False,
        summary.turns,
        summary.created,
        summary.last_used,
        summary.usage,
        (),
        tuple((server.name, server.kind) for server in state.servers),
        True,
        state.in_chat,
    )


def delete_conversation_files(
    transcript: TranscriptFile, cli: AgentCli, state: ConversationState
) -> None:
    """Delete what is on disk of a conversation with this state, and the CLI's files of its
    sessions. Blocks. Raises OSError."""
    transcript.remove_files()
    for session in filter(None, (state.session, state.loading)):
        cli.session_files.remove_session(session)


def _restored_parts(
    cli: AgentCli,
    on_change: Callable[[], None],
    transcript: TranscriptFile,
    summary: ConversationSummary,
) -> tuple[ConversationRecord, PastTurns, HeldSession]:
    record = ConversationRecord(transcript, summary, on_change)
    if not record.has_begun:
        # A message that waits may begin it, before there is a session.
        record.change_state(replace(record.state, agent=cli.id))
    past = PastTurns(transcript.reader, summary)
    return record, past, HeldSession(cli, record, past)


def _agent_for_turn(session: HeldSession, record: ConversationRecord) -> AgentSession:
    """Raises AgentError if there can be no turn."""
    if session.agent is None:
        raise AgentError(VALIDATION_ERROR, NO_SESSION)
    if record.transcript.is_full:
        raise AgentError(VALIDATION_ERROR, FULL)
    return session.agent
