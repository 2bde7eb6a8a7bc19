"""What a client of OpenAI's API asks for, read from the checked fields of its request.

Source: OpenAI's API reference, Chat Completions, also its content parts.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any, Mapping, NamedTuple, Sequence

from ...agent.failure import VALIDATION_ERROR
from ..contract.refusal import UNSUPPORTED_PARAMETER, Refusal
from .output_shape import OutputShape, of_format

# Names that let the server choose the model.
ANY_MODEL = ("gemini", "auto", "default")
ROLES = {
    **dict.fromkeys(("system", "developer"), "Instructions"),
    **{"user": "User", "assistant": "You"},
    **dict.fromkeys(("tool", "function"), "Tool"),
}
# Parameters that the CLI has nothing for, with the values that ask for nothing.
UNSUPPORTED: Mapping[str, tuple[Any, ...]] = {
    "logprobs": (False,),
    "top_logprobs": (0,),
    "logit_bias": ({},),
    "modalities": (["text"],),
    "audio": (),
    "web_search_options": (),
}
# How a program says which of its tools the model has to call, and the values that force none.
CHOICES, FREE = ("tool_choice", "function_call"), ("auto", "none")
# Parameters that change how the model answers, and that the CLI cannot pass on to it. Many programs
# always send them, so they are named in the answer instead of refused. A model that knows nothing
# of a program's tools answers with a text, as it may in any case.
IGNORED = (
    *("temperature", "top_p", "frequency_penalty", "presence_penalty", "seed"),
    *("reasoning_effort", "verbosity", "prediction", "reasoning"),
    *("max_tokens", "max_completion_tokens", "max_output_tokens", "tools", "functions"),
)
# The kinds of content parts that are no text, and where each has its address.
ADDRESSES = {"image_url": ("image_url", "url"), "file": ("file", "file_data")}
DATA = re.compile(r"data:[^,]*;base64,", re.IGNORECASE)
Message = Mapping[str, Any]


class InlineFile(NamedTuple):
    """A picture or document that stands within a message, as a `data:` address."""

    name: str
    data: bytes


@dataclass(frozen=True)
class ConversationTarget:
    """Whom a conversation is with: the id of the CLI, None for the usual one, and the model's name,
    empty for the one that the CLI chooses."""

    agent: str | None
    model: str


@dataclass(frozen=True)
class WantedAnswer:
    """`known` are the messages up to the last answer, which a kept conversation remembers, `new`
    those after it. `stops` are words that end the answer. `shape` is that of the answer, None for
    any text. `ignored` are the names of parameters that have no effect."""

    target: ConversationTarget
    known: tuple[Message, ...]
    new: tuple[Message, ...]
    stops: tuple[str, ...]
    shape: OutputShape | None
    user: str
    ignored: tuple[str, ...]

    def message_text(self, is_known: bool) -> str:
        """The text for the CLI. `is_known` says that its conversation remembers what came
        before."""
        text = _joined_text(self.new if is_known else (*self.known, *self.new))
        return text if self.shape is None else f"{text}\n\n{self.shape.instructions}"

    @property
    def has_parts(self) -> bool:
        """Whether files may stand in the messages."""
        return any(isinstance(message.get("content"), list) for message in (*self.known, *self.new))

    def message_files(self, is_known: bool) -> list[InlineFile]:
        """The files that go with the message."""
        messages = self.new if is_known else (*self.known, *self.new)
        return [file for at, each in enumerate(messages) for file in _inline_files(each, at)]

    def memory_digest(self, owner: str, answer: str | None = None) -> bytes:
        """Stands for the memory of a conversation: whose it is, with whom, and what was said in
        it, up to the last answer; with `answer`, up to that one."""
        said = [
            [message["role"], _message_content(message, 0), *_file_digests(message)]
            for message in self.known
        ]
        if answer is not None:
            said += [
                [message["role"], _message_content(message, 0), *_file_digests(message)]
                for message in self.new
            ]
            said.append(["assistant", answer])
        shape = None if self.shape is None else self.shape.instructions
        whole = [owner, self.user, self.target.agent, self.target.model, shape, said]
        return hashlib.sha256(json.dumps(whole).encode("ascii")).digest()


def read_request(fields: Mapping[str, Any], agents: Sequence[str]) -> WantedAnswer:
    """`agents` are the ids of the CLIs that are offered. Raises Refusal."""
    _refuse_unsupported(fields)
    messages = fields["messages"]
    if messages[-1]["role"] != "user":
        raise Refusal(VALIDATION_ERROR, "openai_last", field="messages")
    for index, each in enumerate(messages):
        _message_content(each, index)
        _inline_files(each, index)
    shape = of_format(fields.get("response_format", {"type": "text"}))
    stop = fields.get("stop", ())
    stops = (stop,) if isinstance(stop, str) else tuple(stop)
    if stops and shape is not None:
        raise Refusal(UNSUPPORTED_PARAMETER, "openai_stop_shape", field="stop")
    answers = [index for index, message in enumerate(messages) if message["role"] == "assistant"]
    parted = answers[-1] + 1 if answers else 0
    return WantedAnswer(
        _conversation_target(fields["model"], agents),
        tuple(messages[:parted]),
        tuple(messages[parted:]),
        stops,
        shape,
        fields.get("user", ""),
        tuple(name for name in IGNORED if name in fields and fields[name] != []),
    )


def _conversation_target(model: str, agents: Sequence[str]) -> ConversationTarget:
    """The name of a CLI counts as a model, and lets that CLI choose."""
    if model in agents:
        return ConversationTarget(model, "")
    return ConversationTarget(None, "" if model in ANY_MODEL else model)


def _refuse_unsupported(fields: Mapping[str, Any]) -> None:
    for name in CHOICES:
        if fields.get(name, FREE[0]) not in FREE:
            raise Refusal(UNSUPPORTED_PARAMETER, "openai_tools", field=name)
    if fields.get("n", 1) != 1:
        raise Refusal(UNSUPPORTED_PARAMETER, "openai_choices", field="n")
    for name, harmless in UNSUPPORTED.items():
        if name in fields and fields[name] not in harmless:
            raise Refusal(UNSUPPORTED_PARAMETER, field=name)


def _joined_text(messages: Sequence[Message]) -> str:
    """All messages as one text."""
    told = [(ROLES[message["role"]], _message_content(message, 0)) for message in messages]
    if len(told) == 1:
        return told[0][1]
    return "\n\n".join(f"{role}: {text}" for role, text in told)


def _message_content(message: Message, index: int) -> str:
    """The text of a message; `index` is its place among all. Raises Refusal if it has parts of
    another kind."""
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    left = [part for part in content if _address_of(part) is None]
    parts = [part.get("text") for part in left if part.get("type") == "text"]
    if len(parts) != len(left) or not all(isinstance(part, str) for part in parts):
        raise Refusal(VALIDATION_ERROR, "openai_parts", field=_content_field(index))
    return "\n".join(parts)


def _inline_files(message: Message, index: int) -> list[InlineFile]:
    """Raises Refusal if one does not stand in the message itself."""
    parts = _with_address(message)
    return [_read_inline_file(part, _content_field(index)) for part in parts]


def _address_of(part: Mapping[str, Any]) -> str | None:
    """The address in a content part; None if it has none."""
    member, key = ADDRESSES.get(str(part.get("type")), ("", ""))
    value = part.get(member)
    found = value.get(key) if isinstance(value, dict) else value
    return found if isinstance(found, str) else None


def _read_inline_file(part: Mapping[str, Any], field: str) -> InlineFile:
    """The file of a content part with an address. Raises Refusal for one that would have to be
    loaded: nobody makes the server ask other machines."""
    address = _address_of(part) or ""
    beginning = DATA.match(address)
    if beginning is None:
        raise Refusal(VALIDATION_ERROR, "openai_far_file", field=field)
    try:
        data = base64.b64decode(address[beginning.end() :], validate=True)
    except ValueError:
        raise Refusal(VALIDATION_ERROR, "openai_base64", field=field) from None
    value = part.get("file")
    name = value.get("filename") if isinstance(value, dict) else ""
    return InlineFile(name if isinstance(name, str) and name else "picture", data)


def _file_digests(message: Message) -> list[str]:
    """What stands for the files of a message in a digest."""
    given = (_address_of(part) or "" for part in _with_address(message))
    return [hashlib.sha256(each.encode("utf-8", "replace")).hexdigest() for each in given]


def _with_address(message: Message) -> list[Message]:
    content = message.get("content")
    parts = content if isinstance(content, list) else ()
    return [part for part in parts if _address_of(part) is not None]


def _content_field(index: int) -> str:
    return f"messages.{index}.content"
