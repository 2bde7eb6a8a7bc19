"""The commands on CLIs: a CLI in a terminal, the variables for it, and what says what it does."""

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


class GeminiCompanionInstallCliExtensionCommand(GeminiCompanionRunningCommand):
    """Let a CLI say what it does: write the extension into its home."""

    def run_with_companion(self, running: Running) -> None:
        running.stories.begin(
            running.pages.extension_setup.install_extension(self.window), self.window
        )


class GeminiCompanionRemoveCliExtensionCommand(GeminiCompanionRunningCommand):
    """Take the extension out of a CLI's home."""

    def run_with_companion(self, running: Running) -> None:
        running.stories.begin(
            running.pages.extension_setup.remove_extension(self.window), self.window
        )


class GeminiCompanionRunCliCommand(sublime_plugin.WindowCommand):
    """Start Gemini CLI in a folder of the window; if there are several, ask in which."""

    def is_enabled(self) -> bool:
        return host.is_running

    def run(self) -> None:
        if host.running is not None:
            host.running.stories.begin(self._start_cli(), self.window)

    async def _start_cli(self) -> None:
        from .. import panels
        from ..terminals import terminus

        folders = self.window.folders() or [self._fallback_folder()]
        number = 0
        if len(folders) > 1:
            number = await panels.ask_choice(self.window, folders, "In which folder?")
        if number >= 0:
            environment = host.environment_of(self.window)
            await terminus.run_cli(self.window, folders[number], environment, host.tell_user)

    def _fallback_folder(self) -> str:
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
        return bool(host.environment_of(self.window))

    def run(self) -> None:
        if host.running is not None:
            host.running.stories.begin(self._copy_exports(), self.window)

    async def _copy_exports(self) -> None:
        from .. import panels
        from ..terminals import exports

        shells = list(exports.SHELLS)
        number = await panels.ask_choice(self.window, shells, "For which shell?")
        environment = host.environment_of(self.window)
        if number < 0 or not environment:
            return
        try:
            line = exports.line_for(shells[number], environment)
        except exports.CannotBePasted as error:
            host.tell_user(NO_EXPORTS.format(error))
            return
        sublime.set_clipboard(line)
        host.tell_user(EXPORTS)


class GeminiCompanionForgetEnvironmentCommand(sublime_plugin.TextCommand):
    """Not for users: Terminus runs it on a terminal that got our variables."""

    def run(self, edit: sublime.Edit) -> None:
        from ..terminals import terminus

        terminus.forget_environment(self.view)
