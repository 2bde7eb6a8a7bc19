"""Finds by git which files a command of a CLI changes, but only for a small share of the time: the
CLI waits for it at each command. The companion's loop owns it.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from functools import partial
from typing import Callable, Mapping, TypeVar

from ...base.background import in_thread
from ...base.file_content import Original
from ...base.log import logger
from . import git_files
from .git_files import GitTree

T = TypeVar("T")

# Seconds for git and the disk at each hook, and those that nobody notices.
PATIENCE, FAST = 2.5, 0.1
# What takes longer is not done again for this many times as long; what was in vain, for seconds.
REST, IN_VAIN = 20.0, 600.0
# Folders whose rest is known.
MAX_FOLDERS = 64
SLOW = "git takes %.1f s in %s: what commands change there is looked for less often"


class CommandChanges:
    """What commands of the CLIs of one window change, by the folder that each runs in."""

    def __init__(self) -> None:
        # When git may be asked again, by the loop's time.
        self._rests: OrderedDict[str, float] = OrderedDict()

    async def before_command(self, folder: str) -> GitTree | None:
        """The work tree before a command; None if there is none, or if git is too slow for it."""
        if self._rests.get(folder, 0.0) > asyncio.get_running_loop().time():
            return None
        return await self._run_timed(folder, partial(git_files.work_tree_of, folder), None)

    async def changed_files(self, folder: str, tree: GitTree) -> Mapping[str, Original]:
        """The files that have changed since, as they were then."""
        return await self._run_timed(folder, partial(git_files.changed_files, tree), {})

    async def _run_timed(self, folder: str, work: Callable[[], T], otherwise: T) -> T:
        clock = asyncio.get_running_loop().time
        begun = clock()
        try:
            found = await in_thread(work, PATIENCE)
        except asyncio.TimeoutError:
            found = otherwise
        took = clock() - begun
        if took > FAST:
            if folder not in self._rests:
                logger.info(SLOW, took, folder)
            rest = IN_VAIN if found is None else took * REST
            self._rests[folder] = max(clock(), self._rests.get(folder, 0.0)) + rest
            if len(self._rests) > MAX_FOLDERS:
                self._rests.popitem(last=False)
        return found
