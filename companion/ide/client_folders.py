"""Finds out in which folder the client of a session works. The companion's loop owns it.

No message of the protocol says that. The system tells which process has the connection, and where
that works; of clients in containers and on Windows it does not (`hooks/hook_folders` may).
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Callable

from ..base.background import in_thread
from . import system_processes
from .session import Session

# Seconds for the system to say which process has a connection.
PATIENCE = 2.0


class ClientFolders:
    """`port` gives the window's port. `on_found` is called when the folder of a session is known
    that was not before."""

    def __init__(self, port: Callable[[], int], on_found: Callable[[], None]) -> None:
        self._port = port
        self._on_found = on_found
        self._looks: set[asyncio.Task[None]] = set()

    def look_for(self, session: Session) -> None:
        """Find it out, unless it is known. A client without a connection has none."""
        peer = session.stream.peer if session.stream is not None else 0
        if peer and not session.folder:
            look = asyncio.ensure_future(self._look(session, peer))
            self._looks.add(look)
            look.add_done_callback(self._looks.discard)

    def stop(self) -> None:
        for look in self._looks:
            look.cancel()

    async def _look(self, session: Session, peer: int) -> None:
        ask = partial(system_processes.folder_at, peer, self._port())
        try:
            folder = await in_thread(ask, PATIENCE)
        except asyncio.TimeoutError:
            return
        # Another process may have the port by now.
        if folder and session.stream is not None and session.stream.peer == peer:
            session.folder = folder
            self._on_found()
