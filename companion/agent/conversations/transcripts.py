"""The conversations on disk, so that they outlive the server: one file for each, of JSON lines that
are only ever appended.

The first line is `{"type": "conversation", "version": 1, "id", "workspace", "created"}`. Then come

    {"type": "message", "turn", "time", "text", "files", "attachments"}    what the user said
    {"type": "event", "turn", "number", "time", "body": {"type", ...}}   what came of it
    {"type": "change", "title" | "model" | "mode" | "session" | "owned" | ...}   what was set
    {"type": "gap"}   lines are missing before this one: the disk took nothing for too long

A sentence of ours in a body is {"template", "values"}, to be told in any language; what the CLI
said is a text, and so are our sentences in files of earlier releases. Times are ISO 8601 in UTC.
A line that is damaged, as the last one is after a crash, costs itself, also the first one.
Lines are written by a thread, in their order and within milliseconds of what they tell: when the
process is killed, that is what may be missing. What the user said, and how a turn ended, outlives a
power cut as soon as it is written. What the disk does not take is held and tried again; beyond a
limit, what is held longest is lost.
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
# When lines are dropped that are held; of all other types, first.
DROPPED = {"conversation": NEVER, "change": AFTER_ALL_OTHERS}
# Bytes of one file; a conversation that has more takes no messages any more.
MAX_BYTES = 64 << 20
# Bytes of all conversations that are held while the disk takes nothing.
MAX_UNWRITTEN = 64 << 20
# Seconds before a disk that has refused is tried again.
PAUSE = 1.0
# Characters of a title that is made of the first message.
MAX_TITLE = 80
# What conversations are called, and what is looked for in a first line that is damaged.
ID = re.compile("[0-9a-f]{32}")
WORKSPACE = re.compile(rb'"workspace":("(?:[^"\\]|\\.)*")')
# What a line of our own that is damaged may raise as it is read.
DAMAGED = (KeyError, TypeError, ValueError, AttributeError, OverflowError)
# The members of bodies that may be sentences of ours.
SENTENCES = frozenset({"description", "display_result", "error", "message"})
# How an event's line begins, and what the last one of a turn has in it.
EVENT = b'{"type":"event",'
# How the first line of a turn begins, after the end of the line before.
MESSAGE = b'\n{"type":"message",'
# Where lines were dropped. Who reads it takes it for a line that is damaged.
GAP = b'{"type":"gap"}\n'
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


@dataclass(frozen=True)
class Summary:
    """What is to be known of a conversation without its turns; `unfinished` are the ids of the
    turns without an end."""

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
    """A conversation as its file tells it; `changes` are the last of each kind. `workspace` is
    empty where nobody knows it any more; `damaged` counts the lines that could not be read."""

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
    """Some turns that follow each other, and whether there are earlier ones."""

    turns: tuple[PastTurn, ...]
    has_earlier: bool


# A line that is still to be written, as the values that stand in it.
Line = Union[TurnEvent, Mapping[str, Any]]


class Transcript:
    """The file of one conversation. What is told here from one thread is written by another, in
    its order and soon; what reads or removes the file blocks, and first sees to that.

    Where the disk refuses that is logged once, and `refused` called by the thread that writes; the
    conversation goes on, and what was told is tried again with what comes, and upon `write_soon`.
    What is asked of it belongs together: a method more than the twenty."""

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
        # For what belongs to the conversation beside the transcript.
        self.folder = os.path.join(folder, id + BESIDE)
        self._id = id
        self._writer = writer
        self._refused = refused
        # Whether the disk took all that it was given, and whether it takes nothing now; read by
        # others, too.
        self.is_saved, self.is_refused = True, False
        self._pending: deque[Line] = deque()
        # Held by the thread that works on the file, to which the rest belongs.
        self._working = threading.Lock()
        # What the disk has not taken so far, whether that makes the file, whether it is to outlive
        # a power cut, and when it may be tried again.
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
        """Whether the disk may take later what it refused."""
        return self.is_refused and not self._is_lost

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

    def event(self, event: TurnEvent) -> None:
        self._add(event)

    def change(self, **changes: str) -> None:
        """Titles, models, modes, or the agent's session."""
        self._add({"type": "change", **changes})

    def write_soon(self) -> None:
        """All that was told so far, by the other thread; to wake that takes a moment."""
        self._writer.soon(self.write)

    def write(self, is_last: bool = False) -> None:
        """All that was told so far; not where the disk has refused it a moment ago, unless nobody
        will try again."""
        with self._working, self._limit.apart(self._unwritten):
            self._not_before *= not is_last
            self._write_pending()

    def remove(self) -> None:
        """With the folder beside it. Raises OSError. What is told later is not written."""
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
        """None where it is no conversation of ours, or nothing is left of it. Raises OSError. May
        take a while."""
        with self._opened() as (file, size):
            return self._noted(_read(file, size, self._id, lambda line: True))

    def summary(self) -> Summary | None:
        """The same without what was said, which takes a fraction of the time and no memory."""
        with self._opened() as (file, size):
            history = self._noted(_read(file, size, self._id, _counts))
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
            has_earlier = next(starts, None) is not None
            # Before the first message that can be read, there may be what is left of others.
            start = wanted[-1] if has_earlier else 0
            return Page(self._turns(file, start, end), has_earlier)

    def since(self, turn: str) -> tuple[PastTurn, ...] | None:
        """The turn and those that follow it; None where there is no such turn. Raises OSError."""
        with self._opened() as (file, size):
            start = _start_of(file, _starts(file, size), turn)
            return None if start is None else self._turns(file, start, size)

    def _turns(self, file: IO[bytes], start: int, end: int) -> tuple[PastTurn, ...]:
        part = History(self._id, "", datetime.now(timezone.utc))
        _fill(part, _lines(file, start, end))
        self._noted(part)
        return tuple(part.turns)

    def _noted(self, history: History | None) -> History | None:
        """Log once what could not be read; an id tells nobody what was said."""
        if history is not None and history.damaged and not self._is_known_damaged:
            self._is_known_damaged = True
            what = "lines that cannot be read; the rest of it is there"
            logger.warning("conversation %s has %s (%s)", self._id, what, history.damaged)
        return history

    @contextmanager
    def _opened(self) -> Iterator[tuple[IO[bytes], int]]:
        """The file with all that was told so far, and its size then."""
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
            # A file that somebody removed is not made anew: it would be nobody's.
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
        # What was dropped is not on disk, and never will be.
        self._lacks_lines = self._lacks_lines or not self._unwritten.is_whole
        self.is_saved = not self._lacks_lines
        self.is_refused = self._is_new = self._is_lasting = False
        self._unwritten.clear()


