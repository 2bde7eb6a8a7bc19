"""Show Changes: the list of all that agents have changed or want to change in a window."""

from __future__ import annotations

from typing import Any
from unittest import mock

from GeminiCompanion.companion.base.answer import Answer, Unanswered
from GeminiCompanion.companion.ide.questions import UnwrittenTexts
from GeminiCompanion.companion.ui.changes.change_list import NO_LIST
from GeminiCompanion.companion.ui.changes.change_sheets import CHANGES

from ..tables import rows, word
from .reviewing import Steps
from .test_unasked import UnaskedCase


def triggers(panel: dict[str, Any]) -> list[str]:
    return [item.trigger for item in panel["items"]]


@rows("""
    all kinds are listed in their order and each row says what it is
        one of each kind is there | run show_changes
        | the list is All in one tab, wait.py, unasked.py, away.py, accepted.py
        | the rows say waits, unasked, unwritten, accepted
    one of each kind can be asked for alone
        one of each kind is there | only waiting is listed as wait.py
        | only unasked is listed as unasked.py | only unwritten is listed as away.py
        | only accepted is listed as accepted.py
    the open review of an unasked edit is among what waits where that is asked for alone
        c connects; c is told to do; c writes a.py from old to new; the review of a.py is opened
        | only waiting is listed as a.py
    a list that does not exist is not listed and that is said
        c connects | the wating alone is asked for
        | questions: 0; it is said that there is no list wating
    the first row shows all that waits in one tab
        c connects & proposes new for a.py | run show_changes; the answer is All in one tab
        | the sheet is in front: yes
    where nothing has changed the tab is there at once
        c connects; typing.py is open | run show_changes | questions: 0; the sheet is in front: yes
    the tab can be asked for alone
        c connects & proposes new for a.py | the tab alone is asked for
        | questions: 0; the sheet is in front: yes
    the open review of an unasked edit is listed once and seen while it is highlighted
        typing.py is open; c connects; c is told to do; c writes a.py from old to new;
        the review of a.py is opened; c writes b.py from old to new; typing.py has the keyboard
        | run show_changes; row 1 is highlighted | the list is All in one tab, a.py, b.py
        | the keyboard is in +a.py | the answer is none | the keyboard is in typing.py
    a row without a review shows nothing and the keyboard comes back to the text
        typing.py is open; one of each kind is there; typing.py has the keyboard
        | run show_changes; row 3 is highlighted | the keyboard is in typing.py
        | the answer is none | the keyboard is in typing.py
    a row without a review shows again what was there before a review was seen
        typing.py is open; one of each kind is there; typing.py has the keyboard
        | run show_changes; row 1 is highlighted | the keyboard is in +wait.py
        | row 3 is highlighted | the keyboard is in typing.py
        | row 1 is highlighted | the keyboard is in +wait.py
        | the answer is none | the keyboard is in typing.py
    an accepted edit is undone from there
        one of each kind is there | run show_changes; the answer is accepted.py
        | the answer is Undo it | accepted.py is on disk as old
    an unwritten one is discarded from there
        one of each kind is there | run show_changes; the answer is away.py
        | the answer is Discard | only unwritten is listed as nothing
    an unasked one is opened from there
        one of each kind is there | run show_changes; the answer is unasked.py
        | open reviews are 1
    without an answer of the companion what it told last is listed
        one of each kind is there | it is listed while the companion does not answer
        | the list is All in one tab, wait.py, unasked.py, away.py, accepted.py
""")
class Listing(UnaskedCase):
    def setUp(self) -> None:
        super().setUp()
        # The window still has those of other tests.
        kept = self.running().review.ledger.made
        for edit in kept.all:
            kept.replace(edit, None)

    @word("one of each kind is there")
    def one_of_each(self) -> Steps:
        yield from self.connects("c")
        yield from self.proposes("c", "new", None, "accepted.py")
        self.run_command("accept_diff", id=self.review(self.view("+accepted.py")).id)
        yield lambda: self.cli.received("ide/diffAccepted")
        self.write("accepted.py", "new\n")
        yield from self.prompted("do")
        yield from self.writes("unasked.py", "old", "new")
        yield from self.until_heard(self.cli)
        self.absent_at_once()
        first = self.cli
        yield from self.connects("d")
        yield from self.proposes("d", "new", None, "away.py")
        yield from self.leaves("d")
        self.run_command("accept_diff", id=self.review(self.view("+away.py")).id)
        yield lambda: not self.view("+away.py").is_valid()
        self.cli = first
        yield from self.proposes("c", "new", None, "wait.py")
        # Of the accepted one nothing is left to be told.
        yield from self.until_answered(
            UnwrittenTexts(self.window.id()),
            lambda found: [edit.path for edit in found],
            [self.at("away.py")],
        )

    @word(r"only (\w+) is listed as (.+)")
    def is_listed(self, kind: str, expected: str) -> Steps:
        self.asked.clear()
        self.run_command("show_changes", show=kind)
        if expected == "nothing":
            yield lambda: self.sentences
            self.assertEqual(self.asked, [])
            return
        yield lambda: self.asked
        self.run_command({"waiting": "show_diffs"}.get(kind, f"show_{kind}_edits"))
        yield lambda: len(self.asked) == 2
        self.assertEqual([triggers(panel) for panel in self.asked], [[expected]] * 2)

    @word(r"the (\w+) alone is asked for")
    def ask_for(self, what: str) -> Steps:
        self.run_command("show_changes", show=what)
        yield from self.until_turn()

    @word(r"it is said that there is no list (\w+)")
    def is_unknown(self, kind: str) -> Steps:
        expected = NO_LIST.format(kind)
        yield lambda: any(expected in sentence for sentence in self.sentences)

    @word("it is listed while the companion does not answer")
    def list_alone(self) -> Steps:
        answer: Answer[object] = Answer()
        answer.fail(Unanswered("It is not there."))
        with mock.patch.object(self.running().companion, "ask", lambda question: answer):
            self.run_command("show_changes")
            yield lambda: self.asked

    @word(r"row (\d) is highlighted")
    def highlight(self, row: str) -> Steps:
        yield lambda: self.asked
        self.asked[0]["on_highlight"](int(row))

    seen = {
        "the list is": lambda t: triggers(t.asked[0]),
        "the rows say": lambda t: [item.kind[2] for item in t.asked[0]["items"][1:]],
        "the sheet is in front:": lambda t: t.window.active_view().settings().get(CHANGES) is True,
    }
