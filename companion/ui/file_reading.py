"""What a disk says, for stories: asked in threads of their own, and waited for a while only."""

from __future__ import annotations

import weakref
from functools import partial
from typing import Callable, TypeVar

from ..base import background, file_content
from ..base.answer import Answer
from ..base.file_content import Original
from . import queues

T = TypeVar("T")


def read_content(path: str) -> Answer[Original]:
    """The content of the file at the absolute path, to be awaited; a note if it cannot be read, or
    not in time."""
    late = Original("", exists=True, note=file_content.LATE)
    return in_time(partial(file_content.read_original, path), late)


def in_time(work: Callable[[], T], late: T) -> Answer[T]:
    """What the work gives in a thread, to be awaited; `late` if that takes too long: a drive in a
    network that is down never answers. Fails with what the work raises."""
    answer = background.start_work(work)
    # The timer must not hold the content of a large file.
    waiting = weakref.ref(answer)

    def give_up() -> None:
        asked = waiting()
        if asked is not None:
            # Only the first answer counts.
            asked.give(late)

    queues.on_ui_thread(give_up, round(file_content.PATIENCE * 1000))
    return answer
