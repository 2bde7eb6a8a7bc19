"""Handlers of messages, decisions and models."""

from __future__ import annotations

import asyncio
import os
import stat
from contextlib import suppress
from functools import partial
from typing import Any, Mapping, Sequence

from aiohttp import web

from ...agent import failure, wire
from ...agent import turn_events as events
from ...agent.agent import CallDecision, Models, Turn
from ...agent.failure import VALIDATION_ERROR, AgentError
from ...agent.sentence import sentence, translated_text
from ...agent.turn_events import CANCEL, UNATTENDED
from ...base.background import in_thread
from ...base.http_server import outlive_client
from ...base.mentions import mentioned_files
from ..contract.refusal import FILE_ERROR, Refusal, of_agent
from ..files.served_files import Roots
from ..operations import audit_log
from . import agent_commands, event_stream
from .handler_types import SESSION_ID, HandlerAnswer, Inputs, Services

# Seconds for the disk to find the files.
LOOKING = 20.0
NEEDS_SESSION = sentence("Expected attachments together with the sessionId of their conversation.")
REASONS = {
    events.END_TURN: "chat_done",
    events.CANCELLED: "chat_cancelled",
    events.MAX_TOKENS: "chat_max_tokens",
    events.MAX_TURN_REQUESTS: "chat_max_requests",
    events.EMPTY: "chat_empty",
}


async def send_message(services: Services, inputs: Inputs) -> HandlerAnswer | web.StreamResponse:
    """Send a message. The answer is a stream of events, or one object.

    The header Last-Event-ID sends no message: it continues the stream of the turn that the id
    names. If the client disconnects, the turn is cancelled; a client that reads SSE has some
    seconds to come back. Without a stream, tool calls that need a decision are rejected, unless
    `confirm` promises that somebody answers /tool-confirmations.

    A message that begins with "/" is a command of the agent. One that may change more than the
    conversation, such as a login or a setting, needs the scope `admin`, here and in the queue.
    """
    seen = event_stream.last_seen(inputs)
    if inputs.repeats:
        seen = f"{inputs.repeats}.0"
    if seen is not None:
        turn, after = event_stream.place_of(services, seen)
        return await event_stream.send_turn_events(services, inputs, turn, after)
    services.check_not_ending()
    turn = await _begin_turn(services, inputs)
    audit_log.note_members(sessionId=turn.session_id)
    inputs.has_begun(turn.id)
    if inputs.fields.get("stream", False):
        return await event_stream.send_turn_events(services, inputs, turn)
    with services.listeners.count_listener(turn, may_return=False):
        return await _whole_answer(turn, inputs.language)


async def _begin_turn(services: Services, inputs: Inputs) -> Turn:
    """Raises Refusal, AgentError."""
    fields = inputs.fields
    workspace = _workspace_of(services, inputs)
    if fields.get("attachments") and (fields.get("newSession") or "sessionId" not in fields):
        raise AgentError(VALIDATION_ERROR, NEEDS_SESSION)
    cli = agent_commands.receiving_agent(services, fields)
    agent_commands.check_command(inputs.caller, cli, fields["message"])
    return await services.agent.send_message(
        workspace,
        fields["message"],
        await read_along(services, fields, workspace),
        fields.get("sessionId"),
        fields.get("newSession", False),
        asks=fields.get("stream", False) or fields.get("confirm", False),
        agent=fields.get("agent"),
        attachments=fields.get("attachments", ()),
        new_id=inputs.request.headers.get(SESSION_ID, ""),
    )


async def turn_events(services: Services, inputs: Inputs) -> web.StreamResponse:
    """The events of a turn, all of them or those after Last-Event-ID."""
    id = inputs.fields["turnId"]
    seen = event_stream.last_seen(inputs) or ""
    number = seen[len(id) + 1 :] if seen.startswith(id + ".") else "0"
    turn, after = event_stream.place_of(services, f"{id}.{number}")
    return await event_stream.send_turn_events(services, inputs, turn, after)


async def confirm_call(services: Services, inputs: Inputs) -> HandlerAnswer:
    """Decide on a call that waits. `revision` is that of the `tool_confirmation` that was looked
    at: if the agent has changed it since, an approval does not count, and the call continues to
    wait. Without it, an approval counts only where the agent has asked once about the call."""
    fields = inputs.fields
    audit_log.note_members(decision=fields["outcome"], **_decision_members(services, fields))
    decision = CallDecision(
        fields["outcome"],
        fields.get("newContent"),
        revision=fields.get("revision", ""),
        by_client=True,
    )
    services.agent.turns.confirm_call(
        fields["callId"], decision, _asking_conversation(services, fields)
    )
    return HandlerAnswer("tool_rejected" if fields["outcome"] == CANCEL else "tool_confirmed")


