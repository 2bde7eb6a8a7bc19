"""The diffs that wait, over all windows, and the words that go with a rejection."""

from __future__ import annotations

import os
from typing import Any, Generator

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.ui.review import (
    comments,
    marks,
    next_edit,
    notes,
    open_diffs,
    opening,
    queue,
    record,
)
from GeminiCompanion.companion.ui.review.sight import caret_row
from GeminiCompanion.companion.ui.terminals import cli_terminals

from .adapter import text_of
from .reviewing import ReviewCase, Steps

Views = Generator[Any, Any, "list[sublime.View]"]


class QueueCase(ReviewCase):
    def three(self) -> Views:
        """Three diffs of one CLI, oldest first."""
        self.cli = yield from self.connect()
        found = []
        for name in ("a", "b", "c"):
            right = yield from self.diff(self.cli, self.write(name, "old\n"), f"new {name}\n")
            yield from self.until_computed(right)
            found.append(right)
        return found

    def another(self) -> Generator[Any, Any, tuple[sublime.Window, sublime.View]]:
        """A window of its own with a diff."""
        here = self.window
        here.run_command("new_window")
        yield lambda: len(sublime.windows()) > 1
        self.window = next(it for it in sublime.windows() if it.id() != here.id())
        self.other_cli = yield from self.connect()
        right = yield from self.diff(self.other_cli, self.write("other", "old\n"), "new\n")
        other, self.window = self.window, here
        here.bring_to_front()
        return other, right

    def close(self, other: sublime.Window) -> Steps:
        other.run_command("close_window")
        yield lambda: len(sublime.windows()) == 1

    def until_shown(self, right: sublime.View) -> Steps:
        yield lambda: right.window() and right.window().active_view() == right


class Going(QueueCase):
    def test_the_next_one_is_shown_and_after_the_last_the_first(self) -> Steps:
        a, b, c = yield from self.three()
        self.window.focus_view(a)
        for expected in (b, c, a):
            self.run_command("next_diff")
            yield from self.until_shown(expected)
        self.run_command("previous_diff")
        yield from self.until_shown(c)

    def test_one_in_another_window_is_gone_to(self) -> Steps:
        self.cli = yield from self.connect()
        here = yield from self.diff(self.cli, self.write("a", "old\n"), "new\n")
        self.window.focus_view(here)
        other, there = yield from self.another()
        self.run_command("next_diff")
        yield from self.until_shown(there)
        yield lambda: sublime.active_window() == other
        yield from self.close(other)

    def test_without_another_one_that_is_said(self) -> Steps:
        told = self.told()
        self.run_command("next_diff")
        yield lambda: any(queue.NONE in each for each in told)
        self.cli = yield from self.connect()
        right = yield from self.diff(self.cli, self.write("a", "old\n"), "new\n")
        self.window.focus_view(right)
        self.run_command("next_diff")
        yield lambda: any(queue.ONLY in each for each in told)

    def test_beyond_the_last_change_the_next_diff_of_the_window_is_shown(self) -> Steps:
        a, b, _c = yield from self.three()
        self.window.focus_view(a)
        self.run_command("next_change")
        yield from self.until_shown(b)


class Accepting(QueueCase):
    def test_three_are_decided_one_after_the_other(self) -> Steps:
        views = yield from self.three()
        self.window.focus_view(views[0])
        for count in (1, 2, 3):
            self.run_command("accept_diff_and_next")
            yield lambda: len(self.cli.received("ide/diffAccepted")) == count  # noqa: B023
            rest = len(views) - count
            yield lambda: len(list(open_diffs.diffs(self.window))) == rest  # noqa: B023
            yield lambda: not rest or record.is_diff(self.window.active_view())  # noqa: B023

    def test_the_next_one_may_be_in_another_window(self) -> Steps:
        self.cli = yield from self.connect()
        here = yield from self.diff(self.cli, self.write("a", "old\n"), "new\n")
        other, there = yield from self.another()
        self.window.focus_view(here)
        self.run_command("accept_diff_and_next")
        yield lambda: self.cli.received("ide/diffAccepted")
        yield lambda: sublime.active_window() == other and other.active_view() == there
        yield from self.close(other)


