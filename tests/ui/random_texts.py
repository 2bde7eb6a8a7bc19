"""Texts of files and proposals for random tests, from a `random.Random` of the caller's."""

from __future__ import annotations

import random

from .reference import rows

# Few, so that many rows are alike; some with what a reader of lines could take for a line end, of
# more than one column or code unit, or of a syntax.
LINES = (
    *("a", "b", "c", "", "}", "\tx = 1", "  y", "日本語の行", "e\u0301 \U0001f600 \u05d0\u05d1"),
    *("sep\u2028\x0b\x0c\x85.", "<b>&amp;</b>", "long " * 60),
)
MARK = "\ufeff"


def text(chance: random.Random) -> str:
    """That of a file: of none to forty rows, the last one perhaps without an end."""
    count = chance.choice((0, 1, 1, 2, 3, 5, 8, 13, 20, 40))
    some = chance.sample(LINES, chance.choice((2, 3, 5, len(LINES))))
    found = "".join(chance.choice(some) + "\n" for _ in range(count))
    return found[:-1] if chance.random() < 0.2 else found


def large(chance: random.Random, size: int) -> str:
    """One of about so many code points, in rows of which each fifth is like many others."""
    line = f"row %d of {chance.random()} in a file that is large\n"
    some = [each + "\n" for each in chance.sample(LINES, 2)]
    count = size // len(line)
    return "".join(line % at if at % 5 else chance.choice(some) for at in range(count))


def on_disk(chance: random.Random, found: str) -> bytes:
    """The text as a file has it, with whatever line ends and perhaps a byte order mark."""
    end = chance.choice(("\n", "\n", "\r\n", "\r", ""))
    parts = found.split("\n")
    ends = [end or chance.choice(("\n", "\r\n", "\r")) for _ in parts[1:]]
    mixed = "".join(part + its_end for part, its_end in zip(parts, [*ends, ""]))
    return ((MARK if chance.random() < 0.15 else "") + mixed).encode("utf-8")


def edited(chance: random.Random, old: str) -> str:
    """What a model might make of the text: rows added, deleted and replaced, at the start, in the
    middle and at the end; all of it, or nothing; and often the same again and again."""
    found = rows(old)
    for _ in range(chance.choice((0, 1, 1, 2, 3, 6))):
        at = chance.choice((0, len(found), chance.randint(0, len(found))))
        gone = chance.choice((0, 1, 1, 2, 5, len(found)))
        come = chance.choice((0, 0, 1, 1, 2, 5))
        found[at : at + gone] = [chance.choice(LINES) + "\n" for _ in range(come)]
    if chance.random() < 0.3:
        found = _everywhere(chance, rows(old))
    new = "".join(found)
    if chance.random() < 0.15:
        new = new[:-1] if new.endswith("\n") else new + "\n"
    if new.startswith(MARK) and chance.random() < 0.3:
        new = new[1:]
    return new


def _everywhere(chance: random.Random, found: list[str]) -> list[str]:
    """The same change wherever one of the rows stands."""
    if not found:
        return []
    row, other = chance.choice(found), chance.choice(LINES) + "\n"
    instead = chance.choice(([], [other], [row, other], [other, row]))
    return [each for line in found for each in (instead if line == row else [line])]
