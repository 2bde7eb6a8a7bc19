"""Selectors against scopes: `source.python string, text - comment`.

Operators: `,` and `|` (either), `&` (both), `-` (not), parentheses, and a blank for "within". Only
the order of two scores means something, not their figures.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, List, Tuple

_TOKEN = re.compile(r"[,|&()-]|[^\s,|&()-][^\s,|&()]*")
_OPERATORS = (",", "|", "&", "-", "(", ")")


def score(scopes: str, selector: str) -> int:
    """How well a selector fits a stack of scopes ("source.python string.quoted"); 0 not at all."""
    return _value(_parsed(selector), scopes.split())


@lru_cache(maxsize=1024)
def _parsed(selector: str) -> Any:
    tokens = _TOKEN.findall(selector)
    tree, _rest = _either(tokens)
    return tree


def _either(tokens: List[str]) -> Tuple[Any, List[str]]:
    left, tokens = _both(tokens)
    while tokens and tokens[0] in (",", "|"):
        right, tokens = _both(tokens[1:])
        left = ("|", left, right)
    return left, tokens


def _both(tokens: List[str]) -> Tuple[Any, List[str]]:
    left, tokens = _path(tokens)
    while tokens and tokens[0] in ("&", "-"):
        operator = tokens[0]
        right, tokens = _path(tokens[1:])
        left = (operator, left, right)
    return left, tokens


def _path(tokens: List[str]) -> Tuple[Any, List[str]]:
    if tokens and tokens[0] == "-":
        inner, tokens = _path(tokens[1:])
        return ("-", (), inner), tokens
    if tokens and tokens[0] == "(":
        inner, tokens = _either(tokens[1:])
        return inner, tokens[1:]
    parts: List[str] = []
    while tokens and tokens[0] not in _OPERATORS:
        parts.append(tokens[0])
        tokens = tokens[1:]
    return tuple(parts), tokens


def _value(tree: Any, stack: List[str]) -> int:
    if tree and tree[0] in ("|", "&", "-") and len(tree) == 3:
        left, right = _value(tree[1], stack), _value(tree[2], stack)
        if tree[0] == "|":
            return max(left, right)
        if tree[0] == "&":
            return max(left, right) if left and right else 0
        return 0 if right else left
    return _path_score(tree, stack)


def _path_score(parts: Tuple[str, ...], stack: List[str]) -> int:
    if not parts:
        return 1
    total, at = 0, len(stack) - 1
    for part in reversed(parts):
        while at >= 0 and not (stack[at] + ".").startswith(part + "."):
            at -= 1
        if at < 0:
            return 0
        total += int((part.count(".") + 1) * 8**at)
        at -= 1
    return total
