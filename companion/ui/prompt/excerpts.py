"""Texts from views for a prompt: the selection, the output of a build. No more than can be pasted
within seconds; the caller says what was left out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Iterator

import sublime

# The most characters of one excerpt; Terminus pastes about 5,000 in a second.
LIMIT = 16_384
FENCE = re.compile(r"^ *(`{3,})", re.MULTILINE)
BUILD_PANEL = "exec"


@dataclass(frozen=True)
class CodeExcerpt:
    """`rows` are the first and the last wanted row, from 0. `missing` counts the characters that
    did not fit."""

    text: str
    rows: tuple[int, int]
    missing: int = 0


def selected_rows(view: sublime.View) -> list[tuple[int, int]]:
    """The first and last row of each selection, from 0; adjacent ones are joined. If nothing is
    selected, the rows of the cursors."""
    found: list[tuple[int, int]] = []
    for region in _wanted_regions(view):
        first, last = _region_rows(view, region)
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found


def selected_excerpts(view: sublime.View) -> list[CodeExcerpt]:
    """Each selection; if nothing is selected, the lines of the cursors."""
    room, found = LIMIT, []
    for region in _wanted_regions(view):
        if region.empty():
            region = view.line(region)
        excerpt = _read_excerpt(view, region, room)
        room -= len(excerpt.text)
        found.append(excerpt)
    return found


def _wanted_regions(view: sublime.View) -> Iterator[sublime.Region]:
    some = any(not region.empty() for region in view.sel())
    return (region for region in view.sel() if not region.empty() or not some)


def _region_rows(view: sublime.View, region: sublime.Region) -> tuple[int, int]:
    """A selection that ends at the beginning of a line contains nothing of that line."""
    first = view.rowcol(region.begin())[0]
    return first, max(first, view.rowcol(max(region.end() - 1, region.begin()))[0])


def _read_excerpt(view: sublime.View, region: sublime.Region, room: int) -> CodeExcerpt:
    rows = _region_rows(view, region)
    if region.size() <= room:
        return CodeExcerpt(view.substr(region).rstrip("\n"), rows)
    # Only what fits is read from the editor.
    text = view.substr(sublime.Region(region.begin(), region.begin() + max(room, 0)))
    whole = text.rpartition("\n")[0] or text
    return CodeExcerpt(whole, rows, region.size() - len(whole))


def build_results(window: sublime.Window) -> CodeExcerpt | None:
    """The end of the last build's output; None if there is none."""
    panel = window.find_output_panel(BUILD_PANEL)
    if panel is None or not panel.size():
        return None
    begin = max(panel.size() - LIMIT, 0)
    if begin:
        begin = panel.full_line(begin).end()
    region = sublime.Region(begin, panel.size())
    text = panel.substr(region).rstrip()
    rows = _region_rows(panel, sublime.Region(0, panel.size()))
    return CodeExcerpt(text, rows, begin) if text else None


def fence_text(text: str, language: str = "") -> str:
    """The text as a block of code, whatever fences it contains.

    >>> fence_text("a = 1", "python")
    '```python\\na = 1\\n```'
    """
    fence = "`" * max([3, *(len(each) + 1 for each in FENCE.findall(text))])
    return f"{fence}{language}\n{text}\n{fence}"


def language_of(view: sublime.View) -> str:
    """The name of its syntax, as it marks blocks of code; empty if it is not a single word."""
    syntax = view.syntax()
    name = syntax.name.lower() if syntax is not None else ""
    return name if re.fullmatch(r"[\w+#-]+", name) else ""
