"""Keys: as a terminal sends them, by the names of key bindings, and what they do in a view."""

from __future__ import annotations

import doctest
import io
import json
import os
import sys
import unittest
from typing import Any
from unittest import mock

from headless import keys
from headless.keyboard import UNKNOWN, Keyboard

from .engine import EngineTestCase, wait_until

PLUGIN = """
class Listener(sublime_plugin.EventListener):
    def on_query_context(self, view, key, operator, operand, match_all):
        if key == "toy_row":
            return (view.rowcol(view.sel()[0].b)[0] == operand) == (operator == 0)

    def on_query_completions(self, view, prefix, locations):
        return [sublime.CompletionItem(word) for word in ("beta", "alphabet", "alpha")]


class ToyNoteCommand(sublime_plugin.TextCommand):
    def run(self, edit, text="", character=""):
        LOG.append(text + character)
"""
IN_TOY = {"key": "setting.is_toy"}
BINDINGS = [
    {"keys": ["ctrl+enter"], "command": "toy_note", "args": {"text": "sent"}, "context": [IN_TOY]},
    {"keys": ["f8", "y"], "command": "toy_note", "args": {"text": "yes"}},
    {"keys": ["f8", "shift+y"], "command": "toy_note", "args": {"text": "always"}},
    {
        "keys": ["up"],
        "command": "toy_note",
        "args": {"text": "before"},
        "context": [{"key": "toy_row", "operator": "equal", "operand": 0}],
    },
    {
        "keys": ["<character>"],
        "command": "toy_note",
        "context": [{"key": "toy_row", "operator": "not_equal", "operand": 0}],
    },
    *(
        {"keys": ["f9"], "command": "toy_note", "context": [{"key": key, "operand": "source"}]}
        for key in sorted(UNKNOWN)
    ),
]


class OfATerminal(unittest.TestCase):
    def test_each_way_of_terminals_to_send_a_key_gives_its_name_in_key_bindings(self) -> None:
        self.assertEqual(doctest.testmod(keys).failed, 0)
        sent = {
            "ctrl+enter": ("\x1b[13;5u", "\x1b[27;5;13~", "\x1b\r", "\n"),
            "enter": ("\r", "\x1b[13u"),
            "escape": ("\x1b", "\x1b[27u"),
            "up": ("\x1b[A", "\x1bOA"),
            "f8": ("\x1b[19~",),
            "shift+tab": ("\x1b[Z",),
            "delete": ("\x1b[3~",),
            "ctrl+alt+down": ("\x1b[1;7B",),
            "alt+a": ("\x1ba", "\x1b[97;3u"),
            "alt+shift+a": ("\x1bA",),
            "ctrl+alt+x": ("\x1b\x18",),
            "Y": ("Y", "\x1b[121;2u"),
            "ä": ("ä",),
            "": ("\x1bO0", "\x1b[I", "\x1b[200~"),
        }
        found = {name: tuple(map(keys.bound, them)) for name, them in sent.items()}
        self.assertEqual(found, {name: (name,) * len(them) for name, them in sent.items()})

    def test_alt_and_a_key_is_one_key_and_no_escape(self) -> None:
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        os.write(writing, b"\x1ba\x1b\x1b[A\x1b\r\x1b")
        os.close(writing)
        next_key, found = keys.TerminalKeys(reading, None), []
        next_key.is_raw = True
        with self.assertRaises(EOFError):
            while True:
                found.append(next_key(1.0))
        self.assertEqual(found, ["\x1ba", "\x1b", "\x1b[A", "\x1b\r", "\x1b"])


class InView(EngineTestCase):
    plugin = PLUGIN

    def setUp(self) -> None:
        super().setUp()
        self.write_package("Toy", {"Default.sublime-keymap": json.dumps(BINDINGS)})
        self.view = self.view_with("first\nlast")
        self.state = self.editor.view(self.view.id())
        self.keyboard = Keyboard(self.editor)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.editor.ui(self.keyboard.press, self.state, key)

    def at(self, point: int) -> None:
        self.editor.ui(self.editor.select, self.state, [(point, point)])

    def noted(self) -> list[Any]:
        """What the bound commands were given since the last look."""
        found, self.log[:] = list(self.log), []
        return found

    def test_a_binding_counts_where_its_context_holds_and_else_sublimes_own(self) -> None:
        self.at(0)
        self.press("ctrl+enter", "up")
        self.assertEqual(self.noted(), ["before"])
        self.view.settings().set("is_toy", True)
        self.press("ctrl+enter", "down", "up", "end", "x", "backspace", "enter", "ctrl+z")
        self.assertEqual(self.noted(), ["sent"])
        self.assertEqual(self.text(self.view), "first\nlast")

    def test_a_context_that_is_not_known_does_not_hold_and_is_told_of_once(self) -> None:
        said = io.StringIO()
        with mock.patch.object(sys, "stderr", said):
            self.press("f9", "f9")
        self.assertEqual(self.noted(), [])
        told = [line.split('"')[1] for line in said.getvalue().splitlines()]
        self.assertEqual(sorted(told), sorted(UNKNOWN))

    def test_a_binding_of_two_keys_waits_for_the_second_and_knows_a_capital(self) -> None:
        self.press("f8")
        self.assertEqual((self.noted(), self.keyboard.begun), ([], ["f8"]))
        self.press("y", "f8", "Y", "f8", "z")
        self.assertEqual((self.noted(), self.keyboard.begun), (["yes", "always"], []))
        self.assertEqual(self.text(self.view), "first\nlast")

    def test_a_binding_of_all_characters_is_told_which(self) -> None:
        self.at(len("first\n"))
        self.press("x", "\u4e16")
        self.assertEqual(self.noted(), ["x", "\u4e16"])
        self.at(0)
        self.press("x", "shift+right", "y")
        self.assertEqual(self.text(self.view), "xyirst\nlast")

    def test_tab_takes_the_completion_that_the_tab_shows_first_and_escape_closes_them(self) -> None:
        self.view.set_scratch(True)
        self.view.set_name("Toy")
        self.at(0)
        self.press("ctrl+space")
        wait_until(self.view.is_auto_complete_visible)
        self.press("escape")
        self.assertFalse(self.view.is_auto_complete_visible())
        self.press("home", "a", "l", "ctrl+space")
        wait_until(self.view.is_auto_complete_visible)
        self.press("backspace", "backspace", "a", " ", "left", "ctrl+space")
        wait_until(self.view.is_auto_complete_visible)
        offered = self.editor.ui(lambda: self.state.completing.fitting())
        self.assertEqual(
            [completion.trigger for completion in offered], ["alphabet", "alpha", "beta"]
        )
        self.press("tab")
        self.assertEqual(self.text(self.view), "alphabet first\nlast")

    def test_what_is_pasted_stands_at_the_caret(self) -> None:
        self.at(0)
        self.editor.ui(self.keyboard.paste, self.state, "a\n\tb")
        self.assertEqual(self.text(self.view), "a\n\tbfirst\nlast")
