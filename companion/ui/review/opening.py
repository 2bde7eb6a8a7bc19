"""Opens a new proposal; older diffs of the same file make way for it."""

from __future__ import annotations

from contextlib import ExitStack

import sublime

from ...base.file_content import Original
from ...ide.editor import Proposal
from .. import texts
from . import comments, ending, head, pair, sight
from .diff_kinds import SESSION, kind_of
from .layout import take_room_back
from .open_diffs import set_listed, undecided_diffs
from .record import OF_SESSION, DiffRecord, Origin, stamp_view, update_record, waiting_record

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
) -> tuple[sublime.View, str]:
    """Show the proposal beside the original. It replaces a diff of the same session and path, and
    one whose CLI is gone; their comments go to the new one. Gives the view, and the note for its
    head. With another `origin` than a CLI's session, nothing is replaced. `keyboard` is the view in
    which the user types, and continues to type unless `take_focus`. With a digest, both texts are
    only the changed parts."""
    others = list(undecided_diffs(window))
    older = [
        view for view, record in others if origin == OF_SESSION and _makes_way(record, proposal)
    ]
    with ExitStack() as undo:
        if not others:
            before = keyboard.id() if keyboard is not None else 0
            window.settings().set(ending.FOCUS_BEFORE, before)
            undo.callback(take_room_back, window)
        right = pair.open_pair(window, proposal, original, is_digest, undo, origin)
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
    window.focus_view(right)
    if not take_focus and keyboard is not None and keyboard.is_valid():
        window.focus_view(keyboard)
    record = waiting_record(right)
    if record is not None and record.is_compared:
        sight.show_first_difference(right, original.text, proposal.content)
    return right, NO_LINE if words else ""


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
