"""One window's endpoint: its file, its context, its diffs and where decisions go."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import threading
import time
from typing import Any, AsyncIterator
from unittest import mock

from GeminiCompanion.companion.base.large_json import TruncatedString
from GeminiCompanion.companion.ide.clis import CLIS
from GeminiCompanion.companion.ide.context import OpenFile
from GeminiCompanion.companion.ide.context_updates import DEBOUNCE, LONGEST_WAIT
from GeminiCompanion.companion.ide.decisions import OPEN, TOLD
from GeminiCompanion.companion.ide.delivery import SETTLED
from GeminiCompanion.companion.ide.diffs import MAX_OPEN_DIFFS, MAX_PATH, MAX_WINDOW_DIFFS
from GeminiCompanion.companion.ide.disk_check import LOOKS
from GeminiCompanion.companion.ide.editor import EditorError, Proposal
from GeminiCompanion.companion.ide.events import WindowSettingsChanged
from GeminiCompanion.companion.ide.sessions import (
    ABSENT,
    GRACE,
    NOTICED,
    READ,
    Session,
    StreamEnded,
)
from GeminiCompanion.companion.ide.sharing import Sharing
from GeminiCompanion.companion.ide.window_settings import WindowSettings
from GeminiCompanion.companion.ide.workspace import Workspace

from ..support import (
    PATIENCE,
    Background,
    Client,
    Clock,
    FakeEditor,
    InLoop,
    discovery_files,
    temp_folder,
    until,
    untold,
)

DELIVERY = "GeminiCompanion.companion.ide.delivery"
WINDOW = 7
PID = 2**30
VERSION = "2025-06-18"
PATH = os.path.abspath(os.path.join(os.sep, "project", "a.py"))
ACCEPTED = {"filePath": PATH, "content": "mine\n"}


class Reader:
    """A CLI that reads its stream: `messages` are those that came, `ended` whether it ended."""

    def __init__(self, session: Session, last_event_id: int | None = None) -> None:
        self.messages: list[Any] = []
        self.ended = False
        self._stream = session.attach(last_event_id)
        self._task = asyncio.ensure_future(self._read())

    def contexts(self) -> list[list[str]]:
        """The names of the open files in each context that came."""
        return [
            [os.path.basename(file["path"]) for file in params["workspaceState"]["openFiles"]]
            for params in self.received("ide/contextUpdate")
        ]

    def received(self, method: str) -> list[Any]:
        return [it["params"] for it in self.messages if it["method"] == method]

    async def _read(self) -> None:
        try:
            while True:
                event = await self._stream.next(3600)
                if event is not None:
                    method, params = event.value.notification()
                    self.messages.append({"method": method, "params": params})
        except StreamEnded:
            self.ended = True


class FilesTestCase(InLoop):
    """`self.temp` is the temp folder; `self.file` makes a file there."""

    def setUp(self) -> None:
        self.temp = temp_folder(self)
        self.editor = FakeEditor()

    def file(self, view_id: int, name: str, **more: Any) -> OpenFile:
        path = os.path.join(self.temp, name)
        open(path, "w").close()
        return OpenFile(view_id, path, **more)


class WithoutServer(FilesTestCase):
    """The workspace alone, in the test's own loop and time. `begin` comes first."""

    async def begin(self) -> None:
        self.clock = Clock()
        self.workspace = Workspace(WINDOW, (), self.editor)

    def connect(self) -> tuple[Session, Reader]:
        """What the transport does when a CLI connects and opens its stream."""
        session = self.workspace.sessions.open(VERSION)
        return session, self.read(session)

    def read(self, session: Session, last_event_id: int | None = None) -> Reader:
        reader = Reader(session, last_event_id)
        self.workspace._stream_began(session)
        return reader

    def leave(self, session: Session) -> None:
        if session.stream is not None:
            self.workspace.sessions.detach(session, session.stream)

    def focus(self, view_id: int, name: str) -> None:
        self.workspace.context.focus(self.file(view_id, name))
        self.workspace.updates.changed()


class Connections(WithoutServer):
    async def test_a_cli_that_comes_and_one_that_stays_away_change_the_state(self) -> None:
        seen: list[tuple[str, ...]] = []
        self.workspace._on_change = lambda: seen.append(self.workspace.status().clients)
        session, _ = self.connect()
        self.assertEqual(seen[-1], ("Gemini CLI",))
        self.leave(session)
        await self.clock.advance(ABSENT + 1)
        self.assertEqual(seen[-1], ())


