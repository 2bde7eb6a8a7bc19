"""What becomes of the user's words about a proposal that is decided, or about an edit that was made
without asking. UI thread only.

A CLI accepts no words with a decision. If it has our extension, they go along with what it sends
its model next. Otherwise they go into its prompt without being sent, if it runs in Terminus, else
onto the clipboard.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Callable

import sublime

from ...base.answer import Unanswered
from ...ide.accepted_edits import Edit
from ...ide.questions import WordsForCli, WordsOnUnasked
from ...ide.service import Companion
from .. import application
from ..stories import Stories, sleep
from ..terminals.cli_terminals import Target, hand_over, terminals, where_to
from .record import DiffRecord

NOTE = "your note"
# Milliseconds from the decision until the CLI's question is gone; its title may not show that.
PROMPT_IS_BACK = 1000
# What the user is told, by whether they accepted; None is known in the CLI's terminal alone.
TAKEN = {
    True: "Your comments go along with the result of the edit.",
    False: "Your note goes along with your next prompt.",
    None: "Your comments go along with what the CLI does next.",
}


class Words:
    """Takes the words to the CLIs of one companion."""

    def __init__(self, companion: Companion, stories: Stories, tell: Callable[[str], None]) -> None:
        self._companion = companion
        self._stories = stories
        self._tell = tell

    def give(self, record: DiffRecord, words: str, is_accepted: bool | None) -> None:
        """To be called before the companion is told of the decision: the CLI may go on at once."""
        if words:
            window = sublime.Window(record.window_id)
            where = (record.window_id, record.session_id, record.path)
            question = WordsForCli(*where, words, is_accepted)
            self._stories.begin(self._give(window, question, TAKEN[is_accepted]), window)

    def give_on_unasked(self, window: sublime.Window, edit: Edit, words: str) -> None:
        """The window is that of the edit's CLI."""
        if words:
            question = WordsOnUnasked(window.id(), edit.turn, edit.client, edit.path, words)
            self._stories.begin(self._give(window, question, TAKEN[None]), window)

    async def _give(
        self, window: sublime.Window, question: WordsForCli | WordsOnUnasked, taken: str
    ) -> None:
        is_given, words = False, question.text
        try:
            if await self._is_taken(question):
                self._tell(taken)
            else:
                await self._into_prompt(window, words)
            is_given = True
        finally:
            if not is_given:
                application.copy(words)

    async def _is_taken(self, question: WordsForCli | WordsOnUnasked) -> bool:
        with suppress(Unanswered):
            return await self._companion.ask(question)
        return False

    async def _into_prompt(self, window: sublime.Window, words: str) -> None:
        """If there is no CLI, or the user chooses none, onto the clipboard."""
        if terminals(window):
            await sleep(PROMPT_IS_BACK)
        target = await where_to(window)
        await hand_over(target or Target(), words, NOTE, self._tell)
