"""Watches clients that are not connected, and how long they have been away."""

from __future__ import annotations

import asyncio
from typing import Callable

from ..base.log import logger
from .session import ABSENT, Session

# Seconds that a session lives without a stream or a request: the CLI never says that it leaves
# (docs/protocol.md 3.25).
GRACE = 60.0
# Seconds from the moment when a client counts as away until this is checked.
LATER = 0.1


class Silence:
    """`on_absent` gets each session whose client has been away for ABSENT seconds; `on_gone` each
    session whose client has sent nothing for GRACE seconds."""

    def __init__(
        self, on_absent: Callable[[Session], None], on_gone: Callable[[Session], None]
    ) -> None:
        self._on_absent = on_absent
        self._on_gone = on_gone
        # At most one for each session, however often its client comes and goes.
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def watch_session(self, session: Session) -> None:
        """Its client is not connected now."""
        session.last_seen = asyncio.get_running_loop().time()
        self._check_in(ABSENT + LATER, session)

    def stop_watching(self, session: Session) -> None:
        """Stop waiting for its client."""
        timer = self._timers.pop(session.id, None)
        if timer is not None:
            timer.cancel()

    def _check_in(self, seconds: float, session: Session) -> None:
        self.stop_watching(session)
        loop = asyncio.get_running_loop()
        self._timers[session.id] = loop.call_later(seconds, self._check_session, session)

    def _check_session(self, session: Session) -> None:
        if session.stream is not None:
            return
        silence = asyncio.get_running_loop().time() - session.last_seen
        if silence >= GRACE:
            logger.info("a session ended: nothing was heard of its CLI for %d s", GRACE)
            self._on_gone(session)
        elif silence > ABSENT:
            self._check_in(GRACE - silence, session)
            self._on_absent(session)
        else:
            self._check_in(ABSENT + LATER - silence, session)
