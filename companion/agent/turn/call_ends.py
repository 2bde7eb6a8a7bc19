"""How the tool calls of one turn end: what is told as the result, of what the agent says of it, has
recorded of it, and has written.
"""

from __future__ import annotations

from dataclasses import replace

from ..events import tool_call
from ..events.tool_call import Call, Record
from ..turn_events import COMPLETED, FAILED
from .agent_session import AgentSession
from .call_events import CallEvents
from .command_files import CommandFiles
from .file_writes import Ended, FileWrites


class CallEnds:
    """Tells each end through the `calls`."""

    def __init__(
        self, agent: AgentSession, calls: CallEvents, writes: FileWrites, commands: CommandFiles
    ) -> None:
        self._agent = agent
        self._calls = calls
        self._writes = writes
        self._commands = commands

    async def end_call(self, call: Call) -> None:
        """The agent tells the end of the call."""
        known = self._calls.known_call(call.id)
        self._calls.introduce_call(call)
        record = await self._agent.recording.find_record(call.id)
        # docs/gemini-cli-acp.md 4.29: it reports success also for a command that ended with the
        # turn.
        success = call.status == COMPLETED and not self._writes.is_cancelled
        ended = await self._writes.end_call(call, success)
        self._commands.leave_out(call, ended.changed)
        made = await self._commands.take_changes(call)
        if made:
            changed = dict.fromkeys((*ended.changed, *(diff.path for diff in made)))
            ended = replace(ended, unasked=(*ended.unasked, *made), changed=tuple(changed))
        if ended.told:
            # The CLI takes a write that differs for an error, and shows that.
            call = replace(call, text="", diffs=())
            record = Record(output=str(ended.told), args=record.args if record else {})
        self.tell_end(call, known, record, ended)

    def tell_end(self, call: Call, known: Call | None, record: Record | None, ended: Ended) -> None:
        """Tell the end of a call: as it is, as it was `known` before, with what is recorded of
        it."""
        result = tool_call.reported_result(call, known, record, ended.success)
        if ended.told and not ended.success:
            result = replace(result, error=ended.told)
        result = replace(
            result, unasked=ended.unasked, written=ended.written, changed=ended.changed
        )
        self._calls.end_call(call, COMPLETED if ended.success else FAILED, result)
