"""Keeps the proposals that wait without tabs over a restart, and brings them back. UI thread only,
unless a function says otherwise.

Their hidden views have the texts (`hidden`); the store has a copy of each, which is never older
than a moment, and which counts if the view is gone.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Callable, Sequence

import sublime

from ...base.signal import ValueSignal
from ...base.text_digest import text_digest
from .. import queues, texts
from ..stories import Stories
from . import comments, hidden
from .diff_kinds import GIVEN_BACK, SESSION, TREE, kind_of
from .open_diffs import listed_ids, set_listed, undecided_diffs
from .record import (
    STAMP,
    DiffRecord,
    read_record,
    seen_changes,
    set_seen,
    stamp_view,
    waiting_record,
    write_comments,
    write_record,
)
from .reviews import Reviews
from .unopened_store import KeptProposal, UnopenedStore

# The most characters of all texts that are kept; beyond this, proposals take tabs.
MOST_KEPT = 16 * 1024 * 1024
# A text up to this many characters is kept at each keystroke; a larger one when the user has not
# typed for so many milliseconds.
SMALL = 64 * 1024
AT_REST = 500
# In the window's settings: the ids of the diffs that wait without tabs. Which of several windows
# with the same folders they belong to is known from this alone.
UNOPENED = "gemini_companion_unopened"
CLOSED = "your edits of a proposal in a closed window"


class UnopenedTexts:
    """The texts of the proposals without tabs of one companion."""

    def __init__(
        self,
        store: UnopenedStore,
        stories: Stories,
        reviews: Reviews,
    ) -> None:
        self._store = store
        self._stories = stories
        self._reviews = reviews
        # Something was typed in the view, and no event has told of it; emitted on the worker.
        self.unnoticed = ValueSignal[sublime.View]()
        # The views of this run, and their change counts when their texts were kept; by the ids of
        # the diffs.
        self._views: dict[str, sublime.View] = {}
        self._counts: dict[str, int] = {}
        # Those that are over and kept still: an accepted text has to be saved among the edits
        # first, for the editor may be killed.
        self._ended: set[str] = set()
        self._are_edits_saved: Callable[[], bool] = lambda: True
        self._is_stopped = False
        self.look_soon = queues.Once(lambda: self.look_at_all())
        reviews.ends.subscribe(lambda _id: self.look_soon())

    @property
    def room(self) -> int:
        """How many characters the text of one more may have."""
        return MOST_KEPT - self._store.size

    def wait_for_edits(self, are_edits_saved: Callable[[], bool]) -> None:
        """Drop a text that is over only while all edits are saved."""
        self._are_edits_saved = are_edits_saved

    def stop(self) -> None:
        """Leave the views to the next start, which may find that some are gone."""
        self._is_stopped = True
        self._drop_ended()

    def keep_view(self, right: sublime.View) -> None:
        """Keep all of the proposal, if it waits without tabs."""
        record = waiting_record(right)
        if record is not None and record.is_unopened:
            self._views[record.id] = right
            self._counts[record.id] = right.change_count()
            self._store.keep(_kept_of(right, record, texts.text_of(right)))

    def note_modified(self, view: sublime.View) -> None:
        """The text of a view has changed; called on the worker."""
        record = waiting_record(view)
        if record is None or not record.is_unopened:
            return
        if view.size() <= SMALL:
            self._read_text(view, record.id, None)
        else:
            read = partial(self._read_text, view, record.id, view.change_count())
            queues.on_worker(read, AT_REST)

    def _read_text(self, view: sublime.View, id: str, at: int | None) -> None:
        """Runs on the worker, where reading a large text keeps nobody waiting. With a change count,
        only if the text is still that one."""
        count = view.change_count()
        if view.is_valid() and at in (None, count):
            text = texts.text_of(view)
            queues.on_ui_thread(partial(self._note_text, view, id, count, text))

    def _note_text(self, view: sublime.View, id: str, count: int, text: str) -> None:
        record = waiting_record(view)
        if record is None or record.id != id or not record.is_unopened:
            return
        if not self._is_stopped:
            self._counts[id] = count
            self._store.keep(_kept_of(view, record, text))

    def save_window(self, window: sublime.Window) -> None:
        """Keep what was typed in the last moment: the window closes, or the companion stops."""
        for view, record in list(undecided_diffs(window)):
            if record.is_unopened and self._counts.get(record.id) != view.change_count():
                self.keep_view(view)

    def look_at_all(self) -> None:
        """Keep what has changed without an event, and mend what others have taken away; to be
        called from time to time."""
        if self._is_stopped:
            return
        found: set[str] = set()
        for window in sublime.windows():
            here = [
                (view, record) for view, record in undecided_diffs(window) if record.is_unopened
            ]
            found.update(record.id for _view, record in here)
            for view, record in here:
                self._look_at(view, record)
            ids = [record.id for _view, record in here]
            if _ids_listed(window) != ids:
                window.settings().set(UNOPENED, ids)
        for id in self._views.keys() - found:
            self._settle_missing(id)
        if self._are_edits_saved():
            self._drop_ended()
        hidden.destroyed.difference_update(hidden.destroyed - self._views.keys())

    def _look_at(self, view: sublime.View, record: DiffRecord) -> None:
        self._views[record.id] = view
        self._ended.discard(record.id)
        kept = self._store.kept.get(record.id)
        if kept is None:
            self.keep_view(view)
        elif self._counts.get(record.id) != view.change_count():
            queues.on_worker(partial(self.unnoticed.emit, view))
        else:
            now = _kept_of(view, record, kept.text)
            if now != kept:
                self._store.keep(now)

    def _settle_missing(self, id: str) -> None:
        """No window lists the diff: it is decided, has tabs, or is lost."""
        view, kept = self._views[id], self._store.kept.get(id)
        if kept is None or id in hidden.destroyed:
            self._forget(id)
            return
        window = sublime.Window(kept.record.window_id)
        if window.is_valid() and waiting_record(view) is not None:
            # Another project has other settings of the window.
            self._list_view(window, view)
        elif window.is_valid() and not view.is_valid():
            # Another package has destroyed it.
            self._bring_back(window, kept)
        elif not window.is_valid() and sublime.windows():
            self._forget(id)
            _return_typed(kept)

    def _drop_ended(self) -> None:
        for id in self._ended:
            self._store.drop(id)
        self._ended.clear()

    def _forget(self, id: str) -> None:
        self._ended.add(id)
        self._views.pop(id, None)
        self._counts.pop(id, None)

    # After a restart.

    def adopt_kept(self, window: sublime.Window) -> list[tuple[str, str]]:
        """Bring back those that the window had before the editor's restart; gives session and path
        of those that their CLIs know."""
        known = _present_ids() if self._store.kept else set()
        for view, record in undecided_diffs(window):
            if record.is_unopened:
                # The package was loaded anew.
                self._views[record.id] = view
        mine = [
            kept
            for id, kept in self._store.kept.items()
            if id not in known.union(self._views, self._ended) and _belongs_to(kept, window)
        ]
        # One that a newer one has replaced may not have been dropped before the editor was killed.
        newest = {_asked_for(kept.record): kept for kept in mine}
        for kept in mine:
            if newest[_asked_for(kept.record)] is not kept:
                self._store.drop(kept.record.id)
        mine = list(newest.values())
        for kept in mine:
            record = replace(kept.record, window_id=window.id(), is_restored=True)
            self._bring_back(window, replace(kept, record=record))
        own = (kept.record for kept in mine if kind_of(kept.record) is SESSION)
        return [(record.session_id, record.path) for record in own]

    def _bring_back(self, window: sublime.Window, kept: KeptProposal) -> None:
        view = hidden.create_view(window, kept.record.id, kept.text)
        record = replace(kept.record, view_id=view.id())
        write_record(view, record)
        set_seen(view, kept.seen)
        write_comments(view, kept.comments)
        comments.mark_comments(view)
        stamp_view(view)
        self._list_view(window, view)
        self._views[record.id] = view
        self._counts[record.id] = view.change_count()
        review = self._reviews.with_id(record.id)
        if review is not None:
            self._reviews.begin_review(view, review.original)
        elif not record.is_restored:
            self._stories.begin(self._reviews.read_again(view, record.path), view)

    def _list_view(self, window: sublime.Window, view: sublime.View) -> None:
        others = (id for id in listed_ids(window) if id != view.id())
        set_listed(window, [*map(sublime.View, others), view])


def _kept_of(view: sublime.View, record: DiffRecord, text: str) -> KeptProposal:
    seen, folders = tuple(sorted(seen_changes(view))), sublime.Window(record.window_id).folders()
    return KeptProposal(record, text, seen, tuple(comments.comments_of(view)), tuple(folders))


def _ids_listed(window: sublime.Window) -> Sequence[str]:
    ids = window.settings().get(UNOPENED)
    return [id for id in ids if isinstance(id, str)] if isinstance(ids, list) else []


def _present_ids() -> set[str]:
    """The ids of all diffs that the editor itself has brought back."""
    views = [view for window in sublime.windows() for view in window.views()]
    records = (read_record(view) for view in views if view.settings().get(STAMP) is True)
    return {record.id for record in records if record is not None}


def _belongs_to(kept: KeptProposal, window: sublime.Window) -> bool:
    id = kept.record.id
    if id in _ids_listed(window):
        return True
    is_elsewhere = any(id in _ids_listed(other) for other in sublime.windows())
    return not is_elsewhere and kept.folders == tuple(window.folders())


def _asked_for(record: DiffRecord) -> tuple[str, str, str]:
    """What one proposal alone can be for; one that nobody waits for is for itself."""
    waits = kind_of(record) is not GIVEN_BACK
    return (record.session_id, record.call, record.path) if waits else ("", record.id, "")


def _return_typed(kept: KeptProposal) -> None:
    """The window is closed. What was typed into the proposals of CLIs and chats comes back from
    elsewhere."""
    record = kept.record
    if kind_of(record) in (GIVEN_BACK, TREE) and text_digest(kept.text) != record.proposed_digest:
        window = sublime.Window(record.window_id)
        texts.return_text(window, record.path, kept.text, CLOSED)
