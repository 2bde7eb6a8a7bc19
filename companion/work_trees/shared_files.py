"""The small files of a git folder, read again and again: one that was not written since is not
read. Strangers write there too, so all is bounded, and no link leads further than to a regular
file.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from contextlib import suppress
from typing import Callable, Dict, Iterator, Tuple

from ..base.regular_file import read_regular

# The most bytes of a file.
MAX_FILE = 4 << 20
# The most bytes that are read in one look.
MAX_BYTES = 64 << 20
# The most files below one folder, and folders in each other.
MAX_FILES, MAX_DEPTH = 50_000, 20
# Nanoseconds after which the times of a file tell whether it was written again.
SURE = 2_000_000_000

Stamp = Tuple[int, ...]
# What was read, by names, each with the times of the file.
Kept = Dict[str, Tuple[Stamp, str]]


class SharedFiles:
    """Files below the git folder at `path`, named relative to it with slashes. For one thread at a
    time. `is_whole` is False as soon as there was more than is looked at."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.is_whole = True
        self._texts: Kept = {}
        self._digests: Kept = {}
        self._left = MAX_BYTES

    def begin_look(self) -> None:
        """What is read from now on belongs together."""
        self.is_whole, self._left = True, MAX_BYTES

    def at(self, name: str) -> str:
        return os.path.join(self.path, name)

    def read_text(self, name: str, status: os.stat_result | None = None) -> str:
        """The text of a file without the last line end; "" if there is none. Of one that is too
        large, its size and time."""
        return self._known(self._texts, name, status, _text_of)

    def digest_file(self, name: str) -> str:
        """A digest of the file, with its mode and where it leads if it is a link; "" if there is
        none."""
        return self._known(self._digests, name, None, _digest_of)

    def stamp_of(self, name: str) -> Stamp:
        """What changes when the file is written; () if that is not sure, or if there is none."""
        with suppress(OSError):
            return _stamp_of(os.lstat(self.at(name)))
        return ()

    def walk_files(self, top: str) -> Iterator[tuple[str, os.stat_result]]:
        """The files below the folder, by their names with it. No link is followed."""
        left, count = [(top, 0)], 0
        while left:
            folder, depth = left.pop()
            for entry in self._entries(folder):
                name = f"{folder}/{entry.name}"
                count += 1
                if count > MAX_FILES or depth > MAX_DEPTH:
                    self.is_whole = False
                    return
                if entry.is_dir(follow_symlinks=False):
                    left.append((name, depth + 1))
                    continue
                with suppress(OSError):
                    yield name, entry.stat(follow_symlinks=False)

    def list_folders(self, top: str) -> list[str]:
        """The names of the folders in it, without it."""
        found = (entry for entry in self._entries(top) if entry.is_dir(follow_symlinks=False))
        return sorted(entry.name for entry in found)

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        with suppress(OSError), os.scandir(self.at(folder)) as found:
            return list(found)
        return []

    def _known(
        self,
        kept: Kept,
        name: str,
        status: os.stat_result | None,
        read: Callable[[str, os.stat_result], str],
    ) -> str:
        try:
            status = status or os.lstat(self.at(name))
            stamp = _stamp_of(status)
            known, value = kept.get(name, ((), ""))
            if stamp and stamp == known:
                return value
            self._left -= status.st_size
            if status.st_size > MAX_FILE or self._left < 0:
                self.is_whole = False
                return f"unread: {status.st_size} {status.st_mtime_ns}"
            value = read(self.at(name), status)
            kept[name] = stamp, value
            return value
        except FileNotFoundError:
            kept.pop(name, None)
            return ""
        except OSError as error:
            return f"unreadable: {error.errno}"


def digest_bytes(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _text_of(path: str, status: os.stat_result) -> str:
    return os.fsdecode(read_regular(path, MAX_FILE)).rstrip("\r\n")


def _digest_of(path: str, status: os.stat_result) -> str:
    facts = f"{status.st_mode:o}".encode("ascii")
    if stat.S_ISLNK(status.st_mode):
        facts += os.fsencode(os.readlink(path))
    return digest_bytes(facts + b"\0" + read_regular(path, MAX_FILE))


def _stamp_of(status: os.stat_result) -> Stamp:
    changed = max(status.st_ctime_ns, status.st_mtime_ns)
    if stat.S_ISLNK(status.st_mode) or changed > time.time_ns() - SURE:
        # The target has times of its own, and those of a file that was just written may stay the
        # same over another write.
        return ()
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_mode)
