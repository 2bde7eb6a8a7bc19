"""Clients that others wrote, and that others' generators make of openapi.json, against the API with
the real CLI behind it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import unittest
from typing import Any

from agent_case import HERE
from model_server import Failure, Gate, call, thought
from test_api_program import PATIENCE, WithModel

from tools.setup import VENV, python_of

FOLDER = os.path.join(HERE, "clients")
MODULES = os.path.join(FOLDER, "node_modules")
PYTHON = python_of(os.path.join(VENV, "clients"))
TYPES = ["thought", "content", "content", "complete"]


@unittest.skipUnless(os.path.exists(MODULES), "the clients are not installed: make setup")
class OthersClients(WithModel):
    is_shared = True

    def prepare(self) -> None:
        super().prepare()
        self.model.will_play("hello", [thought("Greeting", "Shortly."), "Hi."])
        self.serve_model("--language", "en")
        self.url = f"http://127.0.0.1:{self.port}"

    def run_in(self, folder: str, *command: str) -> str:
        """What the command prints. Raises AssertionError where it fails."""
        done = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env={**os.environ, "NO_PROXY": "127.0.0.1"},
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def workshop(self) -> str:
        """A folder with the document, the scripts and the libraries."""
        folder = tempfile.mkdtemp(prefix="generated", dir=self.root)
        for name in os.listdir(FOLDER):
            if name.startswith("generated."):
                shutil.copy(os.path.join(FOLDER, name), folder)
        os.symlink(MODULES, os.path.join(folder, "node_modules"))
        with open(os.path.join(folder, "openapi.json"), "wb") as file:
            file.write(self.read("GET", "/openapi.json"))
        return folder

    def test_libraries_for_streams_get_every_event_and_nothing_else(self) -> None:
        for script in ("fetch_event_source", "eventsource_client", "axios"):
            with self.subTest(script):
                told = self.run_in(FOLDER, "node", script + ".mjs", self.url, self.token, "hello")
                self.assertEqual(told.split(), TYPES)

    def test_an_event_source_stops_after_the_last_event(self) -> None:
        turn = self.ask("POST", "/chat", {"message": "hello"})["turnId"]
        told = self.run_in(FOLDER, "node", "eventsource.mjs", self.url, self.token, turn)
        self.assertEqual(told.split(), [*TYPES, "closed"])

    def test_clients_made_for_typescript_compile_and_work(self) -> None:
        folder = self.workshop()
        binaries = os.path.join("node_modules", ".bin")
        self.run_in(
            folder,
            os.path.join(binaries, "openapi-typescript"),
            "openapi.json",
            "-o",
            "schema.d.ts",
        )
        self.run_in(folder, os.path.join(binaries, "openapi-ts"), "-i", "openapi.json", "-o", "hey")
        options = "--strict --skipLibCheck --target es2022 --module commonjs --types node".split()
        self.run_in(folder, os.path.join(binaries, "tsc"), *options, "generated.ts")
        told = self.run_in(folder, "node", "generated.js", self.url, self.token, "hello")
        self.assertEqual(told, "Hi.\nSESSION_NOT_FOUND 404\n")

    @unittest.skipUnless(
        os.path.exists(PYTHON), "openapi-python-client is not installed: make test"
    )
    def test_a_client_made_for_python_works(self) -> None:
        folder = self.workshop()
        generate = "from openapi_python_client.cli import app; app()"
        printed = self.run_in(
            folder, PYTHON, "-c", generate, "generate", "--path", "openapi.json",
            "--meta", "none", "--output-path", "api_client",
        )  # fmt: skip
        self.assertNotIn("Unable", printed)
        told = self.run_in(folder, PYTHON, "generated.py", self.url, self.token, "hello")
        self.assertEqual(told, "Hi.\nSESSION_NOT_FOUND\nHi.\n")

    def test_the_clients_of_openai_talk_with_gemini(self) -> None:
        expected, before = "Hi. stop\nHi.\n{}\n404 model_not_found\n", self.turns()
        told = self.run_in(FOLDER, "node", "openai.mjs", self.url, self.token)
        self.assertEqual(told, expected.format("true"))
        self.assertEqual(self.turns(), before)
        if os.path.exists(PYTHON):
            told = self.run_in(FOLDER, PYTHON, "with_openai.py", self.url, self.token)
            self.assertEqual(told, expected.format("True"))

    def turns(self) -> list[int]:
        """Of each conversation that has some."""
        left = self.ask("GET", "/sessions")["sessions"]
        return [each["turns"] for each in left if each["turns"]]

    def test_structured_output_stop_words_and_limits_are_as_openai_and_langchain_want_them(
        self,
    ) -> None:
        self.model.will_play("point", ['{"x": 1, "y": 2}'])
        told = self.run_in(FOLDER, "node", "structured.mjs", self.url, self.token)
        point = '{"x":1,"y":2}\n'
        self.assertEqual(told, point * 4 + "Hi.\nHi\nHi.\n")

    def test_the_ai_sdk_talks_by_both_of_openais_apis(self) -> None:
        self.model.will_play("again", ["Hi again."])
        self.model.will_play("person", ['{"mail": "a@example.com"}'])
        self.model.will_play("picture", ["A pixel."])
        mail = '{"mail":"a@example.com"}'
        answers = f"Hi. stop\nHi again.\nHi.\n{mail}\nA pixel.\n"
        expected = f"{answers}text-delta abort\n404 model_not_found\n"
        for sdk, provider in (("ai", "@ai-sdk/openai"), ("ai-6", "@ai-sdk/openai-3")):
            with self.subTest(sdk):
                gate = Gate()
                self.addCleanup(gate.set)
                self.model.will_play("endless", ["Begin", " ", gate, "end"])
                told = self.run_in(
                    FOLDER, "node", "ai_sdk.mjs", self.url, self.token, sdk, provider
                )
                self.assertEqual(told, expected * 2)

    def test_the_responses_api_is_as_openai_and_langchain_want_it(self) -> None:
        self.model.will_play("again", ["Hi again."])
        told = self.run_in(FOLDER, "node", "responses.mjs", self.url, self.token).splitlines()
        self.assertEqual(told[:2], ["Hi. completed true", "Hi again."])
        events = "created in_progress output_item.added content_part.added output_text.delta"
        ends = "output_text.done content_part.done output_item.done completed"
        expected = [f"response.{each}" for each in f"{events} {ends}".split()]
        self.assertEqual(told[2].split(), expected)
        self.assertEqual(told[3:5], ["Hi.", "Hi."])
        missing = "400 previous_response_not_found previous_response_id"
        self.assertEqual(told[5:], [missing, "400 unsupported_parameter background"])
        if os.path.exists(PYTHON):
            printed = self.run_in(FOLDER, PYTHON, "with_responses.py", self.url, self.token)
            self.assertEqual(printed, "Hi. completed\nHi again.\nTrue\nHi.\n")

    def test_tools_that_want_a_decision_run_for_openai_only_where_they_are_allowed(self) -> None:
        path = os.path.join(self.workspace, "new.txt")
        write = [call("write_file", file_path=path, content="")], ["Done."]
        self.model.will_play("write", *write)
        body = {"model": "gemini", "messages": [{"role": "user", "content": "write"}]}
        self.assertIn("choices", self.ask("POST", "/v1/chat/completions", body))
        self.assertFalse(os.path.exists(path))
        self.model.will_play("write", *write)
        self.state = os.path.join(tempfile.mkdtemp(dir=self.root), "state")
        self.serve_model("--allow-tools")
        self.assertIn("choices", self.ask("POST", "/v1/chat/completions", body))
        self.assertTrue(os.path.exists(path))

    def test_the_retries_of_libraries_run_no_tool_twice(self) -> None:
        self.state = os.path.join(tempfile.mkdtemp(dir=self.root), "state")
        self.serve_model("--allow-tools", "--language", "en")
        url, log = f"http://127.0.0.1:{self.port}", os.path.join(self.workspace, "log")
        add = [call("run_shell_command", command="echo x >> log")]
        words = [f"fails{number}" for number in range(6)]
        ways = [("node", "retries.mjs", words)]
        if os.path.exists(PYTHON):
            ways.append((PYTHON, "retries.py", words[:2]))
        for program, script, asked in ways:
            for word in asked:
                # As often as the program asks.
                failure = Failure(404, "models/x is not found", "NOT_FOUND")
                replies: list[Any] = [add, failure] * 4
                self.model.will_play(word, *replies)
            with self.subTest(script):
                if os.path.exists(log):
                    os.remove(log)
                told = self.run_in(FOLDER, program, script, url, self.token, *asked)
                self.assertEqual(told, "400 gemini_error\n" * len(asked))
                with open(log) as file:
                    self.assertEqual(file.read(), "x\n" * len(asked))

    def test_what_cannot_be_done_for_openai_is_said_as_openai_says_it(self) -> None:
        user = {"role": "user", "content": "hello"}
        for body in (
            {},
            {"model": "gemini"},
            {"model": "gemini", "messages": []},
            {"model": "gemini", "messages": [{"role": "nobody"}]},
            {"model": "gemini", "messages": [user, {"role": "assistant", "content": "x"}]},
            {"model": "gemini", "messages": [user], "n": 2},
            {"model": "gemini", "messages": [user], "tool_choice": "required"},
            {"model": "gemini", "messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
        ):
            with self.subTest(body):
                reply = self.ask("POST", "/v1/chat/completions", body)
                self.assertEqual(reply["error"]["type"], "invalid_request_error")
