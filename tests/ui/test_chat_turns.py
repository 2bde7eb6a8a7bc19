"""Turns of a chat: undone, made again, gone back to, and shown among all changes."""

from __future__ import annotations

from datetime import datetime, timezone
from functools import partial
from typing import Any, Generator

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.agent.turn_undo import (
    AS_LEFT,
    CHANGED,
    NOT_STORED,
    OTHER,
    UNDONE,
    FileChange,
    FileTexts,
)
from GeminiCompanion.companion.base import file_content
from GeminiCompanion.companion.base.answer import Unanswered
from GeminiCompanion.companion.chat.attached import IMAGE, Attached
from GeminiCompanion.companion.chat.chat_update import READY, ChatUpdate, UndoneTurn
from GeminiCompanion.companion.chat.edit_requests import (
    AT_ONCE,
    Checkpoint,
    Checkpoints,
    Rewind,
    Rewound,
    TellChanged,
    TurnTexts,
)
from GeminiCompanion.companion.chat.requests import UndoTurn
from GeminiCompanion.companion.edits.edit import Edit, EditState
from GeminiCompanion.companion.edits.turn_edits import turn_id
from GeminiCompanion.companion.ide.questions import WordsOnUnasked
from GeminiCompanion.companion.ui.changes.change_sheets import CHANGES
from GeminiCompanion.companion.ui.changes.shown_turns import LOST
from GeminiCompanion.companion.ui.chat.chat_view import CONVERSATION
from GeminiCompanion.companion.ui.chat.turn_actions import ALL_UNDONE, EXCLUDED, NOTHING
from GeminiCompanion.companion.ui.review import comments, open_diffs
from GeminiCompanion.companion.ui.review.record import Comment, waiting_record

from .adapter import text_of
from .reviewing import Steps
from .test_chat_tabs import ChatCase

AT = datetime(2026, 5, 4, 12, 30, tzinfo=timezone.utc)


class TurnCase(ChatCase):
    def begin_chat(self) -> Steps:
        self.path = self.write("a.txt", "new\n")
        self.view = yield from self.chat()
        self.id = str(self.view.settings().get(CONVERSATION))

    def given(self, kind: type, answer: Any) -> Generator[Any, Any, Any]:
        """The request of this kind, once it is asked, with its answer."""

        def asked() -> list[tuple[Any, Any]]:
            return [pair for pair in self.service.asked if isinstance(pair[0], kind)]

        yield asked
        request, promise = asked()[-1]
        self.service.asked.remove((request, promise))
        promise.give(answer)
        yield from self.until_turn()
        return request

    def turn(self, id: str, *states: str) -> Checkpoint:
        files = tuple(FileChange(self.path, CHANGED, state) for state in states)
        return Checkpoint(id, f"message of {id}", AT, files)

    def file(self, state: str = AS_LEFT) -> FileTexts:
        change = FileChange(self.path, CHANGED, state)
        return FileTexts(change, b"old\n", b"new\n", True)

    def sheet(self) -> Generator[Any, Any, sublime.View]:
        def sheets() -> list[sublime.View]:
            views = self.window.views()
            return [
                view for view in views if view.settings().get(CHANGES) and "new" in text_of(view)
            ]

        yield sheets
        return sheets()[0]

    def tearDown(self) -> Generator[Any, Any, None]:
        self.running().review.ledger.turns._edits.clear()
        yield from super().tearDown()


