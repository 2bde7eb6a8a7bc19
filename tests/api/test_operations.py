"""What the server tells whoever operates it. No CLI is started here."""

from __future__ import annotations

import io
import json
import logging
import os
import unittest
from contextlib import closing
from datetime import datetime, timedelta, timezone
from unittest import mock

from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.agent.agents.program import FoundCommand
from GeminiCompanion.companion.agent.conversations.refusals import Refusals
from GeminiCompanion.companion.agent.processes.runner import Launch
from GeminiCompanion.companion.api.operations import metrics
from GeminiCompanion.companion.api.operations.json_log import JsonLines
from GeminiCompanion.companion.api.server import Server
from GeminiCompanion.companion.base.log import logger

from ..support import wait_for
from .support import ApiTest


class Starting(ApiTest):
    def test_a_start_that_fails_leaves_folder_and_port_to_the_next_one(self) -> None:
        folder = os.path.join(self.root, "failing")
        with self.assertRaises(OSError):
            self.another_server(folder, port=self.server.port)
        broken = mock.patch.object(Server, "_make_dispatcher", side_effect=FileNotFoundError("x"))
        with broken, self.assertRaises(FileNotFoundError):
            self.another_server(folder)
        server = self.another_server(folder)
        self.assertEqual(self.ask("GET", "/healthz", server=server).status, 200)


class Health(ApiTest):
    def program(self) -> str:
        """The CLI that the server would start, made for this test."""
        path = os.path.join(self.root, "no program")
        with open(path, "w"):
            os.chmod(path, 0o700)
        self.addCleanup(os.unlink, path)
        return path

    def test_a_server_that_answers_lives_and_tells_strangers_nothing_more(self) -> None:
        reply = self.ask("GET", "/healthz", headers={"Authorization": ""})
        self.assertEqual((reply.status, reply["status"]), (200, "ok"))
        self.assertEqual(set(reply.body), {"success", "message", "status", "timestamp"})

    def test_it_is_ready_where_its_cli_could_be_started_which_it_is_not(self) -> None:
        self.program()
        reply = self.ask("GET", "/readyz", headers={"Authorization": ""})
        self.assertEqual((reply.status, reply["message"]), (200, "The server is ready."))
        self.assertEqual(self.server.agent.process_info().starts, 0)

    def test_it_is_not_ready_where_the_program_is_gone_and_does_not_tell_its_path(self) -> None:
        reply = self.ask("GET", "/readyz", headers={"Authorization": ""})
        self.refused(reply, 503, "NOT_READY")
        self.assertNotIn(self.root, reply.data.decode())

    def test_a_search_for_the_program_that_takes_long_holds_up_nobody_else(self) -> None:
        program, lives = self.program(), []

        def find_slowly(launch: Launch) -> FoundCommand:
            connection = self.open()
            # Enough for an answer; the search would wait for it in vain on the server's own loop.
            connection.timeout = 5.0
            with closing(connection):
                connection.request("GET", "/healthz")
                lives.append(connection.getresponse().status)
            return FoundCommand((program,))

        with mock.patch.object(Launch, "find_command", find_slowly):
            reply = self.ask("GET", "/readyz", headers={"Authorization": ""})
        self.assertEqual((reply.status, lives), (200, [200]))

    def test_it_is_not_ready_where_the_disk_takes_nothing_and_says_so(self) -> None:
        self.program()
        refused = mock.PropertyMock(return_value=True)
        with mock.patch.object(Refusals, "are_there", refused):
            reply = self.ask("GET", "/readyz", headers={"Authorization": ""})
        self.refused(reply, 503, "NOT_READY")
        self.assertIn("Messages cannot be saved to disk", reply["message"])

    def test_one_that_drains_takes_no_messages_and_goes_on_with_all_else(self) -> None:
        server = self.another_server()
        self.program()
        self.assertEqual(self.ask("GET", "/readyz", server=server).status, 200)
        self.on_loop(server.drain(60))
        message = {"model": "gemini", "messages": [{"role": "user", "content": "hello"}]}
        self.refused(self.ask("GET", "/readyz", server=server), 503, "DRAINING")
        reply = self.ask("POST", "/chat", {"message": "hello"}, server=server)
        self.refused(reply, 503, "DRAINING")
        reply = self.ask("POST", "/v1/chat/completions", message, server=server)
        self.assertEqual((reply.status, reply["error"]["code"]), (503, "draining"))
        for path in ("/healthz", "/status", "/sessions"):
            self.assertEqual(self.ask("GET", path, server=server).status, 200)


