"""The turns of all conversations: found, decided on, cancelled, waited for."""

from __future__ import annotations

import asyncio
from typing import Any, Callable, Iterator, Mapping, Protocol

from .. import failure
from .. import turn_events as events
from ..failure import AgentError
from ..sentence import sentence
from ..turn.outcomes import CallDecision
from ..turn.turn import Turn
from .conversation import Conversation

# The usual time for a cancelled turn to end its commands, with some reserve; in seconds.
ENDING = 2.0
# Seconds between two checks whether turns still run.
LOOKING = 0.05
NO_SUBAGENT = sentence("This subagent cannot be stopped any more.")


class Known(Protocol):
    """The conversations that are in use, and whether there is one with some id."""

    def __iter__(self) -> Iterator[Conversation]: ...

    def __contains__(self, id: object) -> bool: ...


class Turns:
    """The running or last turn of each conversation that exists at the moment. The loop owns it."""

    def __init__(self, conversations: Known) -> None:
        self._conversations = conversations

    def __iter__(self) -> Iterator[Turn]:
        return iter(
            [
                conversation.turn
                for conversation in self._conversations
                if conversation.turn is not None
            ]
        )

    @property
    def are_busy(self) -> bool:
        """Whether a message is being answered, or is about to be."""
        return any(each.is_busy for each in self._conversations)

    @property
    def confirmations(self) -> tuple[events.TurnEvent, ...]:
        """The events of all calls that wait for a decision."""
        return tuple(event for turn in self for event in turn.confirmations)

    def by_id(self, turn_id: str) -> Turn | None:
        """The turn with this id, as long as it is the newest of its conversation."""
        return next((turn for turn in self if turn.id == turn_id), None)

    def confirm_call(
        self, call_id: str, decision: CallDecision, session_id: str | None = None
    ) -> Turn:
        """Decide on a call that waits, in the conversation `session_id` or in any. Only the first
        decision counts; gives the turn. Raises AgentError.

        Codes: VALIDATION_ERROR for an unknown outcome or one without its text; TOOL_CALL_NOT_FOUND;
        TOOL_INVALID_OUTCOME for an outcome that this call does not allow. The call then continues
        to wait.
        """
        if decision.outcome not in events.OUTCOMES:
            raise failure.not_among(events.OUTCOMES, decision.outcome)
        asking = [
            turn
            for turn in self
            if session_id in (None, turn.session_id)
            and any(_call_id(event) == call_id for event in turn.confirmations)
        ]
        if len(asking) != 1:
            raise failure.no_call(call_id)
        asking[0].confirm_call(call_id, decision)
        return asking[0]

    def stop_subagent(self, session_id: str, call_id: str) -> None:
        """End the work of the subagent of one call in a conversation, and of nobody else. Raises
        AgentError, code TOOL_CALL_NOT_FOUND."""
        stopped = [turn.session_id == session_id and turn.stop_subagent(call_id) for turn in self]
        if not any(stopped):
            raise AgentError(failure.TOOL_CALL_NOT_FOUND, NO_SUBAGENT)

    @property
    def elicitations(self) -> tuple[events.TurnEvent, ...]:
        """The events of all questions that wait for an answer."""
        return tuple(event for turn in self for event in turn.elicitations.waiting_events)

    def answer_elicitation(
        self, id: str, action: str, content: Mapping[str, Any] | None = None
    ) -> None:
        """Answer a question that waits; only the first answer counts. Raises AgentError, codes
        VALIDATION_ERROR, after which it continues to wait, and ELICITATION_NOT_FOUND."""
        for turn in self:
            for event in turn.elicitations.waiting_events:
                if isinstance(event.body, events.Elicitation) and event.body.id == id:
                    turn.elicitations.take_answer(id, action, content)
                    return
        raise failure.no_elicitation(id)

    def cancel_turns(
        self, session_id: str | None = None, meant: Callable[[str], bool] = lambda id: True
    ) -> int:
        """End the turn of a conversation, or those of all that are `meant`; gives their number. A
        message that waits for the agent's start counts as a turn and is never sent. Raises
        AgentError, code SESSION_NOT_FOUND."""
        wanted = [
            conversation
            for conversation in self._conversations
            if session_id in (None, conversation.id) and meant(conversation.id)
        ]
        if session_id is not None and session_id not in self._conversations:
            raise failure.no_session(session_id)
        busy = [each for each in wanted if each.is_busy]
        for conversation in busy:
            conversation.cancel_turn()
        return len(busy)

    def cancel_those_of(self, agent: str) -> None:
        """End all turns of the CLI with this id."""
        for conversation in self._conversations:
            if conversation.cli.id == agent:
                conversation.cancel_turn()

    def refuse_if_busy(self, agent: str) -> None:
        """Raises AgentError, code SESSION_BUSY, while the CLI with this id answers a message."""
        if any(each.is_busy for each in self._conversations if each.cli.id == agent):
            told = sentence("A message is being answered; cancel it first.")
            raise AgentError(failure.SESSION_BUSY, told)

    async def wait_until_idle(self, seconds: float) -> None:
        """Wait until no turn runs, for so many seconds at most."""
        await _wait_until(lambda: not self.are_busy, seconds)

    async def cancel_and_wait(self) -> None:
        """Cancel all turns, those too that wait for the agent's start, and wait for their ends, for
        two seconds at most. A cancelled CLI ends the commands of its tools, including those that
        `end_tree` would not find."""
        self.cancel_turns()
        await self.wait_until_idle(ENDING)

    async def end_attended(self) -> None:
        """Cancel the turns alone that end where nobody reads them, and wait for their ends."""
        running = [turn for turn in self if not (turn.is_over or turn.is_detached)]
        for turn in running:
            turn.cancel()
        await _wait_until(lambda: all(turn.is_over for turn in running), ENDING)


async def _wait_until(condition: Callable[[], bool], seconds: float) -> None:
    loop = asyncio.get_running_loop()
    ends = loop.time() + seconds
    while not condition() and loop.time() < ends:
        await asyncio.sleep(LOOKING)


async def end_of(turn: Turn) -> None:
    """Wait until the turn is over."""
    async for _event in turn.read_events(turn.last_number):
        pass


def _call_id(event: events.TurnEvent) -> str:
    return event.body.call_id if isinstance(event.body, events.ToolConfirmation) else ""
