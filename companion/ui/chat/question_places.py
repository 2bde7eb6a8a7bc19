"""Where the questions of a conversation stand in its document. Knows no view."""

from __future__ import annotations

from typing import Mapping, Sequence, Tuple

from ...chat.question import ChatQuestion
from .drawn import DrawnBlock, DrawnDocument

# A question of a conversation: its kind, the turn, its id, and its revision: one that the agent
# changes is another one, which nobody has seen.
Key = Tuple[str, str, str, str]


def key_of(question: ChatQuestion) -> Key:
    return question.kind, question.turn, question.id, question.revision


def find_question_places(
    document: DrawnDocument, waiting: Sequence[ChatQuestion]
) -> Mapping[Key, tuple[int, int]]:
    """Each question's lines, from and to, without the last line end. One that is not drawn is
    missing."""
    wanted = {question.block: key_of(question) for question in waiting}
    found: dict[Key, tuple[int, int]] = {}
    for begin, block in document.blocks_from_end():
        # They stand below all others.
        if len(found) == len(wanted):
            break
        key = wanted.get(block.id)
        if key is not None:
            found[key] = place_in(begin, block)
    return found


def place_in(begin: int, block: DrawnBlock) -> tuple[int, int]:
    """The lines of a question whose block begins there."""
    text = block.drawn.text
    return begin + len(text) - len(text.lstrip("\n")), begin + len(text) - 1
