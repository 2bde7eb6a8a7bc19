"""The API with a CLI behind it: every endpoint that talks with it, every event."""

from __future__ import annotations

import asyncio
import functools
import os
import signal
import time
from typing import Any, Awaitable, Callable
from unittest import mock

from agent_case import KEY, NO_CHANGES, PATIENCE
from aiohttp import ClientConnectionError, FormData
from api_case import LINES, SSE, ApiCase, Reply, Stream, data, said, types
from GeminiCompanion.companion.api import routes
from GeminiCompanion.companion.api.handlers import event_stream as stream_module
from GeminiCompanion.tests.support import until
from google_server import ANSWER, EMAIL
from model_server import AT_GATE, Failure, Gate, call, thought, wants

from tests.api.contract import Contract


class Chat(ApiCase):
    async def test_a_message_is_answered_as_one_object(self) -> None:
        self.model.will_play("hello", ["Hi ", "there."])
        reply = await self.post("/chat", {"message": "hello", "workspacePath": self.workspace})
        self.assertEqual((reply.status, reply["success"]), (200, True), reply)
        self.assertEqual((reply["response"], reply["hasToolCalls"]), ("Hi there.", False))
        self.assertEqual(reply["toolCalls"], [])
        self.assertEqual(reply["usage"]["outputTokens"], 1)
        sessions = await self.get("/sessions")
        self.assertIn(
            reply["sessionId"], [session["sessionId"] for session in sessions["sessions"]]
        )

    async def test_a_stream_has_all_kinds_of_events_in_their_order(self) -> None:
        path = self.path("new.txt")
        self.model.will_play(
            "write it",
            [thought("Planning", "a file"), call("write_file", file_path=path, content="text\n")],
            ["Done."],
        )
        events = await self.story("write it", decide="proceed_once")
        self.assertEqual(
            types(events),
            ["thought", "tool_call", "tool_execution", "tool_confirmation", "tool_execution",
             "tool_result", "content", "complete"],
        )  # fmt: skip
        self.assertEqual(self.read("new.txt"), "text\n")
        asked = data(events, "tool_confirmation")[0]
        shown = {"path": path}
        self.assertEqual(
            asked["diff"], {"path": path, "oldText": "", "newText": "text\n", "shown": shown}
        )
        statuses = [execution["status"] for execution in data(events, "tool_execution")]
        self.assertEqual(statuses, ["pending", "executing", "completed"])
        self.assertEqual(data(events, "complete")[0]["success"], True)
        self.assertEqual(said(events), "Done.")

    async def test_lines_are_the_same_events_without_their_frames(self) -> None:
        self.model.will_play("lines", ["One ", "two."])
        async with self.stream({"message": "lines"}, LINES) as stream:
            events = await stream.rest()
        self.assertEqual(stream.media, LINES)
        self.assertEqual((types(events), said(events)), (["content", "complete"], "One two."))
        self.assertEqual({event["id"] for event in events}, {""})

    async def test_who_wants_json_or_anything_gets_a_stream_of_events(self) -> None:
        async with self.stream({"message": "axios"}, "application/json, text/plain, */*") as stream:
            self.assertEqual((stream.media, types(await stream.rest())[-1]), (SSE, "complete"))
        async with self.stream({"message": "json"}, "application/json") as stream:
            self.assertNotEqual(stream.media, SSE)

    async def test_a_conversation_goes_on_and_a_new_one_knows_nothing(self) -> None:
        self.model.will_play("word", ["Yes."])
        here = {"workspacePath": self.workspace}
        first = await self.post("/chat", {"message": "the word is blue", **here})
        second = await self.post("/chat", {"message": "which word", **here})
        self.assertEqual(first["sessionId"], second["sessionId"])
        self.assertIn("blue", str(self.model.last_request()["contents"]))
        made = await self.post("/sessions", here)
        self.assertEqual(made["workspacePath"], self.workspace)
        mine = {"message": "which word", "sessionId": made["sessionId"]}
        self.assertEqual((await self.post("/chat", mine))["sessionId"], made["sessionId"])
        self.assertNotIn("blue", str(self.model.last_request()["contents"]))
        third = await self.post("/chat", {"message": "which word", **here})
        self.assertEqual(third["sessionId"], first["sessionId"])
        back = {"message": "which word", "sessionId": first["sessionId"]}
        self.assertEqual((await self.post("/chat", back))["sessionId"], first["sessionId"])
        fourth = await self.post("/chat", {"message": "word", "newSession": True, **here})
        self.assertNotIn(fourth["sessionId"], (first["sessionId"], made["sessionId"]))

    async def test_who_uses_no_id_gets_into_no_conversation_of_somebody_who_does(self) -> None:
        here = {"workspacePath": self.workspace}
        mine = await self.post("/chat", {"message": "my word is red", **here})
        await self.post("/chat", {"message": "again", "sessionId": mine["sessionId"]})
        theirs = await self.post("/chat", {"message": "which word", **here})
        self.assertNotEqual(theirs["sessionId"], mine["sessionId"])
        self.assertNotIn("red", str(self.model.last_request()["contents"]))

    async def test_the_model_can_be_chosen(self) -> None:
        here = {"workspacePath": self.workspace}
        told = await self.get("/models?workspacePath=" + self.workspace.replace(" ", "%20"))
        ids = [each["id"] for each in told["models"]]
        other = next(id for id in ids if id not in (told["current"], "auto"))
        chosen = await self.post("/model", {"model": other, **here})
        self.assertEqual((chosen.status, chosen["current"]), (200, other))
        self.model.will_play("which", ["This."])
        reply = await self.post("/chat", {"message": "which", **here})
        self.assertEqual(list(reply["usage"]["byModel"]), [other])
        refused = await self.post("/model", {"model": "no such model", **here})
        self.assertEqual((refused.status, refused["code"]), (400, "VALIDATION_ERROR"))

    async def test_every_letter_arrives_as_it_was_said(self) -> None:
        words = " ".join(map(str, range(80_000)))
        said_by_model = "ü \U0001f600 \u2028 \u0000 " + words
        self.model.will_play("letters", [said_by_model[:3], said_by_model[3:]])
        for media in (SSE, LINES):
            async with self.stream({"message": "letters"}, media) as stream:
                self.assertEqual(said(await stream.rest()), said_by_model)

    async def test_two_calls_with_one_id_are_both_told(self) -> None:
        one, two = self.write("one", "1"), self.write("two", "2")
        self.model.will_play(
            "twice",
            [call("read_file", id="same", file_path=one)],
            [call("read_file", id="same", file_path=two)],
            ["Done."],
        )
        body = {"message": "twice", "workspacePath": self.workspace}
        calls = (await self.post("/chat", body))["toolCalls"]
        self.assertEqual(len({each["id"] for each in calls}), 1)
        self.assertEqual([each["status"] for each in calls], ["completed"] * 2)
        self.assertEqual([each["args"]["file_path"] for each in calls], [one, two])

    async def test_attached_files_are_read_and_one_from_elsewhere_is_asked_about(self) -> None:
        inside = self.write("with space ä%20.txt", "the attached text")
        self.model.will_play("attached", ["Seen."])
        events = await self.story("attached", filePaths=["with space ä%20.txt", inside])
        self.assertEqual(said(events), "Seen.")
        self.assertIn("the attached text", str(self.model.last_request()["contents"]))
        elsewhere = os.path.join(self.root, "elsewhere.txt")
        with open(elsewhere, "w", encoding="utf-8") as file:
            file.write("from elsewhere")
        events = await self.story("attached", "proceed_once", filePaths=[elsewhere])
        order = types(events)
        self.assertLess(order.index("tool_confirmation"), order.index("content"))
        body = {"message": "attached", "filePaths": [elsewhere], "workspacePath": self.workspace}
        reply = await self.post("/chat", {**body, "newSession": True})
        self.assertEqual(reply["toolCalls"][0]["status"], "failed")

    async def test_events_are_told_in_the_language_of_the_client(self) -> None:
        self.model.will_play("sprache", ["Ja."])
        for language, message in (("en", "The turn is complete."), ("zh", "对话完成")):
            asked = {"Accept-Language": language}
            async with self.stream({"message": "sprache"}, headers=asked) as stream:
                events = await stream.rest()
            self.assertEqual(data(events, "complete")[0]["message"], message)

    async def test_what_was_said_in_one_language_is_told_again_in_another(self) -> None:
        written = call("write_file", file_path=self.path("a.txt"), content="x")
        self.model.will_play("schreibe", [written], ["Na gut."])
        asked = {"message": "schreibe", "workspacePath": self.workspace, "newSession": True}
        chinese = {"Accept-Language": "zh"}
        reply = await self.post("/chat", asked, headers=chinese)
        self.assertRegex(reply["message"], "[\u4e00-\u9fff]")
        self.assertRegex(reply["toolCalls"][0]["error"], "[\u4e00-\u9fff]")
        path = f"/sessions/{reply['sessionId']}/messages"
        for headers, sentence in ((chinese, "此调用需要确认"), ({}, "It needs a confirmation")):
            (turn,) = (await self.get(path, headers=headers))["messages"]
            (result,) = data(turn["events"], "tool_result")
            self.assertIn(sentence, result["error"])


