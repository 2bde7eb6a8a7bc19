"""Chats in their tabs: opened, written in, sent, closed and restored, with a service that answers
as the test says."""

from __future__ import annotations

import html
import json
import ntpath
import os
import re
import shutil
import tempfile
import time
from datetime import datetime, timezone
from functools import partial
from typing import Any, Generator
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.agent.turn_events import Queue, QueuedMessage
from GeminiCompanion.companion.base import private_files
from GeminiCompanion.companion.base.answer import Answer, Unanswered
from GeminiCompanion.companion.base.text_digest import text_digest
from GeminiCompanion.companion.chat import chat_service
from GeminiCompanion.companion.chat.chat_update import FAILED, READY, STARTING, WORKING, ChatUpdate
from GeminiCompanion.companion.chat.rendered import OPEN_FILE, Link, Patch, Rendered
from GeminiCompanion.companion.chat.requests import Send, Stop
from GeminiCompanion.companion.ui import texts, wrapping
from GeminiCompanion.companion.ui.chat import (
    above,
    composer_carets,
    drawn_transcript,
    failure_words,
    link_actions,
    patience,
    state_line,
)
from GeminiCompanion.companion.ui.chat.chat_actions import NOTHING, ChatActions
from GeminiCompanion.companion.ui.chat.chat_tabs import CLICK
from GeminiCompanion.companion.ui.chat.chat_view import COMPOSER, CONVERSATION, LEFT, UNSENT
from GeminiCompanion.companion.ui.chat.link_actions import (
    A_FOLDER,
    COPY,
    NO_FILE,
    OPEN,
    OUTSIDE,
)
from GeminiCompanion.companion.ui.chat.state_line import KEY
from GeminiCompanion.companion.ui.user_messages import PREFIX
from unittesting import AWAIT_WORKER

from .adapter import text_of
from .reviewing import ReviewCase, Steps

try:
    from headless import running
except ImportError:
    running = None  # type: ignore[assignment]


def without_browser(opened: list[str]) -> Any:
    """`Window.run_command`, which only notes the addresses for a browser."""
    run = sublime.Window.run_command

    def run_command(window: sublime.Window, name: str, arguments: Any = None) -> None:
        if name == "open_url":
            opened.append(arguments["url"])
        else:
            run(window, name, arguments)

    return run_command


