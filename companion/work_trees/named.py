"""Some names of many, for a sentence. Strangers chose them, so they are bounded and shown with
whatever a reader would not see in them. Pure.

    Named.of(["a", "b"])                        a, b
    Named.of(str(n) for n in range(12))         0, 1, 2, 3, 4, 5, 6, 7 and 4 more
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Callable, Iterable

from ..base.shown_text import shown_line

# Names in a sentence, and characters of each.
FEW, LENGTH = 8, 80


@dataclass(frozen=True)
class Named:
    """`count` is the number of all, and `first` are the first of them as they are shown. `digest`
    is another one if any of all is; empty if there are none."""

    count: int = 0
    first: tuple[str, ...] = ()
    digest: str = ""

    @classmethod
    def of(cls, names: Iterable[str], mark: Callable[[str], object] = str) -> Named:
        """A name is another one if its `mark` is."""
        first: list[str] = []
        count, digest = 0, hashlib.sha256()
        for name in names:
            if count < FEW:
                first.append(shown_name(name))
            count += 1
            digest.update(ascii((name, mark(name))).encode("ascii"))
        return cls(count, tuple(first), digest.hexdigest() if count else "")

    def __bool__(self) -> bool:
        return self.count > 0

    def __str__(self) -> str:
        more = self.count - len(self.first)
        return ", ".join(self.first) + (f" and {more} more" if more else "")

    def say(self, one: str, many: str) -> str:
        """The sentence for one, or that for many with their number in the place of {}."""
        return (one if self.count == 1 else many.format(self.count)) + f": {self}."


def shown_name(name: str) -> str:
    """The name in one line, its end first to go."""
    # What is in no encoding cannot be shown.
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    shown = shown_line(text[: LENGTH + 1])
    return shown if len(text) <= LENGTH else shown[:LENGTH] + "…"
