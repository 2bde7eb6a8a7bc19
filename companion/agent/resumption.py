"""A conversation that goes on in a new process of the CLI: its transcript as a recording that the
CLI loads, or as a text that goes along with the next message.

Source: docs/gemini-cli-acp.md 9.
"""

from __future__ import annotations

import glob
import json
import os
from contextlib import suppress
from datetime import timezone
from typing import Any, Iterator, Mapping, Sequence

from ..base import private_files
from . import events
from .acp_messages import Block, resource_block, text_block
from .prompt import NO_COMMAND
from .recording import PREFIX
from .transcripts import History, PastTurn

# A minute that is over for certain: a load within the minute of the name destroys the recording.
MINUTE = "2001-01-01T00-00"
# In the place of a message that the disk has lost.
LOST = "[What the user said here is lost.]"
# Characters of the text that goes along; the CLI sends nothing where it is beyond the context.
MAX_TEXT = 1_000_000
INTRODUCTION = (
    "This is the conversation so far, which you have lost. Go on from there; do not repeat or"
    " answer what stands in it.\n\n"
)


def write_recording(home: str, workspace: str, session: str, history: History) -> int | None:
    """Write what the CLI loads as `session`; `home` is its folder `.gemini`. How many updates the
    load will repeat; None where the CLI does not know the workspace yet, or nothing was said.
    Raises OSError."""
    folder = _chats(home, workspace)
    messages = list(_messages(history))
    if not folder or not messages:
        return None
    # Any hash does, but there has to be one.
    head = {"sessionId": session, "projectHash": "-", "startTime": history.created.isoformat()}
    lines = [json.dumps(each, ensure_ascii=False) for each in (head, *messages)]
    os.makedirs(folder, mode=0o700, exist_ok=True)
    name = f"session-{MINUTE}-{session[:PREFIX]}.jsonl"
    data = ("\n".join(lines) + "\n").encode("utf-8", "replace")
    private_files.write(os.path.join(folder, name), data)
    return sum(map(_updates, messages))


def remove_recordings(home: str, session: str) -> None:
    """All that the CLI has of the session."""
    name = f"session-*-{glob.escape(session[:PREFIX])}.jsonl"
    for path in glob.glob(os.path.join(glob.escape(home), "tmp", "*", "chats", name)):
        with suppress(OSError):
            os.unlink(path)


def as_text(history: History) -> str:
    """The conversation for the model to read, its end where it is long."""
    parts = [text for turn in history.turns for text in _told(turn)]
    text = "\n\n".join(parts)
    return INTRODUCTION + text[-MAX_TEXT:] if text else ""


def as_resources(texts: Sequence[str]) -> list[Block]:
    """Parts before those of a message, which arrive as they are."""
    parts = [
        resource_block(f"file:///conversation-{number}", "text/plain", text=text)
        for number, text in enumerate(texts, 1)
    ]
    # The CLI joins the names of resources with the words that follow.
    return [*parts, text_block("\n\n")] if parts else []


def _chats(home: str, workspace: str) -> str:
    """The folder of the workspace's recordings, by the CLI's own list of them."""
    try:
        with open(os.path.join(home, "projects.json"), encoding="utf-8") as file:
            name = json.load(file)["projects"][workspace]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    is_name = isinstance(name, str) and name and name == os.path.basename(name)
    return os.path.join(home, "tmp", name, "chats") if is_name else ""


def _messages(history: History) -> Iterator[dict[str, Any]]:
    number = 0
    for turn in history.turns:
        for message in _of_turn(turn):
            number += 1
            time = turn.time.astimezone(timezone.utc).isoformat()
            yield {"id": str(number), "timestamp": time, **message}


def _of_turn(turn: PastTurn) -> Iterator[dict[str, Any]]:
    """What was said, in order: an answer, the calls that came of it, the next answer."""
    yield {"type": "user", "content": _harmless(_text(turn))}
    said: list[str] = []
    calls: list[dict[str, Any]] = []
    for event in turn.events:
        body = event.body
        if isinstance(body, events.Content):
            if calls:
                yield _answer(said, calls)
                said, calls = [], []
            said.append(body.text)
        elif isinstance(body, events.ToolResult):
            calls.append(_call(body, len(calls)))
    if said or calls:
        yield _answer(said, calls)


def _answer(said: list[str], calls: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "gemini", "content": "".join(said), **({"toolCalls": calls} if calls else {})}


def _call(body: events.ToolResult, number: int) -> dict[str, Any]:
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


def _updates(message: Mapping[str, Any]) -> int:
    """How many updates the CLI sends of the message."""
    return bool(str(message["content"]).strip()) + len(message.get("toolCalls", ()))


def _text(turn: PastTurn) -> str:
    """What the user said, and the names of what was attached."""
    names = ", ".join(it.name for it in turn.attachments)
    text = turn.text or ("" if turn.is_whole else LOST)
    return f"{text}\n[Attached: {names}]" if names else text


def _harmless(text: str) -> str:
    """One that begins so does not count as said by the user."""
    return NO_COMMAND + text if text.lstrip()[:1] in ("/", "?") else text


def _told(turn: PastTurn) -> Iterator[str]:
    yield f"User: {_text(turn)}"
    said: list[str] = []
    for event in turn.events:
        body = event.body
        if isinstance(body, events.Content):
            said.append(body.text)
        elif isinstance(body, events.ToolResult):
            args = json.dumps(body.args, ensure_ascii=False)
            said.append(f"\n[{body.name} {args}: {body.result or body.error}]\n")
    yield "You: " + "".join(said)
