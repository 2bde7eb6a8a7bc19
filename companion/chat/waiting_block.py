"""The blocks of what waits for the user; they stand below all others."""

from __future__ import annotations

from dataclasses import replace
from typing import Tuple

from ..base.shown_text import show_hidden, shown_line
from .amounts import count_text, path_in
from .block import Block, Blocks, Drawing
from .edit_counts import EditCount
from .excerpt import is_cut, make_excerpt
from .markdown import indent_text
from .pen import Pen
from .question import MOST_REVIEWS, PERMISSION, ChatQuestion
from .rendered import (
    ALLOW_ALL_SHOWN,
    ANSWER,
    BUTTON,
    DECIDE,
    DECLINE,
    DENY_ALL,
    DIM,
    LINE,
    OPEN_EDIT,
    QUESTION,
    WARNING,
    Patch,
    Rendered,
)

# Code points of what is asked at its beginning: what is left out of it has to be looked at.
MAX_TEXT = 256 * 1024
NO_REVIEWS = (
    f"With more than {MOST_REVIEWS} files there are no reviews: a file's name shows its edit in a"
    " tab."
)
# From so many questions on, all can be answered at once, by links with these labels.
SEVERAL = 2
ALLOW_SHOWN, DENY_EACH = "Allow all shown", "Deny all"
ASKED_ANEW = "The agent has changed what it asks."
# Fields of a form that are named in the document.
MAX_FIELDS = 20
Key = Tuple[str, str, str]


def is_shown_in_part(question: ChatQuestion) -> bool:
    """Whether its text is too long for a document."""
    return is_cut(question.text, MAX_TEXT)


class WaitingBlocks:
    """All that waits, the oldest first, below all blocks: each question is a block of its own, so
    that its answer costs the same however many others wait. Where several ask for permission, a
    row for all of them is below."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._blocks = Blocks()
        self._waiting: dict[Key, QuestionBlock] = {}
        self._questions: tuple[ChatQuestion, ...] | None = ()
        # How many questions there were.
        self._count = 0
        self._row, self._row_length = AllRow(), 0

    @property
    def questions(self) -> tuple[ChatQuestion, ...]:
        """What waits, in one object as long as nothing changes."""
        if self._questions is None:
            self._questions = tuple(block.question for block in self._waiting.values())
        return self._questions

    def add_question(self, question: ChatQuestion, edits: tuple[EditCount, ...] = ()) -> None:
        key = question.kind, question.turn, question.id
        block = self._waiting.get(key)
        if block is None:
            self._count += 1
            block = self._waiting[key] = QuestionBlock(self._count, self._folder)
            self._row.change_count(question, 1)
        else:
            block.is_anew = True
        block.show_question(question, edits)
        self._blocks.show_block(block)
        self._questions = None

    def settle_question(self, kind: str, turn: str, id: str) -> None:
        """It waits no more."""
        block = self._waiting.pop((kind, turn, id), None)
        if block is not None:
            self._row.change_count(block.question, -1)
            block.is_over = True
            self._blocks.show_block(block)
            self._questions = None

    def end_turn(self, turn: str) -> None:
        """Nothing of this turn waits any more."""
        for kind, _turn, id in [key for key in self._waiting if key[1] == turn]:
            self.settle_question(kind, turn, id)

    def take_patches(self, begin: int) -> tuple[Patch, ...]:
        """What changed since the last call; the first question begins at this place."""
        patches = self._blocks.take_patches(begin)
        if not self._waiting:
            # Of those that are over, nothing is kept.
            self._blocks = Blocks()
        drawing = self._row.draw()
        if drawing is None:
            return patches
        start, row = begin + self._blocks.length, drawing[1]
        patch = Patch(self._row.id, start, start + self._row_length, row)
        self._row_length = len(row.text)
        return (*patches, patch)


class AllRow(Block):
    """The answers to all questions for permission. Empty where fewer than two wait. Another block
    each time it comes back: what came meanwhile is below its old place."""

    def __init__(self) -> None:
        super().__init__("all:0", "")
        self._count = self._comings = 0

    def change_count(self, question: ChatQuestion, by: int) -> None:
        """So many more wait like this one."""
        self._count += by if question.kind == PERMISSION else 0

    def draw(self) -> Drawing:
        was_empty = self._drawn is None or not self._drawn.text
        if was_empty and self._count < SEVERAL:
            return None
        if was_empty:
            self._comings += 1
            self.id = f"all:{self._comings}"
        return super().draw()

    def render_block(self) -> Rendered:
        pen = Pen()
        if self._count >= SEVERAL:
            pen.write(f"\n{LINE}   {count_text(self._count, 'question')} wait:  ")
            pen.write_link(f"[{ALLOW_SHOWN}]", ALLOW_ALL_SHOWN, BUTTON)
            pen.write("  ")
            pen.write_link(f"[{DENY_EACH}]", DENY_ALL, BUTTON)
            pen.write("\n")
        return pen.rendered_text()


class QuestionBlock(Block):
    """One question; empty once it is over."""

    def __init__(self, number: int, folder: str) -> None:
        super().__init__(f"question:{number}", "")
        # Something is above: what the agent said, or its call.
        self.leading = "\n"
        self.is_anew = False
        self.question = ChatQuestion("", "", "", "")
        self._folder = folder
        self._edits: tuple[EditCount, ...] = ()

    def show_question(self, question: ChatQuestion, edits: tuple[EditCount, ...]) -> None:
        self.turn, self._edits = question.turn, edits
        self.question = replace(question, block=self.id)

    def render_block(self) -> Rendered:
        if self.is_over:
            return Rendered("")
        pen = Pen(self.turn, self.leading)
        if self.question.kind == PERMISSION:
            self._write_permission(pen, self.question)
        else:
            self._write_elicitation(pen, self.question)
        return pen.rendered_text()

    def _write_permission(self, pen: Pen, question: ChatQuestion) -> None:
        pen.write_line(f"? May it use {question.title}?", QUESTION)
        if self.is_anew:
            pen.write_line(f"  {ASKED_ANEW}", WARNING)
        for edit in self._edits:
            pen.write(f"{LINE}   ")
            path = shown_line(path_in(self._folder, edit.path))
            pen.write_link(path, OPEN_EDIT, call=question.id, path=edit.path)
            pen.write("  ")
            edit.write_count(pen)
            pen.write("\n")
        if self._edits and not question.has_reviews:
            pen.write_line(f"  {NO_REVIEWS}", DIM)
        # All of it, as far as an editor can show it at once.
        make_excerpt(question.text, str, MAX_TEXT).write_excerpt(pen, indent_text, question.id)
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
