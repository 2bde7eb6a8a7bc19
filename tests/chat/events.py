"""Events of a conversation for tests, one after the other."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any, Iterator, Sequence

from GeminiCompanion.companion.agent.turn_events import PASSING, Body, Message, PastTurn, TurnEvent
from GeminiCompanion.companion.chat.transcript import Transcript

from .drawing import Drawing

BEGIN = datetime(2026, 5, 4, 12, 30, tzinfo=timezone.utc)
FOLDER = "/project"


def numbered(bodies: Sequence[Body]) -> Iterator[TurnEvent]:
    """A second apart; each message begins a turn."""
    turn = number = 0
    for seconds, body in enumerate(bodies):
        time = BEGIN + timedelta(seconds=seconds)
        if isinstance(body, PASSING):
            yield TurnEvent(0, time, "s", f"t{turn}", body)
            continue
        turn, number = (turn + 1, 0) if isinstance(body, Message) else (turn, number + 1)
        yield TurnEvent(number, time, "s", f"t{turn}", body)


def past(events: Sequence[TurnEvent]) -> list[PastTurn]:
    """The same as they are read from the disk."""
    turns: list[PastTurn] = []
    for event in events:
        body = event.body
        if isinstance(body, Message):
            parts = (body.text, body.files, body.attachments)
            turns.append(PastTurn(event.turn_id, event.time, *parts))
        elif not isinstance(body, PASSING):
            turns[-1].events.append(event)
    return turns


def drawn(*bodies: Any) -> tuple[Transcript, Drawing]:
    """The conversation of these bodies, in which the user has said "Hello"."""
    transcript, drawing = Transcript(FOLDER, "/images"), Drawing()
    for event in numbered([Message("Hello"), *bodies]):
        transcript.add_event(event)
        drawing.apply(transcript.take_patches())
    return transcript, drawing
