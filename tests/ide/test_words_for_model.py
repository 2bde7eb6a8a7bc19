"""Words that go along with what a CLI sends its model next."""

from __future__ import annotations

import os
from typing import Any
from unittest import mock

from GeminiCompanion.companion.base import private_files
from GeminiCompanion.companion.base.path_maps import PathMap, PathMaps
from GeminiCompanion.companion.ide import hook_events
from GeminiCompanion.companion.ide.clis import GEMINI_CLI, QWEN_CODE, Cli, CliSession
from GeminiCompanion.companion.ide.hooks import words_for_model
from GeminiCompanion.companion.ide.hooks.hook_answers import CUT, MAX_CONTEXT, bound_context
from GeminiCompanion.companion.ide.hooks.hook_desk import HookDesk
from GeminiCompanion.companion.ide.hooks.words_for_model import MAX_WAITING, WordsForModel

from ..support import FakeEditor, InLoop, patched
from ..tables import rows, told, word

FOLDER = os.path.abspath(os.path.join(os.sep, "w"))
CLIS = {"c": GEMINI_CLI, "q": QWEN_CODE, "d": GEMINI_CLI}
# That of `d`, a CLI in a container, is not known.
PIDS = {"c": 7, "q": 8, "d": 0}
PROMPTED = {"c": "BeforeAgent", "q": "UserPromptSubmit"}
ENDED = {"c": "AfterTool", "q": "PostToolUse"}


class WordsCase(InLoop):
    """CLIs are called `c`, a Gemini CLI, and `q`, a Qwen Code, each with an MCP session of its
    name. `read` is what their models read with the last hook."""

    def setUp(self) -> None:
        self.now, self.changes, self.read = 1000.0, 0, ""
        self.editor = FakeEditor()
        self.goes_out, self.taken, self.knows_turns = True, False, True
        self.running = {7, 8}
        patched(self, mock.patch.object(words_for_model.time, "time", lambda: self.now))
        patched(self, mock.patch.object(private_files, "is_running", self.running.__contains__))
        self.start()

    def start(self) -> None:
        hooks = HookDesk(mock.Mock(), mock.Mock())
        self.live = hooks.live
        self.words_for_model = WordsForModel(1, self.editor, hooks, self.changed)

    def changed(self) -> None:
        self.changes += 1

    async def hear(self, name: str, event: str, **told: Any) -> None:
        cli: Cli = CLIS[name]
        told = {"hook_event_name": event, "session_id": name, "cwd": FOLDER, **told}
        found = hook_events.read_hook(cli, {"pid": PIDS[name], "version": "1", "input": told})
        assert found is not None
        self.live.apply_hook(found, name)
        answer = await self.words_for_model.answer_hook(found, None)
        for settle in answer.settle:
            settle(self.goes_out)
        self.read = answer.context

    def path(self, name: str) -> str:
        return os.path.join(FOLDER, name)

    @word(r"(\w) is prompted( for nothing)?")
    async def prompted(self, name: str, nothing: str | None) -> None:
        await self.hear(name, PROMPTED[name], prompt="" if nothing else "do it")

    @word(r"(\w) (begins|ends|answers)")
    async def lives(self, name: str, what: str) -> None:
        events = {"begins": "SessionStart", "ends": "SessionEnd", "answers": "AfterAgent"}
        await self.hear(name, events[what])

    @word(r"(\w) writes (\S+)( in vain)?( by another name)?")
    async def writes(self, name: str, file: str, fails: str | None, other: str | None) -> None:
        response: dict[str, Any] = {"error": {"message": "no"}} if fails else {}
        if other:
            response, file = {"returnDisplay": {"filePath": self.path(file)}}, "/link/" + file
        told = {"tool_name": "write_file", "tool_input": {"file_path": file}}
        await self.hear(name, ENDED[name], **told, tool_response=response)

    @word(r"(\w) runs a command")
    async def runs(self, name: str) -> None:
        told = {"tool_name": "run_shell_command", "tool_input": {"command": "ls"}}
        await self.hear(name, ENDED[name], **told)

    @word(r"(\S+) of (\w) is (accepted|rejected|decided) with (.+)")
    def decided(self, file: str, name: str, how: str, text: str) -> None:
        is_accepted = {"accepted": True, "rejected": False, "decided": None}[how]
        path = self.path(file)
        self.taken = self.words_for_model.take_words(name, path, is_accepted, text)

    @word(r"(\S+) that (\w) wrote without asking is reviewed with (.+)")
    def reviewed(self, file: str, name: str, text: str) -> None:
        key = CliSession(CLIS[name].id, name) if self.knows_turns else None
        client = CLIS[name].name
        take = self.words_for_model.take_on_unasked
        self.taken = take(key, client, self.path(file), text)

    @word("somebody looks(?: after (.+) s)?")
    async def look(self, seconds: str | None) -> None:
        self.now += float(seconds or 0)
        await self.words_for_model.return_undeliverable()

    @word("the editor starts again")
    def restart(self) -> None:
        saved = self.words_for_model.saved_words()
        self.start()
        self.words_for_model.adopt_words(saved)

    words = {
        r"(\w) is killed": lambda t, name: (
            t.live.forget([session for session in t.live.all() if session.pid == PIDS[name]]),
            t.running.discard(PIDS[name]),
        ),
        "no turn is known": lambda t: setattr(t, "knows_turns", False),
        "no answer goes out": lambda t: setattr(t, "goes_out", False),
        "answers go out": lambda t: setattr(t, "goes_out", True),
        "there is no window": lambda t: setattr(t.editor, "has_window", False),
        "there is a window": lambda t: setattr(t.editor, "has_window", True),
    }
    seen = {
        "the model reads": lambda t: t.read.replace(FOLDER + os.sep, ""),
        "given back is": lambda t: [
            f"{text} for {os.path.basename(path)}" for _, path, text in t.editor.returned
        ],
        "what waits is": lambda t: [each.text for each in t.words_for_model.saved_words()],
        "they are taken:": lambda t: t.taken,
    }


