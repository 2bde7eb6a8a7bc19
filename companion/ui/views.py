"""Reads views and windows into values of the companion (`ide`). Changes nothing in the editor."""

from __future__ import annotations

import os
from itertools import islice

import sublime

from ..ide.events import MAX_SELECTION_UNITS, TRUNCATED, Cursor, OpenFile


def describe_view(view: sublime.View) -> OpenFile | None:
    """The view as an open file; None if it has no file of its own: panels, overlays, terminals,
    diffs, untitled buffers.

    The cost does not depend on the size of the file or of the selection.
    """
    path = view.file_name()
    if path is None or view.element() is not None:
        return None
    return OpenFile(view.id(), path, first_cursor(view), selected_text(view), first_selection(view))


def first_cursor(view: sublime.View) -> Cursor | None:
    """The caret of the first selection, in lines and UTF-16 units that both count from 1; None if
    there is no selection."""
    selection = view.sel()
    if len(selection) == 0:
        return None
    row, column = view.rowcol_utf16(selection[0].b)
    return Cursor(row + 1, column + 1)


def first_selection(view: sublime.View) -> tuple[Cursor, Cursor] | None:
    """Where the first selection begins and ends, counted as in `first_cursor`."""
    selection = view.sel()
    if len(selection) == 0:
        return None
    region = selection[0]
    begin, end = view.rowcol_utf16(region.begin()), view.rowcol_utf16(region.end())
    return Cursor(begin[0] + 1, begin[1] + 1), Cursor(end[0] + 1, end[1] + 1)


def selected_text(view: sublime.View) -> str:
    """The selections joined by line breaks, at most MAX_SELECTION_UNITS UTF-16 units, followed by
    TRUNCATED if there was more.

    Only as much as fits is read from the editor, because every code point has at least one unit.
    """
    left = MAX_SELECTION_UNITS
    texts: list[str] = []
    # Every text has at least two units, itself and a line break; one more text shows the cut.
    for region in islice(view.sel(), MAX_SELECTION_UNITS // 2 + 1):
        if region.empty():
            continue
        if left <= 0:
            return "\n".join(texts) + TRUNCATED
        end = min(region.end(), region.begin() + left)
        text = clamp_utf16(view.substr(sublime.Region(region.begin(), end)), left)
        texts.append(text)
        if len(text) < region.size():
            return "\n".join(texts) + TRUNCATED
        left -= utf16_length(text) + 1
    return "\n".join(texts)


def utf16_length(text: str) -> int:
    """The length in UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def clamp_utf16(text: str, units: int) -> str:
    """The longest beginning of at most `units` UTF-16 code units, without half a surrogate pair.

    >>> clamp_utf16("a\\U0001f600b", 2)
    'a'
    """
    if text.isascii():
        return text[:units]
    cut = text.encode("utf-16-le", "surrogatepass")[: 2 * units]
    if len(cut) == 2 * units and 0xD8 <= cut[-1] <= 0xDB:
        cut = cut[:-2]
    return cut.decode("utf-16-le", "surrogatepass")


def window_folders(window: sublime.Window) -> tuple[str, ...]:
    """The window's folders, as absolute paths."""
    return tuple(os.path.abspath(folder) for folder in window.folders())
