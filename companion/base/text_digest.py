"""A digest by which a text is recognised without being kept."""

from __future__ import annotations

import hashlib


def text_digest(text: str) -> str:
    """The SHA-256 of a text, in hexadecimal digits; half surrogate pairs count as well."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
