"""Images and documents of a conversation, on disk beside its transcript; the agent gets them in a
message."""

from __future__ import annotations

import base64
import json
import os
import re
import secrets
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Iterable, Sequence

from ..base import private_files
from .acp import messages
from .acp.messages import AgentCapabilities
from .failure import ATTACHMENT_NOT_FOUND, VALIDATION_ERROR, AgentError
from .sentence import sentence
from .turn_events import Attachment

# The most bytes of one attachment, of all of a conversation, and of those of one message: Gemini
# takes 20 MB in all, in an encoding that adds a third.
MAX_BYTES, MAX_ALL, MAX_MESSAGE = 10 << 20, 64 << 20, 14 << 20
# The most attachments of a conversation.
MAX_COUNT = 100
ID = re.compile(r"[0-9a-f]{32}")
PDF = "application/pdf"
# The beginnings of the accepted files, by type.
BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", PDF),
)
MEDIA_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp", PDF)


@dataclass(frozen=True)
class Forms:
    """The forms in which an agent takes attachments. One with `images_as_resources` drops those
    that are sent as images beside others; one without `documents` drops what is neither image nor
    text, whatever its capabilities say."""

    images_as_resources: bool = False
    documents: bool = True


@dataclass(frozen=True)
class Parts:
    """Attachments, and what the agent gets of them."""

    attachments: tuple[Attachment, ...] = ()
    blocks: tuple[messages.Block, ...] = ()


class Attachments:
    """The attachments of one conversation, in a folder inside the conversation's own. All methods
    block, and raise AgentError and OSError."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.join(folder, "attachments")
        # Held while one is added, so that several at once stay within the limits.
        self._adding = threading.Lock()

    def add(self, name: str, data: bytes) -> Attachment:
        with self._adding:
            return self._add_checked(name, data)

    def _add_checked(self, name: str, data: bytes) -> Attachment:
        found = self.list_all()
        if (
            len(found) >= MAX_COUNT
            or sum(attachment.size for attachment in found) + len(data) > MAX_ALL
        ):
            told = sentence(
                "A conversation has at most {count} attachments with {size} bytes in all.",
                count=MAX_COUNT,
                size=MAX_ALL,
            )
            raise AgentError(VALIDATION_ERROR, told)
        added = Attachment(secrets.token_hex(16), _plain_name(name), _type_of(data), len(data))
        self._write_attachment(added, data)
        return added

    def _write_attachment(self, added: Attachment, data: bytes) -> None:
        for folder in (os.path.dirname(self._folder), self._folder):
            private_files.make_folder(folder)
        private_files.write_file(self._data_path(added.id), data)
        # Data without a description does not count: a crash in between costs only the new one.
        private_files.write_file(
            self._data_path(added.id) + ".json", json.dumps(asdict(added)).encode()
        )

    def copy_to(self, ids: Iterable[str], target: Attachments) -> None:
        """Copy those of the attachments that are still there to the `target`."""
        for id in ids:
            with suppress(AgentError):
                target._write_attachment(self.get(id), self.read_data(id))

    def list_all(self) -> list[Attachment]:
        """The attachments in the order of their names; without those whose description is damaged
        or was just deleted."""
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return []
        found = []
        for name in names:
            if name.endswith(".json"):
                with suppress(AgentError):
                    found.append(self.get(name[: -len(".json")]))
        return sorted(found, key=lambda attachment: (attachment.name, attachment.id))

    def get(self, id: str) -> Attachment:
        try:
            # The id becomes part of a path.
            if not ID.fullmatch(id):
                raise FileNotFoundError
            with open(self._data_path(id) + ".json", encoding="utf-8") as file:
                found = Attachment(**json.load(file))
            if found.id != id or not (isinstance(found.name, str) and isinstance(found.size, int)):
                raise ValueError("Expected the content that was written here.")
            return found
        except (FileNotFoundError, ValueError, TypeError):
            raise _unknown_attachment(id) from None

    def read_data(self, id: str) -> bytes:
        self.get(id)
        try:
            with open(self._data_path(id), "rb") as file:
                return file.read()
        except FileNotFoundError:
            raise _unknown_attachment(id) from None

    def remove(self, id: str) -> None:
        """Also removes one with a damaged description."""
        if not ID.fullmatch(id):
            raise _unknown_attachment(id)
        removed = 0
        for path in (self._data_path(id) + ".json", self._data_path(id)):
            with suppress(FileNotFoundError):
                os.unlink(path)
                removed += 1
        if not removed:
            raise _unknown_attachment(id)

    def path_of(self, id: str) -> str:
        """The file with its content."""
        self.get(id)
        return self._data_path(id)

    def message_parts(self, ids: Sequence[str], admitted: AgentCapabilities, forms: Forms) -> Parts:
        """The attachments as parts of a message, for an agent with these capabilities that takes
        these forms."""
        found = [self.get(id) for id in ids]
        if sum(attachment.size for attachment in found) > MAX_MESSAGE:
            told = sentence("The attachments of a message have at most {n} bytes.", n=MAX_MESSAGE)
            raise AgentError(VALIDATION_ERROR, told)
        return Parts(
            tuple(found),
            tuple(self._message_part(attachment, admitted, forms) for attachment in found),
        )

    def _message_part(
        self, attachment: Attachment, admitted: AgentCapabilities, forms: Forms
    ) -> messages.Block:
        is_image = attachment.media_type != PDF
        takes_resource = admitted.embedded_context and (
            forms.images_as_resources if is_image else forms.documents
        )
        if takes_resource or (is_image and admitted.image):
            data = base64.b64encode(self.read_data(attachment.id)).decode("ascii")
            if not takes_resource:
                return messages.image_block(attachment.media_type, data)
            return messages.resource_block(
                "file:///" + attachment.name, attachment.media_type, blob=data
            )
        told = sentence(
            "The agent does not accept {type}, the type of {name}.",
            type=attachment.media_type,
            name=attachment.name,
        )
        raise AgentError(VALIDATION_ERROR, told)

    def _data_path(self, id: str) -> str:
        return os.path.join(self._folder, id)


def _type_of(data: bytes) -> str:
    """The type of the content; the client and the name may be wrong. Raises AgentError."""
    for beginning, media_type in BEGINNINGS:
        if data.startswith(beginning):
            return media_type
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    told = sentence(
        "Expected the content of an attachment to be one of {types}; this file has other content.",
        types=", ".join(MEDIA_TYPES),
    )
    raise AgentError(VALIDATION_ERROR, told)


def _plain_name(name: str) -> str:
    """The name without folders and unneeded characters, never empty."""
    last = re.split(r"[/\\]", name)[-1]
    shown = "".join(letter for letter in last if letter.isprintable()).strip(" .")
    return shown[:200] or "attachment"


def _unknown_attachment(id: str) -> AgentError:
    return AgentError(ATTACHMENT_NOT_FOUND, sentence("There is no attachment {id}.", id=id[:100]))
