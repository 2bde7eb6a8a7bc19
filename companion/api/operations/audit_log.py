"""Who did what, for later: a file with a line of JSON for each request; never with texts or tokens.

{"time": "2026-11-21T19:00:00.000Z", "requestId": "0123456789abcdef", "token": "full",
 "address": "192.0.2.7", "method": "POST", "route": "/tool-confirmation", "status": 200,
 "seconds": 0.002, "sessionId": "...", "tool": "write_file", "decision": "proceed_once"}

`token` is null where none was shown, `status` where the client left before its answer. The last
three members are there where the request has something to do with them.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections import deque
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import datetime, timezone
from typing import Any, Iterator

from ...agent import wire
from ...base.background import in_thread
from ...base.log import logger
from ...base.write_behind import WriteBehind

# The most lines that wait for a slow disk; beyond them, the oldest are lost.
MAX_WAITING = 10000
# Seconds for the waiting lines when the server ends.
WRITING = 5.0
# The most characters of a value from outside; our own ids are shorter.
MAX_LENGTH = 200

_entry: ContextVar[dict[str, Any] | None] = ContextVar("audit entry", default=None)


def note_members(**members: Any) -> None:
    """Add members to the line of the current request, if a log is kept."""
    entry = _entry.get()
    if entry is not None:
        entry.update(members)


def leave_out() -> None:
    """Write no line for the current request."""
    _entry.set(None)


class AuditLog:
    """A thread writes the lines soon after they are added. It opens the file each time, so that the
    file may be moved away and a new one started."""

    def __init__(self, path: str) -> None:
        """Raises OSError if the file cannot be written."""
        self._path = path
        self._is_failing = False
        self._lines: deque[bytes] = deque(maxlen=MAX_WAITING)
        self._writer = WriteBehind()
        os.close(self._open_file())

    @contextmanager
    def record_entry(self, request_id: str) -> Iterator[None]:
        """Write a line for the request that is handled within the block; `note_members` adds to
        it."""
        begun = time.monotonic()
        moment = wire.timestamp_of(datetime.now(timezone.utc))
        known = {"token": None, "address": "", "method": "", "route": "", "status": None}
        _entry.set({"time": moment, "requestId": request_id, **known})
        try:
            yield
        finally:
            entry = _entry.get()
            _entry.set(None)
            if entry is not None:
                entry["seconds"] = round(time.monotonic() - begun, 3)
                short = {name: _shortened_text(value) for name, value in entry.items()}
                self._lines.append(json.dumps(short).encode("ascii") + b"\n")
                self._writer.do_soon(self._write_lines)

    async def write_all(self) -> None:
        """Write all lines so far, within a time limit, because some disks never answer."""
        with suppress(asyncio.TimeoutError):
            await in_thread(self._writer.finish, WRITING)

    def _write_lines(self) -> None:
        # Lines that are added meanwhile start another write.
        count = len(self._lines)
        if count == MAX_WAITING:
            logger.error("The audit log's disk did not answer for long, and lines may be lost.")
        lines = b"".join(self._lines.popleft() for _ in range(count))
        try:
            descriptor = self._open_file()
            try:
                # One call for all, so that no line is written into another one.
                os.write(descriptor, lines)
            finally:
                os.close(descriptor)
            self._is_failing = False
        except OSError as error:
            if not self._is_failing:
                logger.error("The audit log cannot be written, and lines are lost: %s.", error)
            self._is_failing = True

    def _open_file(self) -> int:
        # A pipe without a reader fails at once instead of blocking requests.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        flags |= getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        return os.open(self._path, flags, 0o600)


def _shortened_text(value: Any) -> Any:
    return value[:MAX_LENGTH] if isinstance(value, str) else value
