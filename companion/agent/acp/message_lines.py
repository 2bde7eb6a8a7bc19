"""Separates the lines that an agent writes: messages of the protocol, and text for a terminal."""

from __future__ import annotations

import json
from typing import Callable

from ...base import jsonrpc

# The beginning of each of the agent's messages; anything before it on the line is for a terminal
# (docs/gemini-cli-acp.md 2.11).
OPENING = b'{"jsonrpc"'
# The most lines that a CLI may write before its first message; how many of them are shown, and the
# bytes shown of each.
MAX_STRAYS, SHOWN_STRAYS, SHOWN_BYTES = 50, 10, 300


class OtherProtocol(Exception):
    """The process does not speak the Agent Client Protocol."""


class Strays:
    """The lines before the first message; a program that speaks something else never stops. `shown`
    are the first ones."""

    def __init__(self) -> None:
        self.count = 0
        self.shown: list[str] = []
        # Set by the first message.
        self.are_over = False

    def add_line(self, line: bytes) -> None:
        """Raises OtherProtocol if there are too many."""
        text = line[:SHOWN_BYTES].decode("utf-8", "replace").strip()
        if self.are_over or not text:
            return
        self.count += 1
        if self.count <= SHOWN_STRAYS:
            self.shown.append(text)
        if self.are_too_many:
            raise OtherProtocol(f"{self.count} lines, and none of the protocol")

    @property
    def are_too_many(self) -> bool:
        return self.count > MAX_STRAYS


class MessageLines:
    """The lines of one process. `noise` gets those that are not part of the protocol."""

    def __init__(self, noise: Callable[[str], None]) -> None:
        self.strays = Strays()
        self._noise = noise

    def read_message(self, line: bytes) -> jsonrpc.Message | None:
        """The message in the line, if any. Raises OtherProtocol if too many lines have none."""
        start = line.find(OPENING)
        message = _parse_message(line[start:]) if start >= 0 else None
        noise = line if message is None else line[:start]
        text = noise.decode("utf-8", "replace").strip()
        if text:
            self._noise(text)
        if message is None:
            self.strays.add_line(line)
        else:
            self.strays.are_over = True
        return message


def _parse_message(data: bytes) -> jsonrpc.Message | None:
    try:
        return jsonrpc.message_in(json.loads(data.decode("utf-8", "replace")))
    except (ValueError, RecursionError, jsonrpc.RpcError):
        return None
