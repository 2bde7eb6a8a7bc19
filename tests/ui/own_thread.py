"""For tests of the adapter that run on a thread of their own, beside the editor's: what happens on
the others is waited for."""

from __future__ import annotations

import time
from typing import Any, Callable

from GeminiCompanion import plugin
from GeminiCompanion.companion.ide.questions import Question

from ..waiting import pause_after

# Seconds for what is sure to happen.
PATIENCE = 180.0


def until(condition: Callable[[], Any], what: str, seen: Callable[[], Any] = str) -> None:
    """Raises AssertionError, which says what did not happen, and what `seen` gives."""
    begin = time.monotonic()
    while not condition():
        waited = time.monotonic() - begin
        if waited > PATIENCE:
            raise AssertionError(f"not within {PATIENCE} s: {what} {seen()}")
        time.sleep(pause_after(waited))


def ask_companion(question: Question[Any]) -> Any:
    """What the companion answers, on this thread."""
    answer = plugin._host.companion.ask(question)
    until(lambda: answer.is_there, str(question))
    return answer.result()
