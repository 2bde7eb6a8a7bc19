"""Writes one text with its marks, folds, links and pictures."""

from __future__ import annotations

import json
from typing import Any

from ..base.shown_text import shown_line
from .rendered import LINE, Fold, Link, Mark, Picture, Rendered


class Pen:
    """`turn` is the id of the turn that all links belong to."""

    def __init__(self, turn: str = "", leading: str = "") -> None:
        self.turn = turn
        self._parts = [leading]
        self._marks: list[Mark] = []
        self._folds: list[Fold] = []
        self._links: list[Link] = []
        self._pictures: list[Picture] = []
        # The code points that are written.
        self.at = len(leading)

    def write(self, text: str, *kinds: str) -> None:
        """Write the text with marks of these kinds."""
        start, self.at = self.at, self.at + len(text)
        self._parts.append(text)
        self._marks += [Mark(kind, start, self.at) for kind in kinds if text]

    def write_line(self, text: str, *kinds: str) -> None:
        """A line of ours, which is shown whatever is in it."""
        self.write(f"{LINE} ")
        self.write(shown_line(text), *kinds)
        self.write("\n")

    def write_lines(self, sign: str, text: str, *kinds: str) -> None:
        """Lines of ours with a text that can be shown as it is, the first one behind the sign."""
        for each in text.rstrip("\n").split("\n"):
            self.write(f"{LINE} {sign} ")
            self.write(each, *kinds)
            self.write("\n")
            sign = " " * len(sign)

    def write_link(self, text: str, action: str, *kinds: str, **argument: Any) -> None:
        start = self.at
        self.write(text, *kinds)
        told = json.dumps({"turn": self.turn, **argument}, ensure_ascii=False, sort_keys=True)
        self._links.append(Link(start, self.at, action, told))

    def add_picture(self, picture: Picture) -> None:
        """Its range is written."""
        self._pictures.append(picture)

    def fold_from(self, start: int) -> None:
        """Fold the text from there to before the last line end, with the line end before it: what
        is folded stands behind the line above."""
        if self.at > start:
            self._folds.append(Fold(start - 1, self.at - 1))

    def rendered_text(self) -> Rendered:
        text = "".join(self._parts)
        return Rendered(
            text,
            tuple(self._marks),
            tuple(self._folds),
            tuple(self._links),
            tuple(self._pictures),
        )
