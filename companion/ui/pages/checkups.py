"""Sheets that show how a window's CLIs fare on their way to it, as it changes; UI thread only."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import partial
from html import escape
from typing import Any, Callable, Mapping, Tuple

import sublime

from ...base.shown_text import spelled
from ...ide import questions
from ...ide.clis import GEMINI_CLI, by_command
from ...ide.doctor import checks, gathering
from ...ide.doctor.checks import Failed
from ...ide.doctor.facts import Facts, Window
from ...ide.doctor.gathering import Scope
from ...ide.doctor.report import Examination, shortened
from ...ide.questions import Unanswered
from ...ide.service import Companion
from .. import settings, sharing_settings
from ..stories import Stories, computed
from . import page

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
    "run_cli": "Run {}",
}
# The one that runs is the user's to end.
RUN_ANOTHER = "Run another {}"
FAILED = 'Looking failed; "Gemini Companion: Show Log" tells more.'

Examinations = Tuple[Examination, ...]


class Checkups:
    """One sheet for each window at most. `look` is to be called about once a second; `draw` makes
    the page."""

    def __init__(
        self,
        companion: Companion,
        stories: Stories,
        name: str,
        draw: Callable[[Examinations], str],
    ) -> None:
        self._companion = companion
        self._stories = stories
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
            contents = page.html("<p>Looking...</p>")
            self._sheets[window.id()] = page.new_sheet(window, self._name, contents)
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
                self._sheets.pop(window_id, None)
            elif sheet in window.selected_sheets():
                self._ask(window)

    def is_in_front(self, window: sublime.Window) -> bool:
        """Whether the window's sheet has the keyboard."""
        sheet = self._sheets.get(window.id())
        return sheet is not None and window.active_sheet() == sheet

    def stop(self) -> None:
        """Close them: nobody looks any more."""
        # One that has closed may be taken from the list while the others close.
        sheets, self._sheets = self._sheets, {}
        for sheet in sheets.values():
            if sheet.window() is not None:
                sheet.close()

    def _ask(self, window: sublime.Window) -> None:
        """Not before the last answer has come, but then: a machine may be slow."""
        is_asked = window.id() in self._asked
        self._asked[window.id()] = is_asked
        if not is_asked:
            self._stories.begin(self._examine(window), window)

    async def _examine(self, window: sublime.Window) -> None:
        try:
            found = await examine(self._companion, window)
        finally:
            is_asked_again = self._asked.pop(window.id(), False)
        sheet = self._sheets.get(window.id())
        if sheet is None:
            return
        if is_asked_again:
            self._ask(window)
        contents = page.html(self._draw(found) if found else f"<p>{escape(FAILED)}</p>")
        # Drawn anew it would lose its place.
        if self._contents.get(window.id()) != contents:
            self._contents[window.id()] = contents
            sheet.set_contents(contents)


async def examine(companion: Companion, window: sublime.Window) -> Examinations:
    """The ways of the CLIs to the window; none where the examination failed."""
    command = settings.of(window).cli_command
    # A command that names no CLI is taken for one that starts Gemini CLI.
    cli = by_command(command) or GEMINI_CLI
    environment, home = dict(os.environ), os.path.expanduser("~")
    asked = questions.Examinations(window.id(), cli, command, environment, home)
    try:
        return await companion.ask(asked)
    except Unanswered:
        if not companion.problem:
            return ()
    # The companion has ended: what can be seen without it.
    ended = _ended(window, companion.problem)
    scope = _with_paths(Scope(cli, ended, command, environment, home), window)
    return await computed(partial(gathering.examine, scope)) or ()


def _ended(window: sublime.Window, problem: str) -> Window:
    """The window without a server."""
    folders, maps = window.folders(), sharing_settings.path_maps(window)
    return Window(
        os.getppid(),
        0,
        maps.remote_folders(folders),
        problem=problem,
        separator=maps.separator,
        unmapped=maps.unmapped(folders),
    )


def _with_paths(scope: Scope, window: sublime.Window) -> Scope:
    return replace(
        scope,
        local_folders=tuple(window.folders()),
        path_maps=sharing_settings.path_maps(window),
        extra_folder=settings.of(window).extra_discovery_folder,
    )


def button(failed: Failed, facts: Facts) -> str:
    """The link that does something about it; nothing where nothing can be done by a click. `facts`
    are those of the CLI that fails."""
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
    """As HTML, with ~ for the user's home folder."""
    return escape(spelled(shortened(text, os.path.expanduser("~"))))


def link(command: str, arguments: Mapping[str, Any], label: str) -> str:
    values = escape(json.dumps(arguments), quote=True) if arguments else ""
    return f'<a href="subl:{command} {values}">{escape(label)}</a>'
