"""One turn: a message of the user with all its results, as a list of events that grows.

It gets the agent's messages through `take_update`, `take_question` and `write_file`.
"""

from __future__ import annotations

import asyncio
import math
import re
from dataclasses import dataclass
from typing import AsyncIterator, Callable, Sequence, Union

from ...base.log import logger
from .. import failure
from ..acp import messages
from ..acp.terminal_messages import TerminalRequest
from ..agents.cli import Retry
from ..elicitation import ElicitationRequest
from ..events.event_log import EventLog
from ..failure import AgentError
from ..sentence import Words, sentence
from ..session_state import MODE, MODEL
from ..turn_events import (
    BESIDE,
    CANCELLED,
    EMPTY,
    END_TURN,
    MAX_TOKENS,
    MAX_TURN_REQUESTS,
    RETRYING,
    WARNING,
    Body,
    Complete,
    Error,
    Thought,
    TurnEvent,
    Usage,
    sum_of,
)
from .agent_session import AgentSession
from .call_tracker import CallTracker
from .elicitations import Elicitations
from .file_writes import TurnNote
from .outcomes import CallDecision
from .shown_images import ShownImages
from .shown_resources import ShownResources
from .time_limit import call_within

# Seconds that the agent gets to end a cancelled turn; it needs a twentieth of one.
CANCELLING = 5.0
THOUGHT = re.compile(r"\*\*(.*?)\*\*\n?(.*)", re.DOTALL)
REASONS = (END_TURN, CANCELLED, MAX_TOKENS, MAX_TURN_REQUESTS)
# What the agent says within a turn, in order.
Question = Union[messages.PermissionRequest, ElicitationRequest]
Said = Union[messages.SessionUpdate, Question, messages.Withdrawal]


@dataclass(frozen=True)
class Limits:
    """The seconds for a decision or an answer, and for the whole turn; infinite without a limit."""

    confirmation: float = 600.0
    turn: float = 3600.0


NO_LIMITS = Limits(math.inf, math.inf)


