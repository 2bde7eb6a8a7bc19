"""The log for programs: one JSON object a line, with the id of the request that led to it."""

from __future__ import annotations

import json
import logging
import re
import secrets
from contextvars import ContextVar
from datetime import datetime, timezone

from ...agent import wire

HEADER = "X-Request-Id"
# A request id that a client or a proxy may choose.
ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

_request: ContextVar[str] = ContextVar("request", default="")


def begin_request(given: str) -> str:
    """Set the id of the current request and all that it starts: the given one if it is valid, or
    else a new one."""
    id = given if ID.fullmatch(given) else secrets.token_hex(8)
    _request.set(id)
    return id


class JsonLines(logging.Formatter):
    """{"time": "2026-11-21T19:00:00.000Z", "level": "info", "message": "the Gemini CLI ended",
    "requestId": "0123456789abcdef"}

    Without `requestId` where no request led to it; with `traceback` where something failed.
    """

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": wire.timestamp_of(datetime.fromtimestamp(record.created, timezone.utc)),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        if _request.get():
            entry["requestId"] = _request.get()
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry)
