"""What the user types into proposals, saved in time: a crash costs the last moments at most."""

from __future__ import annotations

import time
from functools import partial
from typing import Callable

import sublime

from ...base.text_digest import text_digest
from .. import queues, texts
from . import comments
from .open_diffs import diffs
from .record import DiffRecord, is_diff, update, waiting

# Milliseconds without an edit after which a text is saved, and those since the first unsaved edit
# after which it is saved however fast the user types.
AT_REST = 500
AT_MOST = 2000


class Edits:
    """`save` is given what is to be saved: the diff's record and its text."""

    def __init__(self, save: Callable[[DiffRecord, str], None]) -> None:
        self._save = save
        # When the first unsaved edit was made, by the view's id; the worker's own.
        self._unsaved_since: dict[int, float] = {}

    def modified(self, view: sublime.View) -> None:
        """The text of a view is another; on the worker."""
        if not is_diff(view):
            return
        since = self._unsaved_since.setdefault(view.id(), time.monotonic())
        queues.on_worker(partial(self._save_if_due, view, since, view.change_count()), AT_REST)

    def _save_if_due(self, view: sublime.View, since: float, count: int) -> None:
        """On the worker: where no later edit has come, or the first one is long ago."""
        if self._unsaved_since.get(view.id()) != since:
            return
        is_late = (time.monotonic() - since) * 1000 >= AT_MOST - AT_REST
        if not is_late and view.change_count() != count:
            return
        del self._unsaved_since[view.id()]
        record = waiting(view)
        if record is not None and record.is_whole:
            # A large text takes some milliseconds, which the UI thread does not have.
            text = texts.text_of(view)
            found = partial(self._found, view, record.id, text, text_digest(text))
            queues.on_ui_thread(found)

    def save_all(self, window: sublime.Window) -> None:
        """What was typed in the last moment, too."""
        for view in diffs(window):
            record = waiting(view)
            if record is not None and record.is_whole:
                text = texts.text_of(view)
                self._found(view, record.id, text, text_digest(text))

    def _found(self, view: sublime.View, id: str, text: str, digest: str) -> None:
        record = waiting(view)
        # Of a restored diff it is not known yet whether the core has a newer text.
        if record is None or record.id != id or record.is_restored:
            return
        record = update(view, record, saved_digest=digest)
        comments.save(view)
        self._save(record, text)
