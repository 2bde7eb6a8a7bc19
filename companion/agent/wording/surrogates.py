"""Half surrogate pairs, which Node can send and UTF-8 cannot contain. Knows only text.

JavaScript counts in UTF-16, so a text that is cut anywhere may end in half a character.
"""

from __future__ import annotations

from typing import Any


def join_surrogates(held: str, text: str) -> tuple[str, str]:
    """The text with what was held back before it, and the half at its end that waits for more.

    join_surrogates("", "a\\ud83d") == ("a", "\\ud83d")
    join_surrogates("\\ud83d", "\\ude00b") == ("\\U0001f600b", "")
    """
    text = held + text
    held = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
    return clean_surrogates(text[: len(text) - len(held)]), held


def clean_surrogates(value: Any) -> Any:
    """The JSON value with its pairs joined; halves without their other half become U+FFFD."""
    if isinstance(value, str):
        if value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value):
            return value
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [clean_surrogates(member) for member in value]
    if isinstance(value, dict):
        return {clean_surrogates(name): clean_surrogates(member) for name, member in value.items()}
    return value
