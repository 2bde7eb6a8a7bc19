"""Makes a work tree of the user's repository for an agent: apart from the user's own files, without
a branch, and with what they have not committed if they want that."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Callable

from .file_git import GitPlaces, find_places, open_file_git
from .folder_deletion import delete_folder
from .git import GitFailure, Watch, git_or_nothing, run_git
from .repository import Repository
from .snapshot import make_snapshot
from .whereabouts import mark_tree
from .work_tree import ID

# The ref that keeps the beginning of a work tree. Git's own refs of a work tree alone do not keep
# what they name when git tidies up in another one.
BEGINNING = "refs/gemini-companion/"
COUNTS = re.compile(r"(\d+)/(\d+)")
# Bytes that stay free on the disk.
RESERVE = 256 << 20
READING_FILES, WRITING_FILES = "Reading what is not committed", "Writing the files"

# Called with one of these steps, how many files are done, and of how many; 0 if it is not known.
# What it raises ends the creation, and nothing is left of the work tree.
ReportProgress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class CreatedTree:
    """`beginning` is the id of the commit that the work tree begins with, `git_folder` the folder
    that it shares with the user's own, and `admin` the name of its own part, in `worktrees`
    there."""

    beginning: str
    git_folder: str
    admin: str


def create_work_tree(
    repository: Repository,
    path: str,
    id: str,
    take_changes: bool,
    take_untracked: bool,
    report_progress: ReportProgress,
) -> CreatedTree:
    """Make the work tree at the path, where nothing stands yet. It begins with the user's last
    commit, or with one of their changed files, and then also of the new ones. Raises GitFailure,
    and what `report_progress` raises."""
    _check(repository, path, id, take_changes)
    with ExitStack() as failing:
        failing.callback(remove_remains, repository.root, path, id)
        beginning = repository.head
        if take_changes:
            beginning = make_snapshot(
                repository,
                take_untracked,
                lambda done, total: report_progress(READING_FILES, done, total),
            )
        run_git(repository.root, "update-ref", BEGINNING + id, beginning)
        words = ("worktree", "add", "--detach", "--no-checkout", "--", path, beginning)
        run_git(repository.root, *words)
        places = find_places(path)
        _mark(places, id)
        _write_files(repository, places, beginning, report_progress)
        failing.pop_all()
    admin = os.path.basename(places.git_folder)
    return CreatedTree(beginning, places.common_folder, admin)


def read_beginning(root: str, id: str) -> str:
    """The id of the commit that the work tree began with, "" if none is kept."""
    return git_or_nothing(root, "rev-parse", "--verify", "-q", BEGINNING + id).decode().strip()


def remove_remains(root: str, path: str, id: str) -> None:
    """Remove what there is of a work tree that was not finished, or that nobody wants any more:
    its files, what git knows of it, and its beginning."""
    git_or_nothing(root, "worktree", "remove", "--force", "--force", "--", path)
    with suppress(OSError):
        delete_folder(path)
    _remove_unfinished(root, path)
    git_or_nothing(root, "update-ref", "-d", BEGINNING + id)


def _remove_unfinished(root: str, path: str) -> None:
    """Remove what git has left in its folder when it was killed: it has no `gitdir` file yet, so
    git does not list it. No other work tree is looked at: one may be on a disk that is away."""
    folder = os.path.join(find_places(root).common_folder, "worktrees", os.path.basename(path))
    if not os.path.lexists(os.path.join(folder, "gitdir")):
        with suppress(OSError):
            delete_folder(folder)


def _mark(places: GitPlaces, id: str) -> None:
    try:
        mark_tree(places.git_folder, id)
    except OSError as error:
        raise GitFailure(f"{places.git_folder} cannot be written: {error.strerror}.") from error


def _check(repository: Repository, path: str, id: str, take_changes: bool) -> None:
    if not ID.fullmatch(id):
        raise ValueError(f"no id of a work tree: {id!r}")
    if os.path.lexists(path):
        raise GitFailure(f"{path} exists already.")
    if not repository.head and not take_changes:
        raise GitFailure(
            f"{repository.root} has no commit yet. Make one, or make the work tree with what is not"
            " committed."
        )
    os.makedirs(os.path.dirname(path), exist_ok=True)
    needed = repository.files.size + repository.untracked.size * take_changes
    free = shutil.disk_usage(os.path.dirname(path)).free
    if free < needed + RESERVE:
        raise GitFailure(
            f"The work tree needs {needed >> 20} MiB, and the disk of {path} has {free >> 20} MiB"
            " left."
        )


def _write_files(
    repository: Repository, places: GitPlaces, beginning: str, report_progress: ReportProgress
) -> None:
    def hear(line: str) -> None:
        match = COUNTS.search(line)
        report_progress(WRITING_FILES, *(map(int, match.groups()) if match else (0, 0)))

    index = os.path.join(places.git_folder, "index")
    with open_file_git(places, repository.scratch, index, keeps_objects=True) as git:
        git.run("read-tree", "-m", "-u", "-v", beginning, watch=Watch(hear))
