"""The file beside each discovery file: what the extension of a CLI needs to reach the server and to
prove itself, and which process serves. CLIs themselves do not read it.

Source: docs/protocol.md 9.
"""

from __future__ import annotations

import functools
import json
import os
import re
import socket
from dataclasses import asdict, dataclass
from typing import Any, Callable

from ..base import private_files
from ..base.regular_file import read_beginning
from . import system_processes

# With {pid} of the editor and {port}.
NAME = "gemini-companion-{pid}-{port}.key"
PATTERN = re.compile(r"gemini-companion-(?P<pid>\d+)-(?P<port>\d+)\.key")
SUFFIX = ".key"
# Bytes that are read of one; ours are far smaller.
MAX_SIZE = 65536


@dataclass(frozen=True)
class ServingProcess:
    """The process that serves, as far as the system tells. `pid` counts in the `namespace` of
    processes, and the port in the one of the `network`; `started` tells it from a later process
    with its number."""

    machine: str
    namespace: str
    network: str
    pid: int
    started: str


def this_process() -> ServingProcess:
    return _serving_process(os.getpid())


@functools.lru_cache(1)
def _serving_process(pid: int) -> ServingProcess:
    return ServingProcess(
        socket.gethostname(),
        system_processes.process_namespace(),
        system_processes.network_namespace(),
        pid,
        system_processes.start_of(pid),
    )


def encode_server_file(port: int, workspace_path: str, key: str) -> bytes:
    """The content for a server of this process. `workspace_path` has its folders in one string, as
    the CLI knows them."""
    members = {
        "port": port,
        "workspacePath": workspace_path,
        "key": key,
        "serving": asdict(this_process()),
    }
    return json.dumps(members).encode("ascii")


def process_in(path: str) -> ServingProcess | None:
    """The process that a file names; None if there is no such file."""
    try:
        return process_of(json.loads(read_beginning(path, MAX_SIZE))["serving"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def process_of(members: Any) -> ServingProcess | None:
    """The process as a file has it, in the members of ServingProcess; None if its number is none.
    Raises KeyError, TypeError."""
    found = ServingProcess(**{name: members[name] for name in ServingProcess.__annotations__})
    return found if type(found.pid) is int and found.pid > 0 else None


def has_ended(serving: ServingProcess, is_listening: Callable[[], bool]) -> bool | None:
    """Whether that process has ended, whoever listens on its port now; None if that cannot be told
    from here."""
    here = this_process()
    if serving.namespace != here.namespace:
        # Its number means something else here. But where its network is ours, so are its ports.
        return serving.network == here.network and not is_listening()
    if serving.machine != here.machine:
        return None
    if serving == here:
        return not is_listening()
    if not private_files.is_running(serving.pid) or system_processes.is_zombie(serving.pid):
        return True
    started = system_processes.start_of(serving.pid)
    return started != serving.started if started and serving.started else None
