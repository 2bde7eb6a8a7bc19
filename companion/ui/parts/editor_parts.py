"""What reports the editor to the companion, and does in the editor what the companion asks."""

from __future__ import annotations

from typing import Callable, Sequence

from ...ide.editor import Status
from ..code.sublime_code import SublimeCode
from ..edit_diagnostics import EditDiagnostics
from ..files import Files
from ..review.terminal_decisions import TerminalDecisions
from ..sublime_editor import ClosedByClis, SublimeEditor
from ..window_watch import WindowWatch
from .diff_parts import DiffParts
from .foundation import Foundation
from .page_parts import PageParts
from .review_parts import ReviewParts
from .status_parts import StatusParts


class EditorParts:
    """`polls` are to be called at each check of the windows, about once a second."""

    def __init__(
        self,
        base: Foundation,
        diffs: DiffParts,
        review: ReviewParts,
        pages: PageParts,
        status: StatusParts,
        polls: Sequence[Callable[[], None]],
    ) -> None:
        self._base, self._pages, self._status = base, pages, status
        self._ledger = review.ledger
        self.files = Files(base.companion, base.keyboard)
        self.edit_diagnostics = EditDiagnostics(base.calls.run)
        self.windows = WindowWatch(
            base.companion,
            base.stories,
            base.messages,
            self.files,
            diffs.reviews,
            diffs.unopened,
            diffs.tabs,
            base.trees,
            polls,
        )
        decisions = TerminalDecisions(base.stories, review.ledger, base.messages.warn_user)
        self.sublime_editor = SublimeEditor(
            base.calls,
            base.messages,
            base.keyboard,
            SublimeCode(base.calls.run, base.stories, base.keyboard.in_window),
            self.edit_diagnostics,
            diffs.reviews,
            diffs.opener,
            diffs.tabs,
            ClosedByClis(review.words, review.save_typed, decisions),
            self._show_status,
            review.unasked.gather_edit,
        )

    def start(self) -> None:
        self.windows.start()

    def stop(self) -> None:
        self.windows.stop()

    def _show_status(self, statuses: tuple[Status, ...]) -> None:
        self._ledger.set_unwritten({each.window_id: each.unwritten for each in statuses})
        self._status.show_statuses(statuses)
        self._base.notices.show_questions(statuses)
        self._pages.look_again()
