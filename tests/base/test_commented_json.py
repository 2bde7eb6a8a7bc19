from __future__ import annotations

import json
import random
import unittest
from typing import Any

from GeminiCompanion.companion.base.commented_json import (
    Broken,
    parse_node,
    strict_text,
    with_value,
)

ENABLED = ("ide", "enabled")


def value_of(text: str) -> Any:
    node = parse_node(text)
    return node.value if node is not None else None


class Reading(unittest.TestCase):
    def test_comments_and_last_commas_are_taken(self) -> None:
        text = '// mine\n{"a": [1, 2,], /* b */ "b": {"c": null,},\n} // end'
        self.assertEqual(value_of(text), {"a": [1, 2], "b": {"c": None}})

    def test_a_comment_within_a_string_is_text(self) -> None:
        self.assertEqual(value_of('{"a": "http://x/*y*/"}'), {"a": "http://x/*y*/"})

    def test_a_byte_order_mark_is_no_text(self) -> None:
        self.assertEqual(value_of("\ufeff{}"), {})

    def test_space_and_comments_are_no_value(self) -> None:
        self.assertIsNone(parse_node(" // nothing\r\n/* here */ "))

    def test_the_last_of_two_members_of_one_name_counts(self) -> None:
        node = parse_node('{"a": 1, "a": 2}')
        self.assertEqual(node.member("a").value if node and node.member("a") else None, 2)

    def test_what_is_wrong_is_told_with_its_line(self) -> None:
        cases = {
            "{\n  a: 1\n}": (2, "expected a name in double quotes, found 'a'"),
            '{"a": 1\n"b": 2}': (2, 'expected "," or "}", found \'"\''),
            '{"a" 1}': (1, 'expected ":" after "a", found \'1\''),
            '{"a": tru}': (1, "expected a value, found 'tru'"),
            '{"a": 01}': (1, "expected a value, found '01'"),
            '{\n"a": "x\n"}': (2, "the string that begins here does not end in its line"),
            '{"a": "\\q"}': (1, '"\\q" has an escape that JSON does not know'),
            "{} /* x": (1, "the comment that begins here has no end"),
            "{}\n{}": (2, "expected the end of the file, found '{'"),
            "{": (1, 'expected "name": value or "}", found the end of the file'),
            "[1,": (1, 'expected a value or "]", found the end of the file'),
            "{,}": (1, "expected a name in double quotes, found ','"),
            "[" * 200: (1, "brackets are nested more than 100 deep"),
        }
        for text, (line, what) in cases.items():
            with self.subTest(text), self.assertRaises(Broken) as caught:
                parse_node(text)
            self.assertEqual((caught.exception.line, caught.exception.what), (line, what))


class Changing(unittest.TestCase):
    def test_a_value_is_replaced_and_nothing_else(self) -> None:
        before = '{\n\t// the editor\n\t"ide": { "enabled" : false, /* off */ },\n\t"b": 1,\n}\n'
        after = before.replace("false", "true")
        self.assertEqual(with_value(before, ENABLED, True), after)

    def test_a_member_is_added_after_the_last_with_its_comment(self) -> None:
        before = '{\n    "a": 1 // one\n    // the end\n}\n'
        after = (
            '{\n    "a": 1, // one\n    "ide": {\n        "enabled": true\n    }\n'
            "    // the end\n}\n"
        )
        self.assertEqual(with_value(before, ENABLED, True), after)

    def test_a_last_comma_has_its_like_after_the_new_member(self) -> None:
        before = '{\n\t"ide": {\n\t\t"x": 1, // one\n\t},\n}'
        after = '{\n\t"ide": {\n\t\t"x": 1, // one\n\t\t"enabled": true,\n\t},\n}'
        self.assertEqual(with_value(before, ENABLED, True), after)

    def test_one_line_stays_one_line(self) -> None:
        self.assertEqual(
            with_value('{"a": {"b": 2}}', ENABLED, True),
            '{"a": {"b": 2}, "ide": {"enabled": true}}',
        )

    def test_line_ends_are_those_of_the_text(self) -> None:
        before = '{\r\n  "a": 1\r\n}\r\n'
        after = '{\r\n  "a": 1,\r\n  "ide": {\r\n    "enabled": true\r\n  }\r\n}\r\n'
        self.assertEqual(with_value(before, ENABLED, True), after)

    def test_an_empty_object_and_no_object_become_one(self) -> None:
        whole = '{\n  "ide": {\n    "enabled": true\n  }\n}'
        self.assertEqual(with_value("{}", ENABLED, True), whole)
        self.assertEqual(with_value("", ENABLED, True), whole + "\n")
        self.assertEqual(with_value("// mine\n", ENABLED, True), "// mine\n" + whole + "\n")
        self.assertEqual(value_of(with_value("{ // none\n}", ENABLED, True)), value_of(whole))

    def test_what_is_no_object_is_not_replaced(self) -> None:
        for text, what in (
            ("[]", "the file has to be an object in braces, and is []"),
            ('{\n"ide": true}', '"ide" has to be an object in braces, and is true'),
        ):
            with self.subTest(text), self.assertRaises(Broken) as caught:
                with_value(text, ENABLED, True)
            self.assertEqual(caught.exception.what, what)

    def test_strict_text_has_no_mark_and_no_last_commas(self) -> None:
        text, count = strict_text('\ufeff{"a": [1, 2, ], // one,\n "b": ",}",\n}')
        self.assertEqual((text, count), ('{"a": [1, 2 ], // one,\n "b": ",}"\n}', 2))


