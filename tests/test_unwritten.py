"""Accepted texts, until the file on disk has them."""

from __future__ import annotations

import os
import time
import unittest
from unittest import mock

from GeminiCompanion.companion import original
from GeminiCompanion.companion.unwritten import MAX_TEXTS, PATIENCE, Accepted, Unwritten

from .support import in_loop, temp_folder


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
        with mock.patch.object(original, "read_or_note", side_effect=ZeroDivisionError):
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

    def test_of_each_path_the_newest_text_is_kept_and_of_many_the_newest(self) -> None:
        for number in range(MAX_TEXTS + 2):
            self.unwritten.add(Accepted(f"/{number}", "a", 0.0))
        self.unwritten.add(Accepted("/3", "b", 0.0))
        kept = [(it.path, it.text) for it in self.unwritten.all()]
        self.assertEqual(len(kept), MAX_TEXTS)
        self.assertNotIn(("/0", "a"), kept)
        self.assertEqual(kept[-1], ("/3", "b"))
