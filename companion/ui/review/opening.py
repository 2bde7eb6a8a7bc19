"""Opens a new proposal; older diffs of the same file make way for it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Sequence

import sublime

from ...base.file_content import Original
from ...ide.editor import Proposal
from .. import texts
from . import comments, ending, head, large, pair, sight
from .diff_kinds import SESSION, kind_of
from .layout import take_room_back
from .open_diffs import is_on_top, set_listed, tabbed_diffs, undecided_diffs
from .record import OF_SESSION, DiffRecord, Origin, stamp_view, update_record, waiting_record

# The most proposals of a window that take tabs as they come.
MOST_WITH_TABS = 2
OLDER = "your edits of an older proposal"
COMMENTS = "your comments on an older proposal"
NO_LINE = (
    "The lines that you commented on are not in this newer proposal; your comments are in a tab."
)


def open_diff(
    window: sublime.Window,
    proposal: Proposal,
    original: Original,
    keyboard: sublime.View | None,
    take_focus: bool,
    is_digest: bool = False,
    origin: Origin = OF_SESSION,
    room: int = 0,
) -> tuple[sublime.View, str]:
    """Show the proposal beside the original. It replaces a diff of the same session and path, and
    one whose CLI is gone; their comments go to the new one. Gives the view, and the note for its
    head. With another `origin` than a CLI's session, nothing is replaced. `keyboard` is the view in
    which the user types, and continues to type unless `take_focus`. With a digest, both texts are
    only the changed parts. It waits without tabs where others have them already, if its text has at
    most `room` characters. One that the user reads stays in front, unless it makes way."""
    others = list(undecided_diffs(window))
    in_sight = [view for view, _record in others if is_on_top(window, view)]
    older = [
        view for view, record in others if origin == OF_SESSION and _makes_way(record, proposal)
    ]
    has_tabs = (
        is_digest
        or len(proposal.content) > room
        or not _fits_hidden(proposal, original)
        or _takes_tabs(others, older)
    )
    with ExitStack() as undo:
        if has_tabs:
            _make_first_room(window, keyboard, undo)
            right = pair.open_pair(window, proposal, original, is_digest, undo, origin)
        else:
            right = pair.open_hidden(window, proposal, original, undo, origin)
        # From here on the diff is complete; an earlier failure leaves nothing behind.
        undo.pop_all()
    stamp_view(right)
    set_listed(window, [*(view for view, _record in others), right])
    words = comments.carry_over(older, right) if older else ""
    if words:
        texts.return_text(window, proposal.path, words, COMMENTS)
    for view in older:
        claimed = ending.claim_diff(view)
        if claimed is not None:
            ending.put_away(claimed, None, OLDER)
    if has_tabs:
        _show_tabs(window, right, original.text, keyboard, take_focus)
        if not take_focus:
            _keep_in_front(in_sight, keyboard)
    elif older and keyboard is not None and keyboard.is_valid():
        # The texts of older ones may have opened as tabs.
        window.focus_view(keyboard)
    return right, NO_LINE if words else ""


def open_unopened(
    window: sublime.Window, proposal: Proposal, original: Original, origin: Origin
) -> sublime.View:
    """Show the proposal without tabs, wherever others are; both texts can be shown whole. Gives its
    right view."""
    listed = [view for view, _record in undecided_diffs(window)]
    with ExitStack() as undo:
        right = pair.open_hidden(window, proposal, original, undo, origin)
        undo.pop_all()
    stamp_view(right)
    set_listed(window, [*listed, right])
    return right


def give_tabs(
    window: sublime.Window,
    right: sublime.View,
    original: str,
    keyboard: sublime.View | None,
    take_focus: bool,
) -> sublime.View:
    """Open tabs for a diff that waits without; gives the new right view."""
    listed = [view for view, _record in undecided_diffs(window)]
    with ExitStack() as undo:
        _make_first_room(window, keyboard, undo)
        tab = pair.give_tabs(window, right, original, undo)
    set_listed(window, [tab if view == right else view for view in listed])
    _show_tabs(window, tab, original, keyboard, take_focus)
    return tab


def _make_first_room(
    window: sublime.Window, keyboard: sublime.View | None, undo: ExitStack
) -> None:
    if not tabbed_diffs(window):
        before = keyboard.id() if keyboard is not None else 0
        window.settings().set(ending.FOCUS_BEFORE, before)
        undo.callback(take_room_back, window)


def _show_tabs(
    window: sublime.Window,
    right: sublime.View,
    original: str,
    keyboard: sublime.View | None,
    take_focus: bool,
) -> None:
    window.focus_view(right)
    if not take_focus and keyboard is not None and keyboard.is_valid():
        window.focus_view(keyboard)
    record = waiting_record(right)
    if record is not None and record.is_compared:
        sight.show_first_difference(right, original, texts.text_of(right))


def _keep_in_front(in_sight: Sequence[sublime.View], keyboard: sublime.View | None) -> None:
    """What is pressed next is meant for the diff that was in sight."""
    for view in in_sight:
        if waiting_record(view) is not None:
            pair.bring_into_sight(view, keyboard)
            return


def _fits_hidden(proposal: Proposal, original: Original) -> bool:
    """Whether both texts can be shown whole, and compared."""
    is_small = large.can_be_shown_whole(proposal.content, original.text)
    return proposal.is_whole and is_small and not original.note


def _takes_tabs(
    others: Sequence[tuple[sublime.View, DiffRecord]], older: Sequence[sublime.View]
) -> bool:
    """Whether few proposals have tabs, or one that makes way does."""
    with_tabs = [
        view for view, record in others if not (record.is_unopened or kind_of(record).is_made)
    ]
    return len(with_tabs) < MOST_WITH_TABS or any(view in with_tabs for view in older)


def set_orphaned(window: sublime.Window, session_id: str, orphaned: bool) -> list[sublime.View]:
    """Note whether the CLI of the session's diffs is connected; gives those diffs for which this
    has changed."""
    changed: list[sublime.View] = []
    for view, record in list(undecided_diffs(window)):
        if record.session_id == session_id and record.is_orphaned != orphaned:
            head.draw_head(view, update_record(view, record, is_orphaned=orphaned))
            changed.append(view)
    return changed


def _makes_way(record: DiffRecord, proposal: Proposal) -> bool:
    if kind_of(record) is not SESSION or record.path != proposal.path:
        return False
    is_gone = record.session_id not in proposal.live_sessions
    return record.session_id == proposal.session_id or is_gone
