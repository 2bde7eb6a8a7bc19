"""The edits of one turn: written by us where the agent asks for that, else by the agent. One can be
written as the user changed it; a text that differs from what they saw is not written; and what the
agent reports is compared with what is on disk.

Source: docs/gemini-cli-acp.md 8; docs/agents.md 3.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Awaitable, Callable, Iterable, Optional, Sequence

from ...base.background import in_thread
from ...base.log import logger
from ..edited_file import (
    before_edit,
    edited_text,
    formatted_like,
    joined_edit,
    plain_text,
    read_file,
    unreported_difference,
    write_file,
)
from ..events.tool_call import EDIT, Call
from ..open_files import NeedsUser, NotSaved, OpenFiles
from ..sentence import Sentence, Words, sentence
from ..turn_events import Diff
from .agent_session import AgentSession

# Seconds to read or to write a file.
WRITING = 60.0
# Seconds to ask whether the user excludes a file: their edit waits for it.
ASKING = 2.0
# How often the files of an edit that nobody reports are looked at, and the seconds in between.
LOOKS, BETWEEN = 10, 0.1
CHANGED = sentence(
    "{path} has changed since the user was asked about this edit, so nothing was written. Read the"
    " file again before you edit it."
)
# The model gets it as "Error writing to file: ...", the only message that reaches it in the turn.
NOTE = (
    "This is not a failure: the user changed your text before it was written. {path} now holds what"
    " follows. Do not write your own text again.\n{text}"
)
# The model gets it with the next message, after its own edit was refused.
WRITTEN_INSTEAD = sentence(
    "The user changed your edit of {path} before it was written, so your own text was refused, and"
    " theirs was written. In the place of your text, the file now holds what follows. Go on from"
    " there, and do not write your own text again.\n{text}"
)
LEFT_OUT = sentence("The user refused your edit of {path}, so it is as it was.")
OTHER_ENCODING = sentence("{path} is not in UTF-8, so only the agent's own text could be written.")
# For the user, about a call that the agent reports as done.
NOT_AS_REPORTED = sentence(
    "{path} does not hold what the agent reports. What it holds instead is shown as an edit that"
    " nobody was asked about."
)
NOT_SAVED = sentence(
    "{path} could not be saved. The text is in its tab in the user's editor, and not on disk."
)
BROKEN_OFF = sentence("Nothing was written; something went wrong.")
CANCELLED = sentence("The turn was cancelled, so nothing was written.")


# Called before a file changes, with its bytes before (None if it does not exist) and after.
Note = Callable[[str, Optional[bytes], bytes], None]
# The same, with whether the user excludes the file.
TurnNote = Callable[[str, Optional[bytes], bytes, bool], None]


class NotWritten(Exception):
    """Nothing was written; `told` is for the model and the user."""

    def __init__(self, told: Sentence) -> None:
        super().__init__(str(told))
        self.told = told


@dataclass(frozen=True)
class DecidedEdit:
    """An edit as the user decided on it. `diff` is what they were shown. `text` is what they want
    written instead, None for what was shown. Line ends are those of the diff."""

    diff: Diff
    text: str | None


@dataclass(frozen=True)
class Before:
    """The bytes of a file before a call; None if there was no file."""

    data: bytes | None


@dataclass(frozen=True)
class Ours:
    """The bytes of a file before a write by us, None if there was no file, and what we wrote."""

    before: bytes | None
    data: bytes


@dataclass(frozen=True)
class Ended:
    """What came of an edit. `told` is what the model was told of a write by us that differs from
    its wish, or empty. `unasked` are the edits that nobody was asked about, `written` those that
    the user's texts have made in the place of the agent's, `changed` the paths of all files that
    it has changed."""

    success: bool
    told: Words = ""
    unasked: tuple[Diff, ...] = ()
    changed: tuple[str, ...] = ()
    written: tuple[Diff, ...] = ()


class FileWrites:
    """The edits of one turn, on its loop. `note` is called in a thread with each file before it
    changes; or afterwards, where the agent writes it by itself."""

    def __init__(self, agent: AgentSession, note: TurnNote) -> None:
        self.is_cancelled = False
        self._agent = agent
        self._note_turn = note
        # Whether the user excludes the files that have been or will be noted, by the paths.
        self._excludes: dict[str, bool] = {}
        # By the ids of the calls.
        self._approved: dict[str, Call] = {}
        self._seen: dict[str, DecidedEdit] = {}
        # The bytes of the files before calls that the agent writes by itself; by id and path.
        self._before: dict[tuple[str, str], Before] = {}
        # What was told of writes that the agent asked us for, and the bytes before and after them;
        # by the paths.
        self._written: dict[str, Ended] = {}
        self._ours: dict[str, Ours] = {}

    def cancel_writes(self) -> None:
        """Nothing is written from now on."""
        self.is_cancelled = True

    async def read_before(self, call: Call, again: bool = False) -> Call:
        """Remember the files of a call before it runs, if the agent will write them by itself;
        `again` although they were looked at before. Gives the call with what it replaces."""
        paths = _edited_paths(call)
        for path in paths:
            is_known = (call.id, path) in self._before and not again
            if not is_known and not self._agent.writes_through_us(path):
                with suppress(OSError, asyncio.TimeoutError):
                    found = await in_thread(partial(read_file, path), WRITING)
                    self._before[call.id, path] = Before(found)
        await self._ask_for_rules(path for path in paths if again or path not in self._excludes)
        return self._with_old_texts(call)

    async def excludes_any(self, paths: Iterable[str]) -> bool:
        """Whether the user excludes any of them; also if that is not known."""
        wanted = list(paths)
        await self._ask_for_rules(wanted)
        return any(self._excludes.get(path, True) for path in wanted)

    def note_decision(self, call: Call, text: str | None) -> None:
        """The user approved the call; `text` is what they want written instead."""
        self._approved[call.id] = call
        if call.diff is not None:
            self._seen[call.id] = DecidedEdit(call.diff, text)

    def is_approved(self, path: str) -> bool:
        """Whether the user has approved an edit of the file in a call that still runs."""
        return any(edit.diff.path == path for edit in self._seen.values())

    async def write_file(self, path: str, content: str) -> Words:
        """The agent asks us to write. Gives what it has to be told, "" if all went as it wanted.
        Raises NeedsUser."""
        seen = next((edit for edit in self._seen.values() if edit.diff.path == path), None)
        noted: list[bytes | None] = []

        def note_write(path: str, before: bytes | None, after: bytes) -> None:
            noted.append(before)
            self._note_write(path, before, after)

        await self._ask_for_rules([path])

        async def put_text() -> tuple[bytes, Words]:
            files = self._agent.cli.open_files
            saved = await write_open(path, content, seen, note_write, files)
            if saved is None:
                return await _in_thread(partial(write_text, path, content, seen, note_write))
            return saved

        done, data = await self._put_file(path, put_text)
        if data is not None:
            self._ours[path] = Ours(noted[0], data)
            if done.told:
                done = replace(done, written=(_diff_of_bytes(path, noted[0], data),))
        if done.told:
            self._written[path] = done
        return done.told

    async def write_instead(self, call: Call, edits: Sequence[Diff]) -> Ended:
        """Write what the user wants in the place of edits that were refused. The agent has to be
        told what is told here."""
        self._forget_call(call)
        await self._ask_for_rules(edit.path for edit in edits)
        # What the agent writes there later is its own.
        written: list[Diff] = []

        def note_write(path: str, before: bytes | None, after: bytes) -> None:
            self._note_write(path, before, after)
            written.append(_diff_of_bytes(path, before, after))

        works = [partial(write_instead, edit, note_write) for edit in edits]
        puts = [(edit.path, partial(_in_thread, work)) for edit, work in zip(edits, works)]
        done = [(await self._put_file(*each))[0] for each in puts]
        wanted = {edit.path for edit in edits}
        others = dict.fromkeys(diff.path for diff in call.diffs if diff.path not in wanted)
        left = [LEFT_OUT.with_values(path=path) for path in others]
        told: Sequence[Words] = [*(end.told for end in done), *left]
        words = told[0] if len(told) == 1 else "\n".join(map(str, told))
        changed = tuple(edit.path for edit, its in zip(edits, done) if its.success)
        shown = tuple(diff for diff in written if diff.path in changed)
        return Ended(all(end.success for end in done), words, changed=changed, written=shown)

    async def end_call(self, call: Call, success: bool) -> Ended:
        """The agent reports the call as over; `success` is what it says of that."""
        approved = self._approved.get(call.id)
        # What the user saw has the whole texts, where the report may have pieces.
        reported = self._with_old_texts(call).diffs
        diffs = (reported or await self._untold_edits(call)) if approved is None else approved.diffs
        written = self._written.pop(call.path, None)
        if written is not None:
            success = written.success
        if success:
            # Some agents name a file only now.
            paths = [diff.path for diff in diffs]
            await self._ask_for_rules(path for path in paths if path not in self._excludes)
        else:
            await self.keep_left(call)
        others = await self._unreported_edits(call, diffs) if success else ()
        self._forget_call(call)
        if others:
            changed = tuple(diff.path for diff in others)
            told = NOT_AS_REPORTED.with_values(path=", ".join(changed))
            return Ended(False, told, others, changed)
        changed = tuple(diff.path for diff in diffs) if success else ()
        if written is not None:
            return replace(written, changed=changed)
        return Ended(
            success, unasked=diffs if success and approved is None else (), changed=changed
        )

    async def is_done(self, call: Call) -> bool:
        """Whether the files hold what the user approved, at once or in a moment, although the agent
        has not said so."""
        approved = self._approved.get(call.id)
        if approved is None or not approved.diffs or self.is_cancelled:
            return False
        places = [(diff, self._before.get((call.id, diff.path))) for diff in approved.diffs]
        with suppress(OSError, asyncio.TimeoutError):
            for _ in range(LOOKS):
                if await in_thread(lambda: all(_is_written(*place) for place in places), WRITING):
                    return True
                await asyncio.sleep(BETWEEN)
        return False

    async def keep_left(self, call: Call) -> None:
        """Note what an approved call has made of its files that did not end well, or not at all:
        the agent may have written before it was cancelled or ended. Asks the editor nothing: when
        that quits, it does not answer any more."""
        approved = self._approved.get(call.id)
        paths = _edited_paths(approved) if approved is not None else []
        for path in paths:
            before = self._before.get((call.id, path))
            if before is not None:
                with suppress(OSError, asyncio.TimeoutError):
                    await in_thread(partial(_note_left, path, before, self._note_write), WRITING)

    def _note_write(self, path: str, before: bytes | None, after: bytes) -> None:
        self._note_turn(path, before, after, self._excludes.get(path, True))

    async def _ask_for_rules(self, paths: Iterable[str]) -> None:
        """Before these are noted. Without an answer in time, what was last known in this turn
        counts. If nothing was, the edit goes on, and nothing of the file is stored."""

        async def ask_for_path(path: str) -> None:
            with suppress(NotSaved, OSError, asyncio.TimeoutError):
                excludes = self._agent.cli.open_files.excludes_file(path)
                # Not before the answer: the same file may be noted meanwhile.
                self._excludes[path] = await asyncio.wait_for(excludes, ASKING)

        await asyncio.gather(*map(ask_for_path, dict.fromkeys(paths)))

    def _with_old_texts(self, call: Call) -> Call:
        """The call with what its files held: some agents tell each text that they write as a new
        file, or each piece of a file by itself."""
        pieces: dict[str, list[Diff]] = {}
        for diff in call.diffs:
            pieces.setdefault(diff.path, []).append(diff)
        diffs: list[Diff] = []
        for path, its in pieces.items():
            before = self._before.get((call.id, path))
            whole = _joined_edit(its, before) if len(its) > 1 else None
            diffs += [_with_old_text(diff, before) for diff in its] if whole is None else [whole]
        return replace(call, diffs=tuple(diffs))

    async def _untold_edits(self, call: Call) -> tuple[Diff, ...]:
        """What became of the file of an edit whose texts the agent does not tell. Both texts are
        the same if it was done before anybody could look."""
        ours = self._ours.get(call.path)
        if ours is not None:
            return (_diff_of_bytes(call.path, ours.before, ours.data),)
        before = self._before.get((call.id, call.path))
        if before is None:
            return ()
        found = await self._seen_on_disk(partial(_change_on_disk, call.path, before))
        return () if found is None else (found,)

    async def _put_file(
        self, path: str, put: Callable[[], Awaitable[tuple[bytes, Words]]]
    ) -> tuple[Ended, bytes | None]:
        """The boundary of a write: whatever happens, the agent gets its answer. Gives the bytes as
        well, None if nothing was written. Raises NeedsUser."""
        try:
            if self.is_cancelled:
                raise NotWritten(CANCELLED)
            data, told = await put()
            return Ended(True, told), data
        except NeedsUser:
            raise
        except NotWritten as refused:
            words: Words = refused.told
        except (OSError, asyncio.TimeoutError) as error:
            reason = getattr(error, "strerror", None) or sentence("the disk does not answer")
            words = sentence("{path} cannot be written: {reason}.", path=path, reason=reason)
        except Exception:
            logger.exception("a file was not written")
            words = BROKEN_OFF
        return Ended(False, words), None

    async def _unreported_edits(self, call: Call, diffs: tuple[Diff, ...]) -> tuple[Diff, ...]:
        """What is on disk beyond what the agent reports."""
        ours = self._ours.pop(call.path, None)
        if ours is not None:
            found = await self._seen_on_disk(lambda: _diff_from_ours(call.path, ours.data))
            if found is not None:
                self._agent.distrust()
            return () if found is None else (found,)
        places = [(diff, self._before.get((call.id, diff.path))) for diff in diffs]
        looked = [
            await self._seen_on_disk(partial(_unreported_change, *place, self._note_write))
            for place in places
        ]
        return tuple(seen for seen in looked if seen is not None)

    async def _seen_on_disk(self, look: Callable[[], Diff | None]) -> Diff | None:
        with suppress(OSError, asyncio.TimeoutError):
            return await in_thread(look, WRITING)
        return None

    def _forget_call(self, call: Call) -> None:
        self._approved.pop(call.id, None)
        self._seen.pop(call.id, None)
        for key in [key for key in self._before if key[0] == call.id]:
            del self._before[key]


def _take_no_note(path: str, before: bytes | None, after: bytes) -> None:
    """Takes no note, for writes that nobody follows."""


def write_text(
    path: str, content: str, seen: DecidedEdit | None, note: Note = _take_no_note
) -> tuple[bytes, str]:
    """Write `content`, or the user's version of it; `seen` is None if nobody was asked. Calls
    `note` before. Gives the written bytes, and what the model has to be told, or "". Raises
    NotWritten, OSError."""
    text = _wanted_text(path, content, seen)
    is_changed = text != content
    if seen is not None and not _is_as_seen(path, seen, is_changed):
        raise NotWritten(CHANGED.with_values(path=path))
    data = text.encode("utf-8", "replace")
    note(path, read_file(path), data)
    write_file(path, data)
    told = NOTE.format(path=path, text=seen.text) if seen is not None and is_changed else ""
    return data, told


async def write_open(
    path: str, content: str, seen: DecidedEdit | None, note: Note, files: OpenFiles
) -> tuple[bytes, Words] | None:
    """Write the file through its tab, if that has unsaved changes, and give what `write_text`
    gives; None if it has none, and nothing was written. The state before is that of the tab, so
    that undoing the edit leaves what the user typed. Raises NeedsUser, NotWritten, OSError."""
    text = _wanted_text(path, content, seen)
    before = await in_thread(partial(read_file, path), WRITING)
    try:
        saved = await asyncio.wait_for(files.save_text(path, plain_text(text)), WRITING)
    except NotSaved:
        raise NotWritten(NOT_SAVED.with_values(path=path)) from None
    if saved is None:
        return None
    data = await in_thread(partial(read_file, path), WRITING) or b""
    with suppress(UnicodeDecodeError):
        before = formatted_like(data.decode("utf-8"), saved.before).encode("utf-8", "replace")
    note(path, before, data)
    is_other = saved.text != plain_text(content)
    return data, NOTE.format(path=path, text=saved.text) if is_other else ""


def _wanted_text(path: str, content: str, seen: DecidedEdit | None) -> str:
    """The agent's text, or the user's version of it. Raises NotWritten."""
    if seen is None:
        return content
    if plain_text(content) != plain_text(seen.diff.new_text):
        raise NotWritten(CHANGED.with_values(path=path))
    is_changed = seen.text is not None and plain_text(seen.text) != plain_text(content)
    return formatted_like(content, seen.text or "") if is_changed else content


async def _in_thread(put: Callable[[], tuple[bytes, Words]]) -> tuple[bytes, Words]:
    return await in_thread(put, WRITING)


def write_instead(diff: Diff, note: Note = _take_no_note) -> tuple[bytes, Words]:
    """Write the user's text, the new one of the diff, where the agent was refused. Gives the
    written bytes, and what the model has to be told. Raises NotWritten, OSError."""
    path, text, before = diff.path, diff.new_text, read_file(diff.path)
    try:
        found = edited_text((before or b"").decode("utf-8"), diff, text)
    except UnicodeDecodeError:
        raise NotWritten(OTHER_ENCODING.with_values(path=path)) from None
    if found is None:
        raise NotWritten(CHANGED.with_values(path=path))
    data = found.encode("utf-8", "replace")
    note(path, before, data)
    if before is None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    write_file(path, data)
    return data, WRITTEN_INSTEAD.with_values(path=path, text=text)


def _with_old_text(diff: Diff, before: Before | None) -> Diff:
    """The diff with the file's text as the old one, if it has none itself."""
    if diff.old_text or before is None or not before.data:
        return diff
    with suppress(UnicodeDecodeError):
        text = plain_text(before.data.decode("utf-8"))
        # It may have been looked at too late.
        if text != plain_text(diff.new_text):
            return replace(diff, old_text=text)
    return diff


