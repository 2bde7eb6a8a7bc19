"""The conversations on disk, so that they outlive the server: one file for each, of JSON lines that
are only ever appended.

The first line is `{"type": "conversation", "version": 1, "id", "workspace", "created"}`. Then come

    {"type": "message", "turn", "time", "text", "files", "attachments"}    what the user said
    {"type": "event", "turn", "number", "time", "body": {"type", ...}}   what came of it
    {"type": "change", "title" | "model" | "mode" | "session" | "owned" | ...}   what was set

A sentence of ours in a body is {"template", "values"}, to be told in any language; what the CLI
said is a text, and so are our sentences in files of earlier releases. Times are ISO 8601 in UTC.
A line that is damaged, as the last one is after a crash, costs itself.
Lines are written by a thread, in their order and within milliseconds of what they tell: when the
process is killed, that is what may be missing.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import threading
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import islice
from typing import IO, Any, Callable, Iterable, Iterator, Mapping, Union

from ..base import private_files
from ..base.log import logger
from ..base.write_behind import WriteBehind
from . import events
from .events import Attachment, Body, Event, Usage
from .sentence import restored
from .surrogates import clean

VERSION = 1
SUFFIX, BESIDE = ".jsonl", ".files"
# Bytes of one file; a conversation that has more takes no messages any more.
MAX_BYTES = 64 << 20
# Characters of a title that is made of the first message.
MAX_TITLE = 80
# What a line of our own that is damaged may raise as it is read.
DAMAGED = (KeyError, TypeError, ValueError, AttributeError, OverflowError)
# The members of bodies that may be sentences of ours.
SENTENCES = frozenset({"description", "display_result", "error", "message"})
# How an event's line begins, and what the last one of a turn has in it.
EVENT = b'{"type":"event",'
# How the first line of a turn begins, after the end of the line before.
MESSAGE = b'\n{"type":"message",'
# Bytes that are read at a time on the way from the end of a file to its beginning.
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


@dataclass
class PastTurn:
    """A message of the user, and the events that came of it; `time` is in UTC."""

    id: str
    time: datetime
    text: str
    files: tuple[str, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    events: list[Event] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        return bool(self.events) and self.events[-1].is_last

    @property
    def last_time(self) -> datetime:
        return self.events[-1].time if self.events else self.time


@dataclass(frozen=True)
class Summary:
    """What is to be known of a conversation without its turns; `changes` are the last of each kind,
    `unfinished` are the ids of the turns without an end."""

    id: str
    workspace: str
    created: datetime
    last_used: datetime
    title: str = ""
    turns: int = 0
    usage: Usage = Usage()
    changes: Mapping[str, str] = field(default_factory=dict)
    unfinished: frozenset[str] = frozenset()


@dataclass
class History:
    """A conversation as its file tells it; `changes` are the last of each kind."""

    id: str
    workspace: str
    created: datetime
    turns: list[PastTurn] = field(default_factory=list)
    changes: dict[str, str] = field(default_factory=dict)

    @property
    def last_used(self) -> datetime:
        return self.turns[-1].time if self.turns else self.created

    @property
    def title(self) -> str:
        return self.changes.get("title") or title_of(self.turns[0].text if self.turns else "")

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
            self.changes,
            frozenset(turn.id for turn in self.turns if not turn.is_over),
        )


@dataclass(frozen=True)
class Page:
    """Some turns that follow each other, and whether there are earlier ones."""

    turns: tuple[PastTurn, ...]
    has_earlier: bool


# A line that is still to be written, as the values that stand in it.
Line = Union[Event, Mapping[str, Any]]


class Transcript:
    """The file of one conversation. What is told here from one thread is written by another, in
    its order and soon; what reads or removes the file blocks, and first sees to that.

    What cannot be written is logged once, and the conversation goes on: `is_complete` then is
    False."""

    def __init__(self, folder: str, id: str, writer: WriteBehind) -> None:
        self.path = os.path.join(folder, id + SUFFIX)
        # For what belongs to the conversation beside the transcript.
        self.folder = os.path.join(folder, id + BESIDE)
        self.is_complete = True
        self._id = id
        self._writer = writer
        self._pending: deque[Line] = deque()
        # Held by the thread that works on the file, to which the rest belongs.
        self._working = threading.Lock()
        # Whether the file is known to end with a whole line.
        self._ends_whole = False
        self._is_removed = False
        self._size = 0

    @property
    def is_full(self) -> bool:
        return self._size >= MAX_BYTES

    def begin(self, workspace: str, created: datetime) -> None:
        """Make the file. What comes later goes into this file only: a new one in the place of one
        that somebody removed would be nobody's conversation."""
        line = {"type": "conversation", "version": VERSION, "id": self._id}
        self._add({**line, "workspace": workspace, "created": created.isoformat()})

    def message(self, turn: str, said: events.Message) -> None:
        """Written with what is told next, or upon `write_soon`: it need not hold up the message."""
        now = datetime.now(timezone.utc).isoformat()
        self._pending.append(
            {"type": "message", "turn": turn, "time": now, **dataclasses.asdict(said)}
        )

    def event(self, event: Event) -> None:
        self._add(event)

    def change(self, **changes: str) -> None:
        """Titles, models, modes, or the agent's session."""
        self._add({"type": "change", **changes})

    def write_soon(self) -> None:
        """All that was told so far, by the other thread; to wake that takes a moment."""
        self._writer.soon(self.write)

    def write(self) -> None:
        """All that was told so far."""
        with self._working:
            self._write_pending()

    def remove(self) -> None:
        """With the folder beside it. Raises OSError. What is told later is not written."""
        with self._working:
            with suppress(FileNotFoundError):
                os.unlink(self.path)
            self._is_removed = True
            self._pending.clear()
            try:
                shutil.rmtree(self.folder)
            except FileNotFoundError:
                pass
            except OSError as error:
                # The next start tries again.
                logger.warning("files of a deleted conversation are still there: %s", error)

    def read(self) -> History | None:
        """None where it is no conversation of ours. Raises OSError. It may take a while."""
        with self._opened() as (file, size):
            return _read(file, size, lambda line: True)

    def summary(self) -> Summary | None:
        """The same without what was said, which takes a fraction of the time and no memory."""
        with self._opened() as (file, size):
            history = _read(file, size, _counts)
        return None if history is None else history.summary

    def page(self, limit: int, before: str | None) -> Page | None:
        """The last `limit` turns; those before the turn `before`, where that is given, and None
        where there is no such turn. Reads no more of the file than it has to. Raises OSError."""
        with self._opened() as (file, size):
            starts = _starts(file, size)
            end = size if before is None else _start_of(file, starts, before)
            if end is None:
                return None
            wanted = list(islice(starts, limit))
            turns = _turns(file, self._id, wanted[-1] if wanted else end, end)
            return Page(turns, next(starts, None) is not None)

    def since(self, turn: str) -> tuple[PastTurn, ...] | None:
        """The turn and those that follow it; None where there is no such turn. Raises OSError."""
        with self._opened() as (file, size):
            start = _start_of(file, _starts(file, size), turn)
            return None if start is None else _turns(file, self._id, start, size)

    @contextmanager
    def _opened(self) -> Iterator[tuple[IO[bytes], int]]:
        """The file with all that was told so far, and its size then."""
        with self._working:
            self._write_pending()
            file = open(self.path, "rb")
            self._size = size = os.fstat(file.fileno()).st_size
        with file:
            yield file, size

    def _add(self, line: Line) -> None:
        self._pending.append(line)
        self.write_soon()

    def _write_pending(self) -> None:
        data = bytearray()
        is_new = False
        while self._pending:
            line = self._pending.popleft()
            values = _values(line) if isinstance(line, Event) else line
            is_new = is_new or values["type"] == "conversation"
            text = json.dumps(clean(values), ensure_ascii=False, separators=(",", ":"))
            data += text.encode("utf-8") + b"\n"
        if data and not self._is_removed:
            self._write(bytes(data), os.O_CREAT if is_new else 0)

    def _write(self, data: bytes, how: int) -> None:
        try:
            flags = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0) | how
            descriptor = os.open(self.path, flags, 0o600)
            with open(descriptor, "a+b") as file:
                # After a crash, or on a full disk, a line may have been begun only.
                start = b"" if self._ends_whole or _ends_whole(file) else b"\n"
                self._ends_whole = False
                file.write(start + data)
                self._size = file.tell()
            self._ends_whole = True
        except OSError as error:
            if self.is_complete:
                logger.error("a conversation cannot be written down: %s", error)
            self.is_complete = False


