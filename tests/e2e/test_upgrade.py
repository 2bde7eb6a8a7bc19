"""What an earlier version left on the disk (`earlier_state`), in an editor with this one."""

from __future__ import annotations

import shutil
import tempfile
import unittest
from pathlib import Path

import earlier_state
from editor import Editor
from model_server import ModelServer
from served import set_up, until

from tests.fake_cli import FakeCli
from tests.support import wait_for

TYPED = "new\nmine\n"


class Upgrade(unittest.TestCase):
    def setUp(self) -> None:
        root = Path(tempfile.mkdtemp(prefix="upgrade-")).resolve()
        self.addCleanup(shutil.rmtree, root, True)
        earlier_state.put_down(root)
        self.project, temp, data = root / "project", root / "tmp", root / "data"
        temp.mkdir()
        self.model = ModelServer()
        self.model.__enter__()
        self.addCleanup(self.model.__exit__, None, None, None)
        with set_up(str(root), str(data), self.model.url):
            self.editor = Editor(str(self.project), str(data), str(temp), restore=True)
        self.addCleanup(self.editor.close)
        self.do = self.editor.do
        self.do("wait_until_served")
        # Before it is imported whole, the package has no commands.
        self.do("status")

    def path(self, name: str) -> str:
        return str(self.project / name)

    def wait_for_file(self, name: str, text: str) -> None:
        self.do("wait_for", "exists", True, self.path(name))
        self.do("wait_for", "on_disk", text, self.path(name))

    def test_a_waiting_proposal_has_the_typed_text_and_its_decision_is_delivered(self) -> None:
        path = self.path("waiting.txt")
        self.do("wait_for", "proposal", TYPED, path)
        self.do("wait_for", "says", True, path, "Gemini CLI has left")
        self.do("review", "accept_diff", path)
        self.do("wait_for", "proposal", None, path)
        cli = FakeCli(self.do("environment"))
        self.addCleanup(cli.close)
        wait_for(cli.connected)
        wait_for(lambda: cli.received("ide/diffAccepted"))
        decision = {"filePath": path, "content": TYPED}
        self.assertIn(decision, cli.received("ide/diffAccepted"))

    def test_an_edit_that_a_chat_asked_about_has_the_typed_text_and_is_written(self) -> None:
        path = self.path("asked.txt")
        self.do("wait_for", "proposal", TYPED, path)
        self.do("review", "accept_diff", path)
        self.wait_for_file("asked.txt", TYPED)

    def test_an_accepted_text_that_is_in_no_file_is_still_listed(self) -> None:
        self.do("wait_for", "unwritten", 1)

    def test_an_accepted_edit_can_be_undone(self) -> None:
        self.do("wait_for", "accepted_edits", 5)
        self.do("command", "gemini_companion_undo_last_accepted")
        self.wait_for_file("accepted.txt", "old\n")

    def test_words_for_a_model_whose_cli_is_gone_are_a_tab(self) -> None:
        tab = "noted.txt (your note, not delivered)"
        until(lambda: "too short" in (self.do("named", tab) or ""), lambda: self.do("tabs"))
        self.do("wait_for", "named", TYPED, "noted.txt (rejected, your edits)")

    def test_edits_made_without_asking_are_in_the_sheet_with_the_typed_text(self) -> None:
        for words in ("## unasked.txt", "## sheet.txt", "\nold\nmine\n"):
            until(lambda words=words: words in (self.do("named", "Changes") or ""))
        self.do("review", "accept_diff", self.path("sheet.txt"))
        self.wait_for_file("sheet.txt", "mine\n")
        until(lambda: "sheet.txt" not in self.do("named", "Changes"))
        self.do("run", "gemini_companion_undo_edits_of_turn", 0)
        self.wait_for_file("unasked.txt", "old\n")

    def test_a_chat_has_its_transcript_what_waits_and_what_is_not_sent(self) -> None:
        self.do("focus_tab", "hello")
        for words in ("later", "notes.txt"):
            until(lambda: words in self.do("chat_above"), lambda: self.do("chat_above"))  # noqa: B023
        transcript, _, composer = self.do("chat").partition(earlier_state.LINE)
        self.assertEqual(composer, "mine")
        for words in ("▎ hello", "turn.txt", "Hello to you.", "▎ count", "This turn was cut off"):
            self.assertIn(words, transcript)
        self.model.will_play("mine", ["Now."])
        self.model.will_play("later", ["And later."])
        self.do("command", "gemini_companion_send")
        for words in ("Now.", "And later."):
            until(lambda: words in self.do("chat"), lambda: self.do("chat"))  # noqa: B023

    def test_conversations_are_listed_read_anew_and_the_edits_of_a_turn_can_be_undone(self) -> None:
        self.do("close_chats")
        self.do("command", "gemini_companion_agents", {"action": "open"})
        titles = self.do("offered")
        self.assertEqual(titles[1:], ["ask", "hello"])
        self.do("choose", titles.index("hello"))
        until(lambda: "Hello to you." in (self.do("chat") or ""), lambda: self.do("tabs"))
        self.do("command", "gemini_companion_undo_turn")
        self.do("wait_for", "exists", False, self.path("turn.txt"))
