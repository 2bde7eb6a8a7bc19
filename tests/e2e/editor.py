"""The headless editor in a process of its own, driven through Sublime's API by `remote.py`."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


class Editor:
    """`editor.do("open", path)` runs that function of remote.py and gives its answer."""

    def __init__(self, folder: str, data: str, temp: str, *packages: str) -> None:
        named = [item for package in packages for item in ("--package", package)]
        script = os.path.join(HERE, "remote.py")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "headless", folder, "--data", data, *named, "--exec", script],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": temp},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._answers: queue.Queue[Any] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.temp = temp
        self.do("wait_until_served")

    def do(self, name: str, *args: Any, timeout: float = 20) -> Any:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([name, *args]).encode() + b"\n")
        self.process.stdin.flush()
        answer = self._answers.get(timeout=timeout)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["value"]

    def wait_for(self, name: str, expected: Any, *args: Any, timeout: float = 20) -> None:
        """Wait until `do(name, *args)` gives what is expected."""
        deadline = time.monotonic() + timeout
        while self.do(name, *args) != expected:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{name}: {self.do(name, *args)!r} is not {expected!r}")

    def discovery_files(self) -> list[str]:
        folder = os.path.join(self.temp, "gemini", "ide")
        return sorted(os.listdir(folder)) if os.path.isdir(folder) else []

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self) -> None:
        if self.process.poll() is None and self.process.stdin is not None:
            self.process.stdin.close()
            self.process.wait(20)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(b"@"):
                self._answers.put(json.loads(line[1:]))
