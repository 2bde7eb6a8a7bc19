"""What the user is asked before a work tree is made: with what it begins. Says what that costs, and
what a work tree of the repository lacks."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Iterator, Mapping, NamedTuple, Sequence

import sublime

from ...base.shown_text import shown_line
from ...chat.amounts import count_text, duration_text
from ...work_trees.repository import NamedFiles, Repository, TreeCost, expected_cost
from ...work_trees.tree_places import is_below
from .. import application, panels

# From so many files or bytes on, the user is asked before a copy is made in any case.
MANY_FILES, MANY_BYTES = 20_000, 1 << 30
# Seconds from which on the user is told how long it takes.
LONG = 5.0
# Names in a sentence.
NAMED = 5
WITH_WHAT = "What does the work tree begin with?"
LAST, CHANGED, NEW = (
    "The last commit",
    "The last commit and what is changed",
    "The last commit, what is changed, and new files",
)
IGNORED = "What git ignores …"
GO_ON = "Go on with this"
LEFT_OUT, LINKED, COPIED = "left out", "linked", "copied"
NEXT_WAY = {LEFT_OUT: LINKED, LINKED: COPIED, COPIED: LEFT_OUT}
CONFLICTS = "Resolve the conflicts in {} to take along what is not committed."
IN_PROGRESS = "You are in the middle of {}, which the work tree does not go on with."
SUBMODULES = "Submodules are empty in it: {}."
NESTED = "Repositories in the project that git does not know are not in it: {}."
SPARSE = "Of the commit only the files that you have chosen are in it, as in your own folder."
UNSAVED = "What you have not saved is not in it: {}."
FILTERS = "Filters that only the repository names do not run: {}."


@dataclass(frozen=True)
class Beginning:
    """What a work tree has beside the last commit: of what is not committed, and of what git
    ignores, as links and as copies."""

    take_changes: bool = False
    take_untracked: bool = False
    links: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()


class _Offered(NamedTuple):
    label: str
    beginning: Beginning
    details: str

    def panel_item(self, repository: Repository, remarks: Sequence[str]) -> sublime.QuickPanelItem:
        """What a panel shows of it, with what the work tree takes."""
        cost = expected_cost(repository, self.beginning.take_untracked)
        details = [*filter(None, [self.details]), *remarks]
        return sublime.QuickPanelItem(self.label, details, annotation=_cost_text(cost))


async def choose_beginning(window: sublime.Window, repository: Repository) -> Beginning | None:
    """What the user chooses; None for none. They are asked if there is a choice, or if the work
    tree would be large, or would lack something."""
    offered, remarks = list(_offered(repository)), list(_remarks(repository))
    is_large = repository.files.count >= MANY_FILES or repository.files.size >= MANY_BYTES
    if len(offered) == 1 and not (remarks or is_large or repository.ignored):
        return offered[0].beginning
    ways: dict[str, str] = {}
    while True:
        said = [*remarks, *_unsaved_words(repository)]
        items = [each.panel_item(repository, said) for each in offered]
        if repository.ignored:
            items.append(sublime.QuickPanelItem(IGNORED, _ways_words(repository.ignored, ways)))
        number = await panels.ask_choice(window, items, WITH_WHAT)
        if number < 0:
            return None
        if number < len(offered):
            links, copies = (
                tuple(name for name, way in ways.items() if way == wanted)
                for wanted in (LINKED, COPIED)
            )
            return replace(offered[number].beginning, links=links, copies=copies)
        await _choose_ignored(window, repository.ignored, ways)


async def _choose_ignored(
    window: sublime.Window, names: Sequence[str], ways: dict[str, str]
) -> None:
    """Let the user choose what is linked, and what is copied."""
    at = 0
    while True:
        items = [
            panels.panel_item(GO_ON),
            *(panels.panel_item(name, "", ways.get(name, LEFT_OUT)) for name in names),
        ]
        at = await panels.ask_choice(window, items, IGNORED, selected_index=at)
        if at <= 0:
            return
        name = names[at - 1]
        ways[name] = NEXT_WAY[ways.get(name, LEFT_OUT)]


def _cost_text(cost: TreeCost) -> str:
    """The time is told where the user would notice it: what a fast disk takes."""
    size = f"{count_text(cost.files, 'file')}, {size_text(cost.size)}"
    is_long = cost.seconds >= LONG
    return f"{size}, {duration_text(timedelta(seconds=cost.seconds))} or more" if is_long else size


def _ways_words(names: Sequence[str], ways: Mapping[str, str]) -> list[str]:
    """What becomes of the ignored files."""
    found = []
    for way in NEXT_WAY:
        mine = [name for name in names if ways.get(name, LEFT_OUT) == way]
        found += [f"{way}: {_names_text(mine, len(mine))}"] * bool(mine)
    return found


def _offered(repository: Repository) -> Iterator[_Offered]:
    if repository.head or not _can_take(repository):
        yield _Offered(LAST, Beginning(), repository.head[:8])
    if not _can_take(repository):
        return
    changed, new = repository.changed, repository.untracked
    if changed.count or (not repository.head and not new.count):
        yield _Offered(CHANGED, Beginning(True), named_files(changed, "changed file"))
    if new.count:
        both = [named_files(changed, "changed file")] * bool(changed.count)
        details = "; ".join([*both, named_files(new, "new file")])
        yield _Offered(NEW, Beginning(True, True), details)


def _can_take(repository: Repository) -> bool:
    return not repository.unmerged.count


def _remarks(repository: Repository) -> Iterator[str]:
    """What a work tree of the repository lacks."""
    if repository.in_progress:
        yield IN_PROGRESS.format(repository.in_progress)
    for sentence, files in (
        (CONFLICTS, repository.unmerged),
        (SUBMODULES, repository.submodules),
        (NESTED, repository.nested),
    ):
        if files.count:
            yield sentence.format(_names_text(files.names, files.count))
    if repository.filters:
        yield FILTERS.format(_names_text(repository.filters, len(repository.filters)))
    if repository.is_sparse:
        yield SPARSE


def _unsaved_words(repository: Repository) -> Iterator[str]:
    """For this alone nobody is asked: what is on disk is what they have chosen to save."""
    views = [view for window in application.all_windows() for view in window.views()]
    paths = dict.fromkeys(view.file_name() or "" for view in views if view.is_dirty())
    mine = [os.path.basename(path) for path in paths if is_below(path, repository.root)]
    if mine:
        yield UNSAVED.format(_names_text(mine, len(mine)))


def named_files(files: NamedFiles, one: str) -> str:
    """How many, with the first names: 2 new files: a.py, b.py."""
    return f"{count_text(files.count, one)}: {_names_text(files.names, files.count)}"


def _names_text(names: Sequence[str], count: int) -> str:
    shown = ", ".join(shown_line(name) for name in names[:NAMED])
    return f"{shown} and {count - NAMED:,} more" if count > NAMED else shown


def size_text(size: int) -> str:
    """12 KB, 3.4 MB, 1.2 GB."""
    for unit, bytes_of_one in (("GB", 1 << 30), ("MB", 1 << 20)):
        if size >= bytes_of_one:
            return f"{size / bytes_of_one:.1f} {unit}"
    return f"{max(size >> 10, 1) if size else 0} KB"
