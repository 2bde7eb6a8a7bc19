"""Proposals for which nobody waits any more, so that an accepted text is written here: those whose
rejection the user has taken back, which their CLI was told of, and those of chats whose turn ended
with the editor. UI thread only."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from functools import partial

import sublime

from ...base.digest import Digest
from ...ide.editor import Proposal
from .. import file_reading, texts
from ..keyboard import Keyboard
from ..stories import Stories, run_in_thread
from ..user_messages import UserMessages
from . import large, opening, written_files
from .ending import ClaimedDiff
from .owners import Owner, WordsToClis
from .record import DiffRecord, Origin, waiting_record
from .reviews import Reviews
from .unopened_texts import UnopenedTexts

WRITTEN = "{} has the accepted text."
NOT_DONE = "{} could not be written."
NOT_KNOWN = "Not all of the text for {} is known any more: nothing was written."
IN_TAB = " The accepted text is in a tab."
ACCEPTED = "accepted, not written"
# That of a proposal whose rejection was told.
RETURNED = Origin(is_returned=True)


@dataclass(frozen=True)
class Rejected:
    """A proposal as the user had it when they rejected it. Of a large one the text is None, and the
    digest has it."""

    path: str
    client: str
    text: str | None
    digest: Digest | None = None
    origin: Origin = RETURNED

    @property
    def whole_text(self) -> str | None:
        """May take some time."""
        return self.digest.new_text if self.text is None and self.digest else self.text


def proposal_to_reject(view: sublime.View, reviews: Reviews) -> Rejected | None:
    """The proposal in the view, which is to be rejected; None if that is none."""
    record, review = waiting_record(view), reviews.review_of(view)
    if record is None:
        return None
    if record.is_whole:
        was_returned = record.is_returned
        origin = Origin("", record.chat, record.call, True) if was_returned else RETURNED
        return Rejected(record.path, record.client, texts.text_of(view), origin=origin)
    if review is None:
        return Rejected(record.path, record.client, None)
    return Rejected(record.path, record.client, review.text, review.digest)


class Returned(Owner):
    """The proposals for which nobody waits any more, of one companion."""

    def __init__(
        self,
        stories: Stories,
        messages: UserMessages,
        keyboard: Keyboard,
        reviews: Reviews,
        unopened: UnopenedTexts,
        words: WordsToClis,
    ) -> None:
        self._unopened = unopened
        self._stories = stories
        self._messages = messages
        self._keyboard = keyboard
        self._reviews = reviews
        self._words = words

    async def bring_back(self, rejected: Rejected, window: sublime.Window) -> str:
        """Show it beside the file as that is now. Gives a sentence if it cannot be shown."""
        name = os.path.basename(rejected.path)
        present = await file_reading.read_content(rejected.path)
        text = await run_in_thread(lambda: rejected.whole_text)
        if text is None:
            return NOT_KNOWN.format(name)
        digest = await run_in_thread(partial(large.differing_parts, present.text, text))
        if not window.is_valid():
            return NOT_KNOWN.format(name)
        if digest is not None and not self._reviews.has_room_for(digest):
            digest = None
        proposal = Proposal("", rejected.path, text, client=rejected.client, opened_at=time.time())
        keyboard, is_digest = self._keyboard.in_window(window), digest is not None
        shown = large.shown_texts(proposal, present, digest)
        view, _note = opening.open_diff(
            window, *shown, keyboard, False, is_digest, rejected.origin, self._unopened.room
        )
        self._unopened.keep_view(view)
        self._reviews.begin_review(view, present.text, digest)
        return ""

    def hear_acceptance(self, claimed: ClaimedDiff, words: str, before: str | None) -> None:
        self._words.give_words(claimed.record, words, is_accepted=None)
        window, path, text = claimed.window, claimed.record.path, claimed.accepted
        if text is None:
            self._messages.warn_user(NOT_KNOWN.format(os.path.basename(path)))
        else:
            self._stories.begin(self._write_text(window, path, text, before))

    def hear_rejection(self, claimed: ClaimedDiff, words: str) -> None:
        self._words.give_words(claimed.record, words, is_accepted=None)

    def hear_typing(self, record: DiffRecord, text: str) -> None:
        """The view has it, also after a restart."""

    async def _write_text(
        self, window: sublime.Window, path: str, text: str, before: str | None
    ) -> None:
        """Wherever it ends, the text is in the file or in a tab, and the user is told which."""
        name, is_written = os.path.basename(path), False
        problem = NOT_DONE.format(name)

        def on_written() -> None:
            nonlocal is_written
            is_written = True
            self._messages.tell_user(WRITTEN.format(name))

        try:
            problem = await written_files.put_text(window, path, text, before, on_written)
        finally:
            if not is_written:
                self._messages.warn_user(problem + IN_TAB)
                texts.return_text(window, path, text, ACCEPTED)
