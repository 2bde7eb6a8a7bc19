"""One route of the API: what a request and its answer look like, and the handler."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, Mapping, TypeVar

from .schemas import Schema
from .scopes import OPEN
from .validation import Form

# The type of a handler: the contract never calls one, so it needs no more.
H = TypeVar("H")


@dataclass(frozen=True)
class Route(Generic[H]):
    """`path` may contain {names} of fields. `answer` is the schema of a success, without the
    members that all answers have. `refusals` are the error statuses beside those that every route
    may have. `scope` is what a token needs; `narrower` are the scopes that it needs besides to send
    certain fields. `is_openai` says that errors look like OpenAI's, and answers have no common
    members. `links` are OpenAPI's links from the answer to further requests, by name. `media_type`
    is that of an answer that is not JSON. `uploads` says that the body is a form with a file.
    `compresses` says that the answer is compressed for clients that accept it. `is_urgent` says
    that connections are kept for it when all others are taken: it stops something, decides on it,
    or withdraws a token, and takes a moment."""

    method: str
    path: str
    scope: str
    handler: H
    form: Form
    answer: Schema
    summary: str
    refusals: tuple[int, ...] = ()
    streams: bool = False
    is_openai: bool = False
    links: Mapping[str, Any] = field(default_factory=dict)
    media_type: str = ""
    uploads: bool = False
    compresses: bool = False
    narrower: Mapping[str, str] = field(default_factory=dict)
    is_urgent: bool = False

    @property
    def is_open(self) -> bool:
        """Whether a request needs no token."""
        return self.scope == OPEN
