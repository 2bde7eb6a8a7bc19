"""The tool calls of one turn, each from its first word to its result, and the decisions on them.

It fills in what the agent does not say (docs/gemini-cli-acp.md 4): that an approved tool runs, that
a rejected one was rejected, what a tool was given and gave.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, Mapping

from ..base import jsonrpc
from . import failure, tool_call
from .acp import Session
from .event_log import EventLog
from .events import COMPLETED, EXECUTING, FAILED, PENDING, Event, ToolCall, ToolExecution
from .failure import AgentError
from .file_writes import FileWrites, Note
from .outcomes import CANCEL, MODIFY, ONCE, Approvals, Question
from .recording import NoRecording, Record
from .sentence import Words, sentence
from .tool_call import Call

# What a call's result says where the agent says nothing.
REJECTED = sentence("Rejected by the user.")
UNANSWERED = sentence("Nobody decided on it in time, so it was rejected.")
UNATTENDED = sentence("It wants to be confirmed and nobody could be asked, so it was rejected.")
STOPPED = sentence("The turn ended before the tool did.")


class CallTracker:
    """Writes into the log and answers the agent. `patience` is in seconds, for a decision; None
    where nobody is there to decide, and such calls are rejected at once. `note` hears in a thread
    of each file before it changes."""

    def __init__(
        self,
        log: EventLog,
        session: Session,
        recording: NoRecording,
        approvals: Approvals,
        patience: float | None,
        note: Note,
    ) -> None:
        self.is_cancelled = False
        self.writes = FileWrites(session, note)
        self._log = log
        self._session = session
        self._recording = recording
        self._approvals = approvals
        self._patience = patience
        self._calls: dict[str, Call] = {}
        self._questions: dict[str, Question] = {}
        # Calls whose end is told, though the agent may still tell it.
        self._told: set[str] = set()

    @property
    def is_idle(self) -> bool:
        """Whether no call runs or waits for a decision."""
        return not self._calls

    @property
    def confirmations(self) -> tuple[Event, ...]:
        """The events of the calls that wait for a decision."""
        events = (question.event for question in self._questions.values())
        return tuple(event for event in events if event is not None)

    def confirm(self, call_id: str, outcome: str, new_text: str | None = None) -> None:
        """Decide on a call; the first decision counts. `new_text` is what MODIFY has to be
        written. Raises AgentError."""
        question = self._questions.get(call_id)
        if question is None:
            raise failure.no_call(call_id)
        option = question.option(outcome)
        if (outcome == MODIFY) != (new_text is not None):
            raise AgentError(
                failure.VALIDATION_ERROR,
                sentence("Expected newContent with {outcome}, and only with it.", outcome=MODIFY),
            )
        if option != CANCEL:
            self.writes.decide(question.call, new_text)
        self._settle(question)
        if option == CANCEL:
            self._session.decide(question.request, CANCEL)
            self._reject(question.call, REJECTED)
            return
        self._session.decide(question.request, self._approvals.remember(question.call, option))
        self._approve(question.call)

    def begin(self, call: Call) -> None:
        """A call that needs nobody's word, or whose first word this is."""
        if self._introduce(call):
            self._tell_status(call, EXECUTING)

    async def change(self, call: Call) -> None:
        """The agent tells more of a call, or its end."""
        known = self._calls.get(call.id)
        if call.status not in (COMPLETED, FAILED):
            self.begin(call)
            return
        if known is None and call.id in self._told:
            return
        self._introduce(call)
        record = await self._recording.find(call.id)
        # docs/gemini-cli-acp.md 4.29: so it calls a command that was ended with the turn, too.
        success = call.status == COMPLETED and not self.is_cancelled
        # The end of a call that failed does not tell the file.
        written = self.writes.end(known or call)
        if written is not None:
            success = written.success
            # The CLI takes it for an error, and shows that.
            call = replace(call, text="", diff=None)
            record = Record(output=str(written.told), args=record.args if record else {})
        elif success and call.diff is not None:
            await self.writes.note_own(call.diff)
        self._tell_status(call, COMPLETED if success else FAILED)
        result = tool_call.result(call, known, record, success)
        if written is not None and not success:
            result = replace(result, error=written.told)
        self._log.add(result)
        self._calls.pop(call.id, None)

    def ask(self, request: jsonrpc.Id, params: Mapping[str, Any]) -> None:
        """The agent asks whether a call may run."""
        question = Question.read(request, params, self._session)
        call = question.call
        if self.is_cancelled:
            self._session.decide(request, None)
            return
        if self._approvals.covers(call):
            self._introduce(call)
            self._session.decide(request, ONCE)
            self._approve(call)
            return
        self._introduce(call, requires_confirmation=True)
        self._tell_status(call, PENDING)
        if self._patience is None:
            self._session.decide(request, CANCEL)
            self._reject(call, UNATTENDED)
            return
        question.event = self._log.add(question.body)
        loop = asyncio.get_running_loop()
        question.timer = loop.call_later(self._patience, self._expire, call.id)
        self._questions[call.id] = question

    def cancel(self) -> None:
        """What waits for a decision will not run, nor what the agent asks for from now on."""
        self.is_cancelled = self.writes.is_cancelled = True
        # An answer that came after the turn's cancellation would still run the tool
        # (docs/gemini-cli-acp.md 5.37).
        for question in list(self._questions.values()):
            self._settle(question)
            self._session.decide(question.request, None)
            self._reject(question.call, STOPPED)

    def close(self) -> None:
        """The turn is over: no call goes on."""
        for question in list(self._questions.values()):
            self._settle(question)
            self._reject(question.call, STOPPED)
        for call in list(self._calls.values()):
            self._fail(call, STOPPED)

    def _expire(self, call_id: str) -> None:
        question = self._questions.get(call_id)
        if question is not None:
            self._settle(question)
            self._session.decide(question.request, CANCEL)
            self._reject(question.call, UNANSWERED)

    def _settle(self, question: Question) -> None:
        del self._questions[question.call.id]
        if question.timer is not None:
            question.timer.cancel()

    def _introduce(self, call: Call, requires_confirmation: bool = False) -> bool:
        """Show a call that was not shown yet; whether it was not."""
        if call.id in self._calls:
            return False
        self._calls[call.id] = call
        self._log.add(
            ToolCall(
                call.id, call.name, call.display_name, call.title, call.args, requires_confirmation
            )
        )
        return True

    def _approve(self, call: Call) -> None:
        self._tell_status(call, EXECUTING)
        if call.is_attachment:
            self._tell_status(call, COMPLETED)
            self._log.add(tool_call.result(call, None, None, True))
            del self._calls[call.id]

    def _reject(self, call: Call, reason: Words) -> None:
        """It was not allowed to run."""
        self._fail(call, reason, rejected=True)

    def _fail(self, call: Call, reason: Words, rejected: bool = False) -> None:
        self._tell_status(call, FAILED, rejected)
        self._log.add(tool_call.ended(call, reason, rejected))
        self._calls.pop(call.id, None)
        self._told.add(call.id)
        self.writes.end(call)

    def _tell_status(self, call: Call, status: str, rejected: bool = False) -> None:
        self._log.add(ToolExecution(call.id, call.name, status, rejected))
