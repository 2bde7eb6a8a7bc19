"""What is known of a conversation beside what was said, and what its file has of that."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Callable, Sequence

from .. import turn_events as events
from ..failure import AgentError
from ..turn_events import PastTurn
from .conversation_state import ConversationState
from .transcript_reader import FIRST, ConversationSummary, title_of
from .transcripts import TranscriptFile, on_disk


class ConversationRecord:
    """`has_begun` says that the conversation has had a session, or a message that waited for one;
    from then on it is on disk, with its agent. `turns` counts the turns that began; `usage` is the
    sum of those before the last one. `on_change` is called when something of it has changed."""

    def __init__(
        self,
        transcript: TranscriptFile,
        summary: ConversationSummary,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self.id, self.workspace = summary.id, summary.workspace
        self.transcript = transcript
        self.has_begun = bool(summary.state.agent or summary.state.session) or summary.turns > 0
        self.created, self.last_used = summary.created, summary.last_used
        self.title, self.turns, self.usage = summary.title, summary.turns, summary.usage
        self.state = self._written = summary.state
        self._unfinished = summary.unfinished
        self._on_change = on_change

    @property
    def summary(self) -> ConversationSummary:
        """The summary as it is now."""
        return ConversationSummary(
            self.id,
            self.workspace,
            self.created,
            self.last_used,
            self.title,
            self.turns,
            self.usage,
            self.state,
            self._unfinished,
        )

    def begin_file(self) -> None:
        """Write the conversation down from now on."""
        if not self.has_begun:
            self.transcript.begin_file(self.workspace, self.created)
            self.has_begun = True

    async def write_to_disk(self) -> None:
        """Return when the disk has what was said and set so far, or refuses it."""
        with suppress(AgentError):
            await on_disk(self.transcript.write_now)

    def begin_turn(
        self, turn: str, message: events.Message, queued: str = "", after: datetime = FIRST
    ) -> None:
        """The user said something; `queued` is the id that it had in the queue. `after` is the last
        use of any conversation: this one comes after it, wherever the clock was set to."""
        self.turns += 1
        self.title = self.title or title_of(message.text)
        now = datetime.now(timezone.utc)
        self.last_used = now if now > after else after + timedelta(microseconds=1)
        self.transcript.add_message(turn, message, queued, now, self.last_used)
        self._on_change()

    def take_over(
        self, session: str, home: str, title: str, agent: str, turns: Sequence[PastTurn]
    ) -> None:
        """It goes on with a session that the agent with this id has held elsewhere, in that home of
        it, and with the turns of that, at least one."""
        self.begin_file()
        for turn in turns:
            self.transcript.add_past_turn(turn)
        self.turns = len(turns)
        self.title = title or title_of(turns[0].text)
        told = replace(self.state, session=session, home=home, agent=agent, agent_title=title)
        self.change_state(replace(told, is_owned=True, in_chat=True))

    def change_state(self, state: ConversationState) -> None:
        self.state = state
        changes = state.changes_since(self._written)
        if self.has_begun and changes:
            self._written = state
            self.transcript.add_change(**changes)
            self._on_change()

    def tell_changed(self, paths: Sequence[str]) -> None:
        """The user has changed files of the agent's, which is told with the next message."""
        known = dict.fromkeys([*self.state.undone, *paths])
        self.change_state(replace(self.state, undone=tuple(known)))

    def rename(self, title: str) -> None:
        self.title = title
        self.change_state(replace(self.state, title=title))

    def tell_title(self, title: str) -> None:
        """The agent has a title of its own, or none any more; the user's counts before it."""
        if not self.state.title:
            self.title = title or self.title
        self.change_state(replace(self.state, agent_title=title))

    def mark_owned(self, is_temporary: bool = False) -> None:
        """Somebody uses the conversation by its id from now on. A temporary one is deleted when the
        server ends."""
        if not self.state.is_owned:
            self.change_state(replace(self.state, is_owned=True, is_temporary=is_temporary))
