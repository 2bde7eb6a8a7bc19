"""The commands every Sublime has, as far as a plugin without a screen can use them."""

from __future__ import annotations

import os
import re
import sys
from typing import Any, Callable, Dict, List, Optional

from . import completions, diff, motions, windows

COMMANDS: Dict[str, Dict[str, Callable[..., Any]]] = {"application": {}, "window": {}, "text": {}}
# Commands that are no step of undo themselves.
HISTORY = (
    "undo",
    "redo",
    "soft_undo",
    "soft_redo",
    "redo_or_repeat",
    "revert",
    "save",
    "auto_complete",
    "hide_auto_complete",
)


def _command(kind: str, *names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names or (function.__name__,):
            COMMANDS[kind][name] = function
        return function

    return register


# Text


@_command("text")
def append(
    editor: Any,
    view: Any,
    characters: str = "",
    force: bool = False,
    scroll_to_end: bool = False,
    disable_tab_translation: bool = False,
) -> None:
    """Add text at the end; with force even where the view is read-only."""
    buffer = view.buffer
    read_only, buffer.read_only = buffer.read_only, buffer.read_only and not force
    try:
        size = len(buffer.text)
        carets = {other.id: list(other.selection) for other in buffer.views}
        editor.change(view, size, size, characters)
        if not scroll_to_end:
            for other in buffer.views:
                other.selection = carets[other.id]
    finally:
        buffer.read_only = read_only
    if scroll_to_end:
        view.scroll_to(len(buffer.text))


@_command("text")
def insert(editor: Any, view: Any, characters: str = "") -> None:
    """Type text at every caret, piece by piece; a new line begins as deep as the one before."""
    for piece in re.split("(\n)", characters):
        for a, b in sorted(view.selection, key=min, reverse=True) if piece else ():
            editor.change(view, a, b, piece + _indentation(view, min(a, b)) * (piece == "\n"))


def _indentation(view: Any, point: int) -> str:
    if not view.settings.get("auto_indent", True):
        return ""
    before = view.text.slice(view.text.line(point)[0], point)
    return str(before[: len(before) - len(before.lstrip(" \t"))])


def _put(editor: Any, view: Any, text: str) -> None:
    for a, b in sorted(view.selection, key=min, reverse=True):
        editor.change(view, a, b, text)


@_command("text")
def insert_snippet(editor: Any, view: Any, contents: str = "", name: str = "") -> None:
    """Its lines begin as deep as the one at the caret; fields are not offered."""
    if name:
        raise NotImplementedError("insert_snippet from a file")
    text = re.sub(r"\$\{?\d+(?::([^}]*)\})?\}?", lambda match: match.group(1) or "", contents)
    deep = _indentation(view, min(view.selection[0])) if view.selection else ""
    _put(editor, view, text.replace("\n", "\n" + deep))


@_command("text")
def left_delete(editor: Any, view: Any) -> None:
    for a, b in sorted(view.selection, key=min, reverse=True):
        editor.change(view, a - 1 if a == b else a, b, "")


@_command("text")
def right_delete(editor: Any, view: Any) -> None:
    for a, b in sorted(view.selection, key=min, reverse=True):
        editor.change(view, a, b + 1 if a == b else b, "")


@_command("text")
def auto_complete(editor: Any, view: Any, **_options: Any) -> None:
    view.completing = completions.Completing(editor, view)
    view.completing.ask()


@_command("text")
def hide_auto_complete(editor: Any, view: Any) -> None:
    view.completing = None


@_command("text", "commit_completion", "insert_best_completion")
def commit_completion(editor: Any, view: Any, **_options: Any) -> None:
    """Take the best of what is offered in the place of the word at the caret."""
    completing, view.completing = view.completing, None
    offer = completing.best() if completing is not None else None
    if offer is None:
        return
    if not offer.keeps_prefix:
        size = len(completions.prefix_of(view))
        for a, b in sorted(view.selection, key=min, reverse=True):
            editor.change(view, max(a, b) - size, max(a, b), "")
    if offer.format == completions.COMMAND:
        name, _, args = offer.content.partition(" ")
        window = view.window or editor.active_window
        editor.commands.run(window, name, editor.api.decode_value(args) if args else None)
    elif offer.format == completions.SNIPPET:
        insert_snippet(editor, view, offer.content)
    else:
        insert(editor, view, offer.content)


@_command("text")
def select_all(editor: Any, view: Any) -> None:
    view.select([(0, len(view.text))])


@_command("text")
def move(
    editor: Any,
    view: Any,
    by: str = "characters",
    forward: bool = True,
    extend: bool = False,
    **_options: Any,
) -> None:
    """By characters, words, word_ends, lines or pages."""
    motions.move(editor, view, by, forward, extend)


@_command("text")
def drag_select(
    editor: Any,
    view: Any,
    event: Any = None,
    by: str = "",
    extend: bool = False,
    additive: bool = False,
    subtractive: bool = False,
) -> None:
    """At the place of the event in the window; without one nothing is pressed."""
    if subtractive:
        raise NotImplementedError("drag_select to take away")
    if event and "x" in event:
        point = editor.api.View(view.id).window_to_text((event["x"], event["y"]))
        motions.drag_select(editor, view, int(point), by, extend, additive)


@_command("text")
def join_lines(editor: Any, view: Any) -> None:
    for begin, end in motions.joined_rows(view):
        at_the_edge = end == len(view.text) or view.text.line(begin)[0] == begin
        editor.change(view, begin, end, "" if at_the_edge else " ")


def _transform(change: Callable[[str], str]) -> Callable[[Any, Any], None]:
    """Of what is selected; of the words at the carets where nothing is."""

    def run(editor: Any, view: Any) -> None:
        kept = list(view.selection)
        for a, b in kept:
            word = editor.api.View(view.id).word(b)
            begin, end = (word.begin(), word.end()) if a == b else (min(a, b), max(a, b))
            text = view.text.slice(begin, end)
            if change(text) != text:
                editor.change(view, begin, end, change(text))
        view.select(kept)

    return run


for _name, _change in (
    ("upper_case", str.upper),
    ("lower_case", str.lower),
    ("swap_case", str.swapcase),
    ("title_case", str.title),
):
    COMMANDS["text"][_name] = _transform(_change)


@_command("text")
def move_to(editor: Any, view: Any, to: str = "eof", extend: bool = False) -> None:
    """To eof, bof, eol, hardeol, bol or hardbol."""
    view.select([_moved_to(view, a, b, to, extend) for a, b in view.selection])
    view.scroll_to(view.selection[-1][1])


def _moved_to(view: Any, a: int, b: int, to: str, extend: bool) -> Any:
    begin, end = view.text.line(b)
    target = {
        "eof": len(view.text),
        "bof": 0,
        "eol": end,
        "hardeol": end,
        "bol": begin,
        "hardbol": begin,
    }.get(to)
    if target is None:
        raise NotImplementedError("move_to %s" % to)
    return (a if extend else target, target)


@_command("text")
def goto_line(editor: Any, view: Any, line: Any = 1) -> None:
    point = view.text.point(int(line) - 1, 0)
    view.select([(point, point)])
    view.scroll_to(point, center=True)


def _undo(editor: Any, view: Any, step: Callable[[], bool]) -> None:
    if view.buffer.read_only:
        return
    token = editor.begin_edit(view, "", None)
    view.buffer.open_step = None
    try:
        step()
    finally:
        editor.end_edit(view, token)


@_command("text", "undo", "soft_undo")
def undo(editor: Any, view: Any) -> None:
    _undo(editor, view, view.buffer.undo)


@_command("text", "redo", "redo_or_repeat", "soft_redo")
def redo(editor: Any, view: Any) -> None:
    _undo(editor, view, view.buffer.redo)


@_command("text")
def save(editor: Any, view: Any, encoding: str = "", **_options: Any) -> None:
    if encoding:
        view.buffer.encoding = encoding
    editor.save(view)


@_command("text")
def revert(editor: Any, view: Any) -> None:
    editor.revert(view)


@_command("text")
def copy(editor: Any, view: Any) -> None:
    parts = [view.text.slice(min(pair), max(pair)) for pair in view.selection]
    editor.clipboard = "\n".join(parts)


@_command("text")
def cut(editor: Any, view: Any) -> None:
    copy(editor, view)
    for a, b in sorted(view.selection, key=min, reverse=True):
        editor.change(view, a, b, "")


@_command("text")
def paste(editor: Any, view: Any) -> None:
    _put(editor, view, editor.clipboard)


@_command("text")
def toggle_setting(editor: Any, view: Any, setting: str = "") -> None:
    view.settings.set(setting, not view.settings.get(setting))


@_command("text")
def set_setting(editor: Any, view: Any, setting: str = "", value: Any = None) -> None:
    view.settings.set(setting, value)


@_command("text")
def set_file_type(editor: Any, view: Any, syntax: str = "") -> None:
    editor.assign_syntax(view, syntax)


@_command("text")
def set_line_ending(editor: Any, view: Any, type: str = "unix") -> None:
    view.buffer.line_endings = {"windows": "Windows", "cr": "CR"}.get(type.lower(), "Unix")
    view.buffer.mark_dirty()


# Incremental diff


@_command("text")
def toggle_inline_diff(editor: Any, view: Any, **_options: Any) -> None:
    view.inline_diff = not view.inline_diff


def _go_to_modification(forward: bool) -> Callable[[Any, Any], None]:
    def go(editor: Any, view: Any) -> None:
        caret = view.text.rowcol(view.selection[0][1])[0] if view.selection else 0
        rows = [hunk.first for hunk in diff.view_hunks(view)]
        ahead = [row for row in rows if (row > caret if forward else row < caret)]
        if ahead or rows:
            row = (ahead or rows)[0] if forward else (ahead or rows)[-1]
            goto_line(editor, view, row + 1)

    return go


COMMANDS["text"]["next_modification"] = _go_to_modification(True)
COMMANDS["text"]["prev_modification"] = _go_to_modification(False)


@_command("text", "revert_hunk", "revert_modification")
def revert_hunk(editor: Any, view: Any) -> None:
    """Put the reference's lines in the place of the changed ones at the carets."""
    rows = [view.text.rowcol(b)[0] for _a, b in view.selection]
    for hunk in reversed(diff.view_hunks(view)):
        if any(hunk.covers(row) for row in rows):
            begin, end, text = hunk.reverted(view.text)
            editor.change(view, begin, end, text)


# Window


@_command("window")
def close(window: Any) -> None:
    sheet = window.active_sheet()
    if sheet is not None and window.sheets():
        window.editor.close_sheet(sheet)
    else:
        window.editor.close_window(window)


@_command("window", "close_file")
def close_file(window: Any, group: int = -1, index: int = -1) -> None:
    sheets = window.group_at(group).sheets
    sheet = sheets[index] if 0 <= index < len(sheets) else window.active_sheet()
    if sheet is not None:
        window.editor.close_sheet(sheet)


@_command("window", "close_all")
def close_all(window: Any) -> None:
    for sheet in window.sheets():
        window.editor.close_sheet(sheet)


@_command("window")
def close_window(window: Any) -> None:
    window.editor.close_window(window)


@_command("window")
def new_file(window: Any) -> None:
    window.editor.new_file(window)


@_command("window")
def open_file(
    window: Any,
    file: str = "",
    contents: Optional[str] = None,
    syntax: str = "",
    encoded_position: bool = False,
) -> None:
    path = window.editor.packages.expand(file)
    view = window.editor.open_file(window, path, windows.ENCODED_POSITION * encoded_position)
    if contents is not None and not os.path.exists(path) and not len(view.text):
        window.editor.commands.run_text(view, "insert", {"characters": contents})
    if syntax:
        window.editor.assign_syntax(view, syntax)


@_command("window")
def save_all(window: Any) -> None:
    for view in window.views():
        if view.buffer.is_dirty() and view.buffer.file_name:
            window.editor.save(view)


@_command("window")
def show_panel(window: Any, panel: str = "", toggle: bool = False) -> None:
    window.show_panel(panel, toggle)


@_command("window")
def hide_panel(window: Any, panel: str = "", cancel: bool = False) -> None:
    if window.question is not None and cancel:
        window.answer()
    elif not panel or window.active_panel == panel:
        window.hide_panel()


@_command("window", "hide_overlay")
def hide_overlay(window: Any) -> None:
    if window.question is not None:
        window.answer()


@_command("window")
def focus_group(window: Any, group: int = 0) -> None:
    window.focus_group(group)


@_command("window")
def move_to_group(window: Any, group: int = 0) -> None:
    sheet = window.active_sheet()
    if sheet is not None and 0 <= group < len(window.groups):
        window.move(sheet, group)
        window.show(sheet)


@_command("window")
def set_layout(window: Any, **layout: Any) -> None:
    window.set_layout(layout)


def _switch(step: int) -> Callable[[Any], None]:
    def switch(window: Any) -> None:
        group = window.group
        if group.active is not None and group.sheets:
            at = (group.index(group.active) + step) % len(group.sheets)
            window.show(group.sheets[at])

    return switch


for _name, _step in (("next_view", 1), ("prev_view", -1)):
    COMMANDS["window"][_name] = _switch(_step)


@_command("window")
def select_by_index(window: Any, index: int = 0) -> None:
    if 0 <= index < len(window.group.sheets):
        window.show(window.group.sheets[index])


@_command("window")
def clone_file(window: Any) -> None:
    view = window.active_view()
    if view is not None:
        window.editor.clone(view, window)


@_command("window")
def reopen_last_file(window: Any) -> None:
    closed = [path for path in window.file_history if window.find(path) is None]
    if closed:
        window.editor.open_file(window, closed[0])


@_command("window")
def prompt_add_folder(window: Any) -> None:
    """Ask for a folder, in words where a real one has the system's dialog, and add it."""

    def done(text: str) -> None:
        path = os.path.abspath(os.path.expanduser(text.strip()))
        if not text.strip() or not os.path.isdir(path):
            window.editor.show_status(
                window, "There is no folder %s." % (text.strip() or "without a name")
            )
        elif path not in window.folders:
            window.add_folder(path)

    window.ask(None, "input:input", {"on_done": done}).caption = "Folder to add"
    window.editor.refocus()


@_command("window")
def toggle_side_bar(window: Any) -> None:
    window.shows["sidebar"] = not window.shows["sidebar"]


@_command("window")
def edit_settings(window: Any, base_file: str = "", user_file: str = "", default: str = "") -> None:
    """A new window with the defaults on the left and the user's own file on the right."""
    editor = window.editor
    base = editor.packages.expand(base_file)
    name = os.path.basename(base)
    user = editor.packages.expand(user_file) or os.path.join(editor.packages.user_folder(), name)
    fresh = editor.new_window([])
    fresh.shows["sidebar"] = False
    fresh.set_layout(
        {"cols": [0.0, 0.5, 1.0], "rows": [0.0, 1.0], "cells": [[0, 0, 1, 1], [1, 0, 2, 1]]}
    )
    left = editor.open_file(fresh, base, group=0)
    left.buffer.read_only = True
    right = editor.open_file(fresh, user, group=1)
    if default and not os.path.exists(user):
        insert_snippet(editor, right, default)


# Application


@_command("application", "noop")
def noop(editor: Any, **_anything: Any) -> None:
    """Does nothing, and blocks a default key binding by doing so."""


@_command("text", "noop")
def text_noop(editor: Any, view: Any, **_anything: Any) -> None:
    """What a listener puts in the place of a text command."""


@_command("application")
def new_window(editor: Any) -> None:
    editor.new_window([])


@_command("application")
def open_url(editor: Any, url: str = "") -> None:
    sys.stderr.write("Open in a browser: %s\n" % url)


@_command("application", "exit")
def exit_editor(editor: Any) -> None:
    editor.leave()


def names() -> List[str]:
    """Every built-in command, sorted."""
    return sorted(set().union(*COMMANDS.values()))
