"""The events of all conversations as they happen, for readers who follow more than one turn."""

from __future__ import annotations

import asyncio
import dataclasses
from collections import deque
from typing import Any, AsyncGenerator

from .events import Event

# Events that are remembered for readers who come back, and characters in all of them.
MAX_EVENTS, MAX_CHARACTERS = 10_000, 16 << 20


class Gone(Exception):
    """The event after which somebody wants to go on is forgotten, or never was."""


class EventFeed:
    """All methods are called on one loop."""

    def __init__(self) -> None:
        self._recent: deque[tuple[Event, int]] = deque()
        self._characters = 0
        self._readers: set[asyncio.Queue[Event]] = set()

    def publish(self, event: Event) -> None:
        size = _size(event.body)
        self._recent.append((event, size))
        self._characters += size
        while len(self._recent) > MAX_EVENTS or self._characters > MAX_CHARACTERS:
            self._characters -= self._recent.popleft()[1]
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
        events = [event for event, _size in self._recent]
        for index, event in enumerate(events):
            if (event.turn_id, event.number) == after:
                return events[index + 1 :]
        raise Gone


def _size(value: Any) -> int:
    """Characters of all texts in it."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_size, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(_size, value))
    if dataclasses.is_dataclass(value):
        return sum(_size(getattr(value, each.name)) for each in dataclasses.fields(value))
    return 0
