"""Where the questions of a conversation stand in its document. Knows no view."""

from __future__ import annotations

import json
from typing import Mapping, Tuple

from ...chat.question import ChatQuestion
from .drawn import DrawnDocument

# A question of a conversation: its kind, the turn, its id, and its revision: one that the agent
# changes is another one, which nobody has seen.
Key = Tuple[str, str, str, str]


def key_of(question: ChatQuestion) -> Key:
    return question.kind, question.turn, question.id, question.revision


def find_question_places(
    document: DrawnDocument, waiting: tuple[ChatQuestion, ...]
) -> Mapping[Key, tuple[int, int]]:
    """Each question's lines, from and to, in the order in which they stand there. Each ends with
    the line of its last link. One that is not drawn is missing."""
    last = document.last_block
    if last is None:
        return {}
    begin, block = last
    ends: dict[tuple[str, str], int] = {}
    for link in block.drawn.links:
        told = json.loads(link.argument)
        id = told.get("call") or told.get("elicitation")
        line_end = block.drawn.text.find("\n", link.end)
        ends[told.get("turn"), id] = line_end if line_end >= 0 else block.size
    found: dict[Key, tuple[int, int]] = {}
    start = len(block.drawn.text) - len(block.drawn.text.lstrip("\n"))
    for question in waiting:
        end = ends.get((question.turn, question.id))
        if end is not None:
            found[key_of(question)] = begin + start, begin + end
            start = end + 1
    return found