class Undoing(TurnCase):
    def test_the_last_turn_that_left_a_file_as_it_is_is_undone(self) -> Steps:
        yield from self.begin_chat()
        self.run_command("undo_turn")
        turns = self.turn("t3"), self.turn("t2", OTHER, AS_LEFT), self.turn("t1", AS_LEFT)
        yield from self.given(Checkpoints, turns)
        request = yield from self.given(UndoTurn, ())
        self.assertEqual(request, UndoTurn(self.id, "t2"))

    def test_the_oldest_of_the_undone_turns_is_made_again(self) -> Steps:
        yield from self.begin_chat()
        self.run_command("redo_turn")
        turns = self.turn("t4", OTHER), self.turn("t3", UNDONE), self.turn("t2", UNDONE)
        yield from self.given(Checkpoints, (*turns, self.turn("t1", AS_LEFT)))
        request = yield from self.given(UndoTurn, ())
        self.assertEqual(request, UndoTurn(self.id, "t2", again=True))

    def test_a_second_undoing_waits_for_the_end_of_the_first(self) -> Steps:
        yield from self.begin_chat()
        self.run_command("undo_turn")
        self.run_command("undo_turn")
        yield from self.given(Checkpoints, (self.turn("t2", AS_LEFT),))
        self.assertEqual([type(pair[0]) for pair in self.service.asked], [UndoTurn])
        yield from self.given(UndoTurn, ())
        yield from self.given(Checkpoints, (self.turn("t2", UNDONE), self.turn("t1", AS_LEFT)))
        request = yield from self.given(UndoTurn, ())
        self.assertEqual(request, UndoTurn(self.id, "t1"))

    def test_the_user_is_told_where_nothing_can_be_undone(self) -> Steps:
        yield from self.begin_chat()
        self.run_command("undo_turn")
        yield from self.given(Checkpoints, (self.turn("t1", OTHER),))
        yield from self.until_told(NOTHING[False])
        self.assertEqual(self.service.asked, [])

    def test_one_file_is_told_by_its_name_and_several_by_their_number(self) -> Steps:
        yield from self.begin_chat()
        changed = FileChange(self.path, CHANGED, UNDONE)
        for files, said in (((changed,), "Undone: a.txt."), ((changed,) * 2, "Undone: 2 files.")):
            self.run_command("undo_turn")
            yield from self.given(Checkpoints, (self.turn("t1", AS_LEFT),))
            yield from self.given(UndoTurn, files)
            yield from self.until_told(said)

    def test_files_that_are_excluded_and_so_not_kept_are_named(self) -> Steps:
        yield from self.begin_chat()
        secret = FileChange("/w/.env", CHANGED, NOT_STORED, is_excluded=True)
        self.run_command("undo_turn")
        yield from self.given(Checkpoints, (self.turn("t1", AS_LEFT),))
        yield from self.given(UndoTurn, (FileChange(self.path, CHANGED, UNDONE), secret))
        said = "Undone: a.txt." + EXCLUDED.format(".env")
        yield lambda: any(sentence.endswith(said) for sentence in self.sentences)
        self.run_command("undo_turn")
        yield from self.given(Checkpoints, (Checkpoint("t1", "message", AT, (secret,)),))
        said = NOTHING[False] + EXCLUDED.format(".env")
        yield lambda: any(sentence.endswith(said) for sentence in self.sentences)

    def test_what_could_not_be_undone_is_shown_as_a_diff(self) -> Steps:
        yield from self.begin_chat()
        self.write("a.txt", "by the user\n")
        self.run_command("undo_turn")
        yield from self.given(Checkpoints, (self.turn("t1", AS_LEFT),))
        yield from self.given(UndoTurn, (FileChange(self.path, CHANGED, OTHER),))
        yield from self.given(TurnTexts, (self.file(OTHER),))
        yield lambda: [each for each in self.window.views() if each.name() == "not undone.diff"]
        view = next(each for each in self.window.views() if each.name() == "not undone.diff")
        self.assertIn("-by the user\n+old\n", text_of(view))


