"""Writes of conversations that the disk has refused, tried again from time to time."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Callable, Iterable

from ...base.log import logger
from .conversation import Conversation

# Seconds between two attempts while nothing is said.
PAUSE = 10.0


class Refusals:
    """The refused writes of the present conversations. Belongs to the loop, except where a method
    says otherwise."""

    def __init__(self, conversations: Iterable[Conversation]) -> None:
        self._conversations = conversations
        self._timer: asyncio.TimerHandle | None = None

    @property
    def are_there(self) -> bool:
        """Whether the disk refuses what is said."""
        return any(each.record.transcript.is_waiting for each in self._conversations)

    def listener(self) -> Callable[[], None]:
        """A function to be called, by any thread, when the disk refuses."""
        loop = asyncio.get_running_loop()

        def noticed() -> None:
            # If the loop is closed, nobody waits.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._try_later)

        return noticed

    def try_at_last(self) -> None:
        """The last attempt. Blocks; may be called from any thread once nothing is said any more."""
        for each in self._conversations:
            if each.record.transcript.is_waiting:
                each.record.transcript.write(is_last=True)
            if each.record.transcript.is_waiting:
                logger.error("what was said last in conversation %s is lost", each.id)

    def _try_later(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(PAUSE, self._try_again)

    def _try_again(self) -> None:
        self._timer = None
        for each in self._conversations:
            if each.record.transcript.is_waiting:
                self._try_later()
            each.hold.write_again()
