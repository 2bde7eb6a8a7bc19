"""The messages of the Agent Client Protocol as frozen values, and the form of version 1. What
another version has in another form is read and made beside (`version_2`); only this folder knows
the protocol's names.

An optional member of the wrong type counts as missing. A message whose needed member is missing or
of the wrong type is not read; the error says why.

Source: the Agent Client Protocol's schema, version 1; docs/gemini-cli-acp.md 2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Generic, Mapping, Sequence, TypeVar, Union

from ...base import jsonrpc
from .. import elicitation, session_state
from ..auth_method import BY_AGENT, BY_PROGRAM, AuthMethod
from ..elicitation import ElicitationRequest
from ..session_state import BOOLEAN, ConfigOption, ConfigOptions, StateUpdate
from ..wording.surrogates import clean_surrogates
from .content_blocks import ContentBlock, read_block
from .members import SHOWN, Unreadable, object_of, objects_of, required_text, text_of
from .terminal_messages import TerminalRequest, read_terminal_request

# Methods of the agent's requests, and its notification.
ASK_PERMISSION = "session/request_permission"
READ_FILE, WRITE_FILE = "fs/read_text_file", "fs/write_text_file"
UPDATE = "session/update"
# Of both sides: the answer to a request of theirs is not wanted any more.
CANCEL_REQUEST = "$/cancel_request"
# How to open a session that remembers: LOAD repeats everything that was said, RESUME nothing.
LOAD, RESUME = "session/load", "session/resume"
FORK = "session/fork"
# A convention of agents beside the protocol: a message for the turn that runs.
STEER = "_session/steering"
# The kinds of an option that answers a permission request.
ALLOW_ONCE, ALLOW_ALWAYS = "allow_once", "allow_always"
REJECT_ONCE, REJECT_ALWAYS = "reject_once", "reject_always"
# A convention of agents beside the protocol: what a command has put out since the update before.
OUTPUT_DELTA = "terminal_output_delta"
# What a compaction is as a call: the beginning of its id, its title, its kind, and the statuses of
# a call by its own; a word that is not known counts as the first.
COMPACTION, COMPACTING = "compaction-", "Compact the conversation"
COMPACTION_KIND = "think"
# What a subagent with a session of its own is as a call.
SUBAGENT_KIND = "subagent"
COMPACTION_STATUSES = {
    "in_progress": "in_progress",
    "completed": "completed",
    "failed": "failed",
    "cancelled": "failed",
}

Meta = Mapping[str, Any]
T = TypeVar("T")


# Messages from the agent.


@dataclass(frozen=True)
class UserMessageChunk:
    """A piece of what the user said, repeated when a session is loaded."""

    text: str


@dataclass(frozen=True)
class AgentMessageChunk:
    """A piece of the answer. It may begin or end with half a character (`surrogates`). `meta` is
    the agent's own. Where it is no text, `blocks` has it. `parent` is the id of the call of the
    subagent that says it, or empty."""

    text: str
    meta: Meta = field(default_factory=dict)
    blocks: tuple[ContentBlock, ...] = ()
    parent: str = ""


@dataclass(frozen=True)
class AgentThoughtChunk:
    text: str


@dataclass(frozen=True)
class Notice:
    """Something that the user should know and that is no part of the conversation. `severity` is
    "info", "warning", "error" or another word of the agent; `description` may be empty."""

    severity: str
    title: str
    description: str = ""

    @property
    def text(self) -> str:
        return f"{self.title}\n{self.description}" if self.description else self.title


@dataclass(frozen=True)
class FileDiff:
    """`path` is absolute; `old_text` is empty for a new file."""

    path: str
    old_text: str
    new_text: str


@dataclass(frozen=True)
class ToolCallUpdate:
    """New information about a tool call; members without news are empty. `kind` is "edit",
    "execute", "read", ...; `status` is "pending", "in_progress", "completed" or "failed". `texts`
    and `diffs` are its content, which `has_content` if it is given, even an empty one; `paths` are
    its locations. `raw_input` are the tool's arguments, None if they are not given. `raw_output` is
    the tool's own result, of any type. `meta` is the agent's own. `output` is a piece of what a
    command puts out, which follows the pieces before. `blocks` are what of its content is no
    text. `tool` is the name of the tool, where the agent tells it as the protocol says. One that
    `asks_alone` is a question about no call, which is over with its answer. `parent` is the id of
    the call of the subagent that makes it, or empty. One that `can_stop` is a subagent that can be
    stopped alone. `sessions` and `terminals` are the ids of those that its content names."""

    id: str
    title: str = ""
    kind: str = ""
    status: str = ""
    texts: tuple[str, ...] = ()
    diffs: tuple[FileDiff, ...] = ()
    paths: tuple[str, ...] = ()
    raw_input: Mapping[str, Any] | None = None
    meta: Meta = field(default_factory=dict)
    raw_output: object = None
    has_content: bool = False
    output: str = ""
    blocks: tuple[ContentBlock, ...] = ()
    tool: str = ""
    asks_alone: bool = False
    parent: str = ""
    can_stop: bool = False
    sessions: tuple[str, ...] = ()
    terminals: tuple[str, ...] = ()

    @property
    def is_over(self) -> bool:
        return self.status in ("completed", "failed")


class ToolCallStart(ToolCallUpdate):
    """The first message about a call."""


def joined_call(known: ToolCallUpdate | None, news: ToolCallUpdate) -> ToolCallUpdate:
    """What is known of a call after the news. New content replaces all that was there; the end of a
    call keeps the diffs, but not the texts, which were about its beginning. The pieces of its
    output and its blocks are not kept here."""
    if known is None:
        return news
    has_content = news.has_content or bool(news.texts or news.diffs)
    texts = () if news.is_over else known.texts
    return ToolCallUpdate(
        news.id,
        news.title or known.title,
        news.kind or known.kind,
        news.status or known.status,
        news.texts if has_content else texts,
        news.diffs if has_content else known.diffs,
        news.paths or known.paths,
        news.raw_input or known.raw_input,
        _joined_meta(known.meta, news.meta),
        known.raw_output if news.raw_output is None else news.raw_output,
        tool=news.tool or known.tool,
        parent=news.parent or known.parent,
        can_stop=news.can_stop or known.can_stop,
    )


def _joined_meta(known: Meta, news: Meta) -> Meta:
    """Both, and of members that are objects both, too."""
    inner = {
        name: {**known[name], **news[name]}
        for name in known.keys() & news.keys()
        if isinstance(known[name], dict) and isinstance(news[name], dict)
    }
    return {**known, **news, **inner}


@dataclass(frozen=True)
class AvailableCommand:
    """`name` has no slash. `hint` says what may follow the name, or is empty."""

    name: str
    description: str = ""
    hint: str = ""


@dataclass(frozen=True)
class AvailableCommands:
    """All commands that the session has now."""

    commands: tuple[AvailableCommand, ...]


@dataclass(frozen=True)
class UnusedUpdate:
    """An update of the protocol that nobody here needs."""

    kind: str


SessionUpdate = Union[
    UserMessageChunk,
    AgentMessageChunk,
    AgentThoughtChunk,
    Notice,
    ToolCallStart,
    ToolCallUpdate,
    AvailableCommands,
    StateUpdate,
    UnusedUpdate,
]


# Requests of the agent.


@dataclass(frozen=True)
class PermissionOption:
    """`kind` is ALLOW_ONCE, ALLOW_ALWAYS, REJECT_ONCE or REJECT_ALWAYS."""

    id: str
    name: str = ""
    kind: str = ""


@dataclass(frozen=True)
class PermissionRequest:
    """The agent asks whether the call may run. `id` is the id of its request."""

    session: str
    id: jsonrpc.Id
    call: ToolCallUpdate
    options: tuple[PermissionOption, ...]


@dataclass(frozen=True)
class ReadTextFile:
    """The agent asks to read a file: all of it, or `limit` lines from `line` on, counted from 1.
    `id` is the id of its request."""

    session: str
    id: jsonrpc.Id
    path: str
    line: int | None = None
    limit: int | None = None


@dataclass(frozen=True)
class WriteTextFile:
    """The agent asks to write a file. `id` is the id of its request; `meta` is its own."""

    session: str
    id: jsonrpc.Id
    path: str
    content: str
    meta: Meta = field(default_factory=dict)


AgentRequest = Union[
    PermissionRequest, ReadTextFile, WriteTextFile, ElicitationRequest, TerminalRequest
]


@dataclass(frozen=True)
class Withdrawal:
    """The agent does not wait any more for the answer to its request with this id. It has to be
    answered all the same, as if nobody had decided."""

    request: jsonrpc.Id


# Answers of the agent.


@dataclass(frozen=True)
class AgentCapabilities:
    """What the agent accepts: images and embedded resources in a message, tool servers over HTTP,
    LOAD or RESUME of a session, and folders beside that of a session. Whether it `lists` and
    `forks` its sessions, and `steers` a turn by more messages."""

    image: bool = False
    embedded_context: bool = False
    mcp_http: bool = False
    load: bool = False
    resume: bool = False
    lists: bool = False
    takes_folders: bool = False
    forks: bool = False
    steers: bool = False


@dataclass(frozen=True)
class Initialized:
    """`protocol_version` is the agent's value, of any type; `version` is the agent's own version.
    `auth_methods` are those that it offers; it need not ask for one."""

    protocol_version: object
    capabilities: AgentCapabilities
    version: str
    auth_methods: tuple[AuthMethod, ...] = ()


@dataclass(frozen=True)
class Model:
    id: str
    name: str
    description: str


@dataclass(frozen=True)
class Models:
    """The models that the agent offers, and the id of the one in use."""

    available: tuple[Model, ...] = ()
    current: str = ""


@dataclass(frozen=True)
class OpenedSession:
    """`commands` is None where the agent tells them by an update alone."""

    id: str
    options: ConfigOptions = ConfigOptions()
    commands: AvailableCommands | None = None


@dataclass(frozen=True)
class TurnEnd:
    """`stop_reason` is the protocol's word for why the turn ended. `meta` is the agent's own.
    `tokens` are those of input and output where the agent tells them as the protocol plans it."""

    stop_reason: str
    meta: Meta = field(default_factory=dict)
    tokens: tuple[int, int] = (0, 0)


# Requests to the agent.


@dataclass(frozen=True)
class OutgoingRequest(Generic[T]):
    """`read` turns the result into the answer's value, and raises Unreadable."""

    method: str
    params: Mapping[str, Any]
    read: Callable[[Mapping[str, Any]], T]


