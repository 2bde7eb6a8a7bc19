"""For tests of the adapter that run on a thread of their own, beside the editor's: what happens on
the others is waited for."""

from __future__ import annotations

import threading
import time
from typing import Any, Callable

from GeminiCompanion import plugin
from GeminiCompanion.companion.ide.questions import Question

# Seconds for what is sure to happen.
PATIENCE = 60.0


def until(condition: Callable[[], Any], what: str, seen: Callable[[], Any] = str) -> None:
    """Raises AssertionError, which says what did not happen, and what `seen` gives."""
    deadline = time.monotonic() + PATIENCE
    pause = threading.Event()
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {PATIENCE} s: {what} {seen()}")
        pause.wait(0.001)


def ask_companion(question: Question[Any]) -> Any:
    """What the companion answers, on this thread."""
    answer = plugin._host.companion.ask(question)
    until(lambda: answer.is_there, str(question))
    return answer.result()
