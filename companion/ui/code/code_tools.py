"""What the editor knows of the code, for the tools of CLIs. UI thread only.

A language server is asked first, where the package LSP has one for the file, and Sublime's own
index otherwise.
"""

from __future__ import annotations

import os
import re
from functools import partial
from typing import Sequence

import sublime

from ...base.answer import Answer
from ...base.regular_file import read_beginning
from ...ide.code_queries import (
    DefinitionsOf,
    Findings,
    FoundCode,
    ProblemsIn,
    Query,
    ReferencesTo,
    Selected,
    Selection,
    Spot,
    SymbolsIn,
    SymbolsNamed,
)
from ...ide.editor import EditorError
from ..prompt import diagnostics
from ..stories import Slices, Stories, run_in_thread
from . import language_servers, symbol_index

INDEX = "Sublime Text's index, which knows names but not meanings"
NOBODY = "no language server and no linter runs in this editor"
GONE = "The editor's window is closed, or the editor failed."
VIEW_GONE = "The user has closed the file."
NO_WORD = "There is no symbol at that place."
NOT_OPEN = "{} is not open, and the editor knows the symbols of open files only. Read the file."
# The most rows that are kept of what was found.
MAX_FOUND = 5000
# The most selections, and characters of them in all.
MAX_SELECTIONS, MAX_SELECTED = 50, 16384
# The most bytes of a file that is read for the word in it.
MAX_FILE = 8 << 20


def window_of(window_id: int) -> sublime.Window:
    """Raises EditorError."""
    window = sublime.Window(window_id)
    if not window.is_valid():
        raise EditorError(GONE)
    return window


def unsaved_paths(window_id: int) -> frozenset[str]:
    """Raises EditorError."""
    views = window_of(window_id).views()
    return frozenset(
        path for path in (view.file_name() for view in views if view.is_dirty()) if path
    )


def read_selection(view_id: int) -> Selection:
    """Raises EditorError."""
    view = sublime.View(view_id)
    path = view.file_name() if view.is_valid() else None
    if path is None:
        raise EditorError(VIEW_GONE)
    found, left = [], MAX_SELECTED
    for region in list(view.sel())[:MAX_SELECTIONS]:
        begin, end = view.rowcol(region.begin()), view.rowcol(region.end())
        cut = sublime.Region(region.begin(), min(region.end(), region.begin() + left))
        found.append(Selected(begin[0] + 1, begin[1] + 1, end[0] + 1, end[1] + 1, view.substr(cut)))
        left -= cut.size()
    return Selection(path, tuple(found))


def begin_query(stories: Stories, window_id: int, query: Query) -> Answer[Findings]:
    """What is found, in a while; fails with EditorError. Raises EditorError."""
    window, answer = window_of(window_id), Answer[Findings]()
    stories.begin(_answer_query(window, query, answer), window)
    return answer


async def _answer_query(window: sublime.Window, query: Query, answer: Answer[Findings]) -> None:
    try:
        answer.give(await _run_query(window, query))
    except EditorError as error:
        answer.fail(error)
    finally:
        # Counts only if the story was cut, or failed.
        answer.fail(EditorError(GONE))


async def _run_query(window: sublime.Window, query: Query) -> Findings:
    """Raises EditorError."""
    if isinstance(query, ProblemsIn):
        found = await _find_problems(window, query.paths)
    elif isinstance(query, SymbolsIn):
        found = await _symbols_in(window, query.path)
    elif isinstance(query, SymbolsNamed):
        found = await _symbols_named(window, query.query)
    else:
        found = await _locate_symbol(window, query)
    rows, slices = [], Slices()
    for row in found.rows[:MAX_FOUND]:
        # The disk may have another text than the view.
        rows.append(symbol_index.with_line(row, window.find_open_file(row.path)))
        await slices.yield_when_due()
    return Findings(tuple(rows), found.source)


