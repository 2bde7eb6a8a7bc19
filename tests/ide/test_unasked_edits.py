"""Edits that a CLI makes without asking, as its hooks and the disk tell of them."""

from __future__ import annotations

import asyncio
import os
import subprocess
from types import SimpleNamespace
from typing import Any
from unittest import mock

from GeminiCompanion.companion.base.path_maps import PathMap, PathMaps
from GeminiCompanion.companion.ide import hook_events
from GeminiCompanion.companion.ide.clis import CLAUDE_CODE, GEMINI_CLI, QWEN_CODE
from GeminiCompanion.companion.ide.context import ContextStore, OpenFile
from GeminiCompanion.companion.ide.editor import UnaskedEdit
from GeminiCompanion.companion.ide.hooks import unasked_edits
from GeminiCompanion.companion.ide.hooks.hook_answers import MAX_CONTEXT, HookAnswer
from GeminiCompanion.companion.ide.hooks.unasked_edits import UnaskedEdits

from ..support import InLoop, temp_folder
from ..tables import rows, word

# The CLI's own names, by words of the tables.
GEMINI = {"prompted": "BeforeAgent", "begins": "BeforeTool", "ends": "AfterTool"}
GEMINI.update(answered="AfterAgent", gone="SessionEnd")
QWEN = {"prompted": "UserPromptSubmit", "begins": "PreToolUse", "ends": "PostToolUse"}
QWEN.update(answered="Stop", gone="SessionEnd")
# Their names of tools: those that write, replace and run.
TOOLS = {
    GEMINI_CLI: ("write_file", "replace", "run_shell_command"),
    QWEN_CODE: ("write_file", "edit", "run_shell_command"),
    CLAUDE_CODE: ("Write", "Edit", "Bash"),
}


