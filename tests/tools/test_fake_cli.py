"""The fake CLI of the adapter's tests, against a server of this test."""

from __future__ import annotations

import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ..fake_cli import FakeCli
from ..support import wait_for


class Ending(BaseHTTPRequestHandler):
    """Cuts off the first request for the stream, as a server does that is about to end."""

    asked = 0

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(202)
        self.end_headers()

    def do_GET(self) -> None:
        Ending.asked += 1
        if Ending.asked > 1:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"id: 1\n\n")

    def log_message(self, *_arguments: Any) -> None:
        pass


class Stream(unittest.TestCase):
    def test_one_that_a_server_cuts_off_is_asked_for_again(self) -> None:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Ending)
        self.addCleanup(server.server_close)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        names = ("GEMINI_CLI_IDE_SERVER_PORT", "GEMINI_CLI_IDE_AUTH_TOKEN")
        cli = FakeCli(dict(zip(names, (str(server.server_address[1]), "token"))))
        self.addCleanup(cli.close)
        wait_for(cli.stream_ended.is_set)
        self.assertTrue(cli.connected())
        self.assertIsNone(cli.stream_error)
