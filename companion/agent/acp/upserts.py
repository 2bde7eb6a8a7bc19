"""What version 2 of the protocol tells by ids, again and again: messages, calls and the terminals
that these show. What is missing in an update stays as it is, null takes it away, and anything else
takes its place. Here it becomes what is new each time.

All of it is bounded, as an agent may tell any number of ids and texts of any length.
"""

from __future__ import annotations

import base64
import binascii
import codecs
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Mapping, Sequence, TypeVar

from ..wording.surrogates import clean_surrogates
from . import messages
from .content_blocks import ContentBlock, read_block
from .git_patches import read_edits
from .members import object_of, objects_of, required_text, text_of
from .messages import ToolCallStart, ToolCallUpdate

# The most messages, calls and terminals of one session of which something is kept.
MAX_IDS = 1000
# The most characters that are kept of the beginning of a text, and of what a terminal has put out
# before a call shows it.
MAX_KEPT, MAX_EARLY = 64 * 1024, 64 * 1024
# The most items of the content of one call, and the characters of it, and of all calls.
MAX_ITEMS, MAX_CONTENT, MAX_ALL = 1000, 16 << 20, 64 << 20
# The members of a call that are known as they were told last.
MEMBERS = ("name", "title", "kind", "status", "locations", "rawInput", "rawOutput")
CONTENT, META = "content", "_meta"
# Those that may be large, which nobody needs of a call that is over.
LARGE = ("rawInput", "rawOutput", META)
# The statuses of a call that version 1 has by another word.
STATUSES = {"cancelled": "failed"}

T = TypeVar("T")


