"""JSON that is too large to be parsed or written in one call. Knows no message.

The standard parser and encoder hold the interpreter's lock during the whole call, and so block the
editor's UI thread. A large body is therefore read as it arrives: its long strings are decoded in
pieces, and the rest has to be small. A large value is written in pieces as well.
"""

from __future__ import annotations

import codecs
import json
import re
import secrets
from typing import Any, Callable, Iterator

from .jsonrpc import PARSE_ERROR, TOO_DEEP, RpcError, load_json

# Bytes read, and characters written, in one call.
PIECE = 64 * 1024
# From this many bytes a string is decoded apart from the rest.
LONG = 1024
# Pieces of a string that are joined in one call.
TOGETHER = 16
# Characters kept of a truncated string.
TRUNCATED_TO = 64 * 1024
# The most bytes beside the long strings: parsing them takes a few milliseconds.
MAX_REST = 256 * 1024
# Bytes of an escaped surrogate pair.
LONGEST_ESCAPE = 12

# The incomplete escape at the end of the data so far. Half a surrogate pair is incomplete.
_HALF_ESCAPE = re.compile(rb"(?:\\u[dD][89abAB][0-9a-fA-F]{2})?(?:\\(?:u[0-9a-fA-F]{0,3})?)?\Z")
_decode = json.JSONDecoder().decode
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_encode_ascii = json.JSONEncoder(separators=(",", ":")).encode


class TooManyValues(Exception):
    """The JSON is too large even without its long strings."""


class TruncatedString(str):
    """The beginning of a string that was too long."""


class _LongString:
    """Decodes a string as it arrives, and drops everything beyond the `limit` of characters."""

    def __init__(self) -> None:
        self.limit: int | None = None
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._parts: list[str] = []
        self._length = 0

    def add_data(self, data: bytes, is_last: bool = False) -> None:
        """Raises ValueError."""
        text = _decode('"' + self._utf8.decode(data, is_last) + '"')
        if b"\\u" in data:
            # Raises ValueError for half a surrogate pair.
            text.encode("utf-8")
        if self.limit is None or self._length <= self.limit:
            self._parts.append(text)
            self._length += len(text)

    def text(self) -> str:
        """Raises ValueError."""
        self.add_data(b"", is_last=True)
        return truncate_string(_join_parts(self._parts), self.limit)


def _join_parts(parts: list[str]) -> str:
    """The parts as one text, like "".join, but in several short calls. Most of the time is needed
    to allocate the memory of a large text; text that is appended here grows in place."""
    text = ""
    for at in range(0, len(parts), TOGETHER):
        text += "".join(parts[at : at + TOGETHER])
    return text


def truncate_string(text: str, limit: int | None) -> str:
    """The text; if it is longer than `limit`, its beginning as a TruncatedString."""
    if limit is None or len(text) <= limit:
        return text
    return TruncatedString(text[:limit])


