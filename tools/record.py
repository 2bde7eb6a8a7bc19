"""What was put into a data folder, so that just this can be taken away; never touches the rest."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from typing import Dict, List

NAME = "GeminiCompanion-installed.json"


class Record:
    """Paths are relative to the data folder, with forward slashes. All methods raise OSError.

    `libraries` says which ones each plugin host got; saved with the rest.
    """

    def __init__(self, data: str) -> None:
        self._data = data
        self._files: Dict[str, str] = {}
        self._links: Dict[str, str] = {}
        self._folders: List[str] = []
        self.libraries: Dict[str, List[str]] = {}
        self._load()

    def _load(self) -> None:
        try:
            with open(self.full(NAME), encoding="utf-8") as file:
                content = json.load(file)
        except FileNotFoundError:
            return
        self._files, self._links = content["files"], content["links"]
        self._folders, self.libraries = content["folders"], content["libraries"]

    def save(self) -> None:
        """An empty record leaves no file, and folders of ours go when they are empty."""
        self._remove_folders()
        if not self._files and not self._links:
            if os.path.exists(self.full(NAME)):
                os.remove(self.full(NAME))
            return
        content = {
            "files": self._files,
            "links": self._links,
            "folders": self._folders,
            "libraries": self.libraries,
        }
        self._write(self.full(NAME), json.dumps(content, indent=1, sort_keys=True).encode())

    def full(self, path: str) -> str:
        return os.path.join(self._data, *path.split("/"))

    def paths(self, start: str = "") -> List[str]:
        return sorted(path for path in (*self._files, *self._links) if path.startswith(start))

    # What there is

    def is_there(self, path: str) -> bool:
        return os.path.lexists(self.full(path))

    def is_ours(self, path: str) -> bool:
        """There, put there by us, and as we left it."""
        full = self.full(path)
        if path in self._links:
            return _target(full) == self._links[path]
        return path in self._files and os.path.isfile(full) and _digest(full) == self._files[path]

    # What changes

    def put(self, path: str, content: bytes) -> bool:
        """Write a file; False where it stands there already. Noted first: nothing gets lost."""
        if self.is_ours(path) and self._files.get(path) == hashlib.sha256(content).hexdigest():
            return False
        self._make_folders(os.path.dirname(path))
        self._files[path] = hashlib.sha256(content).hexdigest()
        self._write(self.full(path), content)
        return True

    def link(self, path: str, target: str) -> bool:
        """Link a folder; False where the link stands there already."""
        if self.is_ours(path) and self._links.get(path) == target:
            return False
        self._make_folders(os.path.dirname(path))
        self._links[path] = target
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
        self._files.pop(path, None)
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

    def _make_folders(self, folder: str) -> None:
        """Missing ones, noted from the outermost inwards."""
        parts = folder.split("/") if folder else []
        for count in range(1, len(parts) + 1):
            path = "/".join(parts[:count])
            if not os.path.isdir(self.full(path)):
                os.makedirs(self.full(path))
                self._folders.append(path)

    def _remove_folders(self) -> None:
        """An empty one left behind in Lib would be imported as a library without content."""
        for path in sorted(self._folders, key=len, reverse=True):
            full = self.full(path)
            if os.path.isdir(full) and not os.listdir(full):
                os.rmdir(full)
        self._folders = [path for path in self._folders if os.path.isdir(self.full(path))]

    def _write(self, full: str, content: bytes) -> None:
        """Sublime Text may look at any moment: it sees the whole file or none."""
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full + ".new", "wb") as file:
            file.write(content)
        os.replace(full + ".new", full)


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def _target(path: str) -> str | None:
    """Where a link or a junction leads; None for anything else."""
    try:
        target = os.readlink(path)
    except (OSError, ValueError):
        return None
    # Windows answers with a prefix for long paths.
    return target[4:] if sys.platform == "win32" and target.startswith("\\\\?\\") else target
