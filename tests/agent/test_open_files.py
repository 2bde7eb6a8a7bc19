"""Files that are open in an editor with unsaved changes: read and written as they are there, and
writes that the user is asked about although the agent asks nobody."""

from __future__ import annotations

import asyncio
import os
import tempfile
import unittest
from functools import partial
from typing import Any
from unittest import mock

from GeminiCompanion.companion.agent import edited_file
from GeminiCompanion.companion.agent.acp import messages
from GeminiCompanion.companion.agent.agents import cli as cli_module
from GeminiCompanion.companion.agent.agents.cli import NOT_FOUND
from GeminiCompanion.companion.agent.agents.qwen_code import QwenCode
from GeminiCompanion.companion.agent.events.tool_call import Call
from GeminiCompanion.companion.agent.open_files import (
    NeedsUser,
    NotSaved,
    OpenFiles,
    Saved,
    Withheld,
)
from GeminiCompanion.companion.agent.turn import file_reads, file_writes
from GeminiCompanion.companion.agent.turn.call_tracker import CallTracker
from GeminiCompanion.companion.agent.turn.file_writes import LEFT_OUT
from GeminiCompanion.companion.agent.turn.held_writes import UNSAVED
from GeminiCompanion.companion.agent.turn.outcomes import CallDecision
from GeminiCompanion.companion.agent.turn_events import (
    CANCEL,
    COMPLETED,
    END_TURN,
    FAILED,
    MODIFY,
    ONCE,
    UNATTENDED,
    Complete,
    Diff,
    ToolConfirmation,
    ToolResult,
    Usage,
)
from GeminiCompanion.companion.agent.turn_undo import CHANGED, NOT_STORED, FileChange, TurnUndo
from GeminiCompanion.companion.base import undo_store

from ..support import PATIENCE, until
from .stage import Stage, edit

WRITE = "write_file__1"


class Tab(OpenFiles):
    """One tab: `text` is what is unsaved in it, None if nothing is. It is written only if it
    `is_accepted`."""

    are_there = True

    def __init__(self, path: str) -> None:
        self.path = path
        self.text: str | None = None
        self.is_accepted = self.is_held = self.is_excluded = self.is_full = False

    async def unsaved_text(self, path: str) -> str | None:
        if self.is_excluded:
            raise Withheld
        return self.text if path == self.path else None

    async def excludes_file(self, path: str) -> bool:
        return path == self.path and self.is_excluded

    async def save_text(self, path: str, text: str) -> Saved | None:
        if path != self.path or self.text is None:
            return None
        if not self.is_accepted:
            raise NeedsUser
        if self.is_full:
            raise NotSaved
        before, self.text = self.text, None
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return Saved(before, text)

    async def asks_before_edits(self, folder: str) -> bool:
        return self.is_held


