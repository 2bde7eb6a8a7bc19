"""Quick panels and input panels, as a person at a terminal sees and answers them."""

from __future__ import annotations

from typing import Any, List, Optional

from .sides import make_printable


def question_lines(question: Any) -> List[str]:
    """A quick panel's items, the one under the bar marked; nothing of an input panel."""
    found = [question.caption] if question.caption and question.items is not None else []
    for number in range(question.count()):
        bar = ">" if number == question.highlighted else " "
        found.append("%s %d  %s" % (bar, number + 1, " - ".join(question.rows(number))))
    return [make_printable(line) for line in found]


def line_of_bar(question: Any) -> int:
    """Where the item under the bar stands among the lines."""
    return int(question.highlighted) + (1 if question.caption else 0)


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
