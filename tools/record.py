"""What was put into a data folder, so that just this can be taken away; never touches the rest."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from typing import Dict, List, Mapping

NAME = "GeminiCompanion-installed.json"
# Ends the name of a file that is not yet written to its end.
NEW = ".new"


class Damaged(Exception):
    """Nobody knows any more what was put there: a sentence for the user."""


class Record:
    """Paths are relative to the data folder, with forward slashes. All methods raise OSError, and
    reading it Damaged.

    `libraries` says which ones each plugin host got; saved with the rest.
    """

    def __init__(self, data: str) -> None:
        self._data = data
        self._files: Dict[str, str] = {}
        # What is about to be put: until it stands there, what was there before is ours as well.
        self._pending: Dict[str, str] = {}
        self._links: Dict[str, str] = {}
        self._folders: List[str] = []
        self.libraries: Dict[str, List[str]] = {}
        self._load_list()

    def _load_list(self) -> None:
        try:
            with open(self.full(NAME), encoding="utf-8") as file:
                content = json.load(file)
            self._files, self._links = dict(content["files"]), dict(content["links"])
            self._pending = dict(content.get("pending", {}))
            self._folders = list(content["folders"])
            self.libraries = dict(content["libraries"])
        except FileNotFoundError:
            return
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Damaged(
                "%s is damaged. It is the list of what make install put there.\n"
                "Take that away by hand, and the list with it, then try again." % self.full(NAME)
            ) from None

    def save(self) -> None:
        """An empty record leaves no file, and folders of ours go when they are empty."""
        self._remove_folders()
        if self._files or self._pending or self._links:
            self._store_list()
            return
        for path in (self.full(NAME), self.full(NAME) + NEW):
            if os.path.exists(path):
                os.remove(path)

    def _store_list(self) -> None:
        content = {
            "files": self._files,
            "pending": self._pending,
            "links": self._links,
            "folders": self._folders,
            "libraries": self.libraries,
        }
        self._write_file(self.full(NAME), json.dumps(content, indent=1, sort_keys=True).encode())

    def full(self, path: str) -> str:
        return os.path.join(self._data, *path.split("/"))

    def paths(self, start: str = "") -> List[str]:
        known = {**self._files, **self._pending, **self._links}
        return sorted(path for path in known if path.startswith(start))

    # What there is

    def is_there(self, path: str) -> bool:
        return os.path.lexists(self.full(path))

    def is_ours(self, path: str) -> bool:
        """There, put there by us, and as we left it."""
        full = self.full(path)
        if path in self._links:
            return _link_target(full) == self._links[path]
        digests = (self._files.get(path), self._pending.get(path))
        return any(digests) and os.path.isfile(full) and _file_digest(full) in digests

    # What changes

    def put(self, contents: Mapping[str, bytes]) -> bool:
        """Write files; False where all stand there already.

        They are noted on disk before the first one is written, so that whatever a run leaves that
        breaks off can be gone on with, and taken away.
        """
        digests = {path: hashlib.sha256(data).hexdigest() for path, data in contents.items()}
        new = [
            path
            for path in contents
            if not (self.is_ours(path) and self._has_digest(path, digests[path]))
        ]
        if new:
            self._pending.update((path, digests[path]) for path in new)
            for path in new:
                self._note_folders(os.path.dirname(path))
            self._store_list()
        for path in new:
            self._write_file(self.full(path), contents[path])
        for path in contents:
            self._files[path] = digests[path]
            self._pending.pop(path, None)
        return bool(new)

    def _has_digest(self, path: str, digest: str) -> bool:
        return _file_digest(self.full(path)) == digest

    def link(self, path: str, target: str) -> bool:
        """Link a folder; False where the link stands there already."""
        if self.is_ours(path) and self._links.get(path) == target:
            return False
        self._note_folders(os.path.dirname(path))
        self._links[path] = target
        self._store_list()
        os.makedirs(os.path.dirname(self.full(path)), exist_ok=True)
        if os.name == "nt":
            # A symbolic link needs rights that few users have there; a junction needs none.
            subprocess.check_call(["cmd", "/c", "mklink", "/J", self.full(path), target])
        else:
            os.symlink(target, self.full(path))
        return True

    def remove(self, path: str) -> bool:
        """Forget it; False where the user changed it since and it therefore stays."""
        ours = self.is_ours(path)
        stays = self.is_there(path) and not ours
        if ours:
            os.unlink(self.full(path))
            self._remove_compiled(path)
        if path in self._pending and os.path.exists(self.full(path) + NEW):
            os.remove(self.full(path) + NEW)
        self._files.pop(path, None)
        self._pending.pop(path, None)
        self._links.pop(path, None)
        return not stays

    def _remove_compiled(self, path: str) -> None:
        """What a plugin host compiled from a file of ours is ours, too."""
        if not path.endswith(".py"):
            return
        folder, name = os.path.split(self.full(path))
        cache = os.path.join(folder, "__pycache__")
        for compiled in os.listdir(cache) if os.path.isdir(cache) else []:
            if compiled.startswith(name[:-3] + ".") and compiled.endswith(".pyc"):
                os.remove(os.path.join(cache, compiled))
        if os.path.isdir(cache) and not os.listdir(cache):
            os.rmdir(cache)

    def _note_folders(self, folder: str) -> None:
        """The folders that will be made."""
        parts = folder.split("/") if folder else []
        for count in range(1, len(parts) + 1):
            path = "/".join(parts[:count])
            if path not in self._folders and not os.path.isdir(self.full(path)):
                self._folders.append(path)

    def _remove_folders(self) -> None:
        """An empty one left behind in Lib would be imported as a library without content."""
        for path in sorted(self._folders, key=len, reverse=True):
            full = self.full(path)
            if os.path.isdir(full) and not os.listdir(full):
                os.rmdir(full)
        self._folders = [path for path in self._folders if os.path.isdir(self.full(path))]

    def _write_file(self, full: str, content: bytes) -> None:
        """Sublime Text may look at any moment: it sees the whole file or none."""
        os.makedirs(os.path.dirname(full), exist_ok=True)
        try:
            with open(full + NEW, "wb") as file:
                file.write(content)
            os.replace(full + NEW, full)
        finally:
            if os.path.exists(full + NEW):
                os.remove(full + NEW)


def _file_digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def _link_target(path: str) -> str | None:
    """Where a link or a junction leads; None for anything else."""
    try:
        target = os.readlink(path)
    except (OSError, ValueError):
        return None
    # Windows answers with a prefix for long paths.
    return target[4:] if sys.platform == "win32" and target.startswith("\\\\?\\") else target
