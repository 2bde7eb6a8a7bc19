"""Saves what the user has decided on of work trees' changes, in a thread of its own."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from functools import partial
from typing import Callable, Iterable

from ...base.log import logger
from ...base.write_behind import WriteBehind
from ...work_trees.taken import Taken, TakenFile, TreeDecision, store_text
from .. import queues

NOT_SAVED = "What you have decided on in work trees cannot be kept over a restart: {}."

# Writes what is decided, one after the other: a companion that starts reads what the one before it
# wrote last.
writer = WriteBehind("work trees")


class TakenSaving:
    """Saves the decisions on one tree: of those that wait for the writer the last ones, which
    include all before them. `make_folder` makes their folder where it is missing; it raises
    FileNotFoundError if the tree was removed."""

    def __init__(self, make_folder: Callable[[], str], warn: Callable[[str], None]) -> None:
        self.make_folder = make_folder
        self._warn = warn
        self._file = TakenFile()
        self._taken: Taken | None = None
        # Texts of decisions, to be there before these are saved.
        self._copies: deque[Callable[[], None]] = deque()

    def load(self) -> Taken:
        """The decisions that were saved. Blocks, until those that wait are saved, too. Raises
        OSError."""
        writer.finish()
        folder = self.make_folder()
        return self._file.load(folder)

    def copy_texts(self, own: Taken, folder: str, decisions: Iterable[TreeDecision]) -> None:
        """Keep for this tree, too, what another one's files were; decisions that are saved from now
        on may need it."""
        self._copies.append(partial(_copy_texts, own, folder, tuple(decisions)))

    def save_soon(self, taken: Taken) -> None:
        self._taken = taken
        writer.do_soon(self._save)

    def _save(self) -> None:
        """Runs on the writer's thread."""
        # First what to save: what it needs was to be copied before.
        taken = self._taken
        try:
            self.make_folder()
            while self._copies:
                self._copies.popleft()()
            if taken is not None:
                self._file.save(taken)
        except FileNotFoundError:
            # The tree was removed meanwhile, and with it the folder, which nobody makes again.
            logger.info("decisions on a work tree that was removed are not kept")
        except OSError as error:
            sentence = NOT_SAVED.format(error.strerror)
            queues.on_ui_thread(partial(self._warn, sentence))


def _copy_texts(own: Taken, folder: str, decisions: Iterable[TreeDecision]) -> None:
    for decision in decisions:
        data = own.read_text(decision.digest) if decision.digest else None
        if data is not None:
            with suppress(OSError):
                store_text(folder, data)
