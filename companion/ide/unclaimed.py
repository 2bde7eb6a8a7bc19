"""Saved windows that no window of now has taken over; knows no disk and no loop."""

from __future__ import annotations

from typing import Callable, Iterable

from .decisions import OPEN, Entry
from .saved_state import SavedWorkspace, is_within


class Unclaimed:
    """They wait for a window with their folders, or for the texts in them to find another one."""

    def __init__(self, saved: Iterable[SavedWorkspace] = ()) -> None:
        self._saved = list(saved)

    def all(self) -> list[SavedWorkspace]:
        return list(self._saved)

    def add(self, saved: SavedWorkspace) -> None:
        self._saved.append(saved)

    def claim(
        self, window_id: int, folders: tuple[str, ...], others: set[int]
    ) -> SavedWorkspace | None:
        """What the window takes over. Of several windows with the same folders each gets its own,
        where the editor still knows them by their numbers; `others` are the numbers of now."""
        fitting = [each for each in self._saved if each.folders == folders]
        own = [each for each in fitting if each.window_id == window_id]
        free = [each for each in fitting if each.window_id not in others]
        saved = next(iter(own + free + fitting), None)
        if saved is not None:
            self._saved.remove(saved)
        return saved

    def asking(self, path: str) -> set[str]:
        """The sessions whose proposals for the path wait for the user in one of them."""
        entries = (entry for saved in self._saved for entry in saved.proposals)
        return {it.session_id for it in entries if (it.state, it.path) == (OPEN, path)}

    def decisions_within(self, folders: tuple[str, ...]) -> tuple[Entry, ...]:
        """What was decided on files in the folders, or typed into open diffs of them: for a window
        whose folders are not quite those of before. It is that window's from now on."""
        return self._take(lambda entry: is_within(entry.path, folders))

    def texts_that_come_back(self) -> tuple[Entry, ...]:
        """What goes to any window."""
        return self._take(lambda entry: entry.comes_back)

    def _take(self, is_wanted: Callable[[Entry], bool]) -> tuple[Entry, ...]:
        found: list[Entry] = []
        for index, saved in enumerate(self._saved):
            self._saved[index], taken = saved.split(is_wanted)
            found.extend(taken)
        return tuple(found)