@dataclass(frozen=True)
class OutgoingNotification:
    method: str
    params: Mapping[str, Any]


# A part of a message, as a content block of the protocol.
Block = Mapping[str, Any]


def authenticate_request(method: str, meta: Meta | None = None) -> OutgoingRequest[None]:
    """`meta` is the agent's own."""
    params = {"methodId": method, **({"_meta": meta} if meta else {})}
    return OutgoingRequest("authenticate", params, _read_nothing)


@dataclass(frozen=True)
class SessionPlace:
    """What a session is opened with: its `folder`, those beside it for an agent that
    `takes_folders`, the parameters of its tool servers, and what is the agent's own (`meta`)."""

    folder: str
    servers: Sequence[Mapping[str, Any]] = ()
    meta: Meta = field(default_factory=dict)
    others: tuple[str, ...] = ()

    @property
    def params(self) -> Mapping[str, Any]:
        return {
            "cwd": self.folder,
            **({"additionalDirectories": self.others} if self.others else {}),
            "mcpServers": self.servers,
            **({"_meta": self.meta} if self.meta else {}),
        }


def new_session(place: SessionPlace) -> OutgoingRequest[OpenedSession]:
    return OutgoingRequest(
        "session/new",
        place.params,
        lambda result: _read_opened_session(result, _read_session_id(result)),
    )


