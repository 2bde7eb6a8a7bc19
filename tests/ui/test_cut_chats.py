"""Stories of chats that are cut: no panel stays open, what is written is in its composer or on its
way, and what was pressed can be pressed again."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Generator, Iterable

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.agent.acp.session_list import ListedSession
from GeminiCompanion.companion.agent.turn_events import (
    CANCEL,
    EXECUTING,
    Diff,
    Queue,
    QueuedMessage,
    ToolExecution,
)
from GeminiCompanion.companion.agent.turn_undo import AS_LEFT, CHANGED, OTHER, FileChange
from GeminiCompanion.companion.base.answer import Answer
from GeminiCompanion.companion.chat.edit_requests import Checkpoints, Rewind, Rewound, TurnTexts
from GeminiCompanion.companion.chat.login_requests import Configure
from GeminiCompanion.companion.chat.requests import (
    Agents,
    ChooseOption,
    Decide,
    Delete,
    Fork,
    FoundConversations,
    ListConversations,
    Rename,
    Send,
    SendNow,
    Sent,
    TakeBack,
    UndoTurn,
)
from GeminiCompanion.companion.chat.session_requests import OwnSessions, TakeOver
from GeminiCompanion.companion.chat.work_requests import LookAtWork
from GeminiCompanion.companion.ui.chat import agent_login
from GeminiCompanion.companion.ui.chat.chat_actions import ON_ITS_WAY

from .cutting import Cut, CuttingCase
from .reviewing import Steps
from .test_chat_agents import ROWS
from .test_chat_edits import NEW, EditCase
from .test_chat_list import OPTIONS, info
from .test_chat_questions import QuestionCase
from .test_chat_turns import TurnCase
from .test_taking_over import THEIRS, row

SECRET = "read @.env"


class CutChat(CuttingCase, QuestionCase):
    """`answers` are what the service answers at once, by the kind of the request; without one the
    request waits."""

    def setUp(self) -> None:
        super().setUp()
        self.answers: dict[type, Any] = {}
        self.before.update(view.id() for view in self.window.views())
        ask = self.service.ask

        def answered(request: Any) -> Answer[Any]:
            answer = ask(request)
            if type(request) in self.answers:
                answer.give(self.answers[type(request)])
            return answer

        self.replace(self.service, "ask", answered)

    def asked_for(self, kind: type) -> list[Any]:
        return [each for each in self.requests() if isinstance(each, kind)]

    def everywhere(
        self,
        name: str,
        press: Callable[[], object],
        awaits: int,
        panels: Iterable[Any] = (),
        holds: Callable[[Cut], object] = lambda cut: None,
    ) -> Steps:
        """Press, and cut the story of this name at each of its awaits; then this `holds`."""

        def go(cut: Cut) -> Steps:
            self.service.asked.clear()
            self.sentences.clear()
            cut.next_story()
            press()
            yield from self.until_over(cut)
            holds(cut)
            yield from self.until_turn()

        yield from self.each_await(name, go, awaits, panels)


class Messages(CutChat):
    def test_a_message_is_in_the_composer_or_on_its_way(self) -> Steps:
        view = yield from self.chat_with_secret()
        self.answers[Send] = Sent("turn")

        def go(cut: Cut) -> Steps:
            self.service.asked.clear()
            self.type(view, SECRET)
            cut.next_story()
            self.run_command("send")
            yield from self.until_over(cut)
            yield from self.until_turn()
            sent = [message.words for message in self.asked_for(Send)]
            self.assertIn((sent, self.unsent(view)), (([], SECRET), ([SECRET], "")))
            self.assertEqual(bool(sent), not cut.is_cut)
            if not sent:
                self.run_command("send")
                yield lambda: self.panels_open.open
                self.panels_open.answer(1)
                yield lambda: self.asked_for(Send)
                yield lambda: self.unsent(view) == ""

        yield from self.each_await("MessageSending._send_message", go, 2, [1])

    def chat_with_secret(self) -> Generator[Any, Any, sublime.View]:
        """A chat in a folder with an excluded file, about which a message asks."""
        before = self.window.project_data()
        self.addCleanup(self.window.set_project_data, before)
        self.window.set_project_data({"folders": [{"path": self.folder}]})
        self.write(".env", "KEY=1")
        view = yield from self.chat()
        return view

    def test_a_closed_window_or_tab_withdraws_what_a_message_asks(self) -> Steps:
        listener = plugin.GeminiCompanionListener()
        for close in (
            lambda: listener.on_pre_close_window(self.window),
            lambda: self.window.active_view().close(),
        ):
            view = yield from self.chat_with_secret()
            conversation = self.id_of(view)
            self.type(view, SECRET)
            self.run_command("send")
            yield lambda: self.panels_open.open
            late = self.panels_open.open
            close()
            self.assertIsNone(self.panels_open.open)
            late(1)  # type: ignore[misc]
            yield from self.until_turn()
            self.assertEqual(self.asked_for(Send), [])
            self.assertEqual(self.chats.drafts.text_of(conversation), SECRET)
            self.chats.open_chat(self.window, conversation)
            self.run_command("send")
            yield lambda: self.panels_open.open
            self.panels_open.answer(-1)
            self.assertEqual(
                [sentence for sentence in self.sentences if ON_ITS_WAY in sentence], []
            )

    def test_a_message_that_waited_and_is_changed_is_in_the_composer(self) -> Steps:
        view = yield from self.chat()
        waits = Queue((QueuedMessage("q", "later", self.now),), False)
        yield from self.update(view, queue=waits)
        self.answers[TakeBack] = None

        def press() -> None:
            chat = self.chats.tabs.chat_of(view)
            assert chat is not None
            chat.composer.remove_sent(chat.composer.text)
            self.chats.composing.queued.follow_link(chat, "change q")

        def holds(cut: Cut) -> None:
            if self.asked_for(TakeBack):
                self.assertIn("later", self.unsent(view))

        yield from self.everywhere("Queued.act_on_message", press, 2, (), holds)

    def test_an_attachment_is_there_or_can_be_attached_again(self) -> Steps:
        path = self.write(".env", "KEY=1")
        view = yield from self.chat()
        chat = self.chats.tabs.chat_of(view)
        assert chat is not None

        def press() -> None:
            chat.above.detach(chat.above.attached)
            self.run_command("attach", what="file", path=path)

        def holds(cut: Cut) -> None:
            self.assertEqual(len(chat.above.attached), not cut.is_cut)

        yield from self.everywhere("Attaching.attach_item", press, 2, [1], holds)


class Questions(CutChat):
    def test_an_answer_that_was_not_on_its_way_can_be_given(self) -> Steps:
        view = yield from self.chat()
        self.answers.update({Decide: None, Send: Sent("", "q"), SendNow: None})
        for command, name, awaits, panels in (
            ("allow", "Replies.decide_call", 1, ()),
            ("deny", "Replies.decide_call", 1, ()),
            ("deny_with_note", "Replies.deny_with_note", 3, ["no"]),
        ):
            go = partial(self.decided_once, view, command)
            yield from self.each_await(name, go, awaits, panels)

    def decided_once(self, view: sublime.View, command: str, cut: Cut) -> Steps:
        id = f"{command} {cut.at}"
        yield from self.asks(view, id)
        self.service.asked.clear()
        sublime.set_clipboard("before")
        cut.next_story()
        self.run_command(command)
        yield from self.until_over(cut)
        (asked,) = self.chats.questions.all_questions
        is_answered = self.chats.answering._replies.is_answered(asked)
        self.assertEqual(is_answered, bool(self.decided()), f"{command} after await {cut.at}")
        if command == "deny_with_note" and cut.at > 0:
            is_copied = sublime.get_clipboard() == "no"
            self.assertNotEqual(is_copied, bool(self.asked_for(Send)), f"await {cut.at}")
        if not is_answered:
            self.run_command("deny")
            yield lambda: self.decided() == [(id, CANCEL)]
        yield from self.tell(view, ToolExecution(id, "shell", EXECUTING))

    def test_an_answer_from_the_list_of_agents_was_on_its_way_or_can_be_given(self) -> Steps:
        view = yield from self.chat()
        listed = self.running().agents.list
        self.replace(listed, "_providers", listed._providers[:1])
        self.answers.update({Decide: None, LookAtWork: ()})

        def go(cut: Cut) -> Steps:
            id = f"listed {cut.at}"
            yield from self.asks(view, id)
            self.service.asked.clear()
            cut.next_story()
            self.run_command("agents")
            yield from self.until_over(cut)
            (asked,) = self.chats.questions.all_questions
            is_answered = self.chats.answering._replies.is_answered(asked)
            self.assertEqual(is_answered, bool(self.decided()), f"after await {cut.at}")
            if not is_answered:
                self.run_command("deny")
                yield lambda: self.decided() == [(id, CANCEL)]
            yield from self.tell(view, ToolExecution(id, "shell", EXECUTING))

        # The chat, "No", and the list once more.
        yield from self.each_await("AgentList.show_list", go, 4, [2, 3, -1])


class Edits(CuttingCase, EditCase):
    def test_a_text_of_the_user_is_with_the_agent_or_in_a_tab(self) -> Steps:
        yield from self.wait_for()
        ask = self.service.ask

        def answered(request: Any) -> Answer[Any]:
            answer = ask(request)
            answer.give(())
            return answer

        self.replace(self.service, "ask", answered)

        def go(cut: Cut) -> Steps:
            self.service.asked.clear()
            yield from self.waits(self.asks(Diff(self.path, "one\n", NEW), id=f"call {cut.at}"))
            right = yield from self.right()
            yield from self.typed(right, "typed\n")
            cut.next_story()
            yield from self.command(right, "accept_diff")
            yield from self.until_over(cut)
            sent = [request.edits[0].new_text for request, _answer in self.service.asked]
            self.assertIn(NEW + "typed\n", [*sent, *self.tabs().values()], f"await {cut.at}")
            yield from self.waits()

        yield from self.each_await("EditReviews._send_decisions", go, 1)


class Turns(CutChat, TurnCase):
    def test_undoing_going_back_and_showing(self) -> Steps:
        yield from self.begin_chat()
        kept = FileChange(self.path, CHANGED, OTHER)
        self.answers.update(
            {
                Checkpoints: (self.turn("t1", AS_LEFT),),
                UndoTurn: (kept,),
                TurnTexts: (self.file(),),
                Rewind: Rewound("f" * 32, "", "", "message of t1"),
            }
        )
        for command, name, awaits, panels in (
            ("undo_turn", "TurnActions.undo_turn", 3, ()),
            ("turn_changes", "TurnActions.show_turn", 2, ()),
            ("rewind", "TurnActions.rewind_chat", 4, [0, 0]),
        ):
            press = partial(self.press, command)
            yield from self.everywhere(name, press, awaits, panels, self.undo_goes_on)

    def press(self, command: str) -> None:
        self.window.focus_view(self.view)
        self.run_command(command)

    def undo_goes_on(self, cut: Cut) -> None:
        """An undo that was cut keeps no later one waiting."""
        self.assertEqual(self.running().chat.turns._undoing._lines, {}, f"after await {cut.at}")


class Lists(CutChat):
    def setUp(self) -> None:
        super().setUp()
        found = FoundConversations((info("a"), info("b")), {}, "")
        self.answers.update({ListConversations: found, Agents: ROWS, Rename: None, Delete: None})
        self.answers.update({Fork: info("cd" * 16), ChooseOption: None, Configure: None})

    def test_the_conversations(self) -> Steps:
        for action, awaits, panels, kind in (
            ("rename", 5, [1, "other", -1], Rename),
            ("delete", 5, [1, 1, -1], Delete),
            ("fork", 3, [1], Fork),
        ):
            yield from self.everywhere(
                "ConversationList.show_list",
                partial(self.run_command, "agents", action=action),
                awaits,
                panels,
                partial(self.is_asked_once, kind),
            )

    def is_asked_once(self, kind: type, cut: Cut) -> None:
        """And at the end it was."""
        count = len(self.asked_for(kind))
        self.assertIn(count, (0, 1) if cut.is_cut else (1,), f"after await {cut.at}")

    def test_the_options_of_an_agent(self) -> Steps:
        view = yield from self.chat()
        yield from self.update(view, options=OPTIONS, agent_name="A")
        yield from self.everywhere(
            "OptionPanels.choose_option",
            lambda: self.run_command("mode"),
            2,
            [1],
            partial(self.is_asked_once, ChooseOption),
        )

    def test_a_login(self) -> Steps:
        view = yield from self.chat()
        yield from self.update(view, agent="qwen", agent_name="Qwen Code")
        fields = len(agent_login.ways_of("qwen")[1].fields)
        yield from self.everywhere(
            "Recovery.log_in",
            lambda: self.run_command("log_in"),
            fields + 2,
            [1, *["word"] * fields],
            partial(self.is_asked_once, Configure),
        )

    def test_a_session_of_the_terminal(self) -> Steps:
        sessions = (ListedSession("s", "/w", "fix it", None),)
        self.answers.update({Agents: (row("claude", THEIRS),), OwnSessions: sessions})
        self.answers[TakeOver] = "ef" * 16
        yield from self.everywhere(
            "TakingOver.show_sessions",
            lambda: self.run_command("take_over_session"),
            3,
            [0],
            partial(self.is_asked_once, TakeOver),
        )
