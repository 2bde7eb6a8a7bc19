"""The commands on diffs: on one diff, on one change of it, from one to the next; and what undoes
several edits."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Sequence

import sublime
import sublime_plugin

from ..host import NOT_RUNNING, host
from .running_command import GeminiCompanionRunningCommand

if TYPE_CHECKING:
    from ...edits.edit import Edit
    from ..running import Running

NO_DIFF = "That diff is decided already."
OUT_OF_SIGHT = " was out of sight, and is shown now. Run the command again to decide."
# Words of a command's caption that are not capitalised.
SMALL = ("and", "on", "with")


class GeminiCompanionDiffCommand(sublime_plugin.WindowCommand):
    """Base of the commands on one diff. With an `id` it is that diff, wherever it is. Without one,
    it is the diff that has the keyboard on either side, else the one that is visible in the window,
    else the one of the window that has waited longest, which is then shown. A command that
    `decides` does nothing more than show it in that case. It does nothing where the diff came only
    just now, in the place of another, for which a click or key may have been meant: nobody decides
    on a diff unseen. If a sheet of changes has the keyboard, it is the file at its caret and no
    other, and `in_sheet` the link of the sheet that does the same."""

    decides = False
    in_sheet = ""

    def is_enabled(self, id: str | None = None) -> bool:
        if id is not None or host.running is None:
            # With an id it always runs; if there is no such diff, it says so.
            return id is not None
        from ..review import open_diffs

        # In a sheet it says what to do if there is no file at the caret.
        is_in_sheet = host.running.changes.commands.has_keyboard(self.window)
        return is_in_sheet or open_diffs.diff_for_command(self.window) is not None

    def run(self, id: str | None = None) -> None:
        running = host.running
        if running is None:
            host.tell_user(NOT_RUNNING)
            return
        if id is None and running.changes.commands.has_keyboard(self.window):
            self._act_in_sheet(running)
            return
        from ..review import open_diffs

        view = open_diffs.diff_for_command(self.window) if id is None else open_diffs.with_id(id)
        if view is None:
            running.messages.tell_user(NO_DIFF)
        elif id is None and open_diffs.is_unopened(view):
            running.stories.begin(self._open_tabs(running, view, self.decides), self.window)
        elif id is not None or self._show_diff(running, view) or not self.decides:
            self._run_if_seen(running, view)

    def _run_if_seen(self, running: Running, view: sublime.View) -> None:
        """If the command decides on the diff, and that came just now, the user is told."""
        from ..review import open_diffs, pace

        if self.decides and running.review.pace.is_too_soon(self.window, view):
            running.messages.tell_user(pace.TOO_SOON.format(open_diffs.name_of(view)))
        else:
            self.run_on_diff(running, view)

    def _act_in_sheet(self, running: Running) -> None:
        commands = running.changes.commands
        if self.in_sheet:
            commands.decide_at_caret(self.window, self.in_sheet)
            return
        view = commands.review_at_caret(self.window, self.decides)
        if view is not None:
            running.stories.begin(self._open_tabs(running, view), self.window)

    async def _open_tabs(
        self, running: Running, view: sublime.View, is_enough: bool = False
    ) -> None:
        """Run on a diff that may wait without tabs, in its tabs; if those are new, that may be
        enough."""
        was_unopened = _is_unopened(view)
        tab = await running.diffs.tabs.open_tabs(view)
        if tab is None:
            running.messages.tell_user(NO_DIFF)
            return
        if was_unopened:
            self._show_diff(running, tab, is_new=True)
        if not (was_unopened and is_enough):
            self.run_on_diff(running, tab)

    def run_on_diff(self, running: Running, view: sublime.View) -> None:
        raise NotImplementedError

    def _show_diff(self, running: Running, view: sublime.View, is_new: bool = False) -> bool:
        """Show the diff, whose tabs may be new, and leave the keyboard where it is; gives whether
        it was visible before."""
        from ..review import open_diffs, pair, record

        keyboard = running.keyboard.in_window(self.window)
        home = view.window() or self.window
        was_in_sight = not is_new and open_diffs.is_on_top(home, view)
        if was_in_sight and keyboard in (view, open_diffs.partner_view(view)):
            return True
        pair.bring_into_sight(view, keyboard)
        words = self.name().split("_")[2:]
        caption = " ".join(word if word in SMALL else word.capitalize() for word in words)
        more, its = "", record.waiting_record(view)
        if self.decides and not was_in_sight and its is not None:
            more = OUT_OF_SIGHT
            running.review.pace.note_shown(its.id)
        running.messages.tell_user(f"{caption}: {open_diffs.name_of(view)}{more}")
        return was_in_sight


class GeminiCompanionAcceptDiffCommand(GeminiCompanionDiffCommand):
    """Send the proposal as it is now to the CLI, which writes the file."""

    decides = True
    in_sheet = "accept_file"

    def run_on_diff(self, running: Running, view: sublime.View) -> None:
        window = view.window() or self.window
        # Does not end with its view: if that closes, the story says what became of the proposal.
        running.stories.begin(running.review.decisions.accept_diff(window, view), window)


class GeminiCompanionRejectDiffCommand(GeminiCompanionDiffCommand):
    """Tell the CLI that the file stays as it is."""

    decides = True
    in_sheet = "reject_file"

    def run_on_diff(self, running: Running, view: sublime.View) -> None:
        window = view.window() or self.window
        running.stories.begin(running.review.decisions.reject_by_press(view), window)


class GeminiCompanionReleaseDiffCommand(GeminiCompanionDiffCommand):
    """Give up a diff whose CLI is gone or was interrupted; the text stays open as a tab."""

    decides = True

    def run_on_diff(self, running: Running, view: sublime.View) -> None:
        window = view.window() or self.window
        running.stories.begin(running.review.decisions.release_by_press(view), window)


class GeminiCompanionNextChangeCommand(GeminiCompanionDiffCommand):
    """Go to the next change of the proposal, or of the sheet of changes in front."""

    def run(self, id: str | None = None) -> None:
        if (
            id is not None
            or host.running is None
            or not host.running.changes.commands.go_to_change(self.window, 1)
        ):
            super().run(id)

    def run_on_diff(self, running: Running, view: sublime.View) -> None:
        over = partial(running.review.queue.go_within, view, 1)
        running.stories.begin(running.review.single_changes.go_to_change(view, 1, over), view)


class GeminiCompanionPreviousChangeCommand(GeminiCompanionDiffCommand):
    """Go to the previous change of the proposal, or of the sheet of changes in front."""

    def run(self, id: str | None = None) -> None:
        if (
            id is not None
            or host.running is None
            or not host.running.changes.commands.go_to_change(self.window, -1)
        ):
            super().run(id)

    def run_on_diff(self, running: Running, view: sublime.View) -> None:
        over = partial(running.review.queue.go_within, view, -1)
        running.stories.begin(running.review.single_changes.go_to_change(view, -1, over), view)


class GeminiCompanionAcceptDiffAndNextCommand(GeminiCompanionDiffCommand):
    """Accept, and show the next waiting proposal."""

    decides = True
    in_sheet = "accept_file"

    def run_on_diff(self, running: Running, view: sublime.View) -> None:
        window = view.window() or self.window
        running.stories.begin(self._accept_and_next(running, window, view), window)

    async def _accept_and_next(
        self, running: Running, window: sublime.Window, view: sublime.View
    ) -> None:
        from ..review.diff_kinds import is_made
        from ..review.open_diffs import name_of, partner_view
        from ..stories import sleep

        name, was_made = name_of(view), is_made(view)
        has_keyboard = running.keyboard.in_window(window) in (view, partner_view(view))
        if await running.review.decisions.accept_diff(window, view):
            # The diff's views close first.
            await sleep()
            if was_made and await running.review.unasked.show_next(window):
                return
            running.diffs.next_edit.show_after(window, name, has_keyboard)


class GeminiCompanionRejectDiffWithNoteCommand(GeminiCompanionDiffCommand):
    """Reject, with a note for the CLI and the comments on lines."""

    def run_on_diff(self, running: Running, view: sublime.View) -> None:
        # Does not end with its view, so that the note is not lost if that closes.
        window = view.window() or self.window
        running.stories.begin(running.review.notes.reject_with_note(view), window)


class GeminiCompanionCommentOnDiffCommand(GeminiCompanionDiffCommand):
    """Write a note on the selected lines of the proposal."""

    def run_on_diff(self, running: Running, view: sublime.View) -> None:
        running.stories.begin(
            running.review.notes.ask_for_comment(view), view.window() or self.window
        )


class GeminiCompanionChangeCommand(GeminiCompanionDiffCommand):
    """Base of the commands on one change: the change of that key, else the one at the caret or in
    sight."""

    def run(self, id: str | None = None, change: str | None = None) -> None:
        self._change = change
        super().run(id)


class GeminiCompanionKeepChangeCommand(GeminiCompanionChangeCommand):
    """Mark a change as seen and wanted."""

    decides = True
    in_sheet = "keep_change"

    def run_on_diff(self, running: Running, view: sublime.View) -> None:
        running.stories.begin(running.review.single_changes.keep_change(view, self._change), view)


class GeminiCompanionDropChangeCommand(GeminiCompanionChangeCommand):
    """Replace a change by the lines of the file."""

    decides = True
    in_sheet = "drop_change"

    def run_on_diff(self, running: Running, view: sublime.View) -> None:
        running.stories.begin(running.review.single_changes.drop_change(view, self._change), view)


class GeminiCompanionQueueCommand(GeminiCompanionRunningCommand):
    """Base of the commands on the waiting proposals of all windows."""

    def has_subject(self, running: Running) -> bool:
        from ..review import queue

        return bool(queue.waiting_diffs())


class GeminiCompanionNextDiffCommand(GeminiCompanionQueueCommand):
    """Show the next waiting proposal, in whichever window."""

    def run_with_companion(self, running: Running) -> None:
        running.review.queue.go_to_diff(_current_diff(self.window), 1)


class GeminiCompanionPreviousDiffCommand(GeminiCompanionQueueCommand):
    """Show the previous waiting proposal."""

    def run_with_companion(self, running: Running) -> None:
        running.review.queue.go_to_diff(_current_diff(self.window), -1)


class GeminiCompanionUndoLastAcceptedCommand(GeminiCompanionRunningCommand):
    """Undo the newest accepted edit of the window that can be undone."""

    def is_enabled(self, **_arguments: Any) -> bool:
        return host.running is not None and self._newest_edit(host.running) is not None

    def run_with_companion(self, running: Running) -> None:
        edit = self._newest_edit(running)
        if edit is not None:
            running.stories.begin(running.review.history.undo_edit(self.window, edit), self.window)

    def _newest_edit(self, running: Running) -> Edit | None:
        from ..review import history

        return history.newest_undoable(running.review.ledger, self.window)


class GeminiCompanionUndoEditsOfTurnCommand(GeminiCompanionRunningCommand):
    """Undo all edits that a CLI made in one turn without asking."""

    def has_subject(self, running: Running) -> bool:
        return bool(running.review.ledger.unasked_edits(self.window.id()))

    def run_with_companion(self, running: Running) -> None:
        running.stories.begin(running.review.unasked.undo_turn(self.window), self.window)


class GeminiCompanionFillViewCommand(sublime_plugin.TextCommand):
    """Not for users: puts a pending text into a view."""

    def run(self, edit: sublime.Edit) -> None:
        from .. import texts

        texts.pending.fill_view(self.view, edit)


class GeminiCompanionSelectCommand(sublime_plugin.TextCommand):
    """Not for users: `regions` are pairs of points."""

    def run(self, edit: sublime.Edit, regions: Sequence[Sequence[int]]) -> None:
        selection = self.view.sel()
        selection.clear()
        selection.add_all([sublime.Region(*region) for region in regions])


def _is_unopened(view: sublime.View) -> bool:
    from ..review import open_diffs

    return open_diffs.is_unopened(view)


def _current_diff(window: sublime.Window) -> sublime.View | None:
    from ..review import open_diffs

    return open_diffs.current_diff(window)
