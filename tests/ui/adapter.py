"""What the tests of the adapter share: a window, a file in it, and a CLI connected to it."""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
from typing import Any, Callable, Generator, Sequence
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.ide import accepted_texts
from GeminiCompanion.companion.ide.events import WindowSettingsChanged
from GeminiCompanion.companion.ide.questions import (
    Question,
    TextWithdrawal,
    UnwrittenTexts,
    WindowStatuses,
)
from GeminiCompanion.companion.ide.status import Status
from GeminiCompanion.companion.ui import settings, sharing_settings
from GeminiCompanion.companion.ui.review import open_diffs, pace
from GeminiCompanion.companion.ui.stories import Stories, Story
from unittesting import AWAIT_WORKER, DeferrableTestCase

from ..fake_cli import FakeCli
from ..support import patched

try:
    from headless import running
except ImportError:
    # In a real Sublime Text.
    running = None  # type: ignore[assignment]


@dataclasses.dataclass(frozen=True)
class _ForgetSentences(Question[None]):
    """What models are still to be told of edits that a test has undone: the CLIs of the next test
    are of the same kind, and would tell it."""

    window_id: int

    def find_answer(self, windows: Any) -> None:
        workspace = windows.workspaces.get(self.window_id)
        if workspace is not None:
            workspace.unasked._keep_sentences([])


