"""Puts texts into views, and into tabs of the user. UI thread only."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import partial
from itertools import accumulate
from typing import Iterator, Sequence, Tuple

import sublime

from ..base.changes import changes_between, common_ends, rows_of
from ..base.comparison import Comparison
from ..base.shown_text import shown_line
from . import queues
from .review import open_diffs

# Settings that would change a text on its way into a view.
MEDDLING = ("translate_tabs_to_spaces", "auto_indent")
# From this many characters in a line, a view has no colors and no wrapping.
LONG_LINE = 64 * 1024
# The most characters of a text that is compared row by row at once.
COMPARED = 256 * 1024
# Milliseconds between checks for a window, if there is none.
NO_WINDOW = 1000


# A region, and the text for it.
Part = Tuple[sublime.Region, str]


class PendingText:
    """The texts that the command is about to put into its view. As arguments of the command they
    would stay in the undo stack and in the session file (docs/sublime.md 6.2). `run_command`
    returns when the command is done."""

    def __init__(self) -> None:
        self._parts: Sequence[Part] = ()

    def put_parts(self, view: sublime.View, parts: Sequence[Part]) -> None:
        """Put each text in place of its region, as one edit; the regions are in order."""
        self._parts = parts
        try:
            view.run_command("gemini_companion_fill_view")
        finally:
            self._parts = ()

    def fill_view(self, view: sublime.View, edit: sublime.Edit) -> None:
        """The body of the command; does nothing if anybody else runs it."""
        parts, self._parts = self._parts, ()
        for region, text in reversed(parts):
            # What replaces an empty region at a caret would be selected (docs/sublime.md 6.13).
            if region.empty():
                view.insert(edit, region.begin(), text)
            else:
                view.replace(edit, region, text)


pending = PendingText()


def select_ranges(view: sublime.View, regions: Sequence[tuple[int, int]]) -> None:
    """Select these. Whatever sets a selection outside of a command of the view, the editor may not
    draw it (docs/sublime.md 7.10)."""
    view.run_command("gemini_companion_select", {"regions": [list(region) for region in regions]})


def text_of(view: sublime.View) -> str:
    return view.substr(sublime.Region(0, view.size()))


def unsaved_view(path: str) -> sublime.View | None:
    """A tab with unsaved changes of the file; None if there is none."""
    return next((view for view in _open_views(path) if view.is_dirty()), None)


def open_view(path: str) -> sublime.View | None:
    """A tab of the file; None if there is none."""
    return next(_open_views(path), None)


def _open_views(path: str) -> Iterator[sublime.View]:
    found = (window.find_open_file(path) for window in sublime.windows())
    return (view for view in found if view is not None)


def replace_view_text(view: sublime.View, text: str) -> None:
    """Replace the text of a view of ours, as one edit that can be undone."""
    replace_parts(view, [(sublime.Region(0, view.size()), text)])


def replace_parts(view: sublime.View, parts: Sequence[Part]) -> None:
    """Replace regions of a view of ours, as one edit that can be undone; the regions are in
    order."""
    for name in MEDDLING:
        view.settings().set(name, False)
    pending.put_parts(view, parts)
    for name in MEDDLING:
        view.settings().erase(name)


def replace_rows(view: sublime.View, comparison: Comparison) -> None:
    """Change the view of ours from the old text of the comparison to the new one, change by change,
    so that carets and regions stay with their lines; as one edit that can be undone."""
    old, new = comparison.old, comparison.new
    parts = [
        (
            sublime.Region(*old.region(change.old_start, change.old_end)),
            "".join(new.rows[change.new_start : change.new_end]),
        )
        for change in comparison.changes
    ]
    replace_parts(view, parts)


def replace_theirs(view: sublime.View, text: str) -> bool:
    """Replace the text of a tab of the user, as one edit that can be undone; saves nothing. False
    if the view refuses it."""
    settings = view.settings()
    before = {name: settings.get(name) for name in MEDDLING}
    # What stays is not touched: so carets, regions and what is in sight stay as well.
    replace_parts(view, _parts_toward(text_of(view), text))
    for name, value in before.items():
        if settings.get(name) != value:
            settings.set(name, value)
    return text_of(view) == text


def _parts_toward(old: str, new: str) -> list[Part]:
    """What makes the new text of the old one, row by row where that is quick."""
    before, behind = common_ends(old, new)
    rest = old[before : len(old) - behind], new[before : len(new) - behind]
    if not any(rest):
        return []
    if max(map(len, rest)) > COMPARED:
        return [(sublime.Region(before, len(old) - behind), rest[1])]
    old_rows, new_rows = map(rows_of, rest)
    starts = list(accumulate(map(len, old_rows), initial=before))
    return [
        (
            sublime.Region(starts[change.old_start], starts[change.old_end]),
            "".join(new_rows[change.new_start : change.new_end]),
        )
        for change in changes_between(old_rows, new_rows)
    ]


def fill_view(view: sublime.View, text: str, path: str) -> None:
    """Give a new view its text, with the colors of the path's file type; undo does not remove
    it."""
    replace_view_text(view, text)
    if int(sublime.version()) >= 4114:
        view.clear_undo_stack()
    select_ranges(view, [(0, 0)])
    if _has_long_line(text):
        view.settings().set("word_wrap", False)
        return
    syntax = sublime.find_syntax_for_file(path, text[: text.find("\n") + 1])
    if syntax is not None:
        view.assign_syntax(syntax)


def wrap_as_usual(view: sublime.View) -> None:
    """Wrap the lines as in all tabs again; very long ones are not wrapped."""
    if not _has_long_line(text_of(view)):
        view.settings().erase("word_wrap")


def open_tab(window: sublime.Window, path: str, text: str) -> sublime.View:
    """Open a text as a new tab that the user can save anywhere; it covers no diff."""
    window.focus_group(open_diffs.group_without_diff(window))
    view = window.new_file()
    name_tab(view, path)
    fill_view(view, text, path)
    return view


def name_tab(view: sublime.View, path: str, remark: str = "") -> None:
    """Name the tab after its file, with a remark in brackets."""
    name = os.path.basename(path)
    view.set_name(shown_line(f"{name} ({remark})" if remark else name))


def return_text(window: sublime.Window, path: str, text: str, name: str) -> None:
    """Give the user a text of theirs as an unsaved tab, with `name` in brackets after the file's
    name. It is among their own tabs of the window, or of another one if that is closed. If there is
    no window, it waits for one."""
    if not sublime.windows():
        later = partial(return_text, window, path, text, name)
        queues.on_ui_thread(later, delay_ms=NO_WINDOW)
        return
    with first_group_unchanged(window if window.is_valid() else sublime.active_window()) as home:
        home.focus_group(0)
        name_tab(open_tab(home, path, text), path, name)


@contextmanager
def first_group_unchanged(window: sublime.Window) -> Iterator[sublime.Window]:
    """Tabs that open in the first group meanwhile do not cover the one that the user looks at."""
    front = window.active_view_in_group(0)
    yield window
    if front is not None and front.is_valid():
        window.focus_view(front)


def _has_long_line(text: str) -> bool:
    start = 0
    while len(text) - start > LONG_LINE:
        end = text.rfind("\n", start, start + LONG_LINE)
        if end < 0:
            return True
        start = end + 1
    return False
