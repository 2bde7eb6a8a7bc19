"""The companion's log: keeps its last lines in memory, for the user to read. Writes no file.

Never logged: tokens and the text of files (a log is what people paste into bug reports).
"""

from __future__ import annotations

import logging
from collections import deque

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


def start(level: str) -> RecentLines:
    """Begin to keep lines of `level` ("debug", "info", "warning", "error") and above.

    An unknown level counts as "info". Warnings also go to standard error, the editor's console.
    """
    recent = RecentLines()
    console = logging.StreamHandler()
    console.setLevel(logging.WARNING)
    console.setFormatter(logging.Formatter("Gemini Companion: %(message)s"))
    logger.handlers[:] = [recent, console]
    # Other packages configure the root logger, which they share with us.
    logger.propagate = False
    set_level(level)
    return recent


def set_level(level: str) -> None:
    levels = {"debug": logging.DEBUG, "warning": logging.WARNING, "error": logging.ERROR}
    logger.setLevel(levels.get(level, logging.INFO))
