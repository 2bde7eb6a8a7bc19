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
from dataclasses import replace
from unittest import mock

from GeminiCompanion.companion import state
from GeminiCompanion.companion.sessions import Session
from GeminiCompanion.companion.state import SavedSession, SavedWorkspace

SESSION = SavedSession("id", "2025-06-18", 7, ("/a", "/b"), ((7, '{"x":1}'),))
WORKSPACE = SavedWorkspace(("/w",), 1234, "secret", (SESSION,), ('{"y":2}',), time.time())


class StateFile(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = os.path.join(self.folder, "cache", "GeminiCompanion", "state.json")

    def write(self, text: str) -> None:
        os.makedirs(os.path.dirname(self.path))
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)

    def test_what_is_saved_is_loaded(self) -> None:
        state.save(self.path, [WORKSPACE])
        self.assertEqual(state.load(self.path), [WORKSPACE])

    def test_only_the_user_can_read_it(self) -> None:
        state.save(self.path, [WORKSPACE])
        self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.dirname(self.path)).st_mode), 0o700)

    @unittest.skipIf(sys.platform == "win32", "no process can be asked whether it lives")
    def test_what_a_killed_editor_left_half_written_is_taken_away(self) -> None:
        state.save(self.path, [WORKSPACE])
        folder = os.path.dirname(self.path)
        # The first of a number above what any system gives out.
        names = [f".unfinished-{2**30}-0123abcd", f".unfinished-{os.getppid()}-0123abcd", "mine"]
        for name in names:
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write("secret")
        self.assertEqual(state.load(self.path), [WORKSPACE])
        self.assertEqual(sorted(os.listdir(folder)), sorted([*names[1:], "state.json"]))

    def test_no_file_is_no_state(self) -> None:
        self.assertEqual(state.load(self.path), [])

    def test_a_file_that_is_none_of_ours_is_no_state(self) -> None:
        self.write("")
        for text in ("", "[]", "{}", '{"version": 1, "workspaces": [{}]}', "\u00e9", "null"):
            with self.subTest(text), open(self.path, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                self.assertEqual(state.load(self.path), [])

    def test_a_file_of_another_version_is_no_state(self) -> None:
        state.save(self.path, [WORKSPACE])
        with open(self.path, encoding="ascii") as file:
            _, *rest = file.readlines()
        with open(self.path, "w", encoding="ascii") as file:
            file.writelines([json.dumps({"version": state.VERSION + 1}) + "\n", *rest])
        self.assertEqual(state.load(self.path), [])

    def test_what_is_too_old_is_left_out(self) -> None:
        old = replace(WORKSPACE, saved_at=time.time() - (state.MAX_AGE + 1) * 86400)
        state.save(self.path, [old, WORKSPACE])
        self.assertEqual(state.load(self.path), [WORKSPACE])

    def test_the_newest_are_kept_within_the_limits(self) -> None:
        now = time.time()
        many = [
            replace(WORKSPACE, port=age, saved_at=now - age)
            for age in range(state.MAX_WORKSPACES + 5)
        ]
        state.save(self.path, many)
        ports = [workspace.port for workspace in state.load(self.path)]
        self.assertEqual(ports, list(range(state.MAX_WORKSPACES)))

    def test_a_folder_that_cannot_be_written_is_said_without_the_secret(self) -> None:
        self.write("")
        problem = state.save(os.path.join(self.path, "below", "a file"), [WORKSPACE])
        self.assertRegex(problem, "could not be saved: .*a file .*File exists")
        self.assertNotIn("secret", problem)

    def test_a_full_disk_is_said_and_leaves_what_was_there(self) -> None:
        state.save(self.path, [WORKSPACE])
        full = OSError(28, "No space left on device")
        with mock.patch.object(os, "replace", side_effect=full):
            problem = state.save(self.path, [])
        self.assertIn("No space left on device", problem)
        self.assertEqual(state.load(self.path), [WORKSPACE])
        self.assertEqual(os.listdir(os.path.dirname(self.path)), [os.path.basename(self.path)])

    def test_where_all_is_too_much_decisions_stay_and_open_texts_go(self) -> None:
        session = replace(SESSION, proposals=(("/a", "x" * 5000),))
        with mock.patch.object(state, "MAX_BYTES", 2000):
            state.save(self.path, [replace(WORKSPACE, sessions=(session,))])
        (workspace,) = state.load(self.path)
        self.assertEqual(workspace.sessions, (replace(SESSION, proposals=()),))
        self.assertEqual(workspace.undelivered, WORKSPACE.undelivered)


class SavedSessions(unittest.TestCase):
    def test_a_session_comes_back_as_it_was(self) -> None:
        saved = Session.restored(SESSION).saved()
        self.assertEqual(replace(saved, last_id=SESSION.last_id), SESSION)

    def test_what_comes_later_has_a_newer_id_than_anything_of_before(self) -> None:
        session = Session.restored(SESSION)
        session.send(b"{}")
        old, (id, message) = session.saved().undelivered
        self.assertEqual((old, message), ((7, '{"x":1}'), "{}"))
        self.assertGreater(id, 7)

    def test_a_context_is_not_worth_saving(self) -> None:
        session = Session("id", "2025-06-18")
        session.send(b"context", passing=True)
        session.send(b"decision")
        self.assertEqual(session.saved().undelivered, ((2, "decision"),))
