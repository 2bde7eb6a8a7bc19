"""Texts that the user accepted, until the file on disk has them; writes nothing itself.

The CLI writes the file. It may die before, or have been interrupted and take no notice: then what
the user typed stands nowhere but here.
"""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass

from . import original
from .log import logger

# Seconds that a CLI has to write the file before the text counts as unwritten.
PATIENCE = 5.0
# Texts kept, the newest first.
MAX_TEXTS = 16
MARK = "\ufeff"


@dataclass(frozen=True)
class Accepted:
    """`at` is in seconds since the epoch."""

    path: str
    text: str
    at: float

    def is_due(self) -> bool:
        return time.time() - self.at > PATIENCE


class Unwritten:
    """The newest accepted text of each path."""

    def __init__(self) -> None:
        self._texts: dict[str, Accepted] = {}
        # What the file was like at the last look: one that nobody touched is not read again.
        self._seen: dict[str, tuple[int, int] | None] = {}

    def add(self, accepted: Accepted) -> None:
        self.forget(accepted.path)
        self._texts[accepted.path] = accepted
        while len(self._texts) > MAX_TEXTS:
            self.forget(next(iter(self._texts)))

    def all(self) -> tuple[Accepted, ...]:
        return tuple(self._texts.values())

    def due(self) -> tuple[Accepted, ...]:
        """Those that a CLI should have written by now."""
        return tuple(accepted for accepted in self.all() if accepted.is_due())

    def withdraw(self, path: str, text: str) -> bool:
        """Forget a text that is due; False where there is none."""
        found = any((it.path, it.text) == (path, text) for it in self.due())
        if found:
            self.forget(path)
        return found

    def forget(self, path: str) -> None:
        self._texts.pop(path, None)
        self._seen.pop(path, None)

    async def look(self) -> list[str]:
        """Forget the texts that are on disk; gives the paths of files that nobody wrote, once."""
        idle = []
        for accepted in self.all():
            touched = _touched(accepted.path)
            is_new = accepted.path not in self._seen
            if not accepted.is_due() or (not is_new and self._seen[accepted.path] == touched):
                continue
            loop = asyncio.get_running_loop()
            present = await loop.run_in_executor(None, original.read_or_note, accepted.path)
            if self._texts.get(accepted.path) is not accepted:
                continue
            self._seen[accepted.path] = touched
            # Whether a mark stands at the beginning is the CLI's own affair.
            if present.text.lstrip(MARK) == accepted.text.lstrip(MARK):
                self.forget(accepted.path)
            elif is_new and (touched is None or touched[0] < accepted.at * 1e9):
                logger.warning("an accepted text was not written: %s", accepted.path)
                idle.append(accepted.path)
        return idle


def _touched(path: str) -> tuple[int, int] | None:
    """When the file was written, in nanoseconds since the epoch, and its size."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
