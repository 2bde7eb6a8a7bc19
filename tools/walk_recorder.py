"""Which functions of the package lead from the beginning of something to its end, on any thread.

Counted is what a reader of the way from the beginning to the end has to read:

- A call counts if it came before the end in the order of causes: earlier in the same step of a
  thread, or in the step that set this one off, before it did so, and so on back to the beginning.
  A step is a thread, or one call from outside: by a loop, by Sublime's queues, or by Sublime for
  a command or a listener, also in the midst of a step that changes something in the editor. So
  nothing counts that merely runs at the same time: what polls, saves, logs, hears of everything
  that happens, or shows something else; nor what the way sets off and does not wait for. What gives
  Sublime an answer (whether a command is enabled, which one is meant) belongs to the step that
  asks.
- The end is what the one who waits sees: the bytes on the stream, or what is drawn in a view. A
  way with several of these has the causes of all.
- What stands within a function belongs to it: comprehensions, lambdas, functions of its own. It
  counts as that function, for it is read there.
- A coroutine or a generator that goes on counts when it does something itself, and not when it only
  hands on to the one that it awaits.
- Imports, and code that Python makes itself (methods of dataclasses), are not counted.

So the numbers are below those of all that runs meanwhile (of Accept by two fifths). Those of
another rule say nothing beside them.
"""

from __future__ import annotations

import _thread
import asyncio
import inspect
import os
import sys
import threading
import time
from types import CodeType, FrameType
from typing import Any, Callable, Dict, List, Tuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# What is counted: the package as the editor loads it.
COMPANION, PLUGIN = os.path.join(ROOT, "companion", ""), os.path.join(ROOT, "plugin.py")
EDITOR = os.path.join(ROOT, "headless", "")
# Seconds in which what was done before ends, so that no step of it is joined by the next: longer
# than what waits for the user to stop moving, for a save, and for the status bar.
QUIET = 1.5
# Seconds that work for another thread waits: longer than the giver needs to come to wait for the
# answer. An answer that is there before would not be seen to set anything off.
PAUSE = 0.01

PAUSING = inspect.CO_COROUTINE | inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR
# Whether a call is seen by the one who waits.
IsEnd = Callable[[FrameType], bool]
# A line of a file, and a name there.
Place = Tuple[int, str]


class Step:
    """What one thread does without a break, set off by another step when `since` calls had been
    noted; by none, if it comes from outside."""

    def __init__(self, cause: Step | None = None, since: int = 0) -> None:
        self.cause = cause
        self.since = since