@unittest.skipUnless(metrics.IS_THERE, "prometheus_client is not installed")
class Figures(ApiTest):
    def figures(self, server: Server | None = None) -> dict[str, float]:
        """By name and labels, as they are written."""
        reply = self.ask("GET", "/metrics", server=server)
        self.assertEqual(reply.status, 200, reply)
        self.assertRegex(reply.headers["Content-Type"], "^text/plain; version=")
        lines = [line for line in reply.data.decode().splitlines() if not line.startswith("#")]
        return {
            name: float(value) for name, _blank, value in (line.rpartition(" ") for line in lines)
        }

    def test_requests_are_counted_by_route_and_status(self) -> None:
        server = self.another_server()
        name = 'gemini_api_requests_total{{method="{}",route="{}",status="{}"}}'
        self.ask("GET", "/status", server=server)
        self.ask("HEAD", "/status", server=server)
        self.ask("GET", "/sessions/one/messages", server=server)
        self.ask("GET", "/sessions/two/messages", server=server)
        self.ask("POST", "/chat", {}, server=server)
        self.ask("GET", "/sessions", headers={"Authorization": ""}, server=server)
        found = self.figures(server)
        self.assertEqual(found[name.format("GET", "/status", 200)], 2)
        self.assertEqual(found[name.format("GET", "/sessions/{sessionId}/messages", 404)], 2)
        self.assertEqual(found[name.format("POST", "/chat", 400)], 1)
        self.assertEqual(found[name.format("GET", "/sessions", 401)], 1)

    def test_nobody_can_make_up_labels(self) -> None:
        server = self.another_server()
        for method, path in (("GET", "/made-up"), ("BREW", "/status"), ("GET", "/a/b/c")):
            self.ask(method, path, server=server)
        known = [figure for figure in self.figures(server) if 'status="40' in figure]
        self.assertEqual(len(known), 2, known)
        self.assertTrue(all('method="other",route="other"' in figure for figure in known), known)

    def test_turns_and_tokens_are_counted_from_their_events(self) -> None:
        server = self.another_server()
        begun = datetime(2026, 1, 1, tzinfo=timezone.utc)
        bodies: dict[str, events.Body] = {
            "a": events.Complete(events.END_TURN, events.Usage(30, 4)),
            "b": events.Complete(events.CANCELLED, events.Usage(1, 1)),
            "c": events.Error("TIMED_OUT", "It took too long."),
        }

        async def tell() -> None:
            for id, last in bodies.items():
                story: list[tuple[int, events.Body]] = [(0, events.Message("hello", ())), (7, last)]
                for seconds, body in story:
                    time = begun + timedelta(seconds=seconds)
                    server.agent.feed.publish_event(
                        events.TurnEvent(seconds, time, "session", id, body)
                    )

        self.on_loop(tell())
        wait_for(lambda: self.figures(server)["gemini_api_turn_seconds_count"] == 3)
        found = self.figures(server)
        for outcome in ("end_turn", "cancelled", "TIMED_OUT"):
            self.assertEqual(found[f'gemini_api_turns_total{{outcome="{outcome}"}}'], 1)
        self.assertEqual(found["gemini_api_turn_seconds_sum"], 21)
        self.assertEqual(found['gemini_api_tokens_total{direction="input"}'], 31)
        self.assertEqual(found['gemini_api_tokens_total{direction="output"}'], 5)

    def test_streams_count_while_they_are_open(self) -> None:
        client = self.connect()
        head = f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\n"
        client.sendall(f"{head}Authorization: Bearer {self.server.token}\r\n\r\n".encode())
        wait_for(lambda: self.figures()["gemini_api_open_streams"] == 1)
        client.close()
        wait_for(lambda: self.figures()["gemini_api_open_streams"] == 0)

    def test_what_is_there_now_is_told(self) -> None:
        found = self.figures()
        for name in (
            "gemini_api_waiting_decisions",
            'gemini_cli_running{agent="gemini"}',
            'gemini_cli_starts_total{agent="gemini"}',
            'gemini_cli_memory_bytes{agent="gemini"}',
        ):
            self.assertEqual(found[name], 0)

    def test_without_the_token_nothing_is_told(self) -> None:
        reply = self.ask("GET", "/metrics", headers={"Authorization": ""})
        self.refused(reply, 401, "UNAUTHORIZED")


class WithoutFigures(ApiTest):
    def test_where_the_library_is_missing_a_sentence_says_so(self) -> None:
        with mock.patch.object(metrics, "IS_THERE", False):
            server = self.another_server()
        self.assertEqual(self.ask("GET", "/status", server=server).status, 200)
        reply = self.ask("GET", "/metrics", server=server)
        self.refused(reply, 404, "NOT_FOUND")
        self.assertIn("prometheus_client", reply["message"])


class Log(ApiTest):
    def test_each_line_is_an_object_and_tells_the_request_that_led_to_it(self) -> None:
        written = io.StringIO()
        handler = logging.StreamHandler(written)
        handler.setFormatter(JsonLines())
        logger.addHandler(handler)
        self.addCleanup(logger.removeHandler, handler)
        logger.warning("nobody's \ud800\nline")
        with mock.patch.object(
            self.server.agent, "list_sessions", side_effect=RuntimeError("a bug")
        ):
            headers = {"X-Request-Id": "mine-1"}
            reply = self.ask("GET", "/sessions", headers=headers)
        self.assertEqual((reply.status, reply.headers["X-Request-Id"]), (500, "mine-1"))
        first, second = (json.loads(line) for line in written.getvalue().splitlines())
        self.assertEqual(set(first), {"time", "level", "message"})
        self.assertRegex(first["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual((first["level"], first["message"]), ("warning", "nobody's \ud800\nline"))
        told = (second["level"], second["message"], second["requestId"])
        self.assertEqual(told, ("error", "a request failed", "mine-1"))
        self.assertIn("RuntimeError: a bug", second["traceback"])
        self.assertNotIn(self.server.token, written.getvalue())

    def test_an_id_that_is_none_is_not_taken_over(self) -> None:
        ids = []
        for given in ("", "x" * 65, "two words", "a", "\u00e4"):
            ids.append(self.ask("GET", "/status", headers={"X-Request-Id": given}).headers)
        told = [headers["X-Request-Id"] for headers in ids]
        self.assertEqual(told[3], "a")
        self.assertEqual(len(set(told)), len(told))
        for id in (*told[:3], told[4]):
            self.assertRegex(id, "^[0-9a-f]{16}$")