ACCEPTED = "The user accepted the edit of a.py in the editor, and says:"
SAYS = "The user says about the edit of a.py:"
REJECTED = "The user rejected the edit of a.py in the editor, and says:"


@rows(f"""
    a note of a rejection goes along with the next prompt and once
        c begins; a.py of c is rejected with No. | c is prompted
        | the model reads {REJECTED} No.; they are taken: yes; what waits is nothing
        | c is prompted | the model reads nothing
    comments of an accepted edit go along with its result
        c begins; a.py of c is accepted with why? | c writes b.py | the model reads nothing
        | c runs a command | the model reads nothing
        | c writes a.py | the model reads {ACCEPTED} why?; what waits is nothing
    a path that the model wrote otherwise is the same file
        c begins; a.py of c is accepted with why? | c writes ./x/../a.py
        | the model reads {ACCEPTED} why?
    a file that the CLI knows by another name is told from its result
        c begins; a.py of c is accepted with why? | c writes a.py by another name
        | the model reads {ACCEPTED} why?
    a note goes along with a result if there is one before the next prompt
        c begins; a.py of c is rejected with No. | c writes b.py | the model reads {REJECTED} No.
    what a tool that failed would have carried goes along with the next prompt
        c begins; a.py of c is accepted with why? | c writes a.py in vain | the model reads nothing
        | c is prompted | the model reads {ACCEPTED} why?
    an answer that reached nobody is given again
        c begins; a.py of c is rejected with No.; no answer goes out | c is prompted
        | what waits is No. | answers go out; c is prompted
        | the model reads {REJECTED} No.; what waits is nothing
    no words go along where they would be lost
        c begins; a.py of c is rejected with No. | c answers | the model reads nothing
    a request that is no prompt of the user carries nothing
        q is prompted; a.py of q is rejected with No. | q is prompted for nothing
        | the model reads nothing | q is prompted | the model reads {REJECTED} No.
    words of one CLI do not go to another
        c begins; q is prompted; a.py of c is rejected with No. | q is prompted
        | the model reads nothing
    of a decision in the terminal only that is said which is known
        c begins; a.py of c is decided with why? | c is prompted
        | the model reads The user says about the edit of a.py: why?
    words on an edit that was not asked about go along with whatever comes next
        c begins; a.py that c wrote without asking is reviewed with No. | they are taken: yes
        | c runs a command | the model reads {SAYS} No.; what waits is nothing
    words on an edit of a turn that is over go along with the next prompt
        c begins; q is prompted; c answers; a.py that c wrote without asking is reviewed with No.
        | q is prompted | the model reads nothing | c is prompted | the model reads {SAYS} No.
    words on an edit of a turn that is not known go to a CLI of its kind
        c begins; q is prompted; no turn is known
        | a.py that c wrote without asking is reviewed with No.; c is prompted
        | the model reads {SAYS} No.
    words on an edit of a CLI that has ended stay with the user
        c begins; q is prompted; c ends; a.py that c wrote without asking is reviewed with No.
        | they are taken: no | no turn is known; a.py that c wrote without asking is reviewed with x
        | they are taken: no
    words for a CLI that nobody hears stay with the user
        a.py of c is rejected with No. | somebody looks | they are taken: no; what waits is nothing
    words of a CLI that has ended are given back once
        c begins; a.py of c is rejected with No. | c ends; somebody looks; somebody looks
        | given back is No. for a.py; what waits is nothing
    words of a CLI that was killed are given back
        c begins; a.py of c is rejected with No. | c is killed; somebody looks
        | given back is No. for a.py
    words are kept until there is a window for them
        c begins; a.py of c is rejected with No.; there is no window | c ends; somebody looks
        | what waits is No. | there is a window; somebody looks | given back is No. for a.py
    words of a CLI that lives are not given back
        c begins; a.py of c is rejected with No. | somebody looks after 9999 s
        | given back is nothing; what waits is No.
    after a restart they wait for the CLI that runs still
        c begins; a.py of c is rejected with No. | the editor starts again; somebody looks
        | given back is nothing | c is prompted | the model reads {REJECTED} No.
    after a restart those of a CLI that ended meanwhile are given back
        c begins; a.py of c is rejected with No.; c is killed
        | the editor starts again; somebody looks | given back is No. for a.py
    a CLI that nobody hears of after a restart is given up
        c begins; a.py of c is rejected with No.
        | the editor starts again; somebody looks after 601 s | given back is No. for a.py
    after a restart they wait for a CLI in a container as well
        d begins; a.py of d is rejected with No. | the editor starts again; somebody looks
        | given back is nothing | somebody looks after 601 s | given back is No. for a.py
    what waits for one CLI goes along together
        c begins; a.py of c is accepted with why?; a.py of c is rejected with No. | c is prompted
        | the model reads {ACCEPTED} why? {REJECTED} No.
""")
class Table(WordsCase):
    def compare(self, look: Any, expected: str) -> None:
        found = look()
        found = " ".join(found.split()) if isinstance(found, str) else found
        self.assertEqual(told(found), expected)


