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
    """A CLI in the work tree finds the window by its folder alone."""

    has_cli = False

    def advertised(self) -> str:
        """What discovery files say."""
        folder = os.path.join(self.temp, "gemini", "ide")
        names = self.editor.discovery_files()
        return "".join(self.read(os.path.join(folder, name)).decode() for name in names)

    def test_its_edits_are_reviewed_in_the_window_of_the_project(self) -> None:
        for words in ("init -q", "-c user.name=a -c user.email=a@b commit -q --allow-empty -m x"):
            env = {**os.environ, **GIT}
            subprocess.run(
                ["git", *words.split()], cwd=self.folder, env=env, check=True, timeout=60
            )
        # What would be the user's terminal only shows that something was started.
        self.editor.do("setting", "terminal_command", ["true", "{command}"])
        self.editor.do("command", "gemini_companion_run_cli_in_work_tree")
        tree = os.path.join(self.root, "work.trees", "gemini-1")
        until(lambda: tree in self.advertised())
        home = tempfile.mkdtemp(dir=self.root)
        cli = CliInTerminal(home, tree, self.model.url, {"TMPDIR": self.temp})
        self.addCleanup(cli.close)
        cli.wait_connected()
        path = os.path.join(tree, "new.txt")
        self.ask_on(cli, path, "write_file", content="theirs\n")
        self.editor.do("wait_for", "proposal", "theirs\n", path)
        self.editor.do("command", session.ACCEPT)
        until(lambda: os.path.exists(path))
        self.editor.do("wait_for", "holds", True, path, "theirs\n")
        self.assertEqual(os.listdir(self.folder), [".git"])
        # It is told of the user's file by the path that this has, and cannot write it.
        own = os.path.join(self.folder, "own.txt")
        with open(own, "w", encoding="utf-8") as file:
            file.write("mine\n")
        self.editor.do("open", own)
        self.model.will_play(
            "change this", [call("write_file", file_path=own, content="theirs\n")], ["I cannot."]
        )
        cli.say("change this")
        cli.wait_for("I cannot.")
        self.assertIn("Path not in workspace", json.dumps(self.model.last_request()))
        self.assertEqual(self.read(own), b"mine\n")


if __name__ == "__main__":
    unittest.main()
