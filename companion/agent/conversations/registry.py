"""All conversations with their transcripts, in the order of their last use. Talks with nobody
itself."""

from __future__ import annotations

import asyncio
import os
import secrets
from contextlib import suppress
from datetime import datetime, timezone
from typing import Callable, Iterator, Mapping

from ...base.background import in_thread
from ...base.log import logger
from ..agents.cli import Cli
from ..agents.supported import USUAL
from ..events.event_feed import EventFeed
from ..wording import failure
from ..wording.failure import AgentError
from ..wording.sentence import sentence
from .conversation import Conversation, forget
from .refusals import Refusals
from .transcript_reader import Summary
from .transcripts import Transcript, Transcripts
from .turns import Turns

# The most conversations. Further ones are refused; none is deleted for a new one.
MAX_CONVERSATIONS = 2000
# Seconds that the disk gets at the end.
WRITING = 5.0


class Conversations:
    """`transcripts` are those on disk, `clis` those that they may be held with by their ids, `feed`
    hears all events. `refusals` are what the disk does not take, `turns` the turns of all."""

    def __init__(self, transcripts: Transcripts, clis: Mapping[str, Cli], feed: EventFeed) -> None:
        self._transcripts = transcripts
        self._clis = clis
        self._feed = feed
        # The last used one is the last.
        self._by_id: dict[str, Conversation] = {}
        self.refusals, self.turns = Refusals(self), Turns(self)

    async def load(self) -> None:
        """Load the conversations that are on disk. One that cannot be read is skipped and stays on
        disk; temporary ones are deleted. Must be called before everything else."""
        self._transcripts.refused = self.refusals.listener()
        found = await in_thread(lambda: list(_summaries(self._transcripts, self._clis)))
        for transcript, summary in sorted(found, key=lambda pair: pair[1].last_used):
            cli = self._clis[_agent(summary)]
            self._by_id[summary.id] = self._conversation(transcript, summary, cli)

    def __iter__(self) -> Iterator[Conversation]:
        return iter(list(self._by_id.values()))

    def known(self, session_id: str) -> Conversation:
        """Raises AgentError, code SESSION_NOT_FOUND."""
        try:
            return self._by_id[session_id]
        except KeyError:
            raise failure.no_session(session_id) from None

    def find(
        self, workspace: str, session_id: str | None, new: bool, agent: str | None, usual: str
    ) -> Conversation:
        """The conversation with this id. Without an id, the last used one of the workspace with
        that CLI that nobody has asked for by its id (those belong to somebody). If there is none,
        or with `new`, a new one that is not in the registry yet. `usual` is the CLI if `agent` is
        None. Raises AgentError."""
        if session_id is not None and not new:
            return self._by_its_id(session_id, agent)
        if not os.path.isabs(workspace) or not os.path.isdir(workspace):
            raise AgentError(
                failure.VALIDATION_ERROR,
                sentence(
                    "Expected the absolute path of a folder as workspace; got {got}.",
                    got=repr(workspace),
                ),
            )
        real = os.path.realpath(workspace)
        cli = self._clis[agent or usual]
        there = [each for each in self if each.workspace == real and each.cli is cli]
        open_to_all = [each for each in there if not each.record.state.is_owned]
        if open_to_all and not new:
            return open_to_all[-1]
        if len(self._by_id) >= MAX_CONVERSATIONS:
            raise AgentError(
                failure.VALIDATION_ERROR,
                sentence(
                    "There are {count} conversations, which is the limit; delete some.",
                    count=MAX_CONVERSATIONS,
                ),
            )
        now = datetime.now(timezone.utc)
        summary = Summary(secrets.token_hex(16), real, created=now, last_used=now)
        return self._conversation(self._transcripts.of(summary.id), summary, cli)

    def remember(self, conversation: Conversation) -> None:
        """Put it in the registry as the last used one."""
        self._by_id.pop(conversation.id, None)
        self._by_id[conversation.id] = conversation

    def restore(self, conversation: Conversation) -> None:
        """Put a conversation back that was removed meanwhile, because another attempt to open its
        session had failed."""
        self._by_id.setdefault(conversation.id, conversation)

    def forget(self, conversation: Conversation) -> None:
        """Remove one that never began, so that nothing of it is on disk."""
        self._by_id.pop(conversation.id, None)

    async def remove(self, session_id: str) -> None:
        """Delete one for good. Raises AgentError."""
        try:
            await self.known(session_id).remove()
        except OSError as error:
            reason = error.strerror or error
            told = sentence("The conversation cannot be deleted: {reason}.", reason=reason)
            raise AgentError(failure.INTERNAL_ERROR, told) from error
        self._by_id.pop(session_id, None)

    async def write(self, then: Callable[[], None]) -> None:
        """Write everything so far to the disk, then call `then`. The caller waits only for a
        limited time, because some disks never answer."""

        def work() -> None:
            try:
                self._transcripts.write()
                self.refusals.try_at_last()
            finally:
                then()

        with suppress(asyncio.TimeoutError):
            await in_thread(work, WRITING)

    def _by_its_id(self, session_id: str, agent: str | None) -> Conversation:
        """From now on it belongs to somebody. Raises AgentError."""
        known = self.known(session_id)
        if agent not in (None, known.cli.id):
            told = sentence(
                "This conversation belongs to {cli}; begin another one for another agent.",
                cli=known.cli.name,
            )
            raise AgentError(failure.VALIDATION_ERROR, told)
        known.record.own()
        return known

    def _conversation(self, transcript: Transcript, summary: Summary, cli: Cli) -> Conversation:
        return Conversation(transcript, summary, cli, self._feed.publish)


def _summaries(
    transcripts: Transcripts, clis: Mapping[str, Cli]
) -> Iterator[tuple[Transcript, Summary]]:
    with suppress(OSError):
        transcripts.sweep()
    for transcript in transcripts:
        try:
            summary = transcript.reader.summary()
            # A later release may write other files, and support more CLIs.
            if summary is None or _agent(summary) not in clis:
                logger.warning("%s is not a conversation that can be read here", transcript.path)
                continue
            if summary.state.is_temporary:
                # Its server was killed before it could delete it.
                forget(transcript, clis[_agent(summary)], summary.state)
                continue
        except OSError as error:
            logger.warning("a conversation cannot be read: %s", error)
            continue
        yield transcript, summary


def _agent(summary: Summary) -> str:
    return summary.state.agent or USUAL
