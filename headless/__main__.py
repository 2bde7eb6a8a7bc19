"""The command line and the parent process, which plays the editor; the child hosts the plugins."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from typing import Any, List, Optional, Tuple

from . import options

_HOST = "--plugin-host"
_PATIENCE = 10.0  # seconds the child may take to quit in order before it is killed


def main(arguments: Optional[List[str]] = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == [_HOST]:
        return _host(arguments[1], arguments[2], arguments[3:])
    options.parse(arguments)  # a wrong command line ends here, before anything starts
    return _editor(arguments)


def _editor(arguments: List[str]) -> int:
    """Start the plugin host, pass signals on to it, and answer with its exit status."""
    read, write = os.pipe()
    data_name = secrets.token_hex(8)
    handle, extra = _inherited(read)
    command = (
        [sys.executable] + _interpreter_flags() + ["-m", "headless", _HOST, str(handle), data_name]
    )
    child = subprocess.Popen(command + arguments, **extra)
    os.close(read)
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda number, frame: _ask(write))
    status = _wait(child)
    from . import data_folders  # its time is nobody's now

    data_folders.remove_named(data_name)
    os.close(write)
    return status if status >= 0 else 128 - status


def _wait(child: Any) -> int:
    while True:
        try:
            return int(child.wait())
        except KeyboardInterrupt:
            continue  # Ctrl+C has already asked the child to quit


def _ask(write: int) -> None:
    """Let the child quit in order; the timer ends it where it does not."""
    os.write(write, b"q")
    if sys.platform != "win32":
        signal.signal(signal.SIGALRM, lambda number, frame: os.close(write))
        signal.setitimer(signal.ITIMER_REAL, _PATIENCE)


def _interpreter_flags() -> List[str]:
    return ["-" + "O" * sys.flags.optimize] if sys.flags.optimize else []


def _inherited(read: int) -> Tuple[int, Any]:
    """What the child calls the pipe, and how Popen hands it over."""
    if sys.platform == "win32":
        import msvcrt

        os.set_inheritable(read, True)
        return msvcrt.get_osfhandle(read), {"close_fds": False}
    return read, {"pass_fds": (read,)}


def _host(handle: str, name: str, arguments: List[str]) -> int:
    # Ctrl+C reaches the whole group; the parent alone decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from . import host

    control = int(handle)
    if sys.platform == "win32":
        import msvcrt

        control = msvcrt.open_osfhandle(control, os.O_RDONLY)
    try:
        status = host.main(options.parse(arguments), control, name)
    except ValueError as error:
        sys.stderr.write("headless: %s\n" % error)
        status = 2
    host.leave(status)
    return status


if __name__ == "__main__":
    sys.exit(main())
