"""The tool server `editor` as the real Gemini CLI uses it, by way of the extension."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any

from cli import ALLOW, GeminiCli
from GeminiCompanion.companion.ide.clis import GEMINI_CLI
from GeminiCompanion.companion.ide.editor_tools import INSTRUCTIONS, TOOLS
from GeminiCompanion.companion.ide.hooks import extension
from session import Session

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

ISSUES = "MCP issues detected"
# Prompts until one goes with tools that came meanwhile.
TRIES = 40


class EditorTools(Session):
    has_cli = False

    def cli_with_extension(self, folder: str = "", **variables: str) -> GeminiCli:
        home = tempfile.mkdtemp(dir=self.root)
        with open(os.path.join(ROOT, "extension", "companion.cjs"), "rb") as file:
            program = file.read()
        extension.install_extension(
            GEMINI_CLI, extension.extension_folder(GEMINI_CLI, {}, home), program
        )
        more = {"TMPDIR": self.temp, **variables}
        cli = GeminiCli(home, folder or self.folder, self.model.url, more)
        self.addCleanup(cli.close)
        return cli

    def offered(self) -> dict[str, Any]:
        """The tools of the last request to the model, by their names."""
        tools = self.model.last_request()["tools"]
        return {
            declaration["name"]: declaration
            for each in tools
            for declaration in each["functionDeclarations"]
        }

    def answers(self) -> list[str]:
        """What tools answered, as the model's last request has it."""
        parts = [
            part for content in self.model.last_request()["contents"] for part in content["parts"]
        ]
        told = [
            part["functionResponse"]["response"] for part in parts if "functionResponse" in part
        ]
        return [str(response["output"]) for response in told]

    def test_the_model_is_offered_the_tools_and_a_call_reaches_the_editor(self) -> None:
        path = self.write("a.py", b"one = 1\n")
        cli = self.cli_with_extension()
        cli.wait_connected()
        self.model.will_call("mcp_editor_show", {"path": path}, "The end of tools.")
        cli.say("show it please")
        cli.wait_for("show", "Allow")
        cli.press(ALLOW)
        cli.wait_for("The end of tools.")
        self.assertLessEqual({f"mcp_editor_{tool.name}" for tool in TOOLS}, set(self.offered()))
        (answer,) = self.answers()
        self.assertIn(f'"path": "{path}"', answer)
        self.editor.do("wait_for", "tabs", ["a.py"])
        said = "show it please"
        # The CLI has them in the first message of a chat. One that begins while its servers start
        # never has them.
        for number in range(TRIES):
            if INSTRUCTIONS in json.dumps(self.model.last_request()):
                break
            cli.clear(said)
            said = f"go on {number}"
            cli.say(said)
            cli.wait_answered(said)
        self.assertTrue(INSTRUCTIONS in json.dumps(self.model.last_request()))
        self.assertNotIn(ISSUES, cli.screen())

    def test_without_an_editor_nothing_is_offered_and_nothing_said_until_it_comes(self) -> None:
        elsewhere = tempfile.mkdtemp(dir=self.root)
        cli = self.cli_with_extension(elsewhere)
        cli.wait_ready()
        self.model.will_play("hello", "The end of hello.")
        cli.say("hello")
        cli.wait_for("The end of hello.")
        self.assertEqual([name for name in self.offered() if name.startswith("mcp_editor")], [])
        self.assertFalse("editor://none" in self.model.received())
        self.assertNotIn(ISSUES, cli.screen())
        self.editor.do("set_folders", self.folder, elsewhere)
        # It takes the server of the extension a moment to see that.
        for number in range(TRIES):
            self.model.will_play(f"again {number}", f"The end of {number}.")
            cli.say(f"again {number}")
            cli.wait_for(f"The end of {number}.")
            cli.wait_ready()
            if "mcp_editor_show" in self.offered():
                break
        self.assertIn("mcp_editor_show", self.offered())
        self.assertNotIn(ISSUES, cli.screen())
