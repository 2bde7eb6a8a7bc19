"""The sessions that an agent has beside those that were opened here, as it lists them.

Source: the Agent Client Protocol's schema, version 1: `session/list`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Mapping

from .members import objects_of, text_of
from .messages import OutgoingRequest


@dataclass(frozen=True)
class ListedSession:
    """`folder` is where it was begun, `title` may be empty. `updated` is when something was said in
    it last, in UTC; None if the agent does not tell that."""

    id: str
    folder: str
    title: str = ""
    updated: datetime | None = None


@dataclass(frozen=True)
class SessionPage:
    """`next` is the cursor of the next page, empty if there is none."""

    sessions: tuple[ListedSession, ...]
    next: str = ""


def list_sessions(folder: str, cursor: str = "") -> OutgoingRequest[SessionPage]:
    """The request for the sessions of a folder. Only for an agent that `lists`; which page is up to
    it."""
    params = {"cwd": folder, **({"cursor": cursor} if cursor else {})}
    return OutgoingRequest("session/list", params, _read_page)


def _read_page(result: Mapping[str, Any]) -> SessionPage:
    found = (_read_session(each) for each in objects_of(result, "sessions"))
    return SessionPage(
        tuple(session for session in found if session.id), text_of(result, "nextCursor")
    )


def _read_session(told: Mapping[str, Any]) -> ListedSession:
    return ListedSession(
        text_of(told, "sessionId"),
        text_of(told, "cwd"),
        text_of(told, "title").strip(),
        _read_time(text_of(told, "updatedAt")),
    )


def _read_time(text: str) -> datetime | None:
    try:
        # Before Python 3.11, "Z" is not read.
        time = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).astimezone(timezone.utc)
