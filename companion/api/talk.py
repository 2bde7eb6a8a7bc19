"""Talking with the agent: the handlers of messages, decisions, conversations and models."""

from __future__ import annotations

import os
from typing import Any, Mapping, Sequence

from aiohttp import web

from ..agent import events, wire
from ..agent.call_tracker import UNATTENDED
from ..agent.conversation import Models, SessionInfo
from ..agent.failure import AgentError
from ..agent.outcomes import CANCEL
from ..agent.turn import Turn
from . import stream
from .exchange import Answer, Asked, Desk
from .files import readable
from .refusal import of_agent

LAST_SEEN = "Last-Event-ID"
REASONS = {
    events.END_TURN: "chat_done",
    events.CANCELLED: "chat_cancelled",
    events.MAX_TOKENS: "chat_max_tokens",
    events.MAX_TURN_REQUESTS: "chat_max_requests",
    events.EMPTY: "chat_empty",
}


async def chat(desk: Desk, asked: Asked) -> Answer | web.StreamResponse:
    """A message, answered as a stream of events or as one object.

    With the header Last-Event-ID nothing is said: the turn that the id names is streamed on. A
    client that vanishes cancels the turn; one that reads SSE has the audience's grace to come back.
    Without a stream nobody could be asked, so calls that want to be confirmed are rejected, unless
    `confirm` promises that somebody looks at /tool-confirmations.
    """
    seen = asked.request.headers.get(LAST_SEEN)
    if seen is not None:
        turn, after = stream.place_of(desk, seen)
        return await stream.send(desk, asked, turn, after)
    fields = asked.fields
    streams = fields.get("stream", False)
    workspace = _workspace(desk, asked)
    turn = await desk.agent.chat(
        workspace,
        fields["message"],
        _attached(desk, fields, workspace),
        fields.get("sessionId"),
        fields.get("newSession", False),
        asks=streams or fields.get("confirm", False),
    )
    if streams:
        return await stream.send(desk, asked, turn)
    with desk.audience.listening(turn, may_return=False):
        return await _whole(turn)


async def turn_events(desk: Desk, asked: Asked) -> web.StreamResponse:
    """A turn's events from the first one on, or after Last-Event-ID."""
    id = asked.fields["turnId"]
    seen = asked.request.headers.get(LAST_SEEN, "")
    number = seen[len(id) + 1 :] if seen.startswith(id + ".") else "0"
    turn, after = stream.place_of(desk, f"{id}.{number}")
    return await stream.send(desk, asked, turn, after)


async def confirm(desk: Desk, asked: Asked) -> Answer:
    fields = asked.fields
    desk.agent.confirm(fields["callId"], fields["outcome"], fields.get("sessionId"))
    return Answer("tool_rejected" if fields["outcome"] == CANCEL else "tool_confirmed")


async def confirmations(desk: Desk, asked: Asked) -> Answer:
    waiting = [wire.as_seed(event, asked.language) for event in desk.agent.confirmations()]
    return Answer("confirmations_told", {"confirmations": waiting})


async def cancel(desk: Desk, asked: Asked) -> Answer:
    count = desk.agent.cancel(asked.fields.get("sessionId"))
    return Answer("cancelled", {"cancelled": count}, {"count": count})


async def sessions(desk: Desk, asked: Asked) -> Answer:
    return Answer("sessions_told", {"sessions": [_session(it) for it in desk.agent.sessions()]})


async def new_session(desk: Desk, asked: Asked) -> Answer:
    info = await desk.agent.new_session(_workspace(desk, asked))
    return Answer("session_made", _session(info))


async def models(desk: Desk, asked: Asked) -> Answer:
    workspace = _workspace(desk, asked)
    found = await desk.agent.models(workspace, asked.fields.get("sessionId"))
    return Answer("models_told", _models(found))


async def set_model(desk: Desk, asked: Asked) -> Answer:
    model, workspace = asked.fields["model"], _workspace(desk, asked)
    found = await desk.agent.set_model(model, workspace, asked.fields.get("sessionId"))
    return Answer("model_chosen", _models(found), {"model": found.current})


def _workspace(desk: Desk, asked: Asked) -> str:
    return desk.roots.folder(asked.fields.get("workspacePath", ""))


def _attached(desk: Desk, fields: Mapping[str, Any], workspace: str) -> list[str]:
    """The files to be read along, as absolute paths. Raises Refusal outside of the roots: the CLI
    takes in what lies within the workspace without asking, links included."""
    id = None if fields.get("newSession") else fields.get("sessionId")
    known = (each.workspace for each in desk.agent.sessions() if each.id == id)
    start = next(known, workspace)
    paths = fields.get("filePaths", ())
    return [desk.roots.resolve(os.path.join(start, path)) for path in paths]


async def _whole(turn: Turn) -> Answer:
    """All that comes of a turn in one answer. Raises Refusal where it breaks off."""
    told: list[str] = []
    calls: list[dict[str, Any]] = []
    async for event in turn.events():
        body = event.body
        if isinstance(body, events.Content):
            told.append(body.text)
        elif isinstance(body, events.Error):
            error = AgentError(body.code, body.message, body.details)
            refusal = of_agent(error)
            refusal.more.update(sessionId=turn.session_id, turnId=turn.id)
            raise refusal
        elif isinstance(body, events.Complete):
            return _answer(turn, "".join(told), calls, body)
        else:
            _note(calls, body)
    raise RuntimeError("a turn ended without its last event")


def _note(calls: list[dict[str, Any]], body: events.Body) -> None:
    """What an event tells of a call of a tool. The model's API may give a later call the id of an
    earlier one."""
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
        _last(calls, body.call_id)["status"] = body.status
    elif isinstance(body, events.ToolResult):
        _last(calls, body.call_id).update(
            args=body.args,
            result=body.result,
            displayResult=body.display_result,
            success=body.success,
            error=body.error,
        )


def _last(calls: list[dict[str, Any]], id: str) -> dict[str, Any]:
    return next(call for call in reversed(calls) if call["id"] == id)


def _answer(
    turn: Turn, told: str, calls: Sequence[Mapping[str, Any]], last: events.Complete
) -> Answer:
    key = REASONS[last.reason]
    if last.success and any(call.get("error") == UNATTENDED for call in calls):
        key = "tools_rejected"
    body = {
        "response": told,
        "hasToolCalls": bool(calls),
        "toolCalls": calls,
        "sessionId": turn.session_id,
        "turnId": turn.id,
        "reason": last.reason,
        "usage": wire.usage(last.usage),
    }
    if not last.success:
        body["error"] = last.reason
    return Answer(key, body, success=last.success)


def _session(info: SessionInfo) -> dict[str, Any]:
    return {
        "sessionId": info.id,
        "workspacePath": readable(info.workspace),
        "model": info.model,
        "isBusy": info.is_busy,
        "turns": info.turns,
        "created": wire.timestamp(info.created),
        "lastUsed": wire.timestamp(info.last_used),
        "usage": wire.usage(info.usage),
    }


def _models(models: Models) -> dict[str, Any]:
    known = [
        {"id": each.id, "name": each.name, "description": each.description}
        for each in models.available
    ]
    return {"current": models.current, "models": known}
