"""Examines how a window's CLIs get to it, with the companion or without. UI thread only."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import Callable, Tuple

import sublime

from ..base.answer import Unanswered
from ..ide import questions
from ..ide.clis import GEMINI_CLI, by_command
from ..ide.companion import Companion
from ..ide.doctor import gathering
from ..ide.doctor.gathering import ExaminedScope, Window
from ..ide.doctor.report import Examination
from . import settings, sharing_settings
from .stories import Stories, run_in_thread

Examinations = Tuple[Examination, ...]


class Examiner:
    """Examines windows. `tell` gets the results; nothing if the examination failed."""

    def __init__(
        self,
        companion: Companion,
        stories: Stories,
        tell: Callable[[sublime.Window, Examinations], None],
    ) -> None:
        self._companion = companion
        self._stories = stories
        self._tell = tell
        # The windows that are being examined, and whether each must be examined once more.
        self._asked: dict[int, bool] = {}

    def examine_soon(self, window: sublime.Window) -> None:
        """Examine the window. If it is being examined, do so again afterwards: a machine may be
        slow."""
        is_asked = window.id() in self._asked
        self._asked[window.id()] = is_asked
        if not is_asked:
            self._stories.begin(self._examine_window(window), window)

    async def _examine_window(self, window: sublime.Window) -> None:
        try:
            found = await examine_window(self._companion, window)
        finally:
            is_asked_again = self._asked.pop(window.id(), False)
        if is_asked_again:
            self.examine_soon(window)
        self._tell(window, found)


async def examine_window(companion: Companion, window: sublime.Window) -> Examinations:
    """The ways of the CLIs to the window; empty if the examination failed."""
    command = settings.current_settings(window).terminal_cli
    # A command that names no CLI counts as one that starts Gemini CLI.
    cli = by_command(command) or GEMINI_CLI
    environment, home = dict(os.environ), os.path.expanduser("~")
    asked = questions.Examinations(window.id(), cli, command, environment, home)
    try:
        return await companion.ask(asked)
    except Unanswered:
        if not companion.problem:
            return ()
    # The companion has ended: give what can be seen without it.
    ended = _window_without_server(window, companion.problem)
    scope = _with_paths(ExaminedScope(cli, ended, command, environment, home), window)
    return await run_in_thread(partial(gathering.examine_clis, scope)) or ()


def _window_without_server(window: sublime.Window, problem: str) -> Window:
    """The window without a server."""
    folders, maps = window.folders(), sharing_settings.path_maps(window)
    return Window(
        os.getppid(),
        0,
        maps.remote_folders(folders),
        problem=problem,
        separator=maps.separator,
        unmapped=maps.unmapped_folders(folders),
    )


def _with_paths(scope: ExaminedScope, window: sublime.Window) -> ExaminedScope:
    return replace(
        scope,
        local_folders=tuple(window.folders()),
        path_maps=sharing_settings.path_maps(window),
        extra_folder=settings.current_settings(window).extra_discovery_folder,
    )
