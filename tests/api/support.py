"""A server of the API on a thread of its own, with a CLI that cannot be started: for all that needs
no agent.

class Example(ApiTest):
    def test_it(self) -> None:
        reply = self.ask("POST", "/read-file", {"path": self.write("a.txt", "text")})
        self.assertEqual((reply.status, reply["content"]), (200, "text"))
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import shutil
import socket
import tempfile
import threading
import unittest
from typing import Any, Awaitable, Mapping, Sequence

from GeminiCompanion.companion.agent.processes.runner import Launch
from GeminiCompanion.companion.api import state_folder
from GeminiCompanion.companion.api.server import Server, ServerSettings

from .contract import Contract

# Seconds for anything at all.
PATIENCE = 180.0


class Reply:
    def __init__(self, status: int, headers: Mapping[str, str], data: bytes) -> None:
        self.status, self.headers, self.data = status, headers, data

    @property
    def body(self) -> Any:
        return json.loads(self.data.decode("utf-8"))

    def __getitem__(self, name: str) -> Any:
        return self.body[name]

    def __repr__(self) -> str:
        return f"{self.status} {self.data[:2000]!r}"


class ApiTest(unittest.TestCase):
    """`api` are the server's `ServerSettings` that differ."""

    api: dict[str, Any] = {}
    contract = Contract()
    root: str
    workspace: str
    loop: asyncio.AbstractEventLoop
    server: Server

    @classmethod
    def setUpClass(cls) -> None:
        cls.root = os.path.realpath(tempfile.mkdtemp(prefix="api-"))
        cls.addClassCleanup(shutil.rmtree, cls.root, True)
        cls.workspace = os.path.join(cls.root, "workspace")
        os.mkdir(cls.workspace)
        cls.loop = asyncio.new_event_loop()
        thread = threading.Thread(target=cls.loop.run_forever)
        thread.start()
        cls.addClassCleanup(cls.loop.close)
        cls.addClassCleanup(thread.join, PATIENCE)
        cls.addClassCleanup(cls.loop.call_soon_threadsafe, cls.loop.stop)
        cls.server = cls.another_server()

    @classmethod
    def another_server(
        cls, folder: str = "", others: Sequence[str] = (), **settings: Any
    ) -> Server:
        """With further agents by these ids."""
        folder = folder or os.path.join(tempfile.mkdtemp(dir=cls.root), "state")
        launch = Launch((os.path.join(cls.root, "no program"),))
        chosen = {"roots": [cls.workspace], "port": 0, **cls.api, **settings}
        more = tuple(Launch(launch.command, agent=id) for id in others)
        options = state_folder.agent_options(folder, launch, others=more)
        server = Server(ServerSettings(options, **chosen), folder)
        cls.on_loop(server.start())
        cls.addClassCleanup(lambda: cls.on_loop(server.stop()))
        return server

    @classmethod
    def on_loop(cls, work: Awaitable[Any]) -> Any:
        async def run() -> Any:
            return await work

        return asyncio.run_coroutine_threadsafe(run(), cls.loop).result(PATIENCE)

    def connect(self, server: Server | None = None) -> socket.socket:
        address = ("127.0.0.1", (server or self.server).port)
        connection = socket.create_connection(address, PATIENCE)
        self.addCleanup(connection.close)
        return connection

    def open(self, server: Server | None = None) -> http.client.HTTPConnection:
        """To be closed."""
        port = (server or self.server).port
        return http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        server: Server | None = None,
    ) -> Reply:
        """In English, with the token and as JSON, unless the headers say otherwise; an empty one
        is not sent. A body of bytes is sent as it is."""
        server = server or self.server
        usual = {"Authorization": f"Bearer {server.token}", "Accept-Language": "en"}
        if body is not None:
            usual["Content-Type"] = "application/json"
        given = {name: value for name, value in {**usual, **(headers or {})}.items() if value}
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection = self.open(server)
        try:
            connection.request(method, path, data, given)
            response = connection.getresponse()
            reply = Reply(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()
        if reply.data and reply.headers.get("Content-Type", "").startswith("application/json"):
            if path != "/openapi.json" or reply.status != 200:
                self.contract.check(method, path, reply.status, reply.body)
        return reply

    def refused(self, reply: Reply, status: int, code: str) -> None:
        """The whole envelope of an error."""
        self.assertEqual((reply.status, reply.body.get("code")), (status, code), reply)
        body = reply.body
        self.assertIs(body["success"], False)
        self.assertRegex(body["timestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertTrue(body["error"] and body["message"], body)

    def path(self, name: str) -> str:
        return os.path.join(self.workspace, name)

    def write(self, name: str, content: str | bytes) -> str:
        data = content if isinstance(content, bytes) else content.encode("utf-8")
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def read(self, name: str) -> bytes:
        with open(self.path(name), "rb") as file:
            return file.read()
