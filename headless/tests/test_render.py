"""The page that shows what a user would see."""

from __future__ import annotations

import html
import os
import re
from typing import Any

from headless.render import render

from .engine import TWO_GROUPS, EngineTestCase, run_editor

LINE = 19.0
TOY = """%YAML 1.2
---
scope: source.toy
contexts: {main: [{match: two, scope: string.toy}]}
"""
# The scheme's colour of strings.
GREEN = "#99c794"


class Pages(EngineTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.view = self.view_with("one two\nthree\n<four> & five\n")

    def page(self) -> str:
        return self.editor.ui(render, self.editor)

    def style(self, text: str) -> str:
        """The style of the first piece of a line with exactly this text; "" where it has none."""
        escaped = re.escape(html.escape(text))
        found = re.search(f'<span style="([^"]*)">{escaped}</span>', self.page())
        return html.unescape(found.group(1)) if found else ""

    def tops(self, kind: str, page: str = "") -> list[float]:
        """Where the elements of a class stand, within their view."""
        pattern = rf"<div class='{kind}' style='[^']*?top:(-?[\d.]+)px"
        return [float(top) for top in re.findall(pattern, page or self.page())]

    def mark(self, begin: int, end: int, scope: str, flags: int = 0, **more: Any) -> None:
        region = self.sublime.Region(begin, end)
        self.view.add_regions("key", [region], scope, flags=flags, **more)

    def test_text_is_escaped_and_stands_where_the_layout_says(self) -> None:
        page = self.page()
        self.assertIn("&lt;four&gt; &amp; five", page)
        self.assertEqual(self.tops("line", page), [0, LINE, 2 * LINE, 3 * LINE])
        self.view.add_phantom("p", self.sublime.Region(0), "<b>note</b><br>two", 2)
        page = self.page()
        self.assertEqual(self.tops("line", page), [0, 3 * LINE, 4 * LINE, 5 * LINE])
        self.assertEqual(self.tops("number", page), [0, 3 * LINE, 4 * LINE, 5 * LINE])
        self.assertEqual(self.tops("phantom", page), [LINE])

    def test_text_has_the_colours_of_its_syntax_below_those_of_regions(self) -> None:
        self.write_package("Lang", {"Toy.sublime-syntax": TOY})
        self.view.assign_syntax("Packages/Lang/Toy.sublime-syntax")
        self.assertEqual(self.style("two"), "color:" + GREEN)
        self.assertEqual(self.style("three"), "")
        self.mark(4, 7, "diff.inserted", self.sublime.DRAW_NO_OUTLINE)
        self.assertTrue(self.style("two").startswith(f"color:{GREEN};background:"))

    def test_only_what_is_in_sight_is_drawn(self) -> None:
        view = self.view_with("".join(f"row {row}.\n" for row in range(1000)))
        view.show_at_center(view.text_point(500, 0))
        page = self.page()
        self.assertIn("row 500.", page)
        self.assertNotIn("row 5.", page)
        self.assertNotIn("row 900.", page)
        self.assertLess(self.tops("line", page)[0], LINE)

    def test_a_region_is_filled_with_its_scopes_background(self) -> None:
        self.mark(4, 7, "diff.inserted", self.sublime.DRAW_NO_OUTLINE)
        self.assertEqual(self.style("two"), "background:#3c525a")

    def test_flags_decide_on_fill_outline_and_underline(self) -> None:
        s = self.sublime
        self.mark(4, 7, "markup.inserted")
        self.assertIn("background:#99c794", self.style("two"))
        self.assertIn("box-shadow", self.style("two"))
        self.mark(4, 7, "markup.inserted", s.DRAW_NO_FILL)
        self.assertNotIn("background", self.style("two"))
        self.assertIn("box-shadow:inset 0 0 0 1px #99c794", self.style("two"))
        wavy = s.DRAW_NO_FILL | s.DRAW_NO_OUTLINE | s.DRAW_SQUIGGLY_UNDERLINE
        self.mark(4, 7, "markup.deleted", wavy)
        self.assertEqual(self.style("two"), "text-decoration:underline wavy #ec5f66")

    def test_hidden_regions_and_those_without_a_scope_are_not_drawn(self) -> None:
        for scope, flags in (("", 0), ("markup.inserted", self.sublime.HIDDEN)):
            self.mark(4, 7, scope, flags)
            self.assertEqual(self.style("two"), "")

    def test_the_last_colours_lie_on_top(self) -> None:
        self.view.add_regions("a", [self.sublime.Region(0, 7)], "diff.inserted", "", 256)
        self.view.add_regions("b", [self.sublime.Region(4, 7)], "diff.inserted.char", "", 256)
        self.assertEqual(self.style("one "), "background:#3c525a")
        first, last = self.style("two").split(";")
        self.assertEqual(first, "background:#3c525a")
        self.assertNotEqual(last, first)

    def test_changes_are_marks_beside_the_lines_and_tint_none_of_them(self) -> None:
        self.view.set_reference_document("one 2\nthree\n")
        page = self.page()
        self.assertEqual(self.tops("mark modified", page), [0])
        self.assertEqual(self.tops("mark inserted", page), [2 * LINE])
        self.assertNotIn("<span style", page)
        self.view.settings().set("mini_diff", False)
        self.assertNotIn("class='mark", self.page())

    def test_deleted_lines_are_a_mark_between_lines(self) -> None:
        self.view.set_reference_document("one two\ngone\nthree\n<four> & five\n")
        self.assertEqual(self.tops("mark deleted"), [LINE - 1])

    def test_an_icon_stands_in_the_gutter_of_its_line(self) -> None:
        self.mark(9, 10, "region.redish", icon="dot")
        page = self.page()
        self.assertEqual(self.tops("icon", page), [LINE])
        self.assertIn("color:#ec5f66'>&#9679;", page)

    def test_annotations_stand_at_the_right_edge_of_their_line(self) -> None:
        self.mark(9, 10, "", annotations=["<a href='x'>Keep</a>"], annotation_color="var(--redish)")
        page = self.page()
        self.assertEqual(self.tops("annotation", page), [LINE])
        self.assertRegex(page, r"border-color:#ec5f66[^>]*><a style=\"color:#6699cc;\">Keep</a>")

    def test_html_of_packages_keeps_known_tags_and_styles_only(self) -> None:
        content = (
            "<style>b { color: var(--greenish) }</style><script>alert(1)</script>"
            "<b onclick='x()'>note</b><div style='padding-top: 2rem; background: url(x)'>&lt;</div>"
        )
        self.view.add_phantom("p", self.sublime.Region(0), content, 2)
        page = self.page()
        self.assertIn('<b style="color:#99c794">note</b>', page)
        self.assertIn("&lt;</div>", page)
        for never in ("<script", "onclick", "url("):
            self.assertNotIn(never, page)
        self.assertRegex(page, r"padding-top:26\.66\d*px")

    def test_a_caret_is_drawn_only_where_the_keyboard_is(self) -> None:
        self.window.set_layout(TWO_GROUPS)
        self.window.focus_group(1)
        self.view_with("other")
        self.assertEqual(self.page().count("class='caret'"), 1)

    def test_wrapped_lines_and_tabs_are_drawn_in_cells(self) -> None:
        view = self.view_with("a\tb some words")
        view.settings().set("word_wrap", True)
        view.settings().set("wrap_width", 11)
        page = self.page()
        self.assertIn("a   b some ", page)
        self.assertEqual(self.tops("line", page), [0, LINE])
        self.assertEqual(self.tops("number", page), [0])

    def test_a_quick_panel_shows_its_entries_and_where_the_bar_is(self) -> None:
        item = self.sublime.QuickPanelItem("second", ["more"], "note")
        self.window.show_quick_panel([["first", "row"], item], self.log.append, selected_index=1)
        self.settle()
        page = self.page()
        self.assertIn("<div class='item'>first<small>row</small></div>", page)
        self.assertIn("<div class='item selected'>second  note<small>more</small></div>", page)

    def test_status_and_panel_are_drawn(self) -> None:
        self.view.set_status("key", "1 <waits>")
        panel = self.window.create_output_panel("toy")
        self.append(panel, "said")
        self.window.run_command("show_panel", {"panel": "output.toy"})
        page = self.page()
        self.assertIn("1 &lt;waits&gt;, Line 1, Column 1", page)
        self.assertIn("said", page)

    def test_a_light_scheme_gives_a_light_page(self) -> None:
        dark = self.page()
        preferences = self.sublime.load_settings("Preferences.sublime-settings")
        preferences.set("color_scheme", "Breakers.sublime-color-scheme")
        self.assertIn("background:#343d46", dark)
        self.assertNotIn("#343d46", self.page())
        self.assertIn("background:#f9fafa", self.page())


class CommandLine(EngineTestCase):
    def test_a_page_is_written_in_the_scheme_that_was_asked_for(self) -> None:
        script, page = os.path.join(self.work, "script.py"), os.path.join(self.work, "page.html")
        with open(script, "w", encoding="utf-8") as file:
            file.write("import sublime\nsublime.active_window().new_file().set_name('tab')\n")
        package = os.path.join(self.data, "Packages", "Toy2")
        os.makedirs(package)
        ran = run_editor(
            ["--package", package, "--exec", script, "--render", page, "--scheme", "light"]
        )
        self.assertEqual(ran.returncode, 0, ran.stderr)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("background:#f9fafa", text)
        self.assertIn("tab</div>", text)