class Recorder:
    """Watches the threads that begin while it is entered, and those that call `watch_this_thread`;
    follows what they set off over threads and loops, and over all that `follow` names."""

    def __init__(self, quiet: float = QUIET) -> None:
        self._quiet = quiet
        # In their order on all threads; only while something is recorded.
        self._calls: List[Tuple[Step, CodeType]] = []
        self._ends: List[Tuple[Step, int]] = []
        self._is_end: IsEnd | None = None
        self._here = threading.local()
        # A file's name is compared once, and the file read once.
        self._is_ours: Dict[str, bool] = {}
        self._places: Dict[str, Dict[Place, Place]] = {}
        self._replaced: List[Tuple[Any, str, Any]] = []

    def __enter__(self) -> Recorder:
        threading.setprofile(self._note_event)
        for name in ("call_soon", "call_at", "call_soon_threadsafe"):
            self.follow(asyncio.BaseEventLoop, name)
        self._follow_threads()
        self._follow_sockets()
        return self

    def __exit__(self, *_error: object) -> None:
        threading.setprofile(None)
        while self._replaced:
            setattr(*self._replaced.pop())

    def watch_this_thread(self) -> None:
        sys.setprofile(self._note_event)

    def follow(self, owner: type, name: str) -> None:
        """What this method is given to call is set off by the step that gives it."""
        given = getattr(owner, name)

        def follow(receiver: Any, *arguments: Any, **named: Any) -> Any:
            first = next(index for index, each in enumerate(arguments) if callable(each))
            work = self._as_step(arguments[first], self._current_step(), len(self._calls))
            return given(receiver, *arguments[:first], work, *arguments[first + 1 :], **named)

        self._replace_method(owner, name, follow)

    def record(self, walk: Callable[[], object], is_end: IsEnd) -> List[str]:
        """The functions from `walk` to its ends, as "file:line name", in the order of their first
        calls."""
        time.sleep(self._quiet)
        self._calls, self._ends = [], []
        self._is_end = is_end
        try:
            walk()
        finally:
            self._is_end = None
        return list(dict.fromkeys(map(self._name_function, self._codes_before_the_ends())))

    def _codes_before_the_ends(self) -> List[CodeType]:
        until: Dict[Step, int] = {}
        causes: List[Tuple[Step | None, int]] = [*self._ends]
        while causes:
            step, count = causes.pop()
            if step is not None and until.get(step, -1) < count:
                until[step] = count
                causes.append((step.cause, step.since))
        calls = enumerate(self._calls)
        return [code for index, (step, code) in calls if index < until.get(step, 0)]

    def _note_event(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "return" and self._is_counted(frame.f_code):
            self._end_call(frame, is_answer=argument is not None)
        elif self._is_end is not None and event == "c_call":
            self._note_call(frame)
        elif self._is_end is not None and event == "call" and not _goes_on(frame):
            self._note_call(frame.f_back)
            if self._is_counted(frame.f_code) and self._is_called_by_editor(frame):
                self._begin_call(frame)
            self._note_call(frame)
            if self._is_end(frame):
                self._ends.append((self._current_step(), len(self._calls)))

    def _note_call(self, frame: FrameType | None) -> None:
        if frame is not None and self._is_counted(frame.f_code):
            self._calls.append((self._current_step(), frame.f_code))

    def _is_called_by_editor(self, frame: FrameType) -> bool:
        """Whether it is, and not by other code of the package that Python's own code calls."""
        caller = frame.f_back
        while caller is not None and not self._is_counted(caller.f_code):
            if caller.f_code.co_filename.startswith(EDITOR):
                return True
            caller = caller.f_back
        return False

    def _begin_call(self, frame: FrameType) -> None:
        step = self._current_step()
        self._entered_calls().append((frame, step))
        self._here.step = Step(step, len(self._calls))

    def _end_call(self, frame: FrameType, is_answer: bool) -> None:
        entered = self._entered_calls()
        if entered and entered[-1][0] is frame:
            inner, outer = self._current_step(), entered.pop()[1]
            self._here.step = outer
            # In its place: other threads add to the list meanwhile.
            for index in range(inner.since, len(self._calls) if is_answer else 0):
                if self._calls[index][0] is inner:
                    self._calls[index] = (outer, self._calls[index][1])

    def _entered_calls(self) -> List[Tuple[FrameType, Step]]:
        """The calls by the editor in which this thread is, each with the step around it."""
        if not hasattr(self._here, "entered"):
            self._here.entered = []
        entered: List[Tuple[FrameType, Step]] = self._here.entered
        return entered

    def _current_step(self) -> Step:
        step: Step | None = getattr(self._here, "step", None)
        if step is None:
            step = self._here.step = Step()
        return step

    def _as_step(self, work: Callable[..., Any], *cause: Any) -> Callable[..., Any]:
        giver = threading.current_thread()

        def run(*arguments: Any, **named: Any) -> Any:
            before = self._current_step()
            if self._is_end is not None and threading.current_thread() is not giver:
                time.sleep(PAUSE)
            self._here.step = Step(*cause)
            try:
                return work(*arguments, **named)
            finally:
                self._here.step = before

        return run

    def _follow_threads(self) -> None:
        start = threading.Thread.start

        def follow(thread: threading.Thread) -> None:
            cause = self._current_step(), len(self._calls)
            thread.run = self._as_step(thread.run, *cause)  # type: ignore[method-assign]
            start(thread)

        self._replace_method(threading.Thread, "start", follow)
        # Some begin a thread without `threading`, which would watch it.
        begin = _thread.start_new_thread

        def begin_followed(work: Callable[..., object], arguments: Tuple[Any, ...]) -> int:
            run = self._as_step(work, self._current_step(), len(self._calls))

            def watched() -> None:
                self.watch_this_thread()
                run(*arguments)

            return begin(watched, ())

        self._replace_method(_thread, "start_new_thread", begin_followed)

    def _follow_sockets(self) -> None:
        """What a loop calls without having been asked by a step: what comes from outside."""
        run = asyncio.Handle._run
        from_outside = self._as_step(run)
        self._replace_method(asyncio.Handle, "_run", lambda handle: from_outside(handle))

    def _replace_method(self, owner: Any, name: str, method: Callable[..., Any]) -> None:
        self._replaced.append((owner, name, getattr(owner, name)))
        setattr(owner, name, method)

    def _is_counted(self, code: CodeType) -> bool:
        name = code.co_filename
        if name not in self._is_ours:
            path = os.path.abspath(name)
            self._is_ours[name] = path == PLUGIN or path.startswith(COMPANION)
        # Bodies of modules and classes run where they are imported.
        return self._is_ours[name] and bool(code.co_flags & inspect.CO_OPTIMIZED)

    def _name_function(self, code: CodeType) -> str:
        file = os.path.abspath(code.co_filename)
        if file not in self._places:
            with open(file, encoding="utf-8") as opened:
                self._places[file] = _outermost_functions(compile(opened.read(), file, "exec"))
        line, name = self._places[file][code.co_firstlineno, code.co_name]
        return f"{os.path.relpath(file, ROOT).replace(os.sep, '/')}:{line} {name}"


def _goes_on(frame: FrameType) -> bool:
    """Whether this call continues a coroutine or a generator."""
    code = frame.f_code
    if not code.co_flags & PAUSING or frame.f_lasti < 0:
        return False
    # From 3.11 on, the argument of the present instruction, RESUME, says after what; 0 is a start.
    return sys.version_info < (3, 11) or bool(code.co_code[frame.f_lasti + 1] & 3)


def ends_at_writes(*each: bytes) -> IsEnd:
    """The ends are the first writes of each of these words to a socket or a pipe of an asyncio
    loop."""
    transports = tuple(
        os.path.join("asyncio", f"{name}_events.py") for name in ("selector", "unix")
    )
    awaited = set(each)

    def is_end(frame: FrameType) -> bool:
        if frame.f_code.co_name not in ("write", "writelines"):
            return False
        if not frame.f_code.co_filename.endswith(transports):
            return False
        written = frame.f_locals
        parts = written.get("list_of_data", [written.get("data")])
        found = {words for words in awaited for part in parts if words in bytes(part)}
        awaited.difference_update(found)
        return bool(found)

    return is_end


def _outermost_functions(code: CodeType, function: Place | None = None) -> Dict[Place, Place]:
    """The function in which each function stands that a module or class has; itself, if it stands
    in none."""
    found: Dict[Place, Place] = {}
    for each in code.co_consts:
        if isinstance(each, CodeType):
            place = (each.co_firstlineno, each.co_name)
            is_function = bool(each.co_flags & inspect.CO_OPTIMIZED)
            outer = function or (place if is_function else None)
            found.update(_outermost_functions(each, outer))
            found[place] = outer or place
    return found
