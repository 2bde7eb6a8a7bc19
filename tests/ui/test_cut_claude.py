"""Claude Code's diffs when the package or the editor ends at one of their steps: what the user
typed is in the review, a tab, the list of unwritten texts or with the CLI, and what is left can be
decided."""

from __future__ import annotations

import json
import os
import threading
from typing import Any, Sequence
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.ide import accepted_texts
from GeminiCompanion.companion.ide.claude import lock_file
from GeminiCompanion.companion.ide.decisions import UnwrittenText
from GeminiCompanion.companion.ide.questions import UnwrittenTexts
from GeminiCompanion.companion.ui.review import open_diffs
from GeminiCompanion.companion.ui.review.record import STAMP, read_record
from GeminiCompanion.companion.ui.stories import Stories, Story

from ..ide.claude_client import ClaudeClient, texts
from .adapter import saved_state, text_of
from .cutting import Await, CuttingCase
from .reviewing import Steps

OLD, NEW, TYPED = "1\n2\n3\n", "1\ntwo\n3\n", "typed by the user"
# What is done to a diff before the cut, step by step.
STEPS = ("show", "type", "accept", "hear")


class Claude:
    """One that is connected, with a thread that reads what it is told."""

    def __init__(self, lock: str, folder: str) -> None:
        with open(lock, encoding="utf-8") as file:
            token = json.load(file)["authToken"]
        self.client = ClaudeClient(int(os.path.basename(lock).split(".")[0]), token)
        self.messages: list[dict[str, Any]] = []
        self.has_ended = threading.Event()
        self._folder = folder
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        try:
            self.client.initialize(self._folder)
            while True:
                self.messages.append(self.client.read())
        except (EOFError, OSError):
            self.has_ended.set()

    def close(self) -> None:
        self.client.close_both_ways()
        self._thread.join()

    def answers(self, id: int) -> list[list[str]]:
        return [texts(each["result"]) for each in self.messages if each.get("id") == id]


