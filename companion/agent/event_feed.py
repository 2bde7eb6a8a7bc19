"""The events of all conversations as they happen, for readers who follow more than one turn."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import AsyncGenerator

from .events import Event

# Events that are remembered for readers who come back.
MAX_EVENTS = 10_000


class Gone(Exception):
    """The event after which somebody wants to go on is forgotten, or never was."""


class EventFeed:
    """All methods are called on one loop."""

    def __init__(self) -> None:
        self._recent: deque[Event] = deque(maxlen=MAX_EVENTS)
        self._readers: set[asyncio.Queue[Event]] = set()

    def publish(self, event: Event) -> None:
        self._recent.append(event)
        for reader in self._readers:
            reader.put_nowait(event)

    def follow(
        self, session_id: str | None, after: tuple[str, int] | None
    ) -> AsyncGenerator[Event, None]:
        """The events from now on, of one conversation or of all; those after the turn and number
        `after`, too. Never ends by itself; `aclose` ends it. Raises Gone."""
        queue: asyncio.Queue[Event] = asyncio.Queue()
        for event in () if after is None else self._since(after):
            queue.put_nowait(event)
        self._readers.add(queue)
        return self._read(queue, session_id)

    async def _read(
        self, queue: asyncio.Queue[Event], session_id: str | None
    ) -> AsyncGenerator[Event, None]:
        try:
            while True:
                event = await queue.get()
                if session_id in (None, event.session_id):
                    yield event
        finally:
            self._readers.discard(queue)

    def _since(self, after: tuple[str, int]) -> list[Event]:
        events = list(self._recent)
        for index, event in enumerate(events):
            if (event.turn_id, event.number) == after:
                return events[index + 1 :]
        raise Gone