class FromTheCode(QueueCase):
    """The keyboard is in a file of the user's."""

    def two(self) -> Generator[Any, Any, sublime.View]:
        """Gives the user's file; of two diffs, "a" and "b", the second can be seen."""
        self.cli = yield from self.connect()
        typing = yield from self.open("typing.py", "x\n")
        for name in ("a", "b"):
            yield from self.another_diff(name)
        self.window.focus_view(typing)
        return typing

    def another_diff(self, name: str) -> Steps:
        path = self.write(name, "1\n2\n3\n4\n5\n")
        right = yield from self.diff(self.cli, path, f"{name}\n2\n{name}\n4\n{name}\n")
        yield from self.until_computed(right)

    def cover(self, right: sublime.View) -> None:
        """Another tab is put over the diffs."""
        keyboard = self.window.active_view()
        self.window.focus_view(right)
        self.window.new_file().set_scratch(True)
        self.window.focus_view(keyboard)

    def run_on(self, name: str, file: str) -> Steps:
        """The command acts on the diff of that file, and all that it says and asks names it."""
        told = self.told()
        captions: list[str] = []
        self.replace(
            sublime.Window,
            "show_input_panel",
            lambda _window, caption, *_: captions.append(caption),
        )
        self.run_command(name)
        yield from self.until_turn()
        yield lambda: told
        for sentence in (*told, *captions):
            self.assertRegex(sentence, rf"\b{file}\b")

    def test_a_command_acts_on_the_diff_in_sight_and_names_it(self) -> Steps:
        typing = yield from self.two()
        for name in ("next_change", "previous_change", "keep_change", "drop_change", "keep_change"):
            yield from self.run_on(name, "b")
        for name in ("comment_on_diff", "reject_diff_with_note", "reject_diff"):
            yield from self.run_on(name, "b")
        yield lambda: self.cli.received("ide/diffRejected")
        for name in ("accept_diff", "accept_diff_and_next"):
            yield from self.another_diff("b")
            yield from self.run_on(name, "b")
        self.assertEqual(self.window.active_view(), typing)
        yield lambda: len(self.cli.received("ide/diffAccepted")) == 2
        yield from self.another_diff("b")
        yield from self.run_on("release_diff", "b")
        yield from self.until_rejected(2)

    def test_where_none_is_in_sight_it_is_the_one_that_waits_longest(self) -> Steps:
        typing = yield from self.two()
        a, b = open_diffs.diffs(self.window)
        self.cover(b)
        yield from self.run_on("next_change", "a")
        self.assertEqual(caret_row(a), 2)
        self.assertTrue(open_diffs.is_on_top(self.window, a))
        self.assertEqual(self.window.active_view(), typing)

    def test_one_that_is_out_of_sight_is_shown_first_and_decided_on_when_it_is_asked_again(
        self,
    ) -> Steps:
        typing = yield from self.two()
        a, b = open_diffs.diffs(self.window)
        self.cover(b)
        deciding = ("drop_change", "keep_change", "release_diff", "reject_diff")
        for name in (*deciding, "accept_diff_and_next", "accept_diff"):
            told = self.told()
            self.cover(a)
            self.run_command(name)
            yield lambda: told  # noqa: B023
            self.assertRegex(
                told[0], r": a was out of sight, and is shown now\. Run the command again"
            )
            self.assertTrue(open_diffs.is_on_top(self.window, a))
            self.assertEqual(self.window.active_view(), typing)
            summary = self.review(a).summary(a)
            self.assertEqual((summary.changes, summary.seen, summary.dropped), (3, 0, 0))
        self.assertEqual(list(open_diffs.diffs(self.window)), [a, b])
        path = open_diffs.path_of(a)
        yield from self.run_on("accept_diff", "a")
        yield lambda: self.cli.received("ide/diffAccepted")
        self.assertEqual(self.cli.received("ide/diffAccepted")[0]["filePath"], path)
        self.assertEqual(self.window.active_view(), typing)
        self.assertEqual(list(open_diffs.diffs(self.window)), [b])

    def test_one_that_the_users_file_covers_in_its_group_is_decided_on_the_second_time(
        self,
    ) -> Steps:
        yield from self.two()
        a, b = open_diffs.diffs(self.window)
        self.cover(b)
        self.window.focus_view(a)
        typing = self.window.open_file(self.write("cover.py", "x\n"))
        yield lambda: not typing.is_loading()
        self.window.set_view_index(typing, self.window.get_view_index(a)[0], 0)
        self.window.focus_view(typing)
        yield lambda: not open_diffs.is_on_top(self.window, a)
        told = self.told()
        self.run_command("reject_diff")
        yield lambda: told
        self.assertTrue(open_diffs.is_on_top(self.window, a))
        self.assertEqual(list(open_diffs.diffs(self.window)), [a, b])
        self.run_command("reject_diff")
        yield lambda: list(open_diffs.diffs(self.window)) == [b]

    def test_nothing_is_said_to_who_looks_at_it(self) -> Steps:
        yield from self.two()
        told = self.told()
        self.window.focus_view(next(open_diffs.diffs(self.window)))
        self.run_command("next_change")
        yield from self.until_turn()
        self.assertEqual(told, [])

    def test_a_key_binding_can_ask_whether_a_diff_waits(self) -> Steps:
        listener = plugin.GeminiCompanionListener()
        typing = yield from self.open("typing.py", "x\n")

        def answers(key: str = "gemini_companion_diff_waits") -> list[bool | None]:
            asked: list[tuple[int, Any]] = [(sublime.OP_EQUAL, True), (sublime.OP_EQUAL, False)]
            asked += [(sublime.OP_NOT_EQUAL, True), (sublime.OP_REGEX_MATCH, "true")]
            return [listener.on_query_context(typing, key, *each, False) for each in asked]

        self.assertEqual(answers(), [False, True, True, None])
        yield from self.two()
        self.assertEqual(answers(), [True, False, False, None])
        self.assertEqual(answers("gemini_companion_else"), [None] * 4)