class Turn:
    """Runs from `start` (inside a loop) until `is_over`.

    `asks` says whether somebody can decide on tools and answer `elicitations`; otherwise calls that
    need a decision are rejected. `on_end` is called with the last body, before anybody reads it.
    `note` is called in a thread, with each file before it changes. `images` keeps those that the
    agent shows.
    """

    def __init__(
        self,
        log: EventLog,
        agent: AgentSession,
        limits: Limits,
        asks: bool,
        on_end: Callable[[Body], None],
        note: TurnNote,
        images: ShownImages,
    ) -> None:
        self.id, self.session_id = log.turn_id, log.session_id
        self.usage = Usage()
        # Whether it goes on where nobody reads it any more.
        self.is_detached = False
        # Whether the agent has not said anything yet, or asks its model again.
        self.is_unanswered = True
        self._agent, self._session = agent, agent.session
        self._limits = limits
        self._on_end = on_end
        self._log = log
        patience = limits.confirmation if asks else None
        self._calls = CallTracker(self._log, agent, patience, note)
        self._resources = ShownResources(self._log, images)
        self.elicitations = Elicitations(self._log, self._session, patience)
        self._inbox: asyncio.Queue[Said | None] = asyncio.Queue()
        self._error: AgentError | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    # For listeners.

    @property
    def is_over(self) -> bool:
        return self._log.is_over

    @property
    def last_number(self) -> int:
        """The number of the newest event, 0 before the first."""
        return self._log.last_number

    def read_events(self, after: int = 0) -> AsyncIterator[TurnEvent]:
        """The events with a number above `after`, including future ones; ends with the last.

        Any number of readers may read, each at its own pace.
        """
        return self._log.read_events(after)

    @property
    def confirmations(self) -> tuple[TurnEvent, ...]:
        """The events of the calls that wait for a decision."""
        return self._calls.confirmations

    def confirm_call(self, call_id: str, decision: CallDecision) -> None:
        """Decide on a call; only the first decision counts. Raises AgentError."""
        self._calls.confirm_call(call_id, decision)

    def leave_to_user(self) -> None:
        """A user has it before them in an editor: it goes on where nobody else reads it, and waits
        for as long as they like."""
        self.is_detached = True
        self._limits = NO_LIMITS
        if self._timer is not None:
            self._timer.cancel()
        self._calls.lift_limit()
        self.elicitations.lift_limit()

    def set_attended(self, is_attended: bool) -> None:
        """Unless somebody attends, its questions are answered with no at once, those that wait and
        those that come."""
        self._calls.set_attended(is_attended)
        self.elicitations.set_attended(is_attended)

    def stop_subagent(self, call_id: str) -> bool:
        """End the work of the subagent of one call, and of nobody else; whether it can be."""
        runs = not self.is_over and self._calls.is_running(call_id)
        return runs and self._session.stop_subagent(call_id)

    def cancel(self) -> None:
        """End the turn soon; calls that wait for a decision will not run. Does nothing once it is
        over.

        Before `start`, the message is not sent at all.
        """
        if self.is_over or self._calls.is_cancelled:
            return
        self._calls.cancel_calls()
        self.elicitations.end_all()
        if self._task is not None:
            self._session.cancel()
            asyncio.get_running_loop().call_later(CANCELLING, self._give_up)

    # Messages of the agent.

    def start(self, parts: Sequence[messages.Block], warnings: Sequence[Words] = ()) -> None:
        """`warnings` are what the user should know first."""
        for warning in warnings:
            self._log.add_event(Thought(WARNING, warning))
        if self._calls.is_cancelled:
            self._end_turn(self._completion_of(CANCELLED))
            return
        # Sent at once, so that a cancellation cannot overtake it.
        self._task = asyncio.ensure_future(self._run(self._session.prompt(parts)))

    def take_update(self, update: messages.SessionUpdate) -> None:
        if not isinstance(update, messages.Notice):
            self.is_unanswered = False
        self._inbox.put_nowait(update)

    def take_question(self, request: Question | messages.Withdrawal) -> None:
        """The agent has a question, or takes one back."""
        self.is_unanswered = False
        self._inbox.put_nowait(request)

    def write_file(self, request: messages.WriteTextFile) -> None:
        # Not queued behind earlier messages: the agent says nothing more until it has its answer.
        asyncio.ensure_future(self._calls.write_file(request))

    def take_terminal_request(self, request: TerminalRequest) -> None:
        # Not queued: the agent may wait for its answer before it says anything.
        asyncio.ensure_future(self._calls.take_terminal_request(request))

    def report_retry(self, retry: Retry) -> None:
        """The model did not answer some turn; perhaps this one, if it waits for the model."""
        if self._task is not None and not self.is_over and self._calls.is_idle:
            self.is_unanswered = True
            self._log.add_event(Thought(RETRYING, retry.sentence))

    # Results.

    async def _run(self, prompt: asyncio.Future[messages.TurnEnd]) -> None:
        """The boundary of a turn: a bug here ends it with an error and leaves nobody waiting."""
        self._timer = call_within(self._limits.turn, self._time_out)
        try:
            await self._take_updates(prompt)
            while self._agent.notes and not self._calls.is_cancelled and _ended_by_itself(prompt):
                # What the model has to know for its work, which the refusal of an edit may have
                # ended.
                notes = [messages.text_block(note) for note in self._agent.take_notes()]
                prompt = self._session.prompt(notes)
                await self._take_updates(prompt)
            self._finish_turn(prompt)
        except Exception:
            logger.exception("a turn broke off")
            self._session.cancel()
            told = sentence("Something went wrong; see the log.")
            self._end_turn(Error(failure.INTERNAL_ERROR, told))
        finally:
            if self._timer is not None:
                self._timer.cancel()
            prompt.cancel()

    async def _take_updates(self, prompt: asyncio.Future[messages.TurnEnd]) -> None:
        """What the agent says until the prompt is over."""
        prompt.add_done_callback(lambda _: self._inbox.put_nowait(None))
        before = self.usage
        while True:
            message = await self._inbox.get()
            if message is None:
                break
            await self._handle_update(message)
        await self._calls.finish_writes()
        if prompt.exception() is None:
            end = prompt.result()
            self.usage = sum_of([self.usage, self._agent.cli.read_usage(end.meta)])
            if _token_counts(self.usage) == _token_counts(before):
                self.usage = sum_of([before, Usage(*end.tokens)])

    async def _handle_update(self, said: Said) -> None:
        if isinstance(said, messages.PermissionRequest):
            await self._calls.take_permission_request(said)
        elif isinstance(said, ElicitationRequest):
            self.elicitations.ask_user(said)
        elif isinstance(said, messages.Withdrawal):
            self._calls.withdraw_question(said)
            self.elicitations.withdraw_question(said)
        elif isinstance(said, messages.AgentMessageChunk):
            if said.meta:
                self.usage = sum_of([self.usage, self._agent.cli.read_usage(said.meta)])
            parent = said.parent or self._agent.cli.parent_call(said.meta)
            is_own = not parent or not self._calls.take_words(parent, said.text)
            if is_own and not self._agent.cli.own_mark.fullmatch(said.text):
                self._log.add_answer_piece(said.text)
            await self._resources.show_blocks(said.blocks)
        elif isinstance(said, messages.AgentThoughtChunk):
            if _is_told(said.text, self._log.last_body):
                self._log.add_event(_read_thought(said.text))
        elif isinstance(said, messages.Notice):
            self._log.add_event(Thought(WARNING, said.text))
        elif isinstance(said, messages.ToolCallUpdate):
            if said.blocks:
                self._calls.introduce_call(said)
            await self._resources.show_blocks(said.blocks, said.id)
            await self._calls.take_update(said)
        elif isinstance(said, BESIDE):
            self._log.add_event(said)

    # The end.

    def _time_out(self) -> None:
        seconds = f"{self._limits.turn:g}"
        self._error = AgentError(
            failure.TIMED_OUT,
            sentence("The turn took longer than {seconds} seconds (--turn-time).", seconds=seconds),
        )
        self.cancel()

    def _give_up(self) -> None:
        if not self.is_over and self._task is not None:
            self._end_turn(_error_event(self._error) or self._completion_of(CANCELLED))
            self._task.cancel()
            # It would continue unseen, with tools that need no decision.
            self._session.client.give_up()

    def _finish_turn(self, prompt: asyncio.Future[messages.TurnEnd]) -> None:
        if self.is_over:
            return
        error = prompt.exception()
        if error is not None and not isinstance(error, AgentError):
            raise error
        body: Body | None = _error_event(self._error or error)
        if body is None:
            body = self._completion_of(prompt.result().stop_reason)
        self._end_turn(body)

    def _completion_of(self, reason: str) -> Complete:
        if self._calls.is_cancelled:
            reason = CANCELLED
        elif reason not in REASONS:
            reason = END_TURN
        if reason == END_TURN and not self._log.has_answer:
            reason = EMPTY
        names = self._agent.state.name_of
        return Complete(reason, self.usage, names(MODE), names(MODEL))

    def _end_turn(self, body: Body) -> None:
        self.elicitations.end_all()
        self._calls.close()
        self._on_end(body)
        self._log.add_event(body)


def _is_told(thought: str, last: Body | None) -> bool:
    """Most agents tell a thought in pieces, so blanks behind one of them are told as well."""
    is_behind = isinstance(last, Thought) and not last.subject
    return bool(thought.strip() or (thought and is_behind))


def _read_thought(text: str) -> Thought:
    found = THOUGHT.fullmatch(text)
    if found:
        return Thought(found.group(1).strip(), found.group(2).strip())
    if text.startswith(WARNING + ":"):
        return Thought(WARNING, text[len(WARNING) + 1 :].strip())
    return Thought("", text)


def _ended_by_itself(prompt: asyncio.Future[messages.TurnEnd]) -> bool:
    """Some agents say that a turn was cancelled where an edit was refused."""
    return prompt.exception() is None and prompt.result().stop_reason in (END_TURN, CANCELLED)


def _token_counts(usage: Usage) -> tuple[int, int]:
    return usage.input_tokens, usage.output_tokens


def _error_event(error: AgentError | None) -> Error | None:
    return None if error is None else Error(error.code, error.message, error.details)
