"""Writes of conversations that the disk has refused, tried again from time to time."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Iterable

from ...base.log import logger
from .conversation import Conversation

# Seconds between two attempts while nothing is said.
PAUSE = 10.0


class Refusals:
    """The refused writes of the present conversations. Belongs to the loop on which it is made,
    except where a method says otherwise."""

    def __init__(self, conversations: Iterable[Conversation]) -> None:
        self._conversations = conversations
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def are_there(self) -> bool:
        """Whether the disk refuses what is said."""
        return any(each.record.transcript.is_waiting for each in self._conversations)

    def note_refusal(self) -> None:
        """The disk refuses. May be called from any thread."""
        # If the loop is closed, nobody waits.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._try_later)

    def try_at_last(self) -> None:
        """The last attempt. Blocks; may be called from any thread once nothing is said any more."""
        for each in self._conversations:
            if each.record.transcript.is_waiting:
                each.record.transcript.write_now(is_last=True)
            if each.record.transcript.is_waiting:
                logger.error("what was said last in conversation %s is lost", each.id)

    def _try_later(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(PAUSE, self._try_again)

    def _try_again(self) -> None:
        self._timer = None
        for each in self._conversations:
            if each.record.transcript.is_waiting:
                self._try_later()
            each.hold.write_again()
