"""Decides which CLI is told of a decision, and tells it once. Knows no socket and no editor.

That is the session that asked, or else the newest that came after it; in MCP 2026-07-28 the client
with the name of the one that asked, and no other. A CLI knows a proposal only by its path, so
nothing is passed on while a proposal for the path is open in any window, or while different
decisions wait for it.
"""

from __future__ import annotations

import asyncio
import uuid
from typing import Callable, Collection, Iterable, Mapping, Protocol

from .clis import by_id
from .decisions import DECIDED, OPEN, TOLD, Book, Decision
from .saved_state import SavedSession
from .session import Session, StreamEvent
from .sessions import Sessions
from .stateless import is_asker

# Seconds after which a CLI knows the outcome of its proposal.
SETTLED = 2.0
LIST = '"Gemini Companion: Show Changes"'
AWAY = "{cli} is away; your decision waits until it is back."
AWAY_WITH_TEXT = f"{AWAY} See {LIST}."
CROWDED = f"Too many texts wait for their CLIs: the oldest is not in {LIST} any more."


class Settled:
    """The paths of proposals that were settled so recently that their CLI may not know yet.
    `on_known` is called when it does."""

    def __init__(self, on_known: Callable[[], None]) -> None:
        self._on_known = on_known
        # The time of the last one by path, and one timer for all of them.
        self._at: dict[str, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def __contains__(self, path: str) -> bool:
        earliest = asyncio.get_running_loop().time() - SETTLED
        return self._at.get(path, earliest) > earliest

    def add_path(self, path: str) -> None:
        loop = asyncio.get_running_loop()
        self._at[path] = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(SETTLED, self._check_due)

    def _check_due(self) -> None:
        self._timer = None
        self._on_known()
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._at = {number: at for number, at in self._at.items() if now - at < SETTLED}
        if self._at:
            self._timer = loop.call_later(max(self._at.values()) + SETTLED - now, self._check_due)


class Messages(Protocol):
    """Where the user reads sentences, each until what it is about is over."""

    def show_message(self, sentence: str, about: str = "") -> None: ...

    def withdraw_message(self, about: str) -> None: ...


class AwayMessages:
    """What the user was told of decisions that wait for a CLI, until it is not true any more."""

    def __init__(self, book: Book, messages: Messages) -> None:
        self._book, self._messages = book, messages
        # The numbers of the decisions, and whether these had a text.
        self._told: dict[int, bool] = {}
        self._name = uuid.uuid4().hex

    def tell(self, number: int) -> None:
        entry = self._book[number]
        has_text = self._told[number] = bool(entry.text)
        sentence = (AWAY_WITH_TEXT if has_text else AWAY).format(cli=by_id(entry.cli).name)
        self._messages.show_message(sentence, self._message_topic(number))

    def withdraw_untrue(self) -> None:
        """What no CLI was told of yet may be told, forgotten or another decision by now."""
        for number, has_text in list(self._told.items()):
            entry = self._book[number] if number in self._book else None
            if entry is None or entry.state != DECIDED or bool(entry.text) != has_text:
                del self._told[number]
                self._messages.withdraw_message(self._message_topic(number))

    def _message_topic(self, number: int) -> str:
        return f"decision {self._name} {number}"


class Delivery:
    """Passes decisions from the book to the sessions of one window.

    `on_told` gets the number of each text that a CLI was told. `on_change` is called when the book
    has changed. `asking` gives the sessions with an open proposal for a path in any book.
    """

    def __init__(
        self,
        book: Book,
        sessions: Sessions,
        messages: Messages,
        on_told: Callable[[int], None],
        on_change: Callable[[], None],
        asking: Callable[[str], set[str]] = lambda path: set(),
    ) -> None:
        self._book, self._sessions = book, sessions
        self._asking = asking
        self._messages = messages
        self._away = AwayMessages(book, messages)
        self._on_told, self._on_change = on_told, on_change
        self._settled = Settled(self.pass_on)
        self._is_stopped = False
        self._sessions_at_end: tuple[Session, ...] = ()

    def stop(self) -> None:
        """The window closes: what its own sessions do not receive goes to no other session."""
        self._is_stopped = True
        self._sessions_at_end = tuple(self._sessions)

    def hand_on(self) -> None:
        """The next companion takes over the sessions, whose streams have ended in order. What their
        clients may not have read goes back into the queue of the session there. A client that has
        read it says so when it resumes. It most likely has, so no other session is told of the
        text."""
        for session in self._sessions_at_end:
            for event in session.unconfirmed_decisions():
                if event.number in self._book:
                    self._book.mark_queued(event.number, session.id, event.id)
                else:
                    self.stream_lost(session, [event])

    def stream_lost(self, session: Session, unread: Iterable[StreamEvent]) -> None:
        """The session's stream has ended, perhaps before its client had read the events `unread`.
        A decision that waited while the stream seemed to live was not reported as waiting yet."""
        away = self._book.numbers_in(DECIDED, session.id)
        for event in unread:
            if isinstance(event.value, Decision):
                where = (session.id, event.id, session.cli.id)
                self._book.take_back(event.number, event.value, *where)
                if event.value.text and event.number in self._book:
                    away.append(event.number)
        # If the session has ended as well, `session_ended` follows.
        if self._sessions.find_session(session.id) is session:
            for number in away:
                self._tell_away(number)
        self._on_change()

    def restore_sessions(
        self, sessions: Collection[SavedSession], event_ids: Mapping[int, int]
    ) -> None:
        """Take up the sessions from before the restart. `event_ids` are the ids of the waiting
        decisions by their numbers; a decision without a valid id is sent as a new event."""
        for saved in sessions:
            waiting: dict[int, int] = {}
            for number in self._book.numbers_in(DECIDED, saved.id) + self._book.numbers_in(
                TOLD, saved.id
            ):
                event_id = event_ids.get(number, 0)
                if 0 < event_id <= saved.last_id and event_id not in waiting:
                    waiting[event_id] = number
            events = [
                StreamEvent(id, self._book[number].decision, number=number)
                for id, number in waiting.items()
            ]
            self._sessions.restore_session(saved, events, saved.newest_then or len(sessions))
            for id, number in waiting.items():
                self._book.mark_queued(number, saved.id, id)
            for number in self._book.numbers_in(DECIDED, saved.id):
                if number not in waiting.values():
                    self.send_decision(number)

    def send_decision(self, number: int) -> None:
        """Send a decision to the session that asked; if it has ended, to the CLI that came back."""
        entry = self._book[number]
        session = self._sessions.find_session(entry.session_id)
        if session is not None:
            self._queue_decision(number, session)
        self.pass_on()
        if session is None or session.stream is None:
            self._tell_away(number)
        self._on_change()

    def confirm_delivery(self, number: int) -> None:
        """The whole decision was sent, or is not to be sent any more."""
        if number not in self._book:
            return
        entry = self._book[number]
        if self._book.mark_told(number):
            self._messages.show_message(CROWDED)
        if number in self._book:
            self._on_told(number)
        self.note_settled(entry.path)
        self.follow_book()

    def follow_book(self) -> None:
        """The book has changed: what the user was told of its decisions may be untrue by now."""
        self._away.withdraw_untrue()
        self._on_change()

    def hand_out(self, session: Session, path: str) -> str | None:
        """The accepted text for a CLI that asks because it was not told. None if it was told, is
        being told at this moment, or would only be told of a rejection."""
        decided = self._book.numbers_in(DECIDED, session.id, path)
        under_way = [number for number in decided if session.is_told_of(number)]
        waiting = [number for number in decided if number not in under_way]
        if not waiting:
            return None
        session.forget_decisions(path, but=under_way)
        text = self._book[waiting[-1]].text
        for number in waiting:
            self.confirm_delivery(number)
        return text

    def supersede_decisions(self, session: Session, path: str) -> None:
        """The session proposes something else for the path. An older decision that it was never
        told would count for the new proposal, so it is dropped. Decisions that other sessions asked
        for wait until this proposal is settled."""
        for each in self._sessions:
            for decision, number in each.recall_decisions(path):
                # If another session was told of it, it is forgotten already.
                if number in self._book:
                    self._book.mark_queued(number, decision.session_id, 0)
        session.forget_decisions(path)
        for number in self._book.numbers_in(DECIDED, session.id, path):
            self.confirm_delivery(number)
        for number in self._book.numbers_in(TOLD, session.id, path):
            self._book.mark_queued(number, session.id, 0)

    def session_ended(self, session: Session) -> None:
        """The session's decisions wait until its CLI comes back as another session."""
        for number, entry in self._book:
            if entry.session_id == session.id:
                self._book.leave_session(number, session.newest_then)
        decided = self._book.numbers_in(DECIDED, session.id)
        self.pass_on()
        for number in decided:
            self._tell_away(number)

    def note_settled(self, path: str) -> None:
        """A proposal was settled, and other decisions on its path may have waited for that. Until
        its CLI knows the outcome, it would take such a decision for its own."""
        self._settled.add_path(path)

    def is_settling(self, path: str) -> bool:
        """Whether a proposal for the path was settled so recently that its CLI may not know yet."""
        return path in self._settled

    def pass_on(self) -> None:
        """Call this when a stream has begun, because its CLI may be the one that some decisions
        wait for; and from time to time."""
        if self._is_stopped:
            return
        for number in self._book.numbers_in(DECIDED):
            if number in self._book:
                self._pass_on(number)

    def _queue_decision(self, number: int, session: Session) -> None:
        event_id = session.send_notification(self._book[number].decision, number=number)
        self._book.mark_queued(number, session.id, event_id)

    def _pass_on(self, number: int) -> None:
        """If the CLI of a decision is gone, the newest later session of that kind of CLI gets it; a
        rejection goes to all such sessions. Without one the decision waits; so does that of a
        client with a name, until it begins again under the same one.

        A CLI knows a proposal only by its path, in any of its sessions, and may come back to
        another window after folders have changed. It would take a decision on another proposal for
        its own. So nothing is passed on while a proposal for the path is open anywhere, or while
        different decisions wait for the path.
        """
        entry = self._book[number]
        session = self._sessions.find_session(entry.session_id)
        if session is not None and session.is_named and not entry.event_id:
            self._queue_decision(number, session)
        if session is not None or is_asker(entry.session_id):
            return
        if not by_id(entry.cli).keeps_edits:
            # Nobody waits for it any more. The text is listed as unwritten unless it is on disk.
            self.confirm_delivery(number)
            return
        waiting = [self._book[number] for number in self._book.numbers_in(DECIDED, path=entry.path)]
        owners = {entry.session_id for entry in waiting}
        is_sure = len(owners) == 1 or all(entry.text is None for entry in waiting)
        # After folders have changed, another book may still have the same proposal.
        elsewhere = self._asking(entry.path) - {entry.session_id}
        is_open = self._book.numbers_in(OPEN, path=entry.path) or elsewhere
        if is_open or not is_sure or self.is_settling(entry.path):
            return
        back = [
            session
            for session in self._sessions
            if session.stream is not None
            and not session.is_named
            and session.cli.keeps_edits
            and session.ordinal > entry.after_session
            and entry.cli in ("", session.cli.id)
        ]
        for session in back if entry.text is None else back[-1:]:
            self._queue_decision(number, session)
            self._on_change()

    def _tell_away(self, number: int) -> None:
        """Unless another session has taken it meanwhile. A closing window has none."""
        if number not in self._book or self._book[number].state != DECIDED:
            return
        session = self._sessions.find_session(self._book[number].session_id)
        if not self._is_stopped and (session is None or session.stream is None):
            self._away.tell(number)
