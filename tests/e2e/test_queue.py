"""Messages that wait until what is said before them is over, through the API."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from typing import Any, AsyncIterator

from api_case import LINES, ApiCase, Stream, data
from GeminiCompanion.companion.agent.turn_events import MAX_CHARACTERS, MAX_MESSAGES
from GeminiCompanion.tests.support import until, wait_for
from model_server import Failure, Gate, call
from test_api_program import WithModel

ENDS = ("complete", "error")


class Queued(ApiCase):
    """Each test has a conversation whose first message, "first", is answered once `gate` opens, and
    `heard`, all its events."""

    def setUp(self) -> None:
        super().setUp()
        self.gate = Gate()
        self.addCleanup(self.gate.set)
        self.heard: list[dict[str, Any]] = []
        for text in ("second", "third", "fourth"):
            self.model.will_play(text, [f"Answer to {text}."])
        self.model.will_play("first", ["One ", self.gate, "two."])
        self.asked_before = len(self.model.prompts())

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Stream]:
        """The stream of the first message, which is being answered."""
        self.session = (await self.post("/sessions", {"workspacePath": self.workspace}))[
            "sessionId"
        ]
        response = await self.sent("GET", self.base + "events", None, {"Accept": LINES})
        following = asyncio.ensure_future(self._hear(Stream(response, self.contract)))
        try:
            async with self.stream({"message": "first", "sessionId": self.session}) as stream:
                await stream.until("content")
                yield stream
        finally:
            following.cancel()
            response.close()

    async def _hear(self, stream: Stream) -> None:
        async for event in stream:
            self.heard.append(event)

    @property
    def base(self) -> str:
        return f"/sessions/{self.session}/"

    async def add(self, *texts: str, **more: Any) -> list[str]:
        """The ids of messages that wait from now on."""
        bodies = [{"message": text, **more} for text in texts]
        replies = [await self.post(self.base + "queue", body) for body in bodies]
        self.assertEqual([reply.status for reply in replies], [200] * len(replies), replies)
        return [reply["queueId"] for reply in replies]

    async def waiting(self) -> list[str]:
        told = await self.get(self.base + "queue")
        return [each["text"] for each in told["messages"]]

    async def until_said(self, *texts: str) -> None:
        """Wait until turns have ended with these messages, in this order, and nothing waits."""
        await until(lambda: sum(event["type"] in ENDS for event in self.heard) >= len(texts))
        self.assertEqual([each["text"] for each in data(self.heard, "message")], list(texts))
        self.assertEqual(await self.waiting(), [])

    def sent_to_model(self) -> list[str]:
        return self.model.prompts()[self.asked_before :]

    async def held(self) -> Any:
        """The queue, once it is held."""
        while True:
            told = await self.get(self.base + "queue")
            if told["isHeld"]:
                return told
            await asyncio.sleep(0.01)

    async def test_what_waits_is_sent_in_its_order_once_each(self) -> None:
        async with self.running():
            await self.add("second", "third")
            self.assertEqual(await self.waiting(), ["second", "third"])
            self.assertEqual(len(self.sent_to_model()), 1)
            self.gate.set()
            await self.until_said("first", "second", "third")
        self.assertEqual(self.sent_to_model(), ["first", "second", "third"])
        told = [
            [message["text"] for message in each["messages"]] for each in data(self.heard, "queue")
        ]
        self.assertEqual(told, [["second"], ["second", "third"], ["third"], []])

    async def test_it_can_be_changed_moved_and_taken_back(self) -> None:
        async with self.running():
            one, two, three = await self.add("second", "third", "fourth")
            await self.ask("PATCH", self.base + "queue/" + three, {"position": 0})
            await self.ask("DELETE", self.base + "queue/" + one)
            changed = await self.ask("PATCH", self.base + "queue/" + two, {"message": "second"})
            self.assertEqual(
                [message["text"] for message in changed["messages"]], ["fourth", "second"]
            )
            self.gate.set()
            await self.until_said("first", "fourth", "second")
        self.assertEqual(self.sent_to_model(), ["first", "fourth", "second"])

    async def test_where_nothing_runs_it_is_sent_at_once(self) -> None:
        self.gate.set()
        async with self.running() as stream:
            await stream.rest()
            await self.add("second")
            await self.until_said("first", "second")

    async def test_a_message_to_chat_is_still_refused_while_a_turn_runs(self) -> None:
        async with self.running():
            await self.add("second")
            reply = await self.post("/chat", {"message": "third", "sessionId": self.session})
            self.assertEqual((reply.status, reply["code"]), (409, "SESSION_BUSY"))
            self.gate.set()
            await self.until_said("first", "second")

    async def test_now_cancels_the_turn_and_the_others_come_after_it(self) -> None:
        async with self.running() as stream:
            _one, two = await self.add("second", "third")
            await self.post(self.base + f"queue/{two}/now")
            self.assertEqual((await stream.rest())[-1]["data"]["reason"], "cancelled")
            await self.until_said("first", "third", "second")
        self.assertEqual(self.sent_to_model(), ["first", "third", "second"])

    async def test_a_turn_that_was_stopped_or_failed_holds_what_waits_until_somebody_goes_on(
        self,
    ) -> None:
        for last, stop in ((None, True), (Failure(400, "No."), False)):
            with self.subTest(stop=stop):
                self.setUp()
                if last is not None:
                    self.model.will_play(
                        "first", ["One ", self.gate, call("glob", pattern="x")], last
                    )
                async with self.running() as stream:
                    one, _two = await self.add("second", "third")
                    if stop:
                        await self.post("/cancel", {"sessionId": self.session})
                    self.gate.set()
                    await stream.rest()
                    told = await self.held()
                    self.assertEqual(
                        [message["text"] for message in told["messages"]], ["second", "third"]
                    )
                    await self.post(self.base + f"queue/{one}/now")
                    await self.until_said("first", "second", "third")

    async def test_what_is_held_goes_on_after_a_message_that_is_answered(self) -> None:
        async with self.running() as stream:
            await self.add("second")
            await self.post("/cancel", {"sessionId": self.session})
            await stream.rest()
            await self.held()
            await self.story("third", sessionId=self.session)
            await self.until_said("first", "third", "second")

    async def test_a_turn_of_the_queue_goes_on_where_somebody_stops_reading_it(self) -> None:
        gate = Gate()
        self.addCleanup(gate.set)
        self.model.will_play("second", ["Three ", gate, "four."])
        async with self.running():
            await self.add("second")
            self.gate.set()
            await until(lambda: len(data(self.heard, "message")) > 1)
            turn = data(self.heard, "message")[-1]["turnId"]
            async with self.sent("GET", f"/chat/{turn}/events", None, {"Accept": LINES}) as reader:
                await Stream(reader, self.contract).until("content")
            gate.set()
            await self.until_said("first", "second")
        self.assertTrue(data(self.heard, "complete")[-1]["success"])

    async def test_one_that_cannot_be_sent_stays_and_says_why(self) -> None:
        path = self.write("there.txt", "x")
        async with self.running() as stream:
            one, _two = await self.add("second", filePaths=["there.txt"]) + await self.add("third")
            os.unlink(path)
            self.gate.set()
            await stream.rest()
            told = await self.held()
            self.assertIn("there.txt", told["problem"])
            self.assertEqual(await self.waiting(), ["second", "third"])
            await self.ask("DELETE", self.base + "queue/" + one)
            (two,) = [
                message["queueId"] for message in (await self.get(self.base + "queue"))["messages"]
            ]
            reply = await self.post(self.base + f"queue/{two}/now")
            self.assertEqual((reply["isHeld"], reply["problem"]), (False, ""))
            await self.until_said("first", "third")

    async def test_files_that_it_names_go_along_also_those_of_a_changed_text(self) -> None:
        given, other = self.write("given.txt", "a"), self.write("other.txt", "b")
        async with self.running():
            (one,) = await self.add("second", filePaths=["given.txt"])
            body = {"message": "third @other.txt"}
            told = await self.ask("PATCH", self.base + "queue/" + one, body)
            self.assertEqual(told["messages"][0]["files"], [given, other])
            self.gate.set()
            await self.until_said("first", "third @other.txt")
        self.assertEqual(data(self.heard, "message")[-1]["files"], [given, other])

    async def test_what_is_too_much_or_unknown_is_refused(self) -> None:
        async with self.running():
            (one,) = await self.add("second")
            await self.add(*("third" for _ in range(MAX_MESSAGES - 1)))
            large = {"message": "x" * MAX_CHARACTERS}
            lost = {"message": "x", "attachments": ["?"]}
            unknown, queue = self.base + "queue/unknown", self.base + "queue"
            for method, path, body, status, code in (
                ("POST", queue, {"message": "one more"}, 400, "VALIDATION_ERROR"),
                ("PATCH", f"{queue}/{one}", large, 400, "VALIDATION_ERROR"),
                ("POST", queue, lost, 404, "ATTACHMENT_NOT_FOUND"),
                ("PATCH", unknown, {"position": 0}, 404, "QUEUED_NOT_FOUND"),
                ("DELETE", unknown, None, 404, "QUEUED_NOT_FOUND"),
                ("POST", unknown + "/now", {}, 404, "QUEUED_NOT_FOUND"),
                ("GET", "/sessions/unknown/queue", None, 404, "SESSION_NOT_FOUND"),
            ):
                with self.subTest(path, body=str(body)[:20]):
                    reply = await self.ask(method, path, body)
                    self.assertEqual((reply.status, reply["code"]), (status, code))
            for each in (await self.get(queue))["messages"]:
                await self.ask("DELETE", f"{queue}/{each['queueId']}")


class Killed(WithModel):
    """A server that is killed, and what the next one has."""

    def setUp(self) -> None:
        super().setUp()
        self.gate = Gate()
        self.addCleanup(self.gate.set)
        self.model.will_play("first", ["One ", self.gate])
        for text in ("second", "third"):
            self.model.will_play(text, ["Yes."])

    def waiting(self, path: str) -> tuple[list[str], bool]:
        told = self.ask("GET", path + "/queue")
        return [message["text"] for message in told["messages"]], told["isHeld"]

    def said(self, path: str) -> list[tuple[str, str]]:
        """The messages, and how their turns ended."""
        turns = self.ask("GET", path + "/messages")["messages"]
        return [
            (turn["text"], turn["events"][-1]["type"] if turn["events"] else "") for turn in turns
        ]

    def test_what_waited_is_there_again_and_is_sent_once_when_somebody_says_so(self) -> None:
        server = self.serve_model()
        path = "/sessions/" + self.ask("POST", "/sessions")["sessionId"]
        self.ask("POST", path + "/queue", {"message": "first"})
        self.model.wait_for_prompt("first")
        for text in ("second", "third"):
            self.ask("POST", path + "/queue", {"message": text})
        self.assertEqual(self.waiting(path), (["second", "third"], False))
        server.kill()
        self.end(server)
        self.serve_model()
        self.assertEqual(self.waiting(path), (["second", "third"], True))
        self.assertEqual(self.said(path), [("first", "error")])
        first = self.ask("GET", path + "/queue")["messages"][0]["queueId"]
        self.ask("POST", f"{path}/queue/{first}/now")
        wait_for(
            lambda: [ending for _text, ending in self.said(path)[1:]] == ["complete", "complete"]
        )
        self.assertEqual(self.waiting(path), ([], False))
        # Gemini CLI puts what was not answered before the next message.
        newest = (text.rpartition("\n")[2] for text in self.model.prompts())
        sent = [text for text in newest if text in ("first", "second", "third")]
        self.assertEqual(sent, ["first", "second", "third"])
