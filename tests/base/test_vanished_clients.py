"""Clients whose machine or network has gone without a word."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import unittest
from unittest import mock

from aiohttp.web_request import BaseRequest
from aiohttp.web_response import Response, StreamResponse
from GeminiCompanion.companion.base import vanished_clients
from GeminiCompanion.companion.base.http_server import HttpServer

from ..support import until

HERE, THERE = "10.213.77.1", "10.213.77.2"
NETWORK = f"gone-{os.getpid()}"
LINK = f"gone{os.getpid() % 100_000}"
# A client that stays connected and says nothing more, on the other side of a link.
CLIENT = f"""
import socket, sys
one = socket.create_connection(({HERE!r}, int(sys.argv[1])))
one.sendall(b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
print(one.recv(100)[:15].decode(), flush=True)
sys.stdin.read()
"""


def can_make_networks() -> bool:
    """Whether this is root on a Linux that lets it make them."""
    if not (sys.platform == "linux" and os.geteuid() == 0 and shutil.which("ip")):
        return False
    if subprocess.run(["ip", "netns", "add", NETWORK], capture_output=True).returncode:
        return False
    subprocess.run(["ip", "netns", "delete", NETWORK], check=True)
    return True


class Vanished(unittest.IsolatedAsyncioTestCase):
    async def serve(self, address: str) -> None:
        self.server = HttpServer(self.handle, (b"no HTTP", "text/plain"), 8)
        self.port = await self.server.start(0, 1.0, address)
        self.addAsyncCleanup(self.server.stop)

    async def handle(self, request: BaseRequest) -> StreamResponse:
        self.server.admit_request(request)
        if request.path == "/":
            return Response(text="here")
        stream = StreamResponse()
        await stream.prepare(request)
        while True:
            await stream.write(b": ping\n\n")
            await asyncio.sleep(0.1)

    @unittest.skipUnless(hasattr(socket, "TCP_USER_TIMEOUT"), "this platform cannot say so")
    async def test_the_kernel_is_asked_to_give_up_within_a_minute(self) -> None:
        await self.serve("127.0.0.1")
        _reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.addCleanup(writer.close)
        await until(lambda: self.server.connections)
        (served,) = self.server._server.connections
        raw = served.transport.get_extra_info("socket")
        self.assertTrue(raw.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE))
        timeout = raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) / 1000
        self.assertTrue(0 < timeout < 60, timeout)
        idle, each, count = (
            raw.getsockopt(socket.IPPROTO_TCP, getattr(socket, name))
            for name in ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT")
        )
        self.assertLess(idle + each * count, 60)

    @unittest.skipUnless(can_make_networks(), "making a network with a link needs root on Linux")
    async def test_who_is_behind_a_dead_link_is_gone_after_the_time(self) -> None:
        self.make_link()
        await self.serve(HERE)
        # Whole seconds are all that the kernel takes for what it asks after.
        with mock.patch.multiple(vanished_clients, VANISHED=1.0, ASKING=1.0):
            clients = [await self.connect(path) for path in ("/", "/stream")]
        self.assertEqual(self.server.connections, 2)
        subprocess.run(["ip", "link", "set", LINK + "a", "down"], check=True)
        await until(lambda: not self.server.connections)
        for client in clients:
            client.kill()
            await client.wait()

    async def connect(self, path: str) -> asyncio.subprocess.Process:
        code = CLIENT.replace("GET / ", f"GET {path} ")
        command = ("ip", "netns", "exec", NETWORK, sys.executable, "-c", code, str(self.port))
        client = await asyncio.create_subprocess_exec(
            *command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.assertIn(b"HTTP/1.1 200", await client.stdout.readline())
        return client

    def make_link(self) -> None:
        for command in (
            f"netns add {NETWORK}",
            f"link add {LINK}a type veth peer name {LINK}b netns {NETWORK}",
            f"addr add {HERE}/30 dev {LINK}a",
            f"link set {LINK}a up",
            f"-n {NETWORK} addr add {THERE}/30 dev {LINK}b",
            f"-n {NETWORK} link set {LINK}b up",
        ):
            subprocess.run(["ip", *command.split()], check=True)
            if "netns add" in command:
                self.addCleanup(subprocess.run, ["ip", "netns", "delete", NETWORK])
