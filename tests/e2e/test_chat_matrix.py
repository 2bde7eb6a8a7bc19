"""Each agent, unmodified, in a tab of the headless editor: what test_matrix does over HTTP, as a
user does it. An agent that is not set up is skipped.

    make test-agents
"""

from __future__ import annotations

import json
import os
import unittest
from base64 import b64decode
from contextlib import suppress
from pathlib import Path

from agent_rows import AGENTS, CLAUDE_IN_2, CODEX_IN_2, DOT, NEWEST_CLAUDE
from agent_tab import AgentInTab
from hanging_pipe import HangingPipe, needs_pipes
from model_server import Gate
from served import until

REVIEWED = "one\ntwo\n"


class InTab(AgentInTab):
    """All situations of one agent in one editor, a chat for each."""

    # The situations.

    def test_an_image_of_the_agent_has_a_line_below_its_call(self) -> None:
        if not self.row.shows:
            self.skipTest(f"{self.row.name} tells of images by words alone")
        path = os.path.join(self.folder, "dot.png")
        with open(path, "wb") as file:
            file.write(b64decode(DOT))
        self.say("look at it", [self.row.look(path)], ["A dot."])
        text = self.until_shown("✓", "→")
        self.assertRegex(text, rf"▏ ✓ .*\n▏   → {self.row.shows}")

    def test_an_answer_is_shown_while_it_comes(self) -> None:
        gate = Gate()
        self.addCleanup(gate.set)
        self.say("count", ["One ", gate, "and two."])
        shown = self.until_shown("▎ count", "One")
        self.assertNotIn("and two.", shown)
        gate.set()
        self.until_over("▎ count", "One and two.")

    def test_the_model_has_the_tools_of_the_editor_where_the_agent_gets_them(self) -> None:
        asked = self.row.asks_editor
        self.say("which files", *([[asked]] if asked else []), ["None."])

        def is_over() -> bool:
            self.editor.do("command", "gemini_companion_allow")
            return "None." in self.shown()

        until(is_over)
        told = self.until_over("▎ which files", "None.")
        if asked:
            self.assertRegex(told, r"▏ ✓ .*open_files")
        else:
            self.assertNotIn("open_files", str(self.model.last_request()))

    @unittest.skipUnless(os.path.isdir("/proc/self"), "command lines cannot be read")
    def test_no_command_line_shows_the_token_of_the_window(self) -> None:
        # Other editors may have theirs there.
        records = Path(self.temp, "gemini", "ide").glob("*.json")
        tokens = [json.loads(record.read_bytes())["authToken"].encode() for record in records]
        self.assertTrue(tokens)
        gate = Gate()
        self.addCleanup(gate.set)
        self.say("wait", ["Waiting. ", gate, "Over."])
        # Its processes have started, and run on.
        self.until_shown("▎ wait", "Waiting.")
        lines = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            # Others end meanwhile.
            with suppress(OSError):
                lines.append(path.read_bytes())
        self.assertTrue(any(lines))
        self.assertFalse([line for line in lines if any(token in line for token in tokens)])
        gate.set()
        self.until_over("▎ wait", "Over.")

    def test_a_command_is_run_once_it_was_allowed(self) -> None:
        line = f"echo plum > '{self.path}'"
        self.say("run it", [self.row.run(line)], ["It ran."])
        self.until_shown("▏ ? May it use ", f"{line}\n", "\n▏   [")
        self.assertIsNone(self.read())
        self.decide("gemini_companion_allow")
        self.until_over("It ran.")
        self.assertEqual(self.read(), "plum\n")

    def test_what_is_asked_at_once_is_allowed_together_once_it_was_in_sight(self) -> None:
        paths = [f"{self.path}.{number}" for number in range(3)]
        calls = [self.row.run(f"echo plum > '{path}'") for path in paths]
        # These agents ask about one after the other, unless their subagents do.
        self.say("run all", calls, ["They ran."])
        self.until_shown("▏ ? May it use ", "\n▏   [")
        self.assertFalse([path for path in paths if os.path.exists(path)])

        def are_made() -> bool:
            self.editor.do("command", "gemini_companion_allow_all_shown")
            return all(map(os.path.exists, paths))

        until(are_made)
        self.until_over("They ran.")

    def test_all_that_is_asked_is_denied_at_once(self) -> None:
        paths = [f"{self.path}.{number}" for number in range(3)]
        calls = [self.row.run(f"echo plum > '{path}'") for path in paths]
        self.say("run all", calls, ["As you wish."])
        self.until_shown("▏ ? May it use ", "\n▏   [")

        def is_over() -> bool:
            self.editor.do("command", "gemini_companion_deny_all")
            shown = self.shown()
            return "▏ ⊘ " in shown and " token" in shown.rpartition("\n▏ ")[2]

        until(is_over, seen=self.shown)
        self.assertFalse([path for path in paths if os.path.exists(path)])

    def test_a_command_that_hides_its_end_is_allowed_only_after_that_was_in_sight(self) -> None:
        padding = "".join(f"echo harmless {number}\n" for number in range(120))
        line = f"{padding}echo plum > '{self.path}'"
        self.say("run it", [self.row.run(line)], ["It ran."])
        self.until_shown("▏ ? May it use ", "harmless 0\n", "harmless 119\n", "\n▏   [")
        self.editor.do("command", "gemini_companion_allow")
        until(lambda: self.editor.do("is_told", "was not in sight until now, or not all of it"))
        self.assertIn("▏ ? May it use ", self.shown())
        self.assertIsNone(self.read())
        self.decide("gemini_companion_allow")
        self.until_over("It ran.")
        self.assertEqual(self.read(), "plum\n")

    def test_a_command_behind_many_spaces_is_in_sight_as_a_whole(self) -> None:
        self.deny_padded(" " * 5000 + "; ", "<5000 spaces>; ")

    def test_a_command_behind_many_blank_lines_is_in_sight_as_a_whole(self) -> None:
        self.deny_padded("\n" * 3000, "<2999 blank lines>\n")

    def deny_padded(self, padding: str, shown: str) -> None:
        last = f"echo plum > '{self.path}'"
        self.say("run it", [self.row.run(f"echo harmless{padding}{last}")], ["As you wish."])
        self.until_shown("▏ ? May it use ", "echo harmless", shown, f"{last}\n", "\n▏   [")
        self.decide("gemini_companion_deny")
        self.until_over("▏ ⊘ ")
        self.assertIsNone(self.read())

    def test_what_a_command_puts_out_is_shown_while_it_runs_if_the_agent_tells_it(self) -> None:
        # Some agents do not ask about a command that writes nothing.
        wait = f"until test -e '{self.path}'; do sleep 0.1; done"
        line = f"echo plum; echo > '{self.path}.begun'; {wait}; echo cherry"
        self.say("run it", [self.row.run(line)], ["It ran."])
        self.until_shown("▏ ? May it use ", f"{line}\n", "\n▏   [")
        self.decide("gemini_companion_allow")
        if self.row.tells_output:
            shown = self.until_shown("▏ ● ", "1 line so far", "```\nplum\n```")
            self.assertNotIn("\ncherry\n", shown)
        with open(self.path, "w", encoding="utf-8"):
            pass
        shown = self.until_over("▏ ✓ ", "plum\ncherry", "It ran.")
        self.assertNotIn("so far", shown)

    def test_a_command_is_not_run_if_it_was_denied(self) -> None:
        line = f"echo plum > '{self.path}'"
        self.say("run it", [self.row.run(line)], ["As you wish."])
        self.until_shown("▏ ? May it use ", f"{line}\n", "\n▏   [")
        self.decide("gemini_companion_deny")
        self.until_over("▏ ⊘ ")
        self.assertIsNone(self.read())

    def test_an_edit_is_written_once_it_was_accepted_in_the_review(self) -> None:
        self.propose("write it", REVIEWED, "Written.")
        self.assertIsNone(self.read())
        self.editor.do("command", "gemini_companion_accept_diff")
        self.until_over("▏ ✓ ", "+2", "Written.", "1 file changed")
        self.assertEqual(self.read(), REVIEWED)

    def test_what_a_file_loses_is_shown_before_it_is_written_anew(self) -> None:
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("zero\n")
        self.propose("write it", REVIEWED, "Written.")
        self.until_shown("+2 -1", "\n▏   [")
        self.editor.do("command", "gemini_companion_accept_diff")
        self.until_over("▏ ✓ ", "+2 -1", "1 file changed")
        self.assertEqual(self.read(), REVIEWED)

    def test_an_edit_is_written_as_the_user_changed_it_and_the_model_is_told(self) -> None:
        self.propose("write it", REVIEWED, "Well.")
        self.editor.do("append", self.path, "mine\n")
        self.editor.do("command", "gemini_companion_accept_diff")
        self.until_over("▏ ✓ ", "1 file changed")
        self.assertEqual(self.read(), REVIEWED + "mine\n")
        self.assertIn("mine", str(self.model.last_request()))

    def test_an_edit_is_not_written_if_it_was_rejected(self) -> None:
        self.propose("write it", REVIEWED, "As you wish.")
        self.editor.do("command", "gemini_companion_reject_diff")
        shown = self.until_over("▏ ⊘ ")
        self.assertIsNone(self.read())
        self.assertNotIn("changed", shown)
        self.assertIsNone(self.editor.do("proposal", self.path))

    def test_twelve_files_are_accepted_in_the_sheet_and_undone_with_their_turn(self) -> None:
        paths = [f"{self.path}.{number}" for number in range(12)]
        for path in paths:
            with open(path, "w", encoding="utf-8") as file:
                file.write("old\n")
        reads = [call for path in paths for call in self.row.edit(path, "", "")[:-1]]
        writes = [self.row.write(path, REVIEWED) for path in paths]
        self.say("refactor", *(call for call in (reads, writes) if call), ["All are changed."])
        until(lambda: self.accept_in_sheet() or self.all_hold(paths, REVIEWED))
        self.until_over("All are changed.", "12 files changed")
        self.assertTrue(self.all_hold(paths, REVIEWED))
        self.editor.do("command", "gemini_companion_undo_turn")
        until(lambda: self.all_hold(paths, "old\n"))

    def test_a_file_of_the_second_folder_of_the_window_is_one_of_the_workspace(self) -> None:
        if not self.row.takes_folders:
            self.skipTest(f"{self.row.name} takes one folder")
        second = os.path.join(self.root, "second")
        os.mkdir(second)
        self.path, kept = (os.path.join(second, path) for path in ("fruit.txt", "kept.txt"))
        with open(kept, "w", encoding="utf-8") as file:
            file.write("a ripe plum\n")
        self.editor.do("close_chats")
        self.addCleanup(self.editor.do, "set_folders", self.folder)
        self.editor.do("set_folders", self.folder, second)
        until(lambda: self.editor.do("choose_in_palette", "Gemini Companion: New Chat"))
        reads = self.row.edit(kept, "", "")[:-1]
        if reads:
            # Without a question.
            self.say("read it", list(reads), ["It was read."])
            self.until_over("▏ ✓ ", "a ripe plum", "It was read.")
        self.propose("write it", REVIEWED, "Written.")
        self.until_shown("[Allow edits of this file", "[Allow edits of all files in ", "second/")
        self.editor.do("command", "gemini_companion_accept_diff")
        self.until_over("Written.")
        self.assertEqual(self.read(), REVIEWED)

    def accept_in_sheet(self) -> None:
        """All that waits now: some agents ask about one file after the other."""
        self.editor.do("command", "gemini_companion_show_changes", {"show": "tab"})
        if not self.editor.do("begins_with", "Changes", "No changes wait"):
            self.editor.do("command", "save")
            if self.editor.do("asks"):
                self.editor.do("choose", 0)

    def all_hold(self, paths: list[str], text: str) -> bool:
        return all(self.editor.do("holds", path, text) for path in paths)

    def test_a_turn_is_stopped_and_the_next_message_is_answered(self) -> None:
        gate = Gate()
        self.addCleanup(gate.set)
        self.say("count", ["One ", gate, "and two."])
        self.until_shown("▎ count", "One")
        self.editor.do("command", "gemini_companion_stop")
        self.until_shown("One", "▏ Stopped · ")
        gate.set()
        self.say("and now", ["Here."])
        self.assertNotIn("and two.", self.until_over("▎ and now", "Here."))

    def test_a_message_that_is_sent_now_is_given_into_the_turn_where_the_agent_takes_it(
        self,
    ) -> None:
        if not self.row.steered:
            self.skipTest(f"{self.row.name} is not steered")
        gate = Gate()
        self.addCleanup(gate.set)
        self.say("count", ["One ", gate, "and two."])
        self.until_shown("▎ count", "One")
        self.say("in plums", ["Plums, then."])
        until(lambda: "in plums" in self.editor.do("chat_above"))
        self.editor.do("press_in_chat", "send now")
        self.until_shown("▎ count", "One", "▎ in plums")
        gate.set()
        shown = self.until_over("▎ in plums", "Plums, then.")
        # It was one turn, which nobody stopped.
        self.assertEqual((shown.count(" token"), shown.count("cancelled")), (1, 0))

    def test_a_subagent_is_stopped_alone_where_the_agent_can_do_that(self) -> None:
        if not self.row.stops_subagents:
            self.skipTest(f"{self.row.name} stops no subagent alone")
        gate, going_on = Gate(), Gate()
        self.addCleanup(gate.set)
        self.addCleanup(going_on.set)
        inner = f"look around ({self._testMethodName})"
        self.model.will_play(inner, ["Looking ", gate, "never said."])
        delegate = [self.row.delegate(inner)]
        self.say("delegate it", delegate, ["It went on ", going_on, "to its end."])
        self.until_shown("▎ delegate it", "▏ ● Subagent", "  Stop")
        self.editor.do("follow_in_chat", "Stop")
        self.until_shown("▎ delegate it", "▏ ✗ Subagent", "Cancelled.")
        going_on.set()
        shown = self.until_over("▎ delegate it", "It went on to its end.")
        self.assertNotIn("▏ Stopped · ", shown)
        self.assertNotIn("never said", shown)

    @needs_pipes
    def test_stop_ends_a_turn_whose_command_hangs_at_a_pipe(self) -> None:
        pipe = HangingPipe(self.path + ".pipe")
        self.addCleanup(pipe.close)
        line = f"cat '{pipe.path}' > '{self.path}'"
        # Some let their model go on while a command runs.
        gate = Gate()
        self.addCleanup(gate.set)
        self.say("run it", [self.row.run(line)], ["Meanwhile, ", gate, "never said."])
        self.until_shown("▏ ? May it use ", f"{line}\n", "\n▏   [")
        self.decide("gemini_companion_allow")
        until(pipe.readers)
        self.editor.do("command", "gemini_companion_stop")
        self.until_shown("▎ run it", "▏ Stopped · ")
        if not self.row.keeps_commands:
            until(lambda: not pipe.readers())
        self.say("and now", ["Here."])
        self.until_over("▎ and now", "Here.")

    def test_the_next_message_is_answered_after_the_agent_was_killed(self) -> None:
        self.propose("write it", REVIEWED, "Never said.")
        self.kill()
        self.until_shown("▎ write it", "▏ ✗ ")
        until(lambda: self.editor.do("proposal", self.path) is None)
        self.assertIsNone(self.read())
        self.say("and now", ["Here."])
        self.until_over("▎ and now", "Here.")

    def test_a_conversation_goes_on_after_a_restart_of_the_editor(self) -> None:
        self.say("the word is plum", ["I see."])
        before = self.until_over("▎ the word is plum", "I see.")
        self.editor.do("keep_session")
        self.editor.kill()
        self.editor.close()
        type(self).start()
        self.editor.do("restore_session")
        self.assertEqual(self.until_over("▎ the word is plum", "I see."), before)
        self.say("and now", ["Here."])
        self.until_over("▎ and now", "Here.")
        self.assertIn("the word is plum", str(self.model.last_request()))

    def test_a_fork_remembers_by_itself_where_the_agent_forks_its_session(self) -> None:
        self.say("the word is plum", ["I see."])
        self.until_over("▎ the word is plum", "I see.")
        before = len(self.editor.do("tabs"))
        self.editor.do("command", "gemini_companion_agents", {"action": "fork"})
        # Behind the row that searches.
        self.editor.do("choose", 1)
        until(lambda: len(self.editor.do("tabs")) > before)
        self.say("and now", ["Here."])
        shown = self.until_over("▎ the word is plum", "▎ and now", "Here.")
        self.assertIn("the word is plum", str(self.model.last_request()))
        told = "was given the text of the conversation"
        self.assertEqual(told not in shown, self.row.remembers_in_fork)


class GeminiCli(InTab):
    row = AGENTS["gemini"]


class QwenCode(InTab):
    row = AGENTS["qwen"]


class ClaudeCode(InTab):
    row = AGENTS["claude"]


class NewestClaudeCode(InTab):
    row = NEWEST_CLAUDE


class ClaudeCodeIn2(InTab):
    row = CLAUDE_IN_2


class OpenCode(InTab):
    row = AGENTS["opencode"]


class Codex(InTab):
    row = AGENTS["codex"]


class CodexIn2(InTab):
    row = CODEX_IN_2


# The others have their tests.
del InTab

if __name__ == "__main__":
    unittest.main()
