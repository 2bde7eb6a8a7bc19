"""The symbols of the tabs of a window, kept while a word is being typed. UI thread only."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Callable, Sequence

import sublime

from ...ide.code_queries import FoundCode
from ..code import symbol_index
from ..stories import Slices
from .chat_view import CONVERSATION
from .project_lists import FRESH

# The most tabs that are asked, and the most characters of each.
TABS, LARGE = 20, 1 << 20


@dataclass(frozen=True)
class _Read:
    """What a tab had `at` this time, in this `state`: its path, and the count of its changes."""

    state: tuple[str | None, int]
    at: float
    found: Sequence[FoundCode]


class TabSymbols:
    """`now` gives seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        # By the ids of their views.
        self._read: dict[int, _Read] = {}

    async def symbols_of(self, window: sublime.Window) -> list[FoundCode]:
        """The symbols of tabs that show files, tab by tab."""
        views = (view for view in window.views() if view.file_name() and view.size() <= LARGE)
        asked = [view for view in views if not view.settings().get(CONVERSATION)][:TABS]
        slices = Slices()
        for view in asked:
            if view.is_valid() and not self._is_read(view):
                state = view.file_name(), view.change_count()
                self._read[view.id()] = _Read(state, self._now(), symbol_index.symbols_in(view))
                await slices.yield_when_due()
        ids = [view.id() for view in asked]
        self._read = {id: self._read[id] for id in ids if id in self._read}
        return [found for each in self._read.values() for found in each.found]

    def _is_read(self, view: sublime.View) -> bool:
        known = self._read.get(view.id())
        # Sublime parses a text later than it is there, without a change that is counted.
        return (
            known is not None
            and known.state == (view.file_name(), view.change_count())
            and self._now() - known.at <= FRESH
        )
