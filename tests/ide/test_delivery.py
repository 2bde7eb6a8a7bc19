"""Which CLI is told of a decision where connections break, and where CLIs come back."""

from __future__ import annotations

import unittest
from unittest import mock

from GeminiCompanion.companion.ide.clis import QWEN_CODE
from GeminiCompanion.companion.ide.decisions import DECIDED, TOLD
from GeminiCompanion.companion.ide.delivery import SETTLED
from GeminiCompanion.companion.ide.sessions import ABSENT, GRACE, NOTICED, Session

from ..support import in_loop
from .test_workspace import DELIVERY, PATH, WINDOW, WithoutServer

REJECTED = {"filePath": PATH}
VERSION = "2025-06-18"


class Delivery(WithoutServer):
    async def propose(self, session: Session, text: str = "theirs\n") -> None:
        await self.workspace.diffs.open_diff(session, PATH, text)

    async def lose(self, session: Session) -> None:
        """Its CLI goes away, and does not come back to it."""
        self.leave(session)
        await self.clock.advance(ABSENT + 1)

    @in_loop
    async def test_a_decision_waits_for_a_cli_of_the_kind_that_proposed(self) -> None:
        await self.begin()
        gone, _ = self.connect()
        await self.propose(gone)
        await self.lose(gone)
        other = self.read(self.workspace.sessions.open(VERSION, cli=QWEN_CODE))
        self.workspace.diffs.accept(gone.id, PATH, "mine\n")
        await self.clock.advance(GRACE)
        self.assertEqual(len(self.workspace.book.of(DECIDED)), 1)
        _, reader = self.connect()
        await self.clock.advance(SETTLED + 1)
        self.assertEqual(
            reader.received("ide/diffAccepted"), [{"filePath": PATH, "content": "mine\n"}]
        )
        self.assertEqual(other.received("ide/diffAccepted"), [])

    @in_loop
    async def test_a_cli_has_a_number_where_another_of_its_kind_is_connected(self) -> None:
        await self.begin()
        sessions = self.workspace.sessions
        one, _ = self.connect()
        self.assertEqual(sessions.label(one), "Gemini CLI")
        other = sessions.open(VERSION, cli=QWEN_CODE)
        self.read(other)
        self.assertEqual(sessions.label(one), "Gemini CLI")
        self.assertEqual(sessions.label(other), "Qwen Code")
        two, _ = self.connect()
        self.assertEqual(
            [sessions.label(one), sessions.label(two)], ["Gemini CLI 1", "Gemini CLI 3"]
        )
        self.assertEqual(sessions.label(other), "Qwen Code")

    @in_loop
    async def test_who_comes_back_to_a_session_without_an_id_is_told_what_was_lost(self) -> None:
        await self.begin()
        session, reader = self.connect()
        await self.propose(session)
        self.workspace.diffs.reject(session.id, PATH)
        await self.clock.advance(0)
        self.assertEqual(reader.received("ide/diffRejected"), [REJECTED])
        for _ in range(2):
            # It breaks off before the CLI has read anything, time and again.
            self.leave(session)
            await self.clock.advance(ABSENT - 1)
            reader = self.read(session)
            await self.clock.advance(0)
            self.assertEqual(reader.received("ide/diffRejected"), [REJECTED])

    @in_loop
    async def test_what_a_broken_stream_may_not_have_brought_outlives_a_kill_as_undelivered(
        self,
    ) -> None:
        for text in ("mine\n", None):
            with self.subTest(text=text):
                await self.begin()
                session, _ = self.connect()
                await self.propose(session)
                self.workspace.diffs._decide(session.id, PATH, text)
                await self.clock.advance(0)
                told = [it.state for it in self.workspace.saved(0.0).proposals]
                self.assertEqual(told, [TOLD] if text else [])
                self.leave(session)
                (entry,) = self.workspace.saved(0.0).proposals
                self.assertEqual((entry.state, entry.text), (DECIDED, text))
                self.assertEqual(entry.event_id, session.saved().last_id)
                # A CLI that has it says so, and then all is as before.
                self.read(session, entry.event_id)
                # And it stays so where this stream breaks off, too.
                self.leave(session)
                told = [it.state for it in self.workspace.saved(0.0).proposals]
                self.assertEqual(told, [TOLD] if text else [])

    @in_loop
    async def test_a_cli_that_was_back_before_its_loss_was_noticed_is_told(self) -> None:
        await self.begin()
        gone, _ = self.connect()
        await self.propose(gone)
        await self.clock.advance(NOTICED)
        _, back = self.connect()
        await self.clock.advance(NOTICED / 2)
        self.leave(gone)
        self.workspace.diffs.reject(gone.id, PATH)
        await self.clock.advance(ABSENT + 1)
        self.assertEqual(back.received("ide/diffRejected"), [REJECTED])

    @in_loop
    async def test_nothing_is_passed_on_while_a_proposal_for_the_path_is_open_elsewhere(
        self,
    ) -> None:
        await self.begin()
        is_open = True
        gone, _ = self.connect()
        self.workspace.delivery._asking = lambda path: {"another"} if is_open else {gone.id}
        await self.propose(gone)
        await self.lose(gone)
        self.workspace.diffs.accept(gone.id, PATH, "mine\n")
        _, back = self.connect()
        await self.clock.advance(SETTLED + 1)
        self.assertEqual(back.received("ide/diffAccepted"), [])
        is_open = False
        await self.workspace.look_after()
        await self.clock.advance(0)
        self.assertEqual(len(back.received("ide/diffAccepted")), 1)

    @in_loop
    async def test_what_another_asked_for_is_not_told_while_a_newer_proposal_waits(self) -> None:
        await self.begin()
        gone, _ = self.connect()
        await self.propose(gone)
        await self.lose(gone)
        back = self.workspace.sessions.open("2025-06-18")
        # Its stream holds on: nothing of it is read yet.
        stream = back.attach(None)
        self.workspace._stream_began(back)
        self.workspace.diffs.reject(gone.id, PATH)
        again, reader = self.connect()
        await self.propose(again)
        told = await stream.next(0)
        while told is not None:
            self.assertNotEqual(told.value.notification()[0], "ide/diffRejected")
            told = await stream.next(0)
        self.assertEqual(reader.received("ide/diffRejected"), [])
        self.assertEqual(len(self.workspace.book.of(DECIDED)), 1)

    @in_loop
    async def test_where_another_decision_waits_the_diff_of_one_that_is_gone_stays_open(
        self,
    ) -> None:
        await self.begin()
        one, _ = self.connect()
        two, _ = self.connect()
        await self.propose(one)
        await self.propose(two)
        self.leave(one)
        await self.lose(two)
        self.workspace.diffs.accept(one.id, PATH, "mine\n")
        back, _ = self.connect()
        self.assertIsNone(await self.workspace.diffs.close_diff(back, PATH))
        self.assertEqual(list(self.editor.diffs), [(WINDOW, one.id, PATH), (WINDOW, two.id, PATH)])

    @in_loop
    async def test_a_cli_that_does_not_know_yet_of_a_decision_closes_no_other_diff(self) -> None:
        await self.begin()
        gone, _ = self.connect()
        await self.propose(gone)
        session, _ = self.connect()
        await self.propose(session)
        await self.lose(gone)
        self.workspace.diffs.reject(session.id, PATH)
        await self.clock.advance(SETTLED / 2)
        self.assertIsNone(await self.workspace.diffs.close_diff(session, PATH))
        self.assertIn((WINDOW, gone.id, PATH), self.editor.diffs)

    @in_loop
    async def test_nor_does_it_through_another_of_its_sessions(self) -> None:
        await self.begin()
        gone, _ = self.connect()
        await self.propose(gone)
        session, _ = self.connect()
        await self.propose(session)
        await self.lose(gone)
        # As `/ide enable` makes it; the first one lives on.
        another, _ = self.connect()
        self.workspace.diffs.reject(session.id, PATH)
        await self.clock.advance(SETTLED / 2)
        self.assertIsNone(await self.workspace.diffs.close_diff(another, PATH))
        self.assertIn((WINDOW, gone.id, PATH), self.editor.diffs)

    @in_loop
    async def test_a_passed_on_rejection_that_was_lost_goes_to_no_earlier_session(self) -> None:
        await self.begin()
        _, earlier = self.connect()
        gone, _ = self.connect()
        await self.propose(gone)
        await self.lose(gone)
        back, _ = self.connect()
        self.workspace.diffs.reject(gone.id, PATH)
        await self.clock.advance(0)
        self.leave(back)
        await self.clock.advance(GRACE + 1)
        _, again = self.connect()
        await self.clock.advance(SETTLED)
        self.assertEqual(again.received("ide/diffRejected"), [REJECTED])
        self.assertEqual(earlier.received("ide/diffRejected"), [])

    @in_loop
    async def test_a_text_withdrawn_that_may_be_unread_is_told_as_a_rejection(
        self,
    ) -> None:
        await self.begin()
        session, _ = self.connect()
        await self.propose(session)
        self.workspace.diffs.accept(session.id, PATH, "mine\n")
        await self.clock.advance(0)
        self.leave(session)
        with mock.patch(DELIVERY + ".PATIENCE", 0.0):
            self.assertTrue(self.workspace.delivery.withdraw(PATH, "mine\n"))
        await self.clock.advance(GRACE + 1)
        _, back = self.connect()
        await self.clock.advance(SETTLED + 1)
        self.assertEqual(back.received("ide/diffRejected"), [REJECTED])
        self.assertEqual(back.received("ide/diffAccepted"), [])


if __name__ == "__main__":
    unittest.main()
