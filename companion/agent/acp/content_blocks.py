"""The content blocks of the Agent Client Protocol that are no text, as frozen values: images, links
and resources in an answer or in the result of a call.

Source: the Agent Client Protocol's schema, version 1: `ContentBlock`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Mapping

from ..wording.surrogates import clean_surrogates
from .members import object_of, text_of

TEXT = "text"
IMAGE, AUDIO, LINK, RESOURCE = "image", "audio", "resource_link", "resource"
# The beginning of an address that has the bytes in itself.
_DATA = re.compile(r"data:[\w.+/-]*;base64,", re.I)
# Characters of a name or a type that are read.
MAX_NAME, MAX_TYPE = 500, 100


@dataclass(frozen=True)
class ContentBlock:
    """`kind` is IMAGE, AUDIO, LINK, RESOURCE or a word that is not known here. `data` are bytes in
    base64, `text` is that of a resource; both are empty for a link. `size` is in bytes, 0 where it
    is not told."""

    kind: str
    uri: str = ""
    name: str = ""
    description: str = ""
    media_type: str = ""
    text: str = ""
    data: str = ""
    size: int = 0


def read_block(told: Mapping[str, Any]) -> ContentBlock | None:
    """None for a text."""
    kind = text_of(told, "type")
    if kind == TEXT or (not kind and "text" in told):
        return None
    # A resource has its members in an object of its own.
    inner = object_of(told, "resource") if kind == RESOURCE else told
    size = told.get("size")
    uri, data = text_of(inner, "uri"), text_of(inner, "blob") or text_of(inner, "data")
    found = _DATA.match(uri)
    if found is not None:
        # Codex names an image so.
        uri, data = "", data or uri[found.end() :]
    return ContentBlock(
        clean_surrogates(kind)[:MAX_TYPE],
        clean_surrogates(uri),
        clean_surrogates(text_of(told, "title") or text_of(told, "name"))[:MAX_NAME],
        clean_surrogates(text_of(told, "description"))[:MAX_NAME],
        clean_surrogates(text_of(inner, "mimeType"))[:MAX_TYPE],
        clean_surrogates(text_of(inner, "text")) if kind == RESOURCE else "",
        data,
        max(size, 0) if isinstance(size, int) and not isinstance(size, bool) else 0,
    )
