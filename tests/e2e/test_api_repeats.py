"""Requests that are sent again with the same Idempotency-Key."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from aiohttp import ClientError
from api_case import ApiCase, Reply, said
from GeminiCompanion.tests.support import until
from model_server import Failure, Gate

PATIENCE = 180.0


class RepeatCase(ApiCase):
    def asked(self, message: str, **more: Any) -> dict[str, Any]:
        return {"message": message, "workspacePath": self.workspace, **more}

    async def once(self, key: str, body: Any, path: str = "/chat", **headers: str) -> Reply:
        return await self.post(path, body, headers={"Idempotency-Key": key, **headers})

    def times(self, words: str) -> int:
        """How often the model was asked this."""
        return sum(words in prompt for prompt in self.model.prompts())


class Repeating(RepeatCase):
    async def test_the_same_again_gets_the_same_answer_and_is_not_done_twice(self) -> None:
        self.model.will_play("only one", ["Once."])
        first = await self.once("a", self.asked("only one"))
        again = await self.once("a", self.asked("only one"))
        self.assertEqual((first["response"], first.body), ("Once.", again.body))
        self.assertEqual(again.headers["Idempotency-Replayed"], "true")
        self.assertNotIn("Idempotency-Replayed", first.headers)
        self.assertEqual(self.times("only one"), 1)
        other = await self.once("b", self.asked("only one"))
        self.assertEqual((other.status, self.times("only one")), (200, 2))

    async def test_one_that_is_repeated_while_it_runs_is_waited_for(self) -> None:
        gate = Gate()
        self.addCleanup(gate.set)
        self.model.will_play("slow one", ["S", gate, "low."])
        asking = [
            asyncio.ensure_future(self.once("slow", self.asked("slow one"))) for _ in range(3)
        ]
        await until(gate.reached.is_set)
        gate.set()
        replies = await asyncio.gather(*asking)
        self.assertEqual([reply.body for reply in replies], [replies[0].body] * 3)
        self.assertEqual(self.times("slow one"), 1)

    async def test_a_client_that_leaves_finds_the_answer_when_it_comes_back(self) -> None:
        gate = Gate()
        self.addCleanup(gate.set)
        self.model.will_play("left alone", ["Fin", gate, "ished."])
        asking = asyncio.ensure_future(self.once("left", self.asked("left alone")))
        await until(gate.reached.is_set)
        asking.cancel()
        await asyncio.wait([asking])
        again = asyncio.ensure_future(self.once("left", self.asked("left alone")))
        gate.set()
        self.assertEqual((await again)["response"], "Finished.")
        self.assertEqual(self.times("left alone"), 1)

    async def test_a_stream_that_is_repeated_tells_the_same_turn_from_its_begin(self) -> None:
        self.model.will_play("in pieces", ["One ", "two."])
        key = {"Idempotency-Key": "stream"}
        stories = []
        for _ in range(2):
            async with self.stream({"message": "in pieces"}, headers=key) as stream:
                stories.append(await stream.rest())
        self.assertEqual(stories[0], stories[1])
        self.assertEqual((said(stories[0]), self.times("in pieces")), ("One two.", 1))

    async def test_a_stream_that_goes_on_after_an_event_is_no_repetition(self) -> None:
        self.model.will_play("resumed", ["One ", "two."])
        key = {"Idempotency-Key": "resumed"}
        async with self.stream({"message": "resumed"}, headers=key) as stream:
            events = await stream.rest()
        headers = {**key, "Last-Event-ID": events[0]["id"]}
        async with self.stream({"message": "resumed"}, headers=headers) as stream:
            self.assertEqual(await stream.rest(), events[1:])

    async def test_a_key_for_something_else_is_refused(self) -> None:
        self.model.will_play("this", ["Yes."])
        await self.once("mixed", self.asked("this"))
        for path, body in (
            ("/chat", self.asked("that")),
            ("/chat", self.asked("this", confirm=True)),
            ("/sessions", {}),
        ):
            reply = await self.once("mixed", body, path)
            self.assertEqual((reply.status, reply["code"]), (422, "IDEMPOTENCY_MISMATCH"), reply)

    async def test_keys_of_another_token_are_others(self) -> None:
        given = await self.post("/tokens", {"name": "one", "scopes": ["chat"]})
        self.model.will_play("whose", ["Mine."])
        await self.once("shared", self.asked("whose"))
        another = {"Authorization": f"Bearer {given['token']}"}
        reply = await self.once("shared", self.asked("whose"), **another)
        self.assertEqual((reply.status, self.times("whose")), (200, 2))

    async def test_what_failed_before_it_began_is_done_when_it_is_repeated(self) -> None:
        body = self.asked("later", sessionId="none")
        for _ in range(2):
            reply = await self.once("failed", body)
            self.assertEqual((reply.status, reply["code"]), (404, "SESSION_NOT_FOUND"))
            self.assertNotIn("Idempotency-Replayed", reply.headers)

    async def test_a_turn_that_failed_fails_again_without_another_turn(self) -> None:
        self.model.will_play("fails", Failure(403, "No.", "PERMISSION_DENIED"), ["Yes."])
        replies = [await self.once("broken", self.asked("fails")) for _ in range(2)]
        self.assertEqual([reply.status for reply in replies], [403, 403])
        self.assertEqual(replies[0].body, replies[1].body)

    async def test_clients_of_openai_repeat_whole_answers_and_streams(self) -> None:
        self.model.will_play("v1 once", ["Once."])
        user = {"role": "user", "content": "v1 once"}
        body = {"model": "gemini", "messages": [user]}
        path = "/v1/chat/completions"
        replies = [await self.once("v1", body, path) for _ in range(2)]
        self.assertEqual(replies[0].body, replies[1].body)
        texts = []
        for _ in range(2):
            headers = {"Idempotency-Key": "v1 stream".replace(" ", "-")}
            async with self.sent("POST", path, {**body, "stream": True}, headers) as response:
                texts.append(await response.text())
        self.assertEqual(texts[0], texts[1])
        self.assertEqual(self.times("v1 once"), 2)

    async def test_every_route_that_changes_something_takes_a_key(self) -> None:
        body = {"path": self.path("a.txt"), "content": "x"}
        first = await self.once("file", body, "/write-file")
        os.remove(self.path("a.txt"))
        again = await self.once("file", body, "/write-file")
        self.assertEqual(first.body, again.body)
        self.assertFalse(os.path.exists(self.path("a.txt")))

    async def test_a_key_has_only_plain_letters_and_so_many(self) -> None:
        for key in ("a b", "x" * 256, "ä"):
            reply = await self.once(key, self.asked("x"))
            self.assertEqual((reply.status, reply["code"]), (400, "VALIDATION_ERROR"))
            self.assertIn(
                "1 to 255 visible characters of ASCII without blanks as Idempotency-Key",
                reply["message"],
            )

    async def test_a_withdrawn_token_ends_what_it_began_also_without_its_client(self) -> None:
        given = await self.post("/tokens", {"name": "gone", "scopes": ["chat"]})
        bearer = {"Authorization": f"Bearer {given['token']}"}
        gate = Gate()
        self.addCleanup(gate.set)
        self.model.will_play("goes on", ["a", gate, "b"])
        body = self.asked("goes on", newSession=True)
        asking = asyncio.ensure_future(self.once("gone", body, **bearer))
        await until(gate.reached.is_set)
        asking.cancel()
        await asyncio.wait([asking])
        (turn,) = [each for each in self.agent.turns if not each.is_over]
        await self.ask("DELETE", "/tokens/gone")
        await until(lambda: not self.server._dispatcher._once._tasks)
        await self.until_over(turn.id)

    async def test_a_stream_that_is_repeated_ends_with_its_token(self) -> None:
        given = await self.post("/tokens", {"name": "gone", "scopes": ["chat"]})
        headers = {"Authorization": f"Bearer {given['token']}", "Idempotency-Key": "streams"}
        gate = Gate()
        self.addCleanup(gate.set)
        self.model.will_play("told twice", ["one ", gate, "two"])
        body = {"message": "told twice", "newSession": True}
        async with self.stream(body, headers=headers) as first:
            await first.until("content")
            async with self.stream(body, headers=headers) as again:
                await again.until("content")
                await self.ask("DELETE", "/tokens/gone")
                for each in (first, again):
                    with self.assertRaises(ClientError):
                        await asyncio.wait_for(each.rest(), PATIENCE)
