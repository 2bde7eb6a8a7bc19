"""What outlives the companion, on disk."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import tempfile
import time
import unittest
from dataclasses import asdict, replace
from unittest import mock

from GeminiCompanion.companion.ide import saved_state
from GeminiCompanion.companion.ide.saved_state import SavedSession, SavedWorkspace
from GeminiCompanion.companion.ide.sessions import Session


def accepted(path: str, text: str) -> str:
    params = {"filePath": path, "content": text}
    return json.dumps({"jsonrpc": "2.0", "method": "ide/diffAccepted", "params": params})


A, B = accepted("/a", "typed"), accepted("/b", "typed, too")
SESSION = SavedSession("id", "2025-06-18", 7, ("/a", "/b"), ((7, A),))
WORKSPACE = SavedWorkspace(("/w",), 1234, "secret", (SESSION,), (B,), time.time())
EMPTY = SavedWorkspace(("/w",), 1234, "secret", (), (), time.time())


class StateFile(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = os.path.join(self.folder, "cache", "GeminiCompanion", "state.json")

    def write(self, text: str) -> None:
        os.makedirs(os.path.dirname(self.path))
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)

    def load(self) -> list[SavedWorkspace]:
        """What is loaded where nothing is wrong."""
        found, problem = saved_state.load(self.path)
        self.assertEqual(problem, "")
        return found

    def lines(self) -> list[str]:
        with open(self.path, encoding="ascii") as file:
            return file.readlines()

    def damage(self, *lines: str) -> None:
        with open(self.path, "w", encoding="ascii") as file:
            file.writelines(lines)

    def test_what_is_saved_is_loaded(self) -> None:
        unwritten = (("/a", "\u00e9\ud800\u2028\r\n", 1.0),)
        saved = [replace(WORKSPACE, window_id=3), replace(WORKSPACE, unwritten=unwritten)]
        saved_state.save(self.path, saved)
        self.assertEqual(self.load(), saved)

    def test_only_the_user_can_read_it(self) -> None:
        saved_state.save(self.path, [WORKSPACE])
        self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.dirname(self.path)).st_mode), 0o700)

    @unittest.skipIf(sys.platform == "win32", "no process can be asked whether it lives")
    def test_what_a_killed_editor_left_half_written_is_taken_away(self) -> None:
        saved_state.save(self.path, [WORKSPACE])
        folder = os.path.dirname(self.path)
        # The first of a number above what any system gives out.
        names = [f".unfinished-{2**30}-0123abcd", f".unfinished-{os.getppid()}-0123abcd", "mine"]
        for name in names:
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write("secret")
        self.assertEqual(self.load(), [WORKSPACE])
        self.assertEqual(sorted(os.listdir(folder)), sorted([*names[1:], "state.json"]))

    def test_no_file_is_no_state(self) -> None:
        self.assertEqual(self.load(), [])

    def test_a_file_that_is_none_of_ours_is_put_aside_and_told(self) -> None:
        self.write("")
        many = "[" * 100_000
        for text in ("", "[]", "{}", '{"version": 1, "workspaces": []}', "\u00e9", "null", many):
            with self.subTest(text[:20]):
                with open(self.path, "w", encoding="utf-8") as file:
                    file.write(text)
                found, problem = saved_state.load(self.path)
                self.assertEqual(found, [])
                self.assertIn(self.path + saved_state.UNREAD, problem)
                with open(self.path + saved_state.UNREAD, encoding="utf-8") as file:
                    self.assertEqual(file.read(), text)

    def test_a_file_of_another_version_is_put_aside(self) -> None:
        saved_state.save(self.path, [WORKSPACE])
        _, *rest = self.lines()
        self.damage(json.dumps({"version": saved_state.VERSION + 1}) + "\n", *rest)
        found, problem = saved_state.load(self.path)
        self.assertEqual((found, "cannot be read" in problem), ([], True))
        saved_state.save(self.path, [])
        with open(self.path + saved_state.UNREAD, encoding="ascii") as file:
            self.assertIn("typed", file.read())
        self.assertEqual(stat.S_IMODE(os.stat(self.path + saved_state.UNREAD).st_mode), 0o600)

    def test_a_damaged_line_costs_no_other(self) -> None:
        other = replace(WORKSPACE, folders=("/other",))
        saved_state.save(self.path, [WORKSPACE, other])
        first, one, two = self.lines()
        self.damage(first, one[:40] + "\n", two)
        found, problem = saved_state.load(self.path)
        self.assertEqual(found, [other])
        self.assertIn("cannot be read", problem)

    def test_no_member_may_be_what_it_never_is(self) -> None:
        entry = asdict(WORKSPACE)
        session = asdict(SESSION)
        for member, value in (
            ("port", 65536), ("port", -1), ("port", 1e999), ("port", None), ("folders", [1]),
            ("folders", None), ("token", 1), ("undelivered", ["{bad"]), ("undelivered", [1]),
            ("undelivered", ['{"params": {}}']), ("undelivered", ["null"]), ("saved_at", 1e999),
            ("saved_at", "x"), ("unwritten", [["/a", "text", float("nan")]]),
            ("unwritten", [["/a"]]), ("unwritten", [[1, "text", 1.0]]), ("window_id", "x"),
            ("undelivered", ['{"params": {"filePath": "/a", "content": 1}}']),
            ("sessions", [{**session, "last_id": "x"}]), ("sessions", [{**session, "id": None}]),
            ("sessions", [{**session, "undelivered": [[1, "{bad"]]}]), ("sessions", [1]),
        ):  # fmt: skip
            with self.subTest(member=member, value=str(value)[:60]):
                saved_state.save(self.path, [])
                self.damage(*self.lines(), json.dumps({**entry, member: value}) + "\n")
                found, problem = saved_state.load(self.path)
                self.assertEqual((found, bool(problem)), ([], True))

    def test_what_is_too_old_is_left_out(self) -> None:
        def saved(days: float, workspace: SavedWorkspace) -> SavedWorkspace:
            return replace(workspace, saved_at=time.time() - days * 86400)

        young, holding = saved(1, EMPTY), saved(saved_state.MAX_AGE + 1, WORKSPACE)
        old = [
            saved(saved_state.MAX_AGE + 1, EMPTY),
            saved(saved_state.MAX_TEXT_AGE + 1, WORKSPACE),
        ]
        saved_state.save(self.path, [young, holding, *old])
        self.assertEqual(self.load(), [holding, young])

    def test_the_newest_are_kept_within_the_limits_and_all_that_hold_texts(self) -> None:
        now = time.time()
        many = [
            replace(EMPTY, port=age, saved_at=now - age)
            for age in range(saved_state.MAX_WORKSPACES + 5)
        ]
        holding = replace(WORKSPACE, saved_at=now - 1000)
        saved_state.save(self.path, [*many, holding])
        self.assertEqual(self.load(), [holding, *many[: saved_state.MAX_WORKSPACES]])

    def test_windows_that_are_saved_together_keep_their_order(self) -> None:
        windows = [replace(WORKSPACE, window_id=id) for id in (1, 2, 3)]
        saved_state.save(self.path, windows)
        self.assertEqual(self.load(), windows)

    def test_a_folder_that_cannot_be_written_is_said_without_the_secret(self) -> None:
        self.write("")
        problem = saved_state.save(os.path.join(self.path, "below", "a file"), [WORKSPACE])
        self.assertRegex(problem, "could not be saved: .*a file .*File exists")
        self.assertNotIn("secret", problem)

    def test_a_full_disk_is_said_and_leaves_what_was_there(self) -> None:
        saved_state.save(self.path, [WORKSPACE])
        full = OSError(28, "No space left on device")
        with mock.patch.object(os, "replace", side_effect=full):
            problem = saved_state.save(self.path, [])
        self.assertIn("No space left on device", problem)
        self.assertEqual(self.load(), [WORKSPACE])
        self.assertEqual(os.listdir(os.path.dirname(self.path)), [os.path.basename(self.path)])

    def test_where_all_is_too_much_decisions_stay_and_open_texts_go(self) -> None:
        session = replace(SESSION, proposals=(("/a", "x" * 5000),))
        with mock.patch.object(saved_state, "MAX_BYTES", 2000):
            problem = saved_state.save(self.path, [replace(WORKSPACE, sessions=(session,)), EMPTY])
        self.assertEqual((self.load(), problem), ([WORKSPACE, EMPTY], ""))

    def test_one_window_that_is_too_large_costs_the_others_nothing(self) -> None:
        session = replace(SESSION, proposals=(("/a", "mine"),))
        other = replace(WORKSPACE, sessions=(session,), saved_at=time.time() + 1)
        texts = tuple(("/a", letter * 800, 1.0) for letter in "abcd")
        with mock.patch.object(saved_state, "MAX_BYTES", 3000):
            problem = saved_state.save(self.path, [replace(EMPTY, unwritten=texts), other])
        found = self.load()
        self.assertEqual(found[0], replace(other, sessions=(SESSION,)))
        self.assertEqual(found[1].unwritten, texts[2:])
        self.assertEqual(problem, saved_state.TOO_MUCH)


class SavedSessions(unittest.TestCase):
    def test_a_session_comes_back_as_it_was(self) -> None:
        saved = Session.restored(SESSION).saved()
        self.assertEqual(replace(saved, last_id=SESSION.last_id), SESSION)

    def test_what_comes_later_has_a_newer_id_than_anything_of_before(self) -> None:
        session = Session.restored(SESSION)
        session.send(b"{}")
        old, (id, message) = session.saved().undelivered
        self.assertEqual((old, message), ((7, A), "{}"))
        self.assertGreater(id, 7)

    def test_a_context_is_not_worth_saving(self) -> None:
        session = Session("id", "2025-06-18")
        session.send(b"context", passing=True)
        session.send(b"decision")
        self.assertEqual(session.saved().undelivered, ((2, "decision"),))
