"""The PATH of the user's login shell, which an editor that was started from a menu does not have.
The shell is asked once, and starts the user's own files for it, as each new terminal does."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from typing import BinaryIO, Mapping

from .child_processes import NO_WINDOW, end_tree
from .log import logger

# Seconds for the shell with all of the user's files.
PATIENCE = 5.0
# Around the value: the user's files may write something, too.
MARK = "__gemini_companion_path__"
# Each word is the same in sh, csh and fish. "printenv" gives the variable in one form, where fish
# has a list.
QUESTION = f"echo {MARK}; /usr/bin/env printenv PATH; echo {MARK}"
# Shells of users who cannot log in.
NO_SHELLS = frozenset({"", "false", "nologin"})


class LoginPath:
    """Asks at most once. `ask` waits, so it is for threads that may."""

    def __init__(self) -> None:
        self._asking = threading.Lock()
        self._folders: str | None = None

    def ask(self) -> str:
        """The folders of the login shell's PATH, and the others of ours behind them; empty if that
        adds none. Waits for the shell at the first call."""
        with self._asking:
            if self._folders is None:
                self._folders = _ask_shell()
            return _whole_path(self._folders)

    def changes_for(self, program: str) -> Mapping[str, str]:
        """The variables with which a program (an absolute path) is started: another PATH, if its
        folder is only in that. Never asks."""
        whole = _whole_path(self._folders or "")
        folder = os.path.dirname(program)
        if folder in os.get_exec_path() or folder not in whole.split(os.pathsep):
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


def _ask_shell() -> str:
    """The value of the shell's PATH; empty if it does not tell, on Windows always."""
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
        return ""
    _, *parts = told.split(f"{MARK}\n")
    if len(parts) < 2:
        logger.info("The login shell did not tell its PATH")
        return ""
    return parts[0].strip()


def _run(shell: str, output: BinaryIO) -> None:
    """Raises OSError. The output is a file, because what the user's files leave running in the
    background would hold a pipe open."""
    process = subprocess.Popen(
        [shell, "-lic", QUESTION],
        # Not where the editor was started, which may be a project with files for shells.
        cwd=os.path.expanduser("~"),
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
