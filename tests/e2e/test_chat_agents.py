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
        return {it["name"] for each in told for it in each["functionDeclarations"]}


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
        self.assertFalse({it for it in self.tools() if it.startswith("mcp_")})
