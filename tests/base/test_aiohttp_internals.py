"""What stands before the HTTP parser finds what the parser alone would find."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import unittest
import weakref
import zlib
from typing import Any, Callable, cast
from unittest.mock import Mock

from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.http_parser import HttpRequestParser, HttpRequestParserPy
from aiohttp.streams import EMPTY_PAYLOAD
from aiohttp.web_protocol import RequestHandler
from aiohttp.web_request import BaseRequest
from aiohttp.web_response import StreamResponse
from GeminiCompanion.companion.base.aiohttp_internals import (
    MAX_HEAD,
    MAX_HEADS,
    QuickAnswer,
    RepeatedHeads,
    difference,
    head_of,
    installed,
)
from GeminiCompanion.companion.base.connection import Connection
from GeminiCompanion.companion.base.http_server import BAD_TOKEN, HttpServer, Refused
from GeminiCompanion.companion.base.log import logger

from ..support import OTHER_RELEASE, PATIENCE, AiohttpsOwnWay

SEEDS = 400
POST = b"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%b"
UPGRADE = POST.replace(b"Host", b"Connection: Upgrade\r\nUpgrade: websocket\r\nHost") % (2, b"mn")
REQUESTS = (
    POST % (2, b"ab"),
    POST % (2, b"cd"),
    POST % (4, b"\r\n\r\n"),
    POST % (4, b"abcd"),
    POST.replace(b"Host", b"host") % (2, b"ef"),
    POST.replace(b"/mcp", b"/other") % (2, b"gh"),
    POST % (0, b""),
    b"GET /mcp HTTP/1.1\r\nHost: a\r\n\r\n",
    b"\r\n" + POST % (2, b"ij"),
    b"POST /mcp HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nkl\r\n0\r\n\r\n",
    POST.replace(b"Host", b"Connection: close\r\nHost") % (2, b"mn"),
    UPGRADE,
    b"POST /mcp HTTP/1.1\nHost: a\nContent-Length: 6\n\n\r\n\r\nop",
    b"no HTTP\r\n\r\n",
)


class Heads(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.protocol = Mock(spec=BaseProtocol, _reading_paused=False)

    def parser(self, kind: Callable[..., Any] = HttpRequestParser) -> Any:
        loop = asyncio.get_running_loop()
        # As the server has it.
        return kind(self.protocol, loop, 2**16, auto_decompress=False)

    def before(self, parser: Any) -> RepeatedHeads:
        return RepeatedHeads(parser, self.protocol, asyncio.get_running_loop())

    async def test_all_is_found_that_the_parser_alone_finds(self) -> None:
        for kind in (HttpRequestParser, HttpRequestParserPy):
            for seed in range(SEEDS):
                chosen = random.Random(seed)
                # Mostly of one kind: those are the ones that are not parsed.
                usual = chosen.sample(REQUESTS, 2)
                sent = [
                    chosen.choice(usual if chosen.random() < 0.8 else REQUESTS) for _ in range(8)
                ]
                data = list(pieces(chosen, sent))
                with self.subTest(kind=kind.__name__, seed=seed, data=data):
                    alone = found(self.parser(kind), data)
                    self.assertEqual(found(self.before(self.parser(kind)), data), alone)

    async def test_a_known_head_within_another_request_is_none(self) -> None:
        known = REQUESTS[0]
        for request in REQUESTS:
            for data in (
                [request, request],
                [known, request + request[:9], known],
                [known, request[:-1], known],
                [request[:-1], request[:-1]],
            ):
                for kind in (HttpRequestParser, HttpRequestParserPy):
                    with self.subTest(kind=kind.__name__, data=data):
                        alone = found(self.parser(kind), data)
                        self.assertEqual(found(self.before(self.parser(kind)), data), alone)

    async def test_a_head_that_came_before_is_not_parsed_again(self) -> None:
        parser = Mock(wraps=self.parser())
        heads = self.before(parser)
        first, _body = one(heads, POST % (2, b"ab"))
        again, body = one(heads, POST % (2, b"cd"))
        self.assertIs(again.headers, first.headers)
        self.assertEqual(await body.read(), b"cd")
        self.assertEqual(parser.feed_data.call_count, 1)

    async def test_another_protocol_begins_each_time(self) -> None:
        heads = self.before(self.parser())
        for _ in range(2):
            _messages, is_upgraded, _rest = heads.feed_data(UPGRADE)
            self.assertTrue(is_upgraded)
            # The server says so where it declines.
            heads.set_upgraded(False)

    async def test_requests_that_come_otherwise_are_parsed_and_so_is_what_follows(self) -> None:
        whole = POST % (2, b"ab")
        for data in ([whole + whole], [whole + whole[:9], whole[9:]], [whole[:9], whole[9:]]):
            with self.subTest(data=data):
                parser = Mock(wraps=self.parser())
                found(self.before(parser), [whole, *data, whole])
                self.assertEqual(parser.feed_data.call_count, 2 + len(data))

    async def test_after_a_body_in_parts_it_goes_on(self) -> None:
        whole = POST % (2, b"ab")
        for data in ([whole[:-1], whole[-1:]], [whole[:-2], whole[-2:-1], b"", whole[-1:]], [b""]):
            for kind in (HttpRequestParser, HttpRequestParserPy):
                with self.subTest(kind=kind.__name__, data=data):
                    parser = Mock(wraps=self.parser(kind))
                    found(self.before(parser), [whole, *data, whole])
                    self.assertEqual(parser.feed_data.call_count, 1 + len(data))

    async def test_other_kinds_of_bytes_are_read_too(self) -> None:
        heads = self.before(self.parser())
        for body in (b"ab", b"cd"):
            _message, read = one(heads, bytearray(POST % (2, body)))
            self.assertEqual(await read.read(), body)

    async def test_few_heads_are_remembered_and_no_long_ones(self) -> None:
        long = POST.replace(b"Host: a", b"Host: " + b"a" * MAX_HEAD)
        for kinds, count in (
            ([POST % (n, b"a" * n) for n in range(1, MAX_HEADS + 2)], 2),
            ([long % (2, b"ab")], 2),
            ([POST % (n, b"a" * n) for n in range(1, MAX_HEADS + 1)], 1),
        ):
            parser = Mock(wraps=self.parser())
            found(self.before(parser), kinds * 2)
            self.assertGreaterEqual(parser.feed_data.call_count, len(kinds) * count - MAX_HEADS + 1)
            self.assertEqual(parser.feed_data.call_count == len(kinds), count == 1)

    async def test_a_head_with_bare_line_feeds_is_read_by_the_parser_each_time(self) -> None:
        # The end that is looked for stands in its body.
        bare = b"POST /mcp HTTP/1.1\nHost: a\nContent-Length: 6\n\n\r\n\r\nop"
        for kind in (HttpRequestParser, HttpRequestParserPy):
            for data in ([bare, bare], [bare, bare.replace(b"op", b"POST /other")]):
                with self.subTest(kind=kind.__name__, data=data):
                    parser = Mock(wraps=self.parser(kind))
                    alone = found(self.parser(kind), data)
                    self.assertEqual(found(self.before(parser), data), alone)
                    is_refused = isinstance(alone[0], str)
                    self.assertEqual(parser.feed_data.call_count, 1 if is_refused else 2)


class Known(unittest.TestCase):
    """Whether aiohttp's internals are those that are known."""

    def test_those_of_the_installed_release_are(self) -> None:
        self.assertEqual(difference(installed()), "")

    def test_another_release_is_named(self) -> None:
        for version in ("3.9.5", "3.15.0", "4.0.0a2", "dev"):
            found = difference(installed()._replace(version=version))
            self.assertEqual(found, f"release {version}")

    def test_what_is_missing_is_named(self) -> None:
        class Renamed(RequestHandler):
            """Its requests are handled with one more parameter."""

            async def _handle_request(self, request, start, handler, more):  # type: ignore
                pass

        class Handler:
            __slots__ = ("_loop", "_message_tail", "_messages")

        class Reader:
            total_bytes = 0

        for changed, expected in (
            ({"handler": Renamed}, "_handle_request(self, request, start_time, request_handler)"),
            ({"handler": Handler}, "_parser"),
            ({"reader": Reader}, "feed_data"),
            ({"reader": Reader}, "__init__(self, protocol, limit, timer, loop)"),
            ({"message": object}, "should_close"),
            ({"parser": object}, "set_upgraded"),
            ({"request": object}, "writer"),
            ({"response": object}, "prepare(self, request)"),
        ):
            with self.subTest(expected):
                self.assertIn(expected, difference(installed()._replace(**changed)))