class WaitingForTheNext(QueueCase):
    """One CLI proposes one edit after the other."""

    def setUp(self) -> None:
        super().setUp()
        # A busy machine does not come too late.
        self.replace(next_edit, "MOMENT", 1000 * 1000)

    def accepted(self, has_keyboard: bool = True) -> Generator[Any, Any, sublime.View]:
        """The tab in which the user types, once the only diff was accepted."""
        typing = yield from self.open("typing.py", "x\n")
        self.told_so_far = self.told()
        right = yield from self.propose("a\n", "b\n")
        self.window.focus_view(right if has_keyboard else typing)
        self.run_command("accept_diff_and_next")
        yield from self.until_told(next_edit.WAITING.format("file.txt"))
        self.assertEqual(self.window.active_view(), typing)
        return typing

    def until_told(self, sentence: str) -> Steps:
        yield lambda: any(sentence in each for each in self.told_so_far)

    def next(self) -> Generator[Any, Any, sublime.View]:
        right = yield from self.diff(self.cli, self.write("next", "old\n"), "new\n")
        yield from self.until_turn()
        return right

    def test_one_that_comes_a_moment_later_is_gone_to(self) -> Steps:
        yield from self.accepted()
        right = yield from self.next()
        yield from self.until_shown(right)
        self.assertFalse(any(queue.NONE in each for each in self.told_so_far))

    def test_where_none_comes_that_is_said(self) -> Steps:
        self.replace(next_edit, "MOMENT", 1)
        yield from self.accepted()
        yield from self.until_told(queue.NONE)

    def test_who_types_elsewhere_goes_on_to_type_there(self) -> Steps:
        typing = yield from self.accepted()
        typing.run_command("insert", {"characters": "y"})
        yield from self.until_kept(typing)

    def test_who_was_not_in_the_diff_stays_where_they_are(self) -> Steps:
        typing = yield from self.accepted(has_keyboard=False)
        yield from self.until_kept(typing)

    def test_it_ends_where_the_user_asks_for_something_else(self) -> Steps:
        typing = yield from self.accepted()
        self.panels()
        self.run_command("show_accepted_edits")
        yield from self.until_kept(typing)

    def test_it_ends_where_a_list_has_the_keyboard(self) -> Steps:
        typing = yield from self.accepted()
        self.window.show_quick_panel(["one", "two"], lambda index: None)
        yield from self.until_turn()
        yield from self.until_kept(typing)

    def until_kept(self, typing: sublime.View) -> Steps:
        """The next one opens, and leaves the keyboard where it is."""
        right = yield from self.next()
        self.assertEqual(self.window.active_view(), typing)
        self.assertTrue(open_diffs.is_on_top(self.window, right))


