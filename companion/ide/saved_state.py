"""The state that is kept over a restart: ports, tokens, sessions and the books of decisions.

It is one file that only this user can read, with a line of JSON for each window. With it a CLI that
comes back soon enough does not notice an upgrade of the package or a restart of the editor, and no
decision is lost if its CLI does not come back.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import stat
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, BinaryIO, Callable, Iterator, TypeVar

from ..base import private_files
from ..base.large_json import encode_in_pieces
from ..base.log import logger
from .clis import GEMINI_CLI
from .decisions import DECIDED, OPEN, STATES, TOLD, Entry

T = TypeVar("T")

VERSION = 5
# Days after which no CLI is expected back and a token is void; and days for which texts of the user
# are kept.
MAX_AGE = 7
MAX_TEXT_AGE = 90
DAY = 24 * 60 * 60.0
# The most saved workspaces beside those with texts of the user, newest first; and bytes of all.
MAX_WORKSPACES = 32
MAX_BYTES = 64 * 1024 * 1024
# The most bytes that are read, and the most lines or members of a list that make no sense. The rest
# is skipped, because otherwise it could take long until a CLI finds a server.
MAX_READ, MAX_BAD = 2 * MAX_BYTES, 100
# The most code points of an open proposal that is saved; a larger one has to be proposed again.
MAX_PROPOSAL = 1024 * 1024
# An unreadable file is kept beside the new one, under its name with this ending, and a number if
# there is one already.
UNREAD = ".unread"
NOT_WHOLE = "Part of the saved state cannot be read."
TOO_OLD = "Texts that no CLI has written for {} days are no longer listed."
TOO_MUCH = (
    "Too many texts wait for Gemini CLI to save all for a restart; the oldest are not saved. See"
    ' "Gemini Companion: Show Unwritten Edits".'
)
# Marks a file that is older than its content should be, as its time; and what the user then reads.
OUTDATED_NS = 0
OUTDATED = (
    "The last changes could not be saved before the restart. Decisions and texts may be missing in"
    ' your diffs and in "Gemini Companion: Show Unwritten Edits".'
)
# Session ids and tokens are sent in headers of HTTP.
VISIBLE = re.compile("[!-~]{1,1000}")
# The largest integer that every reader of JSON reads as the same number.
MAX_INTEGER = 2**53


@dataclass(frozen=True)
class SavedSession:
    """`last_id` is the id of its last event. `client` is the name that it gave itself; `cli` is the
    id of its kind. `since` is in seconds since the epoch, 0 if it is not known."""

    id: str
    protocol_version: str
    last_id: int
    client: str = ""
    cli: str = GEMINI_CLI.id
    since: float = 0.0


@dataclass(frozen=True)
class SavedWorkspace:
    """A window's endpoint. `folders` decide which window gets it back; if several windows have the
    same folders, the editor's `window_id` does as well. `proposals` are the entries of its book.
    `saved_at` is in seconds since the epoch. An empty `token` was unreadable or too old.

    The sessions are in the order in which they began. The ordinal of each is its place in this
    order, from 1; `after_session` of the proposals uses these ordinals."""

    folders: tuple[str, ...]
    port: int
    token: str
    sessions: tuple[SavedSession, ...]
    proposals: tuple[Entry, ...]
    saved_at: float
    window_id: int = 0

    @property
    def has_texts(self) -> bool:
        """Whether it contains something that the user typed or decided."""
        return any(each.state != OPEN or each.text is not None for each in self.proposals)

    def split(self, is_wanted: Callable[[Entry], bool]) -> tuple[SavedWorkspace, tuple[Entry, ...]]:
        """The workspace without the wanted entries, and these entries. Open proposals stay with
        their endpoint, where the CLI expects them; what the user typed into them comes back."""
        rest, wanted = [], []
        for entry in self.proposals:
            # The other workspace has other sessions.
            moved = entry._replace(after_session=0)
            if not is_wanted(entry) or (entry.state == OPEN and not entry.is_edited):
                rest.append(entry)
            elif entry.state == OPEN:
                rest.append(entry._replace(text=None))
                wanted.append(moved._replace(state=TOLD, comes_back=True, decided_at=time.time()))
            else:
                wanted.append(moved)
        return replace(self, proposals=tuple(rest)), tuple(wanted)


def is_within(path: str, folders: tuple[str, ...]) -> bool:
    with suppress(ValueError):
        return any(os.path.commonpath([path, folder]) == folder for folder in folders)
    return False


def load(path: str) -> tuple[list[SavedWorkspace], str]:
    """The saved workspaces, without those that are too old. Also gives a sentence for the user if
    something could not be read, or if texts of theirs are too old. In that case the file is put
    aside, because the next save would replace it."""
    private_files.sweep(os.path.dirname(path))
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            # A pipe may never give anything, and a device may have no end.
            raise OSError(0, "it is not a file")
        found, is_whole = _found(path, status.st_size)
    except (FileNotFoundError, NotADirectoryError):
        return [], ""
    except OSError as error:
        lost = f"The saved state cannot be read: {path} ({error.strerror})."
        return [], f"{lost} {_put_aside(path)}" if os.path.isfile(path) else lost
    young, is_all = _young(found)
    problems = [OUTDATED] if status.st_mtime_ns == OUTDATED_NS else []
    problems += [] if is_whole else [NOT_WHOLE]
    problems += [] if is_all else [TOO_OLD.format(MAX_TEXT_AGE)]
    problems += [] if is_whole and is_all else [_put_aside(path)]
    return young, " ".join(filter(None, problems))


def _found(path: str, size: int) -> tuple[list[SavedWorkspace], bool]:
    """The readable part of the file, and whether that is all of it. Raises OSError."""
    if size > MAX_READ:
        return [], False
    with open(path, "rb") as file:
        return _read(file)


def _young(found: list[SavedWorkspace]) -> tuple[list[SavedWorkspace], bool]:
    """The workspaces that are not too old, and whether they include all texts of the user. Their
    age counts from the newest one, because a clock that is ahead must not remove any. Tokens expire
    by the clock."""
    now, young, is_all = time.time(), [], True
    newest = min(now, max((it.saved_at for it in found), default=now))
    for it in found:
        if newest - it.saved_at < DAY * (MAX_TEXT_AGE if it.has_texts else MAX_AGE):
            is_known = now - it.saved_at < DAY * MAX_AGE
            young.append(it if is_known else replace(it, token=""))
        else:
            is_all = is_all and not it.has_texts
    return young, is_all


def _mark_outdated(path: str) -> None:
    """Mark the file so that the next start reports it, if the editor ends before a save succeeds.
    Even a full disk can change the time of an existing file."""
    with suppress(OSError):
        os.utime(path, ns=(OUTDATED_NS, OUTDATED_NS))


def save(path: str, workspaces: list[SavedWorkspace]) -> str:
    """Write the workspaces; gives a sentence for the user if that went wrong."""
    newest = sorted(workspaces, key=lambda it: (it.has_texts, it.saved_at), reverse=True)
    with_texts = sum(it.has_texts for it in newest)
    lines, is_all = _fitting(newest[: with_texts + MAX_WORKSPACES])
    try:
        private_files.make_parents(os.path.dirname(path))
        private_files.make_folder(os.path.dirname(path))
        data = b"".join([_line({"version": VERSION}), *lines])
        private_files.write(path, data, lasting=True)
    except OSError as error:
        _mark_outdated(path)
        return f"The state for the next restart could not be saved: {path} ({error.strerror})."
    except private_files.NotPrivate as error:
        return f"The state for the next restart could not be saved: {error}"
    return "" if is_all else TOO_MUCH


def is_same(one: list[SavedWorkspace], other: list[SavedWorkspace]) -> bool:
    """Whether the second, once loaded, is as good as the first: the time and the last used id need
    not be exact."""
    return [_lasting(each) for each in one] == [_lasting(each) for each in other]


def _lasting(workspace: SavedWorkspace) -> SavedWorkspace:
    sessions = tuple(replace(session, last_id=0) for session in workspace.sessions)
    return replace(workspace, sessions=sessions, saved_at=0.0)


def _put_aside(path: str) -> str:
    """Keep the file under a second name, because the next save replaces the first. Gives a sentence
    for the user about the result."""
    names = (f"{path}{UNREAD}-{it}" if it > 1 else path + UNREAD for it in itertools.count(1))
    try:
        aside = next(it for it in names if not os.path.exists(it) or os.path.samefile(it, path))
        with suppress(FileExistsError):
            _name_twice(path, aside)
    except OSError as error:
        return f"It could not be moved aside ({error.strerror})."
    return f"The whole file is kept as {aside}."


def _name_twice(path: str, other: str) -> None:
    try:
        os.link(path, other)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems have no hard links.
        os.replace(path, other)


def _fitting(workspaces: list[SavedWorkspace]) -> tuple[list[bytes], bool]:
    """The lines of the workspaces, within the limit, and whether all texts are in them except those
    of open diffs: the editor has these in its tabs as well. The oldest are left out first, one by
    one."""
    workspaces = [_without_giants(each) for each in workspaces]
    lines = [_line(members_of(each)) for each in workspaces]
    room, is_all = MAX_BYTES - sum(map(len, lines)), True
    for lighter in (_without_open_texts, _without_decisions):
        for index in reversed(range(len(workspaces))):
            for less in lighter(workspaces[index]):
                if room >= 0:
                    return lines, is_all
                is_all = is_all and lighter is _without_open_texts
                workspaces[index], line = less, _line(members_of(less))
                room += len(lines[index]) - len(line)
                lines[index] = line
    return lines, is_all


def _without_giants(workspace: SavedWorkspace) -> SavedWorkspace:
    return _without_open_text(workspace, lambda text: len(text) > MAX_PROPOSAL)


def _without_open_texts(workspace: SavedWorkspace) -> Iterator[SavedWorkspace]:
    less = _without_open_text(workspace, lambda text: True)
    if less is not workspace:
        yield less


def _without_open_text(
    workspace: SavedWorkspace, is_unwanted: Callable[[str], bool]
) -> SavedWorkspace:
    proposals = tuple(
        it._replace(text=None)
        if it.state == OPEN and it.text is not None and is_unwanted(it.text)
        else it
        for it in workspace.proposals
    )
    is_same = proposals == workspace.proposals
    return workspace if is_same else replace(workspace, proposals=proposals)


def _without_decisions(workspace: SavedWorkspace) -> Iterator[SavedWorkspace]:
    """With one decision less each time; first without those that a CLI was told."""
    less = workspace
    for state in (TOLD, DECIDED, OPEN):
        for entry in [it for it in workspace.proposals if it.state == state]:
            proposals = list(less.proposals)
            proposals.remove(entry)
            less = replace(less, proposals=tuple(proposals))
            yield less
    if less.sessions:
        yield replace(less, sessions=())


def members_of(workspace: SavedWorkspace) -> dict[str, Any]:
    """The members that `_workspace` reads."""
    proposals = [entry._asdict() for entry in workspace.proposals]
    return {**asdict(replace(workspace, proposals=())), "proposals": proposals}


def _line(entry: dict[str, Any]) -> bytes:
    # In one call megabytes of text would block every other thread.
    return encode_in_pieces(entry) + b"\n"


def _read(file: BinaryIO) -> tuple[list[SavedWorkspace], bool]:
    """The readable workspaces, member by member, and whether that is all."""
    try:
        if json.loads(file.readline())["version"] != VERSION:
            return [], False
    except (ValueError, KeyError, TypeError, RecursionError):
        return [], False
    found, is_whole, bad = [], True, 0
    for line in file:
        try:
            members = _Members(json.loads(line))
        except (ValueError, TypeError, RecursionError) as error:
            logger.warning("a window's state could not be read: %s", type(error).__name__)
            bad += 1
            if bad == MAX_BAD:
                break
            continue
        found.append(_workspace(members))
        is_whole = is_whole and members.are_whole
    return found, is_whole and not bad


class _Members:
    """The members of a JSON object. A bad member does not affect the others. Raises TypeError if
    the value is not an object."""

    def __init__(self, value: Any) -> None:
        if not isinstance(value, dict):
            raise TypeError(type(value))
        self.are_whole = True
        self._value = value

    def get(self, name: str, check: Callable[[Any], T], otherwise: T) -> T:
        """The result of `check` for the member. `check` raises ValueError or TypeError for a bad
        one; then the result is `otherwise`."""
        try:
            return check(self._value[name])
        except (KeyError, ValueError, TypeError, ArithmeticError) as error:
            logger.warning("saved state: %s could not be read (%s)", name, type(error).__name__)
            self.are_whole = False
            return otherwise

    def later(self, name: str, check: Callable[[Any], T], otherwise: T) -> T:
        """The same for a member that older releases do not write."""
        return self.get(name, check, otherwise) if name in self._value else otherwise

    def all(self, name: str, make: Callable[[_Members], T]) -> tuple[T, ...]:
        """The result of `make` for each object in a list; other values are skipped."""
        found = []
        values: list[Any] = self.get(name, _list, [])
        bad = 0
        for value in values:
            try:
                members = _Members(value)
                found.append(make(members))
                self.are_whole = self.are_whole and members.are_whole
            except (KeyError, ValueError, TypeError, ArithmeticError) as error:
                logger.warning("saved state: one of %s is lost (%s)", name, type(error).__name__)
                self.are_whole = False
                bad += 1
                if bad == MAX_BAD:
                    break
        return tuple(found)

    def need(self, name: str, check: Callable[[Any], T]) -> T:
        """The same as `get` for a member without which the whole is useless; raises what `check`
        raises, and KeyError."""
        return check(self._value[name])


def _workspace(members: _Members) -> SavedWorkspace:
    return SavedWorkspace(
        members.get("folders", _texts, ()),
        members.get("port", _port, 0),
        members.get("token", _visible, ""),
        members.all("sessions", _session),
        members.all("proposals", _entry),
        members.get("saved_at", _moment, time.time()),
        members.get("window_id", _integer, 0),
    )


def _session(members: _Members) -> SavedSession:
    return SavedSession(
        members.need("id", _visible),
        members.need("protocol_version", _visible),
        members.get("last_id", _natural, 0),
        members.get("client", _text, ""),
        members.get("cli", _text, GEMINI_CLI.id),
        members.get("since", _moment, 0.0),
    )


def _entry(members: _Members) -> Entry:
    state = members.need("state", _state)
    if state == OPEN:
        text = members.get("text", _text_or_none, None)
    else:
        # Without its text an acceptance would become a rejection.
        text = members.need("text", _text_or_none)
    return Entry(
        members.get("session_id", _text, ""),
        members.need("path", _text),
        state,
        members.get("opened_at", _moment, time.time()),
        members.get("client", _text, ""),
        members.get("proposed", _text, ""),
        text,
        members.get("decided_at", _moment, time.time()),
        members.get("event_id", _natural, 0),
        members.get("after_session", _natural, 0),
        members.get("comes_back", _flag, False),
        members.get("cli", _text, ""),
        members.get("sent_path", _text, ""),
        members.later("before", _text_or_none, None),
        members.later("hours", _natural, 0),
    )


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(type(value))
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(type(value))
    return value


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _text(value)


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(_text(each) for each in _list(value))


def _visible(value: Any) -> str:
    if not VISIBLE.fullmatch(_text(value)):
        raise ValueError("expected visible characters of ASCII")
    return str(value)


def _state(value: Any) -> str:
    if value not in STATES:
        raise ValueError(value)
    return str(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(type(value))
    return value


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > MAX_INTEGER:
        raise ValueError("expected an integer")
    return int(value)


def _natural(value: Any) -> int:
    if _integer(value) < 0:
        raise ValueError("expected an integer from 0 on")
    return int(value)


def _port(value: Any) -> int:
    if _natural(value) > 65535:
        raise ValueError("expected a port")
    return int(value)


def _moment(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(type(value))
    if not math.isfinite(value):
        raise ValueError(value)
    return float(value)