class OpenCase(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = os.path.realpath(temporary.name)
        self.path = os.path.join(self.folder, "a")
        self.write(b"one\n")
        self.stage = Stage(self.folder)
        self.stage.session.folder = self.folder
        self.tab = self.stage.agent.cli.open_files = Tab(self.path)
        self.noted: list[Any] = []
        patch = mock.patch.object(cli_module, "PATIENCE", 0.0)
        patch.start()
        self.addCleanup(patch.stop)

    def write(self, data: bytes) -> None:
        with open(self.path, "wb") as file:
            file.write(data)

    def content(self) -> str:
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def told(self) -> Any:
        return self.stage.session.told[-1]


class Reading(OpenCase):
    async def read(self, cli: Any = None, **part: int) -> Any:
        request = messages.ReadTextFile("session", 9, self.path, **part)
        client: Any = self.stage.session
        await file_reads.answer_read(request, client, cli or self.stage.agent.cli)
        return self.told()[1]

    async def test_what_is_not_saved_is_read(self) -> None:
        self.assertEqual((await self.read())["content"], "one\n")
        self.tab.text = "one\ntyped\n"
        self.assertEqual((await self.read())["content"], "one\ntyped\n")

    async def test_it_is_read_with_the_line_ends_and_the_mark_of_the_file(self) -> None:
        self.write(b"\xef\xbb\xbfone\r\n")
        self.tab.text = "one\ntyped\n"
        found = await self.read()
        self.assertEqual(found["content"], "\ufeffone\r\ntyped\r\n")
        self.assertEqual(found["_meta"], {"encoding": "utf-8", "bom": True, "originalLineCount": 3})

    async def test_lines_of_it_are_read(self) -> None:
        self.tab.text = "1\n2\n3\n4\n"
        self.assertEqual((await self.read(line=2, limit=2))["content"], "2\n3")
        self.assertEqual((await self.read(line=4))["content"], "4\n")
        self.assertEqual((await self.read(limit=1))["content"], "1")

    async def test_an_excluded_file_is_not_read(self) -> None:
        self.tab.is_excluded = True
        self.assertIn("exclude", await self.read())

    async def test_a_file_that_does_not_exist_is_told_in_the_words_of_the_agent(self) -> None:
        os.unlink(self.path)
        self.tab.is_excluded = True
        self.assertTrue((await self.read()).startswith("ENOENT"))
        self.assertEqual((await self.read(QwenCode(self.folder, False)))["code"], NOT_FOUND)

    async def test_another_encoding_loses_nothing_and_is_named(self) -> None:
        self.write("für\n".encode("latin-1"))
        found = await self.read()
        self.assertEqual((found["content"], found["_meta"]["encoding"]), ("für\n", "latin1"))
        self.write("für\n".encode("utf-16"))
        found = await self.read()
        self.assertEqual((found["content"], found["_meta"]["encoding"]), ("für\n", "utf-16"))

    async def test_what_is_too_large_or_no_file_is_refused_with_a_sentence(self) -> None:
        with mock.patch.object(edited_file, "MOST", 3):
            self.assertIn("too large", await self.read())
        for path in (self.folder, self.path + "\0"):
            self.path = path
            self.assertIn("cannot be read", await self.read())

    async def test_a_name_with_a_nul_is_no_fault_of_ours(self) -> None:
        self.path += "\0"
        with mock.patch.object(file_reads.logger, "exception") as logged:
            self.assertIn("has a NUL", await self.read())
        self.assertFalse(logged.called)

    async def test_the_agent_has_its_answer_although_the_editor_fails(self) -> None:
        with mock.patch.object(self.tab, "unsaved_text", mock.AsyncMock(side_effect=NotSaved)):
            self.assertIn("cannot be read", await self.read())


class Writing(OpenCase):
    def tracker(self, patience: float | None = 600.0) -> CallTracker:
        note = lambda *change: self.noted.append(change[:3])  # noqa: E731
        return CallTracker(self.stage.log, self.stage.agent, patience, note)

    def update(self, status: str = "", old: str = "one\ntyped\n") -> messages.ToolCallUpdate:
        diffs = (messages.FileDiff(self.path, old, "new\n"),)
        return messages.ToolCallUpdate(WRITE, "w", "edit", status, diffs=diffs)

    def asks_to_write(self, tracker: CallTracker, text: str = "new\n") -> asyncio.Future[None]:
        request = messages.WriteTextFile("session", 9, self.path, text)
        return asyncio.ensure_future(tracker.write_file(request))

    async def question(self) -> ToolConfirmation:
        await until(lambda: self.stage.of(ToolConfirmation))
        found: ToolConfirmation = self.stage.of(ToolConfirmation)[-1]
        return found

    async def test_an_accepted_edit_is_saved_through_its_tab(self) -> None:
        tracker, self.tab.text, self.tab.is_accepted = self.tracker(), "one\ntyped\n", True
        await tracker.take_permission_request(self.stage.asked(self.update()))
        tracker.confirm_call(WRITE, CallDecision(ONCE))
        await self.asks_to_write(tracker)
        self.assertEqual((self.content(), self.told()), ("new\n", (9, {})))
        # To undo it leaves what was typed.
        self.assertEqual(self.noted, [(self.path, b"one\ntyped\n", b"new\n")])

    async def test_nothing_of_a_file_that_the_user_excludes_is_kept_for_undoing(self) -> None:
        edits = TurnUndo(os.path.join(self.folder, "state"))
        note = partial(edits.note_change, "turn")
        tracker = CallTracker(self.stage.log, self.stage.agent, 600.0, note)
        self.tab.is_excluded = True
        await tracker.take_permission_request(self.stage.asked(self.update(old="one\n")))
        tracker.confirm_call(WRITE, CallDecision(ONCE))
        await self.asks_to_write(tracker)
        self.assertEqual(self.content(), "new\n")
        kept = os.listdir(os.path.join(self.folder, "state", "edits"))
        self.assertEqual(kept, [undo_store.LIST])
        expected = [FileChange(self.path, CHANGED, NOT_STORED, is_excluded=True)]
        self.assertEqual((edits.undo_turn("turn"), self.content()), (expected, "new\n"))

    def undoable(self) -> tuple[TurnUndo, CallTracker]:
        edits = TurnUndo(os.path.join(self.folder, "state"))
        note = partial(edits.note_change, "turn")
        return edits, CallTracker(self.stage.log, self.stage.agent, 600.0, note)

    async def test_what_an_agent_wrote_can_be_undone_although_the_editor_quits(self) -> None:
        edits, tracker = self.undoable()
        patch = mock.patch.object(self.stage.agent, "writes_through_us", return_value=False)
        patch.start()
        self.addCleanup(patch.stop)
        await tracker.take_permission_request(self.stage.asked(self.update(old="one\n")))
        tracker.confirm_call(WRITE, CallDecision(ONCE))
        self.write(b"new\n")
        with mock.patch.object(
            self.tab, "excludes_file", side_effect=asyncio.Event().wait
        ) as asked:
            tracker.cancel_calls()
            await asyncio.wait_for(tracker.finish_writes(), PATIENCE)
        asked.assert_not_called()
        edits.undo_turn("turn")
        self.assertEqual(self.content(), "one\n")

    async def test_an_editor_that_does_not_answer_delays_an_edit_shortly(self) -> None:
        edits, tracker = self.undoable()

        async def silent(path: str) -> bool:
            await asyncio.Event().wait()
            return False

        with mock.patch.object(self.tab, "excludes_file", silent), mock.patch.object(
            file_writes, "ASKING", 0.01
        ):
            await asyncio.wait_for(self.asks_to_write(tracker), PATIENCE)
        self.assertEqual(self.content(), "new\n")
        expected = [FileChange(self.path, CHANGED, NOT_STORED, is_excluded=True)]
        self.assertEqual(edits.changed_files("turn"), expected)

    async def test_what_is_written_while_the_editor_is_asked_can_be_undone(self) -> None:
        edits, tracker = self.undoable()
        asks, answer = asyncio.Event(), asyncio.Event()
        await tracker.writes.read_before(self.call())
        written = tracker.writes.write_file(self.path, "new\n")

        async def later(path: str) -> bool:
            asks.set()
            await answer.wait()
            return False

        with mock.patch.object(self.tab, "excludes_file", later):
            again = asyncio.ensure_future(tracker.writes.read_before(self.call(), again=True))
            await asyncio.wait_for(asks.wait(), PATIENCE)
            with mock.patch.object(self.tab, "excludes_file", mock.AsyncMock(side_effect=NotSaved)):
                await asyncio.wait_for(written, PATIENCE)
            answer.set()
            await asyncio.wait_for(again, PATIENCE)
        edits.undo_turn("turn")
        self.assertEqual(self.content(), "one\n")

    def call(self) -> Call:
        return Call(WRITE, "write_file", "edit", diffs=(Diff(self.path, "one\n", "new\n"),))

    async def test_a_text_of_the_user_is_saved_there_too_and_the_model_told(self) -> None:
        tracker, self.tab.text, self.tab.is_accepted = self.tracker(), "one\ntyped\n", True
        await tracker.take_permission_request(self.stage.asked(self.update()))
        tracker.confirm_call(WRITE, CallDecision(MODIFY, "mine\n"))
        await self.asks_to_write(tracker)
        self.assertEqual(self.content(), "mine\n")
        self.assertIn("mine\n", self.told()[1])

    async def test_unsaved_changes_on_which_nobody_decided_are_asked_about(self) -> None:
        tracker = self.tracker()
        await tracker.take_permission_request(self.stage.asked(edit(self.path)))
        tracker.confirm_call(WRITE, CallDecision(ONCE))
        self.tab.text = "typed meanwhile\n"
        writing = self.asks_to_write(tracker)
        await until(lambda: len(self.stage.of(ToolConfirmation)) == 2)
        asked = await self.question()
        self.assertEqual(asked.call_id, WRITE)
        assert asked.diff is not None
        self.assertEqual((asked.diff.old_text, asked.diff.new_text), ("typed meanwhile\n", "new\n"))
        self.assertEqual(self.content(), "one\n")
        self.tab.is_accepted = True
        tracker.confirm_call(WRITE, CallDecision(ONCE))
        await writing
        self.assertEqual(self.content(), "new\n")

    async def test_without_a_decision_in_the_editor_nothing_is_written(self) -> None:
        tracker, self.tab.text = self.tracker(), "typed\n"
        writing = self.asks_to_write(tracker)
        asked = await self.question()
        tracker.confirm_call(asked.call_id, CallDecision(ONCE))
        await writing
        self.assertEqual((self.content(), self.tab.text), ("one\n", "typed\n"))
        self.assertEqual(self.told()[1], str(UNSAVED.with_values(path=self.path)))

    async def test_a_tab_that_cannot_be_saved_is_told(self) -> None:
        tracker, self.tab.text = self.tracker(), "typed\n"
        self.tab.is_accepted = self.tab.is_full = True
        await self.asks_to_write(tracker)
        self.assertIn("could not be saved", self.told()[1])

    async def test_a_held_write_waits_for_the_user(self) -> None:
        tracker, self.tab.is_held = self.tracker(), True
        await tracker.take_update(self.update("in_progress", "one\n"))
        writing = self.asks_to_write(tracker)
        asked = await self.question()
        self.assertEqual([option.outcome for option in asked.options], [ONCE, CANCEL, MODIFY])
        tracker.confirm_call(WRITE, CallDecision(MODIFY, "mine\n"))
        await writing
        self.assertEqual(self.content(), "mine\n")
        with mock.patch.object(self.stage.agent.recording, "find_record", return_value=None):
            await tracker.take_update(self.update("completed", "one\n"))
        self.assertEqual(self.stage.of(ToolResult)[-1].unasked, ())

    async def test_a_held_write_is_not_asked_about_as_a_call_that_reads_the_file(self) -> None:
        tracker, self.tab.is_held = self.tracker(), True
        place = (self.path,)
        reads = messages.ToolCallUpdate("read_file__2", "r", "read", "in_progress", paths=place)
        await tracker.take_update(reads)
        await tracker.take_update(self.update("in_progress", "one\n"))
        writing = self.asks_to_write(tracker)
        asked = await self.question()
        tracker.confirm_call(asked.call_id, CallDecision(ONCE))
        await writing
        self.assertEqual(asked.call_id, WRITE)

    async def test_a_held_write_that_is_rejected_is_not_made(self) -> None:
        tracker, self.tab.is_held = self.tracker(), True
        writing = self.asks_to_write(tracker)
        asked = await self.question()
        tracker.confirm_call(asked.call_id, CallDecision(CANCEL))
        await writing
        self.assertEqual(self.content(), "one\n")
        self.assertEqual(self.told()[1], str(LEFT_OUT.with_values(path=self.path)))
        self.assertTrue(tracker.is_idle)

    async def test_one_of_which_no_call_is_told_has_an_end(self) -> None:
        tracker, self.tab.is_held = self.tracker(), True
        writing = self.asks_to_write(tracker)
        asked = await self.question()
        tracker.confirm_call(asked.call_id, CallDecision(ONCE))
        await writing
        self.assertEqual(self.content(), "new\n")
        self.assertEqual(self.stage.statuses(asked.call_id)[-1], COMPLETED)
        self.assertTrue(tracker.is_idle)

    async def test_the_agent_neither_guesses_nor_settles_the_question_about_its_write(self) -> None:
        tracker, self.tab.is_held = self.tracker(), True
        writing = self.asks_to_write(tracker)
        asked = await self.question()
        self.assertRegex(asked.call_id, "^write_file__[0-9a-f]{32}$")
        for status in ("in_progress", "completed"):
            news = messages.ToolCallUpdate(asked.call_id, "ls", "execute", status)
            await tracker.take_update(news)
        self.assertEqual([event.body for event in tracker.confirmations], [asked])
        tracker.confirm_call(asked.call_id, CallDecision(ONCE, by_client=True))
        await writing
        self.assertEqual((self.content(), self.told()), ("new\n", (9, {})))

    async def test_each_of_several_writes_of_a_file_waits_for_the_user(self) -> None:
        tracker, self.tab.is_held = self.tracker(), True
        for text in ("first\n", "second\n"):
            writing = self.asks_to_write(tracker, text)
            await until(partial(lambda task: tracker.confirmations or task.done(), writing))
            self.assertFalse(writing.done())
            asked = await self.question()
            tracker.confirm_call(asked.call_id, CallDecision(ONCE))
            await writing
            self.assertEqual(self.content(), text)

    async def test_one_that_fails_or_is_not_made_is_not_told_as_done(self) -> None:
        tracker, self.tab.is_held = self.tracker(), True
        for text in (None, "typed\n"):
            with self.subTest(unsaved=text):
                self.tab.text = None
                writing = self.asks_to_write(tracker)
                await until(lambda: tracker.confirmations)
                asked = await self.question()
                self.tab.text = text
                self.write(b"changed meanwhile\n")
                tracker.confirm_call(asked.call_id, CallDecision(ONCE))
                if text is not None:
                    await until(lambda: tracker.confirmations)
                    tracker.confirm_call(asked.call_id, CallDecision(ONCE))
                await writing
                self.assertEqual(self.stage.statuses(asked.call_id)[-1], FAILED)
                self.assertEqual(str(self.stage.of(ToolResult)[-1].error), self.told()[1])
                self.assertTrue(tracker.is_idle)

    async def test_the_agent_has_its_answer_although_the_editor_fails(self) -> None:
        tracker, failing = self.tracker(), mock.AsyncMock(side_effect=NotSaved)
        with mock.patch.object(self.tab, "asks_before_edits", failing):
            await self.asks_to_write(tracker)
        self.assertIn("went wrong", self.told()[1])

    async def test_what_the_user_has_approved_is_not_held(self) -> None:
        tracker, self.tab.is_held = self.tracker(), True
        await tracker.take_permission_request(self.stage.asked(self.update(old="one\n")))
        tracker.confirm_call(WRITE, CallDecision(ONCE))
        await self.asks_to_write(tracker)
        self.assertEqual(self.content(), "new\n")

    async def test_a_held_write_ends_with_its_turn(self) -> None:
        for end in ("cancel_calls", "close"):
            with self.subTest(end):
                tracker, self.tab.is_held = self.tracker(), True
                writing = self.asks_to_write(tracker)
                await until(partial(getattr, tracker, "confirmations"))
                getattr(tracker, end)()
                await asyncio.wait_for(writing, 60)
                self.assertEqual(self.content(), "one\n")
                self.assertEqual(self.told()[0], 9)

    async def test_nobody_is_asked_about_a_write_once_the_turn_is_over(self) -> None:
        tracker, asked, waits = self.tracker(), asyncio.Event(), asyncio.Event()

        async def holds(_folder: str) -> bool:
            asked.set()
            await waits.wait()
            return True

        with mock.patch.object(self.tab, "asks_before_edits", holds):
            writing = self.asks_to_write(tracker)
            await asyncio.wait_for(asked.wait(), PATIENCE)
            tracker.close()
            self.stage.log.add_event(Complete(END_TURN, Usage()))
            waits.set()
            await writing
        self.assertTrue(self.stage.log.is_over)
        self.assertEqual((self.content(), self.told()[0]), ("one\n", 9))

    async def test_a_text_of_the_user_is_written_for_a_file_that_the_agent_writes_itself(
        self,
    ) -> None:
        tracker, self.tab.is_held = self.tracker(), True
        self.stage.agent.distrust()
        writing = self.asks_to_write(tracker)
        tracker.confirm_call((await self.question()).call_id, CallDecision(MODIFY, "mine\n"))
        await writing
        self.assertEqual(self.content(), "mine\n")
        self.assertIn("mine\n", self.told()[1])

    async def test_an_excluded_file_is_not_said_to_be_refused_by_the_user(self) -> None:
        tracker, self.tab.is_held, self.tab.is_excluded = self.tracker(), True, True
        await self.asks_to_write(tracker)
        self.assertIn("exclude", self.told()[1])

    async def test_where_nobody_can_be_asked_a_held_write_is_refused(self) -> None:
        tracker, self.tab.is_held = self.tracker(None), True
        await self.asks_to_write(tracker)
        self.assertEqual(self.content(), "one\n")
        # Not that the user had refused it.
        self.assertEqual(self.told()[1], str(UNATTENDED))


if __name__ == "__main__":
    unittest.main()