class ServedCase(unittest.IsolatedAsyncioTestCase):
    """The same behind a server."""

    async def asyncSetUp(self) -> None:
        self.examined: list[str] = []
        self.headers: list[Any] = []
        self.server = HttpServer(self.handle, (b"no HTTP", "text/plain"), 8)
        port = await self.server.start(0, 0.1)
        self.addAsyncCleanup(self.server.stop)
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", port)
        self.addCleanup(self.writer.close)

    async def handle(self, request: BaseRequest) -> StreamResponse:
        self.server.admit(request)
        self.headers.append(request.headers)
        connection = cast(Connection, request.protocol)
        try:
            found = connection.examined(request, self.examine)
        except Refused as refused:
            found = refused.reason
        return QuickAnswer(head_of(200, {}), found.encode() + await request.read())

    def examine(self, request: BaseRequest) -> str:
        self.examined.append(request.path)
        if request.path == "/bad":
            raise Refused(BAD_TOKEN)
        return request.path

    async def ask(self, path: bytes, body: bytes, more: bytes = b"") -> None:
        head = POST.replace(b"/mcp", path).replace(b"Host", more + b"Host")
        self.writer.write(head % (len(body), body))
        await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), PATIENCE)
        answer = (b"token" if path == b"/bad" else path) + body
        self.assertEqual(await self.reader.readexactly(len(answer)), answer)