class Context(WithoutServer):
    async def test_a_new_stream_is_told_of_the_open_files_at_once(self) -> None:
        self.workspace.context.focus(self.file(1, "a"))
        _, reader = self.connect()
        await self.clock.advance(0)
        self.assertEqual(reader.contexts(), [["a"]])

    async def test_without_files_it_is_told_of_an_empty_list(self) -> None:
        _, reader = self.connect()
        await self.clock.advance(0)
        self.assertEqual(
            reader.received("ide/contextUpdate"), [{"workspaceState": {"openFiles": []}}]
        )

    async def test_every_stream_of_a_session_begins_with_the_context(self) -> None:
        session, first = self.connect()
        await self.clock.advance(0)
        second = self.read(session)
        await self.clock.advance(0)
        self.assertEqual((first.contexts(), second.contexts()), ([[]], [[]]))

    async def test_an_update_follows_fifty_milliseconds_after_the_last_change(self) -> None:
        _, reader = self.connect()
        self.focus(1, "a")
        await self.clock.advance(0.04)
        self.focus(2, "b")
        await self.clock.advance(0.04)
        self.assertEqual(reader.contexts(), [[]])
        await self.clock.advance(0.011)
        self.assertEqual(reader.contexts(), [[], ["b", "a"]])

    async def test_a_burst_of_changes_is_one_update(self) -> None:
        _, reader = self.connect()
        for number in range(100):
            self.focus(1, str(number))
        await self.clock.advance(1)
        self.assertEqual(reader.contexts(), [[], ["99"]])

    async def test_changes_without_a_pause_hold_an_update_up_for_a_quarter_of_a_second(
        self,
    ) -> None:
        _, reader = self.connect()
        await self.clock.advance(0)
        for number in range(60):
            self.focus(1, str(number))
            await self.clock.advance(0.01)
        sent = len(reader.contexts()) - 1
        self.assertGreaterEqual(sent, int(0.6 / LONGEST_WAIT))
        self.assertLessEqual(sent, int(0.6 / LONGEST_WAIT) + 1)

    async def test_what_changes_nothing_sends_nothing(self) -> None:
        self.focus(1, "a")
        _, reader = self.connect()
        for _ in range(3):
            self.workspace.updates.changed()
            await self.clock.advance(1)
        self.assertEqual(reader.contexts(), [["a"]])

    async def test_a_change_that_is_undone_in_time_sends_nothing(self) -> None:
        _, reader = self.connect()
        self.focus(1, "a")
        await self.clock.advance(DEBOUNCE / 2)
        self.workspace.context.close(1)
        self.workspace.updates.changed()
        await self.clock.advance(1)
        self.assertEqual(reader.contexts(), [[]])

    async def test_when_the_last_file_closes_the_list_is_empty(self) -> None:
        self.focus(1, "a")
        _, reader = self.connect()
        self.workspace.context.close(1)
        self.workspace.updates.changed()
        await self.clock.advance(1)
        self.assertEqual(reader.contexts(), [["a"], []])

    async def test_a_change_that_still_waits_is_told_to_a_new_stream_and_to_the_others_once(
        self,
    ) -> None:
        _, first = self.connect()
        await self.clock.advance(0)
        self.focus(1, "a")
        _, second = self.connect()
        await self.clock.advance(1)
        self.assertEqual((first.contexts(), second.contexts()), ([[], ["a"]], [["a"]]))

    async def test_what_may_be_told_no_more_is_taken_back_without_waiting_for_other_changes(
        self,
    ) -> None:
        _, reader = self.connect()
        self.focus(1, "a")
        await self.clock.advance(1)
        self.focus(2, "b")
        change = WindowSettingsChanged(1, WindowSettings(sharing=Sharing(paused=True)))
        change.apply_to(self.workspace)
        await self.clock.advance(0)
        self.assertEqual(reader.contexts(), [[], ["a"], []])
        await self.clock.advance(1)
        self.assertEqual(reader.contexts(), [[], ["a"], []])

    async def test_trust_is_left_out_unless_somebody_says_it(self) -> None:
        _, reader = self.connect()
        for trust in (True, False, None):
            self.workspace.updates.trust(trust)
            await self.clock.advance(1)
        states = [it["workspaceState"] for it in reader.received("ide/contextUpdate")]
        self.assertEqual(
            states,
            [
                {"openFiles": []},
                {"openFiles": [], "isTrusted": True},
                {"openFiles": [], "isTrusted": False},
                {"openFiles": []},
            ],
        )


