"""The API's server inside of the headless editor: how it is set up, found and asked."""

from __future__ import annotations

import http.client
import json
import os
import re
import time
from typing import Any, Mapping
from unittest import mock

import scripted
from editor import Editor

START = "Gemini Companion: Start API Server"
STOP = "Gemini Companion: Stop API Server"
PATIENCE = 240


def set_up(root: str, data: str, model_url: str, program: str = "") -> Any:
    """What is to be patched while the editor is started: the folder `root` is the user's home, and
    the editor's folder `data` has their settings. The CLI is the scripted one, or this program of a
    real one, led to the local model past the environment, which the editor keeps from it."""
    programs = os.path.join(root, "programs")
    os.mkdir(programs)
    program = scripted.find(programs, model_url, program)
    write_settings(data, {"api_port": 0, "cli_command": [program]})
    path = os.pathsep.join([programs, os.environ["PATH"]])
    cache = os.path.join(root, "cache")
    return mock.patch.dict(os.environ, XDG_CACHE_HOME=cache, HOME=root, PATH=path)


def write_settings(data: str, own: Mapping[str, Any]) -> None:
    """The user's settings of the package, in the editor's folder `data`."""
    folder = os.path.join(data, "Packages", "User")
    os.makedirs(folder)
    with open(os.path.join(folder, "GeminiCompanion.sublime-settings"), "w") as file:
        json.dump(own, file)


class Served:
    """The server after the command to start it."""

    def __init__(self, editor: Editor) -> None:
        """Raises AssertionError where the palette does not offer the command, or nothing comes."""
        self.editor = editor
        # The palette offers it once the companion runs.
        until(lambda: editor.do("choose_in_palette", START))
        self.told = until(lambda: editor.do("api"))
        found = re.search(r"http://127\.0\.0\.1:(\d+)/#token=([\w-]{43})", self.told)
        if found is None:
            raise AssertionError(self.told)
        self.port, self.token = int(found.group(1)), found.group(2)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        return json.loads(self.read(method, path, body).decode("utf-8"))

    def read(self, method: str, path: str, body: Any = None) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "Accept-Language": "en",
        }
        try:
            connection.request(method, path, json.dumps(body or {}), headers)
            return connection.getresponse().read()
        finally:
            connection.close()

    def configure(self, **login: str) -> None:
        """A login as the API takes it; the usual one is a key of Gemini CLI's. Raises
        AssertionError."""
        login = login or {"authType": "gemini-api-key", "apiKey": "the-key"}
        reply = self.ask("POST", "/auth/config", login)
        if not reply["success"]:
            raise AssertionError(reply)

    def chat(self, message: str) -> str:
        """The answer of the model."""
        self.configure()
        reply = self.ask("POST", "/chat", {"message": message})
        if not reply["success"]:
            raise AssertionError(reply)
        return str(reply["response"])

    @property
    def pid(self) -> int:
        """Of the CLI, which has to run."""
        return int(self.ask("GET", "/status")["cli"]["pid"])


def until(condition: Any, seen: Any = None) -> Any:
    """What the condition gives once it is true. Raises AssertionError where it does not in time,
    with what `seen` gives then."""
    end = time.monotonic() + PATIENCE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain; last seen: {seen() if seen else value!r}")
        time.sleep(0.02)


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False
