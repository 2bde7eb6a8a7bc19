"""When the state that outlives the companion is written: soon after each change, and at the end.

Its folder belongs to one editor at a time. Another one that comes meanwhile serves without saving,
says so, and takes over what is there when the first one has gone.
"""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import ExitStack, suppress
from functools import partial
from typing import Callable

from ..base import private_files
from ..base.background import in_thread
from ..base.folder_lock import FolderInUse, FolderLock
from ..base.log import logger
from . import saved_state
from .saved_state import SavedWorkspace

# Seconds from a change to the saved state: some changes come together.
SAVE_DELAY = 0.2
# Seconds for the disk to take what is there at the end; the next companion waits longer, or an
# older state could be written over a newer one.
LAST = 8.0
LATE = "The state for the next restart could not be saved: {} (the disk does not answer)."
# Seconds for an editor that quits to let go of the folder, and those between two tries.
HANDOVER, RETRY = 2.0, 0.1
IN_USE = (
    "{} uses the state folder {}. Until it has ended, your texts and decisions here are not saved"
    " for a restart."
)
TAKEN_OVER = "The other editor has ended: your texts and decisions are saved for a restart again."


class Saving:
    """One file at `path`, None for none. `picture` gives what is to be saved now; `tell` shows a
    sentence to the user. `problem` says why what is there would not outlive the companion; empty
    where it would."""

    def __init__(
        self,
        path: str | None,
        picture: Callable[[], list[SavedWorkspace]],
        tell: Callable[[str], None],
    ) -> None:
        self._path = path
        self._lock = FolderLock(os.path.dirname(path or ""))
        self._picture = picture
        self._tell = tell
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Future[str] | None = None
        self.problem = ""
        self.is_on = self._is_ending = False
        # Who is to hear of it once the folder is this editor's.
        self._waiting: list[Callable[[], None]] = []
        # Held by the thread that writes, to which the rest belongs: a slow disk may let the last
        # one begin before the one before it has ended.
        self._disk = threading.Lock()
        # Held by the thread that lets go of a folder which came too late, or which nobody uses.
        self._letting_go = threading.Lock()
        # What the file holds, as far as it could be written.
        self._written: list[SavedWorkspace] = []

    def once_on(self, call: Callable[[], None]) -> None:
        """Have it called as soon as this editor has the folder for itself; never, where it does not
        get it."""
        if self.is_on:
            call()
        else:
            self._waiting.append(call)

    async def begin(self) -> list[SavedWorkspace]:
        """Take the folder, and give what was saved there; nothing where another editor has it."""
        loop = asyncio.get_running_loop()
        end, saved = loop.time() + HANDOVER, await self.take_over()
        while self._path is not None and not self.is_on and loop.time() < end:
            await asyncio.sleep(RETRY)
            saved = await self.take_over()
        if self._path is not None and not self.is_on:
            self._tell_problem(IN_USE.format(self._holder(), self._lock.folder))
        return saved

    async def take_over(self) -> list[SavedWorkspace]:
        """The same, tried once; to be called now and then, for the other editor may have gone."""
        if self._path is None or self.is_on or not await in_thread(self._acquire):
            return []
        with ExitStack() as failing:
            failing.callback(self._let_go)
            saved, problem = await in_thread(partial(saved_state.load, self._path))
            failing.pop_all()
        if problem:
            logger.error("%s", problem)
        if problem or self.problem:
            self._tell(problem or TAKEN_OVER)
        self.is_on, self.problem = True, ""
        for call in self._waiting:
            call()
        return saved

    def _holder(self) -> str:
        if self._lock.holder == str(os.getpid()):
            return "The companion before this one"
        return f"Another editor, process {self._lock.holder or 'unknown'},"

    def _acquire(self) -> bool:
        """In a thread. A folder that cannot be locked is better served by one editor than by none:
        what is wrong with it is told where something is saved."""
        try:
            private_files.make_parents(self._lock.folder)
            private_files.make_folder(self._lock.folder)
            self._lock.acquire()
        except FolderInUse:
            return False
        except (OSError, private_files.NotPrivate) as error:
            logger.warning("the folder of the saved state cannot be locked: %s", error)
        if self._is_ending:
            self._let_go()
        return not self._is_ending

    def _let_go(self) -> None:
        """By one at a time, on whichever thread."""
        with self._letting_go:
            self._lock.release()

    def soon(self) -> None:
        """Something has changed."""
        if self._path is not None and self.is_on and self._timer is None and not self._is_ending:
            self._timer = asyncio.get_running_loop().call_later(SAVE_DELAY, self._save, self._path)

    def try_again(self) -> None:
        """Where the disk refused."""
        if self.problem:
            self.soon()

    async def finish(self) -> None:
        """Write what is there at the end, and let go of the folder. The editor waits for it, but
        not for a disk that does not answer: the thread goes on, and lets go of it then. What is
        saved already is not written again."""
        self._is_ending = True
        if self._timer is not None:
            self._timer.cancel()
        if self._path is None:
            return
        if not self.is_on:
            # It may just have been taken, and nobody has heard of it yet.
            with suppress(asyncio.TimeoutError):
                await in_thread(self._let_go, LAST)
            return
        with ExitStack() as failing:
            # Without a picture nothing is written, but the next companion is to have the folder.
            failing.callback(self._let_go)
            last = partial(self._write_last, self._path, self._picture())
            failing.pop_all()
        try:
            self._tell_problem(await in_thread(last, LAST))
        except asyncio.TimeoutError:
            self._tell_problem(LATE.format(self._path))

    def _save(self, path: str) -> None:
        self._timer = None
        if self._writing is not None and not self._writing.done():
            self.soon()
            return
        self._writing = asyncio.ensure_future(
            in_thread(partial(self._write, path, self._picture()))
        )
        self._writing.add_done_callback(self._saved)

    def _write(self, path: str, picture: list[SavedWorkspace]) -> str:
        """In a thread."""
        with self._disk:
            problem = saved_state.save(path, picture)
            self._written = [] if problem else picture
            return problem

    def _write_last(self, path: str, picture: list[SavedWorkspace]) -> str:
        """In a thread."""
        with self._disk:
            try:
                if saved_state.is_same(picture, self._written):
                    return ""
                return saved_state.save(path, picture)
            finally:
                self._let_go()

    def _saved(self, writing: asyncio.Future[str]) -> None:
        self._tell_problem("" if writing.cancelled() else writing.result())

    def _tell_problem(self, problem: str) -> None:
        """Tell once of a disk that refuses, and not again until it has taken something."""
        if problem and not self.problem:
            logger.error("%s", problem)
            self._tell(problem)
        self.problem = problem
