"""Lines of several files that a disk has refused so far, within one limit of bytes."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from contextlib import contextmanager
from typing import Iterator, NamedTuple

from .log import logger

# When a line is dropped if there is no room for it.
FIRST, AFTER_ALL_OTHERS, NEVER = range(3)

_numbers = itertools.count()


class Line(NamedTuple):
    """`number` is larger than that of every earlier line, of whichever file."""

    number: int
    data: bytes


class UnwrittenLines:
    """The lines of one file, in order; the log calls the file `name`. One thread at a time works
    with them, except for the limit. Any thread may read `size`, in bytes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.size = 0
        # The lines by when they are dropped.
        self._lines: tuple[deque[Line], ...] = (deque(), deque(), deque())
        # The number of the last line that was dropped.
        self._dropped: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether no line was dropped since the lines were cleared."""
        return self._dropped is None

    def add_line(self, data: bytes, goes: int) -> None:
        """Add a line, with its end; `goes` says when it is dropped."""
        self._lines[goes].append(Line(next(_numbers), data))
        self.size += len(data)

    def all_lines(self, gap: bytes) -> bytes:
        """All lines, with the line `gap` in the place of the last one that was dropped."""
        gaps = [] if self._dropped is None else [Line(self._dropped, gap)]
        return b"".join(line.data for line in sorted(itertools.chain(*self._lines, gaps)))

    def clear(self) -> None:
        self.size, self._dropped = 0, None
        for lines in self._lines:
            lines.clear()

    def has_lines(self, goes: int) -> bool:
        return bool(self._lines[goes])

    def oldest_number(self, goes: int) -> int:
        """The number of the first line with that `goes`. Raises IndexError."""
        return self._lines[goes][0].number

    def drop_oldest(self, goes: int) -> int:
        """Drop that line; gives its bytes. Logs the first loss of a file. Raises IndexError."""
        line = self._lines[goes].popleft()
        if self._dropped is None:
            logger.error("the disk refuses everything: the oldest lines of %s are lost", self.name)
        self._dropped = max(line.number, self._dropped or 0)
        self.size -= len(line.data)
        return len(line.data)


class UnwrittenLimit:
    """The limit in bytes for the lines of several files: beyond it the oldest are dropped. May be
    called from any thread."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held: dict[UnwrittenLines, None] = {}
        self._lock = threading.Lock()

    @contextmanager
    def set_apart(self, lines: UnwrittenLines) -> Iterator[None]:
        """While this thread works with these lines, none of them is dropped. Lines that are left
        afterwards count."""
        with self._lock:
            self._held.pop(lines, None)
        try:
            yield
        finally:
            if lines.size:
                self._hold_lines(lines)

    def _hold_lines(self, lines: UnwrittenLines) -> None:
        with self._lock:
            self._held[lines] = None
            for goes in (FIRST, AFTER_ALL_OTHERS):
                self._drop_excess(goes)

    def _drop_excess(self, goes: int) -> None:
        excess = sum(each.size for each in self._held) - self._limit
        while excess > 0:
            found = [each for each in self._held if each.has_lines(goes)]
            if not found:
                return
            excess -= min(found, key=lambda each: each.oldest_number(goes)).drop_oldest(goes)
