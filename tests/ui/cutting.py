"""Cuts a story at one of its awaits, as an unloading or a closed window would."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Generator, Iterable
from unittest import mock

import sublime
from GeminiCompanion.companion.base.answer import Answer
from GeminiCompanion.companion.ui.stories import Stories, Story

from .reviewing import ReviewCase, Steps


class Panels:
    """The one that is open, as the editor has it; `open` is what ends it with an answer."""

    def __init__(self, case: ReviewCase) -> None:
        self.open: Callable[[Any], None] | None = None
        self.shown = 0
        run = sublime.Window.run_command
        case.replace(sublime.Window, "show_quick_panel", self._choose)
        case.replace(sublime.Window, "show_input_panel", self._type)

        def run_command(window: sublime.Window, name: str, arguments: Any = None) -> None:
            if name in ("hide_overlay", "hide_panel") and self.open is not None:
                self._cancel()
            else:
                run(window, name, arguments)

        case.replace(sublime.Window, "run_command", run_command)

    def _choose(self, _items: Any, on_select: Any, *_more: Any, **_options: Any) -> None:
        self._show(on_select, partial(on_select, -1))

    def _type(self, _caption: str, _text: str, done: Any, _change: Any, cancel: Any) -> None:
        self._show(done, cancel)

    def _show(self, done: Callable[[Any], None], cancel: Callable[[], None]) -> None:
        if self.open is not None:
            self._cancel()
        self.open, self._on_cancel = done, cancel
        self.shown += 1

    def _cancel(self) -> None:
        self.open = None
        self._on_cancel()

    def answer(self, value: Any) -> None:
        done, self.open = self.open, None
        if done is not None:
            done(value)


class Cut:
    """A story of this name is cut at its await of this number, from 0. `answers` are given to its
    panels before, one after the other."""

    def __init__(self, case: CuttingCase, name: str, at: int, answers: Iterable[Any]) -> None:
        self.at = at
        # Whether it had an await of this number, and whether it has ended, or was cut.
        self.is_cut = self.is_over = False
        self._case, self._name = case, name
        self._answers = list(answers)

    def next_story(self) -> None:
        """The next one that begins is it."""
        begin = Stories.begin

        def begin_and_cut(stories: Stories, story: Story, *ends_with: Any) -> None:
            if story.__qualname__.endswith(self._name):
                patch.stop()
                story = self._run(story)
            begin(stories, story, *ends_with)

        patch = mock.patch.object(Stories, "begin", begin_and_cut)
        patch.start()
        self._case.addCleanup(patch.stop)

    async def _run(self, story: Story) -> None:
        await _Until(story, self._goes_on)

    def _goes_on(self, number: int) -> bool:
        """Whether the story goes on past the await of this number; -1 at its end."""
        self.is_over = number in (-1, self.at)
        self.is_cut = self.is_cut or number == self.at
        panels = self._case.panels_open
        if not self.is_over and panels.open is not None:
            panels.answer(self._answers.pop(0))
        return not self.is_over


class _Until:
    """Awaits what a story awaits, as long as it may."""

    def __init__(self, story: Story, goes_on: Callable[[int], bool]) -> None:
        self._story, self._goes_on = story, goes_on

    def __await__(self) -> Generator[Answer[Any], None, None]:
        number = 0
        try:
            awaited = self._story.send(None)
            while self._goes_on(number):
                yield awaited
                number += 1
                awaited = self._story.send(None)
        except StopIteration:
            self._goes_on(-1)
        finally:
            self._story.close()


class CuttingCase(ReviewCase):
    def setUp(self) -> None:
        super().setUp()
        self.panels_open = Panels(self)

    def each_await(
        self,
        name: str,
        go: Callable[[Cut], Steps],
        awaits: int,
        answers: Iterable[Any] = (),
    ) -> Steps:
        """Let `go` begin the story of this name, after it has called `next_story`: once for each of
        its awaits, which are at least so many, and then once to its end. It checks what holds."""
        at, is_cut = 0, True
        while is_cut:
            cut = Cut(self, name, at, answers)
            yield from go(cut)
            self.assertTrue(cut.is_over, f"{name} has not ended")
            is_cut, at = cut.is_cut, at + 1
        self.assertGreater(at, awaits)

    def until_over(self, cut: Cut) -> Steps:
        """Until the story was cut, or has ended, and the panels are closed."""
        yield lambda: cut.is_over
        yield from self.until_turn()
        self.assertIsNone(self.panels_open.open, f"a panel is open after await {cut.at}")


class Await:
    """Awaits what a story awaits, and makes the call at each await."""

    def __init__(self, story: Story, at_await: Callable[[], None]) -> None:
        self._story, self._at_await = story, at_await

    def __await__(self) -> Generator[Answer[Any], None, None]:
        try:
            while True:
                try:
                    awaited = self._story.send(None)
                except StopIteration:
                    return
                self._at_await()
                yield awaited
        finally:
            self._story.close()
