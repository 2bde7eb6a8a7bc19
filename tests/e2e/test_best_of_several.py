"""The same task for three real agents, each in a work tree: what they made of twelve files
is merged in the sheet into the user's own tree, one of them composed of two variants, and one undo
takes it back."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Sequence

from agent_case import HERE
from agent_rows import AGENTS
from agent_tab import AgentInTab
from GeminiCompanion.companion.agent.failure import AgentError
from served import until
from test_work_trees import GIT

WORDS = "rename function f to g in twelve files"
NAMES = [f"m{number:02}.py" for number in range(1, 13)]
# In the first file, which is saved and not committed, and in a tab that is not saved.
SAVED, UNSAVED = "# My line, which is saved.\n", "# My line, which is not saved.\n"
BEFORE = '''\
"""Steps of {name}."""

STEP = 1


def f(number):
    """Add the step."""
    return number + STEP


def add_twice(number):
    # The step is added
    # two times.
    return f(f(number))


def list_names():
    # Of what stands here.

    return ["f"]


# That is all.
'''
TESTS = """\
import glob, importlib, unittest

class Renamed(unittest.TestCase):
    def test_each_module(self):
        names = sorted(name[:-3] for name in glob.glob("m*.py"))
        self.assertEqual(len(names), 12)
        for name in names:
            with self.subTest(name):
                module = importlib.import_module(name)
                self.assertFalse(hasattr(module, "f"))
                self.assertEqual(module.g(1), 2)
                self.assertEqual(module.add_twice(1), 3)
                self.assertEqual(module.list_names(), ["g"])
