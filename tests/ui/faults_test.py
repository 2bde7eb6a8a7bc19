"""Editor, CLIs, streams, reloads and crashes in random order: no decision is lost or doubled.

Twenty-five examples, the same ones each time; `make fuzz` runs two hundred times FUZZ, new ones.
"""

from __future__ import annotations

import http.client
import itertools
import os
import shutil
import tempfile
import threading
from typing import Any, Iterator
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.base.folder_lock import FolderInUse, FolderLock
from GeminiCompanion.companion.ide import accepted_texts
from GeminiCompanion.companion.ide.questions import TextWithdrawal, UnwrittenTexts, WindowStatuses
from GeminiCompanion.companion.ui.review import (
    hidden,
    open_diffs,
    pace,
    record,
    typed_text_saver,
)
from GeminiCompanion.companion.ui.review.unopened_store import UnopenedStore
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ..fake_cli import FakeCli
from .adapter import text_of
from .own_thread import PATIENCE, ask_companion, until

ROUNDS = int(os.environ.get("FUZZ", "1"))
ONE_GROUP: Any = {"cols": [0.0, 1.0], "rows": [0.0, 1.0], "cells": [[0, 0, 1, 1]]}
UNOPENED = os.path.join(sublime.cache_path(), "GeminiCompanion", "unopened")
NAMES = ("a.py", "b.py", "new.py")
DECISIONS = ("reject", "close", "answer_in_the_terminal", "quit", "release")


class Cli:
    """A CLI that writes what it is told was accepted, as the real one does."""

    def __init__(self, environment: Any) -> None:
        self.fake = FakeCli(environment)
        self.online = True
        self._written = 0
        until(self.fake.connected, "a stream")

    @property
    def id(self) -> str:
        return self.fake.headers["Mcp-Session-Id"]

    def accepted(self) -> list[str]:
        texts = [message["content"] for message in self.fake.received("ide/diffAccepted")]
        for params in self.fake.received("ide/diffAccepted")[self._written :]:
            with open(params["filePath"], "w", encoding="utf-8") as file:
                file.write(params["content"])
            self._written += 1
        return texts

    def rejected(self, path: str) -> int:
        """How often it was told so."""
        told = self.fake.received("ide/diffRejected")
        return sum(params["filePath"] == path for params in told)

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.fake.call(tool, **arguments).result(PATIENCE)

    def cut(self) -> None:
        """Its stream breaks off."""
        stream = self.fake._stream
        if stream is not None and stream.sock is not None:
            stream.sock.shutdown(2)
        until(self.fake.stream_ended.is_set, "the end of a stream")
        self.online = False

    def come_back(self) -> None:
        self.fake.resume()
        until(self.fake.connected, "a stream that resumes")
        self.online = True


