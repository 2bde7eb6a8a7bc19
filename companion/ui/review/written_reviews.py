"""Reviews of edits that a CLI has made without asking: the file is written, and no CLI waits. UI
thread only.

Accepting keeps what the right side shows, rejecting undoes the edit, closing decides nothing.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Callable, Container, Tuple
from uuid import uuid4

import sublime

from ...base.file_content import Original
from ...base.signal import ValueSignal
from ...edits.edit import Edit, EditState
from ...edits.ledger import EditBook
from ...edits.turn_edits import conversation_of
from ...ide.companion import Companion
from ...ide.editor import Proposal
from ...ide.events import EditTakenBack
from .. import file_reading, queues, texts
from ..keyboard import Keyboard
from ..ordered_work import UnderWay
from ..stories import Stories, run_in_thread
from ..user_messages import UserMessages
from . import comments, ending, large, opening, pair, written_files
from .open_diffs import made_edit_views, name_of, partner_view, undecided_diffs
from .owners import WordsToClis
from .queue import show_diff
from .record import DiffRecord, Origin, update_record, waiting_record
from .reviews import OVER, Reviews
from .scrolling import Scrolling

YOURS = "your edits"
NOT_KNOWN = "The edit of {} is not known any more: close the tab, and change the file itself."
KEPT = "{} is as you left it in the review."
UNDONE = "{} is as it was before the edit."
UNDER_WAY = "{} is being kept already."
TYPED = "You have typed in the review of {} meanwhile: decide again."
# The digest of a file that is none that we know.
OTHER = "changed"


Close = Callable[[ending.ClaimedDiff, "sublime.View | None"], None]
_put_away = partial(ending.put_away, name=YOURS)


class WrittenReviews:
    """The reviews of one companion; `book` keeps the edits, and `words` gets what the user wrote
    about them. `scrolling` is told of each view."""

    def __init__(
        self,
        companion: Companion,
        stories: Stories,
        messages: UserMessages,
        keyboard: Keyboard,
        reviews: Reviews,
        scrolling: Scrolling,
        words: WordsToClis,
        book: EditBook,
    ) -> None:
        self._companion = companion
        self._stories = stories
        self._messages = messages
        self._keyboard = keyboard
        self._reviews = reviews
        self._scrolling = scrolling
        self._words = words
        self._book = book
        # The user has changed what the agent of a chat wrote; their words about it, with a window.
        self.chat_edits_changed = ValueSignal[Edit]()
        self.words_to_chats = ValueSignal[Tuple[sublime.Window, Edit, str]]()
        # The decisions, by the ids of their diffs.
        self._under_way = UnderWay()

    async def open_review(
        self, window: sublime.Window, edit: Edit, take_focus: bool = True
    ) -> None:
        """Show the edit beside the file as it was before. What cannot be shown counts as seen."""
        there = made_edit_views().get(edit.id)
        if there is not None:
            if take_focus:
                show_diff(there)
            return
        if edit.problem:
            self._messages.tell_user(edit.problem)
            self._book.replace(edit, replace(edit, state=EditState.KEPT))
            return
        present = await file_reading.read_content(edit.path)
        digest = await run_in_thread(
            partial(large.differing_parts, edit.before.text, edit.after or "")
        )
        if made_edit_views().get(edit.id) is not None or self._book.find(edit.id) is None:
            # Meanwhile it was opened, or it went on or was undone.
            return
        if digest is not None and not self._reviews.has_room_for(digest):
            digest = None
        proposal = Proposal("", edit.path, edit.after or "", client=edit.client, opened_at=edit.at)
        shown = large.shown_texts(proposal, edit.before, digest)
        keyboard = self._keyboard.in_window(window)
        is_digest = digest is not None
        origin = Origin(edit_id=edit.id)
        view, _note = opening.open_diff(window, *shown, keyboard, take_focus, is_digest, origin)
        record = waiting_record(view)
        if record is not None:
            is_same = written_files.is_text(present, edit.after or "")
            update_record(view, record, file_digest=present.digest if is_same else OTHER)
        self._reviews.begin_review(view, edit.before.text, digest)
        self._scrolling.follow_pair(view)

    async def keep_edit(self, window: sublime.Window, view: sublime.View) -> bool:
        """Keep what the right side shows, and write it if the user has changed it. Gives whether
        the review is over."""
        record, edit = waiting_record(view), self._reviewed_edit(view)
        if record is None or edit is None:
            return False
        if record.id in self._under_way:
            self._messages.tell_user(UNDER_WAY.format(name_of(view)))
            return False
        with self._under_way.hold(record.id):
            async with self._reviews.presses.take_place(record.id):
                return await self._keep_text(window, edit, view)

    async def _keep_text(self, window: sublime.Window, edit: Edit, view: sublime.View) -> bool:
        text = await self._wanted_text(view, edit)
        if text is None or waiting_record(view) is None:
            if waiting_record(view) is None:
                self._messages.warn_user(OVER.format(name_of(view)))
            return False
        problem = ""
        if text != edit.after:
            problem = await written_files.write_edit_text(window, edit, text, name_of(view))
        if problem:
            self._messages.tell_user(problem)
            return False
        self.mark_edit_seen(window, edit, text)
        return self._finish_keeping(window, edit, view, text)

    def begin_undo(self, view: sublime.View, note: str = "") -> bool:
        """Begin to undo the edit of the review."""
        window = view.window() or sublime.active_window()
        self._stories.begin(self._undo_by_press(window, view, note), window)
        return True

    async def _undo_by_press(self, window: sublime.Window, view: sublime.View, note: str) -> None:
        record = waiting_record(view)
        if record is not None:
            async with self._reviews.presses.take_place(record.id):
                await self.undo_shown(window, view, note)

    async def undo_and_tell(self, window: sublime.Window, edit: Edit) -> bool:
        """Make the file what it was before the edit; gives whether that was done."""
        problem = await self.undo_edit(window, edit)
        self._messages.tell_user(problem or UNDONE.format(written_files.file_name(edit.path)))
        return not problem

    async def undo_edit(self, window: sublime.Window, edit: Edit) -> str:
        """Make the file what it was before the edit. Gives a sentence if that was not done."""
        name = written_files.file_name(edit.path)
        problem = await written_files.undo_edit(self._companion, window, edit, name)
        if problem or self._book.find(edit.id) is None:
            return problem
        self._tell_model(window, edit, is_whole=True)
        self._forget_undone(edit)
        return ""

    def forget_turn(self, turn: str, paths: Container[str]) -> None:
        """The turn was undone in these files, and its agent knows."""
        for edit in self._book.of_turn(turn):
            if edit.path in paths:
                self._forget_undone(edit)

    def _forget_undone(self, edit: Edit) -> None:
        """The file is what it was before the edit."""
        self._book.replace(edit, None)
        view = made_edit_views().get(edit.id)
        if view is not None:
            # No tab stays with the text that the file has again.
            is_file = edit.before.exists and texts.text_of(view) == edit.before.text
            self.leave_review(view, ending.close_diff if is_file else _put_away)

    async def redo_edit(
        self, window: sublime.Window, book: EditBook, edit: Edit, after: Original
    ) -> str:
        """Make an undone edit of the book again: the file was this after it. Gives a sentence if
        that was not done."""
        problem = await written_files.redo_edit(self._companion, window, edit, after)
        if not problem and book.find(edit.id) is None:
            book.bring_back(replace(edit, state=EditState.WRITTEN))
            self._tell_model(window, edit, is_whole=False)
        return problem

    def leave_review(self, view: sublime.View, close: Close = _put_away) -> None:
        """Close the review without a decision; what the user typed stays as a tab."""
        claimed = ending.claim_diff(view)
        if claimed is not None:
            keyboard = self._keyboard.in_window(claimed.window)
            queues.on_ui_thread(partial(close, claimed, keyboard))
            self._reviews.forget_soon()

    def resume_reviews(self) -> None:
        """The edits from before a restart are known: go on with reviews that lack a left side."""
        for window in sublime.windows():
            for view, record in list(undecided_diffs(window)):
                edit = self._book.find(record.edit_id)
                is_alone = (
                    self._reviews.review_of(view) is None and not partner_view(view).is_valid()
                )
                if edit is not None and not edit.problem and is_alone:
                    pair.compare_with(view, record, edit.before)
                    self._reviews.begin_review(view, edit.before.text)

    async def undo_shown(self, window: sublime.Window, view: sublime.View, note: str = "") -> bool:
        """Undo the edit of the review; the user's words go to the CLI. Gives whether it is
        undone."""
        edit = self._reviewed_edit(view)
        words = comments.comment_words(view, self._reviews.review_of(view), note)
        if edit is None or not await self.undo_and_tell(window, edit):
            return False
        self._give_words(window, edit, words)
        return True

    async def _wanted_text(self, view: sublime.View, edit: Edit) -> str | None:
        """The text that the user wants; None if the review ends meanwhile."""
        record, review = waiting_record(view), self._reviews.review_of(view)
        if record is not None and record.is_whole:
            return texts.text_of(view)
        if review is None or review.digest is None:
            # Only the beginning is shown, and nothing can be dropped.
            return edit.after
        if await self._reviews.wait_for_comparison(view) is None:
            return None
        return edit.after if review.text is None else review.text

    def mark_edit_seen(self, window: sublime.Window, edit: Edit, text: str | None = None) -> None:
        """The user has looked at the edit, and the file has the text, None for that of the CLI."""
        if text is None or text == edit.after:
            self._book.replace(edit, replace(edit, state=EditState.KEPT))
            return
        is_undone = edit.before.exists and text == edit.before.text
        # The store knows texts by the edit's id.
        now = replace(edit, after=text, state=EditState.KEPT, id=uuid4().hex)
        self._book.replace(edit, None if is_undone else now)
        view = made_edit_views().get(edit.id)
        record = waiting_record(view) if view is not None else None
        if view is not None and record is not None:
            update_record(view, record, edit_id=now.id)
        self._tell_model(window, edit, is_undone)

    def _finish_keeping(
        self, window: sublime.Window, edit: Edit, view: sublime.View, text: str | None
    ) -> bool:
        """The file is as the user wants it: the review is over, unless they have typed since."""
        record = waiting_record(view)
        if record is None:
            return False
        if record.is_whole and texts.text_of(view) != text:
            self._messages.tell_user(TYPED.format(name_of(view)))
            return False
        words = comments.comment_words(view, self._reviews.review_of(view))
        self._messages.tell_user(KEPT.format(name_of(view)))
        self.leave_review(view, ending.close_diff)
        self._give_words(window, edit, words)
        return True

    def _give_words(self, window: sublime.Window, edit: Edit, words: str) -> None:
        """The user's words about the edit go to a CLI, or into a chat."""
        home = _home_window(window, edit)
        if words and conversation_of(edit):
            self.words_to_chats.emit((home, edit, words))
        else:
            self._words.give_on_unasked(home, edit, words)

    def _tell_model(self, window: sublime.Window, edit: Edit, is_whole: bool) -> None:
        if conversation_of(edit):
            self.chat_edits_changed.emit(edit)
            return
        id = _home_window(window, edit).id()
        self._companion.post(EditTakenBack(id, edit.turn, edit.client, edit.path, is_whole))

    def _reviewed_edit(self, view: sublime.View) -> Edit | None:
        """The edit that is reviewed; None if it is forgotten, which the user is told."""
        record: DiffRecord | None = waiting_record(view)
        if record is None:
            return None
        found = self._book.find(record.edit_id)
        if found is None or found.problem:
            self._messages.tell_user(NOT_KNOWN.format(name_of(view)))
            return None
        return found


def _home_window(window: sublime.Window, edit: Edit) -> sublime.Window:
    """The window of the edit's CLI; that of the review if the former is closed."""
    home = sublime.Window(edit.window_id)
    return home if home.is_valid() else window
