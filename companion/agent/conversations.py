"""All conversations of the agent, in the order of their last use; talks with nobody itself."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from typing import Iterator

from . import events, failure
from .conversation import Conversation
from .failure import AgentError
from .turn import Turn

# Conversations that are remembered; the agent holds about three megabytes for each.
MAX_CONVERSATIONS = 100


class Conversations:
    """`recordings` is the folder where the CLI keeps its own."""

    def __init__(self, recordings: str) -> None:
        self._recordings = recordings
        # The last used one is the last.
        self._by_id: dict[str, Conversation] = {}

    def __iter__(self) -> Iterator[Conversation]:
        return iter(list(self._by_id.values()))

    @property
    def turns(self) -> list[Turn]:
        """The running or last turn of each."""
        return [it.turn for it in self._by_id.values() if it.turn is not None]

    def refuse_if_busy(self) -> None:
        """Raises AgentError, code SESSION_BUSY, while a message is being answered."""
        if any(each.is_busy for each in self):
            raise AgentError(failure.SESSION_BUSY, "A message is being answered; cancel it first.")

    def cancel(self, session_id: str | None = None) -> int:
        """End the turn of one, or all turns; how many there were. Raises AgentError, code
        SESSION_NOT_FOUND."""
        wanted = list(self) if session_id is None else [self.known(session_id)]
        busy = [each for each in wanted if each.is_busy]
        for conversation in busy:
            conversation.cancel()
        return len(busy)

    def is_idle(self, time: timedelta) -> bool:
        """Whether there are some, and nobody has talked in any of them for so long."""
        if any(not turn.is_over for turn in self.turns):
            return False
        newest = max((each.last_used for each in self), default=None)
        return newest is not None and datetime.now(timezone.utc) - newest >= time

    def known(self, session_id: str) -> Conversation:
        """Raises AgentError, code SESSION_NOT_FOUND."""
        try:
            return self._by_id[session_id]
        except KeyError:
            raise AgentError(
                failure.SESSION_NOT_FOUND, f"There is no conversation {session_id}."
            ) from None

    def find(self, workspace: str, session_id: str | None, new: bool) -> Conversation:
        """The one by its id; without an id the last used one of the workspace that nobody has
        asked for by its id, for such a one is somebody's own; where there is none or `new` says so,
        one that is not remembered yet. Raises AgentError."""
        if session_id is not None and not new:
            known = self.known(session_id)
            known.is_owned = True
            return known
        if not os.path.isabs(workspace) or not os.path.isdir(workspace):
            raise AgentError(
                failure.VALIDATION_ERROR,
                f"Expected the absolute path of a folder as workspace; got {workspace!r}.",
            )
        real = os.path.realpath(workspace)
        open_to_all = [each for each in self if each.workspace == real and not each.is_owned]
        if open_to_all and not new:
            return open_to_all[-1]
        return Conversation(real, self._recordings)

    def remember(self, conversation: Conversation) -> None:
        """As the one that was used last."""
        self._by_id.pop(conversation.id, None)
        self._by_id[conversation.id] = conversation
        for each in list(self)[:-MAX_CONVERSATIONS]:
            if not each.is_busy:
                del self._by_id[each.id]

    def restore(self, conversation: Conversation) -> None:
        """Remember one again that was forgotten meanwhile, because another attempt to open its
        session failed."""
        self._by_id.setdefault(conversation.id, conversation)

    def forget(self, conversation: Conversation) -> None:
        self._by_id.pop(conversation.id, None)

    def running(self, session: str) -> Turn | None:
        """The turn that runs in the agent's session of this id."""
        for conversation in self:
            turn = conversation.turn
            if conversation.session == session and turn is not None and not turn.is_over:
                return turn
        return None

    def asking(self, call_id: str, session_id: str | None) -> Turn:
        """The turn of which the call waits for a decision, in the conversation `session_id` or in
        any. Raises AgentError, code TOOL_CALL_NOT_FOUND."""
        asking = [
            turn
            for turn in self.turns
            if session_id in (None, turn.session_id)
            and any(_call_id(event) == call_id for event in turn.confirmations)
        ]
        if len(asking) != 1:
            raise failure.no_call(call_id)
        return asking[0]


def _call_id(event: events.Event) -> str:
    return event.body.call_id if isinstance(event.body, events.ToolConfirmation) else ""
