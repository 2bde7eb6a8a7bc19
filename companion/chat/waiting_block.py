"""The block of all that waits for the user; it stands below all others."""

from __future__ import annotations

from typing import Tuple

from ..base.shown_text import show_hidden, shown_line
from .amounts import path_in
from .block import Block, Drawing
from .edit_counts import EditCount
from .excerpt import is_cut, make_excerpt
from .pen import Pen
from .question import MOST_REVIEWS, PERMISSION, ChatQuestion
from .rendered import (
    ANSWER,
    BUTTON,
    DECIDE,
    DECLINE,
    DIM,
    LINE,
    OPEN_EDIT,
    QUESTION,
    WARNING,
    Rendered,
)

# Code points of what is asked at its beginning: what is left out of it has to be looked at.
MAX_TEXT = 256 * 1024
NO_REVIEWS = (
    f"More than {MOST_REVIEWS} files have no reviews: a file's name shows its edit in a tab."
)
ASKED_ANEW = "The agent has changed what it asks."
# Fields of a form that are named in the document.
MAX_FIELDS = 20
Key = Tuple[str, str, str]


def is_shown_in_part(question: ChatQuestion) -> bool:
    """Whether its text is too long for a document."""
    return is_cut(question.text, MAX_TEXT)


class WaitingBlock(Block):
    """Empty as long as nothing waits."""

    def __init__(self, folder: str) -> None:
        super().__init__("foot", "")
        self._folder = folder
        self._questions: dict[Key, tuple[ChatQuestion, tuple[EditCount, ...]]] = {}
        # Those that the agent has changed while they waited.
        self._anew: set[Key] = set()
        self._is_changed = False

    @property
    def questions(self) -> tuple[ChatQuestion, ...]:
        return tuple(question for question, _edits in self._questions.values())

    def add_question(self, question: ChatQuestion, edits: tuple[EditCount, ...] = ()) -> None:
        key = question.kind, question.turn, question.id
        if key in self._questions:
            self._anew.add(key)
        self._questions[key] = question, edits
        self._is_changed = True

    def settle_question(self, kind: str, turn: str, id: str) -> None:
        """It waits no more."""
        self._anew.discard((kind, turn, id))
        if self._questions.pop((kind, turn, id), None) is not None:
            self._is_changed = True

    def end_turn(self, turn: str) -> None:
        """Nothing of this turn waits any more."""
        for kind, _turn, id in [question for question in self._questions if question[1] == turn]:
            self.settle_question(kind, turn, id)

    def draw(self) -> Drawing:
        """Not with every event of a turn: a command can be long."""
        is_changed, self._is_changed = self._is_changed, False
        return super().draw() if is_changed else None

    def render_block(self) -> Rendered:
        pen = Pen("", self.leading if self._questions else "")
        for number, (key, (question, edits)) in enumerate(self._questions.items()):
            pen.turn = question.turn
            pen.write("\n" if number else "")
            if question.kind == PERMISSION:
                self._write_permission(pen, question, edits, key in self._anew)
            else:
                self._write_elicitation(pen, question)
        return pen.rendered_text()

    def _write_permission(
        self, pen: Pen, question: ChatQuestion, edits: tuple[EditCount, ...], is_anew: bool
    ) -> None:
        pen.write_line(f"? May it use {question.title}?", QUESTION)
        if is_anew:
            pen.write_line(f"  {ASKED_ANEW}", WARNING)
        for edit in edits:
            pen.write(f"{LINE}   ")
            path = shown_line(path_in(self._folder, edit.path))
            pen.write_link(path, OPEN_EDIT, call=question.id, path=edit.path)
            pen.write("  ")
            edit.write_count(pen)
            pen.write("\n")
        if edits and not question.has_reviews:
            pen.write_line(f"  {NO_REVIEWS}", DIM)
        # All of it, as far as an editor can show it at once.
        make_excerpt(question.text, str, MAX_TEXT).write_excerpt(pen, "sh", question.id)
        for number, option in enumerate(question.options):
            pen.write("  " if number else f"{LINE}   ")
            told = {"call": question.id, "outcome": option.outcome}
            pen.write_link(f"[{option.label}]", DECIDE, BUTTON, revision=question.revision, **told)
        pen.write("\n")

    def _write_elicitation(self, pen: Pen, question: ChatQuestion) -> None:
        pen.write_lines("?", question.title, QUESTION)
        for field in question.fields[:MAX_FIELDS]:
            pen.write_lines(" ", show_hidden(field.title or field.name), DIM)
        left = len(question.fields) - MAX_FIELDS
        if left > 0:
            pen.write_lines(" ", f"… {left} more", DIM)
        if question.url:
            pen.write_lines(" ", shown_line(question.url))
        pen.write(f"{LINE}   ")
        pen.write_link("[Answer]", ANSWER, BUTTON, elicitation=question.id)
        pen.write("  ")
        pen.write_link("[Decline]", DECLINE, BUTTON, elicitation=question.id)
        pen.write("\n")
