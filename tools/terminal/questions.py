"""Quick panels and input panels, as a person at a terminal sees and answers them."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

from headless.keys import LineKeys

from .decisions import Decisions
from .line_prompt import LinePrompt
from .shown_editor import ShownEditor
from .sides import make_printable, shorten_text, wrap_text

# Before each line of a question that a panel shows.
QUESTION = "▏ "
# Between the label of an item and its details.
BETWEEN = " - "


def question_lines(question: Any, width: int) -> List[str]:
    """A quick panel's items in at most `width` columns, the one under the bar marked; nothing of an
    input panel."""
    found = _caption_lines(question, width)
    for number in range(question.count()):
        found += _item_lines(question, number, width)
    return found


def line_of_bar(question: Any, width: int) -> int:
    """Where the item under the bar begins among the lines."""
    before = max(int(question.highlighted), 0)
    lines = (len(_item_lines(question, number, width)) for number in range(before))
    return len(_caption_lines(question, width)) + sum(lines)


def _caption_lines(question: Any, width: int) -> List[str]:
    is_shown = question.caption and question.items is not None
    return [shorten_text(make_printable(question.caption), width)] if is_shown else []


def _item_lines(question: Any, number: int, width: int) -> List[str]:
    """One line, or two of an item with details that do not fit; of an item with lines of an agent's
    question, all of it."""
    bar = ">" if number == question.highlighted else " "
    rows = [make_printable(row) for row in question.rows(number)]
    head = "%s %d  " % (bar, number + 1)
    line = head + BETWEEN.join(rows)
    if len(line) <= width:
        return [line]
    if any(row.startswith(QUESTION) for row in rows):
        parts = [part for row in rows for part in wrap_text(row, width - len(head))]
    elif len(rows) > 1:
        first, rest = _divide_rows(rows, width - len(head))
        parts = [first, shorten_text(rest, width - len(head))]
    else:
        return [shorten_text(line, width)]
    return [head + parts[0], *(" " * len(head) + part for part in parts[1:])]


def _divide_rows(rows: Sequence[str], width: int) -> Tuple[str, str]:
    """As many of the rows as fit, and the others; the first one in any case."""
    count = 1
    while count < len(rows) - 1 and len(BETWEEN.join(rows[: count + 1])) <= width:
        count += 1
    return shorten_text(BETWEEN.join(rows[:count]), width), BETWEEN.join(rows[count:])


def move_bar(question: Any, key: str) -> Optional[int]:
    """The item to which a key moves the bar, from 0; None for a key that moves nothing."""
    steps = {"up": -1, "k": -1, "down": 1, "j": 1}
    if key not in steps or not question.count():
        return None
    return int(question.highlighted + steps[key]) % int(question.count())


def chosen_item(question: Any, key: str) -> Optional[int]:
    """The item that a key chooses, from 0; -1 for one that closes the list, None for all others."""
    if key == "escape":
        return -1
    if key == "enter":
        return int(question.highlighted)
    return int(key) - 1 if key.isdigit() and 0 < int(key) <= question.count() else None


def input_prompt(question: Any) -> str:
    """What an input panel asks for."""
    return "%s: " % (question.caption or "Text").rstrip(": ")


def answer_question(editor: Any, question: Any, index: int, text: Optional[str] = None) -> None:
    """Answer it, in whatever window it is; one that was closed meanwhile is left alone. On the UI
    thread."""
    for window in editor.windows:
        if window.question is question:
            window.answer(index, text)


class Answering:
    """Answers what is asked by keys."""

    def __init__(
        self, editor: Any, shown: ShownEditor, decisions: Decisions, prompt: LinePrompt
    ) -> None:
        self._editor = editor
        self._shown = shown
        self._decisions = decisions
        self._prompt = prompt

    def ask_text(self, question: Any, next_key: LineKeys) -> None:
        """Ask for the text of an input panel."""
        text = self._prompt.ask(next_key, input_prompt(question), question.view.text.characters)
        if text is None:
            self._note_answer("")
        self._editor.ui(answer_question, self._editor, question, -1, text)

    def press(self, question: Any, key: str, next_key: LineKeys) -> None:
        """Answer a quick panel by a key, or move the bar in it; ask for an input panel's text."""
        if question.items is None:
            self.ask_text(question, next_key)
            return
        moved = move_bar(question, key)
        if moved is not None:
            self._editor.ui(question.highlight, moved)
            return
        chosen = chosen_item(question, key)
        # A word that is typed here must not go on as commands that accept and reject.
        if chosen is not None:
            self._note_answer(question.rows(chosen)[0] if chosen >= 0 else "")
            self._editor.ui(answer_question, self._editor, question, chosen)

    def _note_answer(self, label: str) -> None:
        if self._shown.current is not None:
            self._decisions.note_answer(self._shown.current, label)
