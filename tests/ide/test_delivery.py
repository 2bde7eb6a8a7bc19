"""Which CLI is told of a decision where connections break, and where CLIs come back."""

from __future__ import annotations

from unittest import mock

from GeminiCompanion.companion.ide import delivery
from GeminiCompanion.companion.ide.accepted_texts import AcceptedTexts
from GeminiCompanion.companion.ide.decisions import DECIDED, OPEN, TOLD, Book
from GeminiCompanion.companion.ide.delivery import SETTLED, Delivery
from GeminiCompanion.companion.ide.saved_state import SavedSession
from GeminiCompanion.companion.ide.session import LEAP, READ, Session, Stream
from GeminiCompanion.companion.ide.sessions import Sessions

from ..support import Clock, InLoop
from ..tables import rows
from .window import ACCEPTED_TEXTS, PATH, VERSION, Reader, WithoutServer

AWAY = delivery.AWAY.format(cli="Gemini CLI")
AWAY_WITH_TEXT = delivery.AWAY_WITH_TEXT.format(cli="Gemini CLI")

REJECTED = {"filePath": PATH}


@rows("""
    a decision waits for a CLI of the kind that proposed
        c connects & proposes & is lost; other connects as qwen
        | c is accepted as mine; GRACE s pass | the book holds decided mine
        | d connects; SETTLED + 1 s pass | d heard accepted mine; other heard nothing
    a CLI has a number where another of its kind is connected
        c connects | c is called Gemini CLI | other connects as qwen
        | c is called Gemini CLI; other is called Qwen Code | d connects
        | c is called Gemini CLI 1; d is called Gemini CLI 3; other is called Qwen Code
    who comes back to a session without an id is told what was lost time and again
        c connects & proposes & is rejected; a moment passes
        | c leaves; ABSENT - 1 s pass; c returns; a moment passes
        | c heard rejected and rejected | c leaves; ABSENT - 1 s pass; c returns
        | c heard rejected and rejected and rejected
    a text that a broken stream may not have brought outlives a kill as undelivered
        c connects & proposes & is accepted as mine; a moment passes | the book holds told mine
        | c leaves | the book holds decided mine; it waits as the last event of c: yes
        | c returns with 0 events unread & leaves | the book holds told mine
    a rejection that a broken stream may not have brought outlives a kill as undelivered
        c connects & proposes & is rejected; a moment passes | the book holds nothing | c leaves
        | the book holds decided no text; it waits as the last event of c: yes
        | c returns with 0 events unread & leaves | the book holds nothing
    a CLI that was back before its loss was noticed is told
        c connects & proposes; NOTICED s pass; d connects; NOTICED / 2 s pass
        | c leaves & is rejected; ABSENT + 1 s pass | d heard rejected
    nothing is passed on while a proposal for the path is open elsewhere
        c connects; another window asks for the file; c proposes & is lost
        | c is accepted as mine; d connects; SETTLED + 1 s pass | d heard nothing
        | the other window asks no more; all are looked after | d heard accepted mine
    what another asked for is not told while a newer proposal waits
        c connects & proposes & is lost; d opens a session & reads nothing yet
        | c is rejected; e connects & proposes
        | d reads on and hears nothing; e heard nothing; the book holds decided no text, open
        theirs
    where another decision waits the diff of one that is gone stays open
        c connects; d connects; c proposes; d proposes; c leaves; d is lost
        | c is accepted as mine; e connects & closes its diff and gets no text
        | the diffs are theirs of c, theirs of d
    a CLI that does not know yet of a decision closes no other diff
        c connects & proposes; d connects & proposes; c is lost
        | d is rejected; SETTLED / 2 s pass; d closes its diff and gets no text
        | the diff of c is open: yes
    nor does it through another of its sessions
        c connects & proposes; d connects & proposes; c is lost; again connects
        | d is rejected; SETTLED / 2 s pass; again closes its diff and gets no text
        | the diff of c is open: yes
    a passed on rejection that was lost goes to no earlier session
        b connects; c connects & proposes & is lost; d connects
        | c is rejected; a moment passes; d leaves; GRACE + 1 s pass; e connects; SETTLED s pass
        | e heard rejected; b heard nothing
    a text withdrawn that may be unread is told as a rejection
        c connects & proposes & is accepted as mine; a moment passes; c leaves
        | told texts are due at once; mine is withdrawn; GRACE + 1 s pass; d connects; SETTLED +
        1 s pass
        | d heard rejected
""")
class InAWindow(WithoutServer):
    stream: Stream

    async def reads_on(self) -> None:
        told = await self.stream.next(0)
        while told is not None:
            self.assertNotEqual(told.value.notification()[0], "ide/diffRejected")
            told = await self.stream.next(0)

    words = {
        "another window asks for the file": lambda t: setattr(
            t.workspace.delivery, "_asking", lambda path: {"another"}
        ),
        "the other window asks no more": lambda t: setattr(
            t.workspace.delivery, "_asking", lambda path: {t.id_of("c")}
        ),
        "d reads nothing yet": lambda t: (
            setattr(t, "stream", t.by_name["d"].attach_stream(None)),
            t.workspace._stream_began(t.by_name["d"]),
        ),
        "d reads on and hears nothing": reads_on,
    }
    seen = {
        r"(\w+) is called": lambda t, name: t.workspace.sessions.session_label(t.by_name[name]),
        "it waits as the last event of c:": lambda t: (
            [proposal.event_id for proposal in t.workspace.saved_workspace(0.0).proposals]
            == [t.by_name["c"].saved_session().last_id]
        ),
        "the diff of c is open:": lambda t: t.id_of("c") in [id for _, id, _ in t.editor.diffs],
    }


