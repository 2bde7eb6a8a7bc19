"""What the user is asked before a work tree is made: with what it begins. Says what that costs, and
what a work tree of the repository lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator

import sublime

from ...base.shown_text import shown_line
from ...chat.amounts import count_text
from ...work_trees.repository import NamedFiles, Repository
from .. import panels

# From so many files or bytes on, the user is asked before a copy is made in any case.
MANY_FILES, MANY_BYTES = 20_000, 1 << 30
# Names in a sentence.
NAMED = 5
WITH_WHAT = "What does the work tree begin with?"
LAST, CHANGED, NEW = (
    "The last commit",
    "The last commit and what is changed",
    "The last commit, what is changed, and new files",
)
CONFLICTS = "Resolve the conflicts in {} to take along what is not committed."
IN_PROGRESS = "You are in the middle of {}, which the work tree does not go on with."
SUBMODULES = "Submodules are empty in it: {}."
NESTED = "Repositories in the project that git does not know are not in it: {}."
SPARSE = "All files of the commit are in it, not only those that you have chosen."
FILTERS = "Filters that only the repository names do not run: {}."


@dataclass(frozen=True)
class Beginning:
    """What of what is not committed a work tree begins with."""

    take_changes: bool = False
    take_untracked: bool = False


async def choose_beginning(window: sublime.Window, repository: Repository) -> Beginning | None:
    """What the user chooses; None for none. They are asked if there is a choice, or if the work
    tree would be large, or would lack something."""
    offered = list(_offered(repository))
    remarks = list(_remarks(repository))
    is_large = repository.files.count >= MANY_FILES or repository.files.size >= MANY_BYTES
    if len(offered) == 1 and not remarks and not is_large:
        return offered[0][1]
    size = f"{count_text(repository.files.count, 'file')}, {size_text(repository.files.size)}"
    items = [
        sublime.QuickPanelItem(
            label, [details, *remarks] if not number else details, annotation=size
        )
        for number, (label, _beginning, details) in enumerate(offered)
    ]
    number = await panels.ask_choice(window, items, WITH_WHAT)
    return offered[number][1] if number >= 0 else None


def _offered(repository: Repository) -> Iterator[tuple[str, Beginning, str]]:
    """The labels, what they mean, and what they have."""
    if repository.head or not _can_take(repository):
        yield LAST, Beginning(), repository.head[:8]
    if not _can_take(repository):
        return
    changed, new = repository.changed, repository.untracked
    if changed.count or (not repository.head and not new.count):
        yield CHANGED, Beginning(True), named_files(changed, "changed file")
    if new.count:
        both = [named_files(changed, "changed file")] * bool(changed.count)
        yield NEW, Beginning(True, True), "; ".join([*both, named_files(new, "new file")])


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


def named_files(files: NamedFiles, one: str) -> str:
    """How many, with the first names: 2 new files: a.py, b.py."""
    return f"{count_text(files.count, one)}: {_names_text(files.names, files.count)}"


def _names_text(names: tuple[str, ...], count: int) -> str:
    shown = ", ".join(shown_line(name) for name in names[:NAMED])
    return f"{shown} and {count - NAMED:,} more" if count > NAMED else shown


def size_text(size: int) -> str:
    """12 KB, 3.4 MB, 1.2 GB."""
    for unit, bytes_of_one in (("GB", 1 << 30), ("MB", 1 << 20)):
        if size >= bytes_of_one:
            return f"{size / bytes_of_one:.1f} {unit}"
    return f"{max(size >> 10, 1) if size else 0} KB"
