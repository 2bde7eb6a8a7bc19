"""Files that a message names as `@path`, as Gemini CLI's own prompt allows. The agent's protocol
leaves such words unchanged (docs/gemini-cli-acp.md 11.69)."""

from __future__ import annotations

import re
from typing import Callable, Iterator

# In quotation marks, or up to a blank without a backslash before it. Not within a word, as in an
# e-mail address.
MENTION = re.compile(r'(?<![\w@.])@(?:"([^"\n]+)"|((?:\\.|[^\s\\"])+))')
# Characters that end a sentence and not a path.
MARKS = ".,;:!?)]}>'"
# The most mentions of one message that are examined, and the letters of each.
MAX_COUNT, MAX_LENGTH = 100, 4096


def mentioned_files(text: str, find: Callable[[str], str | None]) -> list[str]:
    """The files that are mentioned, each once. `find` gives the file for a path as it was written,
    or None if there is none; then the words are only words."""
    found: dict[str, None] = {}
    for number, candidates in enumerate(_mentioned_paths(text)):
        if number == MAX_COUNT:
            break
        first = next((file for file in map(find, candidates) if file is not None), None)
        if first is not None:
            found[first] = None
    return list(found)


def _mentioned_paths(text: str) -> Iterator[list[str]]:
    """The paths that each mention may mean, the longest first."""
    for match in MENTION.finditer(text):
        quoted, plain = match.groups()
        path = quoted or re.sub(r"\\(.)", r"\1", plain)
        if len(path) <= MAX_LENGTH:
            shorter = path if quoted else path.rstrip(MARKS)
            yield list(dict.fromkeys(spelling for spelling in (path, shorter) if spelling))
