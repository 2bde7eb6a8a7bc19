"""Questions of agents in chats: seen before they are decided, answered by commands and links, told
in every view; with a service that answers as the test says."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from typing import Any, Sequence

import sublime
from GeminiCompanion.companion.agent.elicitation import FORM
from GeminiCompanion.companion.agent.turn_events import (
    ALWAYS,
    ALWAYS_SERVER,
    ALWAYS_TOOL,
    CANCEL,
    EXECUTING,
    MODIFY,
    ONCE,
    Body,
    Content,
    Diff,
    Elicitation,
    ElicitationAnswered,
    Option,
    ToolConfirmation,
    ToolExecution,
    TurnEvent,
)
from GeminiCompanion.companion.base.answer import Unanswered
from GeminiCompanion.companion.chat.chat_update import WORKING, ChatUpdate
from GeminiCompanion.companion.chat.question import MOST_REVIEWS
from GeminiCompanion.companion.chat.requests import (
    AnswerElicitation,
    Decide,
    Send,
    SendNow,
    Sent,
)
from GeminiCompanion.companion.chat.transcript import Transcript
from GeminiCompanion.companion.ui import status_bar
from GeminiCompanion.companion.ui.chat import answering, question_sight, replies
from GeminiCompanion.companion.ui.chat.chat_view import COMPOSER, CONVERSATION
from GeminiCompanion.companion.ui.review import open_diffs

from .adapter import text_of
from .reviewing import Steps
from .test_chat_tabs import ChatCase

NAMES = {ONCE: "Yes", ALWAYS: "For now", ALWAYS_TOOL: "This tool", ALWAYS_SERVER: "All of it"}


class QuestionCase(ChatCase):
    """`moments` is what the clock of what was seen says, in seconds."""

    def setUp(self) -> None:
        super().setUp()
        self.moments = 100.0
        self.replace(self.chats.questions.sight, "_now", lambda: self.moments)
        self.transcripts: dict[str, Transcript] = {}
        self.numbers = 0
        self.now = datetime.now(timezone.utc)

    def tell(self, view: sublime.View, *bodies: Body, **members: Any) -> Steps:
        """These happen in the chat's conversation, and are drawn."""
        id = str(view.settings().get(CONVERSATION))
        transcript = self.transcripts.setdefault(id, Transcript())
        for body in bodies:
            self.numbers += 1
            transcript.add_event(TurnEvent(self.numbers, self.now, id, "turn", body))
        members = {"state": WORKING, "agent_name": "Gemini CLI", **members}
        waiting, patches = transcript.waiting, transcript.take_patches()
        update = ChatUpdate(id, patches=patches, waiting=waiting, **members)
        self.chats.drawing.draw_soon(update)
        yield from self.until_turn()

    def asks(
        self,
        view: sublime.View,
        call: str = "c",
        command: str = "make",
        outcomes: Sequence[str] = (CANCEL, ALWAYS, ONCE),
    ) -> Steps:
        """The agent wants to run a command; the user has had the time to read what is in sight."""
        options = tuple(Option(outcome, NAMES.get(outcome, "No")) for outcome in outcomes)
        body = ToolConfirmation(call, "shell", "Shell", "", command, {}, options)
        yield from self.tell(view, body)
        self.moments += 1

    def requests(self) -> list[Any]:
        return [request for request, _answer in self.service.asked]

    def decided(self) -> list[tuple[str, str]]:
        return [
            (decision.call_id, decision.outcome)
            for decision in self.requests()
            if isinstance(decision, Decide)
        ]

    def status(self, view: sublime.View) -> str:
        return str(view.get_status(status_bar.KEY))

    def press(self, command: str) -> Steps:
        self.run_command(command)
        yield from self.until_turn()

    def follow(self, view: sublime.View, words: str) -> Steps:
        """Enter on the last words like these."""
        view.sel().clear()
        view.sel().add(text_of(view).rindex(words) + 1)
        yield from self.until_turn()
        self.type(view, "\n")
        yield from self.until_turn()