class Deciding(ApiCase):
    def will_write(self, word: str, name: str) -> str:
        path = self.path(name)
        self.model.will_play(word, [call("write_file", file_path=path, content="x")], ["Done."])
        return path

    async def decide(
        self, event: dict[str, Any], outcome: str, revision: str | None = None
    ) -> Reply:
        call = {"callId": event["data"]["callId"], "outcome": outcome}
        if revision is not None:
            call["revision"] = revision
        return await self.post("/tool-confirmation", call)

    async def test_a_call_with_a_very_long_id_can_be_decided(self) -> None:
        path = self.path("long.txt")
        write = call("write_file", id="i" * 4000, file_path=path, content="x")
        self.model.will_play("long id", [write], ["Done."])
        await self.story("long id", decide="proceed_once")
        self.assertEqual(self.read("long.txt"), "x")

    async def test_a_rejected_call_is_told_and_not_run(self) -> None:
        path = self.will_write("reject", "r.txt")
        events = await self.story("reject", decide="cancel")
        result = data(events, "tool_result")[0]
        self.assertEqual((result["success"], result["rejected"]), (False, True))
        last = data(events, "tool_execution")[-1]
        self.assertEqual((last["status"], last["rejected"]), ("failed", True))
        self.assertTrue(data(events, "complete")[0]["success"])
        self.assertFalse(os.path.exists(path))

    async def test_an_edit_is_written_as_the_client_changed_it(self) -> None:
        path = self.will_write("change", "c.txt")
        async with self.stream({"message": "change"}) as stream:
            asked = await stream.until("tool_confirmation")
            offered = [each["outcome"] for each in asked["data"]["options"]]
            self.assertIn("modify_with_editor", offered)
            body = {"callId": asked["data"]["callId"], "outcome": "modify_with_editor"}
            self.assertEqual((await self.post("/tool-confirmation", body)).status, 400)
            body["newContent"] = "changed by the client\n"
            self.assertEqual((await self.post("/tool-confirmation", body)).status, 200)
            events = await stream.rest()
        self.assertTrue(data(events, "tool_result")[0]["success"])
        self.assertEqual(self.read("c.txt"), "changed by the client\n", path)

    async def test_every_outcome_of_the_specification_has_its_answer(self) -> None:
        for number, (outcome, status) in enumerate(
            (("proceed_once", 200), ("proceed_always", 200), ("proceed_always_server", 400),
             ("proceed_always_tool", 200), ("modify_with_editor", 400), ("cancel", 200))
        ):  # fmt: skip
            with self.subTest(outcome):
                word = f"outcome{number}"
                self.will_write(word, f"{number}.txt")
                async with self.stream({"message": word, "newSession": True}) as stream:
                    asked = await stream.until("tool_confirmation")
                    self.assertEqual((await self.decide(asked, outcome)).status, status)
                    if status != 200:
                        await self.decide(asked, "cancel")
                    await stream.rest()

    async def test_an_approval_counts_for_the_question_that_was_looked_at_and_for_no_other(
        self,
    ) -> None:
        if self.real:
            self.skipTest(NO_CHANGES)
        gate = Gate()
        self.addCleanup(gate.set)
        self.model.will_play("swap", [wants("make test"), gate, wants("rm -r /")])
        async with self.stream({"message": "swap"}) as stream:
            former = await stream.until("tool_confirmation")
            gate.set()
            asked = await stream.until("tool_confirmation")
            self.assertEqual(former["data"]["callId"], asked["data"]["callId"])
            waiting = (await self.get("/tool-confirmations"))["confirmations"]
            self.assertEqual(
                [confirmation["data"]["command"] for confirmation in waiting], ["rm -r /"]
            )
            told = former["data"]["revision"], asked["data"]["revision"]
            for revision in (told[0], None):
                reply = await self.decide(asked, "proceed_once", revision)
                self.assertEqual((reply.status, reply["code"]), (409, "TOOL_CALL_CHANGED"))
                self.assertIn("The agent has changed what it asks", reply["message"])
            reply = await self.decide(asked, "proceed_once", told[1])
            self.assertEqual(reply.status, 200, reply)
            events = await stream.rest()
        for words in ("make test: cancelled.", "rm -r /: allowed."):
            self.assertIn(words, said(events))
        self.assertEqual([result["success"] for result in data(events, "tool_result")], [True])

    async def test_a_rejection_counts_for_what_the_agent_asks_by_then(self) -> None:
        if self.real:
            self.skipTest(NO_CHANGES)
        gate = Gate()
        self.addCleanup(gate.set)
        self.model.will_play("no swap", [wants("make test"), gate, wants("rm -r /")])
        async with self.stream({"message": "no swap"}) as stream:
            former = await stream.until("tool_confirmation")
            gate.set()
            await stream.until("tool_confirmation")
            reply = await self.decide(former, "cancel", former["data"]["revision"])
            self.assertEqual(reply.status, 200, reply)
            events = await stream.rest()
        for words in ("make test: cancelled.", "rm -r /: rejected."):
            self.assertIn(words, said(events))

    async def test_without_a_stream_a_call_that_wants_a_decision_is_rejected(self) -> None:
        path = self.will_write("alone", "a.txt")
        reply = await self.post("/chat", {"message": "alone", "workspacePath": self.workspace})
        self.assertEqual((reply.status, reply["success"], reply["hasToolCalls"]), (200, True, True))
        self.assertIn("rejected", reply["message"])
        made = reply["toolCalls"][0]
        self.assertEqual((made["name"], made["status"]), ("write_file", "failed"))
        self.assertEqual(made["args"]["file_path"], path)
        self.assertFalse(os.path.exists(path))

    async def test_without_a_stream_somebody_else_can_decide_if_that_was_promised(self) -> None:
        path = self.will_write("together", "t.txt")
        body = {"message": "together", "workspacePath": self.workspace, "confirm": True}
        asking = asyncio.ensure_future(self.post("/chat", body))
        waiting: list[dict[str, Any]] = []
        while not waiting:
            self.assertFalse(asking.done())
            waiting = (await self.get("/tool-confirmations"))["confirmations"]
        self.assertEqual((await self.decide(waiting[0], "proceed_once")).status, 200)
        reply = await asking
        self.assertEqual(reply["toolCalls"][0]["status"], "completed")
        self.assertTrue(os.path.exists(path))


