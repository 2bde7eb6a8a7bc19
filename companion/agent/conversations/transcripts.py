"""The conversations on disk, so that they survive the end of the server. Each has one file of JSON
lines, to which lines are only ever appended.

The first line is `{"type": "conversation", "version": 1, "id", "workspace", "created"}`. After it
come

    {"type": "message", "turn", "time", "text", "files", "attachments"}    what the user said
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

import dataclasses
import io
import json
import os
import re
import shutil
import threading
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import chain, islice
from time import monotonic
from typing import IO, Any, Callable, Iterable, Iterator, Mapping, Union

from ...base import private_files
from ...base.line_file import LineFile
from ...base.log import logger
from ...base.unwritten_lines import AFTER_ALL_OTHERS, FIRST, NEVER, UnwrittenLimit, UnwrittenLines
from ...base.write_behind import WriteBehind
from ..events import turn_events as events
from ..events.turn_events import Attachment, Body, PastTurn, TurnEvent, Usage, sum_of
from ..wording.sentence import restored
from ..wording.surrogates import clean
from .conversation_state import ConversationState

VERSION = 1
SUFFIX, BESIDE = ".jsonl", ".files"
# When a kept line is dropped; lines of all other types go first.
DROPPED = {"conversation": NEVER, "change": AFTER_ALL_OTHERS}
# Bytes of one file; a conversation beyond this accepts no more messages.
MAX_BYTES = 64 << 20
# Bytes of all conversations that are kept while the disk refuses.
MAX_UNWRITTEN = 64 << 20
# Seconds until a disk that has refused is tried again.
PAUSE = 1.0
# Characters of a title that is made from the first message.
MAX_TITLE = 80
# The ids of conversations; also searched for in a damaged first line.
ID = re.compile("[0-9a-f]{32}")
WORKSPACE = re.compile(rb'"workspace":("(?:[^"\\]|\\.)*")')
# Errors that a damaged line of our own may raise when it is read.
DAMAGED = (KeyError, TypeError, ValueError, AttributeError, OverflowError)
# The members of bodies that may be sentences of ours.
SENTENCES = frozenset({"description", "display_result", "error", "message"})
# The beginning of an event's line, and a part of the last event of a turn.
EVENT = b'{"type":"event",'
# The beginning of the first line of a turn, after the end of the line before.
MESSAGE = b'\n{"type":"message",'
# Marks the place of dropped lines. Readers count it as a damaged line.
GAP = b'{"type":"gap"}\n'
# Bytes that are read at a time from the end of a file towards its beginning.
BLOCK = 1 << 18
ENDS = (b'"body":{"type":"complete"', b'"body":{"type":"error"')
BODIES = {
    body.type: body
    for body in (
        events.Content,
        events.Thought,
        events.ToolCall,
        events.ToolExecution,
        events.ToolConfirmation,
        events.ToolResult,
        events.Complete,
        events.Error,
    )
}


@dataclass(frozen=True)
class Summary:
    """The data of a conversation without its turns. `unfinished` are the ids of the turns without
    an end."""

    id: str
    workspace: str
    created: datetime
    last_used: datetime
    title: str = ""
    turns: int = 0
    usage: Usage = Usage()
    state: ConversationState = ConversationState()
    unfinished: frozenset[str] = frozenset()


@dataclass
class History:
    """A conversation as its file has it. `changes` are the last of each kind. `workspace` is empty
    if it is not known. `damaged` counts the lines that could not be read."""

    id: str
    workspace: str
    created: datetime
    turns: list[PastTurn] = field(default_factory=list)
    changes: dict[str, str] = field(default_factory=dict)
    damaged: int = 0

    @property
    def last_used(self) -> datetime:
        return self.turns[-1].time if self.turns else self.created

    @property
    def title(self) -> str:
        first = next((turn.text for turn in self.turns if turn.text), "")
        return self.changes.get("title") or title_of(first)

    @property
    def usage(self) -> Usage:
        last = [turn.events[-1].body for turn in self.turns if turn.events]
        return sum_of([body.usage for body in last if isinstance(body, events.Complete)])

    @property
    def summary(self) -> Summary:
        return Summary(
            self.id,
            self.workspace,
            self.created,
            self.last_used,
            self.title,
            len(self.turns),
            self.usage,
            ConversationState.of(self.changes),
            frozenset(turn.id for turn in self.turns if not turn.is_over),
        )


@dataclass(frozen=True)
class Page:
    """Some successive turns, and whether there are earlier ones."""

    turns: tuple[PastTurn, ...]
    has_earlier: bool


# A line that is still to be written, as its values.
Line = Union[TurnEvent, Mapping[str, Any]]


class Transcript:
    """The file of one conversation. One thread reports here; another one writes soon, in the same
    order. Methods that read or remove the file block, and write everything first.

    If the disk refuses, that is logged once, and the thread that writes calls `refused`. The
    conversation continues, and the refused lines are tried again with the next ones and with
    `write_soon`. The class has a method more than the twenty: its questions belong together."""

    def __init__(
        self,
        folder: str,
        id: str,
        writer: WriteBehind,
        limit: UnwrittenLimit,
        refused: Callable[[], None] = lambda: None,
    ) -> None:
        self.path = os.path.join(folder, id + SUFFIX)
        self._file = LineFile(self.path)
        # For the conversation's other files.
        self.folder = os.path.join(folder, id + BESIDE)
        self._id = id
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
        self._is_removed = self._is_lost = self._is_known_damaged = False
        self._lacks_lines = False

    @property
    def is_full(self) -> bool:
        return self._file.size + self._unwritten.size >= MAX_BYTES

    @property
    def is_waiting(self) -> bool:
        """Whether the disk may later accept what it has refused."""
        return self.is_refused and not self._is_lost

    def begin(self, workspace: str, created: datetime) -> None:
        """Create the file. Later lines go only into this file: if somebody removed it, a new file
        would not be a conversation."""
        line = {"type": "conversation", "version": VERSION, "id": self._id}
        self._add({**line, "workspace": workspace, "created": created.isoformat()})

    def message(self, turn: str, said: events.Message) -> None:
        """Written with the next event, or by `write_soon`, so that it does not delay the
        message."""
        now = datetime.now(timezone.utc).isoformat()
        self._pending.append(
            {"type": "message", "turn": turn, "time": now, **dataclasses.asdict(said)}
        )

    def event(self, event: TurnEvent) -> None:
        self._add(event)

    def change(self, **changes: str) -> None:
        """Titles, models, modes, or the agent's session."""
        self._add({"type": "change", **changes})

    def write_soon(self) -> None:
        """Have the other thread write everything so far; waking it takes a moment."""
        self._writer.soon(self.write)

    def write(self, is_last: bool = False) -> None:
        """Write everything so far. Skipped if the disk has refused a moment ago, unless this is the
        last attempt."""
        with self._working, self._limit.apart(self._unwritten):
            self._not_before *= not is_last
            self._write_pending()

    def remove(self) -> None:
        """Remove the file and the folder beside it. Raises OSError. Later lines are not written."""
        with self._working, self._limit.apart(self._unwritten):
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

    def read(self) -> History | None:
        """None if it is not a conversation of ours, or nothing of it is left. Raises OSError. May
        take a while."""
        with self._opened() as (file, size):
            return self._noted(_read(file, size, self._id, lambda line: True))

    def summary(self) -> Summary | None:
        """The same without what was said; needs little time and no memory."""
        with self._opened() as (file, size):
            history = self._noted(_read(file, size, self._id, _counts))
        return None if history is None else history.summary

    def page(self, limit: int, before: str | None) -> Page | None:
        """The last `limit` turns; with `before`, the last ones before that turn. None if there is
        no such turn. Reads only the needed part of the file. Raises OSError."""
        with self._opened() as (file, size):
            starts = _starts(file, size)
            end = size if before is None else _start_of(file, starts, before)
            if end is None:
                return None
            wanted = list(islice(starts, limit))
            has_earlier = next(starts, None) is not None
            # Before the first readable message there may be remains of other turns.
            start = wanted[-1] if has_earlier else 0
            return Page(self._turns(file, start, end), has_earlier)

    def since(self, turn: str) -> tuple[PastTurn, ...] | None:
        """The turn and those after it; None if there is no such turn. Raises OSError."""
        with self._opened() as (file, size):
            start = _start_of(file, _starts(file, size), turn)
            return None if start is None else self._turns(file, start, size)

    def _turns(self, file: IO[bytes], start: int, end: int) -> tuple[PastTurn, ...]:
        part = History(self._id, "", datetime.now(timezone.utc))
        _fill(part, _lines(file, start, end))
        self._noted(part)
        return tuple(part.turns)

    def _noted(self, history: History | None) -> History | None:
        """Log once that something could not be read, with the id, which reveals nothing."""
        if history is not None and history.damaged and not self._is_known_damaged:
            self._is_known_damaged = True
            what = "lines that cannot be read; the rest of it is there"
            logger.warning("conversation %s has %s (%s)", self._id, what, history.damaged)
        return history

    @contextmanager
    def _opened(self) -> Iterator[tuple[IO[bytes], int]]:
        """The file with everything so far, and its size at that moment."""
        with self._working, self._limit.apart(self._unwritten):
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
            return io.BytesIO(file.read() + self._unwritten.data(GAP))

    def _add(self, line: Line) -> None:
        self._pending.append(line)
        self.write_soon()

    def _write_pending(self) -> None:
        while self._pending:
            self._collect(self._pending.popleft())
        if self._is_removed:
            self._unwritten.clear()
        elif self._unwritten.size and monotonic() >= self._not_before:
            self._write_collected()

    def _collect(self, line: Line) -> None:
        values = _values(line) if isinstance(line, TurnEvent) else line
        self._is_new = self._is_new or values["type"] == "conversation"
        is_end = isinstance(line, TurnEvent) and line.is_last
        self._is_lasting = self._is_lasting or is_end or values["type"] == "message"
        text = json.dumps(clean(values), ensure_ascii=False, separators=(",", ":"))
        self._unwritten.add(text.encode("utf-8") + b"\n", DROPPED.get(values["type"], FIRST))

    def _write_collected(self) -> None:
        try:
            self._file.append(self._unwritten.data(GAP), self._is_new, self._is_lasting)
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
            logger.info("the disk takes a conversation again that it has refused")
        # Dropped lines are not on disk and never will be.
        self._lacks_lines = self._lacks_lines or not self._unwritten.is_whole
        self.is_saved = not self._lacks_lines
        self.is_refused = self._is_new = self._is_lasting = False
        self._unwritten.clear()


