"""Who gets of the bytes that may be held, and in which order."""

from __future__ import annotations

import asyncio
import unittest
from contextlib import suppress
from unittest import mock

from GeminiCompanion.companion.base import memory_budget
from GeminiCompanion.companion.base.memory_budget import MemoryBudget, MemoryShare

from ..support import begun


class Budget(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.budget = MemoryBudget(100)

    async def test_what_is_there_is_given_at_once(self) -> None:
        self.assertEqual(await self.budget.take_bytes(60), 60)
        self.assertEqual(await self.budget.take_bytes(40), 40)

    async def test_more_waits_until_it_is_given_back(self) -> None:
        await self.budget.take_bytes(60)
        task = await begun(self.budget.take_bytes(41))
        self.assertFalse(task.done())
        self.budget.give_back(60)
        self.assertEqual(await task, 41)
        self.assertFalse((await begun(self.budget.take_bytes(60))).done())

    async def test_a_small_one_does_not_pass_a_large_one(self) -> None:
        await self.budget.take_bytes(60)
        large, small = (
            await begun(self.budget.take_bytes(50)),
            await begun(self.budget.take_bytes(1)),
        )
        self.assertEqual((large.done(), small.done()), (False, False))
        self.budget.give_back(60)
        self.assertEqual((await large, await small), (50, 1))

    async def test_who_asks_for_more_than_there_is_gets_all_of_it(self) -> None:
        self.assertEqual(await self.budget.take_bytes(1000), 100)

    async def test_who_waits_too_long_is_told_and_holds_up_nobody(self) -> None:
        await self.budget.take_bytes(60)
        with mock.patch.object(memory_budget, "TIME_LIMIT", 0.01):
            with self.assertRaises(asyncio.TimeoutError):
                await self.budget.take_bytes(50)
        self.assertEqual(await self.budget.take_bytes(40), 40)

    async def test_who_leaves_while_waiting_makes_way(self) -> None:
        await self.budget.take_bytes(60)
        large, small = (
            await begun(self.budget.take_bytes(50)),
            await begun(self.budget.take_bytes(40)),
        )
        large.cancel()
        self.assertEqual(await small, 40)
        self.budget.give_back(100)
        self.assertEqual(await self.budget.take_bytes(100), 100)

    async def test_who_leaves_at_the_moment_of_getting_it_gives_it_back(self) -> None:
        await self.budget.take_bytes(100)
        task = await begun(self.budget.take_bytes(50))
        self.budget.give_back(100)
        task.cancel()
        # Which of the two came first is the event loop's to say, and differs between its versions.
        with suppress(asyncio.CancelledError):
            self.budget.give_back(await task)
        self.assertEqual(await self.budget.take_bytes(100), 100)

    async def test_a_share_is_given_back_whatever_happens(self) -> None:
        with self.assertRaises(ZeroDivisionError), MemoryShare(self.budget) as share:
            await share.take_bytes(30)
            await share.take_bytes(70)
            raise ZeroDivisionError
        self.assertEqual(await self.budget.take_bytes(100), 100)
