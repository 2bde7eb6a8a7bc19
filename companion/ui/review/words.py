"""What becomes of the user's words about a proposal that is decided. UI thread only.

A CLI accepts no words with a decision. If it has our extension, they go along with what it sends
its model next. Otherwise they go into its prompt without being sent, if it runs in Terminus, else
onto the clipboard.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Callable

import sublime

from ...ide.questions import Unanswered, WordsForCli
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
            self._stories.begin(self._give(window, record, words, is_accepted), window)

    async def _give(
        self, window: sublime.Window, record: DiffRecord, words: str, is_accepted: bool | None
    ) -> None:
        is_given = False
        try:
            if await self._is_taken(record, words, is_accepted):
                self._tell(TAKEN[is_accepted])
            else:
                await self._into_prompt(window, words)
            is_given = True
        finally:
            if not is_given:
                application.copy(words)

    async def _is_taken(self, record: DiffRecord, words: str, is_accepted: bool | None) -> bool:
        where = (record.window_id, record.session_id, record.path)
        with suppress(Unanswered):
            return await self._companion.ask(WordsForCli(*where, words, is_accepted))
        return False

    async def _into_prompt(self, window: sublime.Window, words: str) -> None:
        """If there is no CLI, or the user chooses none, onto the clipboard."""
        if terminals(window):
            await sleep(PROMPT_IS_BACK)
        target = await where_to(window)
        await hand_over(target or Target(), words, NOTE, self._tell)
