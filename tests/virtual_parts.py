"""Puts a virtual loop under what hands over the ends of work: threads that compute or wait for a
disk, writers, threads with a loop. One seed then decides the order of all ends, for it decides the
loop's delays; nothing else runs. The parts of the product are as they are."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import time
import uuid
from contextlib import contextmanager
from random import Random
from typing import Any, Callable, Iterator
from unittest import mock

from GeminiCompanion.companion.base import background, loop_thread, write_behind
from GeminiCompanion.companion.base.answer import Answer
from GeminiCompanion.companion.base.loop_thread import LoopThread, State
from GeminiCompanion.companion.base.write_behind import WriteBehind

from .virtual_loop import VirtualLoop, VirtualTime

PACKAGE = "GeminiCompanion.companion."
# What work in a thread, or the way from one thread to another, may take, in seconds.
DELAYS = (0.0, 0.0, 0.0005, 0.003, 0.02, 0.2)


class VirtualParts:
    """`loop` runs everything, in the order that the seed decides; `errors` are what the log has of
    failures."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(f"{seed} ends")
        self._names = Random(f"{seed} names")
        self.loop = VirtualLoop(self.delay)
        self._writers: dict[WriteBehind, bool] = {}
        self._threads: dict[LoopThread[Any], asyncio.Task[None]] = {}

    def delay(self) -> float:
        return self.chance.choice(DELAYS) * self.chance.random()

    @contextmanager
    def installed(self) -> Iterator[None]:
        """For as long as the block runs, which is to run the loop."""
        virtual_time = VirtualTime()
        virtual_time.loop = self.loop
        patches: list[Any] = [
            mock.patch.object(background, "start_work", self._start),
            mock.patch.object(WriteBehind, "do_soon", self._soon()),
            mock.patch.object(WriteBehind, "finish", self._finish()),
            mock.patch.object(LoopThread, "start", self._begin()),
            mock.patch.object(LoopThread, "stop", _stop),
            mock.patch.object(LoopThread, "is_alive", self._is_alive()),
            mock.patch.object(uuid, "uuid4", self._uuid),
            mock.patch.object(secrets, "token_hex", self._token),
            mock.patch.object(secrets, "token_urlsafe", self._token),
            # Nothing outlives this anyway.
            mock.patch.object(os, "fsync", lambda descriptor: None),
        ]
        for name, module in sorted(sys.modules.items()):
            if name.startswith(PACKAGE):
                if getattr(module, "time", None) is time:
                    patches.append(mock.patch.object(module, "time", virtual_time))
                if getattr(module, "uuid4", None) is uuid.uuid4:
                    patches.append(mock.patch.object(module, "uuid4", self._uuid))
        for patch in patches:
            patch.start()
        try:
            yield
        finally:
            for patch in reversed(patches):
                patch.stop()
            self.loop.end()

    # ----- names

    def _token(self, size: int = 32) -> str:
        return f"{self._names.getrandbits(8 * size):0{2 * size}x}"

    def _uuid(self) -> Any:
        return uuid.UUID(int=self._names.getrandbits(128))

    # ----- threads

    def _start(self, work: Callable[[], Any]) -> Answer[Any]:
        """Stands in for `background.start_work`."""
        answer: Answer[Any] = Answer()

        def end(value: Any, error: Exception | None) -> None:
            answer.fail(error) if error is not None else answer.give(value)

        self.loop.begin_work(work, end)
        return answer

    def _soon(self) -> Callable[[WriteBehind, Callable[[], None]], None]:
        def soon(writer: WriteBehind, work: Callable[[], None]) -> None:
            writer._work[work] = None
            if not self._writers.get(writer):
                self._writers[writer] = True
                self.loop.call_later(self.delay(), go_on, writer)

        def go_on(writer: WriteBehind) -> None:
            if writer._work:
                _do_next(writer)
                self.loop.call_later(self.delay(), go_on, writer)
            else:
                self._writers[writer] = False

        return soon

    def _finish(self) -> Callable[[WriteBehind], None]:
        def finish(writer: WriteBehind) -> None:
            while writer._work:
                _do_next(writer)

        return finish

    # ----- threads with a loop

    def _begin(self) -> Callable[[LoopThread[Any]], None]:
        def begin(thread: LoopThread[Any]) -> None:
            before = [self._threads[each] for each in self._threads if each._name == thread._name]
            thread._states.append(State.RUNNING)
            self._threads[thread] = self.loop.create_task(_run(thread, before))

        return begin

    def _is_alive(self) -> property:
        def is_alive(thread: LoopThread[Any]) -> bool:
            return thread in self._threads and not self._threads[thread].done()

        return property(is_alive)


def _do_next(writer: WriteBehind) -> None:
    work = next(iter(writer._work))
    del writer._work[work]
    try:
        work()
    except Exception:
        write_behind.logger.exception("something was not written")


async def _run(thread: LoopThread[Any], before: list[asyncio.Task[None]]) -> None:
    """As LoopThread does it, in a task."""
    if before:
        await asyncio.wait(before, timeout=loop_thread.HANDOVER)
    try:
        await thread._serve(thread._receiver_ready)
    except Exception as error:
        thread.problem = loop_thread.sentence_of(error, thread._name, thread._sorry)
    finally:
        thread._wake = None
        thread._calls.clear()
        thread._states.append(State.OVER)
        thread._on_over()


def _stop(thread: LoopThread[Any], call: Callable[[Any], object], join: float = 0.0) -> None:
    """Nobody waits for it: it goes on with the loop."""
    if thread.state is State.RUNNING:
        thread._states.append(State.STOPPING)
    thread.post(call)
