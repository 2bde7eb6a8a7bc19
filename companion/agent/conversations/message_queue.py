"""The messages of a conversation that wait for their turn, in the order in which they will be sent.
They are kept in its transcript, so that they are there again after a restart."""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import datetime, timezone
from typing import Callable, Sequence

from .. import failure
from ..failure import VALIDATION_ERROR, AgentError
from ..sentence import Words, sentence
from ..turn_events import (
    MAX_CHARACTERS,
    MAX_MESSAGES,
    Addition,
    Attachment,
    Body,
    Queue,
    QueuedMessage,
)
from .conversation_record import ConversationRecord

TOO_MANY = sentence(
    "The messages that wait are too many or too long; at most {count} with {characters}"
    " characters in all."
)


class MessageQueue:
    """`is_held` says that nothing is sent by itself: a turn failed or was cancelled, or the server
    was restarted. `urgent` is the id of the one for which the turn is being cancelled: then the
    first one goes as soon as that is over. `sending` is the id of the one that is on its way,
    `passing` of the one that the agent gets within the turn, as soon as it asks; both have the id
    of one that the agent is being given. `not_taken` is the id of one that the agent did not take
    in this turn. `problem` says why one could not be sent. `on_change` gets the queue after each
    change."""

    def __init__(self, record: ConversationRecord, on_change: Callable[[Body], None]) -> None:
        self._record = record
        self._on_change = on_change
        self.is_held = bool(self.messages)
        self.sending = self.passing = self.urgent = self.not_taken = ""
        # The ids of those that go as soon as it is decided about the one that is being given.
        self._following: set[str] = set()
        self.problem: Words = ""

    @property
    def messages(self) -> tuple[QueuedMessage, ...]:
        return self._record.state.queue

    @property
    def body(self) -> Queue:
        return Queue(self.messages, self.is_held, self.problem, self.passing)

    @property
    def is_urgent(self) -> bool:
        return any(each.id == self.urgent for each in self.messages)

    @property
    def is_giving(self) -> bool:
        """Whether the agent is being given one within the turn, and has not answered."""
        return bool(self.sending) and self.sending == self.passing

    def get_message(self, id: str) -> QueuedMessage:
        """Raises AgentError."""
        found = next((each for each in self.messages if each.id == id), None)
        if found is None:
            raise failure.no_queued(id)
        return found

    def add_message(
        self,
        text: str,
        given: Sequence[str],
        files: Sequence[str],
        attachments: Sequence[Attachment],
        additions: tuple[Addition, ...] = (),
    ) -> QueuedMessage:
        """Add a message at the end. `given`, `files` and `additions` are as in QueuedMessage.
        Raises AgentError."""
        now, id = datetime.now(timezone.utc), secrets.token_hex(8)
        added = QueuedMessage(
            id, text, now, tuple(given), tuple(files), tuple(attachments), additions
        )
        self._set_messages((*self.messages, added))
        return added

    def change_message(self, id: str, text: str, files: Sequence[str]) -> None:
        """Another text, with which these files go. Raises AgentError."""
        self._waiting_message(id)
        changed = (
            replace(each, text=text, files=tuple(files), additions=()) if each.id == id else each
            for each in self.messages
        )
        self._set_messages(tuple(changed))

    def move_message(self, id: str, position: int) -> None:
        """Move a message to this place, 0 for the next one. Raises AgentError."""
        moved = self._waiting_message(id)
        others = [each for each in self.messages if each.id != id]
        others.insert(position, moved)
        # What is on its way stays the first one.
        self._set_messages(tuple(sorted(others, key=lambda message: message.id != self.sending)))

    def remove_message(self, id: str) -> None:
        """Take one back. Raises AgentError."""
        self._waiting_message(id)
        self.passing = "" if self.passing == id else self.passing
        self._set_messages(tuple(each for each in self.messages if each.id != id))

    def pass_in(self, id: str) -> None:
        """The agent gets it when it asks for messages."""
        self.passing = id
        self._following.discard(id)
        self._on_change(self.body)

    def start_passing(self, id: str) -> None:
        """The agent is being given it within the turn; until that is decided, it stays as it
        is."""
        self.sending = id
        self.pass_in(id)

    def stop_passing(self, id: str) -> None:
        """The agent does not take it within the turn; it waits as before."""
        self._forget_way(id)
        self.not_taken = id
        self._on_change(self.body)

    def follow_given(self, id: str) -> None:
        """It goes as soon as it is decided about the one that the agent is being given."""
        self._following.add(id)

    def take_following(self) -> str:
        """The id of the first one that was to follow; empty if there is none."""
        found = next((each.id for each in self.messages if each.id in self._following), "")
        self._following.discard(found)
        return found

    def start_sending(self) -> QueuedMessage:
        """The first one is on its way."""
        self._forget_all()
        self.sending = self.messages[0].id
        self.release()
        return self.messages[0]

    def remove_sent(self, id: str) -> None:
        """It is a message of the conversation now, whose line in the transcript comes before."""
        self._forget_way(id)
        self.is_held = False
        self._set_messages(tuple(each for each in self.messages if each.id != id))

    def hold_back(self, problem: Words = "") -> None:
        """Nothing is sent by itself until a turn has ended well, or somebody sends one."""
        self._forget_all()
        if self.messages and (not self.is_held or problem != self.problem):
            self.is_held, self.problem = True, problem
            self._on_change(self.body)

    def release(self) -> None:
        """Something is being said: what waits comes after it."""
        if self.is_held:
            self.is_held, self.problem = False, ""
            self._on_change(self.body)

    def _forget_way(self, id: str) -> None:
        """This one is not on its way any more; another one may be."""
        self.sending = "" if self.sending == id else self.sending
        self.passing = "" if self.passing == id else self.passing

    def _forget_all(self) -> None:
        """None is on its way, or was to be."""
        self.sending = self.passing = self.urgent = self.not_taken = ""
        self._following.clear()

    def _waiting_message(self, id: str) -> QueuedMessage:
        """One that is not on its way. Raises AgentError."""
        if id == self.sending:
            raise AgentError(failure.SESSION_BUSY, sentence("The message is being sent."))
        return self.get_message(id)

    def _set_messages(self, messages: tuple[QueuedMessage, ...]) -> None:
        """Raises AgentError."""
        size, before = (
            sum(len(message.text) for message in each) for each in (messages, self.messages)
        )
        is_more = len(messages) > len(self.messages) or size > before
        if is_more and (len(messages) > MAX_MESSAGES or size > MAX_CHARACTERS):
            told = TOO_MANY.with_values(count=MAX_MESSAGES, characters=MAX_CHARACTERS)
            raise AgentError(VALIDATION_ERROR, told)
        if messages:
            # They outlive an agent that never starts.
            self._record.begin_file()
        self._record.change_state(replace(self._record.state, queue=messages))
        self.is_held, self.problem = self.is_held and bool(messages), ""
        self._on_change(self.body)
