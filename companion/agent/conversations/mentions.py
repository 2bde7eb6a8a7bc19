"""Files that a message names as `@path`, as Gemini CLI's own prompt has it; over the agent's
protocol the CLI leaves such words as they are (docs/gemini-cli-acp.md 11.69)."""

from __future__ import annotations

import re
from typing import Callable, Iterator

# In quotation marks, or up to a blank that has no backslash before it. Not within a word, as in an
# address of an e-mail.
MENTION = re.compile(r'(?<![\w@.])@(?:"([^"\n]+)"|((?:\\.|[^\s\\"])+))')
# What ends a sentence and not a path.
MARKS = ".,;:!?)]}>'"
# Mentions of one message that are looked at, and letters of each.
MAX_COUNT, MAX_LENGTH = 100, 4096


def mentioned(text: str, find: Callable[[str], str | None]) -> list[str]:
    """What the mentions lead to, each once; `find` gives that of a path as it was written, or None
    where it leads nowhere: then the words are but words."""
    found: dict[str, None] = {}
    for number, candidates in enumerate(_mentions(text)):
        if number == MAX_COUNT:
            break
        first = next((it for it in map(find, candidates) if it is not None), None)
        if first is not None:
            found[first] = None
    return list(found)


def _mentions(text: str) -> Iterator[list[str]]:
    """For each mention the paths that it may mean, the longest first."""
    for match in MENTION.finditer(text):
        quoted, plain = match.groups()
        path = quoted or re.sub(r"\\(.)", r"\1", plain)
        if len(path) <= MAX_LENGTH:
            shorter = path if quoted else path.rstrip(MARKS)
            yield list(dict.fromkeys(it for it in (path, shorter) if it))
