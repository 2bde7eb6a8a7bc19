"""Questions of an agent in the chat of the headless editor, answered as a user does. What of them
depends on a real CLI, test_chat_matrix has."""

from __future__ import annotations

import os
import signal
import unittest
from typing import Any

from agent_case import PROGRAM
from chat_case import LINE, EditorChatCase
from model_server import call
from served import Served, until

FORM = {
    "mode": "form",
    "message": "How?",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "way": {"type": "string", "enum": ["slow", "fast"]},
            "times": {"type": "integer", "minimum": 1, "default": 2},
        },
        "required": ["way"],
    },
}


tearDownModule = EditorChatCase.end


class AskedCase(EditorChatCase):
    is_shared = True

    def setUp(self) -> None:
        super().setUp()
        for name in self.made():
            os.unlink(os.path.join(self.folder, name))

    def made(self) -> list[str]:
        return sorted(name for name in os.listdir(self.folder) if not name.startswith("."))

    def until_decided(self, command: str) -> str:
        """Run the command until the question is gone: at first it only shows it."""

        def is_gone() -> bool:
            self.editor.do("command", command)
            return "May it use" not in self.transcript()

        until(is_gone)
        return self.transcript()

    def transcript(self) -> str:
        return str(self.editor.do("chat")).partition(LINE)[0]

    def asks(self, command: str = "touch made", *replies: Any) -> str:
        """The agent wants to run the command; gives what is shown."""
        script = [[call("run_shell_command", command=command)], *(replies or (["Done."],))]
        self.model.will_play("go", *script)
        self.new_chat()
        self.say("go")
        return self.until_shown("May it use", "[Allow]")

    def is_made(self) -> bool:
        return os.path.exists(os.path.join(self.folder, "made"))


class Asked(AskedCase):
    def test_a_command_is_run_once_it_was_seen_and_allowed(self) -> None:
        shown = self.asks("touch made\necho \u202edone")
        self.assertIn("    touch made\n    echo <U+202E>done\n", shown)
        self.assertLess(shown.index("[Allow]"), shown.index("[Reject]"))
        until(lambda: self.editor.do("status_bar_says", "in a chat (Show Question)"))
        until(lambda: "F8 y to allow once" in self.editor.do("chat_state"))
        self.assertFalse(self.is_made())
        self.until_decided("gemini_companion_allow")
        self.until_shown("Done.")
        self.assertTrue(self.is_made())
        until(lambda: not self.editor.do("status_bar_says", "Question"))

    def test_a_command_is_denied_with_words_that_the_model_gets(self) -> None:
        self.asks("touch made", ["Never mind."])
        self.model.will_play("use make", ["I use make."])

        def is_asked() -> bool:
            self.editor.do("choose_in_palette", "Gemini Companion: Deny with Note")
            return bool(self.editor.do("asks"))

        until(is_asked)
        self.editor.do("type_in_panel", "use make")
        shown = self.until_shown("▎ use make", "I use make.")
        self.assertIn("Rejected by the user.", shown)
        self.assertFalse(self.is_made())

    def test_stop_takes_the_question_away_and_nothing_runs(self) -> None:
        self.asks()
        self.editor.do("command", "gemini_companion_stop")
        shown = self.until_shown("– Shell touch made", "Stopped")
        self.assertNotIn("May it use", shown)
        self.assertFalse(self.is_made())
        self.editor.do("clear_status_message")
        self.editor.do("command", "gemini_companion_allow")
        until(lambda: self.editor.do("is_told", "No question of an agent waits"))

    def test_an_agent_that_ends_while_it_asks_takes_its_question_along(self) -> None:
        self.asks()
        os.kill(self.served.pid, signal.SIGKILL)
        self.until_shown("ended unexpectedly")
        until(lambda: "May it use" not in self.transcript())
        self.assertFalse(self.is_made())
        until(lambda: not self.editor.do("status_bar_says", "Question"))

    def test_a_form_of_the_agent_is_filled_in_panels(self) -> None:
        self.model.will_play("ask", [{"asks": FORM}])
        self.new_chat()
        self.say("ask")
        self.until_shown("? How?", "[Answer]")
        self.editor.do("follow_in_chat", "[Answer]")
        self.editor.do("choose", 1)
        self.editor.do("type_in_panel", "3")
        self.editor.do("choose", 0)
        self.until_shown('{"action": "accept", "content": {"way": "fast", "times": 3}}')


