"""The output of a tool while it runs, as the agent tells it: how its end is told now and then, and
what of it stays for its result. Knows no protocol."""

from __future__ import annotations

import asyncio
from typing import Callable

from ..turn_events import ToolOutput

# Seconds between two looks at the output of one call, and the characters of its end that are told.
PAUSE, END = 0.5, 2_000
# The characters that stay of its beginning and of its end.
HEAD, TAIL = 256 * 1024, 64 * 1024
LEFT_OUT = "\n… {:,} characters are left out here …\n"


class LiveOutput:
    """The output of one call while it runs; `tell` gets the end of the output as it is now, the
    first time at once."""

    def __init__(self, call_id: str, tell: Callable[[ToolOutput], None]) -> None:
        self._call_id = call_id
        self._tell = tell
        self._kept = _Kept()
        self._timer: asyncio.TimerHandle | None = None
        self._is_due = False

    @property
    def text(self) -> str:
        """All of it; of a long one its beginning and its end."""
        left_out = self._kept.left_out
        between = LEFT_OUT.format(left_out) if left_out else ""
        return f"{self._kept.head}{between}{self._kept.tail}"

    def add_text(self, text: str) -> None:
        """There is more of it."""
        self._kept.add_text(text)
        self._tell_when_due()

    def replace_text(self, text: str) -> None:
        """This is all that there is so far."""
        self._kept = _Kept()
        self.add_text(text)

    def close(self) -> None:
        """The call is over: nothing of it is told any more."""
        if self._timer is not None:
            self._timer.cancel()
        self._is_due = False

    def _tell_when_due(self) -> None:
        self._is_due = True
        if self._timer is None:
            self._tell_now()

    def _tell_now(self) -> None:
        self._timer = None
        if self._is_due:
            self._is_due = False
            self._timer = asyncio.get_running_loop().call_later(PAUSE, self._tell_now)
            kept = self._kept
            end = (kept.head[-END:] + kept.tail)[-END:] if not kept.left_out else kept.tail[-END:]
            self._tell(ToolOutput(self._call_id, end, kept.size - len(end), kept.line_ends))


class _Kept:
    """The beginning and the end of a text that comes in pieces; each costs the same, however many
    there were."""

    def __init__(self) -> None:
        self.size = self.line_ends = 0
        self._head: list[str] = []
        self._room = HEAD
        # At most twice as much as is needed.
        self._tail: list[str] = []
        self._length = 0

    def add_text(self, text: str) -> None:
        self.size += len(text)
        self.line_ends += text.count("\n")
        if self._room:
            self._head.append(text[: self._room])
        text = text[self._room :]
        self._room = max(0, HEAD - self.size)
        if text:
            self._tail.append(text)
            self._length += len(text)
        if self._length > 2 * TAIL:
            self._tail = [self.tail]
            self._length = TAIL

    @property
    def head(self) -> str:
        if len(self._head) > 1:
            self._head = ["".join(self._head)]
        return self._head[0] if self._head else ""

    @property
    def tail(self) -> str:
        return "".join(self._tail)[-TAIL:]

    @property
    def left_out(self) -> int:
        """How many characters are between them."""
        return self.size - min(self.size, HEAD) - min(self._length, TAIL)
