"""What /v1 has beside its handlers: stop words, checked answers, requests, kept conversations."""

from __future__ import annotations

import itertools
import json
import random
import unittest
from typing import Any, Sequence
from unittest import mock

from GeminiCompanion.companion.agent import failure
from GeminiCompanion.companion.agent.failure import AgentError
from GeminiCompanion.companion.api import routes
from GeminiCompanion.companion.api.contract.refusal import Refusal
from GeminiCompanion.companion.api.openai import kept_conversations, output_shape, responses
from GeminiCompanion.companion.api.openai.kept_conversations import Held, KeptConversations
from GeminiCompanion.companion.api.openai.output_shape import OutputShape, Unfit, of_format
from GeminiCompanion.companion.api.openai.request import WantedAnswer, read_request
from GeminiCompanion.companion.api.openai.stop_words import StopWords
from GeminiCompanion.companion.api.serving.routing import Table

from ..support import until


def cut(pieces: Sequence[str], words: Sequence[str]) -> str:
    stop = StopWords(words)
    told = [stop.take_piece(piece) for piece in pieces]
    return "".join(told) + stop.held_rest()


class Stops(unittest.TestCase):
    def test_an_answer_is_cut_alike_however_it_comes_in_pieces(self) -> None:
        chance = random.Random(1)
        for _ in range(2000):
            text = "".join(chance.choice("ab ") for _ in range(chance.randrange(12)))
            size = chance.randrange(1, 4)
            words = ["".join(chance.choice("ab ") for _ in range(size)) for _ in range(2)]
            places = sorted(chance.sample(range(len(text) + 1), min(3, len(text) + 1)))
            ends = [0, *places, len(text)]
            pieces = [text[begin:end] for begin, end in zip(ends, ends[1:])]
            self.assertEqual(cut(pieces, words), cut([text], words), (pieces, words))
            self.assertEqual(cut([text], words), cut(list(text), words), (text, words))

    def test_the_word_that_is_complete_first_cuts_and_nothing_of_it_is_told(self) -> None:
        for words, expected in (
            (["lo w"], "hel"), (["world", "o"], "hell"), (["x"], "hello world"),
            ([], "hello world"), (["hello world!"], "hello world"),
        ):  # fmt: skip
            self.assertEqual(cut(["hello", " world"], words), expected, words)


