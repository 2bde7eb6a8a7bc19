"""The edits that are made and whose texts are here: those that the user accepted, and those that
CLIs made without asking. Up to some sizes, and those of one kind take nothing from the other."""

from __future__ import annotations

from typing import Callable, Iterable, Mapping

from ..base.log import logger
from ..base.signal import Signal
from .edit import NOT_KEPT, TOO_LARGE, Edit

# The most bytes of all accepted edits: the texts of the oldest are forgotten first.
MAX_BYTES = 64 * 1024 * 1024
# The same for those that nobody accepted, for a turn can write many files: more are known, but
# without their texts, so that the user is told of them.
MAX_UNASKED, MAX_UNASKED_BYTES = 500, 32 * 1024 * 1024
# The most edits of each kind in a window.
MAX_KNOWN = 1000

# The folders of each open window, by its id.
OpenWindows = Callable[[], Mapping[int, "tuple[str, ...]"]]


class MadeEdits:
    """The edits of one companion, oldest first."""

    def __init__(self, windows: OpenWindows) -> None:
        self._windows = windows
        self._edits: list[Edit] = []
        # Whether what was saved is known, or nothing of it will be.
        self.is_complete = False
        # There are other edits.
        self.changes = Signal()

    @property
    def all(self) -> tuple[Edit, ...]:
        return tuple(self._edits)

    def restore(self, saved: Iterable[Edit]) -> None:
        """Know these as well, which are older than all others: there are no more of before."""
        self._edits[:0] = saved
        self.is_complete = True
        self.changes.emit()

    def add(self, edit: Edit) -> None:
        """The user accepted the edit, or a CLI made it without asking."""
        self._edits.append(_bound_edit(edit))
        alike = [known for known in self._edits if known.is_accepted == edit.is_accepted]
        own = [known for known in alike if known.is_of(edit.window_id, edit.folders)]
        if len(own) > MAX_KNOWN:
            self._edits.remove(own[0])
            logger.info("the oldest edit of a window is not listed any more")
        whole = [known for known in own if not known.problem]
        if not edit.is_accepted and len(whole) > MAX_UNASKED:
            self._drop_texts(whole[0])
        self._make_room()
        self.changes.emit()

    def bring_back(self, edit: Edit) -> None:
        """An edit that was undone is made again: it is where it was."""
        self.add(edit)
        self._edits.sort(key=lambda known: known.at)

    def replace(self, edit: Edit, by: Edit | None) -> None:
        """Put another edit in place of this one, or none. One with other texts has another id."""
        if edit in self._edits:
            at = self._edits.index(edit)
            self._edits[at : at + 1] = [] if by is None else [_bound_edit(by)]
            self._make_room()
            self.changes.emit()

    def of_window(self, window_id: int) -> list[Edit]:
        """The window's edits, oldest first. A window that was closed may be open again, with
        another id."""
        windows = self._windows()
        folders = windows.get(window_id, ())
        gone = {edit.window_id for edit in self._edits} - set(windows)
        return [edit for edit in self._edits if edit.is_of(window_id, folders, gone)]

    def of_turn(self, turn: str) -> list[Edit]:
        """What a CLI did in one turn without asking, oldest first."""
        return [edit for edit in self._edits if turn and edit.turn == turn]

    def find(self, id: str) -> Edit | None:
        return next((edit for edit in self._edits if edit.id == id), None)

    def _make_room(self) -> None:
        for is_accepted in (True, False):
            alike = [edit for edit in self._edits if edit.is_accepted is is_accepted and edit.size]
            excess = sum(edit.size for edit in alike) - _limit_in_bytes(is_accepted)
            for edit in alike:
                if excess > 0:
                    excess -= edit.size
                    self._drop_texts(edit)

    def _drop_texts(self, edit: Edit) -> None:
        logger.info("the texts of an edit make room for newer ones")
        self._edits[self._edits.index(edit)] = edit.without_texts(NOT_KEPT)


def _bound_edit(edit: Edit) -> Edit:
    return edit if edit.size <= _limit_in_bytes(edit.is_accepted) else edit.without_texts(TOO_LARGE)


def _limit_in_bytes(is_accepted: bool) -> int:
    return MAX_BYTES if is_accepted else MAX_UNASKED_BYTES
