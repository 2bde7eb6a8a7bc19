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
from ..handlers.handler_types import (
    Handler,
    HandlerAnswer,
    Inputs,
    Services,
    encode_json,
    refusal_envelope,
)
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

    async def answer_request(
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
            attempt, is_new = self._attempts.find_attempt(
                inputs.caller.id, key, _request_fingerprint(inputs)
            )
            if is_new:
                inputs = replace(inputs, attempt=attempt)
                first = self._answer_stream if streams else self._answer_detached
                return await first(route, services, inputs, attempt)
            # A stream goes on with the turn; for its answer one would have to wait until the end.
            has_turn = streams and not route.is_openai
            with services.tokens.track_request(inputs.caller, inputs.end):
                await (attempt.has_turn() if has_turn else attempt.wait_until_over())
                if not attempt.is_void:
                    return await self._answer_again(route, services, inputs, attempt, has_turn)

    async def close(self) -> None:
        """End what still runs."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=ENDING)

    async def _answer_again(
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
        return _kept_response(attempt.kept, inputs, REPLAYED)

    async def _answer_stream(
        self, route: Route[Handler], services: Services, inputs: Inputs, attempt: Attempt
    ) -> web.StreamResponse:
        """The first stream, which ends with its client. Raises Refusal, AgentError."""
        try:
            with services.tokens.track_request(inputs.caller, inputs.end):
                answer = await route.handler(services, inputs)
        except (Refusal, AgentError) as error:
            _keep_error(attempt, _as_refusal(error), route, inputs)
            raise
        finally:
            attempt.end()
        if not isinstance(answer, web.StreamResponse):
            return _kept_response(_kept_answer(answer, inputs), inputs, {})
        return answer

    async def _answer_detached(
        self, route: Route[Handler], services: Services, inputs: Inputs, attempt: Attempt
    ) -> web.StreamResponse:
        """The first request, which goes on if its client leaves. Raises Refusal."""

        def end_both() -> None:
            task.cancel()
            inputs.end()

        again = replace(inputs, end=end_both)
        task = asyncio.ensure_future(self._run_attempt(route, services, again, attempt))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        came = await asyncio.shield(task)
        if isinstance(came, Refusal):
            raise came
        return _kept_response(came, inputs, {})

    async def _run_attempt(
        self, route: Route[Handler], services: Services, inputs: Inputs, attempt: Attempt
    ) -> KeptAnswer | Refusal:
        try:
            with services.tokens.track_request(
                inputs.caller, inputs.end
            ), inputs.memory.move_bytes() as own:
                answer = await route.handler(services, replace(inputs, memory=own))
            kept = _kept_answer(answer, inputs)
            attempt.keep_answer(kept)
            return kept
        except (Refusal, AgentError) as error:
            return _keep_error(attempt, _as_refusal(error), route, inputs)
        finally:
            attempt.end()


def _request_fingerprint(inputs: Inputs) -> bytes:
    request = inputs.request
    whole = [request.method, request.path, inputs.fields]
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode("ascii")).digest()


def _as_refusal(error: Refusal | AgentError) -> Refusal:
    return error if isinstance(error, Refusal) else of_agent(error)


def _keep_error(
    attempt: Attempt, refusal: Refusal, route: Route[Handler], inputs: Inputs
) -> KeptAnswer | Refusal:
    """Keep an error if a turn had begun; another attempt may do better than any other one."""
    if not attempt.turn_id:
        return refusal
    envelope = (errors.error_answer if route.is_openai else refusal_envelope)(
        refusal, inputs.language
    )
    kept = KeptAnswer(refusal.status, encode_json(envelope), JSON)
    attempt.keep_answer(kept)
    return kept


def _kept_answer(answer: HandlerAnswer | web.StreamResponse, inputs: Inputs) -> KeptAnswer:
    if isinstance(answer, HandlerAnswer):
        return KeptAnswer(200, encode_json(answer.envelope(inputs.language)), JSON)
    body = answer.body if isinstance(answer, web.Response) else b""
    return KeptAnswer(answer.status, body if isinstance(body, bytes) else b"", JSON)


def _kept_response(kept: KeptAnswer, inputs: Inputs, more: dict[str, str]) -> web.Response:
    headers = {**inputs.headers, "Content-Type": kept.media_type, **more}
    return web.Response(status=kept.status, body=kept.body, headers=headers)
