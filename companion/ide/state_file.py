"""The file of the state that is saved over a restart, which only this user can read: how much is
written, what is too old, and what happens to an unreadable file."""

from __future__ import annotations

import itertools
import os
import stat
import time
from contextlib import suppress
from dataclasses import replace
from typing import Callable, Iterator

from ..base import private_files
from . import state_lines
from .clis import by_id
from .decisions import DECIDED, OPEN, TOLD, Entry
from .saved_state import SavedWorkspace

# Days after which no CLI is expected back and a token is void; and days for which texts of the user
# are kept.
MAX_AGE = 7
MAX_TEXT_AGE = 90
DAY = 24 * 60 * 60.0
# The most saved workspaces beside those with texts of the user, newest first; and bytes of all.
MAX_WORKSPACES = 32
MAX_BYTES = 64 * 1024 * 1024
# The most bytes that are read: more could take long, and until then no CLI finds a server.
MAX_READ = 2 * MAX_BYTES
# The most code points of an open proposal that is saved; a larger one has to be proposed again.
MAX_PROPOSAL = 1024 * 1024
# The same of one that is nowhere else, for a CLI that writes what it is given.
MAX_GIVEN_BACK = 8 * 1024 * 1024
# An unreadable file is kept beside the new one, under its name with this ending, and a number if
# there is one already.
UNREAD = ".unread"
NOT_WHOLE = "Part of the saved state cannot be read."
TOO_OLD = "Texts that no CLI has written for {} days are no longer listed."
TOO_MUCH = (
    "Too many texts wait for Gemini CLI to save all for a restart; the oldest are not saved. See"
    ' "Gemini Companion: Show Changes".'
)
# Marks a file that is older than its content should be, as its time; and what the user then reads.
OUTDATED_NS = 0
OUTDATED = (
    "The last changes could not be saved before the restart. Decisions and texts may be missing in"
    ' your diffs and in "Gemini Companion: Show Changes".'
)


def load_state(path: str) -> tuple[list[SavedWorkspace], str]:
    """The saved workspaces, without those that are too old. Also gives a sentence for the user if
    something could not be read, or if texts of theirs are too old. In that case the file is put
    aside, because the next save would replace it."""
    private_files.sweep_folder(os.path.dirname(path))
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            # A pipe may never give anything, and a device may have no end.
            raise OSError(0, "it is not a file")
        found, is_whole = _readable_workspaces(path, status.st_size)
    except (FileNotFoundError, NotADirectoryError):
        return [], ""
    except OSError as error:
        lost = f"The saved state cannot be read: {path} ({error.strerror})."
        return [], f"{lost} {_put_aside(path)}" if os.path.isfile(path) else lost
    young, is_all = _young_workspaces(found)
    problems = [OUTDATED] if status.st_mtime_ns == OUTDATED_NS else []
    problems += [] if is_whole else [NOT_WHOLE]
    problems += [] if is_all else [TOO_OLD.format(MAX_TEXT_AGE)]
    problems += [] if is_whole and is_all else [_put_aside(path)]
    return young, " ".join(filter(None, problems))


def _readable_workspaces(path: str, size: int) -> tuple[list[SavedWorkspace], bool]:
    """The readable part of the file, and whether that is all of it. Raises OSError."""
    if size > MAX_READ:
        return [], False
    with open(path, "rb") as file:
        return state_lines.read_workspaces(file)


def _young_workspaces(found: list[SavedWorkspace]) -> tuple[list[SavedWorkspace], bool]:
    """The workspaces that are not too old, and whether they include all texts of the user. Their
    age counts from the newest one, because a clock that is ahead must not remove any. Tokens expire
    by the clock."""
    now, young, is_all = time.time(), [], True
    newest = min(now, max((workspace.saved_at for workspace in found), default=now))
    for workspace in found:
        if newest - workspace.saved_at < DAY * (MAX_TEXT_AGE if workspace.has_texts else MAX_AGE):
            is_known = now - workspace.saved_at < DAY * MAX_AGE
            young.append(workspace if is_known else replace(workspace, token=""))
        else:
            is_all = is_all and not workspace.has_texts
    return young, is_all


