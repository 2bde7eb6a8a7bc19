"""What commands of one turn change in files that are open in the user's editor: these are read
before a command runs, and once it has ended."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import Dict, Iterable, Mapping, Optional, Sequence

from ...base.background import in_thread
from ...base.regular_file import read_regular
from ..edited_file import plain_text
from ..events.tool_call import Call
from ..open_files import NotSaved
from ..turn_events import Diff
from .agent_session import AgentSession
from .file_writes import TurnNote

# The most files that are read, the most bytes of one and of all, and the most commands for which
# they are kept at a time, the newest ones.
MOST, MAX_SIZE, MAX_SIZES, MOST_COMMANDS = 200, 1 << 20, 16 << 20, 4
# Seconds for the editor and the disk: a command waits for them.
PATIENCE = 1.0
# Also where the system gives no thread: the command runs all the same.
NOT_READ = (NotSaved, OSError, RuntimeError, asyncio.TimeoutError)

Contents = Dict[str, Optional[bytes]]


class CommandFiles:
    """The open files beside the commands of one turn, on its loop. `note` is called in a thread
    with each file that has changed."""

    def __init__(self, agent: AgentSession, note: TurnNote) -> None:
        self._agent = agent
        self._note = note
        # By the ids of the calls that run, what their files held before; nothing of one of which
        # nothing is kept, so that it is not read when it runs already.
        self._before: dict[str, Contents] = {}

    @property
    def is_there(self) -> bool:
        """Whether there is an editor that has files open."""
        return self._agent.cli.open_files.are_there

    async def read_before(self, call: Call, again: bool = False) -> None:
        """Read the files before the command runs; none of them if that takes too long. `again`
        although they were read before: since then the user may have saved one."""
        if not self.is_there or not call.is_command or (call.id in self._before and not again):
            return
        self._before.pop(call.id, None)
        contents: Contents = {}
        self._before[call.id] = contents
        found = self._agent.cli.open_files.open_paths(self._agent.session.roots)
        with suppress(*NOT_READ):
            paths = await asyncio.wait_for(found, PATIENCE)
            contents.update(await in_thread(partial(_read_files, paths), PATIENCE))
        kept = [each for each in self._before.values() if each]
        for oldest in kept[:-MOST_COMMANDS]:
            oldest.clear()

    def leave_out(self, call: Call, paths: Iterable[str]) -> None:
        """Another call has changed these files."""
        for path in paths:
            for id, contents in self._before.items():
                if id != call.id:
                    contents.pop(path, None)

    async def take_changes(self, call: Call) -> tuple[Diff, ...]:
        """What the command has made of the files, once it has ended."""
        before = self._before.pop(call.id, None)
        if not before:
            return ()
        with suppress(*NOT_READ):
            after = await in_thread(partial(_read_files, tuple(before)), PATIENCE)
            changed = {
                path: data
                for path, data in after.items()
                if data is not None and data != before[path]
            }
            # Another command that runs beside it does not tell the same again.
            for other in self._before.values():
                other.update((path, changed[path]) for path in other.keys() & changed.keys())
            await in_thread(partial(self._note_files, before, changed), PATIENCE)
            diffs = (_text_diff(path, before[path], changed[path]) for path in changed)
            return tuple(diff for diff in diffs if diff is not None)
        return ()

    def _note_files(self, before: Contents, changed: Mapping[str, bytes]) -> None:
        for path, data in changed.items():
            self._note(path, before[path], data, False)


def _read_files(paths: Sequence[str]) -> Contents:
    """What the files hold, None for one that is not there. Those that cannot be read are left out,
    and so is what is too much. Runs in a thread."""
    found: Contents = {}
    left = MAX_SIZES
    for path in paths[:MOST]:
        with suppress(OSError):
            try:
                data: bytes | None = read_regular(path, min(MAX_SIZE, left))
            except FileNotFoundError:
                data = None
            found[path] = data
            left -= len(data or b"")
    return found


def _text_diff(path: str, before: bytes | None, after: bytes) -> Diff | None:
    """None for what is no text, or the same but for its line ends."""
    with suppress(UnicodeDecodeError):
        old, new = (plain_text((data or b"").decode("utf-8")) for data in (before, after))
        return Diff(path, old, new) if old != new else None
    return None
