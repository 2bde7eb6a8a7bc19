"""The real Gemini CLI in a pseudo-terminal, read as a person would read its screen.

cli = GeminiCli(home, folder, model.url, {"TMPDIR": ...})
cli.wait_for("1 open file")
cli.say("/ide status")
cli.press("1")
cli.close()
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from typing import Mapping

import pyte

HERE = os.path.dirname(os.path.abspath(__file__))
BINARY = os.path.join(HERE, "node_modules", ".bin", "gemini")
COLUMNS, LINES = 140, 50
SETTINGS = {
    "ide": {"enabled": True, "hasSeenNudge": True},
    "security": {
        "auth": {"selectedType": "gemini-api-key"},
        "folderTrust": {"enabled": False},
    },
    "ui": {"theme": "Default", "hideTips": True},
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
}
ESCAPE = "\x1b"


class Screen(pyte.Screen):  # type: ignore[misc]
    """pyte's screen, deaf to the private renditions that it stumbles over."""

    def select_graphic_rendition(self, *attributes: int, private: bool = False) -> None:
        if not private:
            super().select_graphic_rendition(*attributes)


class GeminiCli:
    def __init__(self, home: str, folder: str, model_url: str, more: Mapping[str, str]) -> None:
        os.makedirs(os.path.join(home, ".gemini"), exist_ok=True)
        with open(os.path.join(home, ".gemini", "settings.json"), "w", encoding="utf-8") as file:
            json.dump(SETTINGS, file)
        self._screen = Screen(COLUMNS, LINES)
        self._stream = pyte.ByteStream(self._screen)
        self._lock = threading.Lock()
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self._process = subprocess.Popen(
            [BINARY],
            cwd=folder,
            env=environment(home, model_url, more),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def screen(self) -> str:
        with self._lock:
            return "\n".join(line.rstrip() for line in self._screen.display)

    def wait_for(self, *texts: str, timeout: float = 30) -> None:
        """Wait until all the texts are on the screen."""
        deadline = time.monotonic() + timeout
        while not all(text in self.screen() for text in texts):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{texts} not on the screen:\n{self.screen()}")
            select.select([], [], [], 0.05)

    def wait_gone(self, text: str, timeout: float = 30) -> None:
        deadline = time.monotonic() + timeout
        while text in self.screen():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{text} still on the screen:\n{self.screen()}")
            select.select([], [], [], 0.05)

    def wait_connected(self) -> None:
        """Ask for the status until it says so: the CLI connects in the background."""
        self.wait_for("Type your message", timeout=60)
        for _ in range(10):
            self.say("/ide status")
            try:
                self.wait_for("Connected to Sublime Text", timeout=3)
                return
            except TimeoutError:
                continue
        raise TimeoutError(f"not connected:\n{self.screen()}")

    def say(self, text: str) -> None:
        """Type a line and send it, as soon as the CLI has shown it."""
        self.press(text)
        self.wait_for(text)
        # The CLI takes a key within 30 ms of the one before for a paste.
        select.select([], [], [], 0.2)
        self.press("\r")

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def kill(self) -> None:
        """End it as a crash would."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        self.kill()
        self._reader.join(5)
        os.close(self._master)

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._master, 65536)
            except OSError:
                return
            if not data:
                return
            with self._lock:
                self._stream.feed(data)


def environment(home: str, model_url: str, more: Mapping[str, str]) -> dict[str, str]:
    """Nothing of this machine but the path to Node."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": home,
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "GOOGLE_GEMINI_BASE_URL": model_url,
        "GEMINI_API_KEY": "none",
        # A machine with /.dockerenv would make the CLI look for host.docker.internal.
        "SSH_CONNECTION": "127.0.0.1 1 127.0.0.1 2",
        "NO_PROXY": "127.0.0.1",
        **more,
    }
