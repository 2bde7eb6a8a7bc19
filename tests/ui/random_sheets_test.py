"""Sheets in random order: what is typed, dropped and decided in one is what the files' own reviews
have, what cannot be typed in stays, and the texts that the CLI is told are those of the reference.

Forty sequences, the same ones each time; `make fuzz` runs as many times FUZZ, new ones. One that
fails tells its seed; SEED=n in the environment runs that one alone.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import tempfile
import unittest
from contextlib import ExitStack
from typing import Any, Callable, Sequence
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.base.unified import NO_LINE_END
from GeminiCompanion.companion.ui import texts
from GeminiCompanion.companion.ui.review import open_diffs, pace
from GeminiCompanion.companion.ui.review.record import is_diff, waiting_record

from ..fake_cli import FakeCli
from . import random_texts
from .adapter import text_of
from .own_thread import PATIENCE, until
from .shown_proposal import check, quadruples

ROUNDS = int(os.environ.get("FUZZ", "1"))
SEQUENCES = 40
# Seeds from which those of `make fuzz` are.
MANY = 1_000_000_000
STEPS = {
    "type": 6,
    "type_outside": 3,
    "drop_file": 1,
    "drop": 3,
    "undo": 2,
    "type_elsewhere": 2,
    "come": 2,
    "reject": 1,
}
ADDED, REMOVED = "gemini_companion_changes_added_0", "gemini_companion_changes_removed_0"


def seeds() -> Sequence[int]:
    if "SEED" in os.environ:
        return [int(os.environ["SEED"])]
    first = 0 if ROUNDS == 1 else random.SystemRandom().randrange(MANY)
    return range(first, first + SEQUENCES * ROUNDS)


class RandomSheet:
    """What a user does in one sheet; `texts` has what each proposal is to be, by its path."""

    def __init__(self, window: sublime.Window, cli: FakeCli, folder: str, seed: int) -> None:
        self.window, self.cli, self.chance = window, cli, random.Random(seed)
        self.folder = os.path.join(folder, str(seed))
        os.mkdir(self.folder)
        self.views: dict[str, sublime.View] = {}
        self.olds: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        self.steps: list[str] = []
        # The files that were changed from the sheet, the last one last; and the earlier texts of
        # each, one for each step that can be undone.
        self.changed: list[str] = []
        self.past: dict[str, list[str]] = {}
        self.questions: list[tuple[Callable[[int], None], str]] = []

    def ask(self, _items: Any, select: Any, *_: Any, placeholder: str = "", **__: Any) -> None:
        self.questions.append((select, placeholder))

    def run(self) -> None:
        self.window.run_command("gemini_companion_show_changes", {"show": "tab"})
        self.view = self.window.active_view()
        self.come()
        for _ in range(self.chance.randint(1, 9)):
            self.settle()
            (step,) = self.chance.choices(list(STEPS), list(STEPS.values()))
            self.steps.append(step)
            getattr(self, step)()
        self.settle()
        self.decide_all(self.chance.random() < 0.7)

    def settle(self) -> None:
        """Until the sheet shows all as it is; then each file is shown rightly."""
        running = plugin._host.running
        # What this thread saw was perhaps seen amid a command: a text before its change count.
        self.turn()
        until(self.are_known, "the changes are known")
        sheet = running.changes.sheets.sheet_of(self.view)
        answers: list[Any] = []
        sublime.set_timeout(lambda: answers.append(sheet.refresh()))
        until(lambda: answers and answers[0].is_there, "the sheet is drawn")
        self.turn()
        self.turn()
        check(text_of(self.view) == sheet.model.text, "the sheet is not its model")
        for path, view in self.views.items():
            check(text_of(view) == self.texts[path], repr(text_of(view)), repr(self.texts[path]))
        self.look()

    def are_known(self) -> bool:
        reviews = plugin._host.running.diffs.reviews
        return all(reviews.review_of(view).is_current(view) for view in self.views.values())

    def look(self) -> None:
        """The rows of each file, by their colours, are parts of its two texts."""
        added, removed = (self.rows(key) for key in (ADDED, REMOVED))
        path, new, at = "", -1, {"added": 0, "removed": 0}
        counts: dict[str, dict[str, int]] = {name: dict(at) for name in self.views}
        for row, line in enumerate(text_of(self.view).split("\n")):
            heading = re.match(r"## (.*)  \+(\d+) -(\d+), ", line)
            place = re.fullmatch(r"@@ line (\d+) @@", line)
            if heading and heading[1] in self.views:
                path, new = heading[1], -1
            elif place and path:
                new = int(place[1]) - 1
            elif row in removed:
                counts[path]["removed"] += 1
                check(line in self.olds[path].split("\n"), "a removed row is none", line)
            elif new >= 0 and line and line + "\n" != NO_LINE_END:
                counts[path]["added"] += row in added
                rows = self.texts[path].split("\n")
                check(rows[new] == line, f"row {new} is {rows[new]!r} and not {line!r}")
                new += 1
            elif new >= 0 and not line:
                rows = self.texts[path].split("\n")
                new += new < len(rows) and not rows[new]
                counts[path]["added"] += row in added
        for path, view in self.views.items():
            found = plugin._host.running.diffs.reviews.review_of(view).comparison.counts
            check(tuple(counts[path].values()) == found, "counts:", counts[path], found)

    def rows(self, key: str) -> set[int]:
        found: set[int] = set()
        for region in self.view.get_regions(key):
            first, last = (self.view.rowcol(point)[0] for point in (region.begin(), region.end()))
            found |= set(range(first, last))
        return found

    # ----- steps

    def come(self) -> None:
        path = os.path.join(self.folder, f"{len(self.olds)}.txt")
        if len(self.views) == 3:
            return
        old = random_texts.text(self.chance)
        new = random_texts.edited(self.chance, old)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(old)
        self.steps.append(f"{path}: {old!r} -> {new!r}")
        answer = self.cli.call("openDiff", filePath=path, newContent=new).result(PATIENCE)
        check(answer == {"content": []}, answer)
        view = open_diffs.find_diff(self.window, self.cli.headers["Mcp-Session-Id"], path)
        self.views[path], self.texts[path], self.olds[path] = view, text_of(view), old
        until(lambda: plugin._host.running.diffs.reviews.review_of(view) is not None, "a review")

    def type(self) -> None:
        regions = [each for each in self.view.get_regions(ADDED) if not each.empty()]
        if not regions:
            return
        region, number = self.chance.choice(regions), len(self.steps)
        point = self.chance.randint(region.begin(), region.end() - 1)
        words = self.chance.choice((f"typed{number}", f"ty\nped{number}", f"typed{number}\n"))
        headings = self.view.find_all(r"^## .*  \+\d+ -\d+, ")
        above = [heading for heading in headings if heading.begin() < point]
        path = self.view.substr(above[-1])[3:].split("  +")[0]
        self.steps.append(f"{words!r} at {point}")
        self.put(point, words)
        right, before = self.views[path], self.texts[path]
        until(lambda: words in text_of(right), f"{words!r} is in the proposal")
        now = text_of(right)
        check(now.replace(words, "", 1) == before, "more has changed:", repr(before), repr(now))
        self.changed.append(path)
        self.becomes(path, now)

    def type_outside(self) -> None:
        inside = [range(region.begin(), region.end()) for region in self.view.get_regions(ADDED)]
        point = self.chance.randrange(self.view.size())
        if any(point in span for span in inside):
            return
        before = text_of(self.view)
        self.put(point, "outside")
        until(lambda: text_of(self.view) == before, "it is put back", lambda: text_of(self.view))

    def put(self, point: int, words: str) -> None:
        def put() -> None:
            self.view.sel().clear()
            self.view.sel().add(sublime.Region(point))
            if "\n" in words:
                # The editor would indent what is typed.
                texts.replace_parts(self.view, [(sublime.Region(point), words)])
            else:
                self.view.run_command("insert", {"characters": words})

        self.window.focus_view(self.view)
        sublime.set_timeout(put)
        self.turn()

    def drop(self) -> None:
        path = self.chance.choice(list(self.views) or [""])
        comparison = (
            path and plugin._host.running.diffs.reviews.review_of(self.views[path]).comparison
        )
        if not comparison or len(comparison.keys) < 2:
            return
        number = self.chance.randrange(len(comparison.keys))
        old_start, old_end, start, end = quadruples(comparison)[number]
        rows = list(comparison.new.rows)
        rows[start:end] = comparison.old.rows[old_start:old_end]
        self.changed.append(path)
        self.becomes(path, "".join(rows))
        self.decide("drop_change", path, comparison.keys[number])
        view = self.views[path]
        until(lambda: text_of(view) == self.texts[path], "it is dropped", lambda: text_of(view))

    def drop_file(self) -> None:
        path = self.chance.choice(list(self.views) or [""])
        comparison = (
            path and plugin._host.running.diffs.reviews.review_of(self.views[path]).comparison
        )
        if not comparison or not comparison.keys:
            return
        self.changed.append(path)
        self.becomes(path, self.olds[path])
        self.decide("drop_file", path)
        view = self.views[path]
        until(lambda: text_of(view) == self.texts[path], "all is dropped", lambda: text_of(view))

    def type_elsewhere(self) -> None:
        if not self.views:
            return
        path = self.chance.choice(list(self.views))
        words = f"elsewhere{len(self.steps)}\n"
        self.views[path].run_command("append", {"characters": words})
        self.becomes(path, self.texts[path] + words)

    def becomes(self, path: str, text: str) -> None:
        self.past.setdefault(path, []).append(self.texts[path])
        self.texts[path] = text

    def undo(self) -> None:
        while self.changed and self.changed[-1] not in self.views:
            self.changed.pop()
        if not self.changed:
            return
        path = self.changed.pop()
        self.texts[path] = before = self.past[path].pop()
        self.window.focus_view(self.view)
        self.view.run_command("undo")
        view = self.views[path]
        until(lambda: text_of(view) == before, "it is undone", lambda: text_of(view))

    def reject(self) -> None:
        if not self.views:
            return
        path = self.chance.choice(list(self.views))
        self.decide("reject_file", path)
        self.is_gone(path)

    # ----- decisions

    def decide(self, action: str, path: str = "", change: str = "") -> None:
        arguments = {"sheet": str(self.view.buffer_id()), "action": action, "change": change}
        file = waiting_record(self.views[path]).id if path else ""
        self.window.run_command("gemini_companion_decide_changes", {**arguments, "file": file})

    def decide_all(self, accept: bool) -> None:
        # An emptied proposal is asked about once more, and one that is the file is rejected.
        is_left = all(text not in ("", self.olds[path]) for path, text in self.texts.items())
        accept = accept and is_left
        paths = list(self.views)
        self.questions.clear()
        self.decide("accept_all" if accept else "reject_all")
        if not paths:
            return
        until(lambda: self.questions, "a question")
        (select, placeholder) = self.questions.pop()
        check(f"{len(paths)} proposal" in placeholder, placeholder)
        left = self.chance.choice(paths) if self.chance.random() < 0.4 else ""
        if left:
            self.views[left].run_command("append", {"characters": "meanwhile\n"})
            self.texts[left] += "meanwhile\n"
        select(0)
        for path in paths:
            if path != left and accept:
                self.was_accepted(path)
            if path != left:
                self.is_gone(path)
        check(not left or is_diff(self.views[left]), "what has changed was decided")

    def was_accepted(self, path: str) -> None:
        text = self.texts[path]
        until(lambda: self.told(path, "Accepted"), "it is accepted")
        check(self.told(path, "Accepted") == [text], repr(text))
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)

    def told(self, path: str, how: str) -> list[str]:
        told = self.cli.received(f"ide/diff{how}")
        return [params.get("content", "") for params in told if params["filePath"] == path]

    def is_gone(self, path: str) -> None:
        view = self.views.pop(path)
        del self.texts[path]
        until(lambda: not is_diff(view), "it is decided")

    def turn(self) -> None:
        reached: list[None] = []
        sublime.set_timeout(lambda: reached.append(None))
        until(lambda: reached, "a turn")

    def clean_up(self) -> None:
        for view, record in list(open_diffs.undecided_diffs(self.window)):
            if record.is_unopened:
                plugin._host.running.review.actions.reject_proposal(view)
            else:
                view.close()
        until(lambda: not list(open_diffs.undecided_diffs(self.window)), "no diffs any more")
        self.turn()
        for view in self.window.views():
            view.set_scratch(True)
            view.close()


class RandomSheets(unittest.TestCase):
    def test_what_is_done_in_a_sheet_is_done_to_the_proposals(self) -> None:
        window = sublime.active_window()
        until(lambda: plugin._host.environment_of(window), "an environment")
        cli = FakeCli(plugin._host.environment_of(window))
        self.addCleanup(cli.close)
        until(cli.connected, "a stream")
        folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder, True)
        for seed in seeds():
            sheet = RandomSheet(window, cli, folder, seed)
            with ExitStack() as stack:
                # It presses faster than a person.
                stack.enter_context(mock.patch.object(pace, "MOMENT", 0))
                stack.enter_context(
                    mock.patch.object(sublime.Window, "show_quick_panel", sheet.ask)
                )
                stack.callback(sheet.clean_up)
                try:
                    sheet.run()
                except BaseException:
                    print(f"SEED={seed}", *sheet.steps, sep="\n  ")
                    raise
            cli.notifications.clear()
