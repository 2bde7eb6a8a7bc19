"""Counts who listens to which turn. A turn without listeners is cancelled, at once or after a grace
period in which its client may come back; one from the queue never needed any."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import Iterator

from ...agent.agent import Turn


class Listeners:
    """All methods are called on one loop. `grace` is in seconds."""

    def __init__(self, grace: float) -> None:
        # The number of open event streams.
        self.streams = 0
        self._grace = grace
        self._listeners: dict[str, int] = {}
        self._leaving: dict[str, asyncio.TimerHandle] = {}

    @contextmanager
    def count_listener(self, turn: Turn, may_return: bool) -> Iterator[None]:
        """Count a listener of the turn within the block; `may_return` says that the client can come
        back."""
        self._listeners[turn.id] = self._listeners.get(turn.id, 0) + 1
        self._stop_leaving(turn.id)
        try:
            yield
        finally:
            self._listeners[turn.id] -= 1
            if not self._listeners[turn.id]:
                del self._listeners[turn.id]
                self._cancel_unread(turn, self._grace if may_return else 0.0)

    @contextmanager
    def count_stream(self) -> Iterator[None]:
        """Count an open stream within the block."""
        self.streams += 1
        try:
            yield
        finally:
            self.streams -= 1

    def close(self) -> None:
        """Stop waiting for clients to come back."""
        for id in list(self._leaving):
            self._stop_leaving(id)

    def _cancel_unread(self, turn: Turn, grace: float) -> None:
        if turn.is_over or turn.is_detached:
            return
        if not grace:
            turn.cancel()
            return
        loop = asyncio.get_running_loop()
        self._leaving[turn.id] = loop.call_later(grace, self._give_up, turn)

    def _give_up(self, turn: Turn) -> None:
        self._stop_leaving(turn.id)
        turn.cancel()

    def _stop_leaving(self, id: str) -> None:
        timer = self._leaving.pop(id, None)
        if timer is not None:
            timer.cancel()
