"""The events of one turn: a list that only grows, with any number of readers at their own pace."""

from __future__ import annotations

import asyncio
import secrets
from datetime import datetime, timezone
from typing import AsyncIterator, Callable

from ..turn_events import BESIDE, Body, Content, Resource, ToolCall, TurnEvent
from ..wording.surrogates import join_surrogates
from .turn_progress import TurnProgress


class EventLog:
    """All methods are called on one loop. `session_id` is the conversation's. `on_event` gets every
    event as it comes. `progress` sums them up."""

    def __init__(self, session_id: str, on_event: Callable[[TurnEvent], None]) -> None:
        self.session_id = session_id
        self.turn_id = secrets.token_hex(8)
        self._on_event = on_event
        self.is_over = False
        self.progress = TurnProgress()
        self._events: list[TurnEvent] = []
        self._grown = asyncio.Event()
        # The end of the answer so far, kept for the piece that will close it: its last character,
        # and a half surrogate pair that may follow.
        self._held = self._half = ""

    @property
    def last_number(self) -> int:
        """The number of the newest event, 0 before the first."""
        return len(self._events)

    @property
    def last_body(self) -> Body | None:
        """The newest one, None before the first; a piece of an answer may be behind it that is kept
        back."""
        return self._events[-1].body if self._events else None

    @property
    def has_answer(self) -> bool:
        """Whether the model has said something or called a tool."""
        return bool(self._held) or any(
            isinstance(event.body, (Content, ToolCall, Resource)) for event in self._events
        )

    async def read_events(self, after: int = 0) -> AsyncIterator[TurnEvent]:
        """The events with a number above `after`, including future ones; ends with the last."""
        while True:
            grown = self._grown
            while after < len(self._events):
                event = self._events[after]
                after += 1
                yield event
            if self.is_over:
                return
            await grown.wait()

    def add_answer_piece(self, text: str) -> None:
        """Add a piece of the answer. Its last character is kept back, so that the last piece of a
        run is never empty."""
        text, self._half = join_surrogates(self._half, text)
        if text:
            text, self._held = (self._held + text)[:-1], text[-1]
        if text:
            self._append_event(Content(text, ahead=self._held))

    def add_event(self, body: Body) -> TurnEvent:
        """Add anything else; closes a run of pieces before it, unless it belongs BESIDE."""
        if isinstance(body, BESIDE):
            return self._append_event(body)
        last, self._held, self._half = self._held, "", ""
        if last:
            self._append_event(Content(last, is_partial=False))
        return self._append_event(body)

    def publish_unkept(self, body: Body) -> None:
        """Tell of something that is not kept."""
        self._on_event(self.unnumbered_event(body))

    def unnumbered_event(self, body: Body) -> TurnEvent:
        """An event for others than the readers, with the number 0: the user's message, or what is
        not kept."""
        return TurnEvent(0, datetime.now(timezone.utc), self.session_id, self.turn_id, body)

    def _append_event(self, body: Body) -> TurnEvent:
        number = len(self._events) + 1
        event = TurnEvent(number, datetime.now(timezone.utc), self.session_id, self.turn_id, body)
        self._events.append(event)
        self.progress.note_event(event)
        self.is_over = event.is_last
        # Readers wake first, because they are in a hurry.
        grown, self._grown = self._grown, asyncio.Event()
        grown.set()
        self._on_event(event)
        return event
