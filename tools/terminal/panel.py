"""The part that can be seen of a list, or of a page, that is longer than its place."""

from __future__ import annotations

from typing import List, Optional


class Panel:
    """What of a list, or of a page, can be seen: `height` lines from the one at `top` on, where it
    is cut."""

    def __init__(self) -> None:
        self.top = 0
        self.height = 0
        self.is_cut = False
        self._first = ""
        self._was_at_end = False

    def move(self, lines: int) -> None:
        self.go_to(self.top + lines)

    def go_to(self, top: int) -> None:
        self.top = top
        self._was_at_end = False

    def shown(
        self,
        lines: List[str],
        room: Optional[int],
        bar: Optional[int],
        keys: str,
        follows: bool = False,
        name: str = "",
    ) -> List[str]:
        """A part of what has this name, or else this first line: at most `room` lines; where that
        is not all, the last one says so, and the `keys` that move it. The one at `bar` is among
        them, where there is one. What `follows` begins with its end, and shows the end as long as
        nobody moves."""
        first = name or (lines[0] if lines else "")
        if first != self._first:
            self._first, self.top, self._was_at_end = first, 0, follows
        if follows and self._was_at_end:
            self.top = len(lines)
        self.is_cut = room is not None and len(lines) > room
        if room is None or not self.is_cut:
            return lines
        self.height = room - 1
        if bar is not None:
            self.top = min(max(self.top, bar - self.height + 1), bar)
        self.top = max(0, min(self.top, len(lines) - self.height))
        self._was_at_end = self._was_at_end or self.top == len(lines) - self.height
        end = self.top + self.height
        place = "lines %d to %d of %d" % (self.top + 1, end, len(lines))
        more = "-- %s --" % "; ".join(filter(None, (place, keys)))
        return [*lines[self.top : end], more]
