"""What the user does with a diff: accept, reject, release, close; each tells the core."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Any, Callable

import sublime

from ...base.comparison import Comparison
from ...base.digest import Digest
from ...ide.events import ComparisonAsked, DiffAccepted, DiffRejected, FileAsked
from ...ide.file_content import Original
from ...ide.service import Companion
from .. import queues, settings
from ..editor import SublimeEditor
from . import decisions, large, pair
from .changes import FORGOTTEN, ask_whether_to_reject
from .conflicts import Conflicts
from .decisions import ClaimedDiff
from .history import Edit, History
from .lookup import partner, path_of
from .record import is_diff, waiting
from .reviews import FAILED, LOST, Reviews

STOPPED = 'It has stopped. Run "Gemini Companion: Restart", then decide.'
WINDOW_CLOSED = "The window of its CLI is closed; the text stays here, as a new tab."
YOURS = "your edits"


class Actions:
    """Those on diffs of one companion."""

    def __init__(
        self,
        companion: Companion,
        editor: SublimeEditor,
        reviews: Reviews,
        conflicts: Conflicts,
        history: History,
    ) -> None:
        self._companion = companion
        self._reviews = reviews
        self._conflicts = conflicts
        self._history = history
        self._editor = editor

    def activated(self, view: sublime.View) -> None:
        """The view has the keyboard now: of a diff, both sides are shown."""
        window = view.window()
        if window is not None and is_diff(view):
            pair.show(window, view)

    def instead_of(self, name: str, view: sublime.View) -> tuple[str, dict[str, Any]] | None:
        """The command that runs in place of the one with the name: a proposal has no file to save
        to, so the user who saves it means that it is good."""
        if name != "save":
            return None
        record, window = waiting(view) or waiting(partner(view)), view.window()
        if record is None or window is None or not settings.of(window).accept_on_save:
            return None
        queues.on_ui_thread(
            partial(window.run_command, "gemini_companion_accept_diff", {"id": record.id})
        )
        return ("noop", {})

    def accept(
        self, window: sublime.Window, view: sublime.View, then: Callable[[], None] = lambda: None
    ) -> None:
        """Accept a diff, and do something then; where something speaks against it, ask in the
        window first."""
        if not self._can_decide():
            return

        def reply(present: Original) -> None:
            """On the companion's thread."""
            queues.on_ui_thread(partial(self._accept, window, view, then, present))

        self._companion.post(FileAsked(path_of(view), reply))

    def _accept(
        self,
        window: sublime.Window,
        view: sublime.View,
        then: Callable[[], None],
        present: Original,
    ) -> None:
        record = waiting(view)
        if record is None:
            return
        found = decisions.doubts(view, present)
        review = self._reviews.of(view)
        if record.has_drops and (review is None or review.digest is None):
            found.append(LOST)
        if not found:
            self._accept_now(view, present, then)
            return

        def answer(index: int) -> None:
            if index == 0 and is_diff(view):
                self._compare_again(view, present)
                pair.show(window, view)
            elif index == 1:
                self._accept_now(view, present, then)
            elif index == 2 and record.is_whole:
                self._conflicts.take_over(view, present)

        sentence = " ".join(found)
        merge = [
            "Take over my changes",
            "What you changed in the file is merged into the proposal.",
        ]
        items = [
            ["See the difference", sentence],
            ["Accept all the same", "Gemini CLI writes the text over the file."],
            *([merge] if record.is_whole else []),
            ["Go back", "Nothing is sent, nothing is changed."],
        ]
        window.show_quick_panel(items, answer, placeholder=sentence)
        self._editor.tell(sentence)

    def _compare_again(self, view: sublime.View, present: Original) -> None:
        """Show what the proposal changes of the file as it is now."""
        record, review = waiting(view), self._reviews.of(view)
        digest = review.digest if review is not None else None
        if record is None or (record.is_compared and present.note):
            self._editor.tell(present.note)
        elif record.is_whole or not record.is_compared:
            pair.show_original(view, present)
            self._reviews.begin(view, present.text)
        elif digest is None:
            self._editor.tell(FORGOTTEN)
        else:

            def reply(again: Digest | None) -> None:
                """On the companion's thread."""
                if again is None:
                    self._editor.tell(FAILED)
                    return
                queues.on_ui_thread(partial(self._show_again, view, digest, present, again))

            compute = partial(digest.against, present.text)
            self._companion.post(ComparisonAsked(compute, reply))

    def _show_again(
        self, view: sublime.View, before: Digest, present: Original, digest: Digest
    ) -> None:
        review = self._reviews.of(view)
        if review is not None and review.digest is before:
            large.show_anew(view, digest)
            pair.show_original(view, large.shown_original(present, digest), is_digest=True)
            self._reviews.begin(view, present.text, digest)

    def _accept_now(self, view: sublime.View, present: Original, then: Callable[[], None]) -> None:
        review = self._reviews.of(view)
        if review is None or review.digest is None:
            self._accept_settled(view, present, then)
            return

        def do(comparison: Comparison) -> None:
            if comparison.keys and len(comparison.dropped) == len(comparison.keys):
                ask_whether_to_reject(view, self.reject)
            else:
                self._accept_settled(view, present, then)

        # What was dropped a moment ago is to be missing.
        self._reviews.with_comparison(view, do)

    def _accept_settled(
        self, view: sublime.View, present: Original, then: Callable[[], None]
    ) -> None:
        claimed = self._decide(view, accept=True)
        if claimed is not None:
            record = claimed.record
            if record.is_whole and claimed.text is not None:
                edit = Edit(
                    record.window_id,
                    record.path,
                    present,
                    claimed.text,
                    record.client,
                    time.time(),
                )
                self._history.add(edit)
            queues.on_ui_thread(then)

    def reject(self, view: sublime.View) -> None:
        """Reject a diff, if nobody else has decided, and close it."""
        self._decide(view, accept=False)

    def release(self, view: sublime.View) -> None:
        """Give up a diff for which no CLI waits any more; its text stays as a tab of the user's. A
        CLI that does wait takes it for a rejection."""
        claimed = self._claim(view)
        if claimed is None:
            return
        self._tell_rejected(claimed)
        keyboard = self._editor.keyboard_in(claimed.window)
        queues.on_ui_thread(partial(decisions.release, claimed, keyboard))

    def closing(self, view: sublime.View) -> None:
        """The user closes the view: for a diff, that is a rejection."""
        if not is_diff(view):
            return
        if self._companion.is_running:
            self._decide(view, accept=False)
            return
        claimed = decisions.claim(view)
        if claimed is not None:
            queues.on_ui_thread(partial(decisions.put_away, claimed, None, YOURS))

    def _decide(self, view: sublime.View, accept: bool) -> ClaimedDiff | None:
        """Gives the diff, None where somebody else has decided."""
        review = self._reviews.of(view)
        text = review.text if review is not None else None
        claimed = self._claim(view) if self._can_decide() else None
        if claimed is None:
            return None
        if accept:
            self._tell_accepted(claimed if text is None else replace(claimed, text=text))
            close = decisions.close
        else:
            self._tell_rejected(claimed)
            close = partial(decisions.put_away, name=decisions.REJECTED)
        keyboard = self._editor.keyboard_in(claimed.window)
        # Closing views within an event that closes one may close others (docs/sublime.md 4.5).
        queues.on_ui_thread(partial(close, claimed, keyboard))
        queues.on_ui_thread(self._reviews.forget_ended)
        return claimed

    def _can_decide(self) -> bool:
        if not self._companion.is_running:
            self._editor.tell(STOPPED)
        return self._companion.is_running

    def _claim(self, view: sublime.View) -> ClaimedDiff | None:
        """None where nobody waits for the decision, or where there is no diff."""
        claimed = decisions.claim(view)
        if claimed is None or claimed.window.is_valid():
            return claimed
        queues.on_ui_thread(partial(decisions.release, claimed, None))
        self._editor.tell(WINDOW_CLOSED)
        return None

    def _tell_accepted(self, claimed: ClaimedDiff) -> None:
        record = claimed.record
        # Without a text, the CLI writes its own proposal (docs/protocol.md 1.4).
        text = claimed.text or ""
        event = DiffAccepted(record.window_id, record.session_id, record.path, text)
        self._companion.post(event)

    def _tell_rejected(self, claimed: ClaimedDiff) -> None:
        record = claimed.record
        self._companion.post(DiffRejected(record.window_id, record.session_id, record.path))
