"""Questions that are answered from the list of all agents: what is allowed is what the user saw."""

from __future__ import annotations

import html
import os
from typing import Any, Mapping

import sublime
from GeminiCompanion.companion.agent.elicitation import FORM
from GeminiCompanion.companion.agent.turn_events import (
    ALWAYS,
    CANCEL,
    EXECUTING,
    ONCE,
    Diff,
    Elicitation,
    Option,
    ToolConfirmation,
    ToolExecution,
)
from GeminiCompanion.companion.chat.requests import Decide
from GeminiCompanion.companion.ui.chat import short_questions
from GeminiCompanion.companion.ui.review import open_diffs

from .adapter import text_of
from .reviewing import Steps
from .test_agents_list import FIRST, AgentsCase

LABELS = {ONCE: "Yes", ALWAYS: "Always, for `make` in this conversation", CANCEL: "No"}


class QuestionListCase(AgentsCase):
    def setUp(self) -> None:
        super().setUp()
        # What the clock of the panel says, in seconds.
        self.seconds = 100.0
        self.replace(self.chats.short_questions, "_now", lambda: self.seconds)

    def ask_in_chat(
        self, command: str = "make", args: Mapping[str, Any] = {}, call: str = "c"
    ) -> Steps:
        """`self.view` is a chat, out of sight, whose agent asks; `self.other` has the keyboard."""
        self.view = yield from self.chat()
        yield from self.ask_again(command, args, call)
        self.other = yield from self.open("a.py", "x\n")

    def ask_again(
        self, command: str, args: Mapping[str, Any] = {}, call: str = "c", *diffs: Diff
    ) -> Steps:
        options = tuple(Option(outcome, label) for outcome, label in LABELS.items())
        first, *more = diffs or (None,)
        body = ToolConfirmation(
            call, "shell", "Shell", "", command, args, options, first, tuple(filter(None, more))
        )
        yield from self.tell(self.view, body, title="T")

    def open_question(self) -> Steps:
        """The user chooses the chat in the list; `self.panel` are the rows of what comes then."""
        yield from self.list_them()
        before = len(self.shown)
        yield from self.choose("T")
        yield lambda: len(self.shown) > before
        self.panel = [
            [item.trigger, *(html.unescape(row) for row in item.details)]
            for item in self.shown[-1]["items"]
        ]

    def wait_a_moment(self) -> None:
        self.seconds += short_questions.MOMENT

    @property
    def outcomes(self) -> list[str]:
        return [each.outcome for each in self.requests() if isinstance(each, Decide)]

    def answer_decision(self) -> Steps:
        """The agent hears it."""
        yield lambda: self.outcomes
        next(answer for each, answer in self.service.asked if isinstance(each, Decide)).give(None)
        yield from self.until_turn()


