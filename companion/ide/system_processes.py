"""The processes of this machine as a CLI lists them, and the CLIs among them. Asks the system.

Nothing here fails: what the system does not tell is missing.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Iterator, Mapping

from ..base import windows_processes
from ..base.child_processes import output_of_program, stat_of
from .clis import Cli

# The words of a command line in which to search for the CLI's program, after an interpreter and its
# options.
PROGRAM_WORDS = 6
# Options of CLIs that another program drives, not a user.
DRIVEN = ("--acp", "--experimental-acp")
# One option for each column: some systems take all after the first "=" as its title.
PS_COLUMNS = ("-o", "pid=", "-o", "ppid=", "-o", "etime=", "-o", "command=")
ELAPSED = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)")
# Is another one after each start of the system.
BOOT_ID = "/proc/sys/kernel/random/boot_id"
# Without the first statement PowerShell writes in the code page of the system's language, where a
# byte of a Chinese or Japanese character may be the backslash of JSON.
WINDOWS_LIST = (
    "[Console]::OutputEncoding = New-Object System.Text.UTF8Encoding $false;"
    " Get-CimInstance Win32_Process | Select-Object ProcessId,ParentProcessId,Name,CommandLine,"
    "@{n='Started';e={([DateTimeOffset]$_.CreationDate).ToUnixTimeSeconds()}}"
    " | ConvertTo-Json -Compress"
)


@dataclass(frozen=True)
class SystemProcess:
    """`name` is the first word of its command, without folders. `started` is in seconds since the
    epoch, 0 if it is not known. `folder` and `environment` are None if they are not known."""

    pid: int
    parent: int
    name: str = ""
    command: str = ""
    started: float = 0.0
    folder: str | None = None
    environment: Mapping[str, str] | None = field(default=None, repr=False)


def running_processes() -> dict[int, SystemProcess]:
    """All processes by their id. May take seconds."""
    if os.path.isdir("/proc/self"):
        return {each.pid: each for each in _from_proc()}
    return _from_powershell() if sys.platform == "win32" else _from_ps()


def find_clis(cli: Cli, processes: Mapping[int, SystemProcess]) -> list[SystemProcess]:
    """The processes that are this CLI in a terminal, the newest first, with folder and environment
    as far as the system tells."""
    found = [each for each in processes.values() if _is_cli(cli, each)]
    # The CLI restarts itself with more memory, so the last process of such a chain is the CLI.
    parents = {each.parent for each in found}
    last = [_with_details(each) for each in found if each.pid not in parents]
    return sorted(last, key=lambda each: -each.started)


def is_program(cli: Cli, word: str) -> bool:
    """Whether a word of a process's command line is the CLI's program. The bare name of its package
    is not, because npx is not the CLI."""
    parts = re.split(r"[/\\]", word)
    names = (cli.command, f"{cli.command}.js", f"{cli.command}.cmd", f"{cli.command}.exe")
    package = f"/{cli.package}/" if cli.package else "\0"
    return parts[-1] in names or package in "/".join(parts)


def _is_cli(cli: Cli, process: SystemProcess) -> bool:
    words = process.command.split()
    is_script = process.name.startswith(("node", "bun"))
    programs = words[:PROGRAM_WORDS] if is_script else words[:1]
    is_one = any(is_program(cli, word) for word in programs)
    return is_one and not any(word in DRIVEN for word in words)


def _from_proc() -> Iterator[SystemProcess]:
    booted = _boot_time()
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                yield _of_proc(int(name), booted)


def _boot_time() -> float:
    """When the system started, in seconds since the epoch; 0.0 if it is not known. /proc/stat gives
    whole seconds: with those, processes would seem up to a second older than they are."""
    if sys.platform != "linux":
        return 0.0
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)


def _of_proc(pid: int, booted: float) -> SystemProcess:
    """Raises OSError, ValueError or IndexError if the process has ended meanwhile."""
    if sys.platform == "win32":
        raise FileNotFoundError("/proc")
    fields = stat_of(pid)
    with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
        command = file.read().replace("\0", " ").strip()
    started = booted + float(fields[19]) / os.sysconf("SC_CLK_TCK") if booted else 0.0
    return SystemProcess(pid, int(fields[1]), _command_name(command), command, started)


def _command_name(command: str) -> str:
    return os.path.basename(command.split(" ")[0])


def _with_details(process: SystemProcess) -> SystemProcess:
    if process.folder is not None:
        return process
    environment: dict[str, str] | None = None
    with suppress(OSError), open(f"/proc/{process.pid}/environ", "rb") as file:
        pairs = (item.partition("=") for item in os.fsdecode(file.read()).split("\0"))
        environment = {name: value for name, separator, value in pairs if separator}
    return replace(process, folder=_folder_of(process.pid), environment=environment)


def _folder_of(pid: int) -> str | None:
    """The folder in which the process works; None if the system does not tell."""
    with suppress(OSError):
        return os.readlink(f"/proc/{pid}/cwd")
    if sys.platform != "darwin":
        return None
    lines = output_of_program("lsof", "-a", "-d", "cwd", "-p", str(pid), "-Fn").splitlines()
    return next((line[1:] for line in lines if line.startswith("n")), None)


def has_own_network(pid: int) -> bool:
    """Whether 127.0.0.1 is another machine for the process, as in most containers and some
    sandboxes."""
    with suppress(OSError):
        return os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/self/ns/net")
    return False


def root_of(process: SystemProcess | None) -> str:
    """The path that leads to the files as the process sees them; empty if those are ours, or if it
    is not known."""
    root = f"/proc/{process.pid}/root" if process is not None else ""
    return root if os.path.isdir(root) else ""


def ports_to(pid: int, port: int) -> frozenset[int] | None:
    """The ports at the process's own end of its connections to a port of this machine; None if the
    system does not tell."""
    if os.path.isdir("/proc/self"):
        with suppress(OSError):
            tables = [_read_text(f"/proc/{pid}/net/{name}") for name in ("tcp", "tcp6")]
            return _connected_ports("".join(tables), port, _socket_numbers(pid))
    elif sys.platform == "darwin":
        named = ("-a", "-p", str(pid), f"-iTCP:{port}", "-sTCP:ESTABLISHED")
        told = output_of_program("lsof", "-nP", *named, "-Fn")
        # lsof prints nothing both if it finds nothing and if it fails.
        found = re.findall(rf":(\d+)->\S+:{port}$", told, re.M)
        return frozenset(map(int, found)) if told else None
    rows = windows_processes.tcp_connections()
    own = frozenset(row.own for row in rows if (row.pid, row.other) == (pid, port))
    return own if rows else None


def folder_at(peer: int, port: int) -> str:
    """The folder in which the process works that has the connection from the port `peer` of this
    machine to `port`; empty if the system does not tell, or if several have it elsewhere."""
    folders = {_folder_of(pid) or "" for pid in _processes_at(peer, port)}
    return folders.pop() if len(folders) == 1 else ""


def _processes_at(peer: int, port: int) -> list[int]:
    if os.path.isdir("/proc/self"):
        sockets = set()
        with suppress(OSError):
            tables = [_read_text(f"/proc/self/net/{name}") for name in ("tcp", "tcp6")]
            sockets = _sockets_between("".join(tables), peer, port)
        return [int(pid) for pid in os.listdir("/proc") if sockets and _has_any(pid, sockets)]
    if sys.platform != "darwin":
        return []
    told = output_of_program("lsof", "-nP", "-a", f"-iTCP:{peer}", "-sTCP:ESTABLISHED", "-Fpn")
    # Of each process there is a line, and below it one for each of its connections.
    found = re.findall(rf"^p(\d+)$|^n\S+:{peer}->\S+:{port}$", told, re.M)
    return [int(pid) for pid, its in zip(found, found[1:]) if pid and not its]


def of_hook(pid: int) -> int:
    """The CLI's process, of the one that it has started for a hook as its program tells it: on
    Windows that is a shell, which stays in between (docs/protocol.md 9)."""
    return windows_processes.parent_of(pid) if sys.platform == "win32" else pid


def process_namespace() -> str:
    """Linux's name for the processes that this one sees, among which a process has its id; empty
    elsewhere."""
    with suppress(OSError):
        return os.readlink("/proc/self/ns/pid")
    return ""


def network_namespace() -> str:
    """Linux's name for the network that this process sees, in which a port has its number; empty
    elsewhere."""
    with suppress(OSError):
        return os.readlink("/proc/self/ns/net")
    return ""


def is_zombie(pid: int) -> bool:
    """Whether the process has ended, and only its parent has not asked for that yet; False where
    the system does not tell."""
    with suppress(OSError, IndexError):
        return stat_of(pid)[0] in ("Z", "X")
    return False


def start_of(pid: int) -> str:
    """What tells the process from every other that had its number, or will have it; empty if the
    system does not tell."""
    if os.path.isdir("/proc/self"):
        with suppress(OSError, IndexError):
            return f"{_read_text(BOOT_ID).strip()} {stat_of(pid)[19]}"
        return ""
    if sys.platform == "win32":
        return ""
    # The language and the time zone of the user may change meanwhile.
    listing = ("env", "LC_ALL=C", "TZ=UTC0", "ps", "-o", "lstart=", "-p", str(pid))
    return " ".join(output_of_program(*listing).split())


def _read_text(path: str) -> str:
    """The text of the file; empty if there is none. Raises OSError if it may not be read."""
    with suppress(FileNotFoundError), open(path, encoding="ascii") as file:
        return file.read()
    return ""


def _sockets_between(table: str, own: int, port: int) -> set[str]:
    """The numbers of the sockets with these ports, in such a table as `_connected_ports` reads."""
    rows = [line.split() for line in table.splitlines()]
    ends = f":{own:04X}", f":{port:04X}"
    found = {
        row[9]
        for row in rows
        if len(row) > 9 and row[1].endswith(ends[0]) and row[2].endswith(ends[1])
    }
    # One that nobody has any more.
    return found - {"0"}


def _has_any(pid: str, sockets: set[str]) -> bool:
    """Whether the process has one of these sockets, as far as it may be asked."""
    with suppress(OSError):
        return pid.isdigit() and not sockets.isdisjoint(_socket_numbers(int(pid)))
    return False


def _socket_numbers(pid: int) -> set[str]:
    """The numbers of the process's sockets. Raises OSError."""
    found = set()
    for name in os.listdir(f"/proc/{pid}/fd"):
        with suppress(FileNotFoundError):
            match = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{name}"))
            found |= {match.group(1)} if match else set()
    return found


