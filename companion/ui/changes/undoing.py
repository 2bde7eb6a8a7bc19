"""Takes back what was decided in a sheet, the last decision first. UI thread only.

A decision on all is one, as is that on a file. After a restart only the last acceptance is known.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Callable, NamedTuple, Sequence

import sublime

from ...chat.amounts import count_text
from .. import panels
from ..ordered_work import UnderWay
from ..presses import Presses
from ..review.history import EditHistory
from ..stories import sleep
from .sheet import ChangeSheet
from .sources import UndoStep, undo_of_accepted

NOTHING_TO_UNDO = "Nothing that was decided here can be undone any more."
GO_BACK = ["Go back", "Nothing is undone."]
# What a decision on a file is called, by whether it accepts; and what it means to undo that.
NAMES = {True: "accepted", False: "rejected"}
DETAILS = {
    True: "The old texts are put back if the files are still what you accepted. Edits that were"
    " made already stay, and wait here again.",
    False: "Edits that were made already are made again. The others wait here again. CLIs do not"
    " wait for them any more, so Sublime Text writes what you accept.",
}
# In the settings of the sheet's view: what was accepted last, for each file the ids of its edits.
ACCEPTED = "gemini_companion_changes_accepted"
# The most decisions of a sheet that are known.
MOST = 20


class Take(NamedTuple):
    """What was decided on a file, and how that is undone."""

    is_accepted: bool
    step: UndoStep


@dataclass(frozen=True)
class SheetDecision:
    """What was decided at once; `takes` are in the order in which that was done. `press` is another
    object for each press of the user."""

    takes: Sequence[Take]
    press: object = field(default_factory=object)


class Undoing:
    """The decisions in the sheets of one companion."""

    def __init__(self, history: EditHistory, presses: Presses, tell: Callable[[str], None]) -> None:
        self._history = history
        self._presses = presses
        self._tell = tell
        # By the buffers of the sheets.
        self._decisions: dict[int, list[SheetDecision]] = {}
        # The sheets in which the user is asked, or something is being undone, by their buffers.
        self._under_way = UnderWay()

    def note_decision(self, sheet: ChangeSheet, decision: SheetDecision) -> None:
        """The user has decided this in the sheet; one of the same press is continued."""
        if not decision.takes:
            return
        known = self._decisions_of(sheet)
        at = _decision_place(known, decision)
        if at is None:
            known.append(decision)
            del known[:-MOST]
        else:
            known[at] = replace(decision, takes=(*known[at].takes, *decision.takes))
        self._remember_accepted(sheet)
        self.show_undo(sheet)

    def show_undo(self, sheet: ChangeSheet) -> None:
        """Let the sheet say what can be undone."""
        last, takes = self._last_decision(sheet)
        found = [f"{count} {NAMES[is_accepted]}" for is_accepted, count in _counts(takes)]
        words = f"Undo {' and '.join(found)}" if last is not None else ""
        if sheet.marking.undoable != words:
            sheet.marking.undoable = words
            sheet.marking.draw_links()

    def forget_sheet(self, buffer_id: int) -> None:
        """The sheet is closed."""
        self._decisions.pop(buffer_id, None)

    async def undo_last(self, sheet: ChangeSheet) -> None:
        """Take the last decision back, as far as that is possible, if the user wants that."""
        (last, takes), window = self._last_decision(sheet), sheet.window
        if last is None or window is None:
            self._tell(NOTHING_TO_UNDO)
        elif sheet.buffer_id not in self._under_way:
            with self._under_way.hold(sheet.buffer_id):
                await self._undo_decision(sheet, window, last, takes)

    async def _undo_decision(
        self,
        sheet: ChangeSheet,
        window: sublime.Window,
        last: SheetDecision,
        takes: Sequence[Take],
    ) -> None:
        counts = _counts(takes)
        what = " and ".join([count_text(count, f"{NAMES[each]} edit") for each, count in counts])
        details = " ".join([DETAILS[is_accepted] for is_accepted, _count in counts])
        items = [[f"Undo {what}", details], GO_BACK]
        with self._presses.announce_question("what to undo"):
            chosen = await panels.ask_choice(window, items, f"Undo {what}?")
        if chosen != 0:
            return
        # Those that are undone, and those that are not possible any more.
        over, problems = [take for take in last.takes if take not in takes], []
        try:
            for take in reversed(takes):
                # Some do not wait for anything.
                await sleep()
                problem = await take.step.back(window)
                if problem:
                    problems.append(problem)
                else:
                    over.append(take)
        finally:
            self._remove_undone(sheet, last, over)
        said = what if len(counts) == 1 else count_text(len(takes), "decided edit")
        self._tell(" ".join([f"{len(takes) - len(problems)} of {said} undone.", *problems[:1]]))

    def _remove_undone(self, sheet: ChangeSheet, last: SheetDecision, over: Sequence[Take]) -> None:
        """Nothing of this can be undone any more; what was decided meanwhile stays."""
        known = self._decisions_of(sheet)
        at = _decision_place(known, last)
        if at is not None:
            left = [take for take in known[at].takes if take not in over]
            known[at : at + 1] = [replace(last, takes=left)] if left else []
        self._remember_accepted(sheet)
        self.show_undo(sheet)

    def _last_decision(self, sheet: ChangeSheet) -> tuple[SheetDecision | None, Sequence[Take]]:
        """The last decision of which something can be undone still, and what that is."""
        for each in reversed(self._decisions_of(sheet)):
            possible = [take for take in each.takes if self._is_possible(take.step)]
            if possible:
                return each, possible
        return None, ()

    def _is_possible(self, step: UndoStep) -> bool:
        found = [self._history.find_edit(id) for id in step.edit_ids]
        return not found or any(edit is not None and not edit.problem for edit in found)

    def _decisions_of(self, sheet: ChangeSheet) -> list[SheetDecision]:
        if sheet.buffer_id not in self._decisions:
            stored = [view.settings().get(ACCEPTED) for view in sheet.views[:1]]
            takes = [
                Take(True, undo_of_accepted(self._history, *ids)) for ids in _stored_ids(*stored)
            ]
            self._decisions[sheet.buffer_id] = [SheetDecision(takes)] if takes else []
        return self._decisions[sheet.buffer_id]

    def _remember_accepted(self, sheet: ChangeSheet) -> None:
        """Keep in the sheet's views which edits can be undone after a restart."""
        found = [decision.takes for decision in self._decisions_of(sheet)]
        # Of a file that is no text there is no edit, and so nothing after a restart.
        edits = [
            [list(take.step.edit_ids) for take in takes if take.step.edit_ids] for takes in found
        ]
        ids = next(filter(None, reversed(edits)), [])
        for view in sheet.views:
            if ids or view.settings().has(ACCEPTED):
                view.settings().set(ACCEPTED, ids)


def _stored_ids(stored: object = None) -> list[list[str]]:
    """Those of the edits of each file; earlier releases had one for each."""
    files = stored if isinstance(stored, (list, tuple)) else ()
    found = [[each] if isinstance(each, str) else each for each in files]
    lists = [each for each in found if isinstance(each, (list, tuple)) and each]
    return [list(each) for each in lists if all(isinstance(id, str) for id in each)]


def _decision_place(known: Sequence[SheetDecision], decision: SheetDecision) -> int | None:
    """Where the decision of this press stands; None if it is not known."""
    return next((at for at, each in enumerate(known) if each.press is decision.press), None)


def _counts(takes: Sequence[Take]) -> list[tuple[bool, int]]:
    """How many were accepted, and how many rejected; without those that are none."""
    accepted = sum(1 for take in takes if take.is_accepted)
    counts = (True, accepted), (False, len(takes) - accepted)
    return [(is_accepted, count) for is_accepted, count in counts if count]
