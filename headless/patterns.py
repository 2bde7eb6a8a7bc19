"""Patterns as Oniguruma reads them, for the module `regex`, which reads nearly the same."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from functools import lru_cache
from typing import Any, Tuple

_BACK = re.compile(r"\\\\|\\([1-9])")
# What is written in another way; the first that fits counts, a backslash is never looked behind.
_WORDS = re.compile(
    r"\\h|\\H|\\Z|\\z|\\x\{(?P<code>[0-9A-Fa-f]+)\}|\\g<(?P<call>[^>]+)>|\(\?(?P<flags>[a-z]*m[a-z]*)(?P<off>-[a-z]+)?(?P<end>[:)])"
    r"|\\.|\[\^?\]?|(?P<close>\])",
    re.DOTALL,
)


def is_available() -> bool:
    return importlib.util.find_spec("regex") is not None


@lru_cache(maxsize=8192)
def compiled(pattern: str, groups: Tuple[str, ...] = ()) -> Any:
    """The pattern, `groups` put in for \\1 and so on; None, with a word, where it cannot be read.

    It is for texts of one line with its line break.
    """
    regex: Any = importlib.import_module("regex")
    if groups and _refers(pattern):
        pattern = _BACK.sub(lambda match: _group(match, groups), pattern)
    try:
        return regex.compile(translated(pattern), regex.VERSION1)
    except (regex.error, ValueError, IndexError) as error:
        sys.stderr.write("A pattern of a syntax cannot be read (%s): %s\n" % (error, pattern))
        return None


def _refers(pattern: str) -> bool:
    return any(match.group(1) for match in _BACK.finditer(pattern))


def _group(match: Any, groups: Tuple[str, ...]) -> str:
    if match.group(1) is None:
        return str(match.group())
    number = int(match.group(1))
    return re.escape(groups[number]) if number < len(groups) else ""


def translated(pattern: str) -> str:
    """Hexadecimal digits, subexpression calls, and `(?m)`, which means "dot matches all"."""
    out = []
    at, depth = 0, 0
    for match in _WORDS.finditer(pattern):
        out.append(pattern[at : match.start()])
        word, depth = _translated(match, depth)
        out.append(word)
        at = match.end()
    return "".join(out) + pattern[at:]


def _translated(match: Any, depth: int) -> Tuple[str, int]:
    """A word in the other way, and how many brackets of a set are open behind it."""
    word = match.group()
    if word.startswith("["):
        return word.replace("]", r"\]"), depth + 1
    if word == "]":
        return ("]", depth - 1) if depth else (r"\]", 0)
    if word == r"\h":
        return ("0-9A-Fa-f" if depth else "[0-9A-Fa-f]"), depth
    if word == r"\H":
        return "[^0-9A-Fa-f]", depth
    if match.group("code"):
        return "\\U%08x" % int(match.group("code"), 16), depth
    if depth == 0 and word == r"\Z":
        return r"(?=\n?\Z)", depth
    if depth == 0 and word == r"\z":
        return r"\Z", depth
    if depth == 0 and match.group("call"):
        return "(?&%s)" % match.group("call"), depth
    if depth == 0 and match.group("end"):
        flags = match.group("flags").replace("m", "s")
        return "(?%s%s%s" % (flags, match.group("off") or "", match.group("end")), depth
    return word, depth
