"""When a large CLI is ended, with a runner that only counts."""

from __future__ import annotations

import asyncio
import unittest
from typing import Any, Awaitable, Callable
from unittest import mock

from GeminiCompanion.companion.agent.processes import idle
from GeminiCompanion.companion.agent.processes.idle import IdleWatch
from GeminiCompanion.companion.base.log import logger

PATIENCE = 60.0


class Runner:
    name = "Some CLI"

    def __init__(self, memory: int) -> None:
        self.memory, self.ended = memory, asyncio.Event()
        # How often the watch asked for the memory.
        self.looks = 0

    def __getattribute__(self, name: str) -> Any:
        if name == "memory":
            self.looks += 1
        return super().__getattribute__(name)

    async def stop(self) -> None:
        self.ended.set()


async def until(condition: Callable[[], Any]) -> None:
    async def waits() -> None:
        while not condition():
            await asyncio.sleep(0.005)

    await asyncio.wait_for(waits(), PATIENCE)


class IdleTest(unittest.TestCase):
    def run_it(self, work: Callable[[], Awaitable[None]]) -> None:
        async def run() -> None:
            await work()

        with mock.patch.multiple(idle, LARGE=100, IDLE=0.01):
            asyncio.run(run())

    def test_a_large_one_that_nobody_uses_is_ended_by_itself(self) -> None:
        async def work() -> None:
            runner: Any = Runner(101)
            watch = IdleWatch(runner, lambda: False)
            with self.assertLogs(logger) as logs:
                with watch.using():
                    pass
                await asyncio.wait_for(runner.ended.wait(), PATIENCE)
            self.assertIn("Some CLI is large", logs.output[0])

        self.run_it(work)

    def test_a_small_one_is_let_be(self) -> None:
        async def work() -> None:
            runner: Any = Runner(100)
            watch = IdleWatch(runner, lambda: False)
            watch.used()
            await until(lambda: runner.looks)
            self.assertFalse(runner.ended.is_set())

        self.run_it(work)

    def test_one_that_is_used_or_at_work_is_ended_only_afterwards(self) -> None:
        async def work() -> None:
            runner: Any = Runner(101)
            asked, is_busy = [], [True]

            def busy() -> bool:
                asked.append(1)
                return is_busy[0]

            watch = IdleWatch(runner, busy)
            watch.used()
            await until(lambda: asked)
            with watch.using():
                is_busy[0] = False
                watch.used()
                # A timer of the same length that was set later fires later.
                await asyncio.sleep(idle.IDLE)
                await asyncio.sleep(idle.IDLE)
                self.assertEqual((runner.ended.is_set(), runner.looks), (False, 0))
            await asyncio.wait_for(runner.ended.wait(), PATIENCE)

        self.run_it(work)

    def test_one_that_was_stopped_looks_no_more(self) -> None:
        async def work() -> None:
            asked: list[int] = []
            runner: Any = Runner(101)
            watch = IdleWatch(runner, lambda: bool(asked.append(1)))
            watch.used()
            watch.stop()
            other = IdleWatch(runner, lambda: False)
            other.used()
            await asyncio.wait_for(runner.ended.wait(), PATIENCE)
            self.assertEqual(asked, [])

        self.run_it(work)


if __name__ == "__main__":
    unittest.main()
