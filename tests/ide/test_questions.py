"""What the editor asks of its companion: whatever happens, an answer comes."""

from __future__ import annotations

import asyncio
import os
import threading
import unittest
from typing import Any, Awaitable, TypeVar
from unittest import mock

from GeminiCompanion.companion.base import file_content, log
from GeminiCompanion.companion.base.answer import Answer, Unanswered
from GeminiCompanion.companion.base.file_content import Original
from GeminiCompanion.companion.ide import companion, questions
from GeminiCompanion.companion.ide.clis import GEMINI_CLI
from GeminiCompanion.companion.ide.companion import Companion
from GeminiCompanion.companion.ide.questions import (
    ContextShared,
    Examinations,
    FileStamps,
    FileUndoing,
    Question,
    WindowStatuses,
)
from GeminiCompanion.companion.ide.windows import Windows

from ..support import PATIENCE, FakeEditor, in_loop, temp_folder, wait_for

PID = 2**30
T = TypeVar("T")


class Failing(Question[None]):
    def find_answer(self, windows: Windows) -> None:
        raise ZeroDivisionError("the reason")


class FailingLater(Question[None]):
    async def find_answer(self, windows: Windows) -> None:
        raise ZeroDivisionError("the reason")


class NeverAnswered(Question[None]):
    def find_answer(self, windows: Windows) -> Awaitable[None]:
        return asyncio.get_running_loop().create_future()


class Asked(unittest.TestCase):
    """Over the companion's thread."""

    def setUp(self) -> None:
        self.editor = FakeEditor()
        self.companion = Companion(PID)
        self.addCleanup(self.companion.stop)

    def sentence(self, answer: Answer[Any]) -> str:
        """Of a question that is left without an answer."""
        wait_for(lambda: answer.is_there)
        with self.assertRaises(Unanswered) as raised:
            answer.result()
        return str(raised.exception)

    def test_a_question_before_the_start_is_answered_after_it(self) -> None:
        answer = self.companion.ask(WindowStatuses())
        self.assertFalse(answer.is_there)
        self.companion.start(self.editor)
        wait_for(lambda: answer.is_there)
        self.assertEqual(answer.result(), ())

    def test_a_question_that_fails_is_logged_with_its_traceback_and_left_unanswered(self) -> None:
        self.companion.start(self.editor)
        for question in (Failing(), FailingLater()):
            with self.assertLogs(log.logger, "ERROR") as logs:
                self.assertEqual(self.sentence(self.companion.ask(question)), companion.FAILED)
            self.assertRegex(logs.output[0], "(?s)Failing.*Traceback.*the reason")

    def test_what_is_asked_when_the_companion_ends_is_left_unanswered(self) -> None:
        self.companion.start(self.editor)
        answer = self.companion.ask(NeverAnswered())
        early = self.companion.ask(WindowStatuses())
        wait_for(lambda: early.is_there)
        self.companion.stop(PATIENCE)
        self.assertEqual(self.sentence(answer), companion.ENDED)

    def test_what_is_asked_after_the_end_is_left_unanswered_at_once(self) -> None:
        self.companion.start(self.editor)
        self.companion.stop(PATIENCE)
        answer = self.companion.ask(WindowStatuses())
        self.assertTrue(answer.is_there)
        self.assertEqual(self.sentence(answer), companion.ENDED)

    def test_after_a_failure_of_the_thread_the_answer_says_what_has_to_be_mended(self) -> None:
        broken = mock.patch.object(Windows, "run", side_effect=ZeroDivisionError("the reason"))
        with self.assertLogs(log.logger, "ERROR"), broken:
            answer = self.companion.ask(WindowStatuses())
            self.companion.start(self.editor)
            self.assertEqual(self.sentence(answer), companion.STOPPED)

    def test_each_question_of_many_threads_is_answered_while_it_stops(self) -> None:
        answers: list[Answer[Any]] = []
        together = threading.Barrier(4)

        def ask() -> None:
            together.wait(PATIENCE)
            for _ in range(500):
                answers.append(self.companion.ask(WindowStatuses()))

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        self.companion.start(self.editor)
        together.wait(PATIENCE)
        self.companion.stop(PATIENCE)
        for thread in threads:
            thread.join(PATIENCE)
        wait_for(lambda: all(answer.is_there for answer in answers))
        self.assertEqual(len(answers), 1500)


class QuestionsTestCase(unittest.TestCase):
    """On a loop of the test's."""

    def setUp(self) -> None:
        self.folder = temp_folder(self)

    def file(self, name: str, text: str = "") -> str:
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    async def begin(self) -> None:
        self.windows = Windows(FakeEditor(), PID, lambda environments: None)

    async def ask(self, question: Question[T]) -> T:
        found: Any = question.find_answer(self.windows)
        if asyncio.iscoroutine(found) or asyncio.isfuture(found):
            found = await asyncio.wait_for(found, PATIENCE)
        return found  # type: ignore[no-any-return]


class Known(QuestionsTestCase):
    @in_loop
    async def test_a_window_that_nobody_knows_has_no_examination_and_no_context(self) -> None:
        await self.begin()
        question = Examinations(7, GEMINI_CLI, ("gemini",), {}, self.folder)
        self.assertEqual(await self.ask(question), ())
        shared = await self.ask(ContextShared(7))
        self.assertIsNone(shared)


class Hanging(QuestionsTestCase):
    """A drive behind a network that is gone. `asked` is how often it was."""

    def setUp(self) -> None:
        super().setUp()
        self.answers = threading.Event()
        self.addCleanup(self.answers.set)
        self.asked = 0

    def hang(self, *arguments: Any) -> None:
        self.asked += 1
        self.answers.wait(PATIENCE)

    @in_loop
    async def test_an_undoing_ends_with_a_sentence(self) -> None:
        await self.begin()
        path, before = self.file("a"), Original("", True)
        with mock.patch.object(file_content, "put_back", self.hang):
            with mock.patch.object(questions, "PATIENCE", 0.01):
                found = await self.ask(FileUndoing(path, before, ""))
        self.assertEqual(found, (questions.LATE, None))

    @in_loop
    async def test_a_file_holds_up_no_other_and_is_asked_once_until_it_answers(self) -> None:
        await self.begin()
        here, away = self.file("here"), self.file("away")
        stamp = file_content.file_stamp

        def slow(path: str) -> Any:
            return self.hang() if path == away else stamp(path)

        with mock.patch.object(file_content, "file_stamp", slow):
            for _ in range(3):
                with mock.patch.object(file_content, "SOON", 0.05):
                    found: Any = {}
                    while here not in found:
                        # A busy machine may need longer for either.
                        found = await self.ask(FileStamps((here, away)))
                self.assertEqual(found, {here: stamp(here)})
            self.assertEqual(self.asked, 1)
            self.answers.set()
            while self.asked == 1:
                await self.ask(FileStamps((away,)))
        self.assertEqual(self.asked, 2)
