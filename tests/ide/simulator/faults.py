"""What goes wrong: how often each kind of fault happens in this run, and what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...virtual_loop import Killed
from .claude_network import Socket
from .network import Wire

if TYPE_CHECKING:
    from .world import World

# How often each happens where it can; a run has about half of them.
RATES = {
    "request lost": 0.05,
    "answer lost": 0.08,
    "port taken": 0.2,
    "the editor fails": 0.05,
    "events doubled": 0.3,
    "nobody reads a hook": 0.1,
    "CLI dies before it writes": 0.1,
    "reader is slow": 0.1,
    "cut at an event": 0.1,
    "CLI dies at a point": 0.08,
    "killed at a point": 0.05,
    "killed at a write": 0.02,
    "disk is slow": 0.1,
    "network is slow": 0.05,
    "disk is full": 0.1,
    "clock is set": 0.1,
}


class Faults:
    """`is_active` until the run comes to rest."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.is_active = False
        self.is_full = False
        random = world.random
        self.rates = {
            name: rate * random.choice((0.5, 1, 2))
            for name, rate in RATES.items()
            if random.random() < 0.5
        }

    def happens(self, name: str) -> bool:
        rate = self.rates.get(name, 0.0)
        if not rate or not self.is_active or self.world.random.random() >= rate:
            return False
        self.world.note("FAULT: {}", name)
        self.world.count(name)
        return True

    def stall(self) -> float:
        if self.happens("reader is slow"):
            return float(self.world.random.choice((0.01, 0.5, 3.0, 40.0)))
        return 0.0

    def point(self, name: str, what: Any) -> None:
        """A moment at which it matters most who fails."""
        if isinstance(what, (Wire, Socket)) and self.happens("cut at an event"):
            what.cut()
        if self.happens("CLI dies at a point"):
            process = what.client if isinstance(what, (Wire, Socket)) else what.process
            self._soon(next(cli for cli in self.world.every_cli if cli.process == process).die)
        if self.happens("killed at a point"):
            self._soon(self.world.crash)

    def _soon(self, what: Any) -> None:
        seconds = self.world.random.choice((0.0, 0.001, 0.02, 0.3))
        self.world.loop.later(0, seconds, what)

    def before_write(self, operation: str) -> None:
        if self.happens("killed at a write"):
            self.world.crash()
            raise Killed
        if self.is_full and self.is_active and operation in ("open", "write"):
            raise OSError(28, "No space left on device")
