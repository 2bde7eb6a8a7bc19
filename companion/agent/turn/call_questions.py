"""The questions of one turn about tool calls that wait for the user's decision: asked, settled and
answered to the agent, each once."""

from __future__ import annotations

import math

from .. import failure
from ..acp.messages import Withdrawal
from ..events.event_log import EventLog
from ..sentence import Words, sentence
from ..turn_events import CANCEL, CUT_SHORT, ONCE, PENDING, UNATTENDED, TurnEvent
from .agent_session import AgentSession
from .call_events import CallEvents
from .outcomes import PendingPermission
from .time_limit import call_within

# The results of calls for which the agent gives none.
UNANSWERED = sentence(
    "Nobody decided on it within {seconds} seconds (--decision-time), so it was rejected."
)
WITHDRAWN = sentence("The agent took its question back.")


class CallQuestions:
    """`patience` is the seconds for a decision, infinite without a limit; None if nobody can
    decide: then what needs a decision is rejected at once."""

    def __init__(
        self, log: EventLog, agent: AgentSession, calls: CallEvents, patience: float | None
    ) -> None:
        self._log = log
        self._session = agent.session
        self._calls = calls
        self._patience = patience
        self._is_attended = True
        self.is_cancelled = False
        self._pending: dict[str, PendingPermission] = {}
        # The calls about which a question ended without the user: their answer may be on its way.
        self._undecided: set[str] = set()

    @property
    def question_events(self) -> tuple[TurnEvent, ...]:
        """The events by which the user is asked."""
        events = (pending.event for pending in self._pending.values())
        return tuple(event for event in events if event is not None)

    def find_pending(self, call_id: str) -> PendingPermission | None:
        return self._pending.get(call_id)

    def get_pending(self, call_id: str) -> PendingPermission:
        """Raises AgentError."""
        pending = self._pending.get(call_id)
        if pending is None:
            raise failure.no_call(call_id)
        return pending

    def ask_user(self, pending: PendingPermission) -> None:
        """Ask the user, or reject it where nobody can be asked."""
        call = pending.call
        self.drop_question(call.id)
        if self._log.is_over:
            self.answer_agent(pending, CANCEL)
            return
        self._calls.introduce_call(call, requires_confirmation=True)
        self._calls.report_state(call, PENDING)
        if self._patience is None or not self._is_attended or self.is_cancelled:
            self.reject_call(pending, CUT_SHORT if self.is_cancelled else UNATTENDED)
            return
        pending.is_changed = call.id in self._undecided
        pending.event = self._log.add_event(pending.body)
        told = UNANSWERED.with_values(seconds=f"{self._patience:g}")
        pending.timer = call_within(self._patience, self._expire_question, call.id, told)
        self._pending[call.id] = pending

    def settle_question(self, pending: PendingPermission, is_decided: bool = False) -> None:
        """It waits no more; `is_decided` if by the user's own decision."""
        del self._pending[pending.call.id]
        if is_decided:
            self._undecided.discard(pending.call.id)
        else:
            self._undecided.add(pending.call.id)
        if pending.timer is not None:
            pending.timer.cancel()

    def drop_question(self, call_id: str) -> None:
        """The agent asks anew about a call: what still waits is no approval then."""
        pending = self._pending.get(call_id)
        if pending is not None:
            self.settle_question(pending)
            self.answer_agent(pending, "", WITHDRAWN)

    def withdraw_question(self, withdrawal: Withdrawal) -> None:
        """The agent waits no more for the decision on one of them."""
        for pending in list(self._pending.values()):
            if pending.request is not None and pending.request.id == withdrawal.request:
                self.settle_question(pending)
                self._session.answer_permission(pending.request, None)
                self._calls.withdraw_question(pending.call, WITHDRAWN)

    def answer_agent(
        self, pending: PendingPermission, outcome: str, reason: Words = CUT_SHORT
    ) -> None:
        """An agent that offers no rejection is told what it is told of a cancelled turn."""
        option = pending.choices.get(outcome)
        if pending.request is not None:
            self._session.answer_permission(pending.request, None if option is None else option.id)
        elif pending.held is not None and not pending.held.done():
            pending.held.set_result("" if outcome == ONCE else reason)

    def reject_call(self, pending: PendingPermission, reason: Words) -> None:
        """It is not allowed to run."""
        self.answer_agent(pending, CANCEL, reason)
        self._calls.fail_call(pending.call, reason, rejected=True)

    def set_attended(self, is_attended: bool) -> None:
        """Unless somebody attends, what waits and what comes is rejected at once."""
        self._is_attended = is_attended
        for pending in () if is_attended else list(self._pending.values()):
            self.settle_question(pending)
            self.reject_call(pending, UNATTENDED)

    def lift_limit(self) -> None:
        """What waits and what comes waits for as long as the user likes, if anybody can decide."""
        if self._patience is not None:
            self._patience = math.inf
            for timer in filter(None, [pending.timer for pending in self._pending.values()]):
                timer.cancel()

    def cancel_all(self) -> None:
        """None will run, nor what the agent asks for from now on."""
        self.is_cancelled = True
        # An answer after the turn's cancellation would still run the tool
        # (docs/gemini-cli-acp.md 5.37).
        for pending in list(self._pending.values()):
            self.settle_question(pending)
            self.answer_agent(pending, "")
            self._calls.fail_call(pending.call, CUT_SHORT, rejected=True)

    def close(self) -> None:
        """The turn is over."""
        for pending in list(self._pending.values()):
            self.settle_question(pending)
            if pending.held is not None:
                self.answer_agent(pending, "")
            self._calls.fail_call(pending.call, CUT_SHORT, rejected=True)

    def _expire_question(self, call_id: str, told: Words) -> None:
        pending = self._pending.get(call_id)
        if pending is not None:
            self.settle_question(pending)
            self.reject_call(pending, told)