class CutClaude(CuttingCase):
    def setUp(self) -> None:
        super().setUp()
        self.locks = os.path.join(self.folder, "ide")
        os.mkdir(self.locks)
        self.replace(lock_file, "lock_folders", lambda: [self.locks])
        # Nothing of it is there any more for the tests that follow.
        self.addCleanup(self.reload)
        self.reload()
        self.claudes: list[Claude] = []
        self.count = 0

    def claude(self) -> Any:
        """`claude = yield from self.claude()`."""

        def locks() -> list[str]:
            return [name for name in os.listdir(self.locks) if name.endswith(".lock")]

        yield lambda: plugin._host.environment_of(self.window) and locks()
        claude = Claude(os.path.join(self.locks, locks()[0]), self.folder)
        self.addCleanup(claude.close)
        yield from self.until_status(lambda status: status.connected, 1)
        return claude

    # ----- the steps of a diff

    def show(self) -> Steps:
        self.count += 1
        self.words = f"{TYPED} {self.count}"
        self.path = self.write(f"claude {self.count}.txt", OLD)
        self.id = self.terminal.client.open_diff(self.path, NEW, self.path)
        yield lambda: self.right() is not None
        self.is_typed = self.is_accepted = False
        yield from self.until_computed(self.right())
        yield lambda: os.path.basename(self.path) in saved_state()

    def right(self) -> Any:
        """The right view of the diff; None where it is decided."""
        found = list(open_diffs.undecided_diffs(self.window))
        return next((view for view, record in found if record.path == self.path), None)

    def record_id(self) -> str:
        found = read_record(self.right())
        assert found is not None
        return found.id

    def type(self) -> Steps:
        self.right().run_command("append", {"characters": self.words + "\n"})
        self.is_typed = True
        yield from self.until_computed(self.right())
        yield lambda: self.words in saved_state()

    def accept(self) -> Steps:
        self.run_command("accept_diff", id=self.record_id())
        self.is_accepted = True
        yield lambda: self.right() is None

    def hear(self) -> Steps:
        yield lambda: self.terminal.answers(self.id)

    # ----- the cuts

    def reload(self) -> None:
        plugin.plugin_unloaded()
        plugin.plugin_loaded()

    def kill(self) -> None:
        """The disk has what it had at this moment, and the tabs come back."""
        state = os.path.join(sublime.cache_path(), "GeminiCompanion", "state.json")
        before = saved_state()
        plugin.plugin_unloaded()
        self.assertFalse(plugin._host.is_running)
        with open(state, "w", encoding="ascii") as file:
            file.write(before)
        plugin.plugin_loaded()

    def crash(self) -> None:
        """No tab of a diff comes back by itself."""
        right = self.right()
        plugin.plugin_unloaded()
        if right is not None:
            right.settings().erase(STAMP)
            for side in (open_diffs.partner_view(right), right):
                side.close()
            self.window.settings().erase(open_diffs.DIFFS)
        plugin.plugin_loaded()

    # ----- what is to be true

    def is_there(self, unwritten: Sequence[UnwrittenText]) -> bool:
        """Whether what was typed is in a tab, the file, an answer, or what *Show Changes* lists."""
        found = [text_of(view) for view in self.window.views()]
        found += [text for answer in self.terminal.answers(self.id) for text in answer]
        with open(self.path, encoding="utf-8") as file:
            found.append(file.read())
        return any(self.words in text for text in [*found, *(each.text for each in unwritten)])

    def look(self, when: str) -> Steps:
        answers = self.terminal.answers(self.id)
        decisions = [answer for answer in answers if answer != ["error"]]
        self.assertLessEqual(len(decisions), 1, when)
        if self.is_typed:
            with mock.patch.object(accepted_texts, "PATIENCE", -1.0):
                listed = UnwrittenTexts(self.window.id())
                yield from self.until_answered(listed, self.is_there, True)
        if not self.is_accepted:
            yield lambda: self.right() is not None
            self.assertEqual(decisions, [], when)

    def decide_what_is_left(self) -> Steps:
        if self.right() is not None:
            yield from self.until_computed(self.right())
            yield from self.accept()

    def test_at_each_step_nothing_is_lost(self) -> Steps:
        for cut in ("reload", "kill", "crash"):
            for last in range(len(STEPS)):
                self.terminal = yield from self.claude()
                for step in STEPS[: last + 1]:
                    yield from getattr(self, step)()
                getattr(self, cut)()
                yield lambda: plugin._host.environment_of(self.window)
                yield self.terminal.has_ended.is_set
                when = f"{cut} after {STEPS[last]}"
                yield from self.look(when)
                yield from self.decide_what_is_left()
                yield from self.look(f"{when}, and then decided")
                yield from self.withdraw_unwritten()

    def test_at_each_await_of_an_acceptance_nothing_is_lost(self) -> Steps:
        at, is_cut = 0, True
        while is_cut:
            self.terminal = yield from self.claude()
            yield from self.show()
            yield from self.type()
            is_cut = yield from self.accepted_and_cut(at)
            yield lambda: plugin._host.environment_of(self.window)
            yield from self.look(f"after await {at}")
            yield from self.decide_what_is_left()
            yield from self.look(f"after await {at}, and then decided")
            if not is_cut:
                self.assertEqual(len(self.terminal.answers(self.id)), 1)
            yield from self.withdraw_unwritten()
            self.terminal.close()
            yield from self.until_status(lambda status: status.connected, 0)
            at += 1
        self.assertGreater(at, 1)

    def accepted_and_cut(self, at: int) -> Any:
        """Whether it had an await of that number, from 0, at which the package is loaded anew."""
        count, is_cut = 0, False
        under_way: set[int] = set()
        begin = Stories.begin

        def cut() -> None:
            nonlocal is_cut
            self.reload()
            is_cut = True

        def at_await() -> None:
            nonlocal count
            count += 1
            if count == at + 1:
                sublime.set_timeout(cut)

        async def counted(story: Story) -> None:
            under_way.add(id(story))
            try:
                await Await(story, at_await)
            finally:
                under_way.discard(id(story))

        def begin_counted(stories: Stories, story: Story, *ends_with: Any) -> None:
            begin(stories, counted(story) if count <= at else story, *ends_with)

        with mock.patch.object(Stories, "begin", begin_counted):
            self.run_command("accept_diff", id=self.record_id())
            self.is_accepted = True
            yield from self.until_turn()
            yield lambda: is_cut or (count <= at and not under_way)
        if not is_cut:
            yield lambda: self.terminal.answers(self.id)
        return is_cut
