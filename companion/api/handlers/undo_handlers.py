"""Handlers of the files that a turn changed: list and undo."""

from __future__ import annotations

from typing import Any, Sequence

from ...agent.turn_undo import UNDONE, FileChange
from ...base.http_server import outlive_client
from ...base.shown_text import shown_line
from ..contract.refusal import TURN_NOT_FOUND, Refusal
from ..files.served_files import readable_name
from .handler_types import HandlerAnswer, Inputs, Services


async def list_changed_files(services: Services, inputs: Inputs) -> HandlerAnswer:
    """The files that a turn created or changed, and whether they are still as the turn left them.
    Changes by shell commands and tool servers are not included."""
    fields = inputs.fields
    conversation = services.agent.conversations.known_conversation(fields["sessionId"])
    found = await conversation.changed_files(fields["turnId"])
    return HandlerAnswer("turn_files_told", {"files": _changes_json(found, fields["turnId"])})


async def undo_turn(services: Services, inputs: Inputs) -> HandlerAnswer:
    """Restore the files of a turn to what they were before it: a changed file gets its old content,
    a created one is removed. A file that somebody has changed since is left alone, and its `state`
    says so. A file outside the workspace that Gemini created stays, empty. The next message tells
    Gemini about it."""
    fields = inputs.fields
    outlive_client(inputs.request)
    conversation = services.agent.conversations.known_conversation(fields["sessionId"])
    try:
        told = _changes_json(await conversation.undo_turn(fields["turnId"]), fields["turnId"])
    finally:
        # What somebody has sent meanwhile had to wait for it.
        services.agent.outbox.go_on(conversation)
    is_whole = all(file["state"] == UNDONE for file in told)
    return HandlerAnswer("turn_undone" if is_whole else "turn_undone_partly", {"files": told})


def _changes_json(found: Sequence[FileChange] | None, turn: str) -> list[dict[str, Any]]:
    """Raises Refusal if there is no such turn."""
    if found is None:
        raise Refusal(TURN_NOT_FOUND, turn=turn[:100])
    return [
        {
            "path": readable_name(change.path),
            "change": change.change,
            "state": change.state,
            "shown": {"path": shown_line(change.path)},
        }
        for change in found
    ]
