"""The refs and the stash of a repository, read without git where its files have them."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import Mapping

from ..base.regular_file import open_regular, read_regular
from .creation import BEGINNING
from .git import GitFailure, run_git
from .shared_files import SharedFiles, Stamp, digest_bytes

# The most bytes of the file that has most refs, and of the end of the stash's list.
MAX_PACKED, MAX_STASH = 16 << 20, 1 << 20
# The most refs.
MAX_REFS = 100_000
# Refs of the first work tree alone, and ours.
NOT_SHARED = ("refs/worktree/", "refs/bisect/", "refs/rewritten/", BEGINNING)
STASH = "refs/stash"
# The content of a ref. Of another one, a digest stands for it.
CONTENT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}|ref: refs/[^\0-\x20]{1,500}")


class SharedRefs:
    """Reads them again and again, for one thread at a time."""

    def __init__(self, files: SharedFiles) -> None:
        self._files = files
        self._packed: tuple[Stamp, Mapping[str, str]] = ((), {})

    def read_refs(self) -> dict[str, str]:
        """What each ref says, by its full name: an id, or another ref."""
        if os.path.isdir(self._files.at("reftable")):
            found = self._ask_for_refs()
        else:
            found = {**self._read_packed(), **self._read_loose()}
        return {name: id for name, id in found.items() if not name.startswith(NOT_SHARED)}

    def read_stash(self) -> dict[str, str]:
        """The messages of the entries by their ids: the list is the log of their ref."""
        found = {}
        for line in self._read_end("logs/" + STASH).split("\n"):
            head, _, message = line.partition("\t")
            ids = head.split(" ", 2)
            if len(ids) == 3:
                found[ids[1]] = message
        return found

    def _read_packed(self) -> Mapping[str, str]:
        stamp = self._files.stamp_of("packed-refs")
        if stamp and stamp == self._packed[0]:
            return self._packed[1]
        lines: list[bytes] = []
        try:
            lines = read_regular(self._files.at("packed-refs"), MAX_PACKED).splitlines()
        except FileNotFoundError:
            pass
        except OSError:
            self._files.is_whole = False
        self._files.is_whole &= len(lines) <= MAX_REFS
        parted = (line.partition(b" ") for line in lines[:MAX_REFS] if line[:1] not in (b"#", b"^"))
        found = {os.fsdecode(name): id.decode("ascii", "replace") for id, _, name in parted if name}
        self._packed = (stamp, found)
        return found

    def _read_loose(self) -> dict[str, str]:
        return {
            name: said_by(self._files.read_text(name, status))
            for name, status in self._files.walk_files("refs")
            if not name.endswith(".lock") and not name.startswith(NOT_SHARED)
        }

    def _ask_for_refs(self) -> dict[str, str]:
        """Of a repository that keeps them in another form."""
        words = ("for-each-ref", "--format=%(objectname) %(refname)", f"--count={MAX_REFS}")
        try:
            told = os.fsdecode(run_git(self._files.path, *words)).splitlines()
        except GitFailure:
            self._files.is_whole = False
            return {}
        return {name: id for id, _, name in (line.partition(" ") for line in told)}

    def _read_end(self, name: str) -> str:
        """The last lines of the file."""
        with suppress(OSError), open_regular(self._files.at(name)) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - MAX_STASH))
            if size > MAX_STASH:
                self._files.is_whole = False
                file.readline(MAX_STASH)
            return os.fsdecode(file.read(MAX_STASH))
        return ""


def said_by(text: str) -> str:
    """What a ref says, if it is one."""
    return text if CONTENT.fullmatch(text) else "unknown " + digest_bytes(os.fsencode(text))