class InSight(QuestionCase):
    def test_a_question_stands_above_the_composer_and_below_what_streams(self) -> Steps:
        view = yield from self.chat()
        self.type(view, "unsent")
        yield from self.asks(view, command="make \u202eall\nand more")
        yield from self.tell(view, Content("I wait.\n"))
        shown = text_of(view)
        self.assertLess(shown.index("I wait."), shown.index("May it use Shell?"))
        self.assertIn("    make <U+202E>all\n    and more\n", shown)
        buttons = "▏   [Yes]  [For now]  [No]\n"
        self.assertTrue(shown.endswith(buttons + COMPOSER + "unsent"), shown[-200:])

    def test_every_view_of_the_window_says_it_until_it_is_answered(self) -> Steps:
        view = yield from self.chat()
        yield from self.asks(view)
        other = yield from self.open("a.py", "x\n")
        for each in (view, other):
            told = self.status(each)
            self.assertIn("Gemini: asks about Shell in a chat (Show Question)", told)
        yield from self.asks(view, "d")
        self.assertIn("Gemini: 2 questions in a chat (Show Question)", self.status(other))
        yield from self.tell(view, ToolExecution("c", "shell", EXECUTING))
        self.assertIn("asks about Shell", self.status(other))
        yield from self.tell(view, ToolExecution("d", "shell", EXECUTING))
        self.assertNotIn("Question", self.status(other))

    def test_above_the_composer_stand_the_keys_and_the_mode(self) -> Steps:
        view = yield from self.chat()
        yield from self.asks(view)
        yield from self.tell(view, mode="autoEdit")
        state = self.state_of(view)
        self.assertIn("Gemini CLI asks you: choose an answer above, or press F8 y", state)
        self.assertIn("<p>autoEdit · Gemini CLI asks", state)

    def test_a_command_leads_there_from_another_file(self) -> Steps:
        view = yield from self.chat()
        yield from self.asks(view)
        yield from self.open("a.py", "x\n")
        self.run_command("show_question")
        self.assertEqual(self.window.active_view(), view)
        self.assertEqual(self.decided(), [])

    def test_the_desktop_is_told_of_each_question_once(self) -> Steps:
        told: list[str] = []
        self.replace(self.chats.questions, "_notify", lambda window, words: told.append(words))
        view = yield from self.chat()
        yield from self.asks(view, command="make\nall")
        yield from self.tell(view, Content("more"))
        yield from self.asks(view, "d", command="ls")
        self.assertEqual(
            told, ["Gemini CLI asks you: Shell: make all", "Gemini CLI asks you: Shell: ls"]
        )


