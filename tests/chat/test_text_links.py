"""What a line of an answer names: addresses and places in files."""

from __future__ import annotations

import json
import time
import unittest
from typing import Any

from GeminiCompanion.companion.chat.rendered import OPEN_ADDRESS, OPEN_PLACE
from GeminiCompanion.companion.chat.text_links import link_at


def target(marked: str) -> Any:
    """What the link at the bar names: a path with line and column, an address, or nothing."""
    found = link_at(marked.replace("|", "", 1), marked.index("|"))
    if found is None:
        return None
    told = json.loads(found.argument)
    if found.action == OPEN_ADDRESS:
        return told["url"]
    assert found.action == OPEN_PLACE
    return told["path"], told["line"], told["column"]


class Links(unittest.TestCase):
    def test_a_path_with_a_line_is_a_place(self) -> None:
        for marked, expected in (
            ("f00|.py:3", ("f00.py", 3, 0)),
            ("at src/|a b/f.py:3", None),
            ("(./src/a|.py:3:7)", ("./src/a.py", 3, 7)),
            ("`/w/a.py|:12`: no", ("/w/a.py", 12, 0)),
            (r"C:\w\a|.py:3", (r"C:\w\a.py", 3, 0)),
            ("see a.py:3 an|d", None),
            ("at 10|:30", None),
            ("host localhost|:3000", None),
            ("a.py:3|x", None),
        ):
            with self.subTest(marked):
                self.assertEqual(target(marked), expected)

    def test_a_link_of_markdown_leads_to_its_target(self) -> None:
        for marked, expected in (
            ("see [th|is](https://a.example/x)", "https://a.example/x"),
            ('[x](https://a.example/|y_(z) "A title")', "https://a.example/y_(z)"),
            ("[https://good.exa|mple](https://evil.example)", "https://evil.example"),
            ("[x|](javascript:alert)", "javascript:alert"),
            ("[x|](src/a%20b.py#L4)", ("src/a b.py", 4, 0)),
            ("[x|](<src/a b.py:4>)", ("src/a b.py", 4, 0)),
            ("[x|](a.py:4:2)", ("a.py", 4, 2)),
            ("[x|](docs/a.md#part)", ("docs/a.md", 0, 0)),
            ("[x|](file:///w/a.py)", ("/w/a.py", 0, 0)),
            ("[x|] (https://a.example)", None),
        ):
            with self.subTest(marked):
                self.assertEqual(target(marked), expected)

    def test_an_address_ends_before_the_sentence_does(self) -> None:
        for marked, expected in (
            ("see https://a.exam|ple/x.", "https://a.example/x"),
            ("(https://a.exam|ple/x)", "https://a.example/x"),
            ("https://a.exam|ple/x_(y).", "https://a.example/x_(y)"),
            ("https://a.example:80|80/x", "https://a.example:8080/x"),
            ("ftp://a.exam|ple", None),
        ):
            with self.subTest(marked):
                self.assertEqual(target(marked), expected)

    def test_a_line_of_ours_has_none_and_a_long_one_has_those_that_are_near(self) -> None:
        self.assertIsNone(target("▏ rm a.|py:3"))
        self.assertIsNone(target("|"))
        long = "x " * 10_000
        self.assertEqual(target(f"{long}a.p|y:3 {long}"), ("a.py", 3, 0))
        found = link_at(f"{long}a.py:3", len(long) + 1)
        assert found is not None
        self.assertEqual((found.start, found.end), (len(long), len(long) + 6))

    def test_no_line_takes_much_longer_than_a_plain_one(self) -> None:
        plain = _seconds("word " * 800)
        for part in ("+.", "@.", "../", "a/", "~/", "C:", "[x](", "http://", ":1"):
            with self.subTest(part):
                self.assertLess(_seconds(part * (4000 // len(part))), 1000 * plain)


def _seconds(line: str) -> float:
    begun = time.thread_time()
    link_at(line, len(line) // 2)
    return time.thread_time() - begun
