"""The login with Google: by a code with Gemini CLI, too, against a Google of our own."""

from __future__ import annotations

import asyncio
import os
import subprocess
from typing import Any, Mapping

from agent_case import AgentCase, text
from GeminiCompanion.companion.agent import failure
from GeminiCompanion.companion.agent.agent import Agent
from GeminiCompanion.companion.agent.credentials import API_KEY, GOOGLE, Credentials
from GeminiCompanion.companion.agent.failure import AgentError
from GeminiCompanion.tests.support import until
from google_server import ANSWER, EMAIL, GoogleServer, start


def children() -> set[str]:
    """The ids of the processes that this one started and that still are."""
    # Never among them: the program that lists them.
    listed = subprocess.Popen(["ps", "-A", "-o", "pid=,ppid="], stdout=subprocess.PIPE, text=True)
    pairs = (line.split() for line in listed.communicate()[0].splitlines())
    own = {pid for pid, parent in pairs if parent == str(os.getpid())}
    return own - {str(listed.pid)}


class GoogleCase(AgentCase):
    """`variables` lead the CLI to Google; the scripted one asks the model at once."""

    google: GoogleServer
    variables: Mapping[str, str] | None = None

    @classmethod
    def setUpClass(cls) -> None:
        if cls.real:
            cls.google, cls.variables = start(cls)
        super().setUpClass()

    def setUp(self) -> None:
        super().setUp()
        self.model.will_play("hello", [ANSWER])

    async def google_agent(
        self, state: str = "", project: str = "project", **options: Any
    ) -> Agent:
        return await self.another_agent(
            state,
            credentials=Credentials(GOOGLE, project=project),
            variables=self.variables,
            **options,
        )


class Codes(GoogleCase):
    real = False

    async def test_after_a_wrong_code_the_right_one_logs_in_and_the_login_stays(self) -> None:
        state = os.path.join(self.workspace, "state")
        agent = await self.google_agent(state)
        login = await agent.account.begin_login()
        self.assertTrue(login is not None and "client_id=" in login.url)
        for code, refused in (
            ("4/right\n{}", failure.VALIDATION_ERROR),
            ("4/wrong", failure.AUTH_REQUIRED),
        ):
            with self.assertRaises(AgentError) as caught:
                await agent.account.finish_login(code)
            self.assertEqual(caught.exception.code, refused)
        self.assertIn("https://accounts.google.com/", caught.exception.details)
        self.assertFalse(agent.account.auth_status().is_authenticated)
        await agent.account.finish_login("4/right")
        status = agent.account.auth_status()
        self.assertEqual((status.is_authenticated, status.account), (True, EMAIL))
        turn = await agent.send_message(self.workspace, "hello")
        self.assertEqual(text(await self.rest(turn)), ANSWER)
        await agent.stop()
        again = await self.google_agent(state)
        self.assertIsNone(await again.account.begin_login())
        turn = await again.send_message(self.workspace, "hello")
        self.assertEqual(text(await self.rest(turn)), ANSWER)
        await again.account.logout()
        self.assertFalse(again.account.auth_status().is_authenticated)
        home = os.path.join(state, "home", ".gemini")
        self.assertNotIn("oauth_creds.json", os.listdir(home))


class CodesAtGoogle(Codes):
    real = True

    async def test_an_account_that_google_does_not_serve_any_more_is_told_so(self) -> None:
        self.google.refusal = "This client is no longer supported for individuals."
        # With a project of its own an account is served all the same.
        agent = await self.google_agent(project="")
        await agent.account.begin_login()
        with self.assertRaises(AgentError) as caught:
            await agent.account.finish_login("4/right")
            turn = await agent.send_message(self.workspace, "hello")
            await self.rest(turn)
        self.assertEqual(caught.exception.code, failure.AUTH_REQUIRED)
        self.assertIn("no longer supported", str(caught.exception))


class Waiting(GoogleCase):
    """Logins that wait for their code."""

    async def test_two_wrong_codes_end_the_login(self) -> None:
        agent = await self.google_agent()
        await agent.account.begin_login()
        for _ in range(2):
            with self.assertRaises(AgentError) as caught:
                await agent.account.finish_login("4/wrong")
            self.assertEqual(caught.exception.code, failure.AUTH_REQUIRED)
        self.assertNotIn("https://accounts", caught.exception.details)
        with self.assertRaises(AgentError) as caught:
            await agent.account.finish_login("4/right")
        self.assertEqual(caught.exception.code, failure.VALIDATION_ERROR)

    async def test_a_login_that_is_begun_twice_is_one(self) -> None:
        agent = await self.google_agent()
        first, second = await asyncio.gather(
            agent.account.begin_login(), agent.account.begin_login()
        )
        self.assertTrue(first is not None)
        self.assertEqual((first, agent.process_info().starts), (second, 1))
        await agent.account.finish_login("4/right")
        self.assertTrue(agent.account.auth_status().is_authenticated)

    async def test_a_login_that_waits_ends_with_its_credentials(self) -> None:
        agent = await self.google_agent()
        for change in (
            agent.account.logout,
            agent.account.clear_credentials,
            lambda: agent.account.configure_credentials(Credentials(API_KEY, "another")),
        ):
            with self.subTest(change):
                await agent.account.configure_credentials(Credentials(GOOGLE, project="project"))
                before = children()
                await agent.account.begin_login()
                self.assertNotEqual(children(), before)
                await change()
                self.assertEqual(children(), before)
                with self.assertRaises(AgentError) as caught:
                    await agent.account.finish_login("4/right")
                self.assertEqual(caught.exception.code, failure.VALIDATION_ERROR)

    async def test_nobody_waits_for_a_login_that_is_being_begun(self) -> None:
        agent = await self.google_agent()
        before = children()
        beginning = asyncio.ensure_future(agent.account.begin_login())
        await until(lambda: agent.process_info().starts)
        await agent.account.logout()
        with self.assertRaises(AgentError) as caught:
            await beginning
        self.assertEqual(caught.exception.code, failure.OAUTH_INIT_FAILED)
        self.assertEqual(children(), before)

    async def test_a_login_that_still_holds_disturbs_no_conversation(self) -> None:
        agent = await self.google_agent()
        await agent.account.begin_login()
        await agent.account.finish_login("4/right")
        await self.rest(await agent.send_message(self.workspace, "hello"))
        pid = agent.process_info().pid
        self.assertIsNone(await agent.account.begin_login())
        self.assertEqual(agent.process_info().pid, pid)
