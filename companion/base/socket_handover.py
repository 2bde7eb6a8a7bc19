"""Listening sockets handed over from one load of the package to the next.

Who connects in between waits in the socket's queue and is refused by nobody. No module outlives a
reload, but a thread does: one of this name has the sockets, and the next load, which may be another
version, finds them there.
"""

from __future__ import annotations

import socket
import sys
import threading
from contextlib import suppress
from typing import Any, Mapping, Tuple

from .log import logger

# The address as it was asked for, and the port.
Place = Tuple[str, int]

NAME = "GeminiCompanion sockets"
# Seconds after which nobody is expected any more. Package Control's upgrade takes some; and where
# the package is disabled for good, its clients wait in vain as long.
PATIENCE = 30.0
# The loop of Windows binds a socket to itself for good.
IS_POSSIBLE = sys.platform != "win32"


class _Keeper(threading.Thread):
    """Closes what nobody took. Whoever pops a socket has it: that is a single step."""

    def __init__(self, listeners: Mapping[Place, socket.socket]) -> None:
        super().__init__(name=NAME, daemon=True)
        self.listeners = {place: listener.dup() for place, listener in listeners.items()}
        self.is_empty = threading.Event()

    def run(self) -> None:
        self.is_empty.wait(PATIENCE)
        with suppress(KeyError):
            while True:
                self.listeners.popitem()[1].close()


def leave(listeners: Mapping[Place, socket.socket]) -> None:
    """Have copies of them listen on, until somebody takes them or patience ends."""
    if IS_POSSIBLE:
        try:
            _Keeper(listeners).start()
        except OSError as error:
            logger.warning("a port cannot be kept until the next start: %s", error)


def take(place: Place) -> socket.socket | None:
    """The socket that was left for the place. None where there is none; then none that was left for
    another address of the port is in the way any more."""
    found = _pop(place)
    if found is None:
        for other in [each for keeper in _keepers() for each in keeper.listeners]:
            if other[1] == place[1]:
                unwanted = _pop(other)
                if unwanted is not None:
                    unwanted.close()
    return found


def _pop(place: Place) -> socket.socket | None:
    for keeper in _keepers():
        found: socket.socket | None = keeper.listeners.pop(place, None)
        if not keeper.listeners:
            keeper.is_empty.set()
        if found is not None:
            return found
    return None


def _keepers() -> list[Any]:
    """Each of the class above, in whichever load that was."""
    return [thread for thread in threading.enumerate() if thread.name == NAME]