class Hearing(InLoop):
    """A CLI works in a folder; `connected` is its MCP session, None if it has none."""

    def setUp(self) -> None:
        super().setUp()
        self.folder = temp_folder(self)
        self.context = ContextStore()
        self.shown: list[UnaskedEdit] = []
        self.offers = True
        show, nothing = self.shown.append, lambda: None
        self.unasked = UnaskedEdits(self.context, show, lambda: self.offers, nothing)
        self.cli, self.names, self.session = GEMINI_CLI, GEMINI, "cli"
        self.connected: Any = None
        self.answer = HookAnswer()
        # Whether the hook still waits for its answer.
        self.goes_out = True
        self.more: dict[str, Any] = {}
        self.display: Any = None
        # The same of Claude Code.
        self.response: dict[str, Any] = {}

    def at(self, name: str) -> str:
        return os.path.join(self.folder, name)

    async def hear(self, name: str, **told: Any) -> None:
        whole = {"hook_event_name": name, "session_id": self.session, "cwd": self.folder}
        whole.update(told)
        event = hook_events.read_hook(self.cli, {"pid": 7, "input": whole})
        assert event is not None
        self.answer = await self.unasked.answer_hook(event, self.connected)
        for settle in self.answer.settle:
            settle(self.goes_out)

    @word(r"(\S+) holds (\S+)")
    def hold(self, name: str, text: str) -> None:
        with open(self.at(name), "wb") as file:
            file.write(text.replace("/", "\n").replace("~", "\r\n").encode("latin-1"))

    @word(r"(\S+) is removed")
    def remove(self, name: str) -> None:
        os.remove(self.at(name))

    @word("qwen")
    def qwen(self) -> None:
        self.cli, self.names = QWEN_CODE, QWEN

    @word("claude code")
    def claude(self) -> None:
        self.cli, self.names = CLAUDE_CODE, QWEN

    @word("(another|the first) CLI")
    def another(self, which: str) -> None:
        self.session = which

    @word("prompted(?: (.+))?")
    async def prompted(self, prompt: str | None) -> None:
        await self.hear(self.names["prompted"], prompt=prompt or "")

    @word("(answered|gone)")
    async def end(self, which: str) -> None:
        await self.hear(self.names[which])

    @word(r"(write|replace|run) (\S+) (begins|ends|fails)")
    async def tool(self, kind: str, subject: str, which: str) -> None:
        name = TOOLS[self.cli][("write", "replace", "run").index(kind)]
        member = "command" if kind == "run" else "file_path"
        told: dict[str, Any] = {"tool_name": name, "tool_input": {member: subject, **self.more}}
        if which != "begins":
            display = {"returnDisplay": self.display}
            told["tool_response"] = self.response if self.cli is CLAUDE_CODE else display
        if which == "fails":
            told["tool_response"]["error"] = {"message": "no"}
        await self.hear(self.names["begins" if which == "begins" else "ends"], **told)

    @word(r"(\S+) is asked about(?: as (\S+))?")
    async def asked(self, name: str, text: str | None) -> None:
        if self.cli is not GEMINI_CLI:
            told = {"tool_name": TOOLS[self.cli][1], "tool_input": {"file_path": self.at(name)}}
            await self.hear("PermissionRequest", **told)
            return
        details = {"type": "edit", "filePath": self.at(name), "newContent": text}
        told = {"notification_type": "ToolPermission", "details": details}
        await self.hear("Notification", **told)

    @word(r"a command on (\S+) is asked about")
    async def asked_to_run(self, name: str) -> None:
        details = {"type": "exec", "command": f"rm ./{name}"}
        await self.hear("Notification", notification_type="ToolPermission", details=details)

    @word(r"it tells (\S+) to (\S+)( of a new file)?")
    def tell(self, before: str, after: str, is_new: str | None) -> None:
        before, after = ("" if is_new else before).replace("/", "\n"), after.replace("/", "\n")
        texts = {"originalContent": before, "newContent": after}
        self.display = {**texts, "isNewFile": bool(is_new)}
        self.response = {"originalFile": None if is_new else before, "content": after}

    @word(r"it tells (\S+) before (\S+) became (\S+)")
    def tell_replacement(self, before: str, old: str, new: str) -> None:
        self.more = {"old_string": old, "new_string": new}
        self.response = {"originalFile": before.replace("/", "\n")}

    @word(r"(\S+) is open")
    def open(self, name: str) -> None:
        self.context.add_file(OpenFile(len(list(self.context.paths())) + 1, self.at(name)))

    @word("git has it")
    def commit(self) -> None:
        for line in ("init -q", "add .", "-c user.name=a -c user.email=a@b commit -qm x"):
            subprocess.run(["git", *line.split()], cwd=self.folder, check=True, timeout=60)

    @word("(it|the CLI) is connected")
    def connect(self, _who: str) -> None:
        self.connected = SimpleNamespace(stream=object())

    @word("the newest edit is taken back( in part)?")
    def take_back(self, part: str | None) -> None:
        edit = self.shown[-1]
        self.unasked.taken_back(edit.turn, edit.client, edit.path, not part)

    @word("the disk does not answer")
    def hang(self) -> None:
        async def late(work: Any, seconds: float) -> Any:
            raise asyncio.TimeoutError

        patch = mock.patch.object(unasked_edits, "in_thread", late)
        patch.start()
        self.addCleanup(patch.stop)

    def edits(self) -> list[str]:
        return [
            f"{os.path.relpath(edit.path, self.folder)} from {_said(edit.before)}"
            f" to {_said(edit.after)}"
            for edit in self.shown
        ]

    def set(self, name: str, value: Any) -> None:
        setattr(self.unasked, name, value)

    @word(r"at most (\d+) bytes are compared")
    def limit(self, count: str) -> None:
        patch = mock.patch.object(unasked_edits, "MAX_BYTES", int(count))
        patch.start()
        self.addCleanup(patch.stop)

    words = {
        "edits are asked for": lambda t: t.set("asks", True),
        "hooks wait no longer": lambda t: setattr(t, "goes_out", False),
        "hooks wait again": lambda t: setattr(t, "goes_out", True),
        "nothing is shown": lambda t: t.set("shows", False),
        "no diffs are offered": lambda t: setattr(t, "offers", False),
        "the user decided in the editor": lambda t: t.more.update(modified_by_user=True),
    }
    seen = {
        "shown are": lambda t: t.edits(),
        "the turns are": lambda t: len({edit.turn for edit in t.shown}),
        "the prompts are": lambda t: [edit.prompt for edit in t.shown],
        "it asks:": lambda t: t.answer.asks,
        "the model hears": lambda t: t.answer.context.replace(t.folder + os.sep, ""),
    }


def _said(found: Any) -> str:
    return found.note or (found.text.replace("\n", "/") if found.exists else "nothing")