class Decisions(WithoutServer):
    async def propose(self, session: Session, path: str = PATH, text: str = "theirs\n") -> None:
        await self.workspace.diffs.open_diff(session, path, text)

    async def test_a_proposal_reaches_the_editor_of_this_window_as_it_was_sent(self) -> None:
        session, _ = self.connect()
        path = PATH + "/../ü//b."
        await self.propose(session, path)
        self.assertEqual(self.editor.diffs, {(WINDOW, session.id, path): "theirs\n"})

    async def test_an_accepted_diff_is_told_with_path_and_text_to_the_one_who_asked(self) -> None:
        session, reader = self.connect()
        other, bystander = self.connect()
        await self.propose(session)
        await self.propose(other)
        self.workspace.diffs.accept(session.id, PATH, "mine\n")
        await self.clock.advance(0)
        self.assertEqual(reader.received("ide/diffAccepted"), [ACCEPTED])
        self.assertEqual(bystander.received("ide/diffAccepted"), [])

    async def test_a_rejected_diff_is_told_with_its_path_alone(self) -> None:
        session, reader = self.connect()
        await self.propose(session)
        self.workspace.diffs.reject(session.id, PATH)
        await self.clock.advance(0)
        self.assertEqual(reader.received("ide/diffRejected"), [{"filePath": PATH}])

    async def test_closing_gives_the_text_and_no_notification(self) -> None:
        session, reader = self.connect()
        await self.propose(session)
        self.assertEqual(await self.workspace.diffs.close_diff(session, PATH), "theirs\n")
        self.assertIsNone(await self.workspace.diffs.close_diff(session, PATH))
        await self.clock.advance(1)
        self.assertEqual(len(reader.messages), 1)
        self.assertEqual(self.workspace.status().waiting, 0)

    async def test_the_editor_is_told_whether_the_user_has_decided_in_the_client(self) -> None:
        session, _ = self.connect()
        for decided in (True, False):
            await self.propose(session)
            await self.workspace.diffs.close_diff(session, PATH, decided)
            self.assertEqual(self.editor.left, [] if decided else [PATH])

    async def test_closing_touches_no_diff_of_another_session(self) -> None:
        session, _ = self.connect()
        other, _ = self.connect()
        await self.propose(session)
        self.assertIsNone(await self.workspace.diffs.close_diff(other, PATH))
        self.assertEqual(len(self.editor.diffs), 1)

    async def test_what_the_editor_cannot_show_is_not_waited_for(self) -> None:
        session, _ = self.connect()
        self.editor.refusal = "It is a folder."
        with self.assertRaisesRegex(EditorError, "It is a folder."):
            await self.propose(session)
        self.assertEqual(self.workspace.status().waiting, 0)

    async def test_one_cli_cannot_open_diffs_without_end(self) -> None:
        session, _ = self.connect()
        for number in range(MAX_OPEN_DIFFS):
            await self.propose(session, f"{PATH}{number}")
        with self.assertRaisesRegex(EditorError, f"{MAX_OPEN_DIFFS} open diffs"):
            await self.propose(session)
        await self.propose(session, f"{PATH}0", "again")
        other, _ = self.connect()
        await self.propose(other)
        self.workspace.diffs.reject(session.id, f"{PATH}1")
        await self.propose(session)
        self.assertEqual(self.editor.diffs[WINDOW, session.id, f"{PATH}0"], "again")

    async def test_many_clis_one_after_another_cannot_either(self) -> None:
        for number in range(MAX_WINDOW_DIFFS // MAX_OPEN_DIFFS):
            session, _ = self.connect()
            for each in range(MAX_OPEN_DIFFS):
                await self.propose(session, f"/{number}/{each}")
            self.leave(session)
            self.workspace.sessions.end(session.id)
        session, _ = self.connect()
        with self.assertRaises(EditorError):
            await self.propose(session, "/one/more")
        self.assertEqual(self.workspace.status().waiting, MAX_WINDOW_DIFFS)

    async def test_a_diff_whose_session_ended_outlives_a_restart_with_its_text(self) -> None:
        session, _ = self.connect()
        await self.propose(session)
        self.leave(session)
        await self.clock.advance(GRACE + 1)
        self.workspace.diffs.edited(session.id, PATH, "mine\n")
        saved = self.workspace.saved(time.time())
        self.workspace = Workspace(WINDOW, (), self.editor)
        self.workspace.restore(saved)
        self.workspace.restored_diffs.reconcile([])
        await self.clock.advance(0)
        self.assertEqual(self.editor.diffs[WINDOW, session.id, PATH], "mine\n")

    async def test_of_a_diff_that_came_back_the_text_that_the_editor_gives_is_kept(self) -> None:
        session, _ = self.connect()
        await self.propose(session)
        self.workspace.diffs.edited(session.id, PATH, "mine\n")
        saved = self.workspace.saved(time.time())
        self.workspace = Workspace(WINDOW, (), self.editor)
        self.workspace.restore(saved)
        self.editor.diffs[WINDOW, session.id, PATH] = "of its tab\n"
        self.workspace.restored_diffs.reconcile([(session.id, PATH)])
        # What is typed before the answer comes is not what was kept.
        self.workspace.diffs.edited(session.id, PATH, "typed just now\n")
        await self.clock.advance(0)
        self.assertEqual(self.editor.saved, {PATH: "mine\n"})
        (entry,) = self.workspace.saved(time.time()).proposals
        self.assertEqual((entry.path, entry.text), (PATH, "of its tab\n"))

    async def test_a_cli_that_leaves_while_the_editor_opens_leaves_no_half_diff(self) -> None:
        class SlowEditor(FakeEditor):
            async def open_diff(self, window_id: int, proposal: Proposal) -> None:
                await released.wait()
                await super().open_diff(window_id, proposal)

        released = asyncio.Event()
        self.editor = SlowEditor()
        await self.begin()
        session, reader = self.connect()
        asking = asyncio.shield(self.propose(session))
        await self.clock.advance(0)
        asking.cancel()
        await self.clock.advance(0)
        self.assertTrue(asking.cancelled())
        released.set()
        await self.clock.advance(0)
        self.assertEqual(self.workspace.status().waiting, 1)
        self.assertEqual(len(self.editor.diffs), 1)
        self.workspace.diffs.accept(session.id, PATH, "mine\n")
        await self.clock.advance(0)
        self.assertEqual(reader.received("ide/diffAccepted"), [ACCEPTED])

    async def test_a_decision_waits_for_a_cli_whose_stream_comes_back(self) -> None:
        session, _ = self.connect()
        await self.propose(session)
        self.leave(session)
        self.workspace.diffs.accept(session.id, PATH, "mine\n")
        reader = self.read(session)
        await self.clock.advance(0)
        self.assertEqual(reader.received("ide/diffAccepted"), [ACCEPTED])
        self.assertEqual(len(self.editor.told), 1)

    async def test_a_decision_for_a_cli_that_is_gone_is_kept_for_the_next_and_the_user_is_told(
        self,
    ) -> None:
        session, _ = self.connect()
        await self.propose(session)
        self.leave(session)
        await self.clock.advance(GRACE + 1)
        self.workspace.diffs.accept(session.id, PATH, "mine\n")
        self.assertEqual(len(self.editor.told), 1)
        self.assertIn("Show Unwritten Edits", self.editor.told[0])
        _, reader = self.connect()
        _, later = self.connect()
        await self.clock.advance(0)
        self.assertEqual(reader.received("ide/diffAccepted"), [ACCEPTED])
        self.assertEqual(later.received("ide/diffAccepted"), [])

    async def test_the_user_is_told_where_a_stream_breaks_off_right_after_it_took_a_text(
        self,
    ) -> None:
        for text, told in ((None, 0), ("mine\n", 1)):
            session, _ = self.connect()
            await self.propose(session)
            if text is None:
                self.workspace.diffs.reject(session.id, PATH)
            else:
                self.workspace.diffs.accept(session.id, PATH, text)
            await self.clock.advance(0)
            self.assertEqual(self.workspace.status().unwritten, 0)
            self.leave(session)
            self.assertEqual(len(self.editor.told), told)
            self.assertEqual(self.workspace.status().unwritten, told)
        self.assertIn("Show Unwritten Edits", self.editor.told[0])

    async def test_a_decision_that_no_stream_took_outlives_its_session(self) -> None:
        session, _ = self.connect()
        await self.propose(session)
        self.leave(session)
        self.workspace.diffs.accept(session.id, PATH, "mine\n")
        await self.clock.advance(GRACE + 1)
        self.assertEqual(len(self.workspace.sessions), 0)
        _, reader = self.connect()
        await self.clock.advance(0)
        self.assertEqual(reader.received("ide/diffAccepted"), [ACCEPTED])

    async def test_it_goes_to_the_cli_that_is_there_where_the_one_that_asked_is_gone(self) -> None:
        session, _ = self.connect()
        await self.propose(session)
        self.leave(session)
        self.workspace.sessions.end(session.id)
        _, older = self.connect()
        _, newer = self.connect()
        self.workspace.diffs.accept(session.id, PATH, "mine\n")
        await self.clock.advance(0)
        self.assertEqual(newer.received("ide/diffAccepted"), [ACCEPTED])
        self.assertEqual(older.received("ide/diffAccepted"), [])
        self.assertEqual(self.editor.told, [])

    async def test_a_rejection_goes_to_each_that_may_be_the_one_that_asked(self) -> None:
        _, bystander = self.connect()
        session, _ = self.connect()
        await self.propose(session)
        self.leave(session)
        self.workspace.sessions.end(session.id)
        readers = [self.connect()[1] for _ in range(2)]
        self.workspace.diffs.reject(session.id, PATH)
        await self.clock.advance(0)
        for reader in readers:
            self.assertEqual(reader.received("ide/diffRejected"), [{"filePath": PATH}])
        self.assertEqual(bystander.received("ide/diffRejected"), [])
        self.assertEqual(self.workspace.book.entries(), ())

    async def test_nothing_is_passed_on_while_a_proposal_for_the_path_is_open(self) -> None:
        session, _ = self.connect()
        await self.propose(session)
        self.leave(session)
        self.workspace.sessions.end(session.id)
        other, reader = self.connect()
        await self.propose(other)
        # That of the one that is gone made way; this is a tab that the editor brought back.
        self.workspace.diffs.accept("gone", PATH, "mine\n")
        await self.clock.advance(SETTLED + 1)
        self.assertEqual(reader.received("ide/diffAccepted"), [])
        await self.workspace.diffs.close_diff(other, PATH)
        await self.clock.advance(SETTLED / 2)
        self.assertEqual(reader.received("ide/diffAccepted"), [])

    async def test_decisions_that_differ_are_passed_on_to_nobody(self) -> None:
        for text in ("one\n", "two\n"):
            self.workspace.diffs.accept("of " + text, PATH, text)
        _, reader = self.connect()
        await self.clock.advance(1)
        self.assertEqual(reader.received("ide/diffAccepted"), [])
        self.assertEqual(len(self.workspace.delivery.unwritten()), 2)

    async def test_a_session_that_ends_with_its_stream_open_passes_nothing_on(self) -> None:
        session, reader = self.connect()
        _, bystander = self.connect()
        await self.propose(session)
        self.workspace.diffs.accept(session.id, PATH, "mine\n")
        self.workspace.sessions.end(session.id)
        await self.clock.advance(0)
        self.assertTrue(reader.ended)
        self.leave(session)
        await self.clock.advance(0)
        self.assertEqual(reader.received("ide/diffAccepted"), [ACCEPTED])
        self.assertEqual(bystander.received("ide/diffAccepted"), [])

    async def test_a_text_that_its_cli_did_not_write_is_given_back(self) -> None:
        path = self.file(1, "a.py").path
        session, reader = self.connect()
        await self.propose(session, path)
        with mock.patch(DELIVERY + ".PATIENCE", -1):
            self.workspace.diffs.accept(session.id, path, "mine\n")
            await self.clock.advance(0)
            self.assertEqual(len(reader.received("ide/diffAccepted")), 1)
            self.assertEqual(self.workspace.delivery.unwritten(), ((path, "mine\n"),))
            # Nobody has looked yet whether it is in its file.
            self.assertEqual(self.workspace.status().unwritten, 0)
            (entry,) = self.workspace.saved(time.time()).proposals
            self.assertEqual((entry.path, entry.text, entry.state), (path, "mine\n", TOLD))
            with open(path, "w") as file:
                file.write("mine\n")
            await self.workspace.look_after()
            self.assertEqual(self.workspace.delivery.unwritten(), ())

    async def test_a_text_that_its_cli_did_not_write_outlives_a_restart(self) -> None:
        session, _ = self.connect()
        self.workspace.diffs.accept(session.id, PATH, "mine\n")
        saved = self.workspace.saved(time.time())
        self.workspace = Workspace(WINDOW, (), self.editor)
        self.workspace.restore(saved)
        with mock.patch(DELIVERY + ".PATIENCE", -1):
            self.assertEqual(self.workspace.delivery.unwritten(), ((PATH, "mine\n"),))

    async def test_a_diff_whose_cli_is_gone_is_shown_as_an_orphan_until_the_cli_is_back(
        self,
    ) -> None:
        session, _ = self.connect()
        await self.propose(session)
        self.leave(session)
        await self.clock.advance(ABSENT - 1)
        self.assertEqual(self.editor.orphaned, {})
        await self.clock.advance(2)
        self.assertEqual(self.editor.orphaned, {(WINDOW, session.id): True})
        self.read(session)
        self.assertEqual(self.editor.orphaned, {(WINDOW, session.id): False})

    async def test_a_diff_of_which_nobody_knows_is_an_orphan(self) -> None:
        self.workspace.restored_diffs.reconcile([("unknown", PATH)])
        self.assertEqual(self.editor.orphaned, {(WINDOW, "unknown"): True})

    async def test_a_cli_without_diffs_leaves_no_orphans(self) -> None:
        session, _ = self.connect()
        self.leave(session)
        await self.clock.advance(GRACE + 1)
        self.assertEqual(self.editor.orphaned, {})

    async def test_a_kept_text_that_is_withdrawn_becomes_a_rejection(self) -> None:
        for gone in (False, True):
            with self.subTest(gone=gone):
                await self.begin()
                session, _ = self.connect()
                await self.propose(session)
                self.leave(session)
                self.workspace.diffs.accept(session.id, PATH, "mine\n")
                await self.clock.advance(GRACE + 1 if gone else 1)
                self.assertEqual(self.workspace.delivery.unwritten(), ((PATH, "mine\n"),))
                self.assertTrue(self.workspace.delivery.withdraw(PATH, "mine\n"))
                self.assertEqual(self.workspace.delivery.unwritten(), ())
                _, reader = self.connect()
                await self.clock.advance(GRACE + 1)
                self.assertEqual(reader.received("ide/diffAccepted"), [])
                self.assertEqual(reader.received("ide/diffRejected"), [{"filePath": PATH}])

    async def test_a_text_withdrawn_is_withdrawn_from_all_and_takes_no_other_with_it(self) -> None:
        for text in ("one\n", "two\n", "one\n"):
            session, _ = self.connect()
            await self.propose(session)
            self.leave(session)
            self.workspace.diffs.accept(session.id, PATH, text)
        self.assertEqual(self.workspace.delivery.unwritten(), ((PATH, "one\n"), (PATH, "two\n")))
        self.assertTrue(self.workspace.delivery.withdraw(PATH, "one\n"))
        self.assertEqual(self.workspace.delivery.unwritten(), ((PATH, "two\n"),))
        texts = [entry.text for entry in self.workspace.saved(0.0).proposals]
        self.assertEqual([text for text in texts if text], ["two\n"])

    async def test_one_that_comes_back_at_once_as_another_session_is_told_in_seconds(self) -> None:
        session, _ = self.connect()
        await self.propose(session)
        self.leave(session)
        self.workspace.diffs.accept(session.id, PATH, "mine\n")
        _, back = self.connect()
        await self.clock.advance(0)
        self.assertEqual(back.received("ide/diffAccepted"), [])
        await self.clock.advance(ABSENT + 1)
        self.assertEqual(back.received("ide/diffAccepted"), [ACCEPTED])

    async def test_a_cli_that_was_there_all_along_is_not_told_of_what_another_asked(self) -> None:
        session, _ = self.connect()
        _, other = self.connect()
        await self.propose(session)
        await self.clock.advance(NOTICED)
        self.leave(session)
        await self.clock.advance(GRACE + 1)
        self.workspace.diffs.accept(session.id, PATH, "mine\n")
        _, back = self.connect()
        await self.clock.advance(0)
        self.assertEqual(other.received("ide/diffAccepted"), [])
        self.assertEqual(back.received("ide/diffAccepted"), [ACCEPTED])

    async def test_what_was_never_told_decides_on_no_later_proposal(self) -> None:
        session, _ = self.connect()
        await self.propose(session)
        self.leave(session)
        self.workspace.diffs.accept(session.id, PATH, "mine\n")
        await self.propose(session)
        reader = self.read(session)
        await self.clock.advance(0)
        self.assertEqual(reader.received("ide/diffAccepted"), [])
        entries = [it for it in self.workspace.saved(0.0).proposals if it.state != OPEN]
        self.assertEqual([it.text for it in entries], ["mine\n"])

    async def test_a_cli_that_closes_what_was_accepted_is_given_the_text(self) -> None:
        session, _ = self.connect()
        await self.propose(session)
        self.leave(session)
        self.workspace.diffs.accept(session.id, PATH, "mine\n")
        self.assertEqual(await self.workspace.diffs.close_diff(session, PATH), "mine\n")
        reader = self.read(session)
        await self.clock.advance(0)
        self.assertEqual(reader.received("ide/diffAccepted"), [])

    async def test_a_cli_that_is_back_as_another_session_closes_its_diff(self) -> None:
        session, _ = self.connect()
        await self.propose(session)
        again, _ = self.connect()
        self.assertIsNone(await self.workspace.diffs.close_diff(again, PATH))
        self.leave(session)
        await self.clock.advance(GRACE + 1)
        self.assertEqual(await self.workspace.diffs.close_diff(again, PATH), "theirs\n")
        self.assertEqual(self.editor.diffs, {})

    async def test_two_that_are_away_do_not_pile_up_rejections(self) -> None:
        one, two = (self.workspace.sessions.open(VERSION) for _ in range(2))
        await self.clock.advance(ABSENT + 1)
        for _ in range(20):
            await self.propose(one)
            await self.propose(two)
        self.assertLessEqual(sum(len(untold(each)) for each in (one, two)), 2)

    async def test_a_cli_between_two_streams_keeps_its_diff(self) -> None:
        session, _ = self.connect()
        await self.propose(session)
        self.leave(session)
        other, _ = self.connect()
        await self.propose(other)
        self.assertEqual(untold(session), [])
        self.assertEqual(len(self.editor.diffs), 2)

    async def test_a_diff_that_fails_after_its_cli_left_waits_for_nobody(self) -> None:
        session, _ = self.connect()
        shown = asyncio.get_running_loop().create_future()
        with mock.patch.object(self.editor, "open_diff", lambda *_: shown):
            asking = asyncio.shield(self.workspace.diffs.open_diff(session, PATH, "text\n"))
            await self.clock.advance(0)
            asking.cancel()
            await self.clock.advance(0)
            shown.set_exception(EditorError("no"))
            await self.clock.advance(0)
        self.assertEqual(self.workspace.book.of(OPEN), [])

    async def test_a_decision_that_goes_out_at_this_moment_is_not_handed_out_again(self) -> None:
        session = self.workspace.sessions.open(VERSION)
        await self.propose(session)
        self.workspace.diffs.accept(session.id, PATH, "mine\n")
        stream = session.attach(None)
        event = await stream.next(1)
        self.assertEqual(event and event.value.notification()[1], ACCEPTED)
        self.assertIsNone(await self.workspace.diffs.close_diff(session, PATH))
        # The write fails: it was not told, and is told by the next stream.
        self.leave(session)
        reader = self.read(session)
        await self.clock.advance(0)
        self.assertEqual(reader.received("ide/diffAccepted"), [ACCEPTED])
        self.assertIsNone(await self.workspace.diffs.close_diff(session, PATH))

    async def test_what_went_out_as_the_stream_broke_is_told_to_the_cli_that_is_back(self) -> None:
        for seconds, again in ((READ / 2, True), (READ * 2, False)):
            with self.subTest(seconds=seconds):
                await self.begin()
                session, reader = self.connect()
                await self.propose(session)
                self.workspace.diffs.reject(session.id, PATH)
                await self.clock.advance(0)
                self.assertEqual(len(reader.received("ide/diffRejected")), 1)
                await self.clock.advance(seconds)
                self.leave(session)
                await self.clock.advance(GRACE + 1)
                _, back = self.connect()
                await self.clock.advance(0)
                self.assertEqual(len(back.received("ide/diffRejected")), again)

    async def test_an_acceptance_without_a_text_that_went_out_then_is_told_again_too(self) -> None:
        session, _ = self.connect()
        await self.propose(session)
        self.workspace.diffs.accept(session.id, PATH, "")
        await self.clock.advance(0)
        self.leave(session)
        await self.clock.advance(GRACE + 1)
        _, back = self.connect()
        await self.clock.advance(0)
        self.assertEqual(back.received("ide/diffAccepted"), [{"filePath": PATH, "content": ""}])

    async def test_a_decision_on_a_proposal_that_is_just_replaced_closes_the_newer_one(
        self,
    ) -> None:
        session, reader = self.connect()
        await self.propose(session)
        real = self.editor.open_diff

        async def decide_first(window_id: int, proposal: Proposal) -> None:
            self.workspace.diffs.accept(session.id, PATH, "mine\n")
            await real(window_id, proposal)

        with mock.patch.object(self.editor, "open_diff", decide_first):
            await self.propose(session, text="newer\n")
        await self.clock.advance(0)
        self.assertEqual(reader.received("ide/diffAccepted"), [ACCEPTED])
        self.assertEqual((self.editor.diffs, self.workspace.status().waiting), ({}, 0))

    async def test_a_text_that_is_on_disk_is_seen_before_the_next_one_is_written(self) -> None:
        path = self.file(1, "a.py").path
        session, _ = self.connect()
        self.workspace.diffs.accept(session.id, path, "one\n")
        await self.clock.advance(0)
        with open(path, "w") as file:
            file.write("one\n")
        self.workspace.diffs.accept(session.id, path, "two\n")
        await until(lambda: [it.text for it in self.workspace.book.entries()] == ["two\n"])

    async def test_an_editor_that_lost_a_diff_costs_none_of_its_text(self) -> None:
        session, _ = self.connect()
        await self.propose(session)
        self.workspace.diffs.edited(session.id, PATH, "mine\n")
        self.editor.diffs.clear()
        self.assertEqual(await self.workspace.diffs.close_diff(session, PATH), "mine\n")
        (entry,) = self.workspace.book.entries()
        self.assertEqual((entry.text, entry.comes_back), ("mine\n", True))

    async def test_a_diff_that_was_decided_before_the_editor_came_back_is_closed(self) -> None:
        session, reader = self.connect()
        self.editor.diffs[WINDOW, session.id, PATH] = "theirs\n"
        self.editor.diffs[WINDOW, "unknown", PATH] = "theirs\n"
        self.workspace.restored_diffs.reconcile([(session.id, PATH), ("unknown", PATH)])
        await self.clock.advance(0)
        self.assertEqual(list(self.editor.diffs), [(WINDOW, "unknown", PATH)])
        self.assertEqual(reader.received("ide/diffRejected"), [{"filePath": PATH}])

    async def test_each_proposal_has_its_moment_and_the_name_of_its_cli(self) -> None:
        session = self.workspace.sessions.open(VERSION, "a CLI 1.0")
        before = time.time()
        await self.propose(session)
        (entry,) = self.workspace.book.entries()
        self.assertEqual(entry.client, "a CLI 1.0")
        self.assertTrue(before <= entry.opened_at <= time.time())

    async def test_a_path_that_no_system_could_have_is_refused(self) -> None:
        session, _ = self.connect()
        with self.assertRaisesRegex(EditorError, "at most"):
            await self.propose(session, "/" + "x" * MAX_PATH)

    async def test_of_a_rejection_that_waits_no_kept_text_is_promised(self) -> None:
        session, _ = self.connect()
        await self.propose(session)
        self.leave(session)
        self.workspace.diffs.reject(session.id, PATH)
        (sentence,) = self.editor.told
        self.assertIn("your decision waits", sentence)
        self.assertNotIn("Show Unwritten", sentence)

    async def test_a_text_that_was_delivered_cannot_be_withdrawn(self) -> None:
        session, _ = self.connect()
        await self.propose(session)
        self.workspace.diffs.accept(session.id, PATH, "mine\n")
        await self.clock.advance(0)
        self.assertFalse(self.workspace.delivery.withdraw(PATH, "mine\n"))

    async def test_a_proposal_that_is_not_whole_is_said_to_be_so_and_not_kept(self) -> None:
        session, _ = self.connect()
        shown: list[Proposal] = []

        async def show(window_id: int, proposal: Proposal) -> None:
            shown.append(proposal)

        with mock.patch.object(self.editor, "open_diff", show):
            await self.workspace.diffs.open_diff(session, PATH, "whole")
            await self.workspace.diffs.open_diff(session, PATH, TruncatedString("part"))
        self.assertEqual([it.is_whole for it in shown], [True, False])
        (entry,) = self.workspace.saved(time.time()).proposals
        self.assertIsNone(entry.text)


class HandedOver(WithoutServer):
    """What closeDiff gave to the CLI, of a diff that the user has typed into."""

    async def close(self, is_edited: bool = True, decided: bool = True) -> str:
        await self.begin()
        path = self.file(1, "a.py").path
        session, _ = self.connect()
        await self.workspace.diffs.open_diff(session, path, "theirs\n")
        if is_edited:
            self.editor.diffs[WINDOW, session.id, path] = "mine\n"
            self.editor.edited.add((WINDOW, path))
        await self.workspace.diffs.close_diff(session, path, decided)
        return path

    async def wait(self) -> None:
        """Let the looks at the disk pass."""
        for seconds in (0.0, *LOOKS):
            await self.clock.advance(seconds)
            await until(lambda: not any(it.name.endswith(" work") for it in threading.enumerate()))
            await self.clock.advance(0)

    async def test_it_comes_back_where_the_cli_does_not_write_it(self) -> None:
        path = await self.close()
        self.assertEqual(self.workspace.delivery.unwritten(), ())
        await self.wait()
        await until(lambda: self.editor.returned)
        self.assertEqual(self.editor.returned, [(WINDOW, path, "mine\n")])
        self.assertEqual(self.workspace.book.entries(), ())

    async def test_it_does_not_where_the_cli_writes_it(self) -> None:
        path = await self.close()
        with open(path, "w") as file:
            file.write("mine\n")
        await self.wait()
        self.assertEqual((self.editor.returned, self.workspace.book.entries()), ([], ()))

    async def test_where_nothing_was_typed_or_the_tab_stays_nothing_comes_back(self) -> None:
        for is_edited, decided in ((False, True), (False, False), (True, False)):
            with self.subTest(is_edited=is_edited, decided=decided):
                await self.close(is_edited, decided)
                self.assertEqual(self.workspace.book.entries(), ())

    async def test_it_comes_back_after_a_restart_in_the_same_seconds(self) -> None:
        path = await self.close()
        saved = self.workspace.saved(time.time())
        self.workspace.close(reject=False)
        self.workspace = Workspace(WINDOW, (), self.editor)
        self.workspace.restore(saved)
        await self.wait()
        await until(lambda: self.editor.returned)
        self.assertEqual(self.editor.returned, [(WINDOW, path, "mine\n")])

    async def test_a_cli_that_leaves_before_the_answer_loses_none_of_it(self) -> None:
        path = self.file(1, "a.py").path
        session, _ = self.connect()
        await self.workspace.diffs.open_diff(session, path, "theirs\n")
        asking = asyncio.shield(self.workspace.diffs.close_diff(session, path))
        self.editor.edited.add((WINDOW, path))
        await asyncio.sleep(0)
        asking.cancel()
        await self.wait()
        await until(lambda: self.editor.returned)
        self.assertTrue(asking.cancelled())

    async def test_an_older_text_of_the_path_stays_while_a_newer_proposal_is_open(self) -> None:
        path = await self.close()
        (session,) = self.workspace.sessions
        await self.workspace.diffs.open_diff(session, path, "newer\n")
        texts = [entry.text for entry in self.workspace.book.entries()]
        self.assertEqual(texts, ["mine\n", "newer\n"])
        await self.wait()
        await until(lambda: self.editor.returned)
        self.assertEqual(self.editor.returned, [(WINDOW, path, "mine\n")])
        self.assertEqual(self.workspace.status().waiting, 1)


class Served(FilesTestCase):
    """The workspace with its server, seen from outside. `self.folder` has the discovery files."""

    def setUp(self) -> None:
        super().setUp()
        self.folder = os.path.join(self.temp, "gemini", "ide")

    def serve(self, *folders: str) -> None:
        self.background = Background(lambda: self.serving(folders))
        self.addCleanup(self.background.stop)
        self.background.start()

    @contextlib.asynccontextmanager
    async def serving(self, folders: tuple[str, ...]) -> AsyncIterator[None]:
        opened = asyncio.Event()
        self.workspace = Workspace(WINDOW, folders, self.editor, on_change=opened.set)
        running = asyncio.ensure_future(self.workspace.run(PID))
        await asyncio.wait_for(opened.wait(), PATIENCE)
        try:
            yield
        finally:
            self.workspace.close()
            await running

    def files(self) -> list[Any]:
        """What each discovery file says."""
        return list(discovery_files(self.folder).values())

    def client(self) -> Client:
        (file,) = self.files()
        client = Client(file["port"], file["authToken"])
        client.initialize()
        return client


class DiscoveryFile(Served):
    def test_it_leads_to_the_server(self) -> None:
        self.serve("/one", "/two")
        (file,) = self.files()
        self.assertEqual(file["workspacePath"], os.pathsep.join(["/one", "/two"]))
        self.assertEqual(os.listdir(self.folder), [f"gemini-ide-server-{PID}-{file['port']}.json"])
        self.assertEqual(self.client().call("ping")["result"], {})

    def test_the_variables_of_terminals_say_the_same(self) -> None:
        self.serve("/one", "/two")
        (file,) = self.files()
        environment = self.workspace.environment()
        self.assertEqual(
            {name: environment[name] for name in environment if name.startswith("GEMINI_")},
            {
                "GEMINI_CLI_IDE_SERVER_PORT": str(file["port"]),
                "GEMINI_CLI_IDE_WORKSPACE_PATH": file["workspacePath"],
                "GEMINI_CLI_IDE_AUTH_TOKEN": file["authToken"],
                "GEMINI_CLI_IDE_PID": str(PID),
            },
        )

    def test_the_variables_of_terminals_lead_every_cli_here(self) -> None:
        self.serve("/one", "/two")
        environment = self.workspace.environment()
        for cli in CLIS:
            self.assertEqual(environment[cli.variables.port], environment[CLIS[0].variables.port])

    def test_every_window_has_a_token_of_its_own_that_nobody_can_guess(self) -> None:
        async def token() -> str:
            return Workspace(WINDOW, (), self.editor).advertisement.token

        tokens = [asyncio.run(token()) for _ in range(3)]
        self.assertEqual(len(set(tokens)), 3)
        # 32 bytes in base64.
        self.assertTrue(all(len(token) >= 43 for token in tokens))

    def test_other_folders_are_written_and_at_no_moment_is_there_no_file(self) -> None:
        self.serve("/one")
        (before,) = self.files()
        removed: list[str] = []
        system_unlink = os.unlink

        def watched_unlink(path: str) -> None:
            removed.append(path)
            system_unlink(path)

        with mock.patch.object(os, "unlink", watched_unlink):
            self.background.call(self.workspace.change_folders, ("/two",))
        self.assertEqual(self.files(), [{**before, "workspacePath": "/two"}])
        self.assertEqual(removed, [])
        environment = self.workspace.environment()
        self.assertEqual(environment["GEMINI_CLI_IDE_WORKSPACE_PATH"], "/two")

    def test_the_same_folders_are_not_written_again(self) -> None:
        self.serve("/one")
        (name,) = os.listdir(self.folder)
        before = os.stat(os.path.join(self.folder, name))
        self.background.call(self.workspace.change_folders, ("/one",))
        after = os.stat(os.path.join(self.folder, name))
        self.assertEqual((before.st_ino, before.st_mtime_ns), (after.st_ino, after.st_mtime_ns))

    def test_it_comes_after_the_socket_and_goes_before_it(self) -> None:
        answered: list[bool] = []
        system_replace, system_unlink = os.replace, os.unlink

        def probe(path: str) -> None:
            port = int(path.rsplit("-", 1)[1][: -len(".json")])
            with socket.socket() as connection:
                connection.settimeout(5)
                answered.append(connection.connect_ex(("127.0.0.1", port)) == 0)

        def watched_replace(source: str, target: str) -> None:
            probe(target)
            system_replace(source, target)

        def watched_unlink(path: str) -> None:
            probe(path)
            system_unlink(path)

        with mock.patch.object(os, "replace", watched_replace):
            with mock.patch.object(os, "unlink", watched_unlink):
                self.serve()
                self.background.stop()
        self.assertEqual(answered, [True, True])
        self.assertEqual(os.listdir(self.folder), [])

    def test_where_it_cannot_be_written_the_user_is_told_and_the_server_serves(self) -> None:
        open(os.path.join(self.temp, "gemini"), "w").close()
        self.serve("/one")
        self.assertEqual(len(self.editor.told), 1)
        self.assertIn("should be a folder", self.editor.told[0])
        self.assertEqual(self.workspace.status().discovery_paths, ())
        environment = self.workspace.environment()
        port, token = (environment["GEMINI_CLI_IDE_" + it] for it in ("SERVER_PORT", "AUTH_TOKEN"))
        client = Client(int(port), token)
        client.initialize()
        self.assertEqual(client.call("ping")["result"], {})

    def test_the_next_change_of_folders_tries_again(self) -> None:
        obstacle = os.path.join(self.temp, "gemini")
        open(obstacle, "w").close()
        self.serve("/one")
        os.unlink(obstacle)
        self.background.call(self.workspace.change_folders, ("/two",))
        self.assertEqual(self.files()[0]["workspacePath"], "/two")
        self.assertEqual(len(self.workspace.status().discovery_paths), 1)

    def test_a_change_that_cannot_be_written_leaves_no_file_with_the_old_folders(self) -> None:
        self.serve("/one")
        (name,) = os.listdir(self.folder)
        full = OSError(28, "No space left on device")
        with mock.patch.object(os, "replace", side_effect=full):
            self.background.call(self.workspace.change_folders, ("/two",))
        self.assertEqual(os.listdir(self.folder), [])
        self.assertIn("No space left on device", self.editor.told[0])


class TheWholeWay(Served):
    def test_a_proposal_goes_to_the_editor_and_the_decision_comes_back(self) -> None:
        self.serve()
        client = self.client()
        with client.stream() as stream:
            context = stream.next()
            self.assertEqual(context and context.message["method"], "ide/contextUpdate")
            result = client.tool("openDiff", filePath=PATH, newContent="theirs\n")
            self.assertEqual(result, {"content": []})
            self.background.call(self.workspace.diffs.accept, client.session_id, PATH, "mine\n")
            event = stream.next()
            self.assertEqual(
                event.message,
                {"jsonrpc": "2.0", "method": "ide/diffAccepted", "params": ACCEPTED},
            )

    def test_a_closed_diff_gives_its_text_as_json(self) -> None:
        self.serve()
        client = self.client()
        client.tool("openDiff", filePath=PATH, newContent="theirs\n")
        (content,) = client.tool("closeDiff", filePath=PATH)["content"]
        self.assertEqual(json.loads(content["text"]), {"content": "theirs\n"})
        (content,) = client.tool("closeDiff", filePath=PATH)["content"]
        self.assertEqual(content["text"], "{}")

    def test_text_that_is_no_valid_unicode_comes_back_as_it_is(self) -> None:
        self.serve()
        client = self.client()
        with client.stream() as stream:
            stream.next()
            accept = self.workspace.diffs.accept
            self.background.call(accept, client.session_id, PATH, "half \ud83d")
            event = stream.next()
            self.assertEqual(event.message["params"]["content"], "half \ud83d")

    def test_the_status_says_what_is_going_on(self) -> None:
        self.serve("/one")
        client = self.client()
        with client.stream() as stream:
            stream.next()
            client.tool("openDiff", filePath=PATH, newContent="")
            status = self.background.call(self.workspace.status)
        self.assertEqual((status.window_id, status.port), (WINDOW, client.port))
        self.assertEqual((status.folders, status.connected, status.waiting), (("/one",), 1, 1))
        self.assertEqual([os.path.dirname(it) for it in status.discovery_paths], [self.folder])


class TheEnd(Served):
    def test_open_diffs_are_rejected_and_the_stream_ends_in_good_order(self) -> None:
        self.serve()
        client = self.client()
        with client.stream() as stream:
            stream.next()
            client.tool("openDiff", filePath=PATH, newContent="")
            self.background.stop()
            event = stream.next()
            self.assertEqual(event.message["method"], "ide/diffRejected")
            self.assertTrue(stream.ended())
        self.assertEqual(self.editor.told, [])

    def test_nobody_is_told_that_a_decision_waits_for_what_will_not_come(self) -> None:
        self.serve()
        client = self.client()
        client.tool("openDiff", filePath=PATH, newContent="")
        self.background.stop()
        self.assertEqual(self.editor.told, [])

    def test_the_diffs_of_one_cli_are_not_rejected_to_another(self) -> None:
        self.serve()
        away, client = self.client(), self.client()
        away.tool("openDiff", filePath=PATH, newContent="")
        with client.stream() as stream:
            stream.next()
            self.background.stop()
            self.assertTrue(stream.ended())

    def test_file_and_socket_are_gone(self) -> None:
        self.serve()
        client = self.client()
        self.background.stop()
        self.assertEqual(os.listdir(self.folder), [])
        with self.assertRaises(ConnectionRefusedError):
            client.call("ping")
