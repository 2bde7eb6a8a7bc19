"""Sheets that show how a window's CLIs get to it; they follow changes. UI thread only."""

from __future__ import annotations

from html import escape
from typing import Callable

import sublime

from ...ide.service import Companion
from ..examinations import Examinations, Examiner
from ..stories import Stories
from . import page
from .sheets import Sheets

# Checks of the windows (one a second) between examinations of a visible sheet.
LOOKS = 3
FAILED = 'The examination failed; "Gemini Companion: Show Log" shows more.'


class Checkups:
    """Shows the sheets, at most one for each window. `poll_visible` must be called about once a
    second. `draw` makes the page."""

    def __init__(
        self,
        companion: Companion,
        stories: Stories,
        name: str,
        draw: Callable[[Examinations], str],
    ) -> None:
        self._sheets = Sheets(name)
        self._examiner = Examiner(companion, stories, self._show_results)
        self._draw = draw
        self._looks = 0

    def show_sheet(self, window: sublime.Window) -> None:
        """Open the window's sheet, or bring it to the front."""
        self._sheets.show_sheet(window, page.page_html("<p>Looking...</p>"))
        self._examiner.examine_soon(window)

    def poll_visible(self) -> None:
        """Examine the windows with a visible sheet again, from time to time."""
        self._looks += 1
        if self._looks % LOOKS == 0:
            self.examine_visible()

    def examine_visible(self) -> None:
        """Something has changed that a sheet may show."""
        for window in self._sheets.windows_in_sight():
            self._examiner.examine_soon(window)

    def is_in_front(self, window: sublime.Window) -> bool:
        """Whether the window's sheet has the keyboard."""
        return self._sheets.is_in_front(window)

    def stop(self) -> None:
        """Close the sheets, because nobody updates them any more."""
        self._sheets.stop()

    def _show_results(self, window: sublime.Window, found: Examinations) -> None:
        contents = self._draw(found) if found else f"<p>{escape(FAILED)}</p>"
        self._sheets.put_contents(window, page.page_html(contents))
