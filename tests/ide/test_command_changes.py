from __future__ import annotations

import asyncio
from typing import Any
from unittest import mock

from GeminiCompanion.companion.ide.hooks import command_changes, git_files
from GeminiCompanion.companion.ide.hooks.command_changes import (
    IN_VAIN,
    PATIENCE,
    REST,
    CommandChanges,
)
from GeminiCompanion.companion.ide.hooks.git_files import GitTree

from ..support import Clock, InLoop, patched

TREE = GitTree("/w", {}, {}, frozenset())


class Share(InLoop):
    """Each request takes git `took` seconds, by the loop's time, and `found` comes of it."""

    def setUp(self) -> None:
        self.took, self.asked = 0.0, 0
        self.found: GitTree | None = TREE
        self.command_changes = CommandChanges()
        patched(self, mock.patch.object(command_changes, "in_thread", self.in_thread))
        patched(self, mock.patch.object(git_files, "work_tree_of", lambda folder: self.found))
        patched(self, mock.patch.object(git_files, "changed_files", lambda tree: {}))

    async def begin(self) -> None:
        self.clock = Clock()

    async def in_thread(self, work: Any, seconds: float) -> Any:
        self.asked += 1
        await self.clock.advance(min(self.took, seconds))
        if self.took >= seconds:
            raise asyncio.TimeoutError
        return work()

    async def commands(self, count: int, pause: float, folder: str = "/w") -> None:
        for _ in range(count):
            tree = await self.command_changes.before_command(folder)
            if tree is not None:
                await self.command_changes.changed_files(folder, tree)
            await self.clock.advance(pause)

    async def test_git_that_is_fast_is_asked_at_every_command(self) -> None:
        self.took = 0.05
        await self.commands(10, 0.0)
        self.assertEqual(self.asked, 20)

    async def test_git_that_is_slow_takes_a_small_share_of_the_time(self) -> None:
        for took in (0.15, 0.9):
            self.took, self.asked, self.command_changes = took, 0, CommandChanges()
            begun = asyncio.get_running_loop().time()
            await self.commands(500, 1.0)
            passed = asyncio.get_running_loop().time() - begun
            self.assertGreater(self.asked, 2)
            self.assertLess(self.asked * took, passed / REST + 2 * took)

    async def test_git_that_answers_in_vain_is_left_alone_for_long(self) -> None:
        for took, found in ((PATIENCE, TREE), (0.3, None)):
            self.took, self.found, self.asked, self.command_changes = (
                took,
                found,
                0,
                CommandChanges(),
            )
            await self.commands(int(IN_VAIN) - 2, 1.0)
            self.assertEqual(self.asked, 1)
            await self.commands(3, 1.0)
            self.assertEqual(self.asked, 2)

    async def test_it_is_logged_once_for_a_folder_and_others_do_not_rest(self) -> None:
        self.took = 0.5
        with self.assertLogs("GeminiCompanion", "INFO") as logs:
            await self.commands(50, 1.0)
            await self.commands(1, 1.0, "/other")
        self.assertEqual(len(logs.output), 2)
        self.assertRegex(logs.output[0], r"git takes 0\.5 s in /w")

    async def test_the_folders_are_bounded(self) -> None:
        self.took = 0.5
        for number in range(command_changes.MAX_FOLDERS + 9):
            await self.commands(1, 0.0, str(number))
        self.assertEqual(len(self.command_changes._rests), command_changes.MAX_FOLDERS)
