"""The server's state folder and the tokens in it. They survive a restart."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
import sys
from typing import Any, Mapping, Sequence

from ..agent.agent import Launch, Options
from ..base import private_files
from ..base.file_lock import FileLock

NAME, INDEX = "gemini-companion-api", "gemini-companion-api-index"
TOKEN_FILE, READ_ONLY_FILE, AGENT_FOLDER = "token", "read-only-token", "agent"
NAMED_FILE = "named-tokens.json"
OURS = (TOKEN_FILE, READ_ONLY_FILE, NAMED_FILE, AGENT_FOLDER)
# What the names of the locks of these files have more.
LOCK = ".lock"
# 256 random bits, as secrets.token_urlsafe writes them.
TOKEN_BYTES = 32
TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


def default_folder(environment: Mapping[str, str], platform: str = sys.platform) -> str:
    """A folder in the user's cache folder, as the platform (named as in `sys.platform`) defines
    it."""
    return os.path.join(_cache_folder(environment, platform), NAME)


def agent_options(folder: str, launch: Launch, **others: Any) -> Options:
    """The options of an agent that keeps its state in the server's `folder`."""
    return Options(launch, os.path.join(folder, AGENT_FOLDER), **others)


def index_folder(environment: Mapping[str, str], folder: str, roots: Sequence[str]) -> str:
    """The folder for the list of the conversations in the state folder `folder`. It is on this
    machine, wherever the state is; empty if the model could read it in one of the roots."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:32]
    path = os.path.join(_cache_folder(environment, sys.platform), INDEX, name)
    return "" if any(private_files.is_within(path, root) for root in roots) else path


def _cache_folder(environment: Mapping[str, str], platform: str) -> str:
    home = os.path.expanduser("~")
    if platform == "win32":
        cache = environment.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    elif platform == "darwin":
        cache = os.path.join(home, "Library", "Caches")
    else:
        # The XDG specification says to ignore relative paths.
        given = environment.get("XDG_CACHE_HOME", "")
        cache = given if os.path.isabs(given) else os.path.join(home, ".cache")
    return cache


def prepare_folder(folder: str) -> None:
    """Create the folder and those above it, readable by this user alone. An existing folder is
    accepted if it is empty or was created here. Raises OSError, NotPrivate."""
    private_files.make_parents(folder)
    if os.path.isdir(folder) and not _is_ours(folder):
        raise private_files.NotPrivate(
            f"{folder} already contains other files, and only you may have access to the state"
            " folder. Use --state to name an empty folder, or one that does not exist yet."
        )
    private_files.make_folder(folder)


def check_apart(folder: str, roots: Sequence[str]) -> None:
    """Raises NotPrivate if the folder lies within one of the roots, or a root within the folder:
    the API and the model can read everything in a root. Raises OSError."""
    for root in roots:
        if private_files.is_within(folder, root) or private_files.is_within(root, folder):
            raise private_files.NotPrivate(
                f"{folder} keeps token and keys, and the model may read everything in {root}, so"
                " neither may lie within the other. Serve a smaller folder, or use --state to name"
                " another folder for the keys."
            )


def token_of(folder: str, name: str = TOKEN_FILE, is_new: bool = False) -> str:
    """The token in the folder's file. It is replaced if `is_new`, if the file is missing, or if
    others could have read it. Raises OSError."""
    path = os.path.join(folder, name)
    # Servers that start at the same time have one token.
    with FileLock(path + LOCK).hold_lock():
        kept = _read_kept_text(path)
        if kept and not is_new:
            return kept
        token = secrets.token_urlsafe(TOKEN_BYTES)
        private_files.write_file(path, (token + "\n").encode("ascii"))
        return token


def _is_ours(folder: str) -> bool:
    """Whether the folder has no other files, or else has a token with the permissions that only
    this module sets."""
    names = os.listdir(folder)
    known = {*OURS, *(file + LOCK for file in OURS)}
    strange = [
        name
        for name in names
        if name not in known and not name.startswith(private_files.UNFINISHED)
    ]
    return not strange or _read_kept_text(os.path.join(folder, TOKEN_FILE)) != ""


def _read_kept_text(path: str) -> str:
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode):
            return ""
        if sys.platform != "win32" and status.st_mode & 0o077:
            return ""
        with open(path, encoding="ascii") as file:
            text = file.read(100).strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return ""
    return text if TOKEN.fullmatch(text) else ""