class Bounds(WordsCase):
    async def test_no_word_of_the_user_is_cut(self) -> None:
        await self.lives("c", "begins")
        self.decided("a.py", "c", "rejected", "x" * MAX_CONTEXT)
        self.assertFalse(self.taken)
        for letter in "abc":
            self.decided("a.py", "c", "rejected", letter * 3900)
            self.assertTrue(self.taken)
        for expected in (["a", "b"], ["c"], []):
            await self.prompted("c", None)
            self.assertLessEqual(len(self.read), MAX_CONTEXT)
            self.assertEqual([letter for letter in "abc" if letter * 3900 in self.read], expected)

    async def test_too_many_for_one_cli_stay_with_the_user(self) -> None:
        await self.lives("c", "begins")
        for _ in range(MAX_WAITING):
            self.decided("a.py", "c", "rejected", "No.")
            self.assertTrue(self.taken)
        self.decided("a.py", "c", "rejected", "No.")
        self.assertFalse(self.taken)

    def test_an_answer_that_is_too_long_is_cut_with_a_mark(self) -> None:
        whole = "x" * MAX_CONTEXT
        found = bound_context(whole + "x")
        self.assertEqual((bound_context(whole), len(found)), (whole, MAX_CONTEXT))
        self.assertEqual(found[-len(CUT) :], CUT)

    async def test_words_that_are_under_way_are_in_no_second_answer(self) -> None:
        await self.lives("c", "begins")
        self.decided("a.py", "c", "rejected", "No.")
        first = await self.words_for_model.answer_hook(self.prompt(), None)
        second = await self.words_for_model.answer_hook(self.prompt(), None)
        self.assertEqual((bool(first.context), second.context), (True, ""))
        await self.look(None)
        first.settle[0](False)
        await self.prompted("c", None)
        self.assertIn("No.", self.read)

    async def test_words_in_an_answer_are_not_given_back_as_well(self) -> None:
        await self.lives("c", "begins")
        for words in ("one", "two"):
            self.decided("a.py", "c", "rejected", words)
        self.live.forget(self.live.all())
        answers = []

        async def slow(window_id: int, path: str, text: str, what: str) -> None:
            # Meanwhile the CLI is there again.
            answers.append(await self.words_for_model.answer_hook(self.prompt(), None))
            self.editor.returned.append((window_id, path, text))

        with mock.patch.object(self.editor, "return_text", slow):
            await self.look(None)
        self.assertEqual([entry[2] for entry in self.editor.returned], ["one"])
        self.assertIn("two", answers[0].context)
        self.assertNotIn("one", answers[0].context)

    def prompt(self) -> Any:
        told = {"hook_event_name": "BeforeAgent", "session_id": "c", "prompt": "x"}
        return hook_events.read_hook(GEMINI_CLI, {"pid": 7, "input": told})

    async def test_only_words_that_come_or_go_are_to_be_saved(self) -> None:
        await self.lives("c", "begins")
        self.decided("a.py", "c", "rejected", "No.")
        self.goes_out = False
        for _ in range(50):
            await self.prompted("c", None)
        self.assertEqual(self.changes, 1)
        self.goes_out = True
        await self.prompted("c", None)
        self.assertEqual(self.changes, 2)

    async def test_a_cli_that_knows_the_file_by_another_path_is_told_that_one(self) -> None:
        self.words_for_model.path_maps = PathMaps((PathMap(FOLDER, "/remote"),))
        await self.lives("c", "begins")
        self.decided("a.py", "c", "accepted", "why?")
        told = {"tool_name": "write_file", "tool_input": {"file_path": "/remote/a.py"}}
        await self.hear("c", "AfterTool", cwd="/remote", **told)
        self.assertIn("/remote/a.py", self.read)
