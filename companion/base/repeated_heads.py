"""In front of a connection's HTTP parser: heads of requests that came before are not parsed again.

Clients send the same head with each request, but for the length of the body. Source: RFC 9112,
section 6.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader

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
    """Stands for the `parser` of the connection `protocol`, and asks it for all but a request that
    comes alone and whole, with a head that it has read before. Requests with one head have one
    message: their headers are the same object.

    This holds while the parser is between two requests, which is sure as long as what each request
    begins and ends with has nothing of another one. From then on the parser is asked for all."""

    def __init__(self, parser: Any, protocol: BaseProtocol, loop: Any) -> None:
        self._parser = parser
        self._protocol = protocol
        self._loop = loop
        self._heads: dict[bytes, _Head] = {}
        # The body that the parser has read last, or reads, and how many bytes came after its head.
        self._last: StreamReader = EMPTY_PAYLOAD
        self._length = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parser, name)

    def feed_data(self, data: bytes) -> tuple[Any, bool, bytes]:
        """Messages with their bodies, whether another protocol begins, and what is its. Raises what
        the parser raises."""
        # Before Python 3.12, the loop of Windows gives a bytearray.
        data = bytes(data)
        end = data.find(END) + len(END) if self._is_between() else 0
        head = self._heads.get(data[:end])
        if head is not None and head.length == len(data) - end:
            return ((head.message, self._body(data[end:])),), False, b""
        # More than the body has, where this is not of it, or is refused.
        self._length += len(data)
        found: tuple[Any, bool, bytes] = self._parser.feed_data(data)
        messages, is_upgraded, _rest = found
        if end and len(messages) == 1 and not is_upgraded:
            self._begun(data[:end], messages[0], len(data) - end)
        return found

    def _is_between(self) -> bool:
        # A body of no bytes counts none in the releases for Python 3.8.
        return self._last.is_eof() and getattr(self._last, "total_bytes", 0) == self._length

    def _begun(self, head: bytes, message: tuple[Any, StreamReader], length: int) -> None:
        """The parser has made the message of the head, and has `length` bytes that follow it."""
        parsed, body = message
        if parsed.should_close or parsed.chunked:
            return
        self._last, self._length = body, length
        # Where there is no body, the library has a special one.
        if length and len(head) <= MAX_HEAD and self._is_between():
            if len(self._heads) >= MAX_HEADS:
                self._heads.clear()
            self._heads[head] = _Head(parsed, length)

    def _body(self, data: bytes) -> StreamReader:
        body = StreamReader(self._protocol, LIMIT, loop=self._loop)
        body.feed_data(data)
        body.feed_eof()
        return body
