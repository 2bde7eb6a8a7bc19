"""Two texts side by side in fixed columns, for a terminal; knows no editor."""

from __future__ import annotations

import difflib
import unicodedata
from typing import List, NamedTuple, Optional, Set

# Unchanged lines shown around a change.
CONTEXT = 3
RED, GREEN, DIM, PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[2m", "\x1b[0m"


class Row(NamedTuple):
    """One line of the picture; None on a side where nothing stands. Numbers count from 1."""

    left: Optional[str]
    right: Optional[str]
    left_number: int = 0
    right_number: int = 0
    changed: bool = False


def rows(old: str, new: str) -> List[Row]:
    """All lines of both texts, those that belong together on one row."""
    before, after = old.split("\n"), new.split("\n")
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    result = []
    for tag, low, high, first, last in matcher.get_opcodes():
        for offset in range(max(high - low, last - first)):
            a, b = low + offset, first + offset
            result.append(
                Row(
                    before[a] if a < high else None,
                    after[b] if b < last else None,
                    a + 1,
                    b + 1,
                    tag != "equal",
                )
            )
    return result


def picture(old: str, new: str, width: int, colour: bool) -> List[str]:
    """Lines of at most `width` columns; long unchanged parts are left out."""
    side = max(20, (width - 3) // 2)
    result: List[str] = []
    left_out = False
    everything = rows(old, new)
    near = _near_changes(everything)
    for index, row in enumerate(everything):
        if index in near:
            result.append(_line(row, side, colour))
            left_out = False
        elif not left_out:
            result.append("...".center(side) + " | " + "...".center(side))
            left_out = True
    return result


def _near_changes(everything: List[Row]) -> Set[int]:
    near: Set[int] = set()
    for index, row in enumerate(everything):
        if row.changed:
            near.update(range(index - CONTEXT, index + CONTEXT + 1))
    return near if near else set(range(len(everything)))


def _line(row: Row, side: int, colour: bool) -> str:
    left = _cell(row.left, row.left_number, "-" if row.changed else " ", side)
    right = _cell(row.right, row.right_number, "+" if row.changed else " ", side)
    if not colour:
        return left + " | " + right
    if not row.changed:
        return DIM + left + " | " + right + PLAIN
    return RED + left + PLAIN + " | " + GREEN + right + PLAIN


def _cell(text: Optional[str], number: int, sign: str, side: int) -> str:
    if text is None:
        return " " * side
    return fitted("%4d %s %s" % (number, sign, printable(text)), side)


def printable(text: str) -> str:
    """The text with tabs as spaces and without what a terminal would obey."""
    text = text.replace("\t", "    ")
    return "".join(c if unicodedata.category(c)[0] != "C" else "?" for c in text)


def fitted(text: str, width: int) -> str:
    """The text cut or filled to `width` columns; wide characters take two."""
    used, shown = 0, ""
    for char in text:
        columns = 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if used + columns > width:
            break
        used, shown = used + columns, shown + char
    return shown + " " * (width - used)
