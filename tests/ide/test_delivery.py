"""Which CLI is told of a decision where connections break, and where CLIs come back."""

from __future__ import annotations

import unittest
from unittest import mock

from GeminiCompanion.companion.ide.clis import QWEN_CODE
from GeminiCompanion.companion.ide.decisions import DECIDED, OPEN, TOLD, Book
from GeminiCompanion.companion.ide.delivery import AWAY, AWAY_WITH_TEXT, SETTLED, Delivery
from GeminiCompanion.companion.ide.saved_state import SavedSession
from GeminiCompanion.companion.ide.sessions import (
    ABSENT,
    GRACE,
    LEAP,
    NOTICED,
    READ,
    Session,
    Sessions,
)

from ..support import Clock, InLoop
from .test_workspace import DELIVERY, PATH, WINDOW, Reader, WithoutServer

REJECTED = {"filePath": PATH}
VERSION = "2025-06-18"


class InAWindow(WithoutServer):
    async def propose(self, session: Session, text: str = "theirs\n") -> None:
        await self.workspace.diffs.open_diff(session, PATH, text)

    async def lose(self, session: Session) -> None:
        """Its CLI goes away, and does not come back to it."""
        self.leave(session)
        await self.clock.advance(ABSENT + 1)

    async def test_a_decision_waits_for_a_cli_of_the_kind_that_proposed(self) -> None:
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

    async def test_a_cli_has_a_number_where_another_of_its_kind_is_connected(self) -> None:
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

    async def test_who_comes_back_to_a_session_without_an_id_is_told_what_was_lost(self) -> None:
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

    async def test_a_cli_that_was_back_before_its_loss_was_noticed_is_told(self) -> None:
        gone, _ = self.connect()
        await self.propose(gone)
        await self.clock.advance(NOTICED)
        _, back = self.connect()
        await self.clock.advance(NOTICED / 2)
        self.leave(gone)
        self.workspace.diffs.reject(gone.id, PATH)
        await self.clock.advance(ABSENT + 1)
        self.assertEqual(back.received("ide/diffRejected"), [REJECTED])

    async def test_nothing_is_passed_on_while_a_proposal_for_the_path_is_open_elsewhere(
        self,
    ) -> None:
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

    async def test_what_another_asked_for_is_not_told_while_a_newer_proposal_waits(self) -> None:
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

    async def test_where_another_decision_waits_the_diff_of_one_that_is_gone_stays_open(
        self,
    ) -> None:
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

    async def test_a_cli_that_does_not_know_yet_of_a_decision_closes_no_other_diff(self) -> None:
        gone, _ = self.connect()
        await self.propose(gone)
        session, _ = self.connect()
        await self.propose(session)
        await self.lose(gone)
        self.workspace.diffs.reject(session.id, PATH)
        await self.clock.advance(SETTLED / 2)
        self.assertIsNone(await self.workspace.diffs.close_diff(session, PATH))
        self.assertIn((WINDOW, gone.id, PATH), self.editor.diffs)

    async def test_nor_does_it_through_another_of_its_sessions(self) -> None:
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

    async def test_a_passed_on_rejection_that_was_lost_goes_to_no_earlier_session(self) -> None:
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

    async def test_a_text_withdrawn_that_may_be_unread_is_told_as_a_rejection(
        self,
    ) -> None:
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


