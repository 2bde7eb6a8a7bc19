"""The server behind proxies that others wrote, with the configurations that the documents name."""

from __future__ import annotations

import asyncio
import http.client
import ipaddress
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import unittest
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any, AsyncIterator, Mapping
from unittest import mock

from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.api.contract import schemas
from GeminiCompanion.companion.api.server import Server
from GeminiCompanion.companion.api.serving.access import Access

from ..support import wait_for
from .support import PATIENCE, ApiTest, Reply

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PEM = os.path.join(ROOT, "tests", "certificates", "first.pem")
NAME = "gemini.test"
NGINX = """
{user}
daemon off;
pid {root}/pid;
error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path {root}/body;
    proxy_temp_path {root}/proxy;
    fastcgi_temp_path {root}/other;
    uwsgi_temp_path {root}/other;
    scgi_temp_path {root}/other;
    {server}
}}
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


class Behind(ApiTest):
    """`command` starts the proxy, whose configuration is at PATH."""

    # Those that inherit from it do.
    __test__ = False
    file = ""
    command: tuple[str, ...] = ()
    port: int
    audit: str

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.port, cls.audit = free_port(), os.path.join(cls.root, "audit")
        access = Access(
            names=(f"{NAME}:{cls.port}",),
            proxies=[ipaddress.ip_network("127.0.0.1")],
            audit_log=cls.audit,
        )
        cls.server = cls.another_server(access=access)
        with open(os.path.join(ROOT, "deploy", cls.file), encoding="utf-8") as file:
            text = file.read()
        for known, other in cls.instead().items():
            if known not in text:
                raise AssertionError(f"{known} is not there any more")
            text = text.replace(known, other)
        path = os.path.join(cls.root, cls.file)
        with open(path, "w", encoding="utf-8") as new:
            new.write(cls.whole(text))
        cls.start_proxy([path if word == "PATH" else word for word in cls.command])

    @classmethod
    def instead(cls) -> dict[str, str]:
        """What differs from the file that the documents name."""
        raise NotImplementedError

    @classmethod
    def whole(cls, text: str) -> str:
        """The configuration with these lines in it."""
        raise NotImplementedError

    @classmethod
    def start_proxy(cls, command: list[str]) -> None:
        variables = {**os.environ, "HOME": cls.root, "XDG_DATA_HOME": cls.root}
        process = subprocess.Popen(command, cwd=cls.root, env=variables, stderr=subprocess.DEVNULL)
        cls.addClassCleanup(process.wait, PATIENCE)
        cls.addClassCleanup(process.terminate)

        def listens() -> bool:
            assert process.poll() is None, f"{command[0]} has ended"
            with suppress(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", cls.port)).close()
                return True
            return False

        wait_for(listens)

    # The client's, as of another machine.
    address = "127.0.0.2" if sys.platform.startswith("linux") else "127.0.0.1"

    def open(self, server: Server | None = None) -> http.client.HTTPConnection:
        context = ssl.create_default_context(cafile=PEM)
        return http.client.HTTPSConnection(
            "127.0.0.1",
            self.port,
            timeout=PATIENCE,
            context=context,
            source_address=(self.address, 0),
        )

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        server: Server | None = None,
    ) -> Reply:
        named = {"Host": f"{NAME}:{self.port}", **(headers or {})}
        return super().ask(method, path, body, named, server)

    def test_host_and_origin_arrive_as_the_browser_wrote_them(self) -> None:
        origin = f"https://{NAME}:{self.port}"
        reply = self.ask("GET", "/sessions", headers={"Origin": origin})
        self.assertEqual(reply.status, 200)
        self.assertEqual(reply.headers["Access-Control-Allow-Origin"], origin)
        reply = self.ask("GET", "/sessions", headers={"Origin": "https://evil.test"})
        self.refused(reply, 403, "FORBIDDEN")

    def test_under_another_name_nothing_is_told(self) -> None:
        connection = self.open()
        self.addCleanup(connection.close)
        headers = {
            "Host": f"evil.test:{self.port}",
            "Authorization": f"Bearer {self.server.token}",
        }
        connection.request("GET", "/sessions", None, headers)
        # Some proxies ask the server, which refuses, and some answer with nothing.
        self.assertNotIn(b'"sessions"', connection.getresponse().read())

    def test_the_clients_address_is_in_the_audit_log(self) -> None:
        headers = {"X-Forwarded-For": "198.51.100.9"}
        reply = self.ask("GET", "/tool-confirmations", headers=headers)
        id = reply.headers["X-Request-Id"]
        # Its line is written after its answer.
        wait_for(lambda: id in self.addresses())
        # What the client wrote itself counts for nothing.
        self.assertEqual(self.addresses()[id], self.address)

    def addresses(self) -> dict[str, str]:
        """Those in the audit log, by the ids of their requests."""
        with open(self.audit, encoding="ascii") as file:
            lines = [json.loads(line) for line in file]
        return {line["requestId"]: line["address"] for line in lines}

    def test_events_come_one_by_one_and_not_at_the_end(self) -> None:
        async def made() -> asyncio.Event:
            # On its loop, which older Pythons remember.
            return asyncio.Event()

        gate = self.on_loop(made())
        now = datetime.now(timezone.utc)

        async def told(_after: int) -> AsyncIterator[events.TurnEvent]:
            yield events.TurnEvent(1, now, "session", "turn", events.Content("first"))
            await gate.wait()
            yield events.TurnEvent(2, now, "session", "turn", events.Content("second", False))

        turn = mock.Mock(id="turn", is_over=True, last_number=2, read_events=told)
        for accepted in ("text/event-stream", "application/x-ndjson"):
            gate.clear()
            with mock.patch.object(self.server.agent.turns, "by_id", return_value=turn):
                connection = self.open()
                self.addCleanup(connection.close)
                headers = {
                    "Host": f"{NAME}:{self.port}",
                    "Authorization": f"Bearer {self.server.token}",
                    "Accept": accepted,
                }
                connection.request("GET", "/chat/turn/events", None, headers)
                response = connection.getresponse()
                line = b""
                while b"first" not in line:
                    line = response.readline()
                    self.assertTrue(line)
                self.loop.call_soon_threadsafe(gate.set)
                self.assertIn(b"second", response.read())

    def test_the_largest_file_goes_in_and_out(self) -> None:
        path, text = self.path("large"), "\u00e4" * (schemas.MAX_FILE // 2)
        body = {"path": path, "content": text}
        self.assertEqual(self.ask("POST", "/write-file", body).status, 200)
        self.assertEqual(self.ask("POST", "/read-file", {"path": path})["content"], text)


class Silent(ApiTest):
    """A server that takes connections and answers nothing, behind the proxy of `behind`."""

    __test__ = False
    behind: type[Behind]
    port: int

    def silent(self, **others: str) -> None:
        """`others` are texts of the configuration by those that take their place."""
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        self.start(silent.getsockname()[1], others)

    def start(self, port: int, others: Mapping[str, str]) -> None:
        behind = self.behind
        made: Any = type("Started", (behind,), {"port": free_port(), "root": self.root})
        made.server = mock.Mock(port=port)
        with open(os.path.join(ROOT, "deploy", made.file), encoding="utf-8") as file:
            text = file.read()
        for known, other in {**made.instead(), **others}.items():
            self.assertIn(known, text)
            text = text.replace(known, other)
        path = os.path.join(self.root, f"{made.port}.conf")
        with open(path, "w", encoding="utf-8") as new:
            new.write(made.whole(text))
        made.start_proxy([path if word == "PATH" else word for word in made.command])
        self.addCleanup(made.doClassCleanups)
        self.port = made.port

    def open(self, server: Server | None = None) -> http.client.HTTPConnection:
        context = ssl.create_default_context(cafile=PEM)
        return http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=PATIENCE, context=context
        )

    def get(self, path: str, method: str = "GET") -> Reply:
        return self.ask(method, path, headers={"Host": f"{NAME}:{self.port}"})

    def unavailable(self, reply: Reply) -> None:
        told = (reply.status, reply["success"], reply["code"])
        self.assertEqual(told, (503, False, "UNAVAILABLE"), reply)
        self.assertTrue(reply["message"])

    def test_where_no_server_is_the_proxy_says_so_as_the_api_does(self) -> None:
        self.start(free_port(), {})
        for method in ("GET", "POST"):
            reply = self.get("/sessions", method)
            self.unavailable(reply)
            self.assertEqual(reply.headers["Content-Type"], "application/json")
            self.assertEqual(reply.headers["Retry-After"], "5")
            self.assertNotIn("X-Should-Retry", reply.headers)
        reply = self.get("/v1/chat/completions", "POST")
        self.assertEqual((reply.status, reply["error"]["code"]), (503, "unavailable"))
        self.assertEqual(reply.headers["X-Should-Retry"], "false")

    def test_a_server_that_is_frozen_keeps_nobody_waiting_who_only_reads(self) -> None:
        self.silent(**{"15s": "1s"})
        for path in ("/sessions", "/sessions/0123", "/sessions/0123/messages"):
            self.unavailable(self.get(path))
        # A turn or a stream may be silent for longer.
        silent: list[socket.socket] = []
        for method, path in (("POST", "/chat"), ("GET", "/events"), ("GET", "/sessions/a/events")):
            waiting = self.open()
            self.addCleanup(waiting.close)
            waiting.request(method, path, headers={"Host": f"{NAME}:{self.port}"})
            assert waiting.sock is not None
            silent.append(waiting.sock)
        seconds = 2.0
        for connection in silent:
            connection.settimeout(seconds)
            with self.assertRaises(TimeoutError):
                connection.recv(1)
            # The others have been silent for as long.
            seconds = 0.01


@unittest.skipUnless(shutil.which("nginx"), "nginx is not in PATH")
class Nginx(Behind):
    __test__ = True
    file = "nginx.conf"
    command = ("nginx", "-p", ".", "-e", "stderr", "-c", "PATH")

    @classmethod
    def instead(cls) -> dict[str, str]:
        return {
            "listen 443": f"listen 127.0.0.1:{cls.port}",
            "gemini.example.com;": NAME + ";",
            "/etc/ssl/gemini.example.com.pem": PEM,
            "/etc/ssl/private/gemini.example.com.key": PEM,
            "127.0.0.1:8080": f"127.0.0.1:{cls.server.port}",
        }

    @classmethod
    def whole(cls, text: str) -> str:
        # Its workers become another user else, who may not write into our folder.
        user = "user root;" if os.geteuid() == 0 else ""
        return NGINX.format(user=user, root=cls.root, server=text)

    def test_a_request_has_the_id_that_the_proxy_gives_it(self) -> None:
        id = self.ask("GET", "/sessions", headers={"X-Request-Id": "made-up"}).headers[
            "X-Request-Id"
        ]
        self.assertRegex(id, "^[0-9a-f]{32}$")


@unittest.skipUnless(shutil.which("caddy"), "caddy is not in PATH")
class Caddy(Behind):
    __test__ = True
    file = "Caddyfile"
    command = ("caddy", "run", "--adapter", "caddyfile", "--config", "PATH")

    @classmethod
    def instead(cls) -> dict[str, str]:
        site = f"https://{NAME}:{cls.port} {{\n\tbind 127.0.0.1\n\ttls {PEM} {PEM}"
        return {
            "gemini.example.com {": site,
            "127.0.0.1:8080": f"127.0.0.1:{cls.server.port}",
        }

    @classmethod
    def whole(cls, text: str) -> str:
        # Without a name in the handshake, for the tests name an address.
        options = f"admin off\n\tgrace_period 1s\n\tauto_https off\n\tdefault_sni {NAME}"
        return f"{{\n\t{options}\n}}\n{text}"


@unittest.skipUnless(shutil.which("nginx"), "nginx is not in PATH")
class SilentBehindNginx(Silent):
    __test__ = True
    behind = Nginx


@unittest.skipUnless(shutil.which("caddy"), "caddy is not in PATH")
class SilentBehindCaddy(Silent):
    __test__ = True
    behind = Caddy
