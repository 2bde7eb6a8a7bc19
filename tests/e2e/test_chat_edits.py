"""Edits of a chat's agent in the headless editor: looked at in the review, and turned back."""

from __future__ import annotations

import glob
import json
import os
import unittest
from typing import Any

from agent_case import PROGRAM
from chat_case import EditorChatCase
from model_server import call
from served import until


def read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def allow_files_always(editor: Any) -> None:
    """All of the folder. At first the command only shows what it would allow."""
    editor.do("command", "gemini_companion_allow_always")
    editor.do("choose_if_asked", 1)


tearDownModule = EditorChatCase.end


class Edits(EditorChatCase):
    is_shared = True

    def setUp(self) -> None:
        super().setUp()
        self.path = os.path.join(self.folder, f"{self._testMethodName}.txt")
        self.write("one\n")

    def leave(self, kind: tuple[object, ...]) -> None:
        super().leave(kind)
        for words in ("your edits", "Changes"):
            self.editor.do("close_tabs", words)

    def write(self, text: str) -> None:
        with open(self.path, "w") as file:
            file.write(text)

    def content(self) -> str:
        with open(self.path) as file:
            return file.read()

    def ask_for(self, words: str, text: str, before: str = "") -> None:
        """The agent wants to write the text, and says so afterwards; `before` is in the composer
        already."""
        wanted = call("write_file", file_path=self.path, content=text)
        self.model.will_play(before + words, [wanted], [f"Done with {before + words}."])
        self.say(words)
        until(lambda: self.editor.do("proposal", self.path) == text)

    def decide(self, name: str) -> None:
        self.editor.do("command", f"gemini_companion_{name}_diff")

    def edit(self, words: str, text: str) -> None:
        """A turn that changes the file."""
        self.ask_for(words, text)
        self.decide("accept")
        until(lambda: self.content() == text)
        self.until_over(words)

    def until_over(self, words: str) -> None:
        """Until the last line of the turn is there."""
        done = f"Done with {words}."
        until(lambda: " token" in self.until_shown(done).rpartition(done)[2])


class InTheReview(Edits):
    def test_an_edit_is_accepted_changed_and_rejected_in_the_review(self) -> None:
        self.new_chat()
        self.edit("first", "one\ntwo\n")
        self.ask_for("second", "one\ntwo\nthree\n")
        self.editor.do("append", self.path, "mine\n")
        self.decide("accept")
        self.until_shown("Done with second.")
        self.assertEqual(self.content(), "one\ntwo\nthree\nmine\n")
        self.assertIn("mine", self.model.received())
        self.ask_for("third", "gone\n")
        self.decide("reject")
        self.until_shown("Done with third.")
        self.assertEqual(self.content(), "one\ntwo\nthree\nmine\n")
        until(lambda: self.editor.do("proposal", self.path) is None)

    def test_what_was_typed_is_a_tab_after_the_turn_was_stopped(self) -> None:
        self.new_chat()
        self.ask_for("first", "two\n")
        self.editor.do("append", self.path, "mine\n")
        self.editor.do("command", "gemini_companion_stop")
        name = f"{os.path.basename(self.path)} (your edits"
        until(lambda: any(tab.startswith(name) for tab in self.editor.do("tabs")))
        self.assertEqual(self.content(), "one\n")

    def test_what_was_typed_can_be_accepted_after_a_crash_of_the_editor(self) -> None:
        self.new_chat()
        self.ask_for("first", "two\n")
        self.editor.do("keep_session")
        self.editor.do("append", self.path, "mine\n")
        kept = os.path.join(self.data, "**", "edits.json")
        until(lambda: any("mine" in read(path) for path in glob.glob(kept, recursive=True)))
        self.editor.kill()
        self.start()
        self.editor.do("restore_session")
        until(lambda: self.editor.do("proposal", self.path) == "two\nmine\n")
        self.assertEqual(self.content(), "one\n")
        self.decide("accept")
        until(lambda: self.content() == "two\nmine\n")


class OpenFileCase(Edits):
    """The file is open, with a line that is not saved."""

    wanted = "one\nmine\ntwo\n"

    def setUp(self) -> None:
        super().setUp()
        self.editor.do("open", self.path)
        self.editor.do("type_in_file", self.path, "mine\n")
        self.new_chat()

    def accept_anyway(self) -> None:
        self.decide("accept")
        self.editor.do("choose", 1)


