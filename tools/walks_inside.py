"""Runs inside an editor that does not have the package yet: loads it, and records what of it runs
for what the user and a CLI do.

python -m headless FOLDER --package EMPTY --exec tools/walks_inside.py -- ANSWER.json RUNS

Writes a JSON object: for each walk, the functions of each of its runs. The CLI is a client of ours.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
import time
from types import FrameType
from typing import Any, Callable, Dict, List

import sublime

from headless import running
from headless.queues import Queue

# The repository stands in the editor as a package.
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from tests.fake_cli import FakeCli  # noqa: E402
from tools.walk_recorder import ROOT, Recorder, ends_at_writes  # noqa: E402

# Seconds for anything, between looks, and after which a view in which nothing was drawn is drawn:
# longer than what waits for the user to come to rest.
PATIENCE = 60.0
LOOK = 0.005
STILL = 0.5
# What changes a view before the user's eyes.
DRAWING = {
    function.__code__
    for function in (sublime.View.insert, sublime.View.replace, sublime.View.erase)
    + (sublime.View.add_regions, sublime.View.add_phantom)
}
OLD = "".join(f"line {number}\n" for number in range(100))
NEW = OLD.replace("5\n", "5, changed\n")

Walks = Dict[str, List[List[str]]]


def main(answer: str, runs: str) -> None:
    with Recorder() as recorder:
        walks = _record_walks(recorder, int(runs))
    with open(answer, "w") as file:
        json.dump(walks, file)


def _record_walks(recorder: Recorder, runs: int) -> Walks:
    """The recorder watches the editor's two threads, and all that will begin."""
    recorder.follow(Queue, "post")
    for later in (sublime.set_timeout, sublime.set_timeout_async):
        _run_on(later, recorder.watch_this_thread)
    window = sublime.active_window()
    plugin = _load_package()
    wait_until(lambda: plugin._host.running is not None and plugin._host.environment_of(window))
    cli = FakeCli(plugin._host.environment_of(window), folder=window.folders()[0])
    wait_until(lambda: cli.connected() and cli.received("ide/contextUpdate"))
    editor = Editor(recorder, window, plugin._host.running, cli)
    walks: Walks = {}
    for number in range(runs):
        for name, functions in editor.walks(number).items():
            walks.setdefault(name, []).append(functions)
    cli.close()
    return walks


def _load_package() -> Any:
    editor = running.current()
    editor.packages.add(editor.packages.at(ROOT))
    editor.queues.ui.post(editor.plugins.follow)
    return importlib.import_module("GeminiCompanion.plugin")


class Editor:
    """What the user and the CLI do, in one window."""

    def __init__(
        self, recorder: Recorder, window: sublime.Window, package: Any, cli: FakeCli
    ) -> None:
        self._recorder = recorder
        self._window = window
        self._package = package
        self._cli = cli
        self._drawn_at = 0.0

    def walks(self, number: int) -> Dict[str, List[str]]:
        accepted, dropped = self._write_old(f"a{number}.txt"), self._write_old(f"d{number}.txt")
        record = self._recorder.record
        selection = self._make_selection(accepted)
        found = {"selection to the stream": record(selection, ends_at_writes(b"ide/contextUpdate"))}
        found["openDiff to the drawn view"] = record(lambda: self._open_diff(accepted), self._draws)
        found["Accept to the notification"] = record(
            self._accept_diff, ends_at_writes(b"ide/diffAccepted")
        )
        with open(accepted, "w") as file:
            file.write(NEW)
        view = self._open_diff(dropped)
        found["Drop to the drawn view"] = record(lambda: self._drop_change(view), self._draws)
        self._close_diff(dropped)
        return found

    def _write_old(self, name: str) -> str:
        path = os.path.join(self._window.folders()[0], name)
        with open(path, "w") as file:
            file.write(OLD)
        return path

    def _make_selection(self, path: str) -> Callable[[], None]:
        view = self._window.open_file(path)
        wait_until(lambda: not view.is_loading())

        def select() -> None:
            view.sel().clear()
            view.sel().add(sublime.Region(3, 9))

        def walk() -> None:
            before = len(self._cli.received("ide/contextUpdate"))
            sublime.set_timeout(select)
            wait_until(lambda: len(self._cli.received("ide/contextUpdate")) > before)

        return walk

    def _open_diff(self, path: str) -> sublime.View:
        answer = self._cli.call("openDiff", filePath=path, newContent=NEW)
        answer.result(PATIENCE)
        wait_until(lambda: any(self._is_drawn(view) for view in self._window.views()))
        return next(view for view in self._window.views() if self._is_drawn(view))

    def _close_diff(self, path: str) -> None:
        self._cli.call("closeDiff", filePath=path).result(PATIENCE)
        wait_until(lambda: not any(self._is_drawn(view) for view in self._window.views()))

    def _is_drawn(self, view: sublime.View) -> bool:
        review = self._package.diffs.reviews.review_of(view)
        if review is None or review.change_count != view.change_count():
            return False
        return review.is_current(view) and time.monotonic() > self._drawn_at + STILL

    def _draws(self, frame: FrameType) -> bool:
        """Whether this call changes a view before the user's eyes."""
        if frame.f_code in DRAWING:
            self._drawn_at = time.monotonic()
        return frame.f_code in DRAWING

    def _accept_diff(self) -> None:
        before = len(self._cli.received("ide/diffAccepted"))
        self._run_command("gemini_companion_accept_diff")
        wait_until(lambda: len(self._cli.received("ide/diffAccepted")) > before)

    def _drop_change(self, view: sublime.View) -> None:
        before = view.change_count()
        self._run_command("gemini_companion_drop_change")
        wait_until(lambda: view.change_count() > before and self._is_drawn(view))

    def _run_command(self, command: str) -> None:
        sublime.set_timeout(lambda: self._window.run_command(command))


def _run_on(later: Callable[..., None], work: Callable[[], None] = lambda: None) -> None:
    """Do the work on that thread, behind all that waits there, and wait for it."""
    done = threading.Event()

    def run() -> None:
        work()
        done.set()

    later(run, 0)
    if not done.wait(PATIENCE):
        raise TimeoutError("the editor's thread is busy")


def wait_until(condition: Callable[[], object]) -> None:
    """Raises TimeoutError."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("waited in vain")
        time.sleep(LOOK)


if __name__ == "__main__":
    main(*sys.argv[1:])
