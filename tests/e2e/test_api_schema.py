"""schemathesis asks the server all that openapi.json allows, and what it does not.

The same requests each time, few at random; with FUZZ=n, others each time, and many. It has a
virtual environment of its own, which `make test` makes where Python is new enough for it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import unittest

from agent_case import HERE, MODEL
from model_server import ModelServer, call, thought
from test_api_program import KEY, ProgramCase

from tools.setup import VENV, python_of

FOLDER = os.path.join(VENV, "schema")
SCHEMATHESIS = python_of(FOLDER)
RUN = "import sys; from schemathesis.cli import schemathesis; sys.exit(schemathesis())"
ROUNDS = int(os.environ.get("FUZZ", "1"))
# Requests at random to each route, and sequences of several; what can be listed comes beside them.
EXAMPLES = 3 if ROUNDS == 1 else 10 * ROUNDS
# Seconds for one run on a busy machine.
PATIENCE = 500 * ROUNDS
CONFIGURATION = ("schemathesis.toml", "schema_checks.py")
# Where Hypothesis finds its tables of Unicode: each run in a new folder would make them anew.
KEPT = {"HYPOTHESIS_STORAGE_DIRECTORY": os.path.join(FOLDER, "hypothesis")}
CREDENTIALS = "^/auth/(config|clear|logout)$"
# Streams without an end, and the door for OpenAI's clients: see test_api and test_api_clients.
ENDLESS, OPENAI = "^/events$|^/sessions/.*/events$", "^/v1/"


@unittest.skipUnless(os.path.exists(SCHEMATHESIS), "schemathesis is not installed: make test")
class Described(ProgramCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = tempfile.mkdtemp(dir=self.root)
        with open(os.path.join(self.workspace, "file.txt"), "w", encoding="utf-8") as file:
            file.write("text\n")
        os.mkdir(os.path.join(self.workspace, "folder"))

    def asked(self, *arguments: str, phases: str = "coverage,fuzzing") -> None:
        """A run. Raises AssertionError where something was found, or not everything was asked."""
        configured, checks = (os.path.join(HERE, name) for name in CONFIGURATION)
        address = f"http://127.0.0.1:{self.port}/openapi.json"
        same = "--generation-deterministic" if ROUNDS == 1 else "--generation-database=none"
        done = subprocess.run(
            [SCHEMATHESIS, "-c", RUN, "--config-file", configured, "run", address, "--no-color"]
            + ["--max-examples", str(EXAMPLES), same, "--phases", phases, *arguments],
            cwd=self.folder,
            env={**os.environ, "API_TOKEN": self.token, "SCHEMATHESIS_HOOKS": checks, **KEPT},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE,
        )
        report = done.stdout.decode("utf-8", "replace")
        selected = re.search(r"Selected: (\d+)/", report)
        tested = re.search(r"Tested: (\d+)\n", report)
        is_whole = selected and tested and selected.group(1) == tested.group(1)
        if done.returncode or not is_whole:
            raise AssertionError(report)

    def ends_well(self, process: subprocess.Popen[str]) -> None:
        process.terminate()
        _output, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, errors)
        self.assertNotIn("Traceback", errors)

    def test_it_finds_nothing_in_what_the_server_answers(self) -> None:
        """Without what changes the credentials: everything else would end with them. Whatever
        commands are made up, they find no other program."""
        if self.real:
            os.symlink(shutil.which("node") or "", os.path.join(self.programs, "node"))
        with ModelServer() as model:
            story = [thought("Looking", "around"), call("list_directory", dir_path=".")]
            model.will_play("", story, ["Done."])
            options = ("--gemini-url", model.url, "--model", MODEL, "--allow-commands")
            process = self.serve(*options, variables={"PATH": self.programs})
            self.ask("POST", "/auth/config", KEY)
            everything = "examples,coverage,fuzzing,stateful"
            others = f"{CREDENTIALS}|{ENDLESS}|{OPENAI}"
            self.asked("--exclude-path-regex", others, phases=everything)
            self.assertTrue(self.ask("POST", "/chat", {"message": "hello"})["success"])
            self.ends_well(process)

    def test_it_finds_nothing_in_credentials_that_come_and_go_and_commands_that_are_switched_off(
        self,
    ) -> None:
        process = self.serve()
        # A login starts a CLI of its own each time.
        credentials = CREDENTIALS if ROUNDS == 1 else "^/auth/"
        self.asked("--include-path-regex", f"{credentials}|^/execute-command$")
        self.assertEqual(sorted(os.listdir(self.workspace)), ["file.txt", "folder"])
        self.ends_well(process)
