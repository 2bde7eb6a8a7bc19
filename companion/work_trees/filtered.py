"""What the user's own filters make of what git keeps of a file, such as a large content in place of
its name, or a text in place of an encrypted one: a work tree has files in that form. Blocks."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Iterable

from .file_git import FileGit
from .git import READING, GitFailure, Watch
from .inside import LIMIT

CHECK = "check-attr", "-z", "--stdin", "filter"
# What git tells of a file without a filter.
NONE = (b"unspecified", b"unset")
TOO_LARGE = "What the file was at the beginning has more than {} MiB."


@dataclass
class FilteredFiles:
    """The files of one tree, by their paths."""

    # Whether a file has a filter, and what that made of an object.
    _known: dict[str, bool] = field(default_factory=dict)
    _contents: dict[tuple[str, str], bytes] = field(default_factory=dict)

    def look_at(self, git: FileGit, paths: Iterable[str]) -> None:
        """Find out which of these have a filter, whether the user has that or not. Raises
        GitFailure."""
        new = [path for path in paths if path not in self._known]
        if not new:
            return
        told = git.run(*CHECK, told=b"\0".join(map(os.fsencode, new)) + b"\0", seconds=READING)
        fields = told.split(b"\0")
        for path, value in zip(fields[::3], fields[2::3]):
            self._known[os.fsdecode(path)] = value not in NONE

    def has_filter(self, path: str) -> bool:
        return self._known.get(path, False)

    def read_object(self, git: FileGit, path: str, id: str) -> bytes:
        """The content of the object as the file at the path has it. Raises GitFailure, also if it
        is too large."""
        data = self._contents.get((path, id))
        if data is not None:
            return data
        pieces: list[bytes] = []
        room = LIMIT

        def take(piece: bytes) -> None:
            nonlocal room
            room -= len(piece)
            if room < 0:
                raise GitFailure(TOO_LARGE.format(LIMIT >> 20))
            pieces.append(piece)

        words = "cat-file", "--filters", f"--path={path}", id
        git.run(*words, seconds=READING, watch=Watch(take_output=take))
        data = self._contents[path, id] = b"".join(pieces)
        return data

    def forget_others(self, paths: Iterable[str], room: int) -> None:
        """Keep only what is known of these paths, and of the contents not more bytes than that."""
        wanted = set(paths)
        self._known = {path: known for path, known in self._known.items() if path in wanted}
        kept: dict[tuple[str, str], bytes] = {}
        # Other threads read meanwhile.
        for key, data in list(self._contents.items()):
            if key[0] in wanted and len(data) <= room:
                kept[key] = data
                room -= len(data)
        self._contents = kept
