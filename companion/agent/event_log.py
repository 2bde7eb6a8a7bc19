"""The events of one turn: a list that only grows, with any number of readers at their own pace."""

from __future__ import annotations

import asyncio
from datetime import datetime, timezone
from typing import AsyncIterator

from .events import Body, Content, Event, ToolCall
from .surrogates import pair


class EventLog:
    """All methods are called on one loop. The ids are those of the conversation and of the turn."""

    def __init__(self, session_id: str, turn_id: str) -> None:
        self._session_id = session_id
        self._turn_id = turn_id
        self._events: list[Event] = []
        self._grown = asyncio.Event()
        # Whether the last event is a piece of the answer, and the half of a surrogate pair with
        # which what was said so far ends.
        self._is_in_answer = False
        self._half = ""

    @property
    def is_over(self) -> bool:
        return bool(self._events) and self._events[-1].is_last

    @property
    def has_answer(self) -> bool:
        """Whether the model has said something, or called a tool."""
        return any(isinstance(event.body, (Content, ToolCall)) for event in self._events)

    async def read(self, after: int = 0) -> AsyncIterator[Event]:
        """The events with a number above `after`, those to come included; ends with the last."""
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

    def say(self, text: str) -> None:
        """Add a piece of the answer."""
        text, self._half = pair(self._half, text)
        if text:
            self._append(Content(text))
            self._is_in_answer = True

    def add(self, body: Body) -> Event:
        """Add anything else; a run of pieces before it is closed."""
        if self._is_in_answer:
            self._is_in_answer, self._half = False, ""
            self._append(Content("", is_partial=False))
        return self._append(body)

    def _append(self, body: Body) -> Event:
        number = len(self._events) + 1
        event = Event(number, datetime.now(timezone.utc), self._session_id, self._turn_id, body)
        self._events.append(event)
        grown, self._grown = self._grown, asyncio.Event()
        grown.set()
        return event
