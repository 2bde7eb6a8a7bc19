"""Stories that are cut at a random await, by a reload of the package, a closed view or a closed
window: each text that was typed is in a file, a tab, a proposal or with its CLI, each decision is
heard or still to be made, no panel stays open, and what is left can be decided.

An example has proposals of a CLI, edits that it made unasked, proposals whose rejection was taken
back, and a chat, with something typed into some of them. Then the user presses something that is a
story of several awaits, at one of which the cut comes. Ten examples, the same ones each time, in
which everything is pressed and each way to cut happens; `make fuzz` runs as many times FUZZ, new
ones. One that fails tells its seed; SEED=n in the environment runs that one alone.
"""

from __future__ import annotations

import os
import random
import time
from functools import partial
from typing import Any, Generator, Sequence
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.base import file_content
from GeminiCompanion.companion.base.answer import Answer
from GeminiCompanion.companion.chat.requests import Send, Sent
from GeminiCompanion.companion.edits.edit import Edit, EditState
from GeminiCompanion.companion.ui.review import open_diffs
from GeminiCompanion.companion.ui.review.record import DiffRecord, is_diff
from GeminiCompanion.companion.ui.stories import Stories, Story

from .adapter import text_of
from .cutting import Await, CuttingCase
from .reviewing import Steps
from .test_chat_tabs import ChatCase
from .test_show_changes import OLD, UnaskedCase

ROUNDS = int(os.environ.get("FUZZ", "1"))
EXAMPLES = 10
# The first seed of those that are the same each time: one of them is a reload while a review opens
# for what was typed in a sheet.
FIRST = 50
# Seeds from which those of `make fuzz` are.
MANY = 1_000_000_000
NEW = OLD.replace("line 3\n", "LINE 3\n")
CUTS = ("reload", "close_view", "close_window")
# What is pressed, and how many awaits it may have with all that it begins.
PRESSES = {
    "accept_all": 14,
    "reject_all": 11,
    "undo_all": 8,
    "accept_one": 5,
    "reject_one": 2,
    "type_in_sheet": 5,
    "send": 2,
}


def seeds() -> Sequence[int]:
    if "SEED" in os.environ:
        return [int(os.environ["SEED"])]
    first = FIRST if ROUNDS == 1 else random.SystemRandom().randrange(MANY)
    return range(first, first + EXAMPLES * ROUNDS)