class QuestionInPanel(QuestionListCase):
    def test_the_panel_has_the_whole_question_and_its_answers(self) -> Steps:
        yield from self.ask_in_chat(
            "make all\n  && ls", {"command": "make all\n  && ls", "dir": "/x"}
        )
        yield from self.open_question()
        self.assertEqual(
            self.panel[0],
            [
                "Gemini CLI asks: may it use Shell?",
                "▏ command:",
                "▏\xa0\xa0\xa0\xa0 make all",
                "▏\xa0\xa0\xa0\xa0\xa0\xa0 && ls",
                "▏ dir: /x",
                short_questions.IN_CHAT,
            ],
        )
        self.assertEqual([row[0] for row in self.panel[1:]], ["Yes", LABELS[ALWAYS], "No"])

    def test_its_heading_says_in_which_work_tree_that_is(self) -> Steps:
        yield from self.ask_in_chat()
        chat = self.chats.tabs.chat_of(self.view)
        self.replace(chat, "_place_of", lambda workspace: "work tree gemini-1")
        yield from self.open_question()
        headings = [each["placeholder"] for each in self.shown[-2:]]
        self.assertEqual(headings, ["Agents (1 asks)", "Answer Gemini CLI in work tree gemini-1"])

    def test_the_answer_is_sent_for_what_was_shown_and_the_keyboard_stays(self) -> Steps:
        yield from self.ask_in_chat()
        yield from self.open_question()
        self.wait_a_moment()
        yield from self.pick(1)
        yield from self.answer_decision()
        (decision,) = [each for each in self.requests() if isinstance(each, Decide)]
        self.assertEqual((decision.call_id, decision.outcome), ("c", ONCE))
        self.assertEqual(decision.revision, self.waiting_revision())
        self.assertEqual(self.window.active_view(), self.other)

    def waiting_revision(self) -> str:
        chat = self.chats.tabs.chat_of(self.view)
        assert chat is not None
        return chat.waiting_questions[0].revision

    def test_the_list_comes_again_after_an_answer(self) -> Steps:
        yield from self.ask_in_chat()
        yield from self.open_question()
        self.wait_a_moment()
        before = len(self.shown)
        yield from self.pick(3)
        yield from self.answer_decision()
        yield lambda: len(self.shown) > before
        self.assertEqual(self.outcomes, [CANCEL])
        # The agent has not gone on yet.
        self.assertEqual(self.rows, [("T", "works")])

    def test_nothing_is_allowed_that_was_there_for_a_moment_only(self) -> Steps:
        yield from self.ask_in_chat()
        yield from self.open_question()
        before = len(self.shown)
        yield from self.pick(1)
        yield lambda: len(self.shown) > before
        yield from self.until_told(short_questions.TOO_SOON)
        self.assertEqual(self.outcomes, [])
        self.wait_a_moment()
        yield from self.pick(1)
        yield lambda: self.outcomes == [ONCE]

    def test_a_rejection_counts_at_once(self) -> Steps:
        yield from self.ask_in_chat()
        yield from self.open_question()
        yield from self.pick(3)
        yield lambda: self.outcomes == [CANCEL]

    def test_enter_on_the_question_leads_to_the_chat(self) -> Steps:
        yield from self.ask_in_chat()
        yield from self.open_question()
        yield from self.pick(0)
        yield lambda: self.window.active_view() == self.view
        self.assertEqual(self.outcomes, [])

    def test_whoever_leaves_the_question_is_back_in_the_list(self) -> Steps:
        yield from self.ask_in_chat()
        yield from self.open_question()
        before = len(self.shown)
        yield from self.pick(-1)
        yield lambda: len(self.shown) > before
        self.assertEqual(self.rows, [("T", "asks")])

    def test_a_question_that_the_agent_changes_closes_the_panel_of_the_one_before(self) -> Steps:
        yield from self.ask_in_chat()
        yield from self.open_question()
        late = self.shown[-1]
        yield from self.ask_again("rm -rf /", call="c")
        yield from self.until_told("the agent took it back")
        late["on_select"](1)
        yield from self.until_turn()
        self.assertEqual(self.outcomes, [])

    def test_one_that_is_answered_elsewhere_closes_it_as_well(self) -> Steps:
        yield from self.ask_in_chat()
        yield from self.open_question()
        before = len(self.shown)
        yield from self.tell(self.view, ToolExecution("c", "shell", EXECUTING), title="T")
        yield lambda: len(self.shown) > before
        self.assertEqual(self.rows, [("T", "works")])
        self.assertEqual(self.outcomes, [])

    def test_of_several_the_oldest_is_asked_first(self) -> Steps:
        yield from self.ask_in_chat("first\nand more")
        yield from self.ask_again("second", call="d")
        yield from self.list_them()
        self.assertRegex(self.details("T")[0], "2 questions, first Shell: first …$")
        yield from self.choose("T")
        yield lambda: "▏ first" in self.shown[-1]["items"][0].details


