"""Version 1 of the protocol: the form of `messages` is its own, and the answer to a prompt is the
end of its turn."""

from __future__ import annotations

import asyncio
from typing import Any, Mapping, Sequence

from ...base import jsonrpc
from ..failure import AgentError
from . import messages, subagents
from .members import object_of, required_text
from .messages import AgentRequest, Initialized, OutgoingRequest, TurnEnd
from .protocol import Protocol, Sender
from .subagents import Told


class Version1(Protocol):
    number = 1
    has_editor = True

    def read_initialized(self, result: Mapping[str, Any]) -> Initialized:
        return messages.read_initialized(result)

    def read_update(self, params: Mapping[str, Any]) -> tuple[str, Sequence[Told]]:
        of_subagent = subagents.read_update(object_of(params, "update"))
        if of_subagent is not None:
            return required_text(params, "sessionId", messages.UPDATE), (of_subagent,)
        session, update = messages.session_update(params)
        return session, (update,)

    def read_request(self, request: jsonrpc.Request) -> AgentRequest | None:
        return messages.agent_request(request)

    def form_of(self, request: OutgoingRequest[messages.T]) -> OutgoingRequest[messages.T]:
        return request

    def begin_prompt(
        self, sender: Sender, session: str, blocks: Sequence[messages.Block]
    ) -> asyncio.Future[TurnEnd]:
        return sender.send_request(messages.prompt_request(session, blocks))

    def note_cancel(self, session: str) -> None:
        """The answer tells it."""

    def end_prompts(self, error: AgentError) -> None:
        """Each has its answer to wait for."""
