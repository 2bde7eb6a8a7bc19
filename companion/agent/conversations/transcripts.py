"""The conversations on disk, so that they survive the end of the server. Each has one file of JSON
lines, to which lines are only ever appended.

The first line is `{"type": "conversation", "version": 1, "id", "workspace", "created"}`. After it
come

    {"type": "message", "turn", "time", "text", "files", "attachments"}    what the user said;
        with "queued", the id by which it has waited until then
    {"type": "event", "turn", "number", "time", "body": {"type", ...}}   what came of it
    {"type": "change", "title" | "model" | "mode" | "session" | "owned" | ...}   what was set
    {"type": "gap"}   lines are missing before this one: the disk refused them for too long

A sentence of ours in a body is {"template", "values"}, so that it can be shown in any language.
What the CLI said is a text, and so are our sentences in files of earlier releases. Times are ISO
8601 in UTC. A damaged line, such as the last one after a crash, affects no other line, even if it
is the first.

A thread writes the lines in order, within milliseconds. If the process is killed, the lines of
these milliseconds are missing. A user's message and the end of a turn survive a power cut as soon
as they are written. Lines that the disk refuses are kept and tried again; beyond a limit the oldest
of them are lost.
"""

from __future__ import annotations

import asyncio
import dataclasses
import io
import json
import os
import shutil
import threading
from collections import deque
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from time import monotonic
from typing import IO, Any, Callable, Iterator, Mapping, Tuple, TypeVar, Union

from ...base import private_files
from ...base.background import in_thread
from ...base.file_lock import FileLock
from ...base.line_file import LineFile
from ...base.log import logger
from ...base.unwritten_lines import AFTER_ALL_OTHERS, FIRST, NEVER, UnwrittenLimit, UnwrittenLines
from ...base.write_behind import WriteBehind
from .. import turn_events as events
from ..failure import INTERNAL_ERROR, AgentError
from ..sentence import sentence
from ..turn_events import PastTurn, TurnEvent
from ..wording.surrogates import clean_surrogates
from .transcript_reader import VERSION, TranscriptReader

SUFFIX, BESIDE = ".jsonl", ".files"
# What the folder beside has in its name, with the locks of the conversations that servers hold.
LOCKS = ".locks"
# The size of a file (in bytes) and the time of its last change (in nanoseconds).
Stat = Tuple[int, int]
NO_FILE: Stat = (0, 0)
# When a kept line is dropped; lines of all other types go first.
DROPPED = {"conversation": NEVER, "change": AFTER_ALL_OTHERS}
# Bytes of one file; a conversation beyond this accepts no more messages.
MAX_BYTES = 64 << 20
# Bytes of all conversations that are kept while the disk refuses.
MAX_UNWRITTEN = 64 << 20
# Seconds to read a transcript.
READING = 60.0
# Seconds until a disk that has refused is tried again.
PAUSE = 1.0
# Marks the place of dropped lines. Readers count it as a damaged line.
GAP = b'{"type":"gap"}\n'

T = TypeVar("T")
# A line that is still to be written, as its values.
Line = Union[TurnEvent, Mapping[str, Any]]


