"""Sheets of one name, at most one for each window. UI thread only."""

from __future__ import annotations

from typing import Iterator, cast

import sublime

from ..review import open_diffs


class Sheets:
    """The sheets that show one kind of page, until `stop`. A sheet belongs to the window in which
    it was opened."""

    def __init__(self, name: str) -> None:
        self._name = name
        # By window id.
        self._sheets: dict[int, sublime.HtmlSheet] = {}
        self._contents: dict[int, str] = {}

    def show_sheet(self, window: sublime.Window, contents: str) -> None:
        """Bring the window's sheet to the front, or open one with these contents. It covers no
        diff, because commands do not mean a diff that the user cannot see."""
        sheet = self._sheets.get(window.id())
        if sheet is None or sheet.window() is None:
            group = open_diffs.group_without_diff(window)
            made = window.new_html_sheet(self._name, contents, group=group)
            sheet = self._sheets[window.id()] = cast(sublime.HtmlSheet, made)
            self._contents[window.id()] = contents
        window.focus_sheet(sheet)

    def put_contents(self, window: sublime.Window, contents: str) -> None:
        """Show the contents in the window's sheet, if it has one."""
        sheet = self._sheets.get(window.id())
        # A sheet that is drawn again scrolls back to its beginning.
        if sheet is not None and self._contents.get(window.id()) != contents:
            self._contents[window.id()] = contents
            sheet.set_contents(contents)

    def windows_with_sheet(self) -> list[sublime.Window]:
        """The windows that have a sheet."""
        return [sublime.Window(id) for id, _sheet, _place in self._open_sheets()]

    def windows_in_sight(self) -> list[sublime.Window]:
        """The windows whose sheet is visible."""
        shown = [id for id, sheet, place in self._open_sheets() if sheet in place.selected_sheets()]
        return [sublime.Window(id) for id in shown]

    def is_in_front(self, window: sublime.Window) -> bool:
        """Whether the window's sheet has the keyboard."""
        sheet = self._sheets.get(window.id())
        return sheet is not None and window.active_sheet() == sheet

    def stop(self) -> None:
        """Close the sheets, because nobody updates them any more."""
        # Events of closed sheets may change the mapping during the loop.
        sheets, self._sheets = self._sheets, {}
        for sheet in sheets.values():
            if sheet.window() is not None:
                sheet.close()

    def _open_sheets(self) -> Iterator[tuple[int, sublime.HtmlSheet, sublime.Window]]:
        """The sheets that are still open, each with its window's id and the window that it is
        in."""
        for id, sheet in list(self._sheets.items()):
            place = sheet.window()
            if place is None:
                self._sheets.pop(id, None)
            else:
                yield id, sheet, place