class Service:
    """`opened` are the ids of the conversations that are open, `asked` the requests, with the
    answers that the test gives."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        # The ids with the agents and the folders.
        self.wanted: list[tuple[str, str, str]] = []
        self.opens = 0
        self.asked: list[tuple[Any, Answer[Any]]] = []

    def open_chat(
        self,
        workspace: str,
        agent: str = "",
        conversation_id: str = "",
        tools: Any = (),
        folders: Any = (),
    ) -> ChatUpdate:
        self.opened.append(conversation_id)
        self.wanted.append((conversation_id, agent, workspace))
        self.opens += 1
        return ChatUpdate(conversation_id, STARTING, workspace=workspace)

    def close_chat(self, conversation_id: str) -> None:
        if conversation_id in self.opened:
            self.opened.remove(conversation_id)

    def ask(self, request: Any) -> Answer[Any]:
        answer: Answer[Any] = Answer()
        self.asked.append((request, answer))
        return answer

    def stop(self) -> None:
        pass


class ChatCase(ReviewCase):
    def setUp(self) -> None:
        super().setUp()
        self.service = Service()
        self.replace(chat_service, "ChatService", lambda engine, heard: self.service)
        self.chats: ChatActions = self.running().chat.actions
        self.replace(self.chats.access, "service", None)
        self.sentences = self.told()

    def tearDown(self) -> Generator[Any, Any, None]:
        for view in self.window.views():
            if view.settings().has(CONVERSATION):
                view.close()
                self.chats.drafts.forget(self.id_of(view))
        yield from super().tearDown()

    def chat(self) -> Generator[Any, Any, sublime.View]:
        """`view = yield from self.chat()`: a new chat, open in the service."""
        self.run_command("new_chat")
        view = self.window.active_view()
        yield lambda: self.id_of(view) in self.service.opened
        return view

    def id_of(self, view: sublime.View) -> str:
        return str(view.settings().get(CONVERSATION))

    def type(self, view: sublime.View, text: str) -> None:
        for character in text:
            view.run_command("insert", {"characters": character})

    def update(self, view: sublime.View, **members: Any) -> Steps:
        """The service tells this of the conversation."""
        members = {"state": READY, **members}
        self.chats.drawing.draw_soon(ChatUpdate(self.id_of(view), **members))
        yield from self.until_turn()

    def until_told(self, part: str) -> Steps:
        """Until a sentence of the status bar has this: what an earlier test has left may be told in
        between."""
        yield from self.until_in(part, lambda: "\n".join(self.sentences))

    def until_clicked(self) -> Steps:
        """Until it is known whether a pressed mouse button was a click."""
        known: list[None] = []
        sublime.set_timeout(lambda: known.append(None), CLICK)
        yield lambda: known
        yield from self.until_turn()

    def until_carets_followed(self) -> Steps:
        """Until the package knows of the carets: it hears of them on the worker."""
        yield from self.until_turn()
        yield AWAIT_WORKER
        yield from self.until_turn()

    def state_of(self, view: sublime.View) -> str:
        """The HTML above the composer."""
        if running is None:
            self.skipTest("only the headless editor tells what is drawn")
        found = running.current().view(view.id()).phantoms
        return " ".join(
            phantom.content.replace("<br>", " ") for phantom in found if phantom.key == KEY
        )

    def unsent(self, view: sublime.View) -> str:
        return text_of(view).partition(COMPOSER)[2]


def rows_of(view: sublime.View, *keys: str) -> list[str]:
    """What stands above the composer, row by row as a person reads it."""
    found = running.current().view(view.id()).phantoms
    shown = [phantom.content for phantom in found if not keys or phantom.key in keys]
    rows = re.sub("<style>.*?</style>", "", "</p>".join(shown)).replace("</p>", "<br>")
    told = (html.unescape(re.sub("<[^>]*>", "", row)) for row in rows.split("<br>"))
    return [row for row in told if row]


class Opening(ChatCase):
    def test_a_chat_is_opened_once_and_gone_to_after_that(self) -> Steps:
        self.run_command("chat")
        view = self.window.active_view()
        yield lambda: self.service.opened
        self.assertEqual(text_of(view), COMPOSER)
        self.assertEqual(view.sel()[0], sublime.Region(len(COMPOSER)))
        self.assertFalse(view.is_dirty())
        yield from self.open("a.py", "x\n")
        self.run_command("chat")
        self.assertEqual(self.window.active_view(), view)
        self.assertEqual(len(self.service.opened), 1)

    def test_an_update_draws_the_transcript_names_the_tab_and_tells_the_state(self) -> Steps:
        view = yield from self.chat()
        patches = (Patch("a", 0, 0, Rendered("▎ hello\n")), Patch("b", 8, 8, Rendered("hi\n")))
        yield from self.update(view, patches=patches, is_anew=True, title="hello", agent_name="A")
        self.assertEqual(text_of(view), "▎ hello\nhi\n" + COMPOSER)
        self.assertEqual(view.name(), "hello")
        yield from self.update(view, state=FAILED, problem="It ended.")
        self.assertIn("It ended.", self.state_of(view))

    def test_a_chat_says_that_its_agent_starts_before_the_engine_is_there(self) -> Steps:
        imported: Answer[Any] = Answer()
        self.replace(self.chats.engines, "ensure_engine", lambda: imported)
        self.run_command("new_chat")
        view = self.window.active_view()
        self.assertIn("is starting", self.state_of(view))
        self.assertEqual(self.service.opened, [])
        imported.give(None)
        yield lambda: self.id_of(view) in self.service.opened

    def test_an_empty_chat_says_who_works_where_and_how_to_send_until_something_is_said(
        self,
    ) -> Steps:
        view = yield from self.chat()
        told = {"agent_name": "A", "workspace": "/projects/here", "mode": "plan"}
        yield from self.update(view, **told)
        self.assertIn("plan · A works in /projects/here · Write", self.state_of(view))
        self.assertIn("Ctrl+Enter sends", self.state_of(view))
        said = (Patch("a", 0, 0, Rendered("▎ hello\n")),)
        yield from self.update(view, **told, patches=said, is_anew=True)
        self.assertNotIn("works in", self.state_of(view))

    def test_the_true_mode_comes_first_and_nothing_is_wider_than_the_view(self) -> Steps:
        view = yield from self.chat()
        path = "/projects/" + "far" * 60
        message = QueuedMessage("1", "the message that waits " * 3, datetime.now(timezone.utc))
        told = {"agent_name": "A", "mode": "yolo", "queue": Queue((message,), False)}
        for members in (
            {**told, "workspace": path},
            {**told, "state": WORKING},
            {"state": FAILED, "problem": "It has ended. " * 30},
        ):
            yield from self.update(view, **members)
            rows = rows_of(view)
            self.assertLessEqual(max(map(len, rows)), wrapping.view_columns(view))
            if "mode" in members:
                self.assertEqual(rows_of(view, KEY)[0][:4], "yolo")
                self.assertIn("send now", "".join(rows_of(view, above.KEY)))

    def test_what_is_above_the_composer_is_drawn_anew_for_a_narrower_view(self) -> Steps:
        view = yield from self.chat()
        yield from self.update(view, agent_name="A", mode="yolo", model="model " * 20)
        before = len(rows_of(view))
        self.replace(state_line, "narrowest_columns", lambda view: 30)
        self.chats.questions.look_at_questions()
        self.assertGreater(len(rows_of(view)), before)

    def test_a_start_and_a_silence_that_last_say_how_long_and_can_be_stopped(self) -> Steps:
        now = [0.0]
        self.replace(patience.Patience.__init__, "__defaults__", (lambda: now[0],))
        view = yield from self.chat()
        for state, long, is_unanswered, words in (
            (STARTING, 5, False, "has been starting for 5 seconds"),
            (WORKING, 10, True, "has said nothing for 10 seconds"),
            (WORKING, 60, False, "has said nothing for 60 seconds"),
            (WORKING, 180, False, "has said nothing for 3 minutes"),
        ):
            with self.subTest(state=state, long=long):
                yield from self.update(view, state=READY)
                yield from self.update(view, state=state, is_unanswered=is_unanswered)
                now[0] += long - 1
                self.chats.questions.look_at_questions()
                self.assertNotIn(words, self.state_of(view))
                now[0] += 1
                self.chats.questions.look_at_questions()
                self.assertIn(words, self.state_of(view))
                self.assertIn(">Stop<", self.state_of(view))
        self.window.run_command(
            failure_words.COMMAND,
            {"action": failure_words.STOP, "conversation": self.id_of(view)},
        )
        yield lambda: [stop for stop, _answer in self.service.asked if isinstance(stop, Stop)]

    def test_what_is_told_of_a_silence_does_not_end_it(self) -> Steps:
        now = [0.0]
        self.replace(patience.Patience.__init__, "__defaults__", (lambda: now[0],))
        view = yield from self.chat()
        yield from self.update(view, state=WORKING, is_unanswered=True)
        now[0] += 12
        for is_unanswered, expect in ((True, self.assertIn), (False, self.assertNotIn)):
            patch = Patch("a", 0, 0, Rendered("It is asked again.\n"))
            yield from self.update(
                view, state=WORKING, is_unanswered=is_unanswered, patches=(patch,), is_anew=True
            )
            expect("has said nothing for 10 seconds", self.state_of(view))

    def test_the_silence_of_a_turn_is_none_of_the_next(self) -> Steps:
        now = [0.0]
        self.replace(patience.Patience.__init__, "__defaults__", (lambda: now[0],))
        view = yield from self.chat()
        for turn in ("a", "b"):
            yield from self.update(view, state=WORKING, turn=turn, is_unanswered=True)
            self.assertNotIn("has said nothing", self.state_of(view))
            now[0] += 12
            self.chats.questions.look_at_questions()
            self.assertIn("has said nothing for 10 seconds", self.state_of(view))

    def test_where_nothing_can_be_typed_the_status_bar_says_where_to_write(self) -> Steps:
        view = yield from self.chat()
        yield from self.update(view, patches=(Patch("a", 0, 0, Rendered("hi\n")),), is_anew=True)
        view.sel().clear()
        view.sel().add(sublime.Region(0))
        yield lambda: composer_carets.END in view.get_status(composer_carets.KEY)
        self.chats.tabs.chat_of(view).composer.go_to_end(view)
        self.assertEqual(view.get_status(composer_carets.KEY), "")

    def test_texts_that_cannot_be_saved_are_told_once_and_stay_in_their_tab(self) -> Steps:
        view = yield from self.chat()
        full = OSError(28, "No space left on device")

        def refuse(path: str, data: bytes, **how: bool) -> None:
            raise full

        self.replace(private_files, "write_file", refuse)
        for text in ("one", " two"):
            self.type(view, text)
            self.chats.drafts.save()
            yield lambda: any("written in chats" in each for each in self.sentences)
            yield from self.until_turn()
        # The state for the next restart may be written meanwhile, and is refused, too.
        told = [sentence for sentence in self.sentences if "written in chats" in sentence]
        self.assertEqual(len(told), 1)
        self.assertIn("No space left on device", told[0])
        self.assertEqual(self.unsent(view), "one two")

    def test_a_chat_whose_library_is_missing_says_so_instead_of_starting(self) -> Steps:
        missing: Answer[Any] = Answer()
        self.replace(self.chats.engines, "ensure_engine", lambda: missing)
        self.run_command("new_chat")
        view = self.window.active_view()
        missing.fail(ImportError("No module named 'aiohttp'"))
        yield lambda: "aiohttp" in self.state_of(view)
        self.assertIn("Try again", self.state_of(view))

    def test_a_patch_that_does_not_fit_has_the_transcript_come_anew(self) -> Steps:
        view = yield from self.chat()
        yield from self.update(view, patches=(Patch("a", 5, 9, Rendered("x")),))
        yield lambda: self.service.opens == 2
        self.assertEqual(self.service.opened, [self.id_of(view)])

    def test_a_long_transcript_is_drawn_in_parts_between_other_work(self) -> Steps:
        self.replace(drawn_transcript, "BLOCKS", 10)
        view = yield from self.chat()
        patches = tuple(
            Patch(f"b{number}", number * 2, number * 2, Rendered("a\n")) for number in range(900)
        )
        yield from self.update(view, patches=patches, is_anew=True)
        chat = self.chats.tabs.chat_of(view)
        counts = [chat.document.count]
        self.assertLess(counts[0], 900)
        while not chat.is_whole:
            self.type(view, "x")
            yield from self.until_turn()
            counts.append(chat.document.count)
        self.assertGreater(len(counts), 2)
        self.assertEqual(text_of(view).partition(COMPOSER)[0], "a\n" * 900)
        self.assertEqual(self.unsent(view), "x" * (len(counts) - 1))

    def test_a_part_that_does_not_fit_has_the_transcript_loaded_again(self) -> Steps:
        view = yield from self.chat()
        patches = tuple(
            Patch(f"b{number}", number * 2, number * 2, Rendered("a\n")) for number in range(1, 900)
        )
        opens = self.service.opens
        yield from self.update(view, patches=patches, is_anew=True)
        yield lambda: self.service.opens == opens + 1

    def test_several_chats_hear_of_their_own_conversation_only(self) -> Steps:
        first = yield from self.chat()
        second = yield from self.chat()
        yield from self.update(first, patches=(Patch("a", 0, 0, Rendered("one\n")),))
        self.assertEqual(text_of(first), "one\n" + COMPOSER)
        self.assertEqual(text_of(second), COMPOSER)


class Sending(ChatCase):
    def test_the_composer_keeps_its_text_until_the_message_is_on_its_way(self) -> Steps:
        view = yield from self.chat()
        self.type(view, "do it")
        self.run_command("send")
        self.run_command("send")
        self.type(view, " and more")
        ((request, answer),) = self.service.asked
        self.assertEqual(request, Send(self.id_of(view), "do it"))
        self.assertEqual(self.unsent(view), "do it and more")
        answer.give(None)
        yield from self.until_turn()
        self.assertEqual(self.unsent(view), " and more")

    def test_a_message_that_cannot_be_sent_stays_and_is_told(self) -> Steps:
        view = yield from self.chat()
        self.type(view, "do it")
        self.run_command("send")
        self.service.asked[0][1].fail(Unanswered("The agent is not there."))
        yield lambda: PREFIX + "The agent is not there." in self.sentences
        self.assertEqual(self.unsent(view), "do it")

    def test_a_text_of_a_key_binding_is_sent_beside_what_is_written(self) -> Steps:
        view = yield from self.chat()
        self.type(view, "unfinished")
        self.run_command("send", text="run the tests")
        ((request, answer),) = self.service.asked
        answer.give(None)
        yield from self.until_turn()
        self.assertEqual((request.words, self.unsent(view)), ("run the tests", "unfinished"))

    def test_a_tab_that_nobody_has_looked_at_is_opened_before_it_is_sent(self) -> Steps:
        view = yield from self.chat()
        self.type(view, "do it")
        yield from self.open("a.py", "x\n")
        sublime.run_command("gemini_companion_restart_companion")
        yield (
            lambda: plugin._host.is_running and plugin._host.running.chat.actions is not self.chats
        )
        self.chats = self.running().chat.actions
        self.service.opened.clear()
        self.run_command("send")
        yield lambda: self.service.asked
        self.assertEqual(self.service.opened, [self.id_of(view)])

    def test_nothing_is_not_sent(self) -> Steps:
        yield from self.chat()
        self.run_command("send")
        yield from self.until_turn()
        self.assertEqual((self.service.asked, self.sentences), ([], [PREFIX + NOTHING]))

    def test_stop_stops_the_chat_in_front(self) -> Steps:
        view = yield from self.chat()
        self.run_command("stop")
        self.assertEqual(self.service.asked[0][0], Stop(self.id_of(view)))


class Keys(ChatCase):
    def test_undo_and_redo_are_the_composers(self) -> Steps:
        view = yield from self.chat()
        # A person's keys are told of one by one, and steps are words.
        self.play(text_event_delay=None)
        self.type(view, "one two")
        yield from self.update(view, patches=(Patch("a", 0, 0, Rendered("answer\n")),))
        for command, expected in (("undo", "one "), ("undo", ""), ("redo_or_repeat", "one ")):
            view.run_command(command)
            yield from self.until_turn()
            self.assertEqual(text_of(view), "answer\n" + COMPOSER + expected)

    def test_what_is_written_while_the_caret_is_in_the_transcript_goes_to_the_end(self) -> Steps:
        view = yield from self.chat()
        yield from self.update(view, patches=(Patch("a", 0, 0, Rendered("answer\n")),))
        self.type(view, "one")
        sublime.set_clipboard(" two")
        written = "one"
        for command, arguments, text in (
            ("paste", None, " two"),
            ("insert", {"characters": "!"}, "!"),
            ("left_delete", None, ""),
        ):
            view.sel().clear()
            view.sel().add(sublime.Region(0, 3))
            view.run_command(command, arguments)
            written += text
            self.assertEqual(text_of(view), "answer\n" + COMPOSER + written)

    def test_all_of_the_composer_is_selected_before_all_of_the_chat(self) -> Steps:
        view = yield from self.chat()
        yield from self.update(view, patches=(Patch("a", 0, 0, Rendered("answer\n")),))
        self.type(view, "one")
        for expected in ("one", "answer\n" + COMPOSER + "one"):
            view.run_command("select_all")
            yield from self.until_turn()
            self.assertEqual(view.substr(view.sel()[0]), expected)

    def test_there_is_nothing_to_delete_before_the_composer(self) -> Steps:
        view = yield from self.chat()
        self.type(view, "a")
        for command in ("left_delete", "left_delete", "left_delete"):
            view.run_command(command)
        self.assertEqual(text_of(view), COMPOSER)

    def test_enter_on_a_link_follows_it(self) -> Steps:
        view = yield from self.chat()
        path = self.write("a.py", "x\n")
        link = Link(4, 8, OPEN_FILE, json.dumps({"path": path, "turn": "t"}))
        read = Rendered("see a.py\n", links=(link,))
        yield from self.update(view, patches=(Patch("a", 0, 0, read),))
        view.sel().clear()
        view.sel().add(5)
        yield from self.until_turn()
        self.type(view, "\n")
        yield lambda: self.window.active_view().file_name() == path
        self.assertEqual(text_of(view), "see a.py\n" + COMPOSER)

    def test_a_link_to_what_cannot_be_opened_says_why(self) -> Steps:
        view = yield from self.chat()
        folder = os.path.dirname(self.write("a.py", "x\n"))
        missing = os.path.join(folder, "b.py")
        for path, told in ((folder, A_FOLDER), (missing, NO_FILE)):
            link = Link(0, 3, OPEN_FILE, json.dumps({"path": path, "turn": "t"}))
            drawn = Patch("a", 0, 0, Rendered("see\n", links=(link,)))
            yield from self.update(view, patches=(drawn,), is_anew=True)
            view.sel().clear()
            view.sel().add(1)
            yield from self.until_turn()
            self.type(view, "\n")
            yield lambda told=told, path=path: PREFIX + told.format(path) in self.sentences

    def follow_text(self, view: sublime.View, marked: str, *others: str) -> Steps:
        """Press Enter in a line of an answer, where the bar is. The agent has the `others` beside
        its folder."""
        drawn = Rendered(marked.replace("|", "") + "\n")
        patches, folder = (Patch("a", 0, 0, drawn),), self.folder
        told = {"workspace": folder, "other_folders": others}
        yield from self.update(view, patches=patches, is_anew=True, **told)
        view.sel().clear()
        view.sel().add(marked.index("|"))
        yield from self.until_turn()
        self.type(view, "\n")

    def test_a_place_that_an_answer_names_opens_at_its_line(self) -> Steps:
        view = yield from self.chat()
        path = self.write("a.py", "1\n2\n3\n")
        for marked in ("see a|.py:2.", "see [it|](a.py#L2)", f"{path}|:2:1: error"):
            yield from self.follow_text(view, marked)
            yield lambda: self.window.active_view().file_name() == path
            opened = self.window.active_view()
            yield lambda opened=opened: opened.sel()[0].b == 2
            opened.close()
            self.window.focus_view(view)

    def test_a_place_in_another_folder_of_the_agent_opens_and_one_beside_it_does_not(self) -> Steps:
        view = yield from self.chat()
        top = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, top)
        lib = os.path.join(top, "lib")
        os.mkdir(lib)
        inner, outer = os.path.join(lib, "b.py"), os.path.join(top, "c.py")
        for path in (inner, outer):
            with open(path, "w") as file:
                file.write("1\n2\n")
        yield from self.follow_text(view, f"{inner}|:2", lib)
        yield lambda: self.window.active_view().file_name() == inner
        self.window.active_view().close()
        self.window.focus_view(view)
        yield from self.follow_text(view, f"{outer}|:2", lib)
        told = PREFIX + OUTSIDE.format(outer)
        yield from self.until_in(told, lambda: "|".join(self.sentences))
        yield from self.follow_text(view, f"{inner}|:2")
        told = PREFIX + OUTSIDE.format(inner)
        yield from self.until_in(told, lambda: "|".join(self.sentences))

    def test_a_place_that_is_missing_or_outside_of_the_folder_is_not_opened(self) -> Steps:
        view = yield from self.chat()
        outside = os.path.join(os.path.dirname(self.folder), "other.py")
        for marked, told in (
            ("see b|.py:2", NO_FILE.format("b.py")),
            ("see ../other|.py:2", OUTSIDE.format("../other.py")),
            (outside + "|:2", OUTSIDE.format(outside)),
            # The name is spelled once.
            ("see [it|](a%00.py)", NO_FILE.format("a<U+0000>.py")),
        ):
            yield from self.follow_text(view, marked)
            yield from self.until_in(PREFIX + told, lambda: "|".join(self.sentences))
        self.assertEqual([each.file_name() for each in self.window.views() if each.file_name()], [])

    def test_a_place_on_another_server_is_refused_before_windows_asks_that(self) -> None:
        folders = ("C:\\work", "E:\\lib")
        with mock.patch.object(os, "path", ntpath):
            for path in ("\\\\evil.example\\share\\a.py", "D:\\a.py"):
                self.assertEqual(link_actions._named_refusal(path, folders), OUTSIDE)
            for path in ("c:\\work\\a.py", "e:\\lib\\a.py"):
                self.assertEqual(link_actions._named_refusal(path, folders), "")
            self.assertEqual(link_actions._named_refusal("c:\\work\\a\0.py", folders), NO_FILE)

    def test_an_address_opens_only_after_its_host_was_shown(self) -> Steps:
        view = yield from self.chat()
        opened: list[str] = []
        self.replace(sublime.Window, "run_command", without_browser(opened))
        panels = self.panels()
        yield from self.follow_text(view, "[https://good.exa|mple](https://user@evil.example/x)")
        yield lambda: panels
        self.assertEqual(panels[0]["items"][0].trigger, OPEN.format("evil.example"))
        self.assertEqual(opened, [])
        panels[0]["on_select"](0)
        yield lambda: opened == ["https://user@evil.example/x"]
        yield from self.follow_text(view, "[a](javas|cript:alert)")
        yield lambda: len(panels) == 2
        self.assertEqual([each.trigger for each in panels[1]["items"]], [COPY])
        panels[1]["on_select"](-1)

    def test_a_click_on_a_link_follows_it_and_the_beginning_of_a_drag_does_not(self) -> Steps:
        view = yield from self.chat()
        path = self.write("a.py", "x\n")
        link = Link(4, 8, OPEN_FILE, json.dumps({"path": path, "turn": "t"}))
        read = Rendered("see a.py\n", links=(link,))
        yield from self.update(view, patches=(Patch("a", 0, 0, read),))
        for region, opened in (((5, 7), 0), ((5, 5), 1)):
            view.run_command("drag_select", {"event": {"button": 1}})
            view.sel().clear()
            view.sel().add(sublime.Region(*region))
            yield from self.until_clicked()
            yield from self.until_equal(
                lambda: [each.file_name() for each in self.window.views()].count(path), opened
            )

    def test_a_chat_is_never_saved_into_a_file(self) -> Steps:
        view = yield from self.chat()
        view.run_command("save")
        yield from self.until_turn()
        self.assertIsNone(view.file_name())

    def test_key_bindings_know_a_chat(self) -> Steps:
        view = yield from self.chat()
        other = yield from self.open("a.py", "x\n")
        key, equal = "gemini_companion_in_chat", sublime.OP_EQUAL
        asked = plugin._host.running.key_context
        self.assertTrue(asked(view, key, equal, True))
        self.assertFalse(asked(other, key, equal, True))
        setting = "gemini_companion_is_chat"
        self.assertEqual([each.settings().get(setting) for each in (view, other)], [True, None])
        self.assertTrue(asked(other, key, sublime.OP_NOT_EQUAL, True))

    def test_what_is_typed_above_the_composer_goes_to_where_its_caret_was(self) -> Steps:
        view = yield from self.chat()
        yield from self.update(view, patches=(Patch("a", 0, 0, Rendered("answer\n")),))
        self.type(view, "ac")
        composer = self.chats.tabs.chat_of(view).composer
        key, asked = "gemini_companion_in_transcript", plugin._host.running.key_context
        for place, typed, expected in (
            ((composer.start + 1,) * 2, "b", "abc"),
            ((3, 3), "é", "abéc"),
            ((0, 6), " ", "abé c"),
            ((0, view.size()), "!", "abé !c"),
        ):
            with self.subTest(typed):
                view.sel().clear()
                view.sel().add(sublime.Region(*place))
                yield from self.until_carets_followed()
                is_left = place[0] < composer.start
                self.assertEqual(asked(view, key, sublime.OP_EQUAL, True), is_left)
                self.run_command("type", character=typed)
                self.assertEqual(text_of(view), "answer\n" + COMPOSER + expected)
                self.assertFalse(asked(view, key, sublime.OP_EQUAL, True))
        yield from self.until_turn()
        self.assertEqual(composer.text, "abé !c")

    def test_what_is_pasted_above_the_composer_goes_to_where_its_caret_was(self) -> Steps:
        view = yield from self.chat()
        yield from self.update(view, patches=(Patch("a", 0, 0, Rendered("answer\n")),))
        self.type(view, "ac")
        composer = self.chats.tabs.chat_of(view).composer
        for point in (composer.start + 1, 2):
            view.sel().clear()
            view.sel().add(point)
            yield from self.until_carets_followed()
        sublime.set_clipboard("pasted\ntext")
        view.run_command("paste")
        self.assertEqual(self.unsent(view), "apasted\ntextc")

    def test_no_character_is_taken_from_another_view(self) -> Steps:
        view = yield from self.chat()
        other = yield from self.open("a.py", "x\n")
        self.assertFalse(
            plugin._host.running.key_context(
                other, "gemini_companion_in_transcript", sublime.OP_EQUAL, True
            )
        )
        self.run_command("type", character="a")
        self.assertEqual((text_of(other), self.unsent(view)), ("x\n", ""))

    def test_what_an_input_method_writes_above_the_composer_goes_into_it(self) -> Steps:
        if running is None:
            self.skipTest("nobody can use an input method in a real editor")
        view = yield from self.chat()
        yield from self.update(view, patches=(Patch("a", 0, 0, Rendered("answer\n")),))
        self.type(view, "mine")
        shown = "answer\n" + COMPOSER + "mine"
        for place, text in (((3, 3), "\u4f60"), ((0, 3), "\u597d"), ((2, view.size()), "!")):
            texts.select_ranges(view, [place])
            # No key binding and no listener hears of it.
            editor = running.current()
            for character in text:
                editor.ui(
                    editor.commands.run_text,
                    editor.view(view.id()),
                    "insert",
                    {"characters": character},
                    False,
                )
            shown += text
            yield from self.until_equal(partial(text_of, view), shown)

    def test_nothing_can_be_cut_from_or_deleted_in_the_transcript(self) -> Steps:
        view = yield from self.chat()
        yield from self.update(view, patches=(Patch("a", 0, 0, Rendered("answer\n")),))
        for name in ("left_delete", "right_delete", "cut", "delete_word"):
            texts.select_ranges(view, [(0, 3)])
            before = view.change_count()
            view.run_command(name)
            yield from self.until_turn()
            self.assertEqual((view.change_count(), text_of(view)), (before, "answer\n" + COMPOSER))
        self.assertEqual(sublime.get_clipboard(), "ans")

    def test_a_tab_that_an_older_release_left_read_only_can_be_written_into(self) -> Steps:
        view = yield from self.chat()
        self.chats.tabs.stop()
        view.set_read_only(True)
        self.chats.tabs.start()
        self.type(view, "mine")
        self.assertEqual(self.unsent(view), "mine")


class Lasting(ChatCase):
    def test_a_closed_tab_with_an_unsent_text_loses_nothing(self) -> Steps:
        view = yield from self.chat()
        conversation = self.id_of(view)
        self.type(view, "not yet")
        view.close()
        yield from self.until_turn()
        self.assertEqual(self.service.opened, [])
        self.run_command("chat")
        yield from self.until_turn()
        view = self.window.active_view()
        self.assertEqual(self.unsent(view), "not yet")
        self.assertEqual(self.id_of(view), conversation)

    def test_of_several_the_text_that_was_typed_last_comes_back_first(self) -> Steps:
        ids: list[str] = []
        for words in ("first", "last", " again"):
            if len(ids) < 2:
                view = yield from self.chat()
                ids.append(self.id_of(view))
                self.addCleanup(self.chats.drafts.forget, ids[-1])
            else:
                self.chats.open_chat(self.window, ids[0])
                view = self.window.active_view()
            self.type(view, words)
            view.close()
            yield from self.until_turn()
        self.run_command("chat")
        yield from self.until_turn()
        self.assertEqual(self.unsent(self.window.active_view()), "first again")

    def test_a_message_that_is_on_its_way_from_a_closed_tab_does_not_come_back(self) -> Steps:
        for is_opened_again in (False, True):
            view = yield from self.chat()
            conversation = self.id_of(view)
            self.type(view, "sent")
            self.run_command("send")
            yield lambda: self.service.asked
            view.close()
            yield from self.until_turn()
            if is_opened_again:
                self.chats.open_chat(self.window, conversation)
            _, answer = self.service.asked.pop()
            answer.give(None)
            yield from self.until_turn()
            self.chats.open_chat(self.window, conversation)
            view = self.window.active_view()
            self.assertEqual(self.unsent(view), "")
            view.close()

    def test_a_tab_that_comes_back_from_before_its_draft_does_not_replace_it(self) -> Steps:
        yield from self.chat()
        drafts = self.chats.drafts
        drafts.keep_text("restored", "newer", "")
        self.addCleanup(drafts.forget, "restored")
        view = self.window.new_file()
        view.run_command("append", {"characters": COMPOSER + "older"})
        view.settings().set(UNSENT, text_digest("older"))
        view.settings().set(LEFT, time.time() - 60)
        view.settings().set(CONVERSATION, "restored")
        self.chats.tabs.adopt_view(view)
        self.assertEqual((self.unsent(view), drafts.text_of("restored")), ("newer", "newer"))
        view.close()
        yield from self.until_turn()

    def test_a_chat_goes_on_after_a_restart_of_the_companion(self) -> Steps:
        view = yield from self.chat()
        self.type(view, "not yet")
        yield from self.update(view, patches=(Patch("a", 0, 0, Rendered("answer\n")),))
        sublime.run_command("gemini_companion_restart_companion")
        yield (
            lambda: plugin._host.is_running and plugin._host.running.chat.actions is not self.chats
        )
        self.chats = self.running().chat.actions
        yield lambda: len(self.service.opened) == 2
        self.assertEqual(text_of(view), "answer\n" + COMPOSER + "not yet")
        self.type(view, "!")
        yield from self.update(view, patches=(Patch("a", 0, 0, Rendered("new\n")),), is_anew=True)
        self.assertEqual(text_of(view), "new\n" + COMPOSER + "not yet!")

    def test_one_in_sight_beside_the_view_with_the_keyboard_goes_on_too(self) -> Steps:
        view = yield from self.chat()
        self.addCleanup(self.window.set_layout, self.window.layout())
        cells = [[0, 0, 1, 1], [1, 0, 2, 1]]
        self.window.set_layout({"cols": [0, 0.5, 1], "rows": [0, 1], "cells": cells})
        self.window.focus_group(1)
        file = yield from self.open("a.py", "x\n")
        self.assertEqual(self.window.get_view_index(file)[0], 1)
        sublime.run_command("gemini_companion_restart_companion")
        yield (
            lambda: plugin._host.is_running and plugin._host.running.chat.actions is not self.chats
        )
        self.chats = self.running().chat.actions
        yield lambda: self.service.opened == [self.id_of(view)] * 2
        self.assertEqual(self.window.active_view(), file)

    def test_what_is_typed_above_the_composer_until_it_is_there_again_is_in_the_composer(
        self,
    ) -> Steps:
        said = "▏ Gemini\nThe answer is two.\n"
        ways = {
            "restart": (plugin._host.stop, plugin._host.start),
            "upgrade": (plugin.plugin_unloaded, plugin.plugin_loaded),
        }
        typed = {
            "in the middle": (15, 15, "hello"),
            "at the beginning": (0, 0, "hello"),
            "just above the line": (len(said), len(said), "hello\n"),
            "over a selection": (13, 19, "hello"),
            "in rows": (15, 15, "one\ntwo\n"),
        }
        for way, (leave, come) in ways.items():
            for where, (start, end, words) in typed.items():
                with self.subTest(where, way=way):
                    view = yield from self.chat()
                    patches = (Patch("a", 0, 0, Rendered(said)),)
                    yield from self.update(view, patches=patches, is_anew=True)
                    self.type(view, "draft")
                    self.chats.tabs.chat_of(view).catch_up()
                    leave()
                    view.sel().clear()
                    view.sel().add(sublime.Region(start, end))
                    view.run_command("insert", {"characters": words})
                    opens = self.service.opens
                    come()
                    yield lambda: plugin._host.is_running and self.service.opens > opens  # noqa: B023
                    self.chats = self.running().chat.actions
                    self.type(view, "!")
                    yield from self.update(view, patches=patches, is_anew=True)
                    expected = f"{said}{COMPOSER}draft\n{words}!"
                    yield from self.until_equal(lambda: text_of(view), expected)  # noqa: B023
                    self.chats.tabs.chat_of(view).catch_up()
                    kept = self.chats.drafts.text_of(self.id_of(view))
                    self.assertEqual(kept, f"draft\n{words}!")
                    view.close()
                    self.chats.drafts.forget(self.id_of(view))
                    self.service.opened.clear()
                    yield from self.until_turn()

    def test_a_tab_that_is_dragged_to_another_window_goes_on_there(self) -> Steps:
        view = yield from self.chat()
        self.type(view, "not yet")
        sublime.run_command("new_window")
        other = next(window for window in sublime.windows() if window != self.window)
        self.addCleanup(other.run_command, "close_window")
        other.set_view_index(view, 0, 0)
        yield from self.update(view, patches=(Patch("a", 0, 0, Rendered("answer\n")),))
        self.assertEqual(text_of(view), "answer\n" + COMPOSER + "not yet")
        other.focus_view(view)
        other.run_command("gemini_companion_send")
        yield lambda: self.service.asked
        conversation = self.id_of(view)
        self.assertEqual(self.service.asked[0][0].chat, conversation)
        view.close()
        # It is not sent; no later test is to find it.
        self.chats.drafts.forget(conversation)

    def test_two_tabs_of_one_conversation_both_go_on(self) -> Steps:
        first = yield from self.chat()
        yield from self.update(first, patches=(Patch("a", 0, 0, Rendered("one\n")),), is_anew=True)
        second = self.window.new_file()
        second.settings().set(CONVERSATION, self.id_of(first))
        self.chats.tabs.adopt_view(second)
        patch = Patch("b", 4, 4, Rendered("two\n"))
        yield from self.update(first, patches=(patch,))
        self.assertEqual(text_of(second), COMPOSER)
        self.chats.tabs.activate_view(second)
        yield lambda: self.service.opens == 2
        all_of_it = Patch("a", 0, 0, Rendered("one\ntwo\n"))
        yield from self.update(first, patches=(all_of_it,), is_anew=True)
        first.close()
        yield from self.until_turn()
        self.assertEqual(self.service.opened, [self.id_of(second)])
        yield from self.update(second, patches=(Patch("c", 8, 8, Rendered("three\n")),))
        self.assertEqual(text_of(second), "one\ntwo\nthree\n" + COMPOSER)
        second.close()
        yield from self.until_turn()
        self.assertEqual(self.service.opened, [])

    def test_clones_share_the_chat_until_the_last_one_is_closed(self) -> Steps:
        view = yield from self.chat()
        self.window.run_command("clone_file")
        clone = self.window.active_view()
        view.close()
        yield from self.until_turn()
        yield from self.update(clone, patches=(Patch("a", 0, 0, Rendered("answer\n")),))
        self.assertEqual(text_of(clone), "answer\n" + COMPOSER)
        self.assertEqual(len(self.service.opened), 1)
        clone.close()
        yield from self.until_turn()
        self.assertEqual(self.service.opened, [])
