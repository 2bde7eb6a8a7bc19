"""docs/api.md as a user reads it: every example is run by a shell, with the real CLI behind it, and
gives what the page shows."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import unittest
from typing import Any

from agent_case import MODEL, ROOT
from GeminiCompanion.companion.api import __main__ as program
from GeminiCompanion.companion.api import routes
from model_server import ModelServer, call, thought
from test_api_program import PATIENCE, ProgramCase

ADDRESS = "http://127.0.0.1:8080"
# Stands between what two examples print.
MARK = "==== end of an example ===="


def page() -> str:
    with open(os.path.join(ROOT, "docs", "api.md"), encoding="utf-8") as file:
        return file.read()


def examples() -> list[tuple[str, str, str]]:
    """Each block of the shell, with the kind and the text of the block that shows what it prints;
    both empty where none follows at once."""
    pattern = r"```sh\n(.*?)```\n(?:\n```(json|text)\n(.*?)```\n)?"
    return re.findall(pattern, page(), re.DOTALL)


def fits(shown: Any, value: Any) -> bool:
    """Whether a value is what the page shows; there "…" stands for anything, also within a text,
    and members that are not shown may be there."""
    if shown == "…":
        return True
    if isinstance(shown, dict):
        return isinstance(value, dict) and all(
            name in value and fits(shown[name], value[name]) for name in shown
        )
    if isinstance(shown, list):
        if shown == ["…"]:
            return isinstance(value, list) and bool(value)
        is_list = isinstance(value, list) and len(value) == len(shown)
        return is_list and all(map(fits, shown, value))
    if isinstance(shown, str) and isinstance(value, str):
        return matches(shown, value)
    return bool(shown == value and type(shown) is type(value))


def matches(shown: str, text: str) -> bool:
    return bool(re.fullmatch(".*".join(map(re.escape, shown.split("…"))), text, re.DOTALL))


@unittest.skipUnless(shutil.which("curl") and shutil.which("bash"), "the examples want both")
class Examples(ProgramCase):
    def play(self, model: ModelServer) -> None:
        path = os.path.join(self.workspace, "hello.txt")
        write = [call("write_file", file_path=path, content="Hello!\n")]
        model.will_play("Say hello.", ["Hello!"])
        greeting = [thought("Greeting", "A short one."), "Hello!"]
        model.will_play("Think, then say hello.", greeting)
        model.will_play("Write hello.txt.", write, ["Done."], write, ["Done."])

    def test_each_prints_what_the_page_shows(self) -> None:
        home = os.path.join(self.root, "home")
        self.state = os.path.join(home, ".cache", "gemini-companion-api")
        blocks = examples()
        with ModelServer() as model:
            self.play(model)
            self.serve("--gemini-url", model.url, "--model", MODEL)
            address = f"http://127.0.0.1:{self.port}"
            script = f"\necho '{MARK}'\n".join(block for block, _kind, _shown in blocks)
            script = "set -eu\n" + script.replace(ADDRESS, address)
            printed = self.run_shell(script, home)
        self.assertEqual(len(printed), len(blocks), printed)
        for (block, kind, shown), output in zip(blocks, printed):
            with self.subTest(block):
                if kind == "json":
                    self.assertTrue(fits(json.loads(shown), json.loads(output)), output)
                elif kind == "text":
                    self.assertTrue(matches(shown.strip(), output.strip()), output)
                else:
                    self.assertEqual(output.strip(), "")
        with open(os.path.join(self.workspace, "hello.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "Hello!\n")

    def run_shell(self, script: str, home: str) -> list[str]:
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.root,
            env={**os.environ, "HOME": home, "no_proxy": "127.0.0.1"},
            capture_output=True,
            timeout=PATIENCE,
        )
        self.assertEqual(done.stderr.decode(), "")
        return done.stdout.decode("utf-8").split(MARK + "\n")

    def test_what_the_program_says_at_its_start_is_what_the_page_shows(self) -> None:
        shown = re.search(r"```text\n(The Gemini CLI API.*?)```", page(), re.DOTALL)
        lines = (shown.group(1) if shown else "").splitlines()
        for line, told in zip(lines, self.greeting_in_terminal().splitlines()):
            for part in (ADDRESS, "path/to/your/project", "~/.cache/gemini-companion-api"):
                line = line.replace(part, "…")
            self.assertTrue(matches(line, told), told)
        self.assertEqual(len(lines), 3)


class Page(unittest.TestCase):
    def test_every_route_and_every_option_is_told_and_no_other(self) -> None:
        text = page()
        for route in routes.API:
            self.assertIn(route.path.strip("/"), text.replace("\n", " "), route)
        told = re.findall(r"(?m)^\| `(--[a-z-]+)", text)
        actions = program._argument_parser()._actions
        known = [name for action in actions for name in action.option_strings]
        self.assertEqual(sorted(told), sorted(set(known) - {"-h", "--help", "--version"}))
