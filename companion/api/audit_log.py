"""Who did what, for later: a file with a line of JSON for each request; never with texts or tokens.

{"time": "2026-11-21T19:00:00.000Z", "requestId": "0123456789abcdef", "token": "full",
 "address": "192.0.2.7", "method": "POST", "route": "/tool-confirmation", "status": 200,
 "seconds": 0.002, "sessionId": "...", "tool": "write_file", "decision": "proceed_once"}

`token` is null where none was shown, `status` where the client left before its answer. The last
three members are there where the request has something to do with them.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timezone
from typing import Any, Iterator

from ..agent import wire
from ..base.log import logger

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
    """The file is opened for each line, so that it may be moved away and a new one begins."""

    def __init__(self, path: str) -> None:
        """Raises OSError where nothing can be written there."""
        self._path = path
        self._is_failing = False
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
                self._write(entry)

    def _write(self, entry: dict[str, Any]) -> None:
        short = {name: _shortened(value) for name, value in entry.items()}
        # In one call, so that no line stands within another one.
        line = json.dumps(short).encode("ascii") + b"\n"
        try:
            descriptor = self._open()
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)
            self._is_failing = False
        except OSError as error:
            if not self._is_failing:
                logger.error("The audit log cannot be written, and lines are lost: %s.", error)
            self._is_failing = True

    def _open(self) -> int:
        # A pipe that nobody reads is an error at once, and holds up no request.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NONBLOCK", 0)
        return os.open(self._path, flags, 0o600)


def _shortened(value: Any) -> Any:
    return value[:MAX_LENGTH] if isinstance(value, str) else value