class OpenFile(OpenFileCase):
    """What the agent is asked for is the same with every one of them."""

    def test_an_edit_is_made_in_its_tab_and_saved_with_what_was_typed(self) -> None:
        self.ask_for("first", self.wanted)
        self.assertEqual(self.content(), "one\n")
        self.accept_anyway()
        self.until_over("first")
        self.assertEqual(self.content(), self.wanted)
        self.assertEqual(self.editor.do("text", self.path), self.wanted)
        self.assertFalse(self.editor.do("is_unsaved", self.path))
        self.editor.do("undo_in_file", self.path)
        self.assertEqual(self.editor.do("text", self.path), "one\nmine\n")

    def test_what_was_allowed_for_good_is_asked_about_while_there_are_unsaved_changes(self) -> None:
        self.ask_for("first", self.wanted)
        self.accept_anyway()
        self.until_over("first")
        self.ask_for("second", "all\n")

        def allowed() -> bool:
            allow_files_always(self.editor)
            return self.content() == "all\n"

        until(allowed)
        self.until_over("second")
        self.editor.do("type_in_file", self.path, "more\n")
        self.ask_for("third", "none\n")
        self.assertEqual(self.content(), "all\n")
        self.accept_anyway()
        self.until_over("third")
        self.assertEqual(self.content(), "none\n")
        self.editor.do("undo_in_file", self.path)
        self.assertTrue(self.editor.do("text", self.path).endswith("more\n"))


class OpenFileOfTheUser(OpenFileCase):
    """What the editor does alone."""

    def test_undoing_the_turn_leaves_what_was_typed(self) -> None:
        self.ask_for("first", self.wanted)
        self.accept_anyway()
        self.until_over("first")
        self.editor.do("command", "gemini_companion_undo_turn")
        until(lambda: self.content() == "one\nmine\n")

    def test_a_rejected_edit_leaves_it_unsaved(self) -> None:
        self.ask_for("first", self.wanted)
        self.decide("reject")
        self.until_over("first")
        self.assertEqual(self.content(), "one\n")
        self.assertEqual(self.editor.do("text", self.path), "one\nmine\n")
        self.assertTrue(self.editor.do("is_unsaved", self.path))


@unittest.skipUnless(os.path.exists(PROGRAM), "Gemini CLI is not installed")
class OpenFileWithGeminiCli(OpenFile):
    program = PROGRAM

    def test_its_tools_find_what_is_not_saved(self) -> None:
        edit = {"old_string": "mine", "new_string": "yours", "instruction": "x"}
        wanted = call("replace", file_path=self.path, **edit)
        self.model.will_play("go", [wanted], ["Done with go."])
        self.say("go")
        until(lambda: self.editor.do("proposal", self.path) == "one\nyours\n")
        self.accept_anyway()
        self.until_over("go")
        self.assertEqual(self.content(), "one\nyours\n")

    def test_a_new_file_is_made(self) -> None:
        path = os.path.join(self.folder, "new", "b.txt")
        wanted = call("write_file", file_path=path, content="new\n")
        self.model.will_play("go", [wanted], ["Done with go."])
        self.say("go")
        until(lambda: self.editor.do("proposal", path) == "new\n")
        self.decide("accept")
        self.until_over("go")
        self.assertEqual(read(path), "new\n")

    def test_an_excluded_file_is_not_read(self) -> None:
        path = os.path.join(self.folder, "server.key")
        with open(path, "w", encoding="utf-8") as file:
            file.write("KEY=secret\n")
        wanted = call("write_file", file_path=path, content="KEY=\n")
        self.model.will_play("go", [wanted], ["Done with go."])
        self.say("go")
        self.until_over("go")
        self.assertEqual(read(path), "KEY=secret\n")
        self.assertIn("exclude it", self.model.received())


@unittest.skipUnless(os.path.exists(PROGRAM), "Gemini CLI is not installed")
class Held(Edits):
    """The user wants to be asked in every mode."""

    program = PROGRAM

    def setUp(self) -> None:
        super().setUp()
        self.editor.do("setting", "ask_for_edits", True)
        self.editor.do("setting", "agent_rules", {})

    def start(self) -> None:
        path = os.path.join(self.data, "Packages", "User", "GeminiCompanion.sublime-settings")
        settings = json.loads(read(path))
        settings.update(trusted_folders=[self.folder], ask_for_edits=True)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(settings, file)
        super().start()

    def choose_mode(self, id: str, name: str) -> None:
        self.new_chat()
        self.ask_for("before", "two\n")
        self.decide("accept")
        self.until_over("before")
        self.editor.do("command", "gemini_companion_mode", {"value": id})
        until(lambda: name in self.editor.do("chat_state"))

    def test_an_edit_in_a_mode_that_asks_nobody_waits_for_the_user(self) -> None:
        self.choose_mode("autoEdit", "Auto Edit")
        self.ask_for("held", "three\n")
        self.assertEqual(self.content(), "two\n")
        self.editor.do("append", self.path, "mine\n")
        self.decide("accept")
        self.until_over("held")
        self.assertEqual(self.content(), "three\nmine\n")
        self.ask_for("no", "four\n")
        self.decide("reject")
        self.until_over("no")
        self.assertEqual(self.content(), "three\nmine\n")

    def test_a_denied_tool_writes_nothing_in_a_mode_that_asks_nobody(self) -> None:
        self.choose_mode("autoEdit", "Auto Edit")
        self.editor.do("setting", "ask_for_edits", False)
        for tool, content in (("write_file", "two\n"), ("replace", "three\n")):
            self.editor.do("setting", "agent_rules", {"deny": [f"tool:{tool}"]})
            wanted = call("write_file", file_path=self.path, content="three\n")
            self.model.will_play(tool, [wanted], [f"Done with {tool}."])
            self.say(tool)
            self.until_over(tool)
            self.assertEqual(self.content(), content)
        self.assertIn("a rule of the user denies it", self.model.received())


