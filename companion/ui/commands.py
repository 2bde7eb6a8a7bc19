"""The commands that Sublime calls; it finds them in plugin.py, which imports them.

Modules are imported where a command runs: imported here, they would hold up Sublime's UI thread
while it loads the package (`host`).
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import sublime
import sublime_plugin

from .host import NOT_RUNNING, host

if TYPE_CHECKING:
    from ..ide.service import Companion
    from .running import Running

PANEL = "gemini_companion"
EXPORTS = "On the clipboard: a line for your shell. It has a token in it; give it to nobody."
NO_EXPORTS = (
    "Nothing was copied: {}, which a terminal would take for a key. Rename the folder, or set"
    ' "path_maps" right; "Run CLI" and "Open Terminal" work as it is.'
)
NO_LOG = 'Nothing has happened so far that the log tells; "log_level": "debug" tells more.'
NO_DIFF = "That diff is decided already."
OUT_OF_SIGHT = " was out of sight, and is shown now. Run the command again to decide."
# Words of a command's caption that are not capitalised.
SMALL = ("and", "on", "with")


class GeminiCompanionDiffCommand(sublime_plugin.WindowCommand):
    """Base of what is done with one diff: that with the `id`, wherever it is; without an `id`, the
    one with the keyboard on either side, else the one that can be seen in the window, else the one
    of the window that waits longest, which comes into sight. That is all that a command does which
    `decides`: nobody decides on what they do not see."""

    decides = False

    def is_enabled(self, id: str | None = None) -> bool:
        # With an id it answers in any case, be it with a sentence.
        return id is not None or self._find(None) is not None

    def run(self, id: str | None = None) -> None:
        running, view = host.running, self._find(id)
        if running is None:
            host.tell(NOT_RUNNING)
        elif view is None:
            host.tell(NO_DIFF)
        elif id is not None or self._show(running, view) or not self.decides:
            self.act(running, view)

    def act(self, running: Running, view: sublime.View) -> None:
        raise NotImplementedError

    def _show(self, running: Running, view: sublime.View) -> bool:
        """To a user whose keyboard is elsewhere, who goes on to type there; whether it could be
        seen before."""
        from .review import lookup, pair

        keyboard = running.editor.keyboard_in(self.window)
        was_in_sight = lookup.is_on_top(view.window() or self.window, view)
        if was_in_sight and keyboard in (view, lookup.partner(view)):
            return True
        pair.bring_into_sight(view, keyboard)
        words = self.name().split("_")[2:]
        caption = " ".join(it if it in SMALL else it.capitalize() for it in words)
        more = "" if was_in_sight or not self.decides else OUT_OF_SIGHT
        host.tell(f"{caption}: {lookup.name_of(view)}{more}")
        return was_in_sight

    def _find(self, id: str | None) -> sublime.View | None:
        if host.running is None:
            return None
        from .review import lookup

        return lookup.meant(self.window) if id is None else lookup.with_id(id)


class GeminiCompanionAcceptDiffCommand(GeminiCompanionDiffCommand):
    """Send the proposal as it stands now to the CLI, which writes the file."""

    decides = True

    def act(self, running: Running, view: sublime.View) -> None:
        window = view.window() or self.window
        # Not with its view: closed, it says what becomes of it.
        running.stories.begin(running.accepting.accept(window, view), window)


class GeminiCompanionRejectDiffCommand(GeminiCompanionDiffCommand):
    """Tell the CLI that the file stays as it is."""

    decides = True

    def act(self, running: Running, view: sublime.View) -> None:
        running.diffs.reject(view)


class GeminiCompanionReleaseDiffCommand(GeminiCompanionDiffCommand):
    """Give up a diff whose CLI is gone or was interrupted; the text stays as a tab."""

    decides = True

    def act(self, running: Running, view: sublime.View) -> None:
        running.diffs.release(view)


class GeminiCompanionNextChangeCommand(GeminiCompanionDiffCommand):
    """Go to the next change of the proposal."""

    def act(self, running: Running, view: sublime.View) -> None:
        over = partial(running.queue.go_within, view, 1)
        running.stories.begin(running.changes.go(view, 1, over), view)


class GeminiCompanionPreviousChangeCommand(GeminiCompanionDiffCommand):
    """Go to the previous change of the proposal."""

    def act(self, running: Running, view: sublime.View) -> None:
        over = partial(running.queue.go_within, view, -1)
        running.stories.begin(running.changes.go(view, -1, over), view)


class GeminiCompanionAcceptDiffAndNextCommand(GeminiCompanionDiffCommand):
    """Accept, and show the next proposal that waits."""

    decides = True

    def act(self, running: Running, view: sublime.View) -> None:
        window = view.window() or self.window
        running.stories.begin(self._accept(running, window, view), window)

    async def _accept(self, running: Running, window: sublime.Window, view: sublime.View) -> None:
        from .review.lookup import name_of, partner
        from .stories import sleep

        name = name_of(view)
        has_keyboard = running.editor.keyboard_in(window) in (view, partner(view))
        if await running.accepting.accept(window, view):
            # The diff's views close first.
            await sleep()
            running.next_edit.show_after(window, name, has_keyboard)


class GeminiCompanionRejectDiffWithNoteCommand(GeminiCompanionDiffCommand):
    """Reject, with a word for the CLI and the comments on lines."""

    def act(self, running: Running, view: sublime.View) -> None:
        # Not with its view: the words are not lost where that is closed.
        window = view.window() or self.window
        running.stories.begin(running.notes.reject_with_note(view), window)


class GeminiCompanionCommentOnDiffCommand(GeminiCompanionDiffCommand):
    """Write a note on the selected lines of the proposal."""

    def act(self, running: Running, view: sublime.View) -> None:
        running.stories.begin(running.notes.comment(view), view.window() or self.window)


class GeminiCompanionRunningCommand(sublime_plugin.WindowCommand):
    """Base of what needs the companion, and no diff of its own."""

    def is_enabled(self) -> bool:
        return host.running is not None

    def run(self) -> None:
        if host.running is not None:
            host.running.next_edit.stop()
            self.act(host.running)

    def act(self, running: Running) -> None:
        raise NotImplementedError

    def current(self) -> sublime.View | None:
        from .review import lookup

        return lookup.current(self.window)


class GeminiCompanionShowClisCommand(GeminiCompanionRunningCommand):
    """List the CLIs that are connected, to any window."""

    def act(self, running: Running) -> None:
        from . import connected_clis

        story = connected_clis.choose(running.companion, self.window, host.tell)
        running.stories.begin(story, self.window)


class GeminiCompanionNextDiffCommand(GeminiCompanionRunningCommand):
    """Show the next proposal that waits, in whatever window."""

    def act(self, running: Running) -> None:
        running.queue.go(self.current(), 1)


class GeminiCompanionPreviousDiffCommand(GeminiCompanionRunningCommand):
    """Show the previous proposal that waits."""

    def act(self, running: Running) -> None:
        running.queue.go(self.current(), -1)


class GeminiCompanionShowDiffsCommand(GeminiCompanionRunningCommand):
    """List the proposals that wait, in all windows."""

    def act(self, running: Running) -> None:
        running.stories.begin(running.queue.choose(self.window), self.window)


class GeminiCompanionShowAcceptedEditsCommand(GeminiCompanionRunningCommand):
    """List the edits that were accepted in the window, to see or undo one."""

    def act(self, running: Running) -> None:
        running.stories.begin(running.history.choose(self.window), self.window)


class GeminiCompanionChangeCommand(GeminiCompanionDiffCommand):
    """Base of what is done with one change: the one named `change`, else the one at the caret or
    in sight."""

    def run(self, id: str | None = None, change: str | None = None) -> None:
        self._change = change
        super().run(id)


class GeminiCompanionKeepChangeCommand(GeminiCompanionChangeCommand):
    """Mark a change as seen and wanted."""

    decides = True

    def act(self, running: Running, view: sublime.View) -> None:
        running.stories.begin(running.changes.keep(view, self._change), view)


class GeminiCompanionDropChangeCommand(GeminiCompanionChangeCommand):
    """Put the lines of the file back in place of a change."""

    decides = True

    def act(self, running: Running, view: sublime.View) -> None:
        running.stories.begin(running.changes.drop(view, self._change), view)


class GeminiCompanionFillViewCommand(sublime_plugin.TextCommand):
    """Not for users: puts a pending text into a view."""

    def run(self, edit: sublime.Edit) -> None:
        from . import texts

        texts.pending.fill(self.view, edit)


class GeminiCompanionForgetEnvironmentCommand(sublime_plugin.TextCommand):
    """Not for users: run by Terminus on a terminal that got our variables."""

    def run(self, edit: sublime.Edit) -> None:
        from . import terminal

        terminal.forget_environment(self.view)


class GeminiCompanionRunCliCommand(sublime_plugin.WindowCommand):
    """Start Gemini CLI in a folder of the window; asks which where there are several."""

    def is_enabled(self) -> bool:
        return host.is_running

    def run(self) -> None:
        if host.running is not None:
            host.running.stories.begin(self._start(), self.window)

    async def _start(self) -> None:
        from . import panels, terminal

        folders = self.window.folders() or [self._fallback()]
        number = 0
        if len(folders) > 1:
            number = await panels.choice(self.window, folders, "In which folder?")
        if number >= 0:
            environment = host.environment(self.window)
            await terminal.run_cli(self.window, folders[number], environment, host.tell)

    def _fallback(self) -> str:
        view = self.window.active_view()
        path = view.file_name() if view is not None else None
        return os.path.dirname(path) if path else os.path.expanduser("~")


class GeminiCompanionOpenTerminalCommand(sublime_plugin.WindowCommand):
    """Open a shell in Terminus that leads every CLI to the window."""

    def is_enabled(self) -> bool:
        from . import terminal

        return host.is_running and terminal.has_terminus()

    def run(self) -> None:
        from . import terminal

        terminal.open_terminal(self.window)


class GeminiCompanionCopyExportsCommand(sublime_plugin.WindowCommand):
    """Copy the variables that lead a CLI to the window, as a line for the user's shell."""

    def is_enabled(self) -> bool:
        return bool(host.environment(self.window))

    def run(self) -> None:
        if host.running is not None:
            host.running.stories.begin(self._copy(), self.window)

    async def _copy(self) -> None:
        from . import exports, panels

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


