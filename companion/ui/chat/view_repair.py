"""Keeps a chat's view what it has to be: the transcript, the line below it, the unsent text.
Whoever changes it, and whenever the editor tells of that: the user's text is kept, and the
transcript is restored (docs/adr/0028). UI thread only.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Callable, Iterator, Sequence

import sublime

from .. import queues
from .composer import Composer
from .surface import Surface
from .unsent import text_difference, unsent_in


class ViewRepair:
    """`line` is what stands between the transcript and the unsent text; `transcript` gives the text
    that the transcript should have."""

    def __init__(
        self, surface: Surface, line: str, transcript: Callable[[], str], composer: Composer
    ) -> None:
        self._surface = surface
        self._line = line
        self._transcript = transcript
        self._composer = composer
        self._is_damaged = self._is_paused = False
        # That of the view when it was right as a whole.
        self._checked = -1

    def accept_changes(self, changes: Sequence[sublime.TextChange]) -> None:
        """The buffer was changed. That may be told late, when more has changed, also by us, so only
        what is in the view now counts."""
        if self._is_damaged or self._is_paused or self._surface.change_count == self._checked:
            return
        is_above = any(change.a.pt < self._composer.start for change in changes)
        if self._has_line() and not (is_above and self._is_damaged_above()):
            with self._pause_watch():
                self._composer.read_view()
        else:
            self._is_damaged = True
            queues.on_ui_thread(self.catch_up)

    def catch_up(self) -> None:
        """Repair what has been damaged, and read what the editor has not told yet."""
        if self._is_paused or not self._surface.views:
            return
        if self._surface.change_count != self._checked:
            if self._is_damaged or not self._has_line() or self._is_damaged_above():
                self._repair_view()
            else:
                self._composer.read_view()
            self._checked = self._surface.change_count

    @contextmanager
    def pause_repair(self) -> Iterator[None]:
        """Look, and then no more within the block: there the view and the transcript change one
        after the other."""
        self.catch_up()
        with self._pause_watch():
            yield
        if self._surface.views:
            self._checked = self._surface.change_count

    @contextmanager
    def _pause_watch(self) -> Iterator[None]:
        before, self._is_paused = self._is_paused, True
        try:
            yield
        finally:
            self._is_paused = before

    def restore_view(self) -> None:
        """Make the view what it has to be; its carets stay where they can."""
        wanted = self._transcript() + self._line + self._composer.known_text
        change = text_difference(self._surface.text, wanted)
        if change is not None:
            end = change.at + len(change.removed)
            self._surface.replace(change.at, end, change.inserted, self._composer.start)

    def _has_line(self) -> bool:
        start = self._composer.start
        return self._surface.text_between(start - len(self._line), start) == self._line

    def _is_damaged_above(self) -> bool:
        start = self._composer.start - len(self._line)
        return self._surface.text_between(0, start) != self._transcript()

    def _repair_view(self) -> None:
        """What the user has written somewhere in the view goes into the composer."""
        self._is_damaged = False
        known = self._composer.known_text
        self.keep_unsent(unsent_in(self._surface.text, self._transcript(), self._line, known))

    def keep_unsent(self, unsent: str) -> None:
        """Make this the unsent text: it has what was written elsewhere in the view."""
        known = self._composer.known_text
        # The view is not equal to it yet.
        with self._pause_watch():
            self._composer.accept_edit(unsent)
            self.restore_view()
        if unsent != known:
            self.return_carets()

    def return_carets(self) -> None:
        """Who has written above the composer continues in it."""
        for view in self._surface.views:
            if self._composer.is_left(view):
                self._composer.go_to_end(view)
