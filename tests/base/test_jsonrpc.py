"""JSON-RPC messages from bytes to values and back, the broken ones above all."""

from __future__ import annotations

import json
import random
import unittest
from typing import Any

from GeminiCompanion.companion.base import jsonrpc
from GeminiCompanion.companion.base.jsonrpc import Notification, Request, Response, RpcError


def parse_messages(body: bytes) -> Any:
    return jsonrpc.messages_in(jsonrpc.load_json(body))


def parse(value: Any) -> Any:
    return parse_messages(json.dumps(value).encode("utf-8"))


class Refusals(unittest.TestCase):
    def refused(self, body: bytes, code: int, *parts: str, id: object = None) -> None:
        with self.assertRaises(RpcError) as caught:
            parse_messages(body)
        self.assertEqual((caught.exception.code, caught.exception.id), (code, id))
        for part in parts:
            self.assertIn(part, caught.exception.message)

    def refused_value(self, value: Any, *parts: str, id: object = None) -> None:
        self.refused(json.dumps(value).encode(), jsonrpc.INVALID_REQUEST, *parts, id=id)


class WellFormedMessages(unittest.TestCase):
    def test_a_message_with_id_and_method_is_a_request(self) -> None:
        message = parse({"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"a": [1]}})
        self.assertEqual(message, Request(7, "ping", {"a": [1]}))

    def test_a_message_without_id_is_a_notification(self) -> None:
        self.assertEqual(parse({"jsonrpc": "2.0", "method": "n"}), Notification("n", {}))

    def test_a_message_with_a_result_is_a_response_even_where_the_result_is_null(self) -> None:
        self.assertEqual(parse({"jsonrpc": "2.0", "id": "a", "result": None}), Response("a"))

    def test_a_message_with_an_error_is_a_response(self) -> None:
        message = parse({"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "m"}})
        self.assertEqual(message, Response(None, None, {"code": 1, "message": "m"}))

    def test_ids_keep_their_type_and_value(self) -> None:
        for id in ("", "0", "ü\n", 0, -1, 2**63, 10**31):
            with self.subTest(id=id):
                message = parse({"jsonrpc": "2.0", "id": id, "method": "ping"})
                self.assertEqual((message.id, type(message.id)), (id, type(id)))

    def test_unknown_members_are_ignored(self) -> None:
        message = parse({"jsonrpc": "2.0", "id": 1, "method": "ping", "extra": [None]})
        self.assertEqual(message, Request(1, "ping", {}))

    def test_of_a_member_that_stands_twice_the_last_counts_as_in_javascript(self) -> None:
        body = b'{"jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"b"}'
        self.assertEqual(parse_messages(body), jsonrpc.Request(2, "b", {}))

    def test_white_space_around_a_message_is_allowed(self) -> None:
        body = b' \r\n\t{"jsonrpc": "2.0", "method": "n"}\n'
        self.assertEqual(parse_messages(body), Notification("n", {}))

    def test_text_outside_the_basic_plane_arrives_raw_and_as_a_pair_of_escapes(self) -> None:
        for text in (b'"\xf0\x9f\x98\x80"', b'"\\ud83d\\ude00"', b'"\\uD83D\\uDE00"'):
            with self.subTest(text=text):
                body = b'{"jsonrpc": "2.0", "method": "n", "params": {"t": %b}}' % text
                self.assertEqual(parse_messages(body), Notification("n", {"t": "\U0001f600"}))

    def test_an_escaped_backslash_before_ud800_is_no_surrogate(self) -> None:
        body = rb'{"jsonrpc": "2.0", "method": "n", "params": {"t": "\\ud800"}}'
        self.assertEqual(parse_messages(body), Notification("n", {"t": "\\ud800"}))


class BodiesThatAreNoJson(Refusals):
    def test_malformed_json_is_a_parse_error(self) -> None:
        for body in (
            b"",
            b" ",
            b"{",
            b"{'a': 1}",
            b'{"a": 1,}',
            b"{} {}",
            b"nul",
            b"\x00",
            b'"\n"',
        ):
            with self.subTest(body=body):
                self.refused(body, jsonrpc.PARSE_ERROR, "Expected JSON")

    def test_a_byte_order_mark_is_a_parse_error(self) -> None:
        self.refused(b'\xef\xbb\xbf{"jsonrpc": "2.0"}', jsonrpc.PARSE_ERROR, "BOM")

    def test_bytes_that_are_not_utf_8_are_a_parse_error(self) -> None:
        for text in (b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80"):
            with self.subTest(text=text):
                body = b'{"jsonrpc": "2.0", "method": "%b"}' % text
                self.refused(body, jsonrpc.PARSE_ERROR, "UTF-8")

    def test_utf_16_is_a_parse_error(self) -> None:
        self.refused('{"jsonrpc": "2.0"}'.encode("utf-16"), jsonrpc.PARSE_ERROR)

    def test_half_a_surrogate_pair_is_a_parse_error_wherever_it_stands(self) -> None:
        for text in (
            r'{"jsonrpc": "2.0", "method": "\ud800"}',
            r'{"jsonrpc": "2.0", "method": "n", "params": {"a": ["x\uDFFF"]}}',
            r'{"jsonrpc": "2.0", "method": "n", "params": {"\uDbff": 1}}',
            r'{"jsonrpc": "2.0", "method": "n", "params": {"a": "\ude00\ud83d"}}',
        ):
            with self.subTest(text=text):
                self.refused(text.encode(), jsonrpc.PARSE_ERROR, "Unicode", "surrogates")

    def test_numbers_that_json_does_not_know_are_a_parse_error(self) -> None:
        for name in ("NaN", "Infinity", "-Infinity"):
            with self.subTest(name=name):
                body = b'{"jsonrpc": "2.0", "method": "n", "params": {"a": %b}}' % name.encode()
                self.refused(body, jsonrpc.PARSE_ERROR, name, "not a JSON number")

    def test_an_integer_of_very_many_digits_is_a_parse_error_at_once(self) -> None:
        for digits in (321, 5000, 5_000_000):
            with self.subTest(digits=digits):
                body = b'{"jsonrpc": "2.0", "id": %b, "method": "n"}' % (b"9" * digits)
                self.refused(body, jsonrpc.PARSE_ERROR, f"{digits} digits")

    def test_very_deep_nesting_is_a_parse_error(self) -> None:
        for bracket in (b"[", b'{"a":'):
            with self.subTest(bracket=bracket):
                self.refused(bracket * 200_000, jsonrpc.PARSE_ERROR, "nested")


class BodiesThatAreNoMessage(Refusals):
    def test_a_value_that_is_no_object_is_an_invalid_request_and_is_named(self) -> None:
        for value, name in (
            (None, "null"),
            (True, "a boolean"),
            (1.5, "a number"),
            ("x", "a string"),
        ):
            with self.subTest(value=value):
                self.refused_value(value, "message object", name)

    def test_another_version_is_an_invalid_request_that_echoes_the_id(self) -> None:
        for version in ("1.0", 2.0, None):
            with self.subTest(version=version):
                self.refused_value({"jsonrpc": version, "id": 3, "method": "ping"}, "2.0", id=3)
        self.refused_value({"id": "x", "method": "ping"}, "jsonrpc", id="x")

    def test_an_id_that_is_neither_string_nor_integer_is_an_invalid_request(self) -> None:
        for id, name in (
            (True, "a boolean"),
            (1.0, "a number"),
            ([], "an array"),
            ({}, "an object"),
        ):
            with self.subTest(id=id):
                self.refused_value({"jsonrpc": "2.0", "id": id, "method": "ping"}, '"id"', name)

    def test_an_id_of_null_is_an_invalid_request(self) -> None:
        self.refused_value({"jsonrpc": "2.0", "id": None, "method": "ping"}, '"id"', "null")

    def test_a_method_that_is_no_string_is_an_invalid_request(self) -> None:
        for method, name in ((None, "null"), (1, "a number"), (["ping"], "an array")):
            with self.subTest(method=method):
                value = {"jsonrpc": "2.0", "id": 1, "method": method}
                self.refused_value(value, '"method"', name, id=1)

    def test_params_that_are_no_object_are_an_invalid_request(self) -> None:
        for params, name in ((None, "null"), ([1], "an array"), ("a", "a string"), (0, "a number")):
            with self.subTest(params=params):
                value = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": params}
                self.refused_value(value, '"params"', name, id=1)

    def test_a_response_with_both_result_and_error_or_neither_is_an_invalid_request(self) -> None:
        self.refused_value({"jsonrpc": "2.0", "id": 1}, "method", "result", "error", id=1)
        both = {"jsonrpc": "2.0", "id": 1, "result": 1, "error": {}}
        self.refused_value(both, "result", id=1)

    def test_an_error_that_is_no_object_is_an_invalid_request(self) -> None:
        value = {"jsonrpc": "2.0", "id": 1, "error": "no"}
        self.refused_value(value, '"error"', "a string", id=1)

    def test_an_empty_batch_is_an_invalid_request(self) -> None:
        self.refused_value([], "at least one")


class Batches(unittest.TestCase):
    def test_a_batch_gives_its_members_in_order_with_errors_in_their_places(self) -> None:
        first, second, third, fourth = parse(
            [
                {"jsonrpc": "2.0", "id": 1, "method": "ping"},
                5,
                {"jsonrpc": "2.0", "method": "n"},
                {"jsonrpc": "1.0", "id": 2, "method": "ping"},
            ]
        )
        self.assertEqual(first, Request(1, "ping", {}))
        self.assertIsInstance(second, RpcError)
        self.assertEqual(third, Notification("n", {}))
        self.assertEqual((fourth.code, fourth.id), (jsonrpc.INVALID_REQUEST, 2))

    def test_a_batch_inside_a_batch_is_an_error_in_its_place(self) -> None:
        (error,) = parse([[{"jsonrpc": "2.0", "method": "n"}]])
        self.assertEqual(error.code, jsonrpc.INVALID_REQUEST)
        self.assertIn("an array", error.message)


class Encoding(unittest.TestCase):
    def test_an_error_has_the_wire_form_of_json_rpc(self) -> None:
        self.assertEqual(
            json.loads(RpcError(jsonrpc.METHOD_NOT_FOUND, "No.", 4).encode()),
            {"jsonrpc": "2.0", "id": 4, "error": {"code": -32601, "message": "No."}},
        )

    def test_an_error_without_a_known_id_says_null(self) -> None:
        self.assertIn(b'"id":null', RpcError(jsonrpc.PARSE_ERROR, "No.").encode())

    def test_text_of_every_kind_survives_as_ascii_without_line_breaks(self) -> None:
        for text in ("a\nb\r\u2028\x00", "\U0001f600ü", "half \ud83d", '"\\'):
            with self.subTest(text=text):
                data = jsonrpc.encode_json(text)
                self.assertTrue(all(32 <= byte < 127 for byte in data))
                self.assertEqual(json.loads(data), text)


class Robustness(unittest.TestCase):
    def test_whatever_bytes_come_only_an_rpc_error_is_raised(self) -> None:
        chance = random.Random(20240229)
        whole = b'{"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"a": "\\ud83d\\ude00"}}'
        outcomes = set()
        for _ in range(5000):
            body = bytearray(whole)
            for _ in range(chance.randint(1, 3)):
                body[chance.randrange(len(body))] = chance.randrange(256)
            try:
                parse_messages(bytes(body[: chance.randint(0, 2 * len(body))]))
                outcomes.add(0)
            except RpcError as error:
                outcomes.add(error.code)
        self.assertEqual(outcomes, {0, jsonrpc.PARSE_ERROR, jsonrpc.INVALID_REQUEST})