class Conversations(ApiCase):
    """What can be done with a conversation beside talking."""

    async def talked(self, *messages: str) -> str:
        """The id of a conversation with these messages."""
        more: dict[str, Any] = {"newSession": True, "workspacePath": self.workspace}
        id = ""
        for message in messages:
            self.model.will_play(message, ["To " + message])
            reply = await self.post("/chat", {"message": message, **more})
            id = reply["sessionId"]
            more = {"sessionId": id}
        return id

    async def test_what_was_said_can_be_read_page_by_page(self) -> None:
        id = await self.talked("first", "second", "third")
        newest = await self.get(f"/sessions/{id}/messages?limit=2")
        self.assertEqual([message["text"] for message in newest["messages"]], ["second", "third"])
        self.assertTrue(newest["hasMore"])
        told = newest["messages"][0]["events"]
        self.assertEqual([(event["type"], event["data"].get("text")) for event in told],
                         [("content", "To second"), ("complete", None)])  # fmt: skip
        before = newest["messages"][0]["turnId"]
        older = await self.get(f"/sessions/{id}/messages?before={before}")
        self.assertEqual([message["text"] for message in older["messages"]], ["first"])
        self.assertFalse(older["hasMore"])
        for query, status in ("limit=0", 400), ("limit=101", 400), ("before=nothing", 404):
            self.assertEqual((await self.get(f"/sessions/{id}/messages?{query}")).status, status)
        self.assertEqual((await self.get("/sessions/nobody/messages")).status, 404)

    async def test_title_model_and_mode_are_changed_and_nothing_half(self) -> None:
        id = await self.talked("the title of it")
        known = {
            session["sessionId"]: session for session in (await self.get("/sessions"))["sessions"]
        }
        self.assertEqual(known[id]["title"], "the title of it")
        changed = await self.ask("PATCH", f"/sessions/{id}", {"title": "Mine", "mode": "plan"})
        self.assertEqual((changed["title"], changed["mode"]), ("Mine", "plan"))
        bad = await self.ask("PATCH", f"/sessions/{id}", {"title": "Other", "mode": "sleepy"})
        self.assertEqual((bad.status, bad["code"]), (400, "VALIDATION_ERROR"))
        known = {
            session["sessionId"]: session for session in (await self.get("/sessions"))["sessions"]
        }
        self.assertEqual(known[id]["title"], "Mine")
        self.assertEqual((await self.ask("PATCH", f"/sessions/{id}", {"title": 1})).status, 400)
        self.assertEqual((await self.ask("PATCH", "/sessions/nobody", {})).status, 404)

    async def test_a_deleted_conversation_is_gone(self) -> None:
        id = await self.talked("delete me")
        self.assertEqual((await self.ask("DELETE", f"/sessions/{id}")).status, 200)
        self.assertEqual((await self.ask("DELETE", f"/sessions/{id}")).status, 404)
        self.assertEqual((await self.post("/chat", {"message": "x", "sessionId": id})).status, 404)

    async def test_a_second_device_sees_what_happens_over_all_turns(self) -> None:
        id = await self.talked("one")
        for path in (f"/sessions/{id}/events", "/events"):
            with self.subTest(path):
                async with self.sent("GET", path, None, {"Accept": SSE}) as response:
                    stream = Stream(response, self.contract)
                    asking = asyncio.ensure_future(
                        self.post("/chat", {"message": "one", "sessionId": id})
                    )
                    said = await stream.until("message")
                    self.assertEqual(said["data"]["text"], "one")
                    self.assertTrue(said["id"].endswith(".0"))
                    await stream.until("complete")
                    await asking
                async with self.sent(
                    "GET", path, None, {"Accept": SSE, "Last-Event-ID": said["id"]}
                ) as response:
                    stream = Stream(response, self.contract)
                    self.assertEqual((await stream.until("content"))["data"]["text"], "To on")
                gone = {"Accept": SSE, "Last-Event-ID": "nothing.1"}
                self.assertEqual((await self.get(path, headers=gone)).status, 404)


