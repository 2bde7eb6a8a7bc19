"""Markdown of others within our document, which cannot reach beyond its own part: fences that it
leaves open are closed, no line of it begins as ours do, what nobody would see is spelled out, and
other texts are put between fences.

A text may come in any pieces; the result depends on the whole only.
"""

from __future__ import annotations

import re
import sys
from copy import copy
from dataclasses import dataclass

from ..base.shown_text import is_unseen
from .rendered import MARKERS
from .spelled_prose import SpelledProse

# Code points of a line that are looked at: no fence that anybody writes is longer.
MAX_LINE = 1000
# Items of lists that begin in one line: each of them reads the rest of the line again.
MAX_ITEMS = 32
# Line ends in a row that are kept.
MAX_BLANK = 1000
# What makes a line one of a block of code.
INDENT = "    "

FENCE = re.compile(r"`{3,}")
FENCE_LINE = re.compile(r" *(?:```|~~~)")
_OPENING = re.compile(r"(?P<fence>`{3,}(?=[^`]*$)|~{3,})")
_ITEM = re.compile(r"(?P<sign> *(?:[-*+]|\d{1,9}[.)]))(?P<blanks> +|$)")
_BLANK = re.compile(rf"([\r\n]{{{MAX_BLANK}}})[\r\n]+")
# The first line of a block of code.
_FIRST_LINE = re.compile(r"(?P<fence>`{3,}|~{3,})[\w+-]*\n")
# At the beginning of a line of somebody else: what may be invisible, and then a sign of ours.
_LIKE_OURS = re.compile(rf"^([^ -~\t\n{MARKERS}]*)(?=[{MARKERS}])", re.MULTILINE)


def fence_text(text: str, language: str = "") -> str:
    """Between fences that are longer than every one in the text; ends with a line end."""
    text = escape_signs(with_line_ends(text)).rstrip("\n")
    fence = "`" * (1 + max((len(fence) for fence in FENCE.findall(text)), default=2))
    return f"{fence}{language}\n{text}\n{fence}\n"


def fence_command(text: str) -> str:
    """Between fences, in the colours of a shell."""
    return fence_text(text, "sh")


def indent_text(text: str) -> str:
    """The text as a block of code without fences: each line after four blanks; ends with a line
    end."""
    lines = with_line_ends(text).rstrip("\n").split("\n")
    return "".join(f"{INDENT}{line}\n" for line in lines)


def unfence_text(text: str) -> str:
    """What is between the fences of a text that is one block of code; another text as it is."""
    block = with_line_ends(text).strip("\n")
    found = _FIRST_LINE.match(block)
    if found is None:
        return text
    fence, rest = found["fence"], block[found.end() :]
    # No pattern for all of it: the text may be as long as a message of the agent.
    inside = rest[: -len(fence)]
    if not rest.endswith(fence) or fence in inside:
        return text
    return inside[:-1] if inside.endswith("\n") else inside


