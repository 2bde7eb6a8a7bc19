"""Whose login an agent has where nobody chose one: its user's own in an editor, for them alone."""

from __future__ import annotations

import os
import shutil
import tempfile
import unittest
from dataclasses import replace
from unittest import mock

from GeminiCompanion.companion.agent import failure
from GeminiCompanion.companion.agent.agent import Agent, Options
from GeminiCompanion.companion.agent.credentials import OPENAI, OWN, Credentials, Store, UsedLogin
from GeminiCompanion.companion.agent.failure import AgentError
from GeminiCompanion.companion.agent.launches import Chosen
from GeminiCompanion.companion.agent.processes.backend import Backend
from GeminiCompanion.companion.agent.processes.runner import Launch
from GeminiCompanion.companion.agent.supported import CLIS

ENVIRONMENT = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}
KEPT = Credentials(OPENAI, "kept")


class DefaultLogin(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.state = os.path.join(os.path.realpath(tempfile.mkdtemp()), "state")
        self.addCleanup(shutil.rmtree, os.path.dirname(self.state), True)
        with mock.patch.dict(os.environ, ENVIRONMENT):
            self.launches = [Chosen(id).launch for id in CLIS]

    def agent(self) -> Agent:
        made = Agent(Options(self.launches[0], self.state, others=tuple(self.launches[1:])))
        self.addAsyncCleanup(made.stop)
        return made

    def kinds(self) -> dict[str, str]:
        return {each.cli.id: each.account.credentials.kind for each in self.agent().backends}

    async def test_in_an_editor_it_is_the_users_own(self) -> None:
        self.assertEqual(self.kinds(), dict.fromkeys(CLIS, OWN))

    async def test_a_key_of_the_environment_that_was_used_here_goes_on_to_be_used(self) -> None:
        backend: Backend
        for backend in self.agent().backends:
            assert backend.launch.fallback is not None
            backend.cli.prepare_files(backend.launch.fallback, {})
        own = {each.agent: each.fallback.kind for each in self.launches if each.fallback}
        self.assertEqual(self.kinds(), own)
        # Once the user's own login was used, no key takes its place.
        for backend in self.agent().backends:
            assert backend.launch.fallback is not None
            backend.cli.prepare_files(Credentials(OWN), {})
            backend.cli.prepare_files(backend.launch.fallback, {})
        self.assertEqual(self.kinds(), dict.fromkeys(CLIS, OWN))

    async def test_what_is_kept_goes_on_to_be_used(self) -> None:
        cli = self.agent().backends["qwen"].cli
        Store(os.path.join(self.state, "qwen"), cli.check_credentials).save(KEPT)
        found = self.agent().backends
        self.assertEqual(found["qwen"].account.credentials, KEPT)
        self.assertEqual(found.used_login("qwen"), UsedLogin(OPENAI, True))
        self.assertEqual(found.used_login("codex"), UsedLogin(OWN))
        self.assertEqual(found.used_login("not-offered"), UsedLogin())

    async def test_a_key_or_an_address_in_its_variables_is_told_beside_it(self) -> None:
        for name, is_told in (
            ("ANTHROPIC_API_KEY", True),
            ("ANTHROPIC_BASE_URL", True),
            ("OTHER", False),
        ):
            with self.subTest(name), mock.patch.dict(os.environ, ENVIRONMENT):
                self.launches = [Chosen("claude", env=((name, "x"),)).launch]
                used = self.agent().backends.used_login("claude")
                self.assertEqual(used, UsedLogin(OWN, has_variables=is_told))

    async def test_a_program_of_somebody_else_has_it_only_once_the_user_has_chosen_it(self) -> None:
        agent = self.agent()
        account = agent.backends["codex"].account
        for call in (
            agent.send_message(self.state, "hello", agent="codex"),
            agent.new_session(self.state, "codex"),
            agent.list_models(self.state, agent="codex"),
        ):
            with self.assertRaises(AgentError) as refused:
                await call
            self.assertEqual(refused.exception.code, failure.AUTH_NOT_SET)
        self.assertIsNone(account.client_status().kind)
        self.assertFalse(agent.backends["codex"].agent_info(False).is_authenticated)
        self.assertEqual(account.auth_status().kind, OWN)
        await account.configure_credentials(Credentials(OWN))
        account.check_for_clients()
        self.assertEqual(account.client_status().kind, OWN)

    async def test_the_users_setting_counts_more_than_what_was_chosen(self) -> None:
        with mock.patch.dict(os.environ, ENVIRONMENT):
            key = Chosen("qwen").launch.fallback
            asked = {each: Chosen("qwen", own_login=each).launch for each in (True, False, None)}
        for chosen in (KEPT, Credentials(OWN)):
            cli = self.agent().backends["qwen"].cli
            Store(os.path.join(self.state, "qwen"), cli.check_credentials).save(chosen)
            backends = self.agent().backends
            account = backends["qwen"].account
            is_key = chosen == KEPT
            for setting, used, login in (
                (True, Credentials(OWN), UsedLogin(OWN, True)),
                (False, KEPT if is_key else key, UsedLogin(OPENAI, is_key)),
                (None, chosen, UsedLogin(chosen.kind, True)),
            ):
                with self.subTest(chosen=chosen.kind, setting=setting):
                    backends.offer_launches([asked[setting]])
                    self.assertEqual(account.credentials, used)
                    self.assertEqual(account.used_login(), login)
                    account.check_for_clients()

    async def test_nobody_chooses_or_clears_what_the_setting_decides(self) -> None:
        backends = self.agent().backends
        account = backends["qwen"].account
        backends.offer_launches([Chosen("qwen", own_login=True).launch])
        for change in (
            account.configure_credentials(KEPT),
            account.clear_credentials(),
            account.logout(),
        ):
            with self.assertRaises(AgentError) as refused:
                await change
            self.assertIn('"own_login" under "agents"', str(refused.exception))
        await account.configure_credentials(Credentials(OWN))
        backends.offer_launches([Chosen("qwen", own_login=False).launch])
        with self.assertRaises(AgentError) as refused:
            await account.configure_credentials(Credentials(OWN))
        self.assertIn("does not use its user's own login", str(refused.exception))
        with self.assertRaises(AgentError) as refused:
            _used = account.credentials
        self.assertEqual(refused.exception.code, failure.AUTH_NOT_SET)
        await account.configure_credentials(KEPT)
        self.assertEqual(account.credentials, KEPT)
        await account.logout()
        self.assertIsNone(account.client_status().kind)

    async def test_with_another_login_by_the_setting_the_process_of_before_ends(self) -> None:
        backends = self.agent().backends
        backend = backends["qwen"]
        with mock.patch.object(backend.pool, "stop", mock.AsyncMock()) as stop:
            backends.offer_launches([Chosen("qwen", own_login=True).launch])
            await backend.account.refresh_credentials()
            stop.assert_not_called()
            backends.offer_launches([Chosen("qwen", own_login=False).launch])
            await backend.account.refresh_credentials()
            stop.assert_called_once()

    async def test_on_a_server_it_is_that_of_the_environment_alone(self) -> None:
        self.launches = [replace(each, is_users=False) for each in self.launches]
        self.assertNotIn(OWN, self.kinds().values())
        self.launches = [Launch(("codex",), agent="codex")]
        with self.assertRaises(AgentError):
            self.kinds()
