"""The client in Python against servers that do what ours should not."""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import tempfile
import threading
import unittest
from typing import Any, Sequence
from unittest import mock

from GeminiCompanion.companion.api import client, state_folder
from GeminiCompanion.companion.api.client import ApiError, Client, Terminal

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def block(number: int, type: str, **data: Any) -> bytes:
    event = json.dumps({"type": type, "data": data}).encode("ascii")
    return b"id: turn.%d\ndata: %b\n\n" % (number, event)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


class Talks(unittest.TestCase):
    def serve(self, *answers: Sequence[bytes]) -> str:
        """A server that answers each connection with the next of the answers and hangs up."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        self.requests: list[bytes] = []

        def run() -> None:
            for answer in answers:
                connection, _address = listener.accept()
                with connection:
                    self.requests.append(connection.recv(1 << 16))
                    for part in answer:
                        connection.sendall(part)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self.addCleanup(thread.join, 30.0)
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    def test_a_stream_that_breaks_within_a_line_goes_on_after_the_last_whole_event(self) -> None:
        first, second = block(1, "content", text="a"), block(2, "complete", success=True)
        url = self.serve(
            [HEAD, chunk(first), chunk(second[:25])], [HEAD, chunk(second), chunk(b"")]
        )
        with mock.patch.object(client, "PAUSE", 0.0):
            found = [event["type"] for event in Client(url, "the-token").stream("hello")]
        self.assertEqual(found, ["content", "complete"])
        self.assertIn(b"Last-Event-ID: turn.1", self.requests[1])

    def test_a_whole_answer_may_take_longer_than_the_silence_of_a_stream(self) -> None:
        found: list[float] = []

        class Connection:
            def __init__(self, *_: Any, timeout: float) -> None:
                found.append(timeout)
                raise ConnectionRefusedError

        with mock.patch("http.client.HTTPConnection", Connection):
            for ask in (
                lambda: Client(token="t").chat("hello"),
                lambda: Client(token="t").ask("GET", "/models"),
            ):
                with self.assertRaises(ConnectionRefusedError):
                    ask()
        self.assertGreaterEqual(found[0], 3600.0)
        self.assertEqual(found[1], client.SILENCE)

    def test_a_message_with_a_key_names_itself_so_that_it_can_be_sent_again(self) -> None:
        answer = b'HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n{"response": "a"}'
        told = Client(self.serve([answer], [answer]), "the-token")
        self.assertEqual(told.chat("hello", key="mine", sessionId="x")["response"], "a")
        told.chat("hello")
        self.assertIn(b"Idempotency-Key: mine\r\n", self.requests[0])
        self.assertNotIn(b"Idempotency-Key", self.requests[1])

    def test_the_token_of_this_machine_goes_to_no_other(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, state_folder.TOKEN_FILE), "w", encoding="ascii") as file:
                file.write("the-token\n")
            with mock.patch.object(
                state_folder, "default_folder", return_value=folder
            ), mock.patch.dict(os.environ, clear=False):
                os.environ.pop("GEMINI_API_SERVER_TOKEN", None)
                for url in "http://127.0.0.1:8080", "http://localhost:1", "http://[::1]:8080":
                    self.assertIn("the-token", Client(url)._headers["Authorization"])
                for url in "http://example.org", "https://127.0.0.1.example.org":
                    with self.assertRaisesRegex(ApiError, "No token is given for"):
                        Client(url)

    def test_a_terminal_that_ends_decides_nothing(self) -> None:
        terminal = Terminal(mock.MagicMock(), "")
        with mock.patch("sys.stdin", mock.MagicMock()), mock.patch(
            "builtins.input", side_effect=EOFError
        ):
            self.assertEqual(terminal._decide_call(question()), "cancel")

    def test_a_question_is_shown_as_it_is_to_be_seen_and_offers_what_can_be_typed(self) -> None:
        terminal, errors = Terminal(mock.MagicMock(), ""), io.StringIO()
        diff = {"newText": "a\x1b[8mb", "shown": {"path": "/a", "newText": "a<U+001B>[8mb"}}
        with mock.patch("sys.stdin", mock.MagicMock()), mock.patch("builtins.input", lambda _: "2"):
            with contextlib.redirect_stderr(errors):
                self.assertEqual(terminal._decide_call(question(diff=diff)), "cancel")
        lines = ["Shell", "rm<U+200B>", "/a", "a<U+001B>[8mb", "1  Allow", "2  Reject"]
        self.assertEqual(errors.getvalue().splitlines(), lines)

    def test_a_form_is_filled_by_a_person_and_left_alone_without_one(self) -> None:
        fields = [
            {"name": name, "type": type, "values": [], "shown": {"title": name}}
            for name, type in (("way", "string"), ("times", "integer"), ("why", "string"))
        ]
        for typed, expected in (
            (["fast", "2", ""], {"way": "fast", "times": 2}),
            (["fast", "two", ""], None),
            ([EOFError()], None),
            (None, None),
        ):
            with self.subTest(typed):
                standard = mock.MagicMock(**{"isatty.return_value": typed is not None})
                with mock.patch("sys.stdin", standard), contextlib.redirect_stderr(io.StringIO()):
                    with mock.patch("builtins.input", side_effect=typed):
                        self.assertEqual(
                            Terminal(mock.MagicMock(), "")._fill_form(fields), expected
                        )

    def test_what_is_said_to_a_terminal_cannot_hide_what_is_asked(self) -> None:
        for is_terminal, expected in (
            (True, "a<U+001B>[8m e\u0301\n"),
            (False, "a\x1b[8m e\u0301\n"),
        ):
            with self.subTest(is_terminal):
                output = io.StringIO()
                pieces = [("a\x1b", True), ("[8m e", True), ("\u0301", False)]
                events: Any = [
                    {"type": "content", "data": {"text": text, "isPartial": is_partial}}
                    for text, is_partial in pieces
                ]
                served = mock.MagicMock(**{"stream.return_value": events})
                with contextlib.redirect_stdout(output):
                    with mock.patch.object(output, "isatty", mock.Mock(return_value=is_terminal)):
                        Terminal(served, "").run("hello", {})
                self.assertEqual(output.getvalue(), expected)


def question(**more: Any) -> dict[str, Any]:
    options = [
        {"outcome": outcome, "label": label, "shown": {"label": label}}
        for outcome, label in (
            ("proceed_once", "Allow"),
            ("modify_with_editor", "Edit"),
            ("cancel", "Reject"),
        )
    ]
    shown = {"displayName": "Shell", "asked": "rm<U+200B>"}
    told = {"diff": None, "moreDiffs": [], "options": options, "shown": shown}
    return {"command": "rm\u200b", **told, **more}
