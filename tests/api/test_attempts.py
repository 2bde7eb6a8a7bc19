"""Requests with keys: how many are remembered, and for how long."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import unittest
from typing import Any
from unittest import mock

from GeminiCompanion.companion.api.contract.refusal import Refusal
from GeminiCompanion.companion.api.files import served_files
from GeminiCompanion.companion.api.handlers import file_handlers
from GeminiCompanion.companion.api.operations import attempts
from GeminiCompanion.companion.api.operations.attempts import Attempt, Attempts, KeptAnswer

from ..support import wait_for
from .support import ApiTest

PATIENCE = 180.0
SAME = b"same"


def done(known: Attempts, key: str, size: int = 1, owner: str = "token") -> Attempt:
    attempt, _is_new = known.find_attempt(owner, key, SAME)
    attempt.keep_answer(KeptAnswer(200, b"x" * size, "text/plain"))
    attempt.end()
    return attempt


class Remembering(unittest.IsolatedAsyncioTestCase):
    def is_new(self, known: Attempts, key: str, owner: str = "token") -> bool:
        return known.find_attempt(owner, key, SAME)[1]

    async def test_the_oldest_of_too_many_are_forgotten_but_nothing_that_runs(self) -> None:
        known = Attempts()
        known.find_attempt("token", "running", SAME)
        with mock.patch.object(attempts, "MAX_ATTEMPTS", 10):
            for number in range(20):
                done(known, str(number))
            self.assertFalse(self.is_new(known, "19"))
            self.assertFalse(self.is_new(known, "running"))
            self.assertTrue(self.is_new(known, "0"))

    async def test_who_sends_many_makes_the_server_forget_their_own_only(self) -> None:
        for limit, most in (("MAX_ATTEMPTS", 10), ("MAX_BYTES", 90)):
            known = Attempts()
            with self.subTest(limit), mock.patch.object(attempts, limit, most):
                for number in range(3):
                    done(known, str(number), 10, "few")
                for number in range(30):
                    done(known, str(number), 10, "many")
                self.assertFalse(self.is_new(known, "0", "few"))
                self.assertFalse(self.is_new(known, "29", "many"))
                self.assertTrue(self.is_new(known, "10", "many"))

    async def test_their_answers_take_so_much_memory_and_no_more(self) -> None:
        known = Attempts()
        with mock.patch.object(attempts, "MAX_BYTES", 100):
            for number in range(5):
                done(known, str(number), 40)
            self.assertFalse(self.is_new(known, "4"))
            self.assertTrue(self.is_new(known, "1"))

    async def test_an_answer_that_is_too_large_is_not_kept_but_not_made_again_either(self) -> None:
        known = Attempts()
        large = done(known, "large", attempts.MAX_ANSWER + 1)
        self.assertIsNone(large.kept)
        self.assertFalse(self.is_new(known, "large"))

    async def test_after_a_day_a_key_is_new_again(self) -> None:
        known = Attempts()
        done(known, "old").begun -= attempts.LIFETIME + 1
        self.assertTrue(self.is_new(known, "old"))

    async def test_so_many_run_at_a_time_and_no_more(self) -> None:
        known = Attempts()
        for number in range(attempts.MAX_RUNNING):
            known.find_attempt("token", str(number), SAME)
        with self.assertRaises(Refusal):
            known.find_attempt("token", "more", SAME)

    async def test_one_that_did_nothing_is_told_to_who_waits_and_is_made_again(self) -> None:
        known = Attempts()
        attempt, _is_new = known.find_attempt("token", "nothing", SAME)
        waiting = asyncio.ensure_future(attempt.wait_until_over())
        attempt.end()
        await asyncio.wait_for(waiting, PATIENCE)
        self.assertTrue(attempt.is_void)
        self.assertTrue(self.is_new(known, "nothing"))


class Keys(ApiTest):
    def test_a_key_that_cannot_be_one_is_told_what_one_is(self) -> None:
        for key, size in (("x" * 256, 256), ("a blank", 7)):
            headers = {"Accept-Language": "en", "Idempotency-Key": key}
            reply = self.ask("POST", "/cancel", {}, headers=headers)
            self.refused(reply, 400, "VALIDATION_ERROR")
            self.assertIn("1 to 255 visible characters", reply["message"])
            self.assertIn(f"got {size}", reply["message"])


class Leaving(ApiTest):
    def test_what_a_client_that_left_takes_is_given_back_with_the_end_of_its_request(
        self,
    ) -> None:
        path = os.path.join(self.workspace, "large.txt")
        with open(path, "w", encoding="ascii") as file:
            file.write("x" * (2 * file_handlers.SMALL))
        began, goes_on = threading.Event(), threading.Event()
        read, budget = served_files.read_text_file, self.server._dispatcher._memory
        free = budget._free

        def slow(*arguments: Any) -> Any:
            began.set()
            goes_on.wait(PATIENCE)
            return read(*arguments)

        with mock.patch.object(served_files, "read_text_file", slow):
            connection = self.open()
            headers = {"Authorization": f"Bearer {self.server.token}", "Idempotency-Key": "large"}
            body = json.dumps({"path": path})
            headers["Content-Type"] = "application/json"
            connection.request("POST", "/read-file", body, headers)
            self.assertTrue(began.wait(PATIENCE))
            connection.close()
            wait_for(lambda: not self.server._http._server.connections)
            goes_on.set()
            reply = self.ask("POST", "/read-file", body.encode("ascii"), headers)
        self.assertEqual(len(reply["content"]), 2 * file_handlers.SMALL)
        # Only a stream goes on after an event.
        named = {**headers, "Last-Event-ID": "a.1"}
        again = self.ask("POST", "/read-file", body.encode("ascii"), named)
        self.assertEqual(again.body, reply.body)
        self.assertEqual(reply.headers["Idempotency-Replayed"], "true")
        wait_for(lambda: budget._free == free)
