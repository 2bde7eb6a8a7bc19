"""The login with Google through the real Gemini CLI, against a Google of our own."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import unittest
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_case import AgentCase, on_loop, text  # noqa: E402
from GeminiCompanion.companion.agent import failure  # noqa: E402
from GeminiCompanion.companion.agent.agent import Agent  # noqa: E402
from GeminiCompanion.companion.agent.auth import GOOGLE, Credentials  # noqa: E402
from GeminiCompanion.companion.agent.failure import AgentError  # noqa: E402
from google_server import ANSWER, EMAIL, GoogleServer  # noqa: E402


@unittest.skipIf(shutil.which("openssl") is None, "certificates are made with openssl")
class GoogleLogin(AgentCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.mkdtemp(prefix="google-")
        cls.addClassCleanup(shutil.rmtree, folder, True)
        cls.google = GoogleServer(folder)
        cls.google.__enter__()
        cls.addClassCleanup(cls.google.__exit__, None, None, None)
        super().setUpClass()

    def setUp(self) -> None:
        super().setUp()
        self.google.refusal = ""

    async def google_agent(
        self, state: str = "", project: str = "project", **options: Any
    ) -> Agent:
        return await self.another_agent(
            state,
            credentials=Credentials(GOOGLE, project=project),
            variables=self.google.environment,
            **options,
        )

    @on_loop
    async def test_a_code_logs_in_and_the_login_stays(self) -> None:
        state = os.path.join(self.workspace, "state")
        agent = await self.google_agent(state)
        login = await agent.begin_login()
        self.assertTrue(login is not None and "client_id=" in login.url)
        self.assertFalse(agent.auth_status().is_authenticated)
        await agent.finish_login("4/right")
        status = agent.auth_status()
        self.assertEqual((status.is_authenticated, status.account), (True, EMAIL))
        turn = await agent.chat(self.workspace, "hello")
        self.assertEqual(text(await self.rest(turn)), ANSWER)
        await agent.stop()
        again = await self.google_agent(state)
        self.assertIsNone(await again.begin_login())
        turn = await again.chat(self.workspace, "hello")
        self.assertEqual(text(await self.rest(turn)), ANSWER)
        await again.logout()
        self.assertFalse(again.auth_status().is_authenticated)
        home = os.path.join(state, "home", ".gemini")
        self.assertNotIn("oauth_creds.json", os.listdir(home))

    @on_loop
    async def test_a_wrong_code_may_be_followed_by_another_one(self) -> None:
        agent = await self.google_agent()
        first = await agent.begin_login()
        with self.assertRaises(AgentError) as caught:
            await agent.finish_login("4/right\n{}")
        self.assertEqual(caught.exception.code, failure.VALIDATION_ERROR)
        with self.assertRaises(AgentError) as caught:
            await agent.finish_login("4/wrong")
        self.assertEqual(caught.exception.code, failure.AUTH_REQUIRED)
        self.assertTrue(first is not None)
        self.assertIn("https://accounts.google.com/", caught.exception.details)
        await agent.finish_login("4/right")
        self.assertTrue(agent.auth_status().is_authenticated)

    @on_loop
    async def test_two_wrong_codes_end_the_login(self) -> None:
        agent = await self.google_agent()
        await agent.begin_login()
        for _ in range(2):
            with self.assertRaises(AgentError) as caught:
                await agent.finish_login("4/wrong")
            self.assertEqual(caught.exception.code, failure.AUTH_REQUIRED)
        self.assertNotIn("https://accounts", caught.exception.details)
        with self.assertRaises(AgentError) as caught:
            await agent.finish_login("4/right")
        self.assertEqual(caught.exception.code, failure.VALIDATION_ERROR)

    @on_loop
    async def test_an_account_that_google_does_not_serve_any_more_is_told_so(self) -> None:
        self.google.refusal = "This client is no longer supported for individuals."
        # With a project of its own an account is served all the same.
        agent = await self.google_agent(project="")
        await agent.begin_login()
        with self.assertRaises(AgentError) as caught:
            await agent.finish_login("4/right")
            turn = await agent.chat(self.workspace, "hello")
            await self.rest(turn)
        self.assertEqual(caught.exception.code, failure.AUTH_REQUIRED)
        self.assertIn("no longer supported", caught.exception.message)


if __name__ == "__main__":
    unittest.main()
