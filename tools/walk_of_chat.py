"""What runs from a message to the API to its first event, with the real CLI and tests' model."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import sys
import tempfile
import threading
from contextlib import ExitStack
from typing import Any, Awaitable, List

from companion.agent.agents.gemini_cli import GeminiCli
from companion.agent.credentials import API_KEY, Credentials
from companion.agent.processes.runner import Launch
from companion.api import state_folder
from companion.api.server import Server, ServerSettings

from .walk_recorder import ROOT, Recorder, ends_at_writes

TESTS = os.path.join(ROOT, "tests", "e2e")
sys.path.insert(0, TESTS)

from model_server import ModelServer  # noqa: E402

MODEL = "gemini-2.5-flash"
# Seconds for the CLI to start and to answer.
PATIENCE = 120.0


def is_possible() -> bool:
    return os.path.isdir(os.path.join(TESTS, "node_modules"))


def record_runs(count: int) -> List[List[str]]:
    """The functions of each run. Raises OSError, TimeoutError."""
    with ExitStack() as stack:
        recorder = stack.enter_context(Recorder())
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        model = stack.enter_context(ModelServer())
        model.will_play("hello", ["Hello."])
        client = stack.enter_context(Client(folder, model.url))
        # The first message starts the CLI.
        client.chat_to_the_end()
        return [_record_run(recorder, client) for _ in range(count)]


def _record_run(recorder: Recorder, client: Client) -> List[str]:
    # What the CLI answers to is what leads to its answer.
    ends = ends_at_writes(b'"session/prompt"', b"data: ")
    found = recorder.record(client.chat_to_the_first_event, ends)
    client.read_the_rest()
    return found


class Client:
    """A server of the API on a thread of its own, and its client. The folder is empty."""

    def __init__(self, folder: str, model_url: str) -> None:
        self._workspace = os.path.join(folder, "workspace")
        os.mkdir(self._workspace)
        variables = {"GOOGLE_GEMINI_BASE_URL": model_url, "NO_PROXY": "127.0.0.1"}
        launch = Launch(GeminiCli.program.find_command(TESTS), variables, {}, MODEL)
        state = os.path.join(folder, "state")
        self._server = Server(
            ServerSettings(state_folder.agent_options(state, launch), [self._workspace], port=0),
            state,
        )
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self) -> Client:
        self._thread.start()
        self._on_loop(self._server.start())
        self._on_loop(
            self._server.agent.account.configure_credentials(Credentials(API_KEY, "the-key"))
        )
        return self

    def __exit__(self, *_error: object) -> None:
        self._on_loop(self._server.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()

    def chat_to_the_end(self) -> None:
        self.chat_to_the_first_event()
        self.read_the_rest()

    def chat_to_the_first_event(self) -> None:
        port = self._server.port
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        headers = {
            "Authorization": "Bearer " + self._server.token,
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
        }
        body = {"message": "hello", "stream": True, "workspacePath": self._workspace}
        self._connection.request("POST", "/chat", json.dumps(body), headers)
        self._stream = self._connection.getresponse()
        line = b""
        while not line.startswith(b"data: "):
            line = self._stream.readline()
            if not line:
                raise OSError("The stream ended before its first event.")

    def read_the_rest(self) -> None:
        self._stream.read()
        self._connection.close()

    def _on_loop(self, work: Awaitable[Any]) -> Any:
        async def run() -> Any:
            return await work

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(PATIENCE)
