"""The files of conversations: whole after crashes, and cheap to look at."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import tracemalloc
import unittest
from datetime import datetime, timezone
from unittest import mock

from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.agent import wire
from GeminiCompanion.companion.agent.conversations import transcript_reader, transcripts
from GeminiCompanion.companion.agent.conversations.conversation_state import queue_text
from GeminiCompanion.companion.agent.conversations.transcript_reader import History, TurnPage
from GeminiCompanion.companion.agent.conversations.transcripts import TranscriptFile, Transcripts
from GeminiCompanion.companion.agent.sentence import CHINESE, ENGLISH, sentence, translated_text
from GeminiCompanion.companion.agent.turn_events import (
    END_TURN,
    Complete,
    Content,
    TurnEvent,
    Usage,
)
from GeminiCompanion.companion.base.line_file import LineFile

from ..support import wait_for

ID = "a" * 32
NOW = datetime.now(timezone.utc)
OVER = Complete(END_TURN, Usage(3, 4, {"a model": (3, 4)}), "Plan", "Flash")


class Files(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.transcripts = Transcripts(os.path.join(temporary.name, "conversations"))
        self.transcript = self.transcripts.file_of(ID)
        self.transcript.begin_file("/work", NOW)
        self.transcript.write_now()

    def again(self) -> TranscriptFile:
        """As another run of the server has it."""
        return self.transcripts.file_of(ID)

    def history(self) -> History:
        history = self.again().reader.read_history()
        assert history is not None
        return history

    def turn(self, id: str, *bodies: events.Body) -> None:
        self.transcript.add_message(id, events.Message(f"message {id}"))
        for number, body in enumerate(bodies, 1):
            self.transcript.add_event(TurnEvent(number, NOW, ID, id, body))
        self.transcript.write_now()

    def damage(self, data: bytes) -> None:
        with open(self.transcript.path, "ab") as file:
            file.write(data)

    def test_a_line_that_was_begun_only_does_not_cost_the_next_one(self) -> None:
        self.turn("one", OVER)
        self.damage(b'{"type":"mess')
        transcript = self.again()
        transcript.add_message("two", events.Message("second"))
        transcript.add_event(TurnEvent(1, NOW, ID, "two", OVER))
        transcript.write_now()
        self.assertEqual([turn.text for turn in self.history().turns], ["message one", "second"])
        self.assertTrue(self.history().turns[1].is_over)

    def test_damaged_lines_cost_themselves(self) -> None:
        self.turn("one", OVER)
        start = b'{"type":"event","turn":"one","number":1,"time":"%b","body":' % (
            NOW.isoformat().encode("ascii")
        )
        self.damage(
            start + b'{"type":"complete","reason":"x","usage":{"input_tokens":1,'
            b'"output_tokens":1,"by_model":[1]}}}\n'
            + start.replace(b'"number":1,', b'"number":Infinity,') + b'{"type":"error"}}\n'
            + b'{"type":"message","turn":"x","time":"2026-01-01T00:00:00","text":"","files":[]}\n'
        )  # fmt: skip
        self.assertEqual([turn.id for turn in self.history().turns], ["one"])
        self.assertIsNotNone(self.again().reader.read_summary())

    def test_our_sentences_are_told_in_any_language_and_old_texts_as_they_are(self) -> None:
        told = sentence("The turn took longer than {seconds} seconds (--turn-time).", seconds="5")
        self.turn("one", events.Thought("Warning", "as it was"), events.Error("TIMED_OUT", told))
        thought, error = (event.body for event in self.history().turns[0].events)
        assert isinstance(thought, events.Thought) and isinstance(error, events.Error)
        self.assertEqual(translated_text(thought.description, CHINESE), "as it was")
        in_chinese = "对话超过了 5 秒（--turn-time）。"
        self.assertEqual(translated_text(error.message, CHINESE), in_chinese)
        in_english = "The turn took longer than 5 seconds (--turn-time)."
        self.assertEqual(translated_text(error.message, ENGLISH), in_english)

    def test_a_sentence_that_is_damaged_costs_its_line(self) -> None:
        self.turn("one", events.Error("TIMED_OUT", sentence("The message is empty.")), OVER)
        with open(self.transcript.path, "rb") as file:
            data = file.read()
        for damaged in (b'"template":7', b'"templatE":"a"', b'"template":"a","values":3'):
            with open(self.transcript.path, "wb") as file:
                file.write(data.replace(b'"template":"The message is empty."', damaged))
            with self.subTest(damaged):
                for event in self.history().turns[0].events:
                    wire.as_seed(event, CHINESE)

    def test_what_the_next_piece_of_an_answer_has_is_kept_once(self) -> None:
        self.turn("one", Content("Hell", ahead="o"), Content("o", is_partial=False), OVER)
        found = [event.body for event in self.history().turns[0].events]
        self.assertEqual(found, [Content("Hell"), Content("o", is_partial=False), OVER])

    def test_a_file_that_somebody_removed_is_not_made_anew_without_its_beginning(self) -> None:
        os.unlink(self.transcript.path)
        self.turn("one", OVER)
        self.assertFalse(self.transcript.is_saved)
        self.assertFalse(os.path.exists(self.transcript.path))

    def lines_of(self, *ids: str) -> list[bytes]:
        """Those of a conversation with these turns."""
        for id in ids:
            self.turn(id, Content("Hello"), OVER)
        with open(self.transcript.path, "rb") as file:
            return file.readlines()

    def replace(self, lines: list[bytes]) -> None:
        with open(self.transcript.path, "wb") as file:
            file.writelines(lines)

    def test_a_damaged_first_line_costs_at_most_the_folder_and_is_logged(self) -> None:
        head, *rest = self.lines_of("one", "two")
        for damaged, workspace in (
            (b"\0" * len(head), ""),
            (b"", ""),
            (head[:-20], "/work"),
            (head[20:], "/work"),
            (head.replace(b'"created"', b'"creatad"'), "/work"),
        ):
            self.replace([damaged.rstrip(b"\n") + b"\n" if damaged else b"", *rest])
            with self.subTest(damaged[:40]):
                with self.assertLogs("GeminiCompanion", "WARNING") as logs:
                    summary = self.again().reader.read_summary()
                assert summary is not None
                self.assertIn(ID, logs.output[0])
                self.assertEqual((summary.id, summary.workspace), (ID, workspace))
                self.assertEqual((summary.turns, summary.title), (2, "message one"))
                with self.assertLogs("GeminiCompanion", "WARNING"):
                    self.assertEqual([turn.id for turn in self.history().turns], ["one", "two"])
                self.assertEqual(self.ids(self.again().reader.read_page(3, None)), ["one", "two"])

    def test_what_is_of_a_later_release_or_nothing_is_left_is_no_conversation(self) -> None:
        head, *rest = self.lines_of("one")
        later = head.replace(b'"version":1', b'"version":2')
        for lines in ([later, *rest], [], [b"\0" * 300], [b"[]\n"]):
            self.replace(lines)
            self.assertIsNone(self.again().reader.read_summary())
        other = os.path.join(self.transcripts.folder, "notes.jsonl")
        os.rename(self.transcript.path, other)
        self.assertIsNone(self.transcripts.file_of("notes").reader.read_summary())

    def test_a_turn_whose_message_is_damaged_is_told_without_it(self) -> None:
        lines = self.lines_of("one", "two", "three")
        places = [at for at, line in enumerate(lines) if b'"type":"message"' in line]
        for lost, at in enumerate(places):
            self.replace([*lines[:at], b"damaged\n", *lines[at + 1 :]])
            with self.subTest(lost), self.assertLogs("GeminiCompanion", "WARNING") as logs:
                transcript = self.again()
                turns = transcript.reader.read_page(3, None)
                self.assertEqual(self.ids(turns), ["one", "two", "three"])
                assert turns is not None
                self.assertEqual(
                    [turn.is_whole for turn in turns.turns], [index != lost for index in range(3)]
                )
                self.assertEqual([len(turn.events) for turn in turns.turns], [2, 2, 2])
                self.assertEqual(turns.turns[lost].text, "")
                summary = transcript.reader.read_summary()
                assert summary is not None
                self.assertEqual((summary.turns, summary.unfinished), (3, frozenset()))
                # Once for each file.
                self.assertEqual(len(logs.output), 1)

    def test_a_turn_that_lacks_an_event_is_not_whole(self) -> None:
        lines = self.lines_of("one", "two")
        self.replace([line.replace(b'"number":1', b'"numb') for line in lines])
        with self.assertLogs("GeminiCompanion", "WARNING"):
            turns = self.history().turns
        self.assertEqual(
            [(turn.id, turn.is_whole, len(turn.events)) for turn in turns][0], ("one", False, 1)
        )

    def test_what_the_disk_refuses_is_told_once_and_written_when_it_takes_it(self) -> None:
        refused: list[None] = []
        transcript = self.transcripts.file_of(ID, lambda: refused.append(None))
        full = mock.patch.object(LineFile, "append_lines", side_effect=OSError(28, "No space left"))
        with full, self.assertLogs("GeminiCompanion", "ERROR") as logs:
            for id in ("one", "two"):
                transcript.add_message(id, events.Message(f"message {id}"))
                transcript.add_event(TurnEvent(1, NOW, ID, id, OVER))
                transcript.write_now(is_last=True)
                self.assertEqual((transcript.is_saved, transcript.is_waiting), (False, True))
            self.assertEqual(self.ids(transcript.reader.read_page(3, None)), ["one", "two"])
        self.assertEqual((len(logs.output), len(refused)), (1, 1))
        self.assertEqual(self.history().turns, [])
        transcript.write_now(is_last=True)
        self.assertEqual((transcript.is_saved, transcript.is_waiting), (True, False))
        self.assertEqual([turn.id for turn in self.history().turns], ["one", "two"])
        self.assertEqual([len(turn.events) for turn in self.history().turns], [1, 1])

    def test_a_conversation_that_begins_on_a_full_disk_is_written_whole_later(self) -> None:
        transcript = self.transcripts.file_of("b" * 32)
        full = mock.patch.object(LineFile, "append_lines", side_effect=OSError(28, "No space left"))
        with full, self.assertLogs("GeminiCompanion", "ERROR"):
            transcript.begin_file("/work", NOW)
            transcript.add_message("one", events.Message("hello"))
            transcript.write_now()
            self.assertEqual(self.ids(transcript.reader.read_page(3, None)), ["one"])
        transcript.write_now(is_last=True)
        summary = self.transcripts.file_of("b" * 32).reader.read_summary()
        assert summary is not None
        self.assertEqual((summary.workspace, summary.turns), ("/work", 1))

    def test_of_what_the_disk_refuses_for_too_long_the_oldest_is_lost_and_that_is_told(
        self,
    ) -> None:
        with mock.patch.object(transcripts, "MAX_UNWRITTEN", 4000):
            held = Transcripts(self.transcripts.folder)
        transcript = held.file_of("b" * 32)
        full = mock.patch.object(LineFile, "append_lines", side_effect=OSError(28, "No space left"))
        turns = [str(number) for number in range(100)]
        with full, self.assertLogs("GeminiCompanion", "WARNING") as logs:
            transcript.begin_file("/work", NOW)
            transcript.add_change(title="A title")
            for id in turns:
                transcript.add_message(id, events.Message(f"message {id}"))
                transcript.add_event(TurnEvent(1, NOW, "b" * 32, id, OVER))
                transcript.write_now()
            page = transcript.reader.read_page(1000, None)
        told = [each for each in logs.output if "the oldest lines of" in each]
        self.assertEqual(len(told), 1)
        known = self.ids(page)
        self.assertEqual(known, turns[-len(known) :])
        self.assertLess(len(known), 20)
        transcript.write_now(is_last=True)
        # What was lost never comes to the disk; what is said now does.
        self.assertFalse(transcript.is_saved or transcript.is_refused or transcript.is_waiting)
        history = self.transcripts.file_of("b" * 32).reader.read_history()
        assert history is not None
        self.assertEqual([turn.id for turn in history.turns], known)
        self.assertEqual((history.workspace, history.title), ("/work", "A title"))
        self.assertEqual(history.damaged, 1)

    def test_a_disk_that_refuses_is_not_asked_again_at_each_event(self) -> None:
        full = OSError(28, "No space left")
        with mock.patch.object(LineFile, "append_lines", side_effect=full) as append:
            with self.assertLogs("GeminiCompanion", "ERROR"):
                for number in range(100):
                    self.transcript.add_event(TurnEvent(number, NOW, ID, "one", Content("x")))
                    self.transcript.write_now()
        self.assertLess(append.call_count, 50)

    def test_messages_and_ends_of_turns_outlive_a_power_cut(self) -> None:
        with mock.patch.object(os, "fsync") as fsync:
            self.transcript.add_message("one", events.Message("hello"))
            self.transcript.write_now()
            # The file and its folder, which Windows cannot open.
            both = 1 if sys.platform == "win32" else 2
            self.assertEqual(fsync.call_count, both)
            self.transcript.add_event(TurnEvent(1, NOW, ID, "one", Content("Hello")))
            self.transcript.write_now()
            self.assertEqual(fsync.call_count, both)
            self.transcript.add_event(TurnEvent(2, NOW, ID, "one", OVER))
            self.transcript.write_now()
            self.assertEqual(fsync.call_count, both + 1)

    @unittest.skipUnless(hasattr(os, "mkfifo"), "Windows has no such files")
    def test_what_is_no_file_is_passed_over(self) -> None:
        os.mkfifo(os.path.join(self.transcripts.folder, "pipe.jsonl"))
        os.mkdir(os.path.join(self.transcripts.folder, "folder.jsonl"))
        self.assertEqual(list(self.transcripts.read_stats()), [ID])

    def ids(self, page: TurnPage | None) -> list[str]:
        assert page is not None
        return [turn.id for turn in page.turns]

    def test_pages_from_the_end_to_the_beginning_are_the_whole_conversation(self) -> None:
        trap = Content('\n{"type":"message","turn":"0","text":"' + "ä" * 300)
        for number in range(7):
            self.turn(str(number), trap, OVER)
            self.transcript.add_change(title=f"title {number}")
        # So that lines, and beginnings of lines, lie across blocks.
        for block in (1, 7, 64, 1 << 18):
            with self.subTest(block), mock.patch.object(transcript_reader, "BLOCK", block):
                newest = self.again().reader.read_page(3, None)
                self.assertEqual(self.ids(newest), ["4", "5", "6"])
                middle = self.again().reader.read_page(3, "4")
                self.assertEqual(self.ids(middle), ["1", "2", "3"])
                first = self.again().reader.read_page(3, "1")
                self.assertEqual(self.ids(first), ["0"])
                assert newest is not None and middle is not None and first is not None
                self.assertEqual(
                    [page.has_earlier for page in (newest, middle, first)], [True, True, False]
                )
                whole = [*first.turns, *middle.turns, *newest.turns]
                self.assertEqual(whole, self.history().turns)
                self.assertEqual(self.again().reader.read_since("5"), tuple(whole[5:]))

    def test_a_page_before_a_turn_that_there_is_not_is_none(self) -> None:
        self.assertEqual(self.again().reader.read_page(3, None), TurnPage((), False))
        self.turn("one", OVER)
        for unknown in ("two", "on", 'one"', "\n", "ä"):
            self.assertIsNone(self.again().reader.read_page(3, unknown))
            self.assertIsNone(self.again().reader.read_since(unknown))
        self.assertEqual(self.again().reader.read_page(3, "one"), TurnPage((), False))

    def test_a_page_of_a_long_conversation_takes_the_memory_of_the_page_only(self) -> None:
        for number in range(200):
            self.turn(str(number), Content("x" * 10_000), OVER)
        size = os.path.getsize(self.transcript.path)
        transcript = self.again()
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        transcript.reader.read_page(2, None)
        _now, peak = tracemalloc.get_traced_memory()
        self.assertLess(peak, size // 2)

    def test_what_is_told_is_on_disk_soon_and_in_its_order_without_anybody_asking(self) -> None:
        for number in range(1, 501):
            self.transcript.add_event(TurnEvent(number, NOW, ID, "one", Content(str(number))))
        wait_for(lambda: self.lines() == 501)
        with open(self.transcript.path, "rb") as file:
            numbers = [json.loads(line)["number"] for line in file.read().splitlines()[1:]]
        self.assertEqual(numbers, list(range(1, 501)))

    def lines(self) -> int:
        with open(self.transcript.path, "rb") as file:
            return file.read().count(b"\n")

    def test_what_is_told_after_the_end_makes_no_file(self) -> None:
        self.transcript.add_message("one", events.Message("hello"))
        self.transcript.remove_files()
        self.turn("two", OVER)
        self.assertFalse(os.path.exists(self.transcript.path))

    def test_a_summary_tells_what_the_whole_file_tells(self) -> None:
        trap = Content('{"type":"event","body":{"type":"complete"')
        self.turn("one", Content("Hello"), trap, OVER)
        self.transcript.add_change(session="s", title="A title")
        self.transcript.write_now()
        self.turn("two", Content("Hello"), events.Error("CODE", "It broke off."))
        self.turn("three", Content("Hello"))
        summary = self.again().reader.read_summary()
        self.assertEqual(summary, self.history().summary)
        assert summary is not None
        self.assertEqual((summary.turns, summary.unfinished), (3, {"three"}))
        self.assertEqual(summary.usage, OVER.usage)

    def test_a_message_that_was_sent_waits_no_more_wherever_the_server_was_killed(self) -> None:
        now = datetime(2026, 1, 2, tzinfo=timezone.utc)
        two = [events.QueuedMessage(id, f"Message {id}", now) for id in ("a", "b")]
        self.transcript.add_change(queue=queue_text(two))
        self.transcript.add_message("one", events.Message("Message a"), "a")
        self.transcript.write_now()
        # The line that leaves it out of the queue is missing.
        for summary in (self.again().reader.read_summary(), self.history().summary):
            assert summary is not None
            self.assertEqual((summary.state.queue, summary.turns), ((two[1],), 1))
        self.transcript.add_change(queue=queue_text(two[1:]))
        self.transcript.write_now()
        self.assertEqual(self.history().summary.state.queue, (two[1],))

    def test_one_that_was_passed_into_a_turn_waits_no_more_either(self) -> None:
        now = datetime(2026, 1, 2, tzinfo=timezone.utc)
        two = [events.QueuedMessage(id, f"Message {id}", now) for id in ("a", "b")]
        self.transcript.add_change(queue=queue_text(two))
        self.turn("one", Content("Hello"), events.MessageAdded("a", "Message a"))
        for summary in (self.again().reader.read_summary(), self.history().summary):
            assert summary is not None
            self.assertEqual(summary.state.queue, (two[1],))
            self.assertEqual(summary.unfinished, {"one"})

    def test_a_summary_of_a_long_conversation_takes_no_memory(self) -> None:
        self.turn("one", *[Content("x" * 100) for _ in range(2000)], OVER)
        size = os.path.getsize(self.transcript.path)
        transcript = self.again()
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        transcript.reader.read_summary()
        _now, peak = tracemalloc.get_traced_memory()
        self.assertLess(peak, size // 2)
