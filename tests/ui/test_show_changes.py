"""Show Changes: the proposals and unasked edits of a window in one view."""

from __future__ import annotations

from typing import Any, Generator

import sublime
from GeminiCompanion.companion.ui.changes.sheet import NOTHING, ChangeSheet
from GeminiCompanion.companion.ui.review.record import is_diff, seen, waiting

from .adapter import text_of
from .reviewing import ReviewCase, Steps

OLD = "".join(f"line {it}\n" for it in range(1, 31))


class SheetCase(ReviewCase):
    def propose_files(self, *pairs: tuple[str, str]) -> Generator[Any, Any, list[sublime.View]]:
        """Proposals of one CLI for the files 0.py, 1.py and so on."""
        self.cli = yield from self.connect()
        rights = []
        for number, (old, new) in enumerate(pairs):
            path = self.write(f"{number}.py", old)
            right = yield from self.diff(self.cli, path, new)
            yield from self.until_computed(right)
            rights.append(right)
        return rights

    def show(self) -> Generator[Any, Any, sublime.View]:
        self.run_command("show_changes")
        view = self.window.active_view()
        self.assertIs(view.settings().get("gemini_companion_changes"), True)
        yield from self.until_drawn(view)
        return view

    def sheet(self, view: sublime.View) -> ChangeSheet:
        found = self.running().sheets.of(view)
        self.assertIsNotNone(found)
        return found  # type: ignore[return-value]

    def until_drawn(self, view: sublime.View) -> Steps:
        answer = self.sheet(view).refresh()
        yield lambda: answer.is_there
        self.assertEqual(text_of(view), self.sheet(view).model.text)

    def decide(self, view: sublime.View, action: str, file: str = "", key: str = "") -> None:
        arguments = {"sheet": str(view.buffer_id()), "action": action, "file": file, "change": key}
        self.run_command("decide_changes", **arguments)

    def id(self, right: sublime.View) -> str:
        return waiting(right).id  # type: ignore[union-attr]

    def type(self, view: sublime.View, before: str, words: str) -> None:
        """Type the words behind this text."""
        point = text_of(view).index(before) + len(before)
        view.sel().clear()
        view.sel().add(sublime.Region(point))
        view.run_command("insert", {"characters": words})


class Showing(SheetCase):
    def test_without_changes_it_says_so(self) -> Steps:
        view = yield from self.show()
        self.assertEqual(text_of(view), f"{NOTHING}\n\n")

    def test_all_proposals_of_the_window_are_below_each_other(self) -> Steps:
        two = OLD.replace("line 2\n", "")
        yield from self.propose_files((OLD, OLD.replace("line 15", "LINE 15")), (OLD, two))
        view = yield from self.show()
        rows = text_of(view).splitlines()
        self.assertEqual(rows[0], "2 proposals in 2 files: 1 line added, 2 removed")
        self.assertIn("0.py  +1 -1, proposed by", rows[2])
        self.assertIn("LINE 15", rows)
        self.assertIn("line 2", rows)
        self.assertEqual(self.texts(view, "gemini_companion_changes_added_0"), ["LINE 15\n"])
        removed = self.texts(view, "gemini_companion_changes_removed_0")
        self.assertEqual(removed, ["line 15\n", "line 2\n"])

    def test_it_follows_what_comes_goes_and_is_typed_elsewhere(self) -> Steps:
        view = yield from self.show()
        (right,) = yield from self.propose_files((OLD, OLD.replace("line 3\n", "LINE 3\n")))
        yield from self.until_in("LINE 3", lambda: text_of(view))
        right.run_command("append", {"characters": "more\n"})
        yield from self.until_in("more\n", lambda: text_of(view))
        self.run_command("reject_diff", id=self.id(right))
        yield from self.until_equal(lambda: text_of(view), f"{NOTHING}\n\n")
        yield from self.until_rejected()

    def test_shown_again_it_is_the_same_view(self) -> Steps:
        view = yield from self.show()
        again = yield from self.show()
        self.assertEqual(view, again)


