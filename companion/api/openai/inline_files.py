"""Pictures and documents that stand within messages, as `data:` addresses.

Source: OpenAI's API reference, Chat Completions, content parts.
"""

from __future__ import annotations

import base64
import re
from typing import Any, Mapping, NamedTuple

from ...agent.failure import VALIDATION_ERROR
from ..contract.refusal import Refusal

# The kinds of content parts that are no text, and where each has its address.
ADDRESSES = {"image_url": ("image_url", "url"), "file": ("file", "file_data")}
DATA = re.compile(r"data:[^,]*;base64,", re.IGNORECASE)


class InlineFile(NamedTuple):
    name: str
    data: bytes


def address_of(part: Mapping[str, Any]) -> str | None:
    """The address in a content part; None if it has none."""
    member, key = ADDRESSES.get(str(part.get("type")), ("", ""))
    value = part.get(member)
    found = value.get(key) if isinstance(value, dict) else value
    return found if isinstance(found, str) else None


def read_inline_file(part: Mapping[str, Any], field: str) -> InlineFile:
    """The file of a content part with an address. Raises Refusal for one that would have to be
    loaded: nobody makes the server ask other machines."""
    address = address_of(part) or ""
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
