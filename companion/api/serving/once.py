"""Answers requests that have an Idempotency-Key: the first one is done, the same again gets the
same answer."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from dataclasses import replace

from aiohttp import web

from ...agent.failure import VALIDATION_ERROR, AgentError
from ...base.http_server import JSON
from ..contract.refusal import IDEMPOTENCY_LOST, UNSUPPORTED_PARAMETER, Refusal, of_agent
from ..contract.route import Route
from ..handlers.handler_types import Handler, HandlerAnswer, Inputs, Services, encoded, refused
from ..openai import errors
from ..operations.attempts import Attempt, Attempts, KeptAnswer

HEADER = "Idempotency-Key"
# In an answer that was given before.
REPLAYED = {"Idempotency-Replayed": "true"}
MAX_KEY = 255
KEY = re.compile(f"[!-~]{{1,{MAX_KEY}}}")
# Seconds for requests that are running when the server ends.
ENDING = 2.0


class IdempotentRequests:
    """All methods are called on one loop."""

    def __init__(self) -> None:
        self._attempts = Attempts()
        self._tasks: set[asyncio.Task[KeptAnswer | Refusal]] = set()

    async def answer(
        self, route: Route[Handler], services: Services, inputs: Inputs
    ) -> web.StreamResponse:
        """Raises Refusal, AgentError."""
        key = inputs.request.headers[HEADER]
        if route.uploads:
            raise Refusal(UNSUPPORTED_PARAMETER, field=HEADER)
        if not KEY.fullmatch(key):
            raise Refusal(VALIDATION_ERROR, "key_wrong", field=HEADER, limit=MAX_KEY, size=len(key))
        streams = bool(inputs.fields.get("stream"))
        while True:
            attempt, is_new = self._attempts.find(inputs.caller.id, key, _fingerprint(inputs))
            if is_new:
                inputs = replace(inputs, attempt=attempt)
                first = self._streamed if streams else self._detached
                return await first(route, services, inputs, attempt)
            # A stream goes on with the turn; for its answer one would have to wait until the end.
            has_turn = streams and not route.is_openai
            with services.tokens.answering(inputs.caller, inputs.end):
                await (attempt.has_turn() if has_turn else attempt.over())
                if not attempt.is_void:
                    return await self._again(route, services, inputs, attempt, has_turn)

    async def close(self) -> None:
        """End what still runs."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=ENDING)

    async def _again(
        self,
        route: Route[Handler],
        services: Services,
        inputs: Inputs,
        attempt: Attempt,
        has_turn: bool,
    ) -> web.StreamResponse:
        """Raises Refusal, AgentError."""
        if has_turn and attempt.turn_id:
            headers = {**inputs.headers, **REPLAYED}
            again = replace(inputs, repeats=attempt.turn_id, headers=headers)
            answer = await route.handler(services, again)
            if isinstance(answer, web.StreamResponse):
                return answer
        if attempt.kept is None:
            raise Refusal(IDEMPOTENCY_LOST, field=HEADER)
        return _response(attempt.kept, inputs, REPLAYED)

    async def _streamed(
        self, route: Route[Handler], services: Services, inputs: Inputs, attempt: Attempt
    ) -> web.StreamResponse:
        """The first stream, which ends with its client. Raises Refusal, AgentError."""
        try:
            with services.tokens.answering(inputs.caller, inputs.end):
                answer = await route.handler(services, inputs)
        except (Refusal, AgentError) as error:
            _keep(attempt, _refusal(error), route, inputs)
            raise
        finally:
            attempt.end()
        if not isinstance(answer, web.StreamResponse):
            return _response(_kept(answer, inputs), inputs, {})
        return answer

    async def _detached(
        self, route: Route[Handler], services: Services, inputs: Inputs, attempt: Attempt
    ) -> web.StreamResponse:
        """The first request, which goes on if its client leaves. Raises Refusal."""

        def end() -> None:
            task.cancel()
            inputs.end()

        again = replace(inputs, end=end)
        task = asyncio.ensure_future(self._run(route, services, again, attempt))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        came = await asyncio.shield(task)
        if isinstance(came, Refusal):
            raise came
        return _response(came, inputs, {})

    async def _run(
        self, route: Route[Handler], services: Services, inputs: Inputs, attempt: Attempt
    ) -> KeptAnswer | Refusal:
        try:
            with services.tokens.answering(inputs.caller, inputs.end), inputs.memory.moved() as own:
                answer = await route.handler(services, replace(inputs, memory=own))
            kept = _kept(answer, inputs)
            attempt.keep(kept)
            return kept
        except (Refusal, AgentError) as error:
            return _keep(attempt, _refusal(error), route, inputs)
        finally:
            attempt.end()


def _fingerprint(inputs: Inputs) -> bytes:
    request = inputs.request
    whole = [request.method, request.path, inputs.fields]
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode("ascii")).digest()


def _refusal(error: Refusal | AgentError) -> Refusal:
    return error if isinstance(error, Refusal) else of_agent(error)


def _keep(
    attempt: Attempt, refusal: Refusal, route: Route[Handler], inputs: Inputs
) -> KeptAnswer | Refusal:
    """Keep an error if a turn had begun; another attempt may do better than any other one."""
    if not attempt.turn_id:
        return refusal
    envelope = (errors.refused if route.is_openai else refused)(refusal, inputs.language)
    kept = KeptAnswer(refusal.status, encoded(envelope), JSON)
    attempt.keep(kept)
    return kept


def _kept(answer: HandlerAnswer | web.StreamResponse, inputs: Inputs) -> KeptAnswer:
    if isinstance(answer, HandlerAnswer):
        return KeptAnswer(200, encoded(answer.envelope(inputs.language)), JSON)
    body = answer.body if isinstance(answer, web.Response) else b""
    return KeptAnswer(answer.status, body if isinstance(body, bytes) else b"", JSON)


def _response(kept: KeptAnswer, inputs: Inputs, more: dict[str, str]) -> web.Response:
    headers = {**inputs.headers, "Content-Type": kept.media_type, **more}
    return web.Response(status=kept.status, body=kept.body, headers=headers)
