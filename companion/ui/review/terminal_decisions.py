"""Proposals on which the user decided in the terminal. UI thread only.

Their CLI does not say how they decided (docs/protocol.md 1.10). If the file is another one soon
after, they have accepted.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import Callable, NamedTuple

from ...base.file_content import Original
from ...base.merge import contains_changes
from ...edits.ledger import EditLedger
from .. import file_reading, texts
from ..stories import Stories, run_in_thread, sleep
from .ending import ClaimedDiff, conflict_marks
from .history import accepted_edit

# Milliseconds from one look at the file to the next: a CLI writes it at once, or not at all.
LOOKS = (100, 150, 250, 500, 1000, 3000)
# In brackets after the name of a file: the tab has what the CLI has overwritten.
BEFORE = "before the edit"
OWN_TEXT = (
    "{} has written its own text into {}, because yours had unresolved conflicts. Your text and"
    " what was in the file before are in tabs."
)


class Decided(NamedTuple):
    """A proposal that its CLI closed because the user has decided; `before` is the file at that
    moment. The text `has_conflicts` if it has marks of a merge, so its CLI was not given it."""

    claimed: ClaimedDiff
    before: Original
    has_conflicts: bool


class TerminalDecisions:
    """Puts what was accepted in the terminal among the accepted edits. `warn` shows a sentence
    until the user has seen it."""

    def __init__(self, stories: Stories, edits: EditLedger, warn: Callable[[str], None]) -> None:
        self._stories = stories
        self._edits = edits
        self._warn = warn
        # By path: the next edit of a file is decided only after the one before is written.
        self._watched: dict[str, Decided] = {}

    def watch_decision(self, claimed: ClaimedDiff, before: Original) -> None:
        """The user has decided on the diff; to be called before its views are closed."""
        record = claimed.record
        earlier = self._watched.pop(record.path, None)
        if earlier is not None:
            self._check_written(earlier, before)
        has_conflicts = record.has_conflicts and bool(conflict_marks(claimed.view))
        decided = self._watched[record.path] = Decided(claimed, before, has_conflicts)
        self._stories.begin(self._watch_file(decided))

    async def _watch_file(self, decided: Decided) -> None:
        path = decided.claimed.record.path
        for milliseconds in LOOKS:
            await sleep(milliseconds)
            present = await file_reading.read_content(path)
            if self._watched.get(path) is not decided:
                return
            if self._check_written(decided, present):
                del self._watched[path]
                await _drop_merged(decided, present)
                return
        del self._watched[path]

    def _check_written(self, decided: Decided, present: Original) -> bool:
        """Whether the file has been written."""
        claimed, before = decided.claimed, decided.before
        is_same = (present.exists, present.digest) == (before.exists, before.digest)
        if present.is_late or before.is_late or is_same or not present.exists:
            return False
        text = None if present.note else present.text
        self._edits.made.add(accepted_edit(replace(claimed, accepted=text), before))
        if decided.has_conflicts:
            path = claimed.record.path
            texts.return_text(claimed.window, path, before.text, BEFORE)
            self._warn(OWN_TEXT.format(claimed.record.proposer, os.path.basename(path)))
        return True


async def _drop_merged(decided: Decided, present: Original) -> None:
    """Let the file's tab show what was written, if that contains all of its unsaved changes."""
    view = texts.unsaved_view(decided.claimed.record.path)
    if view is None or present.note:
        return
    text = texts.text_of(view)
    if await run_in_thread(partial(contains_changes, decided.before.text, present.text, text)):
        if view.is_valid() and texts.text_of(view) == text:
            view.run_command("revert")
