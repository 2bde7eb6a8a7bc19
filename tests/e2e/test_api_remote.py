"""The API with the real CLI behind it, as somebody on another machine uses it."""

from __future__ import annotations

import http.client
import json
import os
import ssl
from typing import Any, Iterator
from unittest import mock

from agent_case import MODEL, ROOT
from GeminiCompanion.companion.api.client import ApiError, Client
from model_server import ModelServer, call
from test_api_program import PATIENCE, ProgramCase

PEM = os.path.join(ROOT, "tests", "certificates", "first.pem")
NAME = "gemini.test:9000"


class FromElsewhere(ProgramCase):
    def setUp(self) -> None:
        super().setUp()
        trusted = mock.patch.dict(os.environ, SSL_CERT_FILE=PEM)
        trusted.start()
        self.addCleanup(trusted.stop)
        self.audit = os.path.join(self.root, "audit")

    def follow(self, session: str, token: str) -> http.client.HTTPResponse:
        """A conversation's events, asked for under the name that a tunnel gives the server."""
        context = ssl.create_default_context(cafile=PEM)
        connection = http.client.HTTPSConnection(
            "localhost", self.port, timeout=PATIENCE, context=context
        )
        self.addCleanup(connection.close)
        headers = {"Host": NAME, "Authorization": f"Bearer {token}"}
        connection.request("GET", f"/sessions/{session}/events", None, headers)
        response = connection.getresponse()
        self.addCleanup(response.close)
        self.assertEqual(response.status, 200)
        return response

    def events_of(self, response: http.client.HTTPResponse) -> Iterator[str]:
        """The types of the events, to the end of a turn."""
        for line in response:
            if line.startswith(b"data: "):
                kind = json.loads(line[len(b"data: ") :])["type"]
                yield kind
                if kind == "complete":
                    return

    def decisions(self) -> list[dict[str, Any]]:
        with open(self.audit, encoding="ascii") as file:
            lines = [json.loads(line) for line in file]
        return [line for line in lines if "decision" in line]

    def test_one_works_encrypted_and_another_one_only_looks_on(self) -> None:
        path = os.path.join(self.workspace, "new.txt")
        with ModelServer() as model:
            write = call("write_file", file_path=path, content="the-text")
            model.will_play("write it", [write], ["Done."])
            process = self.serve(
                "--gemini-url", model.url, "--model", MODEL, "--certificate", PEM,
                "--allow-host", NAME, "--read-only-token", "--rate-limit", "1000",
                "--audit-log", self.audit,
            )  # fmt: skip
            url = f"https://localhost:{self.port}"
            with open(os.path.join(self.state, "read-only-token"), encoding="ascii") as file:
                token = file.read().strip()
            client, reader = Client(url, self.token), Client(url, token)
            client.ask("POST", "/auth/config", {"authType": "gemini-api-key", "apiKey": "a-key"})
            session = str(client.ask("POST", "/sessions", {})["sessionId"])
            seen = self.events_of(self.follow(session, token))
            for event in client.stream("write it", sessionId=session):
                if event["type"] == "tool_confirmation":
                    with self.assertRaises(ApiError) as refused:
                        reader.confirm(event, "proceed_once")
                    self.assertEqual(refused.exception.code, "READ_ONLY")
                    client.confirm(event, "proceed_once")
            self.assertEqual(event["type"], "complete")
            for kind in ("message", "tool_confirmation", "tool_result", "complete"):
                self.assertIn(kind, seen)
            (turn,) = reader.ask("GET", f"/sessions/{session}/messages")["messages"]
            self.assertEqual(turn["text"], "write it")
            process.terminate()
            _output, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, errors)
        (allowed,) = self.decisions()
        self.assertEqual((allowed["token"], allowed["tool"]), ("full", "write_file"))
        self.assertEqual((allowed["sessionId"], allowed["status"]), (session, 200))
        with open(self.audit, encoding="ascii") as file:
            told = file.read()
        self.assertIn("read-only", told)
        for text in ("write it", "the-text", "new.txt", "a-key", token, self.token):
            self.assertNotIn(text, told)
