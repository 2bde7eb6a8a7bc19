"""Which functions of the package run, on any thread, while something is done."""

from __future__ import annotations

import inspect
import os
import sys
import threading
import time
from collections import Counter
from types import CodeType, FrameType
from typing import Any, Callable, Dict, List, Set

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# What is counted: the package as the editor loads it.
COMPANION, PLUGIN = os.path.join(ROOT, "companion", ""), os.path.join(ROOT, "plugin.py")
# Parts of the function that they stand in.
PARTS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")

# Seconds without a call after which what was done before counts as ended: longer than what waits
# for the user to stop moving, for a save, and for the status bar.
QUIET = 0.7


class Recorder:
    """Watches threads that begin after `watch_new_threads`, and those that call
    `watch_this_thread`. What polls is left out, with all that it calls: first `learn_polling`."""

    def __init__(self) -> None:
        self._found: Dict[CodeType, None] = {}
        self._calls: Counter[CodeType] = Counter()
        self._polling: Set[CodeType] = set()
        self._note: Callable[[FrameType], None] = _nothing
        # A file's name is compared once.
        self._is_ours: Dict[str, bool] = {}

    def watch_new_threads(self) -> None:
        threading.setprofile(self._event)

    def watch_this_thread(self) -> None:
        sys.setprofile(self._event)

    def learn_polling(self, idle: Callable[[], object]) -> None:
        """Whatever is called from outside of the package again and again while `idle` runs, by a
        timer or a loop, polls."""
        self._calls.clear()
        self._note = self._note_call_from_outside
        idle()
        self._note = _nothing
        self._polling = {code for code, count in self._calls.items() if count > 1}

    def wait_until_quiet(self) -> None:
        """Until nothing of the package has run for a moment, but what polls."""
        while self.record(lambda: time.sleep(QUIET)):
            pass

    def record(self, walk: Callable[[], object]) -> List[str]:
        """The functions that run while `walk` does, as "file:line name", in the order of their
        first calls. Comprehensions belong to their functions; what is imported is not counted."""
        self._found = {}
        self._note = self._note_walk
        try:
            walk()
        finally:
            self._note = _nothing
        # Another thread may still be about to note something.
        return [self._named(code) for code in list(self._found)]

    def _event(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and self._note is not _nothing and self._counts(frame.f_code):
            self._note(frame)

    def _counts(self, code: CodeType) -> bool:
        name = code.co_filename
        if name not in self._is_ours:
            path = os.path.abspath(name)
            self._is_ours[name] = path == PLUGIN or path.startswith(COMPANION)
        # Bodies of modules and classes run where they are imported.
        return self._is_ours[name] and bool(code.co_flags & inspect.CO_OPTIMIZED)

    def _note_call_from_outside(self, frame: FrameType) -> None:
        if [code for code in self._stack(frame) if not _drives(code)] == [frame.f_code]:
            self._calls[frame.f_code] += 1

    def _note_walk(self, frame: FrameType) -> None:
        if frame.f_code.co_name not in PARTS and frame.f_code not in self._found:
            if not self._polling.intersection(self._stack(frame)):
                self._found[frame.f_code] = None

    def _stack(self, frame: FrameType) -> List[CodeType]:
        """The package's functions that are being called, from the one of the frame outwards."""
        codes = []
        each: FrameType | None = frame
        while each is not None:
            if self._counts(each.f_code):
                codes.append(each.f_code)
            each = each.f_back
        return codes

    def _named(self, code: CodeType) -> str:
        path = os.path.relpath(os.path.abspath(code.co_filename), ROOT).replace(os.sep, "/")
        return f"{path}:{code.co_firstlineno} {code.co_name}"


def _drives(code: CodeType) -> bool:
    """Whether it takes the steps of coroutines: these may poll, but it does not."""
    return code.co_name == "_step" and code.co_filename.endswith("stories.py")


def _nothing(_frame: FrameType) -> None:
    pass
