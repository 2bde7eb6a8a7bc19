"""Opens the review of a proposal, and tells the user of it. UI thread only."""

from __future__ import annotations

import os

import sublime

from ...base.digest import Digest
from ...base.file_content import Original
from ...ide.clis import name_of
from ...ide.editor import EditorError, Proposal
from .. import settings
from ..keyboard import Keyboard
from ..notices import Notices
from ..user_messages import UserMessages
from . import large, opening
from .next_edit import NextEdit
from .record import OF_SESSION, Origin
from .reviews import Reviews
from .scrolling import Scrolling

WINDOW_CLOSED = "The editor's window is closed."


class ProposalOpener:
    """Opens the reviews of one companion's proposals. `scrolling` and `next_edit` are told of each
    view; `notices` show it where nobody sees the editor."""

    def __init__(
        self,
        reviews: Reviews,
        scrolling: Scrolling,
        next_edit: NextEdit,
        notices: Notices,
        keyboard: Keyboard,
        messages: UserMessages,
    ) -> None:
        self._reviews = reviews
        self._scrolling = scrolling
        self._next_edit = next_edit
        self._notices = notices
        self._keyboard = keyboard
        self._messages = messages

    def open_review(
        self,
        window_id: int,
        proposal: Proposal,
        present: Original,
        digest: Digest | None,
        origin: Origin = OF_SESSION,
    ) -> None:
        """Open the diff of a proposal, `present` on its left side; `digest` if its texts are too
        large. Raises EditorError."""
        window = sublime.Window(window_id)
        if not window.is_valid():
            raise EditorError(WINDOW_CLOSED)
        take_focus = settings.current_settings(window).focus_diff
        keyboard = self._keyboard.in_window(window)
        if digest is not None and not self._reviews.has_room_for(digest):
            digest = None
        shown = large.shown_texts(proposal, present, digest)
        is_digest = digest is not None
        view, note = opening.open_diff(window, *shown, keyboard, take_focus, is_digest, origin)
        self._reviews.begin_review(view, present.text, digest)
        self._reviews.set_note(view, "comments", note)
        self._scrolling.follow_pair(view)
        if not take_focus:
            self._keyboard.move_to(keyboard)
        self._next_edit.note_opened(view)
        self._announce_proposal(window, proposal, present.note or present.warning)

    def _announce_proposal(self, window: sublime.Window, proposal: Proposal, warning: str) -> None:
        client, name = name_of(proposal.client), os.path.basename(proposal.path)
        asks = f"{client} proposes an edit of {name}."
        self._notices.show_notice(window, asks)
        if warning or settings.current_settings(window).messages:
            self._messages.tell_user(f"{asks} {warning}".rstrip())
