"""When the state that outlives the companion is written: soon after each change, and at the end."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Callable

from ..base.background import in_thread
from ..base.log import logger
from . import saved_state
from .saved_state import SavedWorkspace

# Seconds from a change to the saved state: some changes come together.
SAVE_DELAY = 0.2
# Seconds for the disk to take what is there at the end; the next companion waits longer, or an
# older state could be written over a newer one.
LAST = 8.0
LATE = "What has to outlive a restart could not be saved: {} (the disk does not answer)."


class Saving:
    """One file at `path`, None for none. `picture` gives what is to be saved now; `tell` shows a
    sentence to the user."""

    def __init__(
        self,
        path: str | None,
        picture: Callable[[], list[SavedWorkspace]],
        tell: Callable[[str], None],
    ) -> None:
        self._path = path
        self._picture = picture
        self._tell = tell
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Future[str] | None = None
        # What the file holds, as far as it could be written.
        self._written: list[SavedWorkspace] = []
        self._problem = ""
        self._is_ending = False

    @property
    def is_on(self) -> bool:
        return self._path is not None

    def soon(self) -> None:
        """Something has changed."""
        if self._path is not None and self._timer is None and not self._is_ending:
            self._timer = asyncio.get_running_loop().call_later(SAVE_DELAY, self._save, self._path)

    def try_again(self) -> None:
        """Where the disk refused."""
        if self._problem:
            self.soon()

    async def finish(self) -> None:
        """Write what is there at the end. The editor waits for it, but not for a disk that does not
        answer: what is saved already is not written again."""
        self._is_ending = True
        if self._timer is not None:
            self._timer.cancel()
        try:
            await asyncio.wait_for(self._finish(), LAST)
        except asyncio.TimeoutError:
            self._tell_problem(LATE.format(self._path))

    async def _finish(self) -> None:
        if self._writing is not None:
            await self._writing
        picture = self._picture()
        if self._path is not None and not saved_state.is_same(picture, self._written):
            self._tell_problem(await in_thread(partial(saved_state.save, self._path, picture)))

    def _save(self, path: str) -> None:
        self._timer = None
        if self._writing is not None and not self._writing.done():
            self.soon()
            return
        self._written = self._picture()
        save = partial(saved_state.save, path, self._written)
        self._writing = asyncio.ensure_future(in_thread(save))
        self._writing.add_done_callback(self._saved)

    def _saved(self, writing: asyncio.Future[str]) -> None:
        self._tell_problem("" if writing.cancelled() else writing.result())

    def _tell_problem(self, problem: str) -> None:
        """Tell once of a disk that refuses, and not again until it has taken something."""
        if problem:
            self._written = []
        if problem and not self._problem:
            logger.error("%s", problem)
            self._tell(problem)
        self._problem = problem
