"""Handlers of conversations: list, show, follow, change and delete."""

from __future__ import annotations

import asyncio
import dataclasses
from collections import deque
from typing import Any, AsyncIterator, Iterator, Mapping, Sequence

from aiohttp import web

from ...agent import tool_servers, wire
from ...agent import turn_events as events
from ...agent.agent import Gone, SessionInfo
from ...agent.failure import AgentError
from ...agent.turn_events import PastTurn, TurnEvent
from ...base.http_server import outlive_client
from ..contract.refusal import TURN_NOT_FOUND, Refusal, of_agent
from ..files.served_files import readable_name
from ..operations import audit_log
from . import event_stream
from .agent_commands import may_send
from .handler_types import SESSION_ID, HandlerAnswer, Inputs, Services

# Turns, or conversations, in one page.
USUAL = 20
# Conversations that are put into an answer before others get their turn.
TOGETHER = 200


async def list_sessions(services: Services, inputs: Inputs) -> HandlerAnswer:
    """The conversations: without any field all of them, the last used one last; with one, a page of
    `limit`, usually 20, the last used one first. `nextCursor` is the `cursor` of the next page,
    missing if there is none. A conversation that is used while pages are read comes again at the
    end, so that none is left out.

    With `q`, the conversations with these words in the title, or in what the user or the agent said
    (`excerpt`). Such a page may have fewer than `limit` of them, or none, although more follow."""
    fields = inputs.fields
    if not fields.keys() & {"limit", "cursor", "q"}:
        await services.agent.conversations.index.wait_for_all_since()
        await services.agent.refresh_conversations()
        return HandlerAnswer(
            "sessions_told",
            {
                "sessions": await _sessions_json(
                    services.agent.list_sessions(services.visible.is_listed)
                )
            },
        )
    limit, cursor = fields.get("limit", USUAL), fields.get("cursor", "")
    if not cursor:
        await services.agent.refresh_conversations()
    listed = services.visible.is_listed
    page = await services.agent.listing.list_page(limit, cursor, fields.get("q", ""), listed)
    told = await _sessions_json(page.infos)
    for each in told:
        excerpt = page.excerpts.get(each["sessionId"])
        each.update({"excerpt": excerpt} if excerpt else {})
    more = {"nextCursor": page.next} if page.next else {}
    return HandlerAnswer("sessions_told", {"sessions": told, **more})


async def get_session(services: Services, inputs: Inputs) -> HandlerAnswer:
    """One conversation, as in the list."""
    known = services.agent.conversations.known_conversation(inputs.fields["sessionId"])
    return HandlerAnswer("session_told", as_json(known.session_info))


async def new_session(services: Services, inputs: Inputs) -> HandlerAnswer:
    """Start a conversation. Only requests with its id use it. `mcpServers` are tool servers for
    this conversation alone, in the form of ACP's session/new; they need --trust."""
    workspace = services.roots.resolve_folder(inputs.fields.get("workspacePath", ""))
    servers = tool_servers.read_servers(inputs.fields.get("mcpServers", ()))
    info = await services.agent.new_session(
        workspace,
        inputs.fields.get("agent"),
        servers=servers,
        new_id=inputs.request.headers.get(SESSION_ID, ""),
    )
    audit_log.note_members(sessionId=info.id)
    return HandlerAnswer("session_made", as_json(info))


async def list_commands(services: Services, inputs: Inputs) -> HandlerAnswer:
    """The commands that a message can begin with as `/name`. Those that are not `allowed` are
    refused, because they would run without asking, or because the token lacks the scope `admin`."""
    id = inputs.fields["sessionId"]
    found = await services.agent.list_commands(id)
    cli = services.agent.conversations.known_conversation(id).cli
    told = []
    for command in found:
        is_allowed = command.is_allowed and may_send(inputs.caller, cli, "/" + command.name)
        told.append(wire.command_json(dataclasses.replace(command, is_allowed=is_allowed)))
    return HandlerAnswer("commands_told", {"commands": told})


