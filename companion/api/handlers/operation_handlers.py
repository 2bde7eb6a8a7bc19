"""For whoever operates the server: the handlers that tell whether it lives and is of use."""

from __future__ import annotations

from aiohttp import web

from ..contract.refusal import NOT_FOUND, NOT_READY, Refusal
from .handler_types import Answer, Inputs, Services


async def healthz(services: Services, inputs: Inputs) -> Answer:
    """Whether the server answers at all; tells nothing else, and starts nothing."""
    return Answer("running", {"status": "ok"})


async def readyz(services: Services, inputs: Inputs) -> Answer:
    """Whether a message would be taken: not while the server is about to end, nor where one of
    its CLIs cannot be started, or the disk refuses what is said. Starts nothing."""
    services.admission.check()
    if not services.agent.backends.can_start:
        raise Refusal(NOT_READY)
    if services.agent.conversations.refusals.are_there:
        raise Refusal(NOT_READY, "disk_refuses")
    return Answer("ready", {"status": "ok"})


async def metrics(services: Services, inputs: Inputs) -> web.StreamResponse:
    """Figures in the text format of Prometheus, where its library is installed: requests, turns,
    tokens, open streams, decisions that wait, and the starts and memory of each CLI."""
    if services.metrics is None:
        raise Refusal(NOT_FOUND, "metrics_missing")
    headers = {**inputs.headers, "Content-Type": services.metrics.content_type}
    return web.Response(body=services.metrics.text(), headers=headers)
