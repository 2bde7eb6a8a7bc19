"""Edits that CLIs made without asking: gathered quietly, listed by turns, and undone by turns. UI
thread only."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Callable, Mapping, Sequence

import sublime

from ...base.comparison import compare_texts
from ...base.digest import LARGE
from ...edits.edit import Edit, EditState
from ...edits.ledger import EditLedger
from ...ide.editor import UnaskedEdit
from .. import panels, sharing_settings
from ..known_trees import KnownTrees
from ..stories import run_in_thread
from .edit_rows import EditRow
from .open_diffs import made_edit_views
from .queue import ReviewQueue
from .record import waiting_record
from .written_reviews import WrittenReviews

NONE = "No CLI of this window has made an edit without asking."
NOTHING_LEFT = "No edit that a CLI made without asking can be undone here any more."
GO_BACK = ["Go back", "Nothing is undone."]
UNDONE = "{} undone."
# Files that are named in a line, and characters of a prompt.
NAMED, SHOWN = 5, 80


class Unasked:
    """The unasked edits to one companion, which the ledger keeps. `trees` have their own."""

    caption, nothing = "Edits made without asking", NONE

    def __init__(
        self,
        edits: EditLedger,
        reviews: WrittenReviews,
        queue: ReviewQueue,
        trees: KnownTrees,
        tell: Callable[[str], None],
    ) -> None:
        self._edits, self._made = edits, edits.made
        self._reviews = reviews
        self._queue = queue
        self._trees = trees
        self._tell = tell

    def gather_edit(self, window_id: int, found: UnaskedEdit) -> None:
        """A CLI made the edit. It counts as one with the edit before it of the same file in the
        same turn, unless somebody else wrote the file in between. One in a work tree of its own is
        among the changes of that."""
        if self._trees.note_written(found.path):
            return
        edit = _new_edit(window_id, found)
        earlier = self._earlier_edit(edit)
        if earlier is None:
            self._made.add(edit)
            return
        whole = replace(edit, before=earlier.before)
        # By the bytes: other line ends are an edit, too.
        is_back = whole.before.exists and whole.before.known_digest == found.after.known_digest
        self._made.replace(earlier, None if is_back else whole)

    async def edit_rows(self, window: sublime.Window) -> list[EditRow]:
        """The window's edits, the newest turn first; choosing one opens its review. Then the open
        reviews of other written edits."""
        edits = self._edits.unasked_edits(window.id())
        counts = (await run_in_thread(partial(_line_counts, edits)) or {}) if edits else {}
        views = made_edit_views()
        found = [
            EditRow(
                _edit_item(edit, counts.get(edit.id, "")),
                partial(self._show_edit, window, edit),
                views.pop(edit.id, None),
            )
            for edit in edits
        ]
        for view in views.values():
            record = waiting_record(view)
            if record is not None:
                found.append(self._queue.diff_row(view, record))
        return found

    async def show_next(self, window: sublime.Window) -> bool:
        """Show the oldest edit that the user has not looked at; False if there is none."""
        known = self._made.of_window(window.id())
        unseen = [edit for edit in known if edit.state is EditState.WRITTEN]
        if unseen:
            await self._reviews.open_review(window, unseen[0])
        return bool(unseen)

    async def undo_turn(self, window: sublime.Window) -> None:
        """Undo all edits of a turn, the newest first; of several turns the user chooses one."""
        known = self._edits_by_turn(window)
        turns = [turn for turn in known if not all(each.problem for each in turn)]
        if not turns:
            self._tell(NOTHING_LEFT if known else NONE)
            return
        number = 0
        if len(turns) > 1:
            items = [[_prompt_line(turn[0]), _undo_extent(turn)] for turn in turns]
            number = await panels.ask_choice(window, items, "Undo the edits of which turn?")
        if number < 0:
            return
        turn = turns[number]
        items = [[f"Undo {_edits_words(len(_undoable_edits(turn)))}", _undo_extent(turn)], GO_BACK]
        if await panels.ask_choice(window, items, _prompt_line(turn[0])) == 0:
            await self._undo_all(window, turn[0].turn)

    async def _undo_all(self, window: sublime.Window, turn: str) -> None:
        edits = self._made.of_turn(turn)
        undoable = _undoable_edits(edits)
        problems = [await self._reviews.undo_edit(window, edit) for edit in reversed(undoable)]
        found = [problem for problem in problems if problem]
        done, lost = UNDONE.format(_edits_words(len(undoable) - len(found))), _lost_words(edits)
        found += [lost] if lost else []
        self._tell(" ".join([done, *found]))
        if found:
            await panels.ask_choice(
                window, [[problem, ""] for problem in found], f"{done} Not undone:"
            )

    async def _show_edit(self, window: sublime.Window, edit: Edit) -> None:
        # It may have gone on while the list was open.
        now = self._made.find(edit.id) or self._latest_edit(edit)
        if now is not None:
            await self._reviews.open_review(window, now)

    def _latest_edit(self, edit: Edit) -> Edit | None:
        alike = [other for other in self._made.of_turn(edit.turn) if other.path == edit.path]
        return alike[-1] if alike else None

    def _edits_by_turn(self, window: sublime.Window) -> list[list[Edit]]:
        """The window's edits by turns, the newest turn first."""
        edits = self._edits.unasked_edits(window.id())
        return [list(turn) for _id, turn in groupby(edits, lambda edit: edit.turn)]

    def _earlier_edit(self, edit: Edit) -> Edit | None:
        """The edit that this one goes on with."""
        alike = [
            other
            for other in self._made.of_turn(edit.turn)
            if (other.path, other.state) == (edit.path, EditState.WRITTEN)
        ]
        if not alike or edit.problem or alike[-1].problem or alike[-1].id in made_edit_views():
            return None
        return alike[-1] if alike[-1].after == edit.before.text else None


