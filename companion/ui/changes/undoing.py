"""Takes back what was decided in a sheet, the last decision first. UI thread only.

A decision on all is one, as is that on a file. After a restart only the last acceptance is known.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Callable, Sequence

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
# What a decision is called, by whether it accepts; and what it means to undo that.
NAMES = {True: "accepted", False: "rejected"}
DETAILS = {
    True: "The old texts are put back if the files are still what you accepted. Edits that were"
    " made already stay, and wait here again.",
    False: "Edits that were made already are made again. Proposals wait here again. Their CLIs do"
    " not wait any more, so Sublime Text writes what you accept.",
}
# In the settings of the sheet's view: the ids of the edits that were accepted last.
ACCEPTED = "gemini_companion_changes_accepted"
# The most decisions of a sheet that are known.
MOST = 20


@dataclass(frozen=True)
class SheetDecision:
    """What was decided at once; `takes` are in the order in which that was done. `press` is another
    object for each press of the user."""

    is_accepted: bool
    takes: Sequence[UndoStep]
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
        """The user has decided this in the sheet; one of the same press and kind is continued."""
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
        words = f"Undo {len(takes)} {NAMES[last.is_accepted]}" if last is not None else ""
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
        takes: Sequence[UndoStep],
    ) -> None:
        what = count_text(len(takes), f"{NAMES[last.is_accepted]} edit")
        items = [[f"Undo {what}", DETAILS[last.is_accepted]], GO_BACK]
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
                problem = await take.back(window)
                if problem:
                    problems.append(problem)
                else:
                    over.append(take)
        finally:
            self._remove_undone(sheet, last, over)
        self._tell(" ".join([f"{len(takes) - len(problems)} of {what} undone.", *problems[:1]]))

    def _remove_undone(
        self, sheet: ChangeSheet, last: SheetDecision, over: Sequence[UndoStep]
    ) -> None:
        """Nothing of this can be undone any more; what was decided meanwhile stays."""
        known = self._decisions_of(sheet)
        at = _decision_place(known, last)
        if at is not None:
            left = [take for take in known[at].takes if take not in over]
            known[at : at + 1] = [replace(last, takes=left)] if left else []
        self._remember_accepted(sheet)
        self.show_undo(sheet)

    def _last_decision(self, sheet: ChangeSheet) -> tuple[SheetDecision | None, Sequence[UndoStep]]:
        """The last decision of which something can be undone still, and what that is."""
        for each in reversed(self._decisions_of(sheet)):
            possible = [take for take in each.takes if self._is_possible(take)]
            if possible:
                return each, possible
        return None, ()

    def _is_possible(self, take: UndoStep) -> bool:
        found = [self._history.find_edit(id) for id in take.edit_ids]
        return not found or any(edit is not None and not edit.problem for edit in found)

    def _decisions_of(self, sheet: ChangeSheet) -> list[SheetDecision]:
        if sheet.buffer_id not in self._decisions:
            stored = [view.settings().get(ACCEPTED) for view in sheet.views[:1]]
            ids = stored[0] if stored and isinstance(stored[0], (list, tuple)) else ()
            takes = [undo_of_accepted(self._history, id) for id in ids if isinstance(id, str)]
            self._decisions[sheet.buffer_id] = [SheetDecision(True, takes)] if takes else []
        return self._decisions[sheet.buffer_id]

    def _remember_accepted(self, sheet: ChangeSheet) -> None:
        """Keep in the sheet's views which edits can be undone after a restart."""
        accepted = [decision for decision in self._decisions_of(sheet) if decision.is_accepted]
        ids = [id for each in accepted[-1:] for take in each.takes for id in take.edit_ids]
        for view in sheet.views:
            if ids or view.settings().has(ACCEPTED):
                view.settings().set(ACCEPTED, ids)


def _decision_place(known: Sequence[SheetDecision], decision: SheetDecision) -> int | None:
    """Where the decision of this press and kind stands; None if it is not known."""
    of = decision.press, decision.is_accepted
    return next((at for at, each in enumerate(known) if (each.press, each.is_accepted) == of), None)
