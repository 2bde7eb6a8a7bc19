"""A message that begins with "/" is a command of the agent. Those that may change logins, settings
or other conversations are for tokens with the scope ADMIN."""

from __future__ import annotations

from typing import Any, Mapping

from ...agent.supported import AgentCli
from ...base.shown_text import spell_hidden
from ..contract.refusal import SCOPE_MISSING, Refusal
from ..contract.scopes import ADMIN
from ..operations.tokens import Caller
from .handler_types import Services

# The most characters of a command that a refusal repeats.
MAX_SHOWN = 60


def may_send(caller: Caller, cli: AgentCli, message: str) -> bool:
    """Whether the caller may send the message to the agent."""
    return ADMIN in caller.scopes or not cli.command_in(message)


def check_command(caller: Caller, cli: AgentCli, message: str) -> None:
    """Raises Refusal if the caller may not send the message to the agent."""
    if not may_send(caller, cli, message):
        command = spell_hidden("/" + cli.command_in(message)[:MAX_SHOWN])
        raise Refusal(SCOPE_MISSING, "command_scope", scope=ADMIN, cli=cli.name, command=command)


def receiving_agent(services: Services, fields: Mapping[str, Any]) -> AgentCli:
    """The agent of the conversation to which a message with these fields goes. Raises
    AgentError."""
    id = None if fields.get("newSession") else fields.get("sessionId")
    if id is not None:
        return services.agent.conversations.known_conversation(id).cli
    return services.agent.backends[fields.get("agent")].cli
