"""The tool calls of one turn, each from its first message to its result, and the decisions on them.

It adds what the agent does not say (docs/gemini-cli-acp.md 4): that an approved tool runs, that a
rejected one was rejected, and the arguments and results of tools.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from ..acp.messages import PermissionRequest, WriteTextFile
from ..events import tool_call
from ..events.event_log import EventLog
from ..events.tool_call import Call, Record
from ..events.turn_events import (
    CANCEL,
    COMPLETED,
    EXECUTING,
    FAILED,
    MODIFY,
    ONCE,
    PENDING,
    ToolCall,
    ToolExecution,
    TurnEvent,
)
from ..wording import failure
from ..wording.failure import AgentError
from ..wording.sentence import Words, sentence
from .agent_session import AgentSession
from .file_writes import FileWrites, Note
from .outcomes import PendingPermission, choices_of

# The results of calls for which the agent gives none.
REJECTED = sentence("Rejected by the user.")
UNANSWERED = sentence("Nobody decided on it in time, so it was rejected.")
UNATTENDED = sentence("It needs a confirmation and nobody could be asked, so it was rejected.")
STOPPED = sentence("The turn ended before the tool did.")


class CallTracker:
    """Writes events into the log and answers the agent. `patience` is the seconds for a decision;
    None if nobody can decide: then calls that need a decision are rejected at once. `note` is
    called in a thread with each file before it changes."""

    def __init__(
        self,
        log: EventLog,
        agent: AgentSession,
        patience: float | None,
        note: Note,
    ) -> None:
        self.is_cancelled = False
        self.writes = FileWrites(agent.writes_through_us, note)
        self._log = log
        self._agent = agent
        self._session, self._approvals = agent.session, agent.approvals
        self._patience = patience
        self._calls: dict[str, Call] = {}
        self._pending: dict[str, PendingPermission] = {}
        # Calls whose end was reported, although the agent may still report it.
        self._told: set[str] = set()

    @property
    def is_idle(self) -> bool:
        """Whether no call runs or waits for a decision."""
        return not self._calls

    @property
    def confirmations(self) -> tuple[TurnEvent, ...]:
        """The events of the calls that wait for a decision."""
        events = (pending.event for pending in self._pending.values())
        return tuple(event for event in events if event is not None)

    def confirm(self, call_id: str, outcome: str, new_text: str | None = None) -> None:
        """Decide on a call; only the first decision counts. `new_text` is the text to write, for
        MODIFY. Raises AgentError."""
        pending = self._pending.get(call_id)
        if pending is None:
            raise failure.no_call(call_id)
        outcome = pending.outcome(outcome)
        if (outcome == MODIFY) != (new_text is not None):
            raise AgentError(
                failure.VALIDATION_ERROR,
                sentence("Expected newContent with {outcome}, and only with it.", outcome=MODIFY),
            )
        if outcome != CANCEL:
            self.writes.decide(pending.call, new_text)
        self._settle(pending)
        if outcome == CANCEL:
            self._deny(pending, REJECTED)
            return
        # The agent's own editor opens nowhere; the text is changed when it is written.
        chosen = ONCE if outcome == MODIFY else outcome
        self._allow(pending, self._approvals.remember(pending.call, chosen))

    def begin(self, call: Call) -> None:
        """A call that needs no decision, or the first message about a call."""
        if self._introduce(call):
            self._report_status(call, EXECUTING)

    async def change(self, call: Call) -> None:
        """The agent reports more of a call, or its end."""
        known = self._calls.get(call.id)
        if call.status not in (COMPLETED, FAILED):
            self.begin(call)
            return
        if known is None and call.id in self._told:
            return
        self._introduce(call)
        record = await self._agent.recording.find(call.id)
        # docs/gemini-cli-acp.md 4.29: it reports success also for a command that ended with the
        # turn.
        success = call.status == COMPLETED and not self.is_cancelled
        # The end of a failed call does not contain the file.
        written = self.writes.end(known or call)
        if written is not None:
            success = written.success
            # The CLI takes this for an error, and shows that.
            call = replace(call, text="", diff=None)
            record = Record(output=str(written.told), args=record.args if record else {})
        elif success and call.diff is not None:
            await self.writes.note_own(call.diff)
        self._report_status(call, COMPLETED if success else FAILED)
        result = tool_call.result(call, known, record, success)
        if written is not None and not success:
            result = replace(result, error=written.told)
        self._log.add(result)
        self._calls.pop(call.id, None)

    def ask(self, request: PermissionRequest) -> None:
        """The agent asks whether a call may run."""
        call = self._agent.call(request.call)
        if self.is_cancelled:
            self._session.decide(request, None)
            return
        choices = choices_of(request.options, self._agent.cli.outcome_of)
        is_changeable = call.diff is not None and self._agent.writes_through_us(call.diff.path)
        pending = PendingPermission(request, call, choices, is_changeable)
        if self._approvals.covers(call) and ONCE in choices:
            self._introduce(call)
            self._allow(pending, ONCE)
            return
        self._introduce(call, requires_confirmation=True)
        self._report_status(call, PENDING)
        if self._patience is None:
            self._deny(pending, UNATTENDED)
            return
        pending.event = self._log.add(pending.body)
        loop = asyncio.get_running_loop()
        pending.timer = loop.call_later(self._patience, self._expire, call.id)
        self._pending[call.id] = pending

    async def write(self, request: WriteTextFile) -> None:
        """The agent asks to write a file, for one of the calls."""
        try:
            text = self._agent.cli.text_to_write(request)
            told = await self.writes.write(request.path, text)
        except AgentError as refused:
            told = refused.message
        self._agent.answer_write(request, str(told))

    def cancel(self) -> None:
        """Calls that wait for a decision will not run, nor will those that the agent asks for
        now."""
        self.is_cancelled = self.writes.is_cancelled = True
        # An answer after the turn's cancellation would still run the tool
        # (docs/gemini-cli-acp.md 5.37).
        for pending in list(self._pending.values()):
            self._settle(pending)
            self._session.decide(pending.request, None)
            self._reject(pending.call, STOPPED)

    def close(self) -> None:
        """The turn is over: no call continues."""
        for pending in list(self._pending.values()):
            self._settle(pending)
            self._reject(pending.call, STOPPED)
        for call in list(self._calls.values()):
            self._fail(call, STOPPED)

    def _expire(self, call_id: str) -> None:
        pending = self._pending.get(call_id)
        if pending is not None:
            self._settle(pending)
            self._deny(pending, UNANSWERED)

    def _settle(self, pending: PendingPermission) -> None:
        del self._pending[pending.call.id]
        if pending.timer is not None:
            pending.timer.cancel()

    def _introduce(self, call: Call, requires_confirmation: bool = False) -> bool:
        """Report a call that was not reported yet; gives whether it was new."""
        if call.id in self._calls:
            return False
        self._calls[call.id] = call
        self._log.add(
            ToolCall(
                call.id, call.name, call.display_name, call.title, call.args, requires_confirmation
            )
        )
        return True

    def _allow(self, pending: PendingPermission, outcome: str) -> None:
        call = pending.call
        self._session.decide(pending.request, pending.choices[outcome].id)
        self._report_status(call, EXECUTING)
        if call.is_attachment:
            self._report_status(call, COMPLETED)
            self._log.add(tool_call.result(call, None, None, True))
            del self._calls[call.id]

    def _deny(self, pending: PendingPermission, reason: Words) -> None:
        """An agent that offers no rejection is told what it is told of a cancelled turn."""
        option = pending.choices.get(CANCEL)
        self._session.decide(pending.request, None if option is None else option.id)
        self._reject(pending.call, reason)

    def _reject(self, call: Call, reason: Words) -> None:
        """It was not allowed to run."""
        self._fail(call, reason, rejected=True)

    def _fail(self, call: Call, reason: Words, rejected: bool = False) -> None:
        self._report_status(call, FAILED, rejected)
        self._log.add(tool_call.ended(call, reason, rejected))
        self._calls.pop(call.id, None)
        self._told.add(call.id)
        self.writes.end(call)

    def _report_status(self, call: Call, status: str, rejected: bool = False) -> None:
        self._log.add(ToolExecution(call.id, call.name, status, rejected))
