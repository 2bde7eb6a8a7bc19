"""Ends a proposal with the user's decision: accepted (`accepting` has asked about doubts before),
rejected, released, or its tab closed. It is claimed, its owner is told, and its views close."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Sequence

import sublime

from ...edits.edit import Edit
from ...ide.companion import Companion
from .. import queues, settings
from ..keyboard import Keyboard
from ..user_messages import UserMessages
from . import comments, ending, pair
from .diff_kinds import kind_of
from .ending import ClaimedDiff
from .open_diffs import partner_view
from .owners import Owners
from .record import is_diff, waiting_record
from .reviews import Reviews
from .unopened_tabs import UnopenedTabs

STOPPED = 'It has stopped. Run "Gemini Companion: Restart Companion", then decide.'
WINDOW_CLOSED = "The window of its CLI is closed; the text stays here, as a new tab."
YOURS = "your edits"


class Actions:
    """The actions on the proposals to one companion."""

    def __init__(
        self,
        companion: Companion,
        messages: UserMessages,
        keyboard: Keyboard,
        reviews: Reviews,
        owners: Owners,
        tabs: UnopenedTabs,
    ) -> None:
        self._tabs = tabs
        self._companion = companion
        self._messages = messages
        self._keyboard = keyboard
        self._reviews = reviews
        self._owners = owners

    def show_both_sides(self, view: sublime.View) -> None:
        """The view has got the keyboard: of a diff, both sides are shown."""
        window = view.window()
        if window is not None and is_diff(view):
            pair.show_pair(window, view)

    def instead_of(self, name: str, view: sublime.View) -> tuple[str, dict[str, Any]] | None:
        """The command to run instead of the one with that name: a proposal has no file to save to,
        so saving it means accepting it."""
        if name != "save":
            return None
        record, window = waiting_record(view) or waiting_record(partner_view(view)), view.window()
        if record is None or window is None or not settings.current_settings(window).accept_on_save:
            return None
        queues.on_ui_thread(
            partial(window.run_command, "gemini_companion_accept_diff", {"id": record.id})
        )
        return ("noop", {})

    def reject_proposal(self, view: sublime.View, note: str = "") -> bool:
        """Reject a proposal, unless somebody else has decided, and close it. False if the decision
        could not be reported."""
        return self.decide_proposal(view, accept=False, note=note) is not None

    def release_proposal(self, view: sublime.View) -> None:
        """Give up a diff for which no CLI waits any more; its text stays as a tab of the user. A
        CLI that does wait treats it as a rejection."""
        words = comments.comment_words(view, self._reviews.review_of(view))
        claimed = self._claim_diff(view)
        if claimed is None:
            return
        self._owners[kind_of(claimed.record)].hear_rejection(claimed, words)
        keyboard = self._keyboard.in_window(claimed.window)
        queues.on_ui_thread(partial(ending.release_diff, claimed, keyboard))
        self._open_next(claimed, keyboard)
        self._reviews.forget_soon()

    def handle_close(self, view: sublime.View) -> None:
        """The user closes the view of a proposal: that is a rejection."""
        if self._companion.is_running:
            self.decide_proposal(view, accept=False)
            return
        claimed = ending.claim_diff(view)
        if claimed is not None:
            queues.on_ui_thread(partial(ending.put_away, claimed, None, YOURS))

    def decide_proposal(
        self,
        view: sublime.View,
        accept: bool,
        note: str = "",
        before: str | None = None,
        large: str | None = None,
    ) -> ClaimedDiff | None:
        """Gives the diff with the accepted text; None if somebody else has decided. `before` is as
        in DiffAccepted; `large` is the accepted text if the view shows only parts of it."""
        review = self._reviews.review_of(view)
        words = comments.comment_words(view, review, note)
        claimed = self._claim_diff(view) if self.can_decide() else None
        if claimed is None:
            return None
        owner = self._owners[kind_of(claimed.record)]
        if accept:
            if review is not None and review.text is not None:
                claimed = replace(claimed, text=review.text)
            accepted = large if claimed.text is None else claimed.text
            claimed = replace(claimed, accepted=accepted)
            tab = ending.merged_view(claimed.record)
            if tab is not None and not kind_of(claimed.record).brings_tab_along:
                # Otherwise it would hide what is written.
                tab.run_command("revert")
            owner.hear_acceptance(claimed, words, before)
            close = ending.close_diff
        else:
            owner.hear_rejection(claimed, words)
            close = partial(ending.put_away, name=ending.REJECTED)
        keyboard = self._keyboard.in_window(claimed.window)
        # Closing views during the close event of a view may close others (docs/sublime.md 4.5).
        queues.on_ui_thread(partial(close, claimed, keyboard))
        self._open_next(claimed, keyboard)
        self._reviews.forget_soon()
        return claimed

    def accepted_edits(self, claimed: ClaimedDiff, edit: Edit) -> Sequence[Edit]:
        """What the acceptance of the diff makes of the user's files; `edit` has the text."""
        return self._owners[kind_of(claimed.record)].edits_of(claimed.record, edit)

    def _open_next(self, claimed: ClaimedDiff, keyboard: sublime.View | None) -> None:
        if not claimed.record.is_unopened:
            is_there = keyboard in (claimed.original, claimed.view)
            self._tabs.open_next(claimed.window, take_focus=is_there)

    def can_decide(self) -> bool:
        """Whether the companion can receive the decision; if not, the user is told."""
        if not self._companion.is_running:
            self._messages.tell_user(STOPPED)
        return self._companion.is_running

    def _claim_diff(self, view: sublime.View) -> ClaimedDiff | None:
        """None if nobody waits for the decision, or if there is no diff."""
        claimed = ending.claim_diff(view)
        if claimed is None or claimed.window.is_valid():
            return claimed
        queues.on_ui_thread(partial(ending.release_diff, claimed, None))
        self._messages.warn_user(WINDOW_CLOSED)
        return None