@rows("""
    an edit of a file is shown from disk to disk
        a.py holds old; prompted do; write a.py begins; a.py holds new; write a.py ends
        | shown are a.py from old to new; the prompts are do
    a new file had nothing before
        prompted do; write a.py begins; a.py holds new; write a.py ends
        | shown are a.py from nothing to new
    a path may be written relative or whole
        a.py holds old; prompted do; replace ./sub/../a.py begins; a.py holds new
        | replace ./sub/../a.py ends | shown are a.py from old to new
    an edit that was asked about is not shown
        a.py holds old; prompted do; write a.py begins; a.py is asked about; a.py holds new
        | write a.py ends | shown are nothing
    an edit that was decided in the editor is not shown
        a.py holds old; prompted do; the user decided in the editor; write a.py begins
        | a.py holds new; write a.py ends | shown are nothing
    the question counts for one edit alone
        prompted do; write a.py begins; a.py is asked about; a.py holds one; write a.py ends
        | write a.py begins; a.py holds two; write a.py ends | shown are a.py from one to two
    an end that comes after the next question leaves that
        prompted do; write a.py begins; a.py is asked about as one; a.py holds one
        | write a.py begins; a.py is asked about as two; it tells none to one; write a.py ends
        | a.py holds two; it tells one to two; write a.py ends | shown are nothing
    a question whose answer was lost counts for no other text
        prompted do; write a.py begins; a.py is asked about as one; a.py holds two
        | it tells none to two; write a.py ends | shown are a.py from nothing to two
    a text that the user changed in the editor was asked about
        prompted do; the user decided in the editor; write a.py begins
        | a.py is asked about as one; a.py holds mine; it tells none to mine; write a.py ends
        | shown are nothing
    a question about a command counts for no file
        prompted do; a command on a.py is asked about; write a.py begins; a.py holds new
        | write a.py ends | shown are a.py from nothing to new
    a refused question counts for no later turn
        prompted do; write a.py begins; a.py is asked about; prompted again; write a.py begins
        | a.py holds new; write a.py ends | shown are a.py from nothing to new
    a refused question counts for no later edit of the turn
        claude code; a.py holds old; prompted do; replace a.py begins; a.py is asked about
        | replace a.py begins; a.py holds new; replace a.py ends | shown are a.py from old to new
    a refused question leaves the next one about its file
        claude code; a.py holds old; prompted do; replace a.py begins; a.py is asked about
        | replace a.py begins; a.py is asked about; a.py holds new; replace a.py ends
        | shown are nothing
    a question counts for no file of the same name in another folder
        claude code; prompted do; replace sub/a.py begins; sub/a.py is asked about
        | replace a.py begins; a.py holds new; replace a.py ends
        | shown are a.py from nothing to new
    an edit beside that of a file of the same name was asked about
        claude code; a.py holds old; prompted do; replace a.py begins; a.py is asked about
        | replace sub/a.py begins; a.py holds new; replace a.py ends | shown are nothing
    claude code tells what was before where its hook was not heard
        claude code; a.py holds new; it tells old to new; write a.py ends
        | shown are a.py from old to new
    claude code tells of a new file
        claude code; a.py holds new; it tells none to new of a new file; write a.py ends
        | shown are a.py from nothing to new
    claude code tells what its edit replaced
        claude code; a.py holds 1/two/; it tells one/two/ before one became 1; replace a.py ends
        | shown are a.py from one/two/ to 1/two/
    what claude code tells counts only if its edit made what the file has
        claude code; a.py holds 1/2/; it tells one/two/ before one became 1; replace a.py ends
        | shown are a.py from The file before the edit is not known. to 1/2/
    qwen code asks before its tool begins
        qwen; a.py holds old; prompted do; prompted; a.py is asked about; replace a.py begins
        | a.py holds new; replace a.py ends | shown are nothing
    qwen code is in one turn though it prompts again
        qwen; prompted do; write a.py begins; a.py holds one; write a.py ends; prompted
        | write a.py begins; a.py holds two; write a.py ends
        | the turns are 1; the prompts are do, do
    after an answer of qwen code an empty prompt begins a turn
        qwen; prompted do; write a.py begins; a.py holds one; write a.py ends; answered; prompted
        | write a.py begins; a.py holds two; write a.py ends
        | the turns are 2; the prompts are do, nothing
    a question of qwen code that was refused counts for no later request
        qwen; prompted do; a.py is asked about; prompted; replace a.py begins; a.py holds new
        | replace a.py ends | shown are a.py from nothing to new
    a tool that ends twice began once
        a.py holds old; prompted do; write a.py begins; a.py holds new; write a.py ends
        | a.py holds else; write a.py ends
        | shown are a.py from old to new, a.py from The file before the edit is not known. to else
    what the CLI tells is not taken for a file with other line ends
        a.py holds new~; it tells old/ to new/; write a.py ends
        | shown are a.py from The file before the edit is not known. to new/
    what another CLI shows while a command runs is not shown as the command's
        a.py holds old; a.py is open; the first CLI; prompted do; run ls begins
        | another CLI; prompted do; write a.py begins; a.py holds new; write a.py ends
        | the first CLI; run ls ends | shown are a.py from old to new
    what the command shows first is not shown again as the other CLI's
        a.py holds old; a.py is open; the first CLI; prompted do; run ls begins
        | another CLI; prompted do; write a.py begins; a.py holds new; it tells old to new
        | the first CLI; run ls ends; another CLI; write a.py ends
        | shown are a.py from old to new
    the command's own change after that is shown from there
        a.py holds old; a.py is open; the first CLI; prompted do; run ls begins
        | another CLI; prompted do; write a.py begins; a.py holds new; write a.py ends
        | a.py holds newer; the first CLI; run ls ends
        | shown are a.py from old to new, a.py from new to newer
    what another CLI shows of a file that git has is not shown as the command's
        a.py holds old; git has it; the first CLI; prompted do; run ls begins
        | another CLI; prompted do; write a.py begins; a.py holds new; write a.py ends
        | the first CLI; run ls ends | shown are a.py from old to new
    what the command changed before the other CLI is shown all the same
        a.py holds old; git has it; a.py is open; the first CLI; prompted do; run sed begins
        | a.py holds mine; another CLI; prompted do; write a.py begins; a.py holds new
        | write a.py ends; the first CLI; run sed ends
        | shown are a.py from mine to new, a.py from old to new
    an edit that failed is not shown
        a.py holds old; prompted do; replace a.py begins; a.py holds new; replace a.py fails
        | shown are nothing
    an edit that changed nothing is not shown
        a.py holds old; prompted do; write a.py begins; write a.py ends | shown are nothing
    what another process wrote in between is part of the difference
        a.py holds old; prompted do; write a.py begins; a.py holds theirs/new; it tells theirs to
        theirs/new; write a.py ends | shown are a.py from old to theirs/new
    without a beginning the CLI tells what was before
        a.py holds new; it tells old to new; write a.py ends
        | shown are a.py from old to new; the prompts are nothing
    without a beginning the CLI tells that the file is new
        a.py holds new; it tells none to new of a new file; write a.py ends
        | shown are a.py from nothing to new
    what was read too late before the edit is not taken for the file before it
        a.py holds new; prompted do; write a.py begins; it tells old to new; write a.py ends
        | shown are a.py from old to new
    of a tool whose end was not heard nothing is taken that is older than what was shown since
        a.py holds old; a.py is open; prompted do; write a.py begins; a.py holds one
        | run sed begins; a.py holds two; run sed ends; a.py holds new; it tells two to new
        | write a.py ends | shown are a.py from one to two, a.py from two to new
    what the CLI tells of another text than that on disk is not taken
        a.py holds else; it tells old to new; write a.py ends
        | shown are a.py from The file before the edit is not known. to else
    each prompt begins a turn
        prompted one; write a.py begins; a.py holds one; write a.py ends; answered; prompted two
        | write a.py begins; a.py holds two; write a.py ends
        | the turns are 2; the prompts are one, two
    two CLIs are in turns of their own
        prompted one; write a.py begins; a.py holds one; write a.py ends; another CLI
        | prompted two; write a.py begins; a.py holds two; write a.py ends | the turns are 2
    of a command the open files are compared
        a.py holds old; b.py holds old; a.py is open; prompted do; run sed begins; a.py holds new
        | b.py holds new; run sed ends | shown are a.py from old to new
    of a command the files that the turn wrote before are compared too
        a.py holds old; prompted do; write a.py begins; a.py holds one; write a.py ends
        | run sed begins; a.py holds two; run sed ends
        | shown are a.py from old to one, a.py from one to two
    a file that a command removed is not shown
        a.py holds old; a.py is open; prompted do; run rm begins; a.py is removed; run rm ends
        | shown are nothing
    a file that is too large to be compared is not shown
        a.py holds old; at most 5 bytes are compared; prompted do; write a.py begins
        | a.py holds longer; write a.py ends | shown are nothing
    a disk that does not answer delays nothing and shows nothing
        a.py holds old; the disk does not answer; prompted do; write a.py begins
        | a.py holds new; write a.py ends | shown are nothing
    where the user does not want it nothing is shown
        nothing is shown; prompted do; write a.py begins; a.py holds new; write a.py ends
        | shown are nothing
""")
class Shown(Hearing):
    async def test_what_does_not_fit_into_one_answer_is_told_with_the_next(self) -> None:
        await self.prompted("do")
        name, turn = "x" * 200, "not known"
        paths = [os.path.join(os.sep, f"{number:03}{name}") for number in range(100)]
        for path in paths:
            self.unasked.taken_back(turn, GEMINI_CLI.name, path, True)
        heard: list[str] = []
        while len(heard) < 10 and (not heard or heard[-1]):
            await self.prompted("again")
            heard.append(self.answer.context)
            self.assertLessEqual(len(heard[-1]), MAX_CONTEXT)
        self.assertEqual([sum(path in each for each in heard) for path in paths], [1] * 100)

    async def test_of_very_many_tools_without_an_end_the_newest_are_remembered(self) -> None:
        for number in range(unasked_edits.MAX_TOOLS + 1):
            await self.tool("write", f"{number}.py", "begins")
        # Of the first nothing is known any more; of the second it is known that there was no file.
        for name in ("0.py", "1.py"):
            self.hold(name, "new")
            await self.tool("write", name, "ends")
        self.assertEqual(
            self.edits(),
            [f"0.py from {unasked_edits.NOT_KNOWN} to new", "1.py from nothing to new"],
        )

    async def test_of_tools_without_an_end_that_hold_much_the_newest_are_remembered(self) -> None:
        names = [f"{number}.py" for number in range(4)]
        # Each file counts twice: its bytes, and its text.
        with mock.patch.object(unasked_edits, "MAX_HELD", 50):
            with self.assertLogs("GeminiCompanion", "INFO"):
                for name in names:
                    self.hold(name, "x" * 10)
                    await self.tool("write", name, "begins")
        for name in names:
            self.hold(name, "new")
            await self.tool("write", name, "ends")
        old, unknown = "x" * 10, unasked_edits.NOT_KNOWN
        expected = [unknown, unknown, old, old]
        self.assertEqual(
            self.edits(), [f"{name} from {was} to new" for name, was in zip(names, expected)]
        )

    async def test_of_very_many_files_of_a_turn_the_newest_are_compared(self) -> None:
        with mock.patch.object(unasked_edits, "MAX_FILES", 2):
            for name in "abc":
                await self.tool("write", name, "begins")
                await self.tool("write", name, "ends")
            await self.tool("run", "cmd", "begins")
            for name in "abc":
                self.hold(name, "new")
            await self.tool("run", "cmd", "ends")
        self.assertEqual(sorted(edit[0] for edit in self.edits()), ["b", "c"])

    async def test_a_command_is_known_by_its_beginning(self) -> None:
        self.hold("a.py", "old")
        self.open("a.py")
        command = "x" * hook_events.MAX_SUBJECT
        await self.tool("run", command + "1", "begins")
        ((running,),) = ([*turn.before] for turn in self.unasked._turns.values())
        self.assertEqual(running, command)
        self.hold("a.py", "new")
        await self.tool("run", command + "1", "ends")
        self.assertEqual(self.edits(), ["a.py from old to new"])

    async def test_a_command_is_compared_by_what_git_knows_too(self) -> None:
        for name in ("known", "mine"):
            self.hold(name, "one")
        self.commit()
        os.utime(self.at("known"), (1, 1))
        subprocess.run(["git", "update-index", "--refresh", "-q"], cwd=self.folder, timeout=60)
        self.hold("mine", "mine")
        await self.tool("run", "cmd", "begins")
        for name in ("known", "mine", "new"):
            self.hold(name, "two")
        await self.tool("run", "cmd", "ends")
        found = {os.path.basename(edit.path): edit.before for edit in self.shown}
        texts = {name: before.text if before.exists else None for name, before in found.items()}
        self.assertEqual(texts, {"known": "one", "mine": "mine", "new": None})

    async def test_a_path_of_the_cli_is_shown_as_the_editors(self) -> None:
        self.context.path_maps = PathMaps((PathMap(self.folder, "/far"),))
        self.hold("a.py", "old")
        told = {"cwd": "/far", "tool_name": "write_file", "tool_input": {"file_path": "a.py"}}
        await self.hear("BeforeTool", **told)
        self.hold("a.py", "new")
        await self.hear("AfterTool", **told, tool_response={})
        self.assertEqual(self.edits(), ["a.py from old to new"])


