"""When the turns of a connection in version 2 are over. The answer to a prompt only says that the
agent has taken it; that its session is idle again ends the turn, but not each time: the session may
have been idle, or busy with something else, when the prompt came.

Source: the Agent Client Protocol, version 2: its prompt lifecycle.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Sequence

from ..failure import STREAM_ERROR, AgentError
from .messages import TurnEnd

# The states of a session.
RUNNING, WAITING, IDLE = "running", "requires_action", "idle"
CANCELLED = "cancelled"
# The most messages of one turn whose ids are kept.
MAX_MESSAGES = 100
# The most sessions of which it is known that they are busy.
MAX_SESSIONS = 1000


@dataclass(frozen=True)
class Acknowledged:
    """The agent has taken a prompt. `message` is its id of it, or empty. `stop_reason` is that of
    an agent that answers when the turn is over, as in version 1."""

    message: str = ""
    stop_reason: str = ""


@dataclass(frozen=True)
class Idle:
    """A session has nothing more to do. `end` is told where that ends a turn, and `error` where it
    failed."""

    end: TurnEnd
    error: AgentError | None = None


@dataclass
class _Prompt:
    """A prompt that was sent. Where the session was busy before, it `follows` that work. `messages`
    are the ids of the user's messages since; it `has_run` if the agent has told of any work since.
    `early` is an end that came before the answer, with what counts for it then."""

    end: asyncio.Future[TurnEnd]
    follows: bool
    messages: list[str] = field(default_factory=list)
    has_run: bool = False
    is_cancelled: bool = False
    answer: Acknowledged | None = None
    early: tuple[Idle, Sequence[str]] | None = None


class PromptEnds:
    """All methods are called in the order in which the agent tells these things."""

    def __init__(self) -> None:
        self._prompts: dict[str, _Prompt] = {}
        self._busy: set[str] = set()
        # Whether the agent is known to tell each message of the user with the id of its answer.
        self._tells_messages = False

    def begin_prompt(self, session: str) -> asyncio.Future[TurnEnd]:
        """A prompt is about to be sent."""
        end: asyncio.Future[TurnEnd] = asyncio.get_running_loop().create_future()
        prompt = self._prompts[session] = _Prompt(end, session in self._busy)

        def forget_prompt(_: object) -> None:
            if self._prompts.get(session) is prompt:
                del self._prompts[session]

        end.add_done_callback(forget_prompt)
        return end

    def note_cancel(self, session: str) -> None:
        prompt = self._prompts.get(session)
        if prompt is not None:
            prompt.is_cancelled = True

    def take_message(self, session: str, id: str) -> None:
        """The agent tells a message of the user."""
        prompt = self._prompts.get(session)
        if prompt is not None and id not in prompt.messages:
            del prompt.messages[: -MAX_MESSAGES + 1]
            prompt.messages.append(id)
            self._tells_messages |= prompt.answer is not None and prompt.answer.message == id

    def take_work(self, session: str) -> None:
        """The agent tells of some work in the session."""
        prompt = self._prompts.get(session)
        if prompt is not None and not prompt.follows:
            prompt.has_run = True

    def take_busy(self, session: str) -> None:
        """The session works, or waits for its user."""
        if len(self._busy) < MAX_SESSIONS:
            self._busy.add(session)
        self.take_work(session)
        prompt = self._prompts.get(session)
        if prompt is not None:
            # What ended was something else.
            prompt.early = None

    def take_idle(self, session: str, idle: Idle) -> None:
        self._busy.discard(session)
        prompt = self._prompts.get(session)
        if prompt is None:
            return
        if prompt.answer is None:
            is_work = prompt.has_run or idle.error is not None
            prompt.early = (idle, tuple(prompt.messages)) if is_work else None
        elif self._is_end(prompt, prompt.answer, idle, prompt.messages):
            _finish(prompt, idle)
        prompt.follows = prompt.has_run = False

    def end_all(self, error: AgentError) -> None:
        for prompt in list(self._prompts.values()):
            if not prompt.end.done():
                prompt.end.set_exception(error)

    def take_answer(self, session: str, told: Acknowledged) -> None:
        """The agent answers to the prompt of the session."""
        prompt = self._prompts.get(session)
        if prompt is None or prompt.answer is not None:
            return
        prompt.answer = told
        self._tells_messages |= bool(told.message) and told.message in prompt.messages
        early, prompt.early = prompt.early, None
        if early is not None and self._is_end(prompt, told, early[0], early[1], has_run=True):
            _finish(prompt, early[0])
        elif told.stop_reason and session not in self._busy:
            _finish(prompt, Idle(TurnEnd(told.stop_reason)))

    def take_failure(self, session: str, error: BaseException) -> None:
        """The agent does not take the prompt of the session, or has ended."""
        prompt = self._prompts.get(session)
        if prompt is None or prompt.end.done():
            return
        if prompt.is_cancelled and isinstance(error, AgentError) and error.code != STREAM_ERROR:
            prompt.end.set_result(TurnEnd(CANCELLED))
        else:
            prompt.end.set_exception(error)

    def _is_end(
        self,
        prompt: _Prompt,
        answer: Acknowledged,
        idle: Idle,
        messages: Sequence[str],
        has_run: bool = False,
    ) -> bool:
        """Whether the session became idle by the end of this prompt."""
        if answer.message and answer.message in messages:
            return True
        if prompt.is_cancelled and idle.end.stop_reason == CANCELLED:
            return True
        if answer.message and self._tells_messages:
            # It has not begun yet.
            return False
        is_told = bool(idle.end.stop_reason) or idle.error is not None
        return not prompt.follows and (has_run or prompt.has_run or is_told)


def _finish(prompt: _Prompt, idle: Idle) -> None:
    if prompt.end.done():
        return
    if idle.error is not None:
        prompt.end.set_exception(idle.error)
    else:
        prompt.end.set_result(idle.end)
