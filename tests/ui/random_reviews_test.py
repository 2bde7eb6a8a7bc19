"""Reviews in random order, against a reference: the text that is accepted is the right one, a user
who dropped everything is asked what they mean, and nothing that was typed is nowhere.

A hundred and fifty sequences, the same ones each time; `make fuzz` runs twice as many times FUZZ,
new ones. One that fails tells its seed; SEED=n in the environment runs that one alone.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import unittest
from contextlib import ExitStack
from functools import partial
from typing import Any, Callable, Iterator, Sequence
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.base import changes as changes_module
from GeminiCompanion.companion.base import comparison as comparison_module
from GeminiCompanion.companion.base import digest as digest_module
from GeminiCompanion.companion.ide import diffs, disk_check
from GeminiCompanion.companion.ui import settings
from GeminiCompanion.companion.ui.review import (
    comments,
    diff_kinds,
    large,
    open_diffs,
    single_changes,
)
from GeminiCompanion.companion.ui.review.record import is_diff, seen_changes

from ..fake_cli import FakeCli
from . import random_texts, reference
from .adapter import text_of
from .own_thread import PATIENCE, until
from .shown_proposal import ShownProposal, check, quadruples

ROUNDS = int(os.environ.get("FUZZ", "1"))
SEQUENCES = 150 if ROUNDS == 1 else 300
# Seeds from which those of `make fuzz` are.
MANY = 1_000_000_000
# Of so many sequences, one has texts that are really large.
SELDOM = 150
# How often each comes, in proportion.
STEPS = {
    "drop": 6,
    "drop_at_the_caret": 3,
    "drop_two_at_once": 4,
    "keep": 3,
    "undo": 4,
    "redo": 2,
    "type": 4,
    "type_and_drop_at_once": 2,
    "comment": 2,
    "propose": 2,
    "change_file": 1,
}
ENDS = ("accept", "accept", "accept", "save", "reject", "close", "release", "terminal")
# In the name of a tab with comments on lines that a newer proposal has not.
COMMENTS = "your comments on an older proposal"


def seeds() -> Sequence[int]:
    if "SEED" in os.environ:
        return [int(os.environ["SEED"])]
    first = 0 if ROUNDS == 1 else random.SystemRandom().randrange(MANY)
    return range(first, first + SEQUENCES * ROUNDS)


class RandomReview:
    """What a user and a CLI do with one file or two; `folder` is the files'."""

    def __init__(self, window: sublime.Window, cli: FakeCli, folder: str, seed: int) -> None:
        self.window, self.cli, self.chance = window, cli, random.Random(seed)
        self.path = os.path.join(folder, str(seed))
        self.open: list[ShownProposal] = []
        self.steps: list[str] = []
        # Texts that were edited, and not accepted: there is to be a tab of each.
        self.kept: list[str] = []
        # Quick panels: the names of the items, what is called with an answer, the placeholder.
        self.questions: list[tuple[list[str], Callable[[int], None], str]] = []
        # Sentences in the status bar, and the next comment.
        self.told: list[str] = []
        self.words = ""
        # Code points from which not all of a text is shown.
        self.limit = large.LARGE
        if seed % SELDOM and self.chance.random() < 0.35:
            self.limit = self.chance.choice((30, 400, 1000, 3000))
        is_low = self.limit < large.LARGE
        self.has_large = seed % SELDOM == 0 or (is_low and self.chance.random() < 0.6)
        self.is_coarse = not is_low and not self.has_large and self.chance.random() < 0.2
        self.layout = self.chance.choice(settings.DIFF_LAYOUTS)

    def surroundings(self) -> Iterator[Any]:
        """Patches: how the user answers, what counts as large, how coarse the comparison is."""
        yield mock.patch.object(sublime.Window, "show_quick_panel", self.ask)
        yield mock.patch.object(sublime.Window, "show_input_panel", self.give_words)
        yield mock.patch.object(sublime, "status_message", self.told.append)
        if self.limit < large.LARGE:
            yield mock.patch.object(large, "LARGE", self.limit)
            yield mock.patch.object(diffs, "LARGE", self.limit)
            yield mock.patch.multiple(digest_module, CONTEXT=1, MAX_CHANGE=6, MAX_ROW=60)
        if self.has_large and self.limit == large.LARGE:
            # On a busy machine the CLI needs longer for so much: else the text comes back to a tab.
            yield mock.patch.object(
                disk_check, "CHECKED_AFTER", (*disk_check.CHECKED_AFTER, PATIENCE)
            )
        if self.is_coarse:
            yield mock.patch.multiple(changes_module, MAX_PAIRS=3, MAX_ROUNDS=1, PIECE=7, ROWS=2)
            yield mock.patch.object(comparison_module, "ROWS", 2)

    def ask(self, items: Any, select: Any, *_: Any, placeholder: str = "") -> None:
        self.questions.append(([each[0] for each in items], select, placeholder))

    def give_words(self, _caption: str, _text: str, done: Any, *_: Any) -> None:
        done(self.words)

    def run(self) -> None:
        sublime.set_clipboard("")
        for number in range(self.chance.choice((1, 1, 2))):
            self.begin(f"{self.path}-{number}.txt")
        for _ in range(self.chance.randint(0, 9)):
            (step,) = self.chance.choices(list(STEPS), list(STEPS.values()))
            if self.open:
                self.do(step)
        while self.open:
            self.do(self.chance.choice(ENDS))
        self.look_at_tabs()

    def do(self, step: str) -> None:
        it = self.chance.choice(self.open)
        self.steps.append(f"{step} {os.path.basename(it.path)}")
        self.questions.clear()
        self.told.clear()
        getattr(self, step)(it)
        for each in self.open:
            each.look()

    # ----- the CLI

    def begin(self, path: str) -> None:
        data: bytes | None = None
        if self.has_large:
            data = random_texts.large(self.chance, self.limit * 2).encode("utf-8")
        elif self.chance.random() < 0.9:
            data = random_texts.on_disk(self.chance, random_texts.text(self.chance))
        if data is not None:
            with open(path, "wb") as file:
                file.write(data)
        self.show(path, data)

    def show(self, path: str, data: bytes | None) -> ShownProposal:
        """Have an edit proposed of the file that holds this."""
        old = reference.shown(data)
        new = random_texts.edited(self.chance, old)
        self.steps.append(f"propose {os.path.basename(path)}: {old[:2000]!r} -> {new[:2000]!r}")
        answer = self.cli.call("openDiff", filePath=path, newContent=new).result(PATIENCE)
        check(answer == {"content": []}, answer)
        view = open_diffs.find_diff(self.window, self.cli.headers["Mcp-Session-Id"], path)
        check(view is not None, "no proposal is shown")
        it = ShownProposal(view, path, data, new)
        self.open.append(it)
        it.look()
        return it

    def propose(self, it: ShownProposal) -> None:
        """The CLI has another proposal for the file."""
        if it.leaves_tab:
            self.kept.append(it.text)
        self.open.remove(it)
        newer = self.show(it.path, it.file)
        until(lambda: not is_diff(it.view), "the older one makes way")
        newer.comments = [each.text for each in comments.comments_of(newer.view)]
        elsewhere = "".join(text for name, text in self.tabs() if COMMENTS in name)
        lost = [each for each in it.comments if each not in newer.comments]
        check(all(each in elsewhere for each in lost), "comments are lost:", lost)

    def write(self, it: ShownProposal, told: str) -> None:
        """As the CLI does with what it was told was accepted."""
        with open(it.path, "w", encoding="utf-8", newline="") as file:
            file.write(told or it.proposed)

    def change_file(self, it: ShownProposal) -> None:
        """Somebody else writes: some of the changes, or whatever else."""
        found = it.changes()
        text = it.without(found, [at for at in range(len(found)) if self.chance.random() < 0.5])
        if self.chance.random() < 0.5:
            text = random_texts.edited(self.chance, self.chance.choice((text, it.old)))
        it.file = random_texts.on_disk(self.chance, text.lstrip(random_texts.MARK))
        self.steps.append(f"change_file: {reference.shown(it.file)[:2000]!r}")
        with open(it.path, "wb") as file:
            file.write(it.file)

    # ----- changes

    def command(self, name: str, it: ShownProposal, **arguments: Any) -> None:
        self.window.run_command(f"gemini_companion_{name}", {"id": it.id, **arguments})

    def drop(self, it: ShownProposal) -> None:
        comparison = it.comparison() if it.is_compared else None
        if comparison is None or not comparison.keys:
            self.command("drop_change", it)
            return
        found = quadruples(comparison)
        number = self.chance.randrange(len(found))
        self.command("drop_change", it, change=comparison.keys[number])
        self.was_dropped(it, found, number)

    def was_dropped(self, it: ShownProposal, found: list[reference.Quadruple], number: int) -> None:
        """The change of that number; or, of parts, it was taken back."""
        if it.is_whole:
            it.edited(it.without(found, {number}), is_typed=False)
            is_last = len(found) == 1
            check(not is_last or it.text == it.old, "all is dropped, and the text is another")
        else:
            it.dropped ^= {number}
            is_last = it.is_all_dropped
            check(not is_last or it.accepted() == it.old, "all is dropped, and the text is another")
        if is_last:
            # The changes may be looked up first.
            until(lambda: bool(self.questions), "whether to reject is asked")
        check(len(self.questions) == is_last, "asked:", self.questions)
        if is_last:
            self.answer_all_dropped(it)

    def answer_all_dropped(self, it: ShownProposal) -> None:
        _items, answer, placeholder = self.questions.pop()
        name, before = os.path.basename(it.path), self.rejections(it)
        check(name in placeholder and single_changes.ALL_DROPPED in placeholder, placeholder)
        index = self.chance.choice((0, 1, -1))
        answer(index)
        if index == 0:
            self.was_rejected(it, before)

    def drop_at_the_caret(self, it: ShownProposal) -> None:
        if not it.is_whole or not it.is_compared:
            return
        found = quadruples(it.comparison())
        starts = [start for _, _, start, _ in found]
        row = self.chance.choice([*starts, self.chance.randint(0, it.text.count("\n"))])
        point = it.view.text_point(row, 0)
        row = it.text.count("\n", 0, point)
        at = [n for n, (_, _, start, end) in enumerate(found) if start <= row < max(end, start + 1)]

        def drop() -> None:
            self.select(it, point, point)
            it.view.show_at_center(sublime.Region(point), animate=False)
            self.command("drop_change", it)

        # In one turn: one side may be about to scroll to where the other one is.
        sublime.set_timeout(drop)
        self.turn()
        text = text_of(it.view)
        # Where no change is at the caret, one that is in sight may be meant.
        may_be = [n for n in at or range(len(found)) if it.without(found, {n}) == text]
        check(may_be or (not at and text == it.text), f"of row {row} it is {at}:", repr(text))
        if may_be:
            self.was_dropped(it, found, may_be[0])

    def drop_two_at_once(self, it: ShownProposal) -> None:
        """The second one before it is known what became of the changes; or the same one again."""
        comparison = it.comparison() if it.is_compared else None
        if comparison is None or len(comparison.keys) < 3:
            return
        keys, found = comparison.keys, quadruples(comparison)
        alike = [at for at, key in enumerate(keys) if "-" in key or f"{key}-2" in keys]
        numbers = self.chance.sample(alike if len(alike) > 2 else range(len(keys)), 2)
        if self.chance.random() < 0.2:
            numbers[1] = numbers[0]
        if it.is_whole:
            self.drop_both(it, [keys[number] for number in numbers])
            self.both_were_dropped(it, found, *numbers)
        elif len(it.dropped) + 2 < len(keys):
            # No question yet, whatever is dropped already.
            self.drop_both(it, [keys[number] for number in numbers])
            for number in numbers:
                it.dropped ^= {number}

    def drop_both(self, it: ShownProposal, keys: Sequence[str]) -> None:
        def drop() -> None:
            for key in keys:
                self.command("drop_change", it, change=key)

        sublime.set_timeout(drop)
        self.turn()
        it.comparison()
        self.turn()
        # What the commands say is shown a turn after that.
        self.turn()

    def both_were_dropped(
        self, it: ShownProposal, found: list[reference.Quadruple], first: int, second: int
    ) -> None:
        both = it.without(found, {first, second})
        old_start, old_end, new_start, new_end = found[first]
        more = (old_end - old_start) - (new_end - new_start) if first < second else 0
        meant = it.old_rows(found[second]), found[second][2] + more, found[second][3] + more
        it.edited(it.without(found, {first}), is_typed=False)
        if text_of(it.view) != it.text:
            it.edited(both, is_typed=False)
            return
        # It was the same one; or the rows are divided in another way, now that one is gone.
        check(any(single_changes.NO_CHANGE in each for each in self.told), "nothing is said")
        left = [(it.old_rows(each), *each[2:]) for each in quadruples(it.comparison())]
        check(first == second or meant not in left, "it is still there:", meant)

    def keep(self, it: ShownProposal) -> None:
        comparison = it.comparison() if it.is_compared else None
        if comparison is None or not comparison.keys:
            self.command("keep_change", it)
            return
        number = self.chance.randrange(len(comparison.keys))
        key = comparison.keys[number]
        self.command("keep_change", it, change=key)
        check(key in seen_changes(it.view), "what is kept is not seen")
        it.dropped -= {number}

    # ----- the text

    def type(self, it: ShownProposal) -> None:
        if not it.is_whole:
            return
        start, end = sorted(self.chance.randint(0, len(it.text)) for _ in range(2))
        kind = self.chance.choice(("insert", "replace", "delete", "append"))
        words = "" if kind == "delete" else f"typed{len(self.steps)}"
        if kind == "append":
            self.append(it, words + "\n")
            return
        end = start if kind == "insert" else end
        self.select(it, start, end)
        if words or start < end:
            command = "insert" if words else "left_delete"
            it.view.run_command(command, {"characters": words} if words else {})
        it.edited(it.text[:start] + words + it.text[end:], is_typed=True)

    def append(self, it: ShownProposal, words: str) -> None:
        it.view.run_command("append", {"characters": words})
        it.edited(it.text + words, is_typed=True)

    def select(self, it: ShownProposal, start: int, end: int) -> None:
        it.view.sel().clear()
        it.view.sel().add(sublime.Region(start, end))

    def type_and_drop_at_once(self, it: ShownProposal) -> None:
        """A change is dropped before it is known what became of the changes."""
        comparison = it.comparison() if it.is_whole and it.is_compared else None
        if comparison is None or not comparison.keys:
            return
        number, found = self.chance.randrange(len(comparison.keys)), quadruples(comparison)
        # What is appended to a row without an end is part of that.
        is_another = not it.text.endswith("\n") and found[number][3] == len(comparison.new.rows)
        self.append(it, f"typed{len(self.steps)}\n")
        self.command("drop_change", it, change=comparison.keys[number])
        it.comparison()
        self.turn()
        # What the command says is shown a turn after that.
        self.turn()
        if text_of(it.view) == it.text:
            check(any(single_changes.NO_CHANGE in each for each in self.told), "nothing is said")
        else:
            check(not is_another, "a change was dropped that is another by now")
            it.edited(it.without(found, {number}), is_typed=False)

    def undo(self, it: ShownProposal) -> None:
        self.go_back(it, "undo", it.past, it.undone)

    def redo(self, it: ShownProposal) -> None:
        self.go_back(it, "redo", it.undone, it.past)

    def go_back(
        self,
        it: ShownProposal,
        name: str,
        texts: list[tuple[str, bool]],
        others: list[tuple[str, bool]],
    ) -> None:
        """What was dropped comes and goes alone; of what was typed, several edits may be one."""
        if not it.is_whole:
            return
        it.view.run_command(name)
        text = text_of(it.view)
        while texts:
            before, is_typed = texts.pop()
            others.append((it.text, is_typed))
            it.text = before
            if text == before or not is_typed or not texts or not texts[-1][1]:
                return

    def comment(self, it: ShownProposal) -> None:
        self.words = f"comment {len(self.steps)}"
        self.select(it, *(self.chance.randint(0, it.view.size()) for _ in range(2)))
        self.command("comment_on_diff", it)
        it.comments.append(self.words)

    # ----- decisions

    def accept(self, it: ShownProposal) -> None:
        self.see_accepted(it, lambda: self.command("accept_diff", it))

    def save(self, it: ShownProposal) -> None:
        self.window.focus_view(it.view)
        self.see_accepted(it, partial(it.view.run_command, "save", {"async": False}))

    def see_accepted(self, it: ShownProposal, accept: Callable[[], None]) -> None:
        before = self.rejections(it)
        accept()
        until(lambda: self.questions or self.told_of(it, "Accepted"), "it is accepted")
        if it.file != it.seen_file:
            self.see_file(it)
            accept()
            until(lambda: self.questions or self.told_of(it, "Accepted"), "it is accepted")
        is_emptied = it.is_whole and not it.text and bool(it.proposed)
        check(bool(self.questions) == (is_emptied or it.is_all_dropped), "asked:", self.questions)
        if not self.questions:
            (told,) = self.told_of(it, "Accepted")
            check(told == it.accepted(), repr(told[:3000]), "!=", repr(it.accepted()[:3000]))
            self.write(it, told)
            self.is_gone(it)
            return
        items, answer, placeholder = self.questions.pop()
        check("emptied" in placeholder or single_changes.ALL_DROPPED in placeholder, placeholder)
        check("Accept anyway" not in items, items)
        answer(items.index("Reject the proposal"))
        self.was_rejected(it, before)
        check(not self.told_of(it, "Accepted"), "an empty text was accepted")

    def see_file(self, it: ShownProposal) -> None:
        """Before it is accepted: the file has become another."""
        check(self.questions and not self.told_of(it, "Accepted"), "nothing is asked")
        items, answer, placeholder = self.questions.pop()
        check(diff_kinds.FILE_CHANGED in placeholder, placeholder)
        reviews = plugin._host.running.diffs.reviews
        before = reviews.review_of(it.view)
        answer(items.index("See the difference"))
        until(lambda: reviews.review_of(it.view) is not before, "the review begins anew")
        it.saw_file()
        it.look()

    def terminal(self, it: ShownProposal) -> None:
        """The user says yes in the CLI's terminal."""
        arguments = {"filePath": it.path, "suppressNotification": True}
        (part,) = self.cli.call("closeDiff", **arguments).result(PATIENCE)["content"]
        answer: Any = sublime.decode_value(part["text"])
        told = answer.get("content", "")
        self.write(it, told)
        check(told == it.accepted(), repr(told[:3000]), "!=", repr(it.accepted()[:3000]))
        self.is_gone(it)

    def reject(self, it: ShownProposal) -> None:
        before = self.rejections(it)
        self.command("reject_diff", it)
        self.was_rejected(it, before)

    def close(self, it: ShownProposal) -> None:
        before = self.rejections(it)
        it.view.close()
        self.was_rejected(it, before)

    def release(self, it: ShownProposal) -> None:
        before = self.rejections(it)
        self.command("release_diff", it)
        if it.is_whole and not it.leaves_tab:
            self.kept.append(it.text)
        self.was_rejected(it, before)

    def told_of(self, it: ShownProposal, how: str) -> list[str]:
        """The texts with which the CLI was told that the file's edit was `how`."""
        told = self.cli.received(f"ide/diff{how}")
        return [params.get("content", "") for params in told if params["filePath"] == it.path]

    def rejections(self, it: ShownProposal) -> int:
        return len(self.told_of(it, "Rejected"))

    def was_rejected(self, it: ShownProposal, before: int) -> None:
        if it.leaves_tab:
            self.kept.append(it.text)
        until(lambda: self.rejections(it) > before, "the CLI is told of a rejection")
        self.is_gone(it)

    def is_gone(self, it: ShownProposal) -> None:
        """It was decided on: what the user said of it is on the clipboard."""
        self.open.remove(it)
        until(lambda: not is_diff(it.view), "what is decided is no diff")
        told = sublime.get_clipboard
        until(lambda: all(each in told() for each in it.comments), "comments are told", told)

    # ----- the window

    def tabs(self) -> list[tuple[str, str]]:
        """Names and texts of those that are no part of a diff."""
        parts = [each for it in self.open for each in (it.view, open_diffs.partner_view(it.view))]
        views = [view for view in self.window.views() if view not in parts]
        return [(view.name(), text_of(view)) for view in views]

    def look_at_tabs(self) -> None:
        """What the user typed is there, and nothing else."""

        def texts() -> list[str]:
            return sorted(text for name, text in self.tabs() if COMMENTS not in name)

        wanted = sorted(self.kept)
        until(lambda: texts() == wanted, f"there are tabs with {wanted}; there are", texts)

    def turn(self) -> None:
        """Until all has run that is on its way to the UI thread."""
        reached: list[None] = []
        sublime.set_timeout(lambda: reached.append(None))
        until(lambda: reached, "a turn")

    def clean_up(self) -> None:
        for it in self.open:
            it.view.close()
        until(lambda: not list(open_diffs.undecided_diffs(self.window)), "no diffs any more")
        self.turn()
        for view in self.window.views():
            view.set_scratch(True)
            view.close()


class RandomReviews(unittest.TestCase):
    def setUp(self) -> None:
        self.window = sublime.active_window()
        until(lambda: plugin._host.environment_of(self.window), "an environment")
        self.cli = FakeCli(plugin._host.environment_of(self.window))
        self.addCleanup(self.cli.close)
        until(self.cli.connected, "a stream")
        # No file goes before the companion has seen that it has the accepted text.
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.settings = sublime.load_settings("GeminiCompanion.sublime-settings")
        self.addCleanup(self.settings.erase, "diff_layout")

    def test_every_text_that_is_accepted_is_that_of_the_reference(self) -> None:
        for seed in seeds():
            review = RandomReview(self.window, self.cli, self.folder, seed)
            self.settings.set("diff_layout", review.layout)
            with ExitStack() as stack:
                for patch in review.surroundings():
                    stack.enter_context(patch)
                stack.callback(review.clean_up)
                try:
                    review.run()
                except BaseException:
                    print(f"SEED={seed}", *review.steps, sep="\n  ")
                    raise
            self.cli.notifications.clear()
