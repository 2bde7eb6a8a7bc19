"""Stories that are cut: wherever that is, nothing is half done, claimed, or left open."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any, Callable, Generator
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.base.answer import Answer
from GeminiCompanion.companion.ide.clis import GEMINI_CLI, QWEN_CODE
from GeminiCompanion.companion.ide.doctor import checks
from GeminiCompanion.companion.ide.hooks import extension
from GeminiCompanion.companion.ui.prompt.sending import PromptWords, Sending
from GeminiCompanion.companion.ui.review import accepting, open_diffs, record
from GeminiCompanion.companion.ui.stories import Story

from .adapter import text_of
from .cutting import Cut, CuttingCase, Panels
from .reviewing import ReviewCase, Steps

OLD, NEW = "1\n2\n3\n4\n5\n", "1\ntwo\n3\n4\n5\n"


class Reviews(CuttingCase):
    """`answers` are given to the panels of a story, one after the other."""

    def setUp(self) -> None:
        super().setUp()
        self.set("keep_goes_on", True)

    def went(self, story: Story, awaits: int, answers: list[Any]) -> Generator[Any, Any, bool]:
        """Let it go on past so many awaits, and cut it at the next; gives whether there was one. A
        story that waits for what is late only has fewer another time."""
        left = list(answers)
        for _ in range(awaits):
            try:
                awaited = story.send(None)
            except StopIteration:
                return False
            if self.panels_open.open is not None:
                self.panels_open.answer(left.pop(0))
            yield lambda awaited=awaited: awaited.is_there
        try:
            story.send(None)
        except StopIteration:
            return False
        story.close()
        return True

    def cut_everywhere(
        self, begin: Callable[[sublime.View], Story], answers: list[Any], awaits: int
    ) -> Steps:
        """At each of its awaits, which are at least so many; then to its end."""
        self.path = os.path.join(self.folder, "file.txt")
        at, is_cut = 0, True
        while is_cut:
            right = yield from self.proposed()
            before = text_of(right)
            is_cut = yield from self.went(begin(right), at, answers)
            yield from self.until_turn()
            self.assertIsNone(self.panels_open.open, f"a panel is open after await {at}")
            if is_cut:
                self.assertTrue(record.is_diff(right), f"it is claimed after await {at}")
                self.assertIn(text_of(right), (before, *self.whole))
                self.assertEqual(self.running().review.accepting._under_way._ids, set())
                at += 1
            yield from self.away(right)
        self.assertGreaterEqual(at, awaits)

    # Texts of the proposal that a story may have left, beside that of before.
    whole: tuple[str, ...] = ()

    def proposed(self) -> Generator[Any, Any, sublime.View]:
        if not self.clis:
            self.cli = yield from self.connect()
        self.write("file.txt", OLD)
        right = yield from self.diff(self.cli, self.path, NEW)
        yield from self.until_computed(right)
        return right

    def away(self, right: sublime.View) -> Steps:
        """The diff goes, and the tabs that a story opened."""
        if record.is_diff(right):
            yield self.cli.call("closeDiff", filePath=self.path).done
        yield lambda: not list(open_diffs.undecided_diffs(self.window))
        self.close_tabs()

    def changed_on_disk(self, right: sublime.View) -> None:
        self.write("file.txt", OLD + "mine\n")

    def test_accepting(self) -> Steps:
        def begin(right: sublime.View) -> Story:
            self.changed_on_disk(right)
            return self.running().review.decisions.accept_diff(self.window, right)

        yield from self.cut_everywhere(begin, [1], 2)

    def test_taking_over(self) -> Steps:
        self.whole = (NEW + "mine\n",)

        def begin(right: sublime.View) -> Story:
            self.changed_on_disk(right)
            return self.running().review.decisions.accept_diff(self.window, right)

        yield from self.cut_everywhere(begin, [2], 3)

    def test_dropping_the_last_change(self) -> Steps:
        self.whole = (OLD,)
        yield from self.cut_everywhere(
            lambda right: self.running().review.single_changes.drop_change(right), [0], 1
        )

    def test_keeping_while_the_user_types(self) -> Steps:
        def begin(right: sublime.View) -> Story:
            right.run_command("append", {"characters": "typed\n"})
            return self.running().review.single_changes.keep_change(right)

        self.whole = (NEW + "typed\n",)
        yield from self.cut_everywhere(begin, [], 1)

    def test_rejecting_with_a_note_and_commenting(self) -> Steps:
        notes = self.running().review.notes
        yield from self.cut_everywhere(notes.reject_with_note, ["why"], 1)
        yield from self.cut_everywhere(notes.ask_for_comment, ["why"], 1)

    def entered_and_cut(self, story: Story) -> None:
        """The user enters why, and the story is cut before it goes on."""
        story.send(None)
        self.panels_open.answer(" why ")
        story.close()

    def test_a_comment_that_was_just_entered_is_kept(self) -> Steps:
        self.path = os.path.join(self.folder, "file.txt")
        right = yield from self.proposed()
        self.entered_and_cut(self.running().review.notes.ask_for_comment(right))
        self.assertEqual([comment.text for comment in record.stored_comments(right)], ["why"])
        yield from self.away(right)

    def test_a_note_that_was_just_entered_is_on_the_clipboard(self) -> Steps:
        self.path = os.path.join(self.folder, "file.txt")
        right = yield from self.proposed()
        self.entered_and_cut(self.running().review.notes.reject_with_note(right))
        self.assertEqual(sublime.get_clipboard(), "why")
        self.assertTrue(record.is_diff(right))
        yield from self.away(right)

    def test_lists(self) -> Steps:
        async def have_no_service() -> None:
            return None

        running, window = self.running(), self.window
        self.replace(running.chat.actions, "ensure_service", have_no_service)
        for begin in (
            lambda _: running.changes.list.choose_edit(window),
            lambda _: running.changes.list.choose_edit(window, "waiting"),
            lambda _: running.agents.list.show_list(window),
            lambda _: running.changes.list.choose_edit(window, "unwritten"),
        ):
            yield from self.cut_everywhere(begin, [-1, -1], 1)

    def test_edits(self) -> Steps:
        right = yield from self.proposed_and_accepted()
        self.assertFalse(record.is_diff(right))
        for action in (0, 1):
            begin = lambda _: self.running().changes.list.choose_edit(self.window, "accepted")  # noqa: E731
            yield from self.cut_everywhere(begin, [0, action], 3)

    def proposed_and_accepted(self) -> Generator[Any, Any, sublime.View]:
        self.path = os.path.join(self.folder, "file.txt")
        right = yield from self.proposed()
        self.run_command("accept_diff")
        yield lambda: self.cli.received("ide/diffAccepted")
        yield lambda: not right.is_valid()
        return right

    def test_sending_and_links(self) -> Steps:
        secret = yield from self.open("secret.txt", "x\n")
        sending = Sending(self.window, lambda path: True, plugin._host.tell_user)
        remedies = self.running().pages.remedies
        settings = self.write("settings.json", "{}")

        def send(right: sublime.View) -> Story:
            self.window.focus_view(secret)
            return sending.send_words(PromptWords("$file", "the file"), secret)

        def enable(right: sublime.View) -> Story:
            return remedies.apply_remedy(self.window, checks.ENABLE, settings, GEMINI_CLI.id)

        self.before.add(secret.id())
        yield from self.cut_everywhere(send, [1], 2)
        yield from self.cut_everywhere(enable, [1], 2)
        secret.close()


class Programs(CuttingCase):
    def test_an_extension_is_installed_whole_or_not_at_all_and_can_be_again(self) -> Steps:
        home = os.path.join(self.folder, "home")
        places = [extension.extension_folder(cli, {}, home) for cli in (GEMINI_CLI, QWEN_CODE)]
        for place in places:
            os.makedirs(os.path.dirname(os.path.dirname(place)))
        patch = mock.patch.dict(os.environ, {"HOME": home, "USERPROFILE": home})
        patch.start()
        self.addCleanup(patch.stop)

        def is_removed() -> bool:
            # The work of a story that was cut goes on in its thread, beside that of the next one.
            with suppress(extension.NotChanged):
                extension.remove_extension(GEMINI_CLI, places[0])
            return not os.path.lexists(places[0])

        def go(cut: Cut) -> Steps:
            cut.next_story()
            self.run_command("install_cli_extension")
            yield from self.until_over(cut)
            self.run_command("install_cli_extension")
            yield lambda: self.panels_open.open
            self.panels_open.answer(0)
            yield lambda: extension.installed_at(GEMINI_CLI, places[0]).version
            self.assertFalse(os.path.exists(places[1]))
            yield is_removed

        yield from self.each_await("ExtensionSetup.install_extension", go, 3, [0])

    def test_an_api_that_is_unloaded_while_it_starts_can_be_started(self) -> None:
        before = self.window.project_data()
        self.addCleanup(self.window.set_project_data, before)
        self.window.set_project_data({"folders": [{"path": self.folder}]})
        api = plugin._host.api
        self.replace(api._engines, "ensure_engine", Answer)
        self.run_command("start_api_server")
        self.assertFalse(api.can_start(self.window))
        api.unload()
        self.assertTrue(api.can_start(self.window))


class Closed(ReviewCase):
    """What the editor closes while a story is under way."""

    def pressed(self) -> Generator[Any, Any, sublime.View]:
        """Accept was pressed, and the file is not read yet."""
        right = yield from self.propose("old\n", "new\n")
        right.run_command("append", {"characters": "mine\n"})
        self.answer: Answer[Any] = Answer()
        ask = mock.Mock(return_value=self.answer)
        with mock.patch.object(self.running().companion, "ask", ask):
            self.run_command("accept_diff")
        return right

    def test_a_diff_that_is_closed_while_it_is_accepted_is_not_rejected_without_a_word(
        self,
    ) -> Steps:
        right, told = (yield from self.pressed()), self.told()
        right.close()
        yield from self.until_rejected()
        self.assertEqual(self.cli.received("ide/diffAccepted"), [])
        said = accepting.CLOSED.format("file.txt") + accepting.IN_TAB
        yield lambda: any(said in each for each in told)
        yield lambda: self.tabs().get("file.txt (released proposal)") == "new\nmine\n"

    def test_a_restart_leaves_a_diff_that_is_being_accepted_and_says_so(self) -> Steps:
        right, told = (yield from self.pressed()), self.told()
        plugin._host.stop()
        self.answer.give(None)
        plugin._host.start()
        yield lambda: any(accepting.NOT_ACCEPTED.format("file.txt") in each for each in told)
        self.assertTrue(record.is_diff(right))
        yield lambda: plugin._host.environment_of(self.window)
        port = plugin._host.environment_of(self.window)["GEMINI_CLI_IDE_SERVER_PORT"]
        self.assertEqual(port, str(self.cli.port))
        self.cli.resume()
        yield self.cli.connected
        self.run_command("accept_diff")
        yield lambda: self.cli.received("ide/diffAccepted")
        self.assertEqual(self.cli.received("ide/diffAccepted")[0]["content"], "new\nmine\n")

    def test_a_second_press_of_accept_changes_nothing(self) -> Steps:
        right = yield from self.propose("old\n", "new\n")
        for _ in range(3):
            self.run_command("accept_diff")
        yield lambda: not right.is_valid()
        yield from self.until_heard(self.cli)
        self.assertEqual(len(self.cli.received("ide/diffAccepted")), 1)

    def test_a_question_about_a_diff_that_its_cli_closes_is_withdrawn(self) -> Steps:
        right, opened = (yield from self.propose("old\n", "new\n")), Panels(self)
        self.write("file.txt", "else\n")
        self.run_command("accept_diff")
        yield lambda: opened.open is not None
        found = record.waiting_record(right)
        yield self.cli.call("closeDiff", filePath=self.path).done
        yield lambda: not right.is_valid()
        yield lambda: found.id not in self.running().review.accepting._under_way
        self.assertIsNone(opened.open)

    def test_a_window_that_closes_ends_its_panels(self) -> Steps:
        yield from self.propose("old\n", "new\n")
        opened = Panels(self)
        self.run_command("show_diffs")
        self.assertIsNotNone(opened.open)
        plugin.GeminiCompanionListener().on_pre_close_window(self.window)
        self.assertIsNone(opened.open)
