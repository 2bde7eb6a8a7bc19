"""An acceptance: the file is read again, the user is asked about any doubts, and the accepted edit
is stored. UI thread only."""

from __future__ import annotations

from functools import partial
from typing import Callable, Protocol

import sublime

from ...base import background
from ...base.answer import Answer
from ...base.digest import Digest
from ...base.file_content import Original
from ...base.merge import contains_changes
from ...edits.edit import Edit
from ...edits.ledger import EditLedger
from .. import file_reading, panels, texts
from ..ordered_work import UnderWay
from ..stories import run_in_thread
from . import ending, pair
from .actions import Actions
from .conflicts import Conflicts
from .diff_kinds import kind_of
from .history import accepted_edit
from .open_diffs import name_of
from .record import is_diff, waiting_record
from .reviews import FAILED, LOST, OVER, Reviews
from .single_changes import FORGOTTEN, ask_whether_to_reject
from .unopened_tabs import UnopenedTabs

# The possible answers to doubts about an acceptance, and what each does; the first shows the
# doubts as its description. `{}` is who proposed the text.
SEE = ("See the difference", "")
ACCEPT = ("Accept anyway", "{} writes the text over the file.")
ANEW = (ACCEPT[0], "{} creates the file again.")
MERGE = ("Merge my changes", "What you changed in the file is merged into the proposal.")
GO_BACK = ("Go back", "Nothing is sent, nothing is changed.")
NOT_ACCEPTED = "{} was not accepted: accept it again."
UNDER_WAY = "{} is being accepted already."
CLOSED = "{} was closed before it was accepted: nothing is written."
IN_TAB = " Its text is in a new tab."


class Warn(Protocol):
    """Shows a sentence until the user has seen it, or what it is about is over."""

    def __call__(self, sentence: str, about: str = "") -> None: ...


def about_diff(id: str) -> str:
    """What a sentence is about that is true as long as there is the diff."""
    return f"diff {id}"


