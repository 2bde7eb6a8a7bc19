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
from .repository import Repository, expected_cost
from .snapshot import make_snapshot
from .whereabouts import find_admin, leads_back, mark_tree
from .work_tree import ID

# The ref that keeps the beginning of a work tree. Git's own refs of a work tree alone do not keep
# what they name when git tidies up in another one.
BEGINNING = "refs/gemini-companion/"
COUNTS = re.compile(r"(\d+)/(\d+)")
# Attempts to add a work tree beside others that are being added.
TRIES = 4
# Bytes that stay free on the disk; with less than FULL none is left for a file.
RESERVE, FULL = 256 << 20, 1 << 20
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
    snapshot: str = "",
) -> CreatedTree:
    """Make the work tree at the path, where nothing stands yet. It begins with the user's last
    commit, or with one of their changed files, and then also of the new ones; `snapshot` is that
    one if it was made before. Raises GitFailure, and what `report_progress` raises."""
    _check(repository, path, id, take_changes, take_changes and take_untracked)
    with ExitStack() as failing:
        failing.callback(remove_remains, repository.root, path, id)
        beginning = snapshot or repository.head
        if take_changes and not snapshot:
            beginning = make_snapshot(
                repository,
                take_untracked,
                lambda done, total: report_progress(READING_FILES, done, total),
            )
        run_git(repository.root, "update-ref", BEGINNING + id, beginning)
        _add_tree(repository.root, path, beginning)
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
    """Remove what there is of a work tree that was not finished: its files, what git keeps of it,
    and its beginning. What stands at the path and is not that tree stays, and so does all that
    cannot be removed."""
    with suppress(OSError, GitFailure):
        git_folder = find_places(root).common_folder
        admin = find_admin(git_folder, path)
        admin_folder = os.path.join(git_folder, "worktrees", admin)
        if admin and leads_back(path, admin_folder):
            delete_folder(path)
        else:
            with suppress(OSError):
                os.rmdir(path)
        if admin:
            delete_folder(admin_folder)
            with suppress(OSError):
                # git keeps no such folder without work trees.
                os.rmdir(os.path.dirname(admin_folder))
    with suppress(GitFailure):
        run_git(root, "update-ref", "-d", BEGINNING + id)


def _add_tree(root: str, path: str, beginning: str) -> None:
    """One of several gits at a time fails if it reads what another one has half written."""
    words = ("worktree", "add", "--detach", "--no-checkout", "--", path, beginning)
    for _ in range(TRIES - 1):
        try:
            run_git(root, *words)
            return
        except GitFailure:
            if os.path.lexists(path):
                raise
    run_git(root, *words)


def _mark(places: GitPlaces, id: str) -> None:
    try:
        mark_tree(places.git_folder, id)
    except OSError as error:
        raise GitFailure(f"{places.git_folder} cannot be written: {error.strerror}.") from error


def _check(
    repository: Repository, path: str, id: str, take_changes: bool, take_untracked: bool
) -> None:
    if not ID.fullmatch(id):
        raise ValueError(f"no id of a work tree: {id!r}")
    if os.path.lexists(path):
        raise GitFailure(f"{path} exists already.")
    if not repository.head and not take_changes:
        raise GitFailure(
            f"{repository.root} has no commit yet. Make one, or make the work tree with what is not"
            " committed."
        )
    cost = expected_cost(repository, take_untracked)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        free = shutil.disk_usage(os.path.dirname(path)).free
    except OSError as error:
        raise GitFailure(f"No work tree can be made at {path}: {error.strerror}.") from error
    if free < cost.size + RESERVE:
        raise GitFailure(
            f"The work tree needs {cost.size >> 20:,} MiB, and the disk of {path} has"
            f" {free >> 20:,} MiB left."
        )


def _write_files(
    repository: Repository, places: GitPlaces, beginning: str, report_progress: ReportProgress
) -> None:
    def hear(line: str) -> None:
        match = COUNTS.search(line)
        report_progress(WRITING_FILES, *(map(int, match.groups()) if match else (0, 0)))

    index = os.path.join(places.git_folder, "index")
    try:
        with open_file_git(places, repository.scratch, index, keeps_objects=True) as git:
            git.run("read-tree", "-m", "-u", "-v", beginning, watch=Watch(hear))
    except GitFailure as error:
        # git says only which files it could not write.
        if shutil.disk_usage(places.root).free < FULL:
            raise GitFailure(f"The disk of {places.root} is full.") from error
        raise