def _joined_edit(pieces: Sequence[Diff], before: Before | None) -> Diff | None:
    """The edit of a whole file, where its pieces fit into what it held."""
    with suppress(UnicodeDecodeError):
        if before is not None and before.data is not None:
            return joined_edit(before.data.decode("utf-8"), pieces)
    return None


def _diff_from_ours(path: str, ours: bytes) -> Diff | None:
    """What the file holds instead of the bytes that we wrote. Raises OSError."""
    found = read_file(path)
    if found == ours:
        return None
    return _diff_of_bytes(path, ours, found)


def _diff_of_bytes(path: str, before: bytes | None, after: bytes | None) -> Diff:
    texts = [plain_text((data or b"").decode("utf-8", "replace")) for data in (before, after)]
    return Diff(path, *texts)


def _edited_paths(call: Call) -> list[str]:
    """The files that the call edits."""
    if not call.diffs and call.kind == EDIT and os.path.isabs(call.path):
        return [call.path]
    return [diff.path for diff in call.diffs]


def _change_on_disk(path: str, before: Before) -> Diff:
    """Raises OSError."""
    return _diff_of_bytes(path, before.data, read_file(path))


def _is_written(diff: Diff, before: Before | None) -> bool:
    """Raises OSError."""
    after = read_file(diff.path)
    if before is None or after is None or after == before.data:
        return False
    with suppress(UnicodeDecodeError):
        return unreported_difference(diff, (before.data or b"").decode("utf-8"), after) is None
    return False


def _note_left(path: str, before: Before, note: Note) -> None:
    """Raises OSError."""
    after = read_file(path)
    if after is not None and after != before.data:
        note(path, before.data, after)


def _unreported_change(diff: Diff, before: Before | None, note: Note) -> Diff | None:
    """What the agent itself has written beyond its diff. What it has written is noted; `before` is
    None if it is not known what the file held. Raises OSError."""
    after = read_file(diff.path)
    known = None
    with suppress(UnicodeDecodeError):
        known = None if before is None else (before.data or b"").decode("utf-8")
    if after is not None:
        with suppress(ValueError):
            note(diff.path, before_edit(diff, after) if before is None else before.data, after)
    return unreported_difference(diff, known, after)


def _is_as_seen(path: str, seen: DecidedEdit, is_changed: bool) -> bool:
    """Whether the file still has the content that the user was shown. That cannot be known in
    encodings other than UTF-8, so there only the agent's own text may be written. Raises OSError.
    """
    try:
        return plain_text((read_file(path) or b"").decode("utf-8")) == plain_text(
            seen.diff.old_text
        )
    except UnicodeDecodeError:
        return not is_changed