def _new_edit(window_id: int, found: UnaskedEdit) -> Edit:
    window = sublime.Window(window_id)
    is_there = window.is_valid()
    return Edit(
        window_id,
        found.path,
        found.before,
        None if found.after.note else found.after.text,
        found.client,
        found.at,
        tuple(window.folders()) if is_there else (),
        sharing_settings.sharing_rules(window) if is_there else None,
        found.turn,
        found.prompt,
        EditState.WRITTEN,
    )


def _line_counts(edits: Sequence[Edit]) -> Mapping[str, str]:
    """The lines added and removed, by the edit's id; without large texts."""
    found = {}
    for edit in edits:
        texts = edit.before.text, edit.after or ""
        if not edit.problem and max(map(len, texts)) <= LARGE:
            added, removed = compare_texts(*texts).counts
            found[edit.id] = f"+{added} -{removed}"
    return found


def _edit_item(edit: Edit, counts: str) -> sublime.QuickPanelItem:
    state = (
        "looked at"
        if edit.state is EditState.KEPT
        else "new file"
        if not edit.before.exists
        else ""
    )
    state = "" if edit.problem else state
    details = [f"{edit.client}: {_prompt_line(edit)}", os.path.dirname(edit.path)]
    at = time.strftime("%H:%M", time.localtime(edit.at))
    return sublime.QuickPanelItem(
        os.path.basename(edit.path),
        [detail for detail in (*details, edit.problem) if detail],
        ", ".join(words for words in (counts, state, at) if words),
    )


def _prompt_line(edit: Edit) -> str:
    line = " ".join(edit.prompt.split()) or "a turn whose prompt is not known"
    return line if len(line) <= SHOWN else line[:SHOWN] + "..."


def _files_words(edits: Sequence[Edit]) -> str:
    """How many files they wrote, and which."""
    count = len({edit.path for edit in edits})
    return f"{count} file{'' if count == 1 else 's'}: {_file_names(edits)}"


def _file_names(edits: Sequence[Edit]) -> str:
    names = list(dict.fromkeys(os.path.basename(edit.path) for edit in edits))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _undoable_edits(edits: Sequence[Edit]) -> list[Edit]:
    return [edit for edit in edits if not edit.problem]


def _undo_extent(turn: Sequence[Edit]) -> str:
    """What undoing the turn concerns, and what of it cannot be undone."""
    return ". ".join(
        words for words in (_files_words(_undoable_edits(turn)), _lost_words(turn)) if words
    )


def _lost_words(turn: Sequence[Edit]) -> str:
    """Which edits can only be listed; empty if there are none."""
    lost = [edit for edit in turn if edit.problem]
    return f"{_edits_words(len(lost))} cannot be undone: {_file_names(lost)}" if lost else ""


def _edits_words(count: int) -> str:
    return f"{count} edit{'' if count == 1 else 's'}"
