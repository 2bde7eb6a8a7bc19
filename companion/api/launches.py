"""How the agents are started that an operator names: by the id of a row, or by a command."""

from __future__ import annotations

import os
from typing import Any

from ..agent.agents import command_agent
from ..agent.agents.supported import CLIS
from ..agent.processes.runner import Launch


def launch_of(named: str, path: str = "", gateway: str = "", **more: Any) -> Launch:
    """`path` is where the program of a row is, empty for a search in PATH; `gateway` is the URL of
    the operator's own gateway to Gemini's API. `more` are other fields of the Launch. Raises
    AgentError if the agent is not found."""
    cli = CLIS.get(named)
    if cli is None:
        words = command_agent.words_of(named)
        fallback = command_agent.CommandAgent.from_environment(os.environ)
        found = command_agent.find(words)
        return Launch(found, agent=command_agent.id_of(words), fallback=fallback, **more)
    variables = cli.address(gateway) if gateway else {}
    fallback_of_row = cli.from_environment(os.environ)
    return Launch(cli.program.find(path), variables, agent=named, fallback=fallback_of_row, **more)
