"""What the companion asks of the editor (`ide/editor`), done in Sublime Text: each request goes
from the loop to the UI thread here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import Callable

import sublime

from ..base import file_content
from ..ide.clis import by_label
from ..ide.editor import YOURS, ClosedDiff, Editor, EditorError, Proposal, Status, UnaskedEdit
from . import queues, texts
from .code.sublime_code import SublimeCode
from .edit_diagnostics import EditDiagnostics
from .keyboard import Keyboard
from .loop_calls import LoopCalls
from .review import comments, ending, large, open_diffs, opening, restoring
from .review.owners import WordsToClis
from .review.proposal_opener import ProposalOpener
from .review.record import DiffRecord, waiting_record
from .review.reviews import Reviews
from .review.terminal_decisions import TerminalDecisions
from .review.unopened_tabs import MOMENT, UnopenedTabs
from .user_messages import UserMessages

# The name of a tab for the text of a diff that its CLI closed.
CLOSED = "your edits of a closed proposal"
GONE = "{cli} has left. Its diff of {file} stays open: decide for the next CLI, or release it."
ALL_GONE = "{cli} has left. Its {count} diffs stay open: decide for the next CLI, or release them."
# Of a CLI whose edits do not outlive its connection.
LOST = "{cli} no longer waits for its diff of {file}: decide in its terminal, and close it here."
ALL_LOST = (
    "{cli} no longer waits for its {count} diffs: decide in its terminal, and close them here."
)
RESTORED = "The proposal for {} is as you last had it; undo brings back the text of its tab."


@dataclass(frozen=True)
class ClosedByClis:
    """What becomes of a diff that its CLI closed: `words` gets what the user wrote about it,
    `save_typed` its record and text, and `terminal_decisions` each that they decided there."""

    words: WordsToClis
    save_typed: Callable[[DiffRecord, str], None]
    terminal_decisions: TerminalDecisions


class SublimeEditor(Editor):
    """What one companion may ask, until its `calls` are stopped. `show_statuses` gets the state of
    all windows, `gather` a window's id and an edit that was made without asking."""

    def __init__(
        self,
        calls: LoopCalls,
        messages: UserMessages,
        keyboard: Keyboard,
        code: SublimeCode,
        edit_diagnostics: EditDiagnostics,
        reviews: Reviews,
        opener: ProposalOpener,
        tabs: UnopenedTabs,
        closed: ClosedByClis,
        show_statuses: Callable[[tuple[Status, ...]], None],
        gather: Callable[[int, UnaskedEdit], None],
    ) -> None:
        self.code = code
        self.edit_watch = edit_diagnostics
        self._calls = calls
        self._messages = messages
        self._keyboard = keyboard
        self._reviews = reviews
        self._opener = opener
        self._tabs = tabs
        self._closed = closed
        self._show_statuses = show_statuses
        self._gather = gather

    async def open_diff(self, window_id: int, proposal: Proposal) -> None:
        present = await file_content.in_time(proposal.path)
        if not present.is_file:
            raise EditorError(present.note)
        digest = await large.digest_for(proposal, present)
        open_review = self._opener.open_review
        await self._calls.run(partial(open_review, window_id, proposal, present, digest))

    async def close_diff(
        self, window_id: int, session_id: str, path: str, decided: bool = True
    ) -> ClosedDiff | None:
        # As soon as it has the answer, the CLI may write the file.
        before = await file_content.in_time(path) if decided else None
        return await self._calls.run(partial(self._close_diff, window_id, session_id, path, before))

    async def restore_text(
        self, window_id: int, session_id: str, path: str, saved: str | None
    ) -> str | None:
        return await self._calls.run(
            partial(self._restore_text, window_id, session_id, path, saved)
        )

    def set_orphaned(self, window_id: int, session_id: str, orphaned: bool) -> None:
        def show_orphaned() -> None:
            changed = opening.set_orphaned(sublime.Window(window_id), session_id, orphaned)
            for view in changed:
                self._reviews.drawing.draw_head(view)
            record = waiting_record(changed[0]) if changed else None
            if record is not None and orphaned:
                # The head of the diff says so as well.
                self._messages.tell_user(_gone_sentence(record, len(changed)))

        queues.on_ui_thread(show_orphaned)

    def show_status(self, statuses: tuple[Status, ...]) -> None:
        self._calls.post(partial(self._show_statuses, statuses))

    def gather_edit(self, window_id: int, edit: UnaskedEdit) -> None:
        self._calls.post(partial(self._gather, window_id, edit))

    async def return_text(self, window_id: int, path: str, text: str, remark: str = YOURS) -> None:
        await self._calls.run(partial(_return_text, window_id, path, text, remark))

    def show_message(self, sentence: str, about: str = "") -> None:
        self._messages.warn_user(sentence, about)

    def withdraw_message(self, about: str) -> None:
        self._messages.withdraw_warning(about)

    def repeat_message(self, sentence: str) -> None:
        self._messages.tell_user(sentence)

    def _close_diff(
        self,
        window_id: int,
        session_id: str,
        path: str,
        before: file_content.Original | None,
    ) -> ClosedDiff | None:
        """`before` is the file's content if the user has decided in the CLI."""
        window = sublime.Window(window_id)
        view = open_diffs.find_diff(window, session_id, path)
        review = self._reviews.review_of(view) if view is not None else None
        text = review.text if review is not None else None
        words = comments.comment_words(view, review) if view is not None else ""
        claimed = ending.claim_diff(view) if view is not None else None
        if claimed is None:
            return None
        self._closed.words.give_words(claimed.record, words, is_accepted=None)
        keyboard = self._keyboard.in_window(window)
        if before is not None:
            if claimed.text is not None and not claimed.record.is_restored:
                # A stop of the companion may overtake the answer: then its book alone has the text.
                self._closed.save_typed(claimed.record, claimed.text)
            self._closed.terminal_decisions.watch_decision(claimed, before)
            ending.close_diff(claimed, keyboard)
        else:
            ending.put_away(claimed, keyboard, CLOSED)
        self._reviews.forget_ended()
        if not claimed.record.is_unopened:
            self._tabs.open_next(window, keyboard in (claimed.original, claimed.view), MOMENT)
        if text is not None:
            return ClosedDiff(text, is_edited=True)
        return ClosedDiff(claimed.text, claimed.is_edited)

    def _restore_text(
        self, window_id: int, session_id: str, path: str, saved: str | None
    ) -> str | None:
        view = open_diffs.find_diff(sublime.Window(window_id), session_id, path)
        if view is None:
            return None
        text, is_saved = restoring.catch_up(view, saved)
        if is_saved:
            self._messages.warn_user(RESTORED.format(os.path.basename(path)))
        return text


def _gone_sentence(record: DiffRecord, count: int) -> str:
    """The record is that of the first of its CLI's diffs, `count` is how many there are."""
    cli = by_label(record.proposer)
    one, several = (GONE, ALL_GONE) if cli is None or cli.keeps_edits else (LOST, ALL_LOST)
    if count > 1:
        return several.format(cli=record.proposer, count=count)
    return one.format(cli=record.proposer, file=os.path.basename(record.path))


def _return_text(window_id: int, path: str, text: str, remark: str) -> None:
    if not sublime.windows():
        raise EditorError("The editor has no window.")
    texts.return_text(sublime.Window(window_id), path, text, remark)
