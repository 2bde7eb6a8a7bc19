"""The companion's log: keeps its last lines in memory, for the user to read. Writes no file.

Never logged: tokens and the text of files (a log is what people paste into bug reports).
"""

from __future__ import annotations

import logging
import sys
from collections import deque
from contextlib import suppress

# Lines kept: a few hours of ordinary use, well below a megabyte.
MAX_LINES = 1000
# Characters of an entry: enough for a traceback, too few for a path that is meant to fill memory.
MAX_LENGTH = 8000

logger = logging.getLogger("GeminiCompanion")


class RecentLines(logging.Handler):
    """Keeps the last lines; `lines()` may be called from any thread."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: deque[str] = deque(maxlen=MAX_LINES)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"))

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(self.format(record)[:MAX_LENGTH])

    def lines(self) -> list[str]:
        return list(self._lines)


class Console(logging.Handler):
    """Standard error as it is when something is told: another package may have put a stream in its
    place for a while, and closed that since."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.setFormatter(logging.Formatter("Gemini Companion: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        line = self.format(record) + "\n"
        # Where there is no console, the kept lines have it.
        with suppress(AttributeError, OSError, ValueError):
            sys.stderr.write(line)


def start_log(level: str) -> RecentLines:
    """Begin to keep lines of `level` ("debug", "info", "warning", "error") and above.

    An unknown level counts as "info". Warnings also go to standard error, the editor's console.
    """
    recent = RecentLines()
    logger.handlers[:] = [recent, Console()]
    # Other packages configure the root logger, which they share with us.
    logger.propagate = False
    set_level(level)
    return recent


def set_level(level: str) -> None:
    levels = {"debug": logging.DEBUG, "warning": logging.WARNING, "error": logging.ERROR}
    logger.setLevel(levels.get(level, logging.INFO))
