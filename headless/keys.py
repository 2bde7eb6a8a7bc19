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
# The same for a view, by the names of Sublime's key bindings: the last byte of a sequence, or the
# number before "~"; and the number that stands for a key by itself.
LETTERS = {"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end"}
LETTERS.update(zip("PQRS", ("f1", "f2", "f3", "f4")))
NUMBERS = {1: "home", 2: "insert", 3: "delete", 4: "end", 5: "pageup", 6: "pagedown"}
NUMBERS.update({7: "home", 8: "end", 11: "f1", 12: "f2", 13: "f3", 14: "f4", 15: "f5", 17: "f6"})
NUMBERS.update({18: "f7", 19: "f8", 20: "f9", 21: "f10", 23: "f11", 24: "f12"})
CODES = {9: "tab", 13: "enter", 27: "escape", 32: "space", 127: "backspace", 8: "backspace"}
# What begins and ends a text that was pasted.
PASTED, END_OF_PASTE = "\x1b[200~", "\x1b[201~"
# Seconds that a terminal may take for the next piece of it.
PASTE_WAIT = 1.0
# Asks the terminal to tell keys such as Ctrl+Enter apart, and to say what is pasted; and no more.
ALL_KEYS = "\x1b[>1u\x1b[>4;1m\x1b[?2004h"
USUAL_KEYS = "\x1b[<u\x1b[>4m\x1b[?2004l"
_KEY = re.compile(r"\x1b\[200~.*?\x1b\[201~|\x1b[\[O][0-9;]*[~A-Za-z]|\x1b[^\x1b]|.", re.DOTALL)
_SEQUENCE = re.compile(r"\x1b[\[O]([0-9;]*)([~A-Za-z])")


def bound(key: str) -> str:
    """The name that Sublime's key bindings have for a key as a terminal sends it; "" for what is
    none.

    >>> bound("\\x1b[13;5u"), bound("\\x1b[27;6;13~"), bound("\\x1b[1;2A"), bound("\\x01")
    ('ctrl+enter', 'ctrl+shift+enter', 'shift+up', 'ctrl+a')
    """
    match = _SEQUENCE.fullmatch(key)
    if match is None:
        return _plain(key)
    numbers = [int(part) for part in match.group(1).split(";") if part]
    if match.group(2) == "Z":
        return "shift+tab"
    if match.group(2) in LETTERS:
        return _with_modifiers(LETTERS[match.group(2)], numbers[1:])
    if match.group(2) == "u" and numbers:
        return _with_modifiers(_of_code(numbers[0]), numbers[1:])
    if numbers[:1] == [27] and len(numbers) == 3:
        return _with_modifiers(_of_code(numbers[2]), numbers[1:2])
    return _with_modifiers(NUMBERS.get(numbers[0], ""), numbers[1:]) if numbers else ""


def _is_begun(data: bytes) -> bool:
    """Whether there is more to come of what is pasted."""
    return data.count(PASTED.encode()) > data.count(END_OF_PASTE.encode())


def _plain(key: str) -> str:
    """Of a key that is no sequence. Not every terminal tells Ctrl+Enter apart, but each has
    Alt+Enter, or a line feed, which no other key sends."""
    if key in ("\x1b\r", "\n"):
        return "ctrl+enter"
    if len(key) == 2 and key[0] == "\x1b":
        return _with_alt(_plain(key[1]))
    code = ord(key[0]) if len(key) == 1 else 0
    if code in CODES and key != " ":
        return CODES[code]
    if code == 0:
        return "ctrl+space" if key == "\x00" else ""
    return "ctrl+" + chr(code + 96) if code < 27 else key


def _with_alt(name: str) -> str:
    """As `_with_modifiers`."""
    held, _, key = name.rpartition("+") if len(name) > 1 else ("", "", name)
    shift = "shift+" if key.isupper() else ""
    return f"{held}{'+' if held else ''}alt+{shift}{key.lower()}" if key else ""


def _of_code(code: int) -> str:
    return CODES.get(code) or chr(code)


def _with_modifiers(name: str, numbers: List[int]) -> str:
    """Sublime names them in this order."""
    held = (numbers[0] if numbers else 1) - 1
    if not name or held == 1 and len(name) == 1:
        return name.upper()
    kinds = (("ctrl", 4), ("alt", 2), ("shift", 1))
    return "+".join([*(word for word, bit in kinds if held & bit), name])


class LineKeys:
    """Keys from a pipe: the first character of each line, "enter" for an empty one."""

    is_raw = False

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

    def tell_apart(self, wanted: bool) -> None:
        """A pipe has lines and no keys."""

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
        self.is_raw = False

    def __call__(self, seconds: float) -> Optional[str]:
        if not self.pressed:
            if not self._can_read(seconds):
                return None
            data = os.read(self.descriptor, 4096)
            if not data:
                raise EOFError
            while _is_begun(data) and self._can_read(PASTE_WAIT):
                data += os.read(self.descriptor, 65536)
            self.pressed = _KEY.findall(data.decode("utf-8", "replace"))
        key = self.pressed.pop(0)
        return key if self.is_raw else NAMES.get(key, key)

    def tell_apart(self, wanted: bool) -> None:
        """From now on keys are given as the terminal sends them, all that it can tell apart, and
        what is pasted as one (PASTED); or no more."""
        if wanted != self.is_raw:
            self.is_raw = wanted
            write(ALL_KEYS if wanted else USUAL_KEYS)

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
    found = TerminalKeys(descriptor, cooked)
    try:
        yield found
    finally:
        found.tell_apart(False)
        termios.tcsetattr(descriptor, termios.TCSADRAIN, cooked)


def write(text: str) -> None:
    """To the person; what plugins print goes elsewhere (`console`)."""
    if sys.__stdout__ is not None:
        sys.__stdout__.write(text)
        sys.__stdout__.flush()