class Meanwhile(Hearing):
    async def test_an_edit_that_is_shown_while_a_disk_is_slow_is_not_shown_again(self) -> None:
        self.hold("a.py", "old")
        self.open("a.py")
        began, goes_on = asyncio.Event(), asyncio.Event()

        async def slow(work: Any, seconds: float) -> Any:
            found = work()
            began.set()
            await goes_on.wait()
            return found

        with mock.patch.object(unasked_edits, "in_thread", slow):
            self.another("the first")
            begins = asyncio.ensure_future(self.tool("run", "ls", "begins"))
            await began.wait()
        self.another("another")
        await self.tool("write", "a.py", "begins")
        self.hold("a.py", "new")
        await self.tool("write", "a.py", "ends")
        goes_on.set()
        await begins
        self.another("the first")
        await self.tool("run", "ls", "ends")
        self.assertEqual(self.edits(), ["a.py from old to new"])


@rows("""
    a connected CLI is made to ask before an edit
        edits are asked for; the CLI is connected; prompted do; write a.py begins | it asks: yes
    a command is not asked for
        edits are asked for; the CLI is connected; prompted do; run ls begins | it asks: no
    a CLI that is not connected is not made to ask
        edits are asked for; prompted do; write a.py begins | it asks: no
    where no diffs are offered no CLI is made to ask
        edits are asked for; no diffs are offered; the CLI is connected; write a.py begins
        | it asks: no
    unless it is wanted no CLI is made to ask
        the CLI is connected; prompted do; write a.py begins | it asks: no
    a CLI that was to ask and did not is shown
        edits are asked for; the CLI is connected; prompted do; write a.py begins
        | a.py holds new; write a.py ends | shown are a.py from nothing to new
""")
class AskedFor(Hearing):
    pass