def fork_session(session: str, place: SessionPlace) -> OutgoingRequest[OpenedSession]:
    """The request for a new session that knows what was said in this one. Only for an agent that
    `forks`; it is in the draft of version 1."""
    return OutgoingRequest(
        FORK,
        {"sessionId": session, **place.params},
        lambda result: _read_opened_session(result, required_text(result, "sessionId", FORK)),
    )


def reopen_session(
    method: str, session: str, place: SessionPlace
) -> OutgoingRequest[OpenedSession]:
    """LOAD or RESUME."""
    params = {"sessionId": session, **place.params}
    return OutgoingRequest(method, params, lambda result: _read_opened_session(result, session))


def prompt_request(session: str, blocks: Sequence[Block]) -> OutgoingRequest[TurnEnd]:
    """The request that begins a turn; in version 1 of the protocol, its answer is the turn's
    end."""
    return OutgoingRequest(
        "session/prompt", {"sessionId": session, "prompt": blocks}, read_turn_end
    )


def steer_request(session: str, blocks: Sequence[Block]) -> OutgoingRequest[bool]:
    """The request to take a message into the turn that runs; only for an agent that `steers`. The
    answer says whether it did: if the turn is over, the message is still to be sent."""
    params = {
        "sessionId": session,
        "prompt": blocks,
        "_meta": {"steering": {"idleBehavior": "promptRequired"}},
    }
    return OutgoingRequest(STEER, params, lambda result: text_of(result, "outcome") == "injected")


