"""Writes about which an agent has not asked, and for which the user has to be asked all the same:
because they want that, or because the file is open with changes that are not saved."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Callable

from ..edited_file import plain_text
from ..events.tool_call import EDIT, Call, Record
from ..open_files import NeedsUser
from ..sentence import Words, sentence
from ..turn_events import Diff
from . import file_reads
from .agent_session import AgentSession
from .call_ends import CallEnds
from .call_events import CallEvents
from .call_rules import ASK, DENY, may_write
from .consent import Consent
from .file_writes import LEFT_OUT, FileWrites
from .outcomes import HELD, REJECTED, PendingPermission

# The name of a call of which the agent tells nothing but its write.
WRITE = "write_file"
UNSAVED = sentence(
    "{path} is open in the user's editor with changes that are not saved, so nothing was written."
    " Ask the user to save them, then read the file again."
)
FORBIDDEN = sentence("{path} was not written: a rule of the user denies it.")


class HeldWrites:
    """The held writes of one turn, on its loop. `ask` asks the user."""

    def __init__(
        self,
        agent: AgentSession,
        writes: FileWrites,
        calls: CallEvents,
        ends: CallEnds,
        consent: Consent,
        ask: Callable[[PendingPermission], None],
    ) -> None:
        self._agent = agent
        self._writes = writes
        self._calls = calls
        self._ends = ends
        self._consent = consent
        self._ask = ask

    async def write_file(self, path: str, text: str) -> Words:
        """Write the text, after a question if there has to be one. Gives what the agent has to be
        told, "" if all went as it wanted."""
        files, folder = self._agent.cli.open_files, self._agent.session.folder
        is_held = False
        if not self._writes.is_approved(path):
            verdict = await self._consent.verdict_on_write(path, self._calls.running_calls)
            if verdict.decision == DENY:
                return FORBIDDEN.with_values(path=path)
            is_held = verdict.decision == ASK or await files.asks_before_edits(folder)
        call: Call | None = None
        told: Words = UNSAVED.with_values(path=path)
        for _ in range(2):
            call = self._writing_call(path) if is_held else None
            refusal = await self._refusal_reason(call, path, text) if call is not None else ""
            if refusal:
                told = refusal
                break
            try:
                told = await self._writes.write_file(path, text)
                break
            except NeedsUser:
                is_held = True
        if call is not None:
            await self._end_call(call, told)
        return told

    async def _refusal_reason(self, call: Call, path: str, text: str) -> Words:
        """Why it must not be written; "" if the user allows it."""
        try:
            before = await file_reads.present_text(path, self._agent.cli.open_files)
        except file_reads.EXPECTED as error:
            return file_reads.failure_reason(path, error)
        held: asyncio.Future[Words] = asyncio.get_running_loop().create_future()
        asked = replace(call, path=path, diffs=(Diff(path, plain_text(before), plain_text(text)),))
        self._ask(PendingPermission(None, asked, HELD, True, held=held))
        reason = await held
        return LEFT_OUT.with_values(path=path) if reason is REJECTED else reason

    def _writing_call(self, path: str) -> Call:
        """The one that writes the file; one of our own if the agent tells of none."""
        found = next(
            (call for call in self._calls.running_calls if call.path == path and may_write(call)),
            None,
        )
        if found is not None:
            return found
        return Call(self._calls.make_id(WRITE), WRITE, kind=EDIT, path=path)

    async def _end_call(self, call: Call, told: Words) -> None:
        """The agent reports no end of a call that it does not know, and none that counts of one
        that was rejected."""
        runs = self._calls.known_call(call.id) is not None
        if runs and not self._calls.is_ours(call.id):
            return
        ended = await self._writes.end_call(call, success=not told)
        if runs:
            ended = replace(ended, told=ended.told or told)
            self._ends.tell_end(call, None, Record(output=str(ended.told)), ended)
