"""An editor inside the test's own process, its UI thread beside the test's, or one of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from typing import Any, Callable

from headless import host, running
from headless.options import Options

HERE = os.path.dirname(os.path.abspath(__file__))
# The folder that has the editor in it.
ROOT = os.path.dirname(os.path.dirname(HERE))
PATIENCE = 180.0  # seconds
TWO_GROUPS = {"cols": [0, 0.5, 1], "rows": [0, 1], "cells": [[0, 0, 1, 1], [1, 0, 2, 1]]}


def wait_until(condition: Callable[[], Any], what: str = "the condition") -> Any:
    """The condition's first true value; raises AssertionError when it takes too long."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        threading.Event().wait(0.002)
    raise AssertionError(f"{what} did not come true")


class EngineTestCase(unittest.TestCase):
    """`self.editor` runs with the plugin `self.plugin` (source) loaded as Toy.plugin.

    The plugin may append to `LOG`, which is `self.log`.
    """

    plugin = ""
    build = 4200

    def setUp(self) -> None:
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.data = os.path.join(self.folder, "data")
        self.work = os.path.join(self.folder, "work")
        os.makedirs(self.work)
        self.log: list[Any] = []
        self.write_package("Toy", {"plugin.py": self.head() + self.plugin})
        self.start()

    def head(self) -> str:
        return "import sublime, sublime_plugin, threading\nLOG = sublime_plugin.TEST_LOG\n"

    def write_package(self, name: str, files: dict[str, str]) -> None:
        for path, text in files.items():
            full = os.path.join(self.data, "Packages", name, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)

    def start(self) -> None:
        options = Options(folders=(self.work,), packages=(), data=self.data, build=self.build)
        self.editor = host.build(options, self.data)
        self.addCleanup(self.stop)
        self.editor.switches.watch_seconds = 0
        self.editor.api.plugin.TEST_LOG = self.log
        self.sublime = self.editor.api.sublime
        queues = self.editor.queues
        ui = threading.Thread(target=queues.ui.run, name="UI", daemon=True)
        ui.start()
        wait_until(lambda: queues.ui.thread is ui)
        queues.start_background()
        self.editor.ui(self.editor.plugins.start)
        self.editor.ui(self.editor.plugins.open_api)
        self.settle()
        self.window = self.sublime.active_window()

    def stop(self) -> None:
        editor = self.editor
        if running.is_running() and running.current() is editor:
            editor.api.open = True
            editor.ui(editor.plugins.unload_all)
            running.end()
        editor.stop_watching()
        editor.queues.stop()
        if editor.packages.finder in sys.meta_path:
            sys.meta_path.remove(editor.packages.finder)
        for name in [name for name in sys.modules if name.split(".")[0] in editor.packages.by_name]:
            del sys.modules[name]

    def settle(self) -> None:
        """Let everything that is due on both threads run."""
        queues = self.editor.queues
        for _round in range(3):
            for queue in (queues.files, queues.ui, queues.worker):
                done = threading.Event()
                queue.post(done.set)
                self.assertTrue(done.wait(PATIENCE))

    def file(self, name: str, data: bytes = b"") -> str:
        path = os.path.join(self.work, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def open(self, name: str, data: bytes = b"", flags: int = 0) -> Any:
        view = self.window.open_file(self.file(name, data), flags)
        wait_until(lambda: not view.is_loading())
        self.settle()
        return view

    def view_with(self, text: str) -> Any:
        view = self.window.new_file()
        view.set_scratch(True)
        self.append(view, text)
        self.settle()
        return view

    def select(self, view: Any, *places: Any) -> None:
        """These alone: points and regions."""
        view.sel().clear()
        view.sel().add_all([*places])

    def insert(self, view: Any, text: str, *places: Any) -> None:
        """As typed: at these places, or where the carets are."""
        if places:
            self.select(view, *places)
        view.run_command("insert", {"characters": text})

    def type(self, view: Any, *letters: str) -> None:
        """As a person does, one after the other."""
        for letter in letters:
            self.editor.ui(self.editor.type_text, self.editor.view(view.id()), letter)

    def append(self, view: Any, text: str) -> None:
        view.run_command("append", {"characters": text})

    def text(self, view: Any) -> str:
        return str(view.substr(self.sublime.Region(0, view.size())))


def environment() -> dict[str, str]:
    """That of an editor that is started in any folder."""
    return {**os.environ, "PYTHONPATH": ROOT}


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def run_editor(
    arguments: list[str], folder: str = HERE, **options: Any
) -> subprocess.CompletedProcess[str]:
    """`python -m headless ARGUMENTS` in the folder, finished; its output as text."""
    return subprocess.run(
        [sys.executable, "-m", "headless"] + arguments,
        cwd=folder,
        env=environment(),
        capture_output=True,
        timeout=PATIENCE,
        text=True,
        stdin=subprocess.DEVNULL,
        **options,
    )
