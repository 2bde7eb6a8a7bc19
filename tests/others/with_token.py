"""A way to a server for programs that cannot send a token: it adds that to each request."""

from __future__ import annotations

import asyncio
import contextlib
from typing import AsyncIterator, Callable

HOST = "127.0.0.1"
METHODS = (b"POST ", b"GET ", b"DELETE ", b"OPTIONS ")


@contextlib.asynccontextmanager
async def with_token(port: int, token: str) -> AsyncIterator[int]:
    """The port that leads to the server. Its own port in a request becomes that of the server; all
    else, another host for example, stays."""
    names = (b"127.0.0.1:%d", b"localhost:%d")

    def changed(data: bytes) -> bytes:
        # Each request begins with the data of a read: the programs wait for one answer first.
        if not data.startswith(METHODS):
            return data
        line, end, rest = data.partition(b"\r\n")
        head, blank, body = rest.partition(b"\r\n\r\n")
        for name in names:
            head = head.replace(name % own, name % port)
        added = b"Authorization: Bearer %b" % token.encode()
        return line + end + added + end + head + blank + body

    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        there, back = await asyncio.open_connection(HOST, port)
        try:
            pipes = pipe(reader, back, changed), pipe(there, writer, lambda data: data)
            await asyncio.gather(*pipes)
        finally:
            for each in (back, writer):
                each.close()
            with contextlib.suppress(ConnectionError):
                await asyncio.gather(back.wait_closed(), writer.wait_closed())

    server = await asyncio.start_server(serve, HOST, 0)
    own: int = server.sockets[0].getsockname()[1]
    try:
        yield own
    finally:
        server.close()
        # What a program left open would be reported in a later test.
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def pipe(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    changed: Callable[[bytes], bytes],
) -> None:
    with contextlib.suppress(ConnectionError):
        while True:
            data = await reader.read(1 << 20)
            if not data:
                break
            writer.write(changed(data))
            await writer.drain()
    writer.close()