class Accepting:
    """Accepts the diffs of one companion."""

    def __init__(
        self,
        reviews: Reviews,
        actions: Actions,
        conflicts: Conflicts,
        edits: EditLedger,
        tabs: UnopenedTabs,
        tell: Callable[[str], None],
        warn: Warn,
    ) -> None:
        self._reviews = reviews
        self._actions = actions
        self._conflicts = conflicts
        self._edits = edits
        self._tabs = tabs
        self._tell = tell
        self._warn = warn
        # The acceptances, by the ids of their diffs.
        self._under_way = UnderWay()
        # The questions about diffs, by the ids of their right views.
        self._asked: dict[int, tuple[sublime.Window, Answer[int]]] = {}

    async def accept_proposal(
        self, window: sublime.Window, view: sublime.View, asks: bool = True
    ) -> Edit | None:
        """Accept a proposal; gives the edit that can be undone later. With doubts, nothing is done
        if it does not ask, and whoever calls it says so."""
        record, name = waiting_record(view), name_of(view)
        if record is None or record.id in self._under_way:
            if asks:
                self._tell((OVER if record is None else UNDER_WAY).format(name))
            return None
        if not self._actions.can_decide():
            return None
        with self._under_way.hold(record.id):
            try:
                async with self._reviews.presses.take_place(record.id):
                    return await self._accept_now(window, view, asks)
            except GeneratorExit:
                # The acceptance is a decision and must not be lost silently.
                if is_diff(view):
                    self._warn(NOT_ACCEPTED.format(name), about_diff(record.id))
                elif not view.is_valid():
                    self._warn(CLOSED.format(name))
                raise

    async def _accept_now(
        self, window: sublime.Window, view: sublime.View, asks: bool
    ) -> Edit | None:
        record = waiting_record(view)
        if record is None:
            self._tell(OVER.format(name_of(view)))
            return None
        present = await file_reading.read_content(record.path)
        if not await self._is_wanted(window, view, present, asks):
            return None
        review = self._reviews.review_of(view)
        after = None
        if review is not None and review.digest is not None:
            after = await self._large_text(view)
            if after is None:
                return None
        before = present.known_digest
        claimed = self._actions.decide_proposal(view, accept=True, before=before, large=after)
        if claimed is None:
            return None
        edits = self._actions.accepted_edits(claimed, accepted_edit(claimed, present))
        for edit in edits:
            self._edits.made.add(edit)
        return edits[0]

    def handle_close(self, view: sublime.View) -> None:
        """The view closes. If it is being accepted and the user closes it, that is not a rejection;
        in any case nothing is left to ask about."""
        if view.id() in self._asked:
            panels.close_panel(*self._asked.pop(view.id()))
        record = waiting_record(view)
        if record is not None and record.id in self._under_way:
            self._actions.release_proposal(view)
            sentence = CLOSED.format(name_of(view))
            self._warn(sentence + IN_TAB if record.is_whole else sentence)

    async def _is_wanted(
        self, window: sublime.Window, view: sublime.View, present: Original, asks: bool
    ) -> bool:
        """Whether there are no doubts, or the user accepts in spite of them if it asks."""
        has_tab = await self._has_tab(view)
        record, review = waiting_record(view), self._reviews.review_of(view)
        if record is None:
            return False
        found = ending.acceptance_doubts(view, record, present, has_tab)
        if record.has_drops and (review is None or review.digest is None):
            found.append(LOST)
        if not found:
            return True
        if not asks:
            return False
        decide, refuse = ACCEPT if present.exists else ANEW, kind_of(record).offer
        answers = [SEE, refuse if ending.is_emptied(view, record) else decide, GO_BACK]
        if self._conflicts.can_take_over(view, present):
            answers.insert(2, MERGE)
        doubts = " ".join(found)
        self._tell(f"{name_of(view)}: {doubts}")
        proposer = record.proposer
        items = [[name, detail.format(proposer) or doubts] for name, detail in answers]
        answer: Answer[int] = Answer()
        self._asked[view.id()] = window, answer
        try:
            with self._reviews.presses.announce_question(name_of(view)):
                number = await panels.ask_choice(
                    window, items, f"{name_of(view)}: {doubts}", answer
                )
        finally:
            self._asked.pop(view.id(), None)
        chosen = answers[number] if number >= 0 else GO_BACK
        if chosen == SEE:
            await self._show_against_file(window, view, present)
        elif chosen == MERGE:
            await self._conflicts.take_over(view, present)
        elif chosen == refuse:
            self._actions.reject_proposal(view)
        return chosen == decide

    async def _has_tab(self, view: sublime.View) -> bool:
        """Whether the proposal has all unsaved changes of the file's tab that were merged into it:
        the user may have undone that, or resolved conflicts."""
        record, review = waiting_record(view), self._reviews.review_of(view)
        tab = ending.merged_view(record) if record is not None else None
        if tab is None or review is None:
            return False
        both = texts.text_of(view), texts.text_of(tab)
        is_large = review.digest is not None
        return is_large or bool(
            await run_in_thread(partial(contains_changes, review.original, *both))
        )

    async def _large_text(self, view: sublime.View) -> str | None:
        """The whole accepted text of a diff whose view shows only parts; None if it must not be
        accepted."""
        while True:
            # The text must not contain what was dropped a moment ago.
            comparison = await self._reviews.wait_for_comparison(view)
            review = self._reviews.review_of(view)
            if comparison is None or review is None or review.digest is None:
                return None
            if comparison.keys and len(comparison.dropped) == len(comparison.keys):
                with self._reviews.presses.announce_question(name_of(view)):
                    await ask_whether_to_reject(view, self._actions.reject_proposal)
                return None
            if review.text is not None:
                return review.text
            # The CLI writes what it proposed.
            text = await background.start_work(partial(_new_text, review.digest))
            if (
                self._reviews.review_of(view) is review
                and review.is_current(view)
                and review.text is None
            ):
                return text

    async def _show_against_file(
        self, window: sublime.Window, view: sublime.View, present: Original
    ) -> None:
        """Show what the proposal changes in the present file."""
        record, review = waiting_record(view), self._reviews.review_of(view)
        digest = review.digest if review is not None else None
        if record is None:
            return
        if record.is_compared and present.note:
            self._tell(present.note)
        elif record.is_whole or not record.is_compared:
            pair.show_original(view, present)
            self._reviews.begin_review(view, present.text)
        elif digest is None:
            self._tell(FORGOTTEN)
        else:
            await self._see_digest(view, present, digest)
        tab = await self._tabs.open_now(view)
        if tab is not None:
            pair.show_pair(window, tab)

    async def _see_digest(self, view: sublime.View, present: Original, before: Digest) -> None:
        digest = await run_in_thread(partial(before.compare_with, present.text))
        review = self._reviews.review_of(view)
        if digest is None:
            self._tell(FAILED)
        elif review is not None and review.digest is before:
            review.dropped = digest.still_dropped(before, review.dropped)
            pair.show_digest(view, digest, present)
            self._reviews.begin_review(view, present.text, digest)


def _new_text(digest: Digest) -> str:
    return digest.new_text
