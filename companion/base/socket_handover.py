"""Hands listening sockets from one load of the package to the next.

Clients that connect in between wait in the socket's queue and are not refused. No module survives a
reload, but a thread does: a thread of this name holds the sockets, and the next load, which may be
another version, finds them there.
"""

from __future__ import annotations

import socket
import sys
import threading
from contextlib import suppress
from typing import Any, Mapping, Tuple

from .log import logger

# The address as it was requested, and the port.
Place = Tuple[str, int]

NAME = "GeminiCompanion sockets"
# Seconds after which the sockets are closed. Package Control's upgrade takes some. If the package
# was disabled for good, its clients wait in vain for that time.
PATIENCE = 30.0
# The loop of Windows binds a socket to itself for good.
IS_POSSIBLE = sys.platform != "win32"


class _Keeper(threading.Thread):
    """Closes the sockets that nobody took. A socket belongs to whoever pops it, in one step."""

    def __init__(self, listeners: Mapping[Place, socket.socket]) -> None:
        super().__init__(name=NAME, daemon=True)
        self.listeners = {place: listener.dup() for place, listener in listeners.items()}
        self.is_empty = threading.Event()

    def run(self) -> None:
        self.is_empty.wait(PATIENCE)
        with suppress(KeyError):
            while True:
                self.listeners.popitem()[1].close()


def leave_sockets(listeners: Mapping[Place, socket.socket]) -> None:
    """Keep copies of the listeners open until somebody takes them or PATIENCE is over."""
    if IS_POSSIBLE:
        try:
            _Keeper(listeners).start()
        except OSError as error:
            logger.warning("a port cannot be kept until the next start: %s", error)


def take_socket(place: Place) -> socket.socket | None:
    """The socket that was left for the place; None if there is none. In that case, sockets left for
    another address of the port are closed, so that they are not in the way."""
    found = _pop_socket(place)
    if found is None:
        for other in [each for keeper in _keeper_threads() for each in keeper.listeners]:
            if other[1] == place[1]:
                unwanted = _pop_socket(other)
                if unwanted is not None:
                    unwanted.close()
    return found


def _pop_socket(place: Place) -> socket.socket | None:
    for keeper in _keeper_threads():
        found: socket.socket | None = keeper.listeners.pop(place, None)
        if not keeper.listeners:
            keeper.is_empty.set()
        if found is not None:
            return found
    return None


def _keeper_threads() -> list[Any]:
    """Every thread of the class above, from whichever load."""
    return [thread for thread in threading.enumerate() if thread.name == NAME]