class Alone(InLoop):
    """From a book to sessions, with no window around them. `begin` comes first."""

    async def begin(self) -> None:
        self.clock = Clock()
        self.book = Book()
        self.said: list[str] = []
        # What is not withdrawn.
        self.true: dict[str, str] = {}
        self.sessions = Sessions(
            lambda session: self.delivery.session_ended(session),
            on_told=lambda number: self.delivery.confirm_delivery(number),
            on_stream_lost=lambda session, unread: self.delivery.stream_lost(session, unread),
        )
        self.delivery = Delivery(self.book, self.sessions, self, lambda number: None, lambda: None)
        self.accepted = AcceptedTexts(self.book, self.sessions, self.delivery.follow_book)

    def show_message(self, sentence: str, about: str = "") -> None:
        self.said.append(sentence)
        self.true[about] = sentence

    def withdraw_message(self, about: str) -> None:
        del self.true[about]

    def open(self) -> Session:
        return self.sessions.open_session(VERSION)

    def decide(
        self, session_id: str, text: str | None = None, path: str = PATH, before: str | None = None
    ) -> int:
        number = self.book.open(session_id, path, "theirs\n")
        self.book.decide(number, text, before)
        return number

    async def test_a_decision_waits_for_a_session_that_has_a_stream(self) -> None:
        number = self.decide("gone", "mine\n")
        session = self.open()
        self.delivery.send_decision(number)
        self.assertEqual(self.book[number].session_id, "gone")
        reader = Reader(session)
        self.delivery.pass_on()
        await self.clock.advance(0)
        self.assertEqual(len(reader.received("ide/diffAccepted")), 1)

    async def test_each_path_waits_until_what_was_settled_on_it_is_known(self) -> None:
        reader = Reader(self.open())
        self.delivery.note_settled(PATH)
        await self.clock.advance(SETTLED / 2)
        self.delivery.note_settled("/other")
        for path in (PATH, "/other"):
            self.delivery.send_decision(self.decide("gone", path=path))
        await self.clock.advance(0)
        self.assertEqual(reader.received("ide/diffRejected"), [])
        await self.clock.advance(SETTLED / 2)
        self.assertEqual(reader.received("ide/diffRejected"), [REJECTED])
        await self.clock.advance(SETTLED)
        self.assertEqual(reader.received("ide/diffRejected"), [REJECTED, {"filePath": "/other"}])

    async def test_a_path_is_not_forgotten_where_nothing_waits_for_one_settled_before(self) -> None:
        reader = Reader(self.open())
        self.delivery.note_settled(PATH)
        await self.clock.advance(SETTLED / 2)
        self.delivery.note_settled("/other")
        self.delivery.send_decision(self.decide("gone", path="/other"))
        await self.clock.advance(SETTLED / 2)
        self.assertEqual(reader.received("ide/diffRejected"), [])
        await self.clock.advance(SETTLED)
        self.assertEqual(reader.received("ide/diffRejected"), [{"filePath": "/other"}])

    async def test_all_that_a_broken_stream_may_not_have_brought_is_told_again(self) -> None:
        session = self.open()
        Reader(session)
        paths = ["/1", "/2", "/3"]
        for path in paths:
            self.delivery.send_decision(self.decide(session.id, path=path))
        await self.clock.advance(0)
        self.assertEqual(self.book.numbers_in(DECIDED), [])
        assert session.stream is not None
        self.sessions.detach_stream(session, session.stream)
        self.assertEqual(
            [self.book[number].path for number in self.book.numbers_in(DECIDED)], paths
        )
        reader = Reader(session)
        await self.clock.advance(0)
        told = [message["filePath"] for message in reader.received("ide/diffRejected")]
        self.assertEqual(told, paths)

    async def test_after_a_restart_each_decision_is_told_once_under_an_id_of_its_own(self) -> None:
        # In their queue; under an id that was never given; under that of another; under none.
        event_ids = [3, 9, 3, 0]
        numbers = [self.decide("saved", path=f"/{number}") for number in range(len(event_ids))]
        waiting = dict(zip(numbers, event_ids))
        self.delivery.restore_sessions([SavedSession("saved", VERSION, 5)], waiting)
        found = [self.book[number].event_id for number in numbers]
        self.assertEqual(found[0], 3)
        self.assertEqual(found[1:], [5 + LEAP + number for number in (1, 2, 3)])
        session = self.sessions.find_session("saved")
        assert session is not None
        reader = Reader(session)
        await self.clock.advance(0)
        told = [message["filePath"] for message in reader.received("ide/diffRejected")]
        self.assertEqual(told, ["/0", "/1", "/2", "/3"])

    async def test_a_cli_that_asks_is_given_what_was_decided_last(self) -> None:
        session = self.open()
        for text in ("first\n", "second\n"):
            self.delivery.send_decision(self.decide(session.id, text))
        self.assertEqual(self.delivery.hand_out(session, PATH), "second\n")
        self.assertEqual(self.book.numbers_in(DECIDED), [])
        self.assertIsNone(self.delivery.hand_out(session, PATH))

    async def test_a_newer_proposal_leaves_no_older_decision_to_be_told(self) -> None:
        session = self.open()
        number = self.decide(session.id, "mine\n")
        self.delivery.send_decision(number)
        self.delivery.supersede_decisions(session, PATH)
        self.assertEqual(self.book[number].state, TOLD)
        reader = Reader(session)
        await self.clock.advance(0)
        self.assertEqual(reader.received("ide/diffAccepted"), [])

    async def test_a_text_of_before_a_restart_waits_no_more_behind_a_newer_proposal(self) -> None:
        number = self.decide("saved", "mine\n")
        self.book.mark_told(number)
        self.delivery.restore_sessions([SavedSession("saved", VERSION, 5)], {number: 5})
        session = self.sessions.find_session("saved")
        assert session is not None
        self.delivery.supersede_decisions(session, PATH)
        with mock.patch(ACCEPTED_TEXTS + ".PATIENCE", -1.0):
            self.assertTrue(self.accepted.withdraw_text(PATH, "mine\n"))
        # A rejection would count for the newer one, if not now, then after the next restart.
        self.assertEqual(self.book.numbers_in(DECIDED), [])

    async def test_the_user_hears_that_a_decision_waits_for_a_cli_without_a_stream(self) -> None:
        session = self.open()
        self.delivery.send_decision(self.decide(session.id))
        self.delivery.send_decision(self.decide("gone", "mine\n", "/other"))
        self.assertEqual(self.said, [AWAY, AWAY_WITH_TEXT])
        Reader(session)
        self.delivery.send_decision(self.decide(session.id))
        self.assertEqual(len(self.said), 2)
        await self.clock.advance(0)
        # The CLI that is there was told of both.
        self.assertEqual(self.true, {})

    async def test_that_a_text_waits_is_not_true_once_the_user_has_taken_it_back(self) -> None:
        session = self.open()
        self.delivery.send_decision(self.decide(session.id, "mine\n"))
        self.assertEqual(list(self.true.values()), [AWAY_WITH_TEXT])
        self.assertTrue(self.accepted.withdraw_text(PATH, "mine\n"))
        self.assertEqual(self.true, {})

    async def test_that_a_text_waits_is_not_true_once_the_book_has_forgotten_it(self) -> None:
        session = self.open()
        number = self.decide(session.id, "mine\n")
        self.delivery.send_decision(number)
        self.assertEqual(list(self.true.values()), [AWAY_WITH_TEXT])
        self.book.forget(number)
        self.delivery.follow_book()
        self.assertEqual(self.true, {})

    async def test_the_user_hears_of_what_waited_when_its_cli_was_gone_before_that_showed(
        self,
    ) -> None:
        session = self.open()
        # Nobody reads it: its client is gone.
        stream = session.attach_stream(None)
        self.delivery.send_decision(self.decide(session.id, "mine\n"))
        self.delivery.send_decision(self.decide(session.id, path="/other"))
        self.assertEqual(self.said, [])
        self.sessions.detach_stream(session, stream)
        self.assertEqual(self.said, [AWAY_WITH_TEXT, AWAY])

    async def test_of_a_session_that_ended_with_its_stream_the_user_hears_once(self) -> None:
        session = self.open()
        stream = session.attach_stream(None)
        self.delivery.send_decision(self.decide(session.id, "mine\n"))
        self.sessions.end_session(session.id)
        self.sessions.detach_stream(session, stream)
        self.assertEqual(self.said, [AWAY_WITH_TEXT])

    async def test_a_text_whose_cli_was_told_is_unwritten_after_a_while_unless_it_comes_back(
        self,
    ) -> None:
        session = self.open()
        waiting = self.decide(session.id, "waits\n", "/waits")
        self.delivery.send_decision(waiting)
        told = self.decide("another", "told\n", "/told")
        self.book.mark_told(told)
        closed = self.book.open("another", "/closed", "theirs\n")
        self.book.hand_over(closed, "comes back\n")
        self.assertEqual(self.accepted.unwritten_texts(), (("/waits", "waits\n", True),))
        with mock.patch(ACCEPTED_TEXTS + ".PATIENCE", -1.0):
            both = (("/waits", "waits\n", True), ("/told", "told\n", False))
            self.assertEqual(self.accepted.unwritten_texts(), both)
            missing = (both[0], ("/told", "told\n", True))
            self.assertEqual(self.accepted.unwritten_texts(missing=(told,)), missing)

    async def test_a_text_that_is_withdrawn_is_told_as_a_rejection_or_forgotten(self) -> None:
        session = self.open()
        waiting = self.decide(session.id, "mine\n")
        self.delivery.send_decision(waiting)
        told = self.decide("another", "told\n", "/told")
        self.book.mark_told(told)
        with mock.patch(ACCEPTED_TEXTS + ".PATIENCE", -1.0):
            self.assertFalse(self.accepted.withdraw_text(PATH, "another\n"))
            self.assertTrue(self.accepted.withdraw_text("/told", "told\n"))
            self.assertTrue(self.accepted.withdraw_text(PATH, "mine\n"))
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
            self.delivery.send_decision(number)
        await self.clock.advance(READ / 2)
        self.delivery.stop()
        self.sessions.end_all()
        await self.clock.advance(0)
        self.delivery.hand_on()
        waiting = {entry.path: (entry.state, entry.event_id) for _, entry in self.book}
        self.assertEqual(waiting, {PATH: (TOLD, 1), "/no": (DECIDED, 2)})
        self.assertEqual(self.book.numbers_in(OPEN), [])