class All(QuestionCase):
    """Many questions of one chat, answered at once."""

    def ask_all(self, view: sublime.View, count: int, lines: int = 1) -> Steps:
        """All at the same moment."""
        options = (Option(ONCE, "Yes"), Option(CANCEL, "No"))
        commands = ["\n".join([f"run {number}"] * lines) for number in range(count)]
        bodies = [
            ToolConfirmation(str(number), "shell", "Shell", "", command, {}, options)
            for number, command in enumerate(commands)
        ]
        yield from self.tell(view, *bodies)

    def look(self) -> None:
        """Some time passes in which the user looks at what is in sight."""
        for _ in range(2):
            self.chats.questions.look_at_questions()
            self.moments += question_sight.MOMENT

    def test_two_and_more_have_links_for_all_and_one_has_none(self) -> Steps:
        view = yield from self.chat()
        yield from self.ask_all(view, 1)
        self.assertNotIn("[Deny all]", text_of(view))
        yield from self.ask_all(view, 3)
        row = "▏   3 questions wait:  [Allow all shown]  [Deny all]\n"
        self.assertTrue(text_of(view).endswith("\n\n" + row + COMPOSER), text_of(view)[-200:])
        for call in ("0", "1"):
            yield from self.tell(view, ToolExecution(call, "shell", EXECUTING))
        self.assertNotIn("[Deny all]", text_of(view))

    def test_what_was_in_sight_is_allowed_once_and_nothing_else(self) -> Steps:
        view = yield from self.chat()
        yield from self.ask_all(view, 30, lines=4)
        self.look()
        yield from self.press("allow_all_shown")
        allowed = self.decided()
        seen = len(allowed)
        self.assertTrue(0 < seen < 30, seen)
        self.assertEqual(allowed, [(str(number), ONCE) for number in range(30 - seen, 30)])
        yield from self.until_told(
            f"Allowed once: {seen} questions. {30 - seen} questions still wait"
        )

    def test_what_was_scrolled_through_is_allowed_though_it_is_not_in_sight_now(self) -> Steps:
        view = yield from self.chat()
        yield from self.ask_all(view, 30, lines=4)
        for number in range(30):
            view.show(text_of(view).index(f"run {number}\n"), False)
            self.look()
        yield from self.press("allow_all_shown")
        self.assertEqual(self.decided(), [(str(number), ONCE) for number in range(30)])

    def test_what_was_in_sight_for_a_moment_alone_is_not_allowed(self) -> Steps:
        view = yield from self.chat()
        yield from self.ask_all(view, 30, lines=4)
        bottom = view.viewport_position()
        for number in range(30):
            view.show(text_of(view).index(f"run {number}\n"), False)
            self.chats.questions.look_at_questions()
        view.set_viewport_position(bottom, False)
        self.look()
        yield from self.press("allow_all_shown")
        allowed = [call for call, _outcome in self.decided()]
        self.assertIn("29", allowed)
        self.assertNotIn("3", allowed)

    def test_a_question_that_came_just_now_is_not_allowed_with_the_others(self) -> Steps:
        view = yield from self.chat()
        yield from self.ask_all(view, 2)
        self.look()
        yield from self.asks(view, "new")
        self.moments -= 1
        yield from self.follow(view, "[Allow all shown]")
        self.assertEqual(self.decided(), [("0", ONCE), ("1", ONCE)])

    def test_what_the_agent_has_changed_out_of_sight_is_not_allowed_with_the_others(self) -> Steps:
        view = yield from self.chat()
        yield from self.ask_all(view, 2, lines=200)
        for row in range(0, view.rowcol(view.size())[0], 10):
            view.show(view.text_point(row, 0), False)
            self.look()
        yield from self.asks(view, "0", command="rm -r /")
        self.look()
        yield from self.press("allow_all_shown")
        self.assertEqual([call for call, _outcome in self.decided()], ["1"])

    def test_nothing_is_allowed_where_questions_have_moved_just_now(self) -> Steps:
        view = yield from self.chat()
        yield from self.ask_all(view, 3)
        self.look()
        yield from self.tell(view, ToolExecution("1", "shell", EXECUTING))
        yield from self.press("allow_all_shown")
        self.assertEqual(self.decided(), [])
        yield from self.until_told(answering.MOVED)
        self.moments += question_sight.MOMENT
        yield from self.press("allow_all_shown")
        self.assertEqual([call for call, _outcome in self.decided()], ["0", "2"])

    def test_a_long_command_is_allowed_once_it_was_read_to_its_end(self) -> Steps:
        view = yield from self.chat()
        yield from self.ask_all(view, 2, lines=200)
        self.look()
        yield from self.press("allow_all_shown")
        self.assertEqual(self.decided(), [])
        for row in range(0, view.rowcol(view.size())[0], 10):
            view.show(view.text_point(row, 0), False)
            self.look()
        yield from self.press("allow_all_shown")
        self.assertEqual(self.decided(), [("0", ONCE), ("1", ONCE)])

    def test_all_are_denied_seen_or_not_but_other_questions_wait_on(self) -> Steps:
        view = yield from self.chat()
        yield from self.ask_all(view, 30, lines=4)
        yield from self.tell(view, Elicitation("e", FORM, "Which one?"))
        yield from self.follow(view, "[Deny all]")
        self.assertEqual(self.decided(), [(str(number), CANCEL) for number in range(30)])
        self.assertFalse(
            [
                elicitation
                for elicitation in self.requests()
                if isinstance(elicitation, AnswerElicitation)
            ]
        )
        yield from self.until_told("Denied: 30 questions.")

    def test_an_edit_is_allowed_with_the_others_once_its_review_was_in_front(self) -> Steps:
        view = yield from self.chat()
        for name in ("a.txt", "b.txt"):
            diff = Diff(self.write(name, "old\n"), "old\n", "new\n")
            options = (Option(ONCE, "Yes"), Option(CANCEL, "No"))
            body = ToolConfirmation(name, "edit", "Edit", "", "", {}, options, diff)
            yield from self.tell(view, body)
        yield lambda: len(list(open_diffs.undecided_diffs(self.window))) == 2
        in_front = [
            record.path
            for right, record in open_diffs.undecided_diffs(self.window)
            if open_diffs.is_on_top(self.window, right)
        ]
        self.window.focus_view(view)
        self.look()
        yield from self.press("allow_all_shown")
        allowed = [call for call, _outcome in self.decided()]
        self.assertEqual(allowed, [os.path.basename(path) for path in in_front])
        yield from self.until_told("1 question still waits")

    def test_without_a_question_both_commands_say_so(self) -> Steps:
        yield from self.chat()
        for command in ("allow_all_shown", "deny_all"):
            self.sentences.clear()
            yield from self.press(command)
            yield from self.until_told(answering.NONE_WAITS)


