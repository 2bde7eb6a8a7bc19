"""The events of a turn, as frozen values. Knows neither the agent's protocol nor the listeners.

There are the eight kinds of the API's specification, the user's message, and what agents tell
beside their answers; the last four of these belong to no turn. All text is Unicode
without half surrogate pairs, so that it can always be encoded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Mapping, Sequence, Union

from .elicitation import Field
from .failure import STREAM_ERROR
from .sentence import Words, sentence
from .session_state import Commands, ConfigOptions, ContextUsage, Plan, SessionTitle

# The states of a tool call.
PENDING, EXECUTING, COMPLETED, FAILED = "pending", "executing", "completed", "failed"

# The subjects of thoughts that are notices: about the conversation, and that the agent tries again.
WARNING, RETRYING = "Warning", "Retrying"
# Why a turn ended without an error.
END_TURN, CANCELLED, MAX_TOKENS = "end_turn", "cancelled", "max_tokens"
MAX_TURN_REQUESTS, EMPTY = "max_turn_requests", "empty"
# The decisions on a call: the six outcomes of the API's specification.
ONCE, ALWAYS, CANCEL = "proceed_once", "proceed_always", "cancel"
ALWAYS_SERVER, ALWAYS_TOOL = "proceed_always_server", "proceed_always_tool"
MODIFY = "modify_with_editor"
OUTCOMES = (ONCE, ALWAYS, ALWAYS_SERVER, ALWAYS_TOOL, MODIFY, CANCEL)
# The result of a call about which nobody could be asked.
UNATTENDED = sentence("It needs a confirmation and nobody could be asked, so it was rejected.")
# The result of a call that did not end before its turn.
CUT_SHORT = sentence("The turn ended before the tool did.")
# The most messages that wait, and the characters in all of them: each change writes all of them.
MAX_MESSAGES, MAX_CHARACTERS = 50, 200_000
# Replaces a message that the disk has lost.
LOST = "[What the user said here is lost.]"


@dataclass(frozen=True)
class Content:
    """A piece of the answer, never empty. The last of a run of pieces has `is_partial` False.
    `ahead` is known to come next, and is held back for the piece that closes the run; it is not
    kept."""

    type: ClassVar[str] = "content"
    text: str
    is_partial: bool = True
    ahead: str = ""


@dataclass(frozen=True)
class Thought:
    """A thought of the model; with the subject WARNING, a notice about the conversation for the
    user. `subject` may be empty; such thoughts that follow each other are pieces of one text."""

    type: ClassVar[str] = "thought"
    subject: str
    description: Words


@dataclass(frozen=True)
class ToolCall:
    """The model calls a tool; comes once for each call.

    `args` are the arguments known before the tool runs: for files their path, for commands the
    command; often less than `ToolResult.args`. `parent` is the id of the call of the subagent that
    has made it, or empty. One that `can_stop` is a subagent that can be stopped alone.
    """

    type: ClassVar[str] = "tool_call"
    call_id: str
    name: str
    display_name: str
    description: str
    args: Mapping[str, Any]
    requires_confirmation: bool
    parent: str = ""
    can_stop: bool = False


@dataclass(frozen=True)
class ToolExecution:
    """The state of the call: PENDING, EXECUTING, COMPLETED or FAILED; `rejected` if it failed
    because it was not allowed to run. `rule` is the user's rule by which it was allowed, if one
    did."""

    type: ClassVar[str] = "tool_execution"
    call_id: str
    name: str
    status: str
    rejected: bool = False
    rule: str = ""


@dataclass(frozen=True)
class Option:
    """One possible decision. `label` is the English word for it: the agent's, or, for what lasts,
    ours, which says what it reaches."""

    outcome: str
    label: Words


@dataclass(frozen=True)
class Diff:
    """The change that a tool makes. `path` is absolute; `old_text` is empty for a new file. Some
    agents give the texts of the changed piece only."""

    path: str
    old_text: str
    new_text: str


@dataclass(frozen=True)
class ToolConfirmation:
    """The call waits for a decision.

    `command` is what would run or be written. `args` are the arguments known so far. `options` are
    the outcomes that can be chosen for this call. `diff` is the first of its edits, `more` are the
    others. `beside` is what the agent says of it where it tells no arguments. If the agent changes
    any of this while the call waits, another one follows, and this one is over.
    """

    type: ClassVar[str] = "tool_confirmation"
    call_id: str
    name: str
    display_name: str
    description: str
    command: str
    args: Mapping[str, Any]
    options: tuple[Option, ...]
    diff: Diff | None = None
    more: tuple[Diff, ...] = ()
    beside: str = ""

    @property
    def diffs(self) -> tuple[Diff, ...]:
        """All of its edits."""
        return (*([self.diff] if self.diff else []), *self.more)


@dataclass(frozen=True)
class ToolOutput:
    """The end of what a running call has put out so far: `before` characters come before it, and
    all of it has so many line ends. What is told so is told once, and not kept: the turn's event
    has the number 0, and its result has the output."""

    type: ClassVar[str] = "tool_output"
    call_id: str
    text: str
    before: int
    line_ends: int


@dataclass(frozen=True)
class ToolResult:
    """The result of the call; the last event about it.

    `result` is what the model gets. `display_result` is what the tool shows to a person, often
    nothing. `args` are the arguments known now. `error` says why the call failed. A rejected call
    counts as failed, because it was not allowed to run. `unasked` are edits of files that nobody
    was asked about; a failed call has them if a file holds something else than the agent reported.
    `written` are the edits that the user's texts have made in the place of the agent's. `changed`
    are the paths of all files that the call has changed, as far as that is known.
    """

    type: ClassVar[str] = "tool_result"
    call_id: str
    name: str
    args: Mapping[str, Any]
    result: str
    display_result: Words
    success: bool
    error: Words | None = None
    rejected: bool = False
    unasked: tuple[Diff, ...] = ()
    changed: tuple[str, ...] = ()
    written: tuple[Diff, ...] = ()


@dataclass(frozen=True)
class Resource:
    """Something beside the text: of an answer, or of the result of the call `call_id`, and then
    before that result. `kind` is LINK, TEXT, IMAGE or OTHER, of which nothing can be shown.

    `uri` is its address, `name` and `description` are for people; each may be empty. `text` is the
    beginning of a TEXT that `is_long`, else all of it. `size` is in bytes, 0 if it is not known.
    An IMAGE that was kept has an id, the name of its file, and its `width` and `height` in pixels,
    0 where they are not known; of one that was not kept `image` is empty.
    """

    LINK: ClassVar[str] = "link"
    TEXT: ClassVar[str] = "text"
    IMAGE: ClassVar[str] = "image"
    OTHER: ClassVar[str] = "other"
    type: ClassVar[str] = "resource"
    kind: str
    call_id: str = ""
    uri: str = ""
    name: str = ""
    description: str = ""
    media_type: str = ""
    text: str = ""
    size: int = 0
    is_long: bool = False
    image: str = ""
    file: str = ""
    width: int = 0
    height: int = 0


@dataclass(frozen=True)
class Usage:
    """Tokens as the model counted them, by the model's name if several took part."""

    input_tokens: int = 0
    output_tokens: int = 0
    by_model: Mapping[str, tuple[int, int]] | None = None


