"""What is drawn of a proposal: three layouts, wrapped lines, the head, the colours."""

from __future__ import annotations

import os
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.base.comparison import compare_texts
from GeminiCompanion.companion.ui.review import between, head, marks, open_diffs, record, scrolling
from GeminiCompanion.companion.ui.review.open_diffs import partner_view

from .adapter import text_of
from .reviewing import LINES, ReviewCase, Steps, changed

try:
    from headless import running
except ImportError:
    running = None  # type: ignore[assignment]


def phantoms(view: sublime.View, key: str) -> list[str]:
    """The HTML of the phantoms in a view of the headless editor, from top to bottom."""
    found = running.current().view(view.id()).phantoms
    mine = [each for each in found if each.key.startswith(key)]
    return [each.content for each in sorted(mine, key=lambda each: min(each.region))]


class DrawingCase(ReviewCase):
    def setUp(self) -> None:
        if running is None:
            self.skipTest("only the headless editor tells what is drawn")
        super().setUp()


class Columns(DrawingCase):
    def test_both_sides_stand_beside_the_users_group_and_the_layout_comes_back(self) -> Steps:
        before = self.window.layout()
        self.set("diff_layout", "columns")
        right = yield from self.propose("a\n", "b\n")
        self.assertEqual(len(self.window.layout()["rows"]), 2)
        self.assertEqual(self.window.get_view_index(partner_view(right))[0], 1)
        self.assertEqual(self.window.get_view_index(right)[0], 2)
        self.run_command("reject_diff")
        yield from self.until_rejected()
        yield lambda: self.window.layout() == before


class AfterARestart(DrawingCase):
    def test_nothing_is_drawn_twice_and_nobody_looks_for_the_companion_before(self) -> Steps:
        right = yield from self.propose("a\nb\n", "a\n1\n2\nb\n")
        left = partner_view(right)
        yield lambda: phantoms(left, between.KEY)
        before, drawn = self.running(), phantoms(left, between.KEY)
        sublime.run_command("gemini_companion_restart_companion")
        with mock.patch.object(scrolling, "_read_places") as looked:
            before.diffs.scrolling._look_at_pair(self.window)
        looked.assert_not_called()
        yield lambda: plugin._host.environment_of(self.window)
        yield from self.until_computed(right)
        yield from self.until_equal(lambda: phantoms(left, between.KEY), drawn)
        self.cli.resume()
        yield self.cli.connected


