"""How much of each question the user has had before their eyes. Knows no question. UI thread only.

Sublime has no event for scrolling: what is in sight is looked at now and then, and before a
decision.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Callable, Container, Hashable

import sublime

from ..review.open_diffs import is_on_top

# Seconds for which something has to be in sight before a command decides on it: the key may have
# been meant for what stood there before.
MOMENT = 0.5


@dataclass
class _Seen:
    """What was seen of a question: from its beginning to the offset `end`; `since` is when its
    beginning came into sight, at its place."""

    since: float
    end: int = 0


class Sight:
    """`now` is a clock in seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._seen: dict[Hashable, _Seen] = {}

    def keep_only(self, keys: Container[Hashable]) -> None:
        """Forget all others."""
        self._seen = {key: seen for key, seen in self._seen.items() if key in keys}

    def restart_count(self, keys: Container[Hashable]) -> None:
        """Count anew for these questions: they are in another place now, which is where something
        else was a moment ago."""
        for key, seen in self._seen.items():
            if key in keys:
                seen.since = self._now()

    def note_visible(self, view: sublime.View, key: Hashable, start: int, end: int) -> None:
        """What is visible of the range now counts as seen, if all before it was seen, too; and all
        of it, where its end is visible after its beginning was: the user has scrolled through."""
        window, visible = view.window(), view.visible_region()
        if window is None or not is_on_top(window, view):
            return
        seen = self._seen.get(key)
        reached = seen.end if seen is not None else 0
        is_end = seen is not None and visible.begin() <= end <= visible.end()
        if not is_end and not visible.begin() <= start + reached <= visible.end():
            return
        if seen is None:
            seen = self._seen[key] = _Seen(self._now())
        seen.end = max(reached, min(visible.end(), end) - start)

    def is_whole(self, key: Hashable, length: int) -> bool:
        """Whether all of it was in sight, and not only since just now."""
        seen = self._seen.get(key)
        return seen is not None and seen.end >= length and self._now() - seen.since >= MOMENT

    def scroll_to(self, view: sublime.View, key: Hashable, start: int, end: int) -> None:
        """Scroll to what was not seen yet, or to all of it, as far as there is room."""
        self.note_visible(view, key, start, end)
        visible, seen = view.visible_region(), self._seen.get(key)
        reached = seen.end if seen is not None else 0
        if reached >= end - start:
            reached = 0
            if visible.begin() <= start and end <= visible.end():
                return
        left, _top = view.viewport_position()
        top = view.text_to_layout(start + reached)[1]
        view.set_viewport_position((left, max(0.0, top)), False)
        self.note_visible(view, key, start, end)
