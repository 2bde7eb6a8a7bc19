"""Tickets: a browser's EventSource can send no token, so it opens a stream with a ticket in the
query, which works once, for a short time, for one path."""

from __future__ import annotations

import hashlib
import secrets
import time
from datetime import datetime, timedelta, timezone

from .tokens import NOBODY, Caller

# Seconds for which a ticket works, and the most that one caller has out; beyond them their oldest
# is forgotten, so that nobody takes away another one's.
LIFETIME, MAX_TICKETS = 30.0, 1000
# The field of a query that has it.
FIELD = "ticket"


class Tickets:
    """All methods are called on one loop."""

    def __init__(self) -> None:
        # By digest, the oldest first: path, caller, and the end of its time.
        self._out: dict[bytes, tuple[str, Caller, float]] = {}

    def give_ticket(self, path: str, caller: Caller) -> tuple[str, datetime]:
        """A ticket for a GET of the path by this caller, and the end of its time."""
        now = time.monotonic()
        self._out = {digest: ticket for digest, ticket in self._out.items() if now < ticket[2]}
        own = [digest for digest, ticket in self._out.items() if ticket[1].id == caller.id]
        if len(own) >= MAX_TICKETS:
            del self._out[own[0]]
        ticket = secrets.token_urlsafe(32)
        self._out[_ticket_digest(ticket)] = path, caller, now + LIFETIME
        return ticket, datetime.now(timezone.utc) + timedelta(seconds=LIFETIME)

    def redeem_ticket(self, ticket: str, path: str) -> Caller:
        """The caller that it was given to; NOBODY, if it is unknown, used, too old or for another
        path. It works no second time."""
        known, caller, ends = self._out.pop(_ticket_digest(ticket), ("", NOBODY, 0.0))
        return caller if known == path and time.monotonic() < ends else NOBODY


def _ticket_digest(ticket: str) -> bytes:
    return hashlib.sha256(ticket.encode("utf-8", "surrogateescape")).digest()