class Inline(DrawingCase):
    def setUp(self) -> None:
        super().setUp()
        self.set("diff_layout", "inline")

    def test_there_is_one_view_and_the_deleted_lines_stand_between_its_lines(self) -> Steps:
        right = yield from self.propose("a\nx <1>\n\ty\nb\n", "a\nnew\nb\n")
        self.assertFalse(partner_view(right).is_valid())
        yield lambda: self.window.num_groups() == 2
        yield lambda: phantoms(right, between.KEY)
        (html,) = phantoms(right, between.KEY)
        self.assertIn("x&nbsp;&lt;1&gt;", html)
        self.assertIn("&nbsp;&nbsp;&nbsp;&nbsp;y", html)
        self.assertNotIn("new", html)
        self.assertEqual(text_of(right), "a\nnew\nb\n")
        # Above the deleted lines stand the links of the change.
        self.assertLess(html.index(">Keep<"), html.index("x&nbsp;"))
        yield lambda: self.height(right, 1) == self.height(right, 0) + self.of(right, 0, 4)

    def of(self, right: sublime.View, row: int, lines: int) -> float:
        """The height of so many lines, and of what the head takes below the row."""
        first = phantoms(right, head.PHANTOM)[0].count("<br>") + 1 if row == 0 else 0
        return right.line_height() * (lines + first)

    def test_a_decision_closes_it_and_the_layout_comes_back(self) -> Steps:
        before = self.window.layout()
        right = yield from self.propose("a\n", "b\n")
        self.run_command("accept_diff")
        yield lambda: self.cli.received("ide/diffAccepted")
        yield lambda: not right.is_valid() and self.window.layout() == before

    def test_a_dropped_change_takes_its_deleted_lines_along(self) -> Steps:
        right = yield from self.propose("a\nb\n", "a\nc\n")
        yield lambda: phantoms(right, between.KEY)
        self.run_command("drop_change")
        yield lambda: not phantoms(right, between.KEY)
        self.assertEqual(text_of(right), "a\nb\n")

    def test_the_head_says_what_the_tab_of_the_left_side_says_otherwise(self) -> Steps:
        right = yield from self.propose("a\r\nb\r\n", "a\nc\n")
        self.assertIn("file.txt (on disk, CRLF)", phantoms(right, head.PHANTOM)[0])

    def test_after_a_restart_the_file_is_read_again(self) -> Steps:
        right = yield from self.propose("a\nb\n", "a\nc\n")
        yield lambda: phantoms(right, between.KEY)
        plugin.plugin_unloaded()
        # As after a restart: the settings are those of before, the ids are others.
        its = record.read_record(right)
        record.update_record(right, its, view_id=99999)
        right.erase_phantoms(head.PHANTOM)
        plugin.plugin_loaded()
        yield lambda: plugin._host.environment_of(self.window)
        yield lambda: record.is_diff(right) and plugin._host.running.diffs.reviews.review_of(right)
        yield from self.until_computed(right)
        yield lambda: phantoms(right, between.KEY)
        self.assertEqual(self.texts(right, marks.LINES), ["c\n"])
        self.cli.resume()
        yield self.cli.connected
        yield self.cli.call("closeDiff", filePath=self.path).done

    def test_a_thousand_deleted_lines_are_shown_in_part(self) -> None:
        side = compare_texts("".join(f"{row}\n" for row in range(1000)), "").old
        html = between.deleted_html(side, 0, 1000, ("", ""))
        self.assertEqual(html.count("<div>"), between.MAX_ROWS + 1)
        self.assertIn("800 more deleted lines", html)
        long = between.deleted_html(compare_texts("<" * 9999, "").old, 0, 1, ("", ""))
        self.assertLess(len(long), 9 * between.MAX_LENGTH)

    def test_what_differs_in_a_deleted_line_is_marked_in_it(self) -> None:
        side = compare_texts("same\n\tsum <old> sum\n\n", "same\n\tsum <new> sum\n").old
        html = between.deleted_html(side, 1, 3, ("", "mark"))
        row = '&nbsp;&nbsp;&nbsp;&nbsp;sum&nbsp;&lt;<span style="mark">old</span>&gt;&nbsp;sum'
        self.assertIn(f"<div>{row}</div><div>&nbsp;</div>", html)

    def test_it_is_marked_as_the_colour_scheme_marks_it(self) -> Steps:
        right = yield from self.propose("x = 1\n", "x = 2\n")
        yield lambda: phantoms(right, between.KEY)
        (html,) = phantoms(right, between.KEY)
        lines, characters = marks.deleted_styles(right)
        self.assertNotEqual(lines, characters)
        self.assertIn(f'<span style="{characters}">1</span>', html)


