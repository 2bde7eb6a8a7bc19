"""Conversations and their files, where no CLI can be started."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import shutil
import tempfile
import threading
import unittest
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any
from unittest import mock

from GeminiCompanion.companion.agent import failure
from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.agent.acp.acp_client import AcpSession, OfferedCommands
from GeminiCompanion.companion.agent.acp.agent_state import AgentState
from GeminiCompanion.companion.agent.agent import Agent, Options
from GeminiCompanion.companion.agent.agents.gemini_cli import GeminiCli
from GeminiCompanion.companion.agent.attachments import Attachments
from GeminiCompanion.companion.agent.conversations import (
    hold,
    index,
    refusals,
    session_opener,
    shared_folder,
    transcripts,
)
from GeminiCompanion.companion.agent.conversations import registry as conversations
from GeminiCompanion.companion.agent.conversations.choices import Choices
from GeminiCompanion.companion.agent.conversations.conversation_state import ConversationState
from GeminiCompanion.companion.agent.conversations.held_session import HeldSession
from GeminiCompanion.companion.agent.conversations.session_opener import Opened
from GeminiCompanion.companion.agent.conversations.shared_folder import open_to_all
from GeminiCompanion.companion.agent.conversations.transcripts import TranscriptFile, Transcripts
from GeminiCompanion.companion.agent.credentials import API_KEY, Credentials
from GeminiCompanion.companion.agent.failure import AgentError
from GeminiCompanion.companion.agent.processes.runner import Launch
from GeminiCompanion.companion.agent.session_state import (
    MODE,
    MODEL,
    SELECT,
    ConfigOption,
    ConfigOptions,
    OptionChoice,
)
from GeminiCompanion.companion.agent.tool_servers import HTTP, ToolServer
from GeminiCompanion.companion.agent.turn.shown_images import ShownImages
from GeminiCompanion.companion.agent.turn_events import TurnEvent
from GeminiCompanion.companion.base import write_behind
from GeminiCompanion.companion.base.answer import Answer, Unanswered
from GeminiCompanion.companion.base.file_lock import FileLock
from GeminiCompanion.companion.base.line_file import LineFile
from GeminiCompanion.companion.base.log import logger

from ..support import PATIENCE, until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ID = "a" * 32
NOW = datetime.now(timezone.utc)


class OnDisk(unittest.IsolatedAsyncioTestCase):
    """`folder` holds the transcripts of the agents that `started` gives."""

    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = os.path.realpath(temporary.name)
        self.workspace = os.path.join(self.root, "workspace")
        os.mkdir(self.workspace)
        self.folder = os.path.join(self.root, "conversations")
        self.transcripts = Transcripts(self.folder)

    def agent(self) -> Agent:
        command = (os.path.join(self.root, "no such program"),)
        launch = Launch(command, fallback=Credentials(API_KEY, "the-key"))
        return Agent(Options(launch, self.root))

    async def agent_that_came_and_went(self) -> None:
        agent = self.agent()
        await agent.load_conversations()
        await agent.stop()

    async def started(self) -> Agent:
        agent = self.agent()
        await agent.load_conversations()
        self.addAsyncCleanup(agent.stop)
        return agent

    def written(self, id: str = ID) -> TranscriptFile:
        """A conversation with one turn."""
        transcript = self.transcripts.file_of(id)
        transcript.begin_file(self.workspace, NOW)
        transcript.add_change(session="12345678-session")
        transcript.add_message("turn", events.Message("hello"))
        over = events.Complete(events.END_TURN, events.Usage(0, 0, {}))
        transcript.add_event(TurnEvent(1, NOW, id, "turn", over))
        transcript.write_now()
        return transcript

    async def refused(self, attempt: Any) -> str:
        with self.assertRaises(AgentError) as caught:
            await asyncio.wait_for(attempt, PATIENCE)
        return caught.exception.code


class WithoutACli(OnDisk):
    async def test_what_waits_for_an_agent_that_never_started_is_there_after_a_restart(
        self,
    ) -> None:
        agent = await self.started()
        cli = agent.backends[None].cli
        conversation = agent.conversations.new_conversation(self.workspace, cli)
        async with conversation.hold.exclusive_use():
            conversation.queue.add_message("hello", (), (), ())
            await conversation.record.write_to_disk()
        await agent.stop()
        known = (await self.started()).conversations.known_conversation(conversation.id)
        self.assertEqual([message.text for message in known.queue.messages], ["hello"])
        self.assertTrue(known.queue.is_held)
        self.assertEqual(known.cli.id, cli.id)

    async def test_a_conversation_whose_only_message_was_taken_back_has_begun(self) -> None:
        agent = await self.started()
        conversation = agent.conversations.new_conversation(
            self.workspace, agent.backends[None].cli
        )
        async with conversation.hold.exclusive_use():
            conversation.queue.add_message("hello", (), (), ())
            (message,) = conversation.queue.messages
            conversation.queue.remove_message(message.id)
            await conversation.record.write_to_disk()
        await agent.stop()
        known = (await self.started()).conversations.known_conversation(conversation.id)
        self.assertEqual((known.queue.messages, known.record.has_begun), ((), True))

    async def test_a_conversation_outlives_a_cli_that_does_not_start(self) -> None:
        transcript = self.written()
        agent = await self.started()
        for attempt in (
            agent.list_models(self.workspace, ID),
            agent.change_session(ID, None, "a model", None),
            agent.send_message(self.workspace, "hello", session_id=ID),
        ):
            code = await self.refused(attempt)
            self.assertEqual(code, failure.CLIENT_NOT_INITIALIZED)
            self.assertTrue(os.path.exists(transcript.path))
            self.assertEqual([info.id for info in agent.list_sessions()], [ID])

    async def test_one_whose_first_line_is_damaged_is_listed_and_tells_why_it_cannot_go_on(
        self,
    ) -> None:
        transcript = self.written()
        with open(transcript.path, "r+b") as file:
            file.write(b"\0" * 200)
        with self.assertLogs("GeminiCompanion", "WARNING"):
            agent = await self.started()
        self.assertEqual(
            [(session.id, session.workspace) for session in agent.list_sessions()], [(ID, "")]
        )
        with self.assertRaises(AgentError) as caught:
            await agent.send_message(self.workspace, "hello", session_id=ID)
        self.assertIn("folder of this conversation is no longer known", str(caught.exception))

    async def test_few_stay_in_memory_and_nothing_of_the_others_is_lost(self) -> None:
        ids = [f"{number:032x}" for number in range(5)]
        for id in ids:
            self.written(id)
        agent = await self.started()
        with mock.patch.object(conversations, "MAX_AT_REST", 2):
            for id in ids:
                agent.conversations.known_conversation(id).record.rename("Title of " + id)
            self.assertEqual([conversation.id for conversation in agent.conversations], ids[-2:])
            gc.collect()
            titles = {info.id: info.title for info in agent.list_sessions()}
            self.assertEqual(titles, {id: "Title of " + id for id in ids})
            held = agent.conversations.known_conversation(ids[0])
            held.reserve()
            for id in ids:
                agent.conversations.known_conversation(id)
            self.assertIn(held, list(agent.conversations))
            self.assertIs(agent.conversations.known_conversation(ids[0]), held)
            held.reservation.release()

    async def test_a_file_of_which_nothing_can_be_read_is_logged_and_stays(self) -> None:
        transcript = self.written()
        with open(transcript.path, "wb") as file:
            file.write(b"\0" * 200)
        with self.assertLogs("GeminiCompanion", "WARNING") as logs:
            agent = await self.started()
        self.assertIn(ID, logs.output[0])
        self.assertEqual((agent.list_sessions(), os.path.getsize(transcript.path)), ((), 200))

    async def test_what_the_disk_refuses_is_tried_again_until_it_takes_it(self) -> None:
        transcript = self.written()
        agent = await self.started()
        known, full = (
            agent.conversations.known_conversation(ID),
            OSError(28, "No space left on device"),
        )
        with mock.patch.object(refusals, "PAUSE", 0.01), mock.patch.object(transcripts, "PAUSE", 0):
            with mock.patch.object(LineFile, "append_lines", side_effect=full) as append:
                with self.assertLogs("GeminiCompanion", "ERROR"):
                    known.record.rename("A title")
                    await until(lambda: append.call_count > 2)
                self.assertTrue(agent.conversations.refusals.are_there)
                self.assertFalse(known.session_info.is_saved)
            await until(lambda: not agent.conversations.refusals.are_there)
        self.assertTrue(known.session_info.is_saved)
        summary = self.transcripts.file_of(ID).reader.read_summary()
        assert summary is not None
        self.assertEqual(
            (summary.title, transcript.path), ("A title", known.record.transcript.path)
        )

    async def test_another_server_goes_on_once_the_disk_takes_what_it_has_refused(self) -> None:
        self.written()
        agent, other = await self.started(), await self.started()
        known, full = (
            agent.conversations.known_conversation(ID),
            OSError(28, "No space left on device"),
        )
        with mock.patch.object(refusals, "PAUSE", 0.01), mock.patch.object(transcripts, "PAUSE", 0):
            with mock.patch.object(LineFile, "append_lines", side_effect=full):
                with self.assertLogs("GeminiCompanion", "ERROR"):
                    await agent.change_session(ID, "A title", None, None)
                self.assertTrue(known.hold.is_used)
            await until(lambda: not known.hold.is_used)
        await shared_folder.learn_changes(other.conversations, ID)
        self.assertEqual(other.conversations.known_conversation(ID).session_info.title, "A title")

    async def test_at_the_end_it_is_tried_once_more_and_what_is_lost_is_logged(self) -> None:
        self.written()
        full = OSError(28, "No space left on device")
        for is_full, title in ((True, "hello"), (False, "A title")):
            agent = self.agent()
            await agent.load_conversations()
            with contextlib.ExitStack() as stack:
                logs = stack.enter_context(self.assertLogs("GeminiCompanion", "ERROR"))
                with mock.patch.object(LineFile, "append_lines", side_effect=full):
                    agent.conversations.known_conversation(ID).record.rename("A title")
                    await until(lambda: agent.conversations.refusals.are_there)  # noqa: B023
                    if is_full:
                        await agent.stop()
                if not is_full:
                    await agent.stop()
            self.assertEqual("is lost" in logs.output[-1], is_full)
            summary = self.transcripts.file_of(ID).reader.read_summary()
            assert summary is not None
            self.assertEqual(summary.title, title)

    async def test_a_conversation_that_never_began_leaves_no_file(self) -> None:
        agent = await self.started()
        await self.refused(agent.send_message(self.workspace, "hello"))
        await self.refused(agent.new_session(self.workspace))
        self.assertEqual(agent.list_sessions(), ())
        self.assertEqual(os.listdir(self.folder), [])

    async def test_a_temporary_conversation_does_not_outlive_a_server_that_was_killed(self) -> None:
        self.written()
        temporary = self.written("b" * 32)
        temporary.add_change(owned="yes", temporary="yes")
        temporary.write_now()
        agent = await self.started()
        self.assertEqual([info.id for info in agent.list_sessions()], [ID])
        self.assertFalse(os.path.exists(temporary.path))

    async def test_what_the_disk_does_not_let_go_of_is_left_to_other_servers(self) -> None:
        temporary = self.written("b" * 32)
        temporary.add_change(owned="yes", temporary="yes")
        temporary.write_now()
        os.makedirs(self.transcripts.file_of(ID).folder)
        refusal = OSError(5, "I/O error")
        rmtree = mock.patch.object(shutil, "rmtree", side_effect=refusal)
        forget = mock.patch.object(index, "delete_conversation_files", side_effect=refusal)
        with rmtree, forget, self.assertLogs("GeminiCompanion", "WARNING"):
            await self.started()
        for id in (ID, "b" * 32):
            lock = FileLock(self.transcripts.file_of(id).lock)
            self.addCleanup(lock.release)
            self.assertTrue(lock.acquire(), id)

    async def test_what_a_crash_left_of_a_deleted_conversation_is_removed(self) -> None:
        transcript = self.written()
        os.makedirs(transcript.folder)
        os.makedirs(self.transcripts.file_of("b" * 32).folder)
        await self.started()
        names = [os.path.basename(path) for path in (transcript.path, transcript.folder)]
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(names))

    async def test_two_servers_with_one_folder_know_the_same_conversations(self) -> None:
        first, second = await self.started(), await self.started()
        self.written()
        for agent in (first, second):
            await shared_folder.learn_changes(agent.conversations, ID)
            self.assertEqual(agent.conversations.known_conversation(ID).session_info.title, "hello")
        await first.change_session(ID, "another", None, None)
        await shared_folder.learn_changes(second.conversations, ID)
        self.assertEqual(second.conversations.known_conversation(ID).session_info.title, "another")
        await second.delete_session(ID)
        await shared_folder.learn_changes(first.conversations, ID)
        with self.assertRaises(AgentError) as caught:
            first.conversations.known_conversation(ID)
        self.assertEqual(caught.exception.code, failure.SESSION_NOT_FOUND)

    async def test_a_message_that_waits_is_on_disk_before_anybody_is_told_that_it_is_kept(
        self,
    ) -> None:
        self.written()
        agent = await self.started()
        conversation = agent.conversations.known_conversation(ID)
        with mock.patch.object(write_behind.WriteBehind, "do_soon", lambda *_: None):
            async with conversation.hold.exclusive_use():
                # As while a turn runs: it is not given back at once, which would write it.
                conversation.hold.keep_held()
                conversation.queue.add_message("later", (), (), ())
                await conversation.record.write_to_disk()
                with open(self.transcripts.file_of(ID).path, encoding="utf-8") as file:
                    self.assertIn("later", file.read())
        conversation.hold.give_soon()

    async def test_what_one_server_changes_no_other_one_changes(self) -> None:
        self.written()
        first, second = await self.started(), await self.started()
        async with first.conversations.known_conversation(ID).hold.exclusive_use():
            with mock.patch.object(hold, "GIVING_ON", 0.05):
                for work in (
                    second.change_session(ID, "another", None, None),
                    second.delete_session(ID),
                    second.conversations.fork(ID, None),
                ):
                    self.assertEqual(await self.refused(work), failure.SESSION_ELSEWHERE)
        await second.change_session(ID, "another", None, None)

    async def test_a_fork_of_all_goes_on_with_the_fork_of_the_agent(self) -> None:
        self.written()
        agent = await self.started()
        source = agent.conversations.known_conversation(ID)

        async def session_of_fork() -> str:
            made = await agent.fork_conversation(ID, None)
            assert made is not None
            return agent.conversations.known_conversation(made.id).record.state.session

        def say_meanwhile() -> str:
            source.record.turns += 1
            return "forked"

        with mock.patch.object(HeldSession, "fork_session", mock.AsyncMock()) as fork:
            fork.return_value = "forked"
            self.assertEqual(await session_of_fork(), "forked")
            # It would know more than the fork here.
            fork.side_effect = say_meanwhile
            self.assertEqual(await session_of_fork(), "")

    async def test_a_fork_has_a_title_that_tells_it_from_its_source(self) -> None:
        self.written()
        agent = await self.started()
        title = agent.conversations.known_conversation(ID).record.title
        made = await agent.fork_conversation(ID, None)
        again = await agent.fork_conversation(made.id, None) if made is not None else None
        assert made is not None and again is not None
        titles = [
            agent.conversations.known_conversation(fork.id).record.title for fork in (made, again)
        ]
        self.assertEqual(titles, [f"{title} (2)", f"{title} (3)"])
        # Its agent may have one of its own later, and the user's own is never replaced.
        agent.conversations.known_conversation(made.id).record.tell_title("Another")
        self.assertEqual(agent.conversations.known_conversation(made.id).record.title, "Another")

    async def test_a_fork_has_the_images_that_the_agent_had_shown(self) -> None:
        transcript = self.written()
        png = b"\x89PNG\r\n\x1a\n"
        kept = ShownImages(transcript.folder).add(png)
        assert kept is not None
        shown = events.Resource("image", image=kept.id, file=kept.name)
        transcript.add_message("second", events.Message("look"))
        transcript.add_event(TurnEvent(1, NOW, ID, "second", shown))
        transcript.write_now()
        agent = await self.started()
        made = await agent.conversations.fork(ID, None)
        assert made is not None
        fork = agent.conversations.known_conversation(made.id)
        self.assertEqual(fork.images.read_data(kept.id), png)
        history = await fork.past.read_history()
        self.assertEqual(history.turns[-1].events[0].body, shown)

    async def test_a_server_that_starts_leaves_the_attachments_of_a_fork_in_the_making(
        self,
    ) -> None:
        transcript = self.written()
        added = Attachments(transcript.folder).add("a.png", b"\x89PNG\r\n\x1a\n")
        said = events.Message("look", attachments=(added,))
        transcript.add_message("second", said)
        transcript.write_now()
        agent, copy = await self.started(), Attachments.copy_to

        def copied(*of: Any) -> None:
            copy(*of)
            self.transcripts.sweep_leftovers()

        with mock.patch.object(Attachments, "copy_to", copied):
            made = await agent.conversations.fork(ID, None)
        assert made is not None
        found = Attachments(self.transcripts.file_of(made.id).folder).list_all()
        self.assertEqual(found, [added])

    async def test_a_list_has_what_other_servers_made_changed_and_deleted(self) -> None:
        agent = await self.started()
        with mock.patch.object(index, "MOMENT", 0):
            for titles in (["hello"], ["hello", "hello"]):
                self.written("abc"[len(titles)] * 32)
                await shared_folder.look_at_all(agent.conversations)
                self.assertEqual([session.title for session in agent.list_sessions()], titles)
            os.unlink(self.transcripts.file_of("b" * 32).path)
            await shared_folder.look_at_all(agent.conversations)
            self.assertEqual([session.id for session in agent.list_sessions()], ["c" * 32])

    async def test_a_list_has_what_others_made_of_conversations_that_were_used_here(self) -> None:
        for id in (ID, "b" * 32):
            self.written(id)
        first, second = await self.started(), await self.started()
        with mock.patch.object(index, "MOMENT", 0):
            for id in (ID, "b" * 32):
                await first.change_session(id, "first", None, None)
            await shared_folder.learn_changes(second.conversations, ID)
            await second.change_session(ID, "second", None, None)
            await second.delete_session("b" * 32)
            await shared_folder.look_at_all(first.conversations)
            self.assertEqual(
                [(session.id, session.title) for session in first.list_sessions()], [(ID, "second")]
            )

    async def test_one_that_another_server_has_deleted_is_not_the_newest_any_more(self) -> None:
        self.written()
        first, second = await self.started(), await self.started()
        self.assertEqual(first.conversations.known_conversation(ID).session_info.title, "hello")
        await second.delete_session(ID)
        code = await self.refused(first.send_message(self.workspace, "hello"))
        self.assertEqual(code, failure.CLIENT_NOT_INITIALIZED)

    async def test_two_that_begin_at_a_time_never_have_one_id(self) -> None:
        agent = await self.started()
        cli = agent.backends[None].cli
        made = [agent.conversations.new_conversation(self.workspace, cli, ID) for _ in range(2)]
        self.assertEqual([conversation.id == ID for conversation in made], [True, False])

    async def test_a_start_or_stop_that_fails_lets_go_of_the_folder(self) -> None:
        agent = self.agent()
        for where, name in (
            (agent.conversations, "load"),
            (agent.turns, "cancel_and_wait"),
        ):
            with mock.patch.object(where, name, side_effect=PermissionError("No.")):
                with self.assertRaises(PermissionError):
                    await agent.load_conversations()
                    await agent.stop()
            await self.agent_that_came_and_went()

    async def test_a_conversation_is_held_until_all_is_written_and_no_longer(self) -> None:
        self.written()
        agent, other, answers = await self.started(), await self.started(), threading.Event()
        self.addCleanup(answers.set)
        write = mock.patch.object(TranscriptFile, "write_now", lambda _: answers.wait(PATIENCE))
        with write, mock.patch.object(conversations, "WRITING", 0.01):
            await shared_folder.learn_changes(agent.conversations, ID)
            held = agent.conversations.known_conversation(ID).hold.exclusive_use()
            await held.__aenter__()
            with self.assertRaises(AgentError):
                await other.change_session(ID, "another", None, None)
            stopping = asyncio.ensure_future(agent.stop())
            answers.set()
            await stopping
        await other.change_session(ID, "another", None, None)


class CutOff(OnDisk):
    async def last(self, agent: Agent) -> list[TurnEvent]:
        """The events of the newest turn."""
        page = await agent.conversations.known_conversation(ID).past.read_page(1, None)
        assert page is not None
        return page.turns[-1].events

    async def test_a_turn_without_an_end_is_told_as_broken_off_and_its_file_is_left_alone(
        self,
    ) -> None:
        transcript = self.written()
        transcript.add_message("second", events.Message("and then?"))
        transcript.add_event(TurnEvent(1, NOW, ID, "second", events.Content("Then")))
        transcript.write_now()
        with open(transcript.path, "rb") as file:
            before = file.read()
        agent = await self.started()
        story = await self.last(agent)
        self.assertEqual([event.number for event in story], [1, 2])
        assert isinstance(story[-1].body, events.Error)
        self.assertEqual(story[-1].body.code, failure.STREAM_ERROR)
        with open(transcript.path, "rb") as file:
            self.assertEqual(file.read(), before)
        over = events.Complete(events.END_TURN, events.Usage(0, 0, {}))
        transcript.add_event(TurnEvent(2, NOW, ID, "second", over))
        transcript.write_now()
        story = await self.last(agent)
        self.assertEqual([event.body for event in story[1:]], [over])


class WithSessions(OnDisk):
    """The agent's sessions are opened when `gate` is set, by nobody in truth."""

    def setUp(self) -> None:
        super().setUp()
        self.gate = asyncio.Event()
        self.reminder = ""
        self.client = mock.MagicMock()
        self.client.version, self.client.home = "", "ours"
        self.client.opening = asyncio.Lock()
        self.client.send_request.side_effect = lambda *_: asyncio.get_running_loop().create_future()

        async def open_session(*_: Any) -> Opened:
            await self.gate.wait()
            session = AcpSession(self.client, "87654321-session", self.workspace)
            return Opened(session, reminder=self.reminder)

        async def client(*_: Any) -> Any:
            return self.client

        self.open = session_opener.SessionOpener.open_session
        where = "GeminiCompanion.companion.agent."
        for name, stub in (
            ("conversations.session_opener.SessionOpener.open_session", open_session),
            ("processes.runner.Runner.authenticated_client", client),
            # Its turns have no CLI that could end them.
            ("conversations.turns.ENDING", 0.1),
            ("agent.ENDING", 0.1),
        ):
            patch = mock.patch(where + name, stub)
            patch.start()
            self.addCleanup(patch.stop)

    async def test_a_process_is_not_asked_to_resume_what_was_said_more_in_elsewhere(self) -> None:
        self.gate.set()
        self.written()
        first, second = await self.started(), await self.started()
        asked, open_session = [], session_opener.SessionOpener.open_session

        async def noted(opener: Any, client: Any, id: str, last: str, turns: Any) -> Opened:
            asked.append(last)
            return await open_session(opener, client, id, last, turns)

        with mock.patch.object(session_opener.SessionOpener, "open_session", noted):
            for agent in (first, second, first):
                await agent.list_models(self.workspace, ID)
        self.assertEqual(asked, ["12345678-session", "87654321-session", ""])

    async def test_what_was_lent_to_it_stays_lent_where_another_server_has_gone_on(self) -> None:
        self.gate.set()
        self.written()
        first, second = await self.started(), await self.started()
        server, used = ToolServer("editor", HTTP, {"url": "http://127.0.0.1:1/"}), []
        lender: Answer[Any] = Answer()
        first.conversations.known_conversation(ID).session.lend_servers(lender)
        lender.give([server])
        open_session = session_opener.SessionOpener.open_session

        async def noted(opener: Any, *of: Any) -> Opened:
            used.append(opener.lent)
            return await open_session(opener, *of)

        with mock.patch.object(session_opener.SessionOpener, "open_session", noted):
            for agent in (first, second, first):
                await agent.list_models(self.workspace, ID)
        self.assertEqual(used, [(server,), (), (server,)])

    async def test_with_what_is_only_lent_to_it_a_session_opens_after_the_others(self) -> None:
        self.gate.set()
        self.written()
        agent = await self.started()
        session = agent.conversations.known_conversation(ID).session
        lender: Answer[Any] = Answer()
        lender.give([ToolServer("editor", HTTP, {"url": "http://127.0.0.1:1/"})])
        session.lend_servers(lender)
        alone, open_session = [], session_opener.SessionOpener.open_session

        async def noted(opener: Any, *of: Any) -> Opened:
            alone.append(self.client.opening.locked())
            return await open_session(opener, *of)

        with mock.patch.object(session_opener.SessionOpener, "open_session", noted):
            await agent.list_models(self.workspace, ID)
        self.assertEqual(alone, [True])

    async def test_its_session_waits_for_what_is_lent_to_it_and_goes_without_in_the_end(
        self,
    ) -> None:
        self.gate.set()
        self.written()
        agent = await self.started()
        session = agent.conversations.known_conversation(ID).session
        lender: Answer[Any] = Answer()
        session.lend_servers(lender)
        asked = asyncio.ensure_future(agent.list_models(self.workspace, ID))
        await until(lambda: session.is_opening)
        self.assertFalse(self.client.opening.locked())
        server = ToolServer("editor", HTTP, {"url": "http://127.0.0.1:1/"})
        lender.give([server])
        await asyncio.wait_for(asked, PATIENCE)
        self.assertEqual(session._opener.lent, (server,))
        unanswered: Answer[Any] = Answer()
        unanswered.fail(Unanswered("It has stopped."))
        for silent in (Answer[Any](), unanswered):
            session.lend_servers(silent)
            with mock.patch.object(session_opener, "LENDING", 0.01):
                with self.assertLogs(logger, "WARNING"):
                    await session._opener.await_loan()
            self.assertEqual(session._opener.lent, ())

    async def test_nothing_stays_of_a_temporary_conversation(self) -> None:
        self.gate.set()
        agent = await self.started()
        made = await agent.new_session(self.workspace, is_temporary=True)
        lock = self.transcripts.file_of(made.id).lock
        self.assertTrue(os.path.exists(lock))
        await agent.delete_session(made.id)
        self.assertFalse(os.path.exists(lock))
        self.assertEqual(os.listdir(self.folder), [])

    async def test_a_process_lets_go_of_one_that_another_server_has_deleted(self) -> None:
        self.gate.set()
        self.written()
        first, second = await self.started(), await self.started()
        await first.list_models(self.workspace, ID)
        place = first.backends[None].pool.place_of(first.conversations.known_conversation(ID))
        await second.delete_session(ID)
        await shared_folder.learn_changes(first.conversations, ID)
        self.assertEqual(len(place), 0)

    async def test_one_that_somebody_uses_by_its_id_at_another_server_belongs_to_them(self) -> None:
        self.gate.set()
        self.written()
        first, second = await self.started(), await self.started()
        self.assertFalse(first.conversations.known_conversation(ID).record.state.is_owned)
        await second.list_models(self.workspace, ID)
        turn = await first.send_message(self.workspace, "hello")
        self.assertNotEqual(turn.session_id, ID)

    async def test_one_that_is_deleted_while_its_session_is_opened_does_not_come_back(self) -> None:
        self.written()
        agent = await self.started()
        opening = asyncio.ensure_future(agent.list_models(self.workspace, ID))
        waiting = asyncio.ensure_future(agent.list_models(self.workspace, ID))
        # It has not come as far as to the session.
        await agent.delete_session(ID)
        self.gate.set()
        for each in opening, waiting:
            self.assertEqual(await self.refused(each), failure.SESSION_NOT_FOUND)
        self.assertEqual(agent.list_sessions(), ())
        self.assertEqual(os.listdir(self.folder), [])

    async def test_one_of_which_the_session_is_being_opened_is_not_deleted(self) -> None:
        self.written()
        agent = await self.started()
        opening = asyncio.ensure_future(agent.list_models(self.workspace, ID))
        conversation = agent.conversations.known_conversation(ID)
        await until(lambda: conversation.session.is_opening)
        with self.assertRaises(AgentError) as caught:
            await agent.delete_session(ID)
        self.assertEqual(caught.exception.code, failure.SESSION_BUSY)
        self.gate.set()
        await opening

    async def test_no_recording_outlives_its_conversation_also_where_its_load_was_cut_off(
        self,
    ) -> None:
        self.written()
        agent = await self.started()
        cli = agent.conversations.known_conversation(ID).cli
        assert isinstance(cli, GeminiCli)
        own = cli._own
        os.makedirs(os.path.join(own, "tmp"), exist_ok=True)
        with open(os.path.join(own, "projects.json"), "w", encoding="utf-8") as file:
            json.dump({"projects": {self.workspace: "project"}}, file)
        chats = os.path.join(own, "tmp", "project", "chats")

        async def never(*_: Any) -> None:
            await asyncio.Event().wait()

        self.client.request = mock.AsyncMock(side_effect=never)
        with mock.patch.object(session_opener.SessionOpener, "open_session", self.open):
            loading = asyncio.ensure_future(agent.list_models(self.workspace, ID))
            await until(lambda: self.client.request.called)
        # Who is killed now leaves this, and deletes it by its id.
        (name,) = os.listdir(chats)
        summary = self.transcripts.file_of(ID).reader.read_summary()
        assert summary is not None
        self.assertIn(summary.state.loading[:8], name)
        loading.cancel()
        await asyncio.wait([loading])
        await agent.delete_session(ID)
        self.assertEqual(os.listdir(chats), [])

    async def test_the_commands_that_a_session_offered_are_forgotten_with_its_conversation(
        self,
    ) -> None:
        self.gate.set()
        self.client.commands = OfferedCommands()
        agent = await self.started()
        told = await agent.new_session(self.workspace)
        self.client.commands.set_commands("87654321-session", ())
        await agent.delete_session(told.id)
        self.assertEqual(self.client.commands._told, {})

    async def test_a_mode_that_the_agent_refuses_later_is_given_up_and_told(self) -> None:
        self.gate.set()
        transcript = self.written()
        transcript.add_change(mode="yolo")
        transcript.write_now()
        agent = await self.started()
        refusal = AgentError(failure.VALIDATION_ERROR, "This folder is not trusted.")
        with mock.patch.object(AcpSession, "set_option", side_effect=refusal):
            turn = await agent.send_message(self.workspace, "hello", session_id=ID)
        self.assertEqual(agent.list_sessions()[0].mode, "")
        first = await asyncio.wait_for(turn.read_events().__anext__(), PATIENCE)
        assert isinstance(first.body, events.Thought)
        self.assertEqual(first.body.subject, "Warning")
        self.assertIn("The mode yolo is no longer used", str(first.body.description))
        # Nor after a restart, of which they would be told again.
        await agent.stop()
        summary = self.transcripts.file_of(ID).reader.read_summary()
        assert summary is not None
        self.assertEqual(summary.state.mode, "")

    async def test_of_a_model_and_a_mode_the_one_that_the_agent_takes_is_kept(self) -> None:
        record: Any = SimpleNamespace(state=ConversationState())
        record.change_state = lambda state: setattr(record, "state", state)
        state = AgentState()
        options = (
            ConfigOption(
                what, what, "", what, SELECT, "a", (OptionChoice("a", "A"), OptionChoice("b", "B"))
            )
            for what in (MODEL, MODE)
        )
        state.take_opened_session(ConfigOptions(tuple(options)), ())
        refusal = AgentError(failure.GEMINI_ERROR, "This folder is not trusted.")
        session: Any = SimpleNamespace(
            set_option=mock.AsyncMock(side_effect=[ConfigOptions(), refusal])
        )
        with self.assertRaises(AgentError):
            await Choices(record, state).choose_options(session, {"model": "b", "mode": "b"})
        self.assertEqual((record.state.model, record.state.mode), ("b", ""))

    async def test_an_agent_that_tells_another_mode_than_the_one_in_which_it_asks_is_not_used(
        self,
    ) -> None:
        choices = (OptionChoice("auto", "Auto"), OptionChoice("default", "Manual"))
        told = ConfigOptions((ConfigOption(MODE, MODE, "", MODE, SELECT, "auto", choices),))
        state = AgentState()
        state.take_opened_session(told, ())
        session: Any = SimpleNamespace(
            client=SimpleNamespace(name="An agent", is_running=True),
            set_option=mock.AsyncMock(return_value=told),
        )
        # Also where the user has chosen that mode.
        for chosen in ("", "default"):
            record: Any = SimpleNamespace(state=ConversationState(mode=chosen))
            with self.assertRaisesRegex(AgentError, "did not take its mode default"):
                await Choices(record, state).choose_again(session, "default")
        record = SimpleNamespace(state=ConversationState(mode="auto"))
        session.set_option.reset_mock()
        await Choices(record, state).choose_again(session, "default")
        session.set_option.assert_awaited_once()

    async def test_where_the_agent_dies_before_it_has_its_mode_nothing_is_said_in_another(
        self,
    ) -> None:
        self.gate.set()
        transcript = self.written()
        transcript.add_change(mode="plan")
        transcript.write_now()
        agent = await self.started()
        self.client.is_running = False
        died = AgentError(failure.STREAM_ERROR, "The Gemini CLI ended unexpectedly.")
        chosen = mock.AsyncMock(side_effect=[died, ConfigOptions()])
        with mock.patch.object(AcpSession, "set_option", chosen):
            for _ in range(2):
                with contextlib.suppress(AgentError):
                    await agent.list_models(self.workspace, ID)
        self.assertEqual(chosen.await_count, 2)
        self.assertEqual(agent.list_sessions()[0].mode, "plan")

    async def test_a_reminder_that_was_cancelled_goes_along_with_the_next_message(self) -> None:
        self.reminder = "You said blue."
        self.written()
        agent = await self.started()
        said = asyncio.ensure_future(agent.send_message(self.workspace, "which?", session_id=ID))
        await until(lambda: agent.list_sessions()[0].is_busy)
        agent.turns.cancel_turns(ID)
        with self.assertRaises(AgentError) as told:
            await said
        self.assertEqual(told.exception.code, failure.NOT_SENT)
        self.gate.set()
        self.client.send_request.assert_not_called()
        await agent.send_message(self.workspace, "which?", session_id=ID)
        (_sender, _session, blocks), _named = self.client.protocol.begin_prompt.call_args
        self.assertIn("You said blue.", str(blocks[0]))

    async def test_whose_id_somebody_uses_stays_theirs_after_a_restart(self) -> None:
        self.gate.set()
        first = await self.started()
        theirs = await first.new_session(self.workspace)
        await first.list_models(self.workspace)
        await first.stop()
        second = await self.started()
        self.assertEqual(len(second.list_sessions()), 2)
        await second.list_models(self.workspace, theirs.id)
        await second.stop()
        third = await self.started()
        folder, cli = conversations.folder_of(self.workspace), third.backends[None].cli
        found = await open_to_all(third.conversations, folder, cli)
        assert found is not None
        self.assertNotEqual(found.id, theirs.id)
        self.assertIn(found.id, [info.id for info in third.list_sessions()])
