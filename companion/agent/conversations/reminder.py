"""The conversation as a text that is sent with the next message, to an agent that has lost it."""

from __future__ import annotations

import json
from typing import Iterator, Sequence

from .. import turn_events as events
from ..turn_events import PastTurn

# Characters of this text; if it is beyond the model's context, the CLI sends nothing.
MAX_TEXT = 1_000_000
INTRODUCTION = (
    "This is the conversation so far, which you have lost. Continue from there; do not repeat or"
    " answer what is in it.\n\n"
)


def reminder_text(turns: Sequence[PastTurn]) -> str:
    """The conversation for the model to read; of a long one only its end."""
    parts = [text for turn in turns for text in _turn_lines(turn)]
    text = "\n\n".join(parts)
    return INTRODUCTION + text[-MAX_TEXT:] if text else ""


def _turn_lines(turn: PastTurn) -> Iterator[str]:
    yield f"User: {turn.message_text}"
    said: list[str] = []
    for event in turn.events:
        body = event.body
        if isinstance(body, events.Content):
            said.append(body.text)
        elif isinstance(body, events.MessageAdded):
            said.append(f"\n[The user added: {body.text}]\n")
        elif isinstance(body, events.ToolResult):
            args = json.dumps(body.args, ensure_ascii=False)
            said.append(f"\n[{body.name} {args}: {body.result or body.error}]\n")
    yield "You: " + "".join(said)