class Listing(QueueCase):
    def test_the_list_has_all_windows_diffs_with_what_they_change_and_who_asks(self) -> Steps:
        yield from self.three()
        other, _there = yield from self.another()
        panels = self.panels()
        self.run_command("show_diffs")
        items = panels[0]["items"]
        self.assertEqual([item.trigger for item in items], ["a", "b", "c", "other"])
        self.assertEqual(items[0].annotation, "+1 -1")
        self.assertEqual(items[0].details[0], os.path.dirname(self.write("a", "old\n")))
        self.assertIn("Gemini CLI", items[0].details[1])
        self.assertIn("since ", items[0].details[2])
        yield from self.close(other)

    def test_a_highlighted_one_is_shown_and_leaving_the_list_brings_back_what_was_there(
        self,
    ) -> Steps:
        typing = yield from self.open("typing.py", "x\n")
        a, _b, c = yield from self.three()
        self.window.focus_view(typing)
        self.assertTrue(open_diffs.is_on_top(self.window, c))
        panels = self.panels()
        self.run_command("show_diffs")
        panels[0]["on_highlight"](0)
        self.assertTrue(open_diffs.is_on_top(self.window, a))
        panels[0]["on_select"](-1)
        yield from self.until_turn()
        self.assertTrue(open_diffs.is_on_top(self.window, c))
        self.assertEqual(self.window.active_view(), typing)

    def test_one_of_another_window_is_shown_as_text_in_a_tab_that_goes_again(self) -> Steps:
        typing = yield from self.open("typing.py", "x\n")
        other, there = yield from self.another()
        # Its tab is looked for in this window.
        yield from self.until_known(there)
        self.window.focus_view(typing)
        panels, name = self.panels(), "other (proposed in another window)"
        self.run_command("show_diffs")
        panels[0]["on_highlight"](0)
        self.assertIn("-old\n+new\n", self.tabs()[name])
        self.assertEqual(self.window.active_view().name(), name)
        panels[0]["on_select"](-1)
        yield from self.until_turn()
        self.assertNotIn(name, self.tabs())
        self.assertEqual(self.window.active_view(), typing)
        yield from self.close(other)

    def until_known(self, right: sublime.View) -> Steps:
        yield lambda: self.review(right).comparison is not None

    def test_the_chosen_one_is_gone_to(self) -> Steps:
        _a, b, _c = yield from self.three()
        panels = self.panels()
        self.run_command("show_diffs")
        panels[0]["on_select"](1)
        yield from self.until_turn()
        yield from self.until_shown(b)

    def test_one_that_was_decided_meanwhile_is_not_gone_to_and_that_is_said(self) -> Steps:
        a, b, _c = yield from self.three()
        panels, told = self.panels(), self.told()
        self.run_command("show_diffs")
        self.run_command("reject_diff", id=self.review(b).id)
        yield lambda: not b.is_valid()
        panels[0]["on_select"](1)
        yield from self.until_turn()
        yield lambda: any("decided already" in each for each in told)
        self.assertTrue(record.is_diff(a))


