"""How the agents are found that a user names in the settings. None is started."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import unittest
from dataclasses import replace
from typing import Mapping
from unittest import mock

from GeminiCompanion.companion.agent.agent import Agent, Options
from GeminiCompanion.companion.agent.agents.gemini_cli import GeminiCli
from GeminiCompanion.companion.agent.credentials import API_KEY, OPENAI, OWN, VERTEX, Credentials
from GeminiCompanion.companion.agent.failure import CLIENT_NOT_INITIALIZED, AgentError
from GeminiCompanion.companion.agent.launches import Chosen
from GeminiCompanion.companion.agent.processes import runner
from GeminiCompanion.companion.agent.processes.runner import Launch
from GeminiCompanion.companion.base.login_path import LOGIN_PATH


@unittest.skipIf(sys.platform == "win32", "programs have other names there")
class Finding(unittest.TestCase):
    """`self.bin` is all of PATH, with a Node and a CLI that nobody can run."""

    def setUp(self) -> None:
        self.bin = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.bin, True)
        self.node, self.cli = self.program("node"), self.program("gemini.js")
        os.symlink("gemini.js", os.path.join(self.bin, "gemini"))
        patch = mock.patch.dict(os.environ, PATH=self.bin)
        patch.start()
        self.addCleanup(patch.stop)

    def program(self, name: str) -> str:
        path = os.path.join(self.bin, name)
        with open(path, "w"):
            os.chmod(path, 0o700)
        return path

    def test_the_program_is_found_by_the_words_that_start_it_in_a_terminal(self) -> None:
        for words in (
            (),
            ("gemini",),
            ("gemini", "--model", "gemini-2.5-flash"),
            (os.path.join(self.bin, "gemini"),),
            ("node", self.cli),
            ("env", "A=1", "gemini"),
        ):
            with self.subTest(words):
                found = Chosen("gemini", words).find_command()
                self.assertEqual(found.words, (self.node, self.cli))

    def test_what_starts_it_is_not_taken_for_it(self) -> None:
        with open(self.node, "wb") as file:
            file.write(b"\x7fELF")
        for words in (("node", self.cli), (self.node, self.cli)):
            with self.subTest(words):
                found = Chosen("gemini", words).find_command()
                self.assertEqual(found.words, (self.node, self.cli))
        for command in (("node",), ("env", "A=1", "no-such-program")):
            with self.subTest(command), self.assertRaises(AgentError):
                Chosen("gemini", command).find_command()

    def test_what_a_terminal_starts_by_other_words_is_started_by_these(self) -> None:
        wrapper, shim = self.program("my-wrapper"), self.shim("codex-acp")
        self.program("npx-cli.js")
        os.symlink("npx-cli.js", os.path.join(self.bin, "npx"))
        npx = os.path.join(self.bin, "npx")
        for id, words, command in (
            ("codex", ("npx", "-y", "some-package"), (npx, "-y", "some-package")),
            ("codex", ("my-wrapper", "--sandbox"), (wrapper, "--sandbox")),
            ("codex", ("my-wrapper", "codex-acp", "--x"), (shim,)),
            ("codex", (), (shim,)),
            ("gemini", ("my-wrapper", "gemini"), (self.node, self.cli)),
        ):
            with self.subTest(words):
                self.assertEqual(Chosen(id, words).find_command().words, command)

    def shim(self, name: str) -> str:
        """A script that starts a program, as package managers write it."""
        path = self.program(name)
        with open(path, "w") as file:
            file.write('#!/bin/sh\nexec node /some/where/index.js "$@"\n')
        return path

    def test_a_program_that_is_not_executable_is_told_so(self) -> None:
        os.chmod(self.shim("codex-acp"), 0o600)
        for chosen in (Chosen("codex"), Chosen("codex-acp"), Chosen("mine", ("codex-acp", "x"))):
            with self.subTest(chosen):
                with self.assertRaisesRegex(AgentError, "codex-acp is there, and is not exec"):
                    chosen.find_command()

    def test_nothing_is_found_by_a_relative_path(self) -> None:
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.bin)
        os.unlink(os.path.join(self.bin, "gemini"))
        for word in ("gemini.js", "./gemini.js", "no-such-program"):
            with self.subTest(word), mock.patch.dict(os.environ, PATH=self.apart("node")):
                with self.assertRaises(AgentError):
                    Chosen("gemini", (word,)).find_command()

    def apart(self, name: str) -> str:
        """A folder with this program alone."""
        folder = tempfile.mkdtemp(dir=self.bin)
        os.symlink(os.path.join(self.bin, name), os.path.join(folder, name))
        return folder

    def test_an_unknown_agent_is_started_by_its_own_words(self) -> None:
        own = self.program("my-agent")
        self.assertEqual(Chosen("mine", ("my-agent", "acp")).find_command().words, (own, "acp"))
        self.assertEqual(Chosen("my-agent").find_command().words, (own,))

    def test_the_users_variables_for_an_agent_are_part_of_its_launch_and_of_its_login(self) -> None:
        env = (("OPENAI_API_KEY", "theirs"), ("OPENAI_MODEL", None), ("A", "1"))
        for variables in ({}, {"OPENAI_API_KEY": "the editor's", "OPENAI_MODEL": "m"}):
            with mock.patch.dict(os.environ, variables):
                launch = Chosen("qwen", env=env).launch
            self.assertEqual(launch.env, dict(env))
            self.assertEqual(launch.fallback, Credentials(OPENAI, "theirs"))
        with mock.patch.dict(os.environ, OPENAI_API_KEY="the editor's"):
            launch = Chosen("qwen", env=(("OPENAI_API_KEY", None),)).launch
        self.assertIsNone(launch.fallback)

    def test_the_users_arguments_and_their_word_on_the_login_are_part_of_the_launch(self) -> None:
        launch = Chosen("qwen", args=("--debug",), own_login=False).launch
        self.assertEqual((launch.args, launch.own_login), (("--debug",), False))
        # It has no other login.
        self.assertIsNone(Chosen("mine", ("mine",), own_login=False).launch.own_login)

    def test_what_only_the_login_shell_knows_is_found_on_its_path(self) -> None:
        other = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, other, True)
        whole = os.pathsep.join([self.bin, other])
        with mock.patch.object(LOGIN_PATH, "ask", return_value=whole) as asked:
            with mock.patch.dict(os.environ, PATH=other):
                # Its Node is there, too; what it runs may need another one of these.
                self.assertEqual(Chosen("gemini").find_command(), ((self.node, self.cli), whole))
                own = self.program("my-agent")
                self.assertEqual(Chosen("my-agent").find_command(), ((own,), whole))
                with self.assertRaisesRegex(AgentError, "was not found"):
                    Chosen("codex").find_command()
            self.assertEqual(asked.call_count, 3)
            # What is on the editor's own is not asked about.
            self.assertEqual(Chosen("gemini").find_command(), ((self.node, self.cli), ""))
            self.assertEqual(asked.call_count, 3)

    def test_an_address_and_its_key_go_together(self) -> None:
        env = {
            "GOOGLE_GEMINI_BASE_URL": "http://gateway",
            "GOOGLE_VERTEX_BASE_URL": "http://vertex",
            "GOOGLE_GENAI_USE_VERTEXAI": "true",
        }
        self.assertIsNone(self.gemini(env))
        key = Credentials(API_KEY, "k", base_url="http://gateway")
        self.assertEqual(self.gemini({**env, "GEMINI_API_KEY": "k"}), key)
        vertex = Credentials(VERTEX, "v", base_url="http://vertex")
        self.assertEqual(self.gemini({**env, "GOOGLE_API_KEY": "v"}), vertex)
        cli = GeminiCli(os.path.join(self.bin, "home"), False)
        for credentials, variables in (
            (key, {"GOOGLE_GEMINI_BASE_URL": "http://gateway"}),
            (vertex, {"GOOGLE_VERTEX_BASE_URL": "http://vertex"}),
            (Credentials(API_KEY, "k"), {}),
        ):
            for theirs in ({}, env):
                made = cli.process_environment(credentials, {}, theirs)
                told = {each: made[each] for each in made if "BASE_URL" in each}
                self.assertEqual(told, variables)

    def test_the_users_login_for_google_cloud_takes_the_place_of_the_machines(self) -> None:
        name = "GOOGLE_APPLICATION_CREDENTIALS"
        cli = GeminiCli(os.path.join(self.bin, "home"), False)
        cloud = Credentials(VERTEX, "", "a-project", "a-place")
        with mock.patch.dict(os.environ, {name: "/machine.json"}):
            for credentials, env, place in (
                (cloud, {}, "/machine.json"),
                (cloud, {name: "/theirs.json"}, "/theirs.json"),
                (cloud, {name: None}, None),
                (Credentials(VERTEX, "k"), {}, None),
                (Credentials(API_KEY, "k"), {}, None),
            ):
                made = cli.process_environment(credentials, {}, env)
                self.assertEqual(made.get(name), place, (credentials, env))

    def gemini(self, env: Mapping[str, str]) -> Credentials | None:
        with mock.patch.dict(os.environ):
            for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
                os.environ.pop(name, None)
            return Chosen("gemini", env=tuple(env.items())).launch.fallback

    def test_one_that_is_installed_later_is_found_then(self) -> None:
        os.unlink(os.path.join(self.bin, "gemini"))
        launch = Chosen("gemini").launch
        with self.assertRaises(AgentError):
            launch.find_command()
        os.symlink("gemini.js", os.path.join(self.bin, "gemini"))
        self.assertEqual(launch.find_command().words, (self.node, self.cli))

    def test_one_that_is_not_there_is_told_with_its_way_to_install_it(self) -> None:
        os.unlink(os.path.join(self.bin, "gemini"))
        for chosen, words in (
            (Chosen("gemini"), "npm install -g @google/gemini-cli"),
            (Chosen("claude"), "npm install -g @agentclientprotocol/claude-agent-acp"),
            (Chosen("mine", ("my-agent",)), "my-agent was not found"),
        ):
            with self.assertRaises(AgentError) as caught:
                chosen.find_command()
            for part in (words, '"agents" in the settings'):
                self.assertIn(part, str(caught.exception))
            self.assertNotIn(self.bin, str(caught.exception))


class NotInstalled(unittest.IsolatedAsyncioTestCase):
    async def test_that_it_is_not_installed_is_told_before_its_missing_login(self) -> None:
        folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder, True)
        workspace = os.path.join(folder, "workspace")
        os.mkdir(workspace)
        launch = Launch((), agent="qwen", look=Chosen("qwen", ("qwen-of-nobody",)).find_command)
        agent = Agent(Options(launch, os.path.join(folder, "state")))
        await agent.load_conversations()
        self.addAsyncCleanup(agent.stop)
        with self.assertRaises(AgentError) as caught:
            await agent.send_message(workspace, "hello")
        self.assertEqual(caught.exception.code, CLIENT_NOT_INITIALIZED)
        if shutil.which("node"):
            self.assertIn("npm install -g @qwen-code/qwen-code", str(caught.exception))


class Login(unittest.IsolatedAsyncioTestCase):
    async def test_a_key_of_the_environment_counts_anew_until_somebody_logs_in_or_out(self) -> None:
        folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder, True)
        agent = Agent(Options(self.launch("one"), os.path.join(folder, "state")))
        await agent.load_conversations()
        self.addAsyncCleanup(agent.stop)
        account = agent.backends[None].account
        self.assertEqual(account.credentials.api_key, "one")
        agent.backends.offer_launches([self.launch("two")])
        self.assertEqual(account.credentials.api_key, "two")
        await account.configure_credentials(Credentials(API_KEY, "own"))
        agent.backends.offer_launches([self.launch("three")])
        self.assertEqual(account.credentials.api_key, "own")
        await account.logout()
        agent.backends.offer_launches([self.launch("four")])
        self.assertFalse(account.auth_status().is_authenticated)

    async def test_the_users_arguments_go_behind_those_by_which_an_agent_asks(self) -> None:
        folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder, True)
        chosen = Chosen("qwen", args=("--debug", "--")).launch
        launch = replace(chosen, look=None, command=("qwen",), fallback=None)
        pool = Agent(Options(launch, os.path.join(folder, "state"))).backends[None].pool
        stopped = mock.AsyncMock(side_effect=OSError(2, "not there"))
        with mock.patch.object(runner.AgentProcess, "start", stopped) as start:
            with self.assertRaises(AgentError):
                async with pool.first_client(Credentials(OWN)):
                    pass
        words = ("qwen", "--acp", "--approval-mode", "default", "--debug", "--")
        self.assertEqual(start.call_args[0][0], words)

    def launch(self, key: str) -> Launch:
        launch = Chosen("gemini", env=(("GEMINI_API_KEY", key),)).launch
        # In an editor it counts where it was used before.
        return replace(launch, is_users=False)
