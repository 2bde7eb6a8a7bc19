"""What goes wrong under a chat: what its user is told, what stays, and how it goes on."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import unittest
import unittest.mock
from contextlib import suppress
from typing import Any

import faulty_agent
import small_disk
from agent_case import MODEL
from GeminiCompanion.companion.agent.agents.command_agent import CommandAgent
from GeminiCompanion.companion.agent.processes.runner import Launch
from GeminiCompanion.companion.agent.turn import turn
from GeminiCompanion.companion.base.answer import Answer, Unanswered
from GeminiCompanion.companion.chat import problems
from GeminiCompanion.companion.chat.chat_update import (
    FAILED,
    READY,
    STARTING,
    WORKING,
)
from GeminiCompanion.companion.chat.requests import Send, Stop
from GeminiCompanion.companion.chat.retry_requests import Reopen, SendAgain
from test_chat_service import ChatCase, until

HERE = os.path.dirname(os.path.abspath(__file__))

SCRIPT = os.path.join(HERE, "faulty_agent.py")
ENDED = "faulty ended unexpectedly."
# Takes a lock as another editor does, says so, and has it until its input ends.
LOCKED = """
import sys
sys.path.insert(0, sys.argv[1])
from companion.base.file_lock import FileLock
print(FileLock(sys.argv[2]).acquire(), flush=True)
sys.stdin.read()
"""


class FaultyCase(ChatCase):
    """A chat with an agent that goes wrong as it is told."""

    def setUp(self) -> None:
        super().setUp()
        self.fault("")

    def fault(self, word: str) -> None:
        """What is wrong with the next process."""
        with open(os.path.join(self.root, "fault"), "w", encoding="utf-8") as file:
            file.write(word)

    def launch(self) -> Launch:
        command = (sys.executable, "-I", "-S", SCRIPT, os.path.join(self.root, "fault"))
        return Launch(command, agent="faulty", fallback=CommandAgent.from_environment({}))

    def begin(self) -> str:
        """A chat that may still be starting."""
        return self.chat.open_chat(self.workspace).conversation_id

    def kill(self) -> None:
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def said(self, id: str, words: str, shown: str) -> str:
        """Send it, and wait until the turn is over; the transcript, which has `shown`."""
        self.ask(Send(id, words))
        self.until_text(id, shown)
        self.until_state(id, READY)
        return self.front.texts[id]

    def failure(self, answer: Answer[Any]) -> str:
        until(lambda: answer.is_there)
        with self.assertRaises(Unanswered) as raised:
            answer.result()
        return str(raised.exception)

    def file_of(self, id: str) -> str:
        return os.path.join(self.root, "state", "conversations", f"{id}.jsonl")


class Agents(FaultyCase):
    def test_one_that_is_killed_while_nothing_runs_is_started_by_the_next_message(self) -> None:
        id = self.open()
        self.kill()
        until(lambda: not self.pids())
        self.assertNotIn(ENDED, self.said(id, "hello", "Here I am."))

    def test_one_that_dies_in_a_turn_is_told_below_what_it_has_said_and_tried_again(self) -> None:
        id = self.open()
        sent = self.ask(Send(id, "die"))
        text = self.until_text(id, ENDED)
        self.assertLess(text.index("Half an answer"), text.index(ENDED))
        self.assertIn("[Try again]", text)
        self.until_state(id, READY)
        again = self.ask(SendAgain(id, sent.turn))
        self.assertNotEqual(again.turn, sent.turn)
        until(lambda: self.front.texts[id].count(ENDED) == 2)
        self.until_state(id, READY)
        self.said(id, "hello", "Here I am.")

    def test_the_question_of_one_that_is_killed_waits_no_longer(self) -> None:
        id = self.open()
        self.ask(Send(id, "ask"))
        self.waiting(id)
        self.kill()
        self.until_text(id, ENDED)
        self.assertEqual(self.until_state(id, READY).waiting, ())

    def test_the_start_of_one_that_never_answers_is_ended_at_once_and_nothing_is_sent(self) -> None:
        for fault in ("mute", "idle"):
            with self.subTest(fault):
                self.fault(fault)
                id = self.begin()
                if fault == "idle":
                    until(self.pids)
                self.until_state(id, STARTING)
                answer = self.chat.ask(Send(id, "hello"))
                self.ask(Stop(id))
                self.until_state(id, FAILED)
                self.assertEqual(self.failure(answer), problems.NOT_SENT_YET)
                self.fault("")
                self.assertEqual(self.said(id, "hello", "Here I am.").count("▎"), 1)
                self.kill()
                until(lambda: not self.pids())

    def test_what_one_wrote_before_it_ended_says_why_it_cannot_start(self) -> None:
        for fault, why in (("dies", "no library of mine"), ("babbles", "something else")):
            with self.subTest(fault):
                self.fault(fault)
                id = self.begin()
                self.assertIn(why, self.until_state(id, FAILED).problem)
                self.fault("")
                self.ask(Reopen(id))
                self.until_state(id, READY)
                self.kill()
                until(lambda: not self.pids())

    def test_one_that_hangs_in_a_turn_is_ended_by_the_stop_and_started_anew(self) -> None:
        id = self.open()
        with unittest.mock.patch.object(turn, "CANCELLING", 0.1):
            self.ask(Send(id, "hang"))
            self.until_state(id, WORKING)
            self.ask(Stop(id))
            self.until_state(id, READY)
        self.said(id, "hello", "Here I am.")


class Output(FaultyCase):
    def test_garbage_between_messages_changes_nothing(self) -> None:
        id = self.open()
        self.assertNotIn("▏ ✗", self.said(id, "garbage", "Behind the garbage."))

    def test_a_line_without_an_end_ends_the_agent(self) -> None:
        id = self.open()
        text = self.said(id, "long line", ENDED)
        self.assertIn("Before the line.", text)

    def test_thousands_of_pieces_a_second_come_whole_in_bounded_patches(self) -> None:
        id = self.open()
        self.ask(Send(id, "flood"))
        text = self.until_text(id, f"piece {faulty_agent.PIECES - 1}\n")
        self.assertEqual(text.count("piece "), faulty_agent.PIECES)
        self.assertLess(max(len(update.patches) for update in self.front.updates), 10)
        self.assertLess(self.largest(), len(text) / 4)

    def test_of_a_hundred_megabytes_a_part_is_shown_and_the_rest_counted(self) -> None:
        id = self.open()
        text = self.said(id, "huge", "more characters are not shown")
        self.assertLess(len(text), 5 * faulty_agent.MEGABYTE)
        self.assertLess(self.largest(), 2 * faulty_agent.MEGABYTE)

    def test_outputs_of_thousands_of_calls_are_drawn_once_each(self) -> None:
        id = self.open()
        text = self.said(id, "calls", "All done.")
        self.assertEqual(text.count("Call "), faulty_agent.CALLS)
        drawn = sum(
            len(patch.rendered.text) for update in self.front.updates for patch in update.patches
        )
        self.assertLess(drawn, 3 * len(text))

    def largest(self) -> int:
        """The most characters of an update."""
        sizes = (
            sum(len(patch.rendered.text) for patch in update.patches)
            for update in self.front.updates
        )
        return max(sizes)


class Files(FaultyCase):
    def test_a_conversation_that_another_editor_has_is_shown_and_taken_when_it_is_done(
        self,
    ) -> None:
        id = self.open()
        self.said(id, "hello", "Here I am.")
        self.end()
        lock = os.path.join(self.root, "state", "conversations.locks", id)
        root = os.path.dirname(os.path.dirname(HERE))
        command = [sys.executable, "-c", LOCKED, root, lock]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as other:
            if other.stdout is None or other.stdin is None:
                raise AssertionError("no pipes")
            self.assertEqual(other.stdout.readline(), "True\n")
            self.start()
            self.chat.open_chat(self.workspace, "", id)
            self.assertEqual(self.until_state(id, FAILED).problem, problems.ELSEWHERE)
            self.assertIn("Here I am.", self.front.texts[id])
            self.assertEqual(self.refused(Send(id, "hello")), problems.ELSEWHERE)
            other.stdin.close()
        self.ask(Reopen(id))
        self.until_state(id, READY)
        self.said(id, "cwd", "faulty")

    def test_a_folder_that_is_gone_is_named_and_used_once_it_is_back(self) -> None:
        id = self.open()
        self.said(id, "hello", "Here I am.")
        os.rmdir(self.workspace)
        self.assertIn(self.workspace, self.refused(Send(id, "hello")))
        self.assertIn(self.workspace, self.until_state(id, FAILED).problem)
        new = self.begin()
        self.assertIn(self.workspace, self.until_state(new, FAILED).problem)
        os.mkdir(self.workspace)
        self.said(id, "cwd", "faulty")

    def test_a_damaged_file_is_named_and_left_as_it_is_and_the_tab_keeps_its_text(self) -> None:
        id = self.open()
        self.said(id, "hello", "Here I am.")
        self.end()
        for damaged in (b"\0" * 1000, b"", b"{}\n{}\n"):
            with self.subTest(damaged[:5]), open(self.file_of(id), "wb") as file:
                file.write(damaged)
                file.flush()
                self.start()
                self.chat.open_chat(self.workspace, "", id)
                self.assertIn(self.file_of(id), self.until_state(id, FAILED).problem)
                self.assertIn(self.file_of(id), self.refused(Send(id, "hello")))
                self.assertFalse(
                    [update for update in self.front.updates if update.is_anew or update.patches]
                )
                self.end()
                with open(self.file_of(id), "rb") as kept:
                    self.assertEqual(kept.read(), damaged)

    def test_of_a_file_with_a_damaged_end_the_rest_is_shown_and_the_chat_goes_on(self) -> None:
        id = self.open()
        self.said(id, "hello", "Here I am.")
        self.end()
        size = os.path.getsize(self.file_of(id))
        os.truncate(self.file_of(id), size - 40)
        self.start()
        self.open(id)
        self.assertIn("▎ hello", self.front.texts[id])
        until(lambda: "could not be read" in self.front.texts[id])
        self.said(id, "cwd", "faulty")

    def test_one_that_is_closed_at_once_leaves_nothing_behind(self) -> None:
        with unittest.mock.patch.object(sys, "unraisablehook") as hook:
            for _ in range(3):
                self.chat.close_chat(self.begin())
            self.open()
        hook.assert_not_called()


class Network(ChatCase):
    def launch(self) -> Launch:
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            port = nobody.getsockname()[1]
        variables = {"GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{port}", "NO_PROXY": "127.0.0.1"}
        return Launch(self.command, variables, {}, MODEL, fallback=self.credentials)

    def test_a_model_that_cannot_be_reached_is_told_where_it_can_be_tried_again(self) -> None:
        id = self.open()
        self.ask(Send(id, "hello"))
        text = self.until_text(id, "[Try again]")
        self.assertIn("The model cannot be reached", text)
        self.until_state(id, READY)


class Disk(FaultyCase):
    def test_a_full_disk_is_told_and_what_was_said_is_kept_once_there_is_room(self) -> None:
        self.end()
        state = os.path.join(self.root, "state")
        os.makedirs(state, 0o700, exist_ok=True)
        small_disk.mount(self, state, 8 << 20)
        self.start()
        id = self.open()
        self.said(id, "hello", "Here I am.")
        filler = small_disk.fill(state)
        self.said(id, "calls", "All done.")
        self.assertIn("The disk refuses", self.front.texts[id])
        os.unlink(filler)
        self.said(id, "hello again", "▎ hello again")
        self.end()
        self.start()
        self.open(id)
        for words in ("▎ hello\n", "▎ calls\n", "All done.", "▎ hello again\n"):
            self.assertIn(words, self.front.texts[id])

    def test_a_state_folder_that_cannot_be_used_is_named(self) -> None:
        self.end()
        with open(os.path.join(self.root, "state"), "wb"):
            pass
        self.start()
        id = self.begin()
        self.assertIn(os.path.join(self.root, "state"), self.until_state(id, FAILED).problem)