class Alone(InLoop):
    """From a book to sessions, with no window around them. `begin` comes first."""

    async def begin(self) -> None:
        self.clock = Clock()
        self.book = Book()
        self.said: list[str] = []
        self.sessions = Sessions(
            lambda session: self.delivery.session_ended(session),
            on_told=lambda number: self.delivery.told(number),
            on_unread=lambda session, events: self.delivery.unread(session, events),
        )
        self.delivery = Delivery(
            self.book, self.sessions, self.said.append, lambda number: None, lambda: None
        )

    def open(self) -> Session:
        return self.sessions.open(VERSION)

    def decide(
        self, session_id: str, text: str | None = None, path: str = PATH, before: str | None = None
    ) -> int:
        number = self.book.open(session_id, path, "theirs\n")
        self.book.decide(number, text, before)
        return number

    async def test_a_decision_waits_for_a_session_that_has_a_stream(self) -> None:
        number = self.decide("gone", "mine\n")
        session = self.open()
        self.delivery.send(number)
        self.assertEqual(self.book[number].session_id, "gone")
        reader = Reader(session)
        self.delivery.pass_on()
        await self.clock.advance(0)
        self.assertEqual(len(reader.received("ide/diffAccepted")), 1)

    async def test_each_path_waits_until_what_was_settled_on_it_is_known(self) -> None:
        reader = Reader(self.open())
        self.delivery.settled(PATH)
        await self.clock.advance(SETTLED / 2)
        self.delivery.settled("/other")
        for path in (PATH, "/other"):
            self.delivery.send(self.decide("gone", path=path))
        await self.clock.advance(0)
        self.assertEqual(reader.received("ide/diffRejected"), [])
        await self.clock.advance(SETTLED / 2)
        self.assertEqual(reader.received("ide/diffRejected"), [REJECTED])
        await self.clock.advance(SETTLED)
        self.assertEqual(reader.received("ide/diffRejected"), [REJECTED, {"filePath": "/other"}])

    async def test_all_that_a_broken_stream_may_not_have_brought_is_told_again(self) -> None:
        session = self.open()
        Reader(session)
        paths = ["/1", "/2", "/3"]
        for path in paths:
            self.delivery.send(self.decide(session.id, path=path))
        await self.clock.advance(0)
        self.assertEqual(self.book.of(DECIDED), [])
        assert session.stream is not None
        self.sessions.detach(session, session.stream)
        self.assertEqual([self.book[it].path for it in self.book.of(DECIDED)], paths)
        reader = Reader(session)
        await self.clock.advance(0)
        told = [it["filePath"] for it in reader.received("ide/diffRejected")]
        self.assertEqual(told, paths)

    async def test_after_a_restart_each_decision_is_told_once_under_an_id_of_its_own(self) -> None:
        # In their queue; under an id that was never given; under that of another; under none.
        event_ids = [3, 9, 3, 0]
        numbers = [self.decide("saved", path=f"/{it}") for it in range(len(event_ids))]
        waiting = dict(zip(numbers, event_ids))
        self.delivery.restore([SavedSession("saved", VERSION, 5)], waiting)
        found = [self.book[number].event_id for number in numbers]
        self.assertEqual(found[0], 3)
        self.assertEqual(found[1:], [5 + LEAP + it for it in (1, 2, 3)])
        session = self.sessions.find("saved")
        assert session is not None
        reader = Reader(session)
        await self.clock.advance(0)
        told = [it["filePath"] for it in reader.received("ide/diffRejected")]
        self.assertEqual(told, ["/0", "/1", "/2", "/3"])

    async def test_a_cli_that_asks_is_given_what_was_decided_last(self) -> None:
        session = self.open()
        for text in ("first\n", "second\n"):
            self.delivery.send(self.decide(session.id, text))
        self.assertEqual(self.delivery.hand_out(session, PATH), "second\n")
        self.assertEqual(self.book.of(DECIDED), [])
        self.assertIsNone(self.delivery.hand_out(session, PATH))

    async def test_a_newer_proposal_leaves_no_older_decision_to_be_told(self) -> None:
        session = self.open()
        number = self.decide(session.id, "mine\n")
        self.delivery.send(number)
        self.delivery.supersede(session, PATH)
        self.assertEqual(self.book[number].state, TOLD)
        reader = Reader(session)
        await self.clock.advance(0)
        self.assertEqual(reader.received("ide/diffAccepted"), [])

    async def test_the_user_hears_that_a_decision_waits_for_a_cli_without_a_stream(self) -> None:
        session = self.open()
        self.delivery.send(self.decide(session.id))
        self.delivery.send(self.decide("gone", "mine\n", "/other"))
        self.assertEqual(self.said, [AWAY, AWAY_WITH_TEXT])
        Reader(session)
        self.delivery.send(self.decide(session.id))
        self.assertEqual(len(self.said), 2)

    async def test_a_text_whose_cli_was_told_is_unwritten_after_a_while_unless_it_comes_back(
        self,
    ) -> None:
        session = self.open()
        waiting = self.decide(session.id, "waits\n", "/waits")
        self.delivery.send(waiting)
        told = self.decide("another", "told\n", "/told")
        self.book.tell(told)
        closed = self.book.open("another", "/closed", "theirs\n")
        self.book.hand_over(closed, "comes back\n")
        self.assertEqual(self.delivery.unwritten(), (("/waits", "waits\n"),))
        with mock.patch(DELIVERY + ".PATIENCE", -1.0):
            both = (("/waits", "waits\n"), ("/told", "told\n"))
            self.assertEqual(self.delivery.unwritten(), both)
            self.assertEqual(self.delivery.unwritten(told=()), both[:1])

    async def test_a_text_that_is_withdrawn_is_told_as_a_rejection_or_forgotten(self) -> None:
        session = self.open()
        waiting = self.decide(session.id, "mine\n")
        self.delivery.send(waiting)
        told = self.decide("another", "told\n", "/told")
        self.book.tell(told)
        with mock.patch(DELIVERY + ".PATIENCE", -1.0):
            self.assertFalse(self.delivery.withdraw(PATH, "another\n"))
            self.assertTrue(self.delivery.withdraw("/told", "told\n"))
            self.assertTrue(self.delivery.withdraw(PATH, "mine\n"))
        self.assertNotIn(told, self.book)
        reader = Reader(session)
        await self.clock.advance(0)
        self.assertEqual(reader.received("ide/diffRejected"), [REJECTED])
        self.assertEqual(reader.received("ide/diffAccepted"), [])

    async def test_what_the_clients_of_the_end_may_not_have_read_waits_in_the_next_companion(
        self,
    ) -> None:
        session = self.open()
        Reader(session)
        text, rejection = self.decide(session.id, "mine\n"), self.decide(session.id, path="/no")
        for number in (text, rejection):
            self.delivery.send(number)
        await self.clock.advance(READ / 2)
        self.delivery.stop()
        self.sessions.end_all()
        await self.clock.advance(0)
        self.delivery.hand_on()
        waiting = {entry.path: (entry.state, entry.event_id) for _, entry in self.book}
        self.assertEqual(waiting, {PATH: (TOLD, 1), "/no": (DECIDED, 2)})
        self.assertEqual(self.book.of(OPEN), [])


if __name__ == "__main__":
    unittest.main()