class Turns(Edits):
    def command(self, name: str) -> None:
        self.editor.do("command", f"gemini_companion_{name}")

    def test_turns_are_undone_and_made_again_over_a_restart(self) -> None:
        self.new_chat()
        self.edit("first", "one\ntwo\n")
        self.edit("second", "one\ntwo\nthree\n")
        self.command("undo_turn")
        until(lambda: self.content() == "one\ntwo\n")
        self.command("undo_turn")
        until(lambda: self.content() == "one\n")
        self.editor.do("keep_session")
        self.editor.kill()
        self.start()
        self.editor.do("restore_session")
        undone = "1 file changed, then undone"
        until(lambda: self.until_shown("Done with second.").count(undone) == 2)
        until(lambda: self.editor.do("choose_in_palette", "Gemini Companion: Redo Turn"))
        until(lambda: self.content() == "one\ntwo\n")
        self.until_shown("1 file changed, undone, and made again")
        self.command("redo_turn")
        until(lambda: self.content() == "one\ntwo\nthree\n")

    def test_a_message_is_gone_back_to_with_files_and_conversation(self) -> None:
        self.new_chat()
        self.edit("first", "one\ntwo\n")
        self.edit("second", "one\ntwo\nthree\n")
        self.command("rewind")
        self.editor.do("choose", 0, 0)
        until(lambda: self.composer() == "second")
        shown = self.until_shown("Done with first.")
        self.assertNotIn("Done with second.", shown)
        self.assertEqual(self.content(), "one\ntwo\n")
        # What is in the composer is said again.
        self.ask_for("", "other\n", "second")
        self.decide("accept")
        until(lambda: self.content() == "other\n")

    def test_what_a_turn_changed_is_a_sheet(self) -> None:
        self.new_chat()
        self.edit("first", "one\ntwo\n")
        self.command("turn_changes")
        name = os.path.basename(self.path)
        until(lambda: name in (self.editor.do("named", "Changes") or ""))


@unittest.skipUnless(os.path.exists(PROGRAM), "Gemini CLI is not installed")
class WithGeminiCli(Edits):
    program = PROGRAM

    def test_edits_are_accepted_changed_rejected_and_turned_back(self) -> None:
        self.new_chat()
        self.edit("first", "one\ntwo\n")
        self.ask_for("second", "one\ntwo\nthree\n")
        self.editor.do("append", self.path, "mine\n")
        self.decide("accept")
        self.until_over("second")
        changed = "one\ntwo\nthree\nmine\n"
        self.assertEqual(self.content(), changed)
        self.ask_for("third", "gone\n")
        self.decide("reject")
        self.until_over("third")
        self.assertEqual(self.content(), changed)
        self.editor.do("command", "gemini_companion_undo_turn")
        until(lambda: self.content() == "one\ntwo\n")
        self.editor.do("command", "gemini_companion_redo_turn")
        until(lambda: self.content() == changed)
        self.editor.do("command", "gemini_companion_rewind")
        self.editor.do("choose", 1, 0)
        until(lambda: self.composer() == "second")
        self.assertEqual(self.content(), "one\ntwo\n")

    def test_a_turn_allowed_for_the_session_counts_all_of_its_files(self) -> None:
        self.new_chat()
        paths = [os.path.join(self.folder, f"{number}.txt") for number in range(12)]
        wanted = [call("write_file", file_path=path, content="new\n") for path in paths]
        self.model.will_play("all of them", wanted, ["Done with all of them."])
        self.say("all of them")
        until(lambda: self.editor.do("proposal", paths[0]) == "new\n")

        def allowed() -> bool:
            allow_files_always(self.editor)
            return os.path.exists(paths[0])

        until(allowed)
        self.until_over("all of them")
        self.assertEqual([read(path) for path in paths], ["new\n"] * 12)
        self.until_shown("12 files changed")