class RandomCuts(CuttingCase, ChatCase, UnaskedCase):  # type: ignore[misc]
    def setUp(self) -> None:
        super().setUp()
        ask = self.service.ask

        def answered(request: Any) -> Answer[Any]:
            answer = ask(request)
            answer.give(Sent("turn"))
            return answer

        self.replace(self.service, "ask", answered)

    def test_wherever_it_is_nothing_is_lost_or_half_done(self) -> Steps:
        happened: set[str] = set()
        for seed in seeds():
            self.said: list[str] = []
            # Of ten that follow each other, each is there.
            press, how = list(PRESSES)[seed % len(PRESSES)], CUTS[seed % len(CUTS)]
            try:
                yield from self.example(seed, press, how)
            except BaseException:
                print(f"SEED={seed}", *self.said, sep="\n  ")
                raise
            happened |= {press, how}
        if "SEED" not in os.environ:
            self.assertEqual(happened, {*PRESSES, *CUTS})

    def example(self, seed: int, press: str, how: str) -> Steps:
        """Once more with an earlier cut, if there were not as many awaits as that."""
        self.chance = random.Random(seed)
        at = awaits = PRESSES[press]
        while awaits <= at:
            at = self.chance.randrange(awaits)
            self.typed: set[str] = set()
            self.service.asked.clear()
            yield from self.begin_example(f"{seed}-{at:02}", press)
            awaits = yield from self.cut_at(at, press, how)
            yield from self.look("after the cut")
            yield from self.decide_what_is_left()
            yield from self.look("at the end")
            yield from self.end_example()

    # ----- what is there

    def begin_example(self, name: str, press: str) -> Steps:
        self.folder_of_example = os.path.join(self.folder, name)
        os.mkdir(self.folder_of_example)
        if not self.clis:
            self.cli = yield from self.connect()
        self.paths = [os.path.join(name, f"p{number}.py") for number in range(3)]
        self.sheet_view = yield from self.show()
        for path in self.paths:
            right = yield from self.diff(self.cli, self.write(path, OLD), NEW)
            yield from self.until_computed(right)
        if press == "undo_all":
            yield from self.reject_first()
        elif self.chance.random() < 0.4:
            yield from self.take_back_a_rejection()
        self.make_unasked(os.path.join(name, "unasked.py"))
        for right in self.waiting():
            if self.chance.random() < 0.6:
                self.type_into(right)
                yield from self.until_computed(right)
        yield from self.until_drawn(self.sheet_view)
        self.chat_view = yield from self.chat()
        self.chat_id = self.id_of(self.chat_view)

    def make_unasked(self, name: str) -> None:
        before, path = file_content.read_original(self.write(name, OLD)), self.write(name, NEW)
        id, now = self.window.id(), time.time()
        self.running().review.ledger.made.add(
            Edit(id, path, before, NEW, "A", now, turn="t", prompt="do", state=EditState.WRITTEN)
        )

    def reject_first(self) -> Steps:
        # Its link is there once the sheet has the file.
        yield from self.until_drawn(self.sheet_view)
        self.decide(self.sheet_view, "reject_file", self.id(self.waiting()[0]))
        yield lambda: self.sheet(self.sheet_view).marking.undoable

    def take_back_a_rejection(self) -> Steps:
        """One proposal is written here, if it is accepted: its CLI has heard of a rejection."""
        yield from self.reject_first()
        self.decide(self.sheet_view, "undo_all")
        yield lambda: self.panels_open.open
        self.panels_open.answer(0)
        yield lambda: len(self.waiting()) == 3
        yield from self.until_heard(self.cli)
        self.said.append("a rejection was taken back")

    def words(self) -> str:
        found = f"typed {len(self.typed)} of {os.path.basename(self.folder_of_example)}"
        self.typed.add(found)
        return found

    def type_into(self, right: sublime.View) -> None:
        right.run_command("append", {"characters": self.words() + "\n"})

    def waiting(self) -> list[sublime.View]:
        """The right views of what is undecided, the edits made unasked among them."""
        return [right for right, _record in self.records()]

    def records(self) -> list[tuple[sublime.View, DiffRecord]]:
        found = open_diffs.undecided_diffs(self.window)
        return [diff for diff in found if self.folder_of_example in diff[1].path]

    # ----- what is pressed, and cut

    def cut_at(self, at: int, press: str, how: str) -> Generator[Any, Any, int]:
        """The number of awaits, of which the first is 0. It was cut if there are more than `at`."""
        self.said.append(f"{press}, cut at await {at} by {how}")
        count, is_cut = 0, False
        under_way: set[int] = set()
        begin = Stories.begin

        def cut() -> None:
            nonlocal is_cut
            getattr(self, how)()
            is_cut = True

        def at_await() -> None:
            nonlocal count
            count += 1
            if count == at + 1:
                # Before the answer: the next step of a story comes after what is queued already.
                sublime.set_timeout(cut)
            elif self.panels_open.open is not None:
                self.panels_open.answer(self.chance.choice((0, 0, 0, 1, -1)))

        async def counted(story: Story) -> None:
            under_way.add(id(story))
            try:
                await Await(story, at_await)
            finally:
                under_way.discard(id(story))

        def begin_counted(stories: Stories, story: Story, *ends_with: Any) -> None:
            begin(stories, counted(story) if count <= at else story, *ends_with)

        with mock.patch.object(Stories, "begin", begin_counted):
            getattr(self, press)()
            yield from self.until_turn()
            yield lambda: is_cut or (count <= at and not under_way)
            if how == "close_view":
                # All others go on.
                self.panels_open.answer(-1)
                yield lambda: not under_way
        yield lambda: plugin._host.environment_of(self.window)
        if is_cut and how == "reload":
            yield self.cli.stream_ended.is_set
            self.cli.resume()
            yield self.cli.connected
        yield from self.until_turn()
        yield from self.until_heard(self.cli)
        self.assertIsNone(self.panels_open.open, "a panel is open")
        return count

    def reload(self) -> None:
        plugin.plugin_unloaded()
        plugin.plugin_loaded()

    def close_window(self) -> None:
        """As far as stories see it: the window itself stays."""
        plugin.GeminiCompanionListener().on_pre_close_window(self.window)

    def close_view(self) -> None:
        views = [*self.waiting(), self.sheet_view, self.chat_view]
        self.chance.choice([view for view in views if view.is_valid()]).close()

    def accept_all(self) -> None:
        self.decide(self.sheet_view, "accept_all")

    def reject_all(self) -> None:
        self.decide(self.sheet_view, "reject_all")

    def undo_all(self) -> None:
        self.decide(self.sheet_view, "undo_all")

    def accept_one(self) -> None:
        self.run_command("accept_diff", id=self.id(self.chance.choice(self.waiting())))

    def reject_one(self) -> None:
        self.run_command("reject_diff", id=self.id(self.chance.choice(self.waiting())))

    def type_in_sheet(self) -> None:
        """Into the edit that was made unasked: its review opens for that."""
        point = text_of(self.sheet_view).rindex("LINE 3") + len("LINE 3")
        self.sheet_view.sel().clear()
        self.sheet_view.sel().add(sublime.Region(point))
        self.sheet_view.run_command("insert", {"characters": " " + self.words()})
        self.sheet(self.sheet_view).take_typed()

    def send(self) -> None:
        self.window.focus_view(self.chat_view)
        self.chat_view.run_command("insert", {"characters": self.words()})
        self.run_command("send")

    # ----- what is to be true

    def look(self, when: str) -> Steps:
        def lost() -> list[str]:
            there = self.everything()
            return [words for words in self.typed if not any(words in text for text in there)]

        yield from self.until_equal(lambda: (when, lost()), (when, []))
        waiting = {os.path.relpath(record.path, self.folder) for _right, record in self.records()}
        decided = set(self.paths) - waiting
        yield from self.until_equal(lambda: (when, decided - self.heard()), (when, set()))

    def everything(self) -> list[str]:
        """All texts of tabs, files, CLIs and chats."""
        found = [text_of(view) for view in self.window.views()]
        for name in os.listdir(self.folder_of_example):
            with open(os.path.join(self.folder_of_example, name), encoding="utf-8") as file:
                found.append(file.read())
        found += [message["content"] for message in self.cli.received("ide/diffAccepted")]
        found += [
            request.words for request, _answer in self.service.asked if isinstance(request, Send)
        ]
        drafts = self.running().chat.actions.drafts
        return [*found, drafts.text_of(self.chat_id) or ""]

    def heard(self) -> set[str]:
        """The files on which the CLI heard a decision."""
        methods = "ide/diffAccepted", "ide/diffRejected"
        told = [message["filePath"] for method in methods for message in self.cli.received(method)]
        return {os.path.relpath(path, self.folder) for path in told}

    def decide_what_is_left(self) -> Steps:
        """Nothing is claimed by what was cut."""

        def reject(right: sublime.View) -> bool:
            """An edit that was made unasked may not be known yet after a reload."""
            if right.is_valid() and is_diff(right):
                self.run_command("reject_diff", id=self.id(right))
            return not right.is_valid() or not is_diff(right)

        for right in self.waiting():
            yield partial(reject, right)
        yield from self.until_turn()

    def end_example(self) -> Steps:
        kept = self.running().review.ledger.made
        for edit in kept.of_window(self.window.id()):
            kept.replace(edit, None)
        yield from self.until_heard(self.cli)
        self.running().chat.actions.drafts.forget(self.chat_id)
        self.close_tabs()
        self.running().chat.actions.drafts.forget(self.chat_id)
