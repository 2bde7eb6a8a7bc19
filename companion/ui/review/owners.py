"""The owners of proposals: the session of a CLI, the agent of a chat, or whoever writes it where
nobody waits; what they hear of the user's decision, and of the user's words about it. UI
thread only.

A CLI accepts no words with a decision. If it has our extension, they go along with what it sends
its model next. Otherwise they go into its prompt without being sent, if it runs in Terminus, else
onto the clipboard.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Callable, Mapping, Sequence

import sublime

from ...base.answer import Unanswered
from ...edits.edit import Edit
from ...ide.companion import Companion
from ...ide.events import DiffAccepted, DiffEdited, DiffRejected
from ...ide.questions import WordsForCli, WordsOnUnasked
from .. import application
from ..stories import Stories, sleep
from ..terminals.cli_terminals import TextTarget, hand_over, open_terminals, where_to
from .diff_kinds import DiffKind
from .ending import ClaimedDiff
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


class WordsToClis:
    """Takes the user's words to the CLIs of one companion."""

    def __init__(
        self,
        companion: Companion,
        stories: Stories,
        tell: Callable[[str], None],
        warn: Callable[[str], None],
    ) -> None:
        self._companion = companion
        self._stories = stories
        self._tell = tell
        self._warn = warn

    def give_words(self, record: DiffRecord, words: str, is_accepted: bool | None) -> None:
        """Give the CLI the user's words; to be called before the companion is told of the decision,
        because the CLI may go on at once."""
        if words:
            window = sublime.Window(record.window_id)
            question = WordsForCli(
                record.window_id, record.session_id, record.path, words, is_accepted
            )
            self._stories.begin(self._deliver_words(window, question, TAKEN[is_accepted]), window)

    def give_on_unasked(self, window: sublime.Window, edit: Edit, words: str) -> None:
        """The window is that of the edit's CLI."""
        if words:
            question = WordsOnUnasked(window.id(), edit.turn, edit.client, edit.path, words)
            self._stories.begin(self._deliver_words(window, question, TAKEN[None]), window)

    async def _deliver_words(
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
                application.copy_text(words)

    async def _is_taken(self, question: WordsForCli | WordsOnUnasked) -> bool:
        with suppress(Unanswered):
            return await self._companion.ask(question)
        return False

    async def _into_prompt(self, window: sublime.Window, words: str) -> None:
        """If there is no CLI, or the user chooses none, onto the clipboard."""
        if open_terminals(window):
            await sleep(PROMPT_IS_BACK)
        target = await where_to(window)
        await hand_over(target or TextTarget(), words, NOTE, self._warn)


class Owner(ABC):
    """It hears of each decision once, from whoever has claimed that. `words` are the user's own
    about the edit, or empty."""

    @abstractmethod
    def hear_acceptance(self, claimed: ClaimedDiff, words: str, before: str | None) -> None:
        """The user wants the text of the diff; None is the one that was proposed. `before` is as in
        DiffAccepted."""

    def edits_of(self, record: DiffRecord, edit: Edit) -> Sequence[Edit]:
        """What an acceptance makes of the user's files, as edits that can be undone; `edit` is that
        of the file with the accepted text. Asked once that was heard."""
        return (edit,)

    @abstractmethod
    def hear_rejection(self, claimed: ClaimedDiff, words: str) -> None:
        """They do not want the edit."""

    @abstractmethod
    def hear_typing(self, record: DiffRecord, text: str) -> None:
        """They have typed, and may do so again: this is the text as it is now."""


class CliSessions(Owner):
    """The sessions of CLIs, which the companion knows."""

    def __init__(self, companion: Companion, words: WordsToClis) -> None:
        self._companion = companion
        self._words = words

    def hear_acceptance(self, claimed: ClaimedDiff, words: str, before: str | None) -> None:
        record = claimed.record
        # The words first: the CLI may go on at once.
        self._words.give_words(record, words, is_accepted=True)
        text = claimed.text
        where = record.window_id, record.session_id, record.path
        self._companion.post(DiffAccepted(*where, text or "", before, is_as_proposed=text is None))

    def hear_rejection(self, claimed: ClaimedDiff, words: str) -> None:
        record = claimed.record
        self._words.give_words(record, words, is_accepted=False)
        self._companion.post(DiffRejected(record.window_id, record.session_id, record.path))

    def hear_typing(self, record: DiffRecord, text: str) -> None:
        if self._companion.is_running:
            self._companion.post(DiffEdited(record.window_id, record.session_id, record.path, text))


# The owners of proposals. What is decided on an edit that is made already is done to its file.
Owners = Mapping[DiffKind, Owner]
