"""When a conversation's session is opened, and what is written before, without an agent."""

from __future__ import annotations

import unittest
from types import SimpleNamespace
from typing import Any
from unittest import mock

from GeminiCompanion.companion.agent.acp.messages import AgentCapabilities
from GeminiCompanion.companion.agent.conversations.conversation_state import ConversationState
from GeminiCompanion.companion.agent.conversations.held_session import HeldSession
from GeminiCompanion.companion.agent.conversations.session_opener import Opened, SessionOpener
from GeminiCompanion.companion.agent.credentials import OURS, USERS
from GeminiCompanion.companion.agent.failure import GEMINI_ERROR, AgentError
from GeminiCompanion.companion.agent.session_state import ConfigOptions
from GeminiCompanion.companion.base.log import logger

from ..support import patched


class Record:
    """One with a turn; what it writes is among what is `done`."""

    id, workspace, turns = "c", "/work", 1

    def __init__(self, done: list[str]) -> None:
        self.state = ConversationState()
        self.transcript = SimpleNamespace(
            write_now=lambda: done.append("recording" if self.state.loading else "nothing")
        )

    def begin_file(self) -> None:
        pass

    def change_state(self, state: ConversationState) -> None:
        self.state = state


class Held(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.done: list[str] = []
        self.past: Any = SimpleNamespace(read_history=self.history)
        # What the agent is asked to resume with each session.
        self.resumed: list[str] = []
        patched(self, mock.patch.object(SessionOpener, "open_session", self.open))
        self.held = self.another()

    def another(self) -> HeldSession:
        """As this server has it after another one has gone on with the conversation."""
        cli: Any = mock.MagicMock(id="cli")
        record: Any = Record(self.done)
        record.state = ConversationState(session="before")
        held = HeldSession(cli, record, self.past)
        choices: Any = SimpleNamespace(choose_again=mock.AsyncMock())
        held.choices = choices
        return held

    def client(self, home: str = OURS) -> Any:
        """A process of the agent."""
        opening = mock.MagicMock()
        early = SimpleNamespace(take_updates=lambda session: ())
        return SimpleNamespace(opening=opening, early=early, home=home)

    async def history(self) -> Any:
        return SimpleNamespace(turns=())

    async def open(self, client: Any, loading: str, last: str, turns: Any) -> Opened:
        self.done.append("opened")
        self.resumed.append(last)
        session: Any = SimpleNamespace(client=client, id="before", roots=("/work", "/lib"))
        return Opened(session, ConfigOptions(), "")

    async def forked(self, forks: bool = True, reminder: str = "", notes: Any = ()) -> str:
        """The id of the fork of an open session."""
        asked = mock.AsyncMock(return_value="forked")
        patched(self, mock.patch.object(SessionOpener, "fork_session", asked))
        held = self.another()
        client = mock.MagicMock(is_running=True, capabilities=AgentCapabilities(forks=forks))
        held.agent = mock.MagicMock(notes=list(notes))
        held.agent.session.client = client
        held.reminder = reminder
        return await held.fork_session()

    def warned(
        self, capabilities: AgentCapabilities, turns: int = 1, *notices: str, lost: bool = False
    ) -> list[str]:
        """What the user is told before a turn of a conversation that has so many."""
        held = self.another()
        held._record.turns = turns
        cli: Any = held._cli
        cli.name = "Agent"
        cli.tested.version_warning.return_value = ""
        held.agent = mock.MagicMock()
        held.agent.session.client.capabilities = capabilities
        held.agent.session.client.lost_offers = lost
        choices: Any = SimpleNamespace(take_refusals=lambda: ())
        held.choices = choices
        for notice in notices:
            held.keep_notice(notice)
        told = [str(each) for each in held.take_warnings()]
        self.assertFalse(set(notices) & {str(each) for each in held.take_warnings()})
        return told

    async def test_what_the_agent_cannot_do_is_said_with_the_first_message(self) -> None:
        without = self.warned(AgentCapabilities())
        self.assertEqual(without[0], "Agent takes no images.")
        self.assertIn("Agent cannot open its sessions again", without[1])
        for whole in (
            AgentCapabilities(image=True, load=True),
            AgentCapabilities(image=True, resume=True),
        ):
            self.assertEqual(self.warned(whole), [])
            (alone,) = self.warned(whole, lost=True)
            self.assertIn("version 2 of its protocol: it reads and writes files", alone)
        self.assertEqual(self.warned(AgentCapabilities(), 2, lost=True), [])

    async def test_notices_between_two_turns_come_with_the_next_one_and_are_bounded(self) -> None:
        notices = [f"Notice {number}" for number in range(30)]
        self.assertEqual(self.warned(AgentCapabilities(), 2, *notices), notices[-20:])

    async def test_an_agent_that_forks_its_session_is_asked_for_that(self) -> None:
        self.assertEqual(await self.forked(), "forked")
        self.assertEqual(await self.forked(forks=False), "")

    async def test_a_session_that_still_has_to_learn_something_is_not_forked(self) -> None:
        self.assertEqual(await self.forked(reminder="what was said"), "")
        self.assertEqual(await self.forked(notes=["The user wrote more."]), "")

    async def test_a_session_that_is_not_open_or_whose_fork_fails_is_forked_as_a_text(self) -> None:
        self.assertEqual(await self.another().fork_session(), "")
        failing = mock.AsyncMock(side_effect=AgentError(GEMINI_ERROR, "No."))
        with mock.patch.object(SessionOpener, "fork_session", failing):
            held = self.another()
            held.agent = mock.MagicMock(notes=[])
            held.agent.session.client = mock.MagicMock(
                is_running=True, capabilities=AgentCapabilities(forks=True)
            )
            with self.assertLogs(logger, "WARNING"):
                self.assertEqual(await held.fork_session(), "")

    async def test_it_is_opened_once_in_each_process_of_the_agent(self) -> None:
        first, second = self.client(), self.client()
        for client in (first, first, second):
            await self.held.ensure_session(client)
        self.assertEqual(self.done.count("opened"), 2)

    async def test_its_folders_beside_the_workspace_are_known_once_it_is_open(self) -> None:
        self.assertEqual(self.held.other_folders, ())
        await self.held.ensure_session(self.client())
        self.assertEqual(self.held.other_folders, ("/lib",))

    async def test_the_id_of_a_recording_is_on_disk_before_the_agent_can_make_it(self) -> None:
        await self.held.ensure_session(self.client())
        self.assertEqual(self.done, ["recording", "opened"])

    async def test_a_session_is_resumed_in_its_own_home_and_in_no_other(self) -> None:
        """The home of a session of an earlier release is not known."""
        for home in (OURS, OURS, USERS, USERS, OURS):
            await self.held.ensure_session(self.client(home))
            self.assertEqual(self.held._record.state.home, home)
        self.assertEqual(self.resumed, ["before", "before", "", "before", ""])

    async def test_a_session_that_lacks_what_others_said_is_not_resumed_as_it_is(self) -> None:
        client = self.client()
        await self.held.ensure_session(client)
        second, third = self.another(), self.another()
        second.continue_after(self.held)
        # Nothing was said here in between.
        third.continue_after(second)
        await third.ensure_session(client)
        self.assertEqual(self.resumed, ["before", ""])
