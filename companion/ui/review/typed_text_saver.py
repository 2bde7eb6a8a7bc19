"""Saves what the user types into proposals: a crash costs at most the last moments."""

from __future__ import annotations

import time
from functools import partial
from typing import Callable

import sublime

from ...base.text_digest import text_digest
from .. import queues, texts
from . import comments
from .open_diffs import undecided_diffs
from .record import DiffRecord, is_diff, update_record, waiting_record

# Milliseconds without an edit after which a text is saved; and milliseconds since the first unsaved
# edit after which it is saved even if the user continues to type.
AT_REST = 500
AT_MOST = 2000


class TypedTextSaver:
    """`save` gets the diff's record and its text."""

    def __init__(self, save: Callable[[DiffRecord, str], None]) -> None:
        self._save = save
        # When the first unsaved edit was made, by view id; belongs to the worker.
        self._unsaved_since: dict[int, float] = {}

    def note_modified(self, view: sublime.View) -> None:
        """The text of a view has changed; called on the worker."""
        if not is_diff(view):
            return
        since = self._unsaved_since.setdefault(view.id(), time.monotonic())
        queues.on_worker(partial(self._save_if_due, view, since, view.change_count()), AT_REST)

    def _save_if_due(self, view: sublime.View, since: float, count: int) -> None:
        """Runs on the worker. Saves if no later edit has come, or if the first one is old
        enough."""
        if self._unsaved_since.get(view.id()) != since:
            return
        is_late = (time.monotonic() - since) * 1000 >= AT_MOST - AT_REST
        if not is_late and view.change_count() != count:
            return
        del self._unsaved_since[view.id()]
        record = waiting_record(view)
        if record is not None and record.is_whole:
            # A large text takes some milliseconds, too many for the UI thread.
            text = texts.text_of(view)
            found = partial(self._save_text, view, record.id, text, text_digest(text))
            queues.on_ui_thread(found)

    def save_all(self, window: sublime.Window) -> None:
        """Save all texts, including the edits of the last moment."""
        for view, record in list(undecided_diffs(window)):
            if record.is_whole:
                text = texts.text_of(view)
                self._save_text(view, record.id, text, text_digest(text))

    def _save_text(self, view: sublime.View, id: str, text: str, digest: str) -> None:
        record = waiting_record(view)
        # For a restored diff, it is not known yet whether the companion has a newer text.
        if record is None or record.id != id or record.is_restored:
            return
        record = update_record(view, record, saved_digest=digest)
        comments.save_comments(view)
        self._save(record, text)