class Served(ServedCase):
    async def test_a_compressed_body_stays_as_it_was_sent(self) -> None:
        # Else the first would be what it is compressed of, and those after it not.
        for body in (zlib.compress(b"first"), zlib.compress(b"again")):
            await self.ask(b"/a", body, b"Content-Encoding: deflate\r\n")

    async def test_heads_that_are_alike_are_examined_once_unless_they_are_refused(self) -> None:
        for path in (b"/a", b"/b", b"/a", b"/b", b"/bad", b"/bad", b"/a"):
            await self.ask(path, os.urandom(4))
        self.assertEqual(self.examined, ["/a", "/b", "/bad", "/bad"])
        self.assertIs(self.headers[0], self.headers[2])

    async def test_of_many_heads_few_are_kept(self) -> None:
        for size in range(1, 3 * MAX_HEADS):
            await self.ask(b"/a", b"a" * size)
        kept = [weakref.ref(each) for each in self.headers]
        self.headers = []
        gc.collect()
        self.assertLessEqual(sum(each() is not None for each in kept), 2 * MAX_HEADS)


class ServedAiohttpsOwnWay(AiohttpsOwnWay, ServedCase):
    """The same where its internals are not known."""

    test_a_compressed_body_stays_as_it_was_sent = Served.test_a_compressed_body_stays_as_it_was_sent

    async def test_each_head_is_examined(self) -> None:
        for path in (b"/a", b"/a", b"/bad", b"/bad", b"/a"):
            await self.ask(path, os.urandom(4))
        self.assertEqual(self.examined, ["/a", "/a", "/bad", "/bad", "/a"])

    async def test_nothing_reaches_into_the_library_and_the_log_says_so_once(self) -> None:
        with self.assertLogs(logger, "WARNING") as logs:
            server = HttpServer(self.handle, (b"no HTTP", "text/plain"), 8)
            await server.start(0, 0.1)
            await server.stop()
        self.assertEqual(len(logs.output), 1)
        self.assertIn(f"release {OTHER_RELEASE}", logs.output[0])
        await self.ask(b"/a", b"")
        (connection,) = self.server._server.connections
        self.assertIs(type(connection), Connection)


def pieces(chosen: random.Random, sent: list[bytes]) -> Any:
    """The requests, now and then two of them in one, or one in two."""
    rest = b""
    for request in sent:
        rest += request
        if chosen.random() < 0.05:
            at = chosen.randrange(len(rest))
            yield rest[:at]
            rest = rest[at:]
        if chosen.random() > 0.05:
            yield rest
            rest = b""
    yield rest


def one(heads: RepeatedHeads, data: bytes) -> Any:
    messages, is_upgraded, rest = heads.feed_data(data)
    assert len(messages) == 1 and not is_upgraded and not rest
    return messages[0]


def found(parser: Any, data: list[bytes]) -> list[object]:
    """What each data gives; the bodies as they are at the end."""
    given: list[Any] = []
    bodies: list[Any] = []
    for piece in data:
        try:
            messages, is_upgraded, rest = parser.feed_data(piece)
        except HttpProcessingError as error:
            given.append(repr(error))
            break
        for message, body in messages:
            given.append((message.method, message.path, message.raw_headers, message.should_close))
            bodies.append(body)
        given.append((is_upgraded, rest))
        if is_upgraded:
            # Then the library does not ask the parser any more.
            break
    return [*given, [content(body) for body in bodies]]


def content(body: Any) -> object:
    if body.exception() is not None or not body.is_eof():
        return "not whole", repr(body.exception())
    return body is EMPTY_PAYLOAD, bytes(body.read_nowait())