class LargeJson:
    """Parses the bytes of one JSON value as they arrive: `feed_data` gets them, and then `value`
    gives it. `most` are the bytes that it may have beside its long strings.

    Both raise RpcError (PARSE_ERROR) if they are not JSON in UTF-8."""

    def __init__(self, most: int = MAX_REST) -> None:
        self._most = most
        # Replaces a long string in the rest; random, so no text can contain it.
        self._mark = secrets.token_hex(16)
        self._rest = bytearray()
        self._texts: list[str] = []
        self._limit: int | None = None
        self._in_string = False
        self._short = bytearray()
        self._long: _LongString | None = None
        self._half_escape = b""

    def truncate_strings(self, limit: int) -> None:
        """Keep `limit` characters of each long string from now on, at least LONG of them."""
        self._limit = max(limit, LONG)
        self._texts = [truncate_string(text, self._limit) for text in self._texts]
        if self._long is not None:
            self._long.limit = self._limit

    def feed_data(self, data: bytes) -> None:
        """Takes at most about PIECE bytes. Raises TooManyValues as well."""
        data, self._half_escape = self._half_escape + data, b""
        plain = _without_pairs(data)
        at = 0
        try:
            while at < len(data):
                at = (
                    self._read_string(data, plain, at)
                    if self._in_string
                    else self._read_between(data, at)
                )
                if len(self._rest) > self._most:
                    raise TooManyValues
        except (UnicodeDecodeError, UnicodeEncodeError) as error:
            raise RpcError(
                PARSE_ERROR, f"Expected valid Unicode text in UTF-8; {error.reason}."
            ) from None
        except ValueError as error:
            raise RpcError(PARSE_ERROR, f"Expected JSON; {error}.") from None

    def value(self) -> Any:
        if self._in_string:
            raise RpcError(PARSE_ERROR, "Expected JSON; it ends within a string.")
        value = load_json(bytes(self._rest))
        try:
            return self._with_texts(value) if self._texts else value
        except RecursionError:
            # The parser goes deeper than this code does.
            raise RpcError(PARSE_ERROR, TOO_DEEP) from None

    def _read_between(self, data: bytes, at: int) -> int:
        quote = data.find(b'"', at)
        end = len(data) if quote < 0 else quote + 1
        self._rest += data[at:end]
        self._in_string = quote >= 0
        return end

    def _read_string(self, data: bytes, plain: bytes, at: int) -> int:
        """`plain` is the result of `_without_pairs` for `data`."""
        quote = plain.find(b'"', at)
        if quote >= 0:
            self._add_part(data[at:quote])
            self._end_string()
            return quote + 1
        half = _HALF_ESCAPE.search(plain, max(at, len(data) - LONGEST_ESCAPE))
        end = half.start() if half else len(data)
        self._add_part(data[at:end])
        self._half_escape = data[end:]
        return len(data)

    def _add_part(self, part: bytes) -> None:
        if self._long is None and len(self._short) + len(part) <= LONG:
            self._short += part
            return
        if self._long is None:
            self._long = _LongString()
            self._long.limit = self._limit
            self._long.add_data(bytes(self._short))
            self._short.clear()
        self._long.add_data(part)

    def _end_string(self) -> None:
        if self._long is not None:
            self._rest += f"{self._mark}{len(self._texts)}".encode("ascii")
            self._texts.append(self._long.text())
        self._rest += self._short + b'"'
        self._short, self._long, self._in_string = bytearray(), None, False

    def _with_texts(self, value: Any) -> Any:
        if isinstance(value, str):
            is_mark = value.startswith(self._mark)
            return self._texts[int(value[len(self._mark) :])] if is_mark else value
        if isinstance(value, dict):
            return {self._with_texts(name): self._with_texts(value[name]) for name in value}
        if isinstance(value, list):
            return [self._with_texts(member) for member in value]
        return value


def _without_pairs(data: bytes) -> bytes:
    """JSON of the same length in which every backslash begins an escape, and every quotation mark
    begins or ends a string. The calls use no other memory; a regular expression keeps memory for
    each escape."""
    if b"\\" not in data:
        return data
    return data.replace(b"\\\\", b"  ").replace(b'\\"', b"  ")


def json_pieces(value: Any) -> Iterator[bytes]:
    """The value as JSON in UTF-8, in pieces of at most about PIECE characters. A bytes object in it
    is a text in UTF-8. Half a surrogate pair becomes "?"."""
    batch, size = [], 0
    for text in _json_tokens(value, _encode):
        batch.append(text)
        size += len(text)
        if size >= PIECE:
            yield "".join(batch).encode("utf-8", "replace")
            batch, size = [], 0
    yield "".join(batch).encode("utf-8", "replace")


def encode_in_pieces(value: Any) -> bytes:
    """The value as the JSON that `jsonrpc.encode_json` makes, in short calls; keeps half surrogate
    pairs."""
    return b"".join([text.encode("ascii") for text in _json_tokens(value, _encode_ascii)])


def _json_tokens(value: Any, encode: Callable[[Any], str]) -> Iterator[str]:
    if isinstance(value, dict):
        before = "{"
        for name in value:
            yield before + encode(str(name)) + ":"
            yield from _json_tokens(value[name], encode)
            before = ","
        yield "}" if value else "{}"
    elif isinstance(value, (list, tuple)):
        before = "["
        for member in value:
            yield before
            yield from _json_tokens(member, encode)
            before = ","
        yield "]" if value else "[]"
    elif isinstance(value, bytes) or (isinstance(value, str) and len(value) > PIECE):
        yield '"'
        for text in _text_slices(value):
            yield encode(text)[1:-1]
        yield '"'
    else:
        yield encode(value)


def _text_slices(text: str | bytes) -> Iterator[str]:
    utf8 = codecs.getincrementaldecoder("utf-8")("replace")
    for at in range(0, len(text), PIECE):
        part = text[at : at + PIECE]
        yield part if isinstance(part, str) else utf8.decode(part)