class Commands(QuestionCase):
    def test_each_command_chooses_its_outcome_whatever_the_agents_order(self) -> Steps:
        for command, outcome in (("allow", ONCE), ("allow_always", ALWAYS), ("deny", CANCEL)):
            with self.subTest(command):
                view = yield from self.chat()
                yield from self.asks(view)
                yield from self.press(command)
                self.assertEqual(self.decided()[-1:], [("c", outcome)])

    def test_a_question_that_was_not_in_sight_is_shown_first_and_decided_the_second_time(
        self,
    ) -> Steps:
        view = yield from self.chat()
        yield from self.open("a.py", "x\n")
        yield from self.asks(view)
        yield from self.press("allow")
        self.assertEqual(self.decided(), [])
        yield from self.until_told("Shell was not in sight until now")
        self.assertEqual(self.window.active_view(), view)
        self.moments += 1
        yield from self.press("allow")
        self.assertEqual(self.decided(), [("c", ONCE)])

    def test_a_question_that_has_only_just_come_is_not_decided_by_a_key_meant_for_another(
        self,
    ) -> Steps:
        view = yield from self.chat()
        yield from self.asks(view)
        self.moments -= 1
        yield from self.press("allow")
        self.assertEqual(self.decided(), [])
        self.moments += question_sight.MOMENT
        yield from self.press("allow")
        self.assertEqual(self.decided(), [("c", ONCE)])

    def test_a_key_meant_for_a_question_that_is_gone_does_not_decide_on_the_next_one(self) -> Steps:
        view = yield from self.chat()
        for call in ("a", "b"):
            yield from self.asks(view, call, command=f"run {call}")
        yield from self.tell(view, ToolExecution("a", "shell", EXECUTING))
        yield from self.press("allow")
        self.assertEqual(self.decided(), [])
        self.moments += question_sight.MOMENT
        yield from self.press("allow")
        self.assertEqual(self.decided(), [("b", ONCE)])

    def test_a_question_that_the_agent_changes_has_to_be_seen_again(self) -> Steps:
        view = yield from self.chat()
        yield from self.asks(view, command="make")
        yield from self.asks(view, command="rm -r /")
        self.assertIn("The agent has changed what it asks.", text_of(view))
        self.moments -= 1
        for press in (lambda: self.press("allow"), lambda: self.follow(view, "[Yes]")):
            yield from press()
            self.assertEqual(self.decided(), [])
        self.moments += question_sight.MOMENT
        yield from self.press("allow")
        (request,) = [decision for decision in self.requests() if isinstance(decision, Decide)]
        waiting = self.chats.questions.all_questions[0].question
        self.assertEqual((request.revision, waiting.text), (waiting.revision, "rm -r /"))

    def test_an_answer_on_its_way_to_a_question_that_was_changed_answers_no_other(self) -> Steps:
        view = yield from self.chat()
        yield from self.asks(view, command="make")
        yield from self.press("allow")
        yield from self.asks(view, command="rm -r /")
        (request, answer) = self.service.asked[-1]
        answer.fail(Unanswered("The agent has changed what it asks since then."))
        yield from self.until_turn()
        yield from self.until_told("Your answer did not reach the agent: The agent")
        yield from self.press("allow")
        revisions = [
            decision.revision for decision in self.requests() if isinstance(decision, Decide)
        ]
        self.assertEqual(len(set(revisions)), 2)

    def test_the_arguments_of_a_tool_stand_open_and_are_read_to_their_end(self) -> Steps:
        view = yield from self.chat()
        rows = [f"row {number}" for number in range(300)]
        options = (Option(ONCE, "Yes"), Option(CANCEL, "No"))
        args = {"sql": "\n".join(["SELECT \u202e1", *rows, "DROP TABLE users"])}
        body = ToolConfirmation(
            "c", "mcp__db__query", "Query", "", "mcp__db__query ", args, options
        )
        yield from self.tell(view, body)
        self.moments += 1
        shown = text_of(view)
        self.assertIn("\n    sql:\n        SELECT <U+202E>1\n        row 0\n", shown)
        self.assertIn("\n        DROP TABLE users\n", shown)
        start, end = self.chats.questions.all_questions[0].place or (0, 0)
        place = sublime.Region(start, end)
        self.assertFalse([region for region in view.folded_regions() if region.intersects(place)])
        view.show(start)
        yield from self.press("allow")
        self.assertEqual(self.decided(), [])
        pages = 0
        while not self.decided():
            pages += 1
            self.assertLess(pages, 100)
            visible = view.substr(view.visible_region())
            self.moments += 1
            yield from self.press("allow")
        self.assertGreater(pages, 3)
        self.assertIn("    DROP TABLE users\n", visible)

    def test_a_command_that_is_longer_than_the_window_is_read_page_by_page_first(self) -> Steps:
        view = yield from self.chat()
        rows = [f"echo {number}" for number in range(200)]
        yield from self.asks(view, command="\n".join(rows))
        view.show(0)
        pages = 0
        while not self.decided():
            pages += 1
            self.assertLess(pages, 100)
            visible = view.substr(view.visible_region())
            self.moments += 1
            yield from self.press("allow")
        self.assertGreater(pages, 3)
        self.assertIn("[Yes]", visible)

    def scroll_on(self, view: sublime.View) -> bool:
        """A page, as a user does; False at the end."""
        left, top = view.viewport_position()
        view.set_viewport_position((left, top + view.viewport_extent()[1]), False)
        return view.viewport_position()[1] > top

    def test_a_long_command_that_the_user_has_scrolled_through_is_decided_at_its_end(self) -> Steps:
        view = yield from self.chat()
        yield from self.asks(view, command="\n".join(["echo"] * 200))
        bottom = view.viewport_position()
        yield from self.press("allow")
        self.moments += 1
        top = view.viewport_position()
        while self.scroll_on(view):
            self.chats.questions.look_at_questions()
        self.assertGreater(bottom[1] - top[1], 2 * view.viewport_extent()[1])
        yield from self.press("allow")
        self.assertEqual(self.decided(), [("c", ONCE)])

    def test_what_a_jump_to_the_end_has_passed_over_is_named_and_shown_before_it_is_allowed(
        self,
    ) -> Steps:
        view = yield from self.chat()
        rows = [f"echo {number}" for number in range(200)]
        yield from self.asks(view, command="\n".join(rows))
        bottom = view.viewport_position()
        yield from self.press("allow")
        self.moments += 1
        first = view.substr(view.visible_region())
        view.set_viewport_position(bottom, False)
        last = view.substr(view.visible_region())
        self.assertIn("[Yes]", last)
        in_sight = [line.strip() for line in (first + "\n" + last).split("\n")]
        passed = [row for row in rows if row not in in_sight]
        self.assertGreater(len(passed), 50)
        yield from self.press("allow")
        self.assertEqual(self.decided(), [])
        place = view.substr(
            sublime.Region(*(self.chats.questions.all_questions[0].place or (0, 0)))
        )
        lines = [line.strip() for line in place.split("\n")]
        ends = lines.index(passed[0]) + 1, lines.index(passed[-1]) + 1, len(lines)
        yield from self.until_told("lines {} to {} of {} were not in sight".format(*ends))
        shown: list[str] = []
        while not self.decided():
            self.moments += 1
            shown += view.substr(view.visible_region()).split("\n")
            yield from self.press("allow")
        read = [line.strip() for line in shown]
        self.assertLess(read.index(passed[0]), 3)
        self.assertEqual([row for row in passed if row not in read], [])

    def test_what_is_scrolled_through_is_looked_at_often(self) -> Steps:
        view = yield from self.chat()
        yield from self.asks(view, command="\n".join(["echo"] * 200))
        yield from self.press("allow")
        self.moments += 1
        question, questions = self.chats.questions.all_questions[0], self.chats.questions
        before = questions.unseen_rows(question, self.window)
        while before is not None and self.scroll_on(view):
            # Nobody but the chat itself looks.
            yield lambda before=before: questions.unseen_rows(question, self.window) != before
            before = questions.unseen_rows(question, self.window)
        yield from self.press("allow")
        self.assertEqual(self.decided(), [("c", ONCE)])

    def test_a_command_that_is_too_long_for_a_chat_is_opened_in_a_tab_before_it_is_allowed(
        self,
    ) -> Steps:
        view = yield from self.chat()
        rows = [f"echo {number:06} {'x' * 80}" for number in range(4000)]
        yield from self.asks(view, command="\n".join(rows))
        self.assertNotIn(rows[3500], text_of(view))
        self.run_command("allow")
        self.moments += 1
        while self.scroll_on(view):
            self.chats.questions.look_at_questions()
        self.run_command("allow")
        yield lambda: self.window.active_view() != view
        self.assertEqual(self.decided(), [])
        whole = self.window.active_view()
        self.assertIn(rows[3500], text_of(whole))
        whole.close()
        self.window.focus_view(view)
        yield from self.press("allow")
        self.assertEqual(self.decided(), [("c", ONCE)])

    def test_what_is_scrolled_away_is_not_decided(self) -> Steps:
        view = yield from self.chat()
        yield from self.tell(view, Content("line\n" * 500))
        yield from self.asks(view)
        self.assertTrue(
            self.chats.questions.is_seen(self.chats.questions.all_questions[0], self.window)
        )
        view.set_viewport_position((0.0, 0.0), False)
        yield from self.press("deny")
        self.assertEqual(self.decided(), [])
        yield from self.press("deny")
        self.assertEqual(self.decided(), [("c", CANCEL)])

    def test_the_chat_with_the_keyboard_is_meant_before_an_older_question(self) -> Steps:
        first = yield from self.chat()
        yield from self.asks(first, "old")
        self.now += timedelta(seconds=5)
        second = yield from self.chat()
        yield from self.asks(second, "new")
        yield from self.press("allow")
        self.assertEqual(self.decided(), [("new", ONCE)])
        yield from self.tell(second, ToolExecution("new", "shell", EXECUTING))
        yield from self.press("allow")
        self.assertEqual(self.window.active_view(), first)
        self.assertEqual(len(self.decided()), 1)

    def test_of_several_questions_that_at_the_caret_is_meant_else_the_oldest(self) -> Steps:
        view = yield from self.chat()
        for call in ("a", "b"):
            yield from self.asks(view, call, command=f"run {call}")
        view.sel().clear()
        view.sel().add(text_of(view).index("run b"))
        yield from self.press("allow")
        self.assertEqual(self.decided(), [("b", ONCE)])
        yield from self.tell(view, ToolExecution("b", "shell", EXECUTING))
        self.moments += 1
        view.sel().clear()
        view.sel().add(view.size())
        yield from self.press("allow")
        self.assertEqual(self.decided(), [("b", ONCE), ("a", ONCE)])

    def test_an_answer_that_the_agent_does_not_offer_is_told(self) -> Steps:
        view = yield from self.chat()
        yield from self.asks(view, outcomes=(ONCE, CANCEL))
        yield from self.press("allow_always")
        self.assertEqual(self.decided(), [])
        yield from self.until_told(
            "This question does not offer Allow Always. You can answer: Yes, No."
        )

    def test_several_ways_to_allow_always_are_asked_for(self) -> Steps:
        panels = self.panels()
        view = yield from self.chat()
        yield from self.asks(view, outcomes=(ALWAYS_SERVER, ONCE, ALWAYS_TOOL, CANCEL))
        self.run_command("allow_always")
        yield lambda: panels
        self.assertEqual(panels[0]["items"], ["This tool", "All of it"])
        panels[0]["on_select"](1)
        yield from self.until_turn()
        self.assertEqual(self.decided(), [("c", ALWAYS_SERVER)])

    def test_without_a_question_each_command_says_so(self) -> Steps:
        yield from self.chat()
        for command in ("allow", "allow_always", "deny", "deny_with_note", "show_question"):
            self.sentences.clear()
            yield from self.press(command)
            yield from self.until_told(answering.NONE_WAITS)

    def test_words_go_to_the_agent_with_a_denial_before_all_other_messages(self) -> Steps:
        inputs = self.inputs()
        view = yield from self.chat()
        conversation = str(view.settings().get(CONVERSATION))
        yield from self.asks(view)
        self.run_command("deny_with_note")
        yield lambda: inputs
        self.assertEqual(self.requests(), [])
        inputs[0]("use make instead")
        yield lambda: self.decided()
        self.service.asked[0][1].give(None)
        yield lambda: len(self.service.asked) == 2
        self.assertEqual(self.requests()[1], Send(conversation, "use make instead"))
        self.service.asked[1][1].give(Sent(queued="q"))
        yield lambda: len(self.service.asked) == 3
        self.assertEqual(self.requests()[2], SendNow(conversation, "q"))

    def test_words_that_do_not_reach_the_agent_are_on_the_clipboard(self) -> Steps:
        inputs = self.inputs()
        view = yield from self.chat()
        for call, failing in (("a", Decide), ("b", Send)):
            sublime.set_clipboard("before")
            self.service.asked.clear()
            yield from self.asks(view, call)
            self.run_command("deny_with_note")
            yield lambda: inputs
            inputs.pop()("use make instead")
            yield lambda: self.decided()
            if failing is Send:
                self.service.asked[0][1].give(None)
                yield lambda: len(self.service.asked) == 2
            self.service.asked[-1][1].fail(Unanswered("The agent has ended."))
            yield lambda: sublime.get_clipboard() == "use make instead"
            yield from self.until_told(replies.NOT_SENT)
            self.assertIs(type(self.requests()[-1]), failing)
            yield from self.tell(view, ToolExecution(call, "shell", EXECUTING))