def with_line_ends(text: str) -> str:
    """The text with line ends as a view has them."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def escape_signs(text: str, before: str = "") -> str:
    """The text with a space before the sign of each line that would look like one of ours, also
    behind characters that nobody sees. `before` is what stands in the line that the text
    continues."""
    if not is_unseen(before):
        # Whatever one sees does for a pattern, and it may be long.
        before = "x"
    return _LIKE_OURS.sub(_indent_sign, before + text)[len(before) :]


def _indent_sign(found: re.Match[str]) -> str:
    return found[1] + " " if is_unseen(found[1]) else found[1]


@dataclass(frozen=True)
class Fence:
    """One that is open: its characters, the quotation that it stands in, the column of the list's
    item that it belongs to, and its own."""

    characters: str
    quote: str
    item: int
    column: int

    @property
    def closing(self) -> str:
        return f"{self.quote}{' ' * self.column}{self.characters}"

    @property
    def depth(self) -> int:
        """The depth of the quotation."""
        return self.quote.count(">")


@dataclass(frozen=True)
class MarkdownState:
    """Where a text stands after a line: the open fence, and the columns of the items of the list,
    the innermost last; the list stands in so many quotations."""

    fence: Fence | None = None
    items: tuple[int, ...] = ()
    depth: int = 0

    @property
    def closing(self) -> str:
        """What has to follow the text: a line end, and the fence that closes it."""
        return "\n" if self.fence is None else f"\n{self.fence.closing}\n"

    def state_after(self, line: str) -> MarkdownState:
        """Source: CommonMark 0.31.2, "Container blocks", "Fenced code blocks"."""
        line, fence = line[:MAX_LINE].expandtabs(4), self.fence
        prefix, rest = _split_quotes(line, MAX_LINE if fence is None else fence.depth)
        if fence is None:
            return self._state_outside(prefix, rest)
        told, column = rest.strip(), _indent_column(rest)
        # Quotations and items of lists end their fences.
        if prefix.count(">") < fence.depth or (told and column < fence.item):
            return MarkdownState(None, self.items, self.depth).state_after(line)
        is_close = told.startswith(fence.characters) and not told.strip(fence.characters[0])
        is_close = is_close and column < fence.item + 4
        return MarkdownState(None, self.items, self.depth) if is_close else self

    def _state_outside(self, prefix: str, rest: str) -> MarkdownState:
        if not rest.strip():
            return self
        depth = prefix.count(">")
        known = self.items if depth == self.depth else ()
        items = [0, *(column for column in known if column <= _indent_column(rest))]
        found = _ITEM.match(rest)
        while (
            found is not None and _indent_column(rest) < items[-1] + 4 and len(items) <= MAX_ITEMS
        ):
            items.append(_content_of(found))
            rest = " " * found.end() + rest[found.end() :]
            found = _ITEM.match(rest)
        column = _indent_column(rest)
        opening = _OPENING.match(rest.strip()) if column < items[-1] + 4 else None
        fence = opening and Fence(opening.group("fence"), prefix, items[-1], column)
        return MarkdownState(fence, tuple(items[1:]), depth)


def _content_of(item: re.Match[str]) -> int:
    """The column in which an item's text begins: an empty one, or one that begins with indented
    code, has it behind one blank."""
    is_near = len(item.group("blanks")) <= 4 and item.end() < len(item.string)
    return item.end() if is_near else item.end("sign") + 1


def _split_quotes(line: str, depth: int) -> tuple[str, str]:
    """The signs of so many quotations at most, and the rest of the line."""
    found = re.match(f"(?: {{0,3}}> ?){{0,{depth}}}", line)
    end = found.end() if found else 0
    return line[:end], line[end:]


def _indent_column(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


class Prose:
    """Markdown that grows. The last line ends of what is there are held back, because nothing may
    follow, and so is the beginning of a terminal's colour. `limit` is the number of code points
    that are kept."""

    def __init__(self, limit: int) -> None:
        # The code points that are left out.
        self.cut = 0
        self._left = limit
        self._parts: list[str] = []
        self._size = 0
        self._held = ""
        self._spelled = SpelledProse()
        self._place = MarkdownState()
        # The beginning of the last line.
        self._line = ""

    @property
    def size(self) -> int:
        """The code points of `text`."""
        return self._size

    @property
    def text(self) -> str:
        """The text without the last line end."""
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""

    @property
    def end(self) -> str:
        """What has to follow the text: a line end, and the fence that closes it."""
        return self._place.state_after(self._line).closing

    def end_before(self, ahead: str) -> str:
        """What follows the text while it is known that these characters come next: they themselves,
        and what closes them."""
        ahead = copy(self._spelled).add_piece(ahead) if self._left else ""
        ahead, _held = self._shown_part(ahead)
        *lines, last = (self._line + ahead).split("\n")
        place = self._place
        for line in lines:
            place = place.state_after(line)
        return ahead + place.state_after(last).closing

    def add_piece(self, piece: str) -> str:
        """What is new at the end of `text`; may be empty."""
        piece = self._spelled.add_piece(piece)
        self.cut += max(len(piece) - self._left, 0)
        piece = piece[: self._left]
        self._left -= len(piece)
        told, self._held = self._shown_part(piece)
        if told:
            self._parts.append(told)
            self._size += len(told)
            self._follow_lines(told)
        return told

    def _shown_part(self, piece: str) -> tuple[str, str]:
        """What is shown of the next piece, and what is held back."""
        whole = _BLANK.sub(r"\1", self._held + piece)
        told = whole.rstrip("\r\n")
        held = whole[len(told) :] if told or self._size else ""
        if not self._size:
            told = told.lstrip("\r\n")
        return escape_signs(with_line_ends(told), before=self._line), held

    def _follow_lines(self, told: str) -> None:
        *lines, last = told.split("\n")
        for line in lines:
            self._place = self._place.state_after(self._line + line[: MAX_LINE - len(self._line)])
            self._line = ""
        self._line += last[: MAX_LINE - len(self._line)]


def close_markdown(text: str) -> str:
    """A whole text of Markdown; ends with a line end."""
    prose = Prose(sys.maxsize)
    prose.add_piece(text)
    return prose.text + prose.end
