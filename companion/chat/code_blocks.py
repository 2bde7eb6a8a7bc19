"""The fenced blocks of code in a text. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

OPENING = re.compile(r"( *)(`{3,}|~{3,})([^\n]*)\n?")


@dataclass(frozen=True)
class CodeBlock:
    """The range covers the fences too. `code` ends with a line end unless it is empty."""

    start: int
    end: int
    code: str


def code_blocks(text: str) -> list[CodeBlock]:
    """The code blocks of the text, in their order; one without an end goes to the end of the text.

    >>> [block.code for block in code_blocks("a\\n```py\\nx = 1\\n```\\n")]
    ['x = 1\\n']
    """
    # Most parts of a long chat have no fence, and their lines are not looked at.
    found, at = [], 0 if "```" in text or "~~~" in text else len(text)
    while at < len(text):
        end = _line_end(text, at)
        opening = OPENING.fullmatch(text[at:end])
        # A line of words with three backticks at its beginning and more of them behind is no fence.
        if opening is None or (opening[2][0] == "`" and "`" in opening[3]):
            at = end
            continue
        block = _read_block(text, at, end, len(opening[1]), opening[2])
        found.append(block)
        at = block.end
    return found


def _read_block(text: str, start: int, at: int, indent: int, fence: str) -> CodeBlock:
    """The fence's own indentation is no part of the code."""
    lines = []
    while at < len(text):
        end = _line_end(text, at)
        line = text[at:end]
        at = end
        bare = line.strip()
        if len(bare) >= len(fence) and bare == fence[0] * len(bare):
            break
        lines.append(line[min(indent, len(line) - len(line.lstrip(" "))) :])
    code = "".join(lines)
    return CodeBlock(start, at, code + "\n" if code and not code.endswith("\n") else code)


def _line_end(text: str, at: int) -> int:
    return text.find("\n", at) + 1 or len(text)
