"""Decides when the state that is saved over a restart is written: soon after each change, and at
the end.

Its folder belongs to one editor at a time. A second editor serves without saving and says so. Once
the first one has ended, the second takes over its state.
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
from . import saved_state, state_file
from .saved_state import SavedWorkspace

# Seconds from a change to the save, so that several changes are saved together.
SAVE_DELAY = 0.2
# Seconds for the disk to write the last state. The next companion waits longer; otherwise an older
# state could replace a newer one.
LAST = 8.0
LATE = "The state for the next restart could not be saved: {} (the disk does not answer)."
# Seconds for an editor that quits to release the folder, and seconds between two attempts.
HANDOVER, RETRY = 2.0, 0.1
# The same for the companion before this one, whose disk may be slow: without its state, CLIs would
# find another port and another token here.
RELOAD = 15.0
IN_USE = (
    "{} uses the state folder {}. Until it has ended, your texts and decisions here are not saved"
    " for a restart."
)
TAKEN_OVER = "The other editor has ended: your texts and decisions are saved for a restart again."


class Saving:
    """Saves to the one file `path`, or nowhere if None. `picture` gives the present state; `tell`
    shows a sentence to the user, `withdraw` says that a problem is over. `problem` says why the
    present state would be lost at a restart; empty if it would not."""

    def __init__(
        self,
        path: str | None,
        picture: Callable[[], list[SavedWorkspace]],
        tell: Callable[[str], None],
        withdraw: Callable[[], None] = lambda: None,
    ) -> None:
        self._path = path
        self._lock = FolderLock(os.path.dirname(path or ""))
        self._picture = picture
        self._tell, self._withdraw = tell, withdraw
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Future[str] | None = None
        self.problem = ""
        self.is_on = self._is_ending = False
        # Called once the folder is this editor's.
        self._waiting: list[Callable[[], None]] = []
        # Held by the thread that writes; it protects the fields below. On a slow disk the last save
        # may begin before the one before it has ended.
        self._disk = threading.Lock()
        self._is_last_done = False
        # Held by the thread that releases a folder that was locked too late, or is not used.
        self._letting_go = threading.Lock()
        # The content of the file, as far as it could be written.
        self._written: list[SavedWorkspace] = []

    def once_on(self, call: Callable[[], None]) -> None:
        """Call it as soon as this editor has the folder for itself; never, if it does not get the
        folder."""
        if self.is_on:
            call()
        else:
            self._waiting.append(call)

    async def begin(self) -> list[SavedWorkspace]:
        """Lock the folder and give the state saved there; empty if another editor has it."""
        loop = asyncio.get_running_loop()
        begin, saved = loop.time(), await self.take_over()
        end = begin + (RELOAD if self._is_held_here() else HANDOVER)
        while self._path is not None and not self.is_on and loop.time() < end:
            await asyncio.sleep(RETRY)
            saved = await self.take_over()
        if self._path is not None and not self.is_on:
            self._report_problem(IN_USE.format(self._folder_holder(), self._lock.folder))
        return saved

    async def take_over(self) -> list[SavedWorkspace]:
        """Try once to lock the folder, and give the state saved there; call it from time to time,
        because the other editor may have ended."""
        if self._path is None or self.is_on or not await in_thread(self._acquire_folder):
            return []
        with ExitStack() as failing:
            failing.callback(self._let_go)
            saved, problem = await in_thread(partial(state_file.load_state, self._path))
            failing.pop_all()
        if problem:
            logger.error("%s", problem)
        if self.problem:
            self._withdraw()
        if problem or self.problem:
            self._tell(problem or TAKEN_OVER)
        self.is_on, self.problem = True, ""
        for call in self._waiting:
            call()
        return saved

    def _is_held_here(self) -> bool:
        """Whether this process itself had the folder at the last attempt."""
        return self._lock.holder == str(os.getpid())

    def _folder_holder(self) -> str:
        if self._is_held_here():
            return "The companion before this one"
        return f"Another editor, process {self._lock.holder or 'unknown'},"

    def _acquire_folder(self) -> bool:
        """Runs in a thread. If the folder cannot be locked, one editor may as well use it: a
        problem with the folder is reported when something is saved."""
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
        """Called in one thread at a time, whichever it is."""
        with self._letting_go:
            self._lock.release()

    def save_soon(self) -> None:
        """Something has changed."""
        if self._path is not None and self.is_on and self._timer is None and not self._is_ending:
            self._timer = asyncio.get_running_loop().call_later(
                SAVE_DELAY, self._begin_save, self._path
            )

    def try_again(self) -> None:
        """Save again if the disk refused before."""
        if self.problem:
            self.save_soon()

    async def finish(self) -> None:
        """Write the last state and release the folder. The editor waits for this, but not for a
        disk that does not answer: then the thread continues and releases the folder later. State
        that is already saved is not written again."""
        self._is_ending = True
        if self._timer is not None:
            self._timer.cancel()
        if self._path is None:
            return
        if not self.is_on:
            # The folder may have been locked just now, before anybody was told.
            with suppress(asyncio.TimeoutError):
                await in_thread(self._let_go, LAST)
            return
        with ExitStack() as failing:
            # If there is no picture, nothing is written, but the next companion gets the folder.
            failing.callback(self._let_go)
            last = partial(self._write_last, self._path, self._picture())
            failing.pop_all()
        try:
            self._report_problem(await in_thread(last, LAST))
        except asyncio.TimeoutError:
            self._report_problem(LATE.format(self._path))

    def _begin_save(self, path: str) -> None:
        self._timer = None
        if self._writing is not None and not self._writing.done():
            self.save_soon()
            return
        self._writing = asyncio.ensure_future(
            in_thread(partial(self._write_picture, path, self._picture()))
        )
        self._writing.add_done_callback(self._save_ended)

    def _write_picture(self, path: str, picture: list[SavedWorkspace]) -> str:
        """Runs in a thread, which may begin after that of the last save: then its picture is older
        than the file, and the next companion has the folder."""
        with self._disk:
            if self._is_last_done:
                return ""
            problem = state_file.save_state(path, picture)
            self._written = [] if problem else picture
            return problem

    def _write_last(self, path: str, picture: list[SavedWorkspace]) -> str:
        """Runs in a thread."""
        with self._disk:
            try:
                if saved_state.is_same(picture, self._written):
                    return ""
                return state_file.save_state(path, picture)
            finally:
                self._is_last_done = True
                self._let_go()

    def _save_ended(self, writing: asyncio.Future[str]) -> None:
        self._report_problem("" if writing.cancelled() else writing.result())

    def _report_problem(self, problem: str) -> None:
        """Report a disk that refuses once, and not again until it has accepted something."""
        if problem and not self.problem:
            logger.error("%s", problem)
            self._tell(problem)
        elif self.problem and not problem:
            self._withdraw()
        self.problem = problem
