"""The API's server from its wheel, as somebody has it who never had a checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest

from agent_case import MODEL
from GeminiCompanion.tests.tools.built import IS_CHECKOUT
from GeminiCompanion.tools import api_wheel, closure
from model_server import ModelServer
from test_api_program import KEY, ProgramCase


@unittest.skipUnless(IS_CHECKOUT, "a wheel is made of what is committed: this is no checkout")
class FromItsWheel(ProgramCase):
    def prepare(self) -> None:
        super().prepare()
        self.site, self.empty = (os.path.join(self.root, name) for name in ("site", "empty"))
        os.mkdir(self.empty)
        self.assertEqual(api_wheel.main(self.root), 0)
        wheel = os.path.join(self.root, api_wheel.file_name(closure.package_version()))
        # The libraries are those of this Python: no index is asked.
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
        subprocess.check_call([*pip, "--target", self.site, wheel], cwd=self.empty)

    def test_it_chats_and_shows_its_page_where_there_is_no_checkout(self) -> None:
        with ModelServer() as model:
            model.will_play("hello", ["Hi."])
            process = self.serve(
                *("--gemini-url", model.url, "--model", MODEL),
                module="gemini_cli_api.api",
                cwd=self.empty,
                variables={"PYTHONPATH": self.site},
            )
            self.ask("POST", "/auth/config", KEY)
            self.assertEqual(self.ask("POST", "/chat", {"message": "hello"})["response"], "Hi.")
            self.assertIn(b'<script type="module"', self.read("GET", "/"))
            process.terminate()
            _output, errors = process.communicate(timeout=180)
        self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(os.listdir(self.empty), [])

    def test_the_command_says_its_name_and_where_its_documents_are(self) -> None:
        program = os.path.join(self.site, "bin", api_wheel.COMMAND)
        command = [sys.executable, program, "--help"]
        variables = {**os.environ, "PYTHONPATH": self.site}
        said = subprocess.check_output(command, cwd=self.empty, env=variables, text=True)
        self.assertTrue(said.startswith("usage: gemini-cli-api "), said)
        folder = said.rstrip().rpartition("Its documents: ")[2]
        self.assertEqual(sorted(os.listdir(folder)), sorted(api_wheel.DOCUMENTS))
