"""Members of the protocol's objects, read from JSON that may have any form. An optional member of
the wrong type counts as missing."""

from __future__ import annotations

from typing import Any, Mapping

# Characters of the agent's own text that an error shows.
SHOWN = 100


class Unreadable(Exception):
    """A message does not have the protocol's form. `kind` is the kind of the message."""

    def __init__(self, kind: str, expected: str, got: object) -> None:
        super().__init__(f"{kind}: expected {expected}; got {repr(got)[:SHOWN]}")
        self.kind = kind


def required_text(holder: Mapping[str, Any], name: str, kind: str) -> str:
    """A text that is not empty. Raises Unreadable."""
    value = holder.get(name)
    if not isinstance(value, str) or not value:
        raise Unreadable(kind, f"a text as {name}", value)
    return value


def text_of(holder: Mapping[str, Any], name: str) -> str:
    value = holder.get(name)
    return value if isinstance(value, str) else ""


def object_of(holder: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = holder.get(name)
    return value if isinstance(value, dict) else {}


def objects_of(holder: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    value = holder.get(name)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
