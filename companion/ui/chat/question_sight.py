"""How much of each question the user has had before their eyes. UI thread only.

Sublime has no event for scrolling: what is in sight is looked at now and then, and before a
decision.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Callable, Iterable, Tuple

import sublime

from ..review.open_diffs import is_on_top
from .question_places import Key

# A conversation, and one of its questions.
FullKey = Tuple[str, Key]
# Offsets in a question, from and to.
Part = Tuple[int, int]
# Seconds for which something has to be in sight before a command decides on it: the key may have
# been meant for what stood there before.
MOMENT = 0.5


@dataclass
class _Seen:
    """What was seen of a question: `parts` of it by offsets from and to, in order, since its
    beginning came into sight, which was at `since`; `last` is when some of it was in sight last."""

    since: float
    last: float
    parts: list[Part] = field(default_factory=list)


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
        """What is visible of the range now counts as seen, once its beginning was visible. What was
        passed between two looks does not: nobody knows whether it was ever drawn."""
        seen = self._seen.get(key)
        if visible.begin() > (end if seen is not None else start) or visible.end() < start:
            return
        if seen is None:
            seen = self._seen[key] = _Seen(self._now(), self._now())
        seen.last = self._now()
        part = max(visible.begin(), start) - start, min(visible.end(), end) - start
        seen.parts = _join_parts([*seen.parts, part])

    def unseen_part(self, key: FullKey, length: int) -> Part | None:
        """The first part that was not in sight, of a question of this length; None if there is
        none."""
        seen = self._seen.get(key)
        parts = seen.parts if seen is not None else []
        if not parts:
            return 0, length
        following = parts[1][0] if len(parts) > 1 else length
        return (parts[0][1], following) if parts[0][1] < length else None

    def is_begun(self, key: FullKey) -> bool:
        """Whether its beginning was in sight."""
        return key in self._seen

    def is_whole(self, key: FullKey, length: int) -> bool:
        """Whether all of it was in sight, and not only since just now, at its place."""
        seen = self._seen.get(key)
        if seen is None or self.unseen_part(key, length) is not None:
            return False
        return self._now() - max(seen.since, self._moved.get(key[0], seen.since)) >= MOMENT

    def was_read(self, key: FullKey, length: int) -> bool:
        """Whether all of it was in sight, and for a while, wherever it is now."""
        seen = self._seen.get(key)
        is_seen = seen is not None and self.unseen_part(key, length) is None
        return seen is not None and is_seen and seen.last - seen.since >= MOMENT

    def has_moved(self, conversation: str) -> bool:
        """Whether questions of the conversation have moved just now."""
        moved = self._moved.get(conversation)
        return moved is not None and self._now() - moved < MOMENT

    def scroll_to(self, view: sublime.View, key: FullKey, start: int, end: int) -> None:
        """Scroll to what was not seen yet, or to all of it, as far as there is room."""
        self._note_view(view, key, start, end)
        visible, unseen = view.visible_region(), self.unseen_part(key, end - start)
        if unseen is None and visible.begin() <= start and end <= visible.end():
            return
        left, _top = view.viewport_position()
        top = view.text_to_layout(start + (unseen[0] if unseen is not None else 0))[1]
        view.set_viewport_position((left, max(0.0, top)), False)
        self._note_view(view, key, start, end)

    def _note_view(self, view: sublime.View, key: FullKey, start: int, end: int) -> None:
        visible = visible_part(view)
        if visible is not None:
            self.note_visible(visible, key, start, end)


def _join_parts(parts: Iterable[Part]) -> list[Part]:
    """In order, and those joined of which nothing is between but a line end."""
    found: list[Part] = []
    for begin, end in sorted(parts):
        if found and begin <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found


def visible_part(view: sublime.View) -> sublime.Region | None:
    """What of the view is in sight; None if it is covered."""
    window = view.window()
    if window is None or not is_on_top(window, view):
        return None
    return view.visible_region()
