"""The commands on CLIs: a list of the connected ones, a CLI in a terminal, and the variables for
it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import sublime
import sublime_plugin

from ..host import host
from .running_command import GeminiCompanionRunningCommand

if TYPE_CHECKING:
    from ..running import Running

EXPORTS = "On the clipboard: a line for your shell. It has a token in it; give it to nobody."
NO_EXPORTS = (
    "Nothing was copied: {}, which a terminal would treat as a key. Rename the folder, or correct"
    ' "path_maps". "Run CLI" and "Open Terminal" work in any case.'
)


class GeminiCompanionShowClisCommand(GeminiCompanionRunningCommand):
    """List the connected CLIs of all windows."""

    def act(self, running: Running) -> None:
        from .. import cli_list

        story = cli_list.choose(running.companion, self.window, host.tell)
        running.stories.begin(story, self.window)


class GeminiCompanionInstallCliExtensionCommand(GeminiCompanionRunningCommand):
    """Let a CLI say what it does: write the extension into its home."""

    def act(self, running: Running) -> None:
        running.stories.begin(running.pages.extension_setup.install(self.window), self.window)


class GeminiCompanionRemoveCliExtensionCommand(GeminiCompanionRunningCommand):
    """Take the extension out of a CLI's home."""

    def act(self, running: Running) -> None:
        running.stories.begin(running.pages.extension_setup.remove(self.window), self.window)


class GeminiCompanionRunCliCommand(sublime_plugin.WindowCommand):
    """Start Gemini CLI in a folder of the window; if there are several, ask in which."""

    def is_enabled(self) -> bool:
        return host.is_running

    def run(self) -> None:
        if host.running is not None:
            host.running.stories.begin(self._start(), self.window)

    async def _start(self) -> None:
        from .. import panels
        from ..terminals import terminus

        folders = self.window.folders() or [self._fallback()]
        number = 0
        if len(folders) > 1:
            number = await panels.choice(self.window, folders, "In which folder?")
        if number >= 0:
            environment = host.environment(self.window)
            await terminus.run_cli(self.window, folders[number], environment, host.tell)

    def _fallback(self) -> str:
        view = self.window.active_view()
        path = view.file_name() if view is not None else None
        return os.path.dirname(path) if path else os.path.expanduser("~")


class GeminiCompanionOpenTerminalCommand(sublime_plugin.WindowCommand):
    """Open a shell in Terminus that leads every CLI to the window."""

    def is_enabled(self) -> bool:
        from ..terminals import terminus

        return host.is_running and terminus.has_terminus()

    def run(self) -> None:
        from ..terminals import terminus

        terminus.open_terminal(self.window)


class GeminiCompanionCopyExportsCommand(sublime_plugin.WindowCommand):
    """Copy the variables that lead a CLI to the window, as a line for the user's shell."""

    def is_enabled(self) -> bool:
        return bool(host.environment(self.window))

    def run(self) -> None:
        if host.running is not None:
            host.running.stories.begin(self._copy(), self.window)

    async def _copy(self) -> None:
        from .. import panels
        from ..terminals import exports

        shells = list(exports.SHELLS)
        number = await panels.choice(self.window, shells, "For which shell?")
        environment = host.environment(self.window)
        if number < 0 or not environment:
            return
        try:
            line = exports.line_for(shells[number], environment)
        except exports.CannotBePasted as error:
            host.tell(NO_EXPORTS.format(error))
            return
        sublime.set_clipboard(line)
        host.tell(EXPORTS)


class GeminiCompanionForgetEnvironmentCommand(sublime_plugin.TextCommand):
    """Not for users: Terminus runs it on a terminal that got our variables."""

    def run(self, edit: sublime.Edit) -> None:
        from ..terminals import terminus

        terminus.forget_environment(self.view)