class QuestionInChat(QuestionListCase):
    """What does not fit into a panel."""

    def goes_to_chat(self) -> Steps:
        """The user chooses the chat in the list, and gets there; nothing is decided."""
        yield from self.list_them()
        before = len(self.shown)
        yield from self.choose("T")
        yield lambda: self.window.active_view() == self.view
        self.assertEqual((len(self.shown), self.outcomes), (before, []))

    def test_many_lines_are_read_there(self) -> Steps:
        yield from self.ask_in_chat("\n".join(["x"] * (short_questions.ROWS + 1)))
        yield from self.goes_to_chat()

    def test_a_long_line_is_read_there(self) -> Steps:
        yield from self.ask_in_chat("x" * (short_questions.ROWS * short_questions.COLUMNS + 1))
        yield from self.goes_to_chat()
        visible = self.view.visible_region()
        self.assertTrue(visible.contains(text_of(self.view).index("May it use")))

    def test_a_line_that_has_no_room_is_broken_and_nothing_of_it_is_left_out(self) -> Steps:
        command = " ".join(f"word{number}" for number in range(40))
        yield from self.ask_in_chat(command)
        yield from self.open_question()
        rows = self.panel[0][1:-1]
        bare = [row.replace(short_questions.BLANK, " ") for row in rows]
        self.assertTrue(all(len(row) <= short_questions.COLUMNS + 4 for row in bare), rows)
        self.assertIn(short_questions.BLANK, "".join(rows))
        rows = bare
        whole = rows[0][len(short_questions.LINE) :]
        whole += "".join(row[len(short_questions.GOES_ON) :] for row in rows[1:])
        self.assertEqual(whole, command)

    def test_invisible_characters_are_spelled_out(self) -> Steps:
        yield from self.ask_in_chat("echo a\u202eb")
        yield from self.open_question()
        self.assertEqual(self.panel[0][1], "▏ echo a<U+202E>b")

    def test_an_edit_is_read_in_its_review(self) -> Steps:
        path = self.write("b.py", "old\n")
        self.view = yield from self.chat()
        yield from self.ask_again(f"edit {path}", {}, "c", Diff(path, "old\n", "new\n"))
        self.other = yield from self.open("a.py", "x\n")
        yield from self.goes_to_chat()

    def diffs(self) -> dict[str, sublime.View]:
        found = open_diffs.undecided_diffs(self.window)
        return {os.path.basename(record.path): view for view, record in found}

    def diff_in_sight(self) -> str:
        seen = (n for n, view in self.diffs().items() if open_diffs.is_on_top(self.window, view))
        return next(seen, "")

    def test_the_review_of_its_edit_takes_the_place_of_another_one(self) -> Steps:
        views = []
        for name in ("b.py", "c.py"):
            path = self.write(name, "old\n")
            self.view = yield from self.chat()
            views.append(self.view)
            yield from self.ask_again("", {}, name, Diff(path, "old\n", "new\n"))
            yield lambda name=name: name in self.diffs()
        self.assertEqual(self.diff_in_sight(), "b.py")
        self.other = yield from self.open("a.py", "x\n")
        yield from self.list_them()
        # The file is named, where the agent says nothing of it.
        details = [item.details[0] for item in self.items[:2]]
        self.assertRegex(" ".join(details), r"^since \S+ Shell: b\.py since \S+ Shell: c\.py$")
        self.shown[-1]["on_select"](FIRST + 1)
        yield lambda: self.window.active_view() == views[1]
        yield lambda: self.diff_in_sight() == "c.py"
        self.assertEqual(self.window.active_view(), views[1])

    def test_a_form_is_filled_there(self) -> Steps:
        self.view = yield from self.chat()
        yield from self.tell(self.view, Elicitation("e", FORM, "Which?\nSay it."), title="T")
        self.other = yield from self.open("a.py", "x\n")
        yield from self.list_them()
        self.assertRegex(self.details("T")[0], r"^since .*: Which\? Say it\.$")
        yield from self.choose("T")
        yield lambda: self.window.active_view() == self.view
