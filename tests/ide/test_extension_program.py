"""The program of the extension, run as a CLI runs it; the windows are servers of this test."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from GeminiCompanion.companion.ide.clis import GEMINI_CLI
from GeminiCompanion.companion.ide.hooks import extension

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NODE = shutil.which("node")


class Window(ThreadingHTTPServer):
    """`heard` are the bodies of its requests; it answers them with the status and the text."""

    def __init__(self, status: int = 200, answer: str = '{"decision":"ask"}') -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.status, self.answer = status, answer
        self.heard: list[Any] = []
        self.tokens: list[str] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    server: Window

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.heard.append((self.path, json.loads(body)))
        self.server.tokens.append(self.headers["Authorization"])
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(self.server.answer.encode())

    def log_message(self, *_arguments: Any) -> None:
        pass


@unittest.skipUnless(NODE, "needs Node.js")
class Program(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = os.path.realpath(folder.name)
        self.work = os.path.join(self.root, "work", "inner")
        self.ide = os.path.join(self.root, "gemini", "ide")
        os.makedirs(self.work)
        os.makedirs(self.ide)
        self.place = extension.folder(GEMINI_CLI, {}, self.root)
        with open(os.path.join(ROOT, "extension", "companion.cjs"), "rb") as file:
            extension.install(GEMINI_CLI, self.place, file.read())

    def window(self, folder: str, status: int = 200, answer: str = "{}") -> Window:
        window = Window(status, answer)
        self.addCleanup(window.server_close)
        self.addCleanup(window.shutdown)
        self.advertise(window.server_address[1], folder)
        return window

    def advertise(self, number: int, folder: str, **more: Any) -> None:
        told = {"port": number, "workspacePath": folder, "authToken": f"token {number}", **more}
        with open(os.path.join(self.ide, f"gemini-ide-server-1-{number}.json"), "w") as file:
            json.dump(told, file)

    def hook(self, told: Any = None, **variables: str) -> str:
        told = {"cwd": self.work, "hook_event_name": "AfterAgent"} if told is None else told
        done = subprocess.run(
            [NODE or "", os.path.join(self.place, "companion.cjs"), "hook", "AfterAgent"],
            input=(told if isinstance(told, str) else json.dumps(told)).encode(),
            env={"TMPDIR": self.root, "PATH": os.environ["PATH"], **variables},
            capture_output=True,
            timeout=60,
        )
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout.decode()

    def test_the_window_with_the_folder_hears_what_the_cli_says(self) -> None:
        other = self.window(os.path.join(self.root, "wor"))
        window = self.window(os.path.join(self.root, "work"), answer='{"decision":"ask"}')
        self.assertEqual(self.hook(), '{"decision":"ask"}')
        ((path, body),) = window.heard
        self.assertEqual((path, body["pid"]), ("/hooks", os.getpid()))
        self.assertEqual(body["input"], {"cwd": self.work, "hook_event_name": "AfterAgent"})
        self.assertEqual(window.tokens, [f"Bearer token {window.server_address[1]}"])
        self.assertEqual(other.heard, [])

    def test_of_several_windows_that_of_the_terminal_is_asked_first(self) -> None:
        windows = [self.window(self.work, answer=json.dumps({"window": n})) for n in range(3)]
        for number, window in enumerate(windows):
            port = str(window.server_address[1])
            answer = self.hook(GEMINI_CLI_IDE_SERVER_PORT=port)
            self.assertEqual(json.loads(answer), {"window": number})

    def test_one_that_knows_no_hooks_or_is_gone_is_passed_over(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            self.advertise(taken.getsockname()[1], self.work)
            self.window(self.work, status=404)
            window = self.window(self.work, answer='{"it": 1}')
            self.assertEqual(self.hook(), '{"it": 1}')
            self.assertEqual(len(window.heard), 1)

    def test_nothing_is_said_where_nobody_hears(self) -> None:
        self.assertEqual(self.hook(), "{}")
        self.window(os.path.join(self.root, "elsewhere"))
        self.window(self.work, status=500, answer="a fault")
        for told in (None, "no JSON", "", "null", {"cwd": 1}):
            with self.subTest(told):
                self.assertEqual(self.hook(told), "{}")

    def test_files_that_are_no_discovery_files_are_left_alone(self) -> None:
        wrong: tuple[dict[str, Any], ...] = ({"port": "x"}, {"authToken": 1}, {"workspacePath": 3})
        for number, more in enumerate(wrong):
            self.advertise(number, self.work, **more)
        with open(os.path.join(self.ide, "broken.json"), "w") as file:
            file.write("{")
        self.assertEqual(self.hook(), "{}")
