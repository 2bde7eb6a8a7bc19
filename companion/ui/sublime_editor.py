"""The editor as the core sees it: every request goes from the loop to the UI thread here."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from functools import partial
from typing import Callable, TypeVar

import sublime

from ..base import file_content
from ..base.digest import Digest
from ..base.log import logger
from ..base.shown_text import shown_line
from ..ide.clis import name_of
from ..ide.editor import (
    YOURS,
    ClosedDiff,
    Editor,
    EditorError,
    Proposal,
    Status,
    UnaskedEdit,
)
from . import queues, settings, texts
from .code.sublime_code import SublimeCode
from .edit_diagnostics import EditDiagnostics
from .notices import Notices
from .review import comments, ending, large, open_diffs, opening, restoring
from .review.next_edit import NextEdit
from .review.owners import WordsToClis
from .review.record import OF_SESSION, DiffRecord, Origin, waiting
from .review.reviews import Reviews
from .review.scrolling import Scrolling
from .review.terminal_decisions import TerminalDecisions
from .stories import Stories
from .unseen_messages import UnseenMessages

T = TypeVar("T")

# The name of a tab for the text of a diff that its CLI closed.
CLOSED = "your edits of a closed proposal"
GONE = "{cli} has left. Its diff stays open: decide for the next CLI, or release it."
RESTORED = "The proposal for {} is as you last had it; undo brings back the text of its tab."
WINDOW_CLOSED = "The editor's window is closed."
PREFIX = "Gemini Companion: "
# Seconds that a user needs to read a sentence.
READING = 5.0


class SublimeEditor(Editor):
    """What one companion may ask, until `stop`. The UI thread owns the state.

    `messages` are what the user has to know and has not seen. `stories` are their actions with this
    companion. `keyboard` is the view that was activated last. `reviews`, `scrolling`, `notices` and
    `next_edit` learn which diffs are opened, and `edit_diagnostics` which files are loaded again.
    Of a diff that its CLI closed, `words` gets what the user wrote about it, and
    `terminal_decisions` each that they decided there. `on_status` gets the state of all windows,
    `on_unasked` a window's id and an edit, and `on_edited` a diff's record and its text.
    """

    def __init__(self, messages: UnseenMessages) -> None:
        self.messages = messages
        self.stories = Stories(self.tell)
        self.code = SublimeCode(self._ask, self.stories, self.keyboard_in)
        self.edit_diagnostics = self.edit_watch = EditDiagnostics(self._ask)
        self.keyboard: sublime.View | None = None
        self.reviews: Reviews | None = None
        self.scrolling: Scrolling | None = None
        self.notices: Notices | None = None
        self.next_edit: NextEdit | None = None
        self.words: WordsToClis | None = None
        self.terminal_decisions: TerminalDecisions | None = None
        self.on_unasked: Callable[[int, UnaskedEdit], None] | None = None
        self.on_edited: Callable[[DiffRecord, str], None] = lambda record, text: None
        self.on_status: Callable[[tuple[Status, ...]], None] | None = None
        self._is_stopped = False
        # When the last sentence was shown.
        self._told_at = float("-inf")

    def stop(self) -> None:
        """From now on the companion opens and closes nothing. Called on the UI thread, so that no
        request is running meanwhile."""
        self._is_stopped = True

    def keyboard_in(self, window: sublime.Window) -> sublime.View | None:
        """The view of the window in which the user types; it can be a terminal's panel."""
        keyboard = self.keyboard
        if keyboard is not None and keyboard.is_valid() and keyboard.window() == window:
            return keyboard
        return window.active_view()

    async def open_diff(self, window_id: int, proposal: Proposal) -> None:
        present = await file_content.in_time(proposal.path)
        if not present.is_file:
            raise EditorError(present.note)
        digest = await large.digest_for(proposal, present)
        await self._ask(partial(self.show_proposal, window_id, proposal, present, digest))

    async def close_diff(
        self, window_id: int, session_id: str, path: str, decided: bool = True
    ) -> ClosedDiff | None:
        # As soon as it has the answer, the CLI may write the file.
        before = await file_content.in_time(path) if decided else None
        return await self._ask(partial(self._close, window_id, session_id, path, before))

    async def restore_text(
        self, window_id: int, session_id: str, path: str, saved: str | None
    ) -> str | None:
        return await self._ask(partial(self._restore, window_id, session_id, path, saved))

    def set_orphaned(self, window_id: int, session_id: str, orphaned: bool) -> None:
        def show() -> None:
            changed = opening.set_orphaned(sublime.Window(window_id), session_id, orphaned)
            for view in changed:
                if self.reviews is not None:
                    self.reviews.drawing.head(view)
            record = waiting(changed[0]) if changed else None
            if record is not None and orphaned:
                # The head of the diff says so as well.
                self.answer(GONE.format(cli=record.proposer))

        queues.on_ui_thread(show)

    def show_status(self, statuses: tuple[Status, ...]) -> None:
        def show() -> None:
            if self.on_status is not None and not self._is_stopped:
                self.on_status(statuses)

        # While the editor quits, the UI thread does not answer.
        if not self._is_stopped:
            queues.on_ui_thread(show)

    def gather_edit(self, window_id: int, edit: UnaskedEdit) -> None:
        def gather() -> None:
            if self.on_unasked is not None and not self._is_stopped:
                self.on_unasked(window_id, edit)

        queues.on_ui_thread(gather)

    async def return_text(self, window_id: int, path: str, text: str, remark: str = YOURS) -> None:
        await self._ask(partial(_return_text, window_id, path, text, remark))

    def tell(self, sentence: str, about: str = "") -> None:
        self.answer(sentence)
        queues.on_ui_thread(partial(self.messages.add, sentence, about))

    def withdraw(self, about: str) -> None:
        queues.on_ui_thread(partial(self.messages.withdraw, about))

    def repeat(self, sentence: str) -> None:
        self.answer(sentence)

    def answer(self, sentence: str) -> None:
        """Show for a moment what comes of something that the user has just done, or what stands
        elsewhere as well. From any thread."""

        def show() -> None:
            self._told_at = time.monotonic()
            sublime.status_message(PREFIX + shown_line(sentence))

        queues.on_ui_thread(show)

    def mention(self, sentence: str) -> None:
        """Show a sentence that repeats the status bar's text, but never in place of one that was
        shown a moment ago."""
        if time.monotonic() - self._told_at > READING:
            sublime.status_message(PREFIX + shown_line(sentence))

    def show_proposal(
        self,
        window_id: int,
        proposal: Proposal,
        present: file_content.Original,
        digest: Digest | None,
        origin: Origin = OF_SESSION,
    ) -> None:
        """Open the diff of a proposal, `present` on its left side; `digest` if its texts are too
        large. On the UI thread. Raises EditorError."""
        window = sublime.Window(window_id)
        if not window.is_valid():
            raise EditorError(WINDOW_CLOSED)
        take_focus = settings.of(window).focus_diff
        keyboard = self.keyboard_in(window)
        if self.reviews is None or (digest is not None and not self.reviews.has_room_for(digest)):
            digest = None
        shown = large.shown(proposal, present, digest)
        is_digest = digest is not None
        view, note = opening.open_diff(window, *shown, keyboard, take_focus, is_digest, origin)
        if self.reviews is not None:
            self.reviews.begin(view, present.text, digest)
            self.reviews.say(view, "comments", note)
        if self.scrolling is not None:
            self.scrolling.follow(view)
        if not take_focus:
            # A panel may get no further event when it has the keyboard again.
            self.keyboard = keyboard
        if self.next_edit is not None:
            self.next_edit.opened(view)
        self._announce(window, proposal, present.note or present.warning)

    def _announce(self, window: sublime.Window, proposal: Proposal, warning: str) -> None:
        client, name = name_of(proposal.client), os.path.basename(proposal.path)
        asks = f"{client} proposes an edit of {name}."
        if self.notices is not None:
            self.notices.show(window, asks)
        if warning or settings.of(window).messages:
            self.answer(f"{asks} {warning}".rstrip())

    def _close(
        self,
        window_id: int,
        session_id: str,
        path: str,
        before: file_content.Original | None,
    ) -> ClosedDiff | None:
        """`before` is the file's content if the user has decided in the CLI."""
        window = sublime.Window(window_id)
        view = open_diffs.find(window, session_id, path)
        review = self.reviews.of(view) if self.reviews is not None and view is not None else None
        text = review.text if review is not None else None
        words = comments.words(view, review) if view is not None else ""
        claimed = ending.claim(view) if view is not None else None
        if claimed is None:
            return None
        if self.words is not None:
            self.words.give(claimed.record, words, is_accepted=None)
        keyboard = self.keyboard_in(window)
        if before is not None:
            if claimed.text is not None and not claimed.record.is_restored:
                # A stop of the companion may overtake the answer: then its book alone has the text.
                self.on_edited(claimed.record, claimed.text)
            if self.terminal_decisions is not None:
                self.terminal_decisions.watch(claimed, before)
            ending.close(claimed, keyboard)
        else:
            ending.put_away(claimed, keyboard, CLOSED)
        if self.reviews is not None:
            self.reviews.forget_ended()
        if text is not None:
            return ClosedDiff(text, is_edited=True)
        return ClosedDiff(claimed.text, claimed.is_edited)

    def _restore(self, window_id: int, session_id: str, path: str, saved: str | None) -> str | None:
        view = open_diffs.find(sublime.Window(window_id), session_id, path)
        if view is None:
            return None
        text, is_saved = restoring.catch_up(view, saved)
        if is_saved:
            self.tell(RESTORED.format(os.path.basename(path)))
        return text

    def _ask(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Crossing B: run `work` on the UI thread; the loop awaits the result. Raises what it
        raises as EditorError. Not run if nobody waits any more.

        The UI thread never waits for the loop, which may have ended.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def run() -> None:
            if future.done() or self._is_stopped:
                return
            outcome = _outcome(work, future)
            # If the loop is closed, nobody waits.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(lambda: None if future.done() else outcome())

        queues.on_ui_thread(run)
        return future


def _return_text(window_id: int, path: str, text: str, remark: str) -> None:
    if not sublime.windows():
        raise EditorError("The editor has no window.")
    texts.return_text(sublime.Window(window_id), path, text, remark)


def _outcome(work: Callable[[], T], future: asyncio.Future[T]) -> Callable[[], None]:
    """The boundary of UI callbacks: a failure becomes the answer and a line in the log. Gives the
    function that settles the future, to be called in its loop."""
    try:
        return partial(future.set_result, work())
    except EditorError as error:
        return partial(future.set_exception, error)
    except Exception:
        logger.exception("the editor failed")
        sorry = EditorError("The editor failed; the log of Gemini Companion has more.")
        return partial(future.set_exception, sorry)
