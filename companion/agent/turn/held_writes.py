"""Writes about which an agent has not asked, and for which the user has to be asked all the same:
because they want that, or because the file is open with changes that are not saved."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Callable

from ..agents.open_files import NeedsUser, Withheld
from ..events import tool_call
from ..events.tool_call import Call, Record
from ..events.turn_events import COMPLETED, FAILED, Diff
from ..wording.sentence import Words, sentence
from . import file_reads
from .agent_session import AgentSession
from .call_events import CallEvents
from .edited_file import plain
from .file_writes import EDIT, LEFT_OUT, FileWrites
from .outcomes import HELD, PendingPermission

# The name of a call of which the agent tells nothing but its write.
WRITE = "write_file"
UNSAVED = sentence(
    "{path} is open in the user's editor with changes that are not saved, so nothing was written."
    " Ask the user to save them, then read the file again."
)


class HeldWrites:
    """Those of one turn, on its loop. `ask` asks the user."""

    def __init__(
        self,
        agent: AgentSession,
        writes: FileWrites,
        calls: CallEvents,
        ask: Callable[[PendingPermission], None],
    ) -> None:
        self._agent = agent
        self._writes = writes
        self._calls = calls
        self._ask = ask
        self._made = 0

    async def write(self, path: str, text: str) -> Words:
        """Write the text, after a question if there has to be one. Gives what the agent has to be
        told, "" if all went as it wanted."""
        files, folder = self._agent.cli.open_files, self._agent.session.folder
        is_held = not self._writes.is_asked(path) and await files.holds(folder)
        for _ in range(2):
            call = self._call(path) if is_held else None
            if call is not None and not await self._is_allowed(call, path, text):
                self._end(call, success=False)
                return LEFT_OUT.filled(path=path)
            try:
                told = await self._writes.write(path, text)
            except NeedsUser:
                is_held = True
                continue
            self._end(call, success=True)
            return told
        return UNSAVED.filled(path=path)

    async def _is_allowed(self, call: Call, path: str, text: str) -> bool:
        try:
            before = await file_reads.present(path, self._agent.cli.open_files)
        except (Withheld, OSError, OverflowError, asyncio.TimeoutError):
            return False
        held: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        asked = replace(call, path=path, diffs=(Diff(path, plain(before), plain(text)),))
        self._ask(PendingPermission(None, asked, HELD, True, held=held))
        return await held

    def _call(self, path: str) -> Call:
        """The one that writes the file; one of our own if the agent tells of none."""
        found = next((it for it in self._calls.running if it.path == path), None)
        if found is not None:
            return found
        self._made += 1
        return Call(f"{WRITE}__held_{self._made}", WRITE, kind=EDIT, path=path)

    def _end(self, call: Call | None, success: bool) -> None:
        """The agent reports no end of a call that it does not know."""
        is_ours = call is not None and call.id.startswith(f"{WRITE}__held_")
        if call is not None and is_ours and self._calls.known(call.id) is not None:
            result = tool_call.result(call, None, Record(), success)
            self._calls.end(call, COMPLETED if success else FAILED, result)