class Transcripts:
    """The folder of all of them. Raises OSError, NotPrivate."""

    def __init__(self, folder: str) -> None:
        private_files.make_folder(folder)
        self.folder = folder
        self._writer = WriteBehind()

    def __iter__(self) -> Iterator[Transcript]:
        found = (self.of(name[: -len(SUFFIX)]) for name in sorted(os.listdir(self.folder)))
        # A pipe would be waited for without an end.
        return (each for each in found if os.path.isfile(each.path))

    def of(self, id: str) -> Transcript:
        return Transcript(self.folder, id, self._writer)

    def sweep(self) -> None:
        """Remove what a crash has left of conversations that were being deleted. Raises OSError."""
        for name in os.listdir(self.folder):
            id, beside = os.path.splitext(name)
            if beside == BESIDE and not os.path.exists(os.path.join(self.folder, id + SUFFIX)):
                shutil.rmtree(os.path.join(self.folder, name))

    def write(self) -> None:
        """All that any of them was told so far."""
        self._writer.finish()


def title_of(text: str) -> str:
    """The first line of a message, shortened."""
    line = next((it.strip() for it in text.splitlines() if it.strip()), "")
    return line if len(line) <= MAX_TITLE else line[: MAX_TITLE - 1].rstrip() + "…"


def sum_of(usages: list[Usage]) -> Usage:
    by_model: dict[str, tuple[int, int]] = {}
    for usage in usages:
        for name, (given, taken) in (usage.by_model or {}).items():
            before = by_model.get(name, (0, 0))
            by_model[name] = before[0] + given, before[1] + taken
    return Usage(
        sum(usage.input_tokens for usage in usages),
        sum(usage.output_tokens for usage in usages),
        by_model,
    )


