"""The commands of *Show Changes*: of its list, and of the sheet of all changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sublime_plugin

from ..host import host
from .running_command import GeminiCompanionRunningCommand

if TYPE_CHECKING:
    from ..running import Running


class GeminiCompanionListChangesCommand(GeminiCompanionRunningCommand):
    """Base of the commands that open the list of changes. `show` is the kind of edits that it
    has, "waiting", "unasked", "unwritten" or "accepted"; empty for all, and "tab" for the sheet."""

    show = ""

    def run_with_companion(self, running: Running, show: str = "") -> None:
        show = show or self.show
        if show == "tab":
            running.changes.sheets.show_sheet(self.window)
        else:
            running.stories.begin(running.changes.list.choose_edit(self.window, show), self.window)


class GeminiCompanionShowChangesCommand(GeminiCompanionListChangesCommand):
    """List what waits, what was written without asking, what is not in its file, and what was
    accepted."""


class GeminiCompanionShowDiffsCommand(GeminiCompanionListChangesCommand):
    """List the waiting proposals of all windows."""

    show = "waiting"


class GeminiCompanionShowUnaskedEditsCommand(GeminiCompanionListChangesCommand):
    """List the edits that CLIs of the window made without asking."""

    show = "unasked"


class GeminiCompanionShowUnwrittenEditsCommand(GeminiCompanionListChangesCommand):
    """List the accepted texts that no CLI has written."""

    show = "unwritten"


class GeminiCompanionShowAcceptedEditsCommand(GeminiCompanionListChangesCommand):
    """List the accepted edits of the window."""

    show = "accepted"


class GeminiCompanionDecideOnChangesCommand(GeminiCompanionRunningCommand):
    """Let the user choose what to do with the file at the caret of a sheet, or with all."""

    def run_with_companion(self, running: Running) -> None:
        from ..changes import decision_list

        story = decision_list.choose_decision(running.changes.commands, self.window)
        running.stories.begin(story, self.window)


class GeminiCompanionGoToChangeCommand(GeminiCompanionRunningCommand):
    """Shows the line at the caret in the file's own review, from a sheet of changes."""

    def run_with_companion(self, running: Running) -> None:
        view = self.window.active_view()
        if view is not None:
            running.stories.begin(running.changes.commands.go_to_review(view), self.window)


class GeminiCompanionDecideChangesCommand(sublime_plugin.WindowCommand):
    """Not for users: does what a link of a sheet says."""

    def run(self, sheet: str, action: str, file: str = "", change: str = "") -> None:
        running = host.running
        found = running.changes.sheets.with_id(sheet) if running is not None else None
        if running is not None and found is not None:
            story = running.changes.commands.decide_by_link(found, action, file, change)
            running.stories.begin(story, found.window or self.window)