class Leaving(ApiCase):
    """Clients that vanish, come back, or do not."""

    def may_take_long(self) -> None:
        """A client of this test comes back in time, however busy the machine is."""
        patch = mock.patch.object(self.server._listeners, "_grace", PATIENCE)
        patch.start()
        self.addCleanup(patch.stop)

    def will_stop(self, word: str) -> Gate:
        """The model says "one ", and "two" when the gate is opened."""
        gate = Gate()
        self.addCleanup(gate.set)
        self.model.will_play(word, ["one ", gate, "two"])
        return gate

    async def test_a_client_that_comes_back_misses_nothing_and_gets_nothing_twice(self) -> None:
        self.may_take_long()
        gate = self.will_stop("return")
        async with self.stream({"message": "return"}) as stream:
            first = await stream.until("content")
            stream.leave()
        turn = first["data"]["turnId"]
        self.assertEqual(first["id"].partition(".")[0], turn)
        async with self.resumed(turn, first["id"]) as stream:
            gate.set()
            rest = await stream.rest()
        self.assertEqual(said(rest), " two")
        self.assertEqual(data(rest, "complete")[0]["success"], True)
        async with self.resumed(turn) as stream:
            whole = await stream.rest()
        numbers = [int(event["id"].partition(".")[2]) for event in whole]
        self.assertEqual(numbers, list(range(1, len(whole) + 1)))
        self.assertEqual(whole[-len(rest) :], rest)

    async def test_a_client_that_has_seen_the_end_is_told_not_to_come_back(self) -> None:
        events = await self.story("end")
        turn, last = events[-1]["data"]["turnId"], events[-1]["id"]
        seen = {"Last-Event-ID": last, "Accept": SSE}
        for method, path in ("GET", f"/chat/{turn}/events"), ("POST", "/chat"):
            body = {"message": "end", "stream": True} if method == "POST" else None
            async with self.sent(method, path, body, seen) as response:
                self.assertEqual((response.status, await response.read()), (204, b""))

    async def test_a_stream_has_no_block_without_an_event(self) -> None:
        body = {"message": "blocks", "stream": True, "workspacePath": self.workspace}
        async with self.sent("POST", "/chat", body, {"Accept": SSE}) as response:
            blocks = (await response.read()).decode("utf-8").split("\n\n")
        self.assertEqual(blocks.pop(), "")
        for block in blocks:
            self.assertIn("\ndata: ", block)
        self.assertTrue(blocks[0].startswith("retry: "))
        self.assertNotIn("retry:", "".join(blocks[1:]))

    async def test_the_same_request_again_goes_on_instead_of_asking_twice(self) -> None:
        self.may_take_long()
        gate = self.will_stop("again")
        body = {"message": "again"}
        async with self.stream(body) as stream:
            first = await stream.until("content")
            stream.leave()
        async with self.stream(body, headers={"Last-Event-ID": first["id"]}) as stream:
            gate.set()
            self.assertEqual(said(await stream.rest()), " two")
        asked = [prompt for prompt in self.model.prompts() if "again" in prompt]
        self.assertEqual(len(asked), 1)

    async def test_one_that_does_not_come_back_ends_the_turn(self) -> None:
        self.will_stop("gone")
        async with self.stream({"message": "gone"}) as stream:
            first = await stream.until("content")
            stream.leave()
        await self.until_over(first["data"]["turnId"])
        async with self.resumed(first["data"]["turnId"], first["id"]) as stream:
            rest = await stream.rest()
        self.assertEqual(data(rest, "complete")[0]["reason"], "cancelled")

    async def test_a_reader_of_lines_ends_the_turn_at_once(self) -> None:
        self.may_take_long()
        self.will_stop("lines")
        async with self.stream({"message": "lines"}, LINES) as stream:
            first = await stream.until("content")
            stream.leave()
        await self.until_over(first["data"]["turnId"])

    async def test_one_that_waits_for_the_whole_answer_and_leaves_ends_the_turn(self) -> None:
        gate = self.will_stop("whole")
        body = {"message": "whole", "workspacePath": self.workspace}
        asking = asyncio.ensure_future(self.post("/chat", body))
        await until(gate.reached.is_set)
        asking.cancel()
        while True:
            sessions = (await self.get("/sessions"))["sessions"]
            mine = [session for session in sessions if session["workspacePath"] == self.workspace]
            if not mine[0]["isBusy"]:
                break

    async def test_one_that_vanishes_while_a_decision_is_awaited_runs_no_tool(self) -> None:
        path = self.path("v.txt")
        self.model.will_play("vanish", [call("write_file", file_path=path, content="x")], ["Done."])
        async with self.stream({"message": "vanish"}) as stream:
            asked = await stream.until("tool_confirmation")
            stream.leave()
        await self.until_over(asked["data"]["turnId"])
        self.assertEqual((await self.get("/tool-confirmations"))["confirmations"], [])
        late = {"callId": asked["data"]["callId"], "outcome": "proceed_once"}
        reply = await self.post("/tool-confirmation", late)
        self.assertEqual((reply.status, reply["code"]), (404, "TOOL_CALL_NOT_FOUND"))
        self.assertFalse(os.path.exists(path))

    async def test_two_readers_see_the_same_and_one_of_them_is_enough(self) -> None:
        gate = self.will_stop("two readers")
        async with self.stream({"message": "two readers"}) as one:
            first = await one.until("content")
            async with self.resumed(first["data"]["turnId"]) as other:
                await other.until("content")
                one.leave()
                with mock.patch.object(self.server._listeners, "_grace", 0.0):
                    gate.set()
                    self.assertEqual(said(await other.rest()), " two")

    async def test_one_that_reads_nothing_ends_its_turn(self) -> None:
        gate = Gate()
        self.addCleanup(gate.set)
        # More than the system takes in for a reader.
        flood = " ".join(map(str, range(1_200_000)))
        self.model.will_play("flood", [flood, gate, "end"])
        body = {"message": "flood", "stream": True, "workspacePath": self.workspace}
        with mock.patch.object(stream_module, "STALLED", 0.2):
            begun = time.monotonic()
            raw = await self.open_raw("POST", "/chat", body)
            while not any(
                session["isBusy"] for session in (await self.get("/sessions"))["sessions"]
            ):
                await asyncio.sleep(0.01)
            while any(session["isBusy"] for session in (await self.get("/sessions"))["sessions"]):
                await asyncio.sleep(0.01)
            raw.close()
        # Before the model goes on by itself.
        self.assertLess(time.monotonic() - begun, AT_GATE / 2)

    async def test_a_turn_can_be_cancelled_by_another_request(self) -> None:
        self.will_stop("stop it")
        async with self.stream({"message": "stop it"}) as stream:
            first = await stream.until("content")
            session = {"sessionId": first["data"]["sessionId"]}
            reply = await self.post("/cancel", session)
            self.assertEqual((reply.status, reply["cancelled"]), (200, 1))
            self.assertEqual((await stream.rest())[-1]["data"]["reason"], "cancelled")
        self.assertEqual((await self.post("/cancel", session))["cancelled"], 0)

    async def test_a_silent_stream_is_kept_open_by_comments(self) -> None:
        server = await self.another_server(heartbeat=0.05, fallback=KEY)
        gate = self.will_stop("silence")
        async with self.stream({"message": "silence"}, server=server) as stream:
            reading = asyncio.ensure_future(stream.rest())
            await until(lambda: len(stream.comments) >= 3)
            gate.set()
            self.assertEqual(said(await reading), "one two")


