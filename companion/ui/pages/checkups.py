"""Sheets that show how a window's CLIs get to it; they follow changes. UI thread only."""

from __future__ import annotations

import json
import os
from html import escape
from typing import Any, Callable, Mapping

import sublime

from ...base.shown_text import spelled
from ...ide.doctor import checks
from ...ide.doctor.checks import Failed
from ...ide.doctor.facts import Facts
from ...ide.doctor.report import shortened
from ...ide.service import Companion
from ..examinations import Examinations, Examiner
from ..stories import Stories
from . import page
from .sheets import Sheets

# Checks of the windows (one a second) between examinations of a visible sheet.
LOOKS = 3
# The labels of the links at failures, by the action behind them; see `remedies`.
LABELS = {
    "install": "Copy the command",
    "use_program": "Use it",
    "log_in": "Get an API key",
    "enable": "Enable",
    "restart": "Restart",
    "add_folder": "Add folder",
    "write_again": "Write it again",
    "sweep": "Remove it",
    "run_cli": "Run {}",
}
# The user has to end the CLI that runs.
RUN_ANOTHER = "Run another {}"
FAILED = 'The examination failed; "Gemini Companion: Show Log" tells more.'


class Checkups:
    """At most one sheet for each window. `look` must be called about once a second. `draw` makes
    the page."""

    def __init__(
        self,
        companion: Companion,
        stories: Stories,
        name: str,
        draw: Callable[[Examinations], str],
    ) -> None:
        self._sheets = Sheets(name)
        self._examiner = Examiner(companion, stories, self._show)
        self._draw = draw
        self._looks = 0

    def show(self, window: sublime.Window) -> None:
        """Open the window's sheet, or bring it to the front."""
        self._sheets.show(window, page.html("<p>Looking...</p>"))
        self._examiner.ask(window)

    def look(self) -> None:
        """Examine the windows with a visible sheet again, from time to time."""
        self._looks += 1
        if self._looks % LOOKS == 0:
            self.changed()

    def changed(self) -> None:
        """Something has changed that a sheet may show."""
        for window in self._sheets.windows_in_sight():
            self._examiner.ask(window)

    def is_in_front(self, window: sublime.Window) -> bool:
        """Whether the window's sheet has the keyboard."""
        return self._sheets.is_in_front(window)

    def stop(self) -> None:
        """Close the sheets, because nobody updates them any more."""
        self._sheets.stop()

    def _show(self, window: sublime.Window, found: Examinations) -> None:
        contents = self._draw(found) if found else f"<p>{escape(FAILED)}</p>"
        self._sheets.put(window, page.html(contents))


def button(failed: Failed, facts: Facts) -> str:
    """The link that repairs the failure; empty if no click can do that. `facts` are those of the
    CLI that fails."""
    label = LABELS.get(failed.action, "")
    if failed.action == checks.RUN_CLI:
        if not facts.is_started:
            return ""
        label = (label if facts.process is None else RUN_ANOTHER).format(facts.name)
    if not label:
        return ""
    arguments = {"action": failed.action, "argument": failed.argument, "cli": facts.cli.id}
    return link("gemini_companion_remedy", arguments, label)


def shown(text: str) -> str:
    """The text as HTML, with ~ for the user's home folder."""
    return escape(spelled(shortened(text, os.path.expanduser("~"))))


def link(command: str, arguments: Mapping[str, Any], label: str) -> str:
    values = escape(json.dumps(arguments), quote=True) if arguments else ""
    return f'<a href="subl:{command} {values}">{escape(label)}</a>'
