"""What Gemini CLI gets of the editor: its tools where the folder is trusted, and what the
user looks at where the settings say so. With the real Gemini CLI in the headless editor."""

from __future__ import annotations

import json
import os
import unittest

from agent_case import PROGRAM
from chat_case import EditorChatCase
from model_server import call
from served import until


@unittest.skipUnless(os.path.exists(PROGRAM), "needs the real Gemini CLI: make e2e")
class EditorsTools(EditorChatCase):
    program = PROGRAM
    is_trusted = True

    def start(self) -> None:
        path = os.path.join(self.data, "Packages", "User", "GeminiCompanion.sublime-settings")
        with open(path, encoding="utf-8") as file:
            settings = json.load(file)
        trusted = [self.folder] if self.is_trusted else []
        with open(path, "w", encoding="utf-8") as file:
            json.dump({**settings, "trusted_folders": trusted, "chat_context": True}, file)
        with open(os.path.join(self.folder, "a.py"), "w", encoding="utf-8") as file:
            file.write("one = 1\n")
        super().start()

    def tools(self) -> set[str]:
        """The tools of the last request to the model."""
        told = self.model.last_request()["tools"]
        return {
            declaration["name"] for each in told for declaration in each["functionDeclarations"]
        }


class WithTrust(EditorsTools):
    def test_a_model_asks_the_editor_and_is_told_of_the_file_in_front(self) -> None:
        self.editor.do("open", os.path.join(self.folder, "a.py"))
        self.new_chat()
        asks = call("mcp_editor_open_files")
        self.model.will_play("which files", [asks], ["One file."])
        self.say("which files")
        shown = self.until_shown("▎ which files", "Allow")
        self.assertIn("[From the editor] In front: a.py, line 1.", shown)

        def allowed() -> bool:
            # An answer counts once its question was in sight for a moment.
            if "[Allow]" in (self.editor.do("chat") or ""):
                self.editor.do("follow_in_chat", "[Allow]")
            return "One file." in self.editor.do("chat")

        until(allowed)
        self.until_shown("One file.")
        self.assertIn("a.py", json.dumps(self.model.last_request()["contents"][-1]))


class WithoutTrust(EditorsTools):
    is_trusted = False

    def test_gemini_cli_has_the_tools_of_the_editor_only_where_the_folder_is_trusted(self) -> None:
        self.new_chat()
        self.model.will_play("hello", ["Hi."])
        self.say("hello")
        self.until_shown("Hi.")
        until(self.tools)
        self.assertFalse({tool for tool in self.tools() if tool.startswith("mcp_")})


LINTER = {
    "lint/__init__.py": "",
    "lint/persist.py": "file_errors, assigned_linters, active_procs = {}, {}, {}\n",
    "linter.py": """
import sublime, sublime_plugin
from .lint import persist

class Linter(sublime_plugin.EventListener):
    def on_load(self, view):
        persist.assigned_linters[view.buffer_id()] = {"toy"}
        lines = view.substr(sublime.Region(0, view.size())).splitlines()
        rows = [row for row, line in enumerate(lines) if "wrong" in line]
        more = {"start": 0, "error_type": "error", "linter": "toy", "msg": "it is wrong"}
        persist.file_errors[view.file_name()] = [{"line": row, **more} for row in rows]

    def on_reload(self, view):
        sublime.set_timeout(lambda: self.on_load(view), 1)
""",
}


class NewProblems(EditorsTools):
    """What a stand-in for SublimeLinter reports, which has its names and shapes."""

    def start(self) -> None:
        for name, content in LINTER.items():
            path = os.path.join(self.data, "Packages", "SublimeLinter", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
        super().start()

    def test_what_an_edit_made_wrong_is_told_with_the_next_message_once(self) -> None:
        path = os.path.join(self.folder, "a.py")
        self.editor.do("open", path)
        self.new_chat()
        text = "one = 1\nwrong = 2\n"
        self.model.will_play(
            "write it", [call("write_file", file_path=path, content=text)], ["Written."]
        )
        self.say("write it")
        until(lambda: self.editor.do("proposal", path) == text)
        self.editor.do("command", "gemini_companion_accept_diff")
        self.until_shown("Written.", "1 file changed")
        until(lambda: self.editor.do("text", path) == text)
        for words in ("and now", "and then"):
            self.model.will_play(words, [f"Done with {words}."])
            self.say(words)
            shown = self.until_shown(f"Done with {words}.")
        line = "a.py, line 2, column 1: error: it is wrong (toy)"
        self.assertEqual(shown.count(line), 1)
        self.assertIn("\n▏ with", shown[shown.index("▎ and now") : shown.index(line)])
        self.assertIn(line, json.dumps(self.model.last_request()["contents"]))
