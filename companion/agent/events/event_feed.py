"""The events of all conversations as they happen, for readers that follow more than one turn."""

from __future__ import annotations

import asyncio
import dataclasses
from collections import OrderedDict
from typing import Any, AsyncGenerator

from ..turn_events import PASSING, ToolOutput, ToolResult, TurnEvent

# The most events that are kept for readers who come back, and the characters in all of them.
MAX_EVENTS, MAX_CHARACTERS = 10_000, 16 << 20


class Gone(Exception):
    """The event after which a reader wants to continue is no longer kept, or never existed."""


class EventFeed:
    """All methods are called on one loop. Readers keep no events of their own. Of the output of a
    running call only the newest is kept, and none when its result is there: a command that runs for
    hours would else take the room of all that readers come back for."""

    def __init__(self) -> None:
        # Each with its size, by its place in the order of all events.
        self._recent: OrderedDict[int, tuple[TurnEvent, int]] = OrderedDict()
        self._characters = 0
        # The places after the last forgotten event, and after the last event.
        self._forgotten = self._end = 0
        # The place of the output of each call, by conversation, turn and call.
        self._outputs: dict[tuple[str, str, str], int] = {}
        self._grown = asyncio.Event()

    def publish_event(self, event: TurnEvent) -> None:
        if isinstance(event.body, (ToolOutput, ToolResult)):
            call = event.session_id, event.turn_id, event.body.call_id
            if call in self._outputs:
                self._drop_event(self._outputs[call])
            if isinstance(event.body, ToolOutput):
                self._outputs[call] = self._end
        size = _character_count(event.body)
        self._recent[self._end] = event, size
        self._end += 1
        self._characters += size
        while len(self._recent) > MAX_EVENTS or self._characters > MAX_CHARACTERS:
            oldest = next(iter(self._recent))
            self._drop_event(oldest)
            self._forgotten = oldest + 1
        grown, self._grown = self._grown, asyncio.Event()
        grown.set()

    def _drop_event(self, place: int) -> None:
        event, size = self._recent.pop(place)
        self._characters -= size
        if isinstance(event.body, ToolOutput):
            del self._outputs[event.session_id, event.turn_id, event.body.call_id]

    def follow_events(
        self, session_id: str | None, after: tuple[str, int] | None, passing: bool = False
    ) -> AsyncGenerator[TurnEvent, None]:
        """The events from now on, of one conversation or of all; with `after`, a turn and a number,
        also those since that event. Those that are PASSING come only if that is asked for. Ends if
        the reader is so slow that its next event is no longer kept. Raises Gone."""
        place = self._end if after is None else self._place_of(after) + 1
        return self._read_events(place, session_id, passing)

    def _place_of(self, wanted: tuple[str, int]) -> int:
        for place, (event, _size) in self._recent.items():
            if (event.turn_id, event.number) == wanted and not isinstance(event.body, PASSING):
                return place
        raise Gone

    async def _read_events(
        self, place: int, session_id: str | None, passing: bool
    ) -> AsyncGenerator[TurnEvent, None]:
        while place >= self._forgotten:
            if place == self._end:
                await self._grown.wait()
                continue
            event, _size = self._recent.get(place, (None, 0))
            place += 1
            if event is None:
                # Newer output of its call has come.
                continue
            is_for_them = passing or not isinstance(event.body, PASSING)
            if is_for_them and session_id in (None, event.session_id):
                yield event


def _character_count(value: Any) -> int:
    """The number of characters of all texts in it."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_character_count, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(_character_count, value))
    if dataclasses.is_dataclass(value):
        return sum(
            _character_count(getattr(value, each.name)) for each in dataclasses.fields(value)
        )
    return 0
