"""The agent's writes of files, which go through us. An edit can be written as the user changed it;
a text that differs from what they saw is not written.

Source: docs/gemini-cli-acp.md 8.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import Callable, Optional

from ...base.background import in_thread
from ...base.log import logger
from ..events.tool_call import Call
from ..events.turn_events import Diff
from ..wording.failure import TOOL_INVALID_OUTCOME, AgentError
from ..wording.sentence import Sentence, Words, sentence

# Seconds to write a file.
WRITING = 60.0
BOM = "\ufeff"
CHANGED = sentence(
    "{path} has changed since the user was asked about this edit, so nothing was written. Read the"
    " file again before you edit it."
)
# The model gets it as "Error writing to file: ...", the only message that reaches it in the turn.
NOTE = (
    "This is not a failure: the user changed your text before it was written. {path} now holds what"
    " follows. Do not write your own text again.\n{text}"
)
CANCELLED = sentence("The turn was cancelled, so nothing was written.")


# Called before a file changes, with its bytes before (None if it does not exist) and after.
Note = Callable[[str, Optional[bytes], bytes], None]


class NotWritten(Exception):
    """Nothing was written; `told` is for the model and the user."""

    def __init__(self, told: Sentence) -> None:
        super().__init__(str(told))
        self.told = told


@dataclass(frozen=True)
class Seen:
    """An edit as the user decided on it. `diff` is what they were shown. `text` is what they want
    written instead, None for what was shown. Line ends are those of the diff."""

    diff: Diff
    text: str | None


@dataclass(frozen=True)
class Written:
    """The result of a write that differs from the agent's wish; `told` is what the model was
    told."""

    success: bool
    told: Words


class FileWrites:
    """The writes of one turn, on its loop. `through_us` says whether the CLI asks us to write a
    path; it writes other files by itself. `note` is called in a thread with each file before it
    changes."""

    def __init__(self, through_us: Callable[[str], bool], note: Note) -> None:
        self.is_cancelled = False
        self._note = note
        self._through_us = through_us
        # By the ids of the calls, and by the paths.
        self._seen: dict[str, Seen] = {}
        self._written: dict[str, Written] = {}

    def decide(self, call: Call, text: str | None) -> None:
        """The user approved the call; `text` is what they want written instead. Raises AgentError
        if that is not possible."""
        if call.diff is None:
            return
        if text is not None and not self._through_us(call.diff.path):
            raise AgentError(
                TOOL_INVALID_OUTCOME,
                sentence(
                    "The CLI itself writes files outside of the workspace, so they cannot be"
                    " changed."
                ),
            )
        self._seen[call.id] = Seen(call.diff, text)

    async def write(self, path: str, content: str) -> Words:
        """Gives what the agent has to be told, "" if all went as it wanted. The boundary of a
        write: whatever happens, the agent gets its answer."""
        seen = next((it for it in self._seen.values() if it.diff.path == path), None)
        success = False
        told: Words = ""
        try:
            if self.is_cancelled:
                raise NotWritten(CANCELLED)
            told = await in_thread(lambda: write(path, content, seen, self._note), WRITING)
            success = True
        except NotWritten as refused:
            told = refused.told
        except (OSError, asyncio.TimeoutError) as error:
            reason = getattr(error, "strerror", None) or sentence("the disk does not answer")
            told = sentence("{path} cannot be written: {reason}.", path=path, reason=reason)
        except Exception:
            logger.exception("a file was not written")
            told = sentence("Nothing was written; something went wrong.")
        if told:
            self._written[path] = Written(success, told)
        return told

    async def note_own(self, diff: Diff) -> None:
        """The CLI itself has written a file, according to its protocol."""
        if self._through_us(diff.path):
            return
        with suppress(OSError, ValueError, asyncio.TimeoutError):
            await in_thread(lambda: _note_edit(diff, self._note), WRITING)

    def end(self, call: Call) -> Written | None:
        """The call is over. Gives the result of its write; None if that went as the agent
        wanted."""
        self._seen.pop(call.id, None)
        return self._written.pop(str(call.args.get("file_path")), None)


def _nothing(path: str, before: bytes | None, after: bytes) -> None:
    """For writes that nobody follows."""


def write(path: str, content: str, seen: Seen | None, note: Note = _nothing) -> str:
    """Write `content`, or the user's version of it; `seen` is None if nobody was asked. Calls
    `note` before. Gives what the model has to be told, or "". Raises NotWritten, OSError."""
    is_changed, text = False, content
    if seen is not None:
        is_changed = seen.text is not None and _plain(seen.text) != _plain(content)
        if _plain(content) != _plain(seen.diff.new_text) or not _is_as_seen(path, seen, is_changed):
            raise NotWritten(CHANGED.filled(path=path))
        if seen.text is not None and is_changed:
            text = _like(content, seen.text)
    data = text.encode("utf-8", "replace")
    note(path, read_file(path), data)
    write_file(path, data)
    return NOTE.format(path=path, text=seen.text) if seen is not None and is_changed else ""


def before_edit(diff: Diff, after: bytes) -> bytes:
    """The bytes of a file before the CLI wrote it, according to the CLI's diff. They are empty also
    if there was no file: the diff does not tell the difference, and an undo that removes the file
    could cost a file of the user. Raises ValueError if the file does not contain what the diff
    says."""
    text = after.decode("utf-8")
    if _plain(text) != _plain(diff.new_text):
        raise ValueError("Expected the file to hold what the diff says.")
    return _like(text, diff.old_text).encode("utf-8") if diff.old_text else b""


def _note_edit(diff: Diff, note: Note) -> None:
    after = read_file(diff.path)
    if after is not None:
        note(diff.path, before_edit(diff, after), after)


def _is_as_seen(path: str, seen: Seen, is_changed: bool) -> bool:
    """Whether the file still has the content that the user was shown. That cannot be known in
    encodings other than UTF-8, so there only the agent's own text may be written. Raises OSError.
    """
    try:
        return _plain((read_file(path) or b"").decode("utf-8")) == _plain(seen.diff.old_text)
    except UnicodeDecodeError:
        return not is_changed


def _like(content: str, text: str) -> str:
    """The text with byte order mark and line ends as the agent would have written them."""
    text = _plain(text)
    if "\r\n" in content:
        text = text.replace("\n", "\r\n")
    return BOM + text if content.startswith(BOM) else text


def _plain(text: str) -> str:
    return text[text.startswith(BOM) :].replace("\r\n", "\n")


def read_file(path: str) -> bytes | None:
    """None if there is no file. Raises OSError."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def write_file(path: str, data: bytes) -> None:
    """Write in place, as the CLI does: through links, and keeping the file's mode. If the disk does
    not take all of it, the old content is restored. Raises OSError."""
    before = read_file(path)
    try:
        _overwrite(path, data)
    except OSError:
        with suppress(OSError):
            if before is None:
                os.unlink(path)
            else:
                # The file still has the space for it, even on a full disk.
                _overwrite(path, before)
        raise


def _overwrite(path: str, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    with open(descriptor, "wb", buffering=0) as file:
        view = memoryview(data)
        while view:
            view = view[file.write(view) :]
        file.truncate()
