"""What the server tells whoever operates it. No CLI is started here."""

from __future__ import annotations

import os
import unittest

from .support import ApiTest


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
        self.assertEqual(self.server.agent.info().starts, 0)

    def test_it_is_not_ready_where_the_program_is_gone_and_does_not_tell_its_path(self) -> None:
        reply = self.ask("GET", "/readyz", headers={"Authorization": ""})
        self.refused(reply, 503, "NOT_READY")
        self.assertNotIn(self.root, reply.data.decode())

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
        self.assertEqual((reply.status, reply["error"]["code"]), (503, "DRAINING"))
        for path in ("/healthz", "/status", "/sessions"):
            self.assertEqual(self.ask("GET", path, server=server).status, 200)


if __name__ == "__main__":
    unittest.main()