class InTheList(AskedCase):
    """The list of all agents, with a chat that asks out of sight."""

    def open_file(self) -> None:
        path = os.path.join(self.folder, "other.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("x\n")
        self.editor.do("open", path)

    def listed(self, words: str) -> int:
        """The number of the row with these words, in the list that is open."""
        rows = self.editor.do("panel_rows")
        return next((at for at, row in enumerate(rows) if words in " ".join(row)), -1)

    def until_listed(self, words: str) -> int:
        """The same once it is there: the list is opened again and again, each time after the one
        before is closed. Else one more would open above what is chosen in it."""

        def find_row() -> int:
            self.editor.do("choose_if_asked", -1)
            self.editor.do("command", "gemini_companion_agents")
            until(lambda: self.editor.do("panel_rows"))
            return self.listed(words) + 1

        return int(until(find_row, lambda: self.editor.do("panel_rows"))) - 1

    def test_a_question_is_answered_there_as_it_was_seen(self) -> None:
        self.asks("touch made\necho \u202edone")
        self.open_file()
        at = self.until_listed("asks since")
        self.editor.do("choose", at)
        until(lambda: self.listed("may it use") == 0)
        (question, *answers) = self.editor.do("panel_rows")
        self.assertEqual(question[1:3], ["▏ touch made", "▏ echo <U+202E>done"])
        self.assertFalse(self.is_made())

        def is_allowed() -> bool:
            # What was there for a moment only, is asked again.
            if self.listed("may it use") == 0:
                self.editor.do("choose", [row[0] for row in answers].index("Allow") + 1)
            return self.is_made()

        until(is_allowed, lambda: (self.editor.do("panel_rows"), self.transcript()))
        self.until_listed("done since")

    def test_a_conversation_of_the_api_that_asks_is_gone_to_and_answered_in_a_chat(self) -> None:
        # A window without tabs has no status bar.
        self.open_file()
        self.model.will_play(
            "api", [call("run_shell_command", command="touch made")], ["Done for the API."]
        )
        made = self.served.ask("POST", "/sessions", {"workspacePath": self.folder})
        body = {"message": "api"}
        self.served.ask("POST", f"/sessions/{made['sessionId']}/queue", body)
        until(
            lambda: self.editor.do("status_bar_says", "1 asks"),
            lambda: self.editor.do("status_bar"),
        )
        at = self.until_listed("asks since")
        self.assertIn("API", " ".join(self.editor.do("panel_rows")[at]))
        self.editor.do("choose", at)
        self.until_shown("▎ api", "May it use", "[Allow]")
        self.until_decided("gemini_companion_allow")
        self.until_shown("Done for the API.")
        self.assertTrue(self.is_made())


class OnThePage(AskedCase):
    is_shared = False

    def test_a_question_that_the_page_answers_goes_from_the_tab(self) -> None:
        self.editor.do("command", "gemini_companion_stop_api_server")
        until(lambda: not self.editor.do("api_runs"))
        self.editor.do("setting", "api_shows_chats", True)
        self.served = Served(self.editor)
        self.asks()
        (waiting,) = self.served.ask("GET", "/tool-confirmations")["confirmations"]
        body = {"callId": waiting["data"]["callId"], "outcome": "proceed_once"}
        self.served.ask("POST", "/tool-confirmation", body)
        shown = self.until_shown("Done.")
        self.assertNotIn("May it use", shown)
        self.assertTrue(self.is_made())


class ByRules(AskedCase):
    """The user's rules answer for them."""

    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(self.editor.do, "setting", "agent_rules", {})
        self.addCleanup(self.editor.do, "project", {})

    def play(self, words: str, *commands: str) -> None:
        """The agent wants to run them, one after the other."""
        calls = [[call("run_shell_command", command=command)] for command in commands]
        self.model.will_play(words, *calls, [f"Done with {words}."])
        self.say(words)

    def test_commands_are_denied_and_allowed_unasked_and_the_chat_says_by_which_rule(self) -> None:
        rules = {"deny": ["command:touch no *"], "allow": ["command:touch *"]}
        self.editor.do("setting", "agent_rules", rules)
        self.new_chat()
        self.play("go", "touch no", "touch yes", "touch yes; touch no", "touch also")
        shown = self.until_shown("Done with go.")
        self.assertNotIn("May it use", shown)
        self.assertEqual(self.made(), ["also", "yes"])
        self.assertEqual(shown.count("Your rule command:touch no * denies it."), 2)
        self.assertEqual(shown.count("allowed by your rule command:touch *"), 2)

    def test_other_words_for_a_denied_command_and_what_a_project_allows_are_asked_about(
        self,
    ) -> None:
        rules = {"deny": ["command:touch no *"], "allow": ["command:touch *"]}
        self.editor.do("setting", "agent_rules", rules)
        self.editor.do("project", {"agent_rules": {"allow": ["command:*", "tool:*"]}})
        self.new_chat()
        for command in ("mkdir made", "touch -a no"):
            self.play(command, command)
            self.until_shown("May it use", "[Allow]")
            self.until_decided("gemini_companion_deny")
            self.until_shown(f"Done with {command}.")
        self.assertEqual(self.made(), [])


@unittest.skipUnless(os.path.exists(PROGRAM), "Gemini CLI is not installed")
class ByRulesWithGeminiCli(ByRules):
    program = PROGRAM