class TranscriptFile:
    """The file of one conversation. One thread reports here; another one writes soon, in the same
    order. `reader` reads the file, and `remove_files` removes it: they block, and write everything
    first.

    If the disk refuses, that is logged once, and the thread that writes calls `refused`. The
    conversation continues, and the refused lines are tried again with the next ones and with
    `write_soon`."""

    def __init__(
        self,
        folder: str,
        id: str,
        writer: WriteBehind,
        limit: UnwrittenLimit,
        refused: Callable[[], None] = lambda: None,
    ) -> None:
        self.id = id
        self.path = os.path.join(folder, id + SUFFIX)
        # The path of the file that is locked by the server that has the conversation.
        self.lock = os.path.join(folder + LOCKS, id)
        self._file = LineFile(self.path)
        # For the conversation's other files.
        self.folder = os.path.join(folder, id + BESIDE)
        self.reader = TranscriptReader(id, self._opened_file)
        self._writer = writer
        self._refused = refused
        # Whether the disk accepted everything so far, and whether it refuses now. Other threads
        # read these as well.
        self.is_saved, self.is_refused = True, False
        self._pending: deque[Line] = deque()
        # Held by the thread that works on the file; it protects the fields below.
        self._working = threading.Lock()
        # The lines that the disk has not taken so far, whether they create the file, whether they
        # must survive a power cut, and when they may be tried again.
        self._unwritten = UnwrittenLines(f"conversation {id}")
        self._limit = limit
        self._is_new = self._is_lasting = False
        self._not_before = 0.0
        self._is_removed = self._is_lost = False
        self._lacks_lines = False

    @property
    def is_full(self) -> bool:
        return self._file.size + self._unwritten.size >= MAX_BYTES

    @property
    def is_waiting(self) -> bool:
        """Whether the disk may later accept what it has refused."""
        return self.is_refused and not (self._is_lost or self._is_removed)

    def begin_file(self, workspace: str, created: datetime) -> None:
        """Create the file. Later lines go only into this file: if somebody removed it, a new file
        would not be a conversation."""
        line = {"type": "conversation", "version": VERSION, "id": self.id}
        self._add_line({**line, "workspace": workspace, "created": created.isoformat()})

    def add_message(
        self,
        turn: str,
        said: events.Message,
        queued: str = "",
        time: datetime | None = None,
        used: datetime | None = None,
    ) -> None:
        """Written with the next event, or by `write_soon`, so that it does not delay the message.
        `used` is its place in the order of use, if that is not its time."""
        time = time or datetime.now(timezone.utc)
        line = _message_line(turn, time, said)
        place = {} if used is None or used == time else {"used": used.isoformat()}
        self._pending.append({**line, **place, **({"queued": queued} if queued else {})})

    def add_past_turn(self, turn: PastTurn) -> None:
        """A turn that is over already."""
        said = events.Message(turn.text, turn.files, turn.attachments)
        self._pending.append(_message_line(turn.id, turn.time, said))
        for event in turn.events:
            self._add_line(event)

    def add_event(self, event: TurnEvent) -> None:
        self._add_line(event)

    def add_change(self, **changes: str) -> None:
        """Titles, models, modes, or the agent's session."""
        self._add_line({"type": "change", **changes})

    def write_soon(self) -> None:
        """Have the other thread write everything so far; waking it takes a moment."""
        self._writer.do_soon(self.write_now)

    def write_now(self, is_last: bool = False) -> None:
        """Write everything so far. Skipped if the disk has refused a moment ago, unless this is the
        last attempt."""
        with self._working, self._limit.set_apart(self._unwritten):
            self._not_before *= not is_last
            self._write_pending()

    def read_stat(self) -> Stat:
        """NO_FILE if there is none. Raises OSError."""
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            return NO_FILE
        return status.st_size, status.st_mtime_ns

    def go_on_after_others(self) -> None:
        """Others have written to the file, and the last line may be incomplete."""
        with self._working:
            self._file = LineFile(self.path)

    def remove_files(self) -> None:
        """Remove the file and the folder beside it. Raises OSError. Later lines are not written."""
        with self._working, self._limit.set_apart(self._unwritten):
            with suppress(FileNotFoundError):
                os.unlink(self.path)
            self._is_removed = True
            self._pending.clear()
            self._unwritten.clear()
            try:
                shutil.rmtree(self.folder)
            except FileNotFoundError:
                pass
            except OSError as error:
                # The next start tries again.
                logger.warning("files of a deleted conversation are still there: %s", error)

    @contextmanager
    def _opened_file(self) -> Iterator[tuple[IO[bytes], int]]:
        """The file with everything so far, and its size at that moment."""
        with self._working, self._limit.set_apart(self._unwritten):
            self._write_pending()
            file: IO[bytes] = io.BytesIO() if self._is_new else open(self.path, "rb")
            self._file.size = size = file.seek(0, os.SEEK_END)
            if self._unwritten.size:
                file = self._with_unwritten(file)
                size = file.seek(0, os.SEEK_END)
        with file:
            yield file, size

    def _with_unwritten(self, file: IO[bytes]) -> IO[bytes]:
        with file:
            file.seek(0)
            return io.BytesIO(file.read() + self._unwritten.all_lines(GAP))

    def _add_line(self, line: Line) -> None:
        self._pending.append(line)
        self.write_soon()

    def _write_pending(self) -> None:
        while self._pending:
            self._collect_line(self._pending.popleft())
        if self._is_removed:
            self._unwritten.clear()
        elif self._unwritten.size and monotonic() >= self._not_before:
            self._write_collected()

    def _collect_line(self, line: Line) -> None:
        values = _event_line(line) if isinstance(line, TurnEvent) else line
        self._is_new = self._is_new or values["type"] == "conversation"
        is_end = isinstance(line, TurnEvent) and line.is_last
        self._is_lasting = self._is_lasting or is_end or values["type"] == "message"
        text = json.dumps(clean_surrogates(values), ensure_ascii=False, separators=(",", ":"))
        self._unwritten.add_line(text.encode("utf-8") + b"\n", DROPPED.get(values["type"], FIRST))

    def _write_collected(self) -> None:
        try:
            self._file.append_lines(self._unwritten.all_lines(GAP), self._is_new, self._is_lasting)
        except OSError as error:
            self._not_before = monotonic() + PAUSE
            # A file that somebody removed is not created again.
            self._is_lost = isinstance(error, FileNotFoundError) and not self._is_new
            if self._is_lost:
                self._unwritten.clear()
            self.is_saved = False
            if not self.is_refused:
                self.is_refused = True
                logger.error("a conversation cannot be written down: %s", error)
                self._refused()
            return
        if self.is_refused:
            logger.info("the disk again accepts a conversation that it had refused")
        # Dropped lines are not on disk and never will be.
        self._lacks_lines = self._lacks_lines or not self._unwritten.is_whole
        self.is_saved = not self._lacks_lines
        self.is_refused = self._is_new = self._is_lasting = False
        self._unwritten.clear()


