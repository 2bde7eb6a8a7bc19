"""What an agent is told with a session, without an agent."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Sequence

from GeminiCompanion.companion.agent import tool_servers
from GeminiCompanion.companion.agent.acp.messages import AgentCapabilities, OpenedSession
from GeminiCompanion.companion.agent.acp.subagents import Subagents
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
            capabilities=AgentCapabilities(mcp_http=True), send_request=begin, subagents=Subagents()
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


class Folders(unittest.IsolatedAsyncioTestCase):
    """What an agent is told of the folders of the window."""

    def setUp(self) -> None:
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.top = os.path.realpath(made.name)
        for name in ("work", "work/inner", "lib", "lib/deep"):
            os.mkdir(self.path(name))
        self.warnings: Sequence[Any] = ()

    def path(self, name: str) -> str:
        return os.path.join(self.top, *name.split("/"))

    async def told(
        self, *folders: str, cli: str = "claude", takes: bool = True, trusted: Sequence[str] = ()
    ) -> Any:
        """The folders beside the workspace that it is told."""
        agent, asked = CLIS[cli]("", False), []
        agent.trusted_folders = tuple(map(self.path, trusted))
        opener = SessionOpener(agent, self.path("work"))
        opener.lent_folders = tuple(map(self.path, folders))

        async def begin(request: Any, timeout: float) -> OpenedSession:
            asked.append(request.params)
            return OpenedSession("session")

        client: Any = SimpleNamespace(
            capabilities=AgentCapabilities(takes_folders=takes),
            request=begin,
            subagents=Subagents(),
        )
        opened = await opener.open_session(client, "", "", None)
        self.warnings = [str(each) for each in opener.others.warnings]
        told = asked[0].get("additionalDirectories")
        self.assertEqual(opened.session.roots, (self.path("work"), *(told or ())))
        return told

    async def test_an_agent_that_takes_them_gets_all_folders_of_the_window(self) -> None:
        self.assertEqual(await self.told("work", "lib"), (self.path("lib"),))
        self.assertIsNone(await self.told("work"))

    async def test_an_agent_that_does_not_offer_it_is_told_of_none(self) -> None:
        self.assertIsNone(await self.told("work", "lib", takes=False))

    async def test_a_folder_within_another_and_one_that_is_gone_are_not_told(self) -> None:
        told = await self.told("work", "work/inner", "lib/deep", "lib", "gone")
        self.assertEqual(told, (self.path("lib"),))
        self.assertEqual(self.warnings, [])

    async def test_a_folder_beside_a_trusted_workspace_has_to_be_trusted(self) -> None:
        self.assertIsNone(await self.told("work", "lib", trusted=["work"]))
        (warning,) = self.warnings
        self.assertIn(self.path("lib"), warning)
        self.assertIn("not trusted", warning)
        self.assertEqual(
            await self.told("work", "lib", trusted=["work", "lib"]), (self.path("lib"),)
        )

    async def test_a_folder_whose_settings_would_count_unasked_is_left_out(self) -> None:
        rules = Path(self.path("lib"), ".codex", "rules", "default.rules")
        rules.parent.mkdir(parents=True)
        rules.write_text('prefix_rule(["touch"], allow)\n')
        self.assertIsNone(await self.told("work", "lib", cli="codex"))
        self.assertIn(self.path("lib"), self.warnings[0])
        trusted = await self.told("work", "lib", cli="codex", trusted=["lib"])
        self.assertEqual(trusted, (self.path("lib"),))
