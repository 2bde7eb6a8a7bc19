"""Agents with the user's own login: they run in the user's home, with what is set up there, and
still ask before they write. Each one unmodified; one that is not set up is skipped.

    make test-agents
"""

from __future__ import annotations

import json
import os
import shutil
import unittest
from typing import Any, Mapping
from unittest import mock

from agent_case import AgentCase, of, text
from agent_rows import AGENTS, CODEX_MODEL, Agent, Proxy
from any_model_server import MODEL
from GeminiCompanion.companion.agent.agents.cli_home import inherited
from GeminiCompanion.companion.agent.agents.credentials import OWN, Credentials
from GeminiCompanion.companion.agent.conversations.held_session import REMINDED
from GeminiCompanion.companion.agent.events.turn_events import Thought, ToolConfirmation
from GeminiCompanion.companion.agent.processes.runner import Launch
from GeminiCompanion.companion.agent.wording.failure import AgentError

OF_USER = "the-users-key"
LOGIN = Credentials(OWN)
NO, ONCE = "cancel", "proceed_once"


def claude_home(url: str) -> Mapping[str, Any]:
    variables = {"ANTHROPIC_BASE_URL": url}
    settings = {"env": variables, "apiKeyHelper": f"echo {OF_USER}"}
    return {".claude/settings.json": {**settings, "permissions": {"defaultMode": "acceptEdits"}}}


def opencode_home(url: str) -> Mapping[str, Any]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1"},
        "models": {MODEL: {}},
    }
    # Names before and after "*", which counts for all others.
    allowed = {"edit": "allow", "*": "allow", "bash": {"*": "allow"}}
    settings = {
        # It would add this itself.
        "$schema": "https://opencode.ai/config.json",
        "provider": {"mine": provider},
        "model": f"mine/{MODEL}",
        "small_model": f"mine/{MODEL}",
        "permission": allowed,
        "autoupdate": False,
    }
    login = {"mine": {"type": "api", "key": OF_USER}}
    return {
        ".config/opencode/opencode.json": settings,
        ".local/share/opencode/auth.json": login,
    }


def codex_home(url: str) -> Mapping[str, Any]:
    settings = f"""
model = "{CODEX_MODEL}"
model_provider = "mine"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[features]
plugins = false
apps = false
remote_plugin = false
[model_providers.mine]
name = "mine"
base_url = "{url}/v1"
wire_api = "responses"
requires_openai_auth = true
"""
    login = {"auth_mode": "apikey", "OPENAI_API_KEY": OF_USER}
    return {".codex/config.toml": settings, ".codex/auth.json": login}


HOMES = {"claude": claude_home, "opencode": opencode_home, "codex": codex_home}


class WithOwnLogin(AgentCase):
    """The user's home has a login, and settings by which nobody is asked."""

    row: Agent
    home: str
    proxy: Proxy
    real = True

    @classmethod
    def setUpClass(cls) -> None:
        try:
            cls.row.launch("", {})
        except AgentError:
            raise unittest.SkipTest(f"{cls.row.name} is not installed: {cls.row.setup}") from None
        cls.model_server = cls.row.server
        cls.proxy = Proxy()
        cls.addClassCleanup(cls.proxy.server_close)
        cls.addClassCleanup(cls.proxy.shutdown)
        super().setUpClass()

    @classmethod
    async def another_agent(cls, *given: Any, **options: Any) -> Any:
        """With the user's home as it is before the agent has run in it."""
        cls.home = os.path.join(cls.root, "home")
        shutil.rmtree(cls.home, True)
        for name, content in HOMES[cls.row.id](cls.model.url).items():
            path = os.path.join(cls.home, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(content if isinstance(content, str) else json.dumps(content))
        # What else there is on this machine may be for another agent.
        variables = {**inherited(), "HOME": cls.home, **cls.proxy.variables}
        patch = mock.patch.dict(os.environ, variables, clear=True)
        patch.start()
        cls.addClassCleanup(patch.stop)
        return await super().another_agent(credentials=LOGIN)

    @classmethod
    def launch(cls, *given: Any, **more: Any) -> Launch:
        return cls.row.launch(cls.model.url, cls.proxy.variables)

    def setUp(self) -> None:
        super().setUp()
        self.file = self.path("file.txt")

    async def say(self, words: str, *replies: Any, decide: str = "", **more: Any) -> list[Any]:
        said = f"{words} ({self._testMethodName})"
        self.model.will_play(said, *replies)
        return await self.tell(said, decide, **more)

    async def test_the_model_is_asked_with_the_users_login(self) -> None:
        del self.model.keys[:]
        self.assertIn("Hi.", text(await self.say("hello", ["Hi."])))
        self.assertEqual(set(self.model.keys), {OF_USER})

    async def test_it_asks_before_it_writes_whatever_the_users_settings_say(self) -> None:
        story = await self.say("write", [self.row.write(self.file, "plum\n")], ["Well."], decide=NO)
        self.assertEqual(len(of(ToolConfirmation, story)), 1, story)
        self.assertFalse(os.path.exists(self.file))

    async def test_it_asks_before_it_runs_a_command(self) -> None:
        line = f"echo plum > '{self.file}'"
        story = await self.say("run", [self.row.run(line)], ["Well."], decide=NO)
        self.assertEqual(len(of(ToolConfirmation, story)), 1, story)
        self.assertFalse(os.path.exists(self.file))

    async def test_what_was_said_with_a_key_is_known_with_the_own_login_and_back_again(
        self,
    ) -> None:
        account = self.agent.account
        await self.say("the word is plum", ["I see."])
        for login in (self.row.key(self.model.url), LOGIN):
            await account.configure(login)
            story = await self.say(f"and now with {login.kind}", ["Here."])
            self.assertIn("Here.", text(story))
            self.assertIn("the word is plum", str(self.model.told()))
            self.assertIn(REMINDED, [it.description for it in of(Thought, story)])

    async def test_the_users_settings_and_login_stay_as_they_are(self) -> None:
        await self.say("hello", ["Hi."])
        for name, content in HOMES[self.row.id](self.model.url).items():
            with open(os.path.join(self.home, name), encoding="utf-8") as file:
                told = file.read()
            self.assertEqual(told if isinstance(content, str) else json.loads(told), content)


class Claude(WithOwnLogin):
    row = AGENTS["claude"]


class OpenCode(WithOwnLogin):
    row = AGENTS["opencode"]


class Codex(WithOwnLogin):
    row = AGENTS["codex"]


del WithOwnLogin

if __name__ == "__main__":
    unittest.main()
