"""The companion's log: its last lines kept in memory for the user to read; writes no file.

Never logged: tokens and the text of files (a log is what people paste into bug reports).
"""

from __future__ import annotations

import logging
from collections import deque

# Lines kept: some hours of ordinary use, well below a megabyte.
MAX_LINES = 1000
# Characters of an entry: a traceback fits, a path that somebody made up to fill memory does not.
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
    """Begin to keep lines from `level` ("debug", "info", "warning", "error") upward.

    An unknown level counts as "info". Warnings also go to standard error, the editor's console.
    """
    recent = RecentLines()
    console = logging.StreamHandler()
    console.setLevel(logging.WARNING)
    console.setFormatter(logging.Formatter("Gemini Companion: %(message)s"))
    logger.handlers[:] = [recent, console]
    # Other packages configure the root logger of the host, which they share with us.
    logger.propagate = False
    set_level(level)
    return recent


def set_level(level: str) -> None:
    levels = {"debug": logging.DEBUG, "warning": logging.WARNING, "error": logging.ERROR}
    logger.setLevel(levels.get(level, logging.INFO))
