"""Texts of which a CLI was told, until the file on disk has them."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from typing import Any
from unittest import mock

from GeminiCompanion.companion.base import file_content, log
from GeminiCompanion.companion.base.background import in_thread
from GeminiCompanion.companion.ide import disk_check
from GeminiCompanion.companion.ide.accepted_texts import PATIENCE, AcceptedTexts
from GeminiCompanion.companion.ide.decisions import TOLD, Book, Entry
from GeminiCompanion.companion.ide.disk_check import CHECKED_AFTER, HOUR, SUPERSEDED, DiskCheck
from GeminiCompanion.companion.ide.editor import EditorError
from GeminiCompanion.companion.ide.sessions import Sessions

from ..support import Clock, InLoop, begun, temp_folder, until
from ..tables import rows


class DiskCheckTestCase(InLoop):
    """`self.said` is what the user was told, `self.returned` the texts that came back."""

    def setUp(self) -> None:
        self.path = os.path.join(temp_folder(self), "a.txt")
        self.write(b"old\n")
        self.book = Book()
        self.said: list[str] = []
        self.returned: list[str | None] = []
        self.refusal = ""
        # The editor is done with a text once this is set.
        self.free: asyncio.Event | None = None
        self.check = DiskCheck(
            self.book,
            self.give_back,
            self.said.append,
            lambda: None,
        )
        self.long_ago = time.time() - PATIENCE - 1

    async def give_back(self, entry: Entry) -> None:
        if self.refusal:
            raise EditorError(self.refusal)
        self.returned.append(entry.text)
        if self.free is not None:
            await self.free.wait()

    def write(self, data: bytes) -> None:
        with open(self.path, "wb") as file:
            file.write(data)

    def accept(self, text: str, at: float, path: str = "", comes_back: bool = False) -> int:
        """A text of which a CLI was told at that moment; gives its number."""
        before = file_content.read_original(path or self.path).known_digest
        entry = Entry("s", path or self.path, TOLD, at, text=text, decided_at=at, before=before)
        (number,) = self.book.adopt_entries([entry._replace(comes_back=comes_back)])
        return number

    def texts(self) -> list[str | None]:
        return [entry.text for entry in self.book.entries()]


@rows("""
    a text that was written is forgotten whatever its line ends and marks
        new was accepted | the file has new\\n; it is looked | told of: 0; the texts are nothing
        | new was accepted | the file has new\\r\\n; it is looked
        | told of: 0; the texts are nothing | new was accepted
        | the file has \\xef\\xbb\\xbfnew\\n; it is looked | told of: 0; the texts are nothing
    a text that nobody wrote is due and told once without its name in the log
        the file is old; new was accepted | it is looked, with a warning that names no file
        | told of: 1; the sentence tells the file and the command: yes | it is looked
        | told of: 1; the texts are new
    a text counts as missing until it is written
        the file is old; new was accepted | missing: 0
        | it is looked, with a warning that names no file; the file has else\\n; it is looked
        | missing: 1 | the file has new\\n; it is looked; it is looked
        | missing: 0; the texts are nothing
    the CLI has some seconds to write it
        the file is old; new was accepted just now | it is looked
        | told of: 0; the texts are new
    a file that has become something else keeps the text without a word
        new was accepted | the file has else\\n; it is looked
        | told of: 0; the texts are new; missing: 0
    a new file that never came is told
        new was accepted; the file is removed | it is looked, with a warning that names no file
        | told of: 1
    a file that nobody touched is not read again
        new was accepted; it is looked | it is looked without reading | the texts are new
    a text is forgotten a day after its file became something else
        time stands still; new was accepted; the file has else\\n | 10 hours pass
        | the book is saved and restored; the rest of the hours pass | the texts are new
        | it is looked | the texts are nothing
    a text that nobody wrote is never forgotten
        time stands still; the file is old; new was accepted
        | it is looked, with a warning that names no file; 26 hours pass; the file is removed
        | 26 hours pass | the texts are new