class GeminiCompanionWelcomeCommand(GeminiCompanionRunningCommand):
    """Show the steps to the first edit, and which of them are done."""

    def act(self, running: Running) -> None:
        running.welcome.show(self.window)


class GeminiCompanionDoctorCommand(sublime_plugin.WindowCommand):
    """Show what keeps a CLI from connecting, and what to do; with `copy`, put that on the clipboard
    as text."""

    def is_enabled(self, copy: bool = False) -> bool:
        return host.running is not None

    def run(self, copy: bool = False) -> None:
        if host.running is None:
            return
        if not copy:
            host.running.doctor.show(self.window)
            return
        host.running.stories.begin(self._copy(host.running.companion), self.window)

    async def _copy(self, companion: Companion) -> None:
        from . import checkups, doctor

        found = await checkups.examine(companion, self.window)
        if not found:
            host.tell(checkups.FAILED)
            return
        sublime.set_clipboard(doctor.report(found))
        host.tell("The report is on the clipboard.")


class GeminiCompanionRemedyCommand(sublime_plugin.WindowCommand):
    """Not for users: what a link of the two above does about a failure."""

    def run(self, action: str, argument: str = "", cli: str = "") -> None:
        if host.running is not None:
            story = host.running.remedies.apply(self.window, action, argument, cli)
            host.running.stories.begin(story, self.window)


