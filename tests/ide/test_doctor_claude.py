"""Each step of Claude Code's way made to fail once, and its facts gathered from a home."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import unittest
from dataclasses import replace
from typing import Any

from GeminiCompanion.companion import __version__
from GeminiCompanion.companion.ide.clis import CLAUDE_CODE, GEMINI_CLI, by_command
from GeminiCompanion.companion.ide.doctor import checks, claude_gathering, gathering, report
from GeminiCompanion.companion.ide.doctor.checks import Failed
from GeminiCompanion.companion.ide.doctor.claude_checks import CLAUDE_CHECKS
from GeminiCompanion.companion.ide.doctor.claude_facts import (
    ClaudeChoices,
    ClaudeFacts,
    ClaudeLock,
    ClaudeServing,
)
from GeminiCompanion.companion.ide.doctor.facts import Facts, FoundProgram, Window
from GeminiCompanion.companion.ide.doctor.gathering import ExaminedScope
from GeminiCompanion.companion.ide.doctor.report import Examination
from GeminiCompanion.companion.ide.hooks.extension import Installed
from GeminiCompanion.companion.ide.system_processes import SystemProcess

PLACE = "/home/ann/.claude/ide"
LOCK = ClaudeLock(f"{PLACE}/5000.lock", 5000, ("/work",))
OTHER = ClaudeLock(f"{PLACE}/6000.lock", 6000, ("/",))
SERVING = ClaudeServing(True, 5000, (LOCK.path,), connected=1)
WINDOW = Window(100, 4000, ("/work",), claude=SERVING)
CHOICES = ClaudeChoices("/home/ann/.claude.json", True, mode="default", mode_from="/s.json")
PLUGIN = Installed("/home/ann/.claude/skills/gemini-companion", __version__)
CLI = SystemProcess(400, 1, "claude", "claude", 2000.0, "/work", {})
PORT, CONNECTS = "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_AUTO_CONNECT_IDE"


def facts(
    serving: dict[str, Any] | None = None,
    choices: dict[str, Any] | None = None,
    locks: tuple[ClaudeLock, ...] = (LOCK,),
    lock_folders: tuple[str, ...] = (PLACE,),
    **changes: Any,
) -> Facts:
    """Those of a CLI that connects."""
    found = ClaudeFacts(
        ("/home/ann/.claude",), lock_folders, locks, replace(CHOICES, **(choices or {}))
    )
    window = replace(WINDOW, claude=replace(SERVING, **(serving or {})))
    good = Facts(
        CLAUDE_CODE,
        "linux",
        window,
        "/home/ann",
        FoundProgram("/usr/bin/claude"),
        CLI,
        folder="/work",
        is_started=False,
        extension=Installed("/home/ann/.claude/skills/gemini-companion", is_there=False),
        claude=found,
    )
    return replace(good, **changes)


NO_FOLDER = replace(WINDOW, folders=())
OFF = {"choices": {"auto_connects": None}}
HERE, AWAY = {PORT: "5000"}, {PORT: "1"}
ANOTHER_HOME = {"serving": {"lock_paths": ("/cfg/ide/5000.lock",)}, "locks": ()}
# What is so, and the first step that fails: its id, its link, words of it and of its remedy.
FAILING: tuple[tuple[str, dict[str, Any], str, str, str, str], ...] = (
    ("no CLI", {"program": FoundProgram(), "process": None}, "installed", checks.INSTALL,
     "claude was not found", "how to install it"),
    ("no home", {"lock_folders": ()}, "home", "", "/home/ann/.claude is missing", "Start claude"),
    ("the setting", {"serving": {"is_admitted": False}}, "admitted", "", '"claude_code" is off',
     "to true"),
    ("no server", {"serving": {"port": 0}}, "served", checks.RESTART, "no server", "Restart"),
    ("why there is no server", {"serving": {"port": 0, "problem": "Too many open files."}},
     "served", checks.RESTART, "Too many open files.", "Restart"),
    ("no folder", {"window": NO_FOLDER}, "folder", checks.ADD_FOLDER, "no folder", "Open"),
    ("a lock that somebody swept away", {"locks": ()}, "lock", checks.RESTART, "is gone",
     "Restart"),
    ("a lock that could not be written", {"locks": (), "serving": {"problem": "Disk full."}},
     "lock", checks.RESTART, "Disk full.", "Fix that"),
    ("another home than the editor's", ANOTHER_HOME, "lock", "", f"looks into {PLACE}",
     "CLAUDE_CONFIG_DIR"),
    ("half a lock", {"locks": (replace(LOCK, is_readable=False),)}, "lock", checks.RESTART,
     "cannot be read", ""),
    ("a lock of a dead process", {"locks": (replace(LOCK, is_alive=False),)}, "lock",
     checks.RESTART, "has ended", ""),
    ("another folder", {"folder": "/elsewhere"}, "cli_folder", checks.ADD_FOLDER,
     "runs in /elsewhere, but was told of /work", "Add its folder"),
    ("a folder whose name begins alike", {"folder": "/work2"}, "cli_folder", checks.ADD_FOLDER,
     "runs in /work2", ""),
    ("another editor above", {"locks": (LOCK, OTHER)}, "others", "",
     "6000.lock belongs to another editor", "type /ide"),
    ("not by itself", OFF, "enabled", "", "autoConnectIde is not on", "claude --ide"),
    ("by no means by itself", {"environment": {**HERE, CONNECTS: "false"}}, "enabled", "",
     f"{CONNECTS} is false", "Remove the variable"),
    ("the port of another editor", {"environment": AWAY}, "enabled", "", "port 1, which is not",
     "type /ide"),
    ("not connected", {"is_connected": False}, "connected", "", "30 seconds", "type /ide"),
    ("not connected as far as it is known", {"serving": {"connected": 0}}, "connected", "",
     "not connected", "type /ide"),
    ("a network of its own", {"is_connected": False, "has_own_network": True}, "connected", "",
     "network of its own", ""),
    ("diffs in the terminal", {"choices": {"diff_tool": "terminal"}}, "diffs", "",
     "diffTool is terminal", "/config"),
    *((mode, {"choices": {"mode": mode}, "is_connected": True}, "mode", "",
       f"mode {mode} (/s.json)", '"ask": ["Edit"]')
      for mode in ("auto", "acceptEdits", "bypassPermissions", "dontAsk")),
    ("a folder for hooks that others could enter",
     {"extension": PLUGIN, "serving": {"hook_problem": "It is open to others."}}, "plugin",
     checks.RESTART, "open to others", "restart"),
)  # fmt: skip
# What is so where no step fails.
FINE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("all is well", {}),
    ("none runs", {"process": None, "serving": {"connected": 0}}),
    ("in a terminal of the editor", {**OFF, "environment": HERE, "folder": "/elsewhere"}),
    ("in such a terminal, with another editor", {"environment": HERE, "locks": (LOCK, OTHER)}),
    ("a flag", {**OFF, "process": replace(CLI, command="claude --ide")}),
    ("a variable", {**OFF, "environment": {CONNECTS: "true"}}),
    ("another editor that has ended", {"locks": (LOCK, replace(OTHER, is_alive=False))}),
    ("another editor elsewhere", {"locks": (LOCK, replace(OTHER, folders=("/else",)))}),
    ("a file that cannot be read", {"choices": {"auto_connects": None, "unread": CHOICES.path}}),
    ("a rule that asks", {"choices": {"mode": "acceptEdits", "asks_edits": True}}),
    ("a plugin that lists what is written", {"extension": PLUGIN, "choices": {"mode": "auto"}}),
    ("no plugin that could be heard", {"serving": {"hook_problem": "It is open to others."}}),
    ("one that was connected by /ide", {**OFF, "folder": "/elsewhere", "is_connected": True}),
)  # fmt: skip


class Way(unittest.TestCase):
    def test_each_step_fails_with_its_words_link_and_remedy(self) -> None:
        for sentence, changes, id, action, words, remedy in FAILING:
            with self.subTest(sentence):
                examination = report.examine_cli(facts(**changes))
                failed = examination.failure
                assert failed is not None
                row = examination.find_row(f"claude_{id}")
                self.assertIs(row and row.result, failed)
                self.assertEqual(failed.action, action)
                self.assertIn(words, failed.what)
                self.assertTrue(failed.remedy)
                self.assertIn(remedy, failed.remedy)

    def test_nothing_fails_where(self) -> None:
        for sentence, changes in FINE:
            with self.subTest(sentence):
                examination = report.examine_cli(facts(**changes))
                self.assertIsNone(examination.failure)
                self.assertTrue(changes or len(examination.rows) == len(CLAUDE_CHECKS))

    def test_the_plugin_is_said_to_be_there_to_be_off_or_to_be_heard(self) -> None:
        heard = {"window": replace(WINDOW, heard={"claude": 0.0})}
        for changes, words in (
            ({}, "not installed"),
            ({"extension": PLUGIN}, "not heard here yet"),
            (
                {"extension": replace(PLUGIN, is_enabled=False), **heard},
                "switched off; claude plugin enable gemini-companion@skills-dir",
            ),
            ({"extension": PLUGIN, **heard}, f"version {__version__}, last heard at"),
            ({"extension": replace(PLUGIN, version="0.0.1")}, "Install CLI Extension"),
            ({"platform": "windows"}, "not offered on Windows"),
        ):
            with self.subTest(words):
                row = report.examine_cli(facts(**changes)).find_row("claude_plugin")
                self.assertIn(words, str(row and row.result))

    def test_one_that_is_not_connected_is_not_told_the_words_for_other_clis(self) -> None:
        for examination in map(report.examine_cli, (facts(), facts(is_connected=False))):
            self.assertIsNone(examination.find_row("connected"))
            self.assertNotIn("/ide enable", examination.report_text())


class Gathering(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = os.path.realpath(folder.name)
        self.work = os.path.join(self.home, "work")
        os.mkdir(self.work)
        self.window = Window(1, 0, (self.work,), claude=SERVING)
        self.scope = ExaminedScope(
            GEMINI_CLI, self.window, ("gemini",), {"PATH": self.home}, self.home, "token"
        )

    def write(self, path: str, content: Any) -> str:
        path = os.path.join(self.home, *path.split("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def examine(self, *processes: SystemProcess) -> list[Examination]:
        """Of Claude Code alone."""
        found = gathering.gather_facts(self.scope, {each.pid: each for each in processes})
        return [report.examine_cli(each) for each in found if each.cli == CLAUDE_CODE]

    def gather(self, *processes: SystemProcess) -> ClaudeFacts:
        (found,) = self.examine(*processes)
        return found.facts.claude

    def process(self, command: str = "claude", **environment: str) -> SystemProcess:
        own = {"HOME": self.home, "USERPROFILE": self.home, **environment}
        return SystemProcess(1 << 30, 1, "claude", command, 1.0, self.work, own)

    def test_who_does_not_have_it_is_not_told_of_it(self) -> None:
        self.assertEqual(self.examine(), [])
        os.mkdir(os.path.join(self.home, ".claude"))
        self.assertEqual(len(self.examine()), 1)

    def test_who_has_chosen_it_is_told_of_it_alone_and_first(self) -> None:
        gemini = SystemProcess(7, 1, "gemini", "gemini", 1.0, self.work, {"HOME": self.home})
        rows: tuple[tuple[str, dict[int, SystemProcess], list[tuple[str, bool]]], ...] = (
            ("claude", {}, [("claude", True)]),
            ("claude", {7: gemini}, [("claude", True), ("gemini", False)]),
            ("claude", {8: self.process()}, [("claude", True)]),
            ("gemini", {8: self.process()}, [("gemini", True), ("claude", False)]),
        )
        for command, known, expected in rows:
            with self.subTest(command, known=known):
                scope = replace(self.scope, cli=by_command([command]), command=(command,))
                found = gathering.gather_facts(scope, known)
                self.assertEqual([(each.cli.id, each.is_started) for each in found], expected)
                if command == "claude":
                    self.assertEqual(found[0].process is not None, 8 in known)
                    self.assertIn("Home of the CLI", report.examine_cli(found[0]).report_text())

    def test_its_program_and_what_starts_it_are_those_of_the_settings(self) -> None:
        program = self.write("tools/claude" + (".exe" if sys.platform == "win32" else ""), "")
        os.chmod(program, 0o755)
        os.mkdir(os.path.join(self.home, ".claude"))
        for command, words in (
            ((program,), f"ok      CLI: {program}"),
            (("claude",), "claude was not found."),
            (("/opt/start.sh", "claude"), "start was not found."),
        ):
            with self.subTest(command):
                scope = replace(self.scope, cli=CLAUDE_CODE, command=command)
                (found,) = gathering.gather_facts(scope, {})
                self.assertIn(words, report.examine_cli(found).report_text())

    def test_locks_are_read_as_the_cli_reads_them(self) -> None:
        link = os.path.join(self.home, "link")
        if sys.platform == "win32":
            link = self.work
        else:
            os.symlink(self.work, link)
        good = {"pid": os.getpid(), "workspaceFolders": [link, 7, "\0"], "authToken": "hush"}
        self.write(".claude/ide/5000.lock", good)
        self.write(".claude/ide/6000.lock", {**good, "pid": (1 << 31) - 1})
        self.write(".claude/ide/7000.lock", "{")
        self.write(".claude/ide/8000.lock", {**good, "pid": 1 << 70})
        self.write(".claude/ide/notes.txt", good)
        place = os.path.join(self.home, ".claude", "ide")
        found = self.gather()
        paths = [os.path.join(place, f"{port}.lock") for port in (5000, 6000, 7000, 8000)]
        self.assertEqual(
            found.locks,
            (
                ClaudeLock(paths[0], 5000, (self.work,)),
                ClaudeLock(paths[1], 6000, (self.work,), is_alive=False),
                ClaudeLock(paths[2], 7000, is_readable=False),
                ClaudeLock(paths[3], 8000, (self.work,), is_alive=False),
            ),
        )
        self.assertNotIn("hush", repr(found))

    def test_the_choices_are_read_and_no_key(self) -> None:
        keys = {"primaryApiKey": "hush", "env": {"ANTHROPIC_API_KEY": "hush"}}
        path = self.write(".claude.json", {**keys, "autoConnectIde": True, "diffTool": "terminal"})
        mode = {"defaultMode": "acceptEdits", "ask": ["Bash", "Edit"]}
        mine = self.write(".claude/settings.json", {**keys, "permissions": mode})
        (found,) = self.examine(self.process(ANTHROPIC_API_KEY="hush"))
        self.assertEqual(
            found.facts.claude.choices,
            ClaudeChoices(path, True, "terminal", "acceptEdits", mine, True),
        )
        process = found.facts.process
        told = (process and process.environment, found.facts.environment, found.report_text())
        self.assertNotIn("hush", repr(found.facts) + repr(told))

    def test_the_mode_of_the_project_wins_and_that_of_the_command_line_above_all(self) -> None:
        self.write(".claude/settings.json", {"permissions": {"defaultMode": "plan"}})
        project = self.write("work/.claude/settings.json", {"permissions": {"defaultMode": "auto"}})
        for command, mode, source in (
            ("claude", "auto", project),
            ("claude --permission-mode default", "default", "its command line"),
            ("claude --permission-mode=dontAsk", "dontAsk", "its command line"),
            (
                "claude --dangerously-skip-permissions",
                "bypassPermissions",
                "its command line",
            ),
        ):
            with self.subTest(command):
                choices = self.gather(self.process(command)).choices
                self.assertEqual((choices.mode, choices.mode_from), (mode, source))

    def test_files_that_make_no_sense_are_named_and_harm_nothing(self) -> None:
        os.mkdir(os.path.join(self.home, ".claude"))
        for content in ("{", "[]", "[" * 100_000, "\udcff".encode("utf-8", "replace").decode()):
            with self.subTest(content[:5]):
                path = self.write(".claude.json", content)
                self.assertEqual(self.gather().choices.unread, path)

    def test_another_home_of_the_cli_is_searched_first_and_has_its_file(self) -> None:
        os.mkdir(os.path.join(self.home, ".claude"))
        path = self.write("cfg/.claude.json", {"autoConnectIde": False})
        home = os.path.dirname(path)
        found = self.gather(self.process(CLAUDE_CONFIG_DIR=home))
        places = [os.path.join(each, "ide") for each in (home, os.path.join(self.home, ".claude"))]
        self.assertEqual((list(found.lock_folders), found.choices.auto_connects), (places, False))

    def test_one_that_another_program_drives_is_not_examined(self) -> None:
        for command in ("claude -p hello", "claude --output-format=stream-json --verbose"):
            with self.subTest(command):
                self.assertFalse(claude_gathering.has_terminal(self.process(command)))
                self.assertEqual(self.examine(self.process(command)), [])
        (found,) = self.examine(self.process())
        self.assertIsNotNone(found.facts.process)

    def test_the_editor_s_own_variables_lead_no_other_terminal(self) -> None:
        os.mkdir(os.path.join(self.home, ".claude"))
        found = claude_gathering.gather_facts(
            "linux", self.window, {"CLAUDE_CODE_SSE_PORT": "5000"}, self.home, FoundProgram(), None
        )
        self.assertEqual(found.environment, {})
        self.assertIsInstance(report.examine_cli(found).failure, Failed)


if __name__ == "__main__":
    unittest.main()
