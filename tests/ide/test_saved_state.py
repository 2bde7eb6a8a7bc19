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
from typing import Any
from unittest import mock

from GeminiCompanion.companion.base.text_digest import text_digest
from GeminiCompanion.companion.ide import state_file, state_lines
from GeminiCompanion.companion.ide.decisions import DECIDED, OPEN, TOLD, Entry
from GeminiCompanion.companion.ide.saved_state import (
    SavedSentence,
    SavedSession,
    SavedTurn,
    SavedWords,
    SavedWorkspace,
)


def entry(path: str, state: str, text: str | None, **more: Any) -> Entry:
    return Entry("id", path, state, 1.0, "a CLI 1.0", text=text, **more)


DECISION = entry("/a", DECIDED, "typed", decided_at=2.0, event_id=7)
SESSION = SavedSession("id", "2025-06-18", 7, "a CLI 1.0")
WORDS = SavedWords("gemini", "s", 7, "No.", "", "/a", "The user says:")
TURN = SavedTurn("turn", "gemini", "s", 7)
SENTENCE = SavedSentence("turn", "Gemini CLI", "The user has undone your edit of /a.")
WORKSPACE = SavedWorkspace(("/w",), 1234, "secret", (SESSION,), (DECISION,), time.time())
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
        found, problem = state_file.load_state(self.path)
        self.assertEqual(problem, "")
        return found

    def lines(self) -> list[str]:
        with open(self.path, encoding="ascii") as file:
            return file.readlines()

    def damage(self, *lines: str) -> None:
        with open(self.path, "w", encoding="ascii") as file:
            file.writelines(lines)

    def test_what_is_saved_is_loaded(self) -> None:
        odd = entry("/a", TOLD, "\u00e9\ud800\u2028\r\n", comes_back=True, proposed="digest")
        saved = [
            replace(WORKSPACE, window_id=3, words=(WORDS,), turns=(TURN,), sentences=(SENTENCE,)),
            replace(WORKSPACE, sessions=(replace(SESSION, newest_then=2),)),
            replace(WORKSPACE, proposals=(odd, DECISION)),
        ]
        state_file.save_state(self.path, saved)
        self.assertEqual(self.load(), saved)

    def test_it_is_there_after_a_power_cut(self) -> None:
        with mock.patch.object(os, "fsync") as fsync:
            state_file.save_state(self.path, [WORKSPACE])
        self.assertEqual(fsync.call_count, 1 if sys.platform == "win32" else 2)

    def test_only_the_user_can_read_it(self) -> None:
        state_file.save_state(self.path, [WORKSPACE])
        self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.dirname(self.path)).st_mode), 0o700)

    @unittest.skipIf(sys.platform == "win32", "no process can be asked whether it lives")
    def test_what_a_killed_editor_left_half_written_is_taken_away(self) -> None:
        state_file.save_state(self.path, [WORKSPACE])
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
                found, problem = state_file.load_state(self.path)
                self.assertEqual(found, [])
                self.assertIn(self.path + state_file.UNREAD, problem)
                with open(self.path + state_file.UNREAD, encoding="utf-8") as file:
                    self.assertEqual(file.read(), text)

    def test_a_file_of_another_version_is_put_aside(self) -> None:
        state_file.save_state(self.path, [WORKSPACE])
        _, *rest = self.lines()
        self.damage(json.dumps({"version": state_lines.VERSION + 1}) + "\n", *rest)
        found, problem = state_file.load_state(self.path)
        self.assertEqual((found, "cannot be read" in problem), ([], True))
        state_file.save_state(self.path, [])
        with open(self.path + state_file.UNREAD, encoding="ascii") as file:
            self.assertIn("typed", file.read())
        self.assertEqual(stat.S_IMODE(os.stat(self.path + state_file.UNREAD).st_mode), 0o600)

    def test_a_damaged_line_costs_no_other(self) -> None:
        other = replace(WORKSPACE, folders=("/other",))
        state_file.save_state(self.path, [WORKSPACE, other])
        first, one, two = self.lines()
        self.damage(first, one[:40] + "\n", two)
        found, problem = state_file.load_state(self.path)
        self.assertEqual(found, [other])
        self.assertIn("cannot be read", problem)

    def read(self, line: Any) -> SavedWorkspace:
        """What is loaded of a damaged window, which is told and put aside."""
        state_file.save_state(self.path, [])
        self.damage(*self.lines(), json.dumps(line) + "\n")
        with self.assertLogs("GeminiCompanion", "WARNING"):
            (found,), problem = state_file.load_state(self.path)
        self.assertIn("cannot be read", problem)
        return found

    def test_a_damaged_member_of_a_window_costs_that_member(self) -> None:
        value: Any
        for member, fallback, values in (
            ("port", 0, (65536, -1, 1e999, None, True, "1", 10**400, [])),
            ("folders", (), ([1], None, "/a", {})),
            ("token", "", (1, None, "", "\u00e9", "\ud800", "two words", "a\r\nb", [])),
            ("sessions", (), (None, {}, "x", [1], [{}], [None])),
            ("proposals", (), (None, {}, "x", [1], [{}], [[]])),
            ("window_id", 0, ("x", None, 1.5)),
        ):
            for value in values:
                with self.subTest(member=member, value=str(value)[:60]):
                    found = self.read({**state_lines.members_of(WORKSPACE), member: value})
                    members: Any = {member: fallback}
                    self.assertEqual(found, replace(WORKSPACE, **members))

    def test_a_damaged_moment_counts_as_now(self) -> None:
        for value in (1e999, "x", None, True):
            with self.subTest(value=str(value)):
                found = self.read({**state_lines.members_of(WORKSPACE), "saved_at": value})
                self.assertAlmostEqual(found.saved_at, time.time(), delta=60)
                self.assertEqual(replace(found, saved_at=WORKSPACE.saved_at), WORKSPACE)

    def test_a_damaged_member_of_a_session_costs_that_member(self) -> None:
        for member, fallback, values in (
            ("last_id", 0, ("x", -1, 2**60, None)),
            ("newest_then", 0, ("x", -1, 2**60, None)),
            ("client", "", (1, None)),
        ):
            for value in values:
                with self.subTest(member=member, value=value):
                    session = {**asdict(SESSION), member: value}
                    found = self.read({**state_lines.members_of(WORKSPACE), "sessions": [session]})
                    members: Any = {member: fallback}
                    self.assertEqual(found.sessions, (replace(SESSION, **members),))

    def test_a_session_without_an_id_that_can_be_sent_is_lost(self) -> None:
        for value in (None, 1, "", "\u00e9", "a b"):
            with self.subTest(value=value):
                lines = [{**asdict(SESSION), "id": value}, asdict(SESSION)]
                found = self.read({**state_lines.members_of(WORKSPACE), "sessions": lines})
                self.assertEqual(found.sessions, (SESSION,))

    def test_a_damaged_member_of_a_proposal_costs_that_member(self) -> None:
        for member, fallback, values in (
            ("session_id", "", (1, None)),
            ("client", "", (1,)),
            ("proposed", "", (None,)),
            ("event_id", 0, (-1, "x", 1.5)),
            ("comes_back", False, (None, "yes")),
        ):
            for value in values:
                with self.subTest(member=member, value=value):
                    damaged = {**DECISION._asdict(), member: value}
                    found = self.read({**state_lines.members_of(WORKSPACE), "proposals": [damaged]})
                    members: Any = {member: fallback}
                    self.assertEqual(found.proposals, (DECISION._replace(**members),))

    def test_a_decision_without_its_text_is_not_taken_for_a_rejection(self) -> None:
        for member, value in (("text", 1), ("path", None), ("state", "x"), ("state", [])):
            with self.subTest(member=member):
                damaged = {**DECISION._asdict(), member: value}
                lines = [damaged, DECISION._asdict()]
                found = self.read({**state_lines.members_of(WORKSPACE), "proposals": lines})
                self.assertEqual(found.proposals, (DECISION,))

    def test_an_open_proposal_without_its_text_is_still_waited_for(self) -> None:
        open_one = entry("/a", OPEN, "text")
        found = self.read(
            {**state_lines.members_of(WORKSPACE), "proposals": [{**open_one._asdict(), "text": 1}]}
        )
        self.assertEqual(found.proposals, (open_one._replace(text=None),))

    @unittest.skipIf(sys.platform == "win32", "Windows has no such files")
    def test_a_pipe_or_a_folder_in_the_place_of_the_file_is_told_at_once(self) -> None:
        os.makedirs(os.path.dirname(self.path))
        for make in (os.mkfifo, os.mkdir, lambda path: os.symlink(os.devnull, path)):
            with self.subTest(make=str(make)):
                make(self.path)
                found, problem = state_file.load_state(self.path)
                self.assertEqual(found, [])
                self.assertRegex(problem, "cannot be read: .*state.json .*not a file")
                (os.rmdir if os.path.isdir(self.path) else os.unlink)(self.path)

    def test_what_is_too_old_is_left_out(self) -> None:
        def saved(days: float, workspace: SavedWorkspace) -> SavedWorkspace:
            return replace(workspace, saved_at=time.time() - days * 86400)

        young, holding = saved(1, EMPTY), saved(state_file.MAX_AGE + 1, WORKSPACE)
        state_file.save_state(self.path, [young, holding, saved(state_file.MAX_AGE + 2, EMPTY)])
        self.assertEqual(self.load(), [replace(holding, token=""), young])

    def test_texts_that_are_too_old_are_put_aside_and_told(self) -> None:
        too_old = time.time() - (state_file.MAX_TEXT_AGE + 1) * state_file.DAY
        state_file.save_state(self.path, [EMPTY, replace(WORKSPACE, saved_at=too_old)])
        found, problem = state_file.load_state(self.path)
        self.assertEqual(found, [EMPTY])
        self.assertRegex(problem, "^Texts that no CLI .* no longer listed. .* is kept as ")
        state_file.save_state(self.path, [EMPTY])
        with open(self.path + state_file.UNREAD, encoding="ascii") as file:
            self.assertIn("typed", file.read())

    def test_a_clock_that_is_set_takes_no_text_away(self) -> None:
        state_file.save_state(self.path, [WORKSPACE])
        for years in (-30, 30):
            later = time.time() + years * 365 * state_file.DAY
            with self.subTest(years=years), mock.patch.object(time, "time", return_value=later):
                token = "" if years > 0 else WORKSPACE.token
                self.assertEqual(self.load(), [replace(WORKSPACE, token=token)])

    def test_what_was_put_aside_before_stays(self) -> None:
        for text in ("first", "second"):
            for _ in range(2):
                (self.damage if os.path.exists(self.path) else self.write)(text)
                found, problem = state_file.load_state(self.path)
                self.assertEqual(found, [])
            state_file.save_state(self.path, [])
        folder = os.path.dirname(self.path)
        kept = []
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), encoding="ascii") as file:
                kept.append(file.read())
        self.assertEqual(kept[1:], ["first", "second"])

    def test_a_file_that_cannot_be_read_is_put_aside(self) -> None:
        state_file.save_state(self.path, [WORKSPACE])
        failing = OSError(5, "Input/output error")
        with mock.patch("builtins.open", side_effect=failing):
            found, problem = state_file.load_state(self.path)
        self.assertEqual(found, [])
        self.assertRegex(problem, r"cannot be read: .*Input/output error.* is kept as .*\.unread")
        state_file.save_state(self.path, [])
        with open(self.path + state_file.UNREAD, encoding="ascii") as file:
            self.assertIn("typed", file.read())

    def test_where_there_are_no_second_names_it_is_moved(self) -> None:
        self.write("damaged")
        with mock.patch.object(os, "link", side_effect=OSError(95, "Operation not supported")):
            state_file.load_state(self.path)
        self.assertEqual(os.listdir(os.path.dirname(self.path)), ["state.json.unread"])

    def test_a_file_of_bad_lines_or_of_any_size_is_not_read_to_its_end(self) -> None:
        state_file.save_state(self.path, [WORKSPACE])
        first, line = self.lines()
        many = state_lines.MAX_BAD * 10
        lists = {**state_lines.members_of(EMPTY), "proposals": [1] * many, "sessions": [1] * many}
        for bad in (["[]\n"] * many, [json.dumps(lists) + "\n"]):
            self.damage(first, line, *bad)
            with self.assertLogs("GeminiCompanion", "WARNING") as logs:
                found, problem = state_file.load_state(self.path)
            self.assertEqual(found[0], WORKSPACE)
            self.assertIn("cannot be read", problem)
            self.assertLessEqual(len(logs.output), 2 * state_lines.MAX_BAD)
        with mock.patch.object(state_file, "MAX_READ", 10):
            found, problem = state_file.load_state(self.path)
        self.assertEqual((found, "cannot be read" in problem), ([], True))

    def test_the_newest_are_kept_within_the_limits_and_all_that_hold_texts(self) -> None:
        now = time.time()
        many = [
            replace(EMPTY, port=age, saved_at=now - age)
            for age in range(state_file.MAX_WORKSPACES + 5)
        ]
        holding = replace(WORKSPACE, saved_at=now - 1000)
        state_file.save_state(self.path, [*many, holding])
        self.assertEqual(self.load(), [holding, *many[: state_file.MAX_WORKSPACES]])

    def test_windows_that_are_saved_together_keep_their_order(self) -> None:
        windows = [replace(WORKSPACE, window_id=id) for id in (1, 2, 3)]
        state_file.save_state(self.path, windows)
        self.assertEqual(self.load(), windows)

    def test_a_folder_that_cannot_be_written_is_said_without_the_secret(self) -> None:
        self.write("")
        problem = state_file.save_state(os.path.join(self.path, "below", "a file"), [WORKSPACE])
        self.assertRegex(problem, "could not be saved: .*a file .*Not a directory")
        self.assertNotIn("secret", problem)

    def test_a_full_disk_is_said_and_leaves_what_was_there(self) -> None:
        state_file.save_state(self.path, [WORKSPACE])
        full = OSError(28, "No space left on device")
        with mock.patch.object(os, "replace", side_effect=full):
            problem = state_file.save_state(self.path, [])
        self.assertIn("No space left on device", problem)
        self.assertEqual(state_file.load_state(self.path), ([WORKSPACE], state_file.OUTDATED))
        self.assertEqual(os.listdir(os.path.dirname(self.path)), [os.path.basename(self.path)])

    def test_where_all_is_too_much_decisions_stay_and_open_texts_go(self) -> None:
        giant = entry("/b", OPEN, "x" * 5000)
        full = replace(WORKSPACE, proposals=(DECISION, giant))
        with mock.patch.object(state_file, "MAX_BYTES", 2000):
            problem = state_file.save_state(self.path, [full, EMPTY])
        self.assertEqual(problem, "")
        proposals = (DECISION, giant._replace(text=None))
        self.assertEqual(self.load(), [replace(full, proposals=proposals), EMPTY])

    def test_one_window_that_is_too_large_costs_the_others_nothing(self) -> None:
        open_one = entry("/a", OPEN, "mine")
        other = replace(WORKSPACE, proposals=(open_one, DECISION), saved_at=time.time() + 1)
        texts = tuple(entry("/a", TOLD, letter * 800) for letter in "abcd")
        with mock.patch.object(state_file, "MAX_BYTES", 3500):
            problem = state_file.save_state(self.path, [replace(EMPTY, proposals=texts), other])
        found = self.load()
        proposals = (open_one._replace(text=None), DECISION)
        self.assertEqual(found[0], replace(other, proposals=proposals))
        self.assertEqual(found[1].proposals, texts[2:])
        self.assertEqual(problem, state_file.TOO_MUCH)

    def test_an_open_proposal_of_megabytes_is_saved_without_its_text(self) -> None:
        giant = entry("/b", OPEN, "x" * 10)
        with mock.patch.object(state_file, "MAX_PROPOSAL", 9):
            state_file.save_state(self.path, [replace(WORKSPACE, proposals=(giant,))])
        self.assertEqual(self.load()[0].proposals, (giant._replace(text=None),))

    def test_where_there_is_still_no_room_texts_that_a_cli_knows_go_before_those_that_wait(
        self,
    ) -> None:
        told, waiting = entry("/t", TOLD, "t" * 900), entry("/w", DECIDED, "w" * 900)
        with mock.patch.object(state_file, "MAX_BYTES", 2000):
            state_file.save_state(self.path, [replace(WORKSPACE, proposals=(waiting, told))])
        self.assertEqual(self.load()[0].proposals, (waiting,))


class Split(unittest.TestCase):
    def test_what_goes_elsewhere_knows_no_order_of_sessions(self) -> None:
        decided = DECISION._replace(after_session=3)
        rest, wanted = replace(WORKSPACE, proposals=(decided,)).split(lambda _: True)
        self.assertEqual(rest.proposals, ())
        self.assertEqual(wanted, (decided._replace(after_session=0),))

    def test_an_open_proposal_stays_and_what_was_typed_into_it_comes_back(self) -> None:
        typed = entry("/a", OPEN, "mine", proposed="another", after_session=3)
        plain = typed._replace(path="/b", proposed=text_digest("mine"))
        rest, (back,) = replace(WORKSPACE, proposals=(typed, plain)).split(lambda _: True)
        self.assertEqual(rest.proposals, (typed._replace(text=None), plain))
        self.assertEqual(
            (back.path, back.state, back.text, back.comes_back, back.after_session),
            ("/a", TOLD, "mine", True, 0),
        )