class Failing(ApiCase):
    async def test_the_death_of_the_cli_is_told_and_the_next_message_works(self) -> None:
        gate = Gate()
        self.addCleanup(gate.set)
        self.model.will_play("die", ["half ", gate, "way"])
        async with self.stream({"message": "die"}) as stream:
            await stream.until("content")
            status = await self.get("/status")
            os.kill(status["cli"]["pid"], signal.SIGKILL)
            last = (await stream.rest())[-1]
        self.assertEqual((last["type"], last["data"]["code"]), ("error", "STREAM_ERROR"))
        self.model.will_play("go on", ["Here."])
        self.assertEqual(said(await self.story("go on")), "Here.")

    async def test_a_death_before_the_answer_is_an_error_of_the_one_object_too(self) -> None:
        gate = Gate()
        self.addCleanup(gate.set)
        self.model.will_play("dead", ["half ", gate, "way"])
        body = {"message": "dead", "workspacePath": self.workspace}
        asking = asyncio.ensure_future(self.post("/chat", body))
        await until(gate.reached.is_set)
        os.kill(self.agent.process_info().pid or 0, signal.SIGKILL)
        reply = await asking
        self.assertEqual((reply.status, reply["code"]), (500, "STREAM_ERROR"))

    async def test_what_the_model_refuses_is_told_by_its_status(self) -> None:
        for number, (failure, status, code) in enumerate(
            (
                (Failure(400, "API key not valid.", "INVALID_ARGUMENT"), 401, "AUTH_REQUIRED"),
                (Failure(403, "Not yours.", "PERMISSION_DENIED"), 403, "ACCESS_DENIED"),
                (Failure(400, "Not so.", "INVALID_ARGUMENT"), 400, "GEMINI_REFUSED"),
                (Failure(404, "models/x is not found", "NOT_FOUND"), 500, "GEMINI_ERROR"),
            )
        ):
            with self.subTest(code):
                word = f"refused{number}"
                self.model.will_play(word, failure)
                body = {"message": word, "workspacePath": self.workspace}
                reply = await self.post("/chat", body)
                self.assertEqual((reply.status, reply["code"]), (status, code), reply)
                self.assertNotIn("{", reply["message"])
                events = await self.story(word)
                self.assertEqual((types(events), events[-1]["data"]["code"]), (["error"], code))

    async def test_a_key_that_is_refused_shows_in_the_status_until_another_one_comes(self) -> None:
        refused = Failure(400, "API key not valid.", "INVALID_ARGUMENT")
        self.model.will_play("bad key", refused)
        await self.story("bad key")
        told = (await self.get("/auth/status"))["data"]
        self.assertEqual((told["isAuthenticated"], told["verified"]), (False, False))
        key = {"authType": "gemini-api-key", "apiKey": "another-key"}
        self.assertEqual((await self.post("/auth/config", key)).status, 200)
        self.model.will_play("good key", ["Yes."])
        await self.story("good key")
        self.assertEqual(self.model.keys[-1], "another-key")
        told = (await self.get("/auth/status"))["data"]
        self.assertEqual((told["isAuthenticated"], told["verified"]), (True, True))

    async def test_an_answer_that_was_blocked_is_no_success(self) -> None:
        blocked = {"candidates": [{"finishReason": "SAFETY", "index": 0}]}
        self.model.will_play("blocked", [blocked])
        reply = await self.post("/chat", {"message": "blocked", "workspacePath": self.workspace})
        self.assertEqual((reply.status, reply["success"]), (200, False))
        self.assertEqual((reply["response"], reply["error"]), ("", "empty"))