def _asking_conversation(services: Services, fields: Mapping[str, Any]) -> str | None:
    """The conversation whose call is meant: of several calls with this id, the one that the client
    may know of. Raises AgentError."""
    id = fields.get("sessionId")
    if id is not None:
        return str(id)
    asking = [
        question
        for question in services.agent.turns.confirmations
        if _call_id(question) == fields["callId"]
    ]
    seen = [
        question.session_id
        for question in asking
        if services.visible.is_visible(question.session_id)
    ]
    if asking and not seen:
        raise failure.no_call(fields["callId"])
    return seen[0] if len(seen) == 1 else None


def _call_id(event: events.TurnEvent) -> str:
    return event.body.call_id if isinstance(event.body, events.ToolConfirmation) else ""


def _decision_members(services: Services, fields: Mapping[str, Any]) -> dict[str, str]:
    """What the audit log says of the waiting call."""
    for event in services.agent.turns.confirmations:
        body, session = event.body, fields.get("sessionId", event.session_id)
        if isinstance(body, events.ToolConfirmation) and body.call_id == fields["callId"]:
            if event.session_id == session:
                return {"tool": body.name, "sessionId": event.session_id}
    return {}


async def list_confirmations(services: Services, inputs: Inputs) -> HandlerAnswer:
    waiting = _waiting_events(services, inputs, services.agent.turns.confirmations)
    return HandlerAnswer("confirmations_told", {"confirmations": waiting})


async def list_elicitations(services: Services, inputs: Inputs) -> HandlerAnswer:
    waiting = _waiting_events(services, inputs, services.agent.turns.elicitations)
    return HandlerAnswer("elicitations_told", {"elicitations": waiting})


def _waiting_events(
    services: Services, inputs: Inputs, asked: Sequence[events.TurnEvent]
) -> list[dict[str, Any]]:
    seen = (event for event in asked if services.visible.is_visible(event.session_id))
    return [wire.as_seed(event, inputs.language) for event in seen]


async def answer_elicitation(services: Services, inputs: Inputs) -> HandlerAnswer:
    """Answer a question of the agent. `content` are the values of a form's fields by their names;
    for an address, `accept` says that the user has opened it."""
    fields = inputs.fields
    id = fields["elicitationId"]
    for event in services.agent.turns.elicitations:
        is_it = isinstance(event.body, events.Elicitation) and event.body.id == id
        if is_it and not services.visible.is_visible(event.session_id):
            raise failure.no_elicitation(id)
    services.agent.turns.answer_elicitation(id, fields["action"], fields.get("content"))
    return HandlerAnswer("elicitation_answered")


async def cancel_turns(services: Services, inputs: Inputs) -> HandlerAnswer:
    turns, id = services.agent.turns, inputs.fields.get("sessionId")
    count = turns.cancel_turns(id, services.visible.is_visible)
    return HandlerAnswer("cancelled", {"cancelled": count}, {"count": count})


async def stop_subagent(services: Services, inputs: Inputs) -> HandlerAnswer:
    """End the work of the subagent that a call runs, one that `canStop`. Its call fails, and the
    turn goes on."""
    fields = inputs.fields
    services.agent.turns.stop_subagent(fields["sessionId"], fields["callId"])
    return HandlerAnswer("subagent_stopped")


async def list_models(services: Services, inputs: Inputs) -> HandlerAnswer:
    workspace, fields = _workspace_of(services, inputs), inputs.fields
    found = await services.agent.list_models(
        workspace, fields.get("sessionId"), fields.get("agent")
    )
    return HandlerAnswer("models_told", _models_json(found))


async def set_model(services: Services, inputs: Inputs) -> HandlerAnswer:
    workspace, fields = _workspace_of(services, inputs), inputs.fields
    model, id, agent = fields["model"], fields.get("sessionId"), fields.get("agent")
    outlive_client(inputs.request)
    found = await services.agent.set_model(model, workspace, id, agent)
    return HandlerAnswer("model_chosen", _models_json(found), {"model": found.current})


def _workspace_of(services: Services, inputs: Inputs) -> str:
    return services.roots.resolve_folder(inputs.fields.get("workspacePath", ""))


