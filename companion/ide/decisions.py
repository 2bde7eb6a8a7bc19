"""The book of decisions: what CLIs proposed in one window, what the user decided, and which CLI has
been told.

The companion's loop owns the book. It knows no editor, no stream and no disk.
"""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from typing import Any, Iterable, Iterator, NamedTuple

from ..base.text_digest import text_digest
from .clis import GEMINI_CLI, Cli, by_id

# OPEN: the proposal waits for the user. DECIDED: the user has decided, and no CLI has been told.
# TOLD: the CLI has been told of an accepted text that is not on disk yet. Once the text is on disk,
# or if there is none to write, nothing is left to do and the book forgets the proposal.
OPEN, DECIDED, TOLD = "open", "decided", "told"
STATES = (OPEN, DECIDED, TOLD)
# Texts that a CLI was told and that are not on disk; beyond this number the oldest are dropped.
MAX_TOLD = 32


class UnwrittenText(NamedTuple):
    """An accepted text that is not in its file. It `is_missing` if nobody can have written it; else
    the file has changed, and most likely had it."""

    path: str
    text: str
    is_missing: bool


@dataclass(frozen=True)
class Decision:
    """The user's decision on a proposal, as its CLI is told. `text` is the accepted text with `\\n`
    line ends, None for a rejection. `at` is in seconds since the epoch. `sent_path` is as in
    Entry."""

    path: str
    text: str | None
    session_id: str
    at: float
    sent_path: str = ""

    def notification(self, cli: Cli = GEMINI_CLI) -> tuple[str, dict[str, Any]]:
        """Method and params of the JSON-RPC notification for that CLI."""
        path = self.sent_path or self.path
        if self.text is None:
            return cli.rejected, {"filePath": path}
        return "ide/diffAccepted", {"filePath": path, "content": self.text}


class Entry(NamedTuple):
    """A proposal in the book, as it is now and as it is saved.

    `session_id` is the session that proposed it, or the one that is told instead; `client` names
    its CLI and `cli` is the id of that kind of CLI, empty if it is not known. `path` is the
    editor's path; `sent_path` is what the CLI sent, empty if that is the same (docs/protocol.md
    1.2). `proposed` is the digest of the proposed text. `text` is the text as the user last had it,
    None if the companion does not have all of it; for a decision it is the accepted text, None for
    a rejection. `opened_at` and `decided_at` are in seconds since the epoch.

    `event_id` is the id of a decision in the queue of its session, 0 if it is in none; a TOLD text
    has one while it is uncertain whether its CLI has read it. Only sessions with an ordinal above
    `after_session` may be the same CLI, returned. A TOLD text with `comes_back` is given to the
    user unless it is on disk soon, because it may be lost otherwise. `before` is the digest of the
    file's bytes when the user accepted, empty if there was no file, None if it is not known.
    `hours` counts for how long the file has been neither that nor the text.
    """

    session_id: str
    path: str
    state: str
    opened_at: float
    client: str = ""
    proposed: str = ""
    text: str | None = None
    decided_at: float = 0.0
    event_id: int = 0
    after_session: int = 0
    comes_back: bool = False
    cli: str = ""
    sent_path: str = ""
    before: str | None = None
    hours: int = 0

    @property
    def is_edited(self) -> bool:
        """Whether the user has changed the text."""
        return self.text is not None and text_digest(self.text) != self.proposed

    @property
    def decision(self) -> Decision:
        return Decision(self.path, self.text, self.session_id, self.decided_at, self.sent_path)


