"""Patterns of paths, as the setting `exclude` has them (docs/settings.md): with `*`, `**`, `?` and
`[...]`, from any folder on or from a root, with `!` for what is let through. Knows no file.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from contextlib import suppress
from functools import lru_cache
from itertools import groupby
from typing import Iterator, Sequence

# Whether names that differ only in case are the same file, as on most disks of these systems.
IGNORE_CASE = sys.platform in ("darwin", "win32")

_TOKEN = re.compile(r"\[([!^]?)([^\]]+)\]|\*+|.", re.DOTALL)


def problem_of(pattern: object) -> str:
    """What is wrong with a pattern, as the end of a sentence; empty if nothing is.

    >>> problem_of("keys/[a-")
    'has a "[" without its "]"'
    """
    return _problem_of(pattern) if isinstance(pattern, str) else "is not a text"


@lru_cache(maxsize=256)
def _problem_of(pattern: str) -> str:
    body = pattern[1:] if pattern.startswith("!") else pattern
    if not body.strip("/ "):
        return "is empty"
    if body != body.strip():
        return "begins or ends with a space"
    if "\\" in body:
        return 'has a backslash; use "/" between folders'
    inner = (body[1:] if body.startswith("/") else body)[: -1 if body.endswith("/") else None]
    if any(part in ("", ".", "..") for part in inner.split("/")):
        return 'has a part that is empty, "." or ".."'
    tokens = [token for part in inner.split("/") for token in _TOKEN.finditer(part)]
    if any(token.group() == "[" for token in tokens):
        return 'has a "[" without its "]"'
    if any("--" in (token.group(2) or "") for token in tokens):
        return 'has "--" between brackets'
    try:
        re.compile(_pattern_expression(body, IGNORE_CASE))
    except re.error:
        return "has a range that runs backwards"
    return ""


def is_matched(
    path: str, roots: Sequence[str], patterns: tuple[str, ...], ignore_case: bool
) -> bool:
    """Whether the patterns match an absolute path, or one of its folders; the last one that does
    decides. `roots` are the folders from which patterns with a slash first count, too."""
    name = comparable_path(path, ignore_case)
    tops = [comparable_path(root, ignore_case).rstrip("/") for root in roots]
    names = [name, *(name[len(top) :] for top in tops if name.startswith(top + "/"))]
    for lets_through, pattern in _compile_patterns(patterns, ignore_case):
        if any(pattern.search(each) for each in names):
            return not lets_through
    return False


@lru_cache(maxsize=64)
def _compile_patterns(
    patterns: tuple[str, ...], ignore_case: bool
) -> tuple[tuple[bool, re.Pattern[str]], ...]:
    """Each run of patterns of one kind as one expression, and whether it lets a path through; the
    last first."""
    if any(problem_of(pattern) for pattern in patterns):
        return ((False, re.compile("")),)
    return tuple(
        (lets_through, re.compile("|".join(_pattern_expressions(group, ignore_case)), re.DOTALL))
        for lets_through, group in groupby(
            reversed(patterns), key=lambda pattern: pattern.startswith("!")
        )
    )


def _pattern_expressions(patterns: Iterator[str], ignore_case: bool) -> Iterator[str]:
    for pattern in patterns:
        yield _pattern_expression(pattern[1:] if pattern.startswith("!") else pattern, ignore_case)


def _pattern_expression(pattern: str, ignore_case: bool) -> str:
    """A regular expression for paths as `comparable_path` gives them."""
    start, rest = "/", _fold_case(pattern, ignore_case)
    if rest == "~" or rest.startswith("~/"):
        home = comparable_path(os.path.expanduser("~"), ignore_case)
        start, rest = "^" + re.escape(home.rstrip("/")) + "/", rest[2:] or "**"
    elif rest.startswith("/") or re.match("[A-Za-z]:/", rest):
        # From the root of the system, of a Windows drive, or of a folder of the window.
        start, rest = "^(?:/[A-Za-z]:)?/" if rest.startswith("/") else "^/", rest.lstrip("/")
    parts = rest.rstrip("/").split("/")
    body = "".join(
        "(?:[^/]+/)*" if part == "**" else _TOKEN.sub(_translate_token, part) + "/"
        for part in parts[:-1]
    )
    body += ".*" if parts[-1] == "**" else _TOKEN.sub(_translate_token, parts[-1])
    return start + body + ("/" if rest.endswith("/") else "(?:/|$)")


def _translate_token(token: re.Match[str]) -> str:
    text, members = token.group(), token.group(2)
    if members:
        negation = "^" if token.group(1) else ""
        members = re.sub(r"[\[^&~|]", r"\\\g<0>", members)
        return f"(?!/)[{negation}{members}]"
    if text.startswith("*"):
        return "[^/]*"
    return "[^/]" if text == "?" else re.escape(text)


def comparable_path(path: str, ignore_case: bool) -> str:
    """The path with slashes, and one at the beginning, on every system.

    >>> comparable_path("C:\\\\Users\\\\Me", True)
    '/c:/users/me'
    """
    # On other systems a backslash is an ordinary character of names.
    is_windows = os.sep == "\\" or re.match(r"[A-Za-z]:\\|\\\\", path)
    slashed = path.replace("\\", "/") if is_windows else path
    return "/" + _fold_case(slashed, ignore_case).lstrip("/")


def _fold_case(text: str, ignore_case: bool) -> str:
    if not text.isascii():
        # macOS gives names with accents as separate characters.
        text = unicodedata.normalize("NFC", text)
    return text.lower() if ignore_case else text


def is_within(path: str, folders: tuple[str, ...]) -> bool:
    """Whether an absolute path is that of one of the folders, or below it."""
    with suppress(ValueError):
        return any(os.path.commonpath([path, folder]) == folder for folder in folders)
    return False
