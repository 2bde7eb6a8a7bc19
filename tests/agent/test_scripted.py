"""The scripted agent, held to what the real CLIs do."""

from __future__ import annotations

import unittest

from GeminiCompanion.companion.agent.agents.credentials import API_KEY, Credentials
from GeminiCompanion.companion.agent.processes.runner import Launch

from . import contract
from .scripted import COMMAND, Script


class ScriptedAgent(contract.AgentContract):
    def launch(self) -> Launch:
        script = Script(self.root)
        self.plan = script.plan  # type: ignore[method-assign]
        return Launch(COMMAND, script.variables, fallback=Credentials(API_KEY, "the-key"))


if __name__ == "__main__":
    unittest.main()
