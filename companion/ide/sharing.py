"""Decides which of a window's files its CLIs may be told. Everything in the context passes this
check. Never asks the editor; only `Gate` asks the disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Callable, Sequence

from ..base.path_patterns import IGNORE_CASE, comparable_path, is_matched

# Files that contain secrets, by their names: environments, private keys and certificates, password
# stores, logins of tools.
SECRETS = (
    ".env*", "*.pem", "*.key", "*.p12", "*.pfx", "*.p8", "*.der", "*.crt", "*.cer", "*.jks",
    "*.keystore", "*.ppk", "*.asc", "*.gpg", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*",
    ".ssh/", ".gnupg/", "*.kdbx", "*.kdb", ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass",
    ".htpasswd", ".git-credentials", "credentials*", ".aws/", ".azure/", ".docker/config.json",
    ".kube/config",
)  # fmt: skip

# Why a file is held back.
PAUSED = "paused"
EXCLUDED = "excluded"
OUTSIDE = "outside"
# Or it is not on disk.
MISSING = "missing"

# Used as `exclude`, it holds every file back: an unreadable pattern could have meant any file.
UNREADABLE = ("",)


@dataclass(frozen=True)
class Sharing:
    """What the user wants CLIs to be told about one window.

    `exclude` are patterns (docs/settings.md, "exclude"). The last pattern that matches a path
    decides. An excluded path is never sent. If a pattern cannot be read, nothing is sent.
    """

    paused: bool = False
    exclude: tuple[str, ...] = SECRETS
    only_project_files: bool = False
    ignore_case: bool = IGNORE_CASE

    def reason_to_hide(self, path: str, folders: Sequence[str]) -> str:
        """Why a file is held back: PAUSED, EXCLUDED or OUTSIDE; empty if it may be sent.

        `path` and `folders`, those of the window, are absolute. A link has two paths, its own and
        that of its target: ask for both.
        """
        return PAUSED if self.paused else _reason_to_hide(self, path, tuple(folders))

    def excludes(self, path: str, folders: Sequence[str]) -> bool:
        """Whether the patterns hold the file back, whatever is paused."""
        return _reason_to_hide(self, path, tuple(folders)) == EXCLUDED


@dataclass(frozen=True)
class Gate:
    """Which files the CLIs may be told, by the rules of one moment; on any thread. `folders` are
    the window's, and where their links lead."""

    sharing: Sharing
    folders: tuple[str, ...]
    exists: Callable[[str], bool]
    target: Callable[[str], str]

    def reason_to_hide(self, path: str) -> str:
        """Why the file is left out, empty if it may be told. Asks the disk."""
        reason = self.sharing.reason_to_hide(path, self.folders)
        if reason:
            return reason
        target = follow_links(path, self.target) if self.exists(path) else ""
        return self.sharing.reason_to_hide(target, self.folders) if target else MISSING


def follow_links(path: str, target: Callable[[str], str]) -> str:
    """The file that links lead to; empty if they cannot be followed."""
    try:
        return target(path)
    except OSError:
        return ""


# Without the cache, thousands of tabs that are held back would add a tenth of a second and more to
# an update.
@lru_cache(maxsize=16384)
def _reason_to_hide(sharing: Sharing, path: str, folders: tuple[str, ...]) -> str:
    if is_matched(path, folders, sharing.exclude, sharing.ignore_case):
        return EXCLUDED
    if not sharing.only_project_files:
        return ""
    name = comparable_path(path, sharing.ignore_case)
    roots = (comparable_path(folder, sharing.ignore_case).rstrip("/") + "/" for folder in folders)
    return "" if any(map(name.startswith, roots)) else OUTSIDE