class Many(ApiCase):
    async def test_twenty_conversations_talk_at_once(self) -> None:
        gate = Gate()
        self.addCleanup(gate.set)
        folders = [self.path(f"{number:02}") for number in range(20)]
        for folder in folders:
            os.mkdir(folder)
            self.model.will_play(folder, [f"in {folder} ", gate, "done"])
        begun = 0

        async def talk(folder: str) -> str:
            nonlocal begun
            body = {"message": f"I am in {folder}", "workspacePath": folder}
            async with self.stream(body) as stream:
                first = await stream.until("content")
                begun += 1
                if begun == len(folders):
                    gate.set()
                return said([first, *await stream.rest()])

        answers = await asyncio.gather(*map(talk, folders))
        self.assertEqual(answers, [f"in {folder} done" for folder in folders])

    async def test_a_busy_conversation_takes_nothing_else(self) -> None:
        gate = Gate()
        self.addCleanup(gate.set)
        self.model.will_play("busy", ["one ", gate, "two"])
        async with self.stream({"message": "busy"}) as stream:
            await stream.until("content")
            for streams in (True, False):
                body = {"message": "me too", "workspacePath": self.workspace, "stream": streams}
                reply = await self.post("/chat", body)
                self.assertEqual((reply.status, reply["code"]), (409, "SESSION_BUSY"))
            key = {"authType": "gemini-api-key", "apiKey": "x"}
            self.assertEqual((await self.post("/auth/config", key)).status, 409)
            gate.set()
            self.assertEqual(said(await stream.rest()), " two")

    async def test_of_two_at_the_same_moment_one_is_answered(self) -> None:
        self.model.will_play("race", ["Won."])
        body = {"message": "race", "workspacePath": self.workspace}
        replies = await asyncio.gather(*(self.post("/chat", body) for _ in range(5)))
        self.assertEqual(sorted({reply.status for reply in replies}), [200, 409])


