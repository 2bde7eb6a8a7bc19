"""An action of the user from beginning to end, as a coroutine on the UI thread. UI thread only.

A story awaits an `Answer`: of the companion, of a thread, of the user (`panels`). Each step is a
call of its own from Sublime's queue, even if the answer is there already, so a story never blocks
the editor, and the order of steps does not depend on the speed of a thread.

What a story keeps to:
- After each await it reads its view again: the user may have typed, or decided.
- All that a claim needs is awaited before it, the record for undoing the edit too. The claim is one
  step, and nothing is awaited after it.
- A pressed *Accept* is a decision: a diff that is closed meanwhile is not rejected silently.
- Its `finally` awaits nothing, and gives back what it held.
"""

from __future__ import annotations

import time
from functools import partial
from inspect import CORO_RUNNING, getcoroutinestate
from typing import Any, Callable, Coroutine, TypeVar, Union

import sublime

from ..base import background
from ..base.answer import Answer, Unanswered
from ..base.log import logger
from . import queues

T = TypeVar("T")
Story = Coroutine[Answer[Any], None, object]
# A story ends with this, if it has not ended before.
End = Union[sublime.View, sublime.Window]

# Seconds of the UI thread at a time.
SLICE = 0.004
FAILED = 'That failed; "Gemini Companion: Show Log" shows more.'


class Stories:
    """The stories that run. A story that is cut gets GeneratorExit at its await, and its `finally`
    runs at once; the awaited answer then comes too late and is dropped. `tell` shows a sentence."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        # Kept until they end: the `finally` of a collected coroutine would run on any thread.
        self._running: dict[Story, tuple[End, ...]] = {}
        self._is_stopped = False

    def begin(self, story: Story, *ends_with: End) -> None:
        """Run the story up to its first await now. It is cut when one of the views or windows
        closes."""
        if self._is_stopped:
            story.close()
            return
        self._running[story] = ends_with
        self._step_story(story)

    def handle_close(self, ended: End) -> None:
        """The view or window closes: cut the stories that end with it."""
        for story, ends_with in list(self._running.items()):
            if ended in ends_with:
                self._cut_story(story)

    def cut_ended(self) -> None:
        """Cut the stories whose views are gone; to be called from time to time, because some closes
        have no event (docs/sublime.md 4.6)."""
        for story, ends_with in list(self._running.items()):
            if not all(end.is_valid() for end in ends_with):
                self._cut_story(story)

    def stop(self) -> None:
        """Cut all stories, and begin no more."""
        self._is_stopped = True
        for story in list(self._running):
            self._cut_story(story)

    def _step_story(self, story: Story) -> None:
        """The boundary of stories: a failure is logged, and the user is told."""
        if story not in self._running:
            return
        try:
            awaited = story.send(None)
        except StopIteration:
            self._running.pop(story, None)
        except Unanswered as error:
            # The companion has logged the failure already.
            self._running.pop(story, None)
            self._tell(str(error))
        except Exception:
            self._running.pop(story, None)
            logger.exception("%s failed", story.__qualname__)
            self._tell(FAILED)
        else:
            if story in self._running:
                step = partial(self._step_story, story)
                awaited.when_there(partial(queues.on_ui_thread, step))
            else:
                # The story has closed what it ends with.
                self._close_story(story)

    def _cut_story(self, story: Story) -> None:
        self._running.pop(story, None)
        # A story that cuts itself runs up to its next await.
        if getcoroutinestate(story) != CORO_RUNNING:
            self._close_story(story)

    def _close_story(self, story: Story) -> None:
        try:
            story.close()
        except Exception:
            logger.exception("%s failed at its end", story.__qualname__)


async def run_in_thread(work: Callable[[], T]) -> T | None:
    """The result of the work in a thread. The boundary of work: None if it fails, which is
    logged."""
    try:
        return await background.start_work(work)
    except Exception:
        logger.exception("work in a thread failed")
        return None


def sleep(milliseconds: int = 0) -> Answer[None]:
    """A pause, to be awaited; 0 lets everything else in the queue run first."""
    answer: Answer[None] = Answer()
    queues.on_ui_thread(partial(answer.give, None), milliseconds)
    return answer


class Slices:
    """Makes way for everything else on the UI thread from time to time."""

    def __init__(self) -> None:
        self._since = time.perf_counter()

    async def yield_when_due(self) -> None:
        if time.perf_counter() - self._since > SLICE:
            await sleep()
            self._since = time.perf_counter()
