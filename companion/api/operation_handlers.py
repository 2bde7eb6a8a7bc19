"""For whoever operates the server: the handlers that tell whether it lives and is of use."""

from __future__ import annotations

from .handler_types import Answer, Inputs, Services
from .refusal import NOT_READY, Refusal


async def healthz(services: Services, inputs: Inputs) -> Answer:
    """Whether the server answers at all; tells nothing else, and starts nothing."""
    return Answer("running", {"status": "ok"})


async def readyz(services: Services, inputs: Inputs) -> Answer:
    """Whether a message would be taken: not while the server is about to end, nor where Gemini
    CLI cannot be started. Starts nothing."""
    services.admission.check()
    if not services.agent.can_start():
        raise Refusal(NOT_READY)
    return Answer("ready", {"status": "ok"})
