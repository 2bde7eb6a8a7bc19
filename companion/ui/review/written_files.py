"""Writes texts into files that a CLI has written already, through their own tabs, so that Sublime's
undo takes that back. Unsaved changes and files that are another by now stay as they are. UI thread
only.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Callable

import sublime

from ...base.file_content import Original
from ...edits.edit import Edit
from ...ide.companion import Companion
from ...ide.questions import FileUndoing
from .. import application, file_reading, texts
from ..stories import run_in_thread, sleep

# Milliseconds between checks whether a tab shows its file, and how many of them.
LOADING, CHECKS = 20, 250
UNSAVED = "{} has unsaved changes: nothing was written. Save or revert it, then try again."
CHANGED = "{} has changed since this edit: nothing was written. Change the file itself."
NOT_SAVED = "{} could not be saved; its tab has the text."
READ_ONLY = "The tab of {} is read-only: nothing was written."
NOT_SHOWN = "The tab of {} does not show the file: nothing was written. Revert it, then try again."
MARK = "\ufeff"
# What a view keeps of a file beside its text.
ENDS = ("no final line end", "read-only")
MIXED = "mixed line ends"


async def write_edit_text(window: sublime.Window, edit: Edit, text: str, name: str) -> str:
    """Put the text into the file that the edit wrote. Gives a sentence if that was not done."""
    present = await file_reading.read_content(edit.path)
    if texts.unsaved_view(edit.path) is not None:
        return UNSAVED.format(name)
    if is_text(present, text):
        return ""
    if edit.after is None or not is_text(present, edit.after):
        return present.note or CHANGED.format(name)
    return await _through_tab(window, edit.path, present, text, name)


async def put_text(
    window: sublime.Window,
    path: str,
    text: str,
    before: str | None,
    on_written: Callable[[], None],
) -> str:
    """Put an accepted text into the file, if its digest is still `before`, None for an unknown one.
    Gives a sentence if that was not done; else calls `on_written` as soon as it was."""
    present, known_as = await file_reading.read_content(path), file_name(path)
    if texts.unsaved_view(path) is not None:
        return UNSAVED.format(known_as)
    if before is not None and present.known_digest != before:
        return CHANGED.format(known_as)
    if present.note:
        return present.note
    if is_text(present, text):
        on_written()
        return ""
    if not present.exists:
        await run_in_thread(partial(os.makedirs, os.path.dirname(path), exist_ok=True))
    was_open = _find_tab(window, path) is not None
    problem = await _through_tab(window, path, present, text, known_as)
    if problem:
        return problem
    on_written()
    view = _find_tab(window, path)
    if not (was_open or view is None or view.is_dirty()):
        # Hundreds can be accepted at once.
        view.close()
    return ""


async def redo_edit(
    companion: Companion, window: sublime.Window, edit: Edit, after: Original
) -> str:
    """Make the file again what it was after the edit, as `undo_edit` does the opposite."""
    present, known_as = await file_reading.read_content(edit.path), file_name(edit.path)
    before = edit.before
    if texts.unsaved_view(edit.path) is not None:
        return UNSAVED.format(known_as)
    if _is_same_file(present, after):
        return ""
    if not _is_same_file(present, before):
        return present.note or CHANGED.format(known_as)
    if before.exists and _is_alike(after, present) and _find_tab(window, edit.path) is not None:
        return await _through_tab(window, edit.path, present, after.text, known_as)
    known = before.text if before.exists else None
    return await _put_back(companion, edit, after, known, known_as)


async def undo_edit(companion: Companion, window: sublime.Window, edit: Edit, name: str) -> str:
    """Make the file what it was before the edit: in its tab if that gives the very file, else byte
    for byte on disk. Gives a sentence if that was not done."""
    present = await file_reading.read_content(edit.path)
    before = edit.before
    if texts.unsaved_view(edit.path) is not None:
        return UNSAVED.format(name)
    if _is_same_file(present, before):
        return ""
    if edit.problem or not is_text(present, edit.after or ""):
        return edit.problem or present.note or CHANGED.format(name)
    if before.exists and _is_alike(before, present) and _find_tab(window, edit.path) is not None:
        return await _through_tab(window, edit.path, present, before.text, name)
    return await _put_back(companion, edit, before, edit.after or "", name)


async def _put_back(
    companion: Companion, edit: Edit, wanted: Original, present: str | None, name: str
) -> str:
    """Make the file the wanted one on disk, if its text is `present`, None for no file. Gives a
    sentence if that was not done."""
    problem, other = await companion.ask(FileUndoing(edit.path, wanted, present))
    # A story that was cut may have written it meanwhile: its thread goes on.
    is_other = other is not None and not _is_same_file(other, wanted)
    if not problem and not is_other:
        show_again(edit)
    return problem or (CHANGED.format(name) if is_other else "")


def show_again(edit: Edit) -> None:
    """Let open tabs show what is on disk now. The tab of a file that is gone keeps its text, and so
    does one in which the user has typed meanwhile."""
    for window in application.all_windows():
        view = window.find_open_file(edit.path)
        if view is not None and edit.before.exists and not view.is_dirty():
            view.run_command("revert")


def file_name(path: str) -> str:
    """The file's name in a sentence."""
    return os.path.basename(path)


def is_text(present: Original, text: str) -> bool:
    """Whether the file has this text and nothing else."""
    return (
        present.exists and not present.note and _without_mark(present.text) == _without_mark(text)
    )


async def _through_tab(
    window: sublime.Window, path: str, present: Original, text: str, name: str
) -> str:
    view = _find_tab(window, path) or _open_tab(window, path)
    is_asked = False
    for _ in range(CHECKS):
        if not view.is_valid() or view.is_dirty():
            break
        if not view.is_loading():
            if texts.text_of(view) == _without_mark(present.text):
                return _save_tab(view, _without_mark(text), name)
            if not is_asked:
                # It has not noticed yet that the file is another one.
                is_asked = True
                view.run_command("revert")
        await sleep(LOADING)
    return (UNSAVED if view.is_valid() and view.is_dirty() else NOT_SHOWN).format(name)


def _save_tab(view: sublime.View, text: str, name: str) -> str:
    """Replace the text of the tab and save it; in one step, so that nobody types in between."""
    if view.is_read_only():
        return READ_ONLY.format(name)
    is_taken = texts.replace_theirs(view, text)
    if is_taken:
        view.run_command("save", {"async": False})
    return "" if is_taken and not view.is_dirty() else NOT_SAVED.format(name)


def _find_tab(window: sublime.Window, path: str) -> sublime.View | None:
    """The file's tab, that of the window if there are several."""
    others = [other for other in application.all_windows() if other != window]
    found = (each.find_open_file(path) for each in (window, *others) if each.is_valid())
    return next((view for view in found if view is not None), None)


def _open_tab(window: sublime.Window, path: str) -> sublime.View:
    """Open the file among the user's own tabs; the keyboard and what they look at stay."""
    active = window.active_view()
    with texts.first_group_unchanged(window) as home:
        home.focus_group(0)
        view = home.open_file(path)
    if active is not None:
        window.focus_view(active)
    return view


def _is_same_file(one: Original, other: Original) -> bool:
    return (one.exists, one.known_digest) == (other.exists, other.known_digest)


def _without_mark(text: str) -> str:
    """The text without the byte order mark, which no view shows."""
    return text[1:] if text.startswith(MARK) else text


def _is_alike(before: Original, present: Original) -> bool:
    """Whether a tab that shows the present file would save the text as it was before."""
    ends, others = (
        [trait for trait in each.traits if trait not in ENDS] for each in (before, present)
    )
    return ends == others and MIXED not in ends
