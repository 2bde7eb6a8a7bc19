"""One route of the API: what may be asked, what is answered, and the handler that does it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, Mapping, TypeVar

from .schemas import Schema
from .validation import Form

# The type of a handler. The contract calls none, and knows neither their arguments nor the server.
H = TypeVar("H")


@dataclass(frozen=True)
class Route(Generic[H]):
    """`path` may have {names} of fields in it. `answer` is the schema of what goes well, beside
    the envelope; `refusals` are the statuses that it may have instead, beside those of all.
    `is_openai` says that errors are those of OpenAI's API, and nothing has an envelope. `links`
    are OpenAPI's links from the answer to what can be asked next, by their names. `media_type` is
    that of an answer which is no JSON. `uploads` says that the body is a form with a file,
    `only_reads` that the read-only token will do."""

    method: str
    path: str
    handler: H
    form: Form
    answer: Schema
    summary: str
    refusals: tuple[int, ...] = ()
    is_open: bool = False
    streams: bool = False
    is_openai: bool = False
    links: Mapping[str, Any] = field(default_factory=dict)
    media_type: str = ""
    uploads: bool = False
    only_reads: bool = False