class NoteCase(ReviewCase):
    def setUp(self) -> None:
        super().setUp()
        sublime.set_clipboard("before")

    def terminal(self, name: str) -> list[dict[str, Any]]:
        """A view like one of Terminus; gives what is pasted into it."""
        view = self.window.new_file()
        view.set_name(name)
        view.settings().set("terminus_view", True)
        view.set_scratch(True)
        pasted: list[dict[str, Any]] = []
        run = sublime.View.run_command

        def record_paste(on: sublime.View, command: str, args: Any = None) -> None:
            if command == "terminus_paste_text":
                pasted.append({"view": on.name(), **args})
            else:
                run(on, command, args)

        self.replace(sublime.View, "run_command", record_paste)
        return pasted

    def select(self, right: sublime.View, first: int, last: int) -> None:
        """The rows from `first` to `last`, from 0."""
        end = right.line(right.text_point(last, 0)).end()
        right.sel().clear()
        right.sel().add(sublime.Region(right.text_point(first, 0), end))

    def comment(self, right: sublime.View, text: str) -> Steps:
        inputs = self.inputs()
        self.window.focus_view(right)
        self.run_command("comment_on_diff")
        inputs[0](text)
        yield from self.until_turn()


class Rejecting(NoteCase):
    def test_the_note_goes_into_the_prompt_of_the_cli_and_is_not_sent_off(self) -> Steps:
        self.terminal("bash")
        pasted = self.terminal("Gemini CLI")
        yield from self.propose("a\n", "b\n")
        inputs = self.inputs()
        self.run_command("reject_diff_with_note")
        inputs[0](" Not like this. ")
        yield from self.until_turn()
        yield from self.until_rejected()
        expected = [{"view": "Gemini CLI", "text": "Not like this.", "bracketed": True}]
        yield lambda: pasted
        self.assertEqual(pasted, expected)
        self.assertEqual(sublime.get_clipboard(), "before")

    def test_without_a_terminal_it_is_on_the_clipboard_and_that_is_said(self) -> Steps:
        yield from self.propose("a\n", "b\n")
        inputs, told = self.inputs(), self.told()
        self.run_command("reject_diff_with_note")
        inputs[0]("Not like this.")
        yield from self.until_turn()
        yield from self.until_rejected()
        yield lambda: any(cli_terminals.COPIED.format(notes.NOTE) in each for each in told)
        self.assertEqual(sublime.get_clipboard(), "Not like this.")

    def test_an_empty_note_rejects_and_touches_no_clipboard(self) -> Steps:
        yield from self.propose("a\n", "b\n")
        inputs = self.inputs()
        self.run_command("reject_diff_with_note")
        inputs[0]("  ")
        yield from self.until_turn()
        yield from self.until_rejected()
        self.assertEqual(sublime.get_clipboard(), "before")

    def test_a_note_on_a_diff_that_was_decided_meanwhile_is_on_the_clipboard_with_its_comments(
        self,
    ) -> Steps:
        right = yield from self.propose("a\n", "b\nc\n")
        self.select(right, 1, 1)
        yield from self.comment(right, "why?")
        inputs, told = self.inputs(), self.told()
        self.run_command("reject_diff_with_note")
        self.run_command("accept_diff")
        yield lambda: self.cli.received("ide/diffAccepted")
        yield lambda: not right.is_valid()
        inputs[0]("No.")
        yield from self.until_turn()
        self.assertEqual(sublime.get_clipboard(), f"No.\n@{self.path}#L2: why?")
        yield lambda: any(notes.DECIDED in each for each in told)
        self.assertEqual(self.cli.received("ide/diffRejected"), [])


class Deciding(NoteCase):
    def test_whichever_way_the_user_decides_their_comments_reach_the_cli(self) -> Steps:
        ends = ("reject_diff", "accept_diff", "release_diff", "accept_diff_and_next")
        for number, name in enumerate(ends):
            sublime.set_clipboard("before")
            right = yield from self.propose("a\n", f"{name}\n", f"file{number}")
            yield from self.comment(right, "why?")
            self.run_command(name, id=self.review(right).id)
            yield lambda: sublime.get_clipboard() == f"@{self.path}#L1: why?"
            decided = "ide/diffAccepted" if "accept" in name else "ide/diffRejected"
            yield lambda: self.cli.received(decided)  # noqa: B023

    def test_comments_on_what_is_decided_in_the_terminal_are_not_lost(self) -> Steps:
        right = yield from self.propose("a\n", "b\n")
        yield from self.comment(right, "why?")
        yield self.cli.call("closeDiff", filePath=self.path).done
        yield lambda: sublime.get_clipboard() == f"@{self.path}#L1: why?"