async def get_state(services: Services, inputs: Inputs) -> HandlerAnswer:
    """What the agent has told of the conversation beside its answers, as it is now. What it has not
    told is null or empty; so is everything while it has no process. Starts none."""
    conversation = services.agent.conversations.known_conversation(inputs.fields["sessionId"])
    return HandlerAnswer("state_told", wire.state_json(conversation.session.state, inputs.language))


async def choose_option(services: Services, inputs: Inputs) -> HandlerAnswer:
    """Choose another value of one of the agent's options, such as its model, its mode or how much
    it thinks. Other options may change with it, so the answer has all. While a turn runs, an agent
    whose options come by an earlier way of its protocol refuses."""
    fields = inputs.fields
    outlive_client(inputs.request)
    conversation = await services.agent.choose_option(
        fields["sessionId"], fields["id"], fields["value"]
    )
    return HandlerAnswer(
        "option_chosen", wire.state_json(conversation.session.state, inputs.language)
    )


async def change_session(services: Services, inputs: Inputs) -> HandlerAnswer:
    """Set title, model or mode; fields that are missing stay as they are. The mode says what the
    agent asks about."""
    fields = inputs.fields
    outlive_client(inputs.request)
    info = await services.agent.change_session(
        fields["sessionId"], fields.get("title"), fields.get("model"), fields.get("mode")
    )
    return HandlerAnswer("session_changed", as_json(info))


async def remove_session(services: Services, inputs: Inputs) -> HandlerAnswer:
    """Delete a conversation for good, also in the own files of an agent that `removes_sessions`;
    the others keep theirs."""
    outlive_client(inputs.request)
    await services.agent.delete_session(inputs.fields["sessionId"])
    return HandlerAnswer("session_removed")


async def remove_many(services: Services, inputs: Inputs) -> HandlerAnswer:
    """Delete these conversations for good, at most 1,000 of them. `failed` are those that are not
    deleted, each with its code, such as SESSION_BUSY."""
    outlive_client(inputs.request)
    removed, failed = [], []
    for id in dict.fromkeys(inputs.fields["sessionIds"]):
        try:
            await services.agent.conversations.index.wait_for_one(id)
            services.visible.check_visible(id)
            await services.agent.delete_session(id)
            removed.append(id)
        except AgentError as error:
            message = of_agent(error).sentence_in(inputs.language)
            failed.append({"sessionId": id, "code": error.code, "message": message})
    told = {"removed": removed, "failed": failed}
    return HandlerAnswer("sessions_removed", told, {"count": len(removed)})


async def fork_session(services: Services, inputs: Inputs) -> HandlerAnswer:
    """A new conversation with all that was said in this one until the end of the turn `turnId`, or
    of the last turn. Model, mode and tool servers are the same. What turns changed in files can be
    undone in the old conversation only."""
    outlive_client(inputs.request)
    fields = inputs.fields
    turn = fields.get("turnId")
    made = await services.agent.fork_conversation(fields["sessionId"], turn)
    if made is None:
        raise Refusal(TURN_NOT_FOUND, turn=(turn or "")[:100])
    return HandlerAnswer("session_forked", as_json(made))


async def list_messages(services: Services, inputs: Inputs) -> HandlerAnswer:
    """The messages by turns, oldest first: the last page, or the one before the turn `before`. The
    pieces of an answer are joined."""
    fields = inputs.fields
    before = fields.get("before")
    past = services.agent.conversations.known_conversation(fields["sessionId"]).past
    page = await past.read_page(fields.get("limit", USUAL), before)
    if page is None and before is not None:
        raise Refusal(TURN_NOT_FOUND, turn=before[:100])
    told = [past_turn(turn, inputs.language) for turn in page.turns] if page is not None else []
    has_more = page is not None and page.has_earlier
    return HandlerAnswer("messages_told", {"messages": told, "hasMore": has_more})


async def session_events(services: Services, inputs: Inputs) -> web.StreamResponse:
    """The events of a conversation from now on, over all its turns, such as for another device.
    With Last-Event-ID, the events after that one, also from before a restart. The user's messages
    are events, too."""
    id = inputs.fields["sessionId"]
    # Before the transcript is read, so that no event is missed in between.
    coming = services.agent.feed.follow_events(id, None)
    seen = event_stream.last_seen(inputs)
    past = services.agent.conversations.known_conversation(id).past
    if seen is None:
        return await event_stream.follow_events(services, inputs, coming)
    place = event_stream.parts_of(seen)
    turns = await past.read_since(place[0])
    told = list(_all_events(id, turns or ()))
    missed = _events_after(place, told)
    known = {event.turn_id: event.number for event in told}
    del turns, told
    return await event_stream.follow_events(services, inputs, _joined_events(missed, known, coming))


