"""Port and token of the server for Claude Code, kept over a restart: it tries only these again
(docs/protocol.md 11.105). Knows no server."""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from ...base import private_files
from ...base.log import logger
from ...base.regular_file import read_beginning

NAME = "claude-code.json"
# Seconds after which no CLI is expected back: the token is void then.
MAX_AGE = 7 * 24 * 60 * 60.0
# Bytes that are read; the file is far smaller.
MAX_SIZE = 4096
TOKEN = re.compile("[!-~]{20,1000}")


@dataclass(frozen=True)
class Address:
    """A port of this machine, and the token that its server asks for."""

    port: int
    token: str


def load_address(state_path: str) -> Address | None:
    """What was kept beside the file of the state; None if there is nothing of use."""
    path = _path_beside(state_path)
    try:
        age = time.time() - os.stat(path).st_mtime
        members: Any = json.loads(read_beginning(path, MAX_SIZE))
        port, token = members["port"], members["token"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    is_port = type(port) is int and 0 < port < 1 << 16
    is_token = isinstance(token, str) and TOKEN.fullmatch(token)
    return Address(port, token) if is_port and is_token and age < MAX_AGE else None


def save_address(state_path: str, address: Address) -> None:
    """Keep it for the next start. Without it, CLIs that run have to be connected again."""
    path = _path_beside(state_path)
    with suppress(FileNotFoundError):
        try:
            private_files.write_file(path, json.dumps(asdict(address)).encode("ascii"))
        except OSError as error:
            logger.warning("the address for Claude Code is not kept (%s)", error.strerror)


def _path_beside(state_path: str) -> str:
    return os.path.join(os.path.dirname(state_path), NAME)
