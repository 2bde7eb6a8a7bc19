"""A loop in a thread: what is posted to it, how it ends, and what the next one waits for."""

from __future__ import annotations

import asyncio
import threading
import unittest
from typing import Any, Callable
from unittest import mock

from GeminiCompanion.companion.base import log, loop_thread
from GeminiCompanion.companion.base.loop_thread import LoopThread, State

from ..support import PATIENCE, wait_for

NAME = "GeminiCompanion test"
Ready = Callable[["asyncio.Future[str]"], None]


class LoopThreadTestCase(unittest.TestCase):
    """`self.seen` has what happened, in order."""

    def setUp(self) -> None:
        self.seen: list[str] = []

    async def serve(self, ready: Ready) -> None:
        end: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        ready(end)
        self.seen.append(await end)

    def make(self, serve: Any = None) -> LoopThread[asyncio.Future[str]]:
        made: LoopThread[asyncio.Future[str]] = LoopThread(
            NAME, serve or self.serve, "It failed.", lambda: self.over(made)
        )
        self.addCleanup(self.end, made)
        return made

    def over(self, made: LoopThread[asyncio.Future[str]]) -> None:
        self.seen.append(f"{made.state.name} {made.problem}".strip())

    def end(self, made: LoopThread[asyncio.Future[str]]) -> None:
        made.stop(lambda end: end.done() or end.set_result("end"))
        wait_for(lambda: not made.is_alive)

    def note(self, text: str) -> Callable[[Any], None]:
        return lambda end: self.seen.append(text)


class Life(LoopThreadTestCase):
    def test_it_goes_from_new_over_running_and_stopping_to_its_end(self) -> None:
        made = self.make()
        states = [made.state]
        made.start()
        states.append(made.state)
        (thread,) = (each for each in threading.enumerate() if each.name == NAME)
        self.assertTrue(thread.daemon, "it keeps an editor from quitting")
        held = threading.Event()
        made.post(lambda end: held.wait(PATIENCE) and None)
        made.stop(lambda end: end.set_result("end"))
        states.append(made.state)
        held.set()
        wait_for(lambda: not made.is_alive)
        self.assertEqual(states, [State.NEW, State.RUNNING, State.STOPPING])
        self.assertEqual((self.seen, made.problem), (["end", "OVER"], ""))

    def test_it_serves_only_when_the_caller_has_its_thread_back(self) -> None:
        served = threading.Event()
        seen: list[bool] = []
        begin = threading.Thread.start

        async def serve(ready: Ready) -> None:
            served.set()
            await self.serve(ready)

        def watched(thread: threading.Thread) -> None:
            begin(thread)
            seen.append(served.wait(0.05))

        made = self.make(serve)
        with mock.patch.object(threading.Thread, "start", watched):
            made.start()
        self.assertEqual(seen, [False])
        wait_for(served.is_set)

    def test_a_stop_waits_as_long_as_it_is_told_and_no_longer(self) -> None:
        made = self.make()
        made.start()
        held = threading.Event()
        made.post(lambda end: held.wait(PATIENCE) and None)
        made.stop(lambda end: end.set_result("end"), 0.01)
        self.assertTrue(made.is_alive)
        held.set()
        made.stop(lambda end: None, 20)
        self.assertFalse(made.is_alive)

    def test_the_next_of_its_name_waits_for_one_that_is_still_ending(self) -> None:
        first, second = self.make(), self.make()
        first.start()
        held = threading.Event()
        first.post(lambda end: held.wait(PATIENCE) and None)
        second.post(lambda end: end.set_result("second"))
        first.stop(lambda end: end.set_result("first"))
        second.start()
        held.set()
        wait_for(lambda: not second.is_alive)
        self.assertEqual(self.seen, ["first", "OVER", "second", "OVER"])

    def test_one_that_never_ends_holds_up_the_next_no_longer_than_the_handover(self) -> None:
        first, second = self.make(), self.make()
        first.start()
        second.post(lambda end: end.set_result("second"))
        with mock.patch.object(loop_thread, "HANDOVER", 0.01):
            second.start()
            wait_for(lambda: self.seen)
        self.assertEqual(self.seen[0], "second")
        self.assertTrue(first.is_alive)

    def test_a_failure_is_a_sentence_and_a_traceback_in_the_log(self) -> None:
        async def serve(ready: Ready) -> None:
            raise ZeroDivisionError("the reason")

        made = self.make(serve)
        with self.assertLogs(log.logger, "ERROR") as logs:
            made.start()
            wait_for(lambda: not made.is_alive)
        self.assertEqual(self.seen, ["OVER It failed."])
        self.assertRegex(logs.output[0], f"(?s){NAME}.*Traceback.*ZeroDivisionError: the reason")

    def test_a_library_that_is_missing_is_named(self) -> None:
        async def serve(ready: Ready) -> None:
            raise ModuleNotFoundError("no aiohttp", name="aiohttp")

        made = self.make(serve)
        with self.assertLogs(log.logger, "ERROR") as logs:
            made.start()
            wait_for(lambda: not made.is_alive)
        self.assertIn('The library "aiohttp" is missing.', made.problem)
        self.assertNotIn("Traceback", logs.output[0])


class Posts(LoopThreadTestCase):
    def test_calls_of_before_the_loop_is_ready_are_made_in_their_order(self) -> None:
        may_start = threading.Event()

        async def serve(ready: Ready) -> None:
            may_start.wait(PATIENCE)
            await self.serve(ready)

        made = self.make(serve)
        for text in ("before the start", "still before"):
            made.post(self.note(text))
        made.start()
        made.post(self.note("before it was ready"))
        may_start.set()
        made.stop(lambda end: end.set_result("end"), 20)
        expected = ["before the start", "still before", "before it was ready", "end", "OVER"]
        self.assertEqual(self.seen, expected)

    def test_a_call_that_fails_is_logged_and_keeps_no_other_from_its_turn(self) -> None:
        made = self.make()
        made.post(lambda end: end.set_result(str(1 // 0)))
        made.post(self.note("the next"))
        with self.assertLogs(log.logger, "ERROR") as logs:
            made.start()
            wait_for(lambda: self.seen == ["the next"])
        self.assertRegex(logs.output[0], f"(?s){NAME}.*Traceback.*ZeroDivisionError")

    def test_calls_after_the_end_do_nothing(self) -> None:
        made = self.make()
        made.start()
        made.stop(lambda end: end.set_result("end"), 20)
        made.post(self.note("too late"))
        made.stop(self.note("too late"), 20)
        self.assertEqual((self.seen, made.state), (["end", "OVER"], State.OVER))
