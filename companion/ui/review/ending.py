"""The end of a diff: the doubts about an acceptance, the claim, and the closing of its views."""

from __future__ import annotations

import os
from dataclasses import dataclass

import sublime

from ...base.file_content import Original
from ...base.merge import END, START
from ...base.shown_text import shown_line
from ...base.text_digest import text_digest
from ...ide.clis import by_label
from .. import texts
from . import head, hidden, marks, pair
from .diff_kinds import kind_of
from .layout import take_room_back
from .open_diffs import partner_view, set_listed, undecided_diffs
from .record import DiffRecord, erase_record, erase_stamp, waiting_record

# In the window's settings: the id of the view that had the keyboard before the first diff.
FOCUS_BEFORE = "gemini_companion_focus_before"

UNSAVED = "The file has unsaved changes in another tab, which will conflict."
EMPTIED = "You emptied the proposal; if you accept it, {} writes its own text."

# Names of tabs that were proposals.
RELEASED = "released proposal"
REJECTED = "rejected, your edits"


@dataclass(frozen=True)
class ClaimedDiff:
    """A diff whose decision belongs to whoever claimed it.

    `text` is the proposal as the user had it, None if the view has only the beginning. `accepted`
    is all of the text that they accepted; None if they did not, or if it is not known. It
    `is_as_before` where the user dropped all changes, and the text is the one that the left side
    showed of the file.
    """

    record: DiffRecord
    view: sublime.View
    original: sublime.View
    text: str | None
    is_as_before: bool
    accepted: str | None = None

    @property
    def window(self) -> sublime.Window:
        """The window of the CLI that asked; the views may be in another one by now."""
        return sublime.Window(self.record.window_id)

    @property
    def is_edited(self) -> bool:
        """Whether the user may have changed the text. A count of changes would not survive a
        restart."""
        return self.text is not None and text_digest(self.text) != self.record.proposed_digest


def acceptance_doubts(
    view: sublime.View, record: DiffRecord, present: Original, has_tab: bool = False
) -> list[str]:
    """The doubts about accepting the diff now, one sentence each; `present` is the present file.
    The proposal `has_tab` if it contains all unsaved changes of the file's tab.

    The CLI writes the accepted text over the file, whatever has happened to it meanwhile.
    """
    unsaved_too = "" if has_tab else unsaved_sentence(record)
    found = [each for each in (what_changed(record, present), unsaved_too) if each]
    if is_emptied(view, record):
        found.append(EMPTIED.format(record.proposer))
    if record.has_conflicts and conflict_marks(view):
        found.append(conflicts_said(view))
    if present.warning and kind_of(record).writes_utf_8:
        found.append(f"{present.warning} {record.proposer} writes UTF-8 text over it.")
    return found


def is_emptied(view: sublime.View, record: DiffRecord) -> bool:
    """Whether the diff's proposal is empty and means another one: most CLIs do not accept an empty
    text as the user's (docs/protocol.md 1.4)."""
    if view.size() or not kind_of(record).has_no_empty_text or record.was_empty:
        return False
    cli = by_label(record.proposer)
    return cli is None or not cli.has_empty_text


def conflict_marks(view: sublime.View) -> list[sublime.Region]:
    """The marks of the unresolved conflicts with the user's changes, in the order of the text; of a
    diff that `has_conflicts`. A conflict has the mark at its beginning, or else that at its end."""
    return view.find_all(f"^{START}$") or view.find_all(f"^{END}$")


def conflicts_said(view: sublime.View) -> str:
    """The number of conflicts, as a sentence; empty if there are none."""
    count = len(conflict_marks(view))
    if not count:
        return ""
    what = "1 conflict with your changes is" if count == 1 else f"{count} conflicts are"
    return f"{what} marked in the text: resolve {'it' if count == 1 else 'them'} before you accept."


def what_changed(record: DiffRecord, present: Original) -> str:
    """How the file has changed since the diff was opened; empty if it has not."""
    if present.digest == record.file_digest:
        return ""
    kind = kind_of(record)
    if not present.exists:
        return kind.file_gone
    if present.is_late:
        return present.note
    return kind.file_changed if kind.is_made else f"{kind.file_changed} {present.note}".rstrip()


def unsaved_sentence(record: DiffRecord) -> str:
    """A sentence if a tab has unsaved changes of the file, else empty."""
    if texts.unsaved_view(record.path) is None:
        return ""
    if unmerged_view(record) is not None:
        return UNSAVED
    return kind_of(record).unsaved_shown


def unmerged_view(record: DiffRecord) -> sublime.View | None:
    """A tab with unsaved changes of the file which the review neither shows nor had merged into
    it."""
    view = texts.unsaved_view(record.path)
    is_known = view is not None and record.unsaved_digest == text_digest(texts.text_of(view))
    return None if is_known else view


