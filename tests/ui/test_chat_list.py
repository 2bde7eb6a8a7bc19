"""The list of conversations alone, and what can be chosen of their agents, with a service that
answers as the test says."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from GeminiCompanion.companion.agent.conversations.conversation import SessionInfo
from GeminiCompanion.companion.agent.session_state import (
    BOOLEAN,
    MODE,
    MODEL,
    SELECT,
    ConfigOption,
    ConfigOptions,
    OptionChoice,
)
from GeminiCompanion.companion.agent.turn_events import Usage
from GeminiCompanion.companion.base.answer import Unanswered
from GeminiCompanion.companion.chat.requests import (
    ChooseOption,
    Delete,
    Export,
    Fork,
    FoundConversations,
    ListConversations,
    Rename,
)
from GeminiCompanion.companion.ui.chat import chat_places
from GeminiCompanion.companion.ui.chat.conversation_list import (
    ALL,
    FIND,
    HAS_DRAFT,
    IS_BUSY,
    IS_OPEN,
    NONE,
    OLDER,
    OWN_FILES_GO,
    OWN_FILES_STAY,
    PAGE,
)
from GeminiCompanion.companion.ui.chat.drafts import folder_of
from GeminiCompanion.companion.ui.chat.option_panels import CURRENT, NOT_YET
from GeminiCompanion.companion.ui.user_messages import PREFIX

from .adapter import text_of
from .reviewing import Steps
from .test_chat_tabs import ChatCase


def info(id: str, title: str = "", **members: Any) -> SessionInfo:
    then = datetime(2026, 1, 2, 3, 4, tzinfo=timezone.utc)
    values: dict[str, Any] = {
        **dict(agent="gemini", workspace="/w", model="", mode="", is_busy=False, turns=3),
        **dict(created=then, last_used=then, usage=Usage(), modes=(), tool_servers=()),
        **dict(is_saved=True),
        **members,
    }
    return SessionInfo(id, title=title or id, **values)


class ListCase(ChatCase):
    def setUp(self) -> None:
        super().setUp()
        self.shown = self.panels()

    def answer(self, value: Any) -> Steps:
        """The service answers the request that waits."""
        yield lambda: any(not answer.is_there for _request, answer in self.service.asked)
        answer = next(each for _request, each in self.service.asked if not each.is_there)
        if isinstance(value, Unanswered):
            answer.fail(value)
        else:
            answer.give(value)
        yield from self.until_turn()

    def list_them(self, *infos: SessionInfo, next: str = "", action: str = "open") -> Steps:
        """The list opens with these."""
        self.run_command("agents", action=action)
        yield from self.answer(FoundConversations(infos, {}, next))
        yield lambda: self.shown

    def choose(self, number: int) -> Steps:
        """The user chooses in the panel that was opened last."""
        before = self.shown[-1]
        before["on_select"](number)
        yield from self.until_turn()

    @property
    def triggers(self) -> list[str]:
        items = self.shown[-1]["items"]
        return [item if isinstance(item, str) else item.trigger for item in items]

    @property
    def asked(self) -> Any:
        return self.service.asked[-1][0]


class Listing(ListCase):
    def test_a_window_without_conversations_says_how_to_begin_one(self) -> Steps:
        self.run_command("agents", action="open")
        yield from self.answer(FoundConversations((), {}, ""))
        yield lambda: PREFIX + NONE in self.sentences
        self.assertEqual(self.shown, [])

    def test_the_conversations_of_the_windows_folders_are_listed_in_their_order(self) -> Steps:
        yield from self.list_them(info("b", "newer"), info("a", "older\u202e"))
        wanted = self.asked
        self.assertIsInstance(wanted, ListConversations)
        self.assertEqual((wanted.words, wanted.cursor, wanted.limit), ("", "", PAGE))
        self.assertIn(folder_of(self.window), wanted.workspaces.folders)
        self.assertEqual(self.triggers, [FIND, "newer", "older<U+202E>"])
        self.assertEqual(self.shown[-1]["selected_index"], 1)
        details = self.shown[-1]["items"][1].details[0]
        self.assertIn("Gemini CLI", details)
        self.assertIn("3 messages", details)

    def test_older_ones_come_page_by_page_when_they_are_wanted(self) -> Steps:
        yield from self.list_them(info("b"), next="more")
        self.assertEqual(self.triggers, [FIND, "b", OLDER])
        yield from self.choose(2)
        yield from self.until_equal(lambda: self.asked.cursor, "more")
        yield from self.answer(FoundConversations((info("a"),), {}, ""))
        yield lambda: len(self.shown) == 2
        self.assertEqual(self.triggers, [FIND, "b", "a"])
        self.assertEqual(self.shown[-1]["selected_index"], 2)

    def test_words_are_looked_for_until_there_is_a_page_with_something(self) -> Steps:
        given = self.inputs()
        yield from self.list_them(info("b"))
        yield from self.choose(0)
        yield lambda: given
        given[0](" parser ")
        yield from self.until_turn()
        yield from self.until_equal(lambda: self.asked.words, "parser")
        yield from self.answer(FoundConversations((), {}, "deeper"))
        yield from self.until_equal(
            lambda: (self.asked.words, self.asked.cursor), ("parser", "deeper")
        )
        yield from self.answer(FoundConversations((info("a"),), {"a": "… the <parser> …"}, ""))
        yield lambda: len(self.shown) == 2
        self.assertEqual(self.triggers, [ALL, "a"])
        self.assertEqual(self.shown[-1]["items"][1].details[1], "… the &lt;parser&gt; …")

    def test_words_that_nobody_said_are_told_and_all_can_be_listed_again(self) -> Steps:
        given = self.inputs()
        yield from self.list_them(info("b"))
        yield from self.choose(0)
        yield lambda: given
        given[0]("xyz")
        yield from self.answer(FoundConversations((), {}, ""))
        yield lambda: len(self.shown) == 2
        self.assertIn("xyz", self.shown[-1]["placeholder"])
        yield from self.choose(0)
        yield from self.until_equal(lambda: self.asked.words, "")
        yield from self.answer(FoundConversations((info("b"),), {}, ""))
        yield lambda: len(self.shown) == 3


class Acting(ListCase):
    def test_one_is_opened_in_a_tab_and_gone_to_after_that(self) -> Steps:
        for _time in range(2):
            yield from self.list_them(info("ab" * 16))
            yield from self.choose(1)
            yield lambda: self.id_of(self.window.active_view()) == "ab" * 16
        self.assertEqual(len(chat_places.views_of("ab" * 16)), 1)
        yield lambda: self.service.opened == ["ab" * 16]

    def test_one_gets_another_title_and_the_list_comes_again(self) -> Steps:
        given = self.inputs()
        yield from self.list_them(info("a", "old"), action="rename")
        self.assertEqual(self.shown[-1]["placeholder"], "Rename a conversation (1)")
        yield from self.choose(1)
        yield lambda: given
        given[0](" new ")
        yield from self.until_turn()
        yield from self.until_equal(lambda: self.asked, Rename("a", "new"))
        yield from self.answer(None)
        yield lambda: isinstance(self.asked, ListConversations)

    def test_a_fork_is_opened_beside_it(self) -> Steps:
        yield from self.list_them(info("a"), action="fork")
        yield from self.choose(1)
        yield from self.until_equal(lambda: self.asked, Fork("a"))
        yield from self.answer(info("cd" * 16))
        yield lambda: self.id_of(self.window.active_view()) == "cd" * 16

    def test_nothing_is_deleted_that_the_user_keeps(self) -> Steps:
        yield from self.list_them(info("a"), action="delete")
        yield from self.choose(1)
        yield lambda: len(self.shown) == 2
        yield from self.choose(0)
        yield lambda: isinstance(self.asked, ListConversations)

    def test_a_deletion_says_what_goes_and_closes_the_tab(self) -> Steps:
        view = yield from self.chat()
        conversation = self.id_of(view)
        self.type(view, "not sent")
        yield from self.list_them(info(conversation, "T", is_busy=True), action="delete")
        yield from self.choose(1)
        yield lambda: len(self.shown) == 2
        told = " ".join(self.shown[-1]["items"][1].details)
        for words in ("3 messages", IS_BUSY, IS_OPEN, HAS_DRAFT):
            with self.subTest(words):
                self.assertIn(words, told)
        yield from self.choose(1)
        yield from self.until_equal(lambda: self.asked, Delete(conversation))
        self.assertTrue(view.is_valid())
        yield from self.answer(None)
        yield lambda: not view.is_valid()
        self.assertIsNone(self.chats.drafts.text_of(conversation))

    def test_a_deletion_says_whether_the_agent_keeps_its_session(self) -> Steps:
        for agent, words in (
            ("qwen", OWN_FILES_GO),
            ("claude", OWN_FILES_STAY),
            ("mine", OWN_FILES_STAY),
        ):
            before = len(self.shown)
            self.run_command("agents", action="delete")
            yield from self.answer(FoundConversations((info("a", agent=agent),), {}, ""))
            yield lambda before=before: len(self.shown) > before
            yield from self.choose(1)
            yield lambda before=before: len(self.shown) > before + 1
            self.assertIn(words, self.shown[-1]["items"][1].details)
            yield from self.choose(0)
            yield from self.answer(FoundConversations((), {}, ""))

    def test_what_cannot_be_deleted_is_told_and_stays_open(self) -> Steps:
        view = yield from self.chat()
        yield from self.list_them(info(self.id_of(view)), action="delete")
        yield from self.choose(1)
        yield lambda: len(self.shown) == 2
        yield from self.choose(1)
        yield from self.answer(Unanswered("Another server works on it."))
        yield lambda: PREFIX + "Another server works on it." in self.sentences
        self.assertTrue(view.is_valid())

    def test_an_export_is_a_new_tab_that_is_named_after_the_title(self) -> Steps:
        view = yield from self.chat()
        self.run_command("export_chat")
        yield from self.until_equal(lambda: self.asked, Export(self.id_of(view)))
        yield from self.answer("# Fix the parser: a/b\n\n> hello\n")
        yield lambda: self.window.active_view() != view
        made = self.window.active_view()
        self.addCleanup(made.close)
        self.addCleanup(made.set_scratch, True)
        self.assertEqual(made.name(), "Fix the parser- a-b.md")
        self.assertEqual(text_of(made), "# Fix the parser: a/b\n\n> hello\n")


def option(id: str, category: str, current: Any, *values: str) -> ConfigOption:
    kind = SELECT if values else BOOLEAN
    choices = tuple(OptionChoice(value, value.title()) for value in values)
    return ConfigOption(id, id.title(), "", category, kind, current, choices)


OPTIONS = ConfigOptions(
    (
        option("mode", MODE, "default", "default", "plan"),
        option("m", MODEL, "fast", "fast", "deep"),
        option("web", "", False),
    )
)


class Choosing(ListCase):
    def open_with(self, options: ConfigOptions) -> Steps:
        self.view = yield from self.chat()
        members = {"options": options, "agent_name": "A", "mode": "default", "model": "fast"}
        yield from self.update(self.view, **members)

    def test_the_modes_are_those_of_the_agent_and_the_true_one_is_marked(self) -> Steps:
        yield from self.open_with(OPTIONS)
        self.assertIn("Default · A · Fast", self.state_of(self.view))
        self.run_command("mode")
        yield lambda: self.shown
        self.assertEqual(self.triggers, ["Default", "Plan", "M: Fast …", "Web: off …"])
        self.assertEqual([item.annotation for item in self.shown[-1]["items"][:2]], [CURRENT, ""])
        yield from self.choose(1)
        yield from self.until_equal(
            lambda: self.asked, ChooseOption(self.id_of(self.view), "mode", "plan")
        )

    def test_all_other_options_are_below_the_models(self) -> Steps:
        yield from self.open_with(OPTIONS)
        self.run_command("model")
        yield lambda: self.shown
        yield from self.choose(3)
        yield lambda: len(self.shown) == 2
        self.assertEqual(self.triggers, ["on", "off"])
        yield from self.choose(0)
        yield from self.until_equal(
            lambda: self.asked, ChooseOption(self.id_of(self.view), "web", True)
        )

    def test_what_is_chosen_already_is_not_asked_for(self) -> Steps:
        yield from self.open_with(OPTIONS)
        self.run_command("model")
        yield lambda: self.shown
        yield from self.choose(0)
        self.assertEqual(self.service.asked, [])

    def test_a_key_binding_can_name_the_value(self) -> Steps:
        yield from self.open_with(OPTIONS)
        self.run_command("model", value="deep")
        yield from self.until_turn()
        yield from self.until_equal(
            lambda: self.asked, ChooseOption(self.id_of(self.view), "m", "deep")
        )
        self.run_command("model", value="none")
        yield from self.until_told("it offers fast, deep")

    def test_an_agent_that_is_starting_or_offers_nothing_says_so(self) -> Steps:
        self.view = yield from self.chat()
        self.run_command("mode")
        yield lambda: self.sentences == [PREFIX + NOT_YET]
        yield from self.update(self.view, agent_name="A")
        self.run_command("mode")
        yield from self.until_told("A has no options to choose from")
