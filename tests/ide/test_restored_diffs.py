"""The diffs of a window after a restart: nothing that the user typed is lost between the two."""

from __future__ import annotations

import time
import unittest
from unittest import mock

from GeminiCompanion.companion.ide.decisions import DECIDED, OPEN
from GeminiCompanion.companion.ide.delivery import SETTLED
from GeminiCompanion.companion.ide.disk_check import LOOKS
from GeminiCompanion.companion.ide.sessions import ABSENT, GRACE
from GeminiCompanion.companion.ide.workspace import Workspace

from ..support import until
from .test_workspace import ACCEPTED, DELIVERY, PATH, WINDOW, WithoutServer


class RestoredDiffs(WithoutServer):
    def restart(self) -> None:
        saved = self.workspace.saved(time.time())
        self.workspace.close(reject=False)
        self.workspace = Workspace(WINDOW, (), self.editor)
        self.workspace.restore(saved)

    async def test_a_diff_of_which_nobody_knows_is_in_the_book_from_then_on(self) -> None:
        self.editor.diffs[WINDOW, "unknown", PATH] = "of its tab\n"
        self.workspace.restored_diffs.reconcile([("unknown", PATH)])
        await self.clock.advance(0)
        # So the editor reports what is typed, and it outlives the next restart.
        self.assertEqual(self.editor.saved, {PATH: None})
        self.workspace.diffs.edited("unknown", PATH, "mine\n")
        (entry,) = self.workspace.saved(time.time()).proposals
        self.assertEqual((entry.state, entry.text, entry.is_edited), (OPEN, "mine\n", True))

    async def test_what_its_tab_has_of_an_unknown_diff_outlives_the_next_restart(self) -> None:
        self.editor.diffs[WINDOW, "unknown", PATH] = "of its tab\n"
        self.workspace.restored_diffs.reconcile([("unknown", PATH)])
        await self.clock.advance(0)
        (entry,) = self.workspace.saved(time.time()).proposals
        self.assertEqual((entry.state, entry.text), (OPEN, "of its tab\n"))

    async def test_a_diff_that_was_decided_before_the_restart_is_closed_and_not_rejected(
        self,
    ) -> None:
        session, _ = self.connect()
        self.leave(session)
        await self.workspace.diffs.open_diff(session, PATH, "theirs\n")
        self.workspace.diffs.accept(session.id, PATH, "mine\n")
        self.restart()
        self.workspace.restored_diffs.reconcile([(session.id, PATH)])
        await self.clock.advance(0)
        self.assertEqual(self.editor.diffs, {})
        (entry,) = self.workspace.book.entries()
        self.assertEqual((entry.state, entry.text), (DECIDED, "mine\n"))

    async def test_a_diff_that_is_shown_again_says_whether_its_cli_is_there(self) -> None:
        session, _ = self.connect()
        await self.workspace.diffs.open_diff(session, PATH, "theirs\n")
        for is_back, has_session in ((True, True), (False, True), (False, False)):
            self.restart()
            found = self.workspace.sessions.find(session.id)
            assert found is not None
            if is_back:
                self.read(found)
            if not has_session:
                self.workspace.sessions.end(session.id)
            self.editor.diffs.clear()
            self.editor.orphaned.clear()
            self.workspace.restored_diffs.reconcile([])
            await self.clock.advance(0)
            self.assertIn((WINDOW, session.id, PATH), self.editor.diffs)
            gone = self.editor.orphaned.get((WINDOW, session.id), False)
            self.assertEqual(gone, not is_back)

    async def test_what_was_typed_into_a_diff_that_cannot_be_shown_again_comes_back(self) -> None:
        session, _ = self.connect()
        await self.workspace.diffs.open_diff(session, PATH, "theirs\n")
        self.workspace.diffs.edited(session.id, PATH, "mine\n")
        self.restart()
        self.editor.refusal = f"{PATH} is a folder"
        with self.assertLogs("GeminiCompanion", "WARNING") as logs:
            self.workspace.restored_diffs.reconcile([])
            await self.clock.advance(0)
        self.assertNotIn(PATH, "".join(logs.output))
        await self.clock.advance(LOOKS[-1] + 1)
        await until(lambda: self.editor.returned)
        self.assertEqual(self.editor.returned, [(WINDOW, PATH, "mine\n")])
        (entry,) = self.workspace.book.entries()
        self.assertEqual((entry.state, entry.text), (DECIDED, None))

    async def test_what_a_broken_stream_may_not_have_brought_waits_after_a_restart(self) -> None:
        for text, method in (("mine\n", "ide/diffAccepted"), (None, "ide/diffRejected")):
            with self.subTest(text=text):
                await self.begin()
                session, reader = self.connect()
                await self.clock.advance(0)
                await self.workspace.diffs.open_diff(session, PATH, "theirs\n")
                self.workspace.diffs._decide(session.id, PATH, text)
                await self.clock.advance(0)
                self.assertEqual(len(reader.received(method)), 1)
                seen = session.saved().last_id - 1
                self.leave(session)
                self.workspace.close(reject=False)
                self.workspace.delivery.hand_on()
                saved = self.workspace.saved(time.time())
                for last_event_id, again in ((seen, 1), (seen + 1, 0)):
                    self.workspace = Workspace(WINDOW, (), self.editor)
                    self.workspace.restore(saved)
                    (restored,) = self.workspace.sessions
                    reader = self.read(restored, last_event_id)
                    await self.clock.advance(0)
                    self.assertEqual(len(reader.received(method)), again)

    async def accept_and_restart(self) -> int:
        """The text goes out just before the end, where the stream ends in good order; gives the id
        of its event."""
        await self.begin()
        session, _ = self.connect()
        await self.clock.advance(0)
        await self.workspace.diffs.open_diff(session, PATH, "theirs\n")
        self.workspace.diffs.accept(session.id, PATH, "mine\n")
        await self.clock.advance(0)
        self.workspace.close(reject=False)
        session.lose_stream(in_order=True)
        self.workspace.delivery.hand_on()
        saved = self.workspace.saved(time.time())
        self.workspace = Workspace(WINDOW, (), self.editor)
        self.workspace.restore(saved)
        return session.saved().last_id

    async def test_a_text_that_went_out_in_order_goes_to_no_other_session(self) -> None:
        await self.accept_and_restart()
        await self.clock.advance(GRACE + 1)
        _, another = self.connect()
        await self.clock.advance(SETTLED + 1)
        self.assertEqual(another.received("ide/diffAccepted"), [])
        with mock.patch(DELIVERY + ".PATIENCE", 0.0):
            self.assertEqual(self.workspace.delivery.unwritten(), ((PATH, "mine\n"),))
        self.assertEqual(self.editor.told, [])

    async def test_a_text_that_may_be_read_can_be_withdrawn_after_a_restart(self) -> None:
        for was_read, again in ((False, [{"filePath": PATH}]), (True, [])):
            with self.subTest(was_read=was_read):
                event_id = await self.accept_and_restart()
                with mock.patch(DELIVERY + ".PATIENCE", 0.0):
                    self.assertTrue(self.workspace.delivery.withdraw(PATH, "mine\n"))
                (back,) = self.workspace.sessions
                reader = self.read(back, event_id if was_read else event_id - 1)
                await self.clock.advance(0)
                self.assertEqual(reader.received("ide/diffRejected"), again)
                self.assertEqual(reader.received("ide/diffAccepted"), [])
                self.assertEqual(self.workspace.book.entries(), ())

    async def test_a_text_that_may_be_read_is_not_told_after_the_next_proposal(self) -> None:
        event_id = await self.accept_and_restart()
        (back,) = self.workspace.sessions
        await self.workspace.diffs.open_diff(back, PATH, "newer\n")
        self.assertEqual([it.event_id for it in self.workspace.book.entries()], [0, 0])
        reader = self.read(back, event_id - 1)
        await self.clock.advance(0)
        self.assertEqual(reader.received("ide/diffAccepted"), [])

    async def test_a_text_that_may_be_read_waits_over_two_restarts(self) -> None:
        event_id = await self.accept_and_restart()
        self.restart()
        (back,) = self.workspace.sessions
        reader = self.read(back, event_id - 1)
        await self.clock.advance(0)
        self.assertEqual(reader.received("ide/diffAccepted"), [ACCEPTED])

    async def test_who_came_back_before_a_restart_is_told_after_it(self) -> None:
        session, _ = self.connect()
        await self.workspace.diffs.open_diff(session, PATH, "theirs\n")
        self.leave(session)
        await self.clock.advance(ABSENT + 1)
        self.connect()
        self.assertIsNone(self.workspace.sessions.find(session.id))
        self.restart()
        (back,) = self.workspace.sessions
        reader = self.read(back)
        self.workspace.diffs.accept(session.id, PATH, "mine\n")
        await self.clock.advance(SETTLED + 1)
        self.assertEqual(reader.received("ide/diffAccepted"), [ACCEPTED])


if __name__ == "__main__":
    unittest.main()