class Covering(DrawingCase):
    """What a person reads of a proposal stands over no text of it, whatever its lines are like."""

    OLD = "".join(f"line {row}\n" for row in range(30))
    LONG = "a long line " * 30

    def proposal(self) -> str:
        """Lines are changed, brought in and taken away, up to both ends; some are long."""
        lines = self.OLD.splitlines()
        lines[5], lines[25:27] = self.LONG, []
        lines[10:12] = [self.LONG, "two", self.LONG, "four"]
        return "\n".join(["first", *lines, self.LONG]) + "\n"

    def annotations(self, view: sublime.View) -> list[str]:
        found = running.current().view(view.id()).marks.values()
        return [text for marks in found for text in marks.annotations]

    def blocks(self, view: sublime.View, name: str) -> dict[int, str]:
        """What stands below the rows of the view, of that class."""
        found = running.current().view(view.id()).phantoms
        return {
            view.rowcol(min(each.region))[0]: each.content
            for each in found
            if each.key == between.KEY and f'class="{name}"' in each.content
        }

    def until_level(self, right: sublime.View) -> Steps:
        """Until equal lines stand at equal heights, but for the first one of all."""
        left = partner_view(right)
        review = self.review(right)
        pairs = [
            (review.comparison.anchor(row, True), row)
            for row in range(1, right.rowcol(right.size())[0])
        ]
        equal = [(found[1], row) for found, row in pairs if found is not None and found[0] == row]
        self.assertGreater(len(equal), 20)

        def uneven() -> list[tuple[int, int]]:
            pairs = [each for each in equal if each[0]]
            return [(a, b) for a, b in pairs if self.height(left, a) != self.height(right, b)]

        yield from self.until_equal(uneven, [])

    def comment_on(self, right: sublime.View, row: int, text: str) -> Steps:
        right.sel().clear()
        right.sel().add(right.text_point(row, 0))
        inputs = self.inputs()
        self.window.focus_view(right)
        self.run_command("comment_on_diff")
        inputs[0](text)
        yield from self.until_turn()

    def test_links_stand_above_their_changes_in_every_layout(self) -> Steps:
        for layout in ("below", "columns", "inline"):
            self.set("diff_layout", layout)
            right = yield from self.propose(self.OLD, self.proposal(), f"{layout}.txt")
            yield lambda: len(self.blocks(right, between.CHANGE)) == 5  # noqa: B023
            rows = self.review(right).comparison.new_starts
            self.assertEqual(rows[0], 0)
            # Above the first line there is no place.
            self.assertEqual(
                sorted(self.blocks(right, between.CHANGE)), [0, *(row - 1 for row in rows[1:])]
            )
            self.assertEqual(self.annotations(right), [])
            if layout != "inline":
                yield from self.until_level(right)
            self.run_command("reject_diff")
            yield from self.until_rejected()

    def test_comments_stand_below_their_lines_and_both_sides_stay_level(self) -> Steps:
        for wrapped in (False, True):
            self.set("diff_word_wrap", wrapped)
            right = yield from self.propose(self.OLD, self.proposal(), f"{wrapped}.txt")
            last = right.rowcol(right.size())[0] - 1
            for row in (0, 3, 6, 12, 13, 20, last):
                yield from self.comment_on(right, row, f"comment {row} " * 20)
            yield lambda: len(self.blocks(right, between.COMMENT)) == 7  # noqa: B023
            self.assertEqual(
                sorted(self.blocks(right, between.COMMENT)), [0, 3, 6, 12, 13, 20, last]
            )
            # A line of a phantom that is wider than the view would be cut off.
            yield lambda: self.blocks(right, between.COMMENT)[3].count("<br>") > 1  # noqa: B023
            self.assertEqual(self.annotations(right), [])
            yield from self.until_level(right)
            right.sel().clear()
            right.sel().add(0)
            right.run_command("insert", {"characters": "typed\n"})
            yield lambda: 21 in self.blocks(right, between.COMMENT)  # noqa: B023
            yield from self.until_computed(right)
            yield from self.until_level(right)
            self.run_command("reject_diff")
            yield from self.until_rejected()

    def test_a_comment_on_what_is_not_compared_is_shown_too(self) -> Steps:
        cli = yield from self.connect()
        path = os.path.join(self.folder, "binary")
        with open(path, "wb") as file:
            file.write(b"\0\1\2")
        right = yield from self.diff(cli, path, "one\ntwo\n")
        yield from self.comment_on(right, 1, "why <b>?")
        yield from self.until_equal(lambda: list(self.blocks(right, between.COMMENT)), [1])
        self.assertIn("why &lt;b&gt;?", self.blocks(right, between.COMMENT)[1])
        right.close()
        yield lambda: cli.received("ide/diffRejected")


