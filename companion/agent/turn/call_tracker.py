"""The tool calls of one turn, each from its first message to its result, and the decisions on them.

It adds what the agent does not say (docs/gemini-cli-acp.md 4): that an approved tool runs, that a
rejected one was rejected, and the arguments and results of tools.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Sequence

from ...base.log import logger
from .. import failure
from ..acp.messages import PermissionRequest, ToolCallUpdate, Withdrawal, WriteTextFile
from ..acp.terminal_messages import TerminalRequest
from ..edited_file import plain_text
from ..events import tool_call
from ..events.event_log import EventLog
from ..events.tool_call import Call, Record
from ..failure import AgentError
from ..sentence import sentence
from ..turn_events import (
    CANCEL,
    COMPLETED,
    CUT_SHORT,
    EXECUTING,
    FAILED,
    MODIFY,
    ONCE,
    Diff,
    TurnEvent,
)
from .agent_session import AgentSession
from .call_ends import CallEnds
from .call_events import CallEvents
from .call_questions import CallQuestions
from .call_rules import ALLOW, DENY, Verdict
from .command_files import CommandFiles
from .consent import Consent
from .file_writes import BROKEN_OFF, FileWrites, TurnNote
from .held_writes import HeldWrites
from .outcomes import (
    REJECTED,
    CallDecision,
    Choices,
    PendingPermission,
    choices_of,
)
from .terminals import Terminals

# The agent's word for a call that it still prepares.
PREPARED = "pending"
# The result of a call that does not run.
DENIED = sentence("Your rule {rule} denies it.")


class CallTracker:
    """Answers the agent, and tells of its calls. `patience` is the seconds for a decision; None if
    nobody can decide: then calls that need a decision are rejected at once. `note` is called in a
    thread with each file before it changes, or after the agent itself has written it."""

    def __init__(
        self,
        log: EventLog,
        agent: AgentSession,
        patience: float | None,
        note: TurnNote,
    ) -> None:
        self.writes = FileWrites(agent, note)
        self._agent = agent
        self._session = agent.session
        self._consent = Consent(agent, self.writes)
        self._calls = CallEvents(log, agent)
        self._questions = CallQuestions(log, agent, self._calls, patience)
        self._commands = CommandFiles(agent, note)
        self._ends = CallEnds(agent, self._calls, self.writes, self._commands)
        ask = self._questions.ask_user
        self._terminals = Terminals(agent, self._calls, self._consent, self._commands, ask)
        self._held = HeldWrites(agent, self.writes, self._calls, self._ends, self._consent, ask)
        # Writes of the user's texts instead of refused edits, by the ids of the calls.
        self._writing: dict[str, asyncio.Future[None]] = {}

    @property
    def is_idle(self) -> bool:
        """Whether no call runs or waits for a decision."""
        return not self._calls.running_calls

    def is_running(self, call_id: str) -> bool:
        """Whether the call was begun, and has no end yet."""
        return self._calls.known_call(call_id) is not None

    @property
    def is_cancelled(self) -> bool:
        return self._questions.is_cancelled

    @property
    def confirmations(self) -> tuple[TurnEvent, ...]:
        """The events of the calls that wait for a decision."""
        return self._questions.question_events

    def confirm_call(self, call_id: str, decision: CallDecision) -> None:
        """Decide on a call; only the first decision on what it is now counts. Raises AgentError."""
        pending = self._questions.get_pending(call_id)
        pending.check_revision(decision)
        outcome = pending.meant_outcome(decision.outcome)
        if (outcome == MODIFY) != decision.has_texts:
            raise AgentError(
                failure.VALIDATION_ERROR,
                sentence("Expected newContent with {outcome}, and only with it.", outcome=MODIFY),
            )
        diff, edits = pending.call.diff, decision.edits
        if decision.by_client and outcome != CANCEL:
            self._terminals.refuse_client(pending.call)
        is_held = pending.held is not None
        through_us = is_held or self._agent.writes_through_us(pending.call.path)
        if decision.new_text is not None and diff is not None:
            edits = (replace(diff, new_text=decision.new_text),)
        self._questions.settle_question(pending, is_decided=True)
        self._agent.notes += [decision.note] if decision.note else []
        if outcome == CANCEL:
            self._questions.reject_call(pending, REJECTED)
        elif edits and not (through_us and _is_one_text(pending.call, edits)):
            self._questions.answer_agent(pending, CANCEL, REJECTED)
            self._calls.report_state(pending.call, EXECUTING)
            writing = asyncio.ensure_future(self._write_instead(pending.call, edits))
            self._writing[call_id] = writing
            writing.add_done_callback(lambda _: self._writing.pop(call_id))
        else:
            self.writes.note_decision(pending.call, edits[0].new_text if edits else None)
            self._consent.remember_answer(pending.coverage.answers.get(outcome))
            if pending.request is not None and not decision.by_client:
                self._terminals.note_allowed(pending.call)
            self._allow_call(pending)

    async def take_update(self, told: ToolCallUpdate) -> None:
        """The agent tells of a call: its beginning, more of it, or its end."""
        self._terminals.take_names(told)
        call = self._calls.take_update(told)
        # While the user's text is being written, it tells of the refusal of its own.
        if call is None or call.id in self._writing:
            return
        pending = self._questions.find_pending(call.id)
        if call.status in (COMPLETED, FAILED):
            self._terminals.forget_allowed(call.id)
            if pending is not None:
                # It asks no more, and has gone on by itself.
                self._questions.settle_question(pending)
                self._questions.answer_agent(pending, "")
            # The last piece of its output, or all of it.
            self._calls.output_of(call, told)
            await self._ends.end_call(call)
            return
        if pending is not None:
            await self._ask_anew(pending, call)
            return
        # Of a call that it still prepares, it may have told nothing yet.
        if call.status != PREPARED or call.args or call.diffs:
            self._calls.introduce_call(call)
            await self.writes.read_before(call)
        if call.status not in (PREPARED, ""):
            await self._commands.read_before(call)
            self._calls.report_state(call, EXECUTING)
        self._calls.output_of(call, told)

    def introduce_call(self, told: ToolCallUpdate) -> None:
        """Tell of the call, before what the update shows of it; `take_update` has to follow."""
        call = self._calls.take_update(told)
        if call is not None:
            self._calls.introduce_call(call)

    def take_words(self, call_id: str, text: str) -> bool:
        """A subagent says something; whether the call that runs it is known."""
        call = self._calls.known_call(call_id)
        if call is not None:
            self._calls.output_of(call, ToolCallUpdate(call_id, output=text))
        return call is not None

    async def take_permission_request(self, request: PermissionRequest) -> None:
        """The agent asks whether a call may run. What it asked before with one of these ids has its
        answer then: nobody could tell the two apart. What we ask about one of ours stands."""
        self.withdraw_question(Withdrawal(request.id))
        if self._calls.is_ours(request.call.id):
            self._session.answer_permission(request, None)
            return
        self._questions.drop_question(request.call.id)
        self._terminals.forget_allowed(request.call.id)
        call = self._calls.take_update(request.call, is_asked=True)
        if call is None or self.is_cancelled:
            self._session.answer_permission(request, None)
            return
        call = await self.writes.read_before(call, again=True)
        pending, verdict = await self._judge_request(request, call)
        if self.is_cancelled:
            self._session.answer_permission(request, None)
        elif verdict.decision == DENY:
            self._calls.introduce_call(call)
            self._questions.reject_call(pending, DENIED.with_values(rule=verdict.rule))
        elif verdict.decision == ALLOW:
            self._calls.introduce_call(call)
            self.writes.note_decision(call, None)
            self._allow_call(pending, verdict.rule)
        else:
            self._questions.ask_user(pending)

    def withdraw_question(self, withdrawal: Withdrawal) -> None:
        """The agent waits no more for the decision on one of them."""
        self._questions.withdraw_question(withdrawal)

    def lift_limit(self) -> None:
        """What waits for a decision waits for as long as the user likes."""
        self._questions.lift_limit()

    def set_attended(self, is_attended: bool) -> None:
        """Unless somebody attends, calls that need a decision are rejected at once."""
        self._questions.set_attended(is_attended)

    async def write_file(self, request: WriteTextFile) -> None:
        """The agent asks to write a file, for one of the calls. The boundary of what leads to the
        write: whatever happens, the agent gets its answer."""
        try:
            text = self._agent.cli.text_to_write(request)
            told = await self._held.write_file(request.path, text)
        except AgentError as refused:
            told = refused.message
        except Exception:
            logger.exception("a file was not written")
            told = BROKEN_OFF
        self._agent.answer_write(request, str(told))

    async def take_terminal_request(self, request: TerminalRequest) -> None:
        """The agent wants a command to run, or asks about one that runs."""
        await self._terminals.take_request(request)

    async def finish_writes(self) -> None:
        """Wait for what is being written, and note what calls have written that still run."""
        if self._writing:
            await asyncio.wait(set(self._writing.values()))
        await self._terminals.finish()
        calls = self._calls.running_calls
        # At once: each may take a moment.
        done = await asyncio.gather(*map(self.writes.is_done, calls))
        for call, is_done in zip(calls, done):
            if is_done:
                # Codex does not tell the end of an edit that was allowed late.
                await self._ends.end_call(replace(call, status=COMPLETED))
            else:
                await self.writes.keep_left(call)

    def cancel_calls(self) -> None:
        """Calls that wait for a decision will not run, nor will those that the agent asks for
        now."""
        self.writes.cancel_writes()
        self._terminals.close()
        self._questions.cancel_all()

    def close(self) -> None:
        """The turn is over: no call continues."""
        self._terminals.close()
        self._questions.close()
        for call in self._calls.running_calls:
            self._calls.fail_call(call, CUT_SHORT)

    async def _write_instead(self, call: Call, edits: Sequence[Diff]) -> None:
        ended = await self.writes.write_instead(call, edits)
        self._agent.notes.append(str(ended.told))
        if self._calls.known_call(call.id) is not None:
            told = replace(call, text="", diffs=())
            self._ends.tell_end(told, call, Record(output=str(ended.told)), ended)

    async def _judge_request(
        self, request: PermissionRequest, call: Call
    ) -> tuple[PendingPermission, Verdict]:
        """The question, and what the user has said of it before."""
        choices = choices_of(request.options, self._agent.cli.options, call)
        is_changeable = _is_changeable(self._agent, call, choices)
        verdict, coverage = await self._consent.on_call(call, choices)
        return PendingPermission(request, call, choices, is_changeable, coverage), verdict

    async def _ask_anew(self, pending: PendingPermission, call: Call) -> None:
        """The agent tells more of a call that waits. If the user was asked about something else,
        that is over: they are asked about this."""
        if pending.request is None:
            # They are asked about the text that is to be written, whatever is told of the call.
            return
        # An approval that arrives while the file and the rules are read is of what was shown.
        pending.is_changing = replace(pending, call=call).body != pending.body
        call = await self.writes.read_before(call)
        changed, verdict = await self._judge_request(pending.request, call)
        pending.is_changing = False
        if self._questions.find_pending(call.id) is not pending or changed.body == pending.body:
            return
        self._questions.settle_question(pending)
        if verdict.decision == DENY:
            self._questions.reject_call(changed, DENIED.with_values(rule=verdict.rule))
        else:
            self._questions.ask_user(changed)

    def _allow_call(self, pending: PendingPermission, rule: str = "") -> None:
        if pending.call.is_command and self._commands.is_there:
            asyncio.ensure_future(self._allow_command(pending, rule))
        else:
            self._let_run(pending, rule)

    async def _allow_command(self, pending: PendingPermission, rule: str) -> None:
        await self._commands.read_before(pending.call, again=True)
        if self.is_cancelled or not self.is_running(pending.call.id):
            self._questions.answer_agent(pending, "")
        else:
            self._let_run(pending, rule)

    def _let_run(self, pending: PendingPermission, rule: str) -> None:
        """The agent is told to run it once. Its own editor opens nowhere: another text of the user
        is put in when the file is written."""
        call = pending.call
        self._questions.answer_agent(pending, ONCE)
        self._calls.report_state(call, EXECUTING, rule=rule)
        if call.is_attachment or call.asks_alone:
            self._calls.end_call(call, COMPLETED, tool_call.reported_result(call, None, None, True))


def _is_changeable(agent: AgentSession, call: Call, choices: Choices) -> bool:
    """Whether the user's text can be written instead: by us as the agent asks for it, or after the
    agent's edit was refused."""
    needed = ONCE if agent.writes_through_us(call.path) else CANCEL
    return len(call.diffs) == 1 and needed in choices


def _is_one_text(call: Call, edits: Sequence[Diff]) -> bool:
    """Whether the edits are another new text for the only one of the call."""
    is_one = len(call.diffs) == len(edits) == 1
    return is_one and plain_text(call.diffs[0].old_text) == plain_text(edits[0].old_text)
