"""Agents of which only the command is known, and how an agent is logged in that asks for it."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import unittest
from typing import Any
from unittest import mock

from GeminiCompanion.companion.agent import failure
from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.agent.agent import Agent, Options
from GeminiCompanion.companion.agent.agents import command_agent
from GeminiCompanion.companion.agent.credentials import OPENAI, OWN, Credentials
from GeminiCompanion.companion.agent.failure import AgentError
from GeminiCompanion.companion.agent.launches import launch_of
from GeminiCompanion.companion.agent.processes.runner import Launch
from GeminiCompanion.companion.agent.supported import CLIS
from GeminiCompanion.companion.agent.turn_events import CANCELLED, Complete, Diff, ToolResult

from ..support import PATIENCE, until

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "plain_agent.py")


class Plain(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)
        self.workspace = os.path.join(self.folder, "workspace")
        os.mkdir(self.workspace)
        self.session: str | None = None

    def agent(
        self, *options: str, id: str = "", mode: str = "", version: int = 1, **more: Any
    ) -> Agent:
        """Its sessions begin in the `mode`, or in the one in which the row with this id asks."""
        mode = mode or (CLIS[id].asking_mode if id else "")
        words = [sys.executable, SCRIPT, *options, *(["--mode", mode] if mode else [])]
        more.setdefault("protocol_version", version)
        more.setdefault("fallback", command_agent.CommandAgent.from_environment({}))
        launch = Launch(
            command_agent.find_command(words), agent=id or command_agent.id_of(words), **more
        )
        self.made = Agent(Options(launch, os.path.join(self.folder, "state")))
        self.addAsyncCleanup(self.made.stop)
        return self.made

    async def told(self, message: str = "Hello") -> list[Any]:
        """The bodies of the turn's events, in one conversation."""
        talk = self.made.send_message(self.workspace, message, session_id=self.session)
        turn = await asyncio.wait_for(talk, PATIENCE)
        self.session = turn.session_id
        return [event.body async for event in turn.read_events()]

    async def heard(self, message: str = "Hello") -> list[str]:
        """What the agent says that it was asked."""
        texts = [
            content.text
            for content in await self.told(message)
            if isinstance(content, events.Content)
        ]
        return "".join(texts).split("\n")

    async def test_a_command_alone_is_enough(self) -> None:
        with mock.patch.dict(os.environ, {"SHOWN": "the user's", "GEMINI_API_SERVER_TOKEN": "t"}):
            self.agent()
            heard = await self.heard()
        self.assertEqual(heard[:3], ["initialize", "session/new", "session/prompt"])
        self.assertEqual(heard[-1], "the user's")

    async def test_what_it_writes_unasked_is_shown_so(self) -> None:
        self.agent()
        path = os.path.join(self.workspace, "a")
        story = await self.told(f"write {path}")
        (result,) = (each for each in story if isinstance(each, ToolResult))
        self.assertEqual((result.success, result.unasked), (True, (Diff(path, "", "hers\n"),)))

    async def test_a_login_that_it_asks_for_is_the_users_to_do(self) -> None:
        self.agent("--login")
        with self.assertRaises(AgentError) as caught:
            await self.told()
        self.assertEqual(caught.exception.code, failure.AUTH_REQUIRED)
        self.assertIn("offers: API Key, Another way.", str(caught.exception))

    async def test_the_user_logs_in_by_a_way_that_it_tells(self) -> None:
        agent = self.agent("--login")
        backend = agent.backends[None]
        self.assertEqual(backend.sign_ins, ())
        with self.assertRaises(AgentError):
            await self.told()
        self.assertEqual([each.id for each in backend.sign_ins], ["api-key", "other"])
        await backend.sign_in("other")
        heard = await self.heard()
        self.assertIn('{"methodId": "other"}', heard)

    async def test_it_is_started_anew_where_the_user_logs_in_elsewhere(self) -> None:
        agent = self.agent("--login")
        with self.assertRaises(AgentError):
            await self.told()
        await agent.backends[None].forget_process()
        self.assertFalse(agent.process_info().is_running)

    async def test_an_agent_that_is_given_a_key_tells_no_ways(self) -> None:
        agent = self.agent("--login", id="codex", fallback=Credentials(OPENAI, "a-key"))
        await self.told()
        self.assertEqual(agent.backends[None].sign_ins, ())

    async def test_where_it_names_no_way_to_log_in_none_is_told(self) -> None:
        self.agent("--login", "--no-ways")
        with self.assertRaises(AgentError) as caught:
            await self.told()
        self.assertIn("asks for a login of its own. Log in with it", str(caught.exception))

    async def test_for_the_own_login_of_a_row_the_user_is_told_its_command(self) -> None:
        self.agent("--login", id="codex", fallback=Credentials(OWN))
        with self.assertRaises(AgentError) as caught:
            await self.told()
        self.assertEqual(caught.exception.code, failure.AUTH_REQUIRED)
        self.assertIn('run "codex login" there', str(caught.exception))

    async def test_the_same_is_told_if_it_asks_only_in_a_turn(self) -> None:
        for id, words in (("codex", 'run "codex login" there'), ("", "offers: API Key")):
            self.session = None
            agent = self.agent("--login-later", id=id, fallback=Credentials(OWN))
            last = (await self.told())[-1]
            self.assertEqual(last.code, failure.AUTH_REQUIRED)
            self.assertIn(words, str(last.message))
            await agent.stop()

    async def test_of_an_own_login_that_is_refused_the_user_is_told_the_agents_words(self) -> None:
        self.agent("--wrong-key", id="codex", fallback=Credentials(OWN))
        last = (await self.told())[-1]
        self.assertEqual(last.code, failure.AUTH_REQUIRED)
        self.assertEqual(
            str(last.message),
            'The login that Codex has in your terminal was refused: "API key not valid." Run "codex'
            ' login" there to change it, and send the message again.',
        )

    async def test_a_row_with_the_own_login_has_the_users_environment(self) -> None:
        with mock.patch.dict(os.environ, {"SHOWN": "the user's"}):
            self.agent(id="codex", fallback=Credentials(OWN))
            heard = await self.heard()
        self.assertEqual(heard[:3], ["initialize", "session/new", "session/prompt"])
        self.assertEqual(heard[-1], "the user's")

    async def test_a_row_with_a_login_gives_it_only_where_the_agent_asks(self) -> None:
        for options, expected in (
            ((), ["initialize", "session/new"]),
            (("--login",), ["initialize", "session/new", "authenticate", "session/new"]),
        ):
            with self.subTest(options):
                self.session = None
                agent = self.agent(*options, id="codex", fallback=Credentials(OPENAI, "a-key"))
                heard = await self.heard()
                self.assertEqual(heard[: heard.index("session/prompt")], expected)
                self.assertEqual("a-key" in "".join(heard), bool(options))
                await agent.stop()

    async def test_a_session_is_opened_again_as_the_agent_can(self) -> None:
        for option, expected in (
            ("--resume", "session/resume"),
            ("--load", "session/load"),
            ("", "session/new"),
        ):
            with self.subTest(option):
                self.session = None
                agent = self.agent(*filter(None, [option]))
                await self.told()
                os.kill(agent.process_info().pid or 0, 9)
                await until(lambda: not self.made.process_info().is_running)
                heard = await self.heard("Again")
                self.assertEqual(heard[:2], ["initialize", expected])
                # It knows what was said, or is told.
                self.assertEqual(any("User: Hello" in line for line in heard), not option)
                await agent.stop()

    async def test_another_version_of_the_protocol_is_refused_with_both(self) -> None:
        self.agent("--version", "3")
        with self.assertRaisesRegex(AgentError, "Expected version 1 / 2 .* has 3"):
            await self.told()

    async def test_an_agent_that_has_version_2_alone_is_spoken_to_in_that(self) -> None:
        for options in (["--version", "2"], ["--version", "2", "--strict"]):
            with self.subTest(options):
                agent = self.agent(*options)
                self.session = None
                heard = await self.heard()
                opened = ["initialize", "initialize", "session/new", "session/prompt"]
                self.assertEqual(heard[:4], opened)
                await agent.stop()

    async def test_version_2_is_asked_for_where_the_user_wants_it_and_1_is_taken_as_well(
        self,
    ) -> None:
        for options in (["--version", "2"], []):
            with self.subTest(options):
                agent = self.agent(*options, version=2)
                self.session = None
                heard = await self.heard()
                self.assertEqual(heard[:3], ["initialize", "session/new", "session/prompt"])
                await agent.stop()

    async def test_a_turn_of_version_2_ends_when_its_session_is_idle(self) -> None:
        agent = self.agent("--version", "2", version=2)
        path = os.path.join(self.workspace, "a")
        story = await self.told(f"write {path}")
        (result,) = (body for body in story if isinstance(body, ToolResult))
        self.assertEqual((result.success, result.unasked), (True, (Diff(path, "", "hers\n"),)))
        self.assertIsInstance(story[-1], Complete)
        story = await self.told("die")
        self.assertEqual(story[-1].code, failure.STREAM_ERROR)
        self.assertFalse(agent.process_info().is_running)
        heard = await self.heard("Again")
        self.assertEqual(heard[:2], ["initialize", "session/resume"])

    async def test_a_cancelled_turn_of_version_2_ends_as_the_agent_says(self) -> None:
        self.agent("--version", "2", version=2)
        turn = await asyncio.wait_for(self.made.send_message(self.workspace, "wait"), PATIENCE)
        story: list[Any] = []
        async for event in turn.read_events():
            story.append(event.body)
            if isinstance(event.body, events.Content):
                turn.cancel()
        self.assertEqual(story[-1].reason, CANCELLED)
        self.assertTrue(self.made.process_info().is_running)

    async def test_a_row_that_begins_in_another_mode_is_told_the_one_in_which_it_asks(self) -> None:
        self.agent(id="claude", mode="auto", fallback=Credentials(OWN))
        heard = await self.heard()
        self.assertEqual(heard[1:4], ["session/new", "session/set_mode", "session/prompt"])
        self.assertEqual(self.made.list_sessions()[0].mode, "default")

    async def test_nothing_is_said_to_a_row_that_does_not_take_the_mode_in_which_it_asks(
        self,
    ) -> None:
        self.agent("--refuses", "default", id="claude", mode="auto", fallback=Credentials(OWN))
        for _ in range(2):
            with self.assertRaises(AgentError) as caught:
                await self.told()
            self.assertEqual(caught.exception.code, failure.CLIENT_NOT_INITIALIZED)
            self.assertIn("did not take its mode default", str(caught.exception))

    async def test_a_choice_that_the_agent_refuses_gives_way_to_the_mode_in_which_it_asks(
        self,
    ) -> None:
        agent = self.agent("--resume", id="claude", mode="auto", fallback=Credentials(OWN))
        await self.told()
        assert self.session
        await agent.change_session(self.session, None, None, "auto")
        await agent.stop()
        agent = self.agent(
            "--refuses", "auto", id="claude", mode="acceptEdits", fallback=Credentials(OWN)
        )
        await agent.load_conversations()
        self.assertIn("The mode auto is no longer used", self.warnings(await self.told()))
        self.assertEqual(agent.list_sessions()[0].mode, "default")

    async def test_a_version_that_is_newer_than_the_tested_ones_is_told_once_in_a_conversation(
        self,
    ) -> None:
        newest = CLIS["codex"].tested.newest
        agent = self.agent("--is", "99.1.0-beta", id="codex", fallback=Credentials(OWN))
        told = f"codex-acp 99.1.0 is newer than {newest}, the newest version that was tested"
        self.assertIn(told, self.warnings(await self.told()))
        self.assertEqual(self.warnings(await self.told()), "")
        (info,) = agent.backends.agent_infos()
        self.assertEqual((info.tested, len(info.processes)), (newest, 1))
        self.assertIn(told, str(info.processes[0].warning))
        await agent.stop()
        await self.agent(
            "--is", "99.2.0", id="codex", fallback=Credentials(OWN)
        ).load_conversations()
        self.assertNotIn("newer", self.warnings(await self.told()))
        self.session = None
        self.assertIn("codex-acp 99.2.0 is newer", self.warnings(await self.told()))

    async def test_nothing_is_told_of_a_version_that_is_tested_older_or_not_known(self) -> None:
        newest = CLIS["codex"].tested.newest
        for id, version in (
            ("codex", newest), ("codex", newest + "-preview.1"), ("codex", "0.0.1"),
            ("codex", ""), ("codex", "unknown"), ("", "99.1.0"),
        ):  # fmt: skip
            with self.subTest(id=id, version=version):
                self.session = None
                agent = self.agent("--is", version, id=id, fallback=Credentials(OWN))
                self.assertNotIn("newer", self.warnings(await self.told()))
                self.assertEqual(agent.backends.agent_infos()[0].processes[0].warning, "")
                await agent.stop()

    @staticmethod
    def warnings(story: list[Any]) -> str:
        thoughts = (thought for thought in story if isinstance(thought, events.Thought))
        return "\n".join(
            str(thought.description) for thought in thoughts if thought.subject == events.WARNING
        )

    async def test_a_conversation_can_be_read_whatever_is_offered_later(self) -> None:
        agent = self.agent()
        await self.told()
        await agent.stop()
        other = self.agent("--other")
        await other.load_conversations()
        (info,) = other.list_sessions()
        self.assertEqual(info.agent, command_agent.id_of([sys.executable, SCRIPT]))
        with self.assertRaises(AgentError) as caught:
            await self.told()
        self.assertEqual(caught.exception.code, failure.AGENT_NOT_FOUND)


class Named(unittest.TestCase):
    def test_an_id_is_made_of_the_command(self) -> None:
        for words, expected in (
            (["opencode", "acp"], "opencode-acp"),
            (["/usr/bin/My Agent", "--acp"], "my-agent---acp"),
            (["C:\\Agents\\it.exe"], "it.exe"),
            (["ä"], "agent"),
        ):
            with self.subTest(words):
                found = command_agent.id_of(words)
                self.assertEqual(found, expected)
                self.assertRegex(found, command_agent.ID)

    def test_the_path_of_a_rows_program_is_that_row(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "opencode")
            with open(path, "wb") as file:
                file.write(b"\x7fELF")
            os.chmod(path, 0o700)
            launch = launch_of(path)
            self.assertEqual(
                (launch.agent, launch.command), ("opencode", (os.path.realpath(path),))
            )
            self.assertEqual(launch_of(f"{path} acp").agent, "opencode-acp")

    def test_what_is_no_command_is_refused(self) -> None:
        for command in ("", " ", '"no end'):
            with self.subTest(command), self.assertRaises(AgentError):
                command_agent.words_of(command)
        with self.assertRaisesRegex(AgentError, "no-such-agent was not found in PATH"):
            command_agent.find_command(["no-such-agent", "acp"])
