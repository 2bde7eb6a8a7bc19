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
from . import large, open_diffs, opening
from .next_edit import NextEdit
from .record import OF_SESSION, Origin
from .reviews import Reviews
from .scrolling import Scrolling
from .unopened_texts import UnopenedTexts

# Said of a proposal that waits without tabs.
UNOPENED = "It waits in Changes, without tabs."
WINDOW_CLOSED = "The editor's window is closed."


class ProposalOpener:
    """Opens the reviews of one companion's proposals. `scrolling` and `next_edit` are told of each
    view, `unopened` of those without tabs; `notices` show it where nobody sees the editor."""

    def __init__(
        self,
        reviews: Reviews,
        unopened: UnopenedTexts,
        scrolling: Scrolling,
        next_edit: NextEdit,
        notices: Notices,
        keyboard: Keyboard,
        messages: UserMessages,
    ) -> None:
        self._reviews = reviews
        self._unopened = unopened
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
        room = self._unopened.room
        view, note = opening.open_diff(
            window, *shown, keyboard, take_focus, is_digest, origin, room
        )
        self._unopened.keep_view(view)
        # It may have replaced another one.
        self._unopened.look_soon()
        self._reviews.begin_review(view, present.text, digest)
        self._reviews.set_note(view, "comments", note)
        self._scrolling.follow_pair(view)
        if not take_focus:
            self._keyboard.move_to(keyboard)
        self._next_edit.note_opened(view)
        remark = UNOPENED if open_diffs.is_unopened(view) else ""
        self._announce_proposal(window, proposal, remark, present.note or present.warning)

    def _announce_proposal(
        self, window: sublime.Window, proposal: Proposal, remark: str, warning: str
    ) -> None:
        client, name = name_of(proposal.client), os.path.basename(proposal.path)
        asks = f"{client} proposes an edit of {name}."
        self._notices.show_notice(window, asks)
        if warning or settings.current_settings(window).messages:
            self._messages.tell_user(" ".join(filter(None, [asks, remark, warning])))