class Rewinding(TurnCase):
    def test_the_message_is_in_the_composer_of_a_new_chat(self) -> Steps:
        yield from self.begin_chat()
        asked = self.panels()
        self.run_command("rewind")
        yield from self.given(Checkpoints, (self.turn("t2", AS_LEFT), self.turn("t1")))
        yield lambda: asked
        asked.pop()["on_select"](0)
        yield lambda: asked
        asked.pop()["on_select"](0)
        image = Attached(IMAGE, "a.png", "/w/attachments/1")
        made = Rewound("f" * 32, "qwen", "/other", "message of t2", (image,))
        request = yield from self.given(Rewind, made)
        self.assertEqual(request, Rewind(self.id, "t2"))
        yield lambda: self.window.active_view().settings().get(CONVERSATION) == "f" * 32
        view = self.window.active_view()
        self.assertEqual(self.unsent(view), "message of t2")
        chat = self.chats.tabs.chat_of(view)
        self.assertEqual(chat and chat.above.attached, (image,))
        # Also where the conversation has still to be begun.
        yield lambda: ("f" * 32, "qwen", "/other") in self.service.wanted
        self.assertTrue(self.view.is_valid())

    def test_the_list_goes_on_to_messages_before_the_last_hundred(self) -> Steps:
        yield from self.begin_chat()
        asked = self.panels()
        self.run_command("rewind")
        last = tuple(self.turn(f"t{number}") for number in range(250, 150, -1))
        yield from self.given(Checkpoints, last)
        yield lambda: asked
        self.assertEqual(len(asked[0]["items"]), AT_ONCE + 1)
        asked.pop()["on_select"](AT_ONCE)
        request = yield from self.given(Checkpoints, (self.turn("t150"), self.turn("t149")))
        self.assertEqual(request, Checkpoints(self.id, "t151"))
        yield lambda: asked
        panel = asked.pop()
        # Nothing is left before these.
        self.assertEqual(len(panel["items"]), AT_ONCE + 2)
        panel["on_select"](AT_ONCE)
        yield lambda: asked
        self.assertIn("101 messages", str(asked[0]["items"][0]))
        asked.pop()["on_select"](0)
        request = yield from self.given(Rewind, Rewound("f" * 32, "qwen", "/other", "words"))
        self.assertEqual(request, Rewind(self.id, "t150"))

    def test_nothing_is_changed_without_a_second_word(self) -> Steps:
        yield from self.begin_chat()
        asked = self.panels()
        self.run_command("rewind")
        yield from self.given(Checkpoints, (self.turn("t1", AS_LEFT),))
        yield lambda: asked
        asked.pop()["on_select"](0)
        yield lambda: asked
        asked.pop()["on_select"](1)
        yield from self.until_turn()
        self.assertEqual(self.service.asked, [])


class SheetCase(TurnCase):
    def show(self) -> Steps:
        yield from self.begin_chat()
        self.run_command("turn_changes", turn="t1")
        yield from self.given(TurnTexts, (self.file(),))


