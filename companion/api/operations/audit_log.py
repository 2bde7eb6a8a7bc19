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

# Lines that wait for a disk that does not answer; beyond them, the oldest are lost.
MAX_WAITING = 10000
# Seconds for what waits at the end.
WRITING = 5.0
# Characters of what came from outside; ids of ours are shorter.
MAX_LENGTH = 200

_entry: ContextVar[dict[str, Any] | None] = ContextVar("audit entry", default=None)


def note(**members: Any) -> None:
    """What is known of the request that is handled; nothing where no log is kept."""
    entry = _entry.get()
    if entry is not None:
        entry.update(members)


def leave_out() -> None:
    """The request that is handled gets no line."""
    _entry.set(None)


class AuditLog:
    """Lines are written by a thread soon after they are told. The file is opened each time, so that
    it may be moved away and a new one begins."""

    def __init__(self, path: str) -> None:
        """Raises OSError where nothing can be written there."""
        self._path = path
        self._is_failing = False
        self._lines: deque[bytes] = deque(maxlen=MAX_WAITING)
        self._writer = WriteBehind()
        os.close(self._open())

    @contextmanager
    def entry(self, request_id: str) -> Iterator[None]:
        """The line of the request that is handled within; `note` says what is in it."""
        begun = time.monotonic()
        moment = wire.timestamp(datetime.now(timezone.utc))
        known = {"token": None, "address": "", "method": "", "route": "", "status": None}
        _entry.set({"time": moment, "requestId": request_id, **known})
        try:
            yield
        finally:
            entry = _entry.get()
            _entry.set(None)
            if entry is not None:
                entry["seconds"] = round(time.monotonic() - begun, 3)
                short = {name: _shortened(value) for name, value in entry.items()}
                self._lines.append(json.dumps(short).encode("ascii") + b"\n")
                self._writer.soon(self._write)

    async def write(self) -> None:
        """All lines that were told so far; within a time, for some disks never answer."""
        with suppress(asyncio.TimeoutError):
            await in_thread(self._writer.finish, WRITING)

    def _write(self) -> None:
        # Others add lines meanwhile, and have this done once more.
        count = len(self._lines)
        if count == MAX_WAITING:
            logger.error("The audit log's disk did not answer for long, and lines may be lost.")
        lines = b"".join(self._lines.popleft() for _ in range(count))
        try:
            descriptor = self._open()
            try:
                # In one call, so that no line stands within another one.
                os.write(descriptor, lines)
            finally:
                os.close(descriptor)
            self._is_failing = False
        except OSError as error:
            if not self._is_failing:
                logger.error("The audit log cannot be written, and lines are lost: %s.", error)
            self._is_failing = True

    def _open(self) -> int:
        # A pipe that nobody reads is an error at once, and holds up no request.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        flags |= getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        return os.open(self._path, flags, 0o600)


def _shortened(value: Any) -> Any:
    return value[:MAX_LENGTH] if isinstance(value, str) else value