""")
class WhatIsOnDisk(DiskCheckTestCase):
    clock: Clock

    async def look_warned(self) -> None:
        with self.assertLogs(log.logger, "WARNING") as logs:
            await self.check.check_files()
        self.assertIn("not written", logs.output[0])
        self.assertNotIn("a.txt", "".join(logs.output))

    async def look_without_reading(self) -> None:
        with mock.patch.object(file_content, "read_original", side_effect=ZeroDivisionError):
            await self.check.check_files()

    async def pass_hours(self, count: str) -> None:
        self.assertEqual(SUPERSEDED, 24)
        for _ in range(int(count)):
            await self.check.check_files()
            await self.clock.advance(HOUR + 1)

    async def pass_the_rest(self) -> None:
        (entry,) = self.book.entries()
        await self.pass_hours(str(SUPERSEDED - entry.hours))

    def restart(self) -> None:
        """Only what stands in the book goes on."""
        (entry,) = self.book.entries()
        self.book.forget(self.book.numbers_in(TOLD)[0])
        self.book.adopt_entries([entry])

    words = {
        r"(\w+) was accepted": lambda t, text: t.accept(text + "\n", t.long_ago),
        r"(\w+) was accepted just now": lambda t, text: t.accept(text + "\n", time.time()),
        "the file has (.+)": lambda t, data: t.write(
            data.encode().decode("unicode_escape").encode("latin-1")
        ),
        # Written before anything was accepted.
        "the file is old": lambda t: os.utime(t.path, (t.long_ago - 10, t.long_ago - 10)),
        "the file is removed": lambda t: os.unlink(t.path),
        "it is looked": lambda t: t.check.check_files(),
        "it is looked, with a warning that names no file": look_warned,
        "it is looked without reading": look_without_reading,
        "time stands still": lambda t: setattr(t, "clock", Clock()),
        r"(\d+) hours pass": pass_hours,
        "the rest of the hours pass": pass_the_rest,
        "the book is saved and restored": restart,
    }
    seen = {
        "the texts are": lambda t: [str(text).strip() for text in t.texts()],
        "told of:": lambda t: len(t.said),
        "missing:": lambda t: len(t.check.missing),
        "the sentence tells the file and the command:": lambda t: (
            "a.txt" in t.said[0] and "Show Changes" in t.said[0]
        ),
    }

    async def test_what_was_seen_of_a_text_stays_where_it_came_during_an_earlier_look(self) -> None:
        first, goes_on, real = self.accept("first\n", self.long_ago), asyncio.Event(), in_thread

        async def slow(work: Any, seconds: float) -> Any:
            sight = await real(work, seconds)
            if work.args[0] == self.book[first]:
                await goes_on.wait()
            return sight

        with mock.patch.object(disk_check, "in_thread", slow):
            looking = await begun(self.check.check_files())
            second = self.accept("second\n", self.long_ago)
            await self.check._check_file(second)
            self.assertIn(second, self.check.missing)
            goes_on.set()
            await looking
        self.assertEqual(self.check.missing, {first, second})

    async def test_a_text_is_found_whatever_its_line_ends_and_however_long_the_file(self) -> None:
        long = "a line of the file\n" * 200_000
        for text, data in (
            ("a\r\nb\n", b"a\r\nb\r\n"),
            ("a\rb\n", b"a\rb\n"),
            (long, long.encode()),
            (long, b"\xef\xbb\xbf" + long.replace("\n", "\r\n").encode()),
        ):
            with self.subTest(data=data[:20]):
                self.accept(text, self.long_ago)
                self.write(data)
                await self.check.check_files()
                self.assertEqual(self.texts(), [])
        self.accept(long + "mine\n", self.long_ago)
        await self.check.check_files()
        self.assertEqual(self.texts(), [long + "mine\n"])

    async def test_a_text_that_was_accepted_before_the_clock_was_set_is_missing_and_kept(
        self,
    ) -> None:
        year = 365 * 24 * 60 * 60
        for ahead in (year, -year):
            with self.subTest(ahead=ahead):
                number = self.accept("new\n", time.time())
                accepted = self.accepted()
                self.assertEqual(accepted.unwritten_texts(), ())
                with mock.patch.object(time, "time", return_value=time.time() + ahead):
                    with self.assertLogs(log.logger, "WARNING"):
                        await self.check.check_files()
                    self.assertEqual(accepted.unwritten_texts(), ((self.path, "new\n", False),))
                self.assertEqual(self.check.missing, {number})
                self.book.forget(number)

    def accepted(self) -> AcceptedTexts:
        sessions = Sessions(lambda session: None)
        return AcceptedTexts(self.book, sessions, lambda: None)

    async def test_a_disk_that_never_answers_holds_up_no_other_text(self) -> None:
        self.accept("new\n", self.long_ago)
        self.accept("text", self.long_ago, "/hangs")
        self.write(b"new\n")
        answer, real = threading.Event(), file_content.read_original
        self.addCleanup(answer.set)

        def read(path: str) -> file_content.Original:
            if path == "/hangs":
                answer.wait()
            return real(path)

        clock = Clock()
        with mock.patch.object(file_content, "read_original", read), self.assertLogs(log.logger):
            looking = asyncio.ensure_future(self.check.check_files())
            await until(lambda: self.texts() == ["text"])
            await clock.advance(disk_check.READING)
            await looking
        self.assertEqual((self.texts(), self.said), (["text"], []))


@rows("""
    a text that is not written comes back after the last look
        mine was handed over | 1.75 s pass in quarters | back are nothing; the texts are mine
        | 0.5 s pass | back are mine; the texts are nothing; told of: 0
    a file that is changed again within the second costs nothing
        mine was handed over; 0.2 s pass | the file gets mine; 0.4 s pass
        | the texts are nothing | the file gets formatted; 3 s pass | back are nothing
    a text that the user accepted waits in the book instead
        mine was accepted instead | 3 s pass; 3 s pass | back are nothing; the texts are mine
    a disk that does not answer holds back no text
        mine was handed over | 3 s pass with a disk that does not answer | back are mine
    whoever has stopped gives nothing back
        mine was handed over; the check is stopped | 3 s go by
        | back are nothing; the texts are mine
    a text that no window takes is tried again
        mine was handed over | 4 s pass without a window | back are nothing; the texts are mine
        | it is looked again | back are mine; the texts are nothing
