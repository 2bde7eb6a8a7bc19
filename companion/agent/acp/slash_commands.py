"""The commands that the agent offers in a conversation, which are said as `/name`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Callable

from ..wording.failure import AgentError
from .acp_client import Session
from .messages import AvailableCommand

# Seconds for the agent to tell them, which it does right after the session has begun.
TELLING = 5.0


@dataclass(frozen=True)
class SlashCommand:
    """`name` is without the slash. `hint` says what may follow it, or is empty. `is_allowed` says
    whether it can be said here; the others would run without asking."""

    name: str
    description: str
    hint: str
    is_allowed: bool


async def offered(session: Session, worded: Callable[[str], str]) -> tuple[SlashCommand, ...]:
    """Nothing where the agent tells none in time; `worded` raises AgentError for those that are
    refused."""
    telling = session.client.commands.of(session.id)
    await asyncio.wait({telling}, timeout=TELLING)
    told = telling.result() if telling.done() else ()
    return tuple(_slash_command(each, worded) for each in told)


def _slash_command(told: AvailableCommand, worded: Callable[[str], str]) -> SlashCommand:
    try:
        # What goes to the model instead is no command, either.
        is_allowed = worded("/" + told.name).startswith("/")
    except AgentError:
        is_allowed = False
    return SlashCommand(told.name, told.description, told.hint, is_allowed)
