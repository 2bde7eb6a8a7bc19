"""The list of what can be decided in a sheet, for the keyboard: what its links do, on the file at
the caret and on all. UI thread only."""

from __future__ import annotations

from typing import NamedTuple

import sublime

from ...base.change_sheet import FileChanges
from .. import panels
from ..review import diff_kinds
from .deciding import ALL_OF, OTHERS_OF
from .sheet import ChangeSheet
from .sheet_commands import AtCaret, SheetCommands
from .together import meaning_of

CAPTION = "Decide on changes"
# What it means to keep changes, and to drop them.
MEANS = {
    "Keep": "They are marked as seen; nothing is decided yet.",
    "Drop": "The file's own lines are put back; nothing is decided yet.",
}
DECIDING = (diff_kinds.ACCEPT, diff_kinds.REJECT)
STAYS = "What others made alike stays."


class ListedDecision(NamedTuple):
    """What is chosen in the list, with the action of the link that does the same."""

    words: str
    detail: str
    action: str
    file: str = ""
    change: str = ""


async def choose_decision(commands: SheetCommands, window: sublime.Window) -> None:
    """Let the user choose; if no sheet has the keyboard, it is shown first."""
    if _sheet_in_front(commands, window) is None:
        commands.sheets.show_sheet(window)
    sheet = _sheet_in_front(commands, window)
    if sheet is None:
        return
    await sheet.refresh()
    choices = [*_file_decisions(commands.at_caret(window)), *_sheet_decisions(sheet)]
    if not choices:
        commands.tell_nothing_waits()
    else:
        items = [[choice.words, choice.detail] for choice in choices]
        number = await panels.ask_choice(window, items, CAPTION)
        if number >= 0:
            chosen = choices[number]
            await commands.decide_by_link(sheet, chosen.action, chosen.file, chosen.change)


def _sheet_in_front(commands: SheetCommands, window: sublime.Window) -> ChangeSheet | None:
    view = window.active_view()
    return commands.sheets.sheet_of(view) if view is not None else None


def _file_decisions(found: AtCaret | None) -> list[ListedDecision]:
    if found is None:
        return []
    file, has_others = found.file, found.sheet.model.has_others(found.file)
    second = diff_kinds.UNDO if file.is_made else diff_kinds.REJECT
    means = {
        name: meaning_of([found.source], name == diff_kinds.ACCEPT)
        for name in (second, diff_kinds.ACCEPT)
    }
    names = {diff_kinds.ACCEPT: "accept_file", second: "reject_file"}
    if file.comparison is not None and file.comparison.keys:
        names = {"Keep": "keep_file", "Drop": "drop_file", **names}
    of = f" of {file.variant.words}" if file.variant is not None and has_others else ""
    decisions = [
        ListedDecision(f"{name} {file.title}{of}", {**MEANS, **means}[name], action, file.id)
        for name, action in names.items()
    ]
    return decisions + _variant_decisions(file, has_others, means[second])


def _variant_decisions(file: FileChanges, has_others: bool, meaning: str) -> list[ListedDecision]:
    """What rejects several at once."""
    if file.variant is None:
        return []
    name = OTHERS_OF.format(file.variant.of)
    others = [ListedDecision(name, meaning, "reject_others", file.id)] if has_others else []
    return others + [
        ListedDecision(ALL_OF.format(words), f"{meaning} {STAYS}", "reject_maker", file.id, maker)
        for maker, words in file.variant.makers
    ]


def _sheet_decisions(sheet: ChangeSheet) -> list[ListedDecision]:
    found: list[ListedDecision] = []
    if sheet.model.sections[1:]:
        sources = [sheet.find_source(section.file.id) for section in sheet.model.sections]
        known = [source for source in sources if source is not None]
        means = {
            **MEANS,
            **{name: meaning_of(known, name == diff_kinds.ACCEPT) for name in DECIDING},
        }
        found = [
            ListedDecision(f"{name} all", meaning, f"{name.lower()}_all")
            for name, meaning in means.items()
        ]
    if sheet.marking.undoable:
        found.append(
            ListedDecision(sheet.marking.undoable, "The last decision is taken back.", "undo_all")
        )
    return found
