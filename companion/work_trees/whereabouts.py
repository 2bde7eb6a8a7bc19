"""Where a work tree is now: others may have moved it, removed it, or cut it off from its
repository. Reads what git keeps of it, and starts nothing.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum

from ..base.regular_file import read_regular
from .folder_deletion import is_real_folder
from .work_tree import WorkTree

# The most bytes of a file that has a path.
LIMIT = 1 << 16
DOT_GIT = ".git"
# The file in what git keeps of a tree that has the tree's id: somebody may remove the tree, and
# make another one of the same name.
MARK = "gemini-companion"


class Whereabouts(Enum):
    """CUT_OFF: there is a folder at the path, and git does not know it as this tree. REPLACED: git
    knows the tree, and there is another repository in its place. MISSING: there is nothing, but
    git knows the tree. REMOVED: git does not know it, and there is nothing, or another repository.
    STRANDED: the repository is not there."""

    HERE = "here"
    MOVED = "moved"
    CUT_OFF = "cut off"
    REPLACED = "replaced"
    MISSING = "missing"
    REMOVED = "removed"
    STRANDED = "stranded"


@dataclass(frozen=True)
class Place:
    """`path` is where the tree is, or where it should be. `lock` is the reason for which somebody
    has locked it, None if nobody has."""

    kind: Whereabouts
    path: str
    lock: str | None = None


def find_place(tree: WorkTree) -> Place:
    """Where the tree is. What cannot be read counts as not there."""
    is_there = bool(tree.path) and os.path.lexists(tree.path)
    is_another = is_there and _is_another_repository(tree)
    if not os.path.isdir(tree.git_folder):
        return Place(Whereabouts.REMOVED if is_another else Whereabouts.STRANDED, tree.path)
    if not (tree.admin_folder and read_mark(tree.admin_folder) == tree.id):
        kind = Whereabouts.CUT_OFF if is_there and not is_another else Whereabouts.REMOVED
        return Place(kind, tree.path)
    lock, known = read_lock(tree.admin_folder), read_known_path(tree.admin_folder)
    if is_there and leads_back(tree.path, tree.admin_folder):
        return Place(Whereabouts.HERE, tree.path, lock)
    if known and not is_same_path(known, tree.path) and leads_back(known, tree.admin_folder):
        # The agent can write what git keeps.
        if not has_more(tree, known):
            return Place(Whereabouts.MOVED, known, lock)
    if is_another:
        return Place(Whereabouts.REPLACED, tree.path, lock)
    return Place(Whereabouts.CUT_OFF if is_there else Whereabouts.MISSING, tree.path, lock)


def _is_another_repository(tree: WorkTree) -> bool:
    """Whether the folder at the path has a repository of its own, or is a work tree that is not
    known to be this one."""
    dot_git = os.path.join(tree.path, DOT_GIT)
    with suppress(OSError):
        # Of a link only the link counts.
        if not is_real_folder(os.lstat(tree.path)):
            return False
        if os.path.isdir(dot_git):
            return True
        target = _read_target(tree.path)
        return bool(target) and os.path.isdir(target) and read_mark(target) != tree.id
    return False


def mark_tree(admin_folder: str, id: str) -> None:
    """Write the tree's id to what git keeps of it. Raises OSError."""
    with open(os.path.join(admin_folder, MARK), "w", encoding="ascii") as file:
        file.write(id)


def read_mark(admin_folder: str) -> str:
    """The id of the tree that git keeps this of, if it is one of ours; else ""."""
    with suppress(OSError):
        return read_text(admin_folder, MARK)
    return ""


def read_known_path(admin_folder: str) -> str:
    """The folder that git takes for the work tree; "" if that cannot be read."""
    with suppress(OSError):
        found = read_text(admin_folder, "gitdir").rstrip("\r\n")
        if found and "\0" not in found:
            return os.path.dirname(os.path.normpath(os.path.join(admin_folder, found)))
    return ""


def find_admin(git_folder: str, path: str) -> str:
    """The name of what git keeps of the work tree at the path, while that is made; "" if there is
    nothing yet. git may have been killed before it wrote there for which folder it is; then the
    name tells, which was free before."""
    folder = os.path.join(git_folder, "worktrees")
    names: list[str] = []
    with suppress(OSError):
        names = os.listdir(folder)
    for name in names:
        known = read_known_path(os.path.join(folder, name))
        if (known and is_same_path(known, path)) or (not known and name == os.path.basename(path)):
            return name
    return ""


def read_lock(admin_folder: str) -> str | None:
    """The reason for which somebody has locked the tree, None if nobody has."""
    path = os.path.join(admin_folder, "locked")
    if not os.path.lexists(path):
        return None
    with suppress(OSError):
        return read_text(admin_folder, "locked").strip()
    return ""


def leads_back(path: str, admin_folder: str) -> bool:
    """Whether the folder's `.git` is a file that leads to what git keeps of this tree."""
    with suppress(OSError):
        if not is_real_folder(os.lstat(path)) or os.path.islink(os.path.join(path, DOT_GIT)):
            return False
        target = _read_target(path)
        return bool(target) and os.path.samefile(target, admin_folder)
    return False


def _read_target(path: str) -> str:
    """Where the file `.git` of the folder leads; "" if it says nothing. Raises OSError."""
    told = read_text(path, DOT_GIT)
    target = told[len("gitdir:") :].strip() if told.startswith("gitdir:") else ""
    return os.path.join(path, target) if target and "\0" not in target else ""


def is_same_path(path: str, other: str) -> bool:
    """Whether both name the same place, which need not be there."""
    return same_path(path) == same_path(other)


def same_path(path: str) -> str:
    """The path as all that name the same place have it."""
    return os.path.normcase(os.path.realpath(path))


def read_text(folder: str, name: str) -> str:
    """The text of a small file. Raises OSError, also for what is no regular file."""
    return os.fsdecode(read_regular(os.path.join(folder, name), LIMIT))


def has_more(tree: WorkTree, path: str) -> bool:
    """Whether something of the user's is in the folder: it cannot be an agent's work tree, whatever
    is recorded of it."""
    home = os.path.expanduser("~")
    places = (tree.root, tree.git_folder, home)
    return os.path.ismount(path) or any(_contains(path, each) for each in places if each)


def _contains(folder: str, path: str) -> bool:
    """Whether the path is the folder, or in it, or would be by another spelling."""
    folder, path = os.path.realpath(folder), os.path.realpath(path)
    with suppress(ValueError):
        return os.path.commonpath([folder, path]) == folder
    # Another disk of Windows.
    return False
