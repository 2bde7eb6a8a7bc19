"""Writes to a disk soon, in a thread of its own, for a loop that must not wait."""

from __future__ import annotations

import threading
from typing import Callable

from .log import logger
from .thread_ends import wait_for_end

# Seconds that the thread waits for more work before it ends.
LINGERING = 2.0
# Seconds to wait for another thread of the same name that is still writing to a slow disk.
HANDOVER = 10.0


class WriteBehind:
    """May be called from any thread. The thread runs while there is work, and a moment longer, so
    nobody has to end it.

    With a `name` it begins only when older threads of that name have ended: those of an earlier
    load of the package."""

    def __init__(self, name: str = "") -> None:
        self._name = f"GeminiCompanion writer {name}".rstrip()
        self._waits = bool(name)
        # In the order in which it came; each piece once.
        self._work: dict[Callable[[], None], None] = {}
        self._has_thread = self._is_working = False
        self._changed = threading.Condition()

    def do_soon(self, work: Callable[[], None]) -> None:
        """Do the work soon; once, however often it is asked for before it begins."""
        with self._changed:
            self._work[work] = None
            self._go_on()

    def finish(self) -> None:
        """Wait until all work is done; returns at once if the system gives no thread for it."""
        with self._changed:
            if self._work:
                self._go_on()
            self._changed.wait_for(
                lambda: not self._has_thread or not (self._work or self._is_working)
            )

    def _go_on(self) -> None:
        """Wake the thread, or start one. If the system gives none, the work waits for the next
        call."""
        if self._has_thread:
            self._changed.notify_all()
            return
        others = [
            thread for thread in threading.enumerate() if self._waits and thread.name == self._name
        ]
        thread = threading.Thread(
            target=self._run_work, args=(others,), name=self._name, daemon=True
        )
        try:
            thread.start()
        except RuntimeError as error:
            logger.error("nothing can be written now: %s", error)
        else:
            self._has_thread = True

    def _run_work(self, others: list[threading.Thread]) -> None:
        """The boundary of the thread: a bug here costs only the work that has it."""
        for thread in others:
            wait_for_end(thread, HANDOVER)
        while True:
            with self._changed:
                self._is_working = False
                if not self._work:
                    self._changed.notify_all()
                    self._changed.wait(LINGERING)
                if not self._work:
                    self._has_thread = False
                    return
                work = next(iter(self._work))
                del self._work[work]
                self._is_working = True
            try:
                work()
            except Exception:
                logger.exception("something was not written")
