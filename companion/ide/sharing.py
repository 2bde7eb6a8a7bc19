"""Decides which of a window's files its CLIs may be told. Everything in the context passes this
check. Never asks the editor; only `Gate` asks the disk.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Callable, Iterator, Sequence

# Whether names that differ only in case are the same file, as on most disks of these systems.
IGNORE_CASE = sys.platform in ("darwin", "win32")

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

_TOKEN = re.compile(r"\[([!^]?)([^\]]+)\]|\*+|.", re.DOTALL)


def problem_of(pattern: object) -> str:
    """What is wrong with a pattern, as the end of a sentence; empty if nothing is.

    >>> problem_of("keys/[a-")
    'has a "[" without its "]"'
    """
    return _problem_of(pattern) if isinstance(pattern, str) else "is not a text"


@lru_cache(maxsize=256)
def _problem_of(pattern: str) -> str:
    body = pattern[1:] if pattern.startswith("!") else pattern
    if not body.strip("/ "):
        return "is empty"
    if body != body.strip():
        return "begins or ends with a space"
    if "\\" in body:
        return 'has a backslash; use "/" between folders'
    inner = (body[1:] if body.startswith("/") else body)[: -1 if body.endswith("/") else None]
    if any(part in ("", ".", "..") for part in inner.split("/")):
        return 'has a part that is empty, "." or ".."'
    tokens = [token for part in inner.split("/") for token in _TOKEN.finditer(part)]
    if any(token.group() == "[" for token in tokens):
        return 'has a "[" without its "]"'
    if any("--" in (token.group(2) or "") for token in tokens):
        return 'has "--" between brackets'
    try:
        re.compile(_expression(body, IGNORE_CASE))
    except re.error:
        return "has a range that runs backwards"
    return ""


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

    def reason(self, path: str, folders: Sequence[str]) -> str:
        """Why a file is held back: PAUSED, EXCLUDED or OUTSIDE; empty if it may be sent.

        `path` and `folders`, those of the window, are absolute. A link has two paths, its own and
        that of its target: ask for both.
        """
        return PAUSED if self.paused else _reason(self, path, tuple(folders))


@dataclass(frozen=True)
class Gate:
    """Which files the CLIs may be told, by the rules of one moment; on any thread. `folders` are
    the window's, and where their links lead."""

    sharing: Sharing
    folders: tuple[str, ...]
    exists: Callable[[str], bool]
    target: Callable[[str], str]

    def reason(self, path: str) -> str:
        """Why the file is left out, empty if it may be told. Asks the disk."""
        reason = self.sharing.reason(path, self.folders)
        if reason:
            return reason
        target = followed(path, self.target) if self.exists(path) else ""
        return self.sharing.reason(target, self.folders) if target else MISSING


def followed(path: str, target: Callable[[str], str]) -> str:
    """The file that links lead to; empty if they cannot be followed."""
    try:
        return target(path)
    except OSError:
        return ""


# Without the cache, thousands of tabs that are held back would add a tenth of a second and more to
# an update.
@lru_cache(maxsize=16384)
def _reason(sharing: Sharing, path: str, folders: tuple[str, ...]) -> str:
    name = _comparable(path, sharing.ignore_case)
    roots = [_comparable(folder, sharing.ignore_case).rstrip("/") for folder in folders]
    inner = [name[len(root) :] for root in roots if name.startswith(root + "/")]
    names = [name, *inner]
    for lets_through, pattern in _compiled(sharing.exclude, sharing.ignore_case):
        if any(pattern.search(each) for each in names):
            if lets_through:
                break
            return EXCLUDED
    return OUTSIDE if sharing.only_project_files and not inner else ""


@lru_cache(maxsize=64)
def _compiled(
    patterns: tuple[str, ...], ignore_case: bool
) -> tuple[tuple[bool, re.Pattern[str]], ...]:
    """Each run of patterns of one kind as one expression, and whether it lets a path through; the
    last first."""
    if any(problem_of(pattern) for pattern in patterns):
        return ((False, re.compile("")),)
    return tuple(
        (lets_through, re.compile("|".join(_expressions(group, ignore_case)), re.DOTALL))
        for lets_through, group in groupby(
            reversed(patterns), key=lambda pattern: pattern.startswith("!")
        )
    )


def _expressions(patterns: Iterator[str], ignore_case: bool) -> Iterator[str]:
    for pattern in patterns:
        yield _expression(pattern[1:] if pattern.startswith("!") else pattern, ignore_case)


def _expression(pattern: str, ignore_case: bool) -> str:
    """A regular expression for paths as `_comparable` gives them."""
    start, rest = "/", _folded(pattern, ignore_case)
    if rest == "~" or rest.startswith("~/"):
        home = _comparable(os.path.expanduser("~"), ignore_case)
        start, rest = "^" + re.escape(home.rstrip("/")) + "/", rest[2:] or "**"
    elif rest.startswith("/") or re.match("[A-Za-z]:/", rest):
        # From the root of the system, of a Windows drive, or of a folder of the window.
        start, rest = "^(?:/[A-Za-z]:)?/" if rest.startswith("/") else "^/", rest.lstrip("/")
    parts = rest.rstrip("/").split("/")
    body = "".join(
        "(?:[^/]+/)*" if part == "**" else _TOKEN.sub(_translated, part) + "/"
        for part in parts[:-1]
    )
    body += ".*" if parts[-1] == "**" else _TOKEN.sub(_translated, parts[-1])
    return start + body + ("/" if rest.endswith("/") else "(?:/|$)")


def _translated(token: re.Match[str]) -> str:
    text, members = token.group(), token.group(2)
    if members:
        negation = "^" if token.group(1) else ""
        members = re.sub(r"[\[^&~|]", r"\\\g<0>", members)
        return f"(?!/)[{negation}{members}]"
    if text.startswith("*"):
        return "[^/]*"
    return "[^/]" if text == "?" else re.escape(text)


def _comparable(path: str, ignore_case: bool) -> str:
    """The path with slashes, and one at the beginning, on every system.

    >>> _comparable("C:\\\\Users\\\\Me", True)
    '/c:/users/me'
    """
    # On other systems a backslash is an ordinary character of names.
    is_windows = os.sep == "\\" or re.match(r"[A-Za-z]:\\|\\\\", path)
    slashed = path.replace("\\", "/") if is_windows else path
    return "/" + _folded(slashed, ignore_case).lstrip("/")


def _folded(text: str, ignore_case: bool) -> str:
    if not text.isascii():
        # macOS gives names with accents as separate characters.
        text = unicodedata.normalize("NFC", text)
    return text.lower() if ignore_case else text
