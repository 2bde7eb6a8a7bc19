"""Finds words in what was said in a conversation: in the user's messages and in the answers."""

from __future__ import annotations

import json
import re
from typing import IO, Any, Iterator

# Bytes of a file that are looked through at a time; other threads get their turn in between.
BLOCK = 1 << 18
# Any text in a line as JSON.
TEXT = re.compile(rb'"text":"([^"\\]*(?:\\.[^"\\]*)*)"')
MESSAGE, CONTENT = b'{"type":"message",', b'"body":{"type":"content",'
# A message that was passed into a turn.
ADDED = b'"body":{"type":"message_added",'
# Characters of the excerpt before and after the words.
BEFORE, AFTER = 40, 80


class SearchWords:
    """Words to be found, whether their letters are small or capital."""

    def __init__(self, text: str) -> None:
        self._words = text.lower()
        # As they are in a file.
        self._escaped = json.dumps(self._words, ensure_ascii=False)[1:-1]
        self._bytes = self._escaped.encode("utf-8", "replace")

    def are_in(self, text: str) -> bool:
        return self._words in text.lower()

    def find_excerpt(self, file: IO[bytes]) -> str:
        """The words with some of what is around them; "" if they are not in the file."""
        file.seek(0)
        # Most files do not have them, and that is found without parsing a line.
        if not self._may_be_in(file):
            return ""
        file.seek(0)
        for text in _said_texts(file):
            at = text.lower().find(self._words)
            if at >= 0:
                around = text[max(0, at - BEFORE) : at + len(self._words) + AFTER]
                return " ".join(around.split())
        return ""

    def _may_be_in(self, file: IO[bytes]) -> bool:
        """Whether the words are in the joined texts, some of which are of something else."""
        end = b""
        for lines in iter(lambda: file.readlines(BLOCK), []):
            texts = end + b"".join(TEXT.findall(b"".join(lines)))
            if self._are_in(texts):
                return True
            end = texts[-len(self._bytes) * 4 :]
        return False

    def _are_in(self, texts: bytes) -> bool:
        if self._escaped.isascii():
            return self._bytes in texts.lower()
        return self._escaped in texts.decode("utf-8", "replace").lower()


def _said_texts(file: IO[bytes]) -> Iterator[str]:
    """Each message, and each run of pieces of an answer."""
    run: list[str] = []
    for line in file:
        is_message = line.startswith(MESSAGE) or ADDED in line
        text = _text_in_line(line) if is_message or CONTENT in line else None
        if text is not None and not is_message:
            run.append(text)
            continue
        yield "".join(run)
        yield text or ""
        run = []
    yield "".join(run)


def _text_in_line(line: bytes) -> str | None:
    """None if the line is damaged."""
    try:
        value: Any = json.loads(line.decode("utf-8"))
        return str(value["text"] if value["type"] == "message" else value["body"]["text"])
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
