"""What the user's repository is before a work tree of it is made: its commit, its size, what is
not committed or ignored. Nothing of the user's is changed, not even what git notes about their
files."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from itertools import islice
from typing import Iterable, Sequence

from .file_git import FileGit, GitPlaces, find_places, open_file_git, repository_settings
from .git import GitFailure, Watch, git_or_nothing, run_git

# The first names that a sentence may show, and those of ignored files.
MAX_NAMES, MAX_IGNORED = 20, 200
# Bytes in which disks give room, and of a file in git's index.
BLOCK, INDEX_ENTRY = 4096, 100
# What a disk of today takes at least from git, of small files and of large ones.
FILES_IN_A_SECOND, BYTES_IN_A_SECOND = 5_000, 100 << 20
# The most filters of a repository that are looked for.
MAX_FILTERS = 20
FILTER = re.compile(r"filter\.(.+)\.(?:clean|smudge|process)", re.DOTALL)
# Modes of an index: a repository within this one.
SUBMODULE = "160000"
# Files of a git folder while the user is within one of these.
IN_PROGRESS = (
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisection"),
)


@dataclass(frozen=True)
class NamedFiles:
    """Files of a work tree: how many, their bytes on disk, and the first names, with slashes,
    relative to the root."""

    count: int = 0
    size: int = 0
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Repository:
    """A user's work tree and its repository at one moment. `head` is the id of its last commit, ""
    before the first one."""

    places: GitPlaces
    # A folder of ours for files of the moment.
    scratch: str
    head: str
    is_shallow: bool
    # Whether it is one of several work trees, and not the first.
    is_work_tree: bool
    # Whether only a part of the files is on disk, as the user chose.
    is_sparse: bool
    # The files that a work tree of it will have.
    files: NamedFiles
    submodules: NamedFiles
    # What is not committed: changed files that git knows, and new ones that it does not ignore.
    changed: NamedFiles
    untracked: NamedFiles
    # Ignored files and folders, those near the root first; a folder has a slash at its end.
    ignored: tuple[str, ...]
    # Files with conflicts that the user has not resolved.
    unmerged: NamedFiles
    # Repositories in the folder that git does not know: no work tree has them.
    nested: NamedFiles
    # What the user is in the middle of, such as "a merge".
    in_progress: str
    # Filters that only the repository's own settings name: they are not run.
    filters: tuple[str, ...]

    @property
    def root(self) -> str:
        return self.places.root


@dataclass(frozen=True)
class TreeCost:
    """What a work tree will take: `size` is in bytes on the disk, and `seconds` are a guess."""

    files: int
    size: int
    seconds: float


def expected_cost(repository: Repository, take_untracked: bool) -> TreeCost:
    """What a work tree of it will take, without the ignored files."""
    new = repository.untracked if take_untracked else NamedFiles()
    files, size = repository.files.count + new.count, repository.files.size + new.size
    # The last block of each file is half used, and git notes each one in its index.
    size += files * (BLOCK // 2 + INDEX_ENTRY)
    return TreeCost(files, size, files / FILES_IN_A_SECOND + size / BYTES_IN_A_SECOND)


def inspect_repository(folder: str, scratch: str, watch: Watch = Watch()) -> Repository:  # noqa: B008
    """What a work tree for the folder would be made from. `scratch` is a folder of ours, which
    agents cannot write to. Raises GitFailure, for a folder of which none can be made, too."""
    places = find_work_tree(folder)
    told = git_or_nothing(places.root, "rev-parse", "--verify", "-q", "HEAD^{commit}")
    head = told.decode("ascii").strip()
    with open_file_git(places, scratch) as git:
        refresh_index(git, watch)
        index = _read_index(git, watch)
        untracked, nested = _parted_names(list_untracked(git, watch))
        changed = sorted({*list_changed(git, watch), *_staged(git, head, watch)})
        ignored = _ignored_names(git, watch)
        settings = repository_settings(places.root)
        filters = _local_filters(git, settings, watch)
    shallow = run_git(places.root, "rev-parse", "--is-shallow-repository").strip() == b"true"
    return Repository(
        places,
        scratch,
        head,
        is_shallow=shallow,
        is_work_tree=places.git_folder != places.common_folder,
        is_sparse=("core.sparsecheckout", "true") in settings,
        files=measure_files(places.root, index.files),
        submodules=_named(index.submodules),
        changed=measure_files(places.root, changed),
        untracked=measure_files(places.root, untracked),
        ignored=ignored,
        unmerged=_named(index.unmerged),
        nested=_named(nested),
        in_progress=_find_progress(places.git_folder),
        filters=filters,
    )


def find_work_tree(folder: str) -> GitPlaces:
    """Those of the work tree that the folder belongs to. Raises GitFailure if there is none, or if
    its settings put the files elsewhere."""
    is_bare = git_or_nothing(folder, "rev-parse", "--is-bare-repository").strip()
    if not is_bare:
        _say_why_none(folder)
    if is_bare == b"true":
        raise GitFailure(f"{folder} is a bare repository, without files to work on.")
    if git_or_nothing(folder, "rev-parse", "--is-inside-work-tree").strip() != b"true":
        raise GitFailure(f"{folder} is inside of git's own folder; open the project's folder.")
    places = find_places(folder)
    if not os.path.lexists(os.path.join(places.root, ".git")):
        # Else a repository could name any folder of the user's as its files.
        raise GitFailure(
            f"The repository of {folder} says that its files are in {places.root}, which has no"
            ' ".git"; remove "core.worktree" from its settings.'
        )
    return places


def _say_why_none(folder: str) -> None:
    """Raises GitFailure: there is no repository, or git says what is wrong with it."""
    place = os.path.join(folder, "")
    while place != os.path.dirname(place):
        place = os.path.dirname(place)
        if os.path.lexists(os.path.join(place, ".git")):
            run_git(folder, "rev-parse", "--git-dir")
            return
    raise GitFailure(f"{folder} is in no repository of git, and a work tree is made of one.")


def refresh_index(git: FileGit, watch: Watch) -> None:
    """Have git note in its copy of the index which files are as it knows them."""
    git.run("update-index", "-q", "--unmerged", "--ignore-submodules", "--refresh", watch=watch)


def list_changed(git: FileGit, watch: Watch) -> list[str]:
    """The names of files that differ from the index, with those that are gone."""
    words = ("diff-files", "--name-only", "--ignore-submodules=all", "--no-ext-diff", "-z")
    return names_of(git.run(*words, watch=watch))


def list_untracked(git: FileGit, watch: Watch) -> list[str]:
    """The names of files that git does not know and does not ignore; with a slash at its end, a
    repository in this one."""
    return names_of(git.run("ls-files", "--others", "--exclude-standard", "-z", watch=watch))


def names_of(told: bytes) -> list[str]:
    return [os.fsdecode(name) for name in told.split(b"\0") if name]


def measure_files(root: str, names: Sequence[str]) -> NamedFiles:
    """The files of these that are there, with their bytes."""
    size = count = 0
    for name in names:
        try:
            status = os.lstat(os.path.join(root, name))
        except (OSError, ValueError):
            continue
        count += 1
        size += status.st_size if stat.S_ISREG(status.st_mode) else 0
    return NamedFiles(count, size, tuple(names[:MAX_NAMES]))


@dataclass(frozen=True)
class _Index:
    files: list[str]
    submodules: list[str]
    unmerged: list[str]


def _read_index(git: FileGit, watch: Watch) -> _Index:
    found = _Index([], [], [])
    for row in names_of(git.run("ls-files", "--stage", "-z", watch=watch)):
        facts, _, name = row.partition("\t")
        mode, _, stage = facts.split(" ")
        if stage != "0":
            if name not in found.unmerged[-1:]:
                found.unmerged.append(name)
                found.files.append(name)
        else:
            (found.submodules if mode == SUBMODULE else found.files).append(name)
    return found


def _staged(git: FileGit, head: str, watch: Watch) -> list[str]:
    """The names of files that the index has otherwise than the commit."""
    tree = head or git.run("hash-object", "-t", "tree", "--stdin").decode("ascii").strip()
    words = ("diff-index", "--cached", "--name-only", "--no-renames", "--no-ext-diff", "-z")
    return names_of(git.run(*words, "--ignore-submodules=all", tree, "--", watch=watch))


def _ignored_names(git: FileGit, watch: Watch) -> tuple[str, ...]:
    words = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
    names = sorted(names_of(git.run(*words, watch=watch)))
    # Git names the folders above an ignored file, too, if these hold nothing else.
    whole = [name for name, after in zip(names, [*names[1:], ""]) if not _is_above(name, after)]
    return tuple(sorted(whole, key=lambda name: (name.rstrip("/").count("/"), name))[:MAX_IGNORED])


def _is_above(folder: str, name: str) -> bool:
    return folder.endswith("/") and name.startswith(folder)


def _parted_names(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Files, and repositories in this one."""
    files: list[str] = []
    nested: list[str] = []
    for name in names:
        (nested if name.endswith("/") else files).append(name)
    return files, nested


