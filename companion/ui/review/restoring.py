"""Diffs that the editor restored with its own session: tabs with text and settings only."""

from __future__ import annotations

from dataclasses import replace

import sublime

from ...base.text_digest import text_digest
from .. import texts
from . import comments, ending, pair
from .diff_kinds import SESSION, kind_of
from .open_diffs import is_unopened, listed_ids, set_listed
from .record import (
    STAMP,
    DiffRecord,
    is_diff,
    read_original,
    read_record,
    update_record,
    waiting_record,
)

DAMAGED = "your edits"


def adopt_diffs(window: sublime.Window) -> list[tuple[str, str]]:
    """Take up the diffs that came back with the window; gives session and path of each present
    diff. A left side without its right one is closed; a right one with a damaged record becomes a
    tab of the user."""
    if not listed_ids(window):
        return []
    rights: dict[str, sublime.View] = {}
    lefts: dict[str, sublime.View] = {}
    # Hidden views are there after a reload of the package alone.
    hidden = [view for view in map(sublime.View, listed_ids(window)) if is_unopened(view)]
    for view in (*window.views(), *hidden):
        _sort_view(view, rights, lefts)
    for id, right in rights.items():
        _take_up(window, right, lefts.pop(id, None))
    for left in lefts.values():
        left.close()
    found = list(rights.values())
    set_listed(window, found)
    records = [record for record in map(waiting_record, found) if record is not None]
    # No CLI and no book know of the others.
    own = (record for record in records if kind_of(record) is SESSION)
    return [(record.session_id, record.path) for record in own]


def _sort_view(
    view: sublime.View, rights: dict[str, sublime.View], lefts: dict[str, sublime.View]
) -> None:
    """Sort the view to the others of its kind, by the diff's id."""
    record, original = read_record(view), read_original(view)
    if view.settings().get(STAMP) is True:
        if record is None:
            ending.disown_view(view, view.name() or DAMAGED)
        elif record.id not in rights or is_diff(view):
            # Of a diff and its clone, keep the diff.
            rights[record.id] = view
    # A view that is not scratch may contain something of the user.
    elif original is not None and record is None and view.is_scratch():
        if original.id in lefts:
            view.close()
        else:
            lefts[original.id] = view


def _take_up(window: sublime.Window, right: sublime.View, left: sublime.View | None) -> None:
    record = read_record(right)
    if record is None:
        return
    is_reload = is_diff(right)
    record = update_record(right, record, is_restored=True)
    if is_reload:
        return
    record = update_record(right, record, view_id=right.id(), window_id=window.id())
    if left is not None:
        pair.join_views(left, right, replace(record, original_id=left.id()))
        if record.is_compared:
            right.set_reference_document(texts.text_of(left))
    else:
        pair.dress_view(right, record)


def catch_up(view: sublime.View, saved: str | None) -> tuple[str | None, bool]:
    """The diff came back, and `saved` is the companion's text of it, None for none: show the newer
    of the two. Gives that text, None if there is no diff or its text is not whole; and whether it
    was the saved one, inserted as an edit that can be undone."""
    record = waiting_record(view)
    if record is None:
        return None, False
    record = update_record(view, record, is_restored=False)
    if not record.is_whole:
        return None, False
    is_newer = show_newer(view, record, saved)
    if is_newer:
        comments.mark_comments(view)
    text = texts.text_of(view)
    # Marks of a conflict may have come with it.
    has_conflicts = record.has_conflicts or is_newer
    update_record(view, record, saved_digest=text_digest(text), has_conflicts=has_conflicts)
    return text, is_newer


def show_newer(view: sublime.View, record: DiffRecord, saved: str | None) -> bool:
    """Put the saved text into a restored diff, if it is newer than the view's; gives whether it
    is."""
    text = texts.text_of(view)
    if saved is None or saved == text or record.saved_digest == text_digest(saved):
        return False
    if record.saved_digest != text_digest(text):
        # It was typed into an older text before anybody looked, or right before the editor ended;
        # undo alone would not outlive the next crash.
        texts.return_text(sublime.Window(record.window_id), record.path, text, DAMAGED)
    texts.replace_view_text(view, saved)
    return True