def set_option_request(
    session: str, option: ConfigOption, wanted: str | bool
) -> OutgoingRequest[ConfigOptions]:
    """The answer has all options; none where the agent's way to choose tells none."""
    if option.is_made:
        params: dict[str, Any] = {"sessionId": session, option.id + "Id": wanted}
        return OutgoingRequest("session/set_" + option.id, params, lambda result: ConfigOptions())
    params = {"sessionId": session, "configId": option.id, "value": wanted}
    if option.kind == BOOLEAN:
        params["type"] = BOOLEAN
    return OutgoingRequest("session/set_config_option", params, session_state.config_options)


def cancel_request(request: jsonrpc.Id) -> OutgoingNotification:
    """An agent that does not know it goes on."""
    return OutgoingNotification(CANCEL_REQUEST, {"requestId": request})


def cancel_notification(session: str) -> OutgoingNotification:
    return OutgoingNotification("session/cancel", {"sessionId": session})


def permission_result(option: str | None) -> Mapping[str, Any]:
    """The result that answers a PermissionRequest: an option's id, or None if the turn is
    cancelled."""
    if option is None:
        return {"outcome": {"outcome": "cancelled"}}
    return {"outcome": {"outcome": "selected", "optionId": option}}


def text_block(text: str) -> Block:
    return {"type": "text", "text": text}


def link_block(uri: str, name: str) -> Block:
    return {"type": "resource_link", "uri": uri, "name": name}


def image_block(media_type: str, data: str) -> Block:
    """`data` is in base64."""
    return {"type": "image", "mimeType": media_type, "data": data}


def resource_block(
    uri: str, media_type: str, *, text: str | None = None, blob: str | None = None
) -> Block:
    """A block with a resource, which is a text, or bytes in base64."""
    content = {"blob": blob} if text is None else {"text": text}
    return {"type": "resource", "resource": {"uri": uri, "mimeType": media_type, **content}}


# Reading messages from the agent.


def read_initialized(result: Mapping[str, Any]) -> Initialized:
    """The answer to `initialize`."""
    told = object_of(result, "agentCapabilities")
    said, servers = object_of(told, "promptCapabilities"), object_of(told, "mcpCapabilities")
    sessions = object_of(told, "sessionCapabilities")
    capabilities = AgentCapabilities(
        bool(said.get("image")),
        bool(said.get("embeddedContext")),
        bool(servers.get("http")),
        bool(told.get("loadSession")),
        isinstance(sessions.get("resume"), dict),
        isinstance(sessions.get("list"), dict),
        isinstance(sessions.get("additionalDirectories"), dict),
        isinstance(sessions.get("fork"), dict),
        offers_steering(result),
    )
    methods = tuple(
        read_auth_method(clean_surrogates(each))
        for each in objects_of(result, "authMethods")
        if text_of(each, "id")
    )
    version = text_of(object_of(result, "agentInfo"), "version")
    return Initialized(result.get("protocolVersion"), capabilities, version, methods)


def offers_steering(result: Mapping[str, Any]) -> bool:
    """Whether the answer to `initialize` offers STEER."""
    return object_of(object_of(result, "_meta"), "steering").get("supported") is True


def read_auth_method(told: Mapping[str, Any]) -> AuthMethod:
    kind, holder = text_of(told, "type") or BY_AGENT, told
    program = object_of(object_of(told, "_meta"), BY_PROGRAM)
    if kind == BY_AGENT and program:
        # Its command is left out: whoever runs it knows the agent's own.
        kind, holder = BY_PROGRAM, program
    args, env = holder.get("args"), object_of(holder, "env")
    return AuthMethod(
        text_of(told, "id"),
        text_of(told, "name"),
        kind,
        tuple(map(str, args)) if isinstance(args, list) else (),
        tuple((name, value) for name, value in env.items() if isinstance(value, str)),
    )


def session_update(params: Mapping[str, Any]) -> tuple[str, SessionUpdate]:
    """The session's id and what happened in it. Raises Unreadable."""
    told = read_update(object_of(params, "update"))
    return required_text(params, "sessionId", UPDATE), told