class InTheSheet(SheetCase):
    def test_what_a_turn_changed_is_in_the_sheet(self) -> Steps:
        yield from self.show()
        sheet = yield from self.sheet()
        self.assertIn("a.txt", text_of(sheet))
        self.assertIn("old\n", text_of(sheet))

    def test_an_edit_that_is_undone_in_the_sheet_is_told_the_agent(self) -> Steps:
        yield from self.show()
        sheet = yield from self.sheet()
        (edit,) = self.running().review.ledger.turns.of_window(self.window.id())
        found = self.running().changes.sheets.sheet_of(sheet)
        arguments = {"sheet": str(sheet.buffer_id()), "action": "reject_file"}
        self.assertIsNotNone(found)
        self.run_command("decide_changes", file=f"edit {edit.id}", **arguments)
        request = yield from self.given(TellChanged, None)
        self.assertEqual(request, TellChanged(self.id, (self.path,)))
        with open(self.path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "old\n")
        self.assertEqual(self.running().review.ledger.turns.of_window(self.window.id()), [])

    def test_an_edit_that_is_kept_leaves_the_sheet(self) -> Steps:
        yield from self.show()
        sheet = yield from self.sheet()
        (edit,) = self.running().review.ledger.turns.of_window(self.window.id())
        arguments = {"sheet": str(sheet.buffer_id()), "action": "accept_file"}
        self.run_command("decide_changes", file=f"edit {edit.id}", **arguments)
        yield lambda: "a.txt" not in text_of(sheet)

    def is_shown(self, sheet: sublime.View, names: list[str], wanted: list[str]) -> bool:
        """Whether the sheet shows these and no others, wherever they stand."""
        turns, text = (
            self.running().review.ledger.turns.shown_turns(self.window.id()),
            text_of(sheet),
        )
        count = sum(len(turn.paths) for turn in turns)
        return [name for name in names if name in text] == wanted and count == len(wanted)

    def test_files_that_come_back_are_where_they_were(self) -> Steps:
        yield from self.begin_chat()
        names = ["a.txt", "b.txt", "c.txt"]
        paths = [self.write(name, "new\n") for name in names]
        changes = [FileChange(path, CHANGED, AS_LEFT) for path in paths]
        self.run_command("turn_changes", turn="t1")
        texts = tuple(FileTexts(change, b"old\n", b"new\n", True) for change in changes)
        yield from self.given(TurnTexts, texts)
        sheet, asked = (yield from self.sheet()), self.panels()
        for action in ("accept_all", "undo_all", "reject_all", "undo_all"):
            arguments = {"sheet": str(sheet.buffer_id()), "action": action}
            self.run_command("decide_changes", file="", **arguments)
            yield lambda: asked
            asked.pop()["on_select"](0)
            there = names if action == "undo_all" else []
            yield partial(self.is_shown, sheet, names, there)
            yield from self.until_turn()
        self.assertEqual(sorted(names, key=text_of(sheet).index), names)

    def test_what_is_said_about_it_stands_in_the_chat_and_goes_to_no_cli(self) -> Steps:
        cli = self.running().companion
        yield from self.show()
        # The next chat of the folder would begin with it.
        self.addCleanup(self.chats.drafts.forget, self.id)
        asked: list[object] = []
        ask = cli.ask
        self.replace(cli, "ask", lambda request: asked.append(request) or ask(request))
        for words, is_open in (("Why?", True), ("And why?", False)):
            (edit,) = self.running().review.ledger.turns.of_window(self.window.id())
            self.running().stories.begin(
                self.running().review.written.open_review(self.window, edit)
            )
            yield lambda: list(open_diffs.undecided_diffs(self.window))
            ((right, _),) = open_diffs.undecided_diffs(self.window)
            comments.add_comment(right, Comment(0, 0, words))
            if not is_open:
                self.view.close()
                yield from self.until_turn()
            self.run_command("accept_diff", id=waiting_record(right).id)  # type: ignore[union-attr]
            yield lambda: not list(open_diffs.undecided_diffs(self.window))
            yield from self.until_turn()
            self.assertIn(f"{self.path}#L1: {words}", self.chats.drafts.text_of(self.id) or "")
        self.assertIn("Why?", self.chats.drafts.text_of(self.id) or "")
        self.assertFalse([request for request in asked if isinstance(request, WordsOnUnasked)])


