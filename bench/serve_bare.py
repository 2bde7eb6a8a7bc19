"""The least that aiohttp can do, as a process: parses a JSON body, answers with a fixed one.

`python -m bench.serve_bare SIZE...`: the route /SIZE answers with that many bytes.
"""

from __future__ import annotations

import asyncio
import sys

from aiohttp import web


def _make_body(size: int) -> bytes:
    return b'{"result":"%b"}' % (b"x" * (size - len(b'{"result":""}')))


def _make_application(sizes: "list[int]") -> web.Application:
    bodies = {"/%d" % size: _make_body(size) for size in sizes}

    async def answer(request: web.Request) -> web.Response:
        await request.json()
        return web.Response(body=bodies[request.path], content_type="application/json")

    application = web.Application()
    for path in bodies:
        application.router.add_post(path, answer)
    return application


async def _serve_bare() -> None:
    runner = web.AppRunner(
        _make_application([int(argument) for argument in sys.argv[1:]]), access_log=None
    )
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(_serve_bare())