""")
class WhatComesBack(DiskCheckTestCase):
    """Texts that a CLI was given when it closed its diff."""

    async def pass_by(self, seconds: float) -> None:
        """Let the time pass, and wait for the looks that were due."""
        with mock.patch.object(disk_check, "_read_state", wraps=disk_check._read_state) as look:
            due = sum(self.passed < at <= self.passed + seconds for at in CHECKED_AFTER)
            self.passed += seconds
            await self.clock.advance(seconds)
            await until(lambda: look.call_count >= due or not self.texts())
            # What a look leads to is over.
            await until(lambda: len(asyncio.all_tasks()) == 1)

    def start(self, comes_back: bool = True) -> None:
        self.clock, self.passed = Clock(), 0.0
        self.check.watch_text(self.accept("mine\n", time.time(), comes_back=comes_back))

    async def pass_in_quarters(self) -> None:
        for _ in range(7):
            await self.pass_by(0.25)

    async def pass_unanswered(self) -> None:
        with mock.patch.object(disk_check, "in_thread", side_effect=asyncio.TimeoutError):
            with self.assertLogs(log.logger, "WARNING"):
                await self.clock.advance(3)

    async def pass_without_window(self) -> None:
        self.refusal = "The editor has no window."
        with self.assertLogs(log.logger, "WARNING"):
            for _ in range(2):
                await self.pass_by(2)
            await until(lambda: self.check._overdue)
        self.refusal = ""

    words = {
        "mine was handed over": start,
        "mine was accepted instead": lambda t: t.start(comes_back=False),
        r"([\d.]+) s pass": lambda t, seconds: t.pass_by(float(seconds)),
        "3 s go by": lambda t: t.clock.advance(3),
        "1.75 s pass in quarters": pass_in_quarters,
        "3 s pass with a disk that does not answer": pass_unanswered,
        "4 s pass without a window": pass_without_window,
        "the file gets (.+)": lambda t, words: t.write(words.encode() + b"\n"),
        "the check is stopped": lambda t: t.check.stop(),
        "it is looked again": lambda t: t.check.check_files(),
    }
    seen = {
        "back are": lambda t: [str(text).strip() for text in t.returned],
        "the texts are": lambda t: [str(text).strip() for text in t.texts()],
        "told of:": lambda t: len(t.said),
    }

    async def test_a_text_that_was_there_at_a_look_or_as_long_as_it_took_to_come_does_not(
        self,
    ) -> None:
        looks = [(look - 0.05, 0.1) for look in CHECKED_AFTER]
        for came, stood in (*looks, *((took, took) for took in (0.06, 0.13, 0.26, 0.51, 1.01))):
            with self.subTest(came=came):
                self.write(b"old\n")
                self.start()
                await self.pass_by(came)
                self.write(b"mine\n")
                await self.pass_by(stood)
                self.write(b"formatted\n")
                await self.pass_by(3)
                self.assertEqual((self.returned, self.texts()), ([], []))

    async def test_an_editor_that_is_busy_gets_a_text_once(self) -> None:
        self.free = asyncio.Event()
        self.start()
        await self.clock.advance(3)
        await until(lambda: self.returned)
        looking = asyncio.ensure_future(self.check.check_files())
        await until(lambda: looking.done() or len(self.returned) > 1)
        self.free.set()
        await until(lambda: not self.texts())
        self.assertEqual(self.returned, ["mine\n"])

    async def test_a_text_that_is_forgotten_before_its_look_costs_nothing(self) -> None:
        self.start()
        failed: list[object] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _loop, context: failed.append(context))
        self.check.check_soon()
        for number in self.book.numbers_in(TOLD):
            self.book.forget(number)
        await self.clock.advance(3)
        gc.collect()
        self.assertEqual((failed, self.returned), ([], []))
