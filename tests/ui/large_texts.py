"""A text that is too large to be shown whole, and variants of it.

In the rows of tables, a large text is this one with some rows changed: `10=first` has another one
in place of row 10, from 0, `10=` none, and `10+new` one more behind it.
"""

from __future__ import annotations

LINES = [f"line {number} of a file that is large{40 * '.'}\n" for number in range(1, 30_001)]
OLD = "".join(LINES)


def large_text(words: str) -> str:
    changed = list(LINES)
    for change in words.split() if words not in ("OLD", "nothing") else ():
        number, is_more, row = change.partition("+")
        if is_more:
            changed[int(number)] += row + "\n"
        else:
            number, _, row = change.partition("=")
            changed[int(number)] = row and row + "\n"
    return "" if words == "nothing" else "".join(changed)
