"""Which CLI is told of a decision, once; knows no socket and no editor."""

from __future__ import annotations

import asyncio
import time
from typing import Callable, Container, Iterable, Mapping

from .decisions import DECIDED, OPEN, TOLD, Book, Decision, Entry
from .saved_state import SavedSession
from .sessions import Event, Session, Sessions

# Seconds that a CLI has to write the file before the text counts as unwritten; forth or back, for
# somebody may set the clock meanwhile.
PATIENCE = 5.0
# Seconds after which a CLI knows what became of its proposal.
SETTLED = 2.0
LIST = '"Gemini Companion: Show Unwritten Edits"'
AWAY = "Gemini CLI is away; your decision waits until it is back."
AWAY_WITH_TEXT = f"{AWAY} See {LIST}."
CROWDED = f"{LIST} is full; its oldest text was removed."


class Delivery:
    """From the book to the sessions of one window.

    `on_told` is given the number of each text of which a CLI was told; `on_change` is called where
    the book has changed; `asking` gives the sessions with an open proposal for a path in any book.
    """

    def __init__(
        self,
        book: Book,
        sessions: Sessions,
        tell: Callable[[str], None],
        on_told: Callable[[int], None],
        on_change: Callable[[], None],
        asking: Callable[[str], set[str]] = lambda path: set(),
    ) -> None:
        self._book = book
        self._sessions = sessions
        self._asking = asking
        self._tell = tell
        self._on_told = on_told
        self._on_change = on_change
        # The moment at which something was settled last, by path; and one timer, however many
        # there are.
        self._settled: dict[str, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._is_stopped = False
        self._sessions_at_end: tuple[Session, ...] = ()

    def stop(self) -> None:
        """The window closes: what its own sessions do not take goes to nobody from here."""
        self._is_stopped = True
        self._sessions_at_end = tuple(self._sessions)

    def hand_on(self) -> None:
        """The next companion takes over the sessions of the end, whose streams have ended in order:
        what their clients may not have read goes into the queue of the session again, there. One
        that has it says so where it resumes. Most likely it has: so a text is told to no other
        session."""
        for session in self._sessions_at_end:
            for event in session.unconfirmed():
                if event.number in self._book:
                    self._book.queue(event.number, session.id, event.id)
                else:
                    self.unread(session, [event])

    def unread(self, session: Session, events: Iterable[Event]) -> None:
        """The session's stream broke off, perhaps before its client had read these."""
        for event in events:
            if isinstance(event.value, Decision):
                where = (session.id, event.id, session.cli.id)
                self._book.take_back(event.number, event.value, *where)
                if event.value.text and event.number in self._book:
                    self._tell_away(event.number)
        self._on_change()

    def restore(self, sessions: Iterable[SavedSession], event_ids: Mapping[int, int]) -> None:
        """Take up the sessions of before. `event_ids` are those under which the decisions, by their
        numbers, waited there; one without a good id is told as a new event."""
        for saved in sessions:
            waiting: dict[int, int] = {}
            for number in self._book.of(DECIDED, saved.id) + self._book.of(TOLD, saved.id):
                event_id = event_ids.get(number, 0)
                if 0 < event_id <= saved.last_id and event_id not in waiting:
                    waiting[event_id] = number
            events = [
                Event(id, self._book[number].decision, number=number)
                for id, number in waiting.items()
            ]
            self._sessions.restore(saved, events)
            for id, number in waiting.items():
                self._book.queue(number, saved.id, id)
            for number in self._book.of(DECIDED, saved.id):
                if number not in waiting.values():
                    self.send(number)

    def send(self, number: int) -> None:
        """Tell the session that asked of a decision; where it is gone, the CLI that came back."""
        entry = self._book[number]
        session = self._sessions.find(entry.session_id)
        if session is not None:
            self._queue(number, session)
        self.pass_on()
        if session is None or session.stream is None:
            self._tell_away(number)
        self._on_change()

    def told(self, number: int) -> None:
        """The decision went out whole, or is not to be told any more."""
        if number not in self._book:
            return
        entry = self._book[number]
        if self._book.tell(number):
            self._tell(CROWDED)
        if number in self._book:
            self._on_told(number)
        self.settled(entry.path)
        self._on_change()

    def hand_out(self, session: Session, path: str) -> str | None:
        """The accepted text for a CLI that asks because it was not told; None where it was told, is
        told at this moment, or has nothing to be told but a rejection."""
        decided = self._book.of(DECIDED, session.id, path)
        under_way = [number for number in decided if session.is_told_of(number)]
        waiting = [number for number in decided if number not in under_way]
        if not waiting:
            return None
        session.forget(path, but=under_way)
        text = self._book[waiting[-1]].text
        for number in waiting:
            self.told(number)
        return text

    def supersede(self, session: Session, path: str) -> None:
        """The session proposes something else for the path: what was decided before and never told
        would decide on that. What another session asked for waits until this is settled."""
        for each in self._sessions:
            for decision, number in each.recall(path):
                # Another session may have been told of it: then it is done.
                if number in self._book:
                    self._book.queue(number, decision.session_id, 0)
        session.forget(path)
        for number in self._book.of(DECIDED, session.id, path):
            self.told(number)
        for number in self._book.of(TOLD, session.id, path):
            self._book.queue(number, session.id, 0)

    def session_ended(self, session: Session) -> None:
        """Its decisions wait for the CLI to come back as another session."""
        for number, entry in self._book:
            if entry.session_id == session.id:
                self._book.leave_session(number, session.newest_then)
        decided = self._book.of(DECIDED, session.id)
        self.pass_on()
        for number in decided:
            self._tell_away(number)

    def settled(self, path: str) -> None:
        """A proposal was, and a decision on its path may have waited for that; until its CLI knows,
        it would take that one for it."""
        loop = asyncio.get_running_loop()
        self._settled[path] = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(SETTLED, self._pass_on_settled)

    def is_settling(self, path: str) -> bool:
        """Whether a proposal for the path was settled so shortly before that its CLI may not know
        yet."""
        earliest = asyncio.get_running_loop().time() - SETTLED
        return self._settled.get(path, earliest) > earliest

    def _pass_on_settled(self) -> None:
        self._timer = None
        self.pass_on()
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._settled = {it: at for it, at in self._settled.items() if now - at < SETTLED}
        if self._settled:
            rest = max(self._settled.values()) + SETTLED - now
            self._timer = loop.call_later(rest, self._pass_on_settled)

    def pass_on(self) -> None:
        """To be called when a stream has begun, for its CLI may be the one that some of the
        decisions wait for; and now and then."""
        if self._is_stopped:
            return
        for number in self._book.of(DECIDED):
            if number in self._book and self._sessions.find(self._book[number].session_id) is None:
                self._pass_on(number)

    def withdraw(self, path: str, text: str) -> bool:
        """Turn an accepted text of which no CLI was told, or may not have heard, into a rejection;
        forget one that its CLI did not write. False where there is neither."""
        unwritten = [
            number
            for number, entry in self._book
            if (entry.path, entry.text) == (path, text) and self._is_unwritten(number)
        ]
        for number in unwritten:
            entry = self._book[number]
            if entry.state == TOLD and not entry.event_id:
                self._book.forget(number)
                continue
            self._book.decide(number, None)
            session = self._sessions.find(self._book[number].session_id)
            if session is not None:
                session.replace(number, self._book[number].decision)
        if unwritten:
            self._on_change()
        return bool(unwritten)

    def unwritten(self, told: Container[int] | None = None) -> tuple[tuple[str, str], ...]:
        """Path and text of each accepted proposal that no CLI could be told of yet, or that none
        has written; where `told` is given, of those of which a CLI was told only these."""
        found = [(number, entry) for number, entry in self._book if self._is_unwritten(number)]
        if told is not None:
            found = [it for it in found if it[1].state != TOLD or it[0] in told]
        return tuple(dict.fromkeys((entry.path, entry.text) for _, entry in found if entry.text))

    def _is_unwritten(self, number: int) -> bool:
        entry = self._book[number]
        is_due = abs(time.time() - entry.decided_at) > PATIENCE
        if entry.state == TOLD:
            return is_due and not entry.comes_back
        if entry.state == OPEN or not entry.text:
            return False
        session = self._sessions.find(entry.session_id)
        if session is None or session.stream is None:
            return True
        return is_due and not session.is_told_of(number)

    def _queue(self, number: int, session: Session) -> None:
        event_id = session.send(self._book[number].decision, number=number)
        self._book.queue(number, session.id, event_id)

    def _pass_on(self, number: int) -> None:
        """A decision whose CLI is gone goes to the newest session of a CLI of that kind that came
        after, a rejection to all of them; or it waits for one.

        A CLI knows a proposal by its path alone, whatever its session, and comes back to another
        window where folders have changed. So nothing is passed on as long as a proposal for the
        path is open anywhere, nor where the decisions that wait for the path are not all the same:
        it would be taken for the decision on another one.
        """
        entry = self._book[number]
        waiting = [self._book[it] for it in self._book.of(DECIDED, path=entry.path)]
        owners = {it.session_id for it in waiting}
        is_sure = len(owners) == 1 or all(it.text is None for it in waiting)
        # Where folders have changed, another book may have the same proposal still.
        elsewhere = self._asking(entry.path) - {entry.session_id}
        is_open = self._book.of(OPEN, path=entry.path) or elsewhere
        if is_open or not is_sure or self.is_settling(entry.path):
            return
        back = [
            session
            for session in self._sessions
            if session.stream is not None
            and session.ordinal > entry.after_session
            and entry.cli in ("", session.cli.id)
        ]
        for session in back if entry.text is None else back[-1:]:
            self._queue(number, session)
            self._on_change()

    def _tell_away(self, number: int) -> None:
        """Unless it found another session meanwhile. Where the window closes nobody is there."""
        entry: Entry = self._book[number]
        session = self._sessions.find(entry.session_id)
        if not self._is_stopped and (session is None or session.stream is None):
            self._tell(AWAY_WITH_TEXT if entry.text else AWAY)
