"""A line that is asked for below the picture."""

from __future__ import annotations

from typing import Callable, Optional, TypeVar

from headless.keys import LineKeys

from .screen import AnyScreen

T = TypeVar("T")


class LinePrompt:
    def __init__(self, screen: AnyScreen) -> None:
        self._screen = screen

    def ask(self, next_key: LineKeys, prompt: str, text: str = "") -> Optional[str]:
        """The line that the user types; None if they leave it."""
        self._screen.asks()
        line = next_key.line(prompt, text)
        self._screen.asked()
        return line

    def lend(self, next_key: LineKeys, work: Callable[[], T]) -> T:
        """Another program has the terminal while it works."""
        self._screen.asks()
        with next_key.paused():
            result = work()
        self._screen.asked()
        return result