class Faults(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.window = sublime.active_window()
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.clis: list[Cli] = []
        self.gone: list[Cli] = []
        # Every text that the user accepted, with the path.
        self.accepted: dict[str, str] = {}
        # Those that may have been on a stream, unread, when it broke off.
        self.at_risk: set[str] = set()
        # Those that were told on a stream that broke off: nobody is sure that they were read.
        self.perhaps_unread: set[str] = set()
        # Those that nobody was there to be told of.
        self.held: set[str] = set()
        # Files on which decisions were made for CLIs that were not there: one on such a file is not
        # passed on while another waits, for nobody knows which of them a CLI has come back for.
        self.contested: set[str] = set()
        # What the user typed and neither sent to a CLI nor threw away.
        self.typed: set[str] = set()
        self.texts = (f"text {number}\n" for number in itertools.count())
        self.start_over()
        self.patches: list[Any] = [
            mock.patch.object(typed_text_saver, "AT_REST", 0),
            # It presses faster than a person.
            mock.patch.object(pace, "MOMENT", 0),
            mock.patch.object(accepted_texts, "PATIENCE", -1.0),
            mock.patch.object(sublime.Window, "show_quick_panel", self.accept_all_the_same),
        ]
        for patch in self.patches:
            patch.start()

    @initialize()
    def begin(self) -> None:
        for which, name in enumerate(NAMES[:2]):
            self.write(name)
            self.connect()
            self.propose(which, name)

    # ----- what happens

    @precondition(lambda self: len(self.clis) < 3)
    @rule()
    def connect(self) -> None:
        until(lambda: plugin._host.environment_of(self.window), "an environment")
        self.clis.append(Cli(plugin._host.environment_of(self.window)))
        # What belongs to a CLI that may come back any moment goes on waiting for it.
        if not self.offline():
            # Where another diff is open on a file, a decision on it waits for that.
            self.contested |= {open_diffs.path_of(view) for view in self.diffs()}
            held = self.uncontested(self.held)
            until(lambda: held <= self.told(), f"a new CLI is told what was held: {held}")
            self.held.clear()

    @precondition(lambda self: self.online())
    @rule(which=st.integers(0, 9), name=st.sampled_from(NAMES))
    def propose(self, which: int, name: str) -> None:
        cli, text = self.pick(self.online(), which), next(self.texts)
        path = os.path.join(self.folder, name)
        others = [view for view in self.diffs() if open_diffs.path_of(view) == path]
        self.contested.update(path for view in others if self.is_away(self.owner(view)))
        result = cli.call("openDiff", filePath=path, newContent=text)
        self.check(result == {"content": []}, result)
        view = open_diffs.find_diff(self.window, cli.id, path)
        self.check(view is not None and text_of(view) == text, "the proposal is shown")

    @rule(which=st.integers(0, 9))
    def edit(self, which: int) -> None:
        # Not as a precondition: what may happen next must not hang on a moment, or it differs.
        if not self.diffs():
            return
        view, text = self.pick(self.diffs(), which), next(self.texts)
        view.run_command("append", {"characters": text})
        self.typed.add(text)

    @rule()
    def close_tabs(self) -> None:
        for view in self.tabs():
            self.no_longer_mine(text_of(view))
            view.set_scratch(True)
            view.close()

    @rule(which=st.integers(0, 9), how=st.sampled_from(DECISIONS))
    def decide(self, which: int, how: str) -> None:
        if self.diffs():
            getattr(self, how)(self.pick(self.diffs(), which))

    @rule(which=st.integers(0, 9))
    def accept(self, which: int) -> None:
        if not self.diffs():
            return
        view = self.pick(self.diffs(), which)
        text, path, cli = text_of(view), open_diffs.path_of(view), self.owner(view)
        waiting = {self.accepted[key] for key in set(self.accepted) - self.told()}
        if path in waiting and self.is_away(cli):
            self.contested.add(path)
        self.accepted[text] = path
        self.no_longer_mine(text)
        if cli is None and not self.online():
            self.held.add(text)
        self.press("accept_diff", view)
        until(lambda: not view.is_valid(), "an accepted diff closes")
        if cli is not None and cli.online:
            # Perhaps not as the last one: what another CLI may not have read comes at any time.
            until(lambda: text in cli.accepted(), "the CLI that asked is told")

    def close(self, view: sublime.View) -> None:
        self.reject(view, by_closing=True)

    def reject(self, view: sublime.View, by_closing: bool = False) -> None:
        cli, path = self.owner(view), open_diffs.path_of(view)
        self.contest(view)
        before = cli.rejected(path) if cli is not None else 0
        if by_closing and not open_diffs.is_unopened(view):
            self.window.focus_view(view)
            view.close()
        else:
            self.press("reject_diff", view)
        until(lambda: not (view.is_valid() and view.is_scratch()), "it closes, or is a tab")
        until(self.is_in_order, "the window is in order")
        if cli is not None and cli.online:
            # More than one where it came back just now, and what it missed is still on its way.
            until(lambda: cli.rejected(path) > before, "the CLI that asked is told")

    def answer_in_the_terminal(self, view: sublime.View) -> None:
        cli, path, text = self.owner(view), open_diffs.path_of(view), text_of(view)
        if cli is not None and cli.online:
            # Once: a second time would mean one that a CLI left behind, if there is any.
            arguments = {"filePath": path, "suppressNotification": True}
            (part,) = cli.call("closeDiff", **arguments)["content"]
            self.check(sublime.decode_value(part["text"]) == {"content": text}, part)
            self.no_longer_mine(text)

    def quit(self, view: sublime.View) -> None:
        """Its CLI closes the diff because it leaves."""
        cli, path = self.owner(view), open_diffs.path_of(view)
        if cli is not None and cli.online:
            cli.call("closeDiff", filePath=path)
            until(lambda: not record.is_diff(view), "a diff that is closed closes")

    def release(self, view: sublime.View) -> None:
        text = text_of(view)
        self.contest(view)
        if open_diffs.is_unopened(view):
            self.press("release_diff", view)
            until(lambda: text in map(text_of, self.tabs()), "it is a tab of the user's")
            return
        self.press("release_diff", view)
        until(lambda: not open_diffs.partner_view(view).is_valid(), "its left side closes")
        self.check(view.is_valid() and text_of(view) == text, "the text stays")
        until(lambda: not view.is_scratch(), "it is a tab of the user's")
        until(self.is_in_order, "the window is in order")

    @rule(name=st.sampled_from(NAMES))
    def write(self, name: str) -> None:
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write("on disk " + next(self.texts))

    @precondition(lambda self: self.online())
    @rule(which=st.integers(0, 9))
    def cut(self, which: int) -> None:
        self.break_off(self.pick(self.online(), which))

    @precondition(lambda self: self.offline())
    @rule(which=st.integers(0, 9))
    def come_back(self, which: int) -> None:
        self.pick(self.offline(), which).come_back()
        self.held.clear()

    @precondition(lambda self: self.clis)
    @rule(which=st.integers(0, 9))
    def vanish(self, which: int) -> None:
        """Its stream breaks off, it never comes back, and its grace time runs out."""
        cli = self.pick(self.clis, which)
        if cli.online:
            self.break_off(cli)
        self.end_session(cli)
        self.clis.remove(cli)
        self.gone.append(cli)

    @rule(how=st.sampled_from(("reload", "crash")))
    def restart(self, how: str) -> None:
        getattr(self, how)()

    def reload(self) -> None:
        plugin.plugin_unloaded()
        self.load()

    def crash(self) -> None:
        """No tab of a diff comes back by itself."""
        self.flush()
        texts = self.texts_of_diffs()
        plugin.plugin_unloaded()
        for view in self.diffs():
            its = record.waiting_record(view)
            view.settings().erase(record.STAMP)
            self.window.destroy_output_panel(hidden.NAME.format(its.id if its else ""))
            for side in (open_diffs.partner_view(view), view):
                side.close()
        self.window.settings().erase(open_diffs.DIFFS)
        plugin._host.unopened = UnopenedStore(UNOPENED)
        self.load()
        until(
            lambda: self.texts_of_diffs() == texts,
            f"the diffs come back: {texts}; there are",
            self.texts_of_diffs,
        )

    # ----- what is always so

    @invariant()
    def every_diff_is_known(self) -> None:
        def agreed() -> bool:
            return bool(self.status().waiting == len(self.diffs()))

        until(
            lambda: plugin._host.environment_of(self.window) and agreed(), "as many diffs as shown"
        )

    @invariant()
    def everything_that_was_typed_is_there(self) -> None:
        def lost() -> set[str]:
            texts = [text_of(view) for view in (*self.window.views(), *self.diffs())]
            return {typed for typed in self.typed if not any(typed in text for text in texts)}

        until(lambda: not lost(), "what was typed is there", lost)

    @invariant()
    def nothing_is_told_twice(self) -> None:
        """Not to one CLI; nor to another, unless the first may not have read it."""
        by_cli = [cli.accepted() for cli in self.clis + self.gone]
        self.check(all(len(told) == len(set(told)) for told in by_cli), by_cli)
        sure = [text for told in by_cli for text in told if text not in self.perhaps_unread]
        self.check(len(sure) == len(set(sure)), by_cli)

    def teardown(self) -> None:
        try:
            while self.diffs():
                self.contest(self.diffs()[0])
                self.press("reject_diff", self.diffs()[0])
                left = len(self.diffs())
                until(lambda left=left: len(self.diffs()) <= left, "it is decided")  # type: ignore[misc]
            until(self.is_in_order, "the window is in order")
            self.everything_that_was_typed_is_there()
            self.close_tabs()
            for cli in list(self.offline()):
                self.end_session(cli)
                self.clis.remove(cli)
                self.gone.append(cli)
            last = Cli(plugin._host.environment_of(self.window))
            self.clis.append(last)
            self.nothing_is_told_twice()
            self.everything_is_told_or_kept()
            until(self.is_in_order, "the window is in order")
        finally:
            self.clean_up()

    def everything_is_told_or_kept(self) -> None:
        """What broke off with a stream is kept, where it is the newest text of its path."""
        newest = {path: text for text, path in self.accepted.items()}.values()

        def kept() -> set[str]:
            return {unwritten.text for unwritten in ask_companion(UnwrittenTexts(self.window.id()))}

        sure = self.uncontested(set(self.accepted) - self.at_risk)
        until(lambda: sure <= self.told(), "every accepted text is told")
        lost = ((set(self.accepted) - sure) & set(newest)) - self.told()
        until(lambda: lost <= kept() | self.told(), "what broke off is kept")

    # ----- how

    def told(self) -> set[str]:
        return {text for cli in self.clis + self.gone for text in cli.accepted()}

    def break_off(self, cli: Cli) -> None:
        self.at_risk |= set(self.accepted) - self.told() - self.held
        cli.cut()
        self.perhaps_unread |= set(cli.accepted())
        told = [*cli.fake.received("ide/diffRejected"), *cli.fake.received("ide/diffAccepted")]
        self.contested |= {params["filePath"] for params in told}
        self.wait_for_streams()

    def uncontested(self, texts: set[str]) -> set[str]:
        return {text for text in texts if self.accepted[text] not in self.contested}

    def contest(self, view: sublime.View) -> None:
        """A decision on it is made, perhaps for a CLI that is not there."""
        if self.is_away(self.owner(view)):
            self.contested.add(open_diffs.path_of(view))

    def is_away(self, cli: Cli | None) -> bool:
        return cli is None or not cli.online

    def online(self) -> list[Cli]:
        return [cli for cli in self.clis if cli.online]

    def offline(self) -> list[Cli]:
        return [cli for cli in self.clis if not cli.online]

    def diffs(self) -> list[sublime.View]:
        """If some wait, and none has tabs, one gets some at once."""
        until(
            lambda: (
                plugin._host.running is None
                or open_diffs.tabbed_diffs(self.window)
                or not list(open_diffs.undecided_diffs(self.window))
            ),
            "one has tabs",
        )
        return [diff for diff, _ in open_diffs.undecided_diffs(self.window)]

    def press(self, command: str, view: sublime.View) -> None:
        """Where it has no tabs, as a sheet does it."""
        its = record.waiting_record(view)
        if its is not None and its.is_unopened:
            self.window.run_command("gemini_companion_" + command, {"id": its.id})
        else:
            self.window.focus_view(view)
            self.window.run_command("gemini_companion_" + command)

    def tabs(self) -> list[sublime.View]:
        """Those that are no part of a diff."""
        views = self.window.views()
        parts = [view for right in self.diffs() for view in (right, open_diffs.partner_view(right))]
        return [view for view in views if view not in parts]

    def no_longer_mine(self, text: str) -> None:
        self.typed = {typed for typed in self.typed if typed not in text}

    def texts_of_diffs(self) -> list[tuple[str, str]]:
        return sorted((open_diffs.path_of(view), text_of(view)) for view in self.diffs())

    def pick(self, among: list[Any], which: int) -> Any:
        return among[which % len(among)]

    def owner(self, view: sublime.View) -> Cli | None:
        its = record.waiting_record(view)
        session_id = its.session_id if its is not None else ""
        return next((cli for cli in self.clis if cli.id == session_id), None)

    def accept_all_the_same(self, items: Any, on_select: Any, **options: Any) -> None:
        on_select(1)

    def check(self, condition: Any, what: Any) -> None:
        if not condition:
            raise AssertionError(what)

    def load(self) -> None:
        plugin.plugin_loaded()
        until(lambda: plugin._host.environment_of(self.window), "an environment")
        for cli in self.online():
            until(cli.fake.stream_ended.is_set, "the end of a stream")
            self.check(cli.fake.stream_error is None, cli.fake.stream_error)
            cli.come_back()
        for cli in self.gone:
            # With diffs undecided, it was taken up again, and has its grace time once more.
            self.end_session(cli, statuses=(204, 404))

    def flush(self) -> None:
        """Until the companion knows of every edit."""
        for later in (sublime.set_timeout, sublime.set_timeout_async) * 3:
            done = threading.Event()
            later(done.set, 0)
            until(done.is_set, "both threads are idle")
        ask_companion(WindowStatuses())

    def status(self) -> Any:
        """Of the window."""
        statuses = ask_companion(WindowStatuses())
        return next(status for status in statuses if status.window_id == self.window.id())

    def wait_for_streams(self) -> None:
        def known() -> int:
            return int(self.status().connected)

        until(lambda: known() == len(self.online()), "the companion knows who is there")

    def end_session(self, cli: Cli, statuses: tuple[int, ...] = (204,)) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", cli.fake.port, timeout=PATIENCE)
        connection.request("DELETE", "/mcp", headers=cli.fake.headers)
        self.check(connection.getresponse().status in statuses, "the session ends")
        connection.close()

    def is_in_order(self) -> bool:
        """No more groups than there are diffs for."""
        return self.window.num_groups() == (3 if self.diffs() else 1)

    def start_over(self) -> None:
        """An example that failed may have left anything."""
        loaded = plugin._host.companion is not None
        if (
            loaded
            and not self.window.views()
            and not ask_companion(UnwrittenTexts(self.window.id()))
        ):
            return
        forget_everything(self.window)

    def clean_up(self) -> None:
        for cli in self.clis:
            if cli.online:
                cli.cut()
            self.end_session(cli)
        for cli in self.clis + self.gone:
            cli.fake.close()
        for path, text, _ in ask_companion(UnwrittenTexts(self.window.id())):
            ask_companion(TextWithdrawal(self.window.id(), path, text))
        for patch in self.patches:
            patch.stop()
        shutil.rmtree(self.folder, True)


def forget_everything(window: sublime.Window) -> None:
    """An editor that was never used before."""
    folder = os.path.join(sublime.cache_path(), "GeminiCompanion")
    plugin.plugin_unloaded()
    until(lambda: is_free(folder), "the companion has written its last state")
    shutil.rmtree(folder, True)
    for view in window.views():
        view.settings().erase(record.STAMP)
        view.set_scratch(True)
        view.close()
    plugin._host.unopened = UnopenedStore(UNOPENED)
    window.settings().erase(open_diffs.DIFFS)
    window.run_command("set_layout", ONE_GROUP)
    plugin.plugin_loaded()
    until(lambda: plugin._host.environment_of(window), "an environment")


def is_free(folder: str) -> bool:
    """Whether nobody has it locked."""
    lock = FolderLock(folder)
    try:
        lock.acquire()
    except FolderInUse:
        return False
    except FileNotFoundError:
        return True
    lock.release()
    return True


def profile() -> Iterator[tuple[str, Any]]:
    yield "max_examples", 25 if ROUNDS == 1 else 200 * ROUNDS
    yield "stateful_step_count", 30
    yield "deadline", None
    yield "database", None
    yield "derandomize", ROUNDS == 1
    yield "suppress_health_check", list(HealthCheck)
    # Each step down may wait out its patience: minutes, which `make test` has not.
    yield "phases", (Phase.generate,) if ROUNDS == 1 else (Phase.generate, Phase.shrink)


class TestFaults(Faults.TestCase):  # type: ignore[misc, valid-type]
    settings = settings(**dict(profile()))

    def tearDown(self) -> None:
        # A text that was told last, and whose folder is gone, would come back in the next test.
        forget_everything(sublime.active_window())
        super().tearDown()