@dataclass(frozen=True)
class Complete:
    """The turn is over. `reason` is END_TURN, CANCELLED, MAX_TOKENS, MAX_TURN_REQUESTS (also for
    the CLI's own detection of loops) or EMPTY (the model said nothing, or was blocked). `mode` and
    `model` are the names of those that the agent had at its end, empty where it tells none."""

    type: ClassVar[str] = "complete"
    reason: str
    usage: Usage
    mode: str = ""
    model: str = ""

    @property
    def success(self) -> bool:
        return self.reason == END_TURN


@dataclass(frozen=True)
class Error:
    """The turn broke off; no `Complete` follows. `code` is one of those in `failure`. `message` is
    a sentence; `details` are more of it, or empty."""

    type: ClassVar[str] = "error"
    code: str
    message: Words
    details: str = ""


# The end of a turn during which the server ended.
BROKEN_OFF = Error(STREAM_ERROR, sentence("The server ended before this turn did."))


@dataclass(frozen=True)
class Attachment:
    """An image or a document of a conversation. `name` is the user's name for it, without a folder.
    `size` is in bytes."""

    id: str
    name: str
    media_type: str
    size: int


@dataclass(frozen=True)
class Addition:
    """A part of a message's text that the user has not typed: those of a message stand at its end,
    each after a blank line. `kind` and `name` say what it is, `size` is in code points."""

    kind: str
    name: str
    size: int