def read_update(update: Mapping[str, Any]) -> SessionUpdate:
    """Raises Unreadable."""
    kind = text_of(update, "sessionUpdate")
    if kind not in _UPDATES:
        raise Unreadable(kind[:SHOWN] or UPDATE, f"one of {', '.join(_UPDATES)}", kind)
    told = _UPDATES[kind](update)
    return UnusedUpdate(kind) if told is None else told


def read_withdrawal(params: Mapping[str, Any]) -> Withdrawal:
    """Raises Unreadable."""
    id = params.get("requestId")
    if isinstance(id, bool) or not isinstance(id, (int, str)):
        raise Unreadable(CANCEL_REQUEST, "requestId", id)
    return Withdrawal(id)


def agent_request(request: jsonrpc.Request) -> AgentRequest | None:
    """None for a method that was not offered to the agent. Raises Unreadable."""
    if request.method == ASK_PERMISSION:
        return _permission_request(request)
    if request.method == READ_FILE:
        return _read_text_file(request)
    if request.method == WRITE_FILE:
        return _write_text_file(request)
    if request.method == elicitation.METHOD:
        return elicitation.read_request(request)
    return read_terminal_request(request)


def session_of(request: jsonrpc.Request) -> str:
    """The session that a request beside the protocol is about; empty if it names none."""
    return text_of(request.params, "sessionId")


def _permission_request(request: jsonrpc.Request) -> PermissionRequest:
    params = request.params
    session = required_text(params, "sessionId", request.method)
    options = read_options(params)
    call = read_call(ToolCallUpdate, object_of(params, "toolCall"), request.method)
    return PermissionRequest(session, request.id, call, options)


def read_options(params: Mapping[str, Any]) -> tuple[PermissionOption, ...]:
    """The answers that a permission request offers."""
    return tuple(
        PermissionOption(
            text_of(each, "optionId"),
            clean_surrogates(text_of(each, "name")),
            text_of(each, "kind"),
        )
        for each in objects_of(params, "options")
        if text_of(each, "optionId")
    )


def _read_text_file(request: jsonrpc.Request) -> ReadTextFile:
    params = request.params
    line, limit = (params.get(name) for name in ("line", "limit"))
    return ReadTextFile(
        required_text(params, "sessionId", request.method),
        request.id,
        clean_surrogates(required_text(params, "path", request.method)),
        line if isinstance(line, int) else None,
        limit if isinstance(limit, int) else None,
    )


def _write_text_file(request: jsonrpc.Request) -> WriteTextFile:
    params = request.params
    content = params.get("content")
    if not isinstance(content, str):
        # If this counted as an empty text, it would empty the file.
        raise Unreadable(request.method, "content", content)
    return WriteTextFile(
        required_text(params, "sessionId", request.method),
        request.id,
        clean_surrogates(required_text(params, "path", request.method)),
        clean_surrogates(content),
        object_of(params, "_meta"),
    )


def _user_chunk(update: Mapping[str, Any]) -> UserMessageChunk:
    return UserMessageChunk(_read_chunk(update))


def _message_chunk(update: Mapping[str, Any]) -> AgentMessageChunk:
    text, block = _read_chunk(update), read_block(object_of(update, "content"))
    meta = object_of(update, "_meta")
    return AgentMessageChunk(text, meta) if block is None else AgentMessageChunk("", meta, (block,))


def _thought_chunk(update: Mapping[str, Any]) -> AgentThoughtChunk:
    return AgentThoughtChunk(clean_surrogates(_read_chunk(update)))


def _read_chunk(update: Mapping[str, Any]) -> str:
    """The text of a chunk; empty for other content."""
    content = update.get("content")
    if not isinstance(content, dict):
        raise Unreadable(text_of(update, "sessionUpdate"), "an object as content", content)
    return text_of(content, "text")


Call = TypeVar("Call", bound=ToolCallUpdate)


