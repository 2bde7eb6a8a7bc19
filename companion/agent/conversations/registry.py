"""All conversations with their transcripts, in the order of their last use. Talks with nobody
itself."""

from __future__ import annotations

import asyncio
import os
import secrets
from contextlib import AsyncExitStack, suppress
from datetime import datetime, timezone
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Callable, Iterator, Mapping
from weakref import WeakValueDictionary

from ...base.background import in_thread
from ...base.signal import ValueSignal
from .. import failure
from ..agents.cli import AgentCli
from ..events.event_feed import EventFeed
from ..failure import AgentError
from ..sentence import sentence
from .conversation import Conversation, SessionInfo, info_of
from .forking import fork_transcript, read_summary
from .index import Index, agent_of
from .index_file import IndexFile
from .refusals import Refusals
from .transcript_reader import ID, ConversationSummary, TranscriptReader
from .transcripts import NO_FILE, Stat, Transcripts, on_disk
from .turns import Turns

# Conversations that stay in memory although nobody uses them at the moment.
MAX_AT_REST = 200
# Of a summary.
last_used: Callable[[ConversationSummary], datetime] = attrgetter("last_used")
# Seconds that the disk gets at the end.
WRITING = 5.0


class Conversations:
    """`transcripts` are those on disk, `clis` those that they may be held with by their ids, `feed`
    hears all events. `file` keeps the summaries for the next start, None if nothing does.
    `refusals` are what the disk does not take, `turns` the turns of all.

    Iterates over those that were used lately, the last used one last; the others are summaries in
    the `index`."""

    def __init__(
        self,
        transcripts: Transcripts,
        clis: Mapping[str, AgentCli],
        feed: EventFeed,
        file: IndexFile | None = None,
    ) -> None:
        self._transcripts = transcripts
        self._clis = clis
        self._feed = feed
        self.index = Index(transcripts, clis, file)
        # In use, the last used one last.
        self._used: dict[str, Conversation] = {}
        # Everything that somebody still holds, so that there are never two of one id.
        self._held: WeakValueDictionary[str, Conversation] = WeakValueDictionary()
        # A conversation is let go of.
        self.releases = ValueSignal[Conversation]()
        # A conversation was deleted, here or by another server: its id.
        self.removals = ValueSignal[str]()
        self.refusals, self.turns = Refusals(self), Turns(self)
        # The ids of those of a chat that were deleted: events of them may be told later.
        self.removed_chats: set[str] = set()

    async def load(self) -> None:
        """Find the conversations that are on disk. One that cannot be read is skipped and stays on
        disk; temporary ones are deleted. Must be called before everything else."""
        await self.index.load()

    def __iter__(self) -> Iterator[Conversation]:
        return iter(list(self._used.values()))

    def __contains__(self, id: object) -> bool:
        return id in self.index.summaries or id in self._used

    def known_summaries(self) -> Iterator[ConversationSummary]:
        """All that are known so far, in no order; temporary ones are left out."""
        # A conversation that does not have a session yet is not in the index.
        others = [
            conversation.record.summary
            for conversation in self
            if conversation.id not in self.index.summaries
        ]
        for each in chain(self.index.summaries.values(), others):
            if not each.state.is_temporary:
                yield each

    def session_info(self, summary: ConversationSummary) -> SessionInfo:
        used = self._held.get(summary.id)
        return info_of(summary, agent_of(summary)) if used is None else used.session_info

    def transcript_readers(self) -> Callable[[str], TranscriptReader]:
        """Gives the reader of each conversation, in another thread, too."""
        held = {
            conversation.id: conversation.record.transcript.reader
            for conversation in self._held.values()
        }
        return lambda id: held.get(id) or self._transcripts.file_of(id).reader

    def known_conversation(self, session_id: str) -> Conversation:
        """Raises AgentError, code SESSION_NOT_FOUND."""
        found = self._held.get(session_id)
        if found is None:
            summary = self.index.summaries.get(session_id)
            if summary is None:
                raise failure.no_session(session_id)
            cli, seen = self._clis[agent_of(summary)], self.index.stats.get(session_id)
            found = self._make_conversation(summary, cli, seen)
        if session_id in self:
            self._used.setdefault(session_id, found)
            self._take_to_rest()
        return found

    def new_conversation(self, folder: str, cli: AgentCli, new_id: str = "") -> Conversation:
        """One that is not in the registry yet. Its id is `new_id` if that is one, and free."""
        id, now = new_id, datetime.now(timezone.utc)
        is_taken = id in self or id in self._held
        if not ID.fullmatch(id) or is_taken or os.path.exists(self._transcripts.file_of(id).path):
            id = secrets.token_hex(16)
        summary = ConversationSummary(id, folder, created=now, last_used=now)
        return self._make_conversation(summary, cli, NO_FILE)

    def open_to_all(self, folder: str, cli: AgentCli) -> Conversation | None:
        """The last used one of the folder with this CLI that belongs to nobody."""
        # Also those that somebody is about to begin, whose summaries name no agent yet.
        new = [
            conversation
            for conversation in self._held.values()
            if conversation.cli is cli and not conversation.record.has_begun
        ]
        told = [summary for summary in self.known_summaries() if agent_of(summary) == cli.id]
        fitting = [
            summary
            for summary in (*told, *(conversation.record.summary for conversation in new))
            if summary.workspace == folder and not summary.state.is_owned
        ]
        return self.known_conversation(max(fitting, key=last_used).id) if fitting else None

    def remember(self, conversation: Conversation) -> None:
        """Put it in the registry as the last used one, and in the index once it has begun."""
        self._used.pop(conversation.id, None)
        self._used[conversation.id] = conversation
        if conversation.record.has_begun and conversation.id not in self.index.summaries:
            self.index.put_summary(conversation.record.summary)
        self._take_to_rest()

    def forget(self, conversation: Conversation) -> None:
        """Remove one that never began, so that nothing of it is on disk."""
        self._used.pop(conversation.id, None)
        self.index.remove_summary(conversation.id)

    async def remove(self, session_id: str) -> None:
        """Delete one for good. Raises AgentError."""
        try:
            await self.known_conversation(session_id).remove()
        except OSError as error:
            reason = error.strerror or error
            told = sentence("The conversation cannot be deleted: {reason}.", reason=reason)
            raise AgentError(failure.INTERNAL_ERROR, told) from error
        self.drop_deleted(session_id)

    async def fork(self, session_id: str, turn: str | None) -> SessionInfo | None:
        """A new conversation with everything that was said in this one, or until the end of that
        turn; None if there is no such turn. Raises AgentError, code SESSION_BUSY if it runs, and
        SESSION_ELSEWHERE if it may run at another server."""
        source = self.known_conversation(session_id)
        if source.is_busy and (turn is None or source.turn is None or turn == source.turn.id):
            raise failure.session_busy()
        target = self._transcripts.file_of(secrets.token_hex(16))
        async with AsyncExitStack() as stack:
            if turn is None or turn in source.record.summary.unfinished:
                await stack.enter_async_context(source.hold.exclusive_use())
            record = source.record
            work = partial(fork_transcript, record.transcript, record.summary, turn, target)
            if not record.turns or not await on_disk(work, None):
                return None
        made = await on_disk(partial(read_summary, target.reader))
        self.index.put_summary(made)
        return self.session_info(made)

    def drop_deleted(self, session_id: str) -> None:
        """Forget one that is deleted."""
        summary = self.index.summaries.get(session_id)
        self._used.pop(session_id, None)
        found = self._held.pop(session_id, None)
        state = found.record.state if found is not None else summary and summary.state
        if state is not None and state.in_chat:
            self.removed_chats.add(session_id)
        self.index.remove_summary(session_id)
        if found is not None:
            self.releases.emit(found)
        self.removals.emit(session_id)

    async def write_and_release(self) -> None:
        """Write everything so far to the disk, then let other servers have the conversations. The
        caller waits only for a limited time, because some disks never answer."""

        def finish_writing() -> None:
            try:
                self._transcripts.write_all()
                self.refusals.try_at_last()
            finally:
                for conversation in list(self._held.values()):
                    conversation.hold.release_lock()

        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.index.close(), WRITING)
        with suppress(asyncio.TimeoutError):
            await in_thread(finish_writing, WRITING)

    def _take_to_rest(self) -> None:
        """Let go of those that were not used for long, so that only their summaries stay."""
        if len(self._used) <= MAX_AT_REST:
            return
        resting = [conversation for conversation in self if _is_at_rest(conversation)]
        for each in resting[: len(self._used) - MAX_AT_REST]:
            # With what the last turn has used.
            summary = each.record.summary._replace(usage=each.session_info.usage)
            self.index.summaries[each.id] = summary
            del self._used[each.id]
            self.releases.emit(each)

    def _make_conversation(
        self, summary: ConversationSummary, cli: AgentCli, seen: Stat | None
    ) -> Conversation:
        transcript = self._transcripts.file_of(summary.id, self.refusals.note_refusal)
        changed = partial(self._note_change, summary.id)
        last_use = partial(getattr, self.index, "last_used")
        made = Conversation(
            transcript, summary, cli, self._feed.publish_event, changed, seen, last_use
        )
        self._held[summary.id] = made
        return made

    def _note_change(self, id: str) -> None:
        found = self._held.get(id)
        if found is not None and found.record.has_begun and not found.session.is_closed:
            self.index.put_summary(found.record.summary)


def folder_of(workspace: str) -> str:
    """The folder without links. Raises AgentError if it is not the absolute path of one."""
    if not os.path.isabs(workspace) or not os.path.isdir(workspace):
        told = sentence(
            "Expected the absolute path of a folder as workspace; got {got}.", got=repr(workspace)
        )
        raise AgentError(failure.VALIDATION_ERROR, told)
    return os.path.realpath(workspace)


def _is_at_rest(conversation: Conversation) -> bool:
    """Whether nothing would be lost if it were made anew from its transcript."""
    record = conversation.record
    waits = conversation.session.is_opening or conversation.queue.messages
    is_used = conversation.hold.is_used or conversation.is_busy or waits
    return not is_used and record.has_begun and record.transcript.is_saved
