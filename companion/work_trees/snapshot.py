"""Makes a commit of what the user has not committed. Their index, branches, stash and files are
untouched: git writes to a copy of the index, and only new objects go to the repository."""

from __future__ import annotations

import os
from typing import Callable

from .file_git import FileGit, open_file_git
from .git import GitFailure, Watch
from .repository import Repository, list_changed, list_untracked, refresh_index

# Who made the commit, for whoever finds it.
NAME, ADDRESS = "GeminiCompanion", "gemini-companion@localhost"
MESSAGE = b"What was not committed when the work tree was made\n"

# Called with how many files are done, and of how many.
Report = Callable[[int, int], None]


def make_snapshot(repository: Repository, take_untracked: bool, report: Report) -> str:
    """The id of a commit after the last one, with the files as they are; the last one itself if
    nothing differs. Raises GitFailure, and what the report raises."""
    with open_file_git(repository.places, repository.scratch, keeps_objects=True) as git:
        watch = Watch(lambda line: report(0, 0))
        refresh_index(git, watch)
        if git.run("ls-files", "--unmerged", "-z"):
            raise GitFailure(
                "There are conflicts in the files that are not resolved yet. Resolve them, or make"
                " the work tree from the last commit."
            )
        names = list_changed(git, watch)
        if take_untracked:
            # With a slash at its end it is a repository of its own, whose files are not ours.
            names += [name for name in list_untracked(git, watch) if not name.endswith("/")]
        _add_files(git, names, report)
        # Objects that a partial clone has not loaded are no reason to refuse.
        tree = git.run("write-tree", "--missing-ok").decode("ascii").strip()
        return _commit(git, tree, repository.head)


def _add_files(git: FileGit, names: list[str], report: Report) -> None:
    """Note the files in the index as they are, and those that are gone as gone."""
    done = 0

    def count_lines(piece: bytes) -> None:
        nonlocal done
        done = min(done + piece.count(b"\n"), len(names))
        report(done, len(names))

    told = b"".join(os.fsencode(name) + b"\0" for name in names)
    words = ("update-index", "--verbose", "--add", "--remove", "--replace", "-z", "--stdin")
    watch = Watch(lambda line: report(done, len(names)), count_lines)
    git.run(*words, told=told, watch=watch)


def _commit(git: FileGit, tree: str, head: str) -> str:
    if head and git.run("rev-parse", f"{head}^{{tree}}").decode("ascii").strip() == tree:
        return head
    people = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", NAME), ("EMAIL", ADDRESS))
    }
    parents = ("-p", head) if head else ()
    made = git.run("commit-tree", tree, *parents, told=MESSAGE, variables=people)
    return made.decode("ascii").strip()
