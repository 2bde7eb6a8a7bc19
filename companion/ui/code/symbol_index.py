"""What Sublime's own index and lists of symbols say. UI thread only."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Iterable

import sublime

from ...ide.code_queries import FoundCode

# By the number of Sublime's kinds.
KINDS: dict[int, str] = {
    sublime.KIND_ID_KEYWORD: "keyword",
    sublime.KIND_ID_TYPE: "type",
    sublime.KIND_ID_FUNCTION: "function",
    sublime.KIND_ID_NAMESPACE: "namespace",
    sublime.KIND_ID_NAVIGATION: "heading",
    sublime.KIND_ID_MARKUP: "markup",
    sublime.KIND_ID_VARIABLE: "variable",
}


def indexed_definitions(window: sublime.Window, name: str) -> list[FoundCode]:
    """The definitions of the name in all files of the project and all open ones."""
    return _locations_of(window, name, sublime.SYMBOL_TYPE_DEFINITION)


def indexed_references(window: sublime.Window, name: str) -> list[FoundCode]:
    return _locations_of(window, name, sublime.SYMBOL_TYPE_REFERENCE)


def _locations_of(window: sublime.Window, name: str, type: sublime.SymbolType) -> list[FoundCode]:
    found = window.symbol_locations(name, sublime.SYMBOL_SOURCE_ANY, type)
    return each_once(
        FoundCode(
            os.path.normpath(location.path),
            location.row,
            location.col,
            location.display_name.strip(),
            _kind_word(location.kind),
        )
        for location in found
    )


def symbols_in(view: sublime.View) -> list[FoundCode]:
    """The symbols of the view, in the order of the text."""
    path, found = view.file_name() or "", []
    for symbol in view.symbol_regions():
        row, column = view.rowcol(symbol.region.begin())
        name = " ".join(symbol.name.split())
        found.append(FoundCode(path, row + 1, column + 1, name, _kind_word(symbol.kind)))
    return sorted(found, key=lambda symbol: (symbol.line, symbol.column))


def with_line(found: FoundCode, view: sublime.View | None) -> FoundCode:
    """The place with the text of its line in the view, if there is one that has it."""
    if found.text is not None or view is None or not view.is_valid() or view.is_loading():
        return found
    point = view.text_point(found.line - 1, 0)
    # A line of an older text may be beyond the end of this one.
    if view.rowcol(point)[0] != found.line - 1:
        return replace(found, text="")
    return replace(found, text=view.substr(view.line(point)))


def each_once(found: Iterable[FoundCode]) -> list[FoundCode]:
    """Each place once, in the order of files and lines."""
    rows = {(place.path, place.line, place.column): place for place in found}
    return [rows[place] for place in sorted(rows)]


def _kind_word(kind: tuple[int, str, str]) -> str:
    """The kind of symbol in a word of Sublime's or of the syntax, such as "function"; empty if it
    says none."""
    return kind[2].lower() or KINDS.get(kind[0], "")