class Edits(QuestionCase):
    def asks_to_edit(self, view: sublime.View, *names: str) -> Steps:
        options = [
            Option(outcome, NAMES.get(outcome, outcome)) for outcome in (ONCE, MODIFY, CANCEL)
        ]
        diffs = [Diff(self.write(name, "old\n"), "old\n", "new\n") for name in names]
        body = ToolConfirmation(
            "c", "edit", "Edit", "", "", {}, tuple(options), diffs[0], tuple(diffs[1:])
        )
        yield from self.tell(view, body)
        yield lambda: len(list(open_diffs.undecided_diffs(self.window))) == len(names)
        self.moments += 1

    def test_an_edit_is_allowed_once_each_of_its_reviews_was_in_front(self) -> Steps:
        view = yield from self.chat()
        yield from self.asks_to_edit(view, "a.txt", "b.txt", "c.txt")
        in_front = []
        for _ in range(2):
            self.window.focus_view(view)
            yield from self.press("allow")
            self.assertEqual(self.decided(), [])
            in_front.append(self.window.active_view().name())
        self.assertEqual(len(set(in_front)), 2)
        self.window.focus_view(view)
        self.run_command("allow")
        yield lambda: self.decided() == [("c", ONCE)]

    def test_an_edit_is_denied_without_looking_at_each_review(self) -> Steps:
        view = yield from self.chat()
        yield from self.asks_to_edit(view, "a.txt", "b.txt", "c.txt")
        self.run_command("deny")
        yield lambda: self.decided() == [("c", CANCEL)]

    def test_edits_of_too_many_files_are_shown_in_a_tab_before_they_are_allowed(self) -> Steps:
        view = yield from self.chat()
        more = [Diff(f"/{number}", "two\n", "2\u202e\n") for number in range(MOST_REVIEWS)]
        first, options = Diff("/a", "one\n", "1\n"), (Option(ONCE, "Yes"), Option(CANCEL, "No"))
        body = ToolConfirmation("c", "e", "Edit", "", "", {}, options, first, tuple(more))
        yield from self.tell(view, body)
        for _ in range(3):
            # At first its names have to be scrolled through.
            self.moments += 1
            yield from self.press("allow")
        yield from self.until_told(answering.TOO_LONG)
        yield lambda: self.window.active_view() != view
        whole = text_of(self.window.active_view())
        self.assertIn("-one\n+1\n", whole)
        self.assertIn("-two\n+2<U+202E>\n", whole)
        self.assertEqual(self.decided(), [])
        self.window.focus_view(view)
        self.run_command("allow")
        yield lambda: self.decided() == [("c", ONCE)]

    def test_the_link_to_edit_leads_to_the_review(self) -> Steps:
        view = yield from self.chat()
        yield from self.asks_to_edit(view, "a.txt")
        self.window.focus_view(view)
        yield from self.follow(view, f"[{MODIFY}]")
        yield lambda: "a.txt" in self.window.active_view().name()
        self.assertEqual(self.decided(), [])