class GeminiCompanionShowStatusCommand(sublime_plugin.WindowCommand):
    """Show whether a CLI is connected to this window, and what it needs otherwise."""

    def is_enabled(self) -> bool:
        return host.running is not None

    def run(self) -> None:
        if host.running is None:
            return
        host.running.stories.begin(self._show(host.running.companion), self.window)

    async def _show(self, companion: Companion) -> None:
        from ..ide.questions import Unanswered, WindowStatuses

        try:
            statuses = await companion.ask(WindowStatuses())
        except Unanswered as error:
            _show_panel(self.window, f"{error}\n")
            return
        of_window = [each.text() for each in statuses if each.window_id == self.window.id()]
        api = host.api.text() if host.api is not None else ""
        _show_panel(self.window, "".join(of_window) + api)


class GeminiCompanionShowSharedContextCommand(GeminiCompanionRunningCommand):
    """Show what the CLIs of the window are told, as it changes."""

    def act(self, running: Running) -> None:
        running.shared_sheets.show(self.window)


class GeminiCompanionPauseSharingCommand(sublime_plugin.WindowCommand):
    """Tell the CLIs of the window of no file."""

    def is_enabled(self) -> bool:
        from . import sharing

        return not sharing.is_paused(self.window)

    def run(self) -> None:
        from . import sharing

        sharing.pause(self.window)
        if host.running is not None:
            host.running.windows.look()
        host.tell(sharing.IS_PAUSED)


class GeminiCompanionResumeSharingCommand(sublime_plugin.WindowCommand):
    """Tell them again what the user looks at."""

    def is_enabled(self) -> bool:
        from . import sharing

        return sharing.is_paused(self.window)

    def run(self) -> None:
        from . import sharing

        sharing.resume(self.window)
        if host.running is not None:
            host.running.windows.look()
        host.tell(sharing.IS_RESUMED)


class GeminiCompanionShowUnwrittenEditsCommand(sublime_plugin.WindowCommand):
    """Let the user see, apply or discard what they accepted and no CLI has written yet."""

    def is_enabled(self) -> bool:
        return host.is_running

    def run(self) -> None:
        if host.running is not None:
            from . import unwritten_edits

            running = host.running
            story = unwritten_edits.choose(running.companion, self.window, host.tell)
            running.stories.begin(story, self.window)


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


class GeminiCompanionRestartCompanionCommand(sublime_plugin.ApplicationCommand):
    """Stop the server and start it anew; connected CLIs come back by themselves."""

    def run(self) -> None:
        pages = host.running.pages_in_front() if host.running is not None else []
        host.stop()
        # First: what is told of a start that fails is to be seen last.
        host.tell("Restarted.")
        host.start()
        for window, command in pages:
            window.run_command(command)


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
