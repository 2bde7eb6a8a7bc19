"""Texts that the user accepted, until the file on disk has them; writes nothing itself.

The CLI writes the file. It may die before, or have been interrupted and take no notice: then what
the user typed stands nowhere but here.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from dataclasses import dataclass
from functools import partial
from typing import Optional, Tuple

from ..base.background import in_thread
from ..base.log import logger
from . import file_content

# Seconds that a CLI has to write the file before the text counts as unwritten.
PATIENCE = 5.0
# Seconds for which a text is kept whose file has become something else since: by then the CLI has
# written it, and somebody went on, or it never will.
SUPERSEDED = 24 * 60 * 60.0
# Texts kept, the newest first.
MAX_TEXTS = 32
# Seconds for a disk to tell what a file holds.
READING = 5.0
MARK = "\ufeff"
Touched = Optional[Tuple[int, int]]


@dataclass(frozen=True)
class Accepted:
    """`at` is in seconds since the epoch."""

    path: str
    text: str
    at: float

    @property
    def age(self) -> float:
        return time.time() - self.at

    def is_due(self) -> bool:
        return self.age > PATIENCE

    def is_in(self, present: file_content.Original) -> bool:
        """Whether the file has it; a mark at the beginning and line ends are the CLI's affair."""
        text = file_content.unix(self.text.lstrip(MARK))
        if present.is_cut:
            return present.digest in _digests(text)
        return present.text.lstrip(MARK) == text


class Unwritten:
    """The accepted texts, the newest last."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, str], Accepted] = {}
        # What a text's file was like at the last look: one that nobody touched is not read again.
        self._seen: dict[Accepted, Touched] = {}
        self._told: set[Accepted] = set()

    def add(self, accepted: Accepted) -> list[Accepted]:
        """Gives those that had to make way."""
        self.forget(accepted.path, accepted.text)
        self._texts[accepted.path, accepted.text] = accepted
        oldest = self.all()[: max(len(self._texts) - MAX_TEXTS, 0)]
        for each in oldest:
            self.forget(each.path, each.text)
        return list(oldest)

    def all(self) -> tuple[Accepted, ...]:
        return tuple(self._texts.values())

    def due(self) -> tuple[Accepted, ...]:
        """Those that a CLI should have written by now."""
        return tuple(accepted for accepted in self.all() if accepted.is_due())

    def withdraw(self, path: str, text: str) -> bool:
        """Forget a text that is due; False where there is none."""
        accepted = self._texts.get((path, text))
        if accepted is None or not accepted.is_due():
            return False
        self.forget(path, text)
        return True

    def forget(self, path: str, text: str) -> None:
        accepted = self._texts.pop((path, text), None)
        if accepted is not None:
            self._seen.pop(accepted, None)
            self._told.discard(accepted)

    async def look(self) -> list[str]:
        """Forget the texts that are on disk; gives the paths of files that nobody wrote, once."""
        looks = await asyncio.gather(*(self._look_at(each) for each in self.all()))
        return [path for path in looks if path]

    async def _look_at(self, accepted: Accepted) -> str:
        try:
            touched = await in_thread(partial(_touched, accepted.path), READING)
            if self._seen.get(accepted, ()) != touched:
                read = partial(file_content.read_or_note, accepted.path)
                present = await in_thread(read, READING)
                self._seen[accepted] = touched
                if accepted.is_in(present):
                    self.forget(accepted.path, accepted.text)
        except asyncio.TimeoutError:
            logger.warning("whether an accepted text was written cannot be seen: %s", accepted.path)
            return ""
        return self._judged(accepted, touched)

    def _judged(self, accepted: Accepted, touched: Touched) -> str:
        """The path where it is to be told."""
        if self._texts.get((accepted.path, accepted.text)) is not accepted:
            self._seen.pop(accepted, None)
            return ""
        was_touched = touched is not None and touched[0] >= accepted.at * 1e9
        if was_touched and accepted.age > SUPERSEDED:
            self.forget(accepted.path, accepted.text)
        elif accepted.is_due() and accepted not in self._told:
            self._told.add(accepted)
            if not was_touched:
                logger.warning("an accepted text was not written: %s", accepted.path)
                return accepted.path
        return ""


def _touched(path: str) -> Touched:
    """When the file was written, in nanoseconds since the epoch, and its size."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size


def _digests(text: str) -> set[str]:
    """Those of a file with the text, as `original` has them."""
    ends = (text, text.replace("\n", "\r\n"))
    datas = [(mark + it).encode("utf-8", "surrogatepass") for it in ends for mark in ("", MARK)]
    return {hashlib.sha256(data).hexdigest() for data in datas}
