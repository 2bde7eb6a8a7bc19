"""What a command changed in a git work tree: files that git knows, and new ones that it does not
ignore. Waits for git and for the disk.

Git is asked only what its index and its objects hold. It compares no file itself, because for that
it would run programs that the configuration of the work tree names.
"""

from __future__ import annotations

import os
import re
import subprocess
from itertools import islice
from typing import Iterable, Mapping, NamedTuple, Sequence

from ...base.child_processes import NO_WINDOW
from ...base.file_content import Original, Stamp, file_stamp, of_bytes

# The most files of a work tree, changed files, and bytes of one of these.
MAX_FILES, MAX_CHANGED, MAX_BYTES = 20_000, 200, 4 * 1024 * 1024
# Seconds for git.
PATIENCE = 2.0
GIT = ("git", "--no-optional-locks", "-c", "core.fsmonitor=false")
# No question on a terminal, no network: to fetch, it would run a program that the work tree names.
QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    # For versions that do not know the one before.
    "GIT_ALLOW_PROTOCOL": "none",
    "LC_ALL": "C",
}
# One file of `ls-files --debug`, and no link: the object, the path, its time and size as git saw
# them.
ENTRY = re.compile(
    rb"100\d+ ([0-9a-f]+) 0\t([^\0]+)\0.*?\n  mtime: (\d+):(\d+)\n"
    rb".*?\n  size: (\d+)\tflags:[^\n]*\n",
    re.DOTALL,
)


class GitTree(NamedTuple):
    """A work tree at one moment. `objects` has the object of each file that is as git has it, byte
    for byte, by path; `stamps` are those of all files of the index, `others` the new files."""

    root: str
    objects: Mapping[str, str]
    stamps: Mapping[str, Stamp]
    others: frozenset[str]


class _Places:
    """Where the names of an index lead. Git itself writes none that leads out of the work tree, but
    a repository may come with any index."""

    def __init__(self, root: str) -> None:
        self._root = root
        # Whether each folder is one of the work tree, and not behind a link.
        self._folders = {root: True}

    def path_of(self, name: str) -> str | None:
        """None for a name that leads out of the work tree."""
        if os.path.isabs(name) or os.path.splitdrive(name)[0] or os.pardir in name.split("/"):
            return None
        path = os.path.join(self._root, name)
        return path if self._is_inside(os.path.dirname(path)) else None

    def _is_inside(self, folder: str) -> bool:
        if folder not in self._folders:
            is_inside = not os.path.islink(folder) and self._is_inside(os.path.dirname(folder))
            self._folders[folder] = is_inside
        return self._folders[folder]


def work_tree_of(folder: str) -> GitTree | None:
    """The work tree that holds the folder; None if there is none, or it is too large, or git does
    not answer in time."""
    root = _work_tree_root(folder)
    if not root:
        return None
    listed, others = _run_git(root, "ls-files", "--stage", "--debug", "-z"), _untracked_files(root)
    if listed is None or others is None:
        return None
    entries = ENTRY.findall(listed)
    if len(entries) + len(others) > MAX_FILES:
        return None
    seen = (file_stamp(_index_file(root)) or (0, 0))[0]
    objects: dict[str, str] = {}
    stamps: dict[str, Stamp] = {}
    places = _Places(root)
    for digest, name, seconds, rest, size in entries:
        path = places.path_of(os.fsdecode(name))
        if path is None:
            continue
        stamps[path] = now = file_stamp(path)
        time = int(seconds) * 10**9 + int(rest)
        # What was written in the moment in which git looked may be something else by now.
        if now == (time, int(size)) and time < seen:
            objects[path] = digest.decode("ascii")
    return GitTree(root, objects, stamps, others)


def dirty_files(tree: GitTree) -> list[str]:
    """The files that are something else than git has; nobody but the disk knows what they hold."""
    known = [path for path, now in tree.stamps.items() if now and path not in tree.objects]
    return _first_files([*known, *tree.others])


def changed_files(tree: GitTree) -> dict[str, Original]:
    """The files that have changed since, as they were then, but for the dirty ones."""
    now = [path for path in tree.objects if file_stamp(path) != tree.stamps[path]][:MAX_CHANGED]
    found = _texts_in_git(tree, now)
    others = _untracked_files(tree.root)
    new = _first_files((others or tree.others) - tree.others - set(tree.stamps))
    return {**found, **{path: Original("", exists=False) for path in new}}


def _texts_in_git(tree: GitTree, paths: Sequence[str]) -> dict[str, Original]:
    """What git has of the files; only where that is what was on disk, and no other form of it."""
    found = {}
    asked = "".join(f"{tree.objects[path]}\n" for path in paths)
    data = _run_git(tree.root, "cat-file", "--batch", told=asked) or b""
    at = 0
    for path in paths:
        end = data.find(b"\n", at)
        head = data[at:end].split()
        if end < 0 or len(head) != 3:
            break
        size = int(head[2])
        text = data[end + 1 : end + 1 + size]
        at = end + 2 + size
        if head[1] == b"blob" and size == (tree.stamps[path] or (0, -1))[1] <= MAX_BYTES:
            found[path] = of_bytes(text)
    return found


def _untracked_files(root: str) -> frozenset[str] | None:
    listed = _run_git(root, "ls-files", "--others", "--exclude-standard", "-z")
    if listed is None:
        return None
    # One that ends with a slash is a work tree in this one.
    names = (name for name in listed.split(b"\0") if name and not name.endswith(b"/"))
    return frozenset(os.path.join(root, os.fsdecode(name)) for name in names)


def _first_files(paths: Iterable[str]) -> list[str]:
    """The first of these paths, in order, without links: those lead to other files or to
    folders."""
    return list(islice((path for path in sorted(paths) if not os.path.islink(path)), MAX_CHANGED))


def _index_file(root: str) -> str:
    """The file of the index; of one of several work trees it is elsewhere."""
    folder = os.path.join(root, ".git")
    if os.path.isdir(folder):
        return os.path.join(folder, "index")
    named = _run_git(root, "rev-parse", "--git-path", "index") or b""
    return os.path.join(root, os.fsdecode(named.rstrip(b"\n")))


def _work_tree_root(folder: str) -> str:
    """The work tree that holds the folder; empty if none does."""
    while not os.path.exists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above
    return folder


def _run_git(root: str, *arguments: str, told: str = "") -> bytes | None:
    """None if git fails, is missing or is late."""
    try:
        done = subprocess.run(
            [*GIT, *arguments],
            cwd=root,
            env={**_git_environment(os.environ.items()), **QUIET},
            input=told.encode("ascii"),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE,
            creationflags=NO_WINDOW,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None


def _git_environment(ours: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The variables for git, without those that lead it to another work tree."""
    return {name: value for name, value in ours if not name.startswith("GIT_")}
