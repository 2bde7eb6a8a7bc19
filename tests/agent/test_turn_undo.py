"""What turns did to files, and how far it is undone."""

from __future__ import annotations

import os
import tempfile
import unittest
from functools import partial
from unittest import mock

from GeminiCompanion.companion.agent import turn_undo
from GeminiCompanion.companion.agent.turn.file_writes import DecidedEdit, before_edit, write_text
from GeminiCompanion.companion.agent.turn_events import Diff
from GeminiCompanion.companion.agent.turn_undo import (
    AS_LEFT,
    CHANGED,
    CREATED,
    NOT_STORED,
    OTHER,
    UNDONE,
    TurnUndo,
)

TURN, NEXT = "turn", "next"


class Undoing(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = temporary.name
        self.edits = TurnUndo(os.path.join(self.root, "state"))

    def path(self, name: str) -> str:
        return os.path.join(self.root, name)

    def put(self, name: str, data: bytes) -> str:
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def read(self, name: str) -> bytes:
        with open(self.path(name), "rb") as file:
            return file.read()

    def writes(self, name: str, text: str, turn: str = TURN) -> None:
        """As the agent does through us."""
        write_text(self.path(name), text, None, partial(self.edits.note_change, turn))

    def undone(self, turn: str = TURN) -> dict[str, tuple[str, str]]:
        found = self.edits.undo_turn(turn)
        return {os.path.basename(edit.path): (edit.change, edit.state) for edit in found}

    def redone(self, turn: str = TURN) -> dict[str, str]:
        return {os.path.basename(edit.path): edit.state for edit in self.edits.redo_turn(turn)}

    def test_an_undone_turn_is_made_again_also_by_another_process(self) -> None:
        self.put("old.txt", b"one\r\n")
        self.writes("old.txt", "two")
        self.writes("new.txt", "new")
        self.edits.undo_turn(TURN)
        self.edits = TurnUndo(os.path.join(self.root, "state"))
        self.assertEqual(self.redone(), {"old.txt": AS_LEFT, "new.txt": AS_LEFT})
        self.assertEqual(self.read("old.txt"), b"two")
        self.assertEqual(self.read("new.txt"), b"new")
        self.edits.undo_turn(TURN)
        self.assertEqual(self.read("old.txt"), b"one\r\n")
        self.assertFalse(os.path.exists(self.path("new.txt")))

    def test_a_file_that_has_changed_since_it_was_undone_stays(self) -> None:
        self.put("old.txt", b"one")
        self.writes("old.txt", "two")
        self.edits.undo_turn(TURN)
        self.put("old.txt", b"by the user")
        self.assertEqual(self.redone(), {"old.txt": OTHER})
        self.assertEqual(self.read("old.txt"), b"by the user")

    def test_two_turns_of_one_file_are_undone_and_made_again_in_order(self) -> None:
        self.put("old.txt", b"one")
        self.writes("old.txt", "two")
        self.writes("old.txt", "three", NEXT)
        self.edits.undo_turn(NEXT)
        self.edits.undo_turn(TURN)
        self.assertEqual(self.read("old.txt"), b"one")
        self.assertEqual(self.redone(NEXT), {"old.txt": OTHER})
        self.assertEqual(self.redone(), {"old.txt": AS_LEFT})
        self.assertEqual(self.redone(NEXT), {"old.txt": AS_LEFT})
        self.assertEqual(self.read("old.txt"), b"three")

    def test_the_texts_of_a_turn_are_those_before_and_after_it(self) -> None:
        self.put("old.txt", b"one")
        self.writes("old.txt", "two")
        self.writes("old.txt", "three")
        self.writes("new.txt", "new")
        found = {
            os.path.basename(changed.change.path): changed
            for changed in self.edits.changed_texts(TURN)
        }
        old, new = found["old.txt"], found["new.txt"]
        self.assertEqual((old.before, old.after, old.is_whole), (b"one", b"three", True))
        self.assertEqual((new.before, new.after, new.is_whole), (None, b"new", True))

    def test_changed_and_created_files_are_as_they_were(self) -> None:
        self.put("old.txt", b"\xef\xbb\xbfone\r\n\xff")
        os.chmod(self.path("old.txt"), 0o640)
        self.writes("old.txt", "two")
        self.writes("old.txt", "three")
        self.writes("new.txt", "new")
        told = {os.path.basename(file.path): file.state for file in self.edits.changed_files(TURN)}
        self.assertEqual(told, {"old.txt": AS_LEFT, "new.txt": AS_LEFT})
        undone = {"old.txt": (CHANGED, UNDONE), "new.txt": (CREATED, UNDONE)}
        self.assertEqual(self.undone(), undone)
        self.assertEqual(self.read("old.txt"), b"\xef\xbb\xbfone\r\n\xff")
        self.assertEqual(os.stat(self.path("old.txt")).st_mode & 0o777, 0o640)
        self.assertFalse(os.path.exists(self.path("new.txt")))

    def test_what_somebody_changed_meanwhile_is_left_alone_and_named(self) -> None:
        self.put("a.txt", b"before")
        self.put("b.txt", b"before")
        for name in ("a.txt", "b.txt", "new.txt"):
            self.writes(name, "by the agent")
        self.put("a.txt", b"by the user")
        self.put("new.txt", b"by the user, too")
        self.assertEqual(
            self.undone(),
            {"a.txt": (CHANGED, OTHER), "b.txt": (CHANGED, UNDONE), "new.txt": (CREATED, OTHER)},
        )
        self.assertEqual(self.read("a.txt"), b"by the user")
        self.assertEqual(self.read("new.txt"), b"by the user, too")
        self.assertEqual(self.read("b.txt"), b"before")

    def test_what_somebody_wrote_between_two_edits_of_a_turn_is_left_alone_and_named(self) -> None:
        for name in ("a.txt", "b.txt"):
            self.put(name, b"zero")
            self.writes(name, "one")
        self.put("a.txt", b"one, and much work of the user")
        for name in ("a.txt", "b.txt"):
            self.writes(name, self.read(name).decode() + ", two")
        self.assertEqual(self.undone(), {"a.txt": (CHANGED, OTHER), "b.txt": (CHANGED, UNDONE)})
        self.assertEqual(self.read("a.txt"), b"one, and much work of the user, two")
        self.assertEqual(self.read("b.txt"), b"zero")

    def test_turns_are_undone_from_the_last_to_the_first(self) -> None:
        self.put("a.txt", b"zero")
        self.writes("a.txt", "one")
        self.writes("a.txt", "two", NEXT)
        self.assertEqual(self.undone(), {"a.txt": (CHANGED, OTHER)})
        self.assertEqual(self.undone(NEXT), {"a.txt": (CHANGED, UNDONE)})
        self.assertEqual(self.read("a.txt"), b"one")
        self.assertEqual(self.undone(), {"a.txt": (CHANGED, UNDONE)})
        self.assertEqual(self.read("a.txt"), b"zero")

    def test_a_file_that_is_too_large_is_written_and_named(self) -> None:
        self.put("large.txt", b"x" * 100)
        with mock.patch.object(turn_undo, "MAX_BYTES", 99):
            self.edits = TurnUndo(self.path("state"))
        self.writes("large.txt", "small")
        self.assertEqual(self.undone(), {"large.txt": (CHANGED, NOT_STORED)})
        self.assertEqual(self.read("large.txt"), b"small")

    def test_the_agent_writes_where_nothing_can_be_stored(self) -> None:
        self.put("state", b"no folder")
        with self.assertLogs("GeminiCompanion", "WARNING"):
            self.writes("a.txt", "one")
        self.assertEqual(self.read("a.txt"), b"one")

    def test_what_the_user_made_of_an_edit_counts_as_what_the_turn_left(self) -> None:
        path = self.put("a.txt", b"zero\r\n")
        seen = DecidedEdit(Diff(path, "zero\n", "one\n"), "mine\n")
        write_text(path, "one\r\n", seen, partial(self.edits.note_change, TURN))
        self.assertEqual(self.read("a.txt"), b"mine\r\n")
        self.assertEqual(self.undone(), {"a.txt": (CHANGED, UNDONE)})
        self.assertEqual(self.read("a.txt"), b"zero\r\n")


class OfTheCliItself(unittest.TestCase):
    def test_what_was_before_is_read_off_its_diff(self) -> None:
        diff = Diff("/x", "old\nä\n", "new\nä\n")
        self.assertEqual(before_edit(diff, "new\nä\n".encode()), "old\nä\n".encode())
        crlf = "\ufeffnew\r\nä\r\n".encode()
        self.assertEqual(before_edit(diff, crlf), "\ufeffold\r\nä\r\n".encode())

    def test_a_file_that_may_have_been_there_empty_is_empty_again_and_not_removed(self) -> None:
        self.assertEqual(before_edit(Diff("/x", "", "new"), b"new"), b"")

    def test_a_file_that_holds_something_else_is_not_guessed_at(self) -> None:
        for data in (b"other", b"\xff"):
            with self.assertRaises(ValueError):
                before_edit(Diff("/x", "old", "new"), data)
