"""The summaries of conversations, and the file that keeps them over a restart."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
import unittest
from datetime import datetime, timedelta, timezone
from typing import Any, Iterator
from unittest import mock

from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.agent.agents.gemini_cli import GeminiCli
from GeminiCompanion.companion.agent.conversations import index, index_file, shared_folder
from GeminiCompanion.companion.agent.conversations.index import Index
from GeminiCompanion.companion.agent.conversations.index_file import IndexFile
from GeminiCompanion.companion.agent.conversations.registry import Conversations
from GeminiCompanion.companion.agent.conversations.transcript_reader import TranscriptReader
from GeminiCompanion.companion.agent.conversations.transcripts import TranscriptFile, Transcripts
from GeminiCompanion.companion.agent.events.event_feed import EventFeed
from GeminiCompanion.companion.agent.failure import SESSION_NOT_FOUND, AgentError
from GeminiCompanion.companion.agent.turn_events import TurnEvent

from ..support import PATIENCE, begun, until

NOW = datetime.now(timezone.utc)


def id_of(number: int) -> str:
    return f"{number:032x}"


class IndexCase(unittest.IsolatedAsyncioTestCase):
    """Three conversations; `read` has the ids of those that were read from their transcripts."""

    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = temporary.name
        self.transcripts = Transcripts(os.path.join(self.root, "conversations"))
        self.cache = os.path.join(self.root, "of the user", "cache")
        self.read: list[str] = []
        for number in range(3):
            self.written(number)

    def written(self, number: int, **changes: str) -> TranscriptFile:
        transcript = self.transcripts.file_of(id_of(number))
        transcript.begin_file("/work", NOW)
        transcript.add_change(session=f"session {number}", **changes)
        transcript.add_message("turn", events.Message(f"question {number}"))
        used = events.Usage(7, 3, {"a-model": (7, 3)})
        over = events.Complete(events.END_TURN, used)
        transcript.add_event(TurnEvent(1, NOW, id_of(number), "turn", over))
        self.transcripts.write_all()
        at = NOW.timestamp() + number
        os.utime(transcript.path, (at, at))
        return transcript

    def file(self) -> IndexFile:
        return IndexFile(self.cache, self.transcripts.folder)

    async def loaded(self) -> Index:
        """Once everything is read and written."""
        made = Index(self.transcripts, {"gemini": GeminiCli(self.root, False)}, self.file())
        self.addAsyncCleanup(made.close)
        self.read.clear()
        with self.noting():
            await made.load()
            await asyncio.wait_for(made.wait_for_all_since(), PATIENCE)
        await until(lambda: made._work is None or made._work.done())
        return made

    @contextlib.contextmanager
    def noting(self) -> Iterator[None]:
        real = TranscriptReader.read_summary

        def summary(reader: TranscriptReader) -> Any:
            self.read.append(reader._id)
            return real(reader)

        with mock.patch.object(TranscriptReader, "read_summary", summary):
            yield

    def path(self) -> str:
        return os.path.join(self.cache, index_file.NAME)


class Kept(IndexCase):
    async def test_the_second_start_reads_no_transcript_and_knows_the_same(self) -> None:
        first = await self.loaded()
        self.assertEqual(sorted(self.read), [id_of(0), id_of(1), id_of(2)])
        second = await self.loaded()
        self.assertEqual(self.read, [])
        self.assertEqual(second.summaries, first.summaries)
        self.assertEqual(second.summaries[id_of(1)].title, "question 1")

    async def test_only_what_has_changed_is_read(self) -> None:
        await self.loaded()
        self.written(3)
        transcript = self.transcripts.file_of(id_of(1))
        transcript.add_change(title="Another title")
        self.transcripts.write_all()
        os.unlink(self.transcripts.file_of(id_of(0)).path)
        found = await self.loaded()
        self.assertEqual(sorted(self.read), [id_of(1), id_of(3)])
        self.assertEqual(sorted(found.summaries), [id_of(1), id_of(2), id_of(3)])
        self.assertEqual(found.summaries[id_of(1)].title, "Another title")

    async def test_a_change_of_this_server_is_read_again_by_the_next(self) -> None:
        made = await self.loaded()
        made.put_summary(made.summaries[id_of(0)]._replace(title="Not on disk"))
        os.unlink(self.transcripts.file_of(id_of(2)).path)
        with mock.patch.object(index, "SOON", 0):
            made.remove_summary(id_of(2))
        await until(lambda: len(self.file().read_rows()) == 1)
        found = await self.loaded()
        self.assertEqual(self.read, [id_of(0)])
        self.assertEqual(found.summaries[id_of(0)].title, "question 0")

    async def test_what_is_deleted_is_soon_gone_from_the_file(self) -> None:
        made = await self.loaded()
        with mock.patch.object(index, "SOON", 0):
            made.remove_summary(id_of(1))
        await until(lambda: len(self.file().read_rows()) == 2)
        with open(self.path(), "rb") as file:
            self.assertNotIn(b"question 1", file.read())

    async def test_so_is_what_was_changed_before_it_is_deleted(self) -> None:
        made = await self.loaded()
        made.put_summary(made.summaries[id_of(1)]._replace(title="Changed"))
        with mock.patch.object(index, "SOON", 0):
            made.remove_summary(id_of(1))
        await until(lambda: len(self.file().read_rows()) == 2)
        with open(self.path(), "rb") as file:
            self.assertNotIn(b"question 1", file.read())

    async def test_any_damage_makes_it_anew(self) -> None:
        await self.loaded()
        with open(self.path(), "rb") as file:
            whole = file.read()
        damaged = [whole[:-3], whole[: len(whole) // 2], b"", b"\0" * 100, whole + b"{}\n"]
        for at in range(0, len(whole), 37):
            damaged.append(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        for data in damaged:
            with self.subTest(data=data[-40:]):
                with open(self.path(), "wb") as file:
                    file.write(data)
                self.assertEqual(self.file().read_rows(), {})
        with open(self.path(), "wb") as file:
            file.write(whole.replace(b"question 1", b"question 9"))
        found = await self.loaded()
        self.assertEqual(found.summaries[id_of(1)].title, "question 1")
        self.assertEqual(self.file().read_rows(), self.rows_of(whole))

    def rows_of(self, data: bytes) -> Any:
        folder = os.path.join(self.root, "whole")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, index_file.NAME), "wb") as file:
            file.write(data)
        return IndexFile(folder, self.transcripts.folder).read_rows()

    async def test_another_version_and_another_folder_count_for_nothing(self) -> None:
        await self.loaded()
        self.assertEqual(IndexFile(self.cache, self.root).read_rows(), {})
        with mock.patch.object(index_file, "VERSION", index_file.VERSION + 1):
            self.assertEqual(self.file().read_rows(), {})

    async def test_only_the_user_can_read_it(self) -> None:
        await self.loaded()
        modes = [os.stat(path).st_mode & 0o777 for path in (self.cache, self.path())]
        self.assertEqual(modes, [0o700, 0o600])

    async def test_a_folder_that_cannot_be_written_costs_only_time(self) -> None:
        with open(os.path.join(self.root, "of the user"), "wb"):
            found = await self.loaded()
        self.assertEqual(len(found.summaries), 3)


class Start(IndexCase):
    """Many conversations, and no file."""

    async def asyncSetUp(self) -> None:
        patched = mock.patch.object(index, "BATCH", 2)
        patched.start()
        self.addCleanup(patched.stop)
        for number in range(3, 9):
            self.written(number)
        self.index = Index(self.transcripts, {"gemini": GeminiCli(self.root, False)}, None)
        self.addAsyncCleanup(self.index.close)

    async def test_it_waits_for_those_that_were_used_last_alone(self) -> None:
        with self.noting():
            await self.index.load()
            self.assertEqual(self.read[:2], [id_of(8), id_of(7)])
            self.assertLess(len(self.index.summaries), 9)
            await asyncio.wait_for(self.index.wait_for_all_since(), PATIENCE)
        self.assertEqual(len(self.index.summaries), 9)
        self.assertEqual(sorted(self.read), [id_of(number) for number in range(9)])

    async def test_one_that_is_asked_for_is_read_at_once(self) -> None:
        async def stand_still(_index: Index, _is_changed: bool) -> None:
            pass

        with mock.patch.object(Index, "_go_on", stand_still):
            await self.index.load()
            self.assertNotIn(id_of(0), self.index.summaries)
            await self.index.wait_for_one(id_of(0))
        self.assertEqual(self.index.summaries[id_of(0)].title, "question 0")
        self.assertLess(len(self.index.summaries), 9)

    async def test_what_changes_while_it_is_read_stays_as_it_is_now(self) -> None:
        await self.index.load()
        reading = await begun(self.index.wait_for_one(id_of(0)))
        now = self.index.summaries[id_of(8)]._replace(id=id_of(0), title="As it is now")
        self.index.put_summary(now)
        await asyncio.wait_for(reading, PATIENCE)
        await asyncio.wait_for(self.index.wait_for_all_since(), PATIENCE)
        self.assertEqual(self.index.summaries[id_of(0)], now)
        self.assertNotIn(id_of(0), self.index.stats)

    async def test_what_changes_before_it_is_read_stays_as_it_is_now(self) -> None:
        await self.index.load()
        now = self.index.summaries[id_of(8)]._replace(id=id_of(0), title="As it is now")
        self.index.put_summary(now)
        await asyncio.wait_for(self.index.wait_for_all_since(), PATIENCE)
        self.assertEqual(self.index.summaries[id_of(0)], now)
        self.assertNotIn(id_of(0), self.index.stats)

    async def test_what_was_used_since_some_time_is_waited_for(self) -> None:
        await self.index.load()
        await self.index.wait_for_all_since(NOW + timedelta(seconds=5.5))
        self.assertEqual(
            set(self.index.summaries) & {id_of(number) for number in (6, 7, 8)},
            {id_of(number) for number in (6, 7, 8)},
        )
        self.assertNotIn(id_of(0), self.index.summaries)

    async def test_who_waits_for_all_lets_one_that_is_new_be_read(self) -> None:
        await self.index.load()
        await asyncio.wait_for(self.index.wait_for_all_since(), PATIENCE)
        self.written(9)
        self.written(10)
        waiting = [
            self.index.wait_for_one(id_of(9)),
            self.index.wait_for_one(id_of(10)),
            self.index.wait_for_all_since(),
        ]
        await asyncio.wait_for(asyncio.gather(*waiting), PATIENCE)
        self.assertEqual(len(self.index.summaries), 11)

    async def test_one_that_nobody_wants_any_more_is_read_for_the_others(self) -> None:
        await self.index.load()
        wanting = await begun(self.index.wait_for_one(id_of(0)))
        wanting.cancel()
        await asyncio.wait_for(self.index.wait_for_all_since(), PATIENCE)
        self.assertIn(id_of(0), self.index.summaries)

    async def test_what_cannot_be_used_is_read_once(self) -> None:
        with open(os.path.join(self.transcripts.folder, id_of(99) + ".jsonl"), "wb") as file:
            file.write(b'{"type":"conversation","version":99}\n')
        with self.assertLogs("GeminiCompanion", "WARNING") as logs, self.noting():
            await self.index.load()
            await asyncio.wait_for(self.index.wait_for_all_since(), PATIENCE)
            with mock.patch.object(index, "MOMENT", 0):
                await self.index.refresh(())
                await self.index.refresh(())
        self.assertEqual(self.read.count(id_of(99)), 1)
        self.assertEqual(len(logs.output), 1)

    async def test_one_that_a_later_release_has_written_says_so(self) -> None:
        with open(os.path.join(self.transcripts.folder, id_of(99) + ".jsonl"), "wb") as file:
            file.write(b'{"type":"conversation","version":99}\n')
        clis = {"gemini": GeminiCli(self.root, False)}
        conversations = Conversations(self.transcripts, clis, EventFeed())
        self.addAsyncCleanup(conversations.index.close)
        with self.assertLogs("GeminiCompanion", "WARNING"):
            await conversations.load()
            with self.assertRaisesRegex(AgentError, "later release") as raised:
                await shared_folder.learn_changes(conversations, id_of(99))
        self.assertEqual(raised.exception.code, SESSION_NOT_FOUND)
        # There is none, and that is said by who asks for it.
        await shared_folder.learn_changes(conversations, id_of(98))

    async def test_one_that_its_killed_server_has_left_for_its_time_only_is_of_no_release(
        self,
    ) -> None:
        self.written(1, owned="yes", temporary="yes")
        found = await self.loaded()
        self.assertFalse(os.path.exists(self.transcripts.file_of(id_of(1)).path))
        await found.check_release(id_of(1))

    async def test_who_was_used_last_stays_last_where_the_clock_is_set_back(self) -> None:
        ahead = NOW + timedelta(hours=1)
        clis = {"gemini": GeminiCli(self.root, False)}
        conversations = Conversations(self.transcripts, clis, EventFeed())
        self.addAsyncCleanup(conversations.index.close)
        await conversations.load()
        await conversations.index.wait_for_all_since()
        index = conversations.index
        index.put_summary(index.summaries[id_of(1)]._replace(last_used=ahead))
        for number in (0, 2):
            known = conversations.known_conversation(id_of(number))
            known.record.begin_turn("another", events.Message("again"), "", index.last_used)
            known.record.transcript.write_now()
        read = {
            number: self.transcripts.file_of(id_of(number)).reader.read_summary()
            for number in (0, 2)
        }
        for found in (
            index.summaries,
            {id_of(number): summary for number, summary in read.items()},
        ):
            used = [found[id_of(number)].last_used for number in (0, 2)]
            self.assertEqual(sorted([ahead, *used]), [ahead, *used])
        history = self.transcripts.file_of(id_of(2)).reader.read_history()
        assert history is not None
        # The time that is told is the clock's.
        self.assertLess(history.turns[-1].time, ahead)

    async def test_an_end_in_the_middle_waits_for_no_more(self) -> None:
        await self.index.load()
        await asyncio.wait_for(self.index.close(), PATIENCE)
        await asyncio.wait_for(self.index.wait_for_all_since(), PATIENCE)
        self.assertLess(len(self.index.summaries), 9)
