"""The ledger of all edits of one companion: what waits for the user, what was written without
asking, what they accepted and is not in its file, and what they accepted. Lists, counts and hints
read this.

An edit is in it as long as the user can do something about it: one that is undone, or rejected, has
left it. What waits is known to the views that show it, and what is not in its file to the
companion, so the one is read and the other told, and nothing is kept twice.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Callable, Iterable, Mapping, Protocol, Sequence, Tuple

from ..base.file_content import Original
from .edit import Edit, EditState
from .made_edits import MadeEdits, OpenWindows
from .turn_edits import TurnEdits

# An accepted text that is not in its file: path, text, and whether nobody can have written it. Else
# the file has changed, and most likely had it.
UnwrittenText = Tuple[str, str, bool]
# What was before such a text, if the edit is not known any more.
FORGOTTEN = Original("", exists=True, note="The file before the edit is not known.")


class EditBook(Protocol):
    """The edits that are made already, of one kind or of several."""

    @property
    def is_complete(self) -> bool:
        """Whether those of before a restart are known, or will not be."""

    def of_window(self, window_id: int) -> list[Edit]:
        """The window's edits, oldest first."""

    def of_turn(self, turn: str) -> list[Edit]:
        """What was written in the turn without asking, oldest first."""

    def find(self, id: str) -> Edit | None: ...

    def bring_back(self, edit: Edit) -> None:
        """One that was there before."""

    def replace(self, edit: Edit, by: Edit | None) -> None:
        """Put another edit in place of this one, or none, if it is there."""


@dataclass(frozen=True)
class EditCounts:
    """How many edits of a window wait for the user, were written without asking and not looked at,
    and are certainly not in their files."""

    asked: int = 0
    written: int = 0
    unwritten: int = 0


class EditLedger:
    """`made` are edits whose texts are here, `turns` those of turns of chats, which are shown.
    `asked` gives the proposals of a window that wait, oldest first."""

    def __init__(self, windows: OpenWindows, asked: Callable[[int], Iterable[Edit]]) -> None:
        self._windows, self._asked = windows, asked
        self.made = MadeEdits(windows)
        self.turns = TurnEdits()
        # By the id of the window, as the companion told it last.
        self._unwritten: Mapping[int, Sequence[UnwrittenText]] = {}

    # What the user can be shown.

    def asked_edits(self) -> list[Edit]:
        """The proposals of all windows that wait for the user, oldest first in each."""
        return [edit for window_id in self._windows() for edit in self._asked(window_id)]

    def unasked_edits(self, window_id: int) -> list[Edit]:
        """What was written without asking in a window, also what the user has looked at: the newest
        turn first, and oldest first in it."""
        turns: dict[str, list[Edit]] = defaultdict(list)
        for edit in self.made.of_window(window_id):
            if not edit.is_accepted:
                turns[edit.turn].append(edit)
        return [edit for turn in reversed(turns.values()) for edit in turn]

    def unwritten_edits(self, window_id: int) -> list[Edit]:
        """What the user accepted and is not in its file."""
        return self._with_texts(window_id, self._unwritten.get(window_id, ()))

    def accepted_edits(self, window_id: int) -> list[Edit]:
        """What the user accepted, and may have been in its file: the newest first. One that its CLI
        can have written stays in this list, though the file has another text by now."""
        texts = self._unwritten.get(window_id, ())
        missing = self._with_texts(window_id, [text for text in texts if text[2]])
        others = {edit.id for edit in missing}
        own = reversed(self.made.of_window(window_id))
        return [edit for edit in own if edit.is_accepted and edit.id not in others]

    def _with_texts(self, window_id: int, texts: Sequence[UnwrittenText]) -> list[Edit]:
        """The edits of these texts, and one for each text that is of no known edit."""
        paths = {path for path, _text, _is_missing in texts}
        own = self.made.of_window(window_id) if texts else ()
        accepted = [edit for edit in own if edit.is_accepted and edit.path in paths]
        # Of several alike the newest.
        known = {(edit.path, edit.after): edit for edit in accepted}
        forgotten = (Edit(window_id, path, FORGOTTEN, text, "", 0.0) for path, text, _ in texts)
        found = [known.get((edit.path, edit.after), edit) for edit in forgotten]
        return [replace(edit, state=EditState.UNWRITTEN) for edit in found]

    def counts(self, window_id: int) -> EditCounts:
        return EditCounts(
            sum(1 for _edit in self._asked(window_id)),
            sum(edit.state is EditState.WRITTEN for edit in self.made.of_window(window_id)),
            sum(is_missing for _path, _text, is_missing in self._unwritten.get(window_id, ())),
        )

    # What is told.

    def set_unwritten(self, texts: Mapping[int, Sequence[UnwrittenText]]) -> None:
        """The accepted texts that are not in their files, by the ids of their windows; of other
        open windows they stay what they were."""
        windows = self._windows()
        known = {**self._unwritten, **texts}
        self._unwritten = {id: found for id, found in known.items() if id in windows}

    # What reviews of edits that are made already need: a book of all of them.

    @property
    def is_complete(self) -> bool:
        return self.made.is_complete and self.turns.is_complete

    def of_window(self, window_id: int) -> list[Edit]:
        return [*self.made.of_window(window_id), *self.turns.of_window(window_id)]

    def of_turn(self, turn: str) -> list[Edit]:
        return [*self.made.of_turn(turn), *self.turns.of_turn(turn)]

    def find(self, id: str) -> Edit | None:
        return self.made.find(id) or self.turns.find(id)

    def bring_back(self, edit: Edit) -> None:
        """Among those whose texts are kept here."""
        self.made.bring_back(edit)

    def replace(self, edit: Edit, by: Edit | None) -> None:
        self.made.replace(edit, by)
        self.turns.replace(edit, by)
