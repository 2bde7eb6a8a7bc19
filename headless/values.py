"""JSON as the editor speaks it: values copied across its border, and JSON with comments."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Union

Value = Union[None, bool, int, float, str, List[Any], Dict[str, Any]]

_STRING = r'"(?:\\.|[^"\\])*"'
_COMMENT = re.compile(_STRING + r"|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING_COMMA = re.compile(_STRING + r"|,(?=\s*[}\]])")


def copy_value(value: Any) -> Value:
    """A deep copy of a JSON value, tuples as lists; raises TypeError that names any other type."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float)):
        return value + 0
    if isinstance(value, (list, tuple)):
        return [copy_value(item) for item in value]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError("expected a str as key, got %s" % type(key).__name__)
        return {str(key): copy_value(item) for key, item in value.items()}
    raise TypeError("expected a JSON value, got %s" % type(value).__name__)


def parse(text: str) -> Any:
    """Parse JSON that may have comments and trailing commas; raises ValueError."""
    # One after the other: a bracket within a comment makes no comma a trailing one.
    bare = _COMMENT.sub(_without_comment, text)
    return json.loads(_TRAILING_COMMA.sub(_without_comment, bare), strict=False)


def _without_comment(match: "re.Match[str]") -> str:
    token = match.group()
    if token[0] == '"':
        return token
    # Line breaks stay, so that an error names the right line.
    return "\n" * token.count("\n") if token != "," else ""
