"""The commands that open pages, and those behind the links on the pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sublime

from ..host import host
from .running_command import GeminiCompanionRunningCommand

if TYPE_CHECKING:
    from ...ide.companion import Companion
    from ..running import Running


class GeminiCompanionWelcomeCommand(GeminiCompanionRunningCommand):
    """Show the steps to the first edit, and which of them are done."""

    def run_with_companion(self, running: Running) -> None:
        running.pages.welcome.show_page(self.window)


class GeminiCompanionDoctorCommand(GeminiCompanionRunningCommand):
    """Show what keeps a CLI from connecting, and what to do; with `copy`, put this on the clipboard
    as text."""

    def run_with_companion(self, running: Running, copy: bool = False) -> None:
        if copy:
            running.stories.begin(self._copy_report(running.companion), self.window)
        else:
            running.pages.doctor.show_page(self.window)

    async def _copy_report(self, companion: Companion) -> None:
        from ..examinations import examine_window
        from ..pages import checkups, doctor

        found = await examine_window(companion, self.window)
        if not found:
            host.tell_user(checkups.FAILED)
            return
        sublime.set_clipboard(doctor.bug_report(found))
        host.tell_user("The report is on the clipboard.")


class GeminiCompanionRemedyCommand(GeminiCompanionRunningCommand):
    """Not for users: does what a link of these two pages offers about a failure."""

    def run_with_companion(
        self, running: Running, action: str, argument: str = "", cli: str = ""
    ) -> None:
        story = running.pages.remedies.apply_remedy(self.window, action, argument, cli)
        running.stories.begin(story, self.window)


class GeminiCompanionShowSharedContextCommand(GeminiCompanionRunningCommand):
    """Show what the CLIs of the window are told; the page follows changes."""

    def run_with_companion(self, running: Running) -> None:
        running.pages.shared_pages.show_page(self.window)
