"""Diffs as the user meets them: opened by a CLI, decided in the editor."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from typing import Any, Generator, Sequence
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.base.answer import Answer
from GeminiCompanion.companion.ide import file_content, sessions
from GeminiCompanion.companion.ide.questions import Question, TextWithdrawal, UnwrittenTexts
from GeminiCompanion.companion.ui.review import head, open_diffs, record, restoring

from .adapter import AdapterTestCase, saved_state, text_of

Steps = Generator[Any, Any, None]


class OpenDiff(AdapterTestCase):
    def test_the_file_is_left_and_read_only_the_proposal_right_and_editable(self) -> Steps:
        cli = yield from self.connect()
        path = self.write("a.py", "old\n")
        right = yield from self.diff(cli, path, "new\n")
        left = open_diffs.partner(right)
        self.assertEqual((text_of(left), text_of(right)), ("old\n", "new\n"))
        self.assertEqual((left.is_read_only(), right.is_read_only()), (True, False))
        self.assertLess(self.window.get_view_index(left)[0], self.window.get_view_index(right)[0])
        self.assertFalse(right.is_dirty())

    def test_both_sides_can_be_seen(self) -> Steps:
        cli = yield from self.connect()
        right = yield from self.diff(cli, self.write("a.py", "old\n"), "new\n")
        for view in (right, open_diffs.partner(right)):
            group = self.window.get_view_index(view)[0]
            self.assertEqual(self.window.active_view_in_group(group), view)

    def test_the_right_side_carries_the_settings_for_key_bindings(self) -> Steps:
        cli = yield from self.connect()
        path = self.write("a.py", "old\n")
        right = yield from self.diff(cli, path, "new\n")
        self.assertIs(right.settings().get("gemini_companion_diff"), True)
        self.assertEqual(right.settings().get("gemini_companion_diff_path"), path)

    def test_the_keyboard_stays_where_the_user_types(self) -> Steps:
        view = yield from self.open("typing.py", "x\n")
        cli = yield from self.connect()
        yield from self.diff(cli, self.write("a.py", "old\n"), "new\n")
        self.assertEqual(self.window.active_view(), view)

    def test_the_keyboard_goes_to_the_proposal_where_the_setting_says_so(self) -> Steps:
        settings = sublime.load_settings("GeminiCompanion.sublime-settings")
        settings.set("focus_diff", True)
        self.addCleanup(settings.set, "focus_diff", False)
        cli = yield from self.connect()
        right = yield from self.diff(cli, self.write("a.py", "old\n"), "new\n")
        self.assertEqual(self.window.active_view(), right)

    def test_a_new_file_has_an_empty_left_side(self) -> Steps:
        cli = yield from self.connect()
        right = yield from self.diff(cli, os.path.join(self.folder, "new.py"), "text")
        self.assertEqual(text_of(open_diffs.partner(right)), "")

    def test_a_file_that_cannot_be_read_holds_up_neither_its_diff_nor_others(self) -> Steps:
        cli = yield from self.connect()
        path = self.write("a.py", "old\n")
        with mock.patch.object(file_content, "_read", side_effect=ZeroDivisionError):
            first = yield from self.diff(cli, path, "new\n")
        self.assertIn("cannot be read", text_of(open_diffs.partner(first)))
        second = yield from self.diff(cli, self.write("b.py", "old\n"), "new\n")
        self.assertEqual(text_of(open_diffs.partner(second)), "old\n")

    def test_a_file_that_never_answers_is_shown_as_one_that_cannot_be_read(self) -> Steps:
        cli = yield from self.connect()
        path = self.write("a.py", "old\n")
        answered = threading.Event()
        self.addCleanup(answered.set)
        with mock.patch.object(file_content, "PATIENCE", 0.01):
            with mock.patch.object(file_content, "_read", lambda file: answered.wait()):
                right = yield from self.diff(cli, path, "new\n")
        self.assertEqual(text_of(open_diffs.partner(right)), file_content.LATE)
        self.assertEqual(text_of(right), "new\n")

    def test_tabs_and_missing_final_newline_of_a_proposal_survive(self) -> Steps:
        cli = yield from self.connect()
        text = "if x:\n\ty = '\u00e9\U0001f600'\n\n  \tz"
        right = yield from self.diff(cli, self.write("a.py", ""), text)
        self.assertEqual(text_of(right), text)

    def test_a_second_diff_for_the_same_path_replaces_the_first_silently(self) -> Steps:
        cli = yield from self.connect()
        path = self.write("a.py", "old\n")
        first = yield from self.diff(cli, path, "one\n")
        second = yield from self.diff(cli, path, "two\n")
        yield lambda: not first.is_valid()
        self.assertEqual(list(open_diffs.diffs(self.window)), [second])
        self.assertEqual(text_of(second), "two\n")
        self.window.focus_view(second)
        self.window.run_command("gemini_companion_accept_diff")
        yield lambda: cli.received("ide/diffAccepted")
        self.assertEqual(cli.received("ide/diffRejected"), [])

    def test_a_folder_as_path_is_an_error_and_leaves_no_view(self) -> Steps:
        cli = yield from self.connect()
        before = self.window.views()
        answer = cli.call("openDiff", filePath=self.folder, newContent="x")
        yield answer.done
        self.assertTrue(answer.result()["isError"])
        self.assertIn("is a folder", answer.result()["content"][0]["text"])
        self.assertEqual(self.window.views(), before)


class Decision(AdapterTestCase):
    def test_accepting_sends_the_text_as_edited_and_closes_both_sides(self) -> Steps:
        cli = yield from self.connect()
        path = self.write("a.py", "old\n")
        right = yield from self.diff(cli, path, "new\n")
        left = open_diffs.partner(right)
        right.run_command("append", {"characters": "mine\n"})
        self.window.run_command("gemini_companion_accept_diff")
        yield lambda: cli.received("ide/diffAccepted")
        self.assertEqual(
            cli.received("ide/diffAccepted"), [{"filePath": path, "content": "new\nmine\n"}]
        )
        yield lambda: not right.is_valid() and not left.is_valid()
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "old\n")

    def test_rejecting_says_so_and_closes_both_sides(self) -> Steps:
        cli = yield from self.connect()
        path = self.write("a.py", "old\n")
        right = yield from self.diff(cli, path, "new\n")
        self.window.run_command("gemini_companion_reject_diff")
        yield lambda: cli.received("ide/diffRejected")
        self.assertEqual(cli.received("ide/diffRejected"), [{"filePath": path}])
        yield lambda: not right.is_valid()

    def test_closing_the_tab_rejects_once(self) -> Steps:
        cli = yield from self.connect()
        path = self.write("a.py", "old\n")
        right = yield from self.diff(cli, path, "new\n")
        left = open_diffs.partner(right)
        right.close()
        yield lambda: cli.received("ide/diffRejected")
        yield lambda: not left.is_valid()
        self.assertEqual(cli.received("ide/diffRejected"), [{"filePath": path}])

    def test_saving_the_proposal_accepts_it(self) -> Steps:
        cli = yield from self.connect()
        right = yield from self.diff(cli, self.write("a.py", "old\n"), "new\n")
        self.window.focus_view(right)
        self.window.run_command("save")
        yield lambda: cli.received("ide/diffAccepted")

    def test_close_diff_gives_the_edited_text_as_json_and_no_decision_follows(self) -> Steps:
        cli = yield from self.connect()
        path = self.write("a.py", "old\n")
        right = yield from self.diff(cli, path, "new\n")
        right.run_command("append", {"characters": "mine\n"})
        answer = cli.call("closeDiff", filePath=path, suppressNotification=True)
        yield answer.done
        content = json.loads(answer.result()["content"][0]["text"])
        self.assertEqual(content, {"content": "new\nmine\n"})
        self.assertFalse(right.is_valid())
        again = cli.call("closeDiff", filePath=path)
        yield again.done
        self.assertEqual(again.result(), {"content": [{"type": "text", "text": "{}"}]})
        self.assertEqual(cli.received("ide/diffRejected") + cli.received("ide/diffAccepted"), [])
        # This CLI writes nothing, so what the user typed comes back.
        yield lambda: self.tabs() == {"a.py (your edits)": "new\nmine\n"}

    def test_a_diff_opened_again_right_after_it_was_closed_stays_open(self) -> Steps:
        cli = yield from self.connect()
        path = self.write("a.py", "old\n")
        yield from self.diff(cli, path, "one\n")
        closed = cli.call("closeDiff", filePath=path)
        opened = cli.call("openDiff", filePath=path, newContent="two\n")
        yield lambda: closed.done() and opened.done()
        yield from self.until_heard(cli)
        yield from self.until_turn()
        self.assertEqual([text_of(v) for v in open_diffs.diffs(self.window)], ["two\n"])
        self.assertEqual(cli.received("ide/diffRejected"), [])

    def test_two_clis_get_their_own_decisions(self) -> Steps:
        one = yield from self.connect()
        two = yield from self.connect()
        path = self.write("a.py", "old\n")
        first = yield from self.diff(one, path, "one\n")
        yield from self.diff(two, path, "two\n")
        self.window.focus_view(first)
        self.window.run_command("gemini_companion_accept_diff")
        yield lambda: one.received("ide/diffAccepted")
        self.assertEqual(one.received("ide/diffAccepted")[0]["content"], "one\n")
        self.assertEqual(two.received("ide/diffAccepted"), [])

    def test_layout_and_focus_come_back_after_the_last_diff(self) -> Steps:
        view = yield from self.open("typing.py", "x\n")
        layout = self.window.layout()
        cli = yield from self.connect()
        first = yield from self.diff(cli, self.write("a.py", "a\n"), "1\n")
        yield from self.diff(cli, self.write("b.py", "b\n"), "2\n")
        self.assertNotEqual(self.window.layout(), layout)
        self.window.focus_view(first)
        self.window.run_command("gemini_companion_accept_diff")
        yield lambda: not first.is_valid()
        self.assertNotEqual(self.window.layout(), layout)
        self.window.run_command("gemini_companion_reject_diff")
        yield lambda: not list(open_diffs.diffs(self.window))
        yield lambda: self.window.layout() == layout
        self.assertEqual(self.window.active_view(), view)
        self.assertEqual(self.window.get_view_index(view)[0], 0)

    def test_what_the_file_was_when_the_user_accepted_is_remembered_until_it_is_written(
        self,
    ) -> Steps:
        cli = yield from self.connect()
        digest = hashlib.sha256(b"as it was\n").hexdigest()
        right = yield from self.diff(cli, self.write("a.py", "as it was\n"), "new\n")
        self.window.focus_view(right)
        self.window.run_command("gemini_companion_accept_diff")
        yield lambda: digest in saved_state()
        self.write("a.py", "new\n")
        yield lambda: digest not in saved_state()

    def test_while_others_wait_the_next_diff_gets_the_keyboard_of_a_decided_one(self) -> Steps:
        yield from self.open("typing.py", "x\n")
        cli = yield from self.connect()
        first = yield from self.diff(cli, self.write("a.py", "a\n"), "1\n")
        second = yield from self.diff(cli, self.write("b.py", "b\n"), "2\n")
        self.window.focus_view(second)
        yield lambda: plugin._host.running.editor.keyboard == second
        self.window.run_command("gemini_companion_accept_diff")
        yield lambda: not second.is_valid()
        yield lambda: plugin._host.running.editor.keyboard == first
        self.assertEqual(self.window.active_view(), first)

    def test_dividers_that_the_user_moved_meanwhile_do_no_harm(self) -> Steps:
        cli = yield from self.connect()
        before = self.window.layout()
        for _ in range(2):
            right = yield from self.diff(cli, self.write("a.py", "a\n"), "1\n")
            layout = self.window.layout()
            layout["rows"] = [row * 0.5 for row in layout["rows"][:-1]] + [1.0]
            self.window.set_layout(layout)
            self.window.focus_view(right)
            self.window.run_command("gemini_companion_reject_diff")
            yield lambda: not right.is_valid()  # noqa: B023
            yield lambda: self.window.layout() == before

    def test_groups_that_the_user_made_meanwhile_are_left_alone(self) -> Steps:
        cli = yield from self.connect()
        before = self.window.layout()
        self.addCleanup(self.window.set_layout, before)
        right = yield from self.diff(cli, self.write("a.py", "a\n"), "1\n")
        layout = self.window.layout()
        layout["rows"] = [0.0, 0.2, 0.4, 1.0]
        layout["cells"] = [[0, 0, 2, 1], [0, 1, 2, 2], [0, 2, 1, 3], [1, 2, 2, 3]]
        self.window.set_layout(layout)
        self.window.run_command("gemini_companion_reject_diff")
        yield lambda: not right.is_valid()
        yield from self.until_turn()
        self.assertEqual(self.window.num_groups(), 4)

    def test_a_clone_of_the_proposal_decides_nothing(self) -> Steps:
        cli = yield from self.connect()
        right = yield from self.diff(cli, self.write("a.py", "a\n"), "1\n")
        self.window.focus_view(right)
        self.window.run_command("clone_file")
        yield lambda: len(right.buffer().views()) == 2
        clone = next(view for view in right.buffer().views() if view != right)
        clone.close()
        yield from self.until_turn()
        yield from self.until_heard(cli)
        self.assertEqual(cli.received("ide/diffRejected"), [])
        self.assertTrue(record.is_diff(right))

    def test_a_tab_dragged_to_another_window_still_answers_its_cli(self) -> Steps:
        cli = yield from self.connect()
        path = self.write("a.py", "a\n")
        right = yield from self.diff(cli, path, "1\n")
        groups = self.window.num_groups()
        self.window.run_command("new_window")
        yield lambda: len(sublime.windows()) > 1
        other = next(it for it in sublime.windows() if it.id() != self.window.id())
        other.set_view_index(right, 0, 0)
        yield lambda: right.window() == other
        other.focus_view(right)
        other.run_command("gemini_companion_accept_diff")
        yield lambda: cli.received("ide/diffAccepted")
        yield lambda: self.window.num_groups() == groups - 2
        other.run_command("close_window")
        yield lambda: len(sublime.windows()) == 1

    def test_a_diff_whose_cli_is_gone_makes_way_and_what_was_typed_stays(self) -> Steps:
        soon = mock.patch.object(sessions, "ABSENT", 0.0)
        soon.start()
        self.addCleanup(soon.stop)
        gone = yield from self.connect()
        path = self.write("a.py", "a\n")
        old = yield from self.diff(gone, path, "old proposal\n")
        old.run_command("append", {"characters": "mine\n"})
        gone.close()
        yield gone.stream_ended.is_set
        cli = yield from self.connect()
        yield from self.until_connected(1)
        yield from self.diff(cli, path, "new proposal\n")
        yield lambda: not record.is_diff(old)
        self.assertEqual(text_of(old), "old proposal\nmine\n")
        self.assertFalse(old.is_scratch())
        self.window.run_command("gemini_companion_accept_diff")
        yield lambda: cli.received("ide/diffAccepted")
        self.assertEqual(cli.received("ide/diffAccepted")[0]["content"], "new proposal\n")

    def test_diffs_restored_with_other_ids_are_taken_up_and_nobody_elses_tab_is(self) -> Steps:
        mine = yield from self.open("mine.py", "mine\n")
        cli = yield from self.connect()
        path = self.write("a.py", "a\n")
        right = yield from self.diff(cli, path, "1\n")
        left = open_diffs.partner(right)
        # As after a restart: the settings are those of before, the ids are others.
        its = record.read(right)
        record.write_original(left, record.OriginalRecord(its.id, mine.id()))
        record.update(right, its, view_id=99999, original_id=mine.id())
        self.window.settings().set(open_diffs.DIFFS, [99999])
        right.erase_phantoms(head.PHANTOM)
        self.assertFalse(record.is_diff(right))
        self.assertFalse(open_diffs.partner(right).is_valid())
        found = restoring.adopt(self.window)
        self.assertEqual(found, [(cli.headers["Mcp-Session-Id"], path)])
        self.assertEqual(list(open_diffs.diffs(self.window)), [right])
        self.assertEqual(open_diffs.partner(right), left)
        self.window.run_command("gemini_companion_accept_diff")
        yield lambda: cli.received("ide/diffAccepted")
        yield lambda: not left.is_valid()
        self.assertTrue(mine.is_valid())

    def test_a_left_side_that_comes_back_alone_is_closed(self) -> Steps:
        cli = yield from self.connect()
        path = self.write("a.py", "a\n")
        right = yield from self.diff(cli, path, "1\n")
        left = open_diffs.partner(right)
        right.settings().erase(record.STAMP)
        right.settings().erase(record.RECORD)
        self.assertEqual(restoring.adopt(self.window), [])
        yield lambda: not left.is_valid()
        # Else it would be shown again at the next restart.
        yield cli.call("closeDiff", filePath=path).done

    def test_a_diff_closed_while_it_opens_does_not_stay(self) -> Steps:
        cli = yield from self.connect()
        path = self.write("a.py", "a\n")
        post = cli.post_together(
            ("openDiff", {"filePath": path, "newContent": "1\n"}), ("closeDiff", {"filePath": path})
        )
        yield post.done
        other = yield from self.diff(cli, self.write("b.py", "b\n"), "2\n")
        self.assertEqual(list(open_diffs.diffs(self.window)), [other])


class Asked(AdapterTestCase):
    """`questions` are the quick panels that were shown: items, answer, placeholder."""

    def setUp(self) -> None:
        super().setUp()
        self.questions: list[Any] = []
        asked = mock.patch.object(sublime.Window, "show_quick_panel", self.ask)
        asked.start()
        self.addCleanup(asked.stop)

    def ask(self, items: Any, on_select: Any, **options: Any) -> None:
        self.questions.append((items, on_select, options["placeholder"]))


class Kept(Asked):
    """What was accepted while no CLI was there."""

    def setUp(self) -> None:
        super().setUp()
        soon = mock.patch.object(sessions, "ABSENT", 0.0)
        soon.start()
        self.addCleanup(soon.stop)

    def accept_alone(self, name: str, text: str) -> Generator[Any, Any, str]:
        """Accept a proposal after its CLI has left; gives the path."""
        cli = yield from self.connect()
        path = os.path.join(self.folder, name)
        right = yield from self.diff(cli, path, text)
        cli.close()
        yield cli.stream_ended.is_set
        yield from self.until_connected(0)
        self.window.focus_view(right)
        self.window.run_command("gemini_companion_accept_diff")
        yield lambda: not right.is_valid()
        return path

    def choose(self, index: int) -> Steps:
        """Choose the test's own text, and what becomes of it."""
        yield from self.choose_text()
        yield from self.answer(index)

    def choose_text(self) -> Steps:
        self.window.run_command("gemini_companion_show_unwritten_edits")
        yield lambda: self.questions
        items, answer, _ = self.questions.pop()
        answer(next(at for at, item in enumerate(items) if item[1].startswith(self.folder)))
        yield from self.until_turn()

    def answer(self, index: int) -> Steps:
        yield lambda: self.questions
        _, answer, _ = self.questions.pop()
        answer(index)
        yield from self.until_turn()

    def until_unwritten(self, *expected: tuple[str, str]) -> Steps:
        """Until these are the texts, with their paths, that no CLI has got."""

        def look(unwritten: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
            return [it for it in unwritten if it[0].startswith(self.folder)]

        question = UnwrittenTexts(self.window.id())
        yield from self.until_answered(question, look, list(expected))

    def test_it_can_be_opened_as_a_new_tab_and_goes_on_waiting(self) -> Steps:
        path = yield from self.accept_alone("a.py", "1\n")
        yield from self.choose(1)
        self.assertEqual(text_of(self.window.active_view()), "1\n")
        self.assertIsNone(self.window.active_view().file_name())
        yield from self.until_unwritten((path, "1\n"))
        cli = yield from self.connect()
        yield lambda: cli.received("ide/diffAccepted")
        yield from self.until_unwritten()

    def test_it_can_be_applied_to_the_file_which_the_user_then_saves(self) -> Steps:
        self.write("a.py", "old\n")
        path = yield from self.accept_alone("a.py", "1\n")
        yield from self.choose(0)
        yield lambda: self.window.find_open_file(path)
        view = self.window.find_open_file(path)
        yield lambda: text_of(view) == "1\n"
        self.assertTrue(view.is_dirty())
        view.run_command("undo")
        self.assertEqual(text_of(view), "old\n")
        yield from self.until_unwritten()

    def test_it_can_be_applied_to_a_file_that_is_not_there_yet(self) -> Steps:
        path = yield from self.accept_alone("new.py", "1\n")
        yield from self.choose(0)
        yield lambda: self.window.find_open_file(path)
        view = self.window.find_open_file(path)
        yield lambda: text_of(view) == "1\n"
        self.assertFalse(os.path.exists(path))

    def test_it_is_put_beside_a_tab_with_unsaved_changes_and_the_user_is_told(self) -> Steps:
        view = yield from self.open("a.py", "old\n")
        yield from self.accept_alone("a.py", "1\n")
        view.run_command("append", {"characters": "unsaved\n"})
        with mock.patch.object(plugin._host.editor, "tell") as tell:
            yield from self.choose(0)
            yield lambda: tell.called
        self.assertIn("unsaved changes", tell.call_args[0][0])
        self.assertEqual(text_of(view), "old\nunsaved\n")
        self.assertEqual(self.tabs().get("a.py"), "1\n")
        yield from self.until_unwritten()

    def test_it_is_put_beside_a_tab_that_is_read_only(self) -> Steps:
        view = yield from self.open("a.py", "old\n")
        view.set_read_only(True)
        yield from self.accept_alone("a.py", "1\n")
        yield from self.choose(0)
        yield lambda: self.tabs().get("a.py") == "1\n"
        self.assertEqual(text_of(view), "old\n")

    def test_it_is_withdrawn_only_once_it_stands_in_a_tab(self) -> Steps:
        path = yield from self.accept_alone("a.py", "\tone\n")
        seen: list[Any] = []

        def look(question: Question[Any]) -> Answer[Any]:
            if isinstance(question, TextWithdrawal):
                seen.append(self.tabs())
            return ask(question)

        ask = plugin._host.companion.ask
        with mock.patch.object(plugin._host.companion, "ask", look):
            yield from self.choose(0)
            yield lambda: seen
        self.assertEqual(seen, [{path: "\tone\n"}])

    def test_once_discarded_no_cli_is_told_to_write_it(self) -> Steps:
        yield from self.accept_alone("a.py", "1\n")
        yield from self.choose(2)
        yield from self.until_unwritten()
        cli = yield from self.connect()
        yield lambda: cli.received("ide/diffRejected")
        self.assertEqual(cli.received("ide/diffAccepted"), [])

    def test_one_that_a_cli_got_meanwhile_is_not_applied(self) -> Steps:
        path = yield from self.accept_alone("a.py", "1\n")
        yield from self.choose_text()
        cli = yield from self.connect()
        yield lambda: cli.received("ide/diffAccepted")
        with mock.patch.object(plugin._host.editor, "tell") as tell:
            yield from self.answer(0)
            yield lambda: tell.called
        self.assertIn("meanwhile", tell.call_args[0][0])
        self.assertIsNone(self.window.find_open_file(path))

    def test_one_that_a_cli_got_meanwhile_leaves_an_open_tab_as_it_was(self) -> Steps:
        view = yield from self.open("a.py", "old\n")
        yield from self.accept_alone("a.py", "1\n")
        yield from self.choose_text()
        cli = yield from self.connect()
        yield lambda: cli.received("ide/diffAccepted")
        with mock.patch.object(plugin._host.editor, "tell") as tell:
            yield from self.answer(0)
            yield lambda: tell.called
        self.assertEqual(text_of(view), "old\n")
        self.assertFalse(view.is_dirty())


class Orphans(AdapterTestCase):
    """Diffs whose CLI is gone."""

    def setUp(self) -> None:
        super().setUp()
        soon = mock.patch.object(sessions, "ABSENT", 0.0)
        soon.start()
        self.addCleanup(soon.stop)

    def orphan(self, path: str) -> Generator[Any, Any, Any]:
        """`cli, right = ...`"""
        # The only one: of several each has a number in the tab's name.
        yield from self.until_connected(0)
        cli = yield from self.connect()
        right = yield from self.diff(cli, path, "1\n")
        cli.close()
        yield lambda: "CLI gone" in right.name()
        return cli, right

    def test_they_are_marked_until_the_cli_is_back(self) -> Steps:
        cli, right = yield from self.orphan(self.write("a.py", "a\n"))
        cli.resume()
        yield lambda: right.name() == "a.py (proposed)"

    def test_one_can_be_released_and_its_text_stays_as_a_tab(self) -> Steps:
        _, right = yield from self.orphan(self.write("a.py", "a\n"))
        left = open_diffs.partner(right)
        right.run_command("append", {"characters": "mine\n"})
        self.window.focus_view(right)
        self.window.run_command("gemini_companion_release_diff")
        yield lambda: not left.is_valid()
        self.assertTrue(right.is_valid())
        self.assertEqual(text_of(right), "1\nmine\n")
        self.assertTrue(right.is_dirty())
        self.assertFalse(right.is_scratch())
        self.assertEqual(list(open_diffs.diffs(self.window)), [])
        self.assertEqual(self.window.num_groups(), 1)
        self.assertEqual(self.window.active_view(), right)

    def test_releasing_one_lets_an_interrupted_cli_go_on(self) -> Steps:
        cli = yield from self.connect()
        right = yield from self.diff(cli, self.write("a.py", "a\n"), "1\n")
        self.window.focus_view(right)
        self.window.run_command("gemini_companion_release_diff")
        yield lambda: cli.received("ide/diffRejected")
        yield lambda: self.window.num_groups() == 1
        self.assertTrue(right.is_valid())


class Traits(AdapterTestCase):
    """What the left side's name says of the file."""

    def left(self, data: bytes | None) -> Generator[Any, Any, sublime.View]:
        cli = yield from self.connect()
        path = os.path.join(self.folder, "a.txt")
        if data is not None:
            with open(path, "wb") as file:
                file.write(data)
        right = yield from self.diff(cli, path, "new\n")
        return open_diffs.partner(right)

    def test_an_ordinary_file_has_none(self) -> Steps:
        left = yield from self.left(b"old\n")
        self.assertEqual(left.name(), "a.txt (on disk)")

    def test_a_new_file_is_called_so(self) -> Steps:
        left = yield from self.left(None)
        self.assertEqual(left.name(), "a.txt (new file)")

    def test_line_ends_mark_and_the_lack_of_a_final_line_end_are_named(self) -> Steps:
        left = yield from self.left(b"\xef\xbb\xbfone\r\ntwo")
        self.assertEqual(left.name(), "a.txt (on disk, BOM, CRLF, no final line end)")

    def test_another_encoding_is_named_and_its_text_shown(self) -> Steps:
        left = yield from self.left("\ufeffgr\u00fc\u00df\n".encode("utf-16-le"))
        self.assertEqual(left.name(), "a.txt (on disk, UTF-16)")
        self.assertEqual(text_of(left), "gr\u00fc\u00df\n")

    def test_of_a_binary_file_a_sentence_is_shown(self) -> Steps:
        left = yield from self.left(b"\x7fELF\xff\0\0")
        self.assertEqual(text_of(left), "The file is binary; 7 bytes.")

    def test_of_a_large_one_the_changed_part_is_shown(self) -> Steps:
        left = yield from self.left(b"0123456\n" * 0x80001)
        self.assertEqual(left.name(), "a.txt (on disk, only the changed parts)")
        self.assertIn("more lines of this change", text_of(left))
        self.assertLess(left.size(), 50_000)

    def test_of_one_that_is_too_large_to_be_compared_the_beginning_is_shown(self) -> Steps:
        with mock.patch.object(file_content, "LARGE", 0x40000):
            left = yield from self.left(b"0123456\n" * 0x8001)
        self.assertEqual(left.name(), "a.txt (on disk, only the beginning)")
        self.assertEqual(text_of(left), "0123456\n" * 8192)


class Giants(AdapterTestCase):
    """Proposals that are too large to be edited."""

    TEXT = "0123456\n" * 0x80001

    def test_a_part_is_shown_and_accepting_leaves_the_text_to_the_cli(self) -> Steps:
        cli = yield from self.connect()
        path = self.write("a.txt", "old\n")
        right = yield from self.diff(cli, path, self.TEXT)
        self.assertIn("more lines of this change", text_of(right))
        self.assertLess(right.size(), 50_000)
        self.assertTrue(right.is_read_only())
        self.window.focus_view(right)
        self.window.run_command("gemini_companion_accept_diff")
        yield lambda: cli.received("ide/diffAccepted")
        decisions = cli.received("ide/diffAccepted")
        self.assertEqual(decisions, [{"filePath": path, "content": ""}])

    def test_a_decision_in_the_terminal_gets_no_text_that_is_not_whole(self) -> Steps:
        cli = yield from self.connect()
        path = self.write("a.txt", "old\n")
        right = yield from self.diff(cli, path, self.TEXT)
        answer = cli.call("closeDiff", filePath=path)
        yield answer.done
        self.assertEqual(json.loads(answer.result()["content"][0]["text"]), {})
        yield lambda: not right.is_valid()

    def test_one_that_is_released_leaves_no_half_text_behind(self) -> Steps:
        cli = yield from self.connect()
        right = yield from self.diff(cli, self.write("a.txt", "old\n"), self.TEXT)
        self.window.focus_view(right)
        self.window.run_command("gemini_companion_release_diff")
        yield lambda: cli.received("ide/diffRejected")
        yield lambda: not right.is_valid()

    def test_a_very_long_line_is_shown_without_wrapping_and_colors(self) -> Steps:
        cli = yield from self.connect()
        right = yield from self.diff(cli, self.write("a.py", "old\n"), "x = 1  " * 0x4000)
        self.assertEqual(right.size(), 7 * 0x4000)
        self.assertIs(right.settings().get("word_wrap"), False)
        self.assertFalse(right.is_read_only())


class Doubt(Asked):
    """What speaks against accepting is asked before anything is sent."""

    def accept(self, right: sublime.View) -> Steps:
        self.window.focus_view(right)
        self.window.run_command("gemini_companion_accept_diff")
        yield lambda: self.questions

    def test_a_file_that_changed_on_disk_is_asked_about_and_can_be_seen(self) -> Steps:
        cli = yield from self.connect()
        path = self.write("a.py", "old\n")
        right = yield from self.diff(cli, path, "new\n")
        right.run_command("append", {"characters": "mine\n"})
        self.write("a.py", "somebody else\n")
        yield from self.accept(right)
        _, answer, sentence = self.questions.pop()
        self.assertIn("changed on disk", sentence)
        self.assertEqual(cli.received("ide/diffAccepted"), [])
        answer(0)
        yield from self.until_turn()
        self.assertEqual(text_of(open_diffs.partner(right)), "somebody else\n")
        self.assertEqual(text_of(right), "new\nmine\n")
        self.window.run_command("gemini_companion_accept_diff")
        yield lambda: cli.received("ide/diffAccepted")
        self.assertEqual(self.questions, [])

    def test_a_file_that_cannot_be_read_any_more_is_asked_about(self) -> Steps:
        cli = yield from self.connect()
        right = yield from self.diff(cli, self.write("a.py", "old\n"), "new\n")
        with mock.patch.object(file_content, "_read", side_effect=ZeroDivisionError):
            yield from self.accept(right)
        _, answer, _ = self.questions.pop()
        answer(1)
        yield from self.until_turn()
        yield lambda: cli.received("ide/diffAccepted")

    def test_unsaved_changes_in_another_tab_are_asked_about(self) -> Steps:
        view = yield from self.open("a.py", "old\n")
        cli = yield from self.connect()
        right = yield from self.diff(cli, view.file_name(), "new\n")
        view.run_command("append", {"characters": "unsaved\n"})
        yield from self.accept(right)
        _, answer, sentence = self.questions.pop()
        self.assertIn("unsaved changes", sentence)
        answer(-1)
        yield from self.until_turn()
        self.assertTrue(record.is_diff(right))
        self.assertEqual(cli.received("ide/diffAccepted"), [])

    def test_an_emptied_proposal_is_asked_about_and_can_be_rejected_but_not_accepted(self) -> Steps:
        cli = yield from self.connect()
        right = yield from self.diff(cli, self.write("a.py", "old\n"), "new\n")
        self.window.focus_view(right)
        self.window.run_command("select_all")
        self.window.run_command("left_delete")
        yield from self.accept(right)
        items, answer, sentence = self.questions.pop()
        self.assertIn("emptied", sentence)
        names = [item[0] for item in items]
        self.assertNotIn("Accept all the same", names)
        answer(names.index("Reject the proposal"))
        yield from self.until_turn()
        yield lambda: cli.received("ide/diffRejected")
        self.assertEqual(cli.received("ide/diffAccepted"), [])

    def test_a_proposal_that_was_empty_is_accepted_without_a_question(self) -> Steps:
        cli = yield from self.connect()
        right = yield from self.diff(cli, self.write("a.py", "old\n"), "")
        self.window.focus_view(right)
        self.window.run_command("gemini_companion_accept_diff")
        yield lambda: cli.received("ide/diffAccepted")
        self.assertEqual(self.questions, [])

    def test_a_file_in_another_encoding_is_asked_about_and_can_be_accepted_all_the_same(
        self,
    ) -> Steps:
        cli = yield from self.connect()
        path = os.path.join(self.folder, "latin.txt")
        with open(path, "wb") as file:
            file.write(b"gr\xfc\xdfe\n")
        right = yield from self.diff(cli, path, "new\n")
        yield from self.accept(right)
        _, answer, sentence = self.questions.pop()
        self.assertIn("UTF-8", sentence)
        answer(1)
        yield from self.until_turn()
        yield lambda: cli.received("ide/diffAccepted")


class Commands(AdapterTestCase):
    def test_accept_and_reject_are_enabled_only_where_a_diff_waits(self) -> Steps:
        from GeminiCompanion import plugin

        commands = [
            plugin.GeminiCompanionAcceptDiffCommand(self.window),
            plugin.GeminiCompanionRejectDiffCommand(self.window),
        ]
        self.assertEqual([each.is_enabled() for each in commands], [False, False])
        cli = yield from self.connect()
        yield from self.diff(cli, self.write("a.py", "a\n"), "1\n")
        self.assertEqual([each.is_enabled() for each in commands], [True, True])
