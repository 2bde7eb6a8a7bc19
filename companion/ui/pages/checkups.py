"""Pages that show how a window's CLIs get to it; they follow changes. UI thread only."""

from __future__ import annotations

from html import escape
from typing import Callable

import sublime

from ...ide.companion import Companion
from ..examinations import Examinations, Examiner
from ..stories import Stories
from . import page
from .window_pages import WindowPages

# Checks of the windows (one a second) between examinations of a visible page.
POLLS = 3
FAILED = 'The examination failed; "Gemini Companion: Show Log" shows more.'


class Checkups:
    """Shows the pages, at most one for each window. `poll_visible` must be called about once a
    second. `draw` makes the page."""

    def __init__(
        self,
        companion: Companion,
        stories: Stories,
        name: str,
        draw: Callable[[Examinations], str],
    ) -> None:
        self._pages = WindowPages(name)
        self._examiner = Examiner(companion, stories, self._show_results)
        self._draw = draw
        self._polls = 0

    def show_page(self, window: sublime.Window) -> None:
        """Open the window's page, or bring it to the front."""
        self._pages.show_page(window, page.page_html("<p>Looking...</p>"))
        self._examiner.examine_soon(window)

    def poll_visible(self) -> None:
        """Examine the windows with a visible page again, from time to time."""
        self._polls += 1
        if self._polls % POLLS == 0:
            self.examine_visible()

    def examine_visible(self) -> None:
        """Something has changed that a page may show."""
        for window in self._pages.windows_in_sight():
            self._examiner.examine_soon(window)

    def is_in_front(self, window: sublime.Window) -> bool:
        """Whether the window's page has the keyboard."""
        return self._pages.is_in_front(window)

    def stop(self) -> None:
        """Close the pages, because nobody updates them any more."""
        self._pages.stop()

    def _show_results(self, window: sublime.Window, found: Examinations) -> None:
        contents = self._draw(found) if found else f"<p>{escape(FAILED)}</p>"
        self._pages.put_contents(window, page.page_html(contents))
