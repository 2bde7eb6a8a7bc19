"""What the agent shows beside its text: images are kept on disk, links and texts told as they are,
within bounds."""

from __future__ import annotations

import asyncio
import base64
import binascii
from functools import partial
from typing import Sequence
from urllib.parse import unquote, urlsplit

from ...base.background import in_thread
from ...base.log import logger
from ...base.private_files import NotPrivate
from ..acp.content_blocks import IMAGE, LINK, ContentBlock
from ..events.event_log import EventLog
from ..sentence import sentence
from ..turn_events import WARNING, Resource, Thought
from .shown_images import MAX_BYTES, ShownImage, ShownImages

# Characters of a resource's text, and of an address that can be followed.
MAX_TEXT, MAX_ADDRESS = 256 * 1024, 4_000
# The most of them in one turn, and the characters of their texts and names in all.
MAX_SHOWN, MAX_ALL = 500, 16 << 20
MORE = sentence("The agent has sent more images, links and texts in this turn; they are not shown.")
# Characters of base64 that may be an image of the most bytes.
MAX_DATA = MAX_BYTES // 3 * 4 + 4
# Seconds for the disk to keep an image.
KEEPING = 10.0


class ShownResources:
    """What one turn has shown, up to a bound, at which one event says so. The agent tells the
    content of a call again with each update, so each is told once."""

    def __init__(self, log: EventLog, images: ShownImages) -> None:
        self._log, self._images = log, images
        self._shown: set[tuple[str, int]] = set()
        self._characters, self._is_full = 0, False

    async def show_blocks(self, blocks: Sequence[ContentBlock], call_id: str = "") -> None:
        """Tell them, in their order; those of a call before its end."""
        for block in blocks:
            known = call_id, hash(block)
            if self._is_full or (call_id and known in self._shown):
                continue
            self._characters += _size_of(block)
            if len(self._shown) >= MAX_SHOWN or self._characters > MAX_ALL:
                self._is_full = True
                self._log.add_event(Thought(WARNING, MORE))
                continue
            self._shown.add(known if call_id else ("", len(self._shown)))
            image = await self._keep_image(block)
            self._log.add_event(resource_event(block, call_id, image))

    async def _keep_image(self, block: ContentBlock) -> ShownImage | None:
        if not block.data or len(block.data) > MAX_DATA:
            return None
        try:
            return await in_thread(partial(_keep, self._images, block.data), KEEPING)
        except (OSError, NotPrivate, asyncio.TimeoutError) as error:
            logger.warning("an image of the agent was not kept: %s", error or "no answer")
            return None


def resource_event(block: ContentBlock, call_id: str, image: ShownImage | None = None) -> Resource:
    """`image` has been kept of it, if it has one."""
    is_image = image is not None or block.kind == IMAGE
    kind = Resource.LINK if block.kind == LINK else Resource.TEXT if block.text else Resource.OTHER
    is_other = kind == Resource.OTHER and not is_image
    text, is_long = block.text[:MAX_TEXT], len(block.text) > MAX_TEXT
    size = block.size or len(block.text.encode("utf-8")) or len(block.data) * 3 // 4
    uri = block.uri if len(block.uri) <= MAX_ADDRESS else ""
    return Resource(
        Resource.IMAGE if is_image else kind,
        call_id,
        uri,
        block.name or _last_name(uri),
        block.description,
        image.media_type if image else block.media_type or (block.kind if is_other else ""),
        text,
        image.size if image else size,
        is_long,
        image.id if image else "",
        image.name if image else "",
        image.width if image else 0,
        image.height if image else 0,
    )


def _size_of(block: ContentBlock) -> int:
    """The characters that its event may have."""
    facts = block.uri, block.name, block.description, block.media_type
    return min(len(block.text), MAX_TEXT) + sum(map(len, facts))


def _keep(images: ShownImages, data: str) -> ShownImage | None:
    """None for what is no image. Raises OSError."""
    try:
        return images.add(base64.b64decode(data))
    except (binascii.Error, ValueError):
        return None


def _last_name(uri: str) -> str:
    """The last part of an address that has one."""
    try:
        path = urlsplit(uri).path
    except ValueError:
        return ""
    return unquote(path.rstrip("/").rpartition("/")[2])
