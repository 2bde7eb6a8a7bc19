"""What was changed in a work tree since it began, committed or not: its files are compared with the
commit of its beginning, and what the agent has in its index or in its branches plays no part.

git compares them with an index of our own, which knows when each file was looked at last, so a list
costs little. All functions block.
"""

from __future__ import annotations

import os
import re
import stat
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Iterable, Iterator, Mapping, Sequence

from ..base.log import logger
from .file_git import FileGit, GitPlaces, open_file_git
from .filtered import FilteredFiles
from .git import READING, GitFailure, GitStuck, Watch, run_git
from .inside import (
    ABSENT,
    FILES,
    LIMIT,
    LINK,
    NOTHING,
    OTHER,
    REPOSITORY,
    Found,
    Mark,
    TreeContent,
    is_safe_path,
    look_at,
    read_content,
)
from .renames import MOST_BYTES, OldFile, Renames
from .taken import Taken, content_digest
from .work_tree import WorkTree

# The most changes of a tree that are listed.
MOST = 10_000
# Bytes of what was at the beginning that are kept between two lists, of all files of a tree.
KEPT = 64 << 20
# Settings of the repository must hide no change, and which folders were looked at is remembered.
SETTINGS = (
    "core.trustctime=true",
    "core.checkStat=default",
    "core.untrackedCache=true",
    "core.preloadIndex=true",
)
STATUS = (
    "status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames",
    "--ignore-submodules=dirty",
)  # fmt: skip
# How git says what it could not look at, without which it goes on. A long one has no end.
UNREAD = re.compile(
    r"warning: could not open directory '(?P<folder>.+?)/?(?:': [^:]+)?"
    r"|(?!(?:warning|hint|error|fatal): )(?P<file>.+): [^:]+"
)
NEW_IN_INDEX = (
    "diff-index", "--cached", "--no-renames", "--diff-filter=A", "--name-only", "-z",
)  # fmt: skip
NOT_KNOWN = "What the file was at the beginning is not known any more."
# Seconds after which no list is waited for any more.
PATIENCE = 600.0
# Seconds after which a lock of the index was left by somebody who has died.
ABANDONED = 60.0


class ChangeKind(Enum):
    """What a change is, before anybody has read the files."""

    CHANGED = "changed"
    NEW = "new"
    DELETED = "deleted"
    RENAMED = "renamed"
    LINK = "link"
    REPOSITORY = "repository"
    OTHER = "other"


@dataclass(frozen=True)
class Left:
    """What was at the beginning, or when the user decided last: the mode, and where the content is,
    the id of an object of git or the digest of what was taken. Both are empty if there was
    nothing."""

    mode: str = ABSENT
    object: str = ""
    digest: str = ""


@dataclass(frozen=True)
class TreeChange:
    """Paths are from the top of the tree, with "/". `old_path` is another one if the file was
    renamed. `right` is what is there in the tree now, and `own` what is at the old path in the
    user's own files: as long as a change is equal, nothing of it has changed."""

    path: str
    old_path: str
    left: Left
    right: Found
    own: Found

    @property
    def is_renamed(self) -> bool:
        return self.path != self.old_path

    @property
    def kind(self) -> ChangeKind:
        modes = self.left.mode, self.right.mode
        if REPOSITORY in modes:
            return ChangeKind.REPOSITORY
        if OTHER in modes:
            return ChangeKind.OTHER
        if LINK in modes:
            return ChangeKind.LINK
        if self.is_renamed:
            return ChangeKind.RENAMED
        if ABSENT in modes:
            return ChangeKind.NEW if self.left.mode == ABSENT else ChangeKind.DELETED
        return ChangeKind.CHANGED


class SidesFailure(Exception):
    """A side of a change cannot be read; the text is a sentence for the user."""


