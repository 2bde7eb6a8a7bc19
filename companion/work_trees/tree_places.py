"""Where work trees are made, and which folders of them are trusted. Asks no disk."""

from __future__ import annotations

import os
from typing import Iterable, Iterator, Sequence

from ..base.path_patterns import IGNORE_CASE, comparable_path
from ..base.text_digest import text_digest
from .work_tree import WorkTree

# What is behind the name of a project in the name of the folder beside it.
BESIDE = ".trees"
# Characters of a digest that tell projects of one name apart.
DIGITS = 8


def folder_for_trees(root: str, setting: str) -> str:
    """The folder that has the work trees of the project at `root`, and nothing else. `setting` is
    the folder that the user wants for those of all projects, "" for one beside the project."""
    root = root.rstrip(os.sep) or root
    if not setting:
        return root + BESIDE
    name = f"{os.path.basename(root)}-{text_digest(root)[:DIGITS]}"
    return os.path.join(os.path.expanduser(setting), name)


def trusted_places(
    trusted: Sequence[str], trees: Iterable[WorkTree], setting: str
) -> tuple[str, ...]:
    """The trusted folders with those of their work trees, whose trust is that of the original. Also
    where there is none yet: an agent that runs already learns of no others."""
    return tuple(dict.fromkeys([*trusted, *_places(trusted, trees, setting)]))


def _places(trusted: Sequence[str], trees: Iterable[WorkTree], setting: str) -> Iterator[str]:
    yield from (folder_for_trees(folder, setting) for folder in trusted)
    for tree in trees:
        if is_trusted(tree.folder, trusted):
            yield tree.own_folder


def is_trusted(folder: str, trusted: Iterable[str]) -> bool:
    """Whether the folder is one of the trusted ones, or in one."""
    return any(is_below(folder, each) for each in trusted)


def is_below(path: str, folder: str) -> bool:
    """Whether the folder has the path, or is at it, by their names alone."""
    name, top = (comparable_path(each, IGNORE_CASE).rstrip("/") + "/" for each in (path, folder))
    return name.startswith(top)
