"""What is shown of texts that are too long for a document: their beginning and their end."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any, Callable, Mapping

from .amounts import count_text
from .pen import Pen
from .rendered import BUTTON, LINE, SHOW_OUTPUT, WARNING

# Code points of a text that are shown at its beginning and at its end.
HEAD, TAIL = 12_000, 4_000
# Within so many code points from there, a text is cut at the end of a line.
NEAR = 1_000
# Of arguments: code points of a text, entries of a list, values in all, and lists within lists.
MAX_TEXT, MAX_ENTRIES, MAX_VALUES, MAX_DEPTH = 2_000, 100, 500, 20


@dataclass(frozen=True)
class Excerpt:
    """`head` is all of a text that is not cut; of one that is, `cut` says how much is left out
    before `tail`."""

    head: str
    cut: str = ""
    tail: str = ""

    def write_excerpt(self, pen: Pen, mark_text: Callable[[str], str], call: str) -> None:
        """`mark_text` makes a block of a text, as `fence_text` does. `call` is the id of the call
        whose whole text can be shown."""
        if self.head:
            pen.write(mark_text(self.head))
        if self.cut:
            pen.write(f"{LINE}   … {self.cut} are left out here  ", WARNING)
            pen.write_link("[Show all]", SHOW_OUTPUT, BUTTON, call=call)
            pen.write("\n")
            pen.write(mark_text(self.tail))


def is_cut(text: str, head: int = HEAD) -> bool:
    """Whether an excerpt of the text leaves something out."""
    return len(text) > head + TAIL


def make_excerpt(text: str, safe: Callable[[str], str], head: int = HEAD) -> Excerpt:
    """`safe` is a function of `base/shown_text`, `head` the number of code points at the
    beginning."""
    if not is_cut(text, head):
        return Excerpt(safe(text))
    end, start = head, len(text) - TAIL
    end = text.rfind("\n", end - NEAR, end) + 1 or end
    start = text.find("\n", start, start + NEAR) + 1 or start
    lines = text.count("\n", end, start)
    cut = f"{lines:,} lines" if lines > 1 else count_text(start - end, "character")
    return Excerpt(safe(text[:end]), cut, safe(text[start:]))


def shorten_args(args: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of which long texts and lists are cut, and what lies deep or comes late is left
    out."""
    return _Shortening().shorten_mapping(args, MAX_DEPTH)


class _Shortening:
    """Shortens the arguments of one call."""

    def __init__(self) -> None:
        # The values that may still be shown.
        self._room = MAX_VALUES

    def shorten_mapping(self, found: Mapping[str, Any], depth: int) -> dict[str, Any]:
        taken = islice(found.items(), self._take_room(len(found)))
        return {str(name): self._shorten_value(value, depth) for name, value in taken}

    def _shorten_value(self, value: Any, depth: int) -> Any:
        """The value, shortened, with at most `depth` lists within each other."""
        if isinstance(value, str) and len(value) > MAX_TEXT:
            return f"{value[:MAX_TEXT]}… {count_text(len(value) - MAX_TEXT, 'more character')}"
        if not isinstance(value, (Mapping, list, tuple)):
            return value
        if not depth:
            return "…"
        if isinstance(value, Mapping):
            return self.shorten_mapping(value, depth - 1)
        count = self._take_room(len(value))
        more = [f"… {len(value) - count:,} more"] if count < len(value) else []
        return [*(self._shorten_value(item, depth - 1) for item in value[:count]), *more]

    def _take_room(self, wanted: int) -> int:
        """How many of so many values are shown."""
        count = min(wanted, MAX_ENTRIES, self._room)
        self._room -= count
        return count
