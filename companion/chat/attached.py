"""What the user attaches to a message that they write, as frozen values."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Iterable, Mapping, Sequence

from ..agent.events.turn_events import QueuedMessage

FILE, FOLDER, IMAGE = "file", "folder", "image"
SELECTION, DIAGNOSTICS, BUILD_RESULTS = "selection", "diagnostics", "build results"
# They are files that the agent reads; the others go along as a text.
READ = (FILE, FOLDER)
KINDS = (*READ, IMAGE, SELECTION, DIAGNOSTICS, BUILD_RESULTS)


@dataclass(frozen=True)
class Attached:
    """`kind` is one of KINDS, `name` says of what. Of files, folders and images `path` is absolute;
    of an image that the conversation has already, `id` is that of its attachment instead. Of all
    others `text` is what goes along."""

    kind: str
    name: str
    path: str = ""
    text: str = ""
    id: str = ""


@dataclass(frozen=True)
class Outgoing:
    """A message as it is sent. `files` and `images` are absolute paths, `attachments` ids."""

    text: str
    files: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    attachments: tuple[str, ...] = ()


def outgoing(words: str, attached: Sequence[Attached]) -> Outgoing:
    """The words, with what is attached; texts stand below the words, in their order.

    >>> outgoing("Why?", [Attached(SELECTION, "a.py", text="@a.py#L1")]).text
    'Why?\\n\\n@a.py#L1'
    """
    texts = [words.strip(), *(it.text.strip() for it in attached)]
    return Outgoing(
        "\n\n".join(filter(None, texts)),
        tuple(dict.fromkeys(it.path for it in attached if it.kind in READ)),
        tuple(dict.fromkeys(it.path for it in attached if it.kind == IMAGE and it.path)),
        tuple(dict.fromkeys(it.id for it in attached if it.id)),
    )


def returned(message: QueuedMessage) -> tuple[Attached, ...]:
    """What went with a message that was taken back."""
    files = (Attached(FILE, os.path.basename(it) or it, it) for it in message.given)
    return (*files, *(Attached(IMAGE, it.name, id=it.id) for it in message.attachments))


def added(before: Sequence[Attached], new: Iterable[Attached]) -> tuple[Attached, ...]:
    """Each once."""
    return tuple(dict.fromkeys([*before, *new]))


def from_json(stored: Any) -> tuple[Attached, ...]:
    """What cannot be read is left out."""
    found = map(_one, stored) if isinstance(stored, list) else ()
    return tuple(it for it in found if it is not None)


def _one(stored: Any) -> Attached | None:
    if not isinstance(stored, Mapping) or stored.get("kind") not in KINDS:
        return None
    values = [stored.get(name, "") for name in ("kind", "name", "path", "text", "id")]
    return Attached(*values) if all(isinstance(it, str) for it in values) else None