class AdapterTestCase(DeferrableTestCase):  # type: ignore[misc]
    """`self.window` is the editor's window, `self.folder` a folder for files of the test.

    What another thread brings is waited for before it is looked at. That something does not come is
    known once something later has come: `until_turn`, `until_heard`.
    """

    @classmethod
    def setUpClass(cls) -> Generator[Any, Any, None]:
        # The package goes on being imported after it was loaded.
        yield lambda: plugin._host.is_running

    def setUp(self) -> None:
        self.window = sublime.active_window()
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.before = {view.id() for view in self.window.views()}
        self.clis: list[FakeCli] = []
        # A test presses faster than a person.
        patched(self, mock.patch.object(pace, "MOMENT", 0))

    def tearDown(self) -> Generator[Any, Any, None]:
        # A question that is still open would have the keyboard in the next test.
        self.window.run_command("hide_overlay")
        for diff, record in list(open_diffs.undecided_diffs(self.window)):
            if record.is_unopened:
                plugin._host.running.review.actions.reject_proposal(diff)
            else:
                diff.close()
        yield lambda: not list(open_diffs.undecided_diffs(self.window))
        for cli in self.clis:
            # It is heard of after the last decision: else the CLI of a later test would be told it.
            if not cli.is_closed and not cli.stream_ended.is_set():
                yield cli.call("closeDiff", filePath=os.path.join(self.folder, "none")).done
            cli.close()
        # Edits that nobody decided on stay in tabs of their own, once the companion has heard.
        yield from self.until_status(lambda status: status.waiting, 0)
        yield from self.withdraw_unwritten()
        yield from self.answered(_ForgetSentences(self.window.id()))
        yield from self.until_turn()
        yield lambda: not self.tabs() or self.close_tabs()
        if running is not None:
            misuses, running.current().misuses = running.current().misuses, []
            self.assertEqual(misuses, [], "what no real editor survives")

    def withdraw_unwritten(self) -> Generator[Any, Any, None]:
        """No fake CLI writes what was accepted; else the next tests would find it in the status."""
        # Those too that a CLI was told a moment ago.
        with mock.patch.object(accepted_texts, "PATIENCE", -1.0):
            found = yield from self.answered(UnwrittenTexts(self.window.id()))
            for path, text, _is_missing in found:
                yield from self.answered(TextWithdrawal(self.window.id(), path, text))

    def play(self, **switches: Any) -> None:
        """The headless editor behaves so in this test, whatever it does in others."""
        for name, value in switches.items() if running is not None else ():
            patched(self, mock.patch.object(running.current().switches, name, value))

    def begin(self, story: Story) -> None:
        """It is cut at the end of the test."""
        stories = Stories(self.fail)
        self.addCleanup(stories.stop)
        stories.begin(story)

    def answered(self, question: Question[Any]) -> Generator[Any, Any, Any]:
        """`found = yield from self.answered(...)`: what the companion answers."""
        answer = plugin._host.companion.ask(question)
        yield lambda: answer.is_there
        return answer.result()

    def until_equal(self, look: Callable[[], Any], expected: Any) -> Generator[Any, Any, None]:
        """Until this is what `look` gives; the failure says what it gave instead."""
        try:
            yield lambda: look() == expected
        except TimeoutError:
            self.assertEqual(look(), expected)

    def until_in(self, part: str, look: Callable[[], str]) -> Generator[Any, Any, None]:
        """Until `look` gives a text with this part; the failure shows the text."""
        try:
            yield lambda: part in look()
        except TimeoutError:
            self.assertIn(part, look())

    def until_turn(self) -> Generator[Any, Any, None]:
        """Until all has run that is on its way to the UI thread by now: its queue is one line."""
        reached: list[None] = []
        sublime.set_timeout(lambda: reached.append(None))
        yield lambda: reached

    def until_heard(self, cli: FakeCli) -> Generator[Any, Any, None]:
        """Until the CLI has heard all that it is told of what happened so far: each stream has one
        order, and this comes last."""
        yield AWAIT_WORKER
        wanted = sharing_settings.window_settings(
            self.window, settings.current_settings(self.window)
        )
        for sign in (True, None):
            signed = dataclasses.replace(wanted, is_trusted=sign)
            plugin._host.companion.post(WindowSettingsChanged(self.window.id(), signed))
            yield from self.until_equal(
                lambda: cli.received("ide/contextUpdate")[-1]["workspaceState"].get("isTrusted"),
                sign,
            )

    def tabs(self) -> dict[str, str]:
        """The texts of the tabs that the test has opened, by the tab's name."""
        views = [view for view in self.window.views() if view.id() not in self.before]
        return {view.name() or str(view.file_name()): text_of(view) for view in views}

    def close_tabs(self) -> bool:
        for view in self.window.views():
            if view.id() not in self.before:
                view.set_scratch(True)
                view.close()
        return False

    def write(self, name: str, text: str) -> str:
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        return path

    def open(self, name: str, text: str) -> Generator[Any, Any, sublime.View]:
        """`view = yield from self.open(...)`: the file, loaded and focused."""
        view = self.window.open_file(self.write(name, text))
        yield lambda: not view.is_loading()
        return view

    def connect(self) -> Generator[Any, Any, FakeCli]:
        """`cli = yield from self.connect()`: a CLI with a live stream and its first context."""
        host = plugin._host
        yield lambda: host.environment_of(self.window)
        cli = FakeCli(host.environment_of(self.window), folder=self.folder)
        self.clis.append(cli)
        yield cli.connected
        yield lambda: cli.received("ide/contextUpdate")
        return cli

    def until_connected(self, count: int) -> Generator[Any, Any, None]:
        """Until the companion knows of so many CLIs with a stream in the window."""
        yield from self.until_status(lambda status: status.connected, count)

    def until_status(self, look: Callable[[Status], int], count: int) -> Generator[Any, Any, None]:
        """Until this is what `look` gives of what the companion says of the window."""

        def look_at_all(states: Sequence[Status]) -> list[int]:
            return [look(status) for status in states if status.window_id == self.window.id()]

        yield from self.until_answered(WindowStatuses(), look_at_all, [count])

    def until_answered(
        self, question: Question[Any], look: Callable[[Any], Any], expected: Any
    ) -> Generator[Any, Any, None]:
        """Until this is what `look` gives of the companion's answer. Asked one by one, so that a
        slow companion is not flooded."""
        answer, last = plugin._host.companion.ask(question), None

        def found() -> Any:
            nonlocal answer, last
            if answer.is_there:
                last, answer = look(answer.result()), plugin._host.companion.ask(question)
            return last

        yield from self.until_equal(found, expected)

    def diff(self, cli: FakeCli, path: str, text: str) -> Generator[Any, Any, sublime.View]:
        """`right = yield from self.diff(...)`: a diff that the CLI opened."""
        answer = cli.call("openDiff", filePath=path, newContent=text)
        yield answer.done
        self.assertEqual(answer.result(), {"content": []})
        right = open_diffs.find_diff(self.window, cli.headers["Mcp-Session-Id"], path)
        self.assertIsNotNone(right)
        return right


def text_of(view: sublime.View) -> str:
    return view.substr(sublime.Region(0, view.size()))


def saved_state() -> str:
    """What would outlive a crash at this moment."""
    path = os.path.join(sublime.cache_path(), "GeminiCompanion", "state.json")
    try:
        with open(path, encoding="ascii") as file:
            return file.read()
    except FileNotFoundError:
        return ""