class Typing(SheetCase):
    def test_what_is_typed_in_an_added_line_is_in_the_proposal(self) -> Steps:
        (right,) = yield from self.propose_files((OLD, OLD.replace("line 3\n", "LINE 3\n")))
        view = yield from self.show()
        self.type(view, "LINE 3", " typed")
        expected = OLD.replace("line 3\n", "LINE 3 typed\n")
        yield from self.until_equal(lambda: text_of(right), expected)
        yield from self.until_computed(right)
        yield from self.until_drawn(view)
        self.assertIn("LINE 3 typed\n", text_of(view))
        view.run_command("undo")
        yield from self.until_equal(lambda: text_of(right), OLD.replace("line 3\n", "LINE 3\n"))

    def test_what_is_typed_elsewhere_is_put_back(self) -> Steps:
        (right,) = yield from self.propose_files((OLD, OLD.replace("line 3\n", "LINE 3\n")))
        view = yield from self.show()
        before = text_of(view)
        for place in ("0.py", "line 2", "line 3", "line 4", "1 proposal"):
            self.type(view, place, "x")
            yield from self.until_equal(lambda: text_of(view), before)
        self.assertEqual(text_of(right), OLD.replace("line 3\n", "LINE 3\n"))


class Deciding(SheetCase):
    def test_a_change_is_kept_and_dropped(self) -> Steps:
        new = OLD.replace("line 3\n", "LINE 3\n").replace("line 20\n", "LINE 20\n")
        (right,) = yield from self.propose_files((OLD, new))
        view = yield from self.show()
        first, second = self.review(right).comparison.keys  # type: ignore[union-attr]
        self.decide(view, "keep_change", self.id(right), first)
        yield lambda: first in seen(right)
        self.decide(view, "drop_change", self.id(right), second)
        yield from self.until_equal(lambda: text_of(right), OLD.replace("line 3\n", "LINE 3\n"))
        yield lambda: "LINE 20" not in text_of(view)

    def test_a_file_is_accepted_with_what_was_typed_in_the_sheet(self) -> Steps:
        (right,) = yield from self.propose_files((OLD, OLD.replace("line 3\n", "LINE 3\n")))
        view = yield from self.show()
        self.type(view, "LINE 3", " typed")
        self.decide(view, "accept_file", self.id(right))
        yield lambda: not is_diff(right)
        yield lambda: self.cli.received("ide/diffAccepted")
        (told,) = self.cli.received("ide/diffAccepted")
        self.assertIn("LINE 3 typed\n", told["content"])

    def test_all_are_accepted_after_the_user_is_told_what_is_counted(self) -> Steps:
        news = [OLD.replace("line 3\n", f"{it}\n") for it in "ab"]
        rights = yield from self.propose_files(*((OLD, new) for new in news))
        view = yield from self.show()
        panels = self.panels()
        self.decide(view, "accept_all")
        yield lambda: panels
        asked = "Accept 2 proposals in 2 files, 2 lines added, 2 removed?"
        self.assertEqual(panels[0]["placeholder"], asked)
        panels[0]["on_select"](0)
        yield lambda: not any(is_diff(it) for it in rights)
        yield lambda: len(self.cli.received("ide/diffAccepted")) == 2
        yield from self.until_equal(lambda: text_of(view), f"{NOTHING}\n\n")

    def test_what_comes_or_changes_while_the_user_is_asked_waits(self) -> Steps:
        first, second = yield from self.propose_files((OLD, "a\n" + OLD), (OLD, "b\n" + OLD))
        view = yield from self.show()
        panels, told = self.panels(), self.told()
        self.decide(view, "reject_all")
        yield lambda: panels
        second.run_command("append", {"characters": "more\n"})
        third = yield from self.diff(self.cli, self.write("third.py", OLD), "c\n" + OLD)
        panels[0]["on_select"](0)
        yield lambda: not is_diff(first)
        yield from self.until_rejected()
        self.assertTrue(is_diff(second) and is_diff(third))
        yield lambda: any("1 of 2 rejected. 1 changed meanwhile" in it for it in told)
