"""Stories of the sheet of all changes that are cut: what is decided can be undone, what is typed is
somewhere, and all else waits as it did."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Callable, Generator, Sequence
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.base.change_sheet import Section, Sheet, Update
from GeminiCompanion.companion.edits.edit import Edit, EditState
from GeminiCompanion.companion.ui.changes.proposal_source import ProposalSource
from GeminiCompanion.companion.ui.changes.sheet import NAME
from GeminiCompanion.companion.ui.changes.unasked_edit_source import PREFIX
from GeminiCompanion.companion.ui.review import open_diffs
from GeminiCompanion.companion.ui.review.record import is_diff

from .adapter import text_of
from .cutting import Cut, CuttingCase
from .reviewing import Steps
from .test_show_changes import OLD, SheetCase, UnaskedCase

NEW = OLD.replace("line 3\n", "LINE 3\n")
TYPED = NEW.replace("LINE 3\n", "LINE 3 typed\n")


class CutSheet(CuttingCase, SheetCase):
    def undoable(self, view: sublime.View) -> str:
        return self.sheet(view).marking.undoable

    def waiting(self) -> list[sublime.View]:
        """The right views of what is undecided."""
        return [right for right, _record in open_diffs.undecided_diffs(self.window)]

    def away(self) -> Steps:
        """All proposals go, and the tabs; the CLI is told."""
        for right, found in list(open_diffs.undecided_diffs(self.window)):
            if not found.is_returned:
                yield self.cli.call("closeDiff", filePath=found.path).done
            else:
                right.close()
            yield lambda right=right: not right.is_valid() or not is_diff(right)
        for cli in self.clis:
            cli.close()
        yield from self.until_connected(0)
        self.close_tabs()


class Proposed(CutSheet):
    def on_disk(self, name: str) -> str:
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def decided(self, action: str, method: str, done: str) -> Callable[[Cut], Steps]:
        def go(cut: Cut) -> Steps:
            rights = yield from self.propose_files((OLD, NEW), (OLD, NEW), (OLD, NEW))
            view = yield from self.show()
            cut.next_story()
            self.decide(view, action)
            yield from self.until_over(cut)
            over = [right for right in rights if not right.is_valid() or not is_diff(right)]
            yield lambda: len(self.cli.received(method)) == len(over)
            expected = f"Undo {len(over)} {done}" if over else ""
            self.assertEqual(self.undoable(view), expected, f"after await {cut.at}")
            if len(over) < len(rights):
                self.decide(view, action)
                yield lambda: self.panels_open.open
                self.panels_open.answer(-1)
            yield from self.away()

        return go

    def test_accepting_and_rejecting_all(self) -> Steps:
        for action, method, done in (
            ("accept_all", "ide/diffAccepted", "accepted"),
            ("reject_all", "ide/diffRejected", "rejected"),
        ):
            go = self.decided(action, method, done)
            yield from self.each_await("SheetCommands.decide_by_link", go, 3, [0])

    def test_an_acceptance_that_fails_leaves_the_others_to_be_undone(self) -> Steps:
        rights = yield from self.propose_files((OLD, NEW), (OLD, NEW), (OLD, NEW))
        view = yield from self.show()
        accept = ProposalSource.accept_changes

        async def fail(self: ProposalSource, window: sublime.Window, id: str, *more: Any) -> Any:
            if id == failing:
                raise ValueError("of the test")
            return await accept(self, window, id, *more)

        failing = self.id(rights[2])
        with mock.patch.object(ProposalSource, "accept_changes", fail), self.assertLogs(
            "GeminiCompanion"
        ):
            self.decide(view, "accept_all")
            yield lambda: self.panels_open.open
            self.panels_open.answer(0)
            yield lambda: self.undoable(view) == "Undo 2 accepted"
        self.assertEqual([is_diff(right) for right in rights if right.is_valid()][-1:], [True])

    def test_a_sheet_that_is_half_drawn_when_the_package_stops_gives_nothing_back(self) -> Steps:
        right, *_others = yield from self.propose_files((OLD, NEW), (OLD, NEW), (OLD, NEW))
        view = yield from self.show()
        toward, steps = Sheet.update_toward, []

        def stop_at_second(sheet: Sheet, wanted: Sequence[Section]) -> Update | None:
            steps.append(sheet)
            if len(steps) == 2:
                sublime.set_timeout(plugin._host.stop)
            return toward(sheet, wanted, limit=1)

        plugin._host.stop()
        self.type(right, "LINE 3", " and more")
        self.replace(Sheet, "update_toward", stop_at_second)
        plugin._host.start()
        yield lambda: len(steps) == 2 and not plugin._host.is_running
        self.assertIn("0.py", text_of(view))
        self.assertNotIn("2.py", text_of(view))
        plugin._host.start()
        yield lambda: self.running().changes.sheets.sheet_of(view) is not None
        yield from self.until_in("LINE 3 and more\n", lambda: text_of(view))
        yield from self.until_drawn(view)
        self.assertEqual([name for name in self.tabs() if name.startswith(f"{NAME} (")], [])

    def test_keeping_and_dropping_all(self) -> Steps:
        def decided(action: str, cut: Cut) -> Steps:
            rights = yield from self.propose_files((OLD, NEW), (OLD, NEW))
            view = yield from self.show()
            cut.next_story()
            self.decide(view, action)
            yield from self.until_over(cut)
            for right in rights:
                self.assertTrue(is_diff(right))
                self.assertIn(text_of(right), (NEW, OLD))
            changed = [right for right in rights if text_of(right) == OLD]
            undone = self.sheet(view).edits.go_back(is_undo=True)
            self.assertEqual(list(undone.views), changed[::-1])
            self.assertEqual([text_of(right) for right in rights], [NEW, NEW])
            yield from self.away()

        for action, answers in (("keep_all", ()), ("drop_all", (0,))):
            go = partial(decided, action)
            yield from self.each_await("SheetCommands.decide_by_link", go, 1, answers)

    def test_undoing_a_rejection(self) -> Steps:
        def go(cut: Cut) -> Steps:
            yield from self.propose_files((OLD, NEW), (OLD, NEW))
            view = yield from self.show()
            self.decide(view, "reject_all")
            yield lambda: self.panels_open.open
            self.panels_open.answer(0)
            yield lambda: self.undoable(view) == "Undo 2 rejected"
            cut.next_story()
            self.decide(view, "undo_all")
            yield from self.until_over(cut)
            there = len(self.waiting())
            left = f"Undo {2 - there} rejected" if there < 2 else ""
            self.assertEqual(self.undoable(view), left, f"after await {cut.at}")
            yield from self.away()

        yield from self.each_await("SheetCommands.decide_by_link", go, 4, [0])

    def returned(self) -> Steps:
        """`self.view` shows two proposals whose rejection is taken back; the user has typed into
        the first one."""
        yield from self.propose_files((OLD, NEW), (OLD, NEW))
        self.view = yield from self.show()
        self.decide(self.view, "reject_all")
        yield lambda: self.panels_open.open
        self.panels_open.answer(0)
        yield lambda: self.undoable(self.view) == "Undo 2 rejected"
        self.decide(self.view, "undo_all")
        yield lambda: self.panels_open.open
        self.panels_open.answer(0)
        yield lambda: len(self.waiting()) == 2
        self.rights = self.waiting()
        self.rights[0].run_command("append", {"characters": "typed\n"})
        yield from self.until_computed(self.rights[0])

    def test_writing_an_accepted_text_that_no_cli_waits_for(self) -> Steps:
        def go(cut: Cut) -> Steps:
            yield from self.returned()
            cut.next_story()
            self.run_command("accept_diff", id=self.id(self.rights[0]))
            yield from self.until_over(cut)
            yield lambda: not self.rights[0].is_valid()
            names = "0.py", "1.py"
            kept = [*map(self.on_disk, names)]
            kept += [self.tabs().get(f"{name} (accepted, not written)") for name in names]
            self.assertIn(NEW + "typed\n", kept, f"after await {cut.at}")
            yield from self.away()

        yield from self.each_await("Returned._write_text", go, 1)


class Unasked(CutSheet, UnaskedCase):
    """Edits that are made already."""

    def test_what_is_typed_while_its_review_opens_is_in_the_review_or_in_a_tab(self) -> Steps:
        def go(cut: Cut) -> Steps:
            self.made("a.py", OLD, NEW)
            view = yield from self.show()
            cut.next_story()
            self.type(view, "LINE 3", " typed")
            self.sheet(view).take_typed()
            yield from self.until_over(cut)
            rights = self.waiting()
            kept = [*map(text_of, rights), self.tabs().get("a.py (your edits)")]
            self.assertIn(TYPED, kept, f"after await {cut.at}")
            yield from self.forgotten()

        yield from self.each_await("TypedEdits._open_review", go, 2)

    def test_undoing_and_keeping_one(self) -> Steps:
        def decided(action: str, text: str, cut: Cut) -> Steps:
            id = self.made("a.py", OLD, NEW)
            view = yield from self.show()
            cut.next_story()
            self.decide(view, action, id)
            yield from self.until_over(cut)
            yield from self.pressed_again(view, action, id)
            self.assertEqual(self.on_disk("a.py"), text)
            yield from self.forgotten()

        for action, text in (("reject_file", OLD), ("accept_file", NEW)):
            go = partial(decided, action, text)
            yield from self.each_await("SheetCommands.decide_by_link", go, 1)

    def pressed_again(self, view: sublime.View, action: str, id: str) -> Steps:
        """What a cut decision left undone is done then."""
        self.decide(view, action, id)
        book, edit = self.running().review.ledger.made, id[len(PREFIX) :]
        yield lambda: getattr(book.find(edit), "state", EditState.KEPT) is EditState.KEPT

    def test_keeping_what_was_typed_in_a_review(self) -> Steps:
        def go(cut: Cut) -> Steps:
            self.made("a.py", OLD, NEW)
            right = yield from self.opened()
            right.run_command("append", {"characters": "typed\n"})
            yield from self.until_computed(right)
            cut.next_story()
            self.run_command("accept_diff", id=self.id(right))
            yield from self.until_over(cut)
            kept = [self.on_disk("a.py"), *map(text_of, self.waiting())]
            self.assertIn(NEW + "typed\n", kept, f"after await {cut.at}")
            yield from self.forgotten()

        yield from self.each_await("DiffDecisions.accept_diff", go, 2)

    def test_undoing_all_edits_of_a_turn(self) -> Steps:
        def go(cut: Cut) -> Steps:
            for name in ("a.py", "b.py"):
                self.made(name, OLD, NEW)
            cut.next_story()
            self.run_command("undo_edits_of_turn")
            yield from self.until_over(cut)
            # The file may be undone a moment later, and what a cut left is undone then.
            undoing: set[str] = set()
            yield lambda: self.are_undone("t", undoing)
            self.assertEqual([self.on_disk(path) for path in ("a.py", "b.py")], [OLD, OLD])
            yield from self.forgotten()

        yield from self.each_await("Unasked.undo_turn", go, 3, [0])

    def opened(self) -> Generator[Any, Any, sublime.View]:
        """The review of the one edit."""
        (edit,) = [
            each
            for each in self.running().review.ledger.made.of_window(self.window.id())
            if each.turn
        ]
        self.begin(self.running().review.written.open_review(self.window, edit))
        yield self.waiting
        (right,) = self.waiting()
        yield from self.until_computed(right)
        return right

    def are_undone(self, turn: str, undoing: set[str]) -> bool:
        """Whether no edit of the turn is left. Undoes those that are, one by one, and again where
        that failed: a file that is slow to load is told to the user, who tries again."""

        async def undo(edit: Edit) -> None:
            await self.running().review.written.undo_and_tell(self.window, edit)
            undoing.discard(edit.id)

        left = self.running().review.ledger.made.of_turn(turn)
        for edit in left:
            if edit.id not in undoing:
                undoing.add(edit.id)
                self.begin(undo(edit))
        return not left

    def forgotten(self) -> Steps:
        """The edits, their reviews and the tabs."""
        kept = self.running().review.ledger.made
        for edit in kept.of_window(self.window.id()):
            kept.replace(edit, None)
        for right in self.waiting():
            right.set_scratch(True)
            right.close()
        yield lambda: not self.waiting()
        yield from self.until_turn()
        self.close_tabs()
