"""Starts processes and reads what they write, without a console window on Windows, and ends
processes with all that they have started, as far as those can be found."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Iterator, Mapping

# The `creationflags` of a process without a window; 0 on other systems.
NO_WINDOW: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)
# What a program needs of its environment. Everything else is left out, because the agent's tools
# can show the environment to the model.
INHERITED = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ",
    "TMPDIR", "TMP", "TEMP",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
    # Where launchers of programs keep what they start.
    "VOLTA_HOME", "ASDF_DIR", "ASDF_DATA_DIR", "ASDF_CONFIG_FILE", "MISE_DATA_DIR",
    "MISE_CONFIG_DIR", "NODENV_ROOT", "NVM_DIR", "FNM_DIR", "PNPM_HOME",
    "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_COMPILE_CACHE",
    "SYSTEMROOT", "COMSPEC", "PATHEXT", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "WINDIR",
)  # fmt: skip
# What only clients of our server need.
OF_OUR_CLIENTS = ("GEMINI_API_SERVER_TOKEN",)
# Where Linux lists its processes.
PROC = "/proc"
# Seconds for a program that tells something about this machine.
PATIENCE = 5.0
# Seconds for a program that lists processes; an editor that quits waits for it.
LISTING = 1.0


def users_variables() -> dict[str, str]:
    """All variables of the user's own, for a program that they start elsewhere as well."""
    return {name: value for name, value in os.environ.items() if name not in OF_OUR_CLIENTS}


def output_of_program(*command: str, seconds: float = PATIENCE) -> str:
    """The output of the program; nothing if it fails."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            creationflags=NO_WINDOW,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace")


@dataclass(frozen=True)
class EndedProgram:
    """How a program ended: its exit status, and what it wrote to stdout and stderr."""

    status: int
    output: str
    errors: str


def run_program(
    *command: str, seconds: float, environment: Mapping[str, str], folder: str
) -> EndedProgram | None:
    """Run the program in the folder; None if it does not end in time, and then it is ended with
    all that it has started. Raises OSError if it cannot be started."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=folder,
        creationflags=NO_WINDOW,
        start_new_session=True,
    )
    with process:
        try:
            output, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            end_tree(process.pid)
            process.kill()
            return None
        return EndedProgram(
            process.returncode, *(stream.decode("utf-8", "replace") for stream in (output, errors))
        )


def end_tree(*pids: int) -> None:
    """End the process groups that our children lead, and the groups that those have started."""
    if sys.platform == "win32":
        for pid in pids:
            output_of_program("taskkill", "/PID", str(pid), "/T", "/F")
    for group in [*groups_below(*pids), *pids]:
        end_group(group)


def end_group(pid: int) -> None:
    """End the rest of a group whose first process may have ended. Windows has no groups."""
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


def has_group(pid: int) -> bool:
    """Whether there is a process of ours in the group. Windows has no groups."""
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, 0)
            return True
    return False


def groups_below(*pids: int) -> set[int]:
    """The process groups that our children and their children have started: CLIs give each command
    a group of its own. A process whose parent has ended is not found."""
    children = _children_by_parent()
    # Another process may have the number by now, and a table may be that of another container.
    ours = children.get(os.getpid(), [])
    leaders = [(child, group) for child, group in ours if child in pids and child == group]
    return _groups_below(children, leaders) - set(pids)


def groups_of_commands(pid: int) -> set[int]:
    """The process groups below a process that somebody else has started; empty if the system does
    not tell."""
    children = _children_by_parent()
    own = [each for row in children.values() for each in row if each[0] == pid]
    return _groups_below(children, own) - {group for _, group in own}


def _children_by_parent() -> dict[int, list[tuple[int, int]]]:
    """Each process with its group, by the process that started it."""
    if sys.platform == "win32":
        return {}
    children: dict[int, list[tuple[int, int]]] = {}
    for pid, parent, group in _from_proc() if os.path.isdir(f"{PROC}/self") else _from_ps():
        children.setdefault(parent, []).append((pid, group))
    return children


def _groups_below(
    children: dict[int, list[tuple[int, int]]], top: list[tuple[int, int]]
) -> set[int]:
    """The groups of these processes and of all below them."""
    below = list(top)
    for pid, _ in below:
        below += children.pop(pid, [])
    return {group for _, group in below}


def stat_of(pid: int) -> list[str]:
    """Linux's fields for a process, from its state on; parent and group come next. Raises OSError
    if the process has ended."""
    with open(f"{PROC}/{pid}/stat", encoding="utf-8", errors="replace") as file:
        # The name is in parentheses and may contain any character.
        return file.read().rpartition(")")[2].split()


def _from_proc() -> Iterator[tuple[int, int, int]]:
    """Each process with its parent and group; nothing if the system does not tell."""
    names: list[str] = []
    with suppress(OSError):
        names = os.listdir(PROC)
    for name in filter(str.isdigit, names):
        # The process may have ended meanwhile.
        with suppress(OSError, ValueError, IndexError):
            fields = stat_of(int(name))
            yield int(name), int(fields[1]), int(fields[2])


def _from_ps() -> Iterator[tuple[int, int, int]]:
    """Each process with its parent and group, on systems without /proc."""
    columns = ("-o", "pid=", "-o", "ppid=", "-o", "pgid=")
    for line in output_of_program("ps", "-A", *columns, seconds=LISTING).splitlines():
        with suppress(ValueError):
            pid, parent, group = map(int, line.split())
            yield pid, parent, group
