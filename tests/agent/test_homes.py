"""A conversation goes on in the home of its agent in which it was begun: ours, or its user's."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import unittest
from dataclasses import replace
from typing import Any
from unittest import mock

from GeminiCompanion.companion.agent import failure
from GeminiCompanion.companion.agent.agent import Agent, Options
from GeminiCompanion.companion.agent.conversations.conversation import Conversation
from GeminiCompanion.companion.agent.conversations.homes import find_home
from GeminiCompanion.companion.agent.credentials import (
    OPENAI,
    OURS,
    OWN,
    USERS,
    Credentials,
    Store,
    UsedLogin,
)
from GeminiCompanion.companion.agent.failure import AgentError
from GeminiCompanion.companion.agent.launches import Chosen
from GeminiCompanion.companion.agent.processes.backend import Backend
from GeminiCompanion.companion.agent.turn_events import END_TURN, Complete, Error, Usage

LOGIN, KEY, NEWER = Credentials(OWN), Credentials(OPENAI, "kept"), Credentials(OPENAI, "newer")
SESSION = "0f8fad5b-d9cb-469f-a165-70867728950e"


class WithAgent(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.state = os.path.join(self.folder, "state")
        self.agent = self.another()

    def another(self, **settings: Any) -> Agent:
        """An engine on the same folder, in an editor, without a key in the environment."""
        with mock.patch.dict(os.environ, {"OPENAI_API_KEY": ""}):
            launch = replace(Chosen("qwen").launch, look=None, **settings)
        made = Agent(Options(launch, self.state))
        self.addAsyncCleanup(made.stop)
        return made

    @property
    def backend(self) -> Backend:
        return self.agent.backends[None]

    def talk(
        self,
        home: str = "",
        session: str = SESSION,
        agent: Agent | None = None,
        in_chat: bool = True,
    ) -> Any:
        """A conversation that has its session in that home."""
        agent = agent or self.agent
        made = agent.conversations.new_conversation(self.folder, agent.backends[None].cli)
        state = replace(made.record.state, session=session, home=home, in_chat=in_chat)
        made.record.change_state(state)
        return made

    async def used(self, talk: Conversation, agent: Agent | None = None) -> Credentials:
        return await (agent or self.agent).backends[None].credentials_for(talk)


class Homes(WithAgent):
    async def test_what_was_begun_with_a_key_goes_on_with_it_where_the_own_login_is_chosen(
        self,
    ) -> None:
        await self.backend.account.configure_credentials(KEY)
        await self.backend.account.configure_credentials(LOGIN)
        for agent in (self.agent, self.another()):
            found = [await self.used(self.talk(home, agent=agent), agent) for home in (OURS, USERS)]
            self.assertEqual(found, [KEY, LOGIN])
            self.assertEqual(await self.used(self.talk(session="", agent=agent), agent), LOGIN)

    async def test_what_was_begun_with_the_own_login_goes_on_with_it_where_a_key_is_chosen(
        self,
    ) -> None:
        await self.backend.account.configure_credentials(KEY)
        found = [await self.used(self.talk(home)) for home in (USERS, OURS, "")]
        self.assertEqual(found, [LOGIN, KEY, KEY])

    async def test_both_run_side_by_side_each_in_a_place_of_its_own(self) -> None:
        pool, ours, theirs = self.backend.pool, self.talk(OURS), self.talk(USERS)
        first, second = pool.place_of(ours, OURS), pool.place_of(theirs, USERS)
        self.assertIsNot(first, second)
        self.assertIs(pool.place_of(ours), first)
        # One that changes leaves nothing behind.
        self.assertIs(pool.place_of(ours, USERS), second)
        self.assertEqual((list(first), set(second)), ([], {ours, theirs}))
        pool.leave_conversation(ours)
        self.assertEqual(list(second), [theirs])

    async def test_without_a_key_it_goes_on_with_the_login_that_counts(self) -> None:
        self.assertEqual(await self.used(self.talk(OURS)), LOGIN)
        await self.backend.account.configure_credentials(KEY)
        agent = self.another(own_login=False)
        self.assertEqual(await self.used(self.talk(USERS, agent=agent), agent), KEY)
        # On a server the user's own login is only what somebody chose there.
        agent = self.another(is_users=False)
        self.assertEqual(await self.used(self.talk(USERS, agent=agent), agent), KEY)

    async def test_who_has_logged_out_goes_on_with_nothing(self) -> None:
        await self.backend.account.configure_credentials(KEY)
        await self.backend.account.configure_credentials(LOGIN)
        await self.backend.account.logout()
        for home in (OURS, USERS, ""):
            with self.assertRaises(AgentError) as refused:
                await self.used(self.talk(home))
            self.assertEqual(refused.exception.code, failure.AUTH_NOT_SET)
        files = os.listdir(os.path.join(self.state, "qwen"))
        self.assertEqual([name for name in files if name.endswith(".json")], [])

    async def test_a_key_of_another_server_is_known_once_a_session_needs_it(self) -> None:
        for settings in ({}, {"own_login": True}):
            with self.subTest(settings):
                agent = self.another(**settings)
                self.assertEqual(await self.used(self.talk("", agent=agent), agent), LOGIN)
                await self.backend.account.configure_credentials(KEY)
                await self.backend.account.configure_credentials(LOGIN)
                self.assertEqual(await self.used(self.talk(OURS, agent=agent), agent), KEY)
                await self.backend.account.logout()

    async def test_it_leaves_a_home_whose_login_is_refused_unless_that_is_the_one_in_use(
        self,
    ) -> None:
        account, talk = self.backend.account, self.talk(OURS)
        await account.configure_credentials(KEY)
        await account.configure_credentials(LOGIN)
        account.learn_from_turn(Error(failure.AUTH_REQUIRED, "Bad key."), OURS)
        self.assertEqual(await self.used(talk), LOGIN)
        self.assertEqual(account.used_login(OURS), UsedLogin(OWN, True))
        # A turn that runs stays where it is.
        with mock.patch.object(talk, "turn", mock.Mock(is_over=False)):
            self.assertEqual(await self.used(talk), KEY)
        # The login in use has not been refused.
        self.assertTrue(account.auth_status().is_authenticated)
        await account.configure_credentials(NEWER)
        self.assertEqual(await self.used(talk), NEWER)

    async def test_who_chooses_another_login_where_the_model_gives_no_more_gets_it(self) -> None:
        account = self.backend.account
        ours, theirs = self.talk(OURS), self.talk(USERS)
        await account.configure_credentials(KEY)
        account.learn_from_turn(Error(failure.QUOTA_EXCEEDED, "No more."), OURS)
        self.assertEqual(await self.used(ours), KEY)
        await account.configure_credentials(LOGIN)
        self.assertEqual([await self.used(each) for each in (ours, theirs)], [LOGIN, LOGIN])
        account.learn_from_turn(Complete(END_TURN, Usage()), USERS)
        await account.configure_credentials(NEWER)
        self.assertEqual([await self.used(each) for each in (ours, theirs)], [NEWER, LOGIN])

    async def test_who_logs_in_elsewhere_has_it_tried_again(self) -> None:
        account, theirs = self.backend.account, self.talk(USERS)
        await account.configure_credentials(KEY)
        account.learn_error(failure.AUTH_REQUIRED, USERS)
        self.assertEqual(await self.used(theirs), KEY)
        await self.backend.forget_process()
        self.assertEqual(await self.used(theirs), LOGIN)

    async def test_the_login_of_a_conversation_is_told_by_its_home(self) -> None:
        await self.backend.account.configure_credentials(KEY)
        told = [self.agent.backends.used_login("qwen", home).kind for home in (USERS, OURS, "")]
        self.assertEqual(told, [OWN, OPENAI, OPENAI])

    async def test_a_client_uses_no_login_of_the_user_by_an_old_conversation(self) -> None:
        account = self.backend.account
        await account.configure_credentials(KEY)
        for home in ("", OURS):
            account.check_for_clients(home)
        with self.assertRaises(AgentError):
            account.check_for_clients(USERS)
        await account.configure_credentials(LOGIN)
        for home in ("", OURS, USERS):
            account.check_for_clients(home)

    async def test_what_a_client_has_begun_with_the_own_login_goes_on_with_the_key(self) -> None:
        account = self.backend.account
        for login, used in ((KEY, [KEY, KEY]), (LOGIN, [KEY, LOGIN])):
            await account.configure_credentials(login)
            talks = [self.talk(home, in_chat=False) for home in (OURS, USERS)]
            for talk in talks:
                account.check_for_clients(talk.record.state.chat_home)
            self.assertEqual([await self.used(talk) for talk in talks], used)


class Looking(WithAgent):
    """A conversation of an earlier release does not say where it was begun."""

    def keep(self, name: str) -> None:
        path = os.path.join(self.backend.cli.folder, ".qwen", "projects", "w", "chats", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii"):
            pass

    async def test_its_files_tell_that_it_was_in_our_home(self) -> None:
        cli = self.backend.cli
        self.assertEqual(find_home(cli, SESSION), "")
        self.keep("another.jsonl")
        self.assertEqual(find_home(cli, SESSION), "")
        self.keep(f"{SESSION}.jsonl")
        self.assertEqual((find_home(cli, SESSION), find_home(cli, "")), (OURS, ""))
        await self.backend.account.configure_credentials(KEY)
        await self.backend.account.configure_credentials(LOGIN)
        self.assertEqual(await self.used(self.talk()), KEY)

    async def test_where_the_agent_was_never_elsewhere_it_was_in_our_home(self) -> None:
        cli = self.backend.cli
        cli.prepare_files(KEY, {})
        self.assertEqual(find_home(cli, SESSION), OURS)
        cli.prepare_files(LOGIN, {})
        self.assertEqual(find_home(cli, SESSION), "")


class Keys(unittest.TestCase):
    """The files beside the home."""

    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.store = Store(self.folder, lambda credentials: None)

    def names(self) -> list[str]:
        return sorted(os.listdir(self.folder))

    def test_a_key_stays_where_the_own_login_is_chosen_and_goes_with_another_one(self) -> None:
        self.store.save(LOGIN)
        self.assertEqual((self.store.load(), self.store.load_key()), (LOGIN, None))
        for key in (KEY, NEWER):
            self.store.save(key)
            self.assertEqual((self.store.load(), self.store.load_key()), (key, key))
            self.assertEqual(self.names(), ["credentials.json"])
            for _ in range(2):
                self.store.save(LOGIN)
                self.assertEqual((self.store.load(), self.store.load_key()), (LOGIN, key))
        self.store.clear()
        self.assertEqual((self.names(), self.store.load_key()), ([], None))

    def test_no_key_is_left_alone_where_its_removal_breaks_off(self) -> None:
        self.store.save(KEY)
        self.store.save(LOGIN)
        unlink = os.unlink
        with mock.patch.object(os, "unlink", side_effect=[None, OSError("Broken off.")]) as cut:
            with self.assertRaises(OSError):
                self.store.clear()
        unlink(cut.call_args_list[0].args[0])
        self.assertIsNone(self.store.load_key())

    @unittest.skipIf(os.name == "nt", "Windows has other rights")
    def test_nobody_else_can_read_it(self) -> None:
        self.store.save(KEY)
        self.store.save(LOGIN)
        path = os.path.join(self.folder, "key.json")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(json.load(file)["api_key"], "kept")


if __name__ == "__main__":
    unittest.main()
