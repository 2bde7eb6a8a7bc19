"""Stories: coroutines on the UI thread, step by step, until they end or are cut."""

from __future__ import annotations

import threading
import weakref
from typing import Any
from unittest import mock

import sublime
from GeminiCompanion.companion.base import background, file_content, log
from GeminiCompanion.companion.base.answer import Answer
from GeminiCompanion.companion.ui import file_reading, panels, stories
from GeminiCompanion.companion.ui.stories import Stories, run_in_thread, sleep

from .adapter import AdapterTestCase
from .reviewing import Steps


class StoriesCase(AdapterTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.told: list[str] = []
        self.stories = Stories(self.told.append)
        self.addCleanup(self.stories.stop)
        # What the stories did.
        self.done: list[Any] = []

    async def wait(self, answer: Answer[Any]) -> None:
        """A story that awaits this."""
        self.done.append("begun")
        try:
            self.done.append(await answer)
        finally:
            self.done.append("ended")


class ReadingFiles(StoriesCase):
    def test_a_file_that_never_answers_is_given_up_in_time(self) -> Steps:
        answers = threading.Event()
        self.addCleanup(answers.set)
        with mock.patch.object(file_content, "PATIENCE", 0.01):
            with mock.patch.object(file_content, "read_original", lambda path: answers.wait()):
                self.stories.begin(self.wait(file_reading.read_content(self.write("a.py", ""))))
                yield lambda: len(self.done) == 3
        self.assertEqual(self.done[1].note, file_content.LATE)

    def test_what_was_read_is_not_held_until_that_time_is_over(self) -> Steps:
        with mock.patch.object(file_content, "PATIENCE", 600.0):
            self.stories.begin(self.wait(file_reading.read_content(self.write("a.py", "a\n"))))
        yield lambda: len(self.done) == 3
        self.assertEqual(self.done[1].text, "a\n")
        content = weakref.ref(self.done.pop(1))
        yield lambda: content() is None


class Told(StoriesCase):
    def test_a_story_goes_up_to_its_first_await_at_once_and_on_when_the_answer_comes(self) -> Steps:
        answer: Answer[str] = Answer()
        self.stories.begin(self.wait(answer))
        self.assertEqual(self.done, ["begun"])
        answer.give("a")
        self.assertEqual(self.done, ["begun"])
        yield lambda: self.done == ["begun", "a", "ended"]

    def test_each_step_runs_on_the_thread_that_began_it(self) -> Steps:
        async def story() -> None:
            for _ in range(3):
                self.done.append(threading.current_thread())
                await background.start_work(lambda: None)

        self.stories.begin(story())
        yield lambda: len(self.done) == 3
        self.assertEqual(len(set(self.done)), 1)

    def test_an_answer_that_is_there_gives_others_their_turn(self) -> Steps:
        async def story() -> None:
            await sleep()
            self.done.append("second")

        self.stories.begin(story())
        self.done.append("first")
        yield lambda: self.done == ["first", "second"]

    def test_work_in_a_thread_gives_its_value_and_nothing_where_it_fails(self) -> Steps:
        async def story() -> None:
            self.done.append(await run_in_thread(lambda: 7))
            self.done.append(await run_in_thread(lambda: 1 // 0))

        with self.assertLogs(log.logger, "ERROR") as logs:
            self.stories.begin(story())
            yield lambda: len(self.done) == 2
        self.assertEqual(self.done, [7, None])
        self.assertIn("ZeroDivisionError", logs.output[0])

    def test_a_story_that_fails_is_logged_and_told(self) -> Steps:
        answer: Answer[str] = Answer()
        with self.assertLogs(log.logger, "ERROR") as logs:
            self.stories.begin(self.wait(answer))
            answer.fail(ZeroDivisionError("the reason"))
            yield lambda: self.told
        self.assertEqual(self.told, [stories.FAILED])
        self.assertRegex(logs.output[0], "(?s)wait failed.*Traceback.*the reason")
        self.assertEqual(self.done, ["begun", "ended"])


class Cut(StoriesCase):
    def test_a_stop_ends_stories_at_once_and_begins_none(self) -> Steps:
        answer: Answer[str] = Answer()
        self.stories.begin(self.wait(answer))
        self.stories.stop()
        self.assertEqual(self.done, ["begun", "ended"])
        answer.give("too late")
        self.stories.begin(self.wait(answer))
        yield from self.until_turn()
        self.assertEqual(self.done, ["begun", "ended"])

    def test_a_view_that_closes_ends_its_own_stories_only(self) -> None:
        mine, other = self.window.new_file(), self.window.new_file()
        answer: Answer[str] = Answer()
        self.stories.begin(self.wait(answer), mine, self.window)
        self.stories.handle_close(other)
        self.assertEqual(self.done, ["begun"])
        self.stories.handle_close(mine)
        self.assertEqual(self.done, ["begun", "ended"])

    def test_a_view_that_is_gone_without_a_word_ends_its_stories_with_the_next_look(self) -> None:
        view = self.window.new_file()
        self.stories.begin(self.wait(Answer()), view)
        self.stories.cut_ended()
        self.assertEqual(self.done, ["begun"])
        view.close()
        self.stories.cut_ended()
        self.assertEqual(self.done, ["begun", "ended"])

    def test_an_answer_on_its_way_is_dropped(self) -> Steps:
        answer: Answer[str] = Answer()
        self.stories.begin(self.wait(answer), self.window)
        answer.give("on its way")
        self.stories.handle_close(self.window)
        yield from self.until_turn()
        self.assertEqual(self.done, ["begun", "ended"])

    def test_a_story_that_closes_its_own_view_is_cut_at_its_next_await(self) -> Steps:
        view = self.window.new_file()

        async def story() -> None:
            try:
                self.stories.handle_close(view)
                self.done.append("goes on")
                await sleep()
                self.done.append("too far")
            finally:
                self.done.append("ended")

        self.stories.begin(story(), view)
        yield from self.until_turn()
        self.assertEqual(self.done, ["goes on", "ended"])

    def test_a_story_that_fails_at_its_end_is_logged(self) -> None:
        async def story() -> None:
            try:
                await sleep()
            finally:
                raise ZeroDivisionError("the reason")

        self.stories.begin(story())
        with self.assertLogs(log.logger, "ERROR") as logs:
            self.stories.stop()
        self.assertIn("the reason", logs.output[0])


class Panels(StoriesCase):
    async def choose(self) -> None:
        self.done.append(await panels.ask_choice(self.window, ["a", "b"], "Which one?"))

    async def type(self) -> None:
        self.done.append(await panels.ask_line(self.window, "What?"))

    def test_a_choice_is_a_number_and_none_is_less_than_nothing(self) -> Steps:
        with mock.patch.object(sublime.Window, "show_quick_panel") as show:
            self.stories.begin(self.choose())
            self.stories.begin(self.choose())
        for call, answer in zip(show.call_args_list, (1, -1)):
            call[0][1](answer)
        yield lambda: self.done == [1, -1]

    def test_a_line_is_its_text_and_nothing_where_the_user_cancels(self) -> Steps:
        with mock.patch.object(sublime.Window, "show_input_panel") as show:
            self.stories.begin(self.type())
            self.stories.begin(self.type())
        show.call_args_list[0][0][2]("words")
        show.call_args_list[1][0][4]()
        yield lambda: self.done == ["words", None]

    def test_another_panel_ends_a_choice_without_one(self) -> Steps:
        self.stories.begin(self.choose())
        self.stories.begin(self.type())
        yield lambda: self.done == [-1]
        self.window.run_command("hide_panel", {"cancel": True})
        yield lambda: self.done == [-1, None]

    def test_a_story_that_is_cut_closes_its_panel(self) -> Steps:
        for ask, command in ((self.choose, "hide_overlay"), (self.type, "hide_panel")):
            self.stories.begin(ask(), self.window)
            with mock.patch.object(sublime.Window, "run_command", autospec=True) as run:
                self.stories.handle_close(self.window)
            self.assertEqual([call[0][1] for call in run.call_args_list], [command])
            self.window.run_command(*run.call_args[0][1:])
        yield from self.until_turn()
        self.assertEqual(self.done, [])