class AnyText(unittest.TestCase):
    """Texts made by chance, each with a number."""

    def test_a_changed_value_is_the_only_thing_that_changes(self) -> None:
        for seed in range(400):
            with self.subTest(seed):
                chance = random.Random(seed)
                value = _object(chance, 0)
                text = _written(chance, value)
                self.assertEqual(value_of(text), value)
                path = chance.choice((ENABLED, ("a",), ("a", "b", "c"), ("new",)))
                expected = _with(value, path)
                if expected is None:
                    with self.assertRaises(Broken):
                        with_value(text, path, True)
                    continue
                after = with_value(text, path, True)
                self.assertEqual(value_of(after), expected)
                self.assertEqual(with_value(after, path, True), after)
                self.assertEqual(json.loads(strict_text(_plain(after))[0]), expected)
                # An object that is replaced takes its comments along.
                for comment in _comments(text) if _scalar_at(value, path) else ():
                    self.assertIn(comment, after)

    def test_any_damage_is_told_or_harmless(self) -> None:
        for seed in range(400):
            with self.subTest(seed):
                chance = random.Random(seed)
                text = _written(chance, _object(chance, 0))
                at = chance.randrange(len(text))
                damaged = text[:at] + chance.choice(("", "}", '"', "\x00", "/*")) + text[at + 1 :]
                try:
                    parse_node(damaged)
                except Broken as broken:
                    self.assertLessEqual(1, broken.line)
                    self.assertLessEqual(broken.line, damaged.count("\n") + 1)


def _object(chance: random.Random, depth: int) -> dict[str, Any]:
    names = chance.sample(["a", "b", "ide", "enabled", "ü/*", 'q"'], chance.randrange(4))
    return {name: _any(chance, depth + 1) for name in names}


def _any(chance: random.Random, depth: int) -> Any:
    if depth < 3 and chance.random() < 0.5:
        return _object(chance, depth)
    return chance.choice([True, None, 1.5, "x // y", [1, {"z": ","}], [], -3])


def _written(chance: random.Random, value: Any) -> str:
    """As somebody might have written it."""
    end = chance.choice(("\n", "\r\n"))

    def space() -> str:
        return chance.choice(("", "", " ", end, end + "\t", f" // c{chance.randrange(99)}{end}"))

    def write(item: Any) -> str:
        if not isinstance(item, dict):
            return json.dumps(item, ensure_ascii=chance.random() < 0.5)
        members = [
            f"{json.dumps(k)}{space()}:{space()}{write(v)}{space()}" for k, v in item.items()
        ]
        comma = "," + space() if members and chance.random() < 0.3 else ""
        return "{" + space() + ("," + space()).join(members) + comma + "}"

    return chance.choice(("", "\ufeff")) + space() + write(value) + space()


def _with(value: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any] | None:
    """None where something on the way is no object."""
    copy: dict[str, Any] = json.loads(json.dumps(value))
    at: Any = copy
    for name in path[:-1]:
        at = at.setdefault(name, {})
        if not isinstance(at, dict):
            return None
    at[path[-1]] = True
    return copy


def _scalar_at(value: Any, path: tuple[str, ...]) -> bool:
    for name in path:
        value = value.get(name)
        if not isinstance(value, dict):
            return True
    return False


def _comments(text: str) -> list[str]:
    return [line[line.index("// c") :].rstrip() for line in text.split("\n") if "// c" in line]


def _plain(text: str) -> str:
    """Without comments, of which the texts have one kind."""
    lines = text.split("\n")
    return "\n".join(line[: line.index("// c")] if "// c" in line else line for line in lines)