@rows("""
    what the user took back is told at the end of the next tool and once
        the newest edit is taken back; run ls begins | the model hears nothing
        | run ls ends | the model hears UNDONE | run ls ends | the model hears nothing
    what was taken back twice is told once
        the newest edit is taken back; the newest edit is taken back | prompted again
        | the model hears UNDONE
    it is told with the next prompt
        the newest edit is taken back; prompted again | the model hears UNDONE
    words that did not reach the hook are told again
        the newest edit is taken back; hooks wait no longer; prompted again
        | hooks wait again; prompted again | the model hears UNDONE
    a part that was taken back is told so
        the newest edit is taken back in part; prompted again | the model hears CHANGED
    words are kept while a tool fails because the CLI would drop them
        the newest edit is taken back | run ls fails | the model hears nothing
        | run ls ends | the model hears UNDONE
    another CLI is not told while the one that made the edit is there
        the newest edit is taken back | another CLI; prompted again | the model hears nothing
    the next session hears of it once the one that made the edit is gone
        the newest edit is taken back; gone | another CLI; prompted again
        | the model hears UNDONE
    a CLI of another kind is never told
        the newest edit is taken back; gone | qwen; another CLI; prompted again
        | the model hears nothing
""")
class TakenBack(Hearing):
    async def begin(self) -> None:
        await self.prompted("do")
        await self.tool("write", "a.py", "begins")
        self.hold("a.py", "new")
        await self.tool("write", "a.py", "ends")

    def compare(self, look: Any, expected: str) -> None:
        sentence = getattr(unasked_edits, expected, "").format("a.py")
        self.assertEqual(look(), sentence if expected != "nothing" else "")
