"""The headless editor in a process of its own, driven through Sublime's API by `remote.py`."""

from __future__ import annotations

import json
import os
import queue
import re
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


class Editor:
    """`editor.do("open", path)` runs that function of remote.py and gives its answer.

    Raises RuntimeError with what the function raised, or where the editor has left.
    """

    def __init__(
        self,
        folder: str,
        data: str,
        temp: str,
        package: str = "",
        python: str = sys.executable,
        home: str = "",
        restore: bool = False,
    ) -> None:
        """`restore`: the packages come to what was open in the last editor of `data`."""
        script = os.path.join(HERE, "remote.py")
        options = ["--package", package] if package else []
        options += ["--restore"] if restore else []
        # Without a home of its own it is none of the user's Claude Code.
        homes = {"HOME": home} if home else {"CLAUDE_CONFIG_DIR": os.path.join(data, "none")}
        line = [python, "-m", "headless", folder, "--data", data, *options]
        self._process = subprocess.Popen(
            [*line, "--exec", script],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": temp, **homes},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._temp = temp
        self._count = 0
        self._answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def do(self, name: str, *args: Any, timeout: float = 300) -> Any:
        if self._process.stdin is None or self._process.poll() is not None:
            raise RuntimeError(f"{name}: the editor has left with {self._process.returncode}")
        self._count += 1
        self._process.stdin.write(json.dumps([self._count, name, *args]).encode() + b"\n")
        self._process.stdin.flush()
        answer = self._answers.get(timeout=timeout)
        # The answer to a question that was given up may come late.
        while answer["number"] not in (self._count, None):
            answer = self._answers.get(timeout=timeout)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["value"]

    @property
    def pid(self) -> int:
        """The editor's process; that of the packages is below it."""
        return self._process.pid

    def discovery_files(self) -> list[str]:
        folder = os.path.join(self._temp, "gemini", "ide")
        names = os.listdir(folder) if os.path.isdir(folder) else []
        # One that is being written has another name.
        return sorted(name for name in names if name.endswith(".json"))

    def reports(self, kind: str) -> list[str]:
        """What the doctor says of each CLI of this kind that runs, from the number of its process
        on. It looks at all of the machine, also at those of other tests."""
        begin = f"{kind}, process "
        # What is said of one is indented.
        sections = re.split(r"^(?=\S)", str(self.do("report")), flags=re.MULTILINE)
        return [section[len(begin) :] for section in sections if section.startswith(begin)]

    def kill(self) -> None:
        """End it as a crash would."""
        self._process.kill()
        self._process.wait()

    def leave(self) -> int:
        """Quit as a user does: on_exit, and no plugin_unloaded; the exit status."""
        # The answer can get lost.
        with suppress(RuntimeError, queue.Empty):
            self.do("leave", timeout=5)
        return self._process.wait(240)

    def quit(self) -> int:
        """Unload the packages and leave; the exit status."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()
        return self._process.wait(240)

    def close(self) -> None:
        try:
            self.quit()
        finally:
            self.kill()
            self._reader.join(5)
            if self._process.stdout is not None:
                self._process.stdout.close()

    def _read(self) -> None:
        if self._process.stdout is None:
            return
        for line in self._process.stdout:
            if line.startswith(b"@"):
                self._answers.put(json.loads(line[1:]))
        self._answers.put({"number": None, "error": "the editor has left"})
