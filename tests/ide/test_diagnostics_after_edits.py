"""New problems in files that a CLI wrote, for its model."""

from __future__ import annotations

import os
from typing import Any
from unittest import mock

from GeminiCompanion.companion.ide import hook_events
from GeminiCompanion.companion.ide.clis import GEMINI_CLI
from GeminiCompanion.companion.ide.context import ContextStore
from GeminiCompanion.companion.ide.editor import EditorError, EditWatch, NewDiagnostics
from GeminiCompanion.companion.ide.hooks import diagnostics_after_edits
from GeminiCompanion.companion.ide.hooks.diagnostics_after_edits import (
    HEADING,
    MAX_LINE,
    MAX_LINES,
    MORE,
    DiagnosticsAfterEdits,
)
from GeminiCompanion.companion.ide.sharing import Sharing

from ..support import InLoop, patched, temp_folder
from ..tables import rows, word

WINDOW = 3


class Watch(EditWatch):
    """Looks at the `watched` paths, and gives the `answers` one by one, the last again and again.
    `asked` says of each question whether it was the last."""

    def __init__(self) -> None:
        self.watched: set[str] = set()
        self.answers: list[NewDiagnostics] = []
        self.asked: list[bool] = []
        self.refusal = ""

    async def watch_edit(self, window_id: int, path: str) -> bool:
        if self.refusal:
            raise EditorError(self.refusal)
        return window_id == WINDOW and path in self.watched

    async def new_diagnostics(self, window_id: int, path: str, is_last: bool) -> NewDiagnostics:
        self.asked.append(is_last)
        if is_last:
            return NewDiagnostics(True, ("late",))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class Case(InLoop):
    def setUp(self) -> None:
        self.folder = temp_folder(self)
        self.editor, self.context = Watch(), ContextStore()
        self.listener = DiagnosticsAfterEdits(WINDOW, self.editor, self.context)
        self.read = ""
        for name in ("REPORTED", "LOOK"):
            patched(self, mock.patch.object(diagnostics_after_edits, name, 0.0))

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    async def hear(self, event: str, name: str, **told: Any) -> None:
        call = {"tool_name": "write_file", "tool_input": {"file_path": name}}
        told = {"hook_event_name": event, "session_id": "c", "cwd": self.folder, **call, **told}
        found = hook_events.read_hook(GEMINI_CLI, {"pid": 7, "input": told})
        assert found is not None
        self.read = (await self.listener.answer_hook(found, None)).context

    @word(r"(\S+) is watched")
    def is_watched(self, name: str) -> None:
        with open(self.path(name), "w"):
            self.editor.watched.add(self.path(name))

    @word(r"the editor finds (.+)")
    def finds(self, words: str) -> None:
        lines = tuple(words.split(", ")) if words != "nothing" else ()
        self.editor.answers = [NewDiagnostics(True, lines)]

    @word("the editor has not reported")
    def not_yet(self) -> None:
        self.editor.answers = [NewDiagnostics(False)]

    @word(r"(\S+) is (about to be edited|written)(?: (in vain))?")
    async def edited(self, name: str, what: str, fails: str | None) -> None:
        event = {"about to be edited": "BeforeTool", "written": "AfterTool"}[what]
        await self.hear(event, name, tool_response={"error": "no"} if fails else {})

    words = {
        r"(\S+) is excluded": lambda t, name: setattr(
            t.context, "sharing", Sharing(exclude=(name,))
        ),
        "sharing is paused": lambda t: setattr(t.context, "sharing", Sharing(paused=True)),
        "it is switched off": lambda t: setattr(t.listener, "is_on", False),
        "the editor refuses": lambda t: setattr(t.editor, "refusal", "No."),
    }
    seen = {
        # Below the line that names the file.
        "the model reads": lambda t: t.read.splitlines()[1:],
        "looks": lambda t: ["the last" if is_last else "one" for is_last in t.editor.asked],
    }


@rows("""
    new problems go along with the result
        a.py is watched; the editor finds bad, worse | a.py is about to be edited; a.py is written
        | the model reads bad, worse; looks one
    a file without new ones adds nothing
        a.py is watched; the editor finds nothing | a.py is about to be edited; a.py is written
        | the model reads nothing
    what no tool looks at is not waited for
        the editor finds bad | a.py is about to be edited; a.py is written
        | the model reads nothing; looks nothing
    an edit that was not announced is not looked at
        a.py is watched; the editor finds bad | a.py is written | looks nothing
    an edit that failed is not looked at
        a.py is watched; the editor finds bad | a.py is about to be edited
        | a.py is written in vain | looks nothing | a.py is written | looks nothing
    what has not been reported in time is taken as it is
        a.py is watched; the editor has not reported | a.py is about to be edited; a.py is written
        | the model reads late; looks one, the last
    a file that is excluded is not told of
        a.py is watched; the editor finds bad; a.py is excluded
        | a.py is about to be edited; a.py is written | the model reads nothing; looks nothing
    a pause holds all back
        a.py is watched; the editor finds bad; a.py is about to be edited
        | sharing is paused; a.py is written | the model reads nothing; looks nothing
    nothing is looked at where it is switched off
        a.py is watched; the editor finds bad; it is switched off
        | a.py is about to be edited; a.py is written | looks nothing
    an editor that cannot look costs nothing else
        a.py is watched; the editor refuses | a.py is about to be edited; a.py is written
        | the model reads nothing
""")
class Table(Case):
    pass


class Bounds(Case):
    async def test_many_and_long_lines_are_cut_and_that_is_said(self) -> None:
        self.is_watched("a.py")
        lines = tuple("x" * 1000 for _ in range(MAX_LINES + 5))
        self.editor.answers = [NewDiagnostics(True, lines)]
        await self.hear("BeforeTool", "a.py")
        await self.hear("AfterTool", "a.py")
        heading, *found = self.read.splitlines()
        self.assertEqual(heading, HEADING.format(self.path("a.py")))
        self.assertEqual(found[:-1], ["x" * MAX_LINE + "..."] * MAX_LINES)
        self.assertEqual(found[-1], MORE.format(5))