class Ends(QuestionCase):
    def test_a_question_that_is_answered_elsewhere_goes_with_its_panel(self) -> Steps:
        view = yield from self.chat()
        yield from self.asks(view)
        inputs = self.inputs()
        self.run_command("deny_with_note")
        yield lambda: inputs
        yield from self.tell(view, ToolExecution("c", "shell", EXECUTING))
        yield from self.until_turn()
        self.assertNotIn("May it use", text_of(view))
        yield from self.until_told(replies.OVER)
        inputs[0]("too late")
        yield from self.until_turn()
        self.assertEqual(self.requests(), [])

    def test_a_decision_that_fails_is_told_and_can_be_made_again(self) -> Steps:
        view = yield from self.chat()
        yield from self.asks(view)
        yield from self.press("allow")
        yield from self.press("allow")
        self.assertEqual(self.decided(), [("c", ONCE)])
        self.service.asked[0][1].fail(Unanswered("The agent has ended."))
        yield from self.until_told("did not reach the agent: The agent has ended.")
        yield from self.press("deny")
        self.assertEqual(self.decided(), [("c", ONCE), ("c", CANCEL)])

    def test_a_closed_tab_denies_what_waits_in_it(self) -> Steps:
        view = yield from self.chat()
        yield from self.asks(view)
        yield from self.tell(view, Elicitation("e", FORM, "Who?"))
        other = yield from self.open("a.py", "x\n")
        view.close()
        yield from self.until_turn()
        self.assertEqual(self.decided(), [("c", CANCEL)])
        self.assertIn(AnswerElicitation("e", "decline"), self.requests())
        self.assertNotIn("Question", self.status(other))

    def test_a_question_that_was_answered_leaves_no_panel_for_the_next_one(self) -> Steps:
        view = yield from self.chat()
        yield from self.tell(view, Elicitation("e", FORM, "Who?"))
        yield from self.tell(view, ElicitationAnswered("e", "cancel"))
        yield from self.press("allow")
        self.assertEqual(self.requests(), [])