class Transcripts:
    """The folder of all transcripts. Raises OSError, NotPrivate."""

    def __init__(self, folder: str) -> None:
        for each in (folder, folder + LOCKS):
            private_files.make_folder(each)
        self.folder = folder
        self._writer = WriteBehind()
        self._limit = UnwrittenLimit(MAX_UNWRITTEN)

    def read_stats(self) -> dict[str, Stat]:
        """The states of the files of all transcripts, by their ids."""
        found = {}
        for entry in os.scandir(self.folder):
            # Reading a pipe would wait for ever.
            if entry.name.endswith(SUFFIX) and entry.is_file():
                status = entry.stat()
                found[entry.name[: -len(SUFFIX)]] = status.st_size, status.st_mtime_ns
        return found

    def file_of(self, id: str, refused: Callable[[], None] = lambda: None) -> TranscriptFile:
        """The transcript with this id. The thread that writes calls `refused` if the disk
        refuses."""
        return TranscriptFile(self.folder, id, self._writer, self._limit, refused)

    def sweep_leftovers(self) -> None:
        """Remove what a crash has left of conversations during their deletion. Raises OSError."""
        for name in os.listdir(self.folder):
            id, beside = os.path.splitext(name)
            if beside == BESIDE and not os.path.exists(os.path.join(self.folder, id + SUFFIX)):
                lock = FileLock(self.file_of(id).lock)
                if lock.acquire():
                    try:
                        shutil.rmtree(os.path.join(self.folder, name))
                    finally:
                        lock.remove_file()

    def write_all(self) -> None:
        """Write everything so far of all of them."""
        self._writer.finish()


def _message_line(turn: str, time: datetime, said: events.Message) -> dict[str, Any]:
    line = {"type": "message", "turn": turn, "time": time.isoformat()}
    return {**line, **dataclasses.asdict(said)}


def _event_line(event: TurnEvent) -> dict[str, Any]:
    body = dataclasses.asdict(event.body)
    # The next event has it.
    body.pop("ahead", None)
    return {
        "type": "event",
        "turn": event.turn_id,
        "number": event.number,
        "time": event.time.isoformat(),
        "body": {"type": event.body.type, **body},
    }


async def on_disk(work: Callable[[], T], seconds: float | None = READING) -> T:
    """The result of work with a conversation's files. Raises AgentError if the disk gives none."""
    try:
        return await in_thread(work, seconds)
    except (OSError, asyncio.TimeoutError) as error:
        logger.error("the disk fails with a conversation: %s", str(error) or "no answer")
        told = sentence("The conversation cannot be read.")
        raise AgentError(INTERNAL_ERROR, told) from error
