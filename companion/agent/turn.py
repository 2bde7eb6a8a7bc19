"""One turn: a message of the user and all that comes of it, as a list of events that grows.

It hears the agent through `update` and `permission` and fills in what the agent does not say: that
an approved tool runs, that a rejected one was rejected, what a tool was given and gave.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, AsyncIterator, Callable, Mapping, Sequence

from ..base import jsonrpc
from ..base.log import logger
from . import calls, failure
from .acp import Session
from .calls import Call
from .events import (
    CANCELLED,
    COMPLETED,
    EMPTY,
    END_TURN,
    EXECUTING,
    FAILED,
    MAX_TOKENS,
    MAX_TURN_REQUESTS,
    PENDING,
    Body,
    Complete,
    Content,
    Error,
    Event,
    Thought,
    ToolCall,
    ToolExecution,
    Usage,
)
from .failure import AgentError
from .outcomes import CANCEL, ONCE, Approvals, Question
from .recording import Recording
from .surrogates import clean, pair

# Seconds that the agent gets to end a turn that was cancelled; it needs a twentieth of one.
CANCELLING = 5.0
# The agent's word for a change of its mode, within the answer.
MODE_UPDATE = re.compile(r"\[MODE_UPDATE\] \w+\s*")
THOUGHT = re.compile(r"\*\*(.*?)\*\*\n?(.*)", re.DOTALL)
WARNING = "Warning"
REASONS = (END_TURN, CANCELLED, MAX_TOKENS, MAX_TURN_REQUESTS)
# What a call's result says where the agent says nothing.
REJECTED = "Rejected by the user."
UNANSWERED = "Nobody decided on it in time, so it was rejected."
UNATTENDED = "It wants to be confirmed and nobody could be asked, so it was rejected."
STOPPED = "The turn ended before the tool did."


@dataclass(frozen=True)
class Limits:
    """Seconds for a decision, and for the turn as a whole."""

    confirmation: float = 600.0
    turn: float = 3600.0


class Turn:
    """Runs from `start` (inside a loop) until `is_over`.

    `asks` says whether somebody is there to decide on tools; without, such calls are rejected.
    `ended` is called with the last body, before anybody reads it.
    """

    def __init__(
        self,
        id: str,
        session: Session,
        recording: Recording,
        approvals: Approvals,
        limits: Limits,
        asks: bool,
        ended: Callable[[Body], None],
    ) -> None:
        self.id = secrets.token_hex(8)
        self.session_id = id
        self.usage = Usage()
        self._session = session
        self._recording = recording
        self._approvals = approvals
        self._limits = limits
        self._asks = asks
        self._ended = ended
        self._events: list[Event] = []
        self._grown = asyncio.Event()
        self._inbox: asyncio.Queue[_Told | None] = asyncio.Queue()
        self._calls: dict[str, Call] = {}
        self._questions: dict[str, Question] = {}
        self._held = ""
        self._in_text = self._said_anything = self._cancelling = False
        self._error: AgentError | None = None
        self._task: asyncio.Task[None] | None = None

    # What a listener sees and does.

    @property
    def is_over(self) -> bool:
        return bool(self._events) and self._events[-1].is_last

    async def events(self, after: int = 0) -> AsyncIterator[Event]:
        """The events with a number above `after`, those to come included; ends with the last.

        Any number of readers may read, each at its own pace.
        """
        while True:
            grown = self._grown
            while after < len(self._events):
                event = self._events[after]
                after += 1
                yield event
                if event.is_last:
                    return
            if self.is_over:
                return
            await grown.wait()

    @property
    def confirmations(self) -> tuple[Event, ...]:
        """The events of the calls that wait for a decision."""
        events = (question.event for question in self._questions.values())
        return tuple(event for event in events if event is not None)

    def confirm(self, call_id: str, outcome: str) -> None:
        """Decide on a call; the first decision counts. Raises AgentError."""
        question = self._questions.get(call_id)
        if question is None:
            raise AgentError(
                failure.TOOL_CALL_NOT_FOUND, f"No call {call_id} waits for a decision."
            )
        option = question.option(outcome)
        self._settle(question)
        if option == CANCEL:
            self._session.decide(question.request, CANCEL)
            self._reject(question.call, REJECTED)
            return
        self._session.decide(question.request, self._approvals.remember(question.call, option))
        self._approve(question.call)

    def cancel(self) -> None:
        """End it soon; what waits for a decision will not run. Does nothing once it is over.

        Before `start` it keeps the message from being said at all.
        """
        if self.is_over or self._cancelling:
            return
        self._cancelling = True
        if self._task is None:
            return
        # An answer that came after the cancellation would still run the tool.
        for question in list(self._questions.values()):
            self._settle(question)
            self._session.decide(question.request, None)
            self._reject(question.call, STOPPED)
        self._session.cancel()
        asyncio.get_running_loop().call_later(CANCELLING, self._give_up)

    # What the agent tells.

    def start(self, parts: Sequence[Mapping[str, Any]], warning: str = "") -> None:
        """`warning` is something that the user should know first."""
        if warning:
            self._emit(Thought(WARNING, warning))
        if self._cancelling:
            self._end(self._complete(CANCELLED))
            return
        # Sent at once: a cancellation that overtook it would be for nothing.
        self._task = asyncio.ensure_future(self._run(self._session.prompt(parts)))

    def update(self, update: Mapping[str, Any]) -> None:
        self._inbox.put_nowait(_Told(update))

    def permission(self, request: jsonrpc.Id, params: Mapping[str, Any]) -> None:
        self._inbox.put_nowait(_Told(params, request))

    # What comes of it.

    async def _run(self, prompt: asyncio.Future[Mapping[str, Any]]) -> None:
        """The boundary of a turn: a bug of ours ends it with an error and leaves nobody waiting."""
        prompt.add_done_callback(lambda _: self._inbox.put_nowait(None))
        limit = asyncio.get_running_loop().call_later(self._limits.turn, self._time_out)
        try:
            while True:
                told = await self._inbox.get()
                if told is None:
                    break
                await self._take(told)
            self._finish(prompt)
        except Exception:
            logger.exception("a turn broke off")
            self._session.cancel()
            self._end(Error(failure.INTERNAL_ERROR, "Something went wrong; see the log."))
        finally:
            limit.cancel()
            prompt.cancel()

    async def _take(self, told: _Told) -> None:
        if told.request is not None:
            self._ask(told.request, told.params)
            return
        kind = told.params.get("sessionUpdate")
        if kind == "agent_message_chunk":
            self._say(_text(told.params))
        elif kind == "agent_thought_chunk":
            self._think(clean(_text(told.params)))
        elif kind == "tool_call":
            self._begin(calls.read(told.params))
        elif kind == "tool_call_update":
            await self._change(calls.read(told.params))

    def _say(self, text: str) -> None:
        if MODE_UPDATE.fullmatch(text):
            return
        text, self._held = pair(self._held, text)
        if text:
            self._said_anything = True
            self._emit(Content(text))
            self._in_text = True

    def _think(self, text: str) -> None:
        found = THOUGHT.fullmatch(text)
        if found:
            self._emit(Thought(found.group(1).strip(), found.group(2).strip()))
        elif text.startswith(WARNING + ":"):
            self._emit(Thought(WARNING, text[len(WARNING) + 1 :].strip()))
        elif text.strip():
            self._emit(Thought("", text.strip()))

    def _begin(self, call: Call) -> None:
        """A call that needs nobody's word, or whose first word this is."""
        if self._introduce(call):
            self._execution(call, EXECUTING)

    async def _change(self, call: Call) -> None:
        known = self._calls.get(call.id)
        if call.status not in (COMPLETED, FAILED):
            self._begin(call)
            return
        self._introduce(call)
        record = await self._recording.find(call.id)
        # The agent calls a command completed that was ended with the turn.
        success = call.status == COMPLETED and not self._cancelling
        self._execution(call, COMPLETED if success else FAILED)
        self._emit(calls.result(call, known, record, success))
        self._calls.pop(call.id, None)

    def _ask(self, request: jsonrpc.Id, params: Mapping[str, Any]) -> None:
        question = Question.read(request, params)
        call = question.call
        if self._cancelling:
            self._session.decide(request, None)
            return
        if self._approvals.covers(call):
            self._introduce(call)
            self._session.decide(request, ONCE)
            self._approve(call)
            return
        self._introduce(call, requires_confirmation=True)
        self._execution(call, PENDING)
        if not self._asks:
            self._session.decide(request, CANCEL)
            self._reject(call, UNATTENDED)
            return
        question.event = self._emit(question.body)
        question.timer = asyncio.get_running_loop().call_later(
            self._limits.confirmation, self._expire, call.id
        )
        self._questions[call.id] = question

    def _expire(self, call_id: str) -> None:
        question = self._questions.get(call_id)
        if question is not None:
            self._settle(question)
            self._session.decide(question.request, CANCEL)
            self._reject(question.call, UNANSWERED)

    def _settle(self, question: Question) -> None:
        del self._questions[question.call.id]
        if question.timer is not None:
            question.timer.cancel()

    def _introduce(self, call: Call, requires_confirmation: bool = False) -> bool:
        """Show a call that was not shown yet; whether it was not."""
        if call.id in self._calls:
            return False
        self._calls[call.id] = call
        self._said_anything = True
        self._emit(
            ToolCall(
                call.id, call.name, call.display_name, call.title, call.args, requires_confirmation
            )
        )
        return True

    def _approve(self, call: Call) -> None:
        self._execution(call, EXECUTING)
        if call.is_attachment:
            self._execution(call, COMPLETED)
            self._emit(calls.result(call, None, None, True))
            del self._calls[call.id]

    def _reject(self, call: Call, reason: str) -> None:
        self._execution(call, FAILED)
        self._emit(calls.rejected(call, reason))
        self._calls.pop(call.id, None)

    def _execution(self, call: Call, status: str) -> None:
        self._emit(ToolExecution(call.id, call.name, status))

    # How it ends.

    def _time_out(self) -> None:
        self._error = AgentError(
            failure.TIMED_OUT, f"The turn took longer than {self._limits.turn:g} seconds."
        )
        self.cancel()

    def _give_up(self) -> None:
        if not self.is_over and self._task is not None:
            self._end(self._error_body(self._error) or self._complete(CANCELLED))
            self._task.cancel()
            # It would go on unseen, with tools that need nobody's word.
            self._session.client.give_up()

    def _finish(self, prompt: asyncio.Future[Mapping[str, Any]]) -> None:
        if self.is_over:
            return
        error = prompt.exception()
        if error is not None and not isinstance(error, AgentError):
            raise error
        body: Body | None = self._error_body(self._error or error)
        if body is None:
            result = prompt.result()
            self.usage = usage(result)
            body = self._complete(str(result.get("stopReason")))
        self._end(body)

    def _error_body(self, error: AgentError | None) -> Error | None:
        return None if error is None else Error(error.code, error.message, error.details)

    def _complete(self, reason: str) -> Complete:
        if self._cancelling or reason not in REASONS:
            reason = CANCELLED if self._cancelling else END_TURN
        if reason == END_TURN and not self._said_anything:
            reason = EMPTY
        return Complete(reason, self.usage)

    def _end(self, body: Body) -> None:
        for question in list(self._questions.values()):
            self._settle(question)
        for call in list(self._calls.values()):
            self._reject(call, STOPPED)
        self._ended(body)
        self._emit(body)

    def _emit(self, body: Body) -> Event:
        if self._in_text and not isinstance(body, Content):
            self._in_text, self._held = False, ""
            self._append(Content("", is_partial=False))
        return self._append(body)

    def _append(self, body: Body) -> Event:
        number = len(self._events) + 1
        event = Event(number, datetime.now(timezone.utc), self.session_id, self.id, body)
        self._events.append(event)
        grown, self._grown = self._grown, asyncio.Event()
        grown.set()
        return event


@dataclass(frozen=True)
class _Told:
    """An update; or, with a request's id, a request for permission."""

    params: Mapping[str, Any]
    request: jsonrpc.Id | None = None


def _text(update: Mapping[str, Any]) -> str:
    content = update.get("content")
    return str(content.get("text") or "") if isinstance(content, dict) else ""


def usage(result: Mapping[str, Any]) -> Usage:
    """From `_meta.quota` of a prompt's result; zeros where it is missing."""
    meta = result.get("_meta")
    quota = meta.get("quota") if isinstance(meta, dict) else None
    if not isinstance(quota, dict):
        return Usage()
    by_model = {
        str(each.get("model")): _tokens(each)
        for each in quota.get("model_usage") or []
        if isinstance(each, dict)
    }
    return Usage(*_tokens(quota), by_model=by_model)


def _tokens(holder: Mapping[str, Any]) -> tuple[int, int]:
    count = holder.get("token_count")
    if not isinstance(count, dict):
        return 0, 0
    return int(count.get("input_tokens") or 0), int(count.get("output_tokens") or 0)
