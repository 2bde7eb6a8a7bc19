"""The agent's writes of files, which go through us: an edit can be written as the user changed it,
and what differs from what they saw is not written at all.

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

# Seconds for a file to be written.
WRITING = 60.0
BOM = "\ufeff"
CHANGED = sentence(
    "{path} has changed since the user was asked about this edit, so nothing was written. Read the"
    " file again before you edit it."
)
# It reaches the model as "Error writing to file: ...", the only way to tell it within the turn.
NOTE = (
    "This is no failure: the user changed your text before it was written. {path} now holds what"
    " follows. Do not write your own text again.\n{text}"
)
CANCELLED = sentence("The turn was cancelled, so nothing was written.")


# A file is about to change, from these bytes, None where it is not there, to those.
Note = Callable[[str, Optional[bytes], bytes], None]


class NotWritten(Exception):
    """Nothing was written; `told` is for the model and the user."""

    def __init__(self, told: Sentence) -> None:
        super().__init__(str(told))
        self.told = told


@dataclass(frozen=True)
class Seen:
    """An edit as the user decided on it: `diff` is what they were shown, `text` what they want
    written instead, None for what was shown. Line ends are those of the diff."""

    diff: Diff
    text: str | None


@dataclass(frozen=True)
class Written:
    """What came of a write that did not go as the agent wanted it; `told` is what the model was
    told of it."""

    success: bool
    told: Words


class FileWrites:
    """Those of one turn, on its loop. `through_us` says of a path whether the CLI asks us to write
    the file; others it writes by itself. `note` hears in a thread of each file before it
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
        where that cannot be."""
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
        """What the agent has to be told of it, "" where it went as the agent wanted. The boundary
        of a write: whatever happens, it gets its answer."""
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
        """The CLI itself has written a file, as far as its protocol tells."""
        if self._through_us(diff.path):
            return
        with suppress(OSError, ValueError, asyncio.TimeoutError):
            await in_thread(lambda: _note_edit(diff, self._note), WRITING)

    def end(self, call: Call) -> Written | None:
        """The call is over: what came of its write, None where it went as the agent wanted."""
        self._seen.pop(call.id, None)
        return self._written.pop(str(call.args.get("file_path")), None)


def _nothing(path: str, before: bytes | None, after: bytes) -> None:
    """For writes that nobody wants to hear of."""


def write(path: str, content: str, seen: Seen | None, note: Note = _nothing) -> str:
    """Write `content`, or what the user made of it; `seen` is None where nobody was asked. `note`
    hears of it before. What the model has to be told, or "". Raises NotWritten, OSError."""
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
    """What a file that the CLI wrote itself held before, by the diff that it told: nothing also
    where it was not there, which the CLI tells alike; to remove it could cost a file of the user's.
    Raises ValueError where the file does not hold what the diff says."""
    text = after.decode("utf-8")
    if _plain(text) != _plain(diff.new_text):
        raise ValueError("Expected the file to hold what the diff says.")
    return _like(text, diff.old_text).encode("utf-8") if diff.old_text else b""


def _note_edit(diff: Diff, note: Note) -> None:
    after = read_file(diff.path)
    if after is not None:
        note(diff.path, before_edit(diff, after), after)


def _is_as_seen(path: str, seen: Seen, is_changed: bool) -> bool:
    """Whether the file still holds what the user was shown. Of other encodings than UTF-8 that
    cannot be told, so only the agent's own text may be written there. Raises OSError."""
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
    """None where there is none. Raises OSError."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def write_file(path: str, data: bytes) -> None:
    """In place, as the CLI would: through links, with the mode that the file has. What it held is
    there again where the disk does not take all of it. Raises OSError."""
    before = read_file(path)
    try:
        _overwrite(path, data)
    except OSError:
        with suppress(OSError):
            if before is None:
                os.unlink(path)
            else:
                # Its room is still its own, also on a full disk.
                _overwrite(path, before)
        raise


def _overwrite(path: str, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    with open(descriptor, "wb", buffering=0) as file:
        view = memoryview(data)
        while view:
            view = view[file.write(view) :]
        file.truncate()
