"""Scopes: definitions of syntaxes read and followed, and what packages ask about them."""

from __future__ import annotations

import contextlib
import importlib
import io
import unittest
from typing import Any

from headless import patterns, syntax_tests

from .engine import EngineTestCase

TOY = r"""%YAML 1.2
---
name: Toy
file_extensions: [toy]
first_line_match: '^#!.*\btoy\b'
scope: source.toy
version: 2
variables:
  word: '[a-z]+'
contexts:
  prototype:
    - match: '#.*$'
      scope: comment.line.toy
  main:
    - match: '"'
      scope: punctuation.begin.toy
      push: string
    - match: '(def) ({{word}})'
      scope: meta.function.toy
      captures:
        1: keyword.toy
        2: entity.name.function.toy
    - match: '<<({{word}})\n'
      push: heredoc
    - match: '\{'
      branch_point: braces
      branch: [block, map]
    - match: '``'
      embed: scope:source.inner
      embed_scope: meta.inner.toy source.inner
      escape: '``'
    - match: '(?=\b{{word}}\()'
      set: call
  string:
    - meta_include_prototype: false
    - meta_scope: string.toy
    - match: '\\.'
      scope: escape.toy
    - match: '"'
      pop: 1
  heredoc:
    - meta_content_scope: string.heredoc.toy
    - match: '^\1$'
      pop: 1
  block:
    - meta_scope: block.toy
    - match: ':'
      fail: braces
    - match: '\}'
      pop: 1
  map:
    - meta_scope: map.toy
    - match: '\}'
      pop: 1
  call:
    - meta_content_scope: call.toy
    - match: '\)'
      pop: 1
"""
INNER = r"""%YAML 1.2
---
scope: source.inner
hidden: true
contexts:
  main:
    - match: '[0-9]+'
      scope: number.inner
    - match: '\('
      push:
        - clear_scopes: 1
        - meta_scope: group.inner
        - match: '\)'
          pop: true
"""
SYMBOLS = """<?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict>
<key>scope</key><string>entity.name.function</string>
<key>settings</key><dict><key>showInSymbolList</key><integer>1</integer></dict>
</dict></plist>"""
TESTS = """# SYNTAX TEST "Packages/Lang/Toy.sublime-syntax"
def one "two"
# <- keyword.toy
#   ^^^ entity.name.function
#       ^^^^^ string.toy - comment
#         ^ comment
"""


# What stands in a view, and the scope where each text in it begins, but for what all begin with.
SCOPES = (
    (
        'def one "a\\"#b" # c\n',
        {
            "def": "meta.function.toy keyword.toy",
            "one": "meta.function.toy entity.name.function.toy",
            "\\": "string.toy escape.toy",
            "#b": "string.toy",
            "# c": "comment.line.toy",
        },
    ),
    # A context ends at what began it.
    (
        "<<end\nnot the end\nend\ndef a\n",
        {"not": "string.heredoc.toy", "def": "meta.function.toy keyword.toy"},
    ),
    # A branch that fails is taken back, over lines, too.
    (
        "{ one\n two }\n{ three\n: four }\n",
        {"one": "block.toy", "three": "map.toy", "four": "map.toy"},
    ),
    # Another syntax is embedded until it is escaped.
    (
        "`` 12 (3 `` def a\n",
        {
            "12": "meta.inner.toy source.inner number.inner",
            "3": "meta.inner.toy group.inner",
            "def": "meta.function.toy keyword.toy",
        },
    ),
    # The scope of the syntax outlives its main context.
    ("f(x) def a\n", {"(x": "call.toy", "def": "call.toy"}),
)


