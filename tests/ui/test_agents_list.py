"""The list of all agents: who stands where, what is said of each, and what *Enter* does; with a
service that answers as the test says."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any, Mapping, Sequence

import sublime
from GeminiCompanion.companion.agent.conversations.conversation import SessionInfo
from GeminiCompanion.companion.agent.session_state import Cost
from GeminiCompanion.companion.agent.turn_events import EXECUTING, ToolExecution, Usage
from GeminiCompanion.companion.base.answer import Answer, Unanswered
from GeminiCompanion.companion.chat.chat_update import FAILED, READY, WORKING
from GeminiCompanion.companion.chat.requests import FoundConversations, ListConversations
from GeminiCompanion.companion.chat.work_requests import LookAtWork, WorkFacts
from GeminiCompanion.companion.ui.agents import agent_list
from GeminiCompanion.companion.ui.agents.chat_progress import UNSEEN
from GeminiCompanion.companion.ui.chat import chat_places, work_look
from GeminiCompanion.companion.ui.chat.drafts import folder_of
from GeminiCompanion.companion.ui.chat.taking_over import NO_OWN_LOGIN
from GeminiCompanion.companion.ui.user_messages import PREFIX

from .reviewing import Steps
from .test_chat_list import info
from .test_chat_questions import QuestionCase

# The rows before those of the agents.
FIRST = 2
NOW = datetime(2026, 3, 4, 5, 6, tzinfo=timezone.utc)


class AgentsCase(QuestionCase):
    """The CLIs of other tests are not listed. Requests for pages of conversations and for what
    agents do are answered at once: with `pages` and `work`, unless these are None."""

    def setUp(self) -> None:
        super().setUp()
        agents = self.running().agents.list
        providers = [each for each in agents._providers if each.name != "CLIs in terminals"]
        self.replace(agents, "_providers", providers)
        self.replace(type(self.chats.engines), "is_there", True)
        # A busy machine may answer later.
        self.replace(agent_list, "SOON", 100_000)
        self.shown = self.panels()
        self.pages: Sequence[SessionInfo] | None = ()
        self.work: Sequence[WorkFacts] | None = ()
        ask = self.service.ask

        def ask_and_answer(request: Any) -> Answer[Any]:
            answer = ask(request)
            if isinstance(request, ListConversations) and self.pages is not None:
                answer.give(FoundConversations(tuple(self.pages), {}, ""))
            elif isinstance(request, LookAtWork) and self.work is not None:
                answer.give(tuple(self.work))
            return answer

        self.replace(self.service, "ask", ask_and_answer)

    def list_them(self) -> Steps:
        """The list opens; `self.items` are the rows of the agents, and of what is not known."""
        before = len(self.shown)
        self.run_command("agents")
        yield lambda: len(self.shown) > before

    @property
    def items(self) -> list[Any]:
        return list(self.shown[-1]["items"][FIRST:])

    @property
    def rows(self) -> list[tuple[str, str]]:
        return [(item.trigger, item.annotation) for item in self.items]

    def details(self, title: str) -> list[str]:
        return next(list(item.details) for item in self.items if item.trigger == title)

    def choose(self, title: str) -> Steps:
        """The user chooses the row with this title in the list."""
        at = [item.trigger for item in self.items].index(title)
        self.shown[-1]["on_select"](at + FIRST)
        yield from self.until_turn()

    def pick(self, number: int) -> Steps:
        """The user chooses in the panel that was opened last."""
        self.shown[-1]["on_select"](number)
        yield from self.until_turn()

    def facts(self, id: str, title: str = "", **members: Any) -> WorkFacts:
        of_info = {name: members.pop(name) for name in list(members) if name in OF_INFO}
        return WorkFacts(info(id, title, is_busy=True, **of_info), "Gemini CLI", **members)


OF_INFO = ("in_chat", "workspace", "usage", "turns")


class Order(AgentsCase):
    def test_who_asks_is_before_what_is_done_and_unseen_before_who_works_before_who_rests(
        self,
    ) -> Steps:
        views = []
        for _ in range(4):
            views.append((yield from self.chat()))
        rests, works, done, asks = views
        yield from self.update(rests, title="rests", agent_name="A")
        yield from self.update(works, state=WORKING, title="works", agent_name="A")
        yield from self.update(done, state=WORKING, title="done", agent_name="A")
        yield from self.update(done, title="done", agent_name="A")
        yield from self.asks(asks)
        yield from self.tell(asks, title="asks")
        yield from self.list_them()
        self.assertEqual(
            self.rows, [("asks", "asks"), ("done", "done"), ("works", "works"), ("rests", "")]
        )
        self.assertEqual(self.shown[-1]["placeholder"], "Agents (1 asks, 1 done, 1 works)")
        self.assertEqual(self.shown[-1]["selected_index"], FIRST)

    def test_each_of_many_chats_is_in_the_list_and_in_the_sum(self) -> Steps:
        for number in range(30):
            view = yield from self.chat()
            hostile = f"<b>{number}\n" + "x" * 10_000
            yield from self.update(view, state=WORKING, title=hostile, agent_name="A\n" * 500)
        yield from self.list_them()
        self.assertEqual([annotation for _title, annotation in self.rows], ["works"] * 30)
        self.assertEqual(self.shown[-1]["placeholder"], "Agents (30 work)")
        yield from self.until_equal(lambda: self.status(view), "30 work (Agents)")
        for item in self.items:
            self.assertTrue(all(len(line) < 300 for line in (item.trigger, *item.details)))

    def test_what_was_looked_at_is_not_done_any_more(self) -> Steps:
        view = yield from self.chat()
        other = yield from self.open("a.py", "x\n")
        yield from self.update(view, state=WORKING, title="T")
        yield from self.update(view, title="T")
        yield lambda: "1 done (Agents)" in self.status(other)
        self.window.focus_view(view)
        yield from self.list_them()
        self.assertEqual(self.rows, [("T", "")])
        yield lambda: "(Agents)" not in self.status(view)

    def test_a_turn_that_ends_in_sight_is_no_news(self) -> Steps:
        view = yield from self.chat()
        yield from self.update(view, state=WORKING, title="T")
        yield lambda: "1 works (Agents)" in self.status(view)
        yield from self.update(view, title="T")
        yield from self.list_them()
        self.assertEqual(self.rows, [("T", "")])

    def test_conversations_of_the_folder_are_below_and_each_is_listed_once(self) -> Steps:
        view = yield from self.chat()
        yield from self.update(view, state=WORKING, title="open")
        self.pages = (info(self.id_of(view), "open"), info("ab" * 16, "older"))
        yield from self.list_them()
        self.assertEqual(self.rows, [("open", "works"), ("older", "")])
        self.assertIn("Gemini CLI · 3 messages", self.details("older")[1])
        wanted = [each for each in self.requests() if isinstance(each, ListConversations)]
        self.assertIn(folder_of(self.window), wanted[0].workspaces.folders)

    def test_conversations_in_work_trees_of_the_window_belong_to_it(self) -> Steps:
        trees, folder = self.running().base.trees, "/trees/one"
        self.replace(trees, "folders_in", lambda window: (folder,))
        self.replace(trees, "place_of", lambda path: "work tree one" if path == folder else "")
        self.pages = (info("ab" * 16, "older", workspace=folder),)
        self.work = [self.facts("cd" * 16, "closed", workspace=folder)]
        yield from self.list_them()
        wanted = [each for each in self.requests() if isinstance(each, ListConversations)]
        self.assertIn(folder, wanted[0].workspaces.folders)
        for title in ("older", "closed"):
            self.assertIn("work tree one", " ".join(self.details(title)))

    def test_a_new_chat_in_which_nothing_was_said_is_not_listed(self) -> Steps:
        yield from self.chat()
        self.pages = (info("ab" * 16, "older"),)
        yield from self.list_them()
        self.assertEqual(self.rows, [("older", "")])

    def test_a_window_without_anything_says_how_to_begin(self) -> Steps:
        self.run_command("agents")
        yield lambda: PREFIX + agent_list.NONE in self.sentences
        self.assertEqual(self.shown, [])


class InTheStatusBar(AgentsCase):
    def test_several_that_ask_are_counted_and_each_change_is_told_at_once(self) -> Steps:
        first, second = (yield from self.chat()), (yield from self.chat())
        yield from self.asks(first)
        self.assertIn("asks about Shell in a chat (Show Question)", self.status(second))
        yield from self.asks(second, "d")
        self.assertEqual(self.status(second), "2 ask (Agents)")
        yield from self.tell(first, ToolExecution("c", "shell", EXECUTING))
        self.assertEqual(self.status(second), "1 asks, 1 works (Agents)")
        yield from self.tell(first, state=READY)
        self.assertEqual(self.status(second), "1 asks, 1 done (Agents)")
        first.close()
        yield lambda: "asks about Shell in a chat" in self.status(second)

    def test_conversations_without_a_tab_are_counted_as_the_list_has_them(self) -> Steps:
        view = yield from self.chat()
        yield from self.update(view, state=WORKING, title="open")
        self.work = [
            self.facts("ab" * 16, "asks", in_chat=False, asked=("Shell",)),
            self.facts("cd" * 16, "closed"),
        ]
        look = self.chats.engines.look_at_work
        engine = LookedAt({"ab" * 16: True, "cd" * 16: False, self.id_of(view): False})
        self.replace(self.chats.engines, "_engine", engine)
        yield from self.until_equal(lambda: self.status(view), "1 asks, 2 work (Agents)")
        yield from self.list_them()
        self.assertEqual(self.shown[-1]["placeholder"], "Agents (1 asks, 2 work)")
        engine.busy = {}
        look(self.running().agents.progress.note_busy)
        yield from self.until_equal(lambda: self.status(view), "1 works (Agents)")

    def test_a_question_whose_answer_is_on_its_way_is_none_any_more(self) -> Steps:
        first, second = (yield from self.chat()), (yield from self.chat())
        yield from self.asks(first)
        yield from self.asks(second, "d")
        of_first = self.id_of(first)
        self.replace(
            self.chats.short_questions, "is_answered", lambda asked: asked.key[0] == of_first
        )
        yield from self.until_equal(lambda: self.status(second), "1 asks, 1 works (Agents)")


class AfterRestart(AgentsCase):
    def test_the_end_of_a_turn_that_nobody_saw_is_still_news(self) -> Steps:
        view = yield from self.chat()
        yield from self.open("a.py", "x\n")
        yield from self.update(view, state=WORKING, title="T")
        yield from self.update(view, title="T")
        yield from self.list_them()
        self.assertEqual(self.rows, [("T", "done")])
        since = self.details("T")[0]
        self.restart()
        yield from self.list_them()
        self.assertEqual(self.rows, [("T", "done")])
        self.assertEqual(self.details("T")[0], since)
        yield from self.update(view, title="T")
        self.assertEqual(self.running().agents.count_agents().done, 1)
        self.window.focus_view(view)
        yield lambda: self.running().agents.count_agents().done == 0
        self.restart()
        self.assertEqual(self.running().agents.count_agents().done, 0)

    def restart(self) -> None:
        """The tabs are all that is left of the chats."""
        self.chats.tabs.stop()
        self.running().agents.progress._known.clear()
        self.chats.tabs.start()

    def test_a_chat_whose_tab_was_not_shown_yet_is_described_as_its_conversation(self) -> Steps:
        view = yield from self.chat()
        yield from self.open("a.py", "x\n")
        view.settings().set(UNSEEN, 1.0)
        self.restart()
        self.pages = (info(self.id_of(view), "Mend it", agent="qwen", turns=3),)
        yield from self.list_them()
        self.assertEqual(self.rows, [("Mend it", "done")])
        self.assertEqual(self.details("Mend it")[1], "Qwen Code · 3 messages")


class LookedAt:
    """An engine whose conversations are these."""

    def __init__(self, busy: Mapping[str, bool]) -> None:
        self.busy = busy

    def look_at_agent(self, look: Any) -> bool:
        turn = SimpleNamespace(elicitations=SimpleNamespace(waiting_events=()))
        made = [
            SimpleNamespace(
                id=id, is_busy=True, log=(), turn=SimpleNamespace(**vars(turn), confirmations=each)
            )
            for id, asks in self.busy.items()
            for each in [(None,) if asks else ()]
        ]
        look(SimpleNamespace(conversations=made))
        return True


class WhatIsSaid(AgentsCase):
    def test_a_row_says_what_the_agent_does_what_it_changed_and_what_it_cost(self) -> Steps:
        view = yield from self.chat()
        yield from self.update(view, state=WORKING, title="T", agent_name="Claude Code")
        self.work = [
            self.facts(
                self.id_of(view),
                began=NOW,
                doing="Shell: npm test",
                changed=3,
                cost=Cost(0.125, "USD"),
                usage=Usage(12_000, 345),
            )
        ]
        yield from self.list_them()
        doing, about = self.details("T")
        self.assertRegex(doing, r"^since .*: Shell: npm test$")
        self.assertEqual(about, "Claude Code · chat · 3 files changed · 12,345 tokens · 0.12 USD")

    def test_the_engine_is_asked_once_for_all_tabs(self) -> Steps:
        first, second = (yield from self.chat()), (yield from self.chat())
        for view in (first, second):
            yield from self.update(view, title="T")
        yield from self.list_them()
        (asked,) = [each for each in self.requests() if isinstance(each, LookAtWork)]
        self.assertEqual(set(asked.named), {self.id_of(first), self.id_of(second)})

    def test_conversations_of_the_api_that_ask_and_work_are_listed_wherever_they_are(self) -> Steps:
        self.work = [
            self.facts("ab" * 16, "asks", in_chat=False, asked=("Shell",), asked_at=NOW),
            self.facts("cd" * 16, "works", workspace="/elsewhere", in_chat=False, doing="Read: x"),
            self.facts("ef" * 16, "closed"),
        ]
        yield from self.list_them()
        self.assertEqual(self.rows[0], ("asks", "asks"))
        self.assertRegex(self.details("asks")[0], "^since .*: Shell$")
        self.assertEqual(self.details("asks")[1], "Gemini CLI · API")
        self.assertEqual(self.details("works"), ["Read: x", "Gemini CLI · API"])
        self.assertEqual(self.details("closed"), ["Gemini CLI · chat without a tab"])

    def test_a_chat_that_failed_says_why(self) -> Steps:
        view = yield from self.chat()
        yield from self.update(view, state=FAILED, title="T", problem="It ended.")
        yield from self.list_them()
        self.assertRegex(self.details("T")[0], r"^idle since \d\d:\d\d: It ended\.$")

    def test_an_agent_that_is_not_known_any_more_has_its_id(self) -> Steps:
        self.pages = (info("ab" * 16, "old", agent="gone"),)
        yield from self.list_them()
        self.assertIn("gone · 3 messages", self.details("old")[1])
        yield from self.choose("old")
        yield lambda: self.id_of(self.window.active_view()) == "ab" * 16

    def test_titles_of_any_kind_stay_one_short_line(self) -> Steps:
        hostile = "<b>\u202ea\nb\x1b[31m" + "x" * 100_000
        self.pages = (info("ab" * 16, hostile),)
        self.work = [self.facts("cd" * 16, hostile, doing="</i>\n" + "y" * 100_000)]
        yield from self.list_them()
        for item in self.items:
            shown = [item.trigger, *item.details]
            self.assertTrue(item.trigger.startswith("<b><U+202E>a b<U+001B>[31mx"), item.trigger)
            self.assertTrue(all(len(line) < 300 and line.isprintable() for line in shown))
        self.assertIn("&lt;/i&gt; y", self.items[0].details[0])

    def test_thousands_of_conversations_are_one_page(self) -> Steps:
        self.pages = [info(f"{number:032x}", f"c{number}") for number in range(100)]
        yield from self.list_them()
        self.assertEqual(len(self.items), 100)
        wanted = [each for each in self.requests() if isinstance(each, ListConversations)]
        self.assertEqual([each.limit for each in wanted], [100])


class Slow(AgentsCase):
    def test_what_is_known_is_shown_though_the_disk_does_not_answer(self) -> Steps:
        self.replace(agent_list, "SOON", 1)
        view = yield from self.chat()
        yield from self.update(view, state=WORKING, title="T")
        self.pages = None
        yield from self.list_them()
        self.assertEqual(
            self.rows, [("T", "works"), (agent_list.NOT_YET.format("conversations"), "")]
        )
        self.pages = (info("ab" * 16, "older"),)
        yield from self.choose(agent_list.NOT_YET.format("conversations"))
        yield lambda: len(self.shown) == 2
        self.assertEqual(self.rows, [("T", "works"), ("older", "")])

    def test_what_agents_do_is_left_out_where_the_engine_does_not_answer(self) -> Steps:
        self.replace(work_look, "PATIENCE", 10)
        view = yield from self.chat()
        yield from self.update(view, state=WORKING, title="T", agent_name="A")
        self.work = None
        yield from self.list_them()
        self.assertRegex(self.details("T")[0], r"^since \d\d:\d\d$")
        self.assertEqual(self.details("T")[1], "A · chat")

    def test_where_nothing_is_known_yet_the_list_waits(self) -> Steps:
        self.replace(agent_list, "SOON", 1)
        self.pages = None
        self.run_command("agents")
        wanted: list[Any] = []

        def is_asked() -> bool:
            wanted[:] = [
                answer
                for request, answer in self.service.asked
                if isinstance(request, ListConversations)
            ]
            return bool(wanted)

        yield is_asked
        yield from self.until_turn()
        self.assertEqual(self.shown, [])
        wanted[0].give(FoundConversations((info("ab" * 16, "older"),), {}, ""))
        yield lambda: self.shown
        self.assertEqual(self.rows, [("older", "")])

    def test_one_that_is_wanted_again_while_it_is_about_to_open_opens_once(self) -> Steps:
        view = yield from self.chat()
        yield from self.update(view, state=WORKING, title="T")
        self.pages = None
        for _ in range(3):
            self.run_command("agents")
        yield lambda: any(isinstance(each, ListConversations) for each in self.requests())
        yield from self.until_turn()
        for request, answer in self.service.asked:
            if isinstance(request, ListConversations):
                answer.give(FoundConversations((), {}, ""))
        yield lambda: self.shown
        yield from self.until_turn()
        self.assertEqual(len(self.shown), 1)
        self.shown[-1]["on_select"](-1)
        self.pages = ()
        yield from self.list_them()
        self.assertEqual(len(self.shown), 2)

    def test_why_there_are_no_conversations_stands_in_the_list(self) -> Steps:
        view = yield from self.chat()
        yield from self.update(view, state=WORKING, title="T")
        self.pages = None
        self.run_command("agents")
        yield lambda: any(isinstance(each, ListConversations) for each in self.requests())
        for request, answer in self.service.asked:
            if isinstance(request, ListConversations):
                answer.fail(Unanswered("The disk is full."))
        yield lambda: self.shown
        self.assertEqual(self.details("No conversations here"), ["The disk is full."])


class Going(AgentsCase):
    def test_enter_goes_to_the_tab_of_a_chat(self) -> Steps:
        view = yield from self.chat()
        yield from self.update(view, state=WORKING, title="T")
        yield from self.open("a.py", "x\n")
        yield from self.list_them()
        yield from self.choose("T")
        yield lambda: self.window.active_view() == view

    def test_a_chat_that_was_closed_while_the_list_was_open_opens_again(self) -> Steps:
        view = yield from self.chat()
        conversation = self.id_of(view)
        yield from self.update(view, state=WORKING, title="T")
        yield from self.list_them()
        view.close()
        yield from self.until_turn()
        yield from self.choose("T")
        yield lambda: chat_places.views_of(conversation)

    def test_a_conversation_of_another_window_is_opened_there(self) -> Steps:
        sublime.run_command("new_window")
        other = sublime.active_window()
        self.addCleanup(other.run_command, "close_window")
        other.set_project_data({"folders": [{"path": self.folder}]})
        workspace = os.path.realpath(self.folder)
        self.window.bring_to_front()
        self.work = [self.facts("ab" * 16, "theirs", workspace=workspace, in_chat=False)]
        yield from self.list_them()
        yield from self.choose("theirs")
        yield lambda: [view.window() for view in chat_places.views_of("ab" * 16)] == [other]
        yield lambda: sublime.active_window() == other
        for view in chat_places.views_of("ab" * 16):
            view.close()

    def test_words_are_looked_for_from_the_first_row(self) -> Steps:
        given = self.inputs()
        self.pages = (info("ab" * 16, "older"),)
        yield from self.list_them()
        yield from self.pick(0)
        yield lambda: given
        given[0](" parser ")
        yield lambda: len(self.shown) == 2
        wanted = [each for each in self.requests() if isinstance(each, ListConversations)]
        self.assertEqual(wanted[-1].words, "parser")
        yield from self.pick(1)
        yield lambda: self.id_of(self.window.active_view()) == "ab" * 16

    def test_without_words_the_list_comes_again(self) -> Steps:
        given = self.inputs()
        self.pages = (info("ab" * 16, "older"),)
        yield from self.list_them()
        yield from self.pick(0)
        yield lambda: given
        given[0](" ")
        yield lambda: len(self.shown) == 2
        self.assertEqual(self.rows, [("older", "")])

    def test_what_can_be_done_with_conversations_is_in_the_second_row(self) -> Steps:
        self.pages = (info("ab" * 16, "older"),)
        yield from self.list_them()
        yield from self.pick(1)
        yield lambda: len(self.shown) == 2
        labels = self.shown[-1]["items"]
        self.assertEqual(
            [label.split()[0] for label in labels],
            ["Open", "Rename", "Fork:", "Export", "Delete", "Continue"],
        )
        given = self.inputs()
        yield from self.pick(1)
        yield lambda: len(self.shown) == 3
        yield from self.pick(1)
        yield lambda: given

    def test_the_sessions_of_a_terminal_are_offered_there(self) -> Steps:
        self.pages = (info("ab" * 16, "older"),)
        yield from self.list_them()
        yield from self.pick(1)
        yield lambda: len(self.shown) == 2
        yield from self.pick(5)
        yield lambda: not self.service.asked[-1][1].is_there
        self.service.asked[-1][1].give(())
        yield lambda: PREFIX + NO_OWN_LOGIN in self.sentences

    def test_whoever_leaves_the_second_row_is_back_in_the_list(self) -> Steps:
        self.pages = (info("ab" * 16, "older"),)
        yield from self.list_them()
        yield from self.pick(1)
        yield lambda: len(self.shown) == 2
        yield from self.pick(-1)
        yield lambda: len(self.shown) == 3
        self.assertEqual(self.rows, [("older", "")])
