"""Colour schemes, colours and selectors."""

from __future__ import annotations

import plistlib
import unittest
from typing import Any
from unittest import mock

from headless import colours, schemes, selectors

from .engine import EngineTestCase

BARE = """{
    // no diff scopes
    "variables": {"ink": "#101010", "leaf": "#00aa00"},
    "globals": {"background": "#f0f0f0", "foreground": "var(ink)"},
    "rules": [
        {"scope": "markup.inserted", "foreground": "var(leaf)", "font_style": "bold"},
        {"scope": "markup", "background": "color(var(leaf) alpha(0.5))"},
        {"scope": "comment - comment.block", "foreground": "#808080"},
    ],
}"""


class SchemesOfViews(EngineTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.view = self.view_with("text")

    def use(self, scheme: str) -> None:
        self.view.settings().set("color_scheme", scheme)

    def style(self, scope: str) -> Any:
        found = self.view.style_for_scope(scope)
        return found["foreground"], found.get("background")

    def ground(self) -> str:
        return str(self.view.style()["background"])

    def test_the_schemes_have_the_figures_of_mariana_and_breakers(self) -> None:
        self.assertEqual(self.ground(), "#343d46")
        for scope, style in (
            ("nothing", ("#d8dee9", None)),
            ("diff.inserted", ("#d8dee9", "#3c525a")),
            ("markup.deleted", ("#ec5f66", None)),
            # The more exact rule wins for each property.
            ("diff.inserted.more", ("#d8dee9", "#3c525a")),
        ):
            self.assertEqual(self.style(scope), style)
        self.assertNotEqual(self.style("diff.inserted.char")[1], "#3c525a")
        # The regions of a hue take the scheme's own colour.
        self.assertEqual(self.style("region.redish")[0], "#ec5f66")
        self.assertEqual(self.style("region.greenish")[0], "#99c794")
        self.use("Breakers.sublime-color-scheme")
        self.assertEqual(self.ground(), "#f9fafa")
        self.assertEqual(self.style("diff.deleted.char"), ("#333333", "#f0c2c2"))

    def test_a_scheme_may_lack_diff_scopes(self) -> None:
        self.write_package("User", {"Bare.sublime-color-scheme": BARE})
        self.use("Bare.sublime-color-scheme")
        self.assertEqual(self.style("diff.inserted"), ("#101010", None))
        found = self.view.style_for_scope("markup.inserted")
        self.assertEqual((found["foreground"], found["background"]), ("#00aa00", "#78cd78"))
        self.assertEqual((found["bold"], found["italic"]), (True, False))
        self.assertEqual(self.style("comment.line")[0], "#808080")
        self.assertEqual(self.style("comment.block")[0], "#101010")

    def test_a_file_of_the_same_name_adds_to_a_scheme(self) -> None:
        rule = '{"rules": [{"scope": "diff.inserted", "background": "#123456"}]}'
        self.write_package("User", {"Mariana.sublime-color-scheme": rule})
        self.assertEqual(self.style("diff.inserted"), ("#d8dee9", "#123456"))

    @mock.patch.object(schemes, "_AGAIN", 0)
    def test_a_scheme_that_is_edited_is_read_again(self) -> None:
        self.write_package("User", {"Bare.sublime-color-scheme": BARE})
        self.use("Bare.sublime-color-scheme")
        self.assertEqual(self.ground(), "#f0f0f0")
        fresh = BARE.replace("#f0f0f0", "#e0e0e0") + " "
        self.write_package("User", {"Bare.sublime-color-scheme": fresh})
        self.assertEqual(self.ground(), "#e0e0e0")

    def test_a_theme_of_textmate_is_read(self) -> None:
        ground = {"background": "#222222", "foreground": "#eeeeee"}
        green = {"foreground": "#00ff00", "fontStyle": "italic"}
        theme = {
            "settings": [{"settings": ground}, {"scope": "string, comment", "settings": green}]
        }
        self.write_package("Toy", {"Old.tmTheme": plistlib.dumps(theme).decode()})
        self.use("Packages/Toy/Old.tmTheme")
        self.assertEqual(self.style("string.quoted"), ("#00ff00", None))
        self.assertTrue(self.view.style_for_scope("comment")["italic"])
        self.assertEqual(self.ground(), "#222222")

    def test_where_a_scheme_is_not_there_or_broken_the_default_one_stays(self) -> None:
        self.use("Gone.sublime-color-scheme")
        self.assertEqual(self.ground(), "#343d46")
        self.write_package("User", {"Broken.tmTheme": "no plist"})
        self.use("Broken.tmTheme")
        self.assertEqual(self.style("string")[1], None)

    def test_the_interface_tells_scheme_and_theme(self) -> None:
        found = self.sublime.ui_info()
        self.assertEqual(found["color_scheme"]["resolved_value"], "Mariana.sublime-color-scheme")
        self.assertEqual(found["theme"]["value"], "Default.sublime-theme")

    def test_of_a_text_the_scope_of_its_syntax_is_known(self) -> None:
        self.assertEqual(self.view.scope_name(0), "text.plain ")
        self.view.assign_syntax("scope:source.python")
        self.assertTrue(self.view.match_selector(0, "source.python"))
        self.assertFalse(self.view.match_selector(0, "source.python string"))
        self.assertGreater(self.view.score_selector(0, "source - text"), 0)


class Colours(unittest.TestCase):
    VARIABLES = {"base": "#336699", "again": "var(base)", "loop": "var(loop)"}

    def test_colours_are_read_in_all_their_forms(self) -> None:
        for text, expected in (
            ("#369", "#336699"),
            ("#33669980", "#33669980"),
            ("rgb(51, 102, 153)", "#336699"),
            ("rgba(51, 102, 153, 0.5)", "#33669980"),
            ("rgb(20% 40% 60% / 50%)", "#33669980"),
            ("hsl(210, 50%, 40%)", "#336699"),
            ("hsla(210, 50%, 40%, 0.5)", "#33669980"),
            ("White", "#ffffff"),
            ("var(again)", "#336699"),
            ("color(var(base) alpha(0.5))", "#33669980"),
            ("color(#336699 a(- 50%))", "#33669980"),
            ("color(#000 blend(#fff 25%))", "#bfbfbf"),
            ("color(hsl(210, 50%, 30%) l(+ 10%))", "#336699"),
            ("color(hsl(210, 80%, 40%) s(50%))", "#336699"),
        ):
            with self.subTest(text):
                found = colours.parse(text, self.VARIABLES.get)
                self.assertEqual(found and found.css(), expected)

    def test_what_is_no_colour_is_none(self) -> None:
        for text in ("", "#12", "#xyzxyz", "rgb(1, 2)", "hsl(a, b, c)", "var(gone)", "var(loop)"):
            with self.subTest(text):
                self.assertIsNone(colours.parse(text, self.VARIABLES.get))

    def test_a_transparent_colour_is_seen_on_its_ground(self) -> None:
        half = colours.Colour(1.0, 1.0, 1.0, 0.5)
        self.assertEqual(half.over(colours.Colour(0.0, 0.0, 0.0)).css(), "#808080")


class Selectors(unittest.TestCase):
    def test_selectors_fit_or_do_not(self) -> None:
        stack = "source.python meta.function string.quoted.double"
        fits = ["source", "source.python", "string", "source string", "text, string", "-text", ""]
        fits += ["source - comment", "source & string.quoted", "(text | source) & meta.function"]
        others = ["source.py", "string source", "text | comment", "source - string", "- source"]
        others += ["source & comment", "source - (text | string)"]
        for selector in fits + others:
            with self.subTest(selector):
                self.assertEqual(selectors.score(stack, selector) > 0, selector in fits)

    def test_deeper_and_longer_selectors_score_higher(self) -> None:
        stack = "source.python string.quoted"
        rising = ("source", "source.python", "string", "string.quoted", "source string.quoted")
        scores = [selectors.score(stack, each) for each in rising]
        self.assertEqual(scores, sorted(scores))
        self.assertEqual(len(set(scores)), len(scores))