def _mark_outdated(path: str) -> None:
    """Mark the file so that the next start reports it, if the editor ends before a save succeeds.
    Even a full disk can change the time of an existing file."""
    with suppress(OSError):
        os.utime(path, ns=(OUTDATED_NS, OUTDATED_NS))


def save_state(path: str, workspaces: list[SavedWorkspace]) -> str:
    """Write the workspaces; gives a sentence for the user if that went wrong."""
    newest = sorted(
        workspaces, key=lambda workspace: (workspace.has_texts, workspace.saved_at), reverse=True
    )
    with_texts = sum(workspace.has_texts for workspace in newest)
    lines, is_all = _fitting_lines(newest[: with_texts + MAX_WORKSPACES])
    try:
        private_files.make_parents(os.path.dirname(path))
        private_files.make_folder(os.path.dirname(path))
        data = b"".join([state_lines.first_line(), *lines])
        private_files.write_file(path, data, lasting=True)
    except OSError as error:
        _mark_outdated(path)
        return f"The state for the next restart could not be saved: {path} ({error.strerror})."
    except private_files.NotPrivate as error:
        return f"The state for the next restart could not be saved: {error}"
    return "" if is_all else TOO_MUCH


def _put_aside(path: str) -> str:
    """Keep the file under a second name, because the next save replaces the first. Gives a sentence
    for the user about the result."""
    names = (
        f"{path}{UNREAD}-{number}" if number > 1 else path + UNREAD for number in itertools.count(1)
    )
    try:
        aside = next(
            name for name in names if not os.path.exists(name) or os.path.samefile(name, path)
        )
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


def _fitting_lines(workspaces: list[SavedWorkspace]) -> tuple[list[bytes], bool]:
    """The lines of the workspaces, within the limit, and whether all texts are in them except those
    of open diffs: the editor has these in its tabs as well. The oldest are left out first, one by
    one."""
    workspaces = [_without_giants(each) for each in workspaces]
    lines = [state_lines.line_of(each) for each in workspaces]
    room, is_all = MAX_BYTES - sum(map(len, lines)), True
    for lighter in (_without_open_texts, _without_decisions):
        for index in reversed(range(len(workspaces))):
            for less in lighter(workspaces[index]):
                if room >= 0:
                    return lines, is_all
                is_all = is_all and lighter is _without_open_texts
                workspaces[index], line = less, state_lines.line_of(less)
                room += len(lines[index]) - len(line)
                lines[index] = line
    return lines, is_all


def _without_giants(workspace: SavedWorkspace) -> SavedWorkspace:
    return _without_open_text(workspace, _is_giant)


def _is_giant(entry: Entry) -> bool:
    """Whether the text is too large to be saved. Of one that its CLI has to be given back, the
    editor's tab has a part only."""
    limit = MAX_GIVEN_BACK if by_id(entry.cli).has_empty_text else MAX_PROPOSAL
    return len(entry.text or "") > limit


def _without_open_texts(workspace: SavedWorkspace) -> Iterator[SavedWorkspace]:
    less = _without_open_text(workspace, lambda proposal: True)
    if less is not workspace:
        yield less


def _without_open_text(
    workspace: SavedWorkspace, is_unwanted: Callable[[Entry], bool]
) -> SavedWorkspace:
    proposals = tuple(
        proposal._replace(text=None)
        if proposal.state == OPEN and proposal.text is not None and is_unwanted(proposal)
        else proposal
        for proposal in workspace.proposals
    )
    is_same = proposals == workspace.proposals
    return workspace if is_same else replace(workspace, proposals=proposals)


def _without_decisions(workspace: SavedWorkspace) -> Iterator[SavedWorkspace]:
    """The workspace with one decision less each time; those that a CLI was told go first."""
    less = workspace
    for state in (TOLD, DECIDED, OPEN):
        for entry in [entry for entry in workspace.proposals if entry.state == state]:
            proposals = list(less.proposals)
            proposals.remove(entry)
            less = replace(less, proposals=tuple(proposals))
            yield less
    if less.sessions:
        yield replace(less, sessions=())
