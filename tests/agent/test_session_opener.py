"""What an agent is told with a session, without an agent."""

from __future__ import annotations

import tempfile
import unittest
from types import SimpleNamespace
from typing import Any

from GeminiCompanion.companion.agent import tool_servers
from GeminiCompanion.companion.agent.acp.messages import AgentCapabilities, OpenedSession
from GeminiCompanion.companion.agent.agents.command_agent import CommandAgent
from GeminiCompanion.companion.agent.conversations.session_opener import SessionOpener
from GeminiCompanion.companion.agent.supported import CLIS
from GeminiCompanion.companion.agent.tool_servers import HTTP

SECRET = {"name": "Authorization", "value": "Bearer secret"}
HIDDEN, PLAIN, OWN = tool_servers.read_servers(
    [
        {"type": HTTP, "name": "editor", "url": "http://127.0.0.1:1/", "headers": [SECRET]},
        {"type": HTTP, "name": "plain", "url": "http://127.0.0.1:2/"},
        {"type": HTTP, "name": "own", "url": "http://127.0.0.1:3/", "headers": [SECRET]},
    ]
)


class ToldServers(unittest.IsolatedAsyncioTestCase):
    async def told(self, cli: Any) -> list[str]:
        """The names of the servers that it is told."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        opener, asked = SessionOpener(cli, folder.name), []
        opener.servers, opener.lent = (OWN,), (HIDDEN, PLAIN)

        async def begin(request: Any) -> OpenedSession:
            asked.extend(request.params["mcpServers"])
            return OpenedSession("session")

        client: Any = SimpleNamespace(
            capabilities=AgentCapabilities(mcp_http=True), send_request=begin
        )
        await opener.open_session(client, "", "", None)
        return [each["name"] for each in asked]

    async def test_an_agent_that_shows_headers_is_lent_no_tool_server_with_one(self) -> None:
        self.assertEqual(await self.told(CLIS["claude"]("", False)), ["own", "plain"])
        self.assertEqual(await self.told(CommandAgent("", False, "any")), ["own", "plain"])

    async def test_the_others_are_lent_all(self) -> None:
        for id in ("gemini", "qwen", "opencode", "codex"):
            with self.subTest(id):
                told = await self.told(CLIS[id]("", False))
                self.assertEqual(told, ["own", "editor", "plain"])
