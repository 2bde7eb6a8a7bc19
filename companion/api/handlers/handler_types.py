"""What handlers get and give: the services of the server, the inputs of one request, and its
answer; knows aiohttp by the type of a request only."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Awaitable, Callable, Mapping, Union

from aiohttp import web

from ...agent import wire
from ...agent.agent import Agent
from ...base.large_json import pieces
from ...base.memory_budget import MemoryShare
from ..contract.answer_texts import say
from ..contract.refusal import Refusal
from ..files.served_files import Roots
from ..operations.admission import Admission
from ..operations.metrics import Metrics
from .listeners import Listeners


@dataclass(frozen=True)
class Services:
    """`page` are the files of the web page by name. `heartbeat` is in seconds of a stream.
    `allows_commands` and `allows_tools` (those that want a decision, for clients that cannot
    decide) are the operator's word. `metrics` are None where their library is not installed."""

    agent: Agent
    roots: Roots
    listeners: Listeners
    admission: Admission
    metrics: Metrics | None
    page: Mapping[str, bytes]
    allows_commands: bool
    allows_tools: bool
    heartbeat: float


@dataclass(frozen=True)
class Inputs:
    """`fields` were checked; those that are missing or null are not in it. `headers` are those
    that the answer has to have. What is large is taken from `memory` first."""

    fields: Mapping[str, Any]
    language: str
    headers: Mapping[str, str]
    request: web.BaseRequest
    memory: MemoryShare


@dataclass(frozen=True)
class Answer:
    """`key` is one of the texts, into which `values` go, and becomes the answer's message. Bytes in
    `body` stand for a text in UTF-8."""

    key: str
    body: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    success: bool = True

    def envelope(self, language: str) -> dict[str, Any]:
        return {
            "success": self.success,
            "message": say(self.key, language, **self.values),
            **self.body,
            "timestamp": now(),
        }


Handler = Callable[[Services, Inputs], Awaitable[Union[Answer, web.StreamResponse]]]


def refused(refusal: Refusal, language: str) -> dict[str, Any]:
    """The envelope of a refusal."""
    return {
        **refusal.more,
        "success": False,
        "error": refusal.title,
        "message": refusal.sentence(language),
        "code": refusal.code,
        "timestamp": now(),
    }


def refused_as_openai(refusal: Refusal, language: str) -> dict[str, Any]:
    """The same as OpenAI's API says it."""
    kind = "invalid_request_error" if refusal.status < 500 else "server_error"
    message = refusal.sentence(language)
    return {"error": {"message": message, "type": kind, "param": None, "code": refusal.code}}


def encoded(value: Mapping[str, Any]) -> bytes:
    """As JSON, whatever texts are in it: half a surrogate pair becomes "?"."""
    return b"".join(pieces(value))


def now() -> str:
    return wire.timestamp(datetime.now(timezone.utc))
