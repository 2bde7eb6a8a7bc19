"""What plugins find as sys.stdout: lines for the console, and none of a file's other powers."""

from __future__ import annotations

import io
from typing import Any, Callable, Optional


class Console(io.TextIOBase):
    """Passes whole lines on to a real stream; like Sublime's, `write` returns None and there is
    neither a `fileno` nor a `buffer`."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._pending = ""
        # Who is told in place of the stream, while something is drawn there.
        self.listener: Optional[Callable[[str], None]] = None

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return getattr(self._stream, "encoding", None) or "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        return getattr(self._stream, "errors", None) or "strict"

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> None:  # type: ignore[override]
        self._pending += text
        if "\n" in text or "\r" in text:
            self.flush()

    def flush(self) -> None:
        pending, self._pending = self._pending, ""
        if pending and self.listener is not None:
            self.listener(pending)
        elif pending and self._stream is not None:
            self._stream.write(pending)
            self._stream.flush()

    def isatty(self) -> bool:
        return False
