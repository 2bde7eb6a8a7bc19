"""The folder in which a server keeps what outlives it, and the token in it; serves nothing."""

from __future__ import annotations

import os
import re
import secrets
import stat
import sys
from typing import Mapping, Sequence

from ..base import private_files

NAME = "gemini-companion-api"
TOKEN_FILE, READ_ONLY_FILE, AGENT_FOLDER = "token", "read-only-token", "agent"
OURS = (TOKEN_FILE, READ_ONLY_FILE, AGENT_FOLDER)
# 256 random bits, as secrets.token_urlsafe writes them.
TOKEN_BYTES = 32
TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


def default_folder(environment: Mapping[str, str], platform: str = sys.platform) -> str:
    """In the user's cache folder, by the rules of the platform (as `sys.platform` names it)."""
    home = os.path.expanduser("~")
    if platform == "win32":
        cache = environment.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    elif platform == "darwin":
        cache = os.path.join(home, "Library", "Caches")
    else:
        # A relative path is to be passed over, says the specification of the variable.
        given = environment.get("XDG_CACHE_HOME", "")
        cache = given if os.path.isabs(given) else os.path.join(home, ".cache")
    return os.path.join(cache, NAME)


def prepare(folder: str) -> None:
    """Make the folder, for this user alone, and those above it. One that is there is taken where it
    is empty or was made here. Raises OSError, NotPrivate."""
    private_files.make_parents(folder)
    if os.path.isdir(folder) and not _is_ours(folder):
        raise private_files.NotPrivate(
            f"{folder} is to be closed to everybody else, and has other things in it. Name an empty"
            " folder with --state, or one that is still to be made."
        )
    private_files.make_folder(folder)


def check_apart(folder: str, roots: Sequence[str]) -> None:
    """Raises NotPrivate where the folder lies within one of the roots, or one of them within it:
    what is there can be read over the API, and by the model without asking. Raises OSError."""
    for root in roots:
        if is_within(folder, root) or is_within(root, folder):
            raise private_files.NotPrivate(
                f"{folder} keeps token and keys, and the model may read all that is in {root}; so"
                " neither may lie within the other. Serve a smaller folder, or name another one for"
                " the keys with --state."
            )


def token_of(folder: str, name: str = TOKEN_FILE, is_new: bool = False) -> str:
    """The token that the folder keeps in the file; a new one where it is to be new, where there is
    none, or where others could have read it. Raises OSError."""
    path = os.path.join(folder, name)
    kept = _kept(path)
    if kept and not is_new:
        return kept
    token = secrets.token_urlsafe(TOKEN_BYTES)
    private_files.write(path, (token + "\n").encode("ascii"))
    return token


def is_within(path: str, folder: str) -> bool:
    """By the folders themselves, for some systems write the name of one in several ways."""
    path = os.path.realpath(path)
    while not (os.path.isdir(path) and os.path.isdir(folder) and os.path.samefile(path, folder)):
        path, below = os.path.dirname(path), path
        if path == below:
            return False
    return True


def _is_ours(folder: str) -> bool:
    """Whether nothing else is in it; or else the token, as closed as it is only here."""
    names = os.listdir(folder)
    strange = [it for it in names if it not in OURS and not it.startswith(private_files.UNFINISHED)]
    return not strange or _kept(os.path.join(folder, TOKEN_FILE)) != ""


def _kept(path: str) -> str:
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