class OfOlderProposals(NoteCase):
    def replace_by(self, text: str) -> Generator[Any, Any, sublime.View]:
        """The same CLI proposes something else for the file."""
        right = yield from self.diff(self.cli, self.path, text)
        yield from self.until_computed(right)
        return right

    def test_comments_go_over_to_a_newer_one_beside_the_same_lines(self) -> Steps:
        older = yield from self.propose("a\n", "1\n2\n3\n2\n")
        self.select(older, 3, 3)
        yield from self.comment(older, "why twice?")
        newer = yield from self.replace_by("0\n1\n2\n3\n2\n4\n")
        yield lambda: not older.is_valid()
        self.assertEqual(comments.of(newer), [record.Comment(4, 4, "why twice?")])
        self.assertEqual(self.texts(newer, marks.comment_key(0)), ["2"])
        self.assertEqual(sublime.get_clipboard(), "before")
        self.run_command("reject_diff")
        yield lambda: sublime.get_clipboard() == f"@{self.path}#L5: why twice?"
        yield from self.until_rejected()

    def test_of_lines_that_read_alike_it_is_the_one_with_the_same_around_it_up_to_both_ends(
        self,
    ) -> Steps:
        older = yield from self.propose("a\n", "}\n\na\n}\nb\n\n}")
        for row in (0, 3, 5, 6):
            self.select(older, row, row)
            yield from self.comment(older, str(row))
        newer = yield from self.replace_by("}\n\n\na\n}\nx\n\nb\n\n}")
        found = {int(each.text): each.first for each in comments.of(newer)}
        self.assertEqual(found, {0: 0, 3: 4, 5: 8, 6: 9})
        self.run_command("reject_diff")
        yield from self.until_rejected()

    def test_one_whose_line_is_gone_is_in_a_tab_and_that_stands_at_the_head(self) -> Steps:
        older = yield from self.propose("a\n", "1\n  two\n3\n")
        for row, text in ((1, "why?"), (2, "good")):
            self.select(older, row, row)
            yield from self.comment(older, text)
        newer = yield from self.replace_by("1\n3\n")
        self.assertEqual(comments.of(newer), [record.Comment(1, 1, "good")])
        self.assertEqual(self.without_line(), [f'@{self.path}, "two": why?'])
        self.assertIn(opening.NO_LINE, self.review(newer).notes.values())
        self.run_command("reject_diff")
        yield from self.until_rejected()

    def test_those_of_one_proposal_after_the_other_are_all_there_and_the_clipboard_stays(
        self,
    ) -> Steps:
        older = yield from self.propose("a\n", "1\n2\n3\n")
        for row, text in ((0, "first words"), (1, "second words")):
            self.select(older, row, row)
            yield from self.comment(older, text)
        yield from self.replace_by("2\n3\n")
        newest = yield from self.replace_by("3\n")
        self.assertEqual(comments.of(newest), [])
        expected = [f'@{self.path}, "1": first words', f'@{self.path}, "2": second words']
        self.assertEqual(self.without_line(), expected)
        self.assertEqual(self.window.active_view(), newest)
        self.assertEqual(sublime.get_clipboard(), "before")
        self.run_command("reject_diff")
        yield from self.until_rejected()

    def without_line(self) -> list[str]:
        """The texts of the tabs with comments whose lines are gone, and which are not saved."""
        name = f"file.txt ({opening.COMMENTS})"
        found = [view for view in self.window.views() if view.name() == name]
        self.assertFalse(any(view.is_scratch() for view in found))
        return sorted(map(text_of, found))

    def test_what_was_typed_into_the_older_one_stays_as_a_tab_all_the_same(self) -> Steps:
        older = yield from self.propose("a\n", "1\n2\n")
        yield from self.comment(older, "why?")
        older.run_command("append", {"characters": "mine\n"})
        newer = yield from self.replace_by("1\n3\n")
        self.assertEqual(comments.of(newer), [record.Comment(0, 0, "why?")])
        self.assertEqual(self.tabs()[f"file.txt ({opening.OLDER})"], "1\n2\nmine\n")
        self.run_command("reject_diff")
        yield from self.until_rejected()