class Wrapped(DrawingCase):
    def test_lines_are_not_wrapped_unless_the_user_wants_it(self) -> Steps:
        right = yield from self.propose("a\n", "b\n")
        for view in (right, partner_view(right)):
            self.assertIs(view.settings().get("word_wrap"), False)

    def test_equal_lines_stand_at_equal_heights_where_lines_are_wrapped(self) -> Steps:
        self.set("diff_word_wrap", True)
        long = "word " * 200 + "\n"
        right = yield from self.propose(
            "a\nb\n" + long + "c\n" + "short\n" + "d\n", "a\n" + long + "b\nx\nc\n" + long + "d\n"
        )
        left = partner_view(right)
        self.assertIs(right.settings().get("word_wrap"), True)
        rows = self.review(right).comparison
        pairs = [(rows.anchor(row, True), row) for row in range(len(rows.new.rows))]
        equal = [found for found, row in pairs if found is not None and found[0] == row]
        self.assertGreater(len(equal), 2)
        yield lambda: all(self.height(left, b) == self.height(right, a) for a, b in equal[1:])

    def test_a_tab_of_the_users_is_wrapped_as_all_others(self) -> Steps:
        right = yield from self.propose("a\n", "b\n")
        self.run_command("release_diff")
        yield from self.until_rejected()
        yield lambda: not record.is_diff(right) and not right.is_scratch()
        self.assertNotEqual(right.settings().get("word_wrap"), False)


class Heads(DrawingCase):
    def test_both_heads_are_equally_high(self) -> Steps:
        right = yield from self.propose("a\nb\nc\nd\n", "a\nb\nc\nD\n")
        left = partner_view(right)
        yield lambda: self.height(left, 1) == self.height(right, 1)
        self.review(right).notes["test"] = "Something that has to be said."
        self.running().diffs.reviews.drawing.draw_head(right)
        yield lambda: "has to be said" in phantoms(right, head.PHANTOM)[0]
        yield lambda: self.height(left, 3) == self.height(right, 3)

    def test_the_left_one_says_what_the_left_side_is(self) -> Steps:
        right = yield from self.propose("a\r\n", "b\n")
        self.assertIn("On disk, CRLF", phantoms(partner_view(right), head.PHANTOM)[0])

    def test_below_lines_that_were_added_at_the_top_equal_ones_stand_level(self) -> Steps:
        right = yield from self.propose("a\nb\nc\n", "1\n2\na\nb\nc\n")
        left = partner_view(right)
        for old, new in ((1, 3), (2, 4)):
            yield lambda: self.height(left, old) == self.height(right, new)  # noqa: B023

    def test_the_change_before_the_eyes_is_counted_and_decides_on_the_whole(self) -> Steps:
        new = changed(LINES, _10="x\n", _400="y\n", _880="z\n")
        right = yield from self.propose("".join(LINES), new)
        yield lambda: "change 1 of 3" in phantoms(right, head.PHANTOM)[0]
        self.run_command("next_change")
        yield lambda: "change 2 of 3" in phantoms(right, head.PHANTOM)[0]

        def offered() -> list[tuple[bool, bool]]:
            found = phantoms(right, between.KEY)
            return [("Accept" in phantom, "Reject" in phantom) for phantom in found]

        yield from self.until_equal(offered, [(False, False), (True, True), (False, False)])

    def test_the_caret_that_the_user_moves_is_followed(self) -> Steps:
        right = yield from self.propose(changed(LINES[:9]), changed(LINES[:9], _2="x\n", _8="y\n"))
        right.sel().clear()
        right.sel().add(right.text_point(7, 0))
        yield lambda: "change 2 of 2" in phantoms(right, head.PHANTOM)[0]

    def test_since_when_it_waits_and_release_are_always_there(self) -> Steps:
        right = yield from self.propose("a\n", "b\n")
        html = phantoms(right, head.PHANTOM)[0]
        self.assertRegex(html, r"Gemini CLI has been waiting since \d\d:\d\d")
        self.assertIn(">Release<", html)

    def test_a_released_proposal_has_nothing_of_ours_drawn(self) -> Steps:
        right = yield from self.propose("a\nb\nc\n", "a\nB\nB\n")
        yield lambda: running.current().view(right.id()).marks
        self.run_command("release_diff")
        yield from self.until_rejected()
        yield lambda: not record.is_diff(right)
        yield lambda: not running.current().view(right.id()).phantoms
        yield lambda: not running.current().view(right.id()).marks


