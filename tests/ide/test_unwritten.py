"""Accepted texts, until the file on disk has them."""

from __future__ import annotations

import os
import threading
import time
import unittest
from unittest import mock

from GeminiCompanion.companion.base import log
from GeminiCompanion.companion.ide import file_content, unwritten
from GeminiCompanion.companion.ide.unwritten import (
    MAX_TEXTS,
    PATIENCE,
    SUPERSEDED,
    Accepted,
    Unwritten,
)

from ..support import in_loop, temp_folder


class UnwrittenTestCase(unittest.TestCase):
    def setUp(self) -> None:
        self.path = os.path.join(temp_folder(self), "a.txt")
        self.write(b"old\n")
        self.unwritten = Unwritten()
        self.long_ago = time.time() - PATIENCE - 1

    def write(self, data: bytes) -> None:
        with open(self.path, "wb") as file:
            file.write(data)

    def accept(self, text: str, at: float) -> Accepted:
        accepted = Accepted(self.path, text, at)
        self.unwritten.add(accepted)
        return accepted

    def age(self) -> None:
        """The file was written before anything was accepted."""
        os.utime(self.path, (self.long_ago - 10, self.long_ago - 10))

    @in_loop
    async def test_a_text_that_was_written_is_forgotten(self) -> None:
        for data in (b"new\n", b"new\r\n", b"\xef\xbb\xbfnew\n"):
            with self.subTest(data=data):
                self.accept("new\n", self.long_ago)
                self.write(data)
                self.assertEqual(await self.unwritten.look(), [])
                self.assertEqual(self.unwritten.all(), ())

    @in_loop
    async def test_a_text_that_nobody_wrote_is_due_and_told_once(self) -> None:
        self.age()
        accepted = self.accept("new\n", self.long_ago)
        self.assertEqual(await self.unwritten.look(), [self.path])
        self.assertEqual(await self.unwritten.look(), [])
        self.assertEqual(self.unwritten.due(), (accepted,))

    @in_loop
    async def test_the_cli_has_some_seconds_to_write_it(self) -> None:
        self.age()
        accepted = self.accept("new\n", time.time())
        self.assertEqual(await self.unwritten.look(), [])
        self.assertEqual((self.unwritten.due(), self.unwritten.all()), ((), (accepted,)))

    @in_loop
    async def test_a_file_that_has_become_something_else_keeps_the_text_without_a_word(
        self,
    ) -> None:
        accepted = self.accept("new\n", self.long_ago)
        self.write(b"formatted\n")
        self.assertEqual(await self.unwritten.look(), [])
        self.assertEqual(self.unwritten.due(), (accepted,))

    @in_loop
    async def test_a_new_file_that_never_came_is_told(self) -> None:
        self.accept("new\n", self.long_ago)
        os.unlink(self.path)
        self.assertEqual(await self.unwritten.look(), [self.path])

    @in_loop
    async def test_a_file_that_nobody_touched_is_not_read_again(self) -> None:
        self.accept("new\n", self.long_ago)
        await self.unwritten.look()
        with mock.patch.object(file_content, "read_or_note", side_effect=ZeroDivisionError):
            await self.unwritten.look()

    @in_loop
    async def test_a_text_that_is_written_late_is_forgotten_all_the_same(self) -> None:
        self.age()
        self.accept("new\n", self.long_ago)
        await self.unwritten.look()
        self.write(b"new\n")
        await self.unwritten.look()
        self.assertEqual(self.unwritten.all(), ())

    def test_only_what_is_due_can_be_withdrawn(self) -> None:
        self.accept("new\n", time.time())
        self.assertFalse(self.unwritten.withdraw(self.path, "new\n"))
        self.accept("new\n", self.long_ago)
        self.assertFalse(self.unwritten.withdraw(self.path, "other\n"))
        self.assertTrue(self.unwritten.withdraw(self.path, "new\n"))
        self.assertEqual(self.unwritten.all(), ())

    def test_each_text_is_kept_also_where_another_one_of_the_file_follows(self) -> None:
        first, second = self.accept("one\n", self.long_ago), self.accept("two\n", self.long_ago)
        self.assertTrue(self.unwritten.withdraw(self.path, "one\n"))
        self.assertEqual(self.unwritten.all(), (second,))
        self.assertEqual(self.unwritten.add(first), [])
        self.assertEqual(self.unwritten.all(), (second, first))

    def test_of_too_many_the_oldest_make_way_and_are_given(self) -> None:
        many = [Accepted(f"/{number}", "a", 0.0) for number in range(MAX_TEXTS + 2)]
        gone = [each for accepted in many for each in self.unwritten.add(accepted)]
        self.assertEqual(gone, many[:2])
        self.assertEqual(self.unwritten.all(), tuple(many[2:]))

    @in_loop
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
                await self.unwritten.look()
                self.assertEqual(self.unwritten.all(), ())
        accepted = self.accept(long + "mine\n", self.long_ago)
        await self.unwritten.look()
        self.assertEqual(self.unwritten.all(), (accepted,))

    @in_loop
    async def test_a_text_is_forgotten_a_day_after_its_file_became_something_else(self) -> None:
        for age, kept in ((SUPERSEDED - 60, 1), (SUPERSEDED + 60, 0)):
            self.accept("new\n", time.time() - age)
            self.write(b"formatted\n")
            await self.unwritten.look()
            self.assertEqual(len(self.unwritten.all()), kept)

    @in_loop
    async def test_a_text_that_nobody_wrote_is_never_forgotten(self) -> None:
        self.age()
        accepted = self.accept("new\n", time.time() - 30 * SUPERSEDED)
        os.utime(self.path, (accepted.at - 10, accepted.at - 10))
        await self.unwritten.look()
        self.assertEqual(self.unwritten.all(), (accepted,))

    @in_loop
    async def test_a_disk_that_never_answers_holds_up_no_other_text(self) -> None:
        self.accept("new\n", self.long_ago)
        self.unwritten.add(Accepted("/hangs", "text", self.long_ago))
        self.write(b"new\n")
        answer, real = threading.Event(), file_content.read_or_note
        self.addCleanup(answer.set)

        def read(path: str) -> file_content.Original:
            if path == "/hangs":
                answer.wait(10)
            return real(path)

        with mock.patch.object(file_content, "read_or_note", read):
            with mock.patch.object(unwritten, "READING", 0.1), self.assertLogs(log.logger):
                self.assertEqual(await self.unwritten.look(), [])
        self.assertEqual([it.path for it in self.unwritten.all()], ["/hangs"])
