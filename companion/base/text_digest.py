"""By what a text is recognised without being held."""

from __future__ import annotations

import hashlib


def text_digest(text: str) -> str:
    """The SHA-256 of a text, in hexadecimal digits; halves of surrogate pairs count, too."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
