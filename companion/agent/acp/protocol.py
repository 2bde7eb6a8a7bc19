"""What one version of the protocol is to a connection: how what the agent says is read, and how
what it is told is formed. What is read and told has one form for all versions (`messages`)."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import Any, Mapping, Sequence

from ...base import jsonrpc
from ..failure import AgentError
from . import messages
from .messages import AgentRequest, Initialized, OutgoingRequest, TurnEnd
from .subagents import Told


class Sender(ABC):
    """Who sends a request to the agent."""

    @abstractmethod
    def send_request(self, request: OutgoingRequest[messages.T]) -> asyncio.Future[messages.T]:
        """The future gets the result as it was read, or AgentError."""


class Protocol(ABC):
    """One connection in the version `number`. Where it `has_editor`, the agent may read and write
    files and run commands through us."""

    number = 0
    has_editor = False

    @abstractmethod
    def read_initialized(self, result: Mapping[str, Any]) -> Initialized:
        """The answer to `initialize`."""

    @abstractmethod
    def read_update(self, params: Mapping[str, Any]) -> tuple[str, Sequence[Told]]:
        """The session's id and what happened in it; nothing, if that is only for the protocol.
        Raises Unreadable."""

    @abstractmethod
    def read_request(self, request: jsonrpc.Request) -> AgentRequest | None:
        """None for a method that was not offered to the agent. Raises Unreadable."""

    @abstractmethod
    def form_of(self, request: OutgoingRequest[messages.T]) -> OutgoingRequest[messages.T]:
        """The request as it is sent, and how its answer is read."""

    @abstractmethod
    def begin_prompt(
        self, sender: Sender, session: str, blocks: Sequence[messages.Block]
    ) -> asyncio.Future[TurnEnd]:
        """Send the message. The future is done when the turn is over, or gets its AgentError."""

    @abstractmethod
    def note_cancel(self, session: str) -> None:
        """The agent is told to end the turn that runs in the session."""

    @abstractmethod
    def end_prompts(self, error: AgentError) -> None:
        """The process has ended: no turn ends in any other way."""
