"""Processes that the package starts: no console window flashes up for a moment on Windows, and all
that one has started ends with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import Iterator

# As `creationflags` of a process that shows nothing; 0, which says nothing, elsewhere.
NO_WINDOW: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)
# Where Linux shows its processes.
PROC = "/proc"
# Seconds for a program that lists processes.
PATIENCE = 2.0


def end_tree(pid: int) -> None:
    """End a process that leads a group, its group, and the groups of what it has started: CLIs give
    each command one of its own. What has outlived the process that started it is not found."""
    if sys.platform == "win32":
        # Where taskkill is not found, nothing else can be done.
        with suppress(OSError):
            subprocess.call(
                ["taskkill", "/PID", str(pid), "/T", "/F"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                creationflags=NO_WINDOW,
            )
        return
    for group in [pid, *_groups_below(pid)]:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


def _groups_below(pid: int) -> set[int]:
    """The groups of what a process has started, and of what that has started. Not our own."""
    if sys.platform == "win32":
        return set()
    children: dict[int, list[tuple[int, int]]] = {}
    for child, parent, group in _from_proc() if os.path.isdir(f"{PROC}/self") else _from_ps():
        children.setdefault(parent, []).append((child, group))
    below = children.get(pid, [])
    for child, _ in below:
        below += children.get(child, [])
    return {group for _, group in below} - {pid, os.getpgrp()}


def _from_proc() -> Iterator[tuple[int, int, int]]:
    """Each process, its parent and its group."""
    for name in os.listdir(PROC):
        if name.isdigit():
            # It may be gone meanwhile.
            with suppress(OSError), open(f"{PROC}/{name}/stat", "rb") as file:
                # The name stands in parentheses and may have any character.
                fields = file.read().rpartition(b")")[2].split()
                yield int(name), int(fields[1]), int(fields[2])


def _from_ps() -> Iterator[tuple[int, int, int]]:
    with suppress(OSError, subprocess.SubprocessError):
        table = subprocess.run(
            ["ps", "-A", "-o", "pid=,ppid=,pgid="],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE,
            creationflags=NO_WINDOW,
        ).stdout
        for line in table.splitlines():
            pid, parent, group = map(int, line.split())
            yield pid, parent, group