class Transcripts:
    """The folder of all transcripts. The thread that writes calls `refused` if the disk refuses.
    Raises OSError, NotPrivate."""

    def __init__(self, folder: str) -> None:
        private_files.make_folder(folder)
        self.folder = folder
        self.refused: Callable[[], None] = lambda: None
        self._writer = WriteBehind()
        self._limit = UnwrittenLimit(MAX_UNWRITTEN)

    def __iter__(self) -> Iterator[Transcript]:
        found = (self.of(name[: -len(SUFFIX)]) for name in sorted(os.listdir(self.folder)))
        # Reading a pipe would wait for ever.
        return (each for each in found if os.path.isfile(each.path))

    def of(self, id: str) -> Transcript:
        return Transcript(self.folder, id, self._writer, self._limit, lambda: self.refused())

    def sweep(self) -> None:
        """Remove what a crash has left of conversations during their deletion. Raises OSError."""
        for name in os.listdir(self.folder):
            id, beside = os.path.splitext(name)
            if beside == BESIDE and not os.path.exists(os.path.join(self.folder, id + SUFFIX)):
                shutil.rmtree(os.path.join(self.folder, name))

    def write(self) -> None:
        """Write everything so far of all of them."""
        self._writer.finish()


def title_of(text: str) -> str:
    """The first line of a message, shortened."""
    line = next((it.strip() for it in text.splitlines() if it.strip()), "")
    return line if len(line) <= MAX_TITLE else line[: MAX_TITLE - 1].rstrip() + "…"