def _counts(line: bytes) -> bool:
    """Whether the line counts for a summary: all but events, and the ends of turns."""
    return not line.startswith(EVENT) or any(end in line for end in ENDS)


def _values(event: Event) -> dict[str, Any]:
    return {
        "type": "event",
        "turn": event.turn_id,
        "number": event.number,
        "time": event.time.isoformat(),
        "body": {"type": event.body.type, **dataclasses.asdict(event.body)},
    }


def _read(file: IO[bytes], size: int, wanted: Callable[[bytes], bool]) -> History | None:
    lines = _lines(file, 0, size)
    history = _history(_parsed(next(lines, b"")))
    if history is not None:
        _fill(history, filter(wanted, lines))
    return history


def _turns(file: IO[bytes], id: str, start: int, end: int) -> tuple[PastTurn, ...]:
    part = History(id, "", datetime.now(timezone.utc))
    _fill(part, _lines(file, start, end))
    return tuple(part.turns)


def _lines(file: IO[bytes], start: int, end: int) -> Iterator[bytes]:
    file.seek(start)
    while start < end:
        line = file.readline()
        start += len(line) or end
        yield line


def _fill(history: History, lines: Iterable[bytes]) -> None:
    for line in lines:
        with suppress(*DAMAGED):
            _take(history, _parsed(line))


def _starts(file: IO[bytes], at: int) -> Iterator[int]:
    """Where the turns before this place begin, the last one first; without parsing a line, for a
    line feed stands at the ends of lines only."""
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
    """Where the turn begins; `starts` then go on before it."""
    # As it is written: the id is the first member after the type.
    begin = MESSAGE[1:] + b'"turn":%b,' % json.dumps(turn).encode("ascii")
    for start in starts:
        file.seek(start)
        if file.read(len(begin)) == begin:
            return start
    return None


def _ends_whole(file: IO[bytes]) -> bool:
    """Whether the file is empty or ends with a line feed."""
    if not file.seek(0, os.SEEK_END):
        return True
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


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
        turn.events.append(Event(number, time, history.id, turn.id, body))


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
