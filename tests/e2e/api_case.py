"""A server of the API with a CLI behind it (see agent_case), for all the tests of a class.

class Example(ApiCase):
    async def test_it(self) -> None:
        self.model.will_play("hello", ["Hi."])
        reply = await self.post("/chat", {"message": "hello"})   # reply.status, reply["response"]
        async with self.stream({"message": "hello"}) as stream:  # stream.status, .headers
            async for event in stream:                           # {"id", "type", "data", ...}
                ...

Each test has a workspace of its own within the root, and so a conversation of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import tempfile
from contextlib import asynccontextmanager
from typing import Any, AsyncIterator, Mapping

from agent_case import KEY, LAUNCH, AgentCase
from aiohttp import ClientResponse, ClientSession
from GeminiCompanion.companion.agent.agent import Agent
from GeminiCompanion.companion.agent.credentials import Credentials
from GeminiCompanion.companion.api import state_folder
from GeminiCompanion.companion.api.server import Server, ServerSettings
from GeminiCompanion.tests.support import until

from tests.api.contract import Contract

# Seconds in which a client may come back, in tests.
GRACE = 0.5
SSE, LINES = "text/event-stream", "application/x-ndjson"


class Reply:
    """An answer of JSON."""

    def __init__(self, status: int, headers: Mapping[str, str], body: Any) -> None:
        self.status, self.headers, self.body = status, headers, body

    def __getitem__(self, name: str) -> Any:
        return self.body[name]

    def __repr__(self) -> str:
        return f"{self.status} {self.body!r}"


class Stream:
    """The events of an answer, as they come; `comments` and `media` are what else was sent."""

    def __init__(self, response: ClientResponse, contract: Contract) -> None:
        self._contract = contract
        self.status, self.headers = response.status, response.headers
        self.media = response.headers["Content-Type"].partition(";")[0]
        self.comments: list[str] = []
        self._response = response

    async def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        id = ""
        async for raw in self._response.content:
            line = raw.decode("utf-8").rstrip("\n")
            if line.startswith(":"):
                self.comments.append(line)
            elif line.startswith("id: "):
                id = line[4:]
            elif line.startswith(("data: ", "{")):
                event = json.loads(line[line.index("{") :])
                self._contract.check_event(event)
                yield {"id": id, **event}

    async def until(self, type: str) -> dict[str, Any]:
        """The next event of the type. Raises AssertionError where none comes."""
        async for event in self:
            if event["type"] == type:
                return event
        raise AssertionError(f"no event of type {type!r} came")

    def leave(self) -> None:
        """As a client that dies."""
        self._response.close()

    async def rest(self) -> list[dict[str, Any]]:
        return [event async for event in self]


class ApiCase(AgentCase):
    """`api` are the server's `ServerSettings` that differ; `key` is what its usual agent gets."""

    api: dict[str, Any] = {}
    key: Credentials | None = KEY
    contract = Contract()
    server: Server
    client: ClientSession

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.server = cls.run_soon(cls.another_server())
        cls.agent = cls.server.agent
        cls.client = cls.run_soon(cls._client())
        cls.addClassCleanup(lambda: cls.run_soon(cls.client.close()))
        if cls.key is not None:
            cls.run_soon(cls.agent.account.configure_credentials(cls.key))

    @classmethod
    async def another_agent(cls, *arguments: Any, **more: Any) -> Agent:
        """None beside the server's."""
        return None  # type: ignore[return-value]

    @classmethod
    async def _client(cls) -> ClientSession:
        # Older releases read no line that is longer than twice this.
        return ClientSession(read_bufsize=1 << 20)

    @classmethod
    async def another_server(cls, folder: str = "", **settings: Any) -> Server:
        """With a state of its own where none is named, and stopped with the class. `settings` are
        the server's or those of `launch`."""
        launch = cls.launch(**{name: settings.pop(name) for name in LAUNCH if name in settings})
        folder = folder or cls.another_folder()
        agent = state_folder.agent_options(folder, launch, **cls.options)
        chosen = {"roots": [cls.root], "port": 0, "grace": GRACE, **cls.api, **settings}
        server = Server(ServerSettings(agent, **chosen), folder)
        await server.start()
        cls.addClassCleanup(lambda: cls.run_soon(server.stop()))
        return server

    @classmethod
    def another_folder(cls) -> str:
        """One for the state of a server, apart from the root."""
        folder = os.path.realpath(tempfile.mkdtemp(prefix="api-"))
        cls.addClassCleanup(shutil.rmtree, folder, True)
        return os.path.join(folder, "state")

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        server: Server | None = None,
    ) -> Reply:
        """In English and with the token, unless the headers say otherwise."""
        async with self.sent(method, path, body, headers, server) as response:
            value = await response.json()
            self.contract.check(method, path, response.status, value)
            return Reply(response.status, response.headers, value)

    async def get(self, path: str, **more: Any) -> Reply:
        return await self.ask("GET", path, **more)

    async def post(self, path: str, body: Any = None, **more: Any) -> Reply:
        return await self.ask("POST", path, {} if body is None else body, **more)

    def sent(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        server: Server | None = None,
    ) -> Any:
        server = server or self.server
        usual = {"Authorization": f"Bearer {server.token}", "Accept-Language": "en"}
        given = {name: text for name, text in {**usual, **(headers or {})}.items() if text}
        content = {"json": body} if body is not None else {}
        return self.client.request(method, server.url + path, headers=given, **content)

    @asynccontextmanager
    async def stream(
        self,
        body: Mapping[str, Any],
        media: str = SSE,
        server: Server | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncIterator[Stream]:
        """A message in this test's workspace, answered as a stream."""
        whole = {"workspacePath": self.workspace, "stream": True, **body}
        asked = {"Accept": media, **(headers or {})}
        async with self.sent("POST", "/chat", whole, asked, server) as response:
            yield Stream(response, self.contract)

    async def open_raw(self, method: str, path: str, body: Any) -> socket.socket:
        """A connection with a request on it, of whose answer nothing is read; to be closed."""
        data = json.dumps(body).encode("utf-8")
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\n"
            f"Authorization: Bearer {self.server.token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(data)}\r\n\r\n"
        )
        raw = socket.socket()
        self.addCleanup(raw.close)
        # So little is taken in unread that the server notices.
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.setblocking(False)
        await self.loop.sock_connect(raw, ("127.0.0.1", self.server.port))
        await self.loop.sock_sendall(raw, head.encode("ascii") + data)
        return raw

    @asynccontextmanager
    async def resumed(self, turn: str, last: str = "") -> AsyncIterator[Stream]:
        """The events of a turn, those after the one with the id `last`."""
        asked = {"Last-Event-ID": last, "Accept": SSE}
        async with self.sent("GET", f"/chat/{turn}/events", None, asked) as response:
            yield Stream(response, self.contract)

    async def until_over(self, turn: str) -> None:
        """Wait for the end of a turn that nobody reads."""
        known = self.agent.turns.by_id(turn)
        await until(lambda: known is None or known.is_over)

    async def story(self, message: str, decide: str = "", **more: Any) -> list[dict[str, Any]]:
        """All events of a message; every question is answered with `decide`."""
        events = []
        async with self.stream({"message": message, **more}) as stream:
            async for event in stream:
                events.append(event)
                if decide and event["type"] == "tool_confirmation":
                    call = {"callId": event["data"]["callId"], "outcome": decide}
                    reply = await self.post("/tool-confirmation", call)
                    self.assertEqual(reply.status, 200, reply)
        return events


def said(events: list[dict[str, Any]]) -> str:
    return "".join(event["data"]["text"] for event in events if event["type"] == "content")


def types(events: list[dict[str, Any]]) -> list[str]:
    """In their order, what repeats at once only named once."""
    names = [event["type"] for event in events]
    return [name for at, name in enumerate(names) if at == 0 or names[at - 1] != name]


def data(events: list[dict[str, Any]], type: str) -> list[dict[str, Any]]:
    return [event["data"] for event in events if event["type"] == type]
