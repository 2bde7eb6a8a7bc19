"""A stand-in for Terminus: a package with its command, whose terminals show what reaches them."""

from __future__ import annotations

import os

SOURCE = """
import sublime_plugin


class TerminusPasteTextCommand(sublime_plugin.TextCommand):
    def run(self, edit, text, bracketed=False):
        pasted = "\\x1b[200~" + text + "\\x1b[201~"
        self.view.insert(edit, self.view.size(), pasted if bracketed else text)
"""


def install(data: str) -> None:
    """Into the editor's data folder, before the editor starts."""
    folder = os.path.join(data, "Packages", "Terminus")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "terminus.py"), "w", encoding="utf-8") as file:
        file.write(SOURCE)
