"""What goes with the words of a message, as frozen values: joined to them here when it is sent, and
parted from them here when it comes back. Nothing else looks for the end of the words."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Mapping, Sequence, Union

from ..agent.turn_events import Addition, Message, MessageAdded, PastTurn, QueuedMessage

Said = Union[Message, MessageAdded, PastTurn, QueuedMessage]

FILE, FOLDER, IMAGE = "file", "folder", "image"
SELECTION, DIAGNOSTICS, BUILD_RESULTS = "selection", "diagnostics", "build results"
# They are files that the agent reads; the others go along as a text.
READ = (FILE, FOLDER)
KINDS = (*READ, IMAGE, SELECTION, DIAGNOSTICS, BUILD_RESULTS)
# What the editor adds by itself, as a text; it is told anew with another message.
CONTEXT, PROBLEMS = "context", "new problems"
TOLD = (CONTEXT, PROBLEMS)
BETWEEN = "\n\n"


@dataclass(frozen=True)
class Attached:
    """`kind` is one of KINDS or TOLD, `name` says of what. Of files, folders and images `path` is
    absolute; of an image that the conversation has already, `id` is that of its attachment instead.
    Of all others `text` is what goes along."""

    kind: str
    name: str
    path: str = ""
    text: str = ""
    id: str = ""

    @property
    def label(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True)
class OutgoingMessage:
    """A message as it is sent. `files` are absolute paths, `attachments` ids."""

    text: str
    additions: tuple[Addition, ...] = ()
    files: tuple[str, ...] = ()
    images: tuple[Attached, ...] = ()
    attachments: tuple[str, ...] = ()


def outgoing_message(words: str, attached: Sequence[Attached]) -> OutgoingMessage:
    """The words, with what is attached; texts stand below the words, in their order.

    >>> outgoing_message("Why?", [Attached(SELECTION, "a.py", text="@a.py#L1")]).text
    'Why?\\n\\n@a.py#L1'
    """
    words = words.strip()
    texts = [
        (attachment, attachment.text.strip()) for attachment in attached if attachment.text.strip()
    ]
    return OutgoingMessage(
        _join_texts([words, *(text for _, text in texts)]),
        tuple(Addition(attachment.kind, attachment.name, len(text)) for attachment, text in texts),
        tuple(dict.fromkeys(attachment.path for attachment in attached if attachment.kind in READ)),
        tuple(
            dict.fromkeys(
                attachment
                for attachment in attached
                if attachment.kind == IMAGE and attachment.path
            )
        ),
        tuple(dict.fromkeys(attachment.id for attachment in attached if attachment.id)),
    )


def split_said(said: Said) -> tuple[str, tuple[Attached, ...]]:
    """The words of the user, and the texts that went with them."""
    text, end, found = said.text, len(said.text), []
    for addition in reversed(said.additions):
        start = end - addition.size
        begin = max(start - len(BETWEEN), 0)
        if addition.size < 1 or start < 0 or text[begin:start] not in ("", BETWEEN):
            # Somebody has changed it.
            return text, ()
        found.append(Attached(addition.kind, addition.name, text=text[start:end]))
        end = begin
    return text[:end], tuple(reversed(found))


def words_of(said: Said) -> str:
    """What the user has written in the message themselves."""
    return split_said(said)[0]


def text_of(said: Said) -> str:
    """The words, with the texts that the user gave along; without what the editor added."""
    return _join_texts([words_of(said), *(attachment.text for attachment in _own_texts(said))])


def returned_attachments(message: QueuedMessage) -> tuple[Attached, ...]:
    """What the user gave along with a message that waits."""
    images = (
        Attached(IMAGE, attachment.name, id=attachment.id) for attachment in message.attachments
    )
    return (*_attached_files(message.given), *images, *_own_texts(message))


def message_again(turn: PastTurn) -> tuple[str, tuple[Attached, ...]]:
    """The words of a message that was said, and all that went with them, for its conversation."""
    words, texts = split_said(turn)
    images = (Attached(IMAGE, attachment.name, id=attachment.id) for attachment in turn.attachments)
    return words, (*_attached_files(turn.files), *images, *texts)


def said_with(turn: PastTurn, path_of: Callable[[str], str]) -> tuple[Attached, ...]:
    """What the user gave along with a message that was said, for any conversation; `path_of` gives
    the file of an attachment, or nothing if that is gone."""
    images = (
        Attached(IMAGE, attachment.name, path_of(attachment.id)) for attachment in turn.attachments
    )
    return (
        *_attached_files(turn.files),
        *(image for image in images if image.path),
        *_own_texts(turn),
    )


def _own_texts(said: Said) -> Iterable[Attached]:
    return (attachment for attachment in split_said(said)[1] if attachment.kind not in TOLD)


def _attached_files(paths: Iterable[str]) -> Iterable[Attached]:
    return (Attached(FILE, os.path.basename(path) or path, path) for path in paths)


def _join_texts(texts: Iterable[str]) -> str:
    return BETWEEN.join(filter(None, texts))


def add_attachments(before: Sequence[Attached], new: Iterable[Attached]) -> tuple[Attached, ...]:
    """Each once."""
    return tuple(dict.fromkeys([*before, *new]))


def from_json(stored: Any) -> tuple[Attached, ...]:
    """What cannot be read is left out."""
    found = map(_read_attached, stored) if isinstance(stored, list) else ()
    return tuple(attachment for attachment in found if attachment is not None)


def _read_attached(stored: Any) -> Attached | None:
    if not isinstance(stored, Mapping) or stored.get("kind") not in KINDS:
        return None
    values = [stored.get(name, "") for name in ("kind", "name", "path", "text", "id")]
    return Attached(*values) if all(isinstance(value, str) for value in values) else None