@dataclass
class TreeReader:
    """Lists the changes of one tree, by one thread at a time. `folder` is ours, for what belongs to
    the tree. What was read is kept for the next list."""

    tree: WorkTree
    folder: str
    _open: ExitStack = field(default_factory=ExitStack)
    _git: FileGit | None = None
    # What the beginning has, by the ids of its objects.
    _objects: dict[str, bytes] = field(default_factory=dict)
    # The digests of what is there, by its path and mark.
    _digests: dict[tuple[str, str, Mark], str] = field(default_factory=dict)
    # The mark of the agent's index, and what is new in it.
    _forced: tuple[Mark, tuple[str, ...]] = (None, ())
    _renames: Renames = field(default_factory=Renames)
    _filtered: FilteredFiles = field(default_factory=FilteredFiles)
    # Whether there were more than the last list has.
    has_more: bool = False
    # What git could not look at, such as a folder that may not be read.
    _unread: set[str] = field(default_factory=set)

    def close(self) -> None:
        """Remove what was needed only meanwhile; it can be used again."""
        self._git = None
        self._open.close()

    def list_changes(self, taken: Taken, is_bounded: bool = True) -> tuple[TreeChange, ...]:
        """The changes that nobody has decided on, by their paths; only the first MOST of them
        if it `is_bounded`. Raises GitFailure."""
        if os.path.islink(self.tree.path) or not os.path.isdir(self.tree.path):
            raise GitFailure(f"The work tree {self.tree.path} is not there any more.")
        found = {change.path: change for change in self._differences()}
        for path, decided in taken.decided.items():
            found[path] = self._change_at(path, Left(decided.mode, digest=decided.digest))
        waiting = [change for change in found.values() if self._is_change(change)]
        self.has_more = is_bounded and len(waiting) > MOST
        changes = self._join_renamed(waiting[:MOST] if is_bounded else waiting, taken)
        changes.sort(key=lambda change: change.path.split("/"))
        self._forget_others(changes, taken)
        return tuple(changes)

    def _join_renamed(self, changes: Sequence[TreeChange], taken: Taken) -> list[TreeChange]:
        """The changes, with one in place of the two of each renamed file, if the user has the old
        one and nothing at the new path."""
        gone = [change for change in changes if _is_file(change.left, change.right, change.own)]
        new = [change for change in changes if _is_new_file(change)]
        if not gone or not new:
            return list(changes)
        self.prepare_sides(gone)
        olds = [self._old_file(change, taken) for change in gone]
        news = [self._new_file(change) for change in new]
        renamed = self._renames.find(olds, news)
        by_path = {change.path: change for change in changes}
        olds_renamed = set(renamed.values())
        found = [change for change in changes if change.path not in olds_renamed]
        for at, change in enumerate(found):
            old = by_path.get(renamed.get(change.path, ""))
            if old is not None:
                found[at] = replace(change, old_path=old.path, left=old.left, own=old.own)
        return found

    def _old_file(self, change: TreeChange, taken: Taken) -> OldFile:
        data = b""
        with suppress(SidesFailure):
            # As git keeps it: a filter would be started for each.
            data = self._read_kept(change, taken)
        return OldFile(change.path, change.left, data)

    def _new_file(self, change: TreeChange) -> OldFile:
        data = b""
        if (_size(change.right) or 0) <= MOST_BYTES:
            with suppress(SidesFailure):
                data = self.read_right(change).data
        return OldFile(change.path, (change.path, change.right), data)

    def read_left(self, change: TreeChange, taken: Taken) -> TreeContent:
        """What was at the beginning. Raises SidesFailure."""
        left = change.left
        if left.mode not in (*FILES, LINK):
            return TreeContent(left.mode)
        if left.object and left.mode in FILES and self._filtered.has_filter(change.old_path):
            return TreeContent(left.mode, self._read_filtered(change.old_path, left.object))
        return TreeContent(left.mode, self._read_kept(change, taken))

    def _read_kept(self, change: TreeChange, taken: Taken) -> bytes:
        left = change.left
        if left.digest:
            data = taken.read_text(left.digest)
        else:
            data = self._objects.get(left.object)
            if data is None:
                data = self.read_objects([left.object]).get(left.object)
        if data is None:
            raise SidesFailure(NOT_KNOWN)
        return data

    def _read_filtered(self, path: str, id: str) -> bytes:
        if self._git is None:
            raise SidesFailure(NOT_KNOWN)
        try:
            return self._filtered.read_object(self._git_at_root(self._git), path, id)
        except GitFailure as error:
            raise SidesFailure(str(error)) from error

    def _git_at_root(self, git: FileGit) -> FileGit:
        """git in the user's own files, whose attributes no agent has written."""
        return replace(git, places=replace(git.places, root=self.tree.root))

    def read_right(self, change: TreeChange) -> TreeContent:
        """What is in the tree now. Raises SidesFailure."""
        return read_side(self.tree.path, change.path)

    def prepare_sides(self, changes: Iterable[TreeChange]) -> None:
        """Read what the beginning has of all of them at once. Raises GitFailure."""
        changes = [change for change in changes if change.left.object]
        if self._git is not None:
            paths = [change.old_path for change in changes if change.left.mode in FILES]
            self._filtered.look_at(self._git_at_root(self._git), paths)
        wanted = [change.left.object for change in changes]
        self._objects.update(self.read_objects([id for id in wanted if id not in self._objects]))

    def read_objects(self, ids: Sequence[str]) -> dict[str, bytes]:
        """The contents of these objects, without those that are missing or too large. Raises
        GitFailure."""
        sizes = _sizes_of(self.tree.root, list(dict.fromkeys(ids)))
        room, wanted = KEPT, []
        for id, size in sizes.items():
            if size <= min(LIMIT, room):
                wanted.append(id)
                room -= size
        if not wanted:
            return {}
        told = "".join(f"{id}\n" for id in wanted).encode("ascii")
        return dict(_objects_in(run_git(self.tree.root, "cat-file", "--batch", told=told)))

    def digest_of(self, root: str, path: str, found: Found) -> str:
        """The digest of the file or link there; of what cannot be read, or is another thing, that
        of its mark."""
        key = root, path, found.mark
        if key not in self._digests:
            content = NOTHING
            with suppress(OSError):
                content = read_content(root, path)
            is_known = content.mode == found.mode and found.mode in (*FILES, LINK)
            self._digests[key] = content_digest(content.data) if is_known else mark_digest(found)
        return self._digests[key]

    # What git says.

    def _differences(self) -> Iterator[TreeChange]:
        rows = self._read_status().split(b"\0")
        listed: set[str] = set()
        for row in rows:
            kind, _, rest = row.partition(b" ")
            if kind == b"?":
                path, left = os.fsdecode(rest), Left()
            elif kind == b"1":
                # What is before the path: the state, that of a repository in it, three modes, and
                # the ids of two objects. The first letter of the state compares with HEAD.
                fields = rest.split(b" ", 7)
                if fields[0][1:] == b".":
                    continue
                mode = fields[3].decode("ascii")
                path, left = os.fsdecode(fields[7]), Left(mode, fields[6].decode("ascii"))
            else:
                continue
            listed.add(path)
            yield self._change_at(path, left)
        for path in self._forced_paths():
            if path not in listed:
                yield self._change_at(path, Left())
        for path in sorted(self._unread - listed):
            found = self.look(self.tree.path, path)
            right = found if found.mode == OTHER else Found(OTHER, None)
            yield TreeChange(path, path, Left(), right, _NONE)

    def _change_at(self, path: str, left: Left) -> TreeChange:
        if path.endswith("/"):
            # A repository in the tree, of which git lists no files.
            right = Found(REPOSITORY, self.look(self.tree.path, path[:-1]).mark)
            return TreeChange(path[:-1], path[:-1], left, right, _NONE)
        right = self.look(self.tree.path, path)
        if left.mode == REPOSITORY and right.mode == OTHER:
            right = Found(REPOSITORY, right.mark)
        own = self.look(self.tree.root, path)
        return TreeChange(path, path, left, right, own)

    def look(self, root: str, path: str) -> Found:
        """What stands there."""
        try:
            return look_at(root, path)
        except OSError:
            # Such a path is in no tree, or behind a link.
            return Found(OTHER, None)

    def _is_change(self, change: TreeChange) -> bool:
        """Whether there is a difference of which the user does not have all."""
        left, right, own = change.left, change.right, change.own
        if left.digest and left.mode == right.mode:
            # The user has decided on it as it is.
            if self.digest_of(self.tree.path, change.path, right) == left.digest:
                return False
        if not is_safe_path(change.path):
            return True
        if right.mode == LINK and left.mode == ABSENT and change.path in self.tree.carried:
            # To ignored files of the user's. Git ignores some folders only where they are none.
            return False
        if right.mode == ABSENT:
            return left.mode != ABSENT and own.mode != ABSENT
        if own.mode == right.mode and _size(own) == _size(right) and right.mode != OTHER:
            mine = self.digest_of(self.tree.root, change.path, own)
            return mine != self.digest_of(self.tree.path, change.path, right)
        return True

    def _read_status(self) -> bytes:
        index = os.path.join(self.folder, f"index-{self.tree.beginning}")
        for is_last in (False, True):
            try:
                git = self._open_git(index)
                if not os.path.exists(index):
                    git.run("read-tree", self.tree.beginning)
                words = [word for setting in SETTINGS for word in ("-c", setting)]
                given = {"GIT_OPTIONAL_LOCKS": "1"}
                self._unread.clear()
                watch = Watch(self._hear_error)
                return git.run(*words, *STATUS, seconds=PATIENCE, watch=watch, variables=given)
            except GitStuck:
                raise
            except GitFailure:
                if is_last:
                    raise
                logger.warning("the index of a work tree is made anew")
                self.close()
                with suppress(OSError):
                    os.remove(index)
        return b""

    def _hear_error(self, line: str) -> None:
        match = UNREAD.fullmatch(line)
        if match:
            self._unread.add(match["folder"] or match["file"])

    def _open_git(self, index: str) -> FileGit:
        _remove_lock(index + ".lock")
        if self._git is None:
            tree = self.tree
            # The settings are those of the user's own tree: what the agent's folder says its
            # repository is may be another one by now.
            places = GitPlaces(tree.root, tree.admin_folder or tree.git_folder, tree.git_folder)
            git = self._open.enter_context(open_file_git(places, self.folder, index))
            _set_head(git.folder, tree.beginning)
            self._git = replace(git, places=replace(places, root=tree.path))
        return self._git

    def _forced_paths(self) -> tuple[str, ...]:
        """What is new in the agent's own index: ignored files that it has added all the same."""
        index = os.path.join(self.tree.admin_folder or os.devnull, "index")
        try:
            status = os.stat(index)
        except OSError:
            return ()
        if not stat.S_ISREG(status.st_mode):
            return ()
        mark = status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
        if self._forced[0] != mark and self._git is not None:
            words, given = (*NEW_IN_INDEX, self.tree.beginning), {"GIT_INDEX_FILE": index}
            told = b""
            with suppress(GitFailure):
                told = self._git.run(*words, seconds=READING, variables=given)
            names = (os.fsdecode(name) for name in told.split(b"\0") if name)
            self._forced = mark, tuple(names)
        there = (name for name in self._forced[1] if self.look(self.tree.path, name).mark)
        return tuple(there)

    def _forget_others(self, changes: Sequence[TreeChange], taken: Taken) -> None:
        """Of what is over, nothing is kept."""
        ids = {change.left.object for change in changes}
        self._objects = {id: data for id, data in self._objects.items() if id in ids}
        paths = {change.path for change in changes}.union(taken.decided)
        self._digests = {key: found for key, found in self._digests.items() if key[1] in paths}
        self._filtered.forget_others((change.old_path for change in changes), KEPT)


