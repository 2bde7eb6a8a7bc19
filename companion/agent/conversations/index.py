"""The summaries of all conversations. They are read from the transcripts, or from the file that an
earlier server left, where a transcript is as it was then."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Container, Iterable, Mapping, Sequence

from ...base.background import in_thread
from ...base.file_lock import FileLock
from ...base.log import logger
from ...base.private_files import NotPrivate
from ..agents.cli import AgentCli
from ..failure import later_session
from ..supported import USUAL
from .conversation import delete_conversation_files
from .index_file import IndexFile, IndexRow
from .transcript_reader import DAMAGED, FIRST, ID, ConversationSummary
from .transcripts import NO_FILE, Stat, TranscriptFile, Transcripts, on_disk

# Transcripts that are read at a time, and before the server starts.
BATCH = 100
# Seconds from a deletion until it is also gone from the file.
SOON = 1.0
# Seconds for which the folder counts as known.
MOMENT = 1.0


class Index:
    """`summaries` has those that are known so far, by the conversations' ids. The loop owns it;
    threads only read files. `clis` are those that conversations may be held with. `file` is None
    if nothing is kept."""

    def __init__(
        self, transcripts: Transcripts, clis: Mapping[str, AgentCli], file: IndexFile | None
    ) -> None:
        self.summaries: dict[str, ConversationSummary] = {}
        # When any of them was used last.
        self.last_used = FIRST
        self._transcripts = transcripts
        self._clis = clis
        self._file = file
        # Of the transcripts that are as they were when they were read; the file has only these.
        self.stats: dict[str, Stat] = {}
        # Those that have changed since; the file may have them as they were.
        self._changed: set[str] = set()
        # Of the transcripts that are still to be read; and what the file has of them.
        self._unread: dict[str, Stat] = {}
        self._rows: dict[str, IndexRow] = {}
        # Of those that cannot be used here; they are not read again and again.
        self._unusable: dict[str, Stat] = {}
        # Set when some more were read; then there is another one.
        self._news = asyncio.Event()
        self._work: asyncio.Future[None] | None = None
        self._writing: asyncio.TimerHandle | None = None
        self._is_closed = False
        # When it was looked for changes, on the loop's clock.
        self._looked = 0.0

    async def load(self) -> None:
        """Find out what there is. A few are read at once, the others later, in the order in which
        they are probably asked for."""
        kept, there = await in_thread(self._look_at_disk)
        # The last ones first, because they were written last.
        for id in sorted(there, key=lambda id: there[id][1], reverse=True):
            self._unread[id] = there[id]
            row = kept.pop(id, None)
            if row is not None and row.stat == there[id]:
                self._rows[id] = row
        is_changed = bool(kept) or len(self._rows) < len(self._unread)
        await self._read_next_batch()
        self._work = asyncio.ensure_future(self._go_on(is_changed))

    def put_summary(self, summary: ConversationSummary) -> None:
        """A conversation is new or has changed: what is read of it from now on, or being read, may
        be older."""
        self.summaries[summary.id] = summary
        self.last_used = max(self.last_used, summary.last_used)
        was_unread = self._unread.pop(summary.id, None) is not None
        if self.stats.pop(summary.id, None) is not None or was_unread:
            self._changed.add(summary.id)

    def remove_summary(self, id: str) -> None:
        self.summaries.pop(id, None)
        self._unread.pop(id, None)
        if self.stats.pop(id, None) is not None or id in self._changed:
            self._changed.discard(id)
            self._write_later()

    async def wait_for_one(self, id: str) -> None:
        """Wait until this conversation is known, if there is one; another server may have made
        it."""
        # The id becomes part of a path.
        if id not in self.summaries and id not in self._unread and ID.fullmatch(id):
            stat = await in_thread(self._transcripts.file_of(id).read_stat)
            if stat != NO_FILE and id not in self.summaries:
                self._unread[id] = stat
        if id in self._unread:
            await self._read_batch([id])

    async def check_release(self, id: str) -> None:
        """Raises AgentError if a later release has written this conversation."""
        reader = self._transcripts.file_of(id).reader
        if id in self._unusable and await on_disk(reader.is_of_later_release):
            raise later_session(id)

    async def refresh(self, used: Container[str]) -> Mapping[str, Stat] | None:
        """Learn what other servers have changed, except of those in `used`. Gives all that are
        there; None if that was looked at a moment ago. Raises OSError."""
        loop = asyncio.get_running_loop()
        if self._unread or loop.time() - self._looked < MOMENT:
            # What is still to be read is new.
            return None
        self._looked = loop.time()
        there = await in_thread(self._transcripts.read_stats)
        for id in [id for id in self.summaries if id not in there and id not in used]:
            self.remove_summary(id)
        known = {**self._unusable, **self.stats}
        changed = [id for id in there if id not in used and known.get(id) != there[id]]
        self._unread.update((id, there[id]) for id in changed)
        for at in range(0, len(changed), BATCH):
            await self._read_batch(changed[at : at + BATCH])
        return there

    async def wait_for_all_since(self, time: datetime = FIRST) -> bool:
        """Wait until all are known, or those that were used at this time or later; whether some
        were not. A transcript was written when its conversation was used, or after that."""
        had_to = False
        while self._unread and not self._is_closed:
            newest = max(changed for _size, changed in self._unread.values())
            if newest < time.timestamp() * 1e9:
                break
            had_to = True
            await self._news.wait()
        return had_to

    async def close(self) -> None:
        """Read and write nothing more."""
        self._is_closed = True
        self._news.set()
        if self._writing is not None:
            self._writing.cancel()
        if self._work is not None:
            with suppress(asyncio.CancelledError):
                await self._work

    def _look_at_disk(self) -> tuple[dict[str, IndexRow], Mapping[str, Stat]]:
        with suppress(OSError):
            self._transcripts.sweep_leftovers()
        kept = self._file.read_rows() if self._file is not None else {}
        return kept, self._transcripts.read_stats()

    async def _go_on(self, is_changed: bool) -> None:
        while self._unread and not self._is_closed:
            await self._read_next_batch()
        if is_changed and not self._is_closed:
            await self._write_index()

    async def _read_next_batch(self) -> None:
        await self._read_batch([id for id, _at in zip(self._unread, range(BATCH))])

    async def _read_batch(self, ids: Iterable[str]) -> None:
        """Read these, to the end even if the request that wants them is cancelled: others wait,
        too."""
        stats = {id: self._unread[id] for id in ids if id in self._unread}
        rows = {id: self._rows.pop(id) for id in stats if id in self._rows}
        if stats:
            await asyncio.shield(asyncio.ensure_future(self._read_and_store(stats, rows)))

    async def _read_and_store(
        self, stats: Mapping[str, Stat], rows: Mapping[str, IndexRow]
    ) -> None:
        found: Mapping[str, ConversationSummary | None] = {}
        try:
            found = await in_thread(partial(self._read_all, list(stats), rows))
        finally:
            for id, stat in stats.items():
                # It may have been read twice, and deleted or changed in between.
                is_new = self._unread.pop(id, None) is not None
                summary = found.get(id)
                if is_new and summary is not None:
                    self.summaries[id], self.stats[id] = summary, stat
                    self.last_used = max(self.last_used, summary.last_used)
                elif is_new:
                    self._unusable[id] = stat
            self._news.set()
            self._news = asyncio.Event()

    def _read_all(
        self, ids: Sequence[str], rows: Mapping[str, IndexRow]
    ) -> Mapping[str, ConversationSummary | None]:
        """One that cannot be read is skipped and stays on disk."""
        found: dict[str, ConversationSummary | None] = {}
        for id in ids:
            if self._is_closed:
                break
            found[id] = _summary_of_row(rows[id], self._clis) if id in rows else None
            if found[id] is None:
                try:
                    found[id] = self._read_summary(self._transcripts.file_of(id))
                except OSError as error:
                    logger.warning("a conversation cannot be read: %s", error)
        return found

    def _read_summary(self, transcript: TranscriptFile) -> ConversationSummary | None:
        """None if it cannot be used. Temporary ones are deleted. Raises OSError."""
        summary = transcript.reader.read_summary()
        # A later release may write other files, and support more CLIs.
        if summary is None or agent_of(summary) not in self._clis:
            logger.warning("%s is not a conversation that can be read here", transcript.path)
            return None
        if summary.state.is_temporary:
            # Its server may have been killed before it could delete it.
            lock = FileLock(transcript.lock)
            if lock.acquire():
                try:
                    delete_conversation_files(
                        transcript, self._clis[agent_of(summary)], summary.state
                    )
                finally:
                    lock.remove_file()
            return None
        return summary

    def _write_later(self) -> None:
        if self._writing is None and not self._is_closed:
            loop = asyncio.get_running_loop()
            self._writing = loop.call_later(SOON, self._write_now)

    def _write_now(self) -> None:
        self._writing = None
        self._work = asyncio.ensure_future(self._write_after(self._work))

    async def _write_after(self, work: asyncio.Future[None] | None) -> None:
        if work is not None:
            await work
        await self._write_index()

    async def _write_index(self) -> None:
        if self._file is not None:
            stats, summaries = self.stats, self.summaries
            them = [(id, summaries[id], stats[id]) for id in stats]
            await in_thread(partial(_write_rows, self._file, them))


def agent_of(summary: ConversationSummary) -> str:
    return summary.state.agent or USUAL


def _summary_of_row(row: IndexRow, clis: Container[str]) -> ConversationSummary | None:
    """None if the transcript has to be read."""
    with suppress(*DAMAGED):
        summary = row.summary
        return summary if agent_of(summary) in clis else None
    return None


def _write_rows(file: IndexFile, them: Iterable[tuple[str, ConversationSummary, Stat]]) -> None:
    try:
        # One at a time, so that other threads get their turn.
        file.write_rows((id, IndexRow.from_summary(summary, stat)) for id, summary, stat in them)
    except (OSError, NotPrivate) as error:
        # The next start takes longer.
        logger.info("the list of conversations cannot be kept: %s", error)
