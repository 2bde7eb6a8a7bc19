"""The list of what can be decided in a sheet, for the keyboard: what its links do, on the file at
the caret and on all. UI thread only."""

from __future__ import annotations

from typing import NamedTuple

import sublime

from .. import panels
from ..review import diff_kinds
from .sheet import ChangeSheet
from .sheet_commands import AtCaret, SheetCommands

CAPTION = "Decide on changes"
# What each decision means, by the word of its link.
MEANS = {
    "Keep": "They are marked as seen; nothing is decided yet.",
    "Drop": "The file's own lines are put back; nothing is decided yet.",
    diff_kinds.ACCEPT: "What is proposed is written; edits that are made already stay.",
    diff_kinds.REJECT: "The CLIs are told; edits that are made already are undone.",
    diff_kinds.UNDO: "The file becomes what it was before.",
}


class ListedDecision(NamedTuple):
    """What is chosen in the list, with the action of the link that does the same."""

    words: str
    detail: str
    action: str
    file: str = ""


async def choose_decision(commands: SheetCommands, window: sublime.Window) -> None:
    """Let the user choose; if no sheet has the keyboard, it is shown first."""
    if _sheet_in_front(commands, window) is None:
        commands.sheets.show_sheet(window)
    sheet = _sheet_in_front(commands, window)
    if sheet is None:
        return
    await sheet.refresh()
    choices = [*_file_decisions(commands.at_caret(window)), *_sheet_decisions(sheet)]
    if choices:
        items = [[choice.words, choice.detail] for choice in choices]
        number = await panels.ask_choice(window, items, CAPTION)
        if number >= 0:
            chosen = choices[number]
            await commands.decide_by_link(sheet, chosen.action, chosen.file, "")


def _sheet_in_front(commands: SheetCommands, window: sublime.Window) -> ChangeSheet | None:
    view = window.active_view()
    return commands.sheets.sheet_of(view) if view is not None else None


def _file_decisions(found: AtCaret | None) -> list[ListedDecision]:
    if found is None:
        return []
    file = found.file
    second = diff_kinds.UNDO if file.is_made else diff_kinds.REJECT
    names = {diff_kinds.ACCEPT: "accept_file", second: "reject_file"}
    if file.comparison is not None and file.comparison.keys:
        names = {"Keep": "keep_file", "Drop": "drop_file", **names}
    return [
        ListedDecision(f"{name} {file.title}", MEANS[name], action, file.id)
        for name, action in names.items()
    ]


def _sheet_decisions(sheet: ChangeSheet) -> list[ListedDecision]:
    names = (
        ("Keep", "Drop", diff_kinds.ACCEPT, diff_kinds.REJECT) if sheet.model.sections[1:] else ()
    )
    found = [ListedDecision(f"{name} all", MEANS[name], f"{name.lower()}_all") for name in names]
    if sheet.marking.undoable:
        found.append(
            ListedDecision(sheet.marking.undoable, "The last decision is taken back.", "undo_all")
        )
    return found
