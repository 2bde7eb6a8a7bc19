"""What is shown of texts that are too long for a document: their beginning and their end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Mapping

from .amounts import many
from .markdown import fenced
from .pen import Pen
from .rendered import BUTTON, LINE, SHOW_OUTPUT, WARNING

# Code points of a text that are shown at its beginning and at its end.
HEAD, TAIL = 12_000, 4_000
# Within so many code points from there, a text is cut at the end of a line.
NEAR = 1_000
# Code points of a text, and entries of a list, that are shown of arguments.
MAX_TEXT, MAX_ENTRIES = 2_000, 100


@dataclass(frozen=True)
class Excerpt:
    """`head` is all of a text that is not cut; of one that is, `cut` says how much is left out
    before `tail`."""

    head: str
    cut: str = ""
    tail: str = ""

    def write(self, pen: Pen, language: str, call: str) -> None:
        """Between fences. `call` is the id of the call whose whole text can be shown."""
        if self.head:
            pen.write(fenced(self.head, language))
        if self.cut:
            pen.write(f"{LINE}   … {self.cut} are left out here  ", WARNING)
            pen.link("[Show all]", SHOW_OUTPUT, BUTTON, call=call)
            pen.write("\n")
            pen.write(fenced(self.tail, language))


def is_cut(text: str, head: int = HEAD) -> bool:
    """Whether an excerpt of the text leaves something out."""
    return len(text) > head + TAIL


def excerpt(text: str, safe: Callable[[str], str], head: int = HEAD) -> Excerpt:
    """`safe` is a function of `base/shown_text`, `head` the number of code points at the
    beginning."""
    if not is_cut(text, head):
        return Excerpt(safe(text))
    end, start = head, len(text) - TAIL
    end = text.rfind("\n", end - NEAR, end) + 1 or end
    start = text.find("\n", start, start + NEAR) + 1 or start
    lines = text.count("\n", end, start)
    cut = f"{lines:,} lines" if lines > 1 else many(start - end, "character")
    return Excerpt(safe(text[:end]), cut, safe(text[start:]))


def shortened(args: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments whose long texts and lists are cut."""
    return {str(name): _short(value) for name, value in list(args.items())[:MAX_ENTRIES]}


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > MAX_TEXT:
        return f"{value[:MAX_TEXT]}… {many(len(value) - MAX_TEXT, 'more character')}"
    if isinstance(value, Mapping):
        return shortened(value)
    if isinstance(value, (list, tuple)):
        left = len(value) - MAX_ENTRIES
        more = [f"… {left:,} more"] if left > 0 else []
        return [*map(_short, value[:MAX_ENTRIES]), *more]
    return value
