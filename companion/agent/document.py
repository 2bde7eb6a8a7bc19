"""A conversation as a document in Markdown, to be read and kept by people."""

from __future__ import annotations

import json
import re
from typing import Iterator, Sequence

from . import turn_events as events
from .sentence import CHINESE, said, sentence
from .turn_events import PastTurn

UNTITLED = sentence("Untitled conversation")
WHO, TOOL = {CHINESE: "你"}, {CHINESE: "工具"}
OUTCOMES = {CHINESE: ("完成", "失败", "已拒绝")}
FENCE = re.compile(r"`{3,}")


def written(
    title: str, facts: Sequence[str], agent: str, turns: Sequence[PastTurn], language: str
) -> Iterator[str]:
    """The document in pieces. `facts` stand below the title. Messages are quoted, so that nothing
    in them looks like a part of the document; answers are Markdown as the agent wrote them.
    Thoughts are left out."""
    yield f"# {_line(title) or said(UNTITLED, language)}\n\n"
    yield "".join(f"- {_line(fact)}\n" for fact in facts)
    for turn in turns:
        yield f"\n## {WHO.get(language, 'You')}, {turn.time.isoformat(timespec='seconds')}\n\n"
        yield _quoted(turn.said)
        yield "".join(f"- `{_line(path)}`\n" for path in turn.files)
        yield f"\n## {agent}\n\n"
        yield from _answer(turn, language)


def _answer(turn: PastTurn, language: str) -> Iterator[str]:
    is_text = False
    for event in turn.events:
        told = _told(event.body, language)
        if isinstance(event.body, events.Content):
            is_text = True
        elif is_text and told:
            is_text = False
            yield "\n\n"
        yield told
    if is_text:
        yield "\n"


def _told(body: events.Body, language: str) -> str:
    if isinstance(body, events.Content):
        return body.text
    if isinstance(body, events.ToolResult):
        return _tool(body, language)
    if isinstance(body, events.MessageAdded):
        return _quoted(body.text) + "\n"
    if isinstance(body, events.Error):
        return _quoted(f"{body.code}: {said(body.message, language)}") + "\n"
    if isinstance(body, events.Thought) and body.subject == events.WARNING:
        return _quoted(said(body.description, language)) + "\n"
    return ""


def _tool(body: events.ToolResult, language: str) -> str:
    done, failed, rejected = OUTCOMES.get(language, ("done", "failed", "rejected"))
    outcome = done if body.success else rejected if body.rejected else failed
    head = f"**{TOOL.get(language, 'Tool')}: {_line(body.name)}** ({outcome})\n\n"
    args = json.dumps(body.args, ensure_ascii=False, indent=2)
    result = body.result or said(body.error or body.display_result, language)
    return head + _fenced(args, "json") + (_fenced(result, "") if result else "")


def _fenced(text: str, kind: str) -> str:
    """The text within a fence that is longer than every one in it."""
    longest = max((len(fence) for fence in FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{kind}\n{text.rstrip()}\n{fence}\n\n"


def _quoted(text: str) -> str:
    return "".join(f"> {line}".rstrip() + "\n" for line in text.splitlines() or [""])


def _line(text: str) -> str:
    return " ".join(text.split())
