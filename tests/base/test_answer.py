"""An answer that one thread gives and a coroutine on another awaits."""

from __future__ import annotations

import threading
import unittest
from functools import partial
from typing import Callable

from GeminiCompanion.companion.base.answer import Answer, NotThere

from ..waiting import PATIENCE


class Given(unittest.TestCase):
    def setUp(self) -> None:
        self.answer: Answer[str] = Answer()

    def test_a_value_is_there_once_it_is_given(self) -> None:
        self.assertFalse(self.answer.is_there)
        with self.assertRaises(NotThere):
            self.answer.result()
        self.answer.give("a")
        self.assertTrue(self.answer.is_there)
        self.assertEqual(self.answer.result(), "a")

    def test_an_answer_that_fails_raises_its_error(self) -> None:
        self.answer.fail(ZeroDivisionError("the reason"))
        with self.assertRaisesRegex(ZeroDivisionError, "the reason"):
            self.answer.result()

    def test_the_first_that_is_given_counts(self) -> None:
        self.answer.give("a")
        self.answer.give("b")
        self.answer.fail(ZeroDivisionError())
        self.assertEqual(self.answer.result(), "a")

    def test_each_call_is_made_once_before_and_after(self) -> None:
        calls: list[str] = []
        self.answer.when_there(lambda: calls.append("before"))
        self.assertEqual(calls, [])
        self.answer.give("a")
        self.answer.give("b")
        self.answer.when_there(lambda: calls.append("after"))
        self.assertEqual(calls, ["before", "after"])

    def test_no_call_is_forgotten_where_threads_meet(self) -> None:
        for _ in range(500):
            answer: Answer[None] = Answer()
            calls: list[None] = []
            together = threading.Barrier(2)

            def ask(
                answer: Answer[None] = answer,
                call: Callable[[], None] = partial(calls.append, None),
                together: threading.Barrier = together,
            ) -> None:
                together.wait(PATIENCE)
                answer.when_there(call)

            asking = threading.Thread(target=ask)
            asking.start()
            together.wait(PATIENCE)
            answer.give(None)
            asking.join(PATIENCE)
            self.assertEqual(calls, [None])


class Awaited(unittest.TestCase):
    def test_one_that_is_there_gives_others_their_turn_all_the_same(self) -> None:
        answer: Answer[str] = Answer()
        answer.give("a")

        async def story() -> str:
            return await answer

        running = story()
        self.assertIs(running.send(None), answer)
        with self.assertRaises(StopIteration) as end:
            running.send(None)
        self.assertEqual(end.exception.value, "a")

    def test_its_error_is_raised_where_it_is_awaited(self) -> None:
        answer: Answer[str] = Answer()

        async def story() -> str:
            try:
                return await answer
            except ZeroDivisionError:
                return "caught"

        running = story()
        running.send(None)
        answer.fail(ZeroDivisionError())
        with self.assertRaises(StopIteration) as end:
            running.send(None)
        self.assertEqual(end.exception.value, "caught")