class AfterARestart(NoteCase):
    def restart(self, right: sublime.View) -> Steps:
        """As after a restart of the editor: texts and settings are those of before, all else is
        gone."""
        plugin.plugin_unloaded()
        record.update(right, record.read(right), view_id=99999)
        marks.erase(right)
        plugin.plugin_loaded()
        yield lambda: plugin._host.environment(self.window)
        yield lambda: record.is_diff(right) and plugin._host.running.reviews.of(right)
        yield from self.until_computed(right)

    def end(self, right: sublime.View) -> Steps:
        self.cli.resume()
        yield self.cli.connected
        yield self.cli.call("closeDiff", filePath=self.path).done

    def test_comments_stand_where_their_lines_stood_and_reach_the_cli(self) -> Steps:
        right = yield from self.propose("a\n", "1\n2\n3\n")
        self.select(right, 1, 1)
        yield from self.comment(right, "here")
        right.sel().clear()
        right.sel().add(0)
        right.run_command("insert", {"characters": "0\n"})
        yield from self.restart(right)
        self.assertEqual(self.texts(right, marks.comment_key(0)), ["2"])
        self.assertEqual(comments.words(right, None), f"@{self.path}#L3: here")
        yield from self.end(right)

    def test_changes_that_were_seen_count_as_seen(self) -> Steps:
        right = yield from self.propose("a\nb\nc\n", "1\nb\n3\n")
        self.run_command("keep_change")
        yield from self.restart(right)
        self.assertEqual(self.review(right).summary(right).seen, 1)
        yield from self.end(right)

    def test_damaged_ones_are_left_out(self) -> Steps:
        right = yield from self.propose("a\n", "b\n")
        damaged: list[Any] = [7, [3, {"first": 0}], [{"first": "0", "last": 0, "text": ""}]]
        for stored in damaged:
            right.settings().set(record.COMMENTS, stored)
            right.settings().set(record.SEEN, stored)
            self.assertEqual(record.comments(right), [])
            self.assertEqual(record.seen(right), frozenset())


class Commenting(NoteCase):
    def test_comments_stand_beside_their_lines_and_go_with_the_note(self) -> Steps:
        self.window.set_project_data({"folders": [{"path": self.folder}]})
        self.addCleanup(self.window.set_project_data, {})
        lines = "".join(f"{row}\n" for row in range(20))
        right = yield from self.propose("a\n", lines)
        self.select(right, 9, 11)
        yield from self.comment(right, "three <lines>")
        self.select(right, 0, 0)
        yield from self.comment(right, "one line")
        key = "gemini_companion_comment_0"
        self.assertEqual(self.texts(right, key), ["9\n10\n11"])
        inputs = self.inputs()
        self.run_command("reject_diff_with_note")
        inputs[0]("No.")
        yield from self.until_turn()
        yield from self.until_rejected()
        expected = "No.\n@file.txt#L10-12: three <lines>\n@file.txt#L1: one line"
        self.assertEqual(sublime.get_clipboard(), expected)

    def test_a_comment_moves_with_its_lines(self) -> Steps:
        right = yield from self.propose("a\n", "1\n2\n3\n")
        self.select(right, 1, 1)
        yield from self.comment(right, "here")
        right.sel().clear()
        right.sel().add(0)
        right.run_command("insert", {"characters": "0\n"})
        inputs = self.inputs()
        self.run_command("reject_diff_with_note")
        inputs[0]("")
        yield from self.until_turn()
        yield from self.until_rejected()
        self.assertEqual(sublime.get_clipboard(), f"@{self.path}#L3: here")

    def test_a_comment_on_a_diff_that_was_decided_meanwhile_is_on_the_clipboard(self) -> Steps:
        right = yield from self.propose("a\n", "b\n")
        inputs, told = self.inputs(), self.told()
        self.window.focus_view(right)
        self.run_command("comment_on_diff")
        self.run_command("reject_diff")
        yield from self.until_rejected()
        inputs[0]("too late")
        yield from self.until_turn()
        self.assertEqual(sublime.get_clipboard(), "too late")
        yield lambda: any(notes.DECIDED in each for each in told)