def merged_view(record: DiffRecord) -> sublime.View | None:
    """The tab whose unsaved changes were merged into the proposal, and which would hide what is
    written."""
    is_other = kind_of(record).is_written_in_tab or unmerged_view(record) is not None
    return None if is_other else texts.unsaved_view(record.path)


def claim_diff(view: sublime.View) -> ClaimedDiff | None:
    """Claim the decision on a diff; None if somebody else has, or if there is no diff."""
    record = waiting_record(view)
    erase_stamp(view)
    if record is None:
        return None
    text = texts.text_of(view) if record.is_whole else None
    original = partner_view(view)
    return ClaimedDiff(record, view, original, text, _is_as_before(record, original, text))


def _is_as_before(record: DiffRecord, original: sublime.View, text: str | None) -> bool:
    """Whether nothing of the text is the user's own. What they typed is, even if the left side has
    the same: the file may be another by now, and that of an edit that is made already is."""
    if text is None or kind_of(record).is_made:
        return False
    is_typed = bool(text) and text_digest(text) != record.dropped_digest
    if record.is_unopened:
        return bool(record.dropped_digest) and not is_typed
    if not original.is_valid():
        return False
    return not is_typed and texts.text_of(original) == text


def close_diff(claimed: ClaimedDiff, keyboard: sublime.View | None) -> None:
    """Close both views; show the next diff, or the window as it was.

    `keyboard` is the view in which the user types; it changes only if it is one of these two.
    """
    for view in (claimed.original, claimed.view):
        if view.is_valid() and not claimed.record.is_unopened:
            view.close()
    if claimed.record.is_unopened:
        hidden.destroy_view(claimed.window, claimed.record.id)
    _go_on(claimed, keyboard)


def put_away(claimed: ClaimedDiff, keyboard: sublime.View | None, name: str) -> None:
    """Close the diff, as `close_diff` does; but a proposal that the user edited stays as a tab of
    their own, with `name` in brackets. One of which they dropped everything is the file as it
    was."""
    if claimed.is_edited and not claimed.is_as_before:
        _hand_over(claimed, name)
        _go_on(claimed, keyboard)
    else:
        close_diff(claimed, keyboard)


def release_diff(claimed: ClaimedDiff, keyboard: sublime.View | None) -> None:
    """Close the diff, but let the proposal stay as a tab of the user's own, whether they edited it
    or not, or closed it."""
    if claimed.text is None:
        put_away(claimed, keyboard, RELEASED)
        return
    _hand_over(claimed, RELEASED)
    _go_on(claimed, keyboard)
    if claimed.window.is_valid() and claimed.view.is_valid():
        claimed.window.focus_view(claimed.view)


def _hand_over(claimed: ClaimedDiff, name: str) -> None:
    """Make the proposal a tab of the user, among their others. If they have closed it, it is opened
    again."""
    if claimed.original.is_valid():
        claimed.original.close()
    view, path = claimed.view, claimed.record.path
    if claimed.record.is_unopened:
        hidden.destroy_view(claimed.window, claimed.record.id)
    if claimed.record.is_unopened or not view.is_valid():
        texts.return_text(claimed.window, path, claimed.text or "", name)
        return
    disown_view(view, shown_line(f"{os.path.basename(path)} ({name})"))
    if view.window() == claimed.window:
        with texts.first_group_unchanged(claimed.window) as window:
            window.set_view_index(view, 0, window.num_views_in_group(0))


def disown_view(view: sublime.View, name: str) -> None:
    """Make a right view an ordinary tab: nothing here may treat it as a part of a diff again, and
    Sublime asks before its text is lost."""
    head.erase_head(view)
    marks.erase_marks(view)
    erase_record(view)
    view.settings().erase("mini_diff")
    texts.wrap_as_usual(view)
    view.set_name(name)
    view.set_scratch(False)


def _go_on(claimed: ClaimedDiff, keyboard: sublime.View | None) -> None:
    window = claimed.window
    if not window.is_valid():
        return
    others = list(undecided_diffs(window))
    set_listed(window, [view for view, _record in others])
    if claimed.record.is_unopened:
        # Its text may have opened as a tab, else nothing that the user sees has changed.
        if keyboard is not None and keyboard.is_valid():
            window.focus_view(keyboard)
        return
    shown = [view for view, record in others if not record.is_unopened]
    if shown:
        pair.show_pair(window, shown[-1])
    else:
        take_room_back(window)
    if keyboard in (claimed.original, claimed.view):
        keyboard = None if shown else _focused_before(window)
    if keyboard is not None and keyboard.is_valid():
        window.focus_view(keyboard)


def _focused_before(window: sublime.Window) -> sublime.View:
    id = window.settings().get(FOCUS_BEFORE)
    return sublime.View(id if isinstance(id, int) else 0)
