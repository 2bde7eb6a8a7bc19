"""Turns whose agent has told their end while subagents of theirs still work: they go on until these
are done, so that what they do is seen and what they ask is answered."""

from __future__ import annotations

import asyncio
from typing import Callable

from ..failure import AgentError
from .messages import TurnEnd

# Seconds that an agent gets to go on by itself once its subagents are done.
FOLLOWING = 1.0


class HeldEnds:
    """The ends of turns of one connection that wait for subagents. `works` says whether any of a
    session works."""

    def __init__(self, works: Callable[[str], bool]) -> None:
        self._works = works
        self._held: dict[str, tuple[asyncio.Future[TurnEnd], TurnEnd]] = {}
        self._busy: set[str] = set()
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def hold_end(self, session: str, end: asyncio.Future[TurnEnd]) -> asyncio.Future[TurnEnd]:
        """The end of the turn with that of all that its subagents do."""
        held: asyncio.Future[TurnEnd] = asyncio.get_running_loop().create_future()

        def take_end(end: asyncio.Future[TurnEnd]) -> None:
            if held.done():
                return
            error = asyncio.CancelledError() if end.cancelled() else end.exception()
            if error is not None:
                held.set_exception(error)
            elif self._works(session):
                self._held[session] = held, end.result()
            else:
                held.set_result(end.result())

        def forget_end(held: asyncio.Future[TurnEnd]) -> None:
            end.cancel()
            # Another turn may be held by now.
            if self._held.get(session, (None,))[0] is held:
                del self._held[session]
                self._stop_timer(session)

        end.add_done_callback(take_end)
        held.add_done_callback(forget_end)
        return held

    def note_work(self, session: str, is_busy: bool) -> None:
        """The session itself works, or does so no more."""
        if session in self._held and is_busy:
            self._busy.add(session)
        else:
            self._busy.discard(session)

    def look_again(self, session: str) -> None:
        """Something has changed in the session, or with one of its subagents."""
        is_over = session in self._held and not self._works(session) and session not in self._busy
        if not is_over:
            self._stop_timer(session)
        elif session not in self._timers:
            loop = asyncio.get_running_loop()
            self._timers[session] = loop.call_later(FOLLOWING, self.end_now, session)

    def end_now(self, session: str) -> None:
        """Nothing is waited for any more."""
        held = self._held.get(session)
        if held is not None and not held[0].done():
            held[0].set_result(held[1])

    def end_all(self, error: AgentError) -> None:
        """The process has ended, and what subagents still did is not done."""
        for session, (held, _end) in list(self._held.items()):
            if session in self._timers:
                self.end_now(session)
            elif not held.done():
                held.set_exception(error)

    def _stop_timer(self, session: str) -> None:
        timer = self._timers.pop(session, None)
        if timer is not None:
            timer.cancel()
