"""The keys that a person presses: one by one from a terminal, else a line each from a pipe."""

from __future__ import annotations

import os
import re
import select
import sys
from contextlib import contextmanager
from typing import Any, Iterator, List, Optional

# What terminals send for keys that are no characters.
NAMES = {
    "\x1b[A": "up",
    "\x1bOA": "up",
    "\x1b[B": "down",
    "\x1bOB": "down",
    "\x1b[5~": "page up",
    "\x1b[6~": "page down",
    "\r": "enter",
    "\n": "enter",
    "\x1b": "escape",
    "\x7f": "backspace",
    "\x08": "backspace",
    "\x03": "end",
    "\x04": "end",
}
_KEY = re.compile(r"\x1b[\[O][0-9;]*[~A-Za-z]|.", re.DOTALL)


class LineKeys:
    """Keys from a pipe: the first character of each line, "enter" for an empty one."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._read = b""

    def __call__(self, seconds: float) -> Optional[str]:
        """The next key, a character or one of NAMES' values; None where none came in time. Raises
        EOFError at the end of the input."""
        if b"\n" not in self._read and not self._can_read(seconds):
            return None
        return (self.line("") or "")[:1] or "enter"

    def line(self, prompt: str, text: str = "") -> Optional[str]:
        """A line, asked for with the prompt; None where the person thought better of it. `text` is
        what stands there to begin with. Raises EOFError."""
        if prompt:
            write(prompt + "\n")
        while b"\n" not in self._read:
            data = os.read(self.descriptor, 4096)
            if not data:
                raise EOFError
            self._read += data
        line, _, self._read = self._read.partition(b"\n")
        return line.decode("utf-8", "replace").strip()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """While another program has the terminal."""
        yield

    def _can_read(self, seconds: float) -> bool:
        return bool(select.select([self.descriptor], [], [], seconds)[0])


class TerminalKeys(LineKeys):
    """Keys from a terminal, one by one and without an echo."""

    def __init__(self, descriptor: int, cooked: Any) -> None:
        super().__init__(descriptor)
        self.cooked = cooked
        self.pressed: List[str] = []

    def __call__(self, seconds: float) -> Optional[str]:
        if not self.pressed:
            if not self._can_read(seconds):
                return None
            data = os.read(self.descriptor, 4096)
            if not data:
                raise EOFError
            self.pressed = _KEY.findall(data.decode("utf-8", "replace"))
        key = self.pressed.pop(0)
        return NAMES.get(key, key)

    def line(self, prompt: str, text: str = "") -> Optional[str]:
        while True:
            columns = os.get_terminal_size(self.descriptor).columns
            write("\r\x1b[K" + (prompt + text)[-(columns - 1) :])
            key = self(60.0)
            if key == "enter":
                return text.strip()
            if key in ("escape", "end"):
                return None
            if key == "backspace":
                text = text[:-1]
            elif key is not None and key.isprintable() and len(key) == 1:
                text += key

    @contextmanager
    def paused(self) -> Iterator[None]:
        # Said to the type check: the command line has seen to it.
        if sys.platform == "win32":
            raise NotImplementedError
        import termios
        import tty

        termios.tcsetattr(self.descriptor, termios.TCSADRAIN, self.cooked)
        try:
            yield
        finally:
            tty.setraw(self.descriptor)


@contextmanager
def keys() -> Iterator[LineKeys]:
    """Where keys come from."""
    stream = sys.__stdin__
    if stream is None:
        raise EOFError
    if not stream.isatty():
        yield LineKeys(stream.fileno())
        return
    if sys.platform == "win32":
        raise NotImplementedError
    import termios
    import tty

    descriptor = stream.fileno()
    cooked = termios.tcgetattr(descriptor)
    tty.setraw(descriptor)
    try:
        yield TerminalKeys(descriptor, cooked)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, cooked)


def write(text: str) -> None:
    """To the person; what plugins print goes elsewhere (`console`)."""
    if sys.__stdout__ is not None:
        sys.__stdout__.write(text)
        sys.__stdout__.flush()
