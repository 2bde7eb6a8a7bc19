"""Work that the editor asks for: whatever happens to it, an answer comes."""

from __future__ import annotations

import asyncio
import os
import threading
import unittest
from typing import Any, Callable
from unittest import mock

from GeminiCompanion.companion.base import log
from GeminiCompanion.companion.ide import events, file_content
from GeminiCompanion.companion.ide.clis import GEMINI_CLI
from GeminiCompanion.companion.ide.events import (
    Event,
    ExaminationAsked,
    FilePutBack,
    StampsAsked,
    WorkAsked,
)
from GeminiCompanion.companion.ide.file_content import Original
from GeminiCompanion.companion.ide.windows import Windows

from ..support import PATIENCE, FakeEditor, InLoop, temp_folder

PID = 2**30


def fails(*arguments: Any) -> Any:
    raise RuntimeError("a bug")


class EventsTestCase(InLoop):
    def setUp(self) -> None:
        self.folder = temp_folder(self)

    def file(self, name: str, text: str = "") -> str:
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    async def begin(self) -> None:
        self.windows = Windows(FakeEditor(), PID, lambda environments: None)

    async def reply_to(self, event: Callable[[Callable[..., None]], Event]) -> Any:
        """What the event's `reply` is given."""
        replied: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def reply(*values: Any) -> None:
            replied.set_result(values if len(values) > 1 else values[0])

        event(reply).apply(self.windows)
        return await asyncio.wait_for(replied, PATIENCE)


class Failing(EventsTestCase):
    async def test_work_that_fails_is_logged_and_gives_nothing(self) -> None:
        with self.assertLogs(log.logger, "ERROR") as logs:
            found: object = await self.reply_to(lambda reply: WorkAsked(fails, reply))
        self.assertIsNone(found)
        self.assertIn("a bug", logs.output[0])

    async def test_a_window_that_nobody_knows_has_no_examination_and_nobody_waits_for_it(
        self,
    ) -> None:
        found = await self.reply_to(
            lambda reply: ExaminationAsked(7, GEMINI_CLI, ("gemini",), {}, self.folder, reply)
        )
        self.assertEqual(found, ())

    async def test_stamps_that_fail_are_logged_and_none_come(self) -> None:
        with self.assertLogs(log.logger, "ERROR"), mock.patch.object(file_content, "stamp", fails):
            found = await self.reply_to(lambda reply: StampsAsked(("/a",), reply))
        self.assertEqual(found, {})

    async def test_an_undoing_that_fails_is_logged_and_told(self) -> None:
        path, before = self.file("a"), Original("", True)
        with self.assertLogs(log.logger, "ERROR"):
            with mock.patch.object(file_content, "put_back", fails):
                found = await self.reply_to(lambda reply: FilePutBack(path, before, "", reply))
        self.assertEqual(found, (events.NOT_DONE, None))


class Hanging(EventsTestCase):
    """A drive behind a network that is gone. `asked` is how often it was."""

    def setUp(self) -> None:
        super().setUp()
        self.answers = threading.Event()
        self.addCleanup(self.answers.set)
        self.asked = 0

    def hang(self, *arguments: Any) -> None:
        self.asked += 1
        self.answers.wait(PATIENCE)

    async def test_an_undoing_ends_with_a_sentence(self) -> None:
        path, before = self.file("a"), Original("", True)
        with mock.patch.object(file_content, "put_back", self.hang):
            with mock.patch.object(events, "PATIENCE", 0.01):
                found = await self.reply_to(lambda reply: FilePutBack(path, before, "", reply))
        self.assertEqual(found, (events.LATE, None))

    async def test_a_file_holds_up_no_other_and_is_asked_once_until_it_answers(self) -> None:
        here, away = self.file("here"), self.file("away")
        stamp = file_content.stamp

        def slow(path: str) -> Any:
            return self.hang() if path == away else stamp(path)

        with mock.patch.object(file_content, "stamp", slow):
            for _ in range(3):
                with mock.patch.object(file_content, "SOON", 0.05):
                    found: Any = {}
                    while here not in found:
                        # A busy machine may need longer for either.
                        found = await self.reply_to(lambda it: StampsAsked((here, away), it))
                self.assertEqual(found, {here: stamp(here)})
            self.assertEqual(self.asked, 1)
            self.answers.set()
            while self.asked == 1:
                await self.reply_to(lambda it: StampsAsked((away,), it))
        self.assertEqual(self.asked, 2)


if __name__ == "__main__":
    unittest.main()