class Waiting(DrawingCase):
    def test_the_status_bar_says_how_many_wait(self) -> Steps:
        typing = yield from self.open("typing.py", "x\n")
        cli = yield from self.connect()
        yield from self.diff(cli, self.write("a.py", "a\n"), "1\n")
        yield from self.diff(cli, self.write("b.py", "b\n"), "2\n")
        yield lambda: typing.get_status("gemini_companion") == "Gemini: 2 waiting"
        for rest in ("Gemini: 1 waiting", "Gemini"):
            self.run_command("reject_diff")
            yield lambda: self.window.active_view().get_status("gemini_companion") == rest  # noqa: B023
        yield from self.until_equal(lambda: typing.get_status("gemini_companion"), "Gemini")
        yield lambda: len(cli.received("ide/diffRejected")) == 2

    def test_a_message_names_the_file_of_a_new_proposal(self) -> Steps:
        told = self.told()
        yield from self.propose("a\n", "b\n", "shop.py")
        yield lambda: "Gemini Companion: Gemini CLI proposes an edit of shop.py." in told

    def test_two_clis_on_one_file_are_told_apart(self) -> Steps:
        one = yield from self.connect()
        two = yield from self.connect()
        yield from self.until_connected(2)
        path = self.write("a.py", "a\n")
        first = yield from self.diff(one, path, "1\n")
        second = yield from self.diff(two, path, "2\n")
        names = {first.name(), second.name()}
        self.assertEqual(len(names), 2)
        for name in names:
            self.assertRegex(name, r"^a\.py \(proposed by Gemini CLI \d+\)$")


BARE = """{"name": "Bare", "globals": {"background": "#ffffff", "foreground": "#000000"},
    "rules": [{"scope": "comment", "foreground": "#888888"}]}"""


class Schemes(DrawingCase):
    def use(self, name: str) -> None:
        preferences = sublime.load_settings("Preferences.sublime-settings")
        before = preferences.get("color_scheme")
        preferences.set("color_scheme", name)
        self.addCleanup(preferences.set, "color_scheme", before)

    def until_scopes(self, view: sublime.View, lines: str, characters: str) -> Steps:
        """Until the lines and the characters that differ are drawn as these scopes."""

        def scopes() -> list[str]:
            drawn = self.drawn(view)
            return [drawn[key][0] for key in (marks.LINES, marks.CHARACTERS) if key in drawn]

        yield from self.until_equal(scopes, [lines, characters])

    def drawn(self, right: sublime.View) -> dict[str, tuple[str, int]]:
        found = running.current().view(right.id()).marks
        return {key: (found[key].scope, int(found[key].flags)) for key in found}

    def test_light_and_dark_schemes_colour_differences_themselves(self) -> Steps:
        for name in ("Mariana.sublime-color-scheme", "Breakers.sublime-color-scheme"):
            self.use(name)
            right = yield from self.propose("a b\n", "a c\n")
            yield from self.until_scopes(right, "diff.inserted", "diff.inserted.char")
            self.assertFalse(self.drawn(right)[marks.LINES][1] & sublime.DRAW_NO_FILL)
            self.run_command("reject_diff")
            yield from self.until_rejected()
            yield lambda: not list(open_diffs.undecided_diffs(self.window))

    def test_a_scheme_without_colours_of_differences_gets_outlines(self) -> Steps:
        self.use(self.bare())
        right = yield from self.propose("a b\n", "a c\n")
        yield from self.until_scopes(right, "region.greenish", "region.greenish")
        yield from self.until_scopes(partner_view(right), "region.redish", "region.redish")
        drawn = self.drawn(right)
        self.assertEqual(drawn[marks.LINES][1], int(sublime.DRAW_NO_FILL))
        self.assertTrue(drawn[marks.CHARACTERS][1] & sublime.DRAW_SOLID_UNDERLINE)
        self.assertIn("color: ", marks.deleted_styles(right)[0])
        self.assertNotIn("background", " ".join(marks.deleted_styles(right)))

    def bare(self) -> str:
        """A colour scheme among the user's packages, for the time of the test."""
        folder = os.path.join(sublime.packages_path(), "User")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "Bare.sublime-color-scheme")
        with open(path, "w", encoding="utf-8") as file:
            file.write(BARE)
        self.addCleanup(os.remove, path)
        return "Bare.sublime-color-scheme"
