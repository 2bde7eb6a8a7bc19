"""The commands that the agent offers in a conversation; a user writes them as `/name`."""

from __future__ import annotations

import asyncio
from typing import Callable, Sequence

from ..failure import AgentError
from ..session_state import Commands, SlashCommand
from .acp_client import AcpSession
from .messages import AvailableCommand

# Seconds to wait for the commands; the agent sends them right after the session has begun.
TELLING = 5.0


async def offered_commands(session: AcpSession, worded: Callable[[str], str]) -> Commands:
    """Empty if the agent sends none in time. `worded` raises AgentError for commands that are
    refused."""
    telling = session.client.commands.commands_of(session.id)
    await asyncio.wait({telling}, timeout=TELLING)
    return as_offered(telling.result() if telling.done() else (), worded)


def as_offered(told: Sequence[AvailableCommand], worded: Callable[[str], str]) -> Commands:
    return Commands(tuple(_slash_command(each, worded) for each in told))


def _slash_command(told: AvailableCommand, worded: Callable[[str], str]) -> SlashCommand:
    try:
        # A text that goes to the model instead is not a command either.
        is_allowed = worded("/" + told.name).startswith("/")
    except AgentError:
        is_allowed = False
    return SlashCommand(told.name, told.description, told.hint, is_allowed)