class _Known(Generic[T]):
    """What is known by ids; of too many, the ones that were told longest ago are forgotten."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, T] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def get(self, id: str) -> T | None:
        if id in self._known:
            self._known.move_to_end(id)
        return self._known.get(id)

    def put(self, id: str, value: T) -> T:
        self._known[id] = value
        self._known.move_to_end(id)
        if len(self._known) > MAX_IDS:
            self._known.popitem(last=False)
        return value

    def drop_oldest(self) -> T:
        return self._known.popitem(last=False)[1]


class ToldText:
    """A text as far as it was told: its length, and its beginning."""

    def __init__(self) -> None:
        self._start = ""
        self._length = 0

    def add_piece(self, piece: str) -> None:
        self._start += piece[: MAX_KEPT - len(self._start)]
        self._length += len(piece)

    def replace_text(self, text: str) -> str:
        """What is to be told where this is all of it: what follows, or all, if it is another text.
        What was told is not taken back."""
        is_same = len(text) >= self._length and text.startswith(self._start)
        news = text[self._length :] if is_same else text
        self._start, self._length = text[:MAX_KEPT], len(text)
        return news


@dataclass
class _Message:
    text: ToldText = field(default_factory=ToldText)
    blocks: int = 0


@dataclass
class _Call:
    """`told` are its members as they are now, the content in the form of version 1; `size` are its
    characters, `edited` the files that it names. `asked` is what the agent says where it asks about
    the call."""

    told: dict[str, Any] = field(default_factory=dict)
    size: int = 0
    edited: list[str] = field(default_factory=list)
    asked: tuple[str, ...] = ()

    @property
    def is_over(self) -> bool:
        return self.told.get("status") in ("completed", "failed")


@dataclass
class _Terminal:
    """`call` is the id of the call that shows it, or empty; `early` what was put out before."""

    call: str = ""
    early: str = ""
    text: ToldText = field(default_factory=ToldText)
    decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace")
    )


class Upserts:
    """What one session has told. Methods raise Unreadable for what has no id."""

    def __init__(self) -> None:
        self._messages: _Known[_Message] = _Known()
        self._calls: _Known[_Call] = _Known()
        self._terminals: _Known[_Terminal] = _Known()
        self._size = 0

    def take_message(self, kind: str, update: Mapping[str, Any]) -> tuple[str, list[ContentBlock]]:
        """What is new of a message that is told whole: its text, and what is no text."""
        message = self._message_of(kind, update)
        if CONTENT not in update:
            return "", []
        told = objects_of(update, CONTENT)[:MAX_ITEMS]
        others = [read_block(block) for block in told]
        text = "".join(text_of(block, "text") for block, other in zip(told, others) if not other)
        blocks = [block for block in others if block is not None]
        news, message.blocks = blocks[message.blocks :], len(blocks)
        return message.text.replace_text(text), news

    def take_chunk(self, kind: str, update: Mapping[str, Any]) -> tuple[str, ContentBlock | None]:
        """A piece of a message."""
        message = self._message_of(kind, update)
        content = object_of(update, CONTENT)
        block = read_block(content)
        if block is not None:
            message.blocks += 1
            return "", block
        text = text_of(content, "text")
        message.text.add_piece(text)
        return text, None

    def take_call(self, update: Mapping[str, Any]) -> list[ToolCallUpdate]:
        """The call as it is after the update, and what its terminals have put out."""
        id = clean_surrogates(required_text(update, "toolCallId", "tool_call_update"))
        call = self._calls.get(id)
        status = STATUSES.get(text_of(update, "status"), text_of(update, "status"))
        is_new = call is None or (call.is_over and status in ("pending", "in_progress"))
        if call is None or is_new:
            call = self._new_call(id, call)
        terminals = self._patch_call(call, update)
        if status:
            call.told["status"] = status
        told = self._read_call(ToolCallStart if is_new else ToolCallUpdate, id, call)
        output = self._show_terminals(id, terminals)
        if call.is_over and is_new and output:
            # What it has put out comes before its end.
            end = self._read_call(ToolCallUpdate, id, call)
            output, told = [*output, end], replace(told, status="in_progress")
        if call.is_over:
            self._forget_content(call)
            for name in LARGE:
                call.told.pop(name, None)
        return [told, *output] if is_new or not told.is_over else [*output, told]

    def take_content(self, update: Mapping[str, Any]) -> list[ToolCallUpdate]:
        """One more item of the content of a call."""
        kind = "tool_call_content_chunk"
        id = clean_surrogates(required_text(update, "toolCallId", kind))
        call = self._calls.get(id)
        is_new = call is None
        if call is None:
            call = self._new_call(id, None)
        content = object_of(update, CONTENT)
        items, terminals = self._read_items(call, [content])
        kept = call.told.setdefault(CONTENT, [])
        self._keep_items(call, kept, items)
        if is_new or content.get("type") != CONTENT:
            made = ToolCallStart if is_new else ToolCallUpdate
            return [self._read_call(made, id, call), *self._show_terminals(id, terminals)]
        piece = object_of(content, CONTENT)
        block = read_block(piece)
        if block is not None:
            return [ToolCallUpdate(id, blocks=(block,))]
        output = clean_surrogates(text_of(piece, "text"))
        return [ToolCallUpdate(id, output=output)] if output else []

    def take_question(
        self, update: Mapping[str, Any], title: str, description: str
    ) -> ToolCallUpdate:
        """The call that the agent asks about, in these words."""
        told = self.take_call(update)[0]
        call = self._calls.get(told.id)
        if call is None:
            return told
        if title and not text_of(call.told, "title"):
            call.told["title"] = title
        known = {text_of(call.told, "title"), *told.texts}
        call.asked = tuple(text for text in (title, description) if text and text not in known)
        return self._read_call(ToolCallUpdate, told.id, call)

    def take_terminal(self, update: Mapping[str, Any]) -> list[ToolCallUpdate]:
        """A terminal as it is now."""
        terminal = self._terminal_of(update, "terminal_update")
        told: list[ToolCallUpdate] = []
        call = self._calls.get(terminal.call) if terminal.call else None
        command = clean_surrogates(text_of(update, "command"))
        if call is not None and command and not call.told.get("rawInput") and not call.is_over:
            call.told["rawInput"] = {"command": command}
            told.append(self._read_call(ToolCallUpdate, terminal.call, call))
        if "output" in update:
            data = _bytes_of(object_of(update, "output"))
            terminal.decoder.reset()
            terminal.early = ""
            news = terminal.text.replace_text(terminal.decoder.decode(data))
            told += self._put_out(terminal, news)
        return told

    def take_output(self, update: Mapping[str, Any]) -> list[ToolCallUpdate]:
        """More of what a terminal has put out."""
        terminal = self._terminal_of(update, "terminal_output_chunk")
        piece = terminal.decoder.decode(_bytes_of(update))
        terminal.text.add_piece(piece)
        return self._put_out(terminal, piece)

    def call_of_terminal(self, id: str) -> str:
        """The id of the call that shows the terminal, or empty."""
        terminal = self._terminals.get(id)
        return "" if terminal is None else terminal.call

    def _message_of(self, kind: str, update: Mapping[str, Any]) -> _Message:
        id = required_text(update, "messageId", kind)
        return self._messages.get(id) or self._messages.put(id, _Message())

    def _new_call(self, id: str, before: _Call | None) -> _Call:
        if before is not None:
            self._forget_content(before)
        return self._calls.put(id, _Call())

    def _patch_call(self, call: _Call, update: Mapping[str, Any]) -> list[str]:
        """Gives the ids of the terminals that its content names."""
        for name in MEMBERS:
            if update.get(name) is not None:
                call.told[name] = update[name]
            elif name in update:
                call.told.pop(name, None)
        if META in update:
            known = {**object_of(call.told, META), **object_of(update, META)}
            is_cleared = update[META] is None
            told = {name: value for name, value in known.items() if value is not None}
            call.told[META] = {} if is_cleared else told
        if CONTENT not in update:
            return []
        self._forget_content(call)
        items, terminals = self._read_items(call, objects_of(update, CONTENT))
        self._keep_items(call, call.told.setdefault(CONTENT, []), items)
        return terminals

    @staticmethod
    def _read_items(
        call: _Call, told: Sequence[Mapping[str, Any]]
    ) -> tuple[list[dict[str, Any]], list[str]]:
        """The items in the form of version 1, and the ids of terminals."""
        items: list[dict[str, Any]] = []
        terminals = []
        for each in told[:MAX_ITEMS]:
            kind = text_of(each, "type")
            if kind == "diff":
                edits = read_edits(each)
                call.edited += edits.paths
                items += map(_diff_item, edits.diffs)
                items += map(_text_item, edits.words)
            elif kind == "terminal":
                terminals.append(text_of(each, "terminalId"))
            else:
                items.append(dict(each))
        return items, list(filter(None, terminals))

    def _keep_items(
        self, call: _Call, kept: list[dict[str, Any]], items: Sequence[dict[str, Any]]
    ) -> None:
        for item in items:
            size = _size_of(item)
            if len(kept) < MAX_ITEMS and call.size + size <= MAX_CONTENT:
                kept.append(item)
                call.size += size
                self._size += size
            elif not kept or kept[-1] != MORE:
                kept.append(MORE)
        while self._size > MAX_ALL and len(self._calls) > 1:
            self._forget_content(self._calls.drop_oldest())

    def _forget_content(self, call: _Call) -> None:
        self._size -= call.size
        call.size = 0
        call.edited.clear()
        call.told.pop(CONTENT, None)

    @staticmethod
    def _read_call(made: type[messages.Call], id: str, call: _Call) -> messages.Call:
        told = {name: call.told[name] for name in (*MEMBERS, CONTENT, META) if name in call.told}
        # No file of an edit is hidden, whether its texts are told or not.
        named = objects_of(told, "locations")
        known = {text_of(place, "path") for place in named}
        others = [{"path": path} for path in dict.fromkeys(call.edited) if path not in known]
        told["locations"] = [*named, *others]
        if call.asked and not call.is_over:
            told[CONTENT] = [*map(_text_item, call.asked), *told.get(CONTENT, [])]
        return messages.read_call(made, {"toolCallId": id, **told}, "tool_call_update")

    def _show_terminals(self, id: str, terminals: Sequence[str]) -> list[ToolCallUpdate]:
        """The call shows these from now on."""
        told: list[ToolCallUpdate] = []
        for each in terminals:
            terminal = self._terminals.get(each) or self._terminals.put(each, _Terminal())
            terminal.call = terminal.call or id
            if terminal.early and terminal.call == id:
                told.append(ToolCallUpdate(id, output=terminal.early))
                terminal.early = ""
        return told

    def _terminal_of(self, update: Mapping[str, Any], kind: str) -> _Terminal:
        id = required_text(update, "terminalId", kind)
        return self._terminals.get(id) or self._terminals.put(id, _Terminal())

    @staticmethod
    def _put_out(terminal: _Terminal, piece: str) -> list[ToolCallUpdate]:
        if terminal.call:
            return [ToolCallUpdate(terminal.call, output=piece)] if piece else []
        terminal.early = (terminal.early + piece)[-MAX_EARLY:]
        return []


def _diff_item(diff: messages.FileDiff) -> dict[str, Any]:
    return {
        "type": "diff",
        "path": diff.path,
        "oldText": diff.old_text,
        "newText": diff.new_text,
    }


def question_of(id: str, told: Mapping[str, Any], words: Sequence[str]) -> ToolCallUpdate:
    """A question about no call of the agent, in these words."""
    content = [_text_item(text) for text in words if text]
    call = {"toolCallId": id, "status": "pending", **told, CONTENT: content}
    return replace(messages.read_call(ToolCallUpdate, call, "question"), asks_alone=True)


def _text_item(text: str) -> dict[str, Any]:
    return {"type": CONTENT, CONTENT: {"type": "text", "text": text}}


# Stands for what is too much.
MORE = _text_item("…")


def _size_of(item: Mapping[str, Any]) -> int:
    """The characters of an item, about."""
    if item.get("type") == "diff":
        return len(item["oldText"]) + len(item["newText"])
    return sum(
        len(value)
        for holder in (object_of(item, CONTENT), object_of(object_of(item, CONTENT), "resource"))
        for value in holder.values()
        if isinstance(value, str)
    )


def _bytes_of(holder: Mapping[str, Any]) -> bytes:
    """Nothing of what is no base64."""
    try:
        return base64.b64decode(text_of(holder, "data"), validate=True)
    except (binascii.Error, ValueError):
        return b""
