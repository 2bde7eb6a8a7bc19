"""Pages of one name, at most one for each window. UI thread only."""

from __future__ import annotations

from typing import Iterator, cast

import sublime

from ..review import open_diffs


class WindowPages:
    """The HTML sheets that show the pages of one name, until `stop`. A page belongs to the window
    in which it was opened."""

    def __init__(self, name: str) -> None:
        self._name = name
        # By window id.
        self._pages: dict[int, sublime.HtmlSheet] = {}
        self._contents: dict[int, str] = {}

    def show_page(self, window: sublime.Window, contents: str) -> None:
        """Bring the window's page to the front, or open one with these contents. It covers no
        diff, because commands do not mean a diff that the user cannot see."""
        sheet = self._pages.get(window.id())
        if sheet is None or sheet.window() is None:
            group = open_diffs.group_without_diff(window)
            made = window.new_html_sheet(self._name, contents, group=group)
            sheet = self._pages[window.id()] = cast(sublime.HtmlSheet, made)
            self._contents[window.id()] = contents
        window.focus_sheet(sheet)

    def put_contents(self, window: sublime.Window, contents: str) -> None:
        """Show the contents in the window's page, if it has one."""
        sheet = self._pages.get(window.id())
        # A sheet that is drawn again scrolls back to its beginning.
        if sheet is not None and self._contents.get(window.id()) != contents:
            self._contents[window.id()] = contents
            sheet.set_contents(contents)

    def windows_with_page(self) -> list[sublime.Window]:
        """The windows that have a page."""
        return [sublime.Window(id) for id, _sheet, _place in self._open_pages()]

    def windows_in_sight(self) -> list[sublime.Window]:
        """The windows whose page is visible."""
        shown = [id for id, sheet, place in self._open_pages() if sheet in place.selected_sheets()]
        return [sublime.Window(id) for id in shown]

    def is_in_front(self, window: sublime.Window) -> bool:
        """Whether the window's page has the keyboard."""
        sheet = self._pages.get(window.id())
        return sheet is not None and window.active_sheet() == sheet

    def stop(self) -> None:
        """Close the pages, because nobody updates them any more."""
        # Events of closed pages may change the mapping during the loop.
        pages, self._pages = self._pages, {}
        for sheet in pages.values():
            if sheet.window() is not None:
                sheet.close()

    def _open_pages(self) -> Iterator[tuple[int, sublime.HtmlSheet, sublime.Window]]:
        """The pages that are still open, each with its window's id and the window that it is
        in."""
        for id, sheet in list(self._pages.items()):
            place = sheet.window()
            if place is None:
                self._pages.pop(id, None)
            else:
                yield id, sheet, place
