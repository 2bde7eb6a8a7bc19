"""Reads the file of a conversation: all of it, a summary, or some of its turns. `transcripts` says
what such a file contains."""

from __future__ import annotations

import dataclasses
import json
import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import chain, islice
from typing import IO, Any, Callable, ContextManager, Iterable, Iterator, Mapping, NamedTuple, Tuple

from ...base.log import logger
from .. import turn_events as events
from ..elicitation import Field
from ..sentence import restore_words
from ..session_state import ContextUsage, Cost, OptionChoice, Plan, PlanEntry
from ..turn_events import Attachment, Body, PastTurn, TurnEvent, Usage, sum_of
from .conversation_state import ConversationState, additions_of, queue_of, queue_text
from .text_search import SearchWords

VERSION = 1
# Earlier than everything.
FIRST = datetime.min.replace(tzinfo=timezone.utc)
# Characters of a title that is made from the first message.
MAX_TITLE = 80
# The ids of conversations; also searched for in a damaged first line.
ID = re.compile("[0-9a-f]{32}")
WORKSPACE = re.compile(rb'"workspace":("(?:[^"\\]|\\.)*")')
# Errors that a damaged line of our own may raise when it is read.
DAMAGED = (KeyError, TypeError, ValueError, AttributeError, OverflowError)
# The members of bodies that may be sentences of ours.
SENTENCES = frozenset({"description", "display_result", "error", "message"})
# The beginning of an event's line, and parts of those that count for a summary.
EVENT = b'{"type":"event",'
COUNTING = tuple(
    b'"body":{"type":"%b"' % kind for kind in (b"complete", b"error", b"message_added")
)
# The beginning of the first line of a turn, after the end of the line before.
MESSAGE = b'\n{"type":"message",'
# Bytes that are read at a time from the end of a file towards its beginning.
BLOCK = 1 << 18
BODIES = {
    body.type: body
    for body in (
        events.Content,
        events.Thought,
        events.ToolCall,
        events.ToolExecution,
        events.ToolConfirmation,
        events.ToolResult,
        events.Resource,
        events.Complete,
        events.Error,
        events.Elicitation,
        events.ElicitationAnswered,
        events.MessageAdded,
        Plan,
        ContextUsage,
    )
}


