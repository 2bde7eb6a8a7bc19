"""Edits that a CLI made without asking: gathered, looked at, kept and undone by the user."""

from __future__ import annotations

import os
from typing import Any

from GeminiCompanion import plugin
from GeminiCompanion.companion.ide.accepted_edits import Edit
from GeminiCompanion.companion.ui.status_bar import KEY

from ..tables import rows, word
from .desk import DeskCase, text, words_of
from .reviewing import Steps


class UnaskedCase(DeskCase):
    """A CLI that asks nobody."""

    def tearDown(self) -> Steps:
        history = self.running().history
        for edit in self.edits():
            history.replace(edit, None)
        yield self.cli.hook("SessionEnd").done
        yield from super().tearDown()

    def hook(self, event: str, **told: Any) -> Steps:
        answer = self.cli.hook(event, cwd=self.folder, **told)
        yield answer.done
        self.heard = answer.result()

    @word("c is told to (.+)")
    def prompted(self, prompt: str) -> Steps:
        yield from self.hook("BeforeAgent", prompt=prompt)

    @word(r"c writes (\S+) from (\S+) to (\S+)")
    def writes(self, name: str, old: str, new: str) -> Steps:
        if old != "none":
            self.write(name, text(old))
        told = {"tool_name": "write_file", "tool_input": {"file_path": name}}
        yield from self.hook("BeforeTool", **told)
        self.write(name, text(new))
        yield from self.hook("AfterTool", **told, tool_response={"llmContent": ""})
        yield from self.until_turn()

    @word(r"c goes on with (\S+) to (\S+)")
    def goes_on(self, name: str, new: str) -> Steps:
        with open(self.at(name), encoding="utf-8") as file:
            old = words_of(file.read())
        yield from self.writes(name, old, new)

    def edits(self) -> list[Edit]:
        found = plugin._host.running.history._edits
        return [it for it in found if it.turn and it.path.startswith(self.folder)]

    def listed(self) -> list[str]:
        return [
            f"{os.path.basename(it.path)}"
            f" {words_of(it.before.text) if it.before.exists else 'none'}"
            f" to {words_of(it.after or '')}"
            for it in self.edits()
        ]

    def status(self) -> str:
        self.running().status.look()
        view = self.window.active_view()
        return view.get_status(KEY) if view is not None else ""

    seen = {
        "the edits are": lambda t: t.listed(),
        "the status bar says": lambda t: t.status(),
        "open diffs are": lambda t: len([it for it in t.window.views() if "(" in it.name()]),
    }


@rows("""
    an edit is counted and no view opens
        c connects | c is told to do; c writes a.py from old to new
        | the edits are a.py old to new; the status bar says Gemini: working, 1 edit to look at;
        open diffs are 0
    edits of one file in one turn are one
        c connects; c is told to do | c writes a.py from one to two; c goes on with a.py to three
        | the edits are a.py one to three
    in another turn they are two
        c connects; c is told to do; c writes a.py from one to two | c is told to again;
        c goes on with a.py to three | the edits are a.py one to two, a.py two to three
    what was taken back in the same turn is no edit
        c connects; c is told to do | c writes a.py from one to two; c goes on with a.py to one
        | the edits are nothing
    what somebody wrote in between makes two of them
        c connects; c is told to do | c writes a.py from one to two; c writes a.py from x to three
        | the edits are a.py one to two, a.py x to three
""")
class Gathered(UnaskedCase):
    pass
