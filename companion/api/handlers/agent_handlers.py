"""Which CLIs the server offers: the handlers of agents."""

from __future__ import annotations

from ...agent.backend import AgentInfo
from .handler_types import Answer, Inputs, Services


async def agents(services: Services, inputs: Inputs) -> Answer:
    """The CLIs that conversations can be held with, what they can do, and the processes of each
    that run. Starts none."""
    return Answer(
        "agents_told", {"agents": [_as_json(it) for it in services.agent.backends.infos()]}
    )


def _as_json(info: AgentInfo) -> dict[str, object]:
    return {
        "id": info.id,
        "name": info.name,
        "isDefault": info.is_usual,
        "authTypes": list(info.auth_kinds),
        "hasGoogleLogin": info.has_google_login,
        "isAuthenticated": info.is_authenticated,
        "maxProcesses": info.limit,
        "processes": [
            {
                "pid": process.pid,
                "version": process.version,
                "memoryBytes": process.memory,
                "conversations": process.conversations,
            }
            for process in info.processes
        ],
    }