class ConversationSummary(NamedTuple):
    """The data of a conversation without its turns. `unfinished` are the ids of the turns without
    an end. Thousands are kept, so they are small."""

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
    if it is not known. `damaged` counts the lines that could not be read. `used` is the place of
    the last message in the order of use, if there is a message."""

    id: str
    workspace: str
    created: datetime
    turns: list[PastTurn] = field(default_factory=list)
    changes: dict[str, str] = field(default_factory=dict)
    damaged: int = 0
    used: datetime | None = None

    @property
    def last_used(self) -> datetime:
        return self.used or (self.turns[-1].time if self.turns else self.created)

    @property
    def title(self) -> str:
        first = next((turn.text for turn in self.turns if turn.text), "")
        told = self.changes.get("title") or self.changes.get("agent_title")
        return told or title_of(first)

    @property
    def usage(self) -> Usage:
        last = [turn.events[-1].body for turn in self.turns if turn.events]
        return sum_of([body.usage for body in last if isinstance(body, events.Complete)])

    @property
    def summary(self) -> ConversationSummary:
        return ConversationSummary(
            self.id,
            self.workspace,
            self.created,
            self.last_used,
            self.title,
            len(self.turns),
            self.usage,
            ConversationState.from_changes(self.changes),
            frozenset(turn.id for turn in self.turns if not turn.is_over),
        )


@dataclass(frozen=True)
class TurnPage:
    """Some successive turns, and whether there are earlier ones."""

    turns: tuple[PastTurn, ...]
    has_earlier: bool


# The file with everything that was said so far, and its size at that moment.
Opened = ContextManager[Tuple[IO[bytes], int]]


class TranscriptReader:
    """Reads the file of the conversation `id`; `opened` opens it each time. All methods block."""

    def __init__(self, id: str, opened: Callable[[], Opened]) -> None:
        self._id = id
        self._opened = opened
        self._is_known_damaged = False

    def read_history(self) -> History | None:
        """None if it is not a conversation of ours, or nothing of it is left. Raises OSError. May
        take a while."""
        with self._opened() as (file, size):
            return self._log_damage(_read_history(file, size, self._id, lambda line: True))

    def read_summary(self) -> ConversationSummary | None:
        """The conversation as `read_history` gives it, without what was said; needs little time and
        no memory."""
        with self._opened() as (file, size):
            history = self._log_damage(_read_history(file, size, self._id, _counts_for_summary))
        return None if history is None else history.summary

    def is_of_later_release(self) -> bool:
        """Whether a later release has written it in another form; not if it is gone. Raises
        OSError."""
        try:
            with self._opened() as (file, size):
                head = _parse_line(next(_lines_between(file, 0, size), b""))
        except FileNotFoundError:
            return False
        version = head.get("version")
        is_ours = head.get("type") == "conversation"
        return is_ours and isinstance(version, int) and version > VERSION

    def read_page(self, limit: int, before: str | None) -> TurnPage | None:
        """The last `limit` turns; with `before`, the last ones before that turn. None if there is
        no such turn. Reads only the needed part of the file. Raises OSError."""
        with self._opened() as (file, size):
            starts = _turn_starts(file, size)
            end = size if before is None else _start_of(file, starts, before)
            if end is None:
                return None
            wanted = list(islice(starts, limit))
            has_earlier = next(starts, None) is not None
            # Before the first readable message there may be remains of other turns.
            start = wanted[-1] if has_earlier else 0
            return TurnPage(self._read_turns(file, start, end), has_earlier)

    def read_since(self, turn: str) -> tuple[PastTurn, ...] | None:
        """The turn and those after it; None if there is no such turn. Raises OSError."""
        with self._opened() as (file, size):
            start = _start_of(file, _turn_starts(file, size), turn)
            return None if start is None else self._read_turns(file, start, size)

    @contextmanager
    def said_until(self, turn: str | None) -> Iterator[Iterator[bytes] | None]:
        """The lines up to the end of this turn, or of the last one; None if there is no such turn.
        Raises OSError."""
        with self._opened() as (file, size):
            end = size if turn is None else _end_of(file, size, turn)
            yield None if end is None else _lines_between(file, 0, end)

    def find_excerpt(self, words: SearchWords) -> tuple[str, int]:
        """An excerpt with the words, "" if nobody said them, and the bytes of the file. Raises
        OSError."""
        with self._opened() as (file, size):
            return words.find_excerpt(file), size

    def _read_turns(self, file: IO[bytes], start: int, end: int) -> tuple[PastTurn, ...]:
        part = History(self._id, "", datetime.now(timezone.utc))
        _fill_history(part, _lines_between(file, start, end))
        self._log_damage(part)
        return tuple(part.turns)

    def _log_damage(self, history: History | None) -> History | None:
        """Log once that something could not be read, with the id, which reveals nothing."""
        if history is not None and history.damaged and not self._is_known_damaged:
            self._is_known_damaged = True
            what = "lines that cannot be read; the rest of it is there"
            logger.warning("conversation %s has %s (%s)", self._id, what, history.damaged)
        return history


def title_of(text: str) -> str:
    """The first line of a message, shortened."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= MAX_TITLE else line[: MAX_TITLE - 1].rstrip() + "…"


def _counts_for_summary(line: bytes) -> bool:
    """Whether the line counts for a summary: all lines except events, and of these the ends of
    turns and the messages that were passed into them."""
    return not line.startswith(EVENT) or any(part in line for part in COUNTING)


def _read_history(
    file: IO[bytes], size: int, id: str, wanted: Callable[[bytes], bool]
) -> History | None:
    lines = _lines_between(file, 0, size)
    first = next(lines, b"")
    head = _parse_line(first)
    if head.get("type") == "conversation" and head.get("version") != VERSION:
        return None
    history = _begin_history(head)
    if history is not None:
        _fill_history(history, filter(wanted, lines))
        return history
    return _read_rest(first, filter(wanted, lines), id)


def _read_rest(first: bytes, lines: Iterable[bytes], id: str) -> History | None:
    """The rest of a conversation whose first line is damaged; None if there is none."""
    if not ID.fullmatch(id):
        return None
    history = History(id, _damaged_workspace(first), datetime.now(timezone.utc))
    _fill_history(history, chain([first], lines))
    history.damaged = max(history.damaged, 1)
    if history.turns:
        history.created = history.turns[0].time
    return history if history.turns or history.changes else None


def _damaged_workspace(first: bytes) -> str:
    """The workspace in the damaged line; empty if there is none."""
    found = WORKSPACE.search(first)
    with suppress(ValueError):
        return str(json.loads(found.group(1).decode("utf-8"))) if found else ""
    return ""


def _lines_between(file: IO[bytes], start: int, end: int) -> Iterator[bytes]:
    file.seek(start)
    while start < end:
        line = file.readline()
        start += len(line) or end
        yield line


