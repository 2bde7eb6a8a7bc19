"""JSON that is too large to be held whole: read bit by bit, its long strings cut; knows no message.

A text of many megabytes would hold up the editor's threads at every step of its way: as JSON, as
one string, as a view. Of such a one only the beginning is kept, marked as what it is.
"""

from __future__ import annotations

import re
import secrets
from typing import Any

# Bytes kept of a string that is longer than that.
KEPT = 64 * 1024
# Bytes of what is left when all long strings are cut.
MAX_REST = 1024 * 1024

# A string's bytes up to its end, or to a backslash whose other half is still to come.
_RUN = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
# As much of a string as holds whole characters only: no part of a sequence of UTF-8, of an escape
# or of a surrogate pair.
_WHOLE = re.compile(
    rb"(?:[^\\\x80-\xff]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb'|\\u(?![dD][89abAB])[0-9a-fA-F]{4}|\\["\\/bfnrt])*'
)


class TooMuch(Exception):
    """Even without its long strings it is too large."""


class Excerpt(str):
    """The beginning of a string that was too long."""


class Cutter:
    """Takes JSON in pieces, as they come; `rest` is the same JSON with its long strings cut."""

    def __init__(self) -> None:
        # No text can contain it by chance or on purpose.
        self._mark = secrets.token_hex(16)
        self._rest = bytearray()
        self._in_string = False
        self._escaped = False
        self._string = bytearray()
        self._is_cut = False

    def feed(self, data: bytes) -> None:
        """Raises TooMuch."""
        at = 0
        while at < len(data):
            at = self._within(data, at) if self._in_string else self._outside(data, at)
            if len(self._rest) > MAX_REST:
                raise TooMuch

    def rest(self) -> bytes:
        return bytes(self._rest + self._string)

    def marked(self, value: Any) -> Any:
        """A value out of `rest`, with every string that was cut as an Excerpt."""
        if isinstance(value, str) and value.endswith(self._mark):
            return Excerpt(value[: -len(self._mark)])
        if isinstance(value, dict):
            return {name: self.marked(member) for name, member in value.items()}
        if isinstance(value, list):
            return [self.marked(member) for member in value]
        return value

    def _outside(self, data: bytes, at: int) -> int:
        quote = data.find(b'"', at)
        end = len(data) if quote < 0 else quote + 1
        self._rest += data[at:end]
        self._in_string = quote >= 0
        return end

    def _within(self, data: bytes, at: int) -> int:
        if self._escaped:
            self._escaped = False
            return self._keep(data[at : at + 1], at + 1)
        run = _RUN.match(data, at)
        end = run.end() if run else at
        if end > at:
            return self._keep(data[at:end], end)
        if data[at : at + 1] == b'"':
            self._close()
            return at + 1
        self._escaped = True
        return self._keep(b"\\", at + 1)

    def _keep(self, part: bytes, end: int) -> int:
        room = KEPT - len(self._string)
        self._is_cut = self._is_cut or len(part) > room
        self._string += part[: max(room, 0)]
        return end

    def _close(self) -> None:
        if self._is_cut:
            whole = _WHOLE.match(self._string)
            self._string = self._string[: whole.end() if whole else 0] + self._mark.encode("ascii")
        self._rest += self._string + b'"'
        self._string, self._is_cut, self._in_string = bytearray(), False, False
