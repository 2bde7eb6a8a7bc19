"""Reads files from the disk for stories, in threads of their own."""

from __future__ import annotations

import weakref
from functools import partial

from ..base import background
from ..base.answer import Answer
from ..ide import file_content
from ..ide.file_content import Original
from . import queues


def content(path: str) -> Answer[Original]:
    """The content of the file at the absolute path, to be awaited; a note if it cannot be read, or
    not in time: a drive in a network that is down never answers."""
    answer = background.start(partial(file_content.read_or_note, path))
    # The timer must not hold the content of a large file.
    waiting = weakref.ref(answer)

    def give_up() -> None:
        late = waiting()
        if late is not None:
            # Only the first answer counts.
            late.give(Original("", exists=True, note=file_content.LATE))

    queues.on_ui_thread(give_up, round(file_content.PATIENCE * 1000))
    return answer
