"""How much of each question the user has had before their eyes. UI thread only.

Sublime has no event for scrolling: what is in sight is looked at now and then, and before a
decision.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Callable, Iterable, Tuple

import sublime

from ..review.open_diffs import is_on_top
from .question_places import Key

# A conversation, and one of its questions.
FullKey = Tuple[str, Key]
# Seconds for which something has to be in sight before a command decides on it: the key may have
# been meant for what stood there before.
MOMENT = 0.5


@dataclass
class _Seen:
    """What was seen of a question: from its beginning to the offset `end`; `since` is when its
    beginning came into sight, `last` when some of it was in sight last."""

    since: float
    last: float
    end: int = 0


class Sight:
    """What was seen of questions, by their conversations and keys. `now` is a clock in seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._seen: dict[FullKey, _Seen] = {}
        # When questions of a conversation have moved last.
        self._moved: dict[str, float] = {}

    def forget(self, keys: Iterable[FullKey]) -> None:
        """Questions with these keys wait no more."""
        for key in keys:
            self._seen.pop(key, None)

    def restart_count(self, conversation: str) -> None:
        """Count anew for the questions of the conversation: they are in another place now, which is
        where something else was a moment ago."""
        self._moved[conversation] = self._now()

    def note_visible(self, visible: sublime.Region, key: FullKey, start: int, end: int) -> None:
        """What is visible of the range now counts as seen, if all before it was seen, too; and all
        of it, where its end is visible after its beginning was: the user has scrolled through."""
        seen = self._seen.get(key)
        if seen is not None and visible.begin() < end and start < visible.end():
            seen.last = self._now()
        reached = seen.end if seen is not None else 0
        is_end = seen is not None and visible.begin() <= end <= visible.end()
        if not is_end and not visible.begin() <= start + reached <= visible.end():
            return
        if seen is None:
            seen = self._seen[key] = _Seen(self._now(), self._now())
        seen.end = max(reached, min(visible.end(), end) - start)

    def is_whole(self, key: FullKey, length: int) -> bool:
        """Whether all of it was in sight, and not only since just now, at its place."""
        seen = self._seen.get(key)
        if seen is None or seen.end < length:
            return False
        return self._now() - max(seen.since, self._moved.get(key[0], seen.since)) >= MOMENT

    def was_read(self, key: FullKey, length: int) -> bool:
        """Whether all of it was in sight, and for a while, wherever it is now."""
        seen = self._seen.get(key)
        return seen is not None and seen.end >= length and seen.last - seen.since >= MOMENT

    def has_moved(self, conversation: str) -> bool:
        """Whether questions of the conversation have moved just now."""
        moved = self._moved.get(conversation)
        return moved is not None and self._now() - moved < MOMENT

    def scroll_to(self, view: sublime.View, key: FullKey, start: int, end: int) -> None:
        """Scroll to what was not seen yet, or to all of it, as far as there is room."""
        self._note_view(view, key, start, end)
        visible, seen = view.visible_region(), self._seen.get(key)
        reached = seen.end if seen is not None else 0
        if reached >= end - start:
            reached = 0
            if visible.begin() <= start and end <= visible.end():
                return
        left, _top = view.viewport_position()
        top = view.text_to_layout(start + reached)[1]
        view.set_viewport_position((left, max(0.0, top)), False)
        self._note_view(view, key, start, end)

    def _note_view(self, view: sublime.View, key: FullKey, start: int, end: int) -> None:
        visible = visible_part(view)
        if visible is not None:
            self.note_visible(visible, key, start, end)


def visible_part(view: sublime.View) -> sublime.Region | None:
    """What of the view is in sight; None if it is covered."""
    window = view.window()
    if window is None or not is_on_top(window, view):
        return None
    return view.visible_region()
