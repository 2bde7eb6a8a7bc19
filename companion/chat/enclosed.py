"""What goes with a message of a chat: the files that it names as `@path` or `@path#L10-20`, and
images."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Sequence

from ..agent.attachments import MAX_BYTES, Attachments
from ..agent.failure import FILE_NOT_FOUND, VALIDATION_ERROR, AgentError
from ..agent.sentence import sentence
from ..base.background import in_thread
from ..base.mentions import mentioned_files
from ..base.regular_file import FileTooLarge, read_regular
from .attached import Attached

LINES = re.compile(r"#L\d+(-\d+)?$")
# Words rather than the folder or the one above it.
NOT_PATHS = ("", ".", "..")


@dataclass(frozen=True)
class Enclosed:
    """`files` are absolute paths, `attachments` are the ids of the images."""

    files: tuple[str, ...] = ()
    attachments: tuple[str, ...] = ()


async def enclose_files(
    text: str, images: Sequence[Attached], folder: str, attachments: Attachments
) -> Enclosed:
    """Look for the files that the text names, and put the images to the attachments of the
    conversation, which works in the folder. Raises AgentError; then it has put none."""
    if not images and "@" not in text:
        return Enclosed()
    return await in_thread(partial(_find_enclosed, text, images, folder, attachments))


async def discard_enclosed(enclosed: Enclosed, attachments: Attachments) -> None:
    """The message was not sent."""
    if enclosed.attachments:
        await in_thread(partial(_discard_attachments, enclosed.attachments, attachments))


def named_files(text: str, folder: str) -> tuple[str, ...]:
    """Absolute paths of files and folders that there are, each once. Relative ones begin at the
    folder. Looks at the disk."""
    return tuple(mentioned_files(text, partial(_find_path, folder)))


def _find_enclosed(
    text: str, images: Sequence[Attached], folder: str, attachments: Attachments
) -> Enclosed:
    added: list[str] = []
    try:
        for path, name in ((image.path, image.name) for image in images):
            added.append(attachments.add(os.path.basename(name), _read_image(path)).id)
    except AgentError:
        _discard_attachments(added, attachments)
        raise
    except OSError as error:
        _discard_attachments(added, attachments)
        reason = error.strerror or str(error)
        told = sentence("{path} cannot be attached: {reason}.", path=path, reason=reason)
        raise AgentError(FILE_NOT_FOUND, told) from None
    return Enclosed(named_files(text, folder), tuple(added))


def _read_image(path: str) -> bytes:
    """Raises OSError and AgentError."""
    try:
        return read_regular(path, MAX_BYTES)
    except FileTooLarge:
        told = sentence("{path} has more than {n} bytes.", path=path, n=MAX_BYTES)
        raise AgentError(VALIDATION_ERROR, told) from None


def _discard_attachments(ids: Sequence[str], attachments: Attachments) -> None:
    for id in ids:
        with suppress(AgentError, OSError):
            attachments.remove(id)


def _find_path(folder: str, path: str) -> str | None:
    for each in (path, LINES.sub("", path)):
        whole = os.path.normpath(os.path.join(folder, os.path.expanduser(each)))
        if each not in NOT_PATHS and "\0" not in each and os.path.exists(whole):
            return whole
    return None
