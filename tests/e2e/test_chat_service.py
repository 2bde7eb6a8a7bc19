"""The chat of an editor with a CLI behind it: from the opening of a conversation to its end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
from contextlib import suppress
from functools import partial
from http.client import HTTPConnection
from typing import Any, Callable, Sequence, TypeVar
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

from agent_case import KEY, MODEL, PROGRAM
from GeminiCompanion.companion.agent.agent import Options
from GeminiCompanion.companion.agent.agents.gemini_cli import GeminiCli
from GeminiCompanion.companion.agent.agents.program import FoundCommand
from GeminiCompanion.companion.agent.credentials import Credentials
from GeminiCompanion.companion.agent.engine import NAME, Engine
from GeminiCompanion.companion.agent.processes.runner import Launch
from GeminiCompanion.companion.agent.turn_events import CANCEL, MODIFY, ONCE, PastTurn
from GeminiCompanion.companion.api import editor_server
from GeminiCompanion.companion.api.editor_server import Service, ServiceOptions
from GeminiCompanion.companion.base.answer import Unanswered
from GeminiCompanion.companion.chat import chat_service, problems
from GeminiCompanion.companion.chat.attached import CONTEXT, FILE, IMAGE, SELECTION, Attached
from GeminiCompanion.companion.chat.chat_service import ChatService
from GeminiCompanion.companion.chat.chat_update import (
    FAILED,
    READY,
    STARTING,
    WORKING,
    ChatUpdate,
)
from GeminiCompanion.companion.chat.edit_requests import Checkpoints, Rewind
from GeminiCompanion.companion.chat.login_requests import Configure
from GeminiCompanion.companion.chat.requests import (
    Agents,
    AnswerElicitation,
    ChatRequest,
    ChooseOption,
    Decide,
    Delete,
    Export,
    Fork,
    ListConversations,
    Rename,
    SaidBefore,
    Send,
    SendNow,
    Stop,
    TakeBack,
    UndoTurn,
)
from GeminiCompanion.companion.chat.retry_requests import Reopen, SendAgain
from GeminiCompanion.companion.chat.transcript import Transcript
from GeminiCompanion.companion.chat.workspaces import Workspaces
from GeminiCompanion.tests.support import is_alive
from model_server import Gate, ModelServer, call, wants
from scripted import COMMAND

HERE = os.path.dirname(os.path.abspath(__file__))

T = TypeVar("T")
# Seconds for anything at all, with a start of the CLI on a busy machine in it.
PATIENCE = 180.0


def until(condition: Callable[[], T]) -> T:
    """Wait for what another thread or process brings."""
    ends = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > ends:
            raise AssertionError("waited in vain")
        time.sleep(0.005)
    return condition()


class Front:
    """A front end that does nothing but keep what it hears; `texts` are the documents as their
    patches have made them."""

    def __init__(self) -> None:
        self.updates: list[ChatUpdate] = []
        self.threads: set[str] = set()
        self.texts: dict[str, str] = {}

    def heard(self, update: ChatUpdate) -> None:
        self.threads.add(threading.current_thread().name)
        text = "" if update.is_anew else self.texts.get(update.conversation_id, "")
        for patch in update.patches:
            text = text[: patch.start] + patch.rendered.text + text[patch.end :]
        self.texts[update.conversation_id] = text
        self.updates.append(update)

    def last(self, id: str) -> ChatUpdate | None:
        found = [update for update in self.updates if update.conversation_id == id]
        return found[-1] if found else None


class ChatCase(unittest.TestCase):
    """`self.chat` is the service, `self.front` what it told."""

    credentials: Credentials | None = KEY
    command: tuple[str, ...] = COMMAND
    model: ModelServer

    @classmethod
    def setUpClass(cls) -> None:
        cls.model = ModelServer()
        cls.model.__enter__()
        cls.addClassCleanup(cls.model.__exit__, None, None, None)

    def setUp(self) -> None:
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="chat-"))
        self.addCleanup(shutil.rmtree, self.root, True)
        self.workspace = os.path.join(self.root, "work space")
        os.mkdir(self.workspace)
        self.start()

    def start(self) -> None:
        self.front = Front()
        self.engine = Engine(self.options)
        self.chat = ChatService(self.engine, self.front.heard)
        self.addCleanup(self.end)

    def end(self) -> None:
        """As the package is unloaded."""
        self.chat.stop()
        until(lambda: NAME not in [thread.name for thread in threading.enumerate()])

    def options(self) -> Options:
        return Options(self.launch(), os.path.join(self.root, "state"))

    def launch(self) -> Launch:
        variables = {"GOOGLE_GEMINI_BASE_URL": self.model.url, "NO_PROXY": "127.0.0.1"}
        fallback, look = self.credentials, lambda: FoundCommand(self.command)
        return Launch((), variables, {}, MODEL, fallback=fallback, look=look)

    def ask(self, request: ChatRequest[T]) -> T:
        answer = self.chat.ask(request)
        until(lambda: answer.is_there)
        return answer.result()

    def refused(self, request: ChatRequest[Any]) -> str:
        with self.assertRaises(Unanswered) as raised:
            self.ask(request)
        return str(raised.exception)

    def open(self, id: str = "", agent: str = "") -> str:
        """A chat that is ready."""
        id = self.chat.open_chat(self.workspace, agent, id).conversation_id
        self.until_state(id, READY)
        return id

    def until_state(self, id: str, *states: str) -> ChatUpdate:
        def there() -> ChatUpdate | None:
            last = self.front.last(id)
            return last if last is not None and last.state in states else None

        found = until(there)
        if found is None:
            raise AssertionError("no update")
        return found

    def until_text(self, id: str, words: str) -> str:
        until(lambda: words in self.front.texts.get(id, ""))
        return self.front.texts[id]

    def waiting(self, id: str) -> ChatUpdate:
        """The update with a question."""
        until(lambda: (last := self.front.last(id)) and last.waiting)
        found = self.front.last(id)
        if found is None:
            raise AssertionError("no update")
        return found

    def until_asked(self, turn: str) -> str:
        return until(lambda: self.waiting_call(turn))

    def waiting_call(self, turn: str) -> str:
        """The id of the call of this turn that waits; empty if none does."""
        for update in reversed(self.front.updates):
            for question in update.waiting:
                if question.turn == turn:
                    return question.id
        return ""

    def pids(self) -> list[int]:
        run = self.engine._run
        return [] if run is None else run.pids

    def path(self, name: str) -> str:
        return os.path.join(self.workspace, name)

    def content(self, path: str) -> str | None:
        with suppress(FileNotFoundError), open(path, encoding="utf-8") as file:
            return file.read()
        return None


class Talking(ChatCase):
    def test_a_new_chat_is_starting_from_the_first_moment_and_ready_before_a_message(self) -> None:
        first = self.chat.open_chat(self.workspace)
        self.assertEqual((first.state, first.workspace), (STARTING, self.workspace))
        ready = self.until_state(first.conversation_id, READY)
        told = [update.state for update in self.front.updates]
        self.assertEqual(told, sorted(told, key=[STARTING, READY].index))
        self.assertEqual((ready.agent, ready.agent_name), ("gemini", "Gemini CLI"))
        self.assertEqual((ready.model, ready.mode), (MODEL, "default"))

    def test_the_answer_comes_in_patches_on_the_engines_thread(self) -> None:
        gate = Gate()
        self.model.will_play("tell me", ["one ", gate, "two"])
        id = self.open()
        sent = self.ask(Send(id, "tell me"))
        self.assertTrue(sent.turn)
        self.until_text(id, "one")
        self.assertEqual(self.until_state(id, WORKING).title, "tell me")
        gate.set()
        self.until_state(id, READY)
        self.assertIn("tell me", self.front.texts[id])
        self.assertIn("two", self.front.texts[id])
        self.assertEqual(self.front.threads, {NAME})

    def test_no_more_than_thirty_updates_come_in_a_second(self) -> None:
        self.model.will_play("much", [f"{number} " for number in range(500)])
        id = self.open()
        began = time.monotonic()
        before = len(self.front.updates)
        self.ask(Send(id, "much"))
        self.until_text(id, "499")
        self.until_state(id, READY)
        most = (time.monotonic() - began) * 30 + 2
        self.assertLessEqual(len(self.front.updates) - before, most)

    def test_what_is_said_while_a_turn_runs_waits_and_can_be_taken_back(self) -> None:
        gate = Gate()
        self.model.will_play("first", ["one ", gate, "two"])
        self.model.will_play("second", ["The second."])
        id = self.open()
        self.ask(Send(id, "first"))
        second, third = (self.ask(Send(id, text)).queued for text in ("second", "third"))
        until(lambda: len(self.front.last(id).queue.messages) == 2)
        self.assertEqual(self.ask(TakeBack(id, third)).text, "third")
        until(
            lambda: [message.text for message in self.front.last(id).queue.messages] == ["second"]
        )
        gate.set()
        self.until_text(id, "The second.")
        until(lambda: not self.front.last(id).queue.messages)
        self.assertIn("no message", self.refused(TakeBack(id, second)).lower())

    def test_what_a_message_names_and_shows_goes_with_it_and_it_is_found_again(self) -> None:
        path, image = (os.path.join(self.workspace, name) for name in ("a b.txt", "a.png"))
        for name, content in ((path, b"text"), (image, b"\x89PNG\r\n\x1a\n" + bytes(40))):
            with open(name, "wb") as file:
                file.write(content)
        self.model.will_play("What is", ["A picture."])
        id = self.open()
        self.assertEqual(self.ask(SaidBefore(id)), ())
        text = "What is @a\\ b.txt#L1?"
        self.ask(Send(id, text, (Attached(IMAGE, "a.png", image),)))
        self.until_text(id, "A picture.")
        self.assertIn("with a b.txt, a.png", self.front.texts[id])
        self.until_state(id, READY)
        self.assertEqual(self.ask(SaidBefore(id)), (text,))

    def test_a_text_that_is_quoted_names_no_file(self) -> None:
        with open(self.path("secret.txt"), "wb") as file:
            file.write(b"hidden")
        self.model.will_play("What is", ["A comment."])
        id = self.open()
        quoted = Attached(SELECTION, "of b.py", text="# see @secret.txt")
        self.ask(Send(id, "What is this?", (quoted,)))
        self.assertIn("with selection of b.py\n", self.until_text(id, "A comment."))
        told = json.dumps(self.model.last_request()["contents"])
        self.assertIn("@secret.txt", told)
        self.assertNotIn("hidden", told)

    def test_a_message_that_is_gone_back_to_is_as_it_was_written(self) -> None:
        path, image = self.path("a.txt"), self.path("a.png")
        for name, content in ((path, b"text"), (image, b"\x89PNG\r\n\x1a\n" + bytes(40))):
            with open(name, "wb") as file:
                file.write(content)
        words = "What is @other.txt?\n\n[From the editor] mine"
        shutil.copy(path, self.path("other.txt"))
        given = (
            Attached(FILE, "a.txt", path),
            Attached(IMAGE, "a.png", image),
            Attached(SELECTION, "of b.py", text="x = 1"),
        )
        self.model.will_play("What is", ["A picture."])
        id = self.open()
        context = Attached(CONTEXT, "of the editor", text="[From the editor] Open: a.txt.")
        turn = self.ask(Send(id, words, (*given, context))).turn
        shown = self.until_text(id, "A picture.")
        self.assertIn("a.png, selection of b.py, context of the editor\nx = 1\n[From", shown)
        self.assertIn("Open: a.txt.", json.dumps(self.model.last_request()["contents"]))
        self.until_state(id, READY)
        self.assertEqual(self.ask(SaidBefore(id)), (words,))
        self.assertEqual(self.ask(Checkpoints(id))[0].text, words)
        rewound = self.ask(Rewind(id, turn))
        self.assertEqual((rewound.words, rewound.workspace), (words, self.workspace))
        kinds = [
            (attachment.kind, attachment.name, attachment.text) for attachment in rewound.attached
        ]
        self.assertEqual(
            kinds, [(attachment.kind, attachment.name, attachment.text) for attachment in given]
        )
        # The image is that of the old conversation.
        os.unlink(image)
        self.open(rewound.conversation)
        self.ask(Send(rewound.conversation, rewound.words, rewound.attached))
        shown = self.until_text(rewound.conversation, "A picture.")
        self.assertIn("other.txt, a.png, selection of b.py\nx = 1\n\nA picture.", shown)

    def test_a_message_that_waits_can_be_sent_now(self) -> None:
        gate = Gate()
        self.model.will_play("long", ["one ", gate, "never"])
        self.model.will_play("urgent", ["Here you are."])
        self.addCleanup(gate.set)
        id = self.open()
        self.ask(Send(id, "long"))
        self.until_text(id, "one")
        queued = self.ask(Send(id, "urgent")).queued
        self.ask(SendNow(id, queued))
        self.until_text(id, "Here you are.")

    def test_a_turn_can_be_stopped(self) -> None:
        gate = Gate()
        self.model.will_play("stop me", ["one ", gate, "never"])
        self.addCleanup(gate.set)
        id = self.open()
        self.ask(Send(id, "stop me"))
        self.until_text(id, "one")
        self.ask(Stop(id))
        self.until_state(id, READY)
        self.assertNotIn("never", self.front.texts[id])

    def test_a_call_waits_for_the_users_decision(self) -> None:
        for outcome, text, expected in (
            (ONCE, None, "new\n"),
            (CANCEL, None, None),
            (MODIFY, "mine\n", "mine\n"),
        ):
            with self.subTest(outcome):
                path = self.path(f"{outcome}.txt")
                self.model.will_play(
                    f"write {outcome}",
                    [call("write_file", file_path=path, content="new\n")],
                    ["Done."],
                )
                id = self.open()
                turn = self.ask(Send(id, f"write {outcome}")).turn
                call_id = self.until_asked(turn)
                self.ask(Decide(id, call_id, outcome, text))
                self.until_state(id, READY)
                self.assertEqual(self.content(path), expected)

    def test_a_turn_can_be_undone(self) -> None:
        path = self.path("a.txt")
        with open(path, "w") as file:
            file.write("old\n")
        self.model.will_play(
            "edit", [call("write_file", file_path=path, content="new\n")], ["Done."]
        )
        id = self.open()
        turn = self.ask(Send(id, "edit")).turn
        self.ask(Decide(id, self.until_asked(turn), ONCE))
        self.until_state(id, READY)
        (change,) = self.ask(UndoTurn(id, turn))
        self.assertEqual((change.path, change.state), (path, "undone"))
        self.assertEqual(self.content(path), "old\n")
        self.until_text(id, "1 file changed, then undone")
        self.end()
        self.start()
        self.open(id)
        self.until_text(id, "1 file changed, then undone")
        self.ask(UndoTurn(id, turn, again=True))
        self.assertEqual(self.content(path), "new\n")
        self.until_text(id, "1 file changed, undone, and made again")

    def test_a_question_of_the_agent_is_answered_by_a_form(self) -> None:
        schema = {"type": "object", "properties": {"times": {"type": "integer", "minimum": 1}}}
        asked = {"mode": "form", "message": "How often?", "requestedSchema": schema}
        self.model.will_play("ask me", [{"asks": asked}])
        id = self.open()
        self.ask(Send(id, "ask me"))
        (question,) = self.waiting(id).waiting
        self.assertEqual((question.title, question.fields[0].name), ("How often?", "times"))
        self.refused(AnswerElicitation(question.id, "accept", {"times": 0}))
        self.ask(AnswerElicitation(question.id, "accept", {"times": 3}))
        self.until_text(id, '"times": 3')
        self.assertEqual(self.until_state(id, READY).waiting, ())

    def test_options_and_commands_are_those_of_the_agent(self) -> None:
        id = self.open()
        options = self.front.last(id).options
        self.assertEqual([option.id for option in options.options], ["model", "mode"])
        self.ask(ChooseOption(id, "mode", "plan"))
        until(lambda: self.front.last(id).mode == "plan")
        until(lambda: "help" in [command.name for command in self.front.last(id).commands])
        self.assertIn("nonsense", self.refused(ChooseOption(id, "mode", "nonsense")))


class Lasting(ChatCase):
    def test_a_conversation_goes_on_after_a_restart(self) -> None:
        self.model.will_play("remember", ["I shall."])
        self.model.will_play("what", ["The number."])
        id = self.open()
        self.ask(Send(id, "remember"))
        self.until_text(id, "I shall.")
        self.until_state(id, READY)
        before = self.front.texts[id]
        self.end()
        self.start()
        self.open(id)
        self.assertEqual(self.front.texts[id], before)
        self.ask(Send(id, "what"))
        self.until_text(id, "The number.")

    def test_a_long_conversation_is_drawn_beside_the_loop_that_all_chats_share(self) -> None:
        self.model.will_play("hello", ["said"])
        id = self.open()
        self.ask(Send(id, "hello"))
        self.until_text(id, "said")
        self.until_state(id, READY)
        self.chat.close_chat(id)
        threads: list[str] = []

        def load(document: Transcript, turns: Sequence[PastTurn]) -> None:
            threads.append(threading.current_thread().name)
            past(document, turns)

        past = Transcript.load_turns
        with unittest.mock.patch.object(Transcript, "load_turns", load):
            self.front.texts.clear()
            self.chat.open_chat(self.workspace, "", id)
            self.until_text(id, "said")
        self.assertNotIn(NAME, threads)
        self.assertEqual(len(threads), 1)

    def test_one_in_which_nothing_was_said_leaves_nothing(self) -> None:
        id = self.open()
        self.chat.close_chat(id)
        folder = os.path.join(self.root, "state", "conversations")
        until(lambda: not [name for name in os.listdir(folder) if name.startswith(id)])
        self.assertEqual(self.ask(ListConversations()).conversations, ())

    def test_one_that_an_editor_left_without_a_word_said_is_gone_at_the_next_start(self) -> None:
        id = self.open()
        self.engine.quit()
        until(lambda: NAME not in [thread.name for thread in threading.enumerate()])
        self.start()
        self.assertEqual(self.ask(ListConversations()).conversations, ())
        folder = os.path.join(self.root, "state", "conversations")
        self.assertEqual([name for name in os.listdir(folder) if name.startswith(id)], [])

    def test_conversations_are_listed_searched_renamed_forked_exported_and_deleted(self) -> None:
        self.model.will_play("about apples", ["Apples are red."])
        id = self.open()
        self.ask(Send(id, "about apples"))
        self.until_state(id, READY)
        self.until_text(id, "red")
        listed = self.ask(ListConversations(Workspaces((self.workspace,))))
        self.assertEqual([conversation.id for conversation in listed.conversations], [id])
        self.assertEqual(self.ask(ListConversations(Workspaces(("/elsewhere",)))).conversations, ())
        found = self.ask(ListConversations(words="are red"))
        self.assertEqual([conversation.id for conversation in found.conversations], [id])
        self.assertIn("red", found.excerpts[id])
        self.ask(Rename(id, "Fruit"))
        until(lambda: self.front.last(id).title == "Fruit")
        copy = self.ask(Fork(id)).id
        self.open(copy)
        self.assertIn("Apples are red.", self.front.texts[copy])
        self.assertIn("Apples are red.", self.ask(Export(id)))
        self.ask(Delete(id))
        self.chat.close_chat(id)
        left = self.ask(ListConversations())
        self.assertEqual([conversation.id for conversation in left.conversations], [copy])
        self.assertIn("no conversation", self.refused(Delete(id)))

    def test_a_turn_goes_on_where_its_chat_was_closed(self) -> None:
        gate = Gate()
        self.model.will_play("go on", ["one ", gate, "two"])
        id = self.open()
        self.ask(Send(id, "go on"))
        self.until_text(id, "one")
        self.chat.close_chat(id)
        gate.set()
        (info,) = until(lambda: self.at_rest())
        self.assertEqual(info.turns, 1)
        self.front.texts.clear()
        self.open(id)
        self.assertIn("two", self.front.texts[id])

    def test_a_closed_chat_answers_no_until_it_is_open_again(self) -> None:
        schema = {"type": "object", "properties": {"times": {"type": "integer"}}}
        asked = {"mode": "form", "message": "How often?", "requestedSchema": schema}
        gates = Gate(), Gate()
        for gate in gates:
            self.addCleanup(gate.set)
        self.model.will_play("first", ["one ", gates[0], wants("make one"), {"asks": asked}])
        self.model.will_play("second", ["two ", wants("make two")])
        self.model.will_play("third", ["three ", gates[1], wants("make three")])
        id = self.open()
        self.ask(Send(id, "first"))
        self.until_text(id, "one")
        for words in ("second", "third"):
            self.ask(Send(id, words))
        self.chat.close_chat(id)
        gates[0].set()
        until(lambda: self.exported(id, "three"))
        self.chat.open_chat(self.workspace, "", id)
        for words in ("make one: rejected.", "make two: rejected.", "three"):
            self.until_text(id, words)
        gates[1].set()
        (question,) = self.waiting(id).waiting
        self.ask(Decide(id, question.id, ONCE, revision=question.revision))
        self.until_text(id, "make three: allowed.")

    def exported(self, id: str, words: str) -> bool:
        return words in self.ask(Export(id))

    def test_a_message_is_said_although_its_chat_is_closed_at_once(self) -> None:
        for words, is_ready in (("plain", True), ("with @a file", True), ("at once", False)):
            with self.subTest(words):
                self.model.will_play(words, ["said"])
                id = (
                    self.open() if is_ready else self.chat.open_chat(self.workspace).conversation_id
                )
                answer = self.chat.ask(Send(id, words))
                self.chat.close_chat(id)
                until(partial(getattr, answer, "is_there"))
                self.assertTrue(answer.result().turn)
                listed = until(self.at_rest)
                self.assertIn(id, [conversation.id for conversation in listed])

    def test_a_chat_without_a_word_said_can_be_opened_again_at_once(self) -> None:
        self.model.will_play("hello", ["said"])
        id = self.open()
        for _ in range(5):
            self.chat.close_chat(id)
            self.chat.open_chat(self.workspace, "", id)
        self.front.updates.clear()
        self.until_state(id, READY, FAILED)
        self.assertTrue(self.ask(Send(id, "hello")).turn)
        self.until_text(id, "said")

    def at_rest(self) -> Any:
        found = self.ask(ListConversations()).conversations
        return found if not any(conversation.is_busy for conversation in found) else ()


class Failing(ChatCase):
    def test_an_agent_that_dies_is_told_and_started_anew_with_the_next_message(self) -> None:
        gate = Gate()
        self.model.will_play("die", ["one ", gate, "never"])
        self.model.will_play("again", ["Here I am."])
        self.addCleanup(gate.set)
        id = self.open()
        self.ask(Send(id, "die"))
        self.until_text(id, "one")
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.until_state(id, READY)
        self.assertIn("Gemini CLI", self.front.texts[id].partition("one")[2])
        self.ask(Send(id, "again"))
        self.until_text(id, "Here I am.")

    def test_an_agent_that_cannot_be_started_is_told_and_may_come_later(self) -> None:
        there, self.command = self.command, (os.path.join(self.root, "no such program"),)
        id = self.chat.open_chat(self.workspace).conversation_id
        failed = self.until_state(id, FAILED)
        self.assertIn("cannot be started", failed.problem)
        self.assertEqual(failed.code, "CLIENT_NOT_INITIALIZED")
        self.assertIn("cannot be started", self.refused(Send(id, "hello")))
        self.until_state(id, FAILED)
        self.command = there
        self.model.will_play("hello", ["Hi."])
        self.ask(Send(id, "hello"))
        self.until_text(id, "Hi.")
        self.assertEqual(self.until_state(id, READY).problem, "")

    def test_a_chat_that_failed_is_opened_again_without_a_message(self) -> None:
        there, self.command = self.command, (os.path.join(self.root, "no such program"),)
        id = self.chat.open_chat(self.workspace).conversation_id
        self.until_state(id, FAILED)
        self.command = there
        self.ask(Reopen(id))
        self.until_state(id, READY)

    def test_the_message_of_a_turn_is_sent_again_with_its_files(self) -> None:
        with open(self.path("a.txt"), "w") as file:
            file.write("one\n")
        self.model.will_play("look", ["First."])
        id = self.open()
        turn = self.ask(Send(id, "look", (Attached(FILE, "a.txt", self.path("a.txt")),))).turn
        self.until_text(id, "First.")
        self.until_state(id, READY)
        self.model.will_play("look", ["Second."])
        self.ask(SendAgain(id, turn))
        text = self.until_text(id, "Second.")
        self.assertEqual(text.count("with a.txt"), 2)
        self.assertIn("not in the conversation", self.refused(SendAgain(id, "none")))

    def test_without_credentials_the_user_is_told(self) -> None:
        self.credentials = None
        id = self.chat.open_chat(self.workspace).conversation_id
        failed = self.until_state(id, FAILED)
        self.assertEqual(failed.code, "AUTH_NOT_SET")
        (row,) = self.ask(Agents())
        self.assertEqual((row.id, row.is_usual, row.is_there), ("gemini", True, True))
        self.assertFalse(row.login.is_authenticated)
        self.assertIn("nonsense", self.refused(Configure("gemini", Credentials("nonsense"))))
        self.ask(Configure("gemini", KEY))
        self.until_state(id, READY)
        (row,) = self.ask(Agents())
        self.assertTrue(row.login.is_authenticated)

    def test_a_workspace_that_is_gone_is_told(self) -> None:
        id = self.chat.open_chat(os.path.join(self.root, "gone")).conversation_id
        self.assertIn("folder", self.until_state(id, FAILED).problem)

    def test_a_workspace_in_which_the_keys_lie_is_refused(self) -> None:
        id = self.chat.open_chat(self.root).conversation_id
        self.assertIn("keys", self.until_state(id, FAILED).problem)
        self.assertIn("keys", self.refused(Send(id, "hello")))

    def test_an_engine_that_cannot_run_is_told_in_all_chats_and_tried_again(self) -> None:
        state = os.path.join(self.root, "state")
        with open(state, "w"):
            pass
        id = self.chat.open_chat(self.workspace).conversation_id
        failed = self.until_state(id, FAILED)
        self.assertIn(state, failed.problem)
        os.unlink(state)
        self.model.will_play("hello", ["Hi."])
        self.ask(Send(id, "hello"))
        self.until_text(id, "Hi.")

    def test_what_is_not_possible_is_a_sentence(self) -> None:
        id = self.open()
        for request in (
            Send(id, "  "),
            Send("0" * 32, "hello"),
            Send(id, "hello", (Attached(FILE, "gone", self.path("gone")),)),
            Decide(id, "no call", ONCE),
            Fork(id, "no turn"),
            UndoTurn(id, "no turn"),
        ):
            with self.subTest(request):
                self.assertRegex(self.refused(request), r"^[A-Z].*\.$")
        self.assertEqual(self.until_state(id, READY).problem, "")


class Ending(ChatCase):
    def test_an_editor_that_quits_leaves_neither_the_cli_nor_a_command_of_it(self) -> None:
        marker = self.path("running")
        line = f"echo $$ > '{marker}.new'; mv '{marker}.new' '{marker}'; sleep 1234.5"
        self.model.will_play("sleep", [call("run_shell_command", command=line)], ["Slept."])
        id = self.open()
        turn = self.ask(Send(id, "sleep")).turn
        self.ask(Decide(id, self.until_asked(turn), ONCE))
        command = int(until(lambda: self.content(marker)) or "0")
        pids = [command, *self.pids()]
        self.assertEqual(len(pids), 2)
        self.engine.quit()
        until(lambda: not any(map(is_alive, pids)))

    def test_the_engine_ends_some_time_after_the_last_chat_and_begins_with_the_next(self) -> None:
        with unittest.mock.patch.object(chat_service, "LINGER", 0.05):
            id = self.open()
            self.chat.close_chat(id)
            until(lambda: NAME not in [thread.name for thread in threading.enumerate()])
        self.open()

    def test_after_the_stop_every_request_is_answered_with_a_sentence(self) -> None:
        id = self.open()
        self.end()
        self.assertEqual(self.refused(Send(id, "hello")), chat_service.ENDED)


class BesideTheServer(ChatCase):
    """The API's server on the same engine."""

    def serve(self, shows_chats: bool) -> Service:
        folder = os.path.join(self.root, "state")
        page: Callable[[], dict[str, bytes]] = dict
        given = ServiceOptions(folder, (self.workspace,), 0, page, shows_chats)
        service = Service(self.engine, given, lambda: None)
        self.addCleanup(service.stop)
        service.start()
        until(lambda: service.serving or service.problem)
        self.assertEqual(service.problem, "")
        return service

    def options(self) -> Options:
        return editor_server.engine_options(os.path.join(self.root, "state"), [self.launch()])

    def http(self, service: Service, method: str, path: str, body: Any = None) -> Any:
        serving = service.serving
        if serving is None:
            raise AssertionError("nothing is served")
        headers = {"Authorization": f"Bearer {serving.token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        asked = HttpRequest(serving.url + path, data, headers, method=method)
        try:
            with urlopen(asked, timeout=PATIENCE) as response:
                return json.load(response)
        except HTTPError as error:
            with error:
                return json.load(error)

    def said(self, id: str) -> None:
        self.model.will_play("begin", ["Begun here."])
        self.ask(Send(id, "begin"))
        self.until_text(id, "Begun here.")
        self.until_state(id, READY)

    def test_a_turn_that_is_undone_in_the_browser_is_undone_in_the_tab(self) -> None:
        id, service = self.open(), self.serve(shows_chats=True)
        path = self.path("a.txt")
        self.model.will_play(
            "edit", [call("write_file", file_path=path, content="new\n")], ["Done."]
        )
        turn = self.ask(Send(id, "edit")).turn
        self.ask(Decide(id, self.until_asked(turn), ONCE))
        self.until_state(id, READY)
        self.http(service, "POST", f"/sessions/{id}/turns/{turn}/undo", {})
        self.until_text(id, "1 file changed, then undone")

    def test_a_question_that_the_agent_changes_needs_another_answer_in_the_tab(self) -> None:
        gate = Gate()
        self.addCleanup(gate.set)
        self.model.will_play("swap", [wants("make test"), gate, wants("rm -r /")])
        id = self.open()
        self.ask(Send(id, "swap"))
        (former,) = self.waiting(id).waiting
        gate.set()
        self.until_text(id, "The agent has changed what it asks.")
        (asked,) = self.waiting(id).waiting
        self.assertEqual((former.text, asked.text), ("make test", "rm -r /"))
        told = self.refused(Decide(id, former.id, ONCE, revision=former.revision))
        self.assertIn("The agent has changed what it asks since then.", told)
        self.ask(Decide(id, asked.id, ONCE, revision=asked.revision))
        self.until_state(id, READY)
        for words in ("make test: cancelled.", "rm -r /: allowed."):
            self.assertNotIn("The agent has changed", self.until_text(id, words))

    def test_a_conversation_of_the_tab_goes_on_in_the_browser_and_the_other_way_round(self) -> None:
        id = self.open()
        self.said(id)
        service = self.serve(True)
        (listed,) = self.http(service, "GET", "/sessions")["sessions"]
        self.assertEqual(listed["sessionId"], id)
        self.model.will_play("go on", ["Gone on there."])
        told = self.http(service, "POST", "/chat", {"message": "go on", "sessionId": id})
        self.assertEqual(told["response"], "Gone on there.")
        self.until_text(id, "Gone on there.")
        self.assertIn("go on", self.front.texts[id])
        self.assertEqual(len(self.pids()), 1)

    def test_without_the_setting_a_client_does_not_know_of_it(self) -> None:
        id = self.open()
        self.said(id)
        service = self.serve(False)
        self.assertEqual(self.http(service, "GET", "/sessions")["sessions"], [])
        told = self.http(service, "POST", "/chat", {"message": "hello", "sessionId": id})
        self.assertEqual(told["code"], "SESSION_NOT_FOUND")
        path = self.path("asked.txt")
        self.model.will_play(
            "ask", [call("write_file", file_path=path, content="new\n")], ["Done."]
        )
        turn = self.ask(Send(id, "ask")).turn
        asked = self.until_asked(turn)
        self.assertEqual(self.http(service, "GET", "/tool-confirmations")["confirmations"], [])
        decision = {"callId": asked, "outcome": ONCE}
        told = self.http(service, "POST", "/tool-confirmation", decision)
        self.assertEqual(told["code"], "TOOL_CALL_NOT_FOUND")
        self.assertEqual(self.http(service, "POST", "/cancel", {})["cancelled"], 0)
        told = self.http(service, "GET", f"/chat/{turn}/events")
        self.assertEqual(told["code"], "TURN_NOT_FOUND")
        self.ask(Decide(id, asked, ONCE))
        self.until_text(id, "Done.")

    def test_the_end_of_the_server_leaves_the_chat_alone(self) -> None:
        gate = Gate()
        self.model.will_play("long", ["one ", gate, "two"])
        id = self.open()
        service = self.serve(True)
        self.ask(Send(id, "long"))
        self.until_text(id, "one")
        service.stop()
        until(lambda: not service.is_running)
        gate.set()
        self.until_text(id, "two")
        self.until_state(id, READY)

    def test_one_that_a_client_deletes_is_told_and_the_next_message_begins_another(self) -> None:
        id = self.open()
        self.said(id)
        service = self.serve(True)
        self.http(service, "DELETE", f"/sessions/{id}")
        self.assertEqual(self.until_state(id, FAILED).problem, problems.DELETED)
        self.assertIn("Begun here.", self.front.texts[id])
        self.model.will_play("anew", ["Begun anew."])
        self.ask(Send(id, "anew"))
        self.until_text(id, "Begun anew.")
        self.assertNotIn("Begun here.", self.front.texts[id])

    def test_a_turn_of_a_client_that_goes_away_goes_on_in_the_tab(self) -> None:
        id = self.open()
        self.said(id)
        gate = Gate()
        self.addCleanup(gate.set)
        self.model.will_play("from there", ["one ", gate, "two"])
        service = self.serve(True)
        serving = service.serving
        if serving is None:
            raise AssertionError("nothing is served")
        body = json.dumps({"message": "from there", "sessionId": id}).encode()
        place = urlsplit(serving.url)
        client = HTTPConnection(place.hostname or "", place.port)
        headers = {"Authorization": f"Bearer {serving.token}", "Content-Type": "application/json"}
        client.request("POST", f"{place.path}/chat", body, headers)
        self.until_text(id, "one")
        client.close()
        # The server has seen that it is gone before it answers this.
        self.http(service, "GET", "/status")
        gate.set()
        self.until_text(id, "two")
        self.until_state(id, READY)

    def test_the_end_of_the_chat_leaves_the_server_alone(self) -> None:
        service = self.serve(True)
        self.open()
        self.chat.stop()
        self.assertEqual(self.http(service, "GET", "/status")["success"], True)


# Says hello by a chat, and then which libraries it needed.
ALONE = """
import json, sys, time
sys.path[:0] = sys.argv[1:3]
import agent_case
from GeminiCompanion.companion.agent.agent import Options
from GeminiCompanion.companion.agent.engine import Engine
from GeminiCompanion.companion.agent.processes.runner import Launch
from GeminiCompanion.companion.chat.requests import Send
from GeminiCompanion.companion.chat.chat_service import ChatService

command, url, root = json.loads(sys.argv[3])
variables = {"GOOGLE_GEMINI_BASE_URL": url, "NO_PROXY": "127.0.0.1"}
launch = Launch(tuple(command), variables, {}, agent_case.MODEL, fallback=agent_case.KEY)
said = ""

def heard(update):
    global said
    for patch in update.patches:
        said = said[: patch.start] + patch.rendered.text + said[patch.end :]

engine = Engine(lambda: Options(launch, root + "/state"))
service = ChatService(engine, heard)
service.ask(Send(service.open_chat(root + "/work space").conversation_id, "hello"))
ends = time.monotonic() + 90
while "Hi there." not in said and time.monotonic() < ends:
    time.sleep(0.01)
print("Hi there." in said, [name for name in ("aiohttp", "jsonschema") if name in sys.modules])
engine.quit()
"""


@unittest.skipUnless(os.path.exists(PROGRAM), "the CLI is not installed: make setup")
class WithTheRealCli(ChatCase):
    def test_it_talks_without_the_libraries_of_the_server(self) -> None:
        self.model.will_play("hello", ["Hi there."])
        given = json.dumps([GeminiCli.program.find_command(HERE), self.model.url, self.root])
        command = [sys.executable, "-c", ALONE, HERE, os.path.dirname(HERE), given]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((done.stdout, done.stderr), ("True []\n", ""))