def _counts(line: bytes) -> bool:
    """Whether the line counts for a summary: all lines except events, and the ends of turns."""
    return not line.startswith(EVENT) or any(end in line for end in ENDS)


def _values(event: TurnEvent) -> dict[str, Any]:
    return {
        "type": "event",
        "turn": event.turn_id,
        "number": event.number,
        "time": event.time.isoformat(),
        "body": {"type": event.body.type, **dataclasses.asdict(event.body)},
    }


def _read(file: IO[bytes], size: int, id: str, wanted: Callable[[bytes], bool]) -> History | None:
    lines = _lines(file, 0, size)
    first = next(lines, b"")
    head = _parsed(first)
    if head.get("type") == "conversation" and head.get("version") != VERSION:
        return None
    history = _history(head)
    if history is not None:
        _fill(history, filter(wanted, lines))
        return history
    return _rest(first, filter(wanted, lines), id)


def _rest(first: bytes, lines: Iterable[bytes], id: str) -> History | None:
    """The rest of a conversation whose first line is damaged; None if there is none."""
    if not ID.fullmatch(id):
        return None
    history = History(id, _workspace(first), datetime.now(timezone.utc))
    _fill(history, chain([first], lines))
    history.damaged = max(history.damaged, 1)
    if history.turns:
        history.created = history.turns[0].time
    return history if history.turns or history.changes else None


