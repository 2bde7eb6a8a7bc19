"""What the tests of a file leave to those of the next: threads, processes, ports, temporary files.

Each run has a temp folder of its own, which goes with it. Processes and ports are looked for where
the system has `/proc`.
"""

from __future__ import annotations

import collections
import os
import re
import shutil
import socket
import tempfile
import threading
import time
from contextlib import suppress
from typing import Counter, Generator, Iterable

import pytest

# Seconds in which what ends by itself has ended, on a busy machine.
PATIENCE = 120.0
# Between two looks, which take a few milliseconds each.
PAUSE = 0.05
VARIABLES = ("TMPDIR", "TEMP", "TMP")
# Threads of pytest's limit of time, and those that write to a disk and wait for more: they end soon
# by themselves, and nobody waits for that.
OTHERS_THREADS = ("pytest_timeout", "GeminiCompanion writer")
# Python writes such a file, and removes it, to try whether it may write there: what is killed just
# then leaves it.
TRIAL = re.compile(r"[a-z0-9_]{8}")
# Begins the name of a temporary folder that several files use, because it takes long to make.
SHARED = "shared-"
# All editors of a machine and their CLIs meet there, so that the package leaves the folders behind
# and only its files count. Those of the editor whose process of the packages this is come and go
# with its companion.
DISCOVERY = "gemini"
# What stands for each port on which this process listens.
PORT = "open port"
# Rooms whose tests run programs of others, which leave what they like for as long as they like: of
# those only the temp folder goes.
UNCHECKED = ("e2e", "others")


def own_temp_folder() -> str:
    """An empty one for this run and all that it starts."""
    folder = os.path.realpath(tempfile.mkdtemp(prefix="t-"))
    # Open as that of the system: some tests have processes of other users.
    os.chmod(folder, 0o1777)
    os.environ.update(dict.fromkeys(VARIABLES, folder))
    tempfile.tempdir = folder
    return folder


class Leftovers:
    """A plugin of pytest: the last test of a file fails if something is left. `folder` is the temp
    folder of the run."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._known: Counter[str] = collections.Counter()
        # Processes that are none of this run's, so that each is looked at once.
        self._strangers: set[str] = set()

    def pytest_collection_finish(self) -> None:
        self._known = self.present()

    def pytest_unconfigure(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, None, None]:
        yield
        is_last = nextitem is None or nextitem.path != item.path
        if is_last and item.path.parent.name not in UNCHECKED:
            left = self.lasting()
            if left:
                pytest.fail(f"{item.path.name} leaves {', '.join(left.elements())}", pytrace=False)

    def lasting(self) -> Counter[str]:
        """What has come since the last call and does not end by itself."""
        ends, found = time.monotonic() + PATIENCE, self.present()
        while found - self._known and time.monotonic() < ends:
            time.sleep(PAUSE)
            found = self.present()
        left = found - self._known
        # A file may end while the companion starts anew: its ports come with the next file's tests.
        found[PORT] = max(found[PORT], self._known[PORT])
        self._known = found
        return left

    def present(self) -> Counter[str]:
        """By their names: a companion that was restarted is the same."""
        return collections.Counter((*threads(), *self._files(), *self._processes(), *ports()))

    def _files(self) -> Iterable[str]:
        for name in os.listdir(self._folder):
            path = os.path.join(self._folder, name)
            if name == DISCOVERY:
                own = f"-{os.getppid()}-"
                for folder, _folders, files in os.walk(path):
                    yield from (
                        f"file {os.path.join(folder, file)}" for file in files if own not in file
                    )
            elif not name.startswith(SHARED) and not TRIAL.fullmatch(name):
                yield f"file {path}"

    def _processes(self) -> Iterable[str]:
        """Children, and what these have left: all have the temp folder in their environment."""
        present = {pid for pid in numbers("/proc") if pid != str(os.getpid())}
        self._strangers &= present
        for number in present - self._strangers:
            environment, status = read(number, "environ"), read(number, "status")
            if self._folder.encode() in environment or b"\nPPid:\t%d\n" % os.getpid() in status:
                command = read(number, "cmdline").replace(b"\0", b" ").decode(errors="replace")
                yield f"process {number} {command or 'that nobody has waited for'}"
            elif environment:
                self._strangers.add(number)


def threads() -> list[str]:
    """Without those that Python knows only because they have asked for their own name."""
    found = [
        thread for thread in threading.enumerate() if not isinstance(thread, threading._DummyThread)
    ]
    return [
        f"thread {thread.name}" for thread in found if not thread.name.startswith(OTHERS_THREADS)
    ]


def ports() -> list[str]:
    """One line for each port on which this process listens; a new start may get another one."""
    return [PORT for number in numbers("/proc/self/fd") if is_port(int(number))]


def is_port(descriptor: int) -> bool:
    """Asked of the socket itself: in a list of all connections of the machine it would stand, too,
    but the system takes milliseconds to make that."""
    with suppress(OSError):
        if os.readlink(f"/proc/self/fd/{descriptor}").startswith("socket:"):
            with socket.socket(fileno=os.dup(descriptor)) as found:
                is_listening = found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
                return bool(is_listening) and found.family in (socket.AF_INET, socket.AF_INET6)
    return False


def numbers(folder: str) -> list[str]:
    try:
        return [pid for pid in os.listdir(folder) if pid.isdigit()]
    except FileNotFoundError:
        return []


def read(process: str, name: str) -> bytes:
    """Empty where it has ended, or is none of this user's."""
    try:
        with open(f"/proc/{process}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""
