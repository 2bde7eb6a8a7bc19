"""The edits of turns of chats that the user looks at. Their texts are kept by the chats, and here
only as long as the editor runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable, Sequence

from ..base.signal import Signal
from .edit import Edit, EditState

# In front of the id of a turn: it is one of a chat.
CHAT = "chat/"


@dataclass(frozen=True)
class ShownTurn:
    """The turn of the agent with this name, and those files of it that are not decided."""

    turn: str
    client: str
    paths: tuple[str, ...]


class TurnEdits:
    """The edits of turns that the user of one companion looks at."""

    def __init__(self) -> None:
        self._edits: dict[str, Edit] = {}
        # The paths of the turns that were shown, in their order.
        self._order: dict[str, list[str]] = {}
        # Those that sheets showed before a restart and that are still to come back, with the ids of
        # their windows.
        self._awaited: list[tuple[int, ShownTurn]] = []
        # There are other edits.
        self.changes = Signal()

    @property
    def is_complete(self) -> bool:
        return not self._awaited

    def await_turns(self, window_id: int, turns: Iterable[ShownTurn]) -> None:
        """The edits of these turns are still to be shown in the window."""
        self._awaited += [(window_id, shown) for shown in turns]

    def show_awaited(self, window_id: int, shown: ShownTurn, edits: Sequence[Edit]) -> None:
        """The edits of the turn are these; none if they are not known any more."""
        self._awaited.remove((window_id, shown))
        self.show(edits)

    def show(self, edits: Sequence[Edit]) -> None:
        """Show these edits instead of others of the same turns."""
        turns = {edit.turn for edit in edits}
        self._order.update(
            (turn, [edit.path for edit in edits if edit.turn == turn]) for turn in turns
        )
        kept = {id: edit for id, edit in self._edits.items() if edit.turn not in turns}
        self._edits = {**kept, **{edit.id: edit for edit in edits}}
        self.changes.emit()

    def add(self, edits: Sequence[Edit]) -> None:
        """Show these edits as well; one that is there already stays what it is."""
        if any(edit.id not in self._edits for edit in edits):
            self._edits = {**{edit.id: edit for edit in edits}, **self._edits}
            self.changes.emit()

    def shown_turns(self, window_id: int) -> list[ShownTurn]:
        """The turns of which the window shows edits, or is to show them again."""
        turns: dict[tuple[str, str], list[str]] = {}
        for edit in self.of_window(window_id):
            if edit.state is EditState.WRITTEN:
                turns.setdefault((edit.turn, edit.client), []).append(edit.path)
        awaited = [shown for id, shown in self._awaited if id == window_id]
        return [*(ShownTurn(*key, tuple(paths)) for key, paths in turns.items()), *awaited]

    def of_window(self, window_id: int) -> list[Edit]:
        return [edit for edit in self._edits.values() if edit.window_id == window_id]

    def of_turn(self, turn: str) -> list[Edit]:
        return [edit for edit in self._edits.values() if edit.turn == turn]

    def find(self, id: str) -> Edit | None:
        return self._edits.get(id)

    def bring_back(self, edit: Edit) -> None:
        """Put the edit back to its place among the others of its turn."""
        edits, paths = list(self._edits.values()), self._order.get(edit.turn, [])
        below = paths[paths.index(edit.path) + 1 :] if edit.path in paths else []
        after = (
            at for at, known in enumerate(edits) if known.turn == edit.turn and known.path in below
        )
        edits.insert(next(after, len(edits)), edit)
        self._edits = {known.id: known for known in edits}
        self.changes.emit()

    def replace(self, edit: Edit, by: Edit | None) -> None:
        if edit.id in self._edits:
            now = (by if known.id == edit.id else known for known in self._edits.values())
            self._edits = {known.id: known for known in now if known is not None}
            self.changes.emit()


def turn_id(conversation: str, turn: str) -> str:
    """The id of a chat's turn, as `Edit.turn` has it."""
    return f"{CHAT}{conversation}/{turn}"


def parts_of(turn: str) -> tuple[str, str]:
    """The conversation and the turn of such an id."""
    conversation, _, id = turn[len(CHAT) :].partition("/")
    return conversation, id


def conversation_of(edit: Edit) -> str:
    """Empty if it is not an edit of a chat."""
    return edit.turn.split("/")[1] if edit.turn.startswith(CHAT) else ""