class Transcripts:
    """The folder of all of them. `refused` is called by the thread that writes where the disk does
    not take what is said. Raises OSError, NotPrivate."""

    def __init__(self, folder: str) -> None:
        private_files.make_folder(folder)
        self.folder = folder
        self.refused: Callable[[], None] = lambda: None
        self._writer = WriteBehind()
        self._limit = UnwrittenLimit(MAX_UNWRITTEN)

    def __iter__(self) -> Iterator[Transcript]:
        found = (self.of(name[: -len(SUFFIX)]) for name in sorted(os.listdir(self.folder)))
        # A pipe would be waited for without an end.
        return (each for each in found if os.path.isfile(each.path))

    def of(self, id: str) -> Transcript:
        return Transcript(self.folder, id, self._writer, self._limit, lambda: self.refused())

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


def _counts(line: bytes) -> bool:
    """Whether the line counts for a summary: all but events, and the ends of turns."""
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
    """What is left of a conversation whose first line is damaged; None where that is nothing."""
    if not ID.fullmatch(id):
        return None
    history = History(id, _workspace(first), datetime.now(timezone.utc))
    _fill(history, chain([first], lines))
    history.damaged = max(history.damaged, 1)
    if history.turns:
        history.created = history.turns[0].time
    return history if history.turns or history.changes else None


def _workspace(first: bytes) -> str:
    """As the damaged line has it; empty where it has none."""
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
            # An empty one is left where a line was begun before a crash.
            history.damaged += bool(line.strip())
            is_after_damage = is_after_damage or bool(line.strip())
            if history.turns and not history.turns[-1].is_over:
                history.turns[-1].is_whole = False


def _begin_again(history: History, line: Mapping[str, Any]) -> None:
    """The message may be lost of the turn that the line is about. Raises one of DAMAGED."""
    if line["type"] == "event" and line["turn"] not in {turn.id for turn in history.turns}:
        turn = PastTurn(str(line["turn"]), _time(line["time"]), "", is_whole=False)
        history.turns.append(turn)


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
