"""Saved windows that no present window has taken over. Knows no disk and no loop."""

from __future__ import annotations

from dataclasses import replace
from typing import Callable, Iterable

from ..base.path_patterns import is_within
from .decisions import OPEN, Entry
from .saved_state import SavedWords, SavedWorkspace


class Unclaimed:
    """Each waits for a window with its folders, or for windows that get the texts in it."""

    def __init__(self, saved: Iterable[SavedWorkspace] = ()) -> None:
        self._saved = list(saved)

    def all(self) -> list[SavedWorkspace]:
        return list(self._saved)

    def add(self, saved: SavedWorkspace) -> None:
        self._saved.append(saved)

    def claim_window(
        self, window_id: int, folders: tuple[str, ...], others: set[int]
    ) -> SavedWorkspace | None:
        """The saved window that this window takes over. If several windows have the same folders,
        each gets its own as long as the editor still has their old ids. `others` are the ids of
        the present windows."""
        fitting = [each for each in self._saved if each.folders == folders]
        own = [each for each in fitting if each.window_id == window_id]
        free = [each for each in fitting if each.window_id not in others]
        saved = next(iter(own + free + fitting), None)
        if saved is not None:
            self._saved.remove(saved)
        return saved

    def asking_sessions(self, path: str) -> set[str]:
        """The sessions whose proposals for the path wait for the user in one of the windows."""
        entries = (entry for saved in self._saved for entry in saved.proposals)
        return {entry.session_id for entry in entries if (entry.state, entry.path) == (OPEN, path)}

    def decisions_within(self, folders: tuple[str, ...]) -> tuple[Entry, ...]:
        """Take the decisions on files in the folders, and texts typed into open diffs of them. For
        a window whose folders differ a little from before; they belong to it from now on."""
        return self._take_entries(lambda entry: is_within(entry.path, folders))

    def texts_that_come_back(self) -> tuple[Entry, ...]:
        """Take the texts that any window may get."""
        return self._take_entries(lambda entry: entry.comes_back)

    def take_words(self) -> tuple[SavedWords, ...]:
        """Take the words for CLIs, which any window may get."""
        found = tuple(words for saved in self._saved for words in saved.words)
        self._saved = [replace(each, words=()) for each in self._saved]
        return found

    def _take_entries(self, is_wanted: Callable[[Entry], bool]) -> tuple[Entry, ...]:
        found: list[Entry] = []
        for index, saved in enumerate(self._saved):
            self._saved[index], taken = saved.split(is_wanted)
            found.extend(taken)
        return tuple(found)