def read_call(made: type[Call], told: Mapping[str, Any], kind: str) -> Call:
    """A call, or news of it, in an update or a request of this kind. Raises Unreadable."""
    id = required_text(told, "toolCallId", kind)
    told = clean_surrogates(told)
    raw_input = told.get("rawInput")
    content = objects_of(told, "content")
    blocks = [object_of(each, "content") for each in content if each.get("type") == "content"]
    # A large one is looked through whole, so each is read once.
    others = [read_block(block) for block in blocks]
    return made(
        clean_surrogates(id),
        text_of(told, "title"),
        text_of(told, "kind"),
        text_of(told, "status"),
        tuple(text_of(block, "text") for block, other in zip(blocks, others) if other is None),
        tuple(_file_diff(each) for each in content if each.get("type") == "diff"),
        tuple(text_of(each, "path") for each in objects_of(told, "locations")),
        raw_input if isinstance(raw_input, dict) else None,
        object_of(told, "_meta"),
        told.get("rawOutput"),
        isinstance(told.get("content"), list),
        text_of(object_of(object_of(told, "_meta"), OUTPUT_DELTA), "data"),
        tuple(filter(None, others)),
        text_of(told, "name"),
        sessions=tuple(
            text_of(each, "sessionId") for each in content if each.get("type") == "session"
        ),
        terminals=tuple(
            text_of(each, "terminalId") for each in content if each.get("type") == "terminal"
        ),
    )


def _notice(update: Mapping[str, Any]) -> Notice:
    told = clean_surrogates(update)
    return Notice(
        text_of(told, "severity"),
        required_text(told, "title", "notice"),
        text_of(told, "description"),
    )


def _compaction(update: Mapping[str, Any]) -> ToolCallUpdate:
    """It is told as a call, whose result is the summary, or why there is none."""
    status = COMPACTION_STATUSES.get(text_of(update, "status"), "in_progress")
    told = clean_surrogates(update)
    summary = objects_of(told, "summary")
    error = text_of(told, "error") or ("Cancelled." if told.get("status") == "cancelled" else "")
    texts = (error,) if error else tuple(text_of(each, "text") for each in summary)
    return ToolCallUpdate(
        COMPACTION + required_text(told, "compactionId", "compaction_update"),
        COMPACTING,
        COMPACTION_KIND,
        status,
        texts,
        has_content=bool(texts),
    )


def _compaction_chunk(update: Mapping[str, Any]) -> ToolCallUpdate:
    """A piece of the summary."""
    id = required_text(update, "compactionId", "compaction_summary_chunk")
    return ToolCallUpdate(
        COMPACTION + clean_surrogates(id),
        COMPACTING,
        COMPACTION_KIND,
        "in_progress",
        output=clean_surrogates(_read_chunk(update)),
    )


def _file_diff(told: Mapping[str, Any]) -> FileDiff:
    return FileDiff(text_of(told, "path"), text_of(told, "oldText"), text_of(told, "newText"))


def read_commands(update: Mapping[str, Any]) -> AvailableCommands:
    """The commands in an update, or in the answer that opens a session."""
    told = clean_surrogates(update)
    return AvailableCommands(
        tuple(
            AvailableCommand(
                text_of(each, "name"),
                text_of(each, "description"),
                text_of(object_of(each, "input"), "hint"),
            )
            for each in objects_of(told, "availableCommands")
            if text_of(each, "name")
        )
    )


_UPDATES: Mapping[str, Callable[[Mapping[str, Any]], SessionUpdate | None]] = {
    "user_message_chunk": _user_chunk,
    "agent_message_chunk": _message_chunk,
    "agent_thought_chunk": _thought_chunk,
    "tool_call": lambda update: read_call(ToolCallStart, update, "tool_call"),
    "tool_call_update": lambda update: read_call(ToolCallUpdate, update, "tool_call_update"),
    "available_commands_update": read_commands,
    "notice": _notice,
    "compaction_update": _compaction,
    "compaction_summary_chunk": _compaction_chunk,
    **session_state.UPDATES,
}


def _read_session_id(result: Mapping[str, Any]) -> str:
    return required_text(result, "sessionId", "session/new")


def _read_opened_session(result: Mapping[str, Any], id: str) -> OpenedSession:
    return OpenedSession(id, session_state.opened_options(result))


def read_turn_end(result: Mapping[str, Any]) -> TurnEnd:
    """The end of a turn in the answer or the update that tells it."""
    told = object_of(result, "usage")
    tokens = (
        session_state.count_of(told, "inputTokens"),
        session_state.count_of(told, "outputTokens"),
    )
    return TurnEnd(text_of(result, "stopReason"), object_of(result, "_meta"), tokens)


def _read_nothing(result: Mapping[str, Any]) -> None:
    """Reads nothing of an answer that only says that it was done."""
