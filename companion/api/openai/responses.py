"""Requests and answers of the Responses API, in terms of Chat Completions, and the answers that
later requests name.

Source: OpenAI's API reference, Responses and its streaming events.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

from ...agent.failure import VALIDATION_ERROR
from ..contract.refusal import PREVIOUS_RESPONSE_NOT_FOUND, UNSUPPORTED_PARAMETER, Refusal
from .request import Message
from .talk import LENGTH, STOP, Talk

# Answers that are remembered, the characters of all their messages, and for how many seconds.
MAX_KEPT, MAX_CHARACTERS, KEPT_FOR = 200, 32 << 20, 3600.0
RESPONSE, ITEM = "resp_", "msg_"
TEXTS = ("input_text", "output_text", "text")
# Parameters of Chat Completions with the same name and meaning here.
SAME = ("model", "stream", "user", "temperature", "top_p", "max_output_tokens", "reasoning",
        "tools", "tool_choice", "top_logprobs")  # fmt: skip
# Parameters that ask for what only OpenAI's servers have.
ELSEWHERE = ("background", "conversation", "prompt")


class KeptResponses:
    """What was said up to each answer, by its owner and its id. Used on one loop."""

    def __init__(self) -> None:
        # The oldest first.
        self._kept: dict[tuple[str, str], tuple[float, int, tuple[Message, ...]]] = {}

    def keep_response(self, owner: str, id: str, messages: Sequence[Message]) -> None:
        self._kept[owner, id] = (time.monotonic(), _character_count(messages), tuple(messages))
        self._sweep_old()

    def find_messages(self, owner: str, id: str, field: str) -> tuple[Message, ...]:
        """Raises Refusal if nothing of this owner has this id."""
        self._sweep_old()
        kept = self._kept.get((owner, id))
        if kept is None:
            raise Refusal(PREVIOUS_RESPONSE_NOT_FOUND, field=field, id=id[:100])
        return kept[2]

    def _sweep_old(self) -> None:
        latest = time.monotonic() - KEPT_FOR
        while self._kept and (
            len(self._kept) > MAX_KEPT
            or sum(size for _at, size, _messages in self._kept.values()) > MAX_CHARACTERS
            or next(iter(self._kept.values()))[0] < latest
        ):
            del self._kept[next(iter(self._kept))]


# Gives what was said up to the answer with this id; the second text is the field that names it.
Found = Callable[[str, str], Sequence[Message]]


def as_chat(fields: Mapping[str, Any], found: Found) -> dict[str, Any]:
    """The fields of the same request to Chat Completions. Raises Refusal."""
    for name in ELSEWHERE:
        if fields.get(name):
            raise Refusal(UNSUPPORTED_PARAMETER, field=name)
    chat = {name: fields[name] for name in SAME if name in fields}
    instructions = fields.get("instructions")
    first = [{"role": "system", "content": instructions}] if instructions else []
    wanted = (fields.get("text") or {}).get("format")
    if wanted:
        chat["response_format"] = {"type": wanted["type"], "json_schema": wanted}
    return {**chat, "messages": [*first, *all_messages(fields, found)]}


def all_messages(fields: Mapping[str, Any], found: Found) -> list[Message]:
    """All messages but the instructions, which count for one answer. Raises Refusal."""
    previous = fields.get("previous_response_id")
    before = found(previous, "previous_response_id") if previous else ()
    given = fields["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    return [
        *before,
        *(message for at, each in enumerate(items) for message in _item_messages(each, at, found)),
    ]


def _item_messages(item: Mapping[str, Any], at: int, found: Found) -> Iterator[Message]:
    """The message that an item of the input stands for; none for the model's reasoning. Raises
    Refusal."""
    field, kind = f"input.{at}", item.get("type", "message")
    if kind == "item_reference":
        id = str(item.get("id", ""))
        yield found(RESPONSE + id[len(ITEM) :], field)[-1]
    elif kind == "message":
        content = item.get("content")
        if isinstance(content, list):
            content = [_chat_part(each, field) for each in content]
        if item.get("role") not in ("user", "assistant", "system", "developer"):
            raise Refusal(VALIDATION_ERROR, "openai_parts", field=field + ".role")
        yield {"role": item["role"], "content": content}
    elif kind != "reasoning":
        raise Refusal(UNSUPPORTED_PARAMETER, "openai_tools", field=field)


def _chat_part(part: Mapping[str, Any], field: str) -> Message:
    """Raises Refusal."""
    kind = part.get("type")
    if kind in TEXTS:
        return {"type": "text", "text": part.get("text")}
    if kind == "input_image":
        return {"type": "image_url", "image_url": {"url": part.get("image_url")}}
    if kind == "input_file":
        return {"type": "file", "file": part}
    raise Refusal(VALIDATION_ERROR, "openai_parts", field=field + ".content")


class ResponseObject:
    """The answer to one request, whole or as the events of a stream."""

    def __init__(self, fields: Mapping[str, Any], talk: Talk) -> None:
        self._fields, self._talk = fields, talk
        self._sent = 0

    @property
    def id(self) -> str:
        return RESPONSE + self._talk.turn_id

    def first_events(self) -> Iterator[dict[str, Any]]:
        """The events before the first piece."""
        running = self._response_value("in_progress", [], None)
        yield self._numbered_event("response.created", response=running)
        yield self._numbered_event("response.in_progress", response=running)
        item = {**self._output_message("", "in_progress"), "content": []}
        yield self._numbered_event("response.output_item.added", output_index=0, item=item)
        yield self._item_event("response.content_part.added", part=_output_text(""))

    def piece_event(self, text: str) -> dict[str, Any]:
        return self._item_event("response.output_text.delta", delta=text, logprobs=[])

    def last_events(self, text: str) -> Iterator[dict[str, Any]]:
        """The events after the last piece; `text` is all of them."""
        yield self._item_event("response.output_text.done", text=text, logprobs=[])
        yield self._item_event("response.content_part.done", part=_output_text(text))
        whole = self.whole_response(text)
        (item,) = whole["output"]
        yield self._numbered_event("response.output_item.done", output_index=0, item=item)
        yield self._numbered_event("response." + whole["status"], response=whole)

    def failure_event(self, error: Mapping[str, Any]) -> dict[str, Any]:
        """The last event of a stream that broke off."""
        told = {"code": error["code"], "message": error["message"]}
        return self._numbered_event(
            "response.failed", response=self._response_value("failed", [], told)
        )

    def whole_response(self, text: str) -> dict[str, Any]:
        status = "completed" if self._talk.reason == STOP else "incomplete"
        return self._response_value(status, [self._output_message(text, status)], None)

    def _response_value(
        self, status: str, output: Sequence[Mapping[str, Any]], error: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        fields, talk = self._fields, self._talk
        reason = "max_output_tokens" if talk.reason == LENGTH else talk.reason
        usage = talk.usage
        counts = {
            "input_tokens": usage["prompt_tokens"],
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": usage["completion_tokens"],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage["total_tokens"],
        }
        return {
            "id": self.id,
            "object": "response",
            "created_at": talk.created,
            "status": status,
            "error": error,
            "incomplete_details": {"reason": reason} if status == "incomplete" else None,
            "instructions": fields.get("instructions"),
            "max_output_tokens": None,
            "model": fields["model"],
            "output": output,
            "parallel_tool_calls": True,
            "previous_response_id": fields.get("previous_response_id"),
            "store": fields.get("store", True),
            "temperature": None,
            "text": fields.get("text") or {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
            "usage": None if status == "in_progress" else counts,
            "user": fields.get("user"),
            "metadata": fields.get("metadata", {}),
            **talk.extra_members,
        }

    def _output_message(self, text: str, status: str) -> dict[str, Any]:
        id = ITEM + self._talk.turn_id
        content = [_output_text(text)]
        return {
            **{"id": id, "type": "message", "role": "assistant"},
            **{"status": status, "content": content},
        }

    def _item_event(self, type: str, **members: Any) -> dict[str, Any]:
        id = ITEM + self._talk.turn_id
        return self._numbered_event(type, item_id=id, output_index=0, content_index=0, **members)

    def _numbered_event(self, type: str, **members: Any) -> dict[str, Any]:
        number, self._sent = self._sent, self._sent + 1
        return {"type": type, "sequence_number": number, **members}


def _character_count(value: object) -> int:
    """The number of characters of all texts in the value."""
    if isinstance(value, str):
        return len(value)
    parts = value.values() if isinstance(value, Mapping) else value
    return sum(map(_character_count, parts)) if isinstance(parts, Iterable) else 0


def _output_text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