class Language(EngineTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.write_package("Lang", {"Toy.sublime-syntax": TOY, "Inner.sublime-syntax": INNER})

    def parsed(self, text: str) -> Any:
        view = self.view_with(text)
        view.assign_syntax("Packages/Lang/Toy.sublime-syntax")
        return view


class Scopes(Language):
    def test_matches_captures_contexts_branches_and_other_syntaxes_give_scopes(self) -> None:
        for text, scopes in SCOPES:
            view = self.parsed(text)
            for words, scope in scopes.items():
                with self.subTest(text, words=words):
                    point = view.find(words, 0, self.sublime.FindFlags.LITERAL).a
                    self.assertEqual(view.scope_name(point).strip(), "source.toy " + scope)

    def test_scopes_follow_an_edit(self) -> None:
        view = self.parsed("def one")
        self.assertTrue(view.match_selector(4, "entity.name"))
        self.insert(view, '"def one"', self.sublime.Region(0, 7))
        self.assertFalse(view.match_selector(5, "entity.name"))
        self.assertTrue(view.match_selector(5, "source.toy string - comment"))

    def test_stretches_are_found_by_selector_and_told_with_their_scopes(self) -> None:
        view, region = self.parsed('def one "two"\n'), self.sublime.Region
        self.assertEqual(view.find_by_selector("string"), [region(8, 13)])
        self.assertEqual(view.extract_scope(5), region(4, 7))
        self.assertEqual(view.expand_to_scope(10, "string"), region(8, 13))
        self.assertIsNone(view.expand_to_scope(0, "string"))
        token = (region(8, 9), "source.toy string.toy punctuation.begin.toy ")
        self.assertEqual(view.extract_tokens_with_scopes(region(8, 9)), [token])

    def test_a_syntax_nobody_defines_has_the_scope_of_its_text(self) -> None:
        self.assertEqual(self.open("a.py", b"x = 1\n").scope_name(2), "source.python ")

    def test_what_packages_want_in_the_list_of_symbols_is_there(self) -> None:
        self.write_package("Lang", {"Symbols.tmPreferences": SYMBOLS})
        view = self.parsed("def one\ndef two\n")
        self.assertEqual([name for _region, name in view.symbols()], ["one", "two"])

    def test_without_a_syntax_symbols_are_found_by_words_that_define_them(self) -> None:
        view = self.open("a.py", b"class One:\n    def two(self):\n        return two()\n")
        self.assertEqual([name for _region, name in view.symbols()], ["One", "two"])
        found = view.window().symbol_locations("two")
        places = [
            (location.type.name, location.row, location.col, location.kind[2]) for location in found
        ]
        expected = [("DEFINITION", 2, 9, "Function"), ("REFERENCE", 3, 16, "Function")]
        self.assertEqual(places, expected)


class Choice(Language):
    def test_a_file_gets_the_syntax_of_a_package_by_its_name_or_first_line(self) -> None:
        self.assertEqual(self.open("a.toy").syntax().path, "Packages/Lang/Toy.sublime-syntax")
        self.assertEqual(self.open("b", b"#!/bin/toy\n").syntax().name, "Toy")

    def test_a_hidden_one_is_listed_under_the_name_of_its_file(self) -> None:
        found = self.sublime.find_syntax_by_scope("source.inner")
        self.assertEqual([(each.name, each.hidden) for each in found], [("Inner", True)])

    def test_one_that_cannot_be_read_says_so_and_gives_plain_scopes(self) -> None:
        self.write_package("Lang", {"Bad.sublime-syntax": "scope: source.bad\ncontexts: [\n"})
        view = self.view_with("x")
        with contextlib.redirect_stderr(io.StringIO()) as said:
            view.assign_syntax("Packages/Lang/Bad.sublime-syntax")
            self.assertEqual(view.scope_name(0), "source.bad ")
        self.assertIn("Bad.sublime-syntax", said.getvalue())


class SyntaxTests(Language):
    def test_the_tests_of_a_syntax_run_and_say_what_is_wrong(self) -> None:
        self.write_package("Lang", {"syntax_test_a.toy": TESTS})
        api: Any = importlib.import_module("sublime_api")
        count, failures = api.run_syntax_test("Packages/Lang/syntax_test_a.toy")
        self.assertEqual((count, len(failures)), (10, 1))
        self.assertIn("syntax_test_a.toy:6:11: [comment]", failures[0])

    def test_patterns_that_need_the_slower_engine_are_told(self) -> None:
        api: Any = importlib.import_module("sublime_api")
        for name, count in (("Inner", 0), ("Toy", 1)):
            found = api.incompatible_syntax_patterns(f"Packages/Lang/{name}.sublime-syntax")
            self.assertEqual(len(found), count)


class Assertions(unittest.TestCase):
    def test_arrows_and_carets_test_the_line_above_all_assertions(self) -> None:
        lines = "/* SYNTAX TEST */|code|/*^^ a.b */| /* <-- c */|/* a comment */|more".split("|")
        found = list(syntax_tests.assertions(lines, "/*", "*/"))
        told = [(each.tested, each.columns, each.selector) for each in found]
        self.assertEqual(told, [(1, [2, 3], "a.b"), (1, [1, 2], "c")])


class Patterns(unittest.TestCase):
    def test_oniguruma_is_understood(self) -> None:
        for pattern, text, expected in (
            (r"\h+", "xyz09afg", "09af"),
            (r"[\h_]+", "x0_f", "0_f"),
            (r"\H", "0x", "x"),
            (r"(?m:a.b)", "a\nb", "a\nb"),
            (r"(?<n>\((?:\g<n>|[a-z])*\))", "x((a)b)", "((a)b)"),
            (r"[^]a]+", "a]bc", "bc"),
            (r"\x{263a}", "a\u263a", "\u263a"),
            (r"[[:alpha:]&&[^b]]+", "bac", "ac"),
            (r"(?<=a|bc)x", "bcx", "x"),
            (r"a]", "a]", "a]"),
            (r"\\h", "\\h", "\\h"),
            (r"(?>a|ab)c", "abc", None),
            (r"x\Z", "x\n", "x"),
            (r"x\z", "x\n", None),
        ):
            found = patterns.compiled(pattern).search(text)
            self.assertEqual(found and found.group(), expected, pattern)

    def test_what_cannot_be_read_is_told_once_and_matches_nothing(self) -> None:
        with contextlib.redirect_stderr(io.StringIO()) as said:
            for _again in range(2):
                self.assertIsNone(patterns.compiled("(unclosed"))
        self.assertEqual(said.getvalue().count("(unclosed"), 1)
