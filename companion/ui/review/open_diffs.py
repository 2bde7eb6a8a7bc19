"""Finds diffs: in a window, of a session, with an id, before the user's eyes."""

from __future__ import annotations

import os
from itertools import chain
from typing import Iterator

import sublime

from ...base.file_content import Original
from ...edits.edit import Edit, EditState
from .diff_kinds import GIVEN_BACK, kind_of
from .record import PATH, DiffRecord, read_original, read_record, waiting_record

# In the window's settings: the ids of its right views, so that ten thousand tabs need no search.
DIFFS = "gemini_companion_diffs"


def undecided_diffs(window: sublime.Window) -> Iterator[tuple[sublime.View, DiffRecord]]:
    """The right views of the undecided diffs of the window's CLIs, oldest first, wherever the views
    are now; with their records, whose reading takes most of the time if there are hundreds."""
    for view_id in listed_ids(window):
        view = sublime.View(view_id)
        record = waiting_record(view)
        if record is not None:
            yield view, record


def asked_edits(window_id: int) -> Iterator[Edit]:
    """The proposals among them, as the ledger has them: their views have the texts."""
    for _view, record in undecided_diffs(sublime.Window(window_id)):
        kind = kind_of(record)
        if not kind.is_made:
            state = EditState.RETURNED if kind is GIVEN_BACK else EditState.ASKED
            before = Original("", exists=not record.original_state.startswith("new file"))
            made = record.client, record.opened_at
            yield Edit(window_id, record.path, before, None, *made, state=state, id=record.id)


def made_edit_views() -> dict[str, sublime.View]:
    """The right views of all reviews of edits that are made already, by the ids of their edits."""
    found: dict[str, sublime.View] = {}
    for window in sublime.windows():
        for view, record in undecided_diffs(window):
            if record.edit_id:
                found.setdefault(record.edit_id, view)
    return found


def listed_ids(window: sublime.Window) -> list[int]:
    """The ids of the right views that belong to the window."""
    ids = window.settings().get(DIFFS)
    return [id for id in ids if isinstance(id, int)] if isinstance(ids, list) else []


def set_listed(window: sublime.Window, views: list[sublime.View]) -> None:
    window.settings().set(DIFFS, [view.id() for view in views])


def partner_view(view: sublime.View) -> sublime.View:
    """The other view of the pair; not valid if there is none.

    After a restart, a view's id may be another view's; the diff's id is not reused.
    """
    record, original = read_record(view), read_original(view)
    if record is not None:
        other = sublime.View(record.original_id)
        mark = read_original(other) if other.is_valid() else None
        return other if mark is not None and mark.id == record.id else sublime.View(0)
    if original is not None:
        other = sublime.View(original.proposal_id)
        its = read_record(other) if other.is_valid() else None
        return other if its is not None and its.id == original.id else sublime.View(0)
    return sublime.View(0)


def find_diff(window: sublime.Window, session_id: str, path: str) -> sublime.View | None:
    """The right view of the session's open diff for the path."""
    for view, record in undecided_diffs(window):
        if (record.session_id, record.path) == (session_id, path):
            return view
    return None


def with_id(id: str) -> sublime.View | None:
    """The right view of the diff, in any window; None if it is decided, or unknown."""
    windows = sublime.windows()
    of_windows = (found for window in windows for found in undecided_diffs(window))
    # A view that was dragged here from a window that is closed now is in no list.
    all_views = ((view, waiting_record(view)) for window in windows for view in window.views())
    for view, record in chain(of_windows, all_views):
        if record is not None and record.id == id:
            return view
    return None


def diff_ids() -> set[str]:
    """The ids of all that `undecided_diffs` finds in any window."""
    return {record.id for window in sublime.windows() for _view, record in undecided_diffs(window)}


def ids_anywhere() -> set[str]:
    """The ids of all diffs, also of those that were dragged here from a window that is closed."""
    every = (waiting_record(view) for window in sublime.windows() for view in window.views())
    return {record.id for record in every if record is not None}


def current_diff(window: sublime.Window) -> sublime.View | None:
    """The right view of the diff that the user means: the one with the keyboard on either side,
    else the one that is visible. So commands work while a terminal has the keyboard."""
    shown = _of_side(window.active_view())
    if shown is not None:
        return shown
    return next(
        (view for view, _record in undecided_diffs(window) if is_on_top(window, view)), None
    )


def _of_side(view: sublime.View | None) -> sublime.View | None:
    """The right view of the undecided diff that has the view on either side."""
    sides = () if view is None else (view, partner_view(view))
    return next((side for side in sides if waiting_record(side) is not None), None)


def diff_for_command(window: sublime.Window) -> sublime.View | None:
    """The diff that a command without a name is about: the current one, else the diff of the window
    that has waited longest."""
    return current_diff(window) or next((view for view, _record in undecided_diffs(window)), None)


def is_on_top(window: sublime.Window, view: sublime.View) -> bool:
    """Whether it is the tab that its group shows."""
    group, _ = window.get_view_index(view)
    return group >= 0 and window.active_view_in_group(group) == view


def group_without_diff(window: sublime.Window) -> int:
    """A group in which a new tab covers no diff: the active group, else the first one that shows no
    diff. If all show one, the active group."""
    groups = [window.active_group(), *range(window.num_groups())]
    # There may be hundreds of diffs, and few groups.
    free = (group for group in groups if _of_side(window.active_view_in_group(group)) is None)
    return next(free, groups[0])


def tabbed_diffs(window: sublime.Window) -> list[sublime.View]:
    """The right views of those undecided diffs that have tabs, oldest first."""
    return [view for view, record in undecided_diffs(window) if not record.is_unopened]


def is_unopened(view: sublime.View) -> bool:
    """Whether it is a diff that waits without tabs."""
    record = waiting_record(view)
    return record is not None and record.is_unopened


def home_of(right: sublime.View) -> sublime.Window | None:
    """The window of a diff's right view; also of a hidden one, which may not say it
    (docs/sublime.md 5.15)."""
    record = waiting_record(right)
    if record is None or not record.is_unopened:
        return right.window()
    home = sublime.Window(record.window_id)
    return home if home.is_valid() else None


def path_of(view: sublime.View) -> str:
    """The path of a diff in the editor; empty if the view is not a diff."""
    path = view.settings().get(PATH)
    return path if isinstance(path, str) else ""


def name_of(view: sublime.View) -> str:
    """The name of a diff's file in a sentence."""
    return os.path.basename(path_of(view))