class AfterRestart(SheetCase):
    def restart(self) -> Steps:
        sublime.run_command("gemini_companion_restart_companion")
        yield (
            lambda: plugin._host.is_running and plugin._host.running.chat.actions is not self.chats
        )
        self.chats = self.running().chat.actions
        self.replace(self.chats.access, "service", self.service)
        yield from self.until_turn()

    def test_the_sheet_has_the_edits_of_the_turn_again(self) -> Steps:
        yield from self.show()
        sheet = yield from self.sheet()
        yield from self.restart()
        request = yield from self.given(TurnTexts, (self.file(),))
        self.assertEqual(request, TurnTexts(self.id, "t1"))
        yield from self.until_in("old\nnew\n", lambda: text_of(sheet))

    def test_a_file_that_was_decided_on_does_not_come_back(self) -> Steps:
        yield from self.show()
        sheet = yield from self.sheet()
        (edit,) = self.running().review.ledger.turns.of_window(self.window.id())
        arguments = {"sheet": str(sheet.buffer_id()), "action": "accept_file"}
        self.run_command("decide_changes", file=f"edit {edit.id}", **arguments)
        yield lambda: "a.txt" not in text_of(sheet)
        yield from self.restart()
        yield lambda: text_of(sheet)
        self.assertEqual(
            [pair for pair in self.service.asked if isinstance(pair[0], TurnTexts)], []
        )

    def test_what_is_typed_in_its_review_is_there_and_can_be_kept(self) -> Steps:
        yield from self.show()
        sheet = yield from self.sheet()
        sheet.sel().clear()
        sheet.sel().add(sublime.Region(text_of(sheet).index("\nnew") + 4))
        sheet.run_command("insert", {"characters": "er"})
        yield from self.until_in("newer\n", lambda: self.right_text())
        yield from self.restart()
        yield from self.given(TurnTexts, (self.file(),))
        yield from self.until_in("old\nnewer\n", lambda: text_of(sheet))
        (edit,) = self.running().review.ledger.turns.of_window(self.window.id())
        # The text is from before, too: the sheet may not be drawn yet.
        drawn = self.running().changes.sheets.sheet_of(sheet)
        yield lambda: drawn.find_source(f"edit {edit.id}")
        arguments = {"sheet": str(sheet.buffer_id()), "action": "accept_file"}
        self.run_command("decide_changes", file=f"edit {edit.id}", **arguments)
        yield from self.until_equal(self.on_disk, "newer\n")

    def right_text(self) -> str:
        return "".join(text_of(diff) for diff, _ in open_diffs.undecided_diffs(self.window))

    def on_disk(self) -> str:
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def test_what_is_not_kept_any_more_is_told_once(self) -> Steps:
        yield from self.show()
        yield from self.sheet()
        yield from self.restart()
        yield lambda: [pair for pair in self.service.asked if isinstance(pair[0], TurnTexts)]
        (asked,) = [pair for pair in self.service.asked if isinstance(pair[0], TurnTexts)]
        self.service.asked.remove(asked)
        asked[1].fail(Unanswered("It is gone."))
        yield lambda: any(LOST.format("It is gone.") in sentence for sentence in self.sentences)
        yield from self.restart()
        self.assertEqual(
            [pair for pair in self.service.asked if isinstance(pair[0], TurnTexts)], []
        )


class Elsewhere(SheetCase):
    def test_a_turn_that_is_undone_leaves_the_sheet(self) -> Steps:
        yield from self.show()
        sheet = yield from self.sheet()
        self.window.focus_view(self.view)
        self.run_command("undo_turn")
        yield from self.given(Checkpoints, (self.turn("t1", AS_LEFT),))
        yield from self.given(UndoTurn, (FileChange(self.path, CHANGED, UNDONE),))
        undone = (UndoneTurn("t1", frozenset([self.path])),)
        self.chats.drawing.draw_soon(ChatUpdate(self.id, READY, undone=undone))
        yield lambda: "a.txt" not in text_of(sheet)

    def test_of_a_turn_that_is_undone_the_user_is_told_that_there_is_nothing_to_show(self) -> Steps:
        yield from self.begin_chat()
        self.run_command("turn_changes", turn="t1")
        yield from self.given(TurnTexts, (self.file(UNDONE),))
        yield from self.until_told(ALL_UNDONE)

    def test_an_edit_that_waits_as_one_made_without_asking_is_there_once(self) -> Steps:
        yield from self.begin_chat()
        before = file_content.of_bytes(b"old\n")
        turn = turn_id(self.id, "t1")
        edit = Edit(
            self.window.id(),
            self.path,
            before,
            "new\n",
            "Agent",
            1.0,
            turn=turn,
            state=EditState.WRITTEN,
        )
        self.running().review.ledger.made.add(edit)
        self.addCleanup(self.running().review.ledger.made.replace, edit, None)
        self.run_command("turn_changes", turn="t1")
        yield from self.given(TurnTexts, (self.file(),))
        sheet = yield from self.sheet()
        self.assertIn("1 edit made without asking in 1 file:", text_of(sheet))