class Shapes(unittest.TestCase):
    def test_answers_that_fit_are_told_from_those_that_do_not(self) -> None:
        tree = {"$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}
        for schema, good, bad in (
            ({"type": "integer"}, "1", '"1"'),
            ({"enum": [1, None]}, "null", "2"),
            ({**tree, "$ref": "#/$defs/tree"}, "[[], [[]]]", "[[1]]"),
            ({"$schema": "http://json-schema.org/draft-07/schema#", "type": "null"}, "null", "1"),
            ({"anyOf": [{"minimum": 3}, {"type": "string"}]}, "3", "2"),
            ({"type": "array", "uniqueItems": True}, "[1, 2]", "[1, 1]"),
            ({"properties": {"pattern": {"const": 1}}}, '{"pattern": 1}', '{"pattern": 2}'),
            ({"type": "object", "additionalProperties": False}, "{}", '{"a": 1}'),
        ):
            with self.subTest(schema):
                shape = OutputShape(schema)
                self.assertEqual(shape.fitting_json(good), good)
                with self.assertRaises(Unfit):
                    shape.fitting_json(bad)

    def test_a_fence_and_space_around_the_json_are_taken_away(self) -> None:
        for answer in ("  {}\n", "```json\n{}\n```", "```\n{}\n```\n", "```JSON \n\n{}```"):
            self.assertEqual(OutputShape(None).fitting_json(answer), "{}")

    def test_a_check_that_would_take_long_ends(self) -> None:
        doubled = {f"d{at}": {"allOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(60)}
        forever = {"$defs": {**doubled, "d60": {}}, "$ref": "#/$defs/d0"}
        for schema, answer in (
            (forever, "1"),
            ({"$ref": "#"}, "1"),
            ({"uniqueItems": True}, json.dumps([{} for _ in range(5000)])),
            (
                {"allOf": [{"additionalProperties": True}] * 5000},
                json.dumps(dict.fromkeys(map(str, range(5000)))),
            ),
            ({}, "9" * 100_000),
            ({}, '"' + "a" * output_shape.MAX_ANSWER + '"'),
            ({}, "[" * 100_000),
            ({}, "```" + "\n" * 100_000 + "x"),
            ({"multipleOf": 0.5}, "1e999"),
            ({"multipleOf": 10**400}, "1.5"),
        ):
            with self.subTest(answer[:10]), self.assertRaises(Unfit):
                OutputShape(schema).fitting_json(answer)

    def test_a_schema_that_leads_elsewhere_or_takes_long_is_refused_with_its_keyword(self) -> None:
        schemas: tuple[dict[str, Any], ...] = (
            {"$ref": "https://example.com/a"}, {"$ref": "file:///etc/passwd"},
            {"not": {"$dynamicRef": "#a"}}, {"$defs": {"a": {"$id": "x"}}},
            {"properties": {"a": {"$anchor": "a"}}}, {"allOf": [{"patternProperties": {}}]},
            {"items": {"$schema": "http://json-schema.org/draft-04/schema#"}},
            {"unevaluatedItems": True},
        )  # fmt: skip
        for schema in schemas:
            with self.subTest(schema), self.assertRaises(Refusal) as caught:
                OutputShape(schema)
            self.assertEqual(caught.exception.code, "UNSUPPORTED_PARAMETER")
            self.assertEqual(caught.exception.field, output_shape.FIELD)

    def test_data_that_a_reference_makes_a_schema_is_looked_through_as_well(self) -> None:
        slow: dict[str, Any] = {"patternProperties": {"(a+)+$": {}}}
        far = {"$ref": "http://localhost/a"}
        schemas: tuple[dict[str, Any], ...] = (
            {"default": slow, "items": {"$ref": "#/default"}},
            {"enum": [far], "items": {"$ref": "#/enum/0"}},
            {"const": {"$ref": "#/examples/0"}, "examples": [slow], "not": {"$ref": "#/const"}},
            {"own": {"properties": slow}, "items": {"$ref": "#/own/properties"}},
            {"a/b": {}, "a": {"b": slow}, "items": {"$ref": "#/a%2Fb"}},
        )
        for schema in schemas:
            with self.subTest(schema), self.assertRaises(Refusal) as caught:
                OutputShape(schema)
            self.assertEqual(caught.exception.code, "UNSUPPORTED_PARAMETER")

    def test_references_to_parts_within_each_other_lead_to_so_much_and_no_more(self) -> None:
        schema: dict[str, Any] = {"enum": ["x" * (output_shape.MAX_SCHEMA // 2)]}
        for _ in range(20):
            schema = {"not": schema}
        schema["allOf"] = [{"$ref": "#" + "/not" * depth} for depth in range(1, 21)]
        with self.assertRaises(Refusal) as caught:
            OutputShape(schema)
        self.assertEqual(caught.exception.code, failure.VALIDATION_ERROR)

    def test_a_reference_leads_where_it_says_and_nowhere_else(self) -> None:
        named = {"id": "#/$defs/a", "$anchor": "/$defs/a", "type": "null"}
        shape = OutputShape(
            {"$defs": {"a": {"type": "integer"}}, "default": named, "$ref": "#/$defs/a",
             "unevaluatedProperties": False}
        )  # fmt: skip
        self.assertEqual(shape.fitting_json("1"), "1")
        with self.assertRaises(Unfit):
            shape.fitting_json("null")

    def test_a_schema_too_long_for_a_message_is_refused(self) -> None:
        names = {f"name{at}": {"type": "string"} for at in range(20_000)}
        with self.assertRaises(Refusal) as caught:
            OutputShape({"properties": names})
        self.assertEqual(caught.exception.code, failure.VALIDATION_ERROR)

    def test_a_schema_that_is_none_is_refused(self) -> None:
        for schema in ({"type": 1}, {"$ref": "#/a/b"}, {"$ref": "#a"}, {"required": "a"},
                       {"default": {"type": 1}, "not": {"$ref": "#/default"}}):  # fmt: skip
            with self.subTest(schema), self.assertRaises(Refusal) as caught:
                OutputShape(schema)
            self.assertEqual(caught.exception.code, failure.VALIDATION_ERROR)

    def test_a_pattern_is_told_to_the_model_and_not_tried(self) -> None:
        slow = OutputShape({"type": "string", "pattern": "(a+)+$", "format": "email"})
        self.assertIn("(a+)+$", slow.instructions)
        self.assertEqual(slow.fitting_json('"%s!"' % ("a" * 100)), '"%s!"' % ("a" * 100))

    def test_names_and_data_of_a_schema_are_no_keywords(self) -> None:
        OutputShape({"properties": {"$ref": {}, "pattern": {}}, "enum": [{"$id": "a"}]})

    def test_a_format_without_its_schema_is_refused(self) -> None:
        self.assertIsNone(of_format({"type": "text"}))
        with self.assertRaises(Refusal):
            of_format({"type": "json_schema"})


class Models(unittest.TestCase):
    def test_the_id_of_a_model_may_have_slashes_and_no_other_id(self) -> None:
        table = Table(routes.API)
        asked = table.match_request("GET", "/v1/models/anthropic/claude")
        self.assertEqual(asked.fields, {"model": "anthropic/claude"})
        self.assertIsNone(table.match_request("GET", "/sessions/a/b").route)


def wanted(*texts: str, **more: Any) -> WantedAnswer:
    """A request in which user and assistant speak by turns."""
    roles = itertools.cycle(("user", "assistant"))
    messages = [{"role": role, "content": text} for role, text in zip(roles, texts)]
    return read_request({"model": "gemini", "messages": messages, **more}, ("gemini", "qwen"))


class Telling(unittest.TestCase):
    def test_each_message_is_told_as_what_it_is(self) -> None:
        roles = ("system", "user", "assistant", "tool", "user")
        messages = [{"role": role, "content": role} for role in roles]
        told = read_request({"model": "gemini", "messages": messages}, ("gemini",)).message_text(
            False
        )
        self.assertEqual(
            told.split("\n\n"),
            ["Instructions: system", "User: user", "You: assistant", "Tool: tool", "User: user"],
        )


PIXEL = "data:image/png;base64,iVBORw0KGgo="


def picture(url: Any = PIXEL) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


class Pictures(unittest.TestCase):
    def asked(self, *parts: Any) -> WantedAnswer:
        told = [{"type": "text", "text": "What is this?"}, *parts]
        messages = [{"role": "user", "content": told}]
        return read_request({"model": "gemini", "messages": messages}, ("gemini",))

    def test_what_stands_in_a_message_goes_with_it(self) -> None:
        document = {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}
        found = self.asked(picture(), {"type": "file", "file": document})
        self.assertEqual(found.message_text(False), "What is this?")
        files = [("picture", b"\x89PNG\r\n\x1a\n"), ("a.pdf", b"%PDF-")]
        self.assertEqual(found.message_files(False), files)

    def test_a_conversation_with_another_picture_is_another_one(self) -> None:
        one, other = self.asked(picture()), self.asked(picture(PIXEL[:-4] + "Cgo="))
        self.assertNotEqual(one.memory_digest("a", "b"), other.memory_digest("a", "b"))
        self.assertEqual(one.memory_digest("a", "b"), self.asked(picture()).memory_digest("a", "b"))

    def test_nothing_is_loaded_from_an_address(self) -> None:
        for wrong in ("http://169.254.169.254/", "file:///etc/passwd", "data:image/png,a",
                      "data:image/png;base64,??", "", None):  # fmt: skip
            with self.subTest(wrong), self.assertRaises(Refusal) as caught:
                self.asked(picture(wrong))
            self.assertEqual(caught.exception.field, "messages.0.content")


class Responses(unittest.TestCase):
    def test_what_is_remembered_belongs_to_its_token_and_has_bounds(self) -> None:
        kept = responses.KeptResponses()
        with mock.patch.object(responses, "MAX_KEPT", 2):
            for id in ("a", "b", "c"):
                kept.keep_response("one", id, [{"role": "assistant", "content": id}])
        self.assertEqual(
            [message["content"] for message in kept.find_messages("one", "c", "x")], ["c"]
        )
        for owner, id in (("one", "a"), ("other", "c")):
            with self.assertRaises(Refusal):
                kept.find_messages(owner, id, "x")
        with mock.patch.object(responses, "MAX_CHARACTERS", 1), self.assertRaises(Refusal):
            kept.find_messages("one", "c", "x")

    def test_each_kind_of_input_is_a_message_or_refused_by_its_place(self) -> None:
        def found(id: str, field: str) -> list[dict[str, Any]]:
            self.assertEqual(id, "resp_7")
            return [{"role": "assistant", "content": "before"}]

        parts = [{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": PIXEL}]
        items = [
            {"type": "item_reference", "id": "msg_7"},
            {"type": "reasoning", "id": "rs_7"},
            {"role": "user", "content": parts},
        ]
        fields = {"model": "m", "input": items, "instructions": "short"}
        chat = responses.as_chat(fields, found)
        self.assertEqual(
            [message["role"] for message in chat["messages"]], ["system", "assistant", "user"]
        )
        asked = read_request(chat, ("gemini",))
        self.assertEqual(len(asked.message_files(False)), 1)
        for wrong, field in (
            ([{"type": "function_call_output"}], "input.0"),
            ([items[2], {"role": "user", "content": [{"type": "audio"}]}], "input.1.content"),
            ([{"role": "nobody", "content": "a"}], "input.0.role"),
        ):
            with self.subTest(field), self.assertRaises(Refusal) as caught:
                responses.as_chat({"model": "m", "input": wrong}, found)
            self.assertEqual(caught.exception.field, field)


class Keeping(unittest.IsolatedAsyncioTestCase):
    """The agent has conversations that are only counted; `turns` are theirs, by their ids."""

    def setUp(self) -> None:
        self.turns: dict[str, int] = {}
        self.opened: list[tuple[Any, str]] = []
        self.agent = mock.MagicMock()
        self.agent.new_session = self.new_session
        self.agent.remove_when_over = self.remove
        self.agent.change_session = mock.AsyncMock(side_effect=lambda id, *_: mock.Mock(id=id))
        self.agent.conversations.known_conversation = self.known

    async def new_session(self, folder: str, agent: Any, is_temporary: bool) -> Any:
        id = f"id{len(self.opened)}"
        self.opened.append((agent, id))
        self.turns[id] = 0
        return mock.Mock(id=id, workspace=folder)

    async def remove(self, id: str) -> None:
        if self.turns.pop(id, None) is None:
            raise failure.no_session(id)

    def known(self, id: str) -> Any:
        if id not in self.turns:
            raise failure.no_session(id)
        found = mock.Mock(id=id, workspace="/w", is_busy=False)
        found.record.turns = self.turns[id]
        return found

    async def talk(
        self, kept: KeptConversations, owner: str, asked: WantedAnswer, told: str
    ) -> Held:
        held = await kept.find_conversation(owner, asked)
        with kept.hold_conversation(owner, asked, held):
            self.turns[held.id] += 1
            held.answer = told
        await self.settled(kept)
        return held

    async def settled(self, kept: KeptConversations) -> None:
        """All that was begun in the background is done."""
        await until(lambda: not kept._tasks)

    async def test_only_the_same_owner_user_and_messages_find_a_memory(self) -> None:
        kept = KeptConversations(self.agent, "/w")
        first = await self.talk(kept, "token", wanted("a", user="u"), "b")
        for owner, asked in (
            ("other", wanted("a", "b", "c", user="u")),
            ("", wanted("a", "b", "c", user="u")),
            ("token", wanted("a", "b", "c", user="other")),
            ("token", wanted("a", "b", "c")),
            ("token", wanted("a", "B", "c", user="u")),
            ("token", wanted("a ", "b", "c", user="u")),
            ("token", wanted("a", "b", "c", user="u", model="qwen")),
            ("token", wanted("a", "b", "c", user="u", response_format={"type": "json_object"})),
            ("token", wanted("c", user="u")),
            # The parts of what is hashed cannot run into each other.
            ("tokenu", wanted("a", "b", "c")),
            ('token", "u', wanted("a", "b", "c")),
        ):
            with self.subTest((owner, asked)):
                held = await kept.find_conversation(owner, asked)
                self.assertNotEqual(held.id, first.id)
                self.assertFalse(held.is_known)
                with kept.hold_conversation(owner, asked, held):
                    pass
                await self.settled(kept)
        again = await kept.find_conversation("token", wanted("a", "b", "c", user="u"))
        self.assertEqual((again.id, again.is_known), (first.id, True))

    async def test_a_memory_is_given_once_until_it_is_back(self) -> None:
        kept = KeptConversations(self.agent, "/w")
        first = await self.talk(kept, "token", wanted("a"), "b")
        asked = wanted("a", "b", "c")
        held = await kept.find_conversation("token", asked)
        other = await kept.find_conversation("token", asked)
        self.assertEqual((held.id == first.id, other.id == first.id), (True, False))

    async def test_one_that_failed_or_that_somebody_else_used_is_not_given_again(self) -> None:
        kept = KeptConversations(self.agent, "/w")
        asked = wanted("a")
        held = await kept.find_conversation("token", asked)
        with self.assertRaises(ValueError), kept.hold_conversation("token", asked, held):
            raise ValueError
        await self.settled(kept)
        self.assertNotIn(held.id, self.turns)
        first = await self.talk(kept, "token", asked, "b")
        self.turns[first.id] += 1
        second = await kept.find_conversation("token", wanted("a", "b", "c"))
        self.assertNotEqual(second.id, first.id)
        self.assertFalse(second.is_known)

    async def test_one_conversation_is_opened_in_advance_and_serves_the_next_request(self) -> None:
        kept = KeptConversations(self.agent, "/w")
        await self.talk(kept, "token", wanted("a"), "b")
        self.assertEqual(len(self.opened), 2)
        held = await kept.find_conversation("other", wanted("x"))
        self.assertEqual((held.id, held.is_known, len(self.opened)), ("id1", False, 2))

    async def test_the_oldest_are_deleted_beyond_a_number_and_all_after_a_while(self) -> None:
        kept = KeptConversations(self.agent, "/w")
        for number in range(kept_conversations.MAX_KEPT + 5):
            await self.talk(kept, "token", wanted(f"a{number}"), "b")
        self.assertEqual(len(self.turns), kept_conversations.MAX_KEPT + 1)
        self.assertFalse((await kept.find_conversation("token", wanted("a0", "b", "c"))).is_known)
        hasty = KeptConversations(self.agent, "/w", kept_for=0.0)
        before = set(self.turns)
        await self.talk(hasty, "token", wanted("late"), "b")
        await until(lambda: not set(self.turns) - before)

    async def test_a_model_that_is_not_there_is_refused_and_leaves_nothing(self) -> None:
        kept = KeptConversations(self.agent, "/w")
        self.agent.change_session.side_effect = AgentError(failure.VALIDATION_ERROR, "No.")
        with self.assertRaises(Refusal) as caught:
            await kept.find_conversation("token", wanted("a", model="none"))
        self.assertEqual(caught.exception.code, "MODEL_NOT_FOUND")
        await self.settled(kept)
        self.assertEqual(self.turns, {})

    async def test_the_end_deletes_them_all_and_nothing_is_kept_afterwards(self) -> None:
        kept = KeptConversations(self.agent, "/w")
        await self.talk(kept, "token", wanted("a"), "b")
        asked = wanted("x")
        held = await kept.find_conversation("token", asked)
        await kept.close()
        with kept.hold_conversation("token", asked, held):
            held.answer = "y"
        await self.settled(kept)
        self.assertEqual(self.turns, {})
