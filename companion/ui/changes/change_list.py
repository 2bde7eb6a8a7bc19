"""The list of *Show Changes*: what waits for the user, what was written without asking, what they
accepted that is not in its file, and what they accepted. UI thread only."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any, Callable, Mapping, NamedTuple

import sublime

from .. import panels
from ..review.diff_kinds import is_made
from ..review.edit_rows import EditRow, ListedEdits
from ..review.preview import Preview
from ..review.record import waiting_record
from ..review.reviews import Reviews
from .change_sheets import ChangeSheets

CAPTION = "Changes of this window"
# The first row, and what it says below.
ALL = "All in one tab"
ABOUT_ALL = (
    "What waits and what was written without asking: read it, type in it, accept or reject it."
)


class RowMark(NamedTuple):
    """What a row is marked with in the list of all kinds."""

    mark: tuple[sublime.KindId, str, str]
    words: str


class ListedKind(NamedTuple):
    """A kind of edits in the list, and how its rows are marked."""

    mark: RowMark
    edits: ListedEdits


WAITING = RowMark((sublime.KIND_ID_COLOR_YELLOWISH, "?", "waits"), "Waits for you")
UNASKED = RowMark((sublime.KIND_ID_COLOR_ORANGISH, "!", "unasked"), "Written without asking")
UNWRITTEN = RowMark((sublime.KIND_ID_COLOR_REDISH, "x", "unwritten"), "Accepted, not in its file")
ACCEPTED = RowMark((sublime.KIND_ID_COLOR_GREENISH, "a", "accepted"), "Accepted")
NO_LIST = (
    'Show Changes has no list "{}": the argument show is "waiting", "unasked", "unwritten",'
    ' "accepted" or "tab".'
)


class ChangeList:
    """The list of one companion. `kinds` are by what the command calls them, in the order of the
    list."""

    def __init__(
        self,
        kinds: Mapping[str, ListedKind],
        sheets: ChangeSheets,
        reviews: Reviews,
        tell: Callable[[str], None],
    ) -> None:
        self._kinds = kinds
        self._sheets = sheets
        self._reviews = reviews
        self._tell = tell

    async def choose_edit(self, window: sublime.Window, kind: str = "") -> None:
        """Let the user choose one of the window's edits, of all kinds or of one, and act on it. If
        there are none at all, the sheet is shown, which follows what comes."""
        row = None
        if kind in self._kinds:
            edits = self._kinds[kind].edits
            rows, caption = list(await edits.edit_rows(window)), edits.caption
            if not rows:
                self._tell(edits.nothing)
                return
        elif kind:
            self._tell(NO_LIST.format(kind))
            return
        else:
            rows, caption = await self._all_rows(window), CAPTION
            row = rows[0] if len(rows) == 1 else None
        if row is None:
            row = await self._choose_row(window, rows, caption)
        if row is not None:
            await row.act()

    async def _all_rows(self, window: sublime.Window) -> list[EditRow]:
        found = []
        for name, kind in self._kinds.items():
            rows = await kind.edits.edit_rows(window)
            if name == "waiting":
                # The open reviews among them are rows of another kind.
                rows = [row for row in rows if row.view is None or not is_made(row.view)]
            found += [_mark_row(row, kind.mark) for row in rows]
        item = sublime.QuickPanelItem(ALL, ABOUT_ALL)
        return [EditRow(item, partial(self._show_sheet, window)), *found]

    async def _show_sheet(self, window: sublime.Window) -> None:
        self._sheets.show_sheet(window)

    async def _choose_row(
        self, window: sublime.Window, rows: list[EditRow], caption: str
    ) -> EditRow | None:
        """The row that the user chooses; the highlighted one is previewed."""
        preview = Preview(window, self._reviews)

        def preview_row(index: int) -> None:
            view = rows[index].view if 0 <= index < len(rows) else None
            if view is not None:
                preview.show_diff(view)
            else:
                preview.show_before()

        options: dict[str, Any] = {}
        if any(row.view is not None for row in rows):
            # A preview takes the keyboard for a moment.
            options = {"flags": sublime.KEEP_OPEN_ON_FOCUS_LOST, "on_highlight": preview_row}
        row = None
        try:
            number = await panels.ask_choice(window, [row.item for row in rows], caption, **options)
            row = rows[number] if number >= 0 else None
        finally:
            view = row.view if row is not None else None
            preview.end_preview(
                is_back=bool(options) and (view is None or waiting_record(view) is None)
            )
        return row


def _mark_row(row: EditRow, kind: RowMark) -> EditRow:
    item = copy.copy(row.item)
    details = [item.details] if isinstance(item.details, str) else item.details
    item.kind, item.details = kind.mark, [kind.words, *details]
    return EditRow(item, row.act, row.view)