async def _locate_symbol(window: sublime.Window, query: DefinitionsOf | ReferencesTo) -> Findings:
    """Raises EditorError."""
    exact = await _ask_servers(window, query)
    if exact.rows:
        return exact
    name = query.name or await _word_at(window, query.spot)
    look = (
        symbol_index.indexed_references
        if isinstance(query, ReferencesTo)
        else symbol_index.indexed_definitions
    )
    return Findings(tuple(look(window, name)), INDEX + exact.source)


async def _ask_servers(window: sublime.Window, query: DefinitionsOf | ReferencesTo) -> Findings:
    """What a language server says; nothing if none knows the file, or where the symbol is used of
    which only the name is known."""
    if query.name and isinstance(query, DefinitionsOf):
        named = await language_servers.symbols_named(window, query.name)
        rows = tuple(row for row in named.rows if row.name == query.name)
        return Findings(rows, named.source if rows or not named.rows else "")
    view = window.find_open_file(query.spot.path) if query.spot is not None else None
    if query.spot is None or view is None:
        return Findings()
    point = view.text_point(query.spot.line - 1, query.spot.column - 1, clamp_column=True)
    asks = isinstance(query, ReferencesTo)
    ask = language_servers.find_references if asks else language_servers.find_definitions
    return await ask(window, view, view.rowcol_utf16(point))


async def _find_problems(window: sublime.Window, paths: Sequence[str]) -> Findings:
    found: list[FoundCode] = []
    names, slices = diagnostics.loaded_sources(), Slices()
    for path in paths if names else ():
        found += [
            FoundCode(
                path,
                diagnostic.row + 1,
                diagnostic.column + 1,
                diagnostic.message_line,
                diagnostic.severity,
                is_utf16=diagnostic.is_utf16,
            )
            for diagnostic in diagnostics.diagnostics_of(window, path)
        ]
        await slices.yield_when_due()
    return Findings(tuple(found), " and ".join(names) or NOBODY)


async def _symbols_in(window: sublime.Window, path: str) -> Findings:
    view = window.find_open_file(path)
    if view is None:
        raise EditorError(NOT_OPEN.format(os.path.basename(path)))
    found = await language_servers.symbols_in(window, view)
    if found.rows:
        return found
    return Findings(tuple(symbol_index.symbols_in(view)), INDEX + found.source)


async def _symbols_named(window: sublime.Window, query: str) -> Findings:
    found = await language_servers.symbols_named(window, query)
    if found.rows:
        return found
    rows, slices = symbol_index.indexed_definitions(window, query), Slices()
    for view in window.views():
        if view.is_valid() and view.file_name():
            rows += [
                symbol
                for symbol in symbol_index.symbols_in(view)
                if query.lower() in symbol.name.lower()
            ]
        await slices.yield_when_due()
    return Findings(tuple(symbol_index.each_once(rows)), INDEX + found.source)


async def _word_at(window: sublime.Window, spot: Spot | None) -> str:
    """The word at the spot. Raises EditorError."""
    if spot is None:
        raise EditorError(NO_WORD)
    view = window.find_open_file(spot.path)
    if view is not None:
        point = view.text_point(spot.line - 1, spot.column - 1, clamp_column=True)
        word = view.substr(view.word(point))
    else:
        word = await run_in_thread(partial(_word_on_disk, spot)) or ""
    if not re.search(r"\w", word):
        raise EditorError(NO_WORD)
    return word


def _word_on_disk(spot: Spot) -> str:
    """The word at the place, in the file on the disk. Runs in a thread."""
    try:
        text = read_beginning(spot.path, MAX_FILE).decode("utf-8", "replace")
    except OSError:
        return ""
    line = [*re.split("\r\n|\r|\n", text)[spot.line - 1 : spot.line], ""][0]
    words = re.finditer(r"\w+", line)
    return next((match[0] for match in words if match.start() < spot.column <= match.end() + 1), "")
