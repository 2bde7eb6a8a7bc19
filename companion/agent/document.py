"""A conversation as a document in Markdown, to be read and kept by people."""

from __future__ import annotations

import json
import re
from typing import Iterator, Sequence

from . import turn_events as events
from .sentence import CHINESE, sentence, translated_text
from .turn_events import PastTurn

UNTITLED = sentence("Untitled conversation")
WHO, TOOL = {CHINESE: "你"}, {CHINESE: "工具"}
OUTCOMES = {CHINESE: ("完成", "失败", "已拒绝")}
FENCE = re.compile(r"`{3,}")


def document_pieces(
    title: str, facts: Sequence[str], agent: str, turns: Sequence[PastTurn], language: str
) -> Iterator[str]:
    """The document in pieces. `facts` stand below the title. Messages are quoted, so that nothing
    in them looks like a part of the document; answers are Markdown as the agent wrote them.
    Thoughts are left out."""
    yield f"# {_as_one_line(title) or translated_text(UNTITLED, language)}\n\n"
    yield "".join(f"- {_as_one_line(fact)}\n" for fact in facts)
    for turn in turns:
        yield f"\n## {WHO.get(language, 'You')}, {turn.time.isoformat(timespec='seconds')}\n\n"
        yield _quoted_text(turn.message_text)
        yield "".join(f"- `{_as_one_line(path)}`\n" for path in turn.files)
        yield f"\n## {agent}\n\n"
        yield from _answer_pieces(turn, language)


def _answer_pieces(turn: PastTurn, language: str) -> Iterator[str]:
    is_text = False
    for event in turn.events:
        told = _event_markdown(event.body, language)
        if isinstance(event.body, events.Content):
            is_text = True
        elif is_text and told:
            is_text = False
            yield "\n\n"
        yield told
    if is_text:
        yield "\n"


def _event_markdown(body: events.Body, language: str) -> str:
    if isinstance(body, events.Content):
        return body.text
    if isinstance(body, events.ToolResult):
        return _tool_markdown(body, language)
    if isinstance(body, events.Resource):
        return _resource_markdown(body)
    if isinstance(body, events.MessageAdded):
        return _quoted_text(body.text) + "\n"
    if isinstance(body, events.Error):
        return _quoted_text(f"{body.code}: {translated_text(body.message, language)}") + "\n"
    if isinstance(body, events.Thought) and body.subject == events.WARNING:
        return _quoted_text(translated_text(body.description, language)) + "\n"
    return ""


def _tool_markdown(body: events.ToolResult, language: str) -> str:
    done, failed, rejected = OUTCOMES.get(language, ("done", "failed", "rejected"))
    outcome = done if body.success else rejected if body.rejected else failed
    head = f"**{TOOL.get(language, 'Tool')}: {_as_one_line(body.name)}** ({outcome})\n\n"
    args = json.dumps(body.args, ensure_ascii=False, indent=2)
    result = body.result or translated_text(body.error or body.display_result, language)
    return head + _fenced_block(args, "json") + (_fenced_block(result, "") if result else "")


def _resource_markdown(body: events.Resource) -> str:
    """Its name and its address, as text: nothing of it is loaded where the document is read."""
    told = filter(None, map(_as_one_line, (body.name, body.uri, body.description)))
    line = " — ".join(told) or body.media_type
    return _quoted_text(line) + "\n" + (_fenced_block(body.text, "") if body.text else "")


def _fenced_block(text: str, kind: str) -> str:
    """The text within a fence that is longer than every one in it."""
    longest = max((len(fence) for fence in FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{kind}\n{text.rstrip()}\n{fence}\n\n"


def _quoted_text(text: str) -> str:
    return "".join(f"> {line}".rstrip() + "\n" for line in text.splitlines() or [""])


def _as_one_line(text: str) -> str:
    return " ".join(text.split())
