"""Sheets that show how a window's CLIs fare on their way to it, as it changes; UI thread only."""

from __future__ import annotations

import json
import os
from functools import partial
from html import escape
from typing import Any, Callable, Mapping, Tuple, cast

import sublime

from ..ide.clis import GEMINI_CLI, Cli
from ..ide.doctor import checks
from ..ide.doctor.checks import Failed
from ..ide.doctor.report import Examination, shortened
from ..ide.events import ExaminationAsked
from ..ide.service import Companion
from . import queues, settings

# Looks of the windows (one a second) between examinations of a sheet that is in sight.
LOOKS = 3
# What the links of failures say, by the action behind them; see `remedies`.
LABELS = {
    "install": "Copy the command",
    "use_program": "Use it",
    "log_in": "Get an API key",
    "enable": "Enable",
    "restart": "Restart",
    "add_folder": "Add folder",
    "write_again": "Write it again",
    "sweep": "Remove it",
    "run_cli": "Run Gemini CLI",
}
FAILED = 'Looking failed; "Gemini Companion: Show Log" tells more.'
STYLE = """<style>
    body { padding: 1rem; }
    .ok { color: var(--greenish); }
    .failed { color: var(--redish); }
    .later, .path { color: color(var(--foreground) alpha(0.6)); }
    .remedy { padding-left: 1.6rem; }
    a { padding: 0 0.3rem; }
</style>"""

Examinations = Tuple[Examination, ...]


class Checkups:
    """One sheet for each window at most. `look` is to be called about once a second; `draw` makes
    the page."""

    def __init__(
        self, companion: Companion, name: str, draw: Callable[[Examinations], str]
    ) -> None:
        self._companion = companion
        self._name = name
        self._draw = draw
        self._sheets: dict[int, sublime.HtmlSheet] = {}
        self._contents: dict[int, str] = {}
        # The windows that are being examined, and whether they are to be once more.
        self._asked: dict[int, bool] = {}
        self._looks = 0

    def show(self, window: sublime.Window) -> None:
        """Open the window's sheet, or bring it to the front."""
        sheet = self._sheets.get(window.id())
        if sheet is None or sheet.window() is None:
            contents = STYLE + "<p>Looking...</p>"
            new = window.new_html_sheet(self._name, contents)
            self._sheets[window.id()] = cast(sublime.HtmlSheet, new)
            self._contents[window.id()] = contents
        else:
            window.focus_sheet(sheet)
        self._ask(window)

    def look(self) -> None:
        """Examine anew the windows whose sheet is in sight, now and then."""
        self._looks += 1
        if self._looks % LOOKS == 0:
            self.changed()

    def changed(self) -> None:
        """Something happened that a sheet may show."""
        for window_id, sheet in list(self._sheets.items()):
            window = sheet.window()
            if window is None:
                del self._sheets[window_id]
            elif sheet in window.selected_sheets():
                self._ask(window)

    def stop(self) -> None:
        """Close them: nobody looks any more."""
        for sheet in self._sheets.values():
            if sheet.window() is not None:
                sheet.close()
        self._sheets.clear()

    def _ask(self, window: sublime.Window) -> None:
        """Not before the last answer has come, but then: a machine may be slow."""
        is_asked = self._asked.get(window.id()) is not None
        self._asked[window.id()] = is_asked
        if not is_asked:
            examine(self._companion, window, partial(self._show, window.id()))

    def _show(self, window_id: int, found: Examinations) -> None:
        if self._asked.pop(window_id, False) and window_id in self._sheets:
            self._ask(sublime.Window(window_id))
        sheet = self._sheets.get(window_id)
        if sheet is None:
            return
        page = self._draw(found) if found else f"<p>{escape(FAILED)}</p>"
        contents = f'<body id="gemini-companion">{STYLE}{page}</body>'
        # Drawn anew it would lose its place.
        if self._contents.get(window_id) != contents:
            self._contents[window_id] = contents
            sheet.set_contents(contents)


def examine(
    companion: Companion, window: sublime.Window, show: Callable[[Examinations], object]
) -> None:
    """Show the ways of the CLIs to the window; none where the examination failed."""

    def reply(found: Examinations) -> None:
        """On the companion's thread."""
        queues.on_ui_thread(partial(show, found))

    command = settings.of(window).cli_command[0]
    home = os.path.expanduser("~")
    asked = ExaminationAsked(window.id(), GEMINI_CLI, command, dict(os.environ), home, reply)
    companion.post(asked)


def button(failed: Failed, cli: Cli) -> str:
    """The link that does something about it; nothing where nothing can be done by a click. `cli` is
    the one that fails."""
    if not failed.action or (failed.action == checks.RUN_CLI and cli != GEMINI_CLI):
        return ""
    arguments = {"action": failed.action, "argument": failed.argument, "cli": cli.id}
    return link("gemini_companion_remedy", arguments, LABELS[failed.action])


def shown(text: str) -> str:
    """As HTML, with ~ for the user's home folder."""
    return escape(shortened(text, os.path.expanduser("~")))


def link(command: str, arguments: Mapping[str, Any], label: str) -> str:
    values = escape(json.dumps(arguments), quote=True) if arguments else ""
    return f'<a href="subl:{command} {values}">{escape(label)}</a>'
