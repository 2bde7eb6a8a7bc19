"""Texts of which a CLI was told, until the file on disk has them."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import threading
import time
from typing import Any
from unittest import mock

from GeminiCompanion.companion.base import log
from GeminiCompanion.companion.base.background import in_thread
from GeminiCompanion.companion.ide import disk_check, file_content
from GeminiCompanion.companion.ide.decisions import TOLD, Book, Entry
from GeminiCompanion.companion.ide.delivery import PATIENCE, Delivery
from GeminiCompanion.companion.ide.disk_check import HOUR, LOOKS, SUPERSEDED, DiskCheck
from GeminiCompanion.companion.ide.editor import EditorError
from GeminiCompanion.companion.ide.sessions import Sessions

from ..support import Clock, InLoop, temp_folder, until


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
        before = file_content.read_or_note(path or self.path).known_digest
        entry = Entry("s", path or self.path, TOLD, at, text=text, decided_at=at, before=before)
        (number,) = self.book.adopt([entry._replace(comes_back=comes_back)])
        return number

    def texts(self) -> list[str | None]:
        return [entry.text for entry in self.book.entries()]

    def age(self) -> None:
        """The file was written before anything was accepted."""
        os.utime(self.path, (self.long_ago - 10, self.long_ago - 10))


class WhatIsOnDisk(DiskCheckTestCase):
    async def test_what_was_seen_of_a_text_stays_where_it_came_during_an_earlier_look(self) -> None:
        first, goes_on, real = self.accept("first\n", self.long_ago), asyncio.Event(), in_thread

        async def slow(work: Any, seconds: float) -> Any:
            sight = await real(work, seconds)
            if work.args[0] == self.book[first]:
                await goes_on.wait()
            return sight

        with mock.patch.object(disk_check, "in_thread", slow):
            looking = asyncio.ensure_future(self.check.look())
            await asyncio.sleep(0)
            second = self.accept("second\n", self.long_ago)
            await self.check._look_at(second)
            self.assertIn(second, self.check.missing)
            goes_on.set()
            await looking
        self.assertEqual(self.check.missing, {first, second})

    async def test_a_text_that_was_written_is_forgotten(self) -> None:
        for data in (b"new\n", b"new\r\n", b"\xef\xbb\xbfnew\n"):
            with self.subTest(data=data):
                self.accept("new\n", self.long_ago)
                self.write(data)
                await self.check.look()
                self.assertEqual(self.said, [])
                self.assertEqual(self.texts(), [])

    async def test_a_text_that_nobody_wrote_is_due_and_told_once(self) -> None:
        self.age()
        self.accept("new\n", self.long_ago)
        for _ in range(2):
            with contextlib.suppress(AssertionError), self.assertLogs(log.logger, "WARNING"):
                await self.check.look()
            (sentence,) = self.said
            self.assertIn("a.txt", sentence)
            self.assertIn("Show Unwritten Edits", sentence)
        self.assertEqual(self.texts(), ["new\n"])

    async def test_a_text_counts_as_missing_until_it_is_written(self) -> None:
        self.age()
        number = self.accept("new\n", self.long_ago)
        self.assertEqual(self.check.missing, set())
        with self.assertLogs(log.logger, "WARNING"):
            await self.check.look()
        self.write(b"something else, much later\n")
        await self.check.look()
        self.assertEqual(self.check.missing, {number})
        self.write(b"new\n")
        for _ in range(2):
            await self.check.look()
        self.assertEqual(self.check.missing, set())

    async def test_the_log_does_not_name_the_file(self) -> None:
        self.accept("new\n", self.long_ago)
        self.age()
        with self.assertLogs(log.logger, "WARNING") as logs:
            await self.check.look()
        self.assertIn("not written", logs.output[0])
        self.assertNotIn("a.txt", "".join(logs.output))

    async def test_the_cli_has_some_seconds_to_write_it(self) -> None:
        self.age()
        self.accept("new\n", time.time())
        await self.check.look()
        self.assertEqual((self.said, self.texts()), ([], ["new\n"]))

    async def test_a_file_that_has_become_something_else_keeps_the_text_without_a_word(
        self,
    ) -> None:
        self.accept("new\n", self.long_ago)
        self.write(b"formatted\n")
        await self.check.look()
        self.assertEqual((self.said, self.texts()), ([], ["new\n"]))
        self.assertEqual(self.check.missing, set())

    async def test_a_new_file_that_never_came_is_told(self) -> None:
        self.accept("new\n", self.long_ago)
        os.unlink(self.path)
        await self.check.look()
        self.assertEqual(len(self.said), 1)

    async def test_a_file_that_nobody_touched_is_not_read_again(self) -> None:
        self.accept("new\n", self.long_ago)
        await self.check.look()
        with mock.patch.object(file_content, "read_or_note", side_effect=ZeroDivisionError):
            await self.check.look()

    async def test_a_text_that_is_written_late_is_forgotten_all_the_same(self) -> None:
        self.age()
        self.accept("new\n", self.long_ago)
        await self.check.look()
        self.write(b"new\n")
        await self.check.look()
        self.assertEqual(self.texts(), [])

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
                await self.check.look()
                self.assertEqual(self.texts(), [])
        self.accept(long + "mine\n", self.long_ago)
        await self.check.look()
        self.assertEqual(self.texts(), [long + "mine\n"])

    async def pass_hours(self, clock: Clock, count: int) -> None:
        for _ in range(count):
            await self.check.look()
            await clock.advance(HOUR + 1)

    async def test_a_text_is_forgotten_a_day_after_its_file_became_something_else(self) -> None:
        clock = Clock()
        self.accept("new\n", self.long_ago)
        self.write(b"formatted\n")
        await self.pass_hours(clock, 10)
        # A restart: only what stands in the book goes on.
        (entry,) = self.book.entries()
        self.book.forget(self.book.of(TOLD)[0])
        self.book.adopt([entry])
        await self.pass_hours(clock, SUPERSEDED - entry.hours)
        self.assertEqual(self.texts(), ["new\n"])
        await self.check.look()
        self.assertEqual(self.texts(), [])

    async def test_a_text_that_nobody_wrote_is_never_forgotten(self) -> None:
        clock = Clock()
        self.age()
        self.accept("new\n", self.long_ago)
        with self.assertLogs(log.logger, "WARNING"):
            await self.pass_hours(clock, SUPERSEDED + 2)
        os.unlink(self.path)
        await self.pass_hours(clock, SUPERSEDED + 2)
        self.assertEqual(self.texts(), ["new\n"])

    async def test_a_text_that_was_accepted_before_the_clock_was_set_is_missing_and_kept(
        self,
    ) -> None:
        year = 365 * 24 * 60 * 60
        for ahead in (year, -year):
            with self.subTest(ahead=ahead):
                number = self.accept("new\n", time.time())
                delivery = self.delivery()
                self.assertEqual(delivery.unwritten(), ())
                with mock.patch.object(time, "time", return_value=time.time() + ahead):
                    with self.assertLogs(log.logger, "WARNING"):
                        await self.check.look()
                    self.assertEqual(delivery.unwritten(), ((self.path, "new\n"),))
                self.assertEqual(self.check.missing, {number})
                self.book.forget(number)

    def delivery(self) -> Delivery:
        sessions = Sessions(lambda session: None)
        return Delivery(self.book, sessions, self.said.append, lambda it: None, lambda: None)

    async def test_a_disk_that_never_answers_holds_up_no_other_text(self) -> None:
        self.accept("new\n", self.long_ago)
        self.accept("text", self.long_ago, "/hangs")
        self.write(b"new\n")
        answer, real = threading.Event(), file_content.read_or_note
        self.addCleanup(answer.set)

        def read(path: str) -> file_content.Original:
            if path == "/hangs":
                answer.wait()
            return real(path)

        clock = Clock()
        with mock.patch.object(file_content, "read_or_note", read), self.assertLogs(log.logger):
            looking = asyncio.ensure_future(self.check.look())
            await until(lambda: self.texts() == ["text"])
            await clock.advance(disk_check.READING)
            await looking
        self.assertEqual((self.texts(), self.said), (["text"], []))


class WhatComesBack(DiskCheckTestCase):
    """Texts that a CLI was given when it closed its diff."""

    async def pass_by(self, seconds: float) -> None:
        """Let the time pass, and wait for the looks that were due."""
        with mock.patch.object(disk_check, "_look", wraps=disk_check._look) as look:
            due = sum(self.passed < at <= self.passed + seconds for at in LOOKS)
            self.passed += seconds
            await self.clock.advance(seconds)
            await until(lambda: look.call_count >= due or not self.texts())
            # What a look leads to is over.
            await until(lambda: len(asyncio.all_tasks()) == 1)

    def start(self, comes_back: bool = True) -> None:
        self.clock, self.passed = Clock(), 0.0
        self.check.watch(self.accept("mine\n", time.time(), comes_back=comes_back))

    async def test_a_text_that_is_not_written_comes_back_after_the_last_look(self) -> None:
        self.start()
        for _ in range(7):
            await self.pass_by(0.25)
        self.assertEqual((self.returned, self.texts()), ([], ["mine\n"]))
        await self.pass_by(0.5)
        await until(lambda: self.returned)
        self.assertEqual((self.returned, self.texts(), self.said), (["mine\n"], [], []))

    async def test_a_text_that_was_there_at_one_of_the_looks_does_not(self) -> None:
        for look in LOOKS:
            with self.subTest(look=look):
                self.write(b"old\n")
                self.start()
                await self.pass_by(look - 0.05)
                self.write(b"mine\n")
                await self.pass_by(0.1)
                await until(lambda: not self.texts())
                self.write(b"formatted\n")
                await self.pass_by(3)
                self.assertEqual(self.returned, [])

    async def test_a_text_that_stood_for_as_long_as_it_took_to_come_does_not_either(self) -> None:
        for took in (0.06, 0.13, 0.26, 0.51, 1.01):
            with self.subTest(took=took):
                self.write(b"old\n")
                self.start()
                await self.pass_by(took)
                self.write(b"mine\n")
                await self.pass_by(took)
                self.write(b"formatted\n")
                await self.pass_by(3)
                self.assertEqual((self.returned, self.texts()), ([], []))

    async def test_a_file_that_is_changed_again_within_the_second_costs_nothing(self) -> None:
        self.start()
        await self.pass_by(0.2)
        self.write(b"mine\n")
        await self.pass_by(0.4)
        await until(lambda: not self.texts())
        self.write(b"formatted\n")
        await self.pass_by(3)
        self.assertEqual(self.returned, [])

    async def test_a_text_that_the_user_accepted_waits_in_the_book_instead(self) -> None:
        self.start(comes_back=False)
        await self.pass_by(3)
        await self.pass_by(3)
        self.assertEqual((self.returned, self.texts()), ([], ["mine\n"]))

    async def test_a_disk_that_does_not_answer_holds_back_no_text(self) -> None:
        self.start()
        with mock.patch.object(disk_check, "in_thread", side_effect=asyncio.TimeoutError):
            with self.assertLogs(log.logger, "WARNING"):
                await self.clock.advance(3)
        self.assertEqual(self.returned, ["mine\n"])

    async def test_whoever_has_stopped_gives_nothing_back(self) -> None:
        self.start()
        self.check.stop()
        await self.clock.advance(3)
        self.assertEqual((self.returned, self.texts()), ([], ["mine\n"]))

    async def test_a_text_that_no_window_takes_is_tried_again(self) -> None:
        self.start()
        self.refusal = "The editor has no window."
        with self.assertLogs(log.logger, "WARNING"):
            for _ in range(2):
                await self.pass_by(2)
            await until(lambda: self.check._overdue)
        self.assertEqual((self.returned, self.texts()), ([], ["mine\n"]))
        self.refusal = ""
        await self.check.look()
        self.assertEqual((self.returned, self.texts()), (["mine\n"], []))

    async def test_an_editor_that_is_busy_gets_a_text_once(self) -> None:
        self.free = asyncio.Event()
        self.start()
        await self.clock.advance(3)
        await until(lambda: self.returned)
        looking = asyncio.ensure_future(self.check.look())
        await until(lambda: looking.done() or len(self.returned) > 1)
        self.free.set()
        await until(lambda: not self.texts())
        self.assertEqual(self.returned, ["mine\n"])

    async def test_a_text_that_is_forgotten_before_its_look_costs_nothing(self) -> None:
        self.start()
        failed: list[object] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _loop, context: failed.append(context))
        self.check.look_soon()
        for number in self.book.of(TOLD):
            self.book.forget(number)
        await self.clock.advance(3)
        gc.collect()
        self.assertEqual((failed, self.returned), ([], []))