class Living(ApiCase):
    """The server's own beginning and end."""

    async def test_a_server_that_stops_ends_its_streams_and_its_agent(self) -> None:
        server = await self.another_server(fallback=KEY)
        gate = Gate()
        self.addCleanup(gate.set)
        self.model.will_play("stop", ["one ", gate, "two"])
        async with self.stream({"message": "stop"}, server=server) as stream:
            await stream.until("content")
            pid = server.agent.process_info().pid or 0
            stopping = asyncio.ensure_future(server.stop())
            last = (await stream.rest())[-1]
            await stopping
        self.assertIn(last["type"], ("complete", "error"))
        await self.until_gone(pid)
        with self.assertRaises(ClientConnectionError):
            await self.get("/status", server=server)


class Everything(ApiCase):
    api = {"allows_commands": True}
    contract = Contract()

    async def test_every_route_gives_the_good_answer_that_is_described(self) -> None:
        path, here = self.path("a.txt"), {"workspacePath": self.workspace}
        self.model.will_play("all", [call("list_directory", dir_path=".")], ["Yes."])
        self.model.will_play("ask", [call("write_file", file_path=path, content="x")], ["Done."])
        events = await self.story("ask", decide="proceed_once")
        self.assertEqual((await self.post("/chat", {"message": "all", **here}))["response"], "Yes.")
        gone = await self.get(f"/chat/{events[0]['data']['turnId']}/events")
        self.assertEqual((gone.status, gone["code"]), (404, "TURN_NOT_FOUND"))
        told = await self.get("/models")
        id = events[0]["data"]["sessionId"]
        openai = {"model": "gemini", "messages": [{"role": "user", "content": "all"}]}
        responses = {"model": "gemini", "input": "all"}
        attachment = await self.attached(id)
        turn = f"/sessions/{id}/turns/{events[0]['data']['turnId']}"
        for method, route, body in (
            ("GET", f"/sessions/{id}/commands", None), ("GET", f"/sessions/{id}/attachments", None),
            ("DELETE", f"/sessions/{id}/attachments/{attachment}", None),
            ("GET", f"/sessions/{id}/state", None), ("GET", f"/sessions/{id}/queue", None),
            ("POST", f"/sessions/{id}/options", {"id": "mode", "value": "default"}),
            ("GET", turn + "/files", None), ("POST", turn + "/undo", {}),
            ("GET", f"/sessions/{id}", None), ("GET", f"/sessions/{id}/export?format=json", None),
            ("POST", f"/sessions/{id}/fork", {}),
            ("POST", "/sessions/delete", {"sessionIds": ["x"]}),
            ("GET", f"/sessions/{id}/messages", None), ("PATCH", f"/sessions/{id}", {"title": "x"}),
            ("DELETE", f"/sessions/{id}", None), ("GET", "/v1/models", None),
            ("GET", "/v1/models/gemini", None), ("POST", "/v1/chat/completions", openai),
            ("POST", "/v1/responses", responses),
            ("GET", "/healthz", None), ("GET", "/readyz", None), ("GET", "/agents", None),
            ("GET", "/status", None), ("GET", "/auth/status", None), ("GET", "/sessions", None),
            ("GET", "/tool-confirmations", None), ("GET", "/elicitations", None),
            ("GET", "/list-directory", None),
            ("POST", "/model", {"model": told["current"]}), ("POST", "/sessions", here),
            ("POST", "/cancel", {}), ("POST", "/write-file", {"path": path, "content": "y"}),
            ("POST", "/read-file", {"path": path}), ("POST", "/execute-command", {"command": "ls"}),
            ("POST", "/auth/config", {"authType": "gemini-api-key", "apiKey": "x"}),
            ("POST", "/auth/clear", {}), ("POST", "/auth/logout", {}), ("GET", "/tokens", None),
            ("POST", "/tokens", {"name": "a", "scopes": ["read"]}), ("POST", "/tokens/a/renew", {}),
            ("DELETE", "/tokens/a", None), ("POST", "/tickets", {"path": "/events"}),
        ):  # fmt: skip
            self.assertEqual((await self.ask(method, route, body)).status, 200, route)
        good = {(method, route) for method, route, status in self.contract.seen if status == 200}
        known = {(route.method, route.path) for route in routes.API if route.answer}
        # What takes a login with Google is held below, what takes an agent that asks in its file,
        # and what takes a subagent: test_matrix.
        others = {("POST", "/auth/google-login"), ("POST", "/elicitation")}
        others |= {("POST", "/sessions/{sessionId}/subagents/stop")}
        # Where nothing runs, no message waits: test_queue.
        waiting = {
            operation for operation in known if "/queue" in operation[1] and operation[0] != "GET"
        }
        self.assertEqual(known - good, others | waiting)

    async def attached(self, id: str) -> str:
        """The id of an attachment of the conversation."""
        form, path = FormData(), f"/sessions/{id}/attachments"
        form.add_field("file", b"%PDF-1.4", filename="a.pdf")
        headers = {"Authorization": f"Bearer {self.server.token}"}
        async with self.client.post(self.server.url + path, data=form, headers=headers) as response:
            told = await response.json()
            self.contract.check("POST", path, response.status, told)
        return str(told["attachmentId"])


