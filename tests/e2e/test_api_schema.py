"""schemathesis asks the server all that openapi.json allows, and what it does not.

The same requests each time, for some seconds; with FUZZ=n, n times as long and always others. It
has a virtual environment of its own, which `make test` makes where Python is new enough for it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_case import HERE, MODEL, PROGRAM, ROOT  # noqa: E402
from model_server import ModelServer, call, thought  # noqa: E402
from test_api_program import ProgramCase  # noqa: E402

sys.path.insert(0, ROOT)

from tools.setup import VENV, python_of  # noqa: E402

SCHEMATHESIS = python_of(os.path.join(VENV, "schema"))
RUN = "import sys; from schemathesis.cli import schemathesis; sys.exit(schemathesis())"
ROUNDS = int(os.environ.get("FUZZ", "1"))
# Seconds that a run may take beyond its time: the last requests may wait for the CLI.
BEYOND = 120
CONFIGURATION = ("schemathesis.toml", "schema_checks.py")
KEY = {"authType": "gemini-api-key", "apiKey": "the-key"}


@unittest.skipUnless(os.path.exists(PROGRAM), "the CLI is not installed: make setup")
@unittest.skipUnless(os.path.exists(SCHEMATHESIS), "schemathesis is not installed: make test")
class Described(ProgramCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = tempfile.mkdtemp(dir=self.root)
        with open(os.path.join(self.workspace, "file.txt"), "w", encoding="utf-8") as file:
            file.write("text\n")
        os.mkdir(os.path.join(self.workspace, "folder"))

    def asked(self, seconds: int, *arguments: str) -> str:
        """The report of a run of `seconds`, times ROUNDS. Raises AssertionError where it found anything."""
        configured, checks = (os.path.join(HERE, name) for name in CONFIGURATION)
        address = f"http://127.0.0.1:{self.port}/openapi.json"
        time = seconds * ROUNDS
        same = ("--generation-deterministic",) if ROUNDS == 1 else ("--generation-database=none",)
        done = subprocess.run(
            [SCHEMATHESIS, "-c", RUN, "--config-file", configured, "run", address, "--no-color"]
            + ["--max-time", str(time), *same, *arguments],
            cwd=self.folder,
            env={**os.environ, "API_TOKEN": self.token, "SCHEMATHESIS_HOOKS": checks},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=time + BEYOND,
        )
        report = done.stdout.decode("utf-8", "replace")
        if done.returncode:
            raise AssertionError(report)
        return report

    def test_it_finds_nothing_in_what_the_server_answers(self) -> None:
        with ModelServer() as model:
            story = [thought("Looking", "around"), call("list_directory", dir_path=".")]
            model.will_play("", story, ["Done."])
            process = self.serve("--gemini-url", model.url, "--model", MODEL)
            self.ask("POST", "/auth/config", KEY)
            report = self.asked(15, "--exclude-path", "/execute-command")
            self.assertRegex(report, r"Tested: +\d\d")
            self.assertTrue(self.ask("GET", "/status")["success"])
            process.terminate()
            _output, errors = process.communicate(timeout=60)
        self.assertNotIn("Traceback", errors)

    def test_it_finds_nothing_in_commands_that_are_switched_off(self) -> None:
        self.serve()
        self.asked(3, "--include-path", "/execute-command")
        self.assertEqual(os.listdir(self.workspace), ["file.txt", "folder"])

    def test_it_finds_nothing_in_commands_that_are_switched_on(self) -> None:
        # Whatever commands are made up, they find no other program.
        programs = os.path.join(self.root, "programs")
        os.mkdir(programs)
        os.symlink(shutil.which("node") or "", os.path.join(programs, "node"))
        process = self.serve("--allow-commands", variables={"PATH": programs})
        self.asked(5, "--include-path", "/execute-command")
        process.terminate()
        _output, errors = process.communicate(timeout=60)
        self.assertNotIn("Traceback", errors)


if __name__ == "__main__":
    unittest.main()
