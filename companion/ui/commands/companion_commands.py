"""The commands on the companion, its status and log, the pause, and the API's server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sublime
import sublime_plugin

from ..host import host
from .running_command import GeminiCompanionRunningCommand

if TYPE_CHECKING:
    from ...ide.companion import Companion
    from ..running import Running

PANEL = "gemini_companion"
NO_LOG = 'The log is empty so far. With "log_level": "debug" it has more lines.'


class GeminiCompanionPauseSharingCommand(sublime_plugin.WindowCommand):
    """Pause sharing: the CLIs of the window are told of no file."""

    def is_enabled(self) -> bool:
        from .. import sharing_settings

        return not sharing_settings.is_paused(self.window)

    def run(self) -> None:
        from .. import sharing_settings

        sharing_settings.pause_sharing(self.window)
        if host.running is not None:
            host.running.editor.windows.check_windows()
        host.tell_user(sharing_settings.IS_PAUSED)


class GeminiCompanionResumeSharingCommand(sublime_plugin.WindowCommand):
    """Tell the CLIs of the window again what the user looks at."""

    def is_enabled(self) -> bool:
        from .. import sharing_settings

        return sharing_settings.is_paused(self.window)

    def run(self) -> None:
        from .. import sharing_settings

        sharing_settings.resume_sharing(self.window)
        if host.running is not None:
            host.running.editor.windows.check_windows()
        host.tell_user(sharing_settings.IS_RESUMED)


class GeminiCompanionRestartCompanionCommand(sublime_plugin.ApplicationCommand):
    """Stop the server and start it again; connected CLIs come back by themselves."""

    def run(self) -> None:
        pages = host.running.pages.in_front() if host.running is not None else []
        host.stop()
        # First, so that a sentence about a failed start is shown after it.
        host.tell_user("Restarted.")
        host.start()
        for window, command in pages:
            window.run_command(command)


class GeminiCompanionShowStatusCommand(GeminiCompanionRunningCommand):
    """Show whether a CLI is connected to this window, and if not, what to do."""

    def run_with_companion(self, running: Running) -> None:
        running.stories.begin(self._show_status(running.companion), self.window)

    async def _show_status(self, companion: Companion) -> None:
        from ...base.answer import Unanswered
        from ...ide.questions import WindowStatuses

        try:
            statuses = await companion.ask(WindowStatuses())
        except Unanswered as error:
            _show_panel(self.window, f"{error}\n")
            return
        of_window = [each.text() for each in statuses if each.window_id == self.window.id()]
        api = host.api.status_line() if host.api is not None else ""
        _show_panel(self.window, "".join(of_window) + api)


class GeminiCompanionShowLogCommand(sublime_plugin.WindowCommand):
    """Show the last lines of the log."""

    def is_enabled(self) -> bool:
        return host.log is not None

    def run(self) -> None:
        if host.log is not None:
            _show_panel(self.window, "\n".join(host.log.lines() or [NO_LOG]) + "\n")


def _show_panel(window: sublime.Window, text: str) -> None:
    panel = window.create_output_panel(PANEL)
    panel.run_command("append", {"characters": text, "scroll_to_end": True})
    window.run_command("show_panel", {"panel": "output." + PANEL})


class GeminiCompanionStartApiServerCommand(sublime_plugin.WindowCommand):
    """Serve Gemini CLI to other programs, in the folders of the window."""

    def is_enabled(self) -> bool:
        return host.api is not None and host.api.can_start(self.window)

    def run(self) -> None:
        if host.api is not None:
            host.api.start(self.window)


class GeminiCompanionStopApiServerCommand(sublime_plugin.WindowCommand):
    """End that server and the CLI behind it."""

    def is_enabled(self) -> bool:
        return host.api is not None and host.api.can_stop

    def run(self) -> None:
        if host.api is not None:
            host.api.stop()


class GeminiCompanionShowMessagesCommand(GeminiCompanionRunningCommand):
    """List what the user has to know and has not seen yet."""

    def has_subject(self, running: Running) -> bool:
        return running.messages.unseen.has_some

    def run_with_companion(self, running: Running) -> None:
        messages = running.messages
        running.stories.begin(
            messages.unseen.show_list(self.window, messages.tell_user), self.window
        )