def _workspace(first: bytes) -> str:
    """The workspace in the damaged line; empty if there is none."""
    found = WORKSPACE.search(first)
    with suppress(ValueError):
        return str(json.loads(found.group(1).decode("utf-8"))) if found else ""
    return ""


def _lines(file: IO[bytes], start: int, end: int) -> Iterator[bytes]:
    file.seek(start)
    while start < end:
        line = file.readline()
        start += len(line) or end
        yield line


def _fill(history: History, lines: Iterable[bytes]) -> None:
    is_after_damage = False
    for line in lines:
        try:
            values = _parsed(line)
            if is_after_damage:
                _begin_again(history, values)
            _take(history, values)
            is_after_damage = is_after_damage and values["type"] != "message"
        except DAMAGED:
            # A crash in the middle of a line leaves an empty one.
            history.damaged += bool(line.strip())
            is_after_damage = is_after_damage or bool(line.strip())
            if history.turns and not history.turns[-1].is_over:
                history.turns[-1].is_whole = False


def _begin_again(history: History, line: Mapping[str, Any]) -> None:
    """Continue after lost lines: the message of this line's turn may be lost. Raises one of
    DAMAGED."""
    if line["type"] == "event" and line["turn"] not in {turn.id for turn in history.turns}:
        turn = PastTurn(str(line["turn"]), _time(line["time"]), "", is_whole=False)
        history.turns.append(turn)


def _starts(file: IO[bytes], at: int) -> Iterator[int]:
    """Where the turns before this place begin, the last one first. No line is parsed, because line
    feeds are only at the ends of lines."""
    following = b""
    while at > 0:
        block = min(BLOCK, at)
        at -= block
        file.seek(at)
        data = file.read(block) + following
        place = len(data)
        while True:
            place = data.rfind(MESSAGE, 0, place + len(MESSAGE) - 1)
            if place < 0:
                break
            yield at + place + 1
        following = data[: len(MESSAGE) - 1]


def _start_of(file: IO[bytes], starts: Iterator[int], turn: str) -> int | None:
    """Where the turn begins; `starts` then continue before it."""
    # As it is written: the id is the first member after the type.
    begin = MESSAGE[1:] + b'"turn":%b,' % json.dumps(turn).encode("ascii")
    for start in starts:
        file.seek(start)
        if file.read(len(begin)) == begin:
            return start
    return None


def _parsed(line: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _history(head: Mapping[str, Any]) -> History | None:
    try:
        if head["type"] != "conversation" or head["version"] != VERSION:
            return None
        return History(str(head["id"]), str(head["workspace"]), _time(head["created"]))
    except DAMAGED:
        return None


def _take(history: History, line: Mapping[str, Any]) -> None:
    """Raises one of DAMAGED."""
    kind = line["type"]
    if kind == "gap":
        raise ValueError("lines are missing")
    if kind == "change":
        history.changes.update({name: str(line[name]) for name in line if name != "type"})
    elif kind == "message":
        files = tuple(map(str, line["files"]))
        attached = tuple(Attachment(**each) for each in line.get("attachments", ()))
        time, text = _time(line["time"]), str(line["text"])
        turn = PastTurn(str(line["turn"]), time, text, files, attached)
        history.turns.append(turn)
    elif kind == "event" and history.turns and history.turns[-1].id == line["turn"]:
        turn = history.turns[-1]
        body = _body(dict(line["body"]))
        number, time = int(line["number"]), _time(line["time"])
        turn.events.append(TurnEvent(number, time, history.id, turn.id, body))


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError(f"Expected a time with a zone; got {text!r}.")
    return time


def _body(value: dict[str, Any]) -> Body:
    kind = BODIES[value["type"]]
    names = {each.name for each in dataclasses.fields(kind)}
    given = {name: value[name] for name in value if name in names}
    for name in SENTENCES.intersection(given):
        given[name] = given[name] and restored(given[name])
    if kind is events.ToolConfirmation:
        given["options"] = tuple(events.Option(**each) for each in given["options"])
        given["diff"] = events.Diff(**given["diff"]) if given.get("diff") else None
    elif kind is events.Complete:
        usage = given["usage"]
        by_model = {name: tuple(pair) for name, pair in (usage["by_model"] or {}).items()}
        given["usage"] = Usage(usage["input_tokens"], usage["output_tokens"], by_model)
    return kind(**given)
