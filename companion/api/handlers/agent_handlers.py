"""The handler that lists the CLIs that the server offers."""

from __future__ import annotations

from ...agent.agent import AgentInfo
from ...agent.sentence import translated_text
from .handler_types import HandlerAnswer, Inputs, Services


async def list_agents(services: Services, inputs: Inputs) -> HandlerAnswer:
    """The CLIs for conversations: what each can do, and its running processes. Starts none."""
    infos = services.agent.backends.agent_infos()
    return HandlerAnswer(
        "agents_told", {"agents": [_as_json(info, inputs.language) for info in infos]}
    )


def _as_json(info: AgentInfo, language: str) -> dict[str, object]:
    return {
        "id": info.id,
        "name": info.name,
        "isDefault": info.is_usual,
        "authTypes": list(info.auth_kinds),
        "hasGoogleLogin": info.has_google_login,
        "isAuthenticated": info.is_authenticated,
        "testedVersion": info.tested or None,
        "maxProcesses": info.limit,
        "processes": [
            {
                "pid": process.pid,
                "version": process.version,
                "memoryBytes": process.memory,
                "conversations": process.conversations,
                "warning": translated_text(process.warning, language) or None,
            }
            for process in info.processes
        ],
    }
