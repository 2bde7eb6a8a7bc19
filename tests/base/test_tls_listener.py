"""Connections with TLS before anything of HTTP: who gets in, and what the others cost."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import threading
import unittest
import warnings
from typing import Any, Callable
from unittest import mock

from GeminiCompanion.companion.base import tls_listener
from GeminiCompanion.companion.base.log import logger
from GeminiCompanion.companion.base.tls_listener import TlsListener

from ..support import PATIENCE, wait_for

CERTIFICATES = os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "certificates"
)
PEM = os.path.join(CERTIFICATES, "first.pem")
LIMIT = 4


class Echo(asyncio.Protocol):
    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.transport.write(data)


class Listening(unittest.TestCase):
    def setUp(self) -> None:
        self.loop = asyncio.new_event_loop()
        thread = threading.Thread(target=self.loop.run_forever)
        thread.start()
        self.addCleanup(self.loop.close)
        self.addCleanup(thread.join, PATIENCE)
        self.addCleanup(self.loop.call_soon_threadsafe, self.loop.stop)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(PEM)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        server = socket.create_server(("127.0.0.1", 0))
        self.address = server.getsockname()
        self.made: list[Echo] = []
        self.listener = self.on_loop(lambda: TlsListener(server, context, self.connection, LIMIT))
        self.addCleanup(self.close)

    def connection(self) -> Echo:
        self.made.append(Echo())
        return self.made[-1]

    def close(self) -> None:
        """Wait until nothing runs: what is cancelled has its turn."""
        self.on_loop(self.listener.close)
        for each in self.made:
            if hasattr(each, "transport"):
                self.on_loop(each.transport.abort)
        wait_for(lambda: self.on_loop(lambda: len(asyncio.all_tasks())) == 1)

    def on_loop(self, work: Callable[[], Any]) -> Any:
        async def run() -> Any:
            return work()

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(PATIENCE)

    def connect(self) -> socket.socket:
        client = socket.create_connection(self.address, PATIENCE)
        self.addCleanup(client.close)
        return client

    def encrypted(self) -> ssl.SSLSocket:
        context = ssl.create_default_context(cafile=PEM)
        client = context.wrap_socket(self.connect(), server_hostname="localhost")
        self.addCleanup(client.close)
        return client

    def test_what_is_said_comes_through_encrypted(self) -> None:
        client = self.encrypted()
        client.sendall(b"hello")
        self.assertEqual(client.recv(100), b"hello")
        self.assertIn(client.version(), ("TLSv1.2", "TLSv1.3"))

    def test_many_that_say_nothing_cost_the_oldest_of_them_and_nobody_else(self) -> None:
        held = self.encrypted()
        silent = [self.connect() for _ in range(LIMIT + 3)]
        client = self.encrypted()
        client.sendall(b"in")
        self.assertEqual(client.recv(100), b"in")
        self.assertEqual(silent[0].recv(1), b"")
        held.sendall(b"still")
        self.assertEqual(held.recv(100), b"still")

    def test_one_that_says_nothing_is_given_up(self) -> None:
        with mock.patch.object(tls_listener, "TIME_LIMIT", 0.1):
            client = self.connect()
            self.assertEqual(client.recv(1), b"")

    def test_what_is_no_tls_is_not_quoted_in_the_log(self) -> None:
        with self.assertLogs(level="DEBUG") as theirs, self.assertLogs(logger, "DEBUG") as ours:
            client = self.connect()
            client.sendall(b"GET /secret HTTP/1.1\r\n\r\n")
            while client.recv(1000):
                pass
            wait_for(lambda: ours.output)
            theirs.records.append(ours.records[0])
        self.assertNotIn("secret", "".join(theirs.output + ours.output))

    def test_an_old_version_is_refused(self) -> None:
        context = ssl.create_default_context(cafile=PEM)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
            context.set_ciphers("ALL:@SECLEVEL=0")
        with self.assertRaises(OSError):
            context.wrap_socket(self.connect(), server_hostname="localhost")

    def test_a_system_that_gives_no_connection_is_asked_again(self) -> None:
        accept, failing = self.loop.sock_accept, [OSError(24, "Too many open files")]

        async def accepted(listener: socket.socket) -> Any:
            if failing:
                raise failing.pop()
            return await accept(listener)

        with mock.patch.object(self.loop, "sock_accept", accepted), self.assertLogs(logger):
            # The one that is waiting goes on as it was.
            self.encrypted()
            with mock.patch.object(tls_listener, "PAUSE", 0.01):
                client = self.encrypted()
        client.sendall(b"in")
        self.assertEqual(client.recv(100), b"in")
