"""What a sheet needs to know of changes, wherever they come from. UI thread only."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Callable, Coroutine, Iterable, Protocol

import sublime

from ...base.change_sheet import FileChanges
from ...base.comparison import Comparison
from ...base.shown_text import shown_line
from ...base.text_digest import text_digest
from .. import texts
from ..review import head
from ..review.diff_kinds import kind_of
from ..review.history import EditHistory
from ..review.record import DiffRecord
from ..review.review import Review
from ..review.reviews import not_compared

NO_CHANGES = "No line changes."
NOT_UNDONE = "What could not be undone stays as it is."


@dataclass(frozen=True)
class SheetEntry:
    """One file with changes. `make` gives them and runs in a thread; as long as `made_of` is equal,
    it would give the same. `is_current` is False while they are being computed again.
    `change_count` is that of the file's own review, None if that is not open."""

    id: str
    made_of: object
    make: Callable[[], FileChanges]
    is_current: bool = True
    change_count: int | None = None


@dataclass(frozen=True)
class UndoStep:
    """`back` takes the decision on a file back, and gives a sentence if that was not done.
    `edit_ids` are those of the edits in the history, if something was accepted that was not made
    already."""

    back: Callable[[sublime.Window], Coroutine[Any, Any, str]]
    edit_ids: tuple[str, ...] = ()


class Source(Protocol):
    """Changes of one kind. What is decided is decided as in the file's own review."""

    # What one of them, and several, are called.
    names: tuple[str, str]
    # What it means to accept them, and to reject them, as sentences.
    meanings: tuple[str, str]

    @property
    def is_complete(self) -> bool:
        """Whether it knows all that it knew before a restart, or will know no more."""

    def entries(self, window: sublime.Window) -> Iterable[SheetEntry]:
        """The files of the window, in their order; not all of them are fetched at once."""

    def review_view(self, id: str) -> sublime.View | None:
        """The right view of the file's own review; None if it is not open."""

    async def open_review(self, window: sublime.Window, id: str) -> sublime.View | None:
        """The right view of the file's own review, opened if need be; the keyboard stays where it
        is."""

    def kept_changes(self, id: str) -> frozenset[str]:
        """The keys of the changes of the file that the user has kept."""

    def set_kept(self, id: str, keys: frozenset[str]) -> bool:
        """They have kept these and no others; False if it is decided."""

    def is_as_seen(self, file: FileChanges) -> bool:
        """Whether what was shown so is what would be decided on, if its review is not open."""

    async def accept_changes(
        self, window: sublime.Window, id: str, asks: bool = True
    ) -> UndoStep | None:
        """Accept what the review shows; None if it is not decided. If there are doubts, the user is
        asked about them; or nothing is done if it does not ask."""

    async def reject_changes(self, window: sublime.Window, id: str) -> UndoStep | None:
        """Reject it, or undo the edit."""


def entry_of(id: str, view: sublime.View, record: DiffRecord, review: Review) -> SheetEntry:
    """The entry of a file whose own review is open."""
    comparison, kind = review.comparison, kind_of(record)
    notes = [] if review.is_compared else [not_compared(record)]
    notes += [head.DIGEST] if review.digest is not None else []
    is_dropped = _is_dropped(view, record, comparison)
    notes += [kind.all_dropped] if is_dropped else []
    is_same = comparison is not None and not comparison.keys and not is_dropped
    notes += [NO_CHANGES] if is_same else []
    note = shown_line(" ".join([*notes, *review.notes.values()]))
    # The comparison is held by what is made of it, so no other one has its number.
    made_of = id, id_of(comparison), note
    found = FileChanges(
        id,
        file_title(record.path, sublime.Window(record.window_id)),
        comparison,
        note,
        maker_words(kind.sheet_state(record), record.original_state.startswith("new file")),
        can_type=comparison is not None and review.digest is None,
        is_made=kind.is_made,
        is_dropped=is_dropped and not kind.is_made,
        made_of=made_of,
    )
    is_current = review.is_current(view) or not review.is_compared
    return SheetEntry(id, made_of, lambda: found, is_current, view.change_count())


def _is_dropped(view: sublime.View, record: DiffRecord, comparison: Comparison | None) -> bool:
    """Whether the user has dropped all changes. A proposal can be the very text of the file."""
    if comparison is None or len(comparison.dropped) < len(comparison.keys):
        return False
    is_typed = record.is_whole and text_digest(texts.text_of(view)) != record.proposed_digest
    return is_typed or bool(comparison.dropped)


def undo_of_accepted(history: EditHistory, *ids: str) -> UndoStep:
    """The step that undoes the edits with the ids, which the user has accepted as one."""

    async def take_back(window: sublime.Window) -> str:
        for edit in filter(None, map(history.find_edit, reversed(ids))):
            await history.undo_edit(window, edit)
        return NOT_UNDONE if any(map(history.find_edit, ids)) else ""

    return UndoStep(take_back, ids)


def id_of(value: object) -> int:
    return id(value)


def file_title(path: str, window: sublime.Window) -> str:
    """The path as a heading has it: from a folder of the window on, if it is in one; with the
    folder's name if there are several."""
    folders = window.folders() if window.is_valid() else []
    names = [os.path.basename(folder) for folder in folders]
    for folder, name in zip(folders, names):
        if path.startswith(os.path.join(folder, "")) and names.count(name) == 1:
            # Two folders may have files of the same name.
            start = folder if len(folders) == 1 else os.path.dirname(folder)
            return shown_line(os.path.relpath(path, start))
    return shown_line(path)


def maker_words(who: str, is_new: bool) -> str:
    """Who made the changes, behind the counts."""
    return shown_line(f"new file, {who}" if is_new else who)