class GoogleLogin(ApiCase):
    """With the scripted CLI; at Google: `test_agent_login`."""

    real = False

    def setUp(self) -> None:
        super().setUp()
        self.model.will_play("hello", [ANSWER])

    async def logging_in(self) -> Callable[..., Awaitable[Reply]]:
        server = await self.another_server()
        kind = {"authType": "oauth-personal", "googleCloudProject": "project"}
        self.assertEqual((await self.post("/auth/config", kind, server=server)).status, 200)
        return functools.partial(self.ask, server=server)

    async def test_a_code_logs_in(self) -> None:
        ask = await self.logging_in()
        begun = await ask("POST", "/auth/google-login", {})
        self.assertEqual(begun.status, 200, begun)
        self.assertTrue(begun["data"]["authUrl"].startswith("https://accounts.google.com/"))
        self.assertFalse((await ask("GET", "/auth/status"))["data"]["isAuthenticated"])
        done = await ask("POST", "/auth/google-login", {"code": "4/right", "state": "any"})
        self.assertEqual((done.status, done["message"]), (200, "You are logged in with Google."))
        told = (await ask("GET", "/auth/status"))["data"]
        self.assertEqual((told["isAuthenticated"], told["account"]), (True, EMAIL))
        body = {"message": "hello", "workspacePath": self.workspace}
        self.assertEqual((await ask("POST", "/chat", body))["response"], ANSWER)
        again = await ask("POST", "/auth/google-login", {})
        self.assertEqual((again.status, "data" in again.body), (200, False))
        self.assertEqual((await ask("POST", "/auth/logout")).status, 200)
        self.assertEqual((await ask("POST", "/chat", body)).status, 401)

    async def test_a_wrong_code_is_refused_and_another_one_may_follow(self) -> None:
        ask = await self.logging_in()
        await ask("POST", "/auth/google-login", {})
        for code in ("4/x\n{}", "\u0000"):
            reply = await ask("POST", "/auth/google-login", {"code": code})
            self.assertEqual((reply.status, reply["code"]), (400, "VALIDATION_ERROR"))
        reply = await ask("POST", "/auth/google-login", {"code": "4/wrong"})
        self.assertEqual((reply.status, reply["code"]), (401, "AUTH_REQUIRED"))
        self.assertTrue(reply["data"]["authUrl"].startswith("https://accounts.google.com/"))
        reply = await ask("POST", "/auth/google-login", {"code": "4/right"})
        self.assertEqual(reply.status, 200)
