"""The editor's queues on a virtual loop: the UI thread, the worker, the reader of files."""

from __future__ import annotations

import heapq
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Iterator
from unittest import mock

from headless import running

from ...virtual_loop import STEP
from ...virtual_parts import VirtualParts


class Lane:
    """Stands in for a queue: what is due at the same moment is called in the order of the posts.
    What another thread posts needs a while to arrive. `failed` gets what a callback raises."""

    present: Lane | None = None

    def __init__(self, parts: VirtualParts, failed: Callable[[Exception], None]) -> None:
        self._parts, self._failed = parts, failed
        self._heap: list[tuple[float, int, Callable[[], object]]] = []
        self._count = 0
        self._crossed = 0.0

    def post(self, callback: Callable[[], object], delay: float = 0) -> None:
        due = self._parts.loop.now + max(0.0, delay) / 1000
        if Lane.present is not self:
            due = self._crossed = max(due + self._parts.delay(), self._crossed + STEP)
        self._count += 1
        heapq.heappush(self._heap, (due, self._count, callback))
        self._parts.loop.call_at(due, self._run_first)

    def _run_first(self) -> None:
        """There are as many calls of this as there are callbacks, each when one is due."""
        _due, _count, callback = heapq.heappop(self._heap)
        before, Lane.present = Lane.present, self
        try:
            callback()
        except Exception as error:
            self._failed(error)
        finally:
            Lane.present = before

    def run(self, work: Callable[[], Any]) -> None:
        """Do it as the editor does what the user presses: here and now."""
        before, Lane.present = Lane.present, self
        try:
            work()
        finally:
            Lane.present = before


@contextmanager
def lanes(parts: VirtualParts, failed: Callable[[Exception], None]) -> Iterator[Lane]:
    """The editor's queues are lanes for as long as the block runs, which is on its UI thread; gives
    that thread's."""
    queues = running.current().queues
    with ExitStack() as stack:
        found = [Lane(parts, failed) for _ in range(3)]
        for queue, lane in zip((queues.ui, queues.worker, queues.files), found):
            stack.enter_context(mock.patch.object(queue, "post", lane.post))
        yield found[0]