async def all_events(services: Services, inputs: Inputs) -> web.StreamResponse:
    """The events of all conversations. Last-Event-ID reaches back over the last ten thousand."""
    seen = event_stream.last_seen(inputs)
    try:
        after = None if seen is None else event_stream.parts_of(seen)
        coming = services.agent.feed.follow_events(None, after)
    except Gone:
        raise Refusal(TURN_NOT_FOUND, turn=(seen or "")[:100]) from None
    seen_here = (event async for event in coming if services.visible.is_visible(event.session_id))
    return await event_stream.follow_events(services, inputs, seen_here)


def _events_after(place: tuple[str, int], told: Sequence[TurnEvent]) -> deque[TurnEvent]:
    """The events after the one of this turn and number. Raises Refusal."""
    for index, event in enumerate(told):
        if (event.turn_id, event.number) == place:
            return deque(told[index + 1 :])
    raise Refusal(TURN_NOT_FOUND, turn=place[0][:100])


async def _joined_events(
    missed: deque[TurnEvent], known: Mapping[str, int], coming: AsyncIterator[TurnEvent]
) -> AsyncIterator[TurnEvent]:
    """Each event once, although the feed may repeat some of the transcript's: `known` has the last
    numbers of its turns. Events that were sent are dropped, because the stream has no end."""
    while missed:
        yield missed.popleft()
    async for event in coming:
        if event.number > known.get(event.turn_id, -1):
            yield event


def _all_events(id: str, turns: Sequence[PastTurn]) -> Iterator[TurnEvent]:
    for turn in turns:
        message = events.Message(turn.text, turn.files, turn.attachments)
        yield TurnEvent(0, turn.time, id, turn.id, message)
        yield from turn.events


def past_turn(turn: PastTurn, language: str) -> dict[str, Any]:
    return {
        "turnId": turn.id,
        "time": wire.timestamp_of(turn.time),
        "text": turn.text,
        "files": list(turn.files),
        "attachments": [wire.attachment_json(attachment) for attachment in turn.attachments],
        "events": [wire.as_seed(event, language) for event in _without_pieces(turn.events)],
    }


def _without_pieces(story: Sequence[TurnEvent]) -> Iterator[TurnEvent]:
    """The events with each run of pieces joined. After a crash, the last run may lack its end."""
    run: list[TurnEvent] = []
    for event in story:
        if isinstance(event.body, events.Content):
            run.append(event)
            continue
        if not isinstance(event.body, events.BESIDE):
            yield from _whole_content(run)
            run = []
        yield event
    yield from _whole_content(run)


def _whole_content(run: Sequence[TurnEvent]) -> Iterator[TurnEvent]:
    if run:
        said = "".join(event.body.text for event in run if isinstance(event.body, events.Content))
        yield dataclasses.replace(run[-1], body=events.Content(said, is_partial=False))


async def _sessions_json(infos: Sequence[SessionInfo]) -> list[dict[str, Any]]:
    """Thousands, without keeping others waiting."""
    told = []
    for info in infos:
        told.append(as_json(info))
        if not len(told) % TOGETHER:
            await asyncio.sleep(0)
    return told


def as_json(info: SessionInfo) -> dict[str, Any]:
    return {
        "sessionId": info.id,
        "agent": info.agent,
        "workspacePath": readable_name(info.workspace),
        "title": info.title,
        "model": info.model,
        "mode": info.mode,
        "isBusy": info.is_busy,
        "turns": info.turns,
        "created": wire.timestamp_of(info.created),
        "lastUsed": wire.timestamp_of(info.last_used),
        "usage": wire.usage_json(info.usage),
        "modes": list(info.modes),
        "mcpServers": [{"name": name, "type": kind} for name, kind in info.tool_servers],
        "isSaved": info.is_saved,
    }