def _fill_history(history: History, lines: Iterable[bytes]) -> None:
    is_after_damage = False
    for line in lines:
        try:
            values = _parse_line(line)
            if is_after_damage:
                _begin_again(history, values)
            _add_line(history, values)
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
        turn = PastTurn(str(line["turn"]), _parse_time(line["time"]), "", is_whole=False)
        history.turns.append(turn)
        history.used = None


def _turn_starts(file: IO[bytes], at: int) -> Iterator[int]:
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


def _end_of(file: IO[bytes], size: int, turn: str) -> int | None:
    """Where the turn ends."""
    end = size
    for start in _turn_starts(file, size):
        if _start_of(file, iter((start,)), turn) is not None:
            return end
        end = start
    return None


def _parse_line(line: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _begin_history(head: Mapping[str, Any]) -> History | None:
    try:
        if head["type"] != "conversation" or head["version"] != VERSION:
            return None
        return History(str(head["id"]), str(head["workspace"]), _parse_time(head["created"]))
    except DAMAGED:
        return None


def _add_line(history: History, line: Mapping[str, Any]) -> None:
    """Raises one of DAMAGED."""
    kind = line["type"]
    if kind == "gap":
        raise ValueError("lines are missing")
    if kind == "change":
        history.changes.update({name: str(line[name]) for name in line if name != "type"})
    elif kind == "message":
        files = tuple(map(str, line["files"]))
        attached = tuple(Attachment(**each) for each in line.get("attachments", ()))
        time, text = _parse_time(line["time"]), str(line["text"])
        history.used = _parse_time(line["used"]) if "used" in line else time
        turn = PastTurn(str(line["turn"]), time, text, files, attached)
        turn.additions = additions_of(line)
        history.turns.append(turn)
        if "queued" in line:
            _take_from_queue(history.changes, str(line["queued"]))
    elif kind == "event" and history.turns and history.turns[-1].id == line["turn"]:
        turn = history.turns[-1]
        body = _parse_body(dict(line["body"]))
        number, time = int(line["number"]), _parse_time(line["time"])
        turn.events.append(TurnEvent(number, time, history.id, turn.id, body))
        if isinstance(body, events.MessageAdded):
            _take_from_queue(history.changes, body.id)


def _take_from_queue(changes: dict[str, str], id: str) -> None:
    """It was sent, also where the server ended before it could write down what still waits."""
    left = [each for each in queue_of(changes.get("queue", "[]")) if each.id != id]
    changes["queue"] = queue_text(left)


def _parse_time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError(f"Expected a time with a zone; got {text!r}.")
    return time


def _parse_body(value: dict[str, Any]) -> Body:
    kind = BODIES[value["type"]]
    names = {each.name for each in dataclasses.fields(kind)}
    given = {name: value[name] for name in value if name in names}
    for name in SENTENCES.intersection(given):
        given[name] = given[name] and restore_words(given[name])
    if kind is events.ToolConfirmation:
        given["options"] = tuple(
            events.Option(option["outcome"], restore_words(option["label"]))
            for option in given["options"]
        )
        given["diff"] = events.Diff(**given["diff"]) if given.get("diff") else None
        given["more"] = _parse_diffs(given.get("more"))
    elif kind is events.ToolResult:
        given["unasked"] = _parse_diffs(given.get("unasked"))
        given["written"] = _parse_diffs(given.get("written"))
        given["changed"] = tuple(given.get("changed") or ())
    elif kind is Plan:
        given["entries"] = tuple(PlanEntry(**each) for each in given["entries"])
    elif kind is ContextUsage:
        given["cost"] = Cost(**given["cost"]) if given.get("cost") else None
    elif kind is events.MessageAdded:
        given["additions"] = additions_of(given)
    elif kind is events.Elicitation:
        given["fields"] = tuple(_parse_field(each) for each in given["fields"])
    elif kind is events.Complete:
        usage = given["usage"]
        by_model = {name: tuple(pair) for name, pair in (usage["by_model"] or {}).items()}
        given["usage"] = Usage(usage["input_tokens"], usage["output_tokens"], by_model)
    return kind(**given)


def _parse_diffs(value: Any) -> tuple[events.Diff, ...]:
    return tuple(events.Diff(**each) for each in value or ())


def _parse_field(value: dict[str, Any]) -> Field:
    choices = tuple(OptionChoice(**each) for each in value["choices"])
    default = value["default"]
    default = tuple(default) if isinstance(default, list) else default
    return Field(**{**value, "choices": choices, "default": default})