def _named(names: Sequence[str]) -> NamedFiles:
    return NamedFiles(len(names), 0, tuple(names[:MAX_NAMES]))


def _find_progress(git_folder: str) -> str:
    for name, words in IN_PROGRESS:
        if os.path.lexists(os.path.join(git_folder, name)):
            return words
    return ""


def _local_filters(
    git: FileGit, settings: Sequence[tuple[str, str]], watch: Watch
) -> tuple[str, ...]:
    """The names of filters that only the repository's settings name, and that files have."""
    names = {
        match.group(1): None for match in (FILTER.fullmatch(key) for key, _ in settings) if match
    }
    # Of the repository's own settings this git knows none of these.
    known = names_of(git.run("config", "--name-only", "--list", "-z"))
    for match in (FILTER.fullmatch(key) for key in known):
        names.pop(match.group(1) if match else "", None)
    return tuple(name for name in islice(names, MAX_FILTERS) if _has_filter(git, name, watch))


def _has_filter(git: FileGit, name: str, watch: Watch) -> bool:
    escaped = re.sub(r"[^A-Za-z0-9]", lambda match: "\\" + match.group(), name)
    try:
        return bool(git.run("ls-files", "-z", "--", f":(attr:filter={escaped})", watch=watch))
    except GitFailure:
        # It cannot be asked for such a name.
        return True
