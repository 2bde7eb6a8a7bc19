"""Handlers for operators: whether the server is alive and ready, and its metrics."""

from __future__ import annotations

from aiohttp import web

from ..contract.refusal import NOT_FOUND, NOT_READY, TOO_MANY, Refusal
from .handler_types import HandlerAnswer, Inputs, Services


async def check_health(services: Services, inputs: Inputs) -> HandlerAnswer:
    """Answers if the server is alive. Says nothing else, and starts nothing."""
    return HandlerAnswer("running", {"status": "ok"})


async def check_readiness(services: Services, inputs: Inputs) -> HandlerAnswer:
    """Says whether the server takes messages: not while it shuts down, if one of its CLIs cannot be
    started, if messages cannot be saved to disk, or if no connection is left for another client.
    Starts no CLI."""
    can_start = await services.agent.backends.can_start()
    services.check_not_ending()
    if not can_start:
        raise Refusal(NOT_READY)
    if services.agent.conversations.refusals.are_there:
        raise Refusal(NOT_READY, "disk_refuses")
    if not services.has_room():
        raise Refusal(NOT_READY, TOO_MANY)
    return HandlerAnswer("ready", {"status": "ok"})


async def get_metrics(services: Services, inputs: Inputs) -> web.StreamResponse:
    """Metrics in Prometheus' text format, if its library is installed: requests, turns, tokens,
    open streams, waiting decisions, and the starts and memory of each CLI."""
    if services.metrics is None:
        raise Refusal(NOT_FOUND, "metrics_missing")
    headers = {**inputs.headers, "Content-Type": services.metrics.content_type}
    return web.Response(body=services.metrics.metrics_text(), headers=headers)
