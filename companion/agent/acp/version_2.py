"""Version 2 of the protocol, in which updates are told by ids, a turn ends by an update, modes are
options, and the agent does all by itself to files and commands.

Source: the Agent Client Protocol's schema, version 2, in preview.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import replace
from typing import Any, Callable, Mapping, Sequence

from ...base import jsonrpc
from .. import elicitation, session_state
from ..failure import AgentError, from_rpc
from ..session_state import ConfigOptions, Plan
from ..wording.surrogates import clean_surrogates
from . import messages, subagents
from .members import SHOWN, Unreadable, object_of, objects_of, required_text, text_of
from .messages import (
    AgentMessageChunk,
    AgentRequest,
    AgentThoughtChunk,
    Initialized,
    OpenedSession,
    OutgoingRequest,
    PermissionRequest,
    SessionUpdate,
    ToolCallUpdate,
    TurnEnd,
    UserMessageChunk,
)
from .prompt_ends import IDLE, RUNNING, WAITING, Acknowledged, Idle, PromptEnds
from .protocol import Protocol, Sender
from .subagents import Told
from .upserts import Upserts, question_of

# The most sessions of which something is kept.
MAX_SESSIONS = 100
STATE = "state_update"
USER, ANSWER, THOUGHT = "user_message", "agent_message", "agent_thought"
CHUNK = "_chunk"
CALL, CALL_CONTENT = "tool_call_update", "tool_call_content_chunk"
TERMINAL, OUTPUT = "terminal_update", "terminal_output_chunk"
# Those that are told as in version 1.
SAME = (
    *("notice", "compaction_update", "compaction_summary_chunk", "available_commands_update"),
    *("usage_update", "session_info_update", "plan_removed"),
)
# The methods that have other names.
METHODS = {"authenticate": "auth/login", messages.LOAD: messages.RESUME}
OPENING = ("session/new", messages.LOAD, messages.RESUME, messages.FORK)
# The beginning of the ids of questions that are about no call.
QUESTION = "question-"


class Version2(Protocol):
    number = 2

    def __init__(self) -> None:
        self._ends = PromptEnds()
        self._sessions: OrderedDict[str, Upserts] = OrderedDict()

    def read_initialized(self, result: Mapping[str, Any]) -> Initialized:
        told = object_of(result, "capabilities")
        session = told.get("session")
        has_sessions = isinstance(session, dict)
        sessions = object_of(told, "session")
        prompt, servers = object_of(sessions, "prompt"), object_of(sessions, "mcp")
        capabilities = messages.AgentCapabilities(
            isinstance(prompt.get("image"), dict),
            isinstance(prompt.get("embeddedContext"), dict),
            isinstance(servers.get("http"), dict),
            has_sessions,
            has_sessions,
            has_sessions,
            isinstance(sessions.get("additionalDirectories"), dict),
            isinstance(sessions.get("fork"), dict),
            messages.offers_steering(result),
        )
        methods = tuple(
            messages.read_auth_method(_old_auth_method(each))
            for each in objects_of(result, "authMethods")
            if text_of(each, "methodId")
        )
        version = text_of(object_of(result, "info"), "version")
        return Initialized(result.get("protocolVersion"), capabilities, version, methods)

    def form_of(self, request: OutgoingRequest[messages.T]) -> OutgoingRequest[messages.T]:
        method, params = METHODS.get(request.method, request.method), dict(request.params)
        if "mcpServers" in params:
            servers = params["mcpServers"]
            params["mcpServers"] = [{"type": "stdio", **server} for server in servers]
        if request.method == messages.LOAD:
            params["replayFrom"] = {"type": "start"}
        if method == "session/set_config_option":
            params.setdefault("type", "id")
        read = request.read
        if request.method in OPENING:
            read = _reader_of_opened(read)
        elif method == "session/set_config_option":
            read = _reader_of_options(read)
        return OutgoingRequest(method, params, read)

    def begin_prompt(
        self, sender: Sender, session: str, blocks: Sequence[messages.Block]
    ) -> asyncio.Future[TurnEnd]:
        end = self._ends.begin_prompt(session)
        asked = messages.prompt_request(session, blocks)

        def read_answer(result: Mapping[str, Any]) -> Acknowledged:
            told = Acknowledged(text_of(result, "messageId"), text_of(result, "stopReason"))
            # At once: the next message may be the end.
            self._ends.take_answer(session, told)
            return told

        answer = sender.send_request(OutgoingRequest(asked.method, asked.params, read_answer))

        def take_failure(answer: asyncio.Future[Acknowledged]) -> None:
            error = None if answer.cancelled() else answer.exception()
            if error is not None:
                self._ends.take_failure(session, error)

        answer.add_done_callback(take_failure)
        end.add_done_callback(lambda _: answer.cancel())
        return end

    def note_cancel(self, session: str) -> None:
        self._ends.note_cancel(session)

    def end_prompts(self, error: AgentError) -> None:
        self._ends.end_all(error)

    # What the agent says.

    def read_update(self, params: Mapping[str, Any]) -> tuple[str, Sequence[Told]]:
        session = required_text(params, "sessionId", messages.UPDATE)
        update = object_of(params, "update")
        kind = text_of(update, "sessionUpdate")
        if kind == STATE:
            self._take_state(session, update)
            return session, (subagents.read_state(update),)
        of_subagent = subagents.read_update(update)
        if of_subagent is not None:
            return session, (of_subagent,)
        known = self._upserts_of(session)
        if kind in (USER, USER + CHUNK):
            self._ends.take_message(session, text_of(update, "messageId"))
            return session, _message_updates(known, kind, update)
        told = _read_update(known, kind, update)
        if kind in (ANSWER, ANSWER + CHUNK, THOUGHT, THOUGHT + CHUNK, CALL, CALL_CONTENT):
            self._ends.take_work(session)
        return session, told

    def read_request(self, request: jsonrpc.Request) -> AgentRequest | None:
        if request.method == messages.ASK_PERMISSION:
            session = required_text(request.params, "sessionId", request.method)
            self._ends.take_work(session)
            options = messages.read_options(request.params)
            call = _asked_call(self._upserts_of(session), request)
            return PermissionRequest(session, request.id, call, options)
        if request.method == elicitation.METHOD:
            return elicitation.read_request(request)
        return None

    def _upserts_of(self, session: str) -> Upserts:
        known = self._sessions.get(session)
        if known is None:
            known = self._sessions[session] = Upserts()
            if len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
        self._sessions.move_to_end(session)
        return known

    def _take_state(self, session: str, update: Mapping[str, Any]) -> None:
        state = text_of(update, "state")
        if state in (RUNNING, WAITING):
            self._ends.take_busy(session)
        elif state == IDLE:
            self._ends.take_idle(session, _read_idle(update))


def _read_idle(update: Mapping[str, Any]) -> Idle:
    end = messages.read_turn_end(update)
    if end.stop_reason != "error":
        return Idle(end)
    told = object_of(update, "error")
    return Idle(end, from_rpc(told or {"message": "The agent reports an error."}))


def _read_update(known: Upserts, kind: str, update: Mapping[str, Any]) -> Sequence[SessionUpdate]:
    """Raises Unreadable."""
    if kind in (ANSWER, ANSWER + CHUNK, THOUGHT, THOUGHT + CHUNK):
        return _message_updates(known, kind, update)
    if kind in _CALLS:
        return _CALLS[kind](known, update)
    if kind == "plan_update":
        return (_read_plan(update),)
    if kind == "config_option_update":
        return (session_state.config_options(_old_options(update)),)
    if kind in SAME:
        told = messages.read_update(update)
        return (told,)
    raise Unreadable(kind[:SHOWN] or messages.UPDATE, "an update of version 2", kind)


_CALLS: Mapping[str, Callable[[Upserts, Mapping[str, Any]], Sequence[ToolCallUpdate]]] = {
    CALL: Upserts.take_call,
    CALL_CONTENT: Upserts.take_content,
    TERMINAL: Upserts.take_terminal,
    OUTPUT: Upserts.take_output,
}


def _message_updates(
    known: Upserts, kind: str, update: Mapping[str, Any]
) -> Sequence[SessionUpdate]:
    """What is new of a message. Raises Unreadable."""
    if kind.endswith(CHUNK):
        text, block = known.take_chunk(kind, update)
        blocks = [] if block is None else [block]
    else:
        text, blocks = known.take_message(kind, update)
    if kind.startswith(USER):
        return (UserMessageChunk(text),) if text else ()
    if kind.startswith(THOUGHT):
        return (AgentThoughtChunk(clean_surrogates(text)),) if text else ()
    meta = object_of(update, "_meta")
    said = [AgentMessageChunk(text, meta)] if text or (meta and not blocks) else []
    shown = [AgentMessageChunk("", meta, tuple(blocks))] if blocks else []
    return (*said, *shown)


def _read_plan(update: Mapping[str, Any]) -> Plan:
    """What was given up is no part of a plan any more. Raises Unreadable."""
    plan = object_of(update, "plan")
    left = [each for each in objects_of(plan, "entries") if each.get("status") != "cancelled"]
    return session_state.read_plan({"plan": {**plan, "entries": left}})


def _asked_call(known: Upserts, request: jsonrpc.Request) -> ToolCallUpdate:
    """What the agent asks about. Raises Unreadable."""
    params = clean_surrogates(request.params)
    title, description = text_of(params, "title"), text_of(params, "description")
    subject = object_of(params, "subject")
    kind = text_of(subject, "type")
    if kind == "tool_call":
        return known.take_question(object_of(subject, "toolCall"), title, description)
    id = f"{QUESTION}{request.id}"
    if kind == "command":
        line = required_text(subject, "command", request.method)
        args = {"command": line, "cwd": required_text(subject, "cwd", request.method)}
        told: dict[str, Any] = {"kind": "execute", "rawInput": args}
        shown = known.call_of_terminal(text_of(subject, "terminalId"))
        call = text_of(subject, "toolCallId") or shown
        if call:
            asked = {"toolCallId": call, "status": "pending", **told}
            return known.take_question(asked, title, description)
        return question_of(id, {**told, "title": line}, (title, description))
    # Of a subject that is not known, nothing is hidden.
    told = {"title": title, "kind": "other"}
    if subject:
        told["rawInput"] = dict(subject)
    return question_of(id, told, (description,))


# The forms of version 1.


def _old_auth_method(told: Mapping[str, Any]) -> Mapping[str, Any]:
    env = {
        text_of(each, "name"): text_of(each, "value")
        for each in objects_of(told, "env")
        if text_of(each, "name")
    }
    return {**told, "id": text_of(told, "methodId"), "env": env}


def _old_options(holder: Mapping[str, Any]) -> Mapping[str, Any]:
    options = [
        {**each, "id": text_of(each, "configId")} for each in objects_of(holder, "configOptions")
    ]
    return {**holder, "configOptions": options}


def _reader_of_opened(
    read: Callable[[Mapping[str, Any]], Any],
) -> Callable[[Mapping[str, Any]], Any]:
    def read_opened(result: Mapping[str, Any]) -> Any:
        told = read({**_old_options(result), "modes": None, "models": None})
        if isinstance(told, OpenedSession) and isinstance(result.get("availableCommands"), list):
            return replace(told, commands=messages.read_commands(result))
        return told

    return read_opened


def _reader_of_options(
    read: Callable[[Mapping[str, Any]], Any],
) -> Callable[[Mapping[str, Any]], Any]:
    def read_options(result: Mapping[str, Any]) -> ConfigOptions:
        told: ConfigOptions = read(_old_options(result))
        return told

    return read_options
