"""The PATH of the user's login shell, which an editor that was started from a menu does not have.
The shell is asked once, and starts the user's own files for it, as each new terminal does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from typing import BinaryIO, Callable, Mapping

from .child_processes import NO_WINDOW, end_tree, users_variables
from .log import logger

# Seconds for the shell with all of the user's files.
PATIENCE = 5.0
# Seconds after which a shell that did not tell is asked again.
AGAIN = 60.0
# Around the value: the user's files may write something, too.
MARK = "__gemini_companion_path__"
# Each word is the same in sh, csh and fish. "printenv" gives the variable in one form, where fish
# has a list.
QUESTION = f"echo {MARK}; /usr/bin/env printenv PATH; echo {MARK}"
# Shells of users who cannot log in.
NO_SHELLS = frozenset({"", "false", "nologin"})


class LoginPath:
    """Asks until the shell tells it, and then no more. The methods wait for that, so they are for
    threads that may. `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._asking = threading.Lock()
        self._clock = clock
        self._folders = ""
        # When the shell may be asked; None once it has told.
        self._next: float | None = clock()

    def ask(self) -> str:
        """The folders of the login shell's PATH, and the others of ours behind them; empty if that
        adds none, or if the shell does not tell."""
        with self._asking:
            if self._next is not None and self._clock() >= self._next:
                told = _ask_shell()
                self._folders = told or ""
                self._next = None if told is not None else self._clock() + AGAIN
            return _whole_path(self._folders)

    @property
    def known_path(self) -> str:
        """What `ask` gives, as far as the shell has told it; asks nobody."""
        return _whole_path(self._folders)

    def changes_for(self, *programs: str, path: str | None = None) -> Mapping[str, str]:
        """The variables with which these programs, by their names, are found: another PATH, if one
        of them is only in that. `path` counts as PATH, if it is given."""
        missing = [each for each in programs if shutil.which(each, path=path) is None]
        whole = self.ask() if missing else ""
        if not whole or not any(shutil.which(each, path=whole) for each in missing):
            return {}
        return {"PATH": whole}


LOGIN_PATH = LoginPath()


def _whole_path(folders: str) -> str:
    ours = os.get_exec_path()
    # A relative one would be looked up in the current directory, which nobody chose.
    theirs = [each for each in folders.split(os.pathsep) if os.path.isabs(each)]
    if set(theirs) <= set(ours):
        return ""
    return os.pathsep.join(dict.fromkeys([*theirs, *ours]))


def _ask_shell() -> str | None:
    """The value of the shell's PATH; empty if there is no shell to ask, on Windows always. None if
    it did not tell."""
    if sys.platform == "win32":
        return ""
    shell = os.environ.get("SHELL", "") or _shell_of_user()
    if os.path.basename(shell) in NO_SHELLS or not os.path.isabs(shell):
        return ""
    try:
        with tempfile.TemporaryFile() as output:
            _run(shell, output)
            output.seek(0)
            told = output.read().decode("utf-8", "surrogateescape")
    except OSError as error:
        logger.info("The login shell cannot be asked for its PATH: %s", error)
        return None
    _, *parts = told.split(f"{MARK}\n")
    if len(parts) < 2:
        logger.info("The login shell did not tell its PATH")
        return None
    return parts[0].strip()


def _run(shell: str, output: BinaryIO) -> None:
    """Raises OSError. The output is a file, because what the user's files leave running in the
    background would hold a pipe open."""
    process = subprocess.Popen(
        [shell, "-lic", QUESTION],
        # Not where the editor was started, which may be a project with files for shells.
        cwd=os.path.expanduser("~"),
        env=users_variables(),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.DEVNULL,
        creationflags=NO_WINDOW,
        # Without a terminal, which an interactive shell would take for its own.
        start_new_session=True,
    )
    with process:
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            end_tree(process.pid)
            process.kill()


def _shell_of_user() -> str:
    import pwd

    with suppress(KeyError):
        return pwd.getpwuid(os.getuid()).pw_shell
    return ""