class Book:
    """The proposals of one window by number, in the order in which they came.

    A number is never used twice. One session can have two entries for one path: an older text that
    it was told and that nobody wrote, and a newer proposal. This class alone stores entries: each
    step in the life of one is a method of it.
    """

    def __init__(self) -> None:
        self._entries: dict[int, Entry] = {}
        # The same entries by path, because nearly every question is about one path.
        self._of_path: dict[str, dict[int, Entry]] = {}
        # The same entries by the path that their CLI sent.
        self._of_sent_path: dict[str, dict[int, Entry]] = {}
        self._numbers = itertools.count(1)

    def __contains__(self, number: object) -> bool:
        return number in self._entries

    def __getitem__(self, number: int) -> Entry:
        """Raises KeyError for a forgotten entry."""
        return self._entries[number]

    def __iter__(self) -> Iterator[tuple[int, Entry]]:
        return iter(list(self._entries.items()))

    def entries(self) -> tuple[Entry, ...]:
        """The entries that are saved; `adopt_entries` takes them."""
        return tuple(self._entries.values())

    def adopt_entries(self, entries: Iterable[Entry]) -> list[int]:
        """Take in the entries of another book, without a session; gives their numbers."""
        return [self._put_entry(entry._replace(event_id=0)) for entry in entries]

    def _put_entry(self, entry: Entry, number: int = 0) -> int:
        """Store the entry under that number, in place of one for the same path, or under a new
        number; gives the number."""
        number = number or next(self._numbers)
        self._entries[number] = entry
        self._of_path.setdefault(entry.path, {})[number] = entry
        self._of_sent_path.setdefault(entry.sent_path or entry.path, {})[number] = entry
        return number

    def path_waiting_as(self, sent_path: str) -> str:
        """The editor's path of the entry that waits under a path as a CLI sent it; empty if there
        is none."""
        for entry in self._of_sent_path.get(sent_path, {}).values():
            if entry.state != TOLD:
                return entry.path
        return ""

    def numbers_in(
        self, state: str, session_id: str | None = None, path: str | None = None
    ) -> list[int]:
        """The numbers of the entries in that state; of one session and one path if given."""
        entries = self._entries if path is None else self._of_path.get(path)
        if not entries:
            return []
        found = []
        for number, entry in entries.items():
            if entry.state == state and (session_id is None or entry.session_id == session_id):
                found.append(number)
        return found

    def is_open(self, number: int) -> bool:
        return number in self._entries and self._entries[number].state == OPEN

    def open(
        self,
        session_id: str,
        path: str,
        text: str | None,
        client: str = "",
        cli: str = "",
        sent_path: str = "",
    ) -> int:
        """Add a proposal that waits for the user now. `text` is None if it is not kept."""
        proposed = "" if text is None else text_digest(text)
        sent_path = "" if sent_path == path else sent_path
        now = time.time()
        return self._put_entry(
            Entry(session_id, path, OPEN, now, client, proposed, text, cli=cli, sent_path=sent_path)
        )

    def content_of(self, number: int) -> str:
        """What a CLI is given that writes nothing else, of an open proposal that is accepted as it
        came; empty for one that writes its own, and if it is not known."""
        entry = self._entries[number]
        return entry.text or "" if by_id(entry.cli).has_empty_text else ""

    def edit(self, number: int, text: str) -> bool:
        """The user changed an open proposal; gives whether the text is a new one."""
        if self._entries[number].text == text:
            return False
        self._put_entry(self._entries[number]._replace(text=text), number)
        return True

    def decide(self, number: int, text: str | None, before: str | None = None) -> None:
        """The user accepted this text, or rejected (None). Also turns an acceptance that nobody was
        told into a rejection."""
        entry = self._entries[number]._replace(state=DECIDED, text=text, decided_at=time.time())
        self._put_entry(entry._replace(before=before, hours=0), number)

    def mark_queued(self, number: int, session_id: str, event_id: int) -> None:
        """The decision is in the queue of that session from now on."""
        entry = self._entries[number]
        self._put_entry(entry._replace(session_id=session_id, event_id=event_id), number)

    def leave_session(self, number: int, after_session: int) -> None:
        """The entry's session has ended."""
        entry = self._entries[number]
        self._put_entry(entry._replace(event_id=0, after_session=after_session), number)

    def mark_told(self, number: int) -> list[Entry]:
        """The CLI has been told, or is not to be told any more. Gives the older texts that were
        dropped to make room. A rejection, or a text that is the CLI's own, is done with that."""
        entry = self._entries[number]
        if not entry.text:
            self.forget(number)
            return []
        for same in self.numbers_in(TOLD, path=entry.path):
            if self._entries[same].text == entry.text:
                self.forget(same)
        self._put_entry(entry._replace(state=TOLD, event_id=0), number)
        told = [each for each in self.numbers_in(TOLD) if not self._entries[each].comes_back]
        # Texts that nobody has written are dropped last.
        told.sort(key=lambda each: self._entries[each].before is None)
        oldest = told[: max(len(told) - MAX_TOLD, 0)]
        gone = [self._entries[each] for each in oldest]
        for each in oldest:
            self.forget(each)
        return gone

    def take_back(
        self, number: int, decision: Decision, session_id: str, event_id: int, cli: str = ""
    ) -> None:
        """It is uncertain whether the session has read the decision: it waits again, with that
        event id. `cli` is the id of the session's CLI."""
        entry = self._entries.get(number)
        if entry is None and not decision.text:
            # `mark_told` has removed these entries; they wait only to be heard.
            entry = Entry(
                session_id,
                decision.path,
                TOLD,
                decision.at,
                text=decision.text,
                decided_at=decision.at,
                cli=cli,
                sent_path=decision.sent_path,
            )
        if entry is not None and entry.state == TOLD:
            again = entry._replace(state=DECIDED, session_id=session_id, event_id=event_id)
            self._put_entry(again, number)

    def grow_older(self, number: int) -> int:
        """Count one more hour in which the file has been something else; gives the number of such
        hours."""
        entry = self._entries[number]
        self._put_entry(entry._replace(hours=entry.hours + 1), number)
        return entry.hours + 1

    def keep_unwritten(self, number: int) -> None:
        """Nobody has written the text, so a later change of the file no longer counts as that."""
        self._put_entry(self._entries[number]._replace(before=None, hours=0), number)

    def hand_over(self, number: int, text: str) -> None:
        """An open proposal was closed for its CLI, which was given the user's text. The text comes
        back unless the CLI writes it."""
        entry = self._entries[number]
        now = time.time()
        self._put_entry(
            entry._replace(state=TOLD, text=text, decided_at=now, comes_back=True), number
        )

    def copy_edited(self, number: int) -> int | None:
        """An open proposal is about to be decided elsewhere. Keep what the user typed into it, as a
        text that comes back. Gives the number of that entry; None if nothing was typed."""
        entry = self._entries[number]
        if not entry.text or not entry.is_edited:
            return None
        copy = self._put_entry(entry)
        self.hand_over(copy, entry.text)
        return copy

    def reject_open(self) -> list[int]:
        """The window is gone: reject all that waits for the user; gives the numbers. What the user
        typed comes back."""
        numbers = self.numbers_in(OPEN)
        for number in numbers:
            self.copy_edited(number)
            self.decide(number, None)
        return numbers

    def forget(self, number: int) -> None:
        entry = self._entries.pop(number, None)
        if entry is None:
            return
        for index, path in (
            (self._of_path, entry.path),
            (self._of_sent_path, entry.sent_path or entry.path),
        ):
            of_path = index[path]
            del of_path[number]
            if not of_path:
                del index[path]