def _start_folder(services: Services, fields: Mapping[str, Any], workspace: str) -> str:
    """The folder at which relative paths of a message start."""
    id = None if fields.get("newSession") else fields.get("sessionId")
    with suppress(AgentError):
        return (
            workspace
            if id is None
            else services.agent.conversations.known_conversation(id).workspace
        )
    return workspace


async def read_along(services: Services, fields: Mapping[str, Any], workspace: str) -> list[str]:
    """The files that go with a message. Raises Refusal."""
    if not fields.get("filePaths") and "@" not in fields["message"]:
        # Without files, a thread would only delay the message.
        return []
    start = _start_folder(services, fields, workspace)
    try:
        return await in_thread(partial(_message_files, services.roots, start, fields), LOOKING)
    except asyncio.TimeoutError:
        reason = f"the disk did not answer within {LOOKING:g} seconds"
        raise Refusal(FILE_ERROR, path=start, reason=reason) from None


def _message_files(roots: Roots, start: str, fields: Mapping[str, Any]) -> list[str]:
    """The files that go with a message, as absolute paths: those of filePaths, and those that the
    message mentions as `@path`. A path of filePaths outside the roots raises Refusal, because the
    CLI reads files within the workspace without asking, links included. A mention that leads to no
    such file stays plain text. Blocks."""

    def find_file(path: str) -> str | None:
        try:
            real = roots.resolve_path(os.path.join(start, path))
            mode = os.stat(real).st_mode
        except (Refusal, OSError):
            return None
        return real if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else None

    given = [roots.resolve_path(os.path.join(start, path)) for path in fields.get("filePaths", ())]
    return list(dict.fromkeys([*given, *mentioned_files(fields["message"], find_file)]))


async def _whole_answer(turn: Turn, language: str) -> HandlerAnswer:
    """The whole turn in one answer. Raises Refusal if the turn fails."""
    told: list[str] = []
    calls: list[dict[str, Any]] = []
    warnings: list[str] = []
    async for event in turn.read_events():
        body = event.body
        if isinstance(body, events.Content):
            told.append(body.text)
        elif isinstance(body, events.Error):
            error = AgentError(body.code, body.message, body.details)
            refusal = of_agent(error)
            refusal.more.update(sessionId=turn.session_id, turnId=turn.id)
            raise refusal
        elif isinstance(body, events.Thought) and body.subject == events.WARNING:
            warnings.append(translated_text(body.description, language))
        elif isinstance(body, events.Complete):
            return _turn_answer(turn, "".join(told), calls, warnings, body, language)
        else:
            _note_call(calls, body, language)
    raise RuntimeError("a turn ended without its last event")


def _note_call(calls: list[dict[str, Any]], body: events.Body, language: str) -> None:
    """Add what an event says of a tool call. The model's API may use the id of an earlier call
    again."""
    if isinstance(body, events.ToolCall):
        calls.append(
            {
                "id": body.call_id,
                "name": body.name,
                "displayName": body.display_name,
                "description": body.description,
                "args": body.args,
                "status": events.PENDING,
            }
        )
    elif isinstance(body, events.ToolExecution):
        _last_call(calls, body.call_id)["status"] = body.status
    elif isinstance(body, events.ToolResult):
        _last_call(calls, body.call_id).update(
            args=body.args,
            result=body.result,
            displayResult=wire.display_result(body, language),
            success=body.success,
            rejected=body.rejected,
            error=body.error and translated_text(body.error, language),
        )


def _last_call(calls: list[dict[str, Any]], id: str) -> dict[str, Any]:
    return next(call for call in reversed(calls) if call["id"] == id)


def _turn_answer(
    turn: Turn,
    told: str,
    calls: Sequence[Mapping[str, Any]],
    warnings: Sequence[str],
    last: events.Complete,
    language: str,
) -> HandlerAnswer:
    key, unattended = REASONS[last.reason], translated_text(UNATTENDED, language)
    if last.success and any(call.get("error") == unattended for call in calls):
        key = "tools_rejected"
    body = {
        "response": told,
        "hasToolCalls": bool(calls),
        "toolCalls": calls,
        "warnings": list(warnings),
        "sessionId": turn.session_id,
        "turnId": turn.id,
        "reason": last.reason,
        "usage": wire.usage_json(last.usage),
    }
    if not last.success:
        body["error"] = last.reason
    return HandlerAnswer(key, body, success=last.success)


def _models_json(models: Models) -> dict[str, Any]:
    known = [
        {"id": each.id, "name": each.name, "description": each.description}
        for each in models.available
    ]
    return {"current": models.current, "models": known}
