"""The changes of a proposal as the user sees them, and what can be done with each.

In the rows, `all lines with 10=x` are the 900 lines of `LINES`, line 10, from 1, being another one;
`nine lines` are the first ones. `9=` leaves a line out.
"""

from __future__ import annotations

import sublime
from GeminiCompanion.companion.ui.review import marks, record, single_changes
from GeminiCompanion.companion.ui.review.sight import caret_row

from ..tables import rows, word
from .adapter import text_of
from .desk import DeskCase, text
from .reviewing import LINES, Steps, changed

LINE_TEXT = r"((?:all|nine) lines(?: with [^;|]+)?|[^ ]+)"


def line_text(words: str) -> str:
    if not words.startswith(("all lines", "nine lines")):
        return text(words)
    base = LINES if words.startswith("all") else LINES[:9]
    pairs = [each.split("=") for each in words.partition(" with ")[2].split()]
    return changed(base, **{f"_{n}": row and row.replace("_", " ") + "\n" for n, row in pairs})


@rows("""
    a change far down is before the eyes on both sides
        all lines are to be all lines with 880=changed
        | the caret is in row 879; row 879 and not row 0 is in sight on both sides: yes
    lines and characters that differ are marked on both sides
        same/x_=_1/gone are to be same/x_=_2/new/lines
        | marked in +file.txt are x_=_2/new/lines; marked in -file.txt are x_=_1/gone
        | the characters marked in +file.txt are 2; the characters marked in -file.txt are 1
    equal lines stand at equal heights
        a/b/c/d are to be a/b/1/2/3/c/d | rows 1, 2 and 1, 5 are equally far apart: yes
    what the user types counts as part of the proposal
        a/b are to be a/B | typed is typed into +file.txt | marked in +file.txt are B/typed
    nothing is put into the text
        a/a/a are to be b/b/b/b/b/b/b/b/b
        | +file.txt reads b/b/b/b/b/b/b/b/b; -file.txt reads a/a/a
    the next and the previous change are gone to
        all lines are to be all lines with 10=x 400=y 880=z | run next_change
        | the caret is in row 399 | run next_change | the caret is in row 879
        | run previous_change | the caret is in row 399; row 399 is in sight on the left: yes
    beyond the last change of the only diff they begin anew and that is said
        all lines are to be all lines with 10=x 880=z | run next_change
        | the caret is in row 879 | run next_change | the caret is in row 9
        | the user was told: single_changes.AGAIN | run previous_change
        | the caret is in row 879
    in a proposal that changes nothing that is said
        a are to be a | each command on changes says that there are none
    lines that are taken away at the end are the last change
        nine lines are to be nine lines with 2=two 9= | run next_change | the change is number 1
        | run keep_change | the changes seen are 1; the caret is in row 1
        | run next_change; all that was told is forgotten; run next_change
        | the user was told: single_changes.AGAIN | run previous_change; run drop_change
        | the text is nine lines with 2=two
    a dropped change has the lines of the file again and undo brings it back
        nine lines are to be nine lines with 2=two 8=eight | run drop_change
        | the text is nine lines with 8=eight | +file.txt does undo
        | the text is nine lines with 2=two 8=eight
    a drop of everything asks whether that is a rejection
        a/b/c are to be 1/b/3 | run drop_change; the changes of +file.txt are known
        | questions: 0 | run drop_change | it is asked: single_changes.ALL_DROPPED
        | the answer is Go on editing; the changes of +file.txt are known
        | +file.txt is a proposal: yes
        | +file.txt does undo; the changes of +file.txt are known; run drop_change
        | it is asked: single_changes.ALL_DROPPED | the answer is Reject
        | c heard file.txt rejected
    of an empty proposal the one change can be dropped
        a/b are to be nothing | marked in -file.txt are a/b | run drop_change
        | +file.txt reads a/b | the answer is Reject | c heard file.txt rejected
    a change is dropped by its name wherever the caret is
        nine lines are to be nine lines with 2=two 8=eight | changes 1 are dropped
        | the text is nine lines with 2=two
    two that are dropped before the changes are known are both dropped
        a/b/c/d/e are to be new/new/new/a/b/C/d/e
        | typed is typed into +file.txt; changes 0, 1 are dropped
        | +file.txt reads a/b/c/d/e/typed
    of changes that are alike those are dropped that the user means
        1/same/2/same/3/same/4/same/5 are to be 1/2/3/4/5 | changes 0, 1, 1 are dropped
        | +file.txt reads 1/same/2/same/3/4/5
    where the rows around them are alike too the place in the proposal says which
        s/s/s/s/s/s are to be s/new/s/new/s/new/s/new/s/new/s/new | changes 2, 3 are dropped
        | +file.txt reads s/new/s/new/s/s/s/new/s/new
    keep and drop go on to the next change that is not decided on
        all lines are to be all lines with 100=a 200=b 300=c 400=d | change 1 is kept
        | the caret is in row 299 | run drop_change
        | the caret is in row 399; it was skipped: no | run keep_change
        | the caret is in row 99; it was skipped: yes | run drop_change
        | the user was told: single_changes.ALL_DECIDED
        | the caret is in row 100; the text is all lines with 200=b 400=d
    keep stays where the user types meanwhile
        all lines are to be all lines with 100=x 800=y
        | at the caret is typed one-; run keep_change; at the caret is typed two-
        | the changes of +file.txt are known | the count of changes seen is 1
        | the caret is in row 99; the text is all lines with 100=one-two-x 800=y
    drop stays where the user types meanwhile
        all lines are to be all lines with 100=x 800=y
        | run drop_change; at the caret is typed one- | the changes of +file.txt are known
        | the text is all lines with 101=one-line_101 800=y; the caret is in row 100
    they stay where the user wants that
        keep_goes_on is set to false; all lines are to be all lines with 100=x 800=y
        | run keep_change; the changes of +file.txt are known | the caret is in row 99
        | run drop_change; the changes of +file.txt are known | the caret is in row 100
    kept changes are counted and stay counted while the user types elsewhere
        nine lines are to be nine lines with 2=two 8=eight | run keep_change
        | the count of changes seen is 1
        | typed is typed into +file.txt; the changes of +file.txt are known
        | the count of changes seen is 1
""")
class Changes(DeskCase):
    right: sublime.View

    @word(f"{LINE_TEXT} are to be {LINE_TEXT}")
    def are_to_be(self, old: str, new: str) -> Steps:
        self.right = yield from self.propose(line_text(old), line_text(new))
        self.by_name.update({"c": self.cli, "+file.txt": self.right})

    @word(f"the text is {LINE_TEXT}")
    def text_is(self, expected: str) -> Steps:
        yield from self.until_equal(lambda: text_of(self.right), line_text(expected))

    @word("each command on changes says that there are none")
    def no_changes(self) -> Steps:
        for command in ("next_change", "previous_change", "keep_change", "drop_change"):
            self.sentences.clear()
            self.run_command(command)
            yield from self.was_told(single_changes.NO_CHANGES)

    @word("changes? (.+) (?:are|is) (dropped|kept)")
    def decide(self, numbers: str, how: str) -> None:
        """One right after the other, before it is known what became of the changes."""
        keys = self.review(self.right).comparison.keys
        for number in numbers.split(", "):
            self.run_command(
                "drop_change" if how == "dropped" else "keep_change", change=keys[int(number)]
            )

    def is_seen(self, view: sublime.View, row: int) -> bool:
        return view.visible_region().contains(view.text_point(row, 0))

    def apart(self, name: str, first: int, second: int) -> float:
        return self.height(self.view(name), second) - self.height(self.view(name), first)

    words = {
        r"at the caret is typed (\S+)": lambda t, words: t.right.run_command(
            "insert", {"characters": words}
        ),
    }
    seen = {
        "the caret is in row": lambda t: caret_row(t.right),
        "row 879 and not row 0 is in sight on both sides:": lambda t: (
            [(t.is_seen(view, 879), t.is_seen(view, 0)) for view in (t.right, t.view("-file.txt"))]
            == [(True, False)] * 2
        ),
        "row 399 is in sight on the left:": lambda t: t.is_seen(t.view("-file.txt"), 399),
        r"the characters marked in (\S+) are": lambda t, name: t.texts(
            t.view(name), marks.CHARACTERS
        ),
        "rows 1, 2 and 1, 5 are equally far apart:": lambda t: (
            t.apart("-file.txt", 1, 2) == t.apart("+file.txt", 1, 5)
        ),
        "the change is number": lambda t: t.review(t.right).current,
        "the changes seen are": lambda t: [
            t.review(t.right).comparison.keys.index(key) for key in record.seen_changes(t.right)
        ],
        "the count of changes seen is": lambda t: t.review(t.right).diff_summary(t.right).seen,
        "it was skipped:": lambda t: any(
            single_changes.ABOVE in sentence for sentence in t.sentences
        ),
    }

    def test_lines_that_a_proposal_deletes_come_back_alone_where_that_is_dropped(self) -> Steps:
        old, new = LINES[:9], [*LINES[:6], "seven\n", *LINES[7:9]]
        for gone in (0, 4, 8):
            with self.subTest(gone=gone):
                without = "".join(new[:gone] + new[gone + 1 :])
                right = yield from self.propose("".join(old), without, f"{gone}.txt")
                review = self.review(right)
                number = [change.added for change in review.comparison.changes].index(0)
                key = review.comparison.keys[number]
                self.run_command("drop_change", id=review.id, change=key)
                self.assertEqual(text_of(right), "".join(new))

    def test_five_changes_two_dropped_and_one_retyped_are_accepted_as_they_stand(self) -> Steps:
        yield from self.are_to_be("all lines", "all lines with 100=a 200=b 300=c 400=d 500=e")
        right = self.right
        for key in [self.review(right).comparison.keys[number] for number in (0, 3)]:
            self.run_command("drop_change", change=key)
            yield from self.until_computed(right)
        right.sel().clear()
        right.sel().add(right.line(right.text_point(199, 0)))
        right.run_command("insert", {"characters": "retyped"})
        self.run_command("accept_diff")
        yield lambda: self.cli.received("ide/diffAccepted")
        told = self.cli.received("ide/diffAccepted")[0]
        self.assertEqual(told["content"], line_text("all lines with 200=retyped 300=c 500=e"))
