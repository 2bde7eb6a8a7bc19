"""/v1 as clients of OpenAI's API find it, with a CLI behind it."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

from api_case import ApiCase, Reply
from GeminiCompanion.tests.support import until
from model_server import BREAK, Failure, Gate, call, thought

PATH = "/v1/chat/completions"
POINT = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
    "required": ["x", "y"],
    "additionalProperties": False,
}
AS_POINT = {"type": "json_schema", "json_schema": {"name": "point", "schema": POINT}}


PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


class OpenAiCase(ApiCase):
    async def complete(self, *messages: dict[str, Any], **more: Any) -> Reply:
        return await self.post(PATH, {"model": "gemini", "messages": messages, **more})

    async def answer(self, *messages: dict[str, Any], **more: Any) -> str:
        reply = await self.complete(*messages, **more)
        self.assertEqual(reply.status, 200, reply)
        return str(reply["choices"][0]["message"]["content"])

    async def chunks(
        self, *messages: dict[str, str], begun: asyncio.Event | None = None, **more: Any
    ) -> list[dict[str, Any]]:
        """`begun` is set when the first of them is under way."""
        body = {"model": "gemini", "messages": messages, "stream": True, **more}
        async with self.sent("POST", PATH, body) as response:
            if begun is not None:
                begun.set()
            self.assertEqual(response.status, 200)
            lines = (await response.text()).split("\n\n")
        data = [line[6:] for line in lines if line.startswith("data: ")]
        self.assertEqual(data[-1], "[DONE]")
        return [json.loads(each) for each in data[:-1]]

    def refused(self, reply: Reply, status: int, code: str, param: str | None) -> None:
        error = reply["error"]
        told = (reply.status, error["code"], error["param"])
        self.assertEqual(told, (status, code, param), reply)
        self.assertTrue(error["message"], reply)

    def memory(self) -> str:
        """All that the newest request of the CLI told the model, as JSON."""
        return json.dumps(self.model.last_request()["contents"])


def told(chunks: list[dict[str, Any]]) -> str:
    pieces = [each["choices"][0]["delta"] for each in chunks if each["choices"]]
    return "".join(piece.get("content", "") for piece in pieces)


class Remembering(OpenAiCase):
    """How many sessions the CLI was asked for shows in what the model is told."""

    async def test_the_next_request_of_a_conversation_tells_the_cli_only_what_is_new(self) -> None:
        self.model.will_play("first", ["One."])
        self.model.will_play("second", ["Two."])
        first = await self.answer(user("first"))
        self.assertEqual(await self.answer(user("first"), assistant(first), user("second")), "Two.")
        self.assertEqual(self.model.prompts()[-1].count("first"), 0)
        self.assertIn("first", self.memory())

    async def test_what_was_said_otherwise_than_it_is_remembered_is_told_anew(self) -> None:
        self.model.will_play("begin", ["Well."])
        self.model.will_play("other", ["Fine."])
        await self.answer(user("begin"))
        changed = [user("begin"), assistant("Something else."), user("other")]
        self.assertEqual(await self.answer(*changed), "Fine.")
        self.assertIn("Something else.", self.model.prompts()[-1])
        self.assertNotIn("Well.", self.memory())

    async def test_one_memory_serves_one_of_two_requests_that_continue_it(self) -> None:
        self.model.will_play("root", ["Yes."])
        gate = Gate()
        self.addCleanup(gate.set)
        self.model.will_play("left branch", ["L", gate, "eft."])
        self.model.will_play("right branch", ["Right."])
        root = [user("root"), assistant(await self.answer(user("root")))]
        left = asyncio.ensure_future(self.answer(*root, user("left branch")))
        await until(gate.reached.is_set)
        self.assertEqual(await self.answer(*root, user("right branch")), "Right.")
        self.assertNotIn("left branch", self.memory())
        gate.set()
        self.assertEqual(await left, "Left.")

    async def test_the_same_words_of_another_user_get_no_memory_of_the_first(self) -> None:
        self.model.will_play("hidden", ["It is in my memory."])
        self.model.will_play("what was it", ["No idea."])
        path = self.path("of one.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("SECRET-OF-ONE")
        read = [call("read_file", file_path=path)]
        self.model.will_play("hidden", read, ["It is in my memory."])
        first = await self.answer(user("hidden"), user="one")
        self.assertIn("SECRET-OF-ONE", self.model.received())
        asked = [user("hidden"), assistant(first), user("what was it")]
        for another in ({"user": "two"}, {}):
            await self.answer(*asked, **another)
            self.assertNotIn("SECRET-OF-ONE", self.memory(), another)
        await self.answer(*asked, user="one")
        self.assertIn("SECRET-OF-ONE", self.memory())

    async def test_another_token_gets_no_memory_also_with_the_same_user_and_messages(self) -> None:
        tokens = []
        for name in ("one", "two"):
            reply = await self.post("/tokens", {"name": name, "scopes": ["chat"]})
            tokens.append({"Authorization": f"Bearer {reply['token']}"})
        with open(self.path("private.txt"), "w", encoding="utf-8") as file:
            file.write("SECRET-OF-TOKEN-ONE")
        read = [call("read_file", file_path=self.path("private.txt"))]
        self.model.will_play("look", read, ["Seen."])
        self.model.will_play("tell me", ["What?"])
        begun = {"model": "gemini", "user": "same", "messages": [user("look")]}
        asked = {**begun, "messages": [user("look"), assistant("Seen."), user("tell me")]}
        first = await self.post(PATH, begun, headers=tokens[0])
        self.assertEqual(first["choices"][0]["message"]["content"], "Seen.")
        for headers in (tokens[1], {}):
            self.assertEqual((await self.post(PATH, asked, headers=headers)).status, 200)
            self.assertNotIn("SECRET-OF-TOKEN-ONE", self.memory())
        await self.post(PATH, asked, headers=tokens[0])
        self.assertIn("SECRET-OF-TOKEN-ONE", self.memory())
        # A token of the same name, after the first one was withdrawn, is another one.
        await self.ask("DELETE", "/tokens/one")
        reply = await self.post("/tokens", {"name": "one", "scopes": ["chat"]})
        again = {"Authorization": f"Bearer {reply['token']}"}
        further = [*asked["messages"], assistant("What?"), user("tell me")]
        await self.post(PATH, {**asked, "messages": further}, headers=again)
        self.assertNotIn("SECRET-OF-TOKEN-ONE", self.memory())

    async def test_conversations_behind_it_are_not_listed_and_not_left_behind(self) -> None:
        self.model.will_play("unlisted", ["Yes."])
        server = await self.another_server()
        await server.agent.account.configure_credentials(self.agent.account.credentials)
        reply = await self.post(
            PATH, {"model": "gemini", "messages": [user("unlisted")]}, server=server
        )
        self.assertEqual(reply.status, 200, reply)
        self.assertEqual((await self.get("/sessions", server=server))["sessions"], [])
        folder = os.path.join(os.path.dirname(server.token_file), "agent", "conversations")
        await server.stop()
        self.assertEqual(os.listdir(folder), [])

    async def test_a_rejected_tool_is_named_in_the_answer(self) -> None:
        path = self.path("new.txt")
        write = [call("write_file", file_path=path, content="x")], ["Done."]
        self.model.will_play("write it", *write)
        reply = await self.complete(user("write it"))
        content = reply["choices"][0]["message"]["content"]
        self.assertTrue(content.startswith("Done."), content)
        self.assertIn("write_file", content)
        self.assertEqual(reply["rejected_tools"], ["write_file"])
        self.assertFalse(os.path.exists(path))
        self.model.will_play("write it", *write)
        chunks = await self.chunks(user("write it"))
        self.assertEqual(told(chunks), content)
        self.assertEqual(chunks[-1]["rejected_tools"], ["write_file"])
        # To who names no language, nothing is added that they might not understand.
        for number, named in enumerate(("", "*", "fr")):
            self.model.will_play(f"write it {number}", *write)
            body = {"model": "gemini", "messages": [user(f"write it {number}")]}
            reply = await self.post(PATH, body, headers={"Accept-Language": named})
            self.assertEqual(reply["choices"][0]["message"]["content"], "Done.")
            self.assertEqual(reply["rejected_tools"], ["write_file"])

    async def test_a_picture_in_a_message_reaches_the_model(self) -> None:
        self.model.will_play("see it", ["A pixel."])
        self.model.will_play("and now", ["The same."])
        picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
        asked = {"role": "user", "content": [{"type": "text", "text": "see it"}, picture]}
        reply = await self.complete(asked)
        self.assertEqual(reply["choices"][0]["message"]["content"], "A pixel.")
        self.assertIn(PIXEL, self.memory())
        # It is not sent again to a conversation that has it.
        said = await self.answer(asked, assistant("A pixel."), user("and now"))
        self.assertEqual((said, self.memory().count(PIXEL)), ("The same.", 1))
        far = {"type": "image_url", "image_url": {"url": "http://127.0.0.1:1/a.png"}}
        reply = await self.complete({"role": "user", "content": [far]})
        self.refused(reply, 400, "validation_error", "messages[0].content")


class Responses(OpenAiCase):
    async def events(self, **fields: Any) -> list[dict[str, Any]]:
        body = {"model": "gemini", "stream": True, **fields}
        async with self.sent("POST", "/v1/responses", body) as response:
            self.assertEqual(response.status, 200)
            text = await response.text()
        return [json.loads(part[6:]) for part in text.split("\n\n") if part.startswith("data: ")]

    async def test_an_answer_goes_on_with_the_one_that_it_names(self) -> None:
        self.model.will_play("one", ["Uno."])
        self.model.will_play("two", ["Due."], ["Due."])
        first = await self.post("/v1/responses", {"model": "gemini", "input": "one"})
        self.assertEqual(first["output"][0]["content"][0]["text"], "Uno.")
        follow = {"model": "gemini", "input": "two", "previous_response_id": first["id"]}
        await self.post("/v1/responses", follow)
        self.assertIn("Uno.", self.memory())
        unkept = {"model": "gemini", "input": "one", "store": False}
        self.model.will_play("one", ["Uno."])
        id = (await self.post("/v1/responses", unkept))["id"]
        reply = await self.post("/v1/responses", {**follow, "previous_response_id": id})
        self.refused(reply, 400, "previous_response_not_found", "previous_response_id")

    async def test_a_stream_that_breaks_off_ends_with_the_error(self) -> None:
        # The CLI asks again a few times.
        replies: list[Any] = [["Half", BREAK]] * 8
        self.model.will_play("breaks", *replies)
        told = await self.events(input="breaks")
        self.assertEqual([event["sequence_number"] for event in told], list(range(len(told))))
        self.assertEqual(told[-1]["type"], "response.failed")
        self.assertTrue(told[-1]["response"]["error"]["message"])

    async def test_an_error_before_the_first_piece_has_its_status(self) -> None:
        for more, code, param in (
            ({"conversation": "conv_1"}, "unsupported_parameter", "conversation"),
            ({"input": [{"type": "function_call"}]}, "unsupported_parameter", "input[0]"),
            ({"input": []}, "validation_error", "input"),
        ):
            body = {"model": "gemini", "input": "x", "stream": True, **more}
            self.refused(await self.post("/v1/responses", body), 400, code, param)


class Stopping(OpenAiCase):
    async def test_an_answer_ends_before_a_stop_word_wherever_its_pieces_are_cut(self) -> None:
        for number, pieces in enumerate((["one STOP two"], ["one S", "TO", "P two"], ["one ST"])):
            with self.subTest(pieces):
                expected = "one " if number < 2 else "one ST"
                self.model.will_play(f"count{number}", pieces)
                asked = user(f"count{number}")
                reply = await self.complete(asked, stop=["never", "STOP"])
                choice = reply["choices"][0]
                self.assertEqual(choice["message"]["content"], expected)
                self.assertEqual(choice["finish_reason"], "stop")
                chunks = await self.chunks(asked, stop="STOP")
                self.assertEqual(told(chunks), expected)
                self.assertEqual(chunks[-1]["choices"][0]["finish_reason"], "stop")

    async def test_after_a_stop_word_the_turn_ends_and_nothing_is_remembered(self) -> None:
        gate = Gate()
        self.addCleanup(gate.set)
        self.model.will_play("endless", ["a END and", gate, "b"])
        self.assertEqual(await self.answer(user("endless"), stop="END"), "a ")
        self.model.will_play("and so on", ["Yes."])
        await self.answer(user("endless"), assistant("a "), user("and so on"))
        self.assertIn("endless", self.model.prompts()[-1])


class Shaping(OpenAiCase):
    async def test_an_answer_that_fits_the_schema_is_given_without_its_fence(self) -> None:
        self.model.will_play("point", ['```json\n{"x": 1,', ' "y": 2}\n```'])
        reply = await self.complete(user("point"), response_format=AS_POINT)
        content = reply["choices"][0]["message"]["content"]
        self.assertEqual(json.loads(content), {"x": 1, "y": 2})
        self.assertIn('"required": ["x", "y"]', self.model.prompts()[-1])
        chunks = await self.chunks(user("point"), response_format=AS_POINT)
        self.assertEqual(json.loads(told(chunks)), {"x": 1, "y": 2})

    async def test_what_the_model_says_before_a_tool_is_not_part_of_the_json(self) -> None:
        look = ["I look first.", call("list_directory", dir_path=".")]
        self.model.will_play("looked", look, ['{"x": 3, "y": 4}'])
        told = await self.answer(user("looked"), response_format=AS_POINT)
        self.assertEqual(json.loads(told), {"x": 3, "y": 4})

    async def test_an_answer_that_does_not_fit_is_asked_for_once_more_with_the_reason(self) -> None:
        self.model.will_play("try", ['{"x": 1}'])
        self.model.will_play("cannot be used", ['{"x": 1, "y": 5}'])
        reply = await self.complete(user("try"), response_format=AS_POINT)
        self.assertEqual(json.loads(reply["choices"][0]["message"]["content"]), {"x": 1, "y": 5})
        self.assertIn("'y' is a required property", self.model.prompts()[-1])
        self.assertGreater(reply["usage"]["total_tokens"], 0)

    async def test_an_answer_that_does_not_fit_twice_is_an_error(self) -> None:
        self.model.will_play("never", ["It is one and two."])
        self.model.will_play("cannot be used", ["No."])
        body = {"model": "gemini", "messages": [user("never")], "response_format": AS_POINT}
        for stream in (False, True):
            reply = await self.post(PATH, {**body, "stream": stream})
            self.refused(reply, 422, "output_invalid", "response_format")
            self.assertEqual(reply["error"]["failed_generation"], "No.")

    async def test_any_json_object_is_enough_where_no_schema_is_given(self) -> None:
        for number, said in enumerate(("[1]", '{"a": NaN}')):
            self.model.will_play(f"object{number}", [said])
            self.model.will_play("cannot be used", ['{"a": 1}'])
            wanted = {"type": "json_object"}
            told = await self.answer(user(f"object{number}"), response_format=wanted)
            self.assertEqual(told, '{"a": 1}')

    async def test_schemas_that_cannot_be_checked_are_refused(self) -> None:
        field = "response_format.json_schema.schema"
        for schema, code in (
            ({"type": "strin"}, "validation_error"),
            ({"$ref": "#/$defs/missing"}, "validation_error"),
            ({"patternProperties": {"(a+)+$": {}}}, "unsupported_parameter"),
            ({"properties": {"a": {"$ref": "http://127.0.0.1:1/a"}}}, "unsupported_parameter"),
            ({"items": {"$id": "file:///etc/passwd"}}, "unsupported_parameter"),
        ):
            with self.subTest(schema):
                wanted = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
                reply = await self.complete(user("x"), response_format=wanted)
                self.refused(reply, 400, code, field)


# The CLI would ask again for a quarter of a minute if some of it were left.
QUOTA = Failure(429, "Quota exceeded, limit: 0", "RESOURCE_EXHAUSTED")


class Refusing(OpenAiCase):
    async def test_what_the_cli_has_nothing_for_is_refused_by_its_name(self) -> None:
        for name, value in (
            ("n", 2), ("logprobs", True), ("logit_bias", {"1": 2}), ("audio", {"a": 1}),
            ("tool_choice", "required"), ("function_call", {"name": "f"}),
        ):  # fmt: skip
            with self.subTest(name):
                reply = await self.complete(user("x"), **{name: value})
                self.refused(reply, 400, "unsupported_parameter", name)

    async def test_what_asks_for_nothing_is_accepted_and_what_has_no_effect_is_named(self) -> None:
        self.model.will_play("plain", ["Yes."])
        nothing = {"max_tokens": None, "n": 1, "logprobs": False, "tools": [], "stop": []}
        reply = await self.complete(user("plain"), temperature=0.5, seed=1, **nothing)
        self.assertEqual(reply.status, 200, reply)
        self.assertEqual(reply["ignored_parameters"], ["temperature", "seed"])
        self.model.will_play("limited", ["Yes."])
        tools = {"tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "auto"}
        reply = await self.complete(user("limited"), max_tokens=5, **tools)
        self.assertEqual(reply["ignored_parameters"], ["max_tokens", "tools"])

    async def test_wrong_fields_are_named_as_openai_names_them(self) -> None:
        picture = {"role": "user", "content": [{"type": "image_url"}]}
        for messages, param in (
            ([user("a"), {"role": "nobody"}], "messages[1].role"),
            ([user("a"), picture], "messages[1].content"),
            ([user("a"), assistant("b")], "messages"),
        ):
            reply = await self.complete(*messages)
            self.refused(reply, 400, "validation_error", param)

    async def test_every_model_that_is_listed_can_be_looked_up_and_used(self) -> None:
        self.model.will_play("with it", ["Yes."])
        listed = (await self.get("/v1/models"))["data"]
        self.assertIn("gemini", [model["id"] for model in listed])
        for each in listed:
            self.assertEqual((await self.get("/v1/models/" + each["id"])).body, each)
        chosen = listed[-1]["id"]
        reply = await self.post(PATH, {"model": chosen, "messages": [user("with it")]})
        self.assertEqual((reply.status, reply["model"]), (200, chosen), reply)

    async def test_a_model_that_is_not_there_is_not_found(self) -> None:
        reply = await self.get("/v1/models/no-such-model")
        self.refused(reply, 404, "model_not_found", "model")
        reply = await self.complete(user("x"), model="no-such-model")
        self.refused(reply, 404, "model_not_found", "model")

    async def test_errors_before_the_first_piece_have_their_status_also_in_a_stream(self) -> None:
        for number, (failure, status, code) in enumerate(
            (
                (Failure(400, "API key not valid.", "INVALID_ARGUMENT"), 401, "auth_required"),
                (Failure(403, "Not yours.", "PERMISSION_DENIED"), 403, "access_denied"),
                (Failure(400, "Not so.", "INVALID_ARGUMENT"), 400, "gemini_refused"),
                (QUOTA, 429, "insufficient_quota"),
            )
        ):
            self.model.will_play(f"fails{number}", failure)
            body = {"model": "gemini", "messages": [user(f"fails{number}")]}
            for stream in (False, True):
                reply = await self.post(PATH, {**body, "stream": stream})
                self.refused(reply, status, code, None)
                self.assertNotIn("X-Should-Retry", reply.headers)

    async def test_an_error_after_a_tool_has_a_status_that_no_library_tries_again(self) -> None:
        look = [call("list_directory", dir_path=".")]
        for number, (failure, code) in enumerate(
            (
                (Failure(404, "models/x is not found", "NOT_FOUND"), "gemini_error"),
                (QUOTA, "insufficient_quota"),
            )
        ):
            for more in ({}, {"stream": True}, {"response_format": {"type": "json_object"}}):
                with self.subTest(code, more=more):
                    self.model.will_play(f"late{number}", look, failure)
                    reply = await self.complete(user(f"late{number}"), **more)
                    self.refused(reply, 400, code, None)
                    self.assertEqual(reply.headers["X-Should-Retry"], "false")

    async def test_an_error_in_the_middle_of_a_stream_is_told_in_it(self) -> None:
        self.model.will_play("breaks", [thought("Hm", "..."), "half ", BREAK])
        last = (await self.chunks(user("breaks")))[-1]
        self.assertIn(last.get("error", {}).get("code"), ("network_error", "gemini_error"), last)

    async def test_half_an_answer_of_a_cancelled_turn_does_not_look_like_a_whole_one(self) -> None:
        for more in ({}, {"stream": True}, {"response_format": {"type": "json_object"}}):
            with self.subTest(more):
                gate = Gate()
                self.addCleanup(gate.set)
                self.model.will_play("stopped", ["half ", gate, "rest"])
                begun = asyncio.Event()
                asking = asyncio.ensure_future(self.stopped(more, begun))
                await until(gate.reached.is_set)
                if "stream" in more:
                    # Before its first piece the answer is an error as any other.
                    await until(begun.is_set)
                await self.post("/cancel", {})
                self.assertEqual((await asking)["code"], "turn_cancelled")
                gate.set()

    async def stopped(self, more: dict[str, Any], begun: asyncio.Event) -> Any:
        if "stream" in more:
            return (await self.chunks(user("stopped"), begun=begun))[-1]["error"]
        reply = await self.complete(user("stopped"), **more)
        self.assertEqual(reply.status, 422)
        return reply["error"]

    async def test_without_the_token_the_error_has_the_same_shape(self) -> None:
        reply = await self.get("/v1/models", headers={"Authorization": "Bearer wrong"})
        self.refused(reply, 401, "invalid_api_key", None)
