"""An acceptance: the file is read again, what speaks against accepting is asked about, and what was
accepted is remembered; UI thread only."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Callable, Sequence, Tuple

import sublime

from ...base.comparison import Comparison
from ...base.digest import Digest
from ...ide.accepted_edits import Edit
from ...ide.events import FileAsked, WorkAsked
from ...ide.file_content import Original
from ...ide.service import Companion
from .. import panels, queues, sharing
from ..editor import SublimeEditor
from . import decisions, pair
from .actions import Actions
from .changes import FORGOTTEN, REJECT, ask_whether_to_reject
from .conflicts import Conflicts
from .decisions import ClaimedDiff
from .history import History
from .lookup import name_of, path_of
from .record import is_diff, waiting
from .reviews import FAILED, LOST, Reviews

# A name, what it does in words, and that.
Answer = Tuple[str, str, Callable[[], object]]
# What can be answered where something speaks against accepting, and what it does; of the first, the
# doubts stand there.
SEE = ("See the difference", "")
ACCEPT = ("Accept all the same", "Gemini CLI writes the text over the file.")
ANEW = (ACCEPT[0], "Gemini CLI writes the file anew.")
MERGE = ("Take over my changes", "What you changed in the file is merged into the proposal.")
GO_BACK = ("Go back", "Nothing is sent, nothing is changed.")


class Accepting:
    """That of the diffs of one companion."""

    def __init__(
        self,
        companion: Companion,
        editor: SublimeEditor,
        reviews: Reviews,
        actions: Actions,
        conflicts: Conflicts,
        history: History,
    ) -> None:
        self._companion = companion
        self._editor = editor
        self._reviews = reviews
        self._actions = actions
        self._conflicts = conflicts
        self._history = history

    def accept(
        self, window: sublime.Window, view: sublime.View, then: Callable[[], None] = lambda: None
    ) -> None:
        """Accept a diff, and do something then; where something speaks against it, ask in the
        window first."""
        if not self._actions.can_decide():
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
        record, review = waiting(view), self._reviews.of(view)
        if record is None:
            return
        found = decisions.doubts(view, present)
        if record.has_drops and (review is None or review.digest is None):
            found.append(LOST)
        if not found:
            self._accept_now(view, present, then)
            return
        accept = ACCEPT if present.exists else ANEW
        decide: Answer = (*accept, partial(self._accept_now, view, present, then))
        if decisions.is_emptied(view):
            decide = (*REJECT, partial(self._actions.reject, view))
        see: Answer = (*SEE, partial(self._see, window, view, present))
        answers: list[Answer] = [see, decide, (*GO_BACK, lambda: None)]
        if self._conflicts.can_take_over(view, present):
            answers.insert(2, (*MERGE, partial(self._conflicts.take_over, view, present)))
        self._ask(window, f"{name_of(view)}: {' '.join(found)}", answers)

    def _ask(self, window: sublime.Window, doubts: str, answers: Sequence[Answer]) -> None:
        items = [[name, detail or doubts] for name, detail, _do in answers]

        def answer(index: int) -> None:
            if index >= 0:
                answers[index][2]()

        panels.choose(window, items, answer, doubts)
        self._editor.tell(doubts)

    def _see(self, window: sublime.Window, view: sublime.View, present: Original) -> None:
        if is_diff(view):
            self._compare_again(view, present)
            pair.show(window, view)

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
            self._companion.post(WorkAsked(compute, reply))

    def _show_again(
        self, view: sublime.View, before: Digest, present: Original, digest: Digest
    ) -> None:
        review = self._reviews.of(view)
        if review is not None and review.digest is before:
            review.dropped = digest.still_dropped(before, review.dropped)
            pair.show_digest(view, digest, present)
            self._reviews.begin(view, present.text, digest)

    def _accept_now(self, view: sublime.View, present: Original, then: Callable[[], None]) -> None:
        review = self._reviews.of(view)
        if review is None or review.digest is None:
            self._accept_settled(view, present, then)
            return

        def do(comparison: Comparison) -> None:
            if comparison.keys and len(comparison.dropped) == len(comparison.keys):
                ask_whether_to_reject(view, self._actions.reject)
            else:
                self._accept_settled(view, present, then)

        # What was dropped a moment ago is to be missing.
        self._reviews.with_comparison(view, do)

    def _accept_settled(
        self, view: sublime.View, present: Original, then: Callable[[], None]
    ) -> None:
        review = self._reviews.of(view)
        digest = review.digest if review is not None else None
        claimed = self._actions.decide(view, accept=True, before=present.known_digest)
        if claimed is None:
            return
        text = claimed.text
        edit = _edit(claimed, present, text)
        if text is None and digest is not None:
            # The CLI writes what it proposed, of which the view has the changed parts.
            self._companion.post(WorkAsked(lambda: digest.new_text, partial(self._add, edit)))
        else:
            self._history.add(edit)
        queues.on_ui_thread(then)

    def _add(self, edit: Edit, text: str | None) -> None:
        """On the companion's thread."""
        queues.on_ui_thread(partial(self._history.add, replace(edit, after=text)))


def _edit(claimed: ClaimedDiff, present: Original, text: str | None) -> Edit:
    record, window = claimed.record, claimed.window
    return Edit(
        record.window_id,
        record.path,
        present,
        text,
        record.client,
        time.time(),
        tuple(window.folders()),
        sharing.of(window),
    )
