"""The turns of a session that was held elsewhere, made of the updates by which the agent repeats
them. What the protocol does not tell of them is missing: when they were, and what they used."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Sequence

from ..acp import messages
from ..acp.messages import ToolCallUpdate
from ..agents.cli import AgentCli
from ..events import tool_call
from ..events.event_log import EventLog
from ..events.tool_call import Call
from ..sentence import sentence
from ..turn.shown_resources import resource_event
from ..turn_events import (
    COMPLETED,
    END_TURN,
    FAILED,
    WARNING,
    Complete,
    PastTurn,
    Thought,
    ToolCall,
    ToolExecution,
    Usage,
)

# Turns that are kept, the last ones; and characters of the result of a call.
MAX_TURNS, MAX_RESULT = 100, 20_000
TAKEN_OVER = sentence("What is above was said in a terminal; the conversation goes on here.")
NOT_SHOWN = sentence(
    "This conversation was begun in a terminal. What was said there is known to the agent, and is"
    " not shown here."
)
OLDER = sentence(
    "What was said in the terminal before the message above is known to the agent, and is not shown"
    " here."
)


@dataclass
class _Turn:
    """One turn as far as it was repeated, with its calls, the ids of those that are over, and what
    those have put out that tell it in pieces."""

    log: EventLog
    past: PastTurn
    calls: dict[str, ToolCallUpdate] = field(default_factory=dict)
    over: set[str] = field(default_factory=set)
    outputs: dict[str, str] = field(default_factory=dict)

    @property
    def is_answered(self) -> bool:
        return bool(self.log.has_answer or self.calls)


class RepeatedTurns:
    """`conversation` is the id of the one that goes on with them, `time` (in UTC) the time that all
    of them get."""

    def __init__(self, cli: AgentCli, conversation: str, time: datetime) -> None:
        self._cli = cli
        self._conversation, self._time = conversation, time
        self._turns: deque[_Turn] = deque(maxlen=MAX_TURNS)
        self._count = 0

    def take_update(self, update: messages.SessionUpdate) -> None:
        """The next update of the session."""
        if isinstance(update, messages.UserMessageChunk):
            turn = self._turns[-1] if self._turns else None
            if turn is None or turn.is_answered:
                turn = self._begin_turn()
            turn.past.text += update.text
            return
        turn = self._turns[-1] if self._turns else self._begin_turn()
        if isinstance(update, messages.AgentMessageChunk):
            if not self._cli.own_mark.fullmatch(update.text):
                turn.log.add_answer_piece(update.text)
            for block in update.blocks:
                turn.log.add_event(resource_event(block, ""))
        elif isinstance(update, messages.AgentThoughtChunk):
            if update.text:
                turn.log.add_event(Thought("", update.text))
        elif isinstance(update, ToolCallUpdate):
            self._take_call(turn, update)

    def finish_turns(self, title: str) -> Sequence[PastTurn]:
        """All turns, the oldest first, with a notice of where they are from. If nothing was
        repeated, it is one turn, of which only the title of the session is known."""
        is_shown = bool(self._turns)
        if not is_shown:
            self._begin_turn().past.text = title
        if self._count > MAX_TURNS:
            self._turns[0].log.add_event(Thought(WARNING, OLDER))
        for turn in self._turns:
            for call in [call for id, call in turn.calls.items() if id not in turn.over]:
                self._introduce_call(turn, call)
            if turn is self._turns[-1]:
                turn.log.add_event(Thought(WARNING, TAKEN_OVER if is_shown else NOT_SHOWN))
            turn.log.add_event(Complete(END_TURN, Usage()))
        return [turn.past for turn in self._turns]

    def _begin_turn(self) -> _Turn:
        self._count += 1
        past = PastTurn("", self._time, "")
        log = EventLog(
            self._conversation, lambda event: past.events.append(replace(event, time=self._time))
        )
        past.id = log.turn_id
        self._turns.append(_Turn(log, past))
        return self._turns[-1]

    def _take_call(self, turn: _Turn, news: ToolCallUpdate) -> None:
        """A call is told with its end, when all of it is known."""
        told = turn.calls[news.id] = messages.joined_call(turn.calls.get(news.id), news)
        if news.output:
            known = turn.outputs.get(news.id, "")
            turn.outputs[news.id] = known + news.output[: MAX_RESULT + 1 - len(known)]
        if told.is_over and news.id not in turn.over:
            turn.over.add(news.id)
            call = self._introduce_call(turn, told)
            for block in news.blocks:
                turn.log.add_event(resource_event(block, news.id))
            is_done = told.status == "completed"
            turn.log.add_event(ToolExecution(call.id, call.name, COMPLETED if is_done else FAILED))
            text = call.text or turn.outputs.pop(news.id, "")
            short = replace(call, text=_shortened_result(text))
            turn.log.add_event(tool_call.reported_result(short, None, None, is_done))

    def _introduce_call(self, turn: _Turn, told: ToolCallUpdate) -> Call:
        call = self._cli.read_call(told)
        turn.log.add_event(
            ToolCall(
                call.id,
                call.name,
                call.display_name,
                call.title,
                call.args,
                False,
                told.parent or self._cli.parent_call(told.meta),
            )
        )
        return call


def _shortened_result(text: str) -> str:
    return text if len(text) <= MAX_RESULT else text[:MAX_RESULT] + " …"
