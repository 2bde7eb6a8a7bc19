"""When a large CLI is ended, with a runner that only counts."""

from __future__ import annotations

from typing import Any
from unittest import mock

from GeminiCompanion.companion.agent.processes import idle
from GeminiCompanion.companion.agent.processes.idle import IDLE, IdleWatch
from GeminiCompanion.companion.base.log import logger

from ..support import Clock, InLoop, patched


class Runner:
    """`looks` is how often the watch asked for the memory, `is_ended` whether it was stopped."""

    name = "Some CLI"

    def __init__(self, memory: int) -> None:
        self._memory, self.looks, self.is_ended = memory, 0, False

    @property
    def memory(self) -> int:
        self.looks += 1
        return self._memory

    async def stop(self) -> None:
        self.is_ended = True


class IdleTest(InLoop):
    async def begin(self) -> None:
        patched(self, mock.patch.object(idle, "LARGE", 100))
        self.clock = Clock()
        self.is_busy = False

    def watch(self, memory: int) -> tuple[Any, IdleWatch]:
        runner: Any = Runner(memory)
        return runner, IdleWatch(runner, lambda: self.is_busy)

    async def test_a_large_one_that_nobody_uses_is_ended_by_itself(self) -> None:
        runner, watch = self.watch(101)
        with watch.in_use():
            pass
        await self.clock.advance(IDLE - 1)
        self.assertFalse(runner.is_ended)
        with self.assertLogs(logger) as logs:
            await self.clock.advance(1)
        self.assertTrue(runner.is_ended)
        self.assertIn("Some CLI is large", logs.output[0])

    async def test_a_small_one_is_let_be(self) -> None:
        runner, watch = self.watch(100)
        watch.check_later()
        await self.clock.advance(IDLE)
        self.assertEqual((runner.looks, runner.is_ended), (1, False))

    async def test_one_that_is_used_or_at_work_is_ended_only_afterwards(self) -> None:
        runner, watch = self.watch(101)
        self.is_busy = True
        watch.check_later()
        await self.clock.advance(IDLE)
        with watch.in_use():
            self.is_busy = False
            watch.check_later()
            await self.clock.advance(IDLE)
            self.assertEqual((runner.looks, runner.is_ended), (0, False))
        await self.clock.advance(IDLE)
        self.assertTrue(runner.is_ended)

    async def test_one_that_was_stopped_looks_no_more(self) -> None:
        runner, watch = self.watch(101)
        watch.check_later()
        watch.stop()
        await self.clock.advance(2 * IDLE)
        self.assertEqual((runner.looks, runner.is_ended), (0, False))