def _connected_ports(table: str, port: int, sockets: set[str]) -> frozenset[int]:
    """Reads a table of the kernel: local and other address in hexadecimal, state, and the number of
    the socket."""
    rows = [line.split() for line in table.splitlines()]
    return frozenset(
        int(row[1].rpartition(":")[2], 16)
        for row in rows
        if len(row) > 9 and row[9] in sockets and row[2].endswith(f":{port:04X}")
    )


def _from_ps() -> dict[int, SystemProcess]:
    processes = {}
    now = time.time()
    for line in output_of_program("ps", "-ax", *PS_COLUMNS).splitlines():
        words = line.split(None, 3)
        if len(words) == 4 and words[0].isdigit() and words[1].isdigit():
            pid, parent, elapsed, command = words
            started = now - _parse_elapsed(elapsed)
            processes[int(pid)] = SystemProcess(
                int(pid), int(parent), _command_name(command), command, started
            )
    return processes


def _parse_elapsed(elapsed: str) -> float:
    match = ELAPSED.fullmatch(elapsed)
    if match is None:
        return 0.0
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60.0 + seconds


def _from_powershell() -> dict[int, SystemProcess]:
    listed = output_of_program(
        "powershell", "-NoProfile", "-NonInteractive", "-Command", WINDOWS_LIST
    )
    rows: Any = []
    with suppress(ValueError):
        rows = json.loads(listed)
    processes = {}
    for row in rows if isinstance(rows, list) else []:
        with suppress(KeyError, TypeError, ValueError):
            pid, parent = int(row["ProcessId"]), int(row["ParentProcessId"] or 0)
            command = str(row["CommandLine"] or row["Name"] or "")
            name = os.path.splitext(str(row["Name"] or ""))[0]
            started = float(row.get("Started") or 0.0)
            processes[pid] = SystemProcess(pid, parent, name, command, started)
    return processes
