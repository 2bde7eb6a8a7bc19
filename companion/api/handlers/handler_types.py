"""The types of handlers: the server's services, the inputs of one request, and its answer. Of
aiohttp it uses the type of a request only."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Awaitable, Callable, Mapping, Union

from aiohttp import web

from ...agent import wire
from ...agent.agent import Agent
from ...base.large_json import json_pieces
from ...base.memory_budget import MemoryShare
from ..contract.answer_texts import answer_text
from ..contract.refusal import DRAINING, Refusal
from ..files.served_files import Roots
from ..openai.kept_conversations import KeptConversations
from ..openai.responses import KeptResponses
from ..operations.attempts import Attempt
from ..operations.metrics import Metrics
from ..operations.tickets import Tickets
from ..operations.tokens import NOBODY, Caller, Tokens
from ..operations.visible import Visible
from .listeners import Listeners

# The header in which a client names its conversation to what stands before several servers, and
# that gives a new conversation its id.
SESSION_ID = "Session-Id"


def _do_nothing() -> None:
    pass


@dataclass(frozen=True)
class Services:
    """`visible` says of which conversations clients may know. `kept` are the conversations of /v1,
    `responses` its answers that requests can name. `page` has the files of the web page by name.
    `heartbeat` is the time between two comments of a stream, in seconds. `has_room` says whether
    another client can connect. The operator sets `allows_commands`, and `allows_tools`: tools that
    need a decision run for clients that cannot decide. `metrics` is None if the library is not
    installed."""

    agent: Agent
    visible: Visible
    roots: Roots
    kept: KeptConversations
    responses: KeptResponses
    tokens: Tokens
    tickets: Tickets
    listeners: Listeners
    metrics: Metrics | None
    page: Mapping[str, bytes]
    allows_commands: bool
    allows_tools: bool
    heartbeat: float
    has_room: Callable[[], bool]

    def check_not_ending(self) -> None:
        """Raises Refusal if no new turn may begin, because the server is about to end."""
        if self.agent.outbox.is_closed:
            raise Refusal(DRAINING)


@dataclass(frozen=True)
class Inputs:
    """`fields` were checked; fields that are missing or null are left out. `headers` go into every
    answer, also into that of an error. Large data is charged to `memory` before it is read.
    `caller` is who asks. `end` ends the request, as if the client had left. `attempt` is what is
    known of a request with an Idempotency-Key; `repeats` is the turn that the same request has
    begun before."""

    fields: Mapping[str, Any]
    language: str
    headers: dict[str, str]
    request: web.BaseRequest
    memory: MemoryShare
    caller: Caller = NOBODY
    end: Callable[[], None] = _do_nothing
    attempt: Attempt | None = None
    repeats: str = ""

    def has_begun(self, turn_id: str) -> None:
        """The request has begun a turn."""
        if self.attempt is not None:
            self.attempt.has_begun(turn_id)


@dataclass(frozen=True)
class HandlerAnswer:
    """`key` names one of the texts, which `values` fill in; it becomes the answer's message. Bytes
    in `body` stand for a text in UTF-8."""

    key: str
    body: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    success: bool = True

    def envelope(self, language: str) -> dict[str, Any]:
        return {
            "success": self.success,
            "message": answer_text(self.key, language, **self.values),
            **self.body,
            "timestamp": current_timestamp(),
        }


Handler = Callable[[Services, Inputs], Awaitable[Union[HandlerAnswer, web.StreamResponse]]]


def refusal_envelope(refusal: Refusal, language: str) -> dict[str, Any]:
    """The answer of an error."""
    return {
        **refusal.more,
        "success": False,
        "error": refusal.title,
        "message": refusal.sentence_in(language),
        "code": refusal.code,
        **({"field": refusal.field} if refusal.field else {}),
        "timestamp": current_timestamp(),
    }


def encode_json(value: Mapping[str, Any]) -> bytes:
    """The value as JSON. Half a surrogate pair becomes "?"."""
    return b"".join(json_pieces(value))


def current_timestamp() -> str:
    return wire.timestamp_of(datetime.now(timezone.utc))