class Links(QuestionCase):
    def test_a_link_decides_on_its_own_question(self) -> Steps:
        view = yield from self.chat()
        for call in ("a", "b"):
            yield from self.asks(view, call, command=f"run {call}")
        yield from self.follow(view, "[For now]")
        self.assertEqual(self.decided(), [("b", ALWAYS)])

    def test_a_click_decides_on_nothing_that_came_into_the_place_of_its_question(self) -> Steps:
        view = yield from self.chat()
        for call in ("a", "b"):
            yield from self.asks(view, call, command=f"run {call}")
        view.sel().clear()
        view.sel().add(text_of(view).index("[Yes]") + 1)
        view.run_command("drag_select", {"event": {"button": 1}})
        yield from self.tell(view, ToolExecution("a", "shell", EXECUTING))
        self.moments += 1
        # The button is released above the next one's.
        view.sel().clear()
        view.sel().add(text_of(view).index("[Yes]") + 1)
        yield from self.until_clicked()
        self.assertEqual(self.decided(), [])
        view.run_command("drag_select", {"event": {"button": 1}})
        yield from self.until_clicked()
        self.assertEqual(self.decided(), [("b", ONCE)])

    def test_a_link_at_the_end_of_a_long_command_allows_only_what_was_seen_but_always_denies(
        self,
    ) -> Steps:
        view = yield from self.chat()
        yield from self.asks(view, command="\n".join(["echo"] * 200))
        yield from self.follow(view, "[Yes]")
        self.assertEqual(self.decided(), [])
        yield from self.until_told("Shell was not in sight until now")
        yield from self.follow(view, "[No]")
        self.assertEqual(self.decided(), [("c", CANCEL)])

    def test_a_link_of_an_answered_question_does_nothing_twice(self) -> Steps:
        view = yield from self.chat()
        yield from self.asks(view)
        yield from self.follow(view, "[Yes]")
        yield from self.follow(view, "[No]")
        self.assertEqual(self.decided(), [("c", ONCE)])
        yield from self.until_told(answering.ON_ITS_WAY)
