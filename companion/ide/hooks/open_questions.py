"""Questions that wait in the terminals of CLIs: whether the user has answered them there.

No hook says so (docs/protocol.md 9.59). A command that was allowed runs in a group of its own below
the CLI, and what was refused stands in the CLI's recording. The companion's loop owns it.
"""

from __future__ import annotations

import asyncio
import os
import stat
from functools import partial
from typing import NamedTuple

from ...base.background import in_thread
from ...base.child_processes import groups_of_commands
from ...base.log import logger
from ...base.regular_file import open_regular
from ..hook_events import HookEvent
from ..live_clis import LiveClis

# Seconds between looks, and for a look.
LOOK, PATIENCE = 1.0, 5.0
# Bytes that are read of a recording.
MAX_READ = 1 << 20


class _Place(NamedTuple):
    """Where a CLI stood when it asked: the size of its recording, and the groups below it."""

    size: int
    groups: frozenset[int]


class OpenQuestions:
    """The questions that wait in the terminals of one window's CLIs."""

    def __init__(self, live: LiveClis) -> None:
        self._live = live
        self._tasks: set[asyncio.Task[None]] = set()

    def watch_question(self, event: HookEvent) -> None:
        """The CLI asks. Looks for the answer until something else is heard of it."""
        task = asyncio.ensure_future(self._follow_question(event))
        self._tasks.add(task)
        task.add_done_callback(self._question_ended)

    def stop(self) -> None:
        for task in list(self._tasks):
            task.cancel()

    def _question_ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, asyncio.TimeoutError):
            logger.debug("the system does not say in time what became of a question")
        elif error is not None:
            logger.error("a question in a terminal could not be followed", exc_info=error)

    async def _follow_question(self, event: HookEvent) -> None:
        asked = self._live.find(event)
        place = await in_thread(partial(_place_of_question, event), PATIENCE)
        while asked is not None and self._live.find(event) is asked:
            is_allowed = await in_thread(partial(_is_allowed, event, place), PATIENCE)
            if is_allowed is None:
                await asyncio.sleep(LOOK)
            elif self._live.find(event) is asked:
                self._live.note_answer(event, is_allowed)


def _place_of_question(event: HookEvent) -> _Place:
    return _Place(_file_size(event.transcript), frozenset(_groups_of_commands(event)))


def _is_allowed(event: HookEvent, place: _Place) -> bool | None:
    """None while nobody can tell."""
    if _groups_of_commands(event) - place.groups:
        return True
    form, added = event.cli.extension, _read_added(event.transcript, place.size)
    return False if form is not None and form.refused in added else None


def _groups_of_commands(event: HookEvent) -> set[int]:
    form = event.cli.extension
    return groups_of_commands(event.pid) if form is not None and form.groups_commands else set()


def _file_size(path: str) -> int:
    """0 for all but a regular file, which alone is sure to answer."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def _read_added(path: str, size: int) -> bytes:
    """What was added to the file since it had this size."""
    if _file_size(path) <= size:
        return b""
    try:
        with open_regular(path) as file:
            file.seek(size)
            return file.read(MAX_READ)
    except OSError:
        return b""
