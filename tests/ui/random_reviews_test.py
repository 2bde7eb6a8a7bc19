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
    pace,
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
        # It presses faster than a person.
        yield mock.patch.object(pace, "MOMENT", 0)
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
        proposal = self.chance.choice(self.open)
        self.steps.append(f"{step} {os.path.basename(proposal.path)}")
        self.questions.clear()
        self.told.clear()
        getattr(self, step)(proposal)
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
        proposal = ShownProposal(view, path, data, new)
        self.open.append(proposal)
        proposal.look()
        return proposal

    def propose(self, proposal: ShownProposal) -> None:
        """The CLI has another proposal for the file."""
        if proposal.leaves_tab:
            self.kept.append(proposal.text)
        self.open.remove(proposal)
        newer = self.show(proposal.path, proposal.file)
        until(lambda: not is_diff(proposal.view), "the older one makes way")
        newer.comments = [each.text for each in comments.comments_of(newer.view)]
        elsewhere = "".join(text for name, text in self.tabs() if COMMENTS in name)
        lost = [each for each in proposal.comments if each not in newer.comments]
        check(all(each in elsewhere for each in lost), "comments are lost:", lost)

    def write(self, proposal: ShownProposal, told: str) -> None:
        """As the CLI does with what it was told was accepted."""
        with open(proposal.path, "w", encoding="utf-8", newline="") as file:
            file.write(told or proposal.proposed)

    def change_file(self, proposal: ShownProposal) -> None:
        """Somebody else writes: some of the changes, or whatever else."""
        found = proposal.changes()
        text = proposal.without(
            found, [at for at in range(len(found)) if self.chance.random() < 0.5]
        )
        if self.chance.random() < 0.5:
            text = random_texts.edited(self.chance, self.chance.choice((text, proposal.old)))
        proposal.file = random_texts.on_disk(self.chance, text.lstrip(random_texts.MARK))
        self.steps.append(f"change_file: {reference.shown(proposal.file)[:2000]!r}")
        with open(proposal.path, "wb") as file:
            file.write(proposal.file)

    # ----- changes

    def command(self, name: str, proposal: ShownProposal, **arguments: Any) -> None:
        self.window.run_command(f"gemini_companion_{name}", {"id": proposal.id, **arguments})

    def drop(self, proposal: ShownProposal) -> None:
        comparison = proposal.comparison() if proposal.is_compared else None
        if comparison is None or not comparison.keys:
            self.command("drop_change", proposal)
            return
        found = quadruples(comparison)
        number = self.chance.randrange(len(found))
        self.command("drop_change", proposal, change=comparison.keys[number])
        self.was_dropped(proposal, found, number)

    def was_dropped(
        self, proposal: ShownProposal, found: list[reference.Quadruple], number: int
    ) -> None:
        """The change of that number; or, of parts, it was taken back."""
        if proposal.is_whole:
            proposal.edited(proposal.without(found, {number}), is_typed=False)
            is_last = len(found) == 1
            check(
                not is_last or proposal.text == proposal.old,
                "all is dropped, and the text is another",
            )
        else:
            proposal.dropped ^= {number}
            is_last = proposal.is_all_dropped
            check(
                not is_last or proposal.accepted() == proposal.old,
                "all is dropped, and the text is another",
            )
        if is_last:
            # The changes may be looked up first.
            until(lambda: bool(self.questions), "whether to reject is asked")
        check(len(self.questions) == is_last, "asked:", self.questions)
        if is_last:
            self.answer_all_dropped(proposal)

    def answer_all_dropped(self, proposal: ShownProposal) -> None:
        _items, answer, placeholder = self.questions.pop()
        name, before = os.path.basename(proposal.path), self.rejections(proposal)
        check(name in placeholder and single_changes.ALL_DROPPED in placeholder, placeholder)
        index = self.chance.choice((0, 1, -1))
        answer(index)
        if index == 0:
            self.was_rejected(proposal, before)

    def drop_at_the_caret(self, proposal: ShownProposal) -> None:
        if not proposal.is_whole or not proposal.is_compared:
            return
        found = quadruples(proposal.comparison())
        starts = [start for _, _, start, _ in found]
        row = self.chance.choice([*starts, self.chance.randint(0, proposal.text.count("\n"))])
        point = proposal.view.text_point(row, 0)
        row = proposal.text.count("\n", 0, point)
        at = [n for n, (_, _, start, end) in enumerate(found) if start <= row < max(end, start + 1)]

        def drop() -> None:
            self.select(proposal, point, point)
            proposal.view.show_at_center(sublime.Region(point), animate=False)
            self.command("drop_change", proposal)

        # In one turn: one side may be about to scroll to where the other one is.
        sublime.set_timeout(drop)
        self.turn()
        text = text_of(proposal.view)
        # Where no change is at the caret, one that is in sight may be meant.
        may_be = [n for n in at or range(len(found)) if proposal.without(found, {n}) == text]
        check(may_be or (not at and text == proposal.text), f"of row {row} it is {at}:", repr(text))
        if may_be:
            self.was_dropped(proposal, found, may_be[0])

    def drop_two_at_once(self, proposal: ShownProposal) -> None:
        """The second one before it is known what became of the changes; or the same one again."""
        comparison = proposal.comparison() if proposal.is_compared else None
        if comparison is None or len(comparison.keys) < 3:
            return
        keys, found = comparison.keys, quadruples(comparison)
        alike = [at for at, key in enumerate(keys) if "-" in key or f"{key}-2" in keys]
        numbers = self.chance.sample(alike if len(alike) > 2 else range(len(keys)), 2)
        if self.chance.random() < 0.2:
            numbers[1] = numbers[0]
        if proposal.is_whole:
            self.drop_both(proposal, [keys[number] for number in numbers])
            self.both_were_dropped(proposal, found, *numbers)
        elif len(proposal.dropped) + 2 < len(keys):
            # No question yet, whatever is dropped already.
            self.drop_both(proposal, [keys[number] for number in numbers])
            for number in numbers:
                proposal.dropped ^= {number}

    def drop_both(self, proposal: ShownProposal, keys: Sequence[str]) -> None:
        def drop() -> None:
            for key in keys:
                self.command("drop_change", proposal, change=key)

        sublime.set_timeout(drop)
        self.turn()
        proposal.comparison()
        self.turn()
        # What the commands say is shown a turn after that.
        self.turn()

    def both_were_dropped(
        self, proposal: ShownProposal, found: list[reference.Quadruple], first: int, second: int
    ) -> None:
        both = proposal.without(found, {first, second})
        old_start, old_end, new_start, new_end = found[first]
        more = (old_end - old_start) - (new_end - new_start) if first < second else 0
        meant = proposal.old_rows(found[second]), found[second][2] + more, found[second][3] + more
        proposal.edited(proposal.without(found, {first}), is_typed=False)
        if text_of(proposal.view) != proposal.text:
            proposal.edited(both, is_typed=False)
            return
        # It was the same one; or the rows are divided in another way, now that one is gone.
        check(any(single_changes.NO_CHANGE in each for each in self.told), "nothing is said")
        left = [(proposal.old_rows(each), *each[2:]) for each in quadruples(proposal.comparison())]
        check(first == second or meant not in left, "it is still there:", meant)

    def keep(self, proposal: ShownProposal) -> None:
        comparison = proposal.comparison() if proposal.is_compared else None
        if comparison is None or not comparison.keys:
            self.command("keep_change", proposal)
            return
        number = self.chance.randrange(len(comparison.keys))
        key = comparison.keys[number]
        self.command("keep_change", proposal, change=key)
        check(key in seen_changes(proposal.view), "what is kept is not seen")
        proposal.dropped -= {number}

    # ----- the text

    def type(self, proposal: ShownProposal) -> None:
        if not proposal.is_whole:
            return
        start, end = sorted(self.chance.randint(0, len(proposal.text)) for _ in range(2))
        kind = self.chance.choice(("insert", "replace", "delete", "append"))
        words = "" if kind == "delete" else f"typed{len(self.steps)}"
        if kind == "append":
            self.append(proposal, words + "\n")
            return
        end = start if kind == "insert" else end
        self.select(proposal, start, end)
        if words or start < end:
            command = "insert" if words else "left_delete"
            proposal.view.run_command(command, {"characters": words} if words else {})
        proposal.edited(proposal.text[:start] + words + proposal.text[end:], is_typed=True)

    def append(self, proposal: ShownProposal, words: str) -> None:
        proposal.view.run_command("append", {"characters": words})
        proposal.edited(proposal.text + words, is_typed=True)

    def select(self, proposal: ShownProposal, start: int, end: int) -> None:
        proposal.view.sel().clear()
        proposal.view.sel().add(sublime.Region(start, end))

    def type_and_drop_at_once(self, proposal: ShownProposal) -> None:
        """A change is dropped before it is known what became of the changes."""
        comparison = proposal.comparison() if proposal.is_whole and proposal.is_compared else None
        if comparison is None or not comparison.keys:
            return
        number, found = self.chance.randrange(len(comparison.keys)), quadruples(comparison)
        # What is appended to a row without an end is part of that.
        is_another = not proposal.text.endswith("\n") and found[number][3] == len(
            comparison.new.rows
        )
        self.append(proposal, f"typed{len(self.steps)}\n")
        self.command("drop_change", proposal, change=comparison.keys[number])
        proposal.comparison()
        self.turn()
        # What the command says is shown a turn after that.
        self.turn()
        if text_of(proposal.view) == proposal.text:
            check(any(single_changes.NO_CHANGE in each for each in self.told), "nothing is said")
        else:
            check(not is_another, "a change was dropped that is another by now")
            proposal.edited(proposal.without(found, {number}), is_typed=False)

    def undo(self, proposal: ShownProposal) -> None:
        self.go_back(proposal, "undo", proposal.past, proposal.undone)

    def redo(self, proposal: ShownProposal) -> None:
        self.go_back(proposal, "redo", proposal.undone, proposal.past)

    def go_back(
        self,
        proposal: ShownProposal,
        name: str,
        texts: list[tuple[str, bool]],
        others: list[tuple[str, bool]],
    ) -> None:
        """What was dropped comes and goes alone; of what was typed, several edits may be one."""
        if not proposal.is_whole:
            return
        proposal.view.run_command(name)
        text = text_of(proposal.view)
        while texts:
            before, is_typed = texts.pop()
            others.append((proposal.text, is_typed))
            proposal.text = before
            if text == before or not is_typed or not texts or not texts[-1][1]:
                return

    def comment(self, proposal: ShownProposal) -> None:
        self.words = f"comment {len(self.steps)}"
        self.select(proposal, *(self.chance.randint(0, proposal.view.size()) for _ in range(2)))
        self.command("comment_on_diff", proposal)
        proposal.comments.append(self.words)

    # ----- decisions

    def accept(self, proposal: ShownProposal) -> None:
        self.see_accepted(proposal, lambda: self.command("accept_diff", proposal))

    def save(self, proposal: ShownProposal) -> None:
        self.window.focus_view(proposal.view)
        self.see_accepted(proposal, partial(proposal.view.run_command, "save", {"async": False}))

    def see_accepted(self, proposal: ShownProposal, accept: Callable[[], None]) -> None:
        before = self.rejections(proposal)
        accept()
        until(lambda: self.questions or self.told_of(proposal, "Accepted"), "it is accepted")
        if proposal.file != proposal.seen_file:
            self.see_file(proposal)
            accept()
            until(lambda: self.questions or self.told_of(proposal, "Accepted"), "it is accepted")
        is_emptied = proposal.is_whole and not proposal.text and bool(proposal.proposed)
        check(
            bool(self.questions) == (is_emptied or proposal.is_all_dropped),
            "asked:",
            self.questions,
        )
        if not self.questions:
            (told,) = self.told_of(proposal, "Accepted")
            check(
                told == proposal.accepted(),
                repr(told[:3000]),
                "!=",
                repr(proposal.accepted()[:3000]),
            )
            self.write(proposal, told)
            self.is_gone(proposal)
            return
        items, answer, placeholder = self.questions.pop()
        check("emptied" in placeholder or single_changes.ALL_DROPPED in placeholder, placeholder)
        check("Accept anyway" not in items, items)
        answer(items.index("Reject the proposal"))
        self.was_rejected(proposal, before)
        check(not self.told_of(proposal, "Accepted"), "an empty text was accepted")

    def see_file(self, proposal: ShownProposal) -> None:
        """Before it is accepted: the file has become another."""
        check(self.questions and not self.told_of(proposal, "Accepted"), "nothing is asked")
        items, answer, placeholder = self.questions.pop()
        check(diff_kinds.FILE_CHANGED in placeholder, placeholder)
        reviews = plugin._host.running.diffs.reviews
        before = reviews.review_of(proposal.view)
        answer(items.index("See the difference"))
        until(lambda: reviews.review_of(proposal.view) is not before, "the review begins anew")
        proposal.saw_file()
        proposal.look()

    def terminal(self, proposal: ShownProposal) -> None:
        """The user says yes in the CLI's terminal."""
        arguments = {"filePath": proposal.path, "suppressNotification": True}
        (part,) = self.cli.call("closeDiff", **arguments).result(PATIENCE)["content"]
        answer: Any = sublime.decode_value(part["text"])
        told = answer.get("content", "")
        self.write(proposal, told)
        check(
            told == proposal.accepted(), repr(told[:3000]), "!=", repr(proposal.accepted()[:3000])
        )
        self.is_gone(proposal)

    def reject(self, proposal: ShownProposal) -> None:
        before = self.rejections(proposal)
        self.command("reject_diff", proposal)
        self.was_rejected(proposal, before)

    def close(self, proposal: ShownProposal) -> None:
        before = self.rejections(proposal)
        proposal.view.close()
        self.was_rejected(proposal, before)

    def release(self, proposal: ShownProposal) -> None:
        before = self.rejections(proposal)
        self.command("release_diff", proposal)
        if proposal.is_whole and not proposal.leaves_tab:
            self.kept.append(proposal.text)
        self.was_rejected(proposal, before)

    def told_of(self, proposal: ShownProposal, how: str) -> list[str]:
        """The texts with which the CLI was told that the file's edit was `how`."""
        told = self.cli.received(f"ide/diff{how}")
        return [params.get("content", "") for params in told if params["filePath"] == proposal.path]

    def rejections(self, proposal: ShownProposal) -> int:
        return len(self.told_of(proposal, "Rejected"))

    def was_rejected(self, proposal: ShownProposal, before: int) -> None:
        if proposal.leaves_tab:
            self.kept.append(proposal.text)
        until(lambda: self.rejections(proposal) > before, "the CLI is told of a rejection")
        self.is_gone(proposal)

    def is_gone(self, proposal: ShownProposal) -> None:
        """It was decided on: what the user said of it is on the clipboard."""
        self.open.remove(proposal)
        until(lambda: not is_diff(proposal.view), "what is decided is no diff")
        told = sublime.get_clipboard
        until(lambda: all(each in told() for each in proposal.comments), "comments are told", told)

    # ----- the window

    def tabs(self) -> list[tuple[str, str]]:
        """Names and texts of those that are no part of a diff."""
        parts = [
            each
            for proposal in self.open
            for each in (proposal.view, open_diffs.partner_view(proposal.view))
        ]
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
        for proposal in self.open:
            proposal.view.close()
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
