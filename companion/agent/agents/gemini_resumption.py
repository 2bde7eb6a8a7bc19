"""Continues a conversation in a new process of Gemini CLI: writes its turns as a recording that the
CLI loads.

Source: docs/gemini-cli-acp.md 9.
"""

from __future__ import annotations

import glob
import json
import os
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any, Iterator, Mapping, Sequence

from ...base import private_files
from .. import turn_events as events
from ..turn_events import PastTurn
from .gemini_recording import PREFIX
from .message_text import NO_COMMAND

# A minute in the past: loading within the minute of the file's name destroys the recording.
MINUTE, MINUTE_FORM = "2001-01-01T00-00", "%Y-%m-%dT%H-%M"


def write_recording(
    home: str, workspace: str, session: str, turns: Sequence[PastTurn]
) -> int | None:
    """Write the recording that the CLI loads as `session`; `home` is its folder `.gemini`. Gives
    the number of updates that the load will repeat; None if the CLI does not know the workspace
    yet, or if nothing was said. Raises OSError."""
    folder = _chats_folder(home, workspace)
    messages = list(_recorded_messages(turns))
    if not folder or not messages:
        return None
    # Any hash works, but there has to be one.
    head = {"sessionId": session, "projectHash": "-", "startTime": turns[0].time.isoformat()}
    lines = [json.dumps(each, ensure_ascii=False) for each in (head, *messages)]
    os.makedirs(folder, mode=0o700, exist_ok=True)
    name = f"session-{MINUTE}-{session[:PREFIX]}.jsonl"
    data = ("\n".join(lines) + "\n").encode("utf-8", "replace")
    private_files.write_file(os.path.join(folder, name), data)
    return sum(map(_update_count, messages))


def count_own_updates(home: str, session: str) -> int | None:
    """The number of updates that the CLI sends when it loads its own recording of the session;
    None if there is none, or if a load would destroy it. Raises OSError."""
    name = f"session-*-{glob.escape(session[:PREFIX])}.jsonl"
    paths = glob.glob(os.path.join(glob.escape(home), "tmp", "*", "chats", name))
    now = datetime.now(timezone.utc)
    minute = f"session-{now:{MINUTE_FORM}}-"
    # The CLI writes each session to one file.
    if len(paths) != 1 or os.path.basename(paths[0]).startswith(minute):
        return None
    said: dict[str, Mapping[str, Any]] = {}
    with open(paths[0], encoding="utf-8", errors="replace") as file:
        for line in file:
            with suppress(ValueError, RecursionError):
                _apply_record(json.loads(line), said)
    return sum(map(_repeated_count, said.values())) if said else None


def remove_recordings(home: str, session: str) -> None:
    """Remove everything that the CLI has stored about the session."""
    name = f"session-*-{glob.escape(session[:PREFIX])}.jsonl"
    for path in glob.glob(os.path.join(glob.escape(home), "tmp", "*", "chats", name)):
        with suppress(OSError):
            os.unlink(path)


def _chats_folder(home: str, workspace: str) -> str:
    """The folder of the workspace's recordings, from the CLI's own list of them."""
    try:
        with open(os.path.join(home, "projects.json"), encoding="utf-8") as file:
            name = json.load(file)["projects"][workspace]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    is_name = isinstance(name, str) and name and name == os.path.basename(name)
    return os.path.join(home, "tmp", name, "chats") if is_name else ""


def _recorded_messages(turns: Sequence[PastTurn]) -> Iterator[dict[str, Any]]:
    number = 0
    for turn in turns:
        for message in _of_turn(turn):
            number += 1
            time = turn.time.astimezone(timezone.utc).isoformat()
            yield {"id": str(number), "timestamp": time, **message}


def _of_turn(turn: PastTurn) -> Iterator[dict[str, Any]]:
    """What was said, in order: an answer, the calls in it, the next answer."""
    yield {"type": "user", "content": _harmless_text(turn.message_text)}
    said: list[str] = []
    calls: list[dict[str, Any]] = []
    for event in turn.events:
        body = event.body
        if isinstance(body, events.Content):
            if calls:
                yield _answer_message(said, calls)
                said, calls = [], []
            said.append(body.text)
        elif isinstance(body, events.ToolResult):
            calls.append(_recorded_call(body, len(calls)))
    if said or calls:
        yield _answer_message(said, calls)


def _answer_message(said: list[str], calls: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "gemini", "content": "".join(said), **({"toolCalls": calls} if calls else {})}


def _recorded_call(body: events.ToolResult, number: int) -> dict[str, Any]:
    error = str(body.error or body.result)
    response = {"output": body.result} if body.success else {"error": error}
    id = f"{body.call_id}-{number}"
    return {
        "id": id,
        "name": body.name,
        "args": body.args,
        "status": "success" if body.success else "error",
        "result": [{"functionResponse": {"id": id, "name": body.name, "response": response}}],
    }


def _apply_record(record: Any, said: dict[str, Mapping[str, Any]]) -> None:
    """Take what a line of the CLI's own recording says, into the messages by their ids."""
    if not isinstance(record, dict):
        return
    if "$rewindTo" in record:
        ids = list(said)
        at = ids.index(record["$rewindTo"]) if record["$rewindTo"] in said else 0
        for id in ids[at:]:
            del said[id]
        return
    whole = record.get("$set", record)
    messages = whole.get("messages") if isinstance(whole, dict) else None
    if isinstance(messages, list):
        if "$set" in record:
            said.clear()
        for each in messages:
            _apply_record(each, said)
    elif isinstance(record.get("id"), str) and "type" in record:
        said[record["id"]] = record


def _repeated_count(message: Mapping[str, Any]) -> int:
    """The number of updates that the CLI sends for a message of its own."""
    has_text = bool(_text_in(message.get("content")).strip())
    if message["type"] != "gemini":
        return int(has_text and message["type"] == "user")
    parts = (message.get("thoughts") or (), message.get("toolCalls") or ())
    return has_text + sum(map(len, parts))


def _text_in(content: Any) -> str:
    """What is said in a message, whose content is a text or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    texts = (each if isinstance(each, str) else _part_text(each) for each in parts)
    return "".join(texts)


def _part_text(part: Any) -> str:
    return str(part.get("text") or "") if isinstance(part, dict) else ""


def _update_count(message: Mapping[str, Any]) -> int:
    """The number of updates that the CLI sends for the message."""
    return bool(str(message["content"]).strip()) + len(message.get("toolCalls", ()))


def _harmless_text(text: str) -> str:
    """A text with this beginning does not count as said by the user."""
    return NO_COMMAND + text if text.lstrip()[:1] in ("/", "?") else text