"""
DEFINITION = ("def f(", "def g(")
TWICE = ("return f(f(number))", "return g(g(number))")
LISTED = ('return ["f"]', 'return ["g"]')
RENAMED = (DEFINITION, TWICE, LISTED)
# What the model of each agent makes of a file. Each makes something else of it as well, of which
# the user wants nothing; the last one says what it renames in other words.
STEPPED = ("STEP = 1", "STEP = 2")
COMMENTED = ('"""Steps of', '"""All steps of')
IN_TWO_LINES = (TWICE[0], "once = g(number)\n    return g(once)")
MADE = {
    "gemini": (*RENAMED, STEPPED),
    "qwen": (*RENAMED, COMMENTED),
    "claude": (DEFINITION, IN_TWO_LINES, LISTED),
}
# Whose variant the user takes of each file, and what they type into the last one. They compose the
# first one of two.
TAKEN = {name: id for id, first in zip(MADE, (0, 4, 8)) for name in NAMES[first : first + 4]}
TYPED = ("return g(once)", "return g(once)  # My words.")
# What they drop of what they take.
DROPPED = {"gemini": STEPPED, "qwen": COMMENTED}
# What they drop of the two variants of which they compose a file.
COMPOSED = {"gemini": STEPPED, "qwen": DEFINITION}


def made_by(id: str, text: str) -> str:
    for old, new in MADE[id]:
        text = text.replace(old, new)
    return text


class BestOfSeveral(AgentInTab):
    row = replace(AGENTS["gemini"], folder=HERE)
    others = (replace(AGENTS["qwen"], folder=HERE), AGENTS["claude"])

    @classmethod
    def prepare(cls, stack: ExitStack, command: tuple[str, ...]) -> None:
        for row in cls.others:
            try:
                row.command()
            except AgentError:
                raise unittest.SkipTest(f"{row.name} is not installed: {row.setup}") from None
        super().prepare(stack, command)

    def setUp(self) -> None:
        self.models: dict[str, Any] = {self.row.id: self.model}
        for row in self.others:
            server = row.server()
            server.__enter__()
            self.addCleanup(server.__exit__, None, None, None)
            self.models[row.id] = server
        rows = (self.row, *self.others)
        agents = {
            row.id: {"command": list(row.command()), "protocol_version": row.protocol_version}
            for row in rows
        }
        self.editor.do("setting", "agents", agents)
        # The caret stays where the test puts it.
        self.editor.do("setting", "keep_goes_on", False)
        for row in self.others:
            self.served.configure(**row.login(self.models[row.id].url))
        self.before = {name: BEFORE.format(name=name) for name in NAMES}
        for name, text in {
            **self.before,
            "test_all.py": TESTS,
            ".gitignore": "__pycache__",
        }.items():
            self.write(name, text)
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
        # What the user has begun.
        self.before[NAMES[0]] += SAVED
        self.write(NAMES[0], self.before[NAMES[0]])
        self.unsaved = os.path.join(self.folder, NAMES[6])
        self.editor.do("open", self.unsaved)
        self.editor.do("type_in_file", self.unsaved, UNSAVED)

    def write(self, name: str, text: str) -> None:
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def git(self, *words: str) -> None:
        env = {**os.environ, **GIT}
        subprocess.run(["git", *words], cwd=self.folder, env=env, check=True, timeout=60)

    def own_texts(self) -> dict[str, str]:
        found = {}
        for name in NAMES:
            with open(os.path.join(self.folder, name), encoding="utf-8") as file:
                found[name] = file.read()
        return found

    def run_tests(self) -> str:
        """What the project's own tests say; empty where they are green."""
        command = [sys.executable, "-B", "-m", "unittest", "-q"]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, timeout=60)
        return done.stderr.decode() if done.returncode else ""

    def trees(self) -> dict[str, str]:
        return {id: os.path.join(self.root, "work.trees", f"{id}-1") for id in MADE}

    def ask_all(self) -> None:
        """One message, which each model answers in its own way."""
        for row in (self.row, *self.others):
            tree = self.trees()[row.id]
            paths = {name: os.path.join(tree, name) for name in NAMES}
            reads = [call for path in paths.values() for call in row.edit(path, "", "")[:-1]]
            writes = [
                row.write(path, made_by(row.id, BEFORE.format(name=name)))
                for name, path in paths.items()
            ]
            self.models[row.id].will_play(WORDS, reads, *([each] for each in writes), ["Done."])
        self.editor.do("command", "gemini_companion_ask_several_agents")
        # The usual one is chosen already.
        self.editor.do("choose", 2)
        self.editor.do("choose", 3)
        self.editor.do("choose", 0)
        self.editor.do("type_in_panel", WORDS)
        # They begin with the last commit.
        self.editor.do("choose", 0)

    def allow_all(self) -> None:
        """Each asks about each file."""
        for name in NAMES:
            for id, tree in self.trees().items():
                path, text = os.path.join(tree, name), made_by(id, BEFORE.format(name=name))
                self.editor.do("wait_for", "proposal", text, path)
                self.editor.do("review", "accept_diff", path)
        for id, tree in self.trees().items():
            path, text = os.path.join(tree, NAMES[-1]), made_by(id, BEFORE.format(name=NAMES[-1]))
            self.editor.do("wait_for", "holds", True, path, text)

    def section(self, name: str, id: str) -> str:
        """What the sheet shows of this agent's variant of the file; empty where it shows none."""
        for section in str(self.editor.do("named", "Changes")).split("\n## ")[1:]:
            heading, _, rows = section.partition("\n")
            if heading.startswith(name) and f"work tree {id}-1 " in heading:
                return rows
        return ""

    def put_caret(self, name: str, id: str, *words: str) -> None:
        self.editor.do("put_caret", "Changes", f"## {name}", f"work tree {id}-1 ", *words)

    def drop(self, name: str, id: str, change: tuple[str, str]) -> None:
        """Drop one change of the variant."""
        self.put_caret(name, id, change[1])
        self.editor.do("command", "gemini_companion_drop_change")
        until(lambda: self.section(name, id) and change[1] not in self.section(name, id))

    def reject(self, name: str, id: str, row: str, gone: Sequence[str]) -> None:
        """Choose that row of the list, with the caret in this agent's variant of the file."""
        self.put_caret(name, id)
        self.editor.do("command", "gemini_companion_decide_on_changes")
        self.editor.do("offered")
        found = [rows[0] for rows in self.editor.do("panel_rows")]
        [at] = [at for at, each in enumerate(found) if each.startswith(row)]
        # Of several, the user is told first how many they are.
        self.editor.do("choose", at, *([0] if id not in gone else []))
        until(lambda: not any(self.section(name, each) for each in gone))

    def merge_variants(self) -> None:
        """Until what is left is what the user wants."""
        composed, last = NAMES[0], NAMES[-1]
        for name, taken in list(TAKEN.items())[1:]:
            others = [id for id in MADE if id != taken]
            self.reject(name, taken, f"Reject the other variants of {name}", others)
            if taken in DROPPED:
                self.drop(name, taken, DROPPED[taken])
        for id, change in COMPOSED.items():
            self.drop(composed, id, change)
        self.reject(composed, "claude", f"Reject {composed} of ", ["claude"])
        old, new = TYPED
        id = TAKEN[last]
        self.put_caret(last, id, old)
        self.editor.do("type_below", "Changes", f"## {last}", old, new[len(old) :])
        until(lambda: new in self.section(last, id))

    def wanted_texts(self) -> dict[str, str]:
        """The user's own texts with what they take over."""
        found = {}
        for name, taken in TAKEN.items():
            text = self.before[name]
            for change in MADE[taken]:
                if change != DROPPED.get(taken):
                    text = text.replace(*change)
            found[name] = text
        found[NAMES[0]] = found[NAMES[0]].replace(*COMMENTED)
        found[NAMES[-1]] = found[NAMES[-1]].replace(*TYPED)
        # What was not saved is taken along.
        found[NAMES[6]] += UNSAVED
        return found

    def test_three_are_merged_change_by_change_and_one_undo_takes_that_back(self) -> None:
        self.ask_all()
        self.allow_all()
        self.editor.do("command", "gemini_companion_show_changes", {"show": "tab"})
        self.editor.do("wait_for", "begins_with", True, "Changes", "36 files changed in work trees")
        self.assertIn("FAILED", self.run_tests())
        self.merge_variants()
        self.assertEqual(self.own_texts(), self.before)
        # All that is left is accepted.
        self.editor.do("command", "save")
        self.editor.do("choose", 0)
        self.editor.do("wait_for", "is_told", True, "13 of 13 accepted.")
        self.assertEqual(self.own_texts(), self.wanted_texts())
        self.assertEqual(self.run_tests(), "")
        # One undo takes all of it back, and nothing of the user's own.
        self.editor.do("focus_tab", "Changes")
        self.editor.do("command", "gemini_companion_decide_on_changes")
        self.editor.do("choose", 0, 0)
        self.editor.do("wait_for", "is_told", True, "13 of 13 accepted edits undone.")
        self.assertEqual(self.own_texts(), self.before)
        self.assertTrue(self.editor.do("is_unsaved", self.unsaved))
        self.assertEqual(self.editor.do("text", self.unsaved), self.before[NAMES[6]] + UNSAVED)


if __name__ == "__main__":
    unittest.main()
