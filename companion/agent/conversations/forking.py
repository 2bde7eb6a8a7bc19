"""A new conversation with what was said in another one until a turn."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from itertools import chain
from typing import Any, Iterator

from ...base import private_files
from ...base.file_lock import FileLock
from ..attachments import Attachments
from ..turn.shown_images import ShownImages
from .conversation_state import ConversationState
from .transcript_reader import DAMAGED, MESSAGE, VERSION, ConversationSummary, TranscriptReader
from .transcripts import GAP, TranscriptFile

# Lines that are copied; the others are of the conversation and not of what was said.
COPIED = (MESSAGE[1:], b'{"type":"event",', GAP)
# A title that was made for a fork.
NUMBERED = re.compile(r"(.+) \((\d{1,6})\)", re.ASCII | re.DOTALL)
LEFT_OUT = (b'{"type":"conversation",', b'{"type":"change",')


def fork_transcript(
    source: TranscriptFile, summary: ConversationSummary, turn: str | None, target: TranscriptFile
) -> bool:
    """Write the file of `target`: with the turns of `source` up to this one, or all; False if there
    is no such turn. The choices of the user are copied, the agent's session is not. Edits stay with
    the turns that made them, so only the source can undo them. Blocks. Raises OSError."""
    with FileLock(target.lock).hold_lock():
        # Servers that start meanwhile would remove files without a conversation.
        return _write_fork(source, summary, turn, target)


def _write_fork(
    source: TranscriptFile, summary: ConversationSummary, turn: str | None, target: TranscriptFile
) -> bool:
    with source.reader.said_until(turn) as lines:
        if lines is None:
            return False
        used, shown = set(), set()
        for line in lines:
            used.update(_attachment_ids(line))
            shown.update(_image_ids(line))
        Attachments(source.folder).copy_to(used, Attachments(target.folder))
        ShownImages(source.folder).copy_to(sorted(shown), ShownImages(target.folder))
    with source.reader.said_until(turn) as lines:
        copied = filter(None, map(_copied_line, lines or ()))
        # The last step: without this file, the next start removes the others.
        private_files.write_pieces(target.path, chain(_head_lines(target, summary), copied), True)
    return True


def read_summary(target: TranscriptReader) -> ConversationSummary:
    """The summary of what was written. Raises OSError."""
    summary = target.read_summary()
    if summary is None:
        raise OSError("The copy cannot be read.")
    return summary


def _head_lines(target: TranscriptFile, summary: ConversationSummary) -> Iterator[bytes]:
    created = datetime.now(timezone.utc).isoformat()
    first = {"type": "conversation", "version": VERSION, "id": target.id}
    yield _json_line({**first, "workspace": summary.workspace, "created": created})
    # With its own files, and not with those of the source's sessions.
    # What waits in the source is sent there.
    own = replace(summary.state, session="", loading="", queue=())
    title = next_title(summary.title)
    # As before, a title of the user counts before one that the agent gives later.
    own = replace(own, title=title) if own.title else replace(own, agent_title=title)
    state = replace(own, is_owned=True, is_temporary=False)
    yield _json_line({"type": "change", **state.changes_since(ConversationState())})


def next_title(title: str) -> str:
    """The title of a fork, which tells it from its source.

    >>> next_title("Fix the tests"), next_title("Fix the tests (2)")
    ('Fix the tests (2)', 'Fix the tests (3)')
    """
    numbered = NUMBERED.fullmatch(title)
    if numbered is not None:
        return f"{numbered[1]} ({int(numbered[2]) + 1})"
    return f"{title} (2)" if title else ""


def _json_line(values: Any) -> bytes:
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def _copied_line(line: bytes) -> bytes:
    """Damaged lines leave a gap."""
    if line.startswith(COPIED) and line.endswith(b"\n"):
        return line
    return b"" if line.startswith(LEFT_OUT) or not line.strip() else GAP


def _attachment_ids(line: bytes) -> list[str]:
    """The ids of those that a message has."""
    if line.startswith(MESSAGE[1:]) and b'"attachments":[{' in line:
        with suppress(*DAMAGED):
            return [
                str(attachment["id"])
                for attachment in json.loads(line.decode("utf-8"))["attachments"]
            ]
    return []


def _image_ids(line: bytes) -> list[str]:
    """The id of the image that an event shows."""
    if line.startswith(b'{"type":"event",') and b'"body":{"type":"resource",' in line:
        with suppress(*DAMAGED):
            return [str(json.loads(line.decode("utf-8"))["body"]["image"])]
    return []
