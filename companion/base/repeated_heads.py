"""In front of a connection's HTTP parser: heads of requests that came before are not parsed again.

Clients send the same head with each request, but for the length of the body. Source: RFC 9112,
section 6.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader

END = b"\r\n\r\n"
# Heads that are remembered for a connection, and bytes of the longest one.
MAX_HEADS = 8
MAX_HEAD = 4096
# Bytes of a body from which the library pauses reading: more than the server parses at a time.
LIMIT = 64 * 1024


class _Head(NamedTuple):
    """A head as the parser understood it, and the bytes of the body that it announces."""

    message: RawRequestMessage
    length: int


class RepeatedHeads:
    """Stands for the `parser` of the connection `protocol`, and asks it but for a request that came
    alone and whole, with a head that it has read before. Requests with one head have one message:
    their headers are the same object.

    This holds as long as the parser is between two requests, which is so where each data that it
    got was one whole request. From the first on that was not, it is asked for all."""

    def __init__(self, parser: Any, protocol: BaseProtocol, loop: Any) -> None:
        self._parser = parser
        self._protocol = protocol
        self._loop = loop
        self._is_between = True
        self._heads: dict[bytes, _Head] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parser, name)

    def feed_data(self, data: bytes) -> tuple[Any, bool, bytes]:
        """Messages with their bodies, whether another protocol begins, and what is its. Raises what
        the parser raises."""
        # The library feeds nothing where the parser may go on with what it has.
        if not (self._is_between and data):
            found: tuple[Any, bool, bytes] = self._parser.feed_data(data)
            return found
        end = data.find(END) + len(END)
        head = self._heads.get(data[:end])
        if head is not None and head.length == len(data) - end:
            return ((head.message, self._body(data[end:])),), False, b""
        # Until it has read the whole request.
        self._is_between = False
        found = self._parser.feed_data(data)
        messages, is_upgraded, _rest = found
        if len(messages) == 1 and not is_upgraded:
            message, body = messages[0]
            self._learn(data[:end], message, body, len(data) - end)
        return found

    def _learn(self, head: bytes, message: Any, body: StreamReader, length: int) -> None:
        """The parser has made a message of the head and `length` bytes after it."""
        if message.should_close or not body.is_eof():
            return
        # One in chunks has fewer bytes; one of none counts none in the releases for Python 3.8.
        self._is_between = length == getattr(body, "total_bytes", 0)
        if self._is_between and length and len(head) <= MAX_HEAD:
            if len(self._heads) >= MAX_HEADS:
                self._heads.clear()
            self._heads[head] = _Head(message, length)

    def _body(self, data: bytes) -> StreamReader:
        body = StreamReader(self._protocol, LIMIT, loop=self._loop)
        body.feed_data(data)
        body.feed_eof()
        return body