_NONE = Found(ABSENT, None)


def mark_digest(found: Found) -> str:
    """What stands for the digest of a content that is not read."""
    return content_digest(repr(tuple(found)).encode("ascii"))


def read_side(root: str, path: str) -> TreeContent:
    """What is at the path. Raises SidesFailure."""
    try:
        return read_content(root, path)
    except OSError as error:
        raise SidesFailure(f"The file cannot be read: {error.strerror}.") from error


def _is_file(left: Left, right: Found, own: Found) -> bool:
    """Whether it is a file that is gone from the tree, and that the user has."""
    return left.mode in FILES and right.mode == ABSENT and own.mode in FILES


def _is_new_file(change: TreeChange) -> bool:
    is_new = change.left.mode == ABSENT and change.own.mode == ABSENT
    return is_new and change.right.mode in FILES and is_safe_path(change.path)


def _size(found: Found) -> int | None:
    return found.mark[2] if found.mark is not None else None


def _sizes_of(root: str, ids: Sequence[str]) -> Mapping[str, int]:
    if not ids:
        return {}
    told = "".join(f"{id}\n" for id in ids).encode("ascii")
    lines = run_git(root, "cat-file", "--batch-check", told=told).decode("ascii").splitlines()
    rows = (line.split(" ") for line in lines)
    return {row[0]: int(row[2]) for row in rows if len(row) == 3 and row[1] == "blob"}


def _objects_in(told: bytes) -> Iterator[tuple[str, bytes]]:
    at = 0
    while at < len(told):
        end = told.index(b"\n", at)
        head = told[at:end].decode("ascii").split(" ")
        at = end + 1
        if len(head) == 3:
            size = int(head[2])
            yield head[0], told[at : at + size]
            at += size + 1


def _set_head(folder: str, commit: str) -> None:
    """Let git compare the index with the commit that it is made of. Raises GitFailure."""
    try:
        with open(os.path.join(folder, "HEAD"), "w", encoding="ascii") as file:
            file.write(f"{commit}\n")
    except (OSError, UnicodeEncodeError) as error:
        raise GitFailure(f"There can be no folder for git in {folder}: {error}.") from error


def _remove_lock(path: str) -> None:
    """Remove the lock of an index that somebody has left who was killed."""
    with suppress(OSError):
        # Its time may be in the future, if the clock was set back.
        if abs(time.time() - os.stat(path).st_mtime) > ABANDONED:
            os.remove(path)
