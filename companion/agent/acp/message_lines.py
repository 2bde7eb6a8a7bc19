"""The lines that an agent writes: those that are messages, and those that are for a terminal."""

from __future__ import annotations

import json
from typing import Callable

from ...base import jsonrpc

# How each of the agent's messages begins; what stands before it on the line is for a terminal
# (docs/gemini-cli-acp.md 2.11).
OPENING = b'{"jsonrpc"'
# Lines before the first message of which a CLI may write so many; how many of them are shown, and
# how many bytes of each.
MAX_STRAYS, SHOWN_STRAYS, SHOWN_BYTES = 50, 10, 300


class OtherProtocol(Exception):
    """The process does not speak the Agent Client Protocol."""


class Strays:
    """The lines before the first message, of which a program that speaks something else has no
    end. `shown` are the first ones."""

    def __init__(self) -> None:
        self.count = 0
        self.shown: list[str] = []
        # Set with the first message.
        self.are_over = False

    def add(self, line: bytes) -> None:
        """Raises OtherProtocol where there are too many."""
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
    """Those of one process. `noise` hears what is none of the protocol's."""

    def __init__(self, noise: Callable[[str], None]) -> None:
        self.strays = Strays()
        self._noise = noise

    def message(self, line: bytes) -> jsonrpc.Message | None:
        """The one that the line holds. Raises OtherProtocol where too many lines hold none."""
        start = line.find(OPENING)
        message = _read(line[start:]) if start >= 0 else None
        self._tell(line if message is None else line[:start])
        if message is None:
            self.strays.add(line)
        else:
            self.strays.are_over = True
        return message

    def _tell(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").strip()
        if text:
            self._noise(text)


def _read(data: bytes) -> jsonrpc.Message | None:
    try:
        return jsonrpc.message(json.loads(data.decode("utf-8", "replace")))
    except (ValueError, RecursionError, jsonrpc.RpcError):
        return None
