"""All of what a question is about, in a tab, where neither the chat nor a review shows it. UI
thread only."""

from __future__ import annotations

from typing import Container, Iterable

import sublime

from ...base.comparison import compare_texts
from ...base.shown_text import shown_line, spell_hidden
from ...base.unified import unified_text
from ...chat.question import ChatQuestion
from ...chat.waiting_block import is_shown_in_part
from .. import texts
from ..stories import Stories, run_in_thread
from .question_places import Key
from .question_sight import FullKey
from .waiting_questions import WaitingQuestion

NAME = "Question about {}"


class WholeTexts:
    def __init__(self, stories: Stories) -> None:
        self._stories = stories
        # The questions of which a tab was opened.
        self._opened: set[FullKey] = set()

    def show_if_needed(self, asked: WaitingQuestion, window: sublime.Window) -> bool:
        """Open a tab where one is needed; False if it is not, or was opened before."""
        if not self.is_missing(asked):
            return False
        self.show_text(asked, window)
        return True

    @property
    def keys(self) -> Iterable[FullKey]:
        """The questions of which a tab was opened."""
        return self._opened

    def is_missing(self, asked: WaitingQuestion) -> bool:
        """Whether a tab is needed and was not opened."""
        return asked.key not in self._opened and _is_needed(asked.question)

    def show_text(self, asked: WaitingQuestion, window: sublime.Window) -> None:
        self._opened.add(asked.key)
        self._stories.begin(_open_text(asked.question, window), window)

    def keep_only(self, conversation: str, waiting: Container[Key]) -> None:
        """Forget the conversation's other questions."""
        self._opened = {key for key in self._opened if key[0] != conversation or key[1] in waiting}


async def _open_text(question: ChatQuestion, window: sublime.Window) -> None:
    text = await run_in_thread(lambda: _question_text(question))
    view = texts.open_tab(window, NAME.format(question.title), text or "")
    view.set_scratch(True)
    view.set_read_only(True)


def _is_needed(question: ChatQuestion) -> bool:
    is_unseen = bool(question.diffs) and not question.has_reviews
    return is_unseen or is_shown_in_part(question)


def _question_text(question: ChatQuestion) -> str:
    """What is asked, and its edits one after the other. Runs in a thread."""
    parts = [question.text]
    parts += ["\n\n"] if question.text and question.diffs else []
    for each in question.diffs:
        path = shown_line(each.path)
        parts.append(
            spell_hidden(unified_text(compare_texts(each.old_text, each.new_text), path, path))
        )
    return "".join(parts)
