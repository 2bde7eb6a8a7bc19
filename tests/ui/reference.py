"""What a review has to give, worked out from its texts alone: shares no code with the package.

Changes are quadruples: the old rows from the first to the second number became the new rows from
the third to the fourth, rows counted from 0, ranges without their ends.
"""

from __future__ import annotations

from typing import Collection, Sequence, Tuple

Quadruple = Tuple[int, int, int, int]


def rows(text: str) -> list[str]:
    """Those of a text, each with its line end; the last one may have none."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + parts[-1:] * bool(parts[-1])


def shown(data: bytes | None) -> str:
    """The text of a file, of None where there is none, as a view shows it."""
    return (data or b"").decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def flaw(old: Sequence[str], new: Sequence[str], changes: Sequence[Quadruple]) -> str:
    """Why these are not the changes between the rows; empty where they are. They may be fewer and
    larger than others would be."""
    at_old = at_new = 0
    for number, (old_start, old_end, new_start, new_end) in enumerate(changes):
        if old[at_old:old_start] != new[at_new:new_start]:
            return f"rows above change {number} differ"
        if number and old_start <= at_old:
            return f"change {number} touches the one above"
        if old[old_start:old_end] == new[new_start:new_end]:
            return f"change {number} changes nothing"
        if not (at_old <= old_start <= old_end and at_new <= new_start <= new_end):
            return f"change {number} is out of order"
        at_old, at_new = old_end, new_end
    return "rows below all changes differ" if old[at_old:] != new[at_new:] else ""


def without(
    old: Sequence[str],
    new: Sequence[str],
    changes: Sequence[Quadruple],
    dropped: Collection[int],
) -> str:
    """The new text, with the old rows in place of the changes of these numbers."""
    parts: list[str] = []
    at = 0
    for number, (old_start, old_end, new_start, new_end) in enumerate(changes):
        parts += new[at:new_start]
        parts += old[old_start:old_end] if number in dropped else new[new_start:new_end]
        at = new_end
    return "".join([*parts, *new[at:]])
