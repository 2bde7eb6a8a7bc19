"""What a hook of the extension costs a CLI, and how soon the editor knows of a question."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager
from typing import Callable, Iterator, List, Mapping, Sequence, Tuple
from unittest import mock

from companion.ide.clis import GEMINI_CLI
from companion.ide.companion import Companion
from companion.ide.hooks import extension
from companion.ide.live_clis import Activity
from companion.ide.status import Status

from .fake_editor import FakeEditor
from .serve_companion import start_companion
from .table import Aim, Row, median_row, missing_row

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROUNDS = 15
# Seconds for one process, and for the editor to hear of it.
PATIENCE = 30.0
# What one edit runs where the CLI does not ask, and what the model takes for it, in seconds.
HOOKS_OF_AN_EDIT, MODEL = 2, 2.0
ASKS = {
    "hook_event_name": "Notification",
    "session_id": "bench",
    "notification_type": "ToolPermission",
    "details": {"type": "exec", "command": "npm test"},
}


class _Editor(FakeEditor):
    """`asked` is set while a CLI asks."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Event()

    def show_status(self, statuses: Tuple[Status, ...]) -> None:
        live = (each for status in statuses for each in status.live)
        if any(each.activity is Activity.ASKS for each in live):
            self.asked.set()
        else:
            self.asked.clear()


def measure() -> Iterator[Row]:
    node, shell = shutil.which("node"), shutil.which("bash")
    if node is None or shell is None:
        yield missing_row("a hook of the extension", "needs node and bash")
        return
    with tempfile.TemporaryDirectory() as home:
        place = extension.extension_folder(GEMINI_CLI, {}, home)
        with open(os.path.join(ROOT, "extension", "companion.cjs"), "rb") as file:
            extension.install_extension(GEMINI_CLI, place, file.read())
        yield from _measure_rows(place, home, [node, "-e", "0"], [shell, "-c"])


def _measure_rows(place: str, home: str, node: List[str], shell: List[str]) -> Iterator[Row]:
    with open(os.path.join(place, extension.HOOKS), encoding="utf-8") as file:
        hooks = json.load(file)["hooks"]
    commands = {
        event: [*shell, group["hooks"][0]["command"].replace("${extensionPath}", place)]
        for event, (group,) in hooks.items()
    }
    environment = {**os.environ, "TMPDIR": home}
    told = {"hook_event_name": "BeforeTool", "session_id": "bench", "cwd": home}
    alone = [_count_seconds(commands["BeforeTool"], told, environment) for _ in range(ROUNDS)]
    share = [HOOKS_OF_AN_EDIT * each / MODEL * 100 for each in alone]
    yield median_row("a hook without an editor", [each * 1e3 for each in alone], " ms", 1)
    name = f"the hooks of an edit without an editor, of the model's {MODEL:.0f} s"
    yield median_row(name, share, " %", 1, Aim(10, False, "at most 10 %"))
    with mock.patch.dict(os.environ, TMPDIR=home), _start_companion(home) as editor:
        pairs = [
            (
                _count_seconds(commands["BeforeTool"], told, environment),
                _count_seconds(node, {}, environment),
            )
            for _ in range(ROUNDS)
        ]
        heard = [_until_heard(editor, commands, home, environment) for _ in range(ROUNDS)]
    yield median_row("a hook with an editor", [hook * 1e3 for hook, _ in pairs], " ms", 1)
    ratios = [hook / bare for hook, bare in pairs]
    yield median_row("the same / node -e 0", ratios, "", 2, Aim(1.5, False, "at most 1.5"))
    aim = Aim(300, False, "at most 300 ms")
    yield median_row("from a question to the status of the window", heard, " ms", 0, aim)


@contextmanager
def _start_companion(folder: str) -> Iterator[_Editor]:
    editor = _Editor()
    companion = Companion(os.getpid())
    start_companion(companion, editor, folder)
    try:
        _wait_until(lambda: bool(os.listdir(os.path.join(folder, "gemini", "ide"))))
        yield editor
    finally:
        companion.stop()


def _count_seconds(
    command: Sequence[str], told: Mapping[str, object], env: Mapping[str, str]
) -> float:
    """Until the process ends. With a time limit of its own, `subprocess` would look for that every
    fifty milliseconds only."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=env)
    limit = threading.Timer(PATIENCE, process.kill)
    limit.start()
    try:
        process.communicate(json.dumps(told).encode())
        ended = time.perf_counter()
    finally:
        limit.cancel()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return ended - began


def _until_heard(
    editor: _Editor, commands: Mapping[str, Sequence[str]], home: str, env: Mapping[str, str]
) -> float:
    """Milliseconds from the start of the hook to the status that says so."""
    began = time.perf_counter()
    _count_seconds(commands["Notification"], {**ASKS, "cwd": home}, env)
    if not editor.asked.wait(PATIENCE):
        raise TimeoutError("the editor heard of no question")
    found = (time.perf_counter() - began) * 1e3
    told = {"hook_event_name": "AfterAgent", "session_id": "bench", "cwd": home}
    _count_seconds(commands["AfterAgent"], told, env)
    _wait_until(lambda: not editor.asked.is_set())
    return found


def _wait_until(condition: Callable[[], bool]) -> None:
    """Raises TimeoutError."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("waited in vain")
        time.sleep(0.002)