@dataclass(frozen=True)
class Message:
    """The user's message, which begins a turn; not among the events of the turn itself. `files` are
    the paths of the files to read with it."""

    type: ClassVar[str] = "message"
    text: str
    files: tuple[str, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    additions: tuple[Addition, ...] = ()


@dataclass(frozen=True)
class Elicitation:
    """The agent asks the user something else than for a decision on a call. `mode`, `fields` and
    `url` are as in `elicitation`. `call_id` is the id of the call that it belongs to, or
    empty."""

    type: ClassVar[str] = "elicitation"
    id: str
    mode: str
    message: str
    fields: tuple[Field, ...] = ()
    url: str = ""
    call_id: str = ""


@dataclass(frozen=True)
class ElicitationAnswered:
    """The question waits no more. `action` is one of `elicitation`; what was answered stays
    between user and agent."""

    type: ClassVar[str] = "elicitation_answered"
    id: str
    action: str


@dataclass(frozen=True)
class MessageAdded:
    """A message of the queue was passed into the turn."""

    type: ClassVar[str] = "message_added"
    id: str
    text: str
    additions: tuple[Addition, ...] = ()


@dataclass(frozen=True)
class QueuedMessage:
    """A message that waits for its turn. `time` is in UTC. `given` are the files that were named
    beside the text, `files` all that go with it."""

    id: str
    text: str
    time: datetime
    given: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    additions: tuple[Addition, ...] = ()


@dataclass(frozen=True)
class Queue:
    """All messages that wait, the next one first. `is_held` says that nothing is sent by itself,
    `problem` why the first one could not be sent, or is empty. `passing` is the id of the one that
    the agent gets within the turn, as soon as it asks, or is empty."""

    type: ClassVar[str] = "queue"
    messages: tuple[QueuedMessage, ...]
    is_held: bool
    problem: Words = ""
    passing: str = ""


Body = Union[
    Content,
    Thought,
    ToolCall,
    ToolExecution,
    ToolConfirmation,
    ToolOutput,
    ToolResult,
    Resource,
    Complete,
    Error,
    Message,
    Plan,
    ContextUsage,
    Elicitation,
    ElicitationAnswered,
    MessageAdded,
    ConfigOptions,
    SessionTitle,
    Commands,
    Queue,
]
# They come in the middle of a text without ending it.
BESIDE = (Plan, ContextUsage)
# They are for those who look on while they come, and for nobody later.
PASSING = (ToolOutput,)


@dataclass(frozen=True)
class TurnEvent:
    """A body with its place. `number` counts the turn's events from 1 (a Message has 0, and so has
    what is not kept). `time` is
    in UTC. `session_id` is the conversation's and stays the same when the agent is restarted. What
    belongs to no turn has the number 0 and an empty `turn_id`."""

    number: int
    time: datetime
    session_id: str
    turn_id: str
    body: Body

    @property
    def id(self) -> str:
        """The event's id, which no other event of any turn has."""
        return f"{self.turn_id}.{self.number}"

    @property
    def is_last(self) -> bool:
        return isinstance(self.body, (Complete, Error))


@dataclass
class PastTurn:
    """A message of the user with its events; `time` is in UTC. `is_whole` is False if some of it
    could not be read; a lost message has no text."""

    id: str
    time: datetime
    text: str
    files: tuple[str, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    events: list[TurnEvent] = field(default_factory=list)
    is_whole: bool = True
    additions: tuple[Addition, ...] = ()

    @property
    def is_over(self) -> bool:
        return bool(self.events) and self.events[-1].is_last

    @property
    def last_time(self) -> datetime:
        return self.events[-1].time if self.events else self.time

    @property
    def message_text(self) -> str:
        """The user's message, and the names of the attachments."""
        names = ", ".join(attachment.name for attachment in self.attachments)
        text = self.text or ("" if self.is_whole else LOST)
        return f"{text}\n[Attached: {names}]" if names else text


def sum_of(usages: Sequence[Usage]) -> Usage:
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
