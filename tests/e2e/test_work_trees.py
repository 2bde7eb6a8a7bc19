"""Agents in work trees of their own, with the real ones in the headless editor."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import unittest
from dataclasses import replace

import session
from agent_case import HERE
from agent_rows import AGENTS
from agent_tab import AgentInTab
from cli import GeminiCli as CliInTerminal
from model_server import call
from served import until

from tests.fake_cli import FakeCli
from tests.support import wait_for

GIT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
OWN = "".join(f"line {number}\n" for number in range(1, 10))
THEIRS = OWN.replace("line 2\n", "line two\n")


class TreeChat(AgentInTab):
    """The folder of the window is a repository with one file."""

    def make_repository(self) -> None:
        self.path = os.path.join(self.folder, "a.txt")
        self.git("init", "-q")
        self.write(OWN)
        self.git("add", "-A")
        self.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")

    def setUp(self) -> None:
        self.make_repository()
        self.tree = os.path.join(self.root, "work.trees", f"{self.row.id}-1")
        self.editor.do("command", "gemini_companion_new_chat_in_work_tree")
        until(lambda: self.row.name in str(self.editor.do("chat_state")))

    def git(self, *words: str) -> None:
        env = {**os.environ, **GIT}
        subprocess.run(["git", *words], cwd=self.folder, env=env, check=True, timeout=60)

    def write(self, text: str) -> None:
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)

    def read_own(self) -> str:
        with open(self.path, encoding="utf-8") as file:
            return file.read()


class InWorkTree(TreeChat):
    def test_an_edit_stays_in_the_tree_until_the_user_takes_it_over(self) -> None:
        own, self.path = self.path, os.path.join(self.tree, "a.txt")
        self.propose("change it", THEIRS, "I changed it.")
        self.editor.do("command", "gemini_companion_accept_diff")
        self.until_over("I changed it.")
        self.assertEqual(self.read(), THEIRS)
        self.path = own
        self.assertEqual(self.read_own(), OWN)
        # The user has gone on meanwhile.
        self.write(OWN + "mine\n")
        self.editor.do("command", "gemini_companion_show_changes", {"show": "tab"})
        self.editor.do("wait_for", "begins_with", True, "Changes", "1 file changed in a work tree")
        self.editor.do("command", "save")
        self.editor.do("choose", 0)
        until(lambda: self.read_own() == THEIRS + "mine\n")
        self.editor.do("wait_for", "begins_with", True, "Changes", "No changes wait")
        self.editor.do("command", "gemini_companion_remove_work_tree")
        # Nothing is lost with it.
        self.editor.do("choose", 0)
        until(lambda: not os.path.exists(self.tree))


class GeminiCli(InWorkTree):
    row = replace(AGENTS["gemini"], folder=HERE)


class InTrustedProject(TreeChat):
    row = GeminiCli.row

    def setUp(self) -> None:
        self.editor.do("setting", "trusted_folders", [self.folder])
        super().setUp()

    def test_the_agent_has_the_tools_of_the_editor_as_in_the_project(self) -> None:
        # Gemini CLI gives them in trusted folders alone.
        self.say("hello", ["Hi."])
        self.until_over("Hi.")
        tools = str(self.model.last_request()["tools"])
        self.assertIn("mcp_editor_open_files", tools)


class QwenCode(InWorkTree):
    row = replace(AGENTS["qwen"], folder=HERE)


# The others have its test.
del InWorkTree


class Several(TreeChat):
    """One message to two agents, each with a model of its own."""

    row = GeminiCli.row
    other = QwenCode.row

    def setUp(self) -> None:
        self.theirs = self.other.server()
        self.theirs.__enter__()
        self.addCleanup(self.theirs.__exit__, None, None, None)
        agents = {
            row.id: {"command": list(row.command()), "protocol_version": row.protocol_version}
            for row in (self.row, self.other)
        }
        self.editor.do("setting", "agents", agents)
        self.served.configure(**self.other.login(self.theirs.url))
        self.make_repository()

    def test_the_variants_of_both_stand_in_one_sheet(self) -> None:
        words, proposals = "refactor it", {}
        for row, model, line in ((self.row, self.model, 2), (self.other, self.theirs, 8)):
            path = os.path.join(self.root, "work.trees", f"{row.id}-1", "a.txt")
            proposals[path] = text = OWN.replace(f"line {line}\n", f"by {row.id}\n")
            calls = [*row.edit(path, "", "")[:-1], row.write(path, text)]
            model.will_play(words, *([each] for each in calls), ["Done."])
        self.editor.do("command", "gemini_companion_ask_several_agents")
        self.editor.do("choose", 2, 0)
        self.editor.do("type_in_panel", words)
        for path, text in proposals.items():
            self.editor.do("wait_for", "proposal", text, path)
            self.editor.do("accept", path, text)
            self.editor.do("wait_for", "holds", True, path, text)
        self.editor.do("command", "gemini_companion_show_changes", {"show": "tab"})
        self.editor.do("wait_for", "begins_with", True, "Changes", "2 files changed in work trees")
        for name in (self.row.name, self.other.name):
            until(lambda name=name: f"({name}" in str(self.editor.do("named", "Changes")))


class InTerminal(session.Session):
    """A CLI in the work tree finds the window by its folder alone. The project has `a.txt`."""

    has_cli = False
    own: str
    tree: str

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.own = os.path.join(cls.folder, "a.txt")
        with open(cls.own, "w", encoding="utf-8") as file:
            file.write(OWN)
        for words in ("init -q", "add -A", "-c user.name=a -c user.email=a@b commit -qm first"):
            env = {**os.environ, **GIT}
            subprocess.run(["git", *words.split()], cwd=cls.folder, env=env, check=True, timeout=60)
        # What would be the user's terminal only shows that something was started.
        cls.editor.do("setting", "terminal_command", ["true", "{command}"])
        cls.editor.do("command", "gemini_companion_run_cli_in_work_tree")
        cls.tree = os.path.join(cls.root, "work.trees", "gemini-1")
        until(lambda: cls.tree in cls.advertised())
        home = tempfile.mkdtemp(dir=cls.root)
        cls.cli = CliInTerminal(home, cls.tree, cls.model.url, {"TMPDIR": cls.temp})
        cls.addClassCleanup(cls.cli.close)
        cls.cli.wait_connected()

    @classmethod
    def advertised(cls) -> str:
        """What discovery files say."""
        told = ""
        for name in cls.editor.discovery_files():
            with open(os.path.join(cls.temp, "gemini", "ide", name), encoding="utf-8") as file:
                told += file.read()
        return told

    def test_its_edits_are_reviewed_in_the_window_of_the_project(self) -> None:
        path = os.path.join(self.tree, "new.txt")
        self.ask(path, "theirs\n", "write_file", content="theirs\n")
        self.editor.do("command", session.ACCEPT)
        until(lambda: os.path.exists(path))
        self.editor.do("wait_for", "holds", True, path, "theirs\n")
        self.finish(path)
        self.assertEqual(sorted(os.listdir(self.folder)), [".git", "a.txt"])

    def test_it_cannot_write_the_users_own_files(self) -> None:
        self.model.will_play(
            "change mine",
            [call("write_file", file_path=self.own, content="theirs\n")],
            ["I cannot."],
        )
        self.cli.say("change mine")
        self.cli.wait_for("I cannot.")
        self.assertIn("Path not in workspace", json.dumps(self.model.last_request()))
        self.assertEqual(self.read(self.own), OWN.encode())
        self.cli.wait_ready()

    def test_it_is_told_of_its_own_file_while_the_user_looks_at_theirs(self) -> None:
        path = os.path.join(self.tree, "a.txt")
        watcher = FakeCli(self.editor.do("environment"))
        self.addCleanup(watcher.close)
        self.editor.do("open", self.own)
        self.editor.do("select", self.own, 7, 13)
        wait_for(lambda: [each.get("selectedText") for each in watcher.context()] == ["line 2"])
        self.assertEqual([each["path"] for each in watcher.context()], [self.own])
        self.cli.wait_for("1 open file")
        self.cli.say("what is this")
        prompt = self.model.wait_for_prompt("what is this")
        for words in (f'"path": "{path}"', '"line": 2', '"selectedText": "line 2"'):
            self.assertIn(words, prompt)
        self.assertNotIn(self.own, prompt)
        self.cli.wait_answered("what is this")
        # What it is told it can change.
        self.ask(
            path, THEIRS, "replace", instruction="", old_string="line 2\n", new_string="line two\n"
        )
        self.editor.do("command", session.ACCEPT)
        self.editor.do("wait_for", "holds", True, path, THEIRS)
        self.finish(path)
        self.assertEqual(self.read(self.own), OWN.encode())


if __name__ == "__main__":
    unittest.main()
